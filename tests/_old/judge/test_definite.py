"""Matrices that are not positive semidefinite are told so, and noise is not taken for that."""

from __future__ import annotations

import numpy as np
import pytest

import unrelu
from unrelu._old.data.observations import Observations
from unrelu._old.judge.definite import diagonal_hidden, not_definite


def drawn(seed, n, signs, sigma):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, len(signs)))
    noise = rng.standard_normal((n, n))
    return (U * signs) @ U.T + sigma * (noise + noise.T) / np.sqrt(2)


@pytest.mark.parametrize("sigma", [1e-6, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_noise_is_not_taken_for_negative_eigenvalues(seed, sigma):
    whole = drawn(seed, 60, [1, 1, 1], sigma)
    for threshold in (0.0, None):
        X = whole if threshold is None else np.where(whole >= threshold, whole, np.nan)
        assert not_definite(Observations.of(X, threshold=threshold), 3) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sigma", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_negative_eigenvalues_are_told(seed, sigma, dtype):
    whole = drawn(seed, 60, [3, 3, -1], sigma).astype(dtype)
    said = not_definite(Observations.of(whole, threshold=None), 3)
    assert "not positive semidefinite" in said
    assert "structure='indefinite'" in said


def test_the_verdict_says_so_and_the_structure_mends_it():
    whole = drawn(1, 60, [3, 3, -1], 0.0)
    X = np.where(whole >= -2, whole, np.nan)
    told = unrelu.complete(X, 3, threshold=-2, rng=0)
    assert "not positive semidefinite" in told.verdict.reason
    assert not told.verdict.converged
    order = np.random.default_rng(0).permutation(60)
    turned = Observations.of(X[np.ix_(order, order)], threshold=-2.0)
    assert not_definite(turned, 3) == not_definite(Observations.of(X, threshold=-2.0), 3)
    mended = unrelu.complete(X, 3, threshold=-2, structure="indefinite", rng=0)
    assert mended.verdict.converged
    assert "semidefinite" not in mended.verdict.reason
    np.testing.assert_allclose(mended.matrix(), whole, atol=1e-8)


def test_a_diagonal_that_is_hidden_counts_only_where_it_lies_below_zero():
    whole = drawn(2, 40, [1, -1], 0.0)
    hidden = int(np.sum(np.diag(whole) < 0))
    assert hidden >= 3
    assert f"{hidden} of 40" in diagonal_hidden(Observations.of(np.where(whole >= 0, whole, np.nan)))
    above = np.where(whole >= 1, whole, np.nan)
    assert diagonal_hidden(Observations.of(above, threshold=1.0)) is None
    unknown = np.diag(np.diag(whole) < 0)
    assert diagonal_hidden(Observations.of(np.where(whole >= 0, whole, np.nan), unknown=unknown)) is None


def test_a_fit_by_likelihood_looks_at_both_sides_of_what_is_left():
    from unrelu import Censored
    from unrelu._old.judge.likelihood import Leftover
    from unrelu._old.problems.psd import PSDProblem

    rng = np.random.default_rng(0)
    U = rng.standard_normal((80, 2))
    E = 0.5 * rng.standard_normal((80, 80))
    right = U @ U.T + (E + E.T) / np.sqrt(2)
    wrong = right - 2 * np.outer(*[rng.standard_normal(80)] * 2)
    for matrix, fits in ((right, True), (wrong, False)):
        problem = PSDProblem(Observations.of(matrix, threshold=None), 2, Censored(0.5))
        left = Leftover.of(problem, problem.evaluate(U / np.sqrt(problem.unit)))
        assert left.complete  # no further column would help
        assert left.noise_only == fits


def test_noise_does_not_hide_that_a_matrix_is_indefinite():
    for seed in range(4):
        whole = drawn(seed, 80, [1, 1, -1], 0.5)
        told = unrelu.complete(np.where(whole >= 0, whole, np.nan), 3, rng=0)
        assert not told.verdict.converged, seed


@pytest.mark.filterwarnings("ignore:nothing was seen")
def test_few_columns_are_not_taken_for_a_wrong_rank():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        Y = rng.standard_normal((150, 2)) @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((150, 5))
        limits = np.quantile(Y, 0.3, axis=0)
        found = unrelu.complete_rectangular(np.where(limits <= Y, Y, np.nan), 2, threshold=limits, rng=0)
        assert found.verdict.code.value != "best-of-rank", seed
