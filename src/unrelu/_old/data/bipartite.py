"""A rectangular matrix as part of a symmetric one: its rows and columns are the rows of [L; R], X is off the diagonal.

With U = [L; R] the off-diagonal block of UUᵀ is LRᵀ. The blocks LLᵀ and RRᵀ on the diagonal do not exist in the data:
nothing was seen of them, and their absence says nothing. So everything that is known of passes over a symmetric matrix
serves a rectangular one; what is special about it is that LA and RA⁻ᵀ give the same matrix for every invertible A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.data.limits import Ends, Limits, numbers_at, part_of
from unrelu._old.data.source import Place, Source

__all__ = ["Bipartite", "BipartiteLimits", "Embedded"]


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
    >>> from unrelu._old.data.source import ArraySource
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
        self.tensor, self.lazy, self.device = table.tensor, table.lazy, table.device  # those of the table

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

    def in_memory(self) -> Source:
        """The same values in the memory of this machine."""
        return Bipartite(self.table.in_memory())

    def without(self, rows: Indices, cols: Indices) -> Source:
        """The same without some entries, each given both ways round or one way."""
        mine = (rows < self.cut) & (cols >= self.cut)
        return Bipartite(self.table.without(rows[mine], cols[mine] - self.cut))

    def symmetric(self) -> bool:
        """Yes."""
        return True


@dataclass(frozen=True, eq=False)
class Embedded:
    """Numbers for the entries of a table, asked for by rows and columns of the symmetric matrix it is part of.

    Attributes
    ----------
    values : number or ndarray
        What broadcasts to the table; a number is that of everything.
    fill : number
        What stands where there is no table.
    cut, size : int
        Rows of the table, and of the symmetric matrix.

    Examples
    --------
    >>> per_column = Embedded(np.array([[5.0, 7.0]]), fill=1.0, cut=1, size=3)
    >>> per_column.of(slice(0, 3), slice(0, 3)).tolist()
    [[1.0, 5.0, 7.0], [5.0, 1.0, 1.0], [7.0, 1.0, 1.0]]
    """

    values: Any
    fill: Any
    cut: int
    size: int

    def of(self, rows: Place, cols: Place) -> Any:
        """What broadcasts to a block: no larger than need be, if that lies on one side of the diagonal blocks."""
        if np.ndim(self.values) == 0:
            return self.values
        sides = _plain(rows, self.cut), _plain(cols, self.cut)
        if sides == (0, 1):
            return part_of(self.values, rows, _shifted(cols, self.cut))
        if sides == (1, 0):
            return np.transpose(part_of(self.values, cols, _shifted(rows, self.cut)))
        if sides in ((0, 0), (1, 1)):
            return np.full((1, 1), self.fill, np.asarray(self.values).dtype)
        up, row_up, down, row_down = _split(rows, self.cut, self.size)
        left, col_left, right, col_right = _split(cols, self.cut, self.size)
        found = np.full((len(up) + len(down), len(left) + len(right)), self.fill, np.asarray(self.values).dtype)
        if len(up) and len(right):
            found[np.ix_(up, right)] = part_of(self.values, row_up, col_right)
        if len(down) and len(left):
            found[np.ix_(down, left)] = np.transpose(part_of(self.values, col_left, row_down))
        return found

    def at(self, rows: Indices, cols: Indices) -> Any:
        """Those of single entries."""
        if np.ndim(self.values) == 0:
            return np.full(len(rows), self.values)
        found = np.full(len(rows), self.fill, np.asarray(self.values).dtype)
        shape = self.cut, self.size - self.cut
        for i, j in ((rows, cols), (cols, rows)):
            mine = (i < self.cut) & (j >= self.cut)
            found[mine] = numbers_at(self.values, i[mine], j[mine] - self.cut, shape)
        return found

    def part(self, rows: Indices, cols: Indices) -> Embedded:
        """Those of some rows and columns, rows of the table first."""
        _, row_up, _, row_down = _split(rows, self.cut, self.size)
        return Embedded(part_of(self.values, row_up, row_down), self.fill, len(row_up), len(rows))


@dataclass(frozen=True, eq=False)
class BipartiteLimits(Limits):
    """The limits of a table, asked for by rows and columns of the symmetric matrix it is part of.

    ``low``, ``high``, ``unknown``, ``gap`` and ``chance`` are those of the table.
    """

    cut: int = 0
    size: int = 0

    @classmethod
    def of_table(cls, table: Limits, shape: tuple[int, int]) -> Limits:
        """Plain limits, where one number serves all entries."""
        parts = table.low, table.high, *(table.gap or ()), table.chance
        if table.unknown is None and not any(np.ndim(part) for part in parts):
            return table
        m, n = shape
        return cls(table.low, table.high, table.unknown, table.gap, table.chance, m, m + n)

    @property
    def of_its_table(self) -> Limits:
        """By rows and columns of the table."""
        return Limits(self.low, self.high, self.unknown, self.gap, self.chance)

    def _embedded(self, values: Any, fill: Any) -> Embedded:
        return Embedded(values, fill, self.cut, self.size)

    @property
    def _ends(self) -> tuple[Embedded, ...]:
        """Low and high, and those of the gap if there is one."""
        ends = (self.low, -np.inf), (self.high, np.inf), *zip(self.gap or (), (np.inf, -np.inf), strict=False)
        return tuple(self._embedded(values, fill) for values, fill in ends)

    def of(self, rows: Place, cols: Place) -> Ends:
        """(low, high) of a block, and its gap."""
        low, high, *gap = (end.of(rows, cols) for end in self._ends)
        return Ends((low, high), (gap[0], gap[1]) if gap else None)

    def at(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Ends:
        """(low, high) of single entries, and their gap."""
        low, high, *gap = (end.at(rows, cols) for end in self._ends)
        return Ends((low, high), (gap[0], gap[1]) if gap else None)

    def by_chance(self, rows: Place, cols: Place) -> Any:
        """``chance`` of a block."""
        return self._embedded(self.chance, False).of(rows, cols)

    def chance_at(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Bools:
        """``chance`` of single entries."""
        chance: Bools = self._embedded(self.chance, False).at(rows, cols)
        return chance

    def unknown_in(self, rows: Place, cols: Place) -> Bools | None:
        """Which entries of a block are missing for another reason."""
        return None if self.unknown is None else self._embedded(self.unknown, False).of(rows, cols)

    def unknown_at(self, rows: Indices, cols: Indices) -> Bools | None:
        """Which of some entries are missing for another reason."""
        return None if self.unknown is None else self._embedded(self.unknown, False).at(rows, cols)

    def part(self, rows: Indices, cols: Indices) -> Limits:
        """Those of some rows and columns, rows of the table first."""
        _, row_up, _, row_down = _split(rows, self.cut, self.size)
        return BipartiteLimits.of_table(self.of_its_table.part(row_up, row_down), (len(row_up), len(row_down)))

    def without(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Limits:
        """The same with some entries unknown."""
        mine = (rows < self.cut) & (cols >= self.cut)
        table = self.cut, self.size - self.cut
        return BipartiteLimits.of_table(self.of_its_table.without(rows[mine], cols[mine] - self.cut, table), table)


def _plain(place: Place, cut: int) -> int | None:
    """0 if a slice is among the rows of the table, 1 if among its columns; None if neither, or no slice."""
    if not isinstance(place, slice) or place.start is None or place.stop is None:
        return None
    return 0 if place.stop <= cut else 1 if place.start >= cut else None


def _shifted(place: Place, cut: int) -> Place:
    return slice(place.start - cut, place.stop - cut) if isinstance(place, slice) else place - cut
