"""Huber's loss: its function, its noise level, and fits under it."""

import numpy as np
import pytest

import unrelu
from helpers import remainder_order
from unrelu import InputError
from unrelu._old.data.limits import Ends
from unrelu._old.data.observations import Observations
from unrelu._old.model.losses import LOSSES, Huber
from unrelu._old.problems.psd import PSDProblem


def of(loss, fit, value):
    cost, slope, curvature = np.empty((3, len(fit)))
    loss.seen(np.asarray(fit, float), np.asarray(value, float), cost, slope, curvature)
    return cost, slope, curvature


def test_it_is_a_parabola_up_to_the_corner_and_a_straight_line_beyond():
    loss, sigma, delta = Huber(delta=1.5, sigma=2.0), 2.0, 1.5
    gaps = np.array([0.0, 1.0, 3.0, 7.0, -20.0])
    cost, slope, curvature = of(loss, gaps, np.zeros(5))
    z = np.abs(gaps) / sigma
    rho = np.where(z <= delta, z**2 / 2, delta * z - delta**2 / 2)
    draws = np.random.default_rng(0).standard_normal(1_000_000)
    beta = np.mean(np.minimum(draws**2, delta**2))
    assert np.allclose(cost, sigma * (rho + beta / 2), atol=2e-3)
    assert np.allclose(slope, np.clip(gaps / sigma, -delta, delta))
    assert np.allclose(curvature, np.minimum(1, delta / np.maximum(z, 1e-12)) / sigma)


def test_the_parabola_that_stands_for_it_lies_above():
    loss, x = Huber(sigma=1.0), np.linspace(-9, 9, 301)
    cost = of(loss, x, np.zeros(301))[0]
    for at in (0.3, 2.0, -5.0):
        (here,), (slope,), (bend,) = of(loss, [at], [0.0])
        assert (here + slope * (x - at) + bend / 2 * (x - at) ** 2 >= cost - 1e-12).all()


def test_unseen_entries_pull_from_beyond_their_limits_only_and_no_harder_than_the_corner():
    fit, (cost, slope, curvature) = np.array([-1.0, 0.5, 9.0]), np.empty((3, 3))
    Huber(delta=1.0, sigma=1.0).unseen(fit, Ends((-np.inf, 0.0)), cost, slope, curvature)
    assert cost.tolist() == [0.0, 0.125, 8.5]
    assert slope.tolist() == [0.0, 0.5, 1.0]
    assert curvature[0] == 0
    assert (curvature[1:] > 0).all()


@pytest.mark.parametrize("threshold", [0.0, 0.4, None])
@pytest.mark.parametrize("sigma", [0.3, None])
def test_the_gradient_is_that_of_the_value(threshold, sigma):
    rng = np.random.default_rng(1)
    U = rng.standard_normal((12, 2))
    M = U @ U.T + 0.3 * rng.standard_normal((12, 12))
    X = M if threshold is None else np.where(threshold <= M, M, np.nan)
    X[1, 2] = 30.0
    problem = PSDProblem(Observations.of(X, threshold=threshold), 2, Huber(sigma=sigma))
    start, way = rng.standard_normal((2, 12, 2))
    point = problem.evaluate(start)
    slope = float(np.vdot(point.gradient, way))
    # The second derivative jumps at a corner: steps that are so short that hardly an entry passes one.
    order = remainder_order(
        lambda t: problem.evaluate(start + t * way).value, lambda t: point.value + t * slope, (1e-3, 3e-4, 1e-4)
    )
    assert abs(order - 2) < 0.1


def test_the_noise_level_is_that_of_proposal_two_and_gross_errors_hardly_move_it():
    rng = np.random.default_rng(0)
    noise = 0.5 * rng.standard_normal(20_000)
    noise[:400] = 1e6
    loss = Huber().begun(float(np.std(noise)))
    for _ in range(200):
        _, slope, curvature = of(loss, np.zeros_like(noise), noise)
        loss = loss.renewed(loss.seen_sums(np.zeros_like(noise), noise, slope, curvature))
    assert 0.5 < loss.noise < 0.53


def test_a_step_of_the_noise_level_never_raises_the_cost():
    rng = np.random.default_rng(3)
    gaps = rng.standard_cauchy(500)
    loss = Huber().begun(100.0)
    costs = []
    for _ in range(30):
        cost, slope, curvature = of(loss, gaps, np.zeros(500))
        costs.append(cost.sum())
        loss = loss.renewed(loss.seen_sums(gaps, np.zeros(500), slope, curvature))
    assert (np.diff(costs) <= 1e-9 * costs[0]).all()
    assert costs[-1] < costs[0] / 2


def test_weights_count_as_repetitions():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((10, 2))
    X = U @ U.T + 0.1 * rng.standard_normal((10, 10))
    weights = np.ones((10, 10))
    weights[3] = 3.0
    loss = Huber(sigma=0.1)
    weighed = PSDProblem(Observations.of(X, threshold=None, weights=weights), 2, loss).evaluate(U)
    plain = Observations.of(X, threshold=None)
    assert plain.unit == 1
    once, again = PSDProblem(plain, 2, loss).evaluate(U).value, of(loss, U[3] @ U.T, X[3])[0].sum()
    assert np.isclose(weighed.value, (once + 2 * again) * weights.size / weights.sum())
    assert np.isclose(weighed.sums[0], weights.size)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, "1"])
def test_a_corner_or_noise_that_is_none_is_refused(bad):
    with pytest.raises(InputError, match="delta must be"):
        Huber(delta=bad)
    with pytest.raises(InputError, match="sigma must be"):
        Huber(sigma=bad)


def test_it_is_one_of_the_losses_and_a_named_method_minimises_it():
    assert LOSSES["huber"] is Huber
    U = np.random.default_rng(0).standard_normal((40, 2))
    X = U @ U.T
    X[2, 5] = X[5, 2] = 60.0
    found = unrelu.complete(X, 2, threshold=None, loss="huber", method="gauss-newton", rng=0)
    squares = unrelu.complete(X, 2, threshold=None, loss="observed", method="gauss-newton", rng=0)
    assert found.loss == "huber"
    assert np.abs(found.matrix() - U @ U.T).max() < 1e-3 < np.abs(squares.matrix() - U @ U.T).max()
    assert [(one.row, one.column) for one in found.distrusted] == [(2, 5)]
    assert "left out" not in found.verdict.reason
