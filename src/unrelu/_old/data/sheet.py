"""A table as people have it: columns of numbers beside columns of words, and how completed cells get into it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.data.inputs import read_table
from unrelu._old.data.labels import Axes
from unrelu._old.data.left_out import impossible_entries
from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured, measured
from unrelu._old.data.source import source_of
from unrelu._old.data.table_observations import table_observations
from unrelu._old.data.terms import Terms, read_limits, settled

__all__ = ["Sheet", "whole", "within"]


@dataclass(frozen=True, eq=False)
class Sheet:
    """The caller's table.

    Attributes
    ----------
    source : the caller's own
    axes : Axes
        Of all its columns.
    values : ndarray of shape (m, n)
        NaN where nothing was seen, and in columns that hold no numbers; of the caller's precision.
    numeric : int ndarray
        Columns that hold numbers.
    left_out : bool ndarray of shape (m, n), or None
        Cells that nobody believes: they count as missing for no reason of theirs.

    Examples
    --------
    >>> import pandas as pd
    >>> sheet = Sheet.of(pd.DataFrame({"site": ["a", "b"], "lead": [1.5, np.nan]}))
    >>> sheet.numeric.tolist(), sheet.values.tolist()
    ([1], [[nan, 1.5], [nan, nan]])
    """

    source: Any
    axes: Axes
    values: Array
    numeric: Indices
    left_out: Bools | None = None

    @classmethod
    def of(cls, X: Any) -> Sheet:
        """Read what the caller brought; it is not changed."""
        if not _is_frame(X):
            data, axes = read_table(X)
            m, n = axes.shape
            return cls(X, axes, np.asarray(source_of(data).block(slice(0, m), slice(0, n))), np.arange(n))
        kinds = [getattr(kind, "kind", "O") for kind in X.dtypes]
        numeric = np.flatnonzero([kind in "iuf" for kind in kinds])
        m, n = X.shape
        columns = tuple(X.columns)
        if not len(numeric) or not m:
            return cls(X, Axes((m, n), tuple(X.index), columns), np.full((m, n), np.nan), numeric)
        data, axes = read_table(X.iloc[:, numeric])
        values = np.full((m, n), np.nan, data.dtype)
        values[:, numeric] = data
        return cls(X, Axes((m, n), axes.rows, columns), values, numeric)

    def name(self, column: int) -> str:
        """What a column is called, or where it stands."""
        return repr(self.axes.columns[column]) if self.axes.columns else str(column)

    def holds_integers(self, column: int) -> bool:
        """Whether a column can hold nothing but integers."""
        kinds = self.source.dtypes if _is_frame(self.source) else None
        return kinds is not None and getattr(kinds.iloc[column], "kind", "O") in "iu"

    def settled(self, terms: Terms) -> Terms:
        """What was said of all columns, in numbers."""
        return settled(terms, self.axes)

    def cells(self, terms: Terms) -> Measured:
        """What is known of the cells of columns that hold numbers, by terms that are settled; refused if it clashes."""
        limits = read_limits(terms, self.axes).part(np.arange(self.axes.shape[0]), self.numeric)
        told = Terms(threshold=limits, entry_range=terms.entry_range)
        rows, cols = np.nonzero(np.zeros((0, 0)) if self.left_out is None else self.left_out[:, self.numeric])
        return measured(table_observations(self._numbers, told, (rows, cols)))

    @property
    def _numbers(self) -> Any:
        return self.source.iloc[:, self.numeric] if _is_frame(self.source) else self.source

    def impossible(self, terms: Terms) -> Bools:
        """A few cells that could not have been seen, by terms that are settled."""
        limits = read_limits(terms, self.axes).part(np.arange(self.axes.shape[0]), self.numeric)
        told = Terms(threshold=limits, entry_range=terms.entry_range)
        rows, cols = impossible_entries(self._numbers, told, table=True)
        found = np.zeros(self.axes.shape, bool)
        found[rows, self.numeric[cols]] = True
        return found

    def without(self, cells: Bools) -> Sheet:
        """The same without some cells, which count as missing."""
        if not cells.any():
            return self
        left_out = cells if self.left_out is None else cells | self.left_out
        return replace(self, values=np.where(cells, np.nan, self.values).astype(self.values.dtype), left_out=left_out)

    def filled(self, columns: Indices, expected: Floats, ends: Ends) -> Any:
        """The table with expected values in the unseen cells of some columns, and the rest as it was.

        An array for whatever is no data frame; a column of integers stays one.
        """
        blank = np.isnan(self.values[:, columns])
        inside = within(expected, ends, self.values.dtype)
        if not _is_frame(self.source):
            result = np.array(self.values)
            result[:, columns] = np.where(blank, inside, result[:, columns])
            return result
        frame = self.source.copy()
        for k, j in enumerate(columns):
            rows = np.flatnonzero(blank[:, k])
            if len(rows):
                column = frame.iloc[:, j].copy()
                new = expected[rows, k]
                if self.holds_integers(j):
                    new = whole(new, ends[0][rows, k], ends[1][rows, k])
                else:
                    kept = np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype))
                    new = within(new, Ends((ends[0][rows, k], ends[1][rows, k])), kept)
                column.iloc[rows] = new
                frame.isetitem(j, column)
        return frame

    @property
    def told(self) -> Bools:
        """Cells that hold something."""
        if not _is_frame(self.source):
            return ~np.isnan(self.values)
        told = np.asarray(self.source.notna())
        return told if self.left_out is None else told & ~self.left_out


def within(values: Array, ends: Ends, dtype: Any) -> Array:
    """The same in another precision, where rounding must not lead beyond an end.

    Examples
    --------
    >>> bool(within(np.array([0.1]), Ends((-np.inf, 0.1)), np.dtype(np.float32))[0] <= 0.1)
    True
    """
    kind = np.dtype(dtype).type
    found = np.asarray(values).astype(kind)
    low, high = (np.broadcast_to(np.asarray(end, np.float64), found.shape) for end in ends)
    found = np.where(found.astype(np.float64) > high, np.nextafter(high.astype(kind), kind(-np.inf)), found)
    result: Array = np.where(found.astype(np.float64) < low, np.nextafter(low.astype(kind), kind(np.inf)), found)
    return result


def whole(values: Floats, low: Floats, high: Floats) -> Array:
    """The nearest integers strictly between two ends.

    Examples
    --------
    >>> whole(np.array([2.4, 2.9]), np.array([-np.inf, -np.inf]), np.array([3.0, 3.0])).tolist()
    [2, 2]
    """
    return np.clip(np.round(values), np.floor(low) + 1, np.ceil(high) - 1).astype(np.int64)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "to_numpy") and hasattr(X, "index") and hasattr(X, "columns")
