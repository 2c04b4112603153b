"""A rectangular matrix as part of a symmetric one: its rows and columns are the rows of [L; R], X is off the diagonal.

With U = [L; R] the off-diagonal block of UUᵀ is LRᵀ. The blocks LLᵀ and RRᵀ on the diagonal do not exist in the data:
nothing was seen of them, and their absence says nothing. So everything that is known of passes over a symmetric matrix
serves a rectangular one; what is special about it is that LA and RA⁻ᵀ give the same matrix for every invertible A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu.base.arrays import Array, Bools, Indices
from unrelu.data.limits import Ends, Limits
from unrelu.data.source import Place, Source

__all__ = ["Bipartite", "BipartiteLimits"]


def _split(place: Place, cut: int, size: int) -> tuple[Indices, Indices, Indices, Indices]:
    """Positions in a block of the rows and of the columns of the table, and which they are there."""
    index = np.arange(size)[place]
    first = np.flatnonzero(index < cut)
    second = np.flatnonzero(index >= cut)
    return first, index[first], second, index[second] - cut


class Bipartite(Source):
    """[[·, X], [Xᵀ, ·]] of an m×n source: its first m rows are those of X, the others its columns.

    Examples
    --------
    >>> from unrelu.data.source import ArraySource
    >>> whole = Bipartite(ArraySource(np.array([[1.0, 2.0, np.nan]])))
    >>> whole.shape
    (4, 4)
    >>> whole.block(slice(0, 4), slice(0, 2)).tolist()
    [[nan, 1.0], [1.0, nan], [2.0, nan], [nan, nan]]
    """

    cut: int

    def __init__(self, table: Source) -> None:
        self.table = table
        m, n = table.shape
        self.cut, self.shape, self.dtype = m, (m + n, m + n), table.dtype
        self.thread_safe, self.at_hand = table.thread_safe, table.at_hand  # type: ignore[misc]

    def block(self, rows: Place, cols: Place) -> Array:
        """NaN where nothing exists."""
        size = self.shape[0]
        if _plain(rows, self.cut) == 0 and _plain(cols, self.cut) == 1:
            return self.table.block(rows, _shifted(cols, self.cut))
        if _plain(rows, self.cut) == 1 and _plain(cols, self.cut) == 0:
            return self.table.block(cols, _shifted(rows, self.cut)).T
        up, row_up, down, row_down = _split(rows, self.cut, size)
        left, col_left, right, col_right = _split(cols, self.cut, size)
        found = np.full((len(up) + len(down), len(left) + len(right)), np.nan, self.dtype)
        if len(up) and len(right):
            found[np.ix_(up, right)] = self.table.block(row_up, col_right)
        if len(down) and len(left):
            found[np.ix_(down, left)] = self.table.block(col_left, row_down).T
        return found

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        values = np.full(len(rows), np.nan, self.dtype)
        for i, j in ((rows, cols), (cols, rows)):
            mine = (i < self.cut) & (j >= self.cut)
            values[mine] = self.table.at(i[mine], j[mine] - self.cut)
        return values

    def exists(self, rows: Place, cols: Place) -> Bools:
        """Off the two blocks on the diagonal."""
        row, col = (np.arange(self.shape[0])[place] < self.cut for place in (rows, cols))
        return row[:, None] != col[None, :]

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns of the table, if they come in the order that a table has; else a plain array."""
        up, row_up, down, row_down = _split(rows, self.cut, self.shape[0])
        if np.array_equal(rows, cols) and np.array_equal(np.concatenate([up, down]), np.arange(len(rows))):
            return Bipartite(self.table.part(row_up, row_down))
        raise NotImplementedError("rows of a table come before its columns")

    def in_dtype(self, dtype: Any) -> Source:
        """The same values in another precision."""
        return Bipartite(self.table.in_dtype(dtype))

    def without(self, rows: Indices, cols: Indices) -> Source:
        """The same without some entries, each given both ways round or one way."""
        mine = (rows < self.cut) & (cols >= self.cut)
        return Bipartite(self.table.without(rows[mine], cols[mine] - self.cut))

    def symmetric(self) -> bool:
        """Yes."""
        return True


@dataclass(frozen=True, eq=False)
class BipartiteLimits(Limits):
    """The limits of a table in the symmetric matrix it is part of; ``table`` holds them."""

    table: Limits | None = None
    cut: int = 0
    size: int = 0

    @classmethod
    def of_table(cls, table: Limits, shape: tuple[int, int]) -> Limits:
        """Plain limits, where one number serves all entries."""
        if table.uniform and table.unknown is None:
            return table
        m, n = shape
        return cls(_one_of(table.low), _one_of(table.high), table=table, cut=m, size=m + n)

    @property
    def uniform(self) -> bool:
        """As that of the table."""
        assert self.table is not None
        return self.table.uniform

    def of(self, rows: Place, cols: Place) -> Ends:
        """(low, high) of a block."""
        assert self.table is not None
        if self.table.uniform:
            return self.table.of(rows, cols)
        if _plain(rows, self.cut) == 0 and _plain(cols, self.cut) == 1:
            return self.table.of(rows, _shifted(cols, self.cut))
        if _plain(rows, self.cut) == 1 and _plain(cols, self.cut) == 0:
            return self.table.of(cols, _shifted(rows, self.cut)).turned
        return Ends((self._dense(rows, cols, 0), self._dense(rows, cols, 1)))

    def at(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Ends:
        """(low, high) of single entries."""
        assert self.table is not None
        low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        for i, j in ((rows, cols), (cols, rows)):
            mine = (i < self.cut) & (j >= self.cut)
            ends = self.table.at(i[mine], j[mine] - self.cut, (self.cut, self.size - self.cut))
            low[mine], high[mine] = ends
        return Ends((low, high))

    def _dense(self, rows: Place, cols: Place, which: int) -> Array:
        assert self.table is not None
        up, row_up, down, row_down = _split(rows, self.cut, self.size)
        left, col_left, right, col_right = _split(cols, self.cut, self.size)
        found = np.full((len(up) + len(down), len(left) + len(right)), (-np.inf, np.inf)[which])
        if len(up) and len(right):
            found[np.ix_(up, right)] = self.table.of(row_up, col_right)[which]
        if len(down) and len(left):
            found[np.ix_(down, left)] = np.transpose(self.table.of(col_left, row_down)[which])
        return found

    def unknown_in(self, rows: Place, cols: Place) -> Bools | None:
        """Which entries of a block are missing for another reason."""
        assert self.table is not None
        if self.table.unknown is None:
            return None
        up, row_up, down, row_down = _split(rows, self.cut, self.size)
        left, col_left, right, col_right = _split(cols, self.cut, self.size)
        found = np.zeros((len(up) + len(down), len(left) + len(right)), dtype=bool)
        if len(up) and len(right):
            found[np.ix_(up, right)] = self.table.unknown[np.ix_(row_up, col_right)]
        if len(down) and len(left):
            found[np.ix_(down, left)] = self.table.unknown[np.ix_(col_left, row_down)].T
        return found

    def unknown_at(self, rows: Indices, cols: Indices) -> Bools | None:
        """Which of some entries are missing for another reason."""
        assert self.table is not None
        if self.table.unknown is None:
            return None
        found = np.zeros(len(rows), dtype=bool)
        for i, j in ((rows, cols), (cols, rows)):
            mine = (i < self.cut) & (j >= self.cut)
            found[mine] = self.table.unknown[i[mine], j[mine] - self.cut]
        return found

    def part(self, rows: Indices, cols: Indices) -> Limits:
        """Those of some rows and columns, rows of the table first."""
        assert self.table is not None
        _, row_up, _, row_down = _split(rows, self.cut, self.size)
        return BipartiteLimits.of_table(self.table.part(row_up, row_down), (len(row_up), len(row_down)))

    def without(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Limits:
        """The same with some entries unknown."""
        assert self.table is not None
        mine = (rows < self.cut) & (cols >= self.cut)
        m, n = self.cut, self.size - self.cut
        return BipartiteLimits.of_table(self.table.without(rows[mine], cols[mine] - self.cut, (m, n)), (m, n))


def _plain(place: Place, cut: int) -> int | None:
    """0 if a slice is among the rows of the table, 1 if among its columns; None if neither, or no slice."""
    if not isinstance(place, slice) or place.start is None or place.stop is None:
        return None
    return 0 if place.stop <= cut else 1 if place.start >= cut else None


def _shifted(place: Place, cut: int) -> Place:
    return slice(place.start - cut, place.stop - cut) if isinstance(place, slice) else place - cut


def _one_of(limit: float | Array) -> float:
    """A finite one, if any is: for those who ask whether there is a limit at all."""
    finite = np.ravel(limit)[np.isfinite(np.ravel(limit))]
    return float(finite[0]) if finite.size else float(np.ravel(limit)[0])
