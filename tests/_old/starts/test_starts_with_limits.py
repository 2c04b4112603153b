"""Starts where limits differ from entry to entry."""

import numpy as np
import pytest

import unrelu
from unrelu import GaussNewton, Limits, Tailored
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.starts.base import scale_of


def filled(observations, seed=0):
    """What the tailored start puts into a matrix, with Q = YYᵀ, in the units of the data."""
    n, unit = observations.size, observations.unit
    Y = np.random.default_rng(seed).standard_normal((n, 2))
    whole = slice(0, n)
    return Tailored().fill(observations, Y, whole, whole) * unit, Y @ Y.T * unit


def test_absent_entries_are_drawn_between_their_own_limits():
    n, rng = 12, np.random.default_rng(1)
    M = rng.standard_normal((n, n))
    M = M + M.T + 4 * np.eye(n)
    hidden = np.triu(rng.random((n, n)) < 0.5, 1)
    hidden |= hidden.T
    low, high = np.full((n, n), -0.5), rng.uniform(0.5, 1.0, (1, n))
    X = np.where(hidden, np.nan, np.where(np.abs(M) < 1, 2.0, M))
    matrix, Q = filled(Observations.of(X, threshold=Limits(low, high)))
    i, j = np.nonzero(hidden)
    # A pair is the mean of what each way round puts in, and each keeps to its own limits.
    one, other = (np.clip(_mirrored(Q[a, b], -0.5, high[0, b]), -0.5, high[0, b]) for a, b in ((i, j), (j, i)))
    np.testing.assert_allclose(matrix[i, j], (one + other) / 2, atol=1e-12)
    np.testing.assert_allclose(matrix[~hidden], ((X + X.T) / 2)[~hidden], atol=1e-12)


def _mirrored(q, low, high):
    return np.where(q > high, 2 * high - q, np.where(q < low, 2 * low - q, q))


def test_an_entry_missing_by_chance_is_put_as_near_to_zero_as_its_range_allows():
    X = np.full((4, 4), 0.5)
    X[0, 1] = X[1, 0] = np.nan
    matrix, _ = filled(Observations.of(X, threshold=None, entry_range=(0.25, 1.0)))
    assert matrix[0, 1] == pytest.approx(0.25)


def test_a_gap_is_kept_free():
    X = np.full((4, 4), 0.5)
    X[0, 1] = X[1, 0] = np.nan
    for seed in range(5):
        matrix, Q = filled(Observations.of(X, threshold=(0.0, 1.0), seen="between"), seed)
        q = Q[0, 1]
        expected = q if not 0 < q < 1 else (-q if q <= 0.5 else 2 - q)
        assert matrix[0, 1] == pytest.approx(expected, abs=1e-12)


def test_what_was_seen_between_two_limits_tells_the_size_by_its_share():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((400, 2))
    M = U @ U.T
    low, high = np.quantile(M, [0.25, 0.75])
    observations = Observations.of(np.where((low <= M) & (high >= M), M, np.nan), threshold=(low, high), seen="between")
    scale = scale_of(observations, rng.standard_normal((400, 2))) * observations.unit
    assert 0.7 < scale < 1.4  # the seen ones alone would say any number


def test_limits_per_column_tell_the_size_as_one_limit_does():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((400, 2))
    M = U @ U.T
    threshold = np.quantile(M, rng.uniform(0.2, 0.8, (1, 400)))
    observations = Observations.of(np.where(threshold <= M, M, np.nan), threshold=threshold)
    assert 0.7 < scale_of(observations, rng.standard_normal((400, 2))) * observations.unit < 1.4


@pytest.mark.parametrize("kind", ["per column", "between"])
def test_the_size_of_a_table_is_told_by_its_own_entries(kind):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((700, 2)) @ rng.standard_normal((2, 100))
    if kind == "per column":
        threshold = np.quantile(M, rng.uniform(0.85, 0.95, (1, 100)))
        observations = table_observations(np.where(threshold <= M, M, np.nan), threshold=threshold)
    else:
        low, high = np.quantile(M, [0.25, 0.75])
        seen = (low <= M) & (high >= M)
        observations = table_observations(np.where(seen, M, np.nan), threshold=(low, high), seen="between")
    assert 0.7 < scale_of(observations, rng.standard_normal((800, 2))) * observations.unit < 1.4


def test_gaps_alone_are_not_heard_on_the_way_of_a_method_that_is_named():
    M = np.outer([1.0, 2, 3, 4], [1.0, 2, 3, 4])
    X = np.where(M <= 8, M, np.nan)
    only_gap = Observations.of(X, threshold=(0.0, 8.0), seen="between")
    assert GaussNewton().default_loss(only_gap).name == "observed"
    with_range = Observations.of(X, threshold=(0.0, 8.0), seen="between", entry_range=(0, 20))
    assert GaussNewton().default_loss(with_range).name == "one-sided"
    assert unrelu.complete(X, 1, threshold=(0.0, 8.0), seen="between", rng=0).verdict.converged
