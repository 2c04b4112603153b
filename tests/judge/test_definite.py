"""Matrices that are not positive semidefinite are told so, and noise is not taken for that."""

from __future__ import annotations

import numpy as np
import pytest

import unrelu
from unrelu.data.observations import Observations
from unrelu.judge.definite import diagonal_hidden, not_definite


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
