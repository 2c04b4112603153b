"""Tables with limits per row, column and entry, between and outside two, a range, weights, and noise of each entry."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import unrelu
from helpers import ROUNDING
from unrelu._old.data.bipartite import BipartiteLimits, Embedded
from unrelu._old.data.limits import Limits, part_of
from unrelu._old.data.table_observations import table_observations
from unrelu._old.model.losses import Censored, Huber, Observed, OneSided
from unrelu._old.problems.rectangular import RectangularProblem

nan, inf = np.nan, np.inf
ROWS, COLUMNS = [f"s{k}" for k in range(9)], [f"c{k}" for k in range(7)]
RECOVERED = 1e-8


# --- what is planted --------------------------------------------------------------------------------------------------


def quantiles(rng, M):
    """Of each column the value below which a share between 20 and 80 % of it lies."""
    return np.array([np.quantile(column, rng.uniform(0.2, 0.8)) for column in M.T])


def per_column(rng, M):
    limits = quantiles(rng, M)
    return limits <= M, dict(threshold=limits)


def per_row(rng, M):
    limits = quantiles(rng, M.T)[:, None]
    return limits <= M, dict(threshold=limits)


def per_entry(rng, M):
    limits = np.quantile(M, rng.uniform(0.2, 0.8, M.shape))
    return limits >= M, dict(threshold=limits, seen="below")


def between(rng, M):
    low, high = np.quantile(M, [0.2, 0.8])
    return (low <= M) & (high >= M), dict(threshold=(low, high), seen="between")


def outside(rng, M):
    low, high = np.quantile(M, 0.4, axis=1, keepdims=True), np.quantile(M, 0.6, axis=1, keepdims=True)
    return (low >= M) | (high <= M), dict(threshold=(low, high), seen="outside")


def in_a_range(rng, M):
    M /= np.abs(M).max()
    return M >= 0, dict(entry_range=(-1, 1))


def by_chance_in_a_range(rng, M):
    M /= np.abs(M).max()
    return rng.random(M.shape) < 0.5, dict(threshold=None, entry_range=(-1, 1))


def weighted(rng, M):
    return M >= 0, dict(weights=np.exp(rng.uniform(-1, 1, M.shape)))


def mixture(rng, M):
    """Entries hidden below 0, above 0, between two, outside two, and for another reason."""
    kind, (low, high) = rng.integers(0, 5, M.shape), np.quantile(M, [0.3, 0.7])
    lows = np.select([kind == 1, kind == 2], [0.0, low], -inf)
    highs = np.select([kind == 0, kind == 2], [0.0, high], inf)
    first, last = (np.where(kind == 3, end, nan) for end in (low, high))
    unknown = (kind == 4) & (rng.random(M.shape) < 0.5)
    hidden = [M < 0, M > 0, (low < M) & (high > M), (low > M) | (high < M), unknown]
    seen = ~np.select([kind == k for k in range(5)], hidden, default=False)
    return seen, dict(threshold=Limits(lows, highs, unknown, gap=(first, last)))


KINDS = [per_column, per_row, per_entry, between, outside, in_a_range, by_chance_in_a_range, weighted, mixture]


def planted(kind, seed=0, shape=(120, 80), rank=3, dtype=np.float64):
    """The table, what was seen of it, and what is said besides."""
    rng = np.random.default_rng([seed, 41])
    M = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    M = M.astype(dtype).astype(np.float64)
    seen, said = kind(rng, M)
    return M, np.where(seen, M, nan), said


def moved(said, move):
    """What is said of a table whose entries are moved: each array of two dimensions by ``move``."""

    def of(value):
        if isinstance(value, Limits):
            return Limits(*map(of, (value.low, value.high, value.unknown)), gap=tuple(map(of, value.gap)))
        if isinstance(value, tuple):
            return tuple(map(of, value))
        value = value[None, :] if np.ndim(value) == 1 else value
        return move(value) if np.ndim(value) == 2 else value

    return {name: of(value) for name, value in said.items()}


# --- exact data -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_without_noise_the_table_comes_back(kind, seed):
    M, X, said = planted(kind, seed)
    found = unrelu.complete_rectangular(X, 3, rng=0, **said)
    assert found.verdict.code.value == "fitted", found.verdict
    assert found.determined.mean() > 0.95
    assert found.columns_determined.mean() > 0.95
    sure = found.determined[:, None] & found.columns_determined
    assert np.abs(found.matrix() - M)[sure].max() < RECOVERED * np.abs(M).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:nothing was seen")
def test_guaranteed_bounds_hold_the_truth(kind):
    M, X, said = planted(kind, shape=(9, 6), rank=2)
    found = unrelu.complete_rectangular(X, 2, rng=0, **said)
    low, high = found.bounds(*np.indices(M.shape))
    room = 1e-9 * np.abs(M).max()
    assert ((low <= M + room) & (high + room >= M)).all()
    assert (high < inf).any() or (low > -inf).any()


@pytest.mark.filterwarnings("ignore:nothing was seen")
def test_bounds_are_those_of_the_limits_and_the_range_where_nothing_else_is_known():
    X = np.array([[1.0, nan, nan], [nan, nan, 2.0]])
    found = unrelu.complete_rectangular(X, 2, threshold=[0.5, 0.25, 0.75], entry_range=(-2, 3), rng=0)
    low, high = found.bounds([0, 0, 1, 1], [1, 2, 0, 2])
    assert low.tolist() == [-2.0, -2.0, -2.0, 2.0]
    assert high.tolist() == [0.25, 0.75, 0.5, 2.0]
    gaps = Limits(low=0.5, high=np.array([[4.0, 5.0, 6.0]]), gap=(0.25, np.array([[0.75], [7.0]])))
    found = unrelu.complete_rectangular(np.where(np.isnan(X), nan, -X), 2, threshold=gaps, rng=0)
    low, high = found.bounds([0, 0, 1, 1], [1, 2, 0, 1])
    assert low.tolist() == [0.75, 0.75, 7.0, 7.0]  # an end within the gap is beyond it
    assert high[:2].tolist() == [5.0, 6.0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_transposed_table_has_the_transposed_answer(kind):
    M, X, said = planted(kind, shape=(40, 25), rank=2)
    found = unrelu.complete_rectangular(X, 2, rng=0, **said)
    other = unrelu.complete_rectangular(X.T, 2, rng=0, **moved(said, np.transpose))
    assert other.determinacy.tolist() == found.column_determinacy.tolist()
    sure = found.determined[:, None] & found.columns_determined
    assert np.abs(other.matrix().T - found.matrix())[sure].max() < 1e-9 * np.abs(M).max()


@pytest.mark.parametrize("kind", KINDS)
def test_permuting_rows_permutes_and_scaling_scales(kind):
    M, X, said = planted(kind, shape=(40, 25), rank=2)
    found = unrelu.complete_rectangular(X, 2, rng=0, **said)
    order = np.random.default_rng(0).permutation(40)
    more = moved(said, lambda values: part_of(values, order, np.arange(25)))
    other = unrelu.complete_rectangular(X[order], 2, rng=0, **more)
    sure = found.determined[:, None] & found.columns_determined
    assert other.determinacy.tolist() == found.determinacy[order].tolist()
    assert np.abs(other.matrix() - found.matrix()[order])[sure[order]].max() < 1e-9 * np.abs(M).max()
    numbers = {name: value for name, value in said.items() if name in ("threshold", "entry_range")}
    scaled = moved(numbers, lambda values: values if values.dtype == bool else 4 * values)
    scaled = {
        k: tuple(4 * e if np.ndim(e) == 0 else e for e in v) if type(v) is tuple else v for k, v in scaled.items()
    }
    larger = unrelu.complete_rectangular(4 * X, 2, rng=0, **{**said, **scaled})
    np.testing.assert_array_equal(larger.matrix(), 4 * found.matrix())


@pytest.mark.parametrize("kind", KINDS)
def test_float32_stays_float32(kind):
    M, X, said = planted(kind, dtype=np.float32)
    found = unrelu.complete_rectangular(X.astype(np.float32), 3, rng=0, **said)
    assert found.factor.dtype == np.float32
    assert found.verdict.code.value == "fitted", found.verdict
    often = np.isfinite(X).sum(axis=0) > 20  # columns of which more was seen than rounding needs
    assert np.abs(found.matrix() - M)[:, often].max() < 1e-4 * np.abs(M).max()


@pytest.mark.parametrize("method", ["gauss-newton", "gradient-descent"])
@pytest.mark.parametrize("kind", [per_column, in_a_range, mixture])
def test_named_methods_take_them(kind, method):
    M, X, said = planted(kind, shape=(40, 25), rank=2)
    found = unrelu.complete_rectangular(X, 2, method=method, max_iter=20_000, rng=0, **said)
    assert np.abs(found.matrix() - M).max() < 1e-4 * np.abs(M).max()


def test_a_completion_keeps_what_was_said():
    _, X, said = planted(mixture, shape=(40, 25), rank=2)
    weights = np.linspace(1, 2, 25)
    found = unrelu.complete_rectangular(X, 2, weights=weights, entry_range=(-99, 99), rng=0, **said)
    assert found.threshold is said["threshold"]
    assert (found.side, found.entry_range) == ("above", (-99.0, 99.0))
    np.testing.assert_array_equal(found.weights, weights[None, :])
    again = found.observed()
    np.testing.assert_allclose(again.weights.values * weights.mean(), weights[None, :], rtol=0.1)
    assert again.limits.chance.shape == X.shape
    pair = unrelu.complete_rectangular(
        np.where(np.abs(X) > 0.1, X, nan), 2, threshold=(np.full(25, -0.1), 0.1), seen="outside", rng=0
    )
    assert pair.side == "outside"
    np.testing.assert_array_equal(pair.threshold[0], np.full((1, 25), -0.1))
    assert pair.observed().limits.low.shape == (1, 25)


# --- the passes -------------------------------------------------------------------------------------------------------

EXTRAS = ["plain", "gap", "weights", "spread", "chance", "all"]


def posed(loss, extra, m=11, n=8, dtype=np.float64):
    """A problem, a point, and the table with everything said of it, entry by entry in units."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)) + 0.3 * rng.standard_normal((m, n))
    low, high = np.full((m, 1), -0.6), np.where(rng.random((m, n)) < 0.5, 0.7, inf)
    first, last = np.where(rng.random((1, n)) < 0.5, -0.2, nan), 0.3
    unknown = rng.random((m, n)) < 0.1
    hidden = (rng.random((m, n)) < 0.5) | unknown
    gap = (first, last) if extra in ("gap", "all") else None
    limits = Limits(low, high, unknown, gap)
    seen_at_all = np.clip(np.abs(X), 1.0, None)  # beyond every limit but those without one
    values = np.where(hidden, nan, np.where(np.isinf(high), -seen_at_all, seen_at_all))
    said = {"threshold": limits}
    if extra in ("weights", "all"):
        said["weights"] = rng.uniform(0.5, 2, (m, 1))
    if extra in ("spread", "all"):
        said["spread"] = rng.uniform(0.5, 2, (1, n))
    if extra in ("chance", "all"):
        said["entry_range"] = (-50.0, 50.0)
    observations = table_observations(values.astype(dtype), **said)
    problem = RectangularProblem(observations, 2, loss)
    U = (rng.standard_normal((m + n, 2)) / np.sqrt(observations.unit)).astype(dtype)
    heard = limits.within(-50.0, 50.0) if extra in ("chance", "all") else limits
    ends = [np.broadcast_to(end, (m, n)) / observations.unit for end in (heard.low, heard.high)]
    ends += [np.broadcast_to(end, (m, n)) / observations.unit for end in heard.gap or (inf, -inf)]
    silent = np.zeros((m, n), bool) if heard.unknown is None else heard.unknown
    weights = np.broadcast_to(said.get("weights", 1.0), (m, n))
    weights = weights / weights[~np.isnan(values)].mean()
    spread = np.broadcast_to(said.get("spread", 1.0), (m, n))
    return problem, U, values / observations.unit, ends, np.isnan(values) & ~silent, weights, spread


def cost_of(loss, x, value, ends, absent, spread):
    """Of one entry, written out."""
    if loss.name == "censored":
        sigma = loss.sigma * spread
        if not np.isnan(value):
            return ((x - value) / sigma) ** 2 / 2 + np.log(loss.sigma)
        low, high, first, last = ends
        inside = norm.cdf((high - x) / sigma) - norm.cdf((low - x) / sigma)
        if first <= last:
            inside -= norm.cdf((min(last, high) - x) / sigma) - norm.cdf((max(first, low) - x) / sigma)
        return -np.log(inside) if absent else 0.0
    if not np.isnan(value):
        return straight(loss, (x - value) / spread, 1) if loss.name == "huber" else ((x - value) / spread) ** 2 / 4
    if not absent or loss.name == "observed":
        return 0.0
    low, high, first, last = ends
    near = min(max(x, low), high)
    if first < near < last:
        near = first if near - first <= last - near else last
    return straight(loss, (x - near) / spread, 0) if loss.name == "huber" else ((x - near) / spread) ** 2 / 4


def straight(loss, gap, seen):
    """Huber's cost of a gap; β = ∫ min(t², δ²) φ(t) dt."""
    z, k = abs(gap) / loss.sigma, loss.delta
    rho = z**2 / 2 if z <= k else k * z - k**2 / 2
    inside, _ = quad(lambda t: t**2 * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi), -k, k, epsabs=1e-14)
    beta = inside + 2 * k**2 * norm.sf(k)
    return loss.sigma * (rho + seen * beta / 2)


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("loss", [Observed(), OneSided(), Censored(0.8), Huber(sigma=0.8)])
def test_f_and_its_gradient_are_sums_over_the_table(loss, extra):
    problem, U, X, ends, absent, weights, spread = posed(loss, extra)
    own, m = loss.in_units(problem.unit), len(X)

    def total(U):
        P = U[:m] @ U[m:].T
        return 2 * sum(
            weights[i, j] * cost_of(own, P[i, j], X[i, j], [end[i, j] for end in ends], absent[i, j], spread[i, j])
            for i, j in np.ndindex(X.shape)
        )

    point = problem.evaluate(U)
    assert point.value == pytest.approx(total(U), rel=ROUNDING)
    step, slopes = 1e-6, np.zeros_like(U)
    for place in np.ndindex(U.shape):
        D = np.zeros_like(U)
        D[place] = step
        slopes[place] = (total(U + D) - total(U - D)) / (2 * step)
    np.testing.assert_allclose(point.gradient, slopes, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())


@pytest.mark.parametrize("rows", [slice(0, 4), slice(4, 7), slice(2, 6), np.array([5, 0, 6, 1])])
@pytest.mark.parametrize("cols", [slice(0, 4), slice(4, 7), slice(1, 7), np.array([6, 2])])
@pytest.mark.parametrize("shape", [(4, 1), (1, 3), (4, 3)])
def test_what_is_embedded_is_asked_for_by_blocks_and_by_entries(rows, cols, shape):
    values = np.random.default_rng(0).uniform(1, 2, shape)
    whole = np.full((7, 7), 9.0)
    whole[:4, 4:], whole[4:, :4] = values, np.broadcast_to(values, (4, 3)).T
    embedded = Embedded(values, 9.0, cut=4, size=7)
    expected = whole[rows][:, cols]
    np.testing.assert_array_equal(np.broadcast_to(part_of(embedded, rows, cols), expected.shape), expected)
    i, j = np.indices((7, 7)).reshape(2, -1)
    np.testing.assert_array_equal(embedded.at(i, j), whole.ravel())
    some = np.array([2, 0, 5, 6])
    np.testing.assert_array_equal(embedded.part(some, some).of(slice(0, 4), slice(0, 4)), whole[np.ix_(some, some)])


def test_what_is_said_of_rows_or_columns_stays_as_small_as_it_is():
    X = np.ones((300, 200))
    said = table_observations(X, threshold=np.zeros(200), weights=np.linspace(1, 2, 300)[:, None], entry_range=(-5, 5))
    assert said.weights.values.shape == (300, 1)
    assert np.shape(said.limits.high) == (1, 200)
    assert said.weights.of(slice(0, 256), slice(300, 500)).shape == (256, 1)
    assert said.weights.of(slice(0, 256), slice(0, 256)).shape == (1, 1)
    high = said.limits.of(slice(300, 500), slice(0, 256))[1]
    assert high.shape == (200, 1)


def test_what_is_missing_by_chance_is_so_in_both_blocks_and_nowhere_else():
    _, X, said = planted(mixture, shape=(8, 6), rank=2)
    observations = table_observations(X, entry_range=(-99, 99), **said)
    limits, everyone = observations.limits, np.arange(14)
    expected = np.zeros((14, 14), bool)
    expected[:8, 8:] = said["threshold"].unknown | ~np.isfinite(said["threshold"].low) & ~np.isfinite(
        said["threshold"].high
    ) & ~(said["threshold"].gap[0] <= said["threshold"].gap[1])
    expected[8:, :8] = expected[:8, 8:].T
    assert 0 < expected.sum() < 96
    np.testing.assert_array_equal(limits.by_chance(everyone, everyone), expected)
    np.testing.assert_array_equal(limits.by_chance(slice(8, 14), slice(0, 8)), expected[8:, :8])
    i, j = np.indices((14, 14)).reshape(2, -1)
    np.testing.assert_array_equal(limits.chance_at(i, j, (14, 14)), expected.ravel())


def test_parts_of_a_table_carry_limits_weights_and_noise():
    _, X, said = planted(mixture, shape=(8, 6), rank=2)
    weights, spread = np.linspace(1, 2, 8)[:, None], np.linspace(1, 3, 6)
    whole = table_observations(X, weights=weights, spread=spread, **said)
    some = np.array([6, 1, 3, 8 + 5, 8 + 0])
    part = whole.restricted(some)
    everyone = np.arange(len(some))
    for name in ("of", "by_chance", "unknown_in"):
        mine, theirs = getattr(part.limits, name)(everyone, everyone), getattr(whole.limits, name)(some, some)
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(part.limits.of(everyone, everyone).gap, whole.limits.of(some, some).gap)
    np.testing.assert_array_equal(part.precision(everyone, everyone), whole.precision(some, some))
    i, j = np.indices((14, 14)).reshape(2, -1)
    all_ = np.arange(14)
    np.testing.assert_array_equal(whole.precision_at(i, j), whole.precision(all_, all_).ravel())
    np.testing.assert_array_equal(whole.limits.at(i, j, (14, 14)), [end.ravel() for end in whole.limits.of(all_, all_)])
    fewer = whole.without(np.array([0]), np.array([8]))
    assert isinstance(fewer.limits, BipartiteLimits)
    assert fewer.limits.unknown[0, 0]
    assert fewer.limits.gap is not None
    assert whole.limits.apart_from_gaps().of(all_, all_).gap is None


# --- noise ------------------------------------------------------------------------------------------------------------


def noisy(seed):
    """Noise of 2 in 30 columns, of 0.1 in the others."""
    rng = np.random.default_rng([seed, 5])
    M = rng.standard_normal((120, 3)) @ rng.standard_normal((3, 80))
    sigma = np.where(np.arange(80) < 30, 2.0, 0.1)
    Y = M + sigma * rng.standard_normal(M.shape)
    return M, np.where(Y >= 0, Y, nan), sigma


@pytest.mark.parametrize("seed", range(2))
def test_the_noise_of_each_column_helps_and_error_bars_know_of_it(seed):
    M, X, sigma = noisy(seed)
    found = unrelu.complete_rectangular(X, 3, sigma=sigma, rng=0)
    assert (found.loss, found.verdict.code.value) == ("censored", "fitted-to-noise"), found.verdict
    assert found.sigma == pytest.approx(np.sqrt(np.mean(sigma**2)))
    without = unrelu.complete_rectangular(X, 3, loss="censored", rng=0)
    off = [np.linalg.norm(other.matrix() - M) for other in (found, without)]
    assert off[0] < 0.6 * off[1]
    i, j = np.indices(M.shape)
    low, high = found.interval(i, j)
    assert 0.92 < np.mean((low < M) & (high > M)) < 0.98
    errors = found.standard_errors(i, j)
    assert np.median(errors[:, :30]) > 3 * np.median(errors[:, 30:])


def test_equal_noise_is_that_of_one_number():
    _, X, _ = noisy(0)
    one = unrelu.complete_rectangular(X, 3, sigma=0.7, rng=0)
    many = unrelu.complete_rectangular(X, 3, sigma=np.full((120, 1), 0.7), rng=0)
    assert (one.sigma, one.sigma_given) == (0.7, True)
    np.testing.assert_allclose(many.matrix(), one.matrix(), rtol=1e-8, atol=1e-9)


def test_an_entry_that_weighs_little_hardly_counts():
    M, X, _ = planted(by_chance_in_a_range, shape=(40, 25), rank=2)
    i, j = np.argwhere(~np.isnan(X))[7]
    X[i, j] += 0.2
    weights = np.ones(M.shape)
    weights[i, j] = 1e-9
    found = unrelu.complete_rectangular(X, 2, threshold=None, weights=weights, rng=0)
    assert np.abs(found.matrix() - M).max() < 1e-6
    alone = unrelu.complete_rectangular(X, 2, threshold=None, rng=0)
    assert np.abs(alone.matrix() - M).max() > 1e-3
    same = unrelu.complete_rectangular(X, 2, threshold=None, weights=1024 * weights, rng=0)
    np.testing.assert_allclose(same.matrix(), found.matrix(), rtol=1e-10, atol=1e-12)


# --- what callers bring -----------------------------------------------------------------------------------------------


def frame(values=None):
    M = np.outer(np.arange(1.0, 10), np.arange(1.0, 8)) if values is None else values
    return pd.DataFrame(M, ROWS, COLUMNS)


@pytest.mark.parametrize(
    ("threshold", "shape"),
    [
        (np.zeros(7), (1, 7)),
        (pd.Series(np.zeros(7), COLUMNS), (1, 7)),
        (pd.Series(np.zeros(9), ROWS), (9, 1)),
        (pd.DataFrame(np.zeros((9, 1)), ROWS, ["limit"]), (9, 1)),
        (pd.DataFrame(np.zeros((1, 7)), ["limit"], COLUMNS), (1, 7)),
        (frame(np.zeros((9, 7))), (9, 7)),
    ],
)
def test_a_vector_is_one_per_column_and_a_series_goes_by_its_labels(threshold, shape):
    found = table_observations(frame(), threshold=threshold)
    assert found.said.threshold.shape == found.limits.high.shape == shape


def test_a_square_table_refuses_a_vector_but_not_a_series_with_labels_of_one_side():
    square = frame().iloc[:7]
    with pytest.raises(
        unrelu.InputError, match=r"^threshold is a vector of 7 numbers, which for a square matrix may be"
    ):
        unrelu.complete_rectangular(square, 1, threshold=np.zeros(7))
    limits = np.arange(7) / 10
    for labels, shape in ((COLUMNS, (1, 7)), (ROWS[:7], (7, 1))):
        assert table_observations(square, threshold=pd.Series(limits, labels)).said.threshold.shape == shape


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            dict(threshold=10.0),
            "every seen entry must be ≥ threshold=10 (seen='above'), but 21 are not, at (s0, c0), (s0, c1), (s0, c2) "
            "and 18 more, the first being 1;",
        ),
        (
            dict(threshold=[0, 0, 0, 4.5, 0, 0, 0]),
            "every seen entry must lie where it would have been seen, but 1 do not, at (s0, c3), the first being 4 "
            "although entries below 4.5 go unseen there; check threshold= and seen=, or mark entries without a limit",
        ),
        (dict(threshold=(1.5, 62.0), seen="between"), "but 2 do not, at (s0, c0), (s8, c6), the first being 1"),
        (dict(threshold=(2, 1), seen="outside"), "threshold must be a pair (low, high), and low is above high"),
        (
            dict(threshold=(np.full((9, 1), 2.0), np.ones(7)), seen="between"),
            "threshold must be a pair (low, high), and low is above high for entry (s0, c0) and 62 more; swap the two",
        ),
        (dict(threshold=(0, 1)), "threshold is a pair, which needs seen='between'"),
        (dict(threshold=1.0, seen="outside"), "threshold must be a pair (low, high) for seen='outside', each a number"),
        (
            dict(threshold=np.zeros(9)),
            "threshold must be a number or have shape (9, 1) for one per row, (1, 7) for one per column or (9, 7) for "
            "one per entry; got shape (9,)",
        ),
        (dict(threshold=np.zeros((7, 9))), "(9, 7) for one per entry; got shape (7, 9)"),
        (dict(threshold=[0, 0, 0, nan, 0, 0, 0]), "must not be NaN, as it is for column c3; write inf where an"),
        (dict(threshold="low"), "threshold must be a finite number, or None if absence says nothing; got 'low'"),
        (
            dict(threshold=pd.Series(np.zeros(7), [*COLUMNS[:6], "x"])),
            "threshold must carry the labels of X in the same order, but label 6 of its index is 'x' and that of the "
            "columns of X is 'c6'; reindex it, or pass threshold.to_numpy()",
        ),
        (
            dict(threshold=pd.Series(np.zeros(9), ROWS[::-1])),
            "but label 0 of its index is 's8' and that of the rows of X is 's0'; reindex it",
        ),
        (
            dict(weights=pd.DataFrame(np.ones((1, 7)), columns=COLUMNS[::-1])),
            "weights must carry the labels of X in the same order, but label 0 of its columns is 'c6' and that of the "
            "columns of X is 'c0'",
        ),
        (dict(sigma=pd.Series(np.ones(7), ROWS[:7])), "sigma must carry the labels of X in the same order, but label"),
        (
            dict(threshold=Limits(high=pd.DataFrame(np.zeros((9, 1)), COLUMNS + ROWS[7:]))),
            "high of Limits must carry the labels of X in the same order, but label 0 of its index is 'c0'",
        ),
        (dict(threshold=Limits(high=np.zeros((7, 1)))), "high of Limits must be a number or have shape (9, 1) for one"),
        (dict(threshold=Limits(chance=np.zeros(7, bool))), "chance of Limits must be a number or have shape (9, 1)"),
        (dict(threshold=Limits(unknown=np.zeros((7, 9), bool))), "unknown of Limits must have the shape of X, (9, 7)"),
        (dict(threshold=Limits(high=0.0), seen="below"), "Limits say themselves where unseen entries lie, got seen="),
        (dict(unknown=frame(np.ones((9, 7))) > 0), "unknown must mark only unseen entries, but 63 of those it marks"),
        (dict(unknown=np.zeros((9, 7))), "unknown must be a boolean mask, got dtype float64; write unknown != 0"),
        (
            dict(unknown=pd.DataFrame(np.zeros((9, 7), bool), ROWS, COLUMNS[::-1])),
            "unknown must carry the labels of X in the same order, but its columns differs from label 0 on",
        ),
        (dict(truth=frame().iloc[::-1]), "truth must carry the labels of X in the same order, but its index differs"),
        (dict(entry_range=(0, 50)), "entry_range=(0, 50), but 3 do not, at (s7, c6), (s8, c5), (s8, c6)"),
        (dict(entry_range=(1, 0)), "entry_range must be (least, most), got 1 and 0; swap the two"),
        (dict(weights=np.zeros(7)), "got 0 for column c0 and 6 more; mark entries to be left out with NaN in X, and"),
        (dict(weights=-np.ones((9, 1))), "weights must be finite numbers above 0, got -1 for row s0 and 8 more"),
        (dict(weights=np.ones((2, 2))), "weights must be a number or have shape (9, 1) for one per row"),
        (dict(sigma=0.0), "sigma must be finite numbers above 0, or None to estimate the noise; got 0.0"),
        (dict(sigma=[1, 1, 1, 1, 1, 1, -1]), "finite numbers above 0, or None to estimate the noise; got -1 at 6"),
        (dict(sigma=pd.Series([1, nan, 1, 1, 1, 1, 1], COLUMNS)), "or None to estimate the noise; got nan at c1"),
        (
            dict(weights=[1, 1, 1, nan, 1, 1, 1], threshold=None),
            "weights must be finite numbers above 0, got nan for column c3; mark entries to be left out with NaN in X",
        ),
        (
            dict(threshold=(np.zeros(7), np.where(np.arange(7) == 2, -1.0, 0.5)), seen="outside"),
            "threshold must be a pair (low, high), and low is above high for column c2; swap the two",
        ),
        (
            dict(threshold=pd.Series(np.zeros(8), [*COLUMNS, "x"])),
            "must carry the labels of the columns of X in the same order, but 'x' is none of them; reindex it",
        ),
        (dict(weights=pd.Series(np.ones(6), COLUMNS[1:])), "the columns of X in the same order, but 'c0' is missing"),
        (dict(sigma=pd.Series(np.ones(10), [*ROWS, "s3"])), "rows of X in the same order, but 's3' stands there twice"),
        (dict(sigma=np.ones((3, 7))), "sigma must be a number or have shape (9, 1) for one per row"),
        (dict(sigma=1.0, loss="one-sided"), "sigma is the noise of loss='censored', got loss='one-sided' besides"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_in_one_sentence(said, sentence):
    with pytest.raises(unrelu.InputError, match=re.escape(sentence)) as raised:
        unrelu.complete_rectangular(frame(), 1, **said)
    assert "\n" not in str(raised.value)


def test_a_column_or_row_of_which_nothing_was_seen_is_named():
    X = frame()
    X.loc["s4"] = X["c2"] = X["c5"] = nan
    words = r"^nothing was seen of row s4 and columns c2, c5; completed as well as may be, which the data do not"
    with pytest.warns(unrelu.CompletionWarning, match=words):
        found = unrelu.complete_rectangular(X, 1, rng=0)
    assert not found.determined[4]
    assert np.flatnonzero(~found.columns_determined).tolist() == [2, 5]
    with pytest.warns(unrelu.CompletionWarning, match=r"^nothing was seen of columns 2, 5; "):
        unrelu.complete_rectangular(X.drop(index="s4").to_numpy(), 1, rng=0)
