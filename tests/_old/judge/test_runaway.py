"""Fits that leave the data behind are told so, whatever else speaks for them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

import unrelu
from unrelu import Stop, Verdict
from unrelu._old.data.observations import Observations
from unrelu._old.judge.runaway import runaway, unless_runaway
from unrelu._old.problems.psd import PSDProblem


@pytest.fixture(scope="module")
def wines():
    """A real table, standardised, with a limit of detection in each column."""
    table = load_wine().data[np.random.default_rng(5).choice(178, 60, replace=False)]
    table = (table - table.mean(0)) / table.std(0)
    limits = np.quantile(table, 0.3, axis=0)[None, :]
    return np.where(table > limits, table, np.nan), limits


@pytest.mark.parametrize("loss", ["auto", "one-sided", "censored"])
@pytest.mark.parametrize("rank", [2, 3])
def test_no_answer_has_left_the_data_behind(wines, loss, rank):
    X, limits = wines
    completion = unrelu.complete_rectangular(X, rank, threshold=limits, loss=loss, rng=0)
    far = np.abs(completion.matrix()).max() > 100 * np.nanmax(np.abs(X))
    assert not (far and completion.verdict.answered)
    if far:
        assert completion.verdict.code is Stop.DIVERGED
        assert "runs away" in completion.verdict.reason
        assert not completion.determined.any()


def test_the_squares_stand_where_the_likelihood_has_no_answer(wines):
    X, limits = wines
    asked = unrelu.complete_rectangular(X, 2, threshold=limits, loss="censored", rng=0)
    squares = unrelu.complete_rectangular(X, 2, threshold=limits, loss="one-sided", rng=0)
    assert asked.verdict.code is Stop.DIVERGED
    assert squares.verdict.answered
    chosen = unrelu.complete_rectangular(X, 2, threshold=limits, rng=0)
    assert chosen.loss == "one-sided"
    assert "this is the fit of the squares" in chosen.verdict.reason
    np.testing.assert_array_equal(chosen.matrix(), squares.matrix())


def test_only_what_exists_and_only_above_rounding_counts():
    M = np.outer([1.0, 2.0, 300.0], [1.0, 2.0, 300.0])
    X = M.copy()
    X[2, 2] = np.nan
    seen = Observations.of(X)
    problem = PSDProblem(seen, 1)
    root = np.sqrt(seen.unit)
    exact = problem.evaluate(np.array([[1.0], [2.0], [300.0]]) / root)
    assert runaway(PSDProblem(Observations.of(M), 1), exact) is None  # 9e4 was seen
    assert "9e+04" in runaway(problem, exact)
    off = problem.evaluate(np.array([[1.0], [2.0], [301.0]]) / root)
    assert runaway(problem, off) is not None
    assert unless_runaway(problem, exact, Verdict(Stop.STALLED, "")).code is Stop.STALLED
    assert unless_runaway(problem, off, Verdict(Stop.STALLED, "")).code is Stop.DIVERGED
    assert unless_runaway(problem, off, Verdict(Stop.MAX_SECONDS, "")).code is Stop.MAX_SECONDS


def test_blocks_of_a_table_that_do_not_exist_do_not_count():
    X = np.array([[1.0, 2.0], [2.0, 4.1], [3.0, np.nan]])
    completion = unrelu.complete_rectangular(X * [1.0, 1e-6], 1, threshold=None, rng=0)
    assert completion.verdict.code is not Stop.DIVERGED
