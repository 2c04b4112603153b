"""Oddities that are named, and near misses that are not."""

import numpy as np
import pytest

from unrelu._old.data.observations import Observations
from unrelu._old.judge.remarks import contradiction, remarks


def said(X, factor, residual=0.0, dtype=np.float64):
    observations = Observations.of(np.array(X, dtype), threshold=None)
    return remarks(observations, np.array(factor, dtype), residual)


@pytest.mark.parametrize(("residual", "contradicted"), [(0.4, False), (0.6, True), (np.nan, False)])
def test_a_rank_is_contradicted_by_half_of_the_data(residual, contradicted):
    assert (contradiction(2, residual) is not None) is contradicted


@pytest.mark.parametrize(
    ("dtype", "weak", "idle"),
    [(np.float64, 1e-8, True), (np.float64, 1e-4, False), (np.float32, 1e-4, True), (np.float32, 1e-2, False)],
)
def test_a_direction_whose_square_is_lost_in_rounding_is_not_there(dtype, weak, idle):
    U = np.array([[1.0, 0], [1, weak], [2, 0]])
    assert said(U @ U.T, U, dtype=dtype) == (["rank 1 is enough for the seen entries"] if idle else [])


def test_what_a_poor_fit_looks_like_is_not_said_of_the_data():
    U = np.ones((3, 2)) * [1.0, 0]
    assert said(np.ones((3, 3)), U) == ["all rows are alike", "rank 1 is enough for the seen entries"]
    assert said(np.ones((3, 3)) + np.eye(3), U, residual=0.3) == []


def test_one_row_is_not_alike():
    assert said([[4.0]], [[2.0]]) == []


def test_only_rows_of_which_something_was_seen_are_said_to_be_zero():
    X = np.array([[1.0, 1, 0, np.nan], [1, 1, 0, np.nan], [0, 0, 0, np.nan], [np.nan] * 4])
    found = said(X, [[1.0], [1], [0], [0]])
    assert found == ["all that was seen of row 2 is zero"]
