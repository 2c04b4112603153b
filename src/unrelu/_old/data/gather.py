"""Blocks out of a sparse array: found by bisection in its rows, so that no more of it is touched than need be."""

from __future__ import annotations

from math import log2
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Array, Indices

__all__ = ["Gather", "indices_of", "length_of"]

# A copy by columns is made once what it would have saved is so many times the entries that it holds.
WORTH_A_COPY = 8

# One for all: a copy is made seldom, and a lock of its own would keep an array from being pickled.
_LOCK = Lock()


def length_of(place: slice | Indices, length: int) -> int:
    """How many rows a place names, of so many.

    Examples
    --------
    >>> length_of(slice(2, 5), 4), length_of(np.array([3, 3]), 4)
    (2, 2)
    """
    return len(range(*place.indices(length))) if isinstance(place, slice) else len(place)


def indices_of(place: slice | Indices, length: int) -> Indices:
    """Which rows a place names, of so many, counted from the first.

    Examples
    --------
    >>> indices_of(slice(2, 5), 4).tolist(), indices_of(np.array([0, -1]), 4).tolist()
    ([2, 3], [0, 3])
    """
    if isinstance(place, slice):
        return np.arange(*place.indices(length), dtype=np.intp)
    found = np.asarray(place)
    if found.dtype.kind == "b":
        return np.flatnonzero(found)
    if found.size and (found.min() < -length or found.max() >= length):
        wrong = found[(found < -length) | (found >= length)][0]
        raise IndexError(f"index {wrong} is out of bounds for {length} rows or columns")
    return np.where(found < 0, found + length, found).astype(np.intp, copy=False)


class Gather:
    """What is stored of a CSR array in a block, or at single places.

    Parameters
    ----------
    stored : CSR array
        Every entry once. It is not changed; its indices are sorted in a copy if they are not.

    Examples
    --------
    >>> some = Gather(sp.csr_array(np.array([[0.0, 5.0, 6.0], [7.0, 0.0, 8.0]])))
    >>> [found.tolist() for found in some.entries(np.array([1, 0]), slice(1, 3))]
    [[0, 1, 1], [1, 0, 1], [8.0, 5.0, 6.0]]
    >>> some.find(np.array([0, 0]), np.array([0, 2])).tolist()
    [-1, 1]
    """

    def __init__(self, stored: Any) -> None:
        self.stored = stored if stored.has_sorted_indices else stored.sorted_indices()
        self._turned: Any = None  # the same by columns, once that is worth it
        self._wasted = 0.0

    def entries(self, rows: slice | Indices, cols: slice | Indices) -> tuple[Indices, Indices, Array]:
        """Where in a block something is stored, counted in the block, and its values; in any order."""
        height, width = self.stored.shape
        row, col = _Side(rows, height), _Side(cols, width)
        turned = self._by_columns(row, col)
        if turned is not None:
            j, i, values = _entries(turned, col, row)
            return i, j, values
        return _entries(self.stored, row, col)

    def find(self, rows: Indices, cols: Indices) -> Indices:
        """Where among the stored values the entries (rows[k], cols[k]) are; -1 if they are not."""
        height, width = self.stored.shape
        return _find(self.stored, indices_of(rows, height), indices_of(cols, width))

    def _by_columns(self, row: _Side, col: _Side) -> Any:
        """The copy by columns, where that is the better way."""
        height, width = self.stored.shape
        per_row, per_column = self.stored.nnz / max(height, 1), self.stored.nnz / max(width, 1)
        saved = _cost(row, col, per_row) - _cost(col, row, per_column)
        if saved <= 0:
            return None
        if self._turned is None:
            with _LOCK:
                self._wasted += saved
                if self._turned is None and self._wasted > WORTH_A_COPY * self.stored.nnz:
                    turned = sp.csr_array(self.stored.T)
                    turned.sort_indices()
                    self._turned = turned
        return self._turned


class _Side:
    """Some rows or columns: from where to where if they follow one another, else which."""

    def __init__(self, place: slice | Indices, length: int) -> None:
        plain = isinstance(place, slice) and place.indices(length)[2] == 1
        self.length = length
        self.start, self.stop = -1, -1
        self._index = None if plain else indices_of(place, length)
        if isinstance(place, slice) and plain:
            self.start, self.stop, _ = place.indices(length)
            self.stop = max(self.start, self.stop)

    @property
    def run(self) -> bool:
        return self._index is None

    @property
    def index(self) -> Indices:
        return np.arange(self.start, self.stop, dtype=np.intp) if self._index is None else self._index

    def __len__(self) -> int:
        return self.stop - self.start if self._index is None else len(self._index)


def _cost(row: _Side, col: _Side, per_row: float) -> float:
    """About how many numbers are looked at, if rows have so many entries on average."""
    steps = log2(per_row + 2)
    everything = len(row) * per_row
    if col.run:
        whole = len(col) == col.length
        return len(row) if whole else len(row) * steps
    return min(everything + col.length, len(row) * len(col) * steps)


def _entries(stored: Any, row: _Side, col: _Side) -> tuple[Indices, Indices, Array]:
    starts, stops = _rows(stored, row)
    if col.run:
        index = row.index
        if col.start > 0:
            starts = _bisect(stored.indices, starts, stops, np.full(len(index), col.start))
        if col.stop < col.length:
            stops = _bisect(stored.indices, starts, stops, np.full(len(index), col.stop))
        i, place = _spread(starts, stops)
        return i, stored.indices[place] - col.start, stored.data[place]
    wanted = col.index
    total = int((stops - starts).sum())
    if len(row) * len(col) * log2(total / max(len(row), 1) + 2) < total + col.length:
        place = _find(stored, np.repeat(row.index, len(wanted)), np.tile(wanted, len(row)))
        there = np.flatnonzero(place >= 0)
        i, j = np.divmod(there, len(wanted))
        return i, j, stored.data[place[there]]
    return _among(stored, row, wanted)


def _rows(stored: Any, row: _Side) -> tuple[Indices, Indices]:
    """From where to where the entries of each row are stored."""
    if row.run:
        ends = stored.indptr[row.start : row.stop + 1].astype(np.intp)
        return ends[:-1], ends[1:]
    index = row.index
    return stored.indptr[index].astype(np.intp), stored.indptr[index + 1].astype(np.intp)


def _among(stored: Any, row: _Side, wanted: Indices) -> tuple[Indices, Indices, Array]:
    """Those of some rows that are in some columns, by looking at all of them; a column may be wanted more than once."""
    if row.run:
        ends = stored.indptr[row.start : row.stop + 1]
        columns, values = (kept[ends[0] : ends[-1]] for kept in (stored.indices, stored.data))
        ends = ends - ends[0]
    else:
        some = stored[row.index]
        columns, values, ends = some.indices, some.data, some.indptr
    different, times = np.unique(wanted, return_counts=True)
    number = np.full(stored.shape[1], -1, np.int32)
    number[different] = np.arange(len(different), dtype=np.int32)
    k = number[columns]
    there = np.flatnonzero(k >= 0)
    i, k, values = np.searchsorted(ends, there, side="right") - 1, k[there], values[there]
    order, first = np.argsort(wanted, kind="stable"), np.cumsum(times) - times
    if len(different) == len(order):
        return i, order[k], values
    again, place = _spread(first[k], first[k] + times[k])
    return i[again], order[place], values[again]


def _spread(starts: Indices, stops: Indices) -> tuple[Indices, Any]:
    """All places from starts[k] to stops[k], one k after the other, and the k of each; as a slice if that will do."""
    lengths = stops - starts
    k = np.repeat(np.arange(len(lengths)), lengths)
    if not len(lengths) or np.array_equal(starts[1:], stops[:-1]):
        return k, slice(int(starts[0]), int(stops[-1])) if len(lengths) else slice(0, 0)
    return k, np.arange(len(k)) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)


def _find(stored: Any, rows: Indices, cols: Indices) -> Indices:
    stops = stored.indptr[rows + 1].astype(np.intp)
    place = _bisect(stored.indices, stored.indptr[rows].astype(np.intp), stops, cols)
    inside = np.flatnonzero(place < stops)
    found = np.full(len(rows), -1, np.intp)
    there = inside[stored.indices[place[inside]] == cols[inside]]
    found[there] = place[there]
    return found


def _bisect(columns: Any, starts: Indices, stops: Indices, wanted: Indices) -> Indices:
    """In each of many sorted stretches, the first place whose column is not before the one wanted."""
    low, high = starts.copy(), stops.copy()
    for _ in range(int((stops - starts).max(initial=0)).bit_length()):
        middle = (low + high) // 2
        open_ = low < high
        before = np.zeros(len(low), bool)
        before[open_] = columns[middle[open_]] < wanted[open_]
        low = np.where(before, middle + 1, low)
        high = np.where(open_ & ~before, middle, high)
    return low
