"""Rows that linear steps do not reach: fitted to the body, joined as bodies, or started from many places at once."""

import numpy as np
import pytest

from unrelu import Observed, OneSided
from unrelu._old.data.canonical import canonical_order
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import noiseless
from unrelu._old.placing.outside import fitted_outside
from unrelu._old.placing.placement import furthest_placement
from unrelu._old.placing.turning import joined, turned_together
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.side_by_side import best_of_many, count_of_starts


def gram(n, rank, seed=0):
    U = np.random.default_rng([seed, 11]).standard_normal((n, rank))
    return U, U @ U.T


@pytest.mark.parametrize("seed", range(5))
def test_rows_outside_meet_what_was_seen_of_them_and_what_absence_says(seed):
    _, M = gram(120, 4, seed)
    tau = float(np.quantile(M, 0.93))
    observations = Observations.of(np.where(tau <= M, M, np.nan), threshold=tau)
    placement = furthest_placement(observations, 4, np.random.default_rng(seed))
    assert 20 < placement.placed.sum() < 118
    problem = PSDProblem(observations, 4, OneSided())
    start = placement.completed(observations)
    assert not noiseless(problem, problem.evaluate(start).value)
    found = fitted_outside(observations, start, placement.placed, np.random.default_rng(0), absence=True)
    assert noiseless(problem, problem.evaluate(found).value)
    np.testing.assert_array_equal(found[placement.placed], start[placement.placed])


def test_without_absence_only_what_was_seen_is_met():
    _, M = gram(30, 3)
    M[0, 3:] = M[3:, 0] = np.nan
    observations = Observations.of(M, threshold=None)
    start = furthest_placement(observations, 3, np.random.default_rng(0)).factor
    start[0] = 0
    found = fitted_outside(observations, start, np.arange(30) > 0, np.random.default_rng(1), absence=False)
    assert np.abs((found @ found.T * observations.unit - M)[0, :3]).max() < 1e-8


def test_many_rows_outside_are_solved_by_conjugate_gradients(monkeypatch):
    from unrelu._old.placing import outside

    monkeypatch.setattr(outside, "DENSE", 10)
    test_rows_outside_meet_what_was_seen_of_them_and_what_absence_says(0)


def two_bodies(seed, rank=3, cross=8):
    """Two fully seen groups with a few entries between them, fewer than linear steps need."""
    _, M = gram(40, rank, seed)
    X = M.copy()
    X[:20, 20:] = X[20:, :20] = np.nan
    rng = np.random.default_rng(seed)
    for i, j in zip(rng.permutation(20)[:cross], 20 + rng.permutation(20)[:cross], strict=True):
        X[i, j] = X[j, i] = M[i, j]
    return M, X


@pytest.mark.parametrize("seed", range(5))
def test_bodies_join_by_entries_between_them(seed):
    M, X = two_bodies(seed)
    observations = Observations.of(X, threshold=None)
    rng = np.random.default_rng(0)
    first = furthest_placement(observations, 3, rng)
    assert first.placed.sum() == 20
    both = joined(observations, first, rng)
    assert both.placed.all()
    assert np.abs(both.factor @ both.factor.T * observations.unit - M).max() < 1e-7


def test_bodies_that_no_turn_fits_stay_apart():
    _, X = two_bodies(0, cross=12)
    some = np.argwhere(~np.isnan(X[:20, 20:]))
    for i, j in some:
        X[i, 20 + j] = X[20 + j, i] = X[i, 20 + j] + 3.0
    observations = Observations.of(X, threshold=None)
    rng = np.random.default_rng(0)
    first = furthest_placement(observations, 3, rng)
    assert joined(observations, first, rng).placed.sum() == 20


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pieces_turn_until_what_absence_says_holds(rank):
    U = np.abs(np.random.default_rng(rank).standard_normal((40, rank)))
    U[20:] *= -1
    M = U @ U.T
    observations = Observations.of(np.where(M >= 0, M, np.nan))
    problem = PSDProblem(observations, rank, OneSided())
    factor = U / np.sqrt(observations.unit)
    factor[20:] *= -1  # onto the side where all would have been seen
    assert problem.evaluate(factor).value > 1.0
    turned = turned_together(problem, factor, [np.arange(20), np.arange(20, 40)], np.random.default_rng(1))
    assert problem.evaluate(turned).value < 1e-12
    assert np.abs(turned @ turned.T - factor @ factor.T)[:20, :20].max() < 1e-12


def test_many_starts_at_once_find_what_one_misses():
    """35 % of the pairs hidden at n = 9, rank 3: a random start alone seldom fits."""
    rng = np.random.default_rng(1329)
    U = rng.standard_normal((9, 3))
    hidden = np.triu(rng.random((9, 9)) < 0.35)
    X = np.where(hidden | hidden.T, np.nan, U @ U.T)
    problem = PSDProblem(Observations.of(X, threshold=None), 3, Observed())
    found = best_of_many(problem, np.random.default_rng(0))
    assert np.nansum((found @ found.T - X / problem.unit) ** 2) < 1e-12 * problem.norm**2


def test_many_starts_at_once_hear_what_absence_says():
    _, M = gram(8, 2, 3)
    tau = float(np.quantile(M, 0.6))
    observations = Observations.of(np.where(tau <= M, M, np.nan), threshold=tau)
    for loss, heard in ((OneSided(), True), (Observed(), False)):
        problem = PSDProblem(observations, 2, loss)
        found = [best_of_many(problem, np.random.default_rng(seed)) for seed in range(5)]
        beyond = [np.maximum(V @ V.T * observations.unit - tau, 0)[tau > M].max() for V in found]
        assert bool(max(beyond) < 1e-6) is heard


def test_more_unknowns_have_fewer_starts():
    assert count_of_starts(24) == 256
    assert 50 < count_of_starts(150) < 100


def test_the_order_depends_on_the_data_alone():
    rng = np.random.default_rng(0)
    _, M = gram(25, 2)
    X = np.where(M >= 0, M, np.nan)
    unknown = np.isnan(X) & (rng.random((25, 25)) < 0.3)
    order = rng.permutation(25)
    here = canonical_order(Observations.of(X, unknown=unknown))
    there = canonical_order(Observations.of(X[np.ix_(order, order)], unknown=unknown[np.ix_(order, order)]))
    np.testing.assert_array_equal(here, order[there])


def test_entries_that_are_unknown_tell_rows_apart():
    X = np.ones((3, 3))
    X[0, 1:] = X[1:, 0] = np.nan
    unknown = np.zeros((3, 3), dtype=bool)
    unknown[0, 1] = True
    first = canonical_order(Observations.of(X, unknown=unknown)).tolist()
    swapped = canonical_order(Observations.of(X, unknown=unknown[np.ix_([0, 2, 1], [0, 2, 1])])).tolist()
    assert [[0, 2, 1][k] for k in first] == swapped != first
