"""Data as a sensor with a higher threshold would have seen them."""

import numpy as np
import pytest

from unrelu._old.data.observations import Observations
from unrelu._old.data.raised import Raised, raised
from unrelu._old.data.source import ArraySource

WHOLE = slice(0, 5)


def matrix():
    U = np.random.default_rng(0).standard_normal((5, 2))
    return U @ U.T


@pytest.mark.parametrize("side", ["above", "below"])
def test_what_is_beyond_the_raised_threshold_is_absent_and_no_more_is_told(side):
    M = matrix()
    sign = 1 if side == "above" else -1
    X = np.where(sign * M >= -0.5, M, np.nan)
    unknown = np.zeros((5, 5), dtype=bool)
    unknown[0, 1] = unknown[1, 0] = True
    X[unknown] = np.nan
    before = X.copy()
    seen = Observations.of(X, threshold=-0.5 * sign, seen=side, unknown=unknown)
    other = raised(seen, least=0.3) if side == "above" else raised(seen, most=-0.3)
    expected = np.where(sign * X >= 0.3, X, np.nan)
    np.testing.assert_array_equal(other.block(WHOLE, WHOLE), expected)
    assert other.count == np.count_nonzero(~np.isnan(expected))
    assert other.threshold == 0.3 * sign
    assert other.absence_says == ("below" if side == "above" else "above")
    i, j = (index.ravel() for index in np.indices((5, 5)))
    off = i != j
    assert not other.told_at(np.array([0]), np.array([1]))[0]
    assert other.told_at(i[off], j[off]).sum() == 18
    np.testing.assert_array_equal(X, before)


def test_the_diagonal_may_be_spared():
    M = matrix()
    spared = raised(Observations.of(M, threshold=-9.0), least=99.0, spared=True)
    expected = np.where(np.eye(5, dtype=bool), M, np.nan)
    np.testing.assert_array_equal(spared.block(WHOLE, WHOLE), expected)
    some = np.array([3, 1])
    np.testing.assert_array_equal(spared.restricted(some).block(slice(0, 2), slice(0, 2)), expected[np.ix_(some, some)])
    np.testing.assert_array_equal(
        spared.source.part(some, np.array([1, 2])).block(slice(0, 2), slice(0, 2)), expected[np.ix_(some, [1, 2])]
    )


def test_thresholds_may_differ_from_column_to_column():
    M = np.arange(12.0).reshape(3, 4)
    source = Raised(ArraySource(M), np.array([[0.0, 5.0, 6.0, 99.0]]), np.inf)
    expected = np.array([[0, np.nan, np.nan, np.nan], [4, 5, 6, np.nan], [8, 9, 10, np.nan]])
    np.testing.assert_array_equal(source.block(slice(0, 3), slice(0, 4)), expected)
    np.testing.assert_array_equal(source.at(np.array([0, 1, 2]), np.array([1, 1, 3])), [np.nan, 5.0, np.nan])
    part = source.part(np.array([2, 0]), np.array([1, 0])).block(slice(0, 2), slice(0, 2))
    np.testing.assert_array_equal(part, [[9, 8], [np.nan, 0]])
    assert source.in_dtype(np.float32).block(slice(0, 1), slice(0, 1)).dtype == np.float32
