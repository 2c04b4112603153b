"""Gaps, weights and noise of each entry's own in the general kernel, against the sums written out entry by entry."""

import numpy as np
import pytest
from scipy.stats import norm

from helpers import ROUNDING
from unrelu._old.data.limits import Ends, Limits
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource
from unrelu._old.kernels import GeneralKernel, TiledKernel, kernel_for, pairs
from unrelu._old.kernels.bands import BandKernel
from unrelu._old.model.losses import Censored, Huber, Loss, Observed, OneSided
from unrelu._old.model.losses.tails import beside
from unrelu._old.problems.psd import PSDProblem

N = 24
INF = np.inf


@pytest.fixture(autouse=True, params=[7, 256], ids=["many tiles", "one tile"])
def tile(request, monkeypatch):
    monkeypatch.setattr(pairs.edges, "__defaults__", (request.param,))


def posed(loss, *, gap=None, weights=None, spread=None, seed=0, symmetric=False, dtype=float):
    """A problem with limits per entry, a point, and everything in units."""
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((N, 2))
    X = V @ V.T + 0.3 * rng.standard_normal((N, N))
    hidden = rng.random((N, N)) < 0.5
    low, high = np.where(rng.random((N, N)) < 0.4, -0.4, -INF), np.where(rng.random((N, N)) < 0.4, 0.5, INF)
    if symmetric:
        X, hidden = (X + X.T) / 2, hidden | hidden.T
        low, high = np.maximum(low, low.T), np.minimum(high, high.T)
    X[hidden] = np.nan
    limits = Limits(low, high, gap=gap)
    observations = Observations(ArraySource(X.astype(dtype)), limits, weights=weights, spread=spread)
    problem = PSDProblem(observations, 2, loss, GeneralKernel)
    U = (rng.standard_normal((N, 2)) / np.sqrt(observations.unit)).astype(dtype)
    return problem, U, X / observations.unit


def of_entries(problem, P, X):
    """Each entry's limits and gap in units, and which are absent."""
    limits, unit = problem.observations.limits, problem.unit
    low, high = (np.broadcast_to(end, P.shape) / unit for end in (limits.low, limits.high))
    first, last = (np.broadcast_to(end, P.shape) / unit for end in limits.gap or (INF, -INF))
    told = np.isfinite(low) | np.isfinite(high) | (first <= last)
    return low, high, first, last, np.isnan(X) & told & ~(np.eye(N, dtype=bool) & (high <= 0))


def extras(names):
    rng = np.random.default_rng(9)
    table = {
        "weights": rng.uniform(0.2, 3, (N, N)),
        "spread": rng.uniform(0.5, 2, (1, N)),
        "gap": (np.where(rng.random((N, N)) < 0.5, -0.2, np.nan), 0.3),
    }
    return {name: table[name] for name in names}


EXTRAS = [(), ("gap",), ("weights",), ("spread",), ("gap", "weights", "spread")]


@pytest.mark.parametrize("names", EXTRAS)
def test_squares_are_those_of_the_distances_from_where_entries_may_lie(names):
    problem, U, X = posed(OneSided(), **extras(names))
    P = U @ U.T
    low, high, first, last, absent = of_entries(problem, P, X)
    off = np.where(np.isnan(X), 0, P - X)
    for i, j in np.argwhere(absent):
        x = P[i, j]
        ends = [end for end in (low[i, j], high[i, j], first[i, j], last[i, j]) if np.isfinite(end)]
        inside = low[i, j] <= x <= high[i, j] and not first[i, j] < x < last[i, j]
        allowed = [e for e in ends if low[i, j] <= e <= high[i, j] and not first[i, j] < e < last[i, j]]
        off[i, j] = 0 if inside else min((x - e for e in allowed), key=abs)
    weights = np.broadcast_to(problem.observations.weights if "weights" in names else 1.0, P.shape)
    spread = np.broadcast_to(problem.observations.spread if "spread" in names else 1.0, P.shape)
    W = weights / spread**2
    point = problem.evaluate(U)
    assert point.value == pytest.approx(np.sum(W * off**2) / 4, rel=ROUNDING)
    Z = W * off
    np.testing.assert_allclose(point.gradient, (Z + Z.T) @ U / 2, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("names", EXTRAS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_curvature_is_that_of_the_weighted_squares_to_rounding(names, symmetric, dtype):
    """Of squares nothing is lost: error bars are made of it."""
    problem, U, X = posed(OneSided(), **extras(names), symmetric=symmetric, dtype=dtype)
    P = (U @ U.T).astype(np.float64)
    low, high, first, last, absent = of_entries(problem, P, X)
    outside = (low > P) | (high < P) | ((first < P) & (last > P))
    weights = np.broadcast_to(problem.observations.weights if "weights" in names else 1.0, P.shape)
    spread = np.broadcast_to(problem.observations.spread if "spread" in names else 1.0, P.shape)
    W = weights / spread**2 * (~np.isnan(X) | (absent & outside))
    D = np.random.default_rng(1).standard_normal(U.shape).astype(dtype)
    expected = (W + W.T) / 2 * (U @ D.T + D @ U.T) @ U
    point = problem.evaluate(U)
    rounding = ROUNDING if dtype == np.float64 else 1e-5
    for found in (problem.curvature(point, D), (problem.curvature_matrix(point) @ D.ravel()).reshape(U.shape)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * np.abs(expected).max())
    assert problem.curvature(point, D).dtype == dtype


@pytest.mark.parametrize("names", [names for names in EXTRAS if "gap" not in names])
def test_the_curvature_of_the_likelihood_is_a_difference_of_gradients(names):
    """But for entries beside a gap, where 0 may stand for it."""
    problem, U, _ = posed(Censored(sigma=0.4), **extras(names))
    D, point, step = np.random.default_rng(1).standard_normal(U.shape), problem.evaluate(U), 1e-5
    change = (problem.evaluate(U + step * D).gradient - problem.evaluate(U - step * D).gradient) / (2 * step)
    np.testing.assert_allclose(problem.hessian(point, D), change, rtol=0, atol=1e-6 * np.abs(change).max())


@pytest.mark.parametrize("names", EXTRAS)
@pytest.mark.parametrize("loss", [OneSided(), Censored(sigma=0.4), Huber(sigma=0.4)])
def test_the_line_is_f_itself(names, loss):
    problem, U, _ = posed(loss, **extras(names))
    D, point = np.random.default_rng(1).standard_normal(U.shape), problem.evaluate(U)
    values, slopes = problem.line(point, D).at([0.2, 1.0])
    for t, value, slope in zip((0.2, 1.0), values, slopes, strict=True):
        there = problem.evaluate(U + t * D)
        assert value == pytest.approx(there.value, rel=ROUNDING)
        assert slope == pytest.approx(np.vdot(there.gradient, D), rel=1e-10)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("names", EXTRAS)
def test_the_likelihood_is_that_of_every_entry(names, symmetric):
    problem, U, X = posed(Censored(sigma=2.0), **extras(names), symmetric=symmetric)
    P, sigma = U @ U.T, 2.0 / problem.unit
    low, high, first, last, absent = of_entries(problem, P, X)
    weights = np.broadcast_to(problem.observations.weights if "weights" in names else 1.0, P.shape)
    spread = np.broadcast_to(problem.observations.spread if "spread" in names else 1.0, P.shape)
    s = sigma * spread
    hidden = norm.cdf((high - P) / s) - norm.cdf((low - P) / s)
    a, b = np.clip(first, low, high), np.clip(last, low, high)
    hidden -= np.where(first <= last, norm.cdf((b - P) / s) - norm.cdf((a - P) / s), 0)
    seen = ~np.isnan(X)
    right = np.sum((weights * (((P - X) / s) ** 2 / 2 + np.log(sigma)))[seen])
    right -= np.sum(weights[absent] * np.log(hidden[absent]))
    assert problem.evaluate(U).value == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize("loss", [OneSided(), Censored(sigma=0.4), Censored(level=0.5)])
@pytest.mark.parametrize("names", EXTRAS)
def test_gradients_and_the_slope_by_log_sigma_are_differences(loss, names):
    problem, U, _ = posed(loss, **extras(names))
    point, D = problem.evaluate(U), np.random.default_rng(1).standard_normal(U.shape)
    step = 1e-6
    change = (problem.evaluate(U + step * D).value - problem.evaluate(U - step * D).value) / (2 * step)
    assert float(np.vdot(point.gradient, D)) == pytest.approx(change, rel=1e-5, abs=1e-5)
    if point.sums is not None:
        up, down = (problem.with_loss(Censored(sigma=problem.loss.noise * np.exp(t))) for t in (1e-5, -1e-5))
        by_sigma = (up.evaluate(U).value - down.evaluate(U).value) / 2e-5
        assert point.sums[0] == pytest.approx(by_sigma, rel=1e-4, abs=1e-4)
        here = 2 * point.value
        bend = (up.evaluate(U).value + down.evaluate(U).value - here) / 1e-10
        assert point.sums[1] == pytest.approx(bend, rel=2e-2, abs=1.0)


def test_far_into_the_tails_beside_a_gap_nothing_is_lost():
    fit = np.array([0.0, 3.0, 200.0, -200.0])
    ends = (-INF - fit, INF - fit, -100.0 - fit, 100.0 - fit)
    log, pull, bend, _, _ = beside(*ends)
    # At the middle both tails are the same; beyond the gap nothing is known any more.
    assert log[0] == pytest.approx(np.log(2) + norm.logcdf(-100), rel=1e-12)
    assert pull[0] == pytest.approx(0, abs=1e-9)
    assert pull[1] == pytest.approx(-norm.pdf(97) / norm.sf(97) if norm.sf(97) else -97.0103, rel=1e-4)
    np.testing.assert_allclose([log[2], pull[2], log[3], pull[3]], 0, atol=1e-12)
    assert ((bend >= 0) & (bend <= 1)).all()


def test_a_loss_that_knows_nothing_of_gaps_is_not_told_of_them():
    class Old(Loss):
        name = "old"

        def seen(self, fit, value, cost, slope, curvature):
            Observed().seen(fit, value, cost, slope, curvature)

        def unseen(self, fit, limits, cost, slope, curvature):
            low, high = limits
            assert getattr(limits, "gap", None) is None
            OneSided().unseen(fit, (low, high), cost, slope, curvature)

    told, U, _ = posed(Old(), gap=(-0.2, 0.3))
    plain, _, _ = posed(OneSided())
    assert told.evaluate(U).value == pytest.approx(plain.evaluate(U).value, rel=ROUNDING)


def test_weights_and_noise_of_each_entry_are_for_the_general_kernel():
    for extra, kind in ((None, TiledKernel), (np.linspace(1, 2, N)[None, :], GeneralKernel)):
        observations = Observations(ArraySource(np.ones((N, N))), Limits(high=0.0), weights=extra)
        assert type(kernel_for(observations, Observed())) is kind
        observations = Observations(ArraySource(np.ones((N, N))), Limits(high=0.0), spread=extra)
        assert type(kernel_for(observations, Observed())) is kind


def test_the_part_of_f_that_no_fit_lowers_is_that_of_pairs_seen_twice():
    weights = np.random.default_rng(4).uniform(0.5, 2, (N, N))
    problem, _, X = posed(Observed(), weights=weights)
    both = ~np.isnan(X) & ~np.isnan(X.T)
    share = weights * weights.T / (weights + weights.T)
    apart = np.where(both, share * (X - X.T) ** 2, 0)
    assert problem.kernel.constant == pytest.approx(np.sum(np.triu(apart)) / 4, rel=1e-10)
    spread = np.random.default_rng(5).uniform(0.5, 2, (1, N))
    for extra in ({"weights": weights}, {"spread": spread}, {"weights": weights, "spread": spread}):
        even, _, X = posed(Observed(), **extra, symmetric=True)
        assert even.kernel.constant == 0  # not even by rounding: this tells that a pair has one noise


@pytest.mark.parametrize("names", [("weights",), ("spread",), ("weights", "spread")])
def test_the_mean_of_a_pair_is_that_by_weight_and_noise(names):
    problem, _, X = posed(OneSided(), **extras(names))
    p = np.where(np.isnan(X), 0, np.broadcast_to(problem.observations.precision(slice(0, N), slice(0, N)), X.shape))
    x = np.where(np.isnan(X), 0, X)

    def visit(block, into):
        into[block.rows, block.cols] = block.target
        into[block.cols, block.rows] = block.target.T

    expected = (p * x + (p * x).T) / np.where(p + p.T > 0, p + p.T, 1)
    np.testing.assert_allclose(problem.kernel.gather(visit, np.zeros((N, N))), expected, atol=ROUNDING)


@pytest.mark.parametrize("loss", [OneSided(), Censored(sigma=2.0)])
def test_an_entry_may_be_unknown_one_way_round(loss):
    """Values, limits and pattern are the same both ways round; what is absent because of its value is not."""
    rng = np.random.default_rng(0)
    V, U = rng.standard_normal((2, N, 2))
    M = V @ V.T
    X = np.where(M >= 0.3, M, np.nan)
    unknown = np.isnan(X) & np.triu(rng.random((N, N)) < 0.5)
    observations = Observations(ArraySource(X), Limits(high=0.3, unknown=unknown))
    P, unit = U @ U.T, observations.unit
    absent = np.isnan(X) & ~unknown
    if loss.squared:
        expected = np.nansum((P - X / unit) ** 2) / 4 + np.sum(np.maximum(P - 0.3 / unit, 0)[absent] ** 2) / 4
    else:
        s = 2.0 / unit
        expected = (
            np.nansum(((P - X / unit) / s) ** 2 / 2 + np.log(s)) - norm.logcdf((0.3 / unit - P) / s)[absent].sum()
        )
    assert GeneralKernel(observations, loss).evaluate(U)[0] == pytest.approx(expected, rel=1e-9)


def test_bands_project_onto_what_a_gap_leaves():
    observations = Observations.of(np.array([[1.0, np.nan], [np.nan, 2.0]]), threshold=(0.0, 4.0), seen="between")
    kernel = BandKernel(observations, OneSided())
    values = np.array([[9.0, 1.0], [7.0, 9.0]])
    unit = observations.unit

    def visit(chunk):
        for band in chunk:
            scaled = values[band.rows] / unit
            band.clip(scaled)
            values[band.rows] = scaled * unit

    kernel.over(visit)
    assert values.tolist() == [[1.0, 0.0], [7.0, 2.0]]
    assert isinstance(kernel._bands[0].interval, Ends)


def test_the_curvature_beside_a_gap_is_that_of_the_slope_and_never_negative():
    fit, step = np.linspace(-6, 6, 49), 1e-5

    def pull(x):
        return beside(-9.0 - x, 8.0 - x, -2.0 - x, 2.5 - x)[1]

    true = (pull(fit + step) - pull(fit - step)) / (2 * step)
    bend = beside(-9.0 - fit, 8.0 - fit, -2.0 - fit, 2.5 - fit)[2]
    assert true.min() < -0.5  # between the two places where it may lie
    np.testing.assert_allclose(bend, np.maximum(true, 0), atol=1e-6)
