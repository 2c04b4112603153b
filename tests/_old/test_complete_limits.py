"""Completing with limits per column, row and entry, between and outside two, with a range, and with any mixture.

What is planted is known: the matrix must come back wherever the data determine it, and nothing wrong may be called
converged and determined.
"""

import numpy as np
import pytest

import unrelu
from unrelu import Censored
from unrelu._old.data.canonical import canonical_order
from unrelu._old.data.limits import Limits, part_of
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import Floor
from unrelu._old.proofs.agreement import misfitting
from unrelu._old.uncertainty.information import Information

SEEDS = range(20)
RECOVERED = 1e-8


def quantiles(rng, M, axis):
    """Of each column, or row, the value below which a share between 20 and 80 % of it lies."""
    return np.array([np.quantile(line, rng.uniform(0.2, 0.8)) for line in (M.T if axis == 0 else M)])


def per_column(rng, M):
    threshold = quantiles(rng, M, 0)[None, :]
    return threshold <= M, dict(threshold=threshold)


def per_row(rng, M):
    threshold = quantiles(rng, M, 1)[:, None]
    return threshold <= M, dict(threshold=threshold)


def per_entry(rng, M):
    threshold = np.quantile(M, rng.uniform(0.2, 0.8, M.shape))
    return threshold <= M, dict(threshold=threshold)


def per_entry_below(rng, M):
    threshold = np.quantile(M, rng.uniform(0.2, 0.8, M.shape))
    return threshold >= M, dict(threshold=threshold, seen="below")


def between(rng, M):
    low, high = np.quantile(M, [0.2, 0.8])
    return (low <= M) & (high >= M), dict(threshold=(low, high), seen="between")


def outside(rng, M):
    low, high = np.quantile(M, [0.3, 0.7])
    return (low >= M) | (high <= M), dict(threshold=(low, high), seen="outside")


def in_a_range(rng, M):
    M /= np.abs(M).max()
    return M >= 0, dict(entry_range=(-1, 1))


def unknown_in_a_range(rng, M):
    M /= np.abs(M).max()
    seen = rng.random(M.shape) < 0.5
    return seen | seen.T, dict(threshold=None, entry_range=(-1, 1))


def mixture(rng, M):
    """Entries hidden below 0, above 0, between two, outside two, and for another reason."""
    kind, (low, high) = rng.integers(0, 5, M.shape), np.quantile(M, [0.3, 0.7])
    lows = np.select([kind == 1, kind == 2], [0.0, low], -np.inf)
    highs = np.select([kind == 0, kind == 2], [0.0, high], np.inf)
    first, last = (np.where(kind == 3, end, np.nan) for end in (low, high))
    unknown = (kind == 4) & (rng.random(M.shape) < 0.5)
    hidden = [M < 0, M > 0, (low < M) & (high > M), (low > M) | (high < M), unknown]
    seen = ~np.select([kind == k for k in range(5)], hidden, default=False)
    return seen, dict(threshold=Limits(lows, highs, unknown, gap=(first, last)))


KINDS = [per_column, per_row, per_entry, per_entry_below, between, outside, in_a_range, unknown_in_a_range, mixture]


def planted(kind, seed, n=40, rank=2, sigma=0.0, dtype=np.float64):
    """The matrix, what was seen of it with noise, and what is said besides."""
    rng = np.random.default_rng([seed, 77])
    U = rng.standard_normal((n, rank))
    M = U @ U.T
    noise = sigma * rng.standard_normal((n, n))
    measured = (M + np.triu(noise) + np.triu(noise, 1).T).astype(dtype).astype(np.float64)
    seen, said = kind(rng, measured)
    return measured if sigma == 0 else M, np.where(seen, measured, np.nan), said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_what_is_determined_is_exact(kind, rank):
    right = 0
    for seed in SEEDS:
        M, X, said = planted(kind, seed, 25 * rank - 10, rank)
        found = unrelu.complete(X, rank, rng=0, **said)
        rows = found.determined
        off = np.abs(found.matrix() - M)[np.ix_(rows, rows)].max(initial=0)
        right += found.verdict.converged and rows.mean() > 0.75 and off < RECOVERED * np.abs(M).max()
    assert right == len(SEEDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [6, 9])
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_nothing_wrong_is_called_converged_and_determined(kind, n):
    for seed in SEEDS:
        M, X, said = planted(kind, seed, n, 2)
        found = unrelu.complete(X, 2, rng=0, **said)
        i, j = np.indices(M.shape)
        sure = np.isin(found.entry_determinacy(i, j), ["proved", "generic"])
        if found.verdict.converged:
            assert np.abs(found.matrix() - M)[sure].max(initial=0) < 1e-6 * np.abs(M).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [8, 20])
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_guaranteed_bounds_hold_the_truth(kind, n):
    for seed in range(3):
        M, X, said = planted(kind, seed, n, 2)
        found = unrelu.complete(X, 2, rng=0, **said)
        i, j = np.indices(M.shape)
        low, high = found.bounds(i, j)
        room = 1e-9 * np.abs(M).max()
        assert ((low <= M + room) & (high + room >= M)).all()


@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_bounds_are_those_of_the_limits_where_nothing_else_is_known():
    X = np.array([[1.0, np.nan], [np.nan, np.nan]])
    found = unrelu.complete(X, 1, threshold=np.array([[0.5, 0.5], [0.25, 0.5]]), entry_range=(-2, 2), rng=0)
    low, high = found.bounds([0, 1], [1, 1])
    assert low.tolist() == [-2.0, 0.0]
    assert high.tolist() == [0.25, 0.5]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_permuting_permutes_and_scaling_scales(kind):
    M, X, said = planted(kind, 3, 20, 2)
    found = unrelu.complete(X, 2, rng=0, **said)
    order = np.random.default_rng(0).permutation(20)

    def permuted(value):
        if isinstance(value, Limits):
            return value.part(order, order)
        return part_of(value, order, order) if np.ndim(value) == 2 else value

    def scaled(value):
        if isinstance(value, Limits):
            return Limits(4 * value.low, 4 * value.high, value.unknown, tuple(4 * end for end in value.gap))
        if isinstance(value, tuple):
            return tuple(4 * end for end in value)
        return value if value is None or isinstance(value, str) else 4 * value

    other = unrelu.complete(X[np.ix_(order, order)], 2, rng=0, **{name: permuted(v) for name, v in said.items()})
    rows = found.determined
    assert other.determinacy.tolist() == found.determinacy[order].tolist()
    off = other.matrix() - found.matrix()[np.ix_(order, order)]
    assert np.abs(off[np.ix_(rows[order], rows[order])]).max() < 1e-9 * np.abs(M).max()
    larger = unrelu.complete(4 * X, 2, rng=0, **{name: scaled(v) for name, v in said.items()})
    np.testing.assert_array_equal(larger.matrix(), 4 * found.matrix())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_float32_stays_float32(kind):
    M, X, said = planted(kind, 1, 40, 2, dtype=np.float32)
    found = unrelu.complete(X.astype(np.float32), 2, rng=0, **said)
    rows = found.determined
    assert found.factor.dtype == np.float32
    assert found.verdict.converged
    assert np.abs(found.matrix() - M)[np.ix_(rows, rows)].max() < 1e-5 * np.abs(M).max()


@pytest.mark.parametrize("kind", [per_column, per_entry, in_a_range, mixture])
@pytest.mark.parametrize("method", ["gauss-newton", "gradient-descent", "gnmr", "direct"])
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_every_kind_of_method_takes_them(kind, method):
    M, X, said = planted(kind, 1, 30, 2)
    found = unrelu.complete(X, 2, method=method, max_iter=20_000, rng=0, **said)
    assert np.abs(found.matrix() - M).max() < 1e-4 * np.abs(M).max()


@pytest.mark.parametrize("method", ["pam", "momentum-pam"])
def test_methods_on_the_whole_matrix_project_onto_the_limits(method):
    M, X, said = planted(per_column, 1, 30, 2)
    found = unrelu.complete(X, 2, method=method, rng=0, **said)
    assert found.loss == "one-sided"
    assert np.abs(found.matrix() - M).max() < 1e-4 * np.abs(M).max()


def test_the_convex_program_keeps_within_the_limits():
    pytest.importorskip("scs")
    X = np.array([[1.0, np.nan, 0.8], [np.nan, 1.0, np.nan], [0.8, np.nan, 1.0]])
    limits = Limits(low=np.array([[0.3, 0.3, 0.5]]), high=0.7)
    found = unrelu.complete(X, 3, method="sdp", threshold=limits, rng=0)
    M = found.matrix()
    assert M[0, 1] >= 0.3 - 1e-5
    assert 0.5 - 1e-5 <= M[1, 2] <= 0.7 + 1e-5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_a_saved_completion_brings_back_what_was_said(kind, tmp_path):
    _, X, said = planted(kind, 2, 20, 2)
    found = unrelu.complete(X, 2, rng=0, weights=np.linspace(1, 2, 20)[:, None], **said)
    found.save(tmp_path / "found.npz")
    again = unrelu.Completion.load(tmp_path / "found.npz").with_data(X)
    here, there = found.observed(), again.observed()
    for name in ("low", "high", "unknown", "chance"):
        np.testing.assert_array_equal(getattr(here.limits, name), getattr(there.limits, name))
    assert (here.limits.gap is None) == (there.limits.gap is None)
    if here.limits.gap is not None:
        np.testing.assert_array_equal(here.limits.gap, there.limits.gap)
    np.testing.assert_array_equal(here.weights, there.weights)
    assert again.determinacy.tolist() == found.determinacy.tolist()


def test_certificates_hear_limits():
    M, X, said = planted(per_column, 0, 20, 2)
    found = unrelu.complete(X, 2, rng=0, **said)
    assert unrelu.certify(found).unique
    X = X.copy()
    i, j = np.argwhere(np.triu(np.isnan(X), 1))[0]
    wrong = np.where(np.isnan(X), said["threshold"], np.inf)
    wrong[i, j] = wrong[j, i] = M[i, j] - 1.0  # which says that the entry is smaller than it is
    X[j, i] = np.nan
    contradicted = unrelu.complete(X, 2, threshold=wrong, loss="observed", rng=0)
    assert "absence" in unrelu.certify(contradicted).failed


def test_what_a_range_says_can_settle_a_sign():
    """Row 2 sees one direction of the plane only; entries below 0 rule one of its two places out."""
    U = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]])
    M = U @ U.T
    X = M.copy()
    X[2, 1] = X[1, 2] = X[2, 3] = X[3, 2] = np.nan
    open_ = unrelu.complete(X, 2, threshold=None, rng=0)
    assert set(open_.entry_determinacy([1, 2], [2, 3])) <= {"local", "no"}
    settled = unrelu.complete(X, 2, threshold=None, entry_range=(0, 2), rng=0)
    assert set(settled.entry_determinacy([1, 2], [2, 3])) <= {"proved", "generic"}
    np.testing.assert_allclose(settled.matrix(), M, atol=1e-8)


# --- weights and noise ------------------------------------------------------------------------------------------------


def test_weights_are_relative_and_an_entry_that_weighs_little_hardly_counts():
    M, _, _ = planted(per_column, 0, 20, 2)
    X, weights = M.copy(), np.ones((20, 20))
    X[3, 7] += 5.0
    weights[3, 7] = 1e-9
    found = unrelu.complete(X, 2, threshold=None, weights=weights, rng=0)
    assert np.abs(found.matrix() - M).max() < 1e-6
    alone = unrelu.complete(X, 2, threshold=None, rng=0)
    assert np.abs(alone.matrix() - M).max() > 0.1
    same = unrelu.complete(X, 2, threshold=None, weights=1024 * weights, rng=0)
    np.testing.assert_allclose(same.matrix(), found.matrix(), rtol=1e-10, atol=1e-12)


SLOWER = [pytest.param(kind, marks=pytest.mark.slow) for kind in (outside, in_a_range)]


@pytest.mark.parametrize("kind", [per_column, per_entry, between, *SLOWER])
def test_error_bars_cover_with_noise(kind):
    """Of unseen entries 95 %, give or take what a few instances leave to chance."""
    covered = []
    for seed in range(2 if kind is between else 4):
        M, X, said = (
            planted(kind, seed, 40, 2, sigma=0.2) if kind is not in_a_range else planted(_wide, seed, 40, 2, 0.2)
        )
        found = unrelu.complete(X, 2, rng=0, **said)
        sure = found.determined
        assert found.verdict.answered
        i, j = np.nonzero(np.isnan(X) & np.isnan(X.T) & sure[:, None] & sure)
        low, high = found.interval(i, j)
        covered.append(np.mean((low <= M[i, j]) & (high >= M[i, j])))
    assert 0.85 < np.mean(covered) < 0.995


def _wide(rng, measured):
    return measured >= 0, dict(entry_range=(-30, 30))


@pytest.mark.parametrize("way", ["weights", "sigma"])
@pytest.mark.parametrize("pairs", ["one", pytest.param("independent", marks=pytest.mark.slow)])
def test_error_bars_know_the_noise_of_each_entry(way, pairs):
    """Rows 0…9 have five times the noise of the others, and error bars say so and cover."""
    covered, ratios = [], []
    for seed in range(2):
        rng = np.random.default_rng([seed, 3])
        U = rng.standard_normal((40, 2))
        M, size = U @ U.T, np.where(np.arange(40) < 10, 5.0, 1.0)
        noise = np.maximum.outer(size, size)
        E = rng.standard_normal((40, 40))
        X = M + 0.1 * noise * (np.triu(E) + np.triu(E, 1).T if pairs == "one" else E)
        hidden = rng.random((40, 40)) < 0.5
        X[hidden | hidden.T] = np.nan
        said = dict(weights=noise**-2.0) if way == "weights" else dict(sigma=0.1 * noise)
        found = unrelu.complete(X, 2, threshold=None, pairs=pairs, rng=0, **said)
        i, j = np.nonzero(np.isnan(X) & np.isnan(X.T))
        low, high = found.interval(i, j)
        covered.append(np.mean((low <= M[i, j]) & (high >= M[i, j])))
        errors = found.standard_errors(np.arange(40)[:, None], np.arange(40))
        ratios.append(np.median(errors[:10, 10:]) / np.median(errors[10:, 10:]))
    assert 0.9 < np.mean(covered) < 0.985
    assert 2 < np.mean(ratios) < 5


def test_a_number_of_noise_is_that_of_every_entry_and_so_are_equal_ones():
    _, X, said = planted(per_column, 0, 40, 2, sigma=0.2)
    one = unrelu.complete(X, 2, sigma=0.2, rng=0, **said)
    many = unrelu.complete(X, 2, sigma=np.full((1, 40), 0.2), rng=0, **said)
    named = unrelu.complete(X, 2, loss=Censored(sigma=0.2), rng=0, **said)
    assert (one.loss, one.sigma, one.sigma_given) == ("censored", 0.2, True)
    np.testing.assert_array_equal(one.matrix(), named.matrix())
    np.testing.assert_allclose(many.matrix(), one.matrix(), rtol=1e-8, atol=1e-9)
    assert many.sigma == pytest.approx(0.2, rel=1e-12)


def test_the_noise_of_fully_seen_blocks_is_that_of_an_entry_of_weight_one():
    """Half of the rows have four times the noise; over the root of its weight every entry has the same."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((30, 2))
    size = np.where(np.arange(30) < 15, 4.0, 1.0)
    noise = 0.01 * np.sqrt(np.outer(size, size))
    E = rng.standard_normal((30, 30))
    X = U @ U.T + noise * (np.triu(E) + np.triu(E, 1).T)
    observations = Observations.of(X, threshold=None, weights=noise**-2.0)
    typical = np.sqrt(1 / np.mean(noise**-2.0))
    floor = Floor.of(observations, 2, np.random.default_rng(0))
    assert floor.noise * observations.unit == pytest.approx(typical, rel=0.25)
    plain = Floor.of(observations.unweighted, 2, np.random.default_rng(0))
    assert plain.noise * observations.unit > 1.3 * typical


def test_noise_of_each_entry_leaves_what_noise_leaves():
    """The likelihood's slopes are as uneven as the noise; what is left of them has no direction all the same."""
    rng = np.random.default_rng([0, 5])
    U = rng.standard_normal((50, 2))
    size = np.exp(rng.uniform(-1, 1, (50, 1)))
    E = rng.standard_normal((50, 50))
    X = U @ U.T + 0.3 * size * size.T * (np.triu(E) + np.triu(E, 1).T)
    found = unrelu.complete(np.where(X >= 0, X, np.nan), 2, sigma=0.3 * size * size.T, rng=0)
    assert found.verdict.code.value == "fitted-to-noise"


def test_rows_that_differ_in_their_limits_alone_are_told_apart():
    X = np.where(np.eye(4, dtype=bool), 1.0, np.nan)
    limits = np.array([[0.1, 0.2, 0.3, 0.4]])
    order = canonical_order(Observations.of(X, threshold=limits))
    turned = np.array([2, 0, 3, 1])
    other = canonical_order(Observations.of(X[np.ix_(turned, turned)], threshold=limits[:, turned]))
    np.testing.assert_array_equal(turned[other], order)


def test_two_entries_of_a_pair_contradict_each_other_by_their_own_limits():
    """Entry (0, 5) was seen; that (5, 0) was not contradicts it only if its limit lies below."""
    M, _, _ = planted(per_column, 0, 12, 2)
    X = M.copy()
    X[5, 0] = np.nan
    for limit, level in ((M[5, 0] + 0.5, "proved"), (np.inf, "proved"), (M[5, 0] - 0.5, "local")):
        threshold = np.full(M.shape, -np.inf)
        threshold[5, 0] = limit
        found = unrelu.complete(X, 2, threshold=threshold, loss="observed", rng=0)
        assert found.determinacy[[0, 5]].tolist() == [level, level]
        assert found.determinacy[1] == "proved"


def test_with_weights_a_row_is_missed_by_what_it_weighs():
    """Row 0 has a hundred times the noise of the others; with weights that say so it is no worse than they are."""
    rng = np.random.default_rng(1)
    U = rng.standard_normal((30, 2))
    noise = np.maximum.outer(*[np.where(np.arange(30) < 1, 100.0, 1.0)] * 2)
    E = rng.standard_normal((30, 30))
    X = U @ U.T + 0.01 * noise * (np.triu(E) + np.triu(E, 1).T)
    X[0, 10:] = X[10:, 0] = np.nan
    plain = Observations.of(X, threshold=None)
    fit = U / np.sqrt(plain.unit)
    assert misfitting(plain, fit)[0]
    assert not misfitting(Observations.of(X, threshold=None, weights=noise**-2.0), fit)[0]


@pytest.mark.parametrize("seed", range(3))
def test_gaps_are_heard_last(seed):
    """From the tailored start alone an entry on the wrong side of a gap would stay there."""
    M, X, said = planted(between, seed, 30, 2)
    found = unrelu.complete(X, 2, method=unrelu.Auto(starts=("tailored",)), rng=0, **said)
    assert np.abs(found.matrix() - M).max() < RECOVERED * np.abs(M).max()


def test_an_entry_with_a_range_tells_everything_if_it_was_seen_and_little_if_not():
    X = np.ones((4, 4))
    X[0, 1] = X[1, 0] = np.nan
    observations = Observations.of(X, threshold=None, entry_range=(-10, 10))
    factor = np.ones((4, 1)) / np.sqrt(observations.unit)
    told = Information(observations, factor, 0.1 / observations.unit, one=True)
    assert told.at(np.array([2, 0]), np.array([3, 1])) == pytest.approx([1.0, 0.0], abs=1e-12)
    near = Information(observations, factor, 20.0 / observations.unit, one=True)
    seen, hidden = near.at(np.array([2, 0]), np.array([3, 1]))
    assert seen == pytest.approx(1.0)
    assert 0 < hidden < 1


def test_rounding_is_within_the_range():
    """The cosine of a row with itself is 1, or the next number above."""
    X = np.array([[np.nextafter(1.0, 2.0), 0.5], [0.5, 1.0]])
    assert unrelu.complete(X, 2, threshold=0.4, entry_range=(0.0, 1.0), rng=0).verdict.code.value == "fitted"
    X[0, 0] = 1 + 1e-9
    with pytest.raises(unrelu.InputError, match="every seen entry must lie in entry_range"):
        unrelu.complete(X, 2, threshold=0.4, entry_range=(0.0, 1.0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            dict(threshold=0.3, entry_range=(0.5, 1)),
            r"no entry can lie below threshold=0.3 and in entry_range=\(0.5, 1\)",
        ),
        (dict(threshold=2, seen="below", entry_range=(-1, 2)), "no entry can lie above threshold=2"),
    ],
)
def test_a_range_that_leaves_no_room_beyond_the_threshold_is_refused(options, words):
    X = np.array([[1.0, np.nan], [np.nan, 1.0]])
    for complete in (unrelu.complete, unrelu.complete_table):
        with pytest.raises(unrelu.InputError, match=words):
            complete(X, **options)
