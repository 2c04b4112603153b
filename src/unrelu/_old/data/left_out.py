"""Entries that are not to be looked at, because nobody believes them."""

from __future__ import annotations

from typing import Any

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.data.checks import impossible
from unrelu._old.data.inputs import read_table, read_values, square_size
from unrelu._old.data.labels import Axes
from unrelu._old.data.limits import Limits
from unrelu._old.data.source import Source, source_of
from unrelu._old.data.terms import Terms, read_limits, settled

__all__ = ["Places", "apart_from", "impossible_entries", "values_at"]

# Rows and columns of some entries.
Places = tuple[Indices, Indices]


def apart_from(source: Source, limits: Limits, left_out: Places | None) -> tuple[Source, Limits]:
    """A source and its limits without some entries, of which nothing is known then.

    Examples
    --------
    >>> import numpy as np
    >>> from unrelu._old.data.source import ArraySource
    >>> source, limits = apart_from(ArraySource(np.ones((2, 2))), Limits(high=0.0), (np.array([0]), np.array([1])))
    >>> source.block(slice(0, 1), slice(0, 2)).tolist(), limits.unknown.tolist()
    ([[1.0, nan]], [[False, True], [False, False]])
    """
    if left_out is None or not len(left_out[0]):
        return source, limits
    rows, cols = left_out
    return source.without(rows, cols), limits.without(rows, cols, source.shape)


def impossible_entries(X: Any, terms: Terms, *, table: bool = False) -> Places:
    """Where the caller's matrix, or table, holds a few values that could not have been seen by what is said of it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.ones((4, 4))
    >>> X[1, 2] = -3.0
    >>> [place.tolist() for place in impossible_entries(X, Terms(threshold=0.0))]
    [[1], [2]]
    """
    if table:
        data, axes = read_table(X)
    else:
        data, labels = read_values(X)
        axes = Axes.square(square_size(data, "X"), labels)
    told = settled(terms, axes)
    return impossible(source_of(data), read_limits(told, axes), told.entry_range)


def values_at(X: Any, places: Places, *, table: bool = False) -> Array:
    """What the caller's matrix, or table, holds at some places, NaN where that is nothing.

    Examples
    --------
    >>> import numpy as np
    >>> values_at(np.array([[1.0, 2.0], [3.0, 4.0]]), (np.array([1]), np.array([0]))).tolist()
    [3.0]
    """
    data = read_table(X)[0] if table else read_values(X)[0]
    return source_of(data).at(*places)
