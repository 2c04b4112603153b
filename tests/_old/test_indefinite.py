"""Symmetric matrices that are not positive semidefinite: U D Uᵀ, its signs found, its entries judged."""

from __future__ import annotations

import numpy as np
import pytest

import unrelu
from unrelu import Censored, InputError, Observed, OneSided
from unrelu._old.data.mirrored import Mirrored, as_table
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource
from unrelu._old.kernels import kernel_for
from unrelu._old.model.factors import Signed, nearest_signed
from unrelu._old.problems.indefinite import IndefiniteProblem


def drawn(seed, n, signs, sigma=0.0):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, len(signs)))
    truth = (U * signs) @ U.T
    noise = rng.standard_normal((n, n))
    return truth, truth + sigma * (noise + noise.T) / np.sqrt(2)


def seen_above(matrix, threshold=0.0):
    return np.where(matrix >= threshold, matrix, np.nan)


@pytest.mark.parametrize("signs", [(1, -1), (1, 1, -1), (1, 1, 1, -1, -1), (1, -1, -1, -1), (-1, -1), (1, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_exact_without_noise_and_its_signs_are_found(signs, seed):
    truth, _ = drawn(seed, 50, signs)
    completion = unrelu.complete(seen_above(truth), len(signs), structure="indefinite", rng=0)
    assert completion.verdict.code.value == "fitted"
    assert completion.signs == signs
    assert completion.determined.all()
    np.testing.assert_allclose(completion.matrix(), truth, atol=1e-8)
    np.testing.assert_array_equal(completion.matrix(), completion.matrix().T)


@pytest.mark.parametrize("loss", ["observed", "one-sided", "auto"])
@pytest.mark.parametrize("threshold", [-1.0, 0.5])
def test_other_thresholds_and_losses(loss, threshold):
    truth, _ = drawn(3, 60, (1, 1, -1))
    X = seen_above(truth, threshold)
    completion = unrelu.complete(X, 3, threshold=threshold, loss=loss, structure="indefinite", rng=0)
    assert completion.verdict.converged
    np.testing.assert_allclose(completion.matrix(), truth, atol=1e-7)


def test_what_is_seen_one_way_round_counts_both_ways():
    truth, _ = drawn(5, 50, (1, 1, -1))
    X = np.where(truth >= 0, truth, np.nan)
    X[np.tril_indices(50, -1)] = np.nan
    unknown = np.tril(np.ones((50, 50), bool), -1)
    completion = unrelu.complete(X, 3, unknown=unknown, structure="indefinite", rng=0)
    assert completion.verdict.converged
    np.testing.assert_allclose(completion.matrix(), truth, atol=1e-8)


def test_noise_is_fitted_by_likelihood_and_intervals_cover():
    covered, everyone = [], np.arange(80)
    for seed in range(4):
        truth, noisy = drawn(seed, 80, (1, 1, -1, -1), sigma=0.5)
        completion = unrelu.complete(seen_above(noisy), 4, structure="indefinite", rng=0)
        assert completion.verdict.code.value == "fitted-to-noise"
        assert completion.loss == "censored"
        assert completion.noise.sigma == pytest.approx(0.5, rel=0.1)
        low, high = completion.interval(everyone[:, None], everyone)
        covered.append(np.mean((low < truth) & (truth < high)))
    assert 0.92 < np.mean(covered) < 0.98


@pytest.mark.parametrize("method", ["gauss-newton", "gradient-descent", "pam", "scaled-gd"])
def test_named_methods(method):
    truth, _ = drawn(1, 60, (1, -1))
    options = {} if method == "gauss-newton" else {"max_iter": 20_000}
    completion = unrelu.complete(
        seen_above(truth), 2, structure="indefinite", method=method, start="tailored", rng=0, **options
    )
    assert completion.method == method
    np.testing.assert_allclose(completion.matrix(), truth, atol=1e-3 * np.abs(truth).max())


def test_more_data_go_on_from_an_earlier_completion():
    _, noisy = drawn(1, 60, (1, 1, -1), sigma=0.1)
    first = unrelu.complete(seen_above(noisy, 0.5), 3, threshold=0.5, structure="indefinite", rng=0)
    again = unrelu.complete(seen_above(noisy), 3, structure="indefinite", start=first, loss="one-sided", rng=0)
    assert again.signs == first.signs
    assert again.start == "an earlier completion"
    assert again.verdict.converged


def test_scale_order_and_precision():
    truth, _ = drawn(2, 50, (1, 1, -1))
    X = seen_above(truth)
    first = unrelu.complete(X, 3, structure="indefinite", rng=0)
    scaled = unrelu.complete(X * 4.0**40, 3, structure="indefinite", rng=0)
    np.testing.assert_array_equal(scaled.matrix(), first.matrix() * 4.0**40)
    order = np.random.default_rng(0).permutation(50)
    turned = unrelu.complete(X[np.ix_(order, order)], 3, structure="indefinite", rng=0)
    np.testing.assert_allclose(turned.matrix(), first.matrix()[np.ix_(order, order)], atol=1e-9)
    single = unrelu.complete(X.astype(np.float32), 3, structure="indefinite", rng=0)
    assert single.matrix().dtype == np.float32
    np.testing.assert_allclose(single.matrix(), truth, atol=1e-3)
    again = unrelu.complete(X, 3, structure="indefinite", rng=0)
    np.testing.assert_array_equal(again.matrix(), first.matrix())


def test_rows_that_see_too_little_are_not_called_determined():
    truth, _ = drawn(4, 50, (1, 1, -1))
    X = seen_above(truth)
    unknown = np.zeros((50, 50), bool)
    X[7, 2:], X[2:, 7] = np.nan, np.nan
    unknown[7, 2:], unknown[2:, 7] = True, True
    completion = unrelu.complete(X, 3, unknown=unknown, structure="indefinite", rng=0)
    assert not completion.determined[7]
    assert completion.determined[:7].all()
    low, high = completion.bounds([7, 3], [9, 4])
    assert low[0] == -np.inf
    assert high[0] == np.inf
    assert low[1] <= truth[3, 4] <= high[1]
    assert high[1] - low[1] < 1e-4
    assert np.isnan(completion.matrix("nan")[7, 9])


def test_bounds_of_what_is_not_determined_are_its_limits():
    truth, _ = drawn(4, 12, (1, 1, 1, -1, -1))
    completion = unrelu.complete(seen_above(truth), 5, structure="indefinite", rng=0)
    hidden = np.argwhere(truth < 0)
    i, j = hidden.T
    low, high = completion.bounds(i, j)
    assert ((low <= truth[i, j]) & (truth[i, j] <= high)).all()
    assert (high <= 1e-6).all()


def test_it_comes_back_from_its_file(tmp_path):
    truth, _ = drawn(2, 40, (1, 1, -1))
    X = seen_above(truth)
    first = unrelu.complete(X, 3, structure="indefinite", rng=0)
    first.save(tmp_path / "signed.npz")
    again = unrelu.Completion.load(tmp_path / "signed.npz").with_data(X)
    assert again.signs == (1, 1, -1)
    np.testing.assert_array_equal(again.matrix(), first.matrix())
    np.testing.assert_array_equal(again.determinacy, first.determinacy)
    assert again.bounds(0, 1) == first.bounds(0, 1)


def test_who_does_not_wait_gets_the_best_so_far():
    _, noisy = drawn(2, 60, (1, 1, -1), sigma=0.3)
    calls = []

    def stop_soon(record):
        calls.append(record)
        return len(calls) >= 4

    completion = unrelu.complete(seen_above(noisy), 3, structure="indefinite", rng=0, callback=stop_soon)
    assert completion.verdict.code.value == "callback"
    assert completion.signs is not None
    assert np.isfinite(completion.matrix()).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"structure": "definite"}, "structure"),
        ({"structure": 1}, "structure"),
        ({"method": "sdp"}, "positive semidefinite"),
        ({"method": "direct"}, "positive semidefinite"),
        ({"start": "gaussian"}, "'tailored'"),
        ({"start": np.ones((20, 2))}, "signs"),
        ({"problem": IndefiniteProblem}, "drop structure="),
    ],
)
def test_what_cannot_be_meant_is_refused(options, words):
    truth, _ = drawn(0, 20, (1, -1))
    with pytest.raises(InputError, match=words) as refused:
        unrelu.complete(seen_above(truth), 2, **{"structure": "indefinite", **options})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("loss", [Observed(), OneSided(), Censored(level=0.7)])
def test_gradient_curvature_and_hessian_against_differences(loss):
    _, noisy = drawn(0, 14, (1, 1, -1), sigma=0.3)
    X = seen_above(noisy)
    X[3, 5] = np.nan
    problem = IndefiniteProblem(Observations.of(X), 3, loss, signs=(1, -1, 1))
    rng = np.random.default_rng(1)
    U, D = rng.standard_normal((2, 14, 3))
    point = problem.evaluate(U)
    step = 1e-6
    ahead, behind = problem.evaluate(U + step * D), problem.evaluate(U - step * D)
    slope = (ahead.value - behind.value) / (2 * step)
    assert slope == pytest.approx(np.vdot(point.gradient, D), rel=1e-6)
    if not problem.loss.likelihood:  # Fisher scoring is no second derivative
        turned = (ahead.gradient - behind.gradient) / (2 * step)
        np.testing.assert_allclose(problem.hessian(point, D), turned, rtol=1e-5, atol=1e-6)
        whole = problem.curvature_matrix(point, whole=True)
        np.testing.assert_allclose((whole @ D.ravel()).reshape(D.shape), turned, rtol=1e-5, atol=1e-6)
    matrix = problem.curvature_matrix(point)
    np.testing.assert_allclose((matrix @ D.ravel()).reshape(D.shape), problem.curvature(point, D), rtol=1e-5)


def test_turns_move_no_entry():
    seen = Observations.of(np.eye(6), threshold=None)
    problem = IndefiniteProblem(seen, 3, signs=(1, -1, -1))
    U = np.random.default_rng(0).standard_normal((6, 3))
    D = np.array([1.0, -1.0, -1.0])
    for k in range(3):
        move = problem.turns(U)[:, :, k]
        np.testing.assert_allclose((U * D) @ move.T + (move * D) @ U.T, 0, atol=1e-12)


def test_the_nearest_with_given_signs():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((9, 3))
    found, signs, apart = nearest_signed(U, U * [1, 1, -1], 3)
    assert signs == (1, 1, -1)
    assert apart < 1e-12
    np.testing.assert_allclose(Signed(found, np.array(signs)).dense(), (U * [1, 1, -1]) @ U.T, atol=1e-12)
    other, given, far = nearest_signed(U, U * [1, 1, -1], 3, (-1, 1, 1))
    assert given == (-1, 1, 1)
    assert far < 1e-12
    np.testing.assert_allclose(Signed(other, np.array(given)).dense(), (U * [1, 1, -1]) @ U.T, atol=1e-12)
    positive, _, distance = nearest_signed(U, U * [1, 1, -1], 2, (1, 1))
    values = np.linalg.eigvalsh((U * [1, 1, -1]) @ U.T)
    np.testing.assert_allclose(np.linalg.eigvalsh(positive @ positive.T)[-2:], values[-2:], atol=1e-10)
    assert distance == pytest.approx(abs(values[0]) / np.linalg.norm(values[-2:]))


def test_a_matrix_as_a_table():
    nan = np.nan
    X = np.array([[1.0, 2.0, nan], [4.0, nan, 5.0], [nan, nan, 2.0]])
    whole = slice(0, 3)
    expected = [[1.0, 3.0, nan], [3.0, nan, 5.0], [nan, 5.0, 2.0]]
    np.testing.assert_array_equal(Mirrored(ArraySource(X)).block(whole, whole), expected)
    table = as_table(Observations.of(X))
    np.testing.assert_array_equal(table.block(whole, slice(3, 6)), expected)
    absent = table.absent(whole, slice(3, 6), table.block(whole, slice(3, 6)))
    np.testing.assert_array_equal(absent, [[0, 0, 1], [0, 0, 0], [1, 0, 0]])  # a diagonal is not below zero


def test_a_kernel_from_outside_must_know_of_signs():
    class Unsigned:
        def __init__(self, observations, loss):
            self.inner = kernel_for(observations, loss)

        def __getattr__(self, name):
            if name in ("signed", "inner"):
                raise AttributeError(name)
            return getattr(self.inner, name)

    truth, _ = drawn(0, 20, (1, -1))
    with pytest.raises(InputError, match=r"Unsigned must have signed\(signs\)"):
        unrelu.complete(seen_above(truth), 2, structure="indefinite", loss="observed", kernel=Unsigned)


def test_a_runaway_fit_is_measured_with_its_signs():
    from unrelu._old.judge.runaway import runaway

    seen = Observations.of(np.eye(3), threshold=None)
    problem = IndefiniteProblem(seen, 2, signs=(1, -1))
    huge = np.full((3, 2), 1e3)  # the two columns take each other away
    assert runaway(problem, problem.evaluate(huge)) is None
    assert runaway(problem, problem.evaluate(huge * [1.0, 2.0])) is not None
