"""Fits along a path: what a neighbour gives them, and that they are the fits that were meant."""

import numpy as np
import pytest

import unrelu
from unrelu._old.auto.candidates import Candidate, fitted, next_factor
from unrelu._old.data.observations import Observations
from unrelu.datasets import planted


def noisy(n=60, rank=3, sigma=0.3, seed=0):
    instance = planted(n, rank, sigma=sigma, symmetric_noise=True, rng=seed)
    return instance.truth, np.where(instance.matrix >= 0, instance.matrix, np.nan)


def test_a_path_of_ranks_ends_where_a_fit_of_its_own_does():
    truth, X = noisy()
    seen, before = Observations.of(X, threshold=0.0), None
    for rank in (1, 2, 3):
        before = fitted(seen, Candidate(rank), before)
    alone = unrelu.complete(X, 3, loss="censored", rng=0)
    np.testing.assert_allclose(before.factor @ before.factor.T, alone.matrix(), atol=2e-3 * np.abs(truth).max())
    np.testing.assert_allclose(before.sigma, alone.sigma, rtol=1e-2)
    everyone = np.arange(60)
    np.testing.assert_allclose(
        before.entries(everyone, everyone[::-1]), np.diag((before.factor @ before.factor.T)[:, ::-1])
    )


def test_a_price_leaves_fewer_columns_the_higher_it_is():
    _, X = noisy()
    seen, before, columns = Observations.of(X, threshold=0.0), None, []
    for shrinkage in (30.0, 10.0, 3.0, 1.0):
        before = fitted(seen, Candidate(20, shrinkage, "limit"), before)
        columns.append(int(np.linalg.matrix_rank(before.factor, tol=1e-2)))
    assert columns == sorted(columns)
    assert columns[0] <= 3 < columns[-1]


@pytest.mark.parametrize("n", [40, 250])
def test_where_all_was_seen_one_step_from_nothing_has_the_top_eigenvectors(n):
    A = np.random.default_rng(1).standard_normal((n, n))
    M = A @ A.T / n
    problem = Candidate(4).problem(Observations.of(M, threshold=None), sigma=1.0)
    found = next_factor(problem, np.zeros((n, 1)))
    values, vectors = np.linalg.eigh(M)
    expected = (vectors[:, -4:] * values[-4:]) @ vectors[:, -4:].T
    np.testing.assert_allclose(found @ found.T * problem.unit, expected, atol=0.02)


def test_the_diagonal_is_used_as_it_is_meant():
    _, X = noisy()
    X = X + np.diag(np.linspace(0, 8, 60))  # what every row shares with itself
    seen = Observations.of(X, threshold=0.0)
    own = {use: np.einsum("ik,ik->i", *2 * [fitted(seen, Candidate(3, 0.0, use)).factor]) for use in ("data", "limit")}
    assert (own["limit"] <= np.diag(X) + 1.0).all()
    truth = noisy()[0]
    assert np.mean((own["limit"] - np.diag(truth)) ** 2) < 0.2 * np.mean((own["data"] - np.diag(truth)) ** 2)
