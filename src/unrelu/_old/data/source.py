"""Where values come from: anything that can say what was seen in a block of rows and columns.

Nothing else in the library reads the caller's data. An array and a sparse array are the two sources here; a memory map,
a zarr array, a database or a formula becomes one by saying its shape, its dtype and what is in a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.base.errors import InputError, is_integer
from unrelu._old.data.gather import Gather, length_of
from unrelu._old.data.summary import Summary

__all__ = ["ArraySource", "Place", "Source", "SparseSource", "WithoutDiagonal", "source_checked", "source_of"]

# Some rows or columns: a slice with both ends, or their positions.
Place = slice | Indices

# Where a block has one in so many columns, whole rows are read.
WIDE = 5
# Entries looked at in one go: a few megabytes of temporaries, whatever the size of the matrix.
SCAN_ENTRIES = 1 << 19
# Rows looked at together when pieces are told apart; most patterns are known to hang together after the first.
AT_ONCE = 64


class Source:
    """Values by blocks, NaN where nothing was seen. A subclass has ``shape``, ``dtype`` and :meth:`block`.

    All other methods are made of these, and may be overridden by a source that knows a quicker way. ``labels`` names
    the rows, and ``column_labels`` the columns of a table, if they have names.

    Examples
    --------
    A matrix that is nowhere stored:

    >>> import numpy as np, unrelu
    >>> class Products(unrelu.Source):
    ...     shape, dtype = (50, 50), np.dtype(np.float64)
    ...
    ...     def block(self, rows, cols):
    ...         i, j = (np.arange(50)[place] - 20.0 for place in (rows, cols))
    ...         product = np.outer(i, j)
    ...         return np.where(product >= 0, product, np.nan)  # only these are seen
    >>> found = unrelu.complete(Products(), rank=1)
    >>> found.verdict.code.value, round(float(found.entries(0, 49)), 6)
    ('fitted', -580.0)
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    # Names of the rows, if they have any; of a symmetric matrix those of the columns too.
    labels: tuple[Any, ...] | None = None
    # Names of the columns of a table, if they have any.
    column_labels: tuple[Any, ...] | None = None
    # Whether blocks may be asked for by several threads at once; else only the caller's own asks.
    thread_safe: ClassVar[bool] = False
    # Whether a block is there already and costs nothing to read, so that it may be read again and again.
    at_hand: ClassVar[bool] = False
    # Whether it looks itself at each block that it gives, so that none need be read to see what it gives.
    checks_blocks: ClassVar[bool] = False
    # The grid along which reading is cheap, such as the chunks of a file: (rows, columns). None: any block will do.
    block_shape: tuple[int, int] | None = None

    # Whether it is stored somewhere, so that all of it may be read; else it is computed or fetched when asked for.
    stored_whole: ClassVar[bool] = False

    # The same values on a device, as a tensor, or as a dask array, for engines that go over them where they are.
    tensor: Any = None
    lazy: Any = None
    # Whether a square matrix is the same on both sides of its diagonal, once somebody has looked.
    alike: bool | None = None
    # The device that passes run on, where it is not the processor that runs everything else.
    device: Any = None

    # The row and column at which blocks of another kind begin, if there are any.
    cut: int | None = None

    @property
    def elsewhere(self) -> bool:
        """Whether others than this machine's processor go over the values."""
        return self.device is not None or self.lazy is not None

    def exists(self, rows: Place, cols: Place) -> Bools | None:
        """Which entries of a block there are at all; None: all of them."""
        return None

    def block(self, rows: Place, cols: Place) -> Array:
        """Values of a block, NaN where nothing was seen; it is not written to."""
        raise InputError(f"{type(self).__name__} must have block(rows, cols), which every source has")

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of the entries (rows[k], cols[k])."""
        values = np.empty(len(rows), self.dtype)
        order = np.argsort(rows, kind="stable")
        for mine in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1) if len(order) else ():
            values[mine] = self.block(rows[mine[:1]], cols[mine])[0]
        return values

    def bands(self) -> Iterator[tuple[int, Array]]:
        """Everything, a few rows at a time: the first row, and the values."""
        height, width = self.shape
        step = max(1, SCAN_ENTRIES // max(width, 1))
        for start in range(0, height, step):
            yield start, self.block(slice(start, min(start + step, height)), slice(0, width))

    def coordinates(self) -> tuple[Indices, Indices, Array] | None:
        """Rows, columns and values of all seen entries, if they are kept so; None if they are not."""
        return None

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns, in the order given."""
        return ArraySource(self.block(rows, cols))

    def in_dtype(self, dtype: Any) -> Source:
        """The same values in another precision."""
        return ArraySource(self.block(*(np.arange(length) for length in self.shape)).astype(dtype))

    def in_memory(self) -> Source:
        """The same values in the memory of this machine."""
        return ArraySource(self.block(*(slice(0, length) for length in self.shape)))

    def without(self, rows: Indices, cols: Indices) -> Source:
        """The same without the entries (rows[k], cols[k])."""
        values = np.array(self.block(*(np.arange(length) for length in self.shape)))
        values[rows, cols] = np.nan
        return ArraySource(values)

    def seen_at(self, rows: Indices, cols: Indices) -> Bools:
        """Whether the entries (rows[k], cols[k]) were seen."""
        return ~np.isnan(self.at(rows, cols))

    def diagonal_seen(self) -> Bools:
        """Which entries of the diagonal were seen."""
        own = np.arange(min(self.shape))
        return self.seen_at(own, own)

    def symmetric(self) -> bool:
        """Whether (i, j) was seen exactly if (j, i) was."""
        n = self.shape[0]
        for start in range(0, n, 512):
            rows, everyone = slice(start, min(start + 512, n)), slice(0, n)
            if not np.array_equal(np.isnan(self.block(rows, everyone)), np.isnan(self.block(everyone, rows)).T):
                return False
        return True

    def count(self, entries: int) -> None:
        """So many entries more were read where they are, by somebody who does not ask for blocks; nobody counts."""

    def summary(self) -> Summary | None:
        """Counts, norm and ends of all values, if they can be had without handing the values out; None if not."""
        return None

    def pieces(self) -> Indices:
        """The number of the connected piece of the pattern that each row of a square matrix belongs to."""
        n = self.shape[0]
        label, everyone = np.full(n, -1, np.intp), slice(0, n)
        for count in range(n):
            waiting = np.flatnonzero(label < 0)
            if not waiting.size:
                break
            frontier = waiting[:1]
            label[frontier] = count
            while frontier.size and (label < 0).any():
                now, frontier = frontier[:AT_ONCE], frontier[AT_ONCE:]
                forward, backward = self.block(now, everyone), self.block(everyone, now)
                seen = (~np.isnan(forward)).any(axis=0) | (~np.isnan(backward)).any(axis=1)
                fresh = np.flatnonzero(seen & (label < 0))
                label[fresh] = count
                frontier = np.concatenate([frontier, fresh])
        return label


class ArraySource(Source):
    """A dense array, not copied: NaN where nothing was seen."""

    stored_whole = True
    thread_safe = at_hand = checks_blocks = True

    def __init__(self, values: Array) -> None:
        self.values = values
        self.shape, self.dtype = (values.shape[0], values.shape[1]), np.dtype(values.dtype)

    def block(self, rows: Place, cols: Place) -> Array:
        """A view for slices, else a copy."""
        if isinstance(rows, slice) or isinstance(cols, slice):
            return self.values[rows, cols]
        if WIDE * len(cols) >= self.shape[1]:  # whole rows, then columns of them: twice as fast as one by one
            return self.values.take(rows, axis=0).take(cols, axis=1)
        block: Array = self.values[np.ix_(rows, cols)]
        return block

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        return self.values[rows, cols]

    def in_dtype(self, dtype: Any) -> Source:
        """The same values in another precision."""
        return ArraySource(self.values.astype(dtype))


class SparseSource(Source):
    """A CSR array whose stored entries were seen, zeros included; it is never made dense as a whole.

    Parameters
    ----------
    stored : CSR array
        Every entry once.
    labels, column_labels : sequence, optional
        Names of the rows, and of the columns of a table.
    """

    stored_whole = True
    thread_safe = checks_blocks = True

    def __init__(
        self, stored: Any, labels: Sequence[Any] | None = None, column_labels: Sequence[Any] | None = None
    ) -> None:
        self.stored = stored
        self.shape, self.dtype = (stored.shape[0], stored.shape[1]), np.dtype(stored.dtype)
        self.labels = None if labels is None else tuple(labels)
        self.column_labels = None if column_labels is None else tuple(column_labels)

    @cached_property
    def _gather(self) -> Gather:
        return Gather(self.stored)

    def block(self, rows: Place, cols: Place) -> Array:
        """A dense block."""
        dense = np.full([length_of(*side) for side in zip((rows, cols), self.shape, strict=True)], np.nan, self.dtype)
        i, j, values = self._gather.entries(rows, cols)
        dense[i, j] = values
        return dense

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        place = self._gather.find(rows, cols)
        values = np.full(len(place), np.nan, self.dtype)
        values[place >= 0] = self._gather.stored.data[place[place >= 0]]
        return values

    def seen_at(self, rows: Indices, cols: Indices) -> Bools:
        """Whether single entries are stored."""
        seen: Bools = self._gather.find(rows, cols) >= 0
        return seen

    def coordinates(self) -> tuple[Indices, Indices, Array] | None:
        """All that is stored."""
        rows, cols = self.stored.tocoo().coords
        return rows, cols, self.stored.data

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns, sparse as well."""
        return SparseSource(self.stored[rows][:, cols])

    def in_dtype(self, dtype: Any) -> Source:
        """The same values in another precision."""
        return SparseSource(self.stored.astype(dtype))

    def without(self, rows: Indices, cols: Indices) -> Source:
        """The same without some entries, sparse as well."""
        stored, place = self._gather.stored.tocoo(), self._gather.find(rows, cols)
        kept = np.ones(stored.nnz, bool)
        kept[place[place >= 0]] = False
        places = stored.coords[0][kept], stored.coords[1][kept]
        return SparseSource(sp.csr_array((stored.data[kept], places), shape=self.shape))

    def symmetric(self) -> bool:
        """Whether the stored pattern is that of its transpose."""
        pattern = self._pattern(np.int8)
        return (pattern != pattern.T).nnz == 0

    def pieces(self) -> Indices:
        """Pieces of the graph of stored entries."""
        label: Indices = sp.csgraph.connected_components(self._pattern(np.int8), directed=False)[1].astype(np.intp)
        return label

    def _pattern(self, dtype: Any) -> Any:
        """Ones where something is stored: a stored zero was seen too."""
        ones = (np.ones(self.stored.nnz, dtype), self.stored.indices, self.stored.indptr)
        return sp.csr_array(ones, shape=self.shape)


class WithoutDiagonal(Source):
    """Another source, of whose diagonal nothing was seen.

    Examples
    --------
    >>> WithoutDiagonal(ArraySource(np.array([[1.0, 2.0], [2.0, 4.0]]))).block(slice(0, 1), slice(0, 2)).tolist()
    [[nan, 2.0]]
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shape, self.dtype, self.labels = source.shape, source.dtype, source.labels
        self.thread_safe = source.thread_safe  # type: ignore[misc]
        self.block_shape = source.block_shape

    def block(self, rows: Place, cols: Place) -> Array:
        """The same with NaN where row and column are one."""
        i, j = (np.arange(self.shape[0])[place] for place in (rows, cols))
        both, at, beside = np.intersect1d(i, j, return_indices=True)
        values = self.source.block(rows, cols)
        if both.size:
            values = values.copy()
            values[at, beside] = np.nan
        return values

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        values = self.source.at(rows, cols).copy()
        values[rows == cols] = np.nan
        return values

    def coordinates(self) -> tuple[Indices, Indices, Array] | None:
        """Those off the diagonal."""
        found = self.source.coordinates()
        if found is None:
            return None
        rows, cols, values = found
        off = rows != cols
        return rows[off], cols[off], values[off]

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns, in the order given."""
        if np.array_equal(rows, cols):
            return WithoutDiagonal(self.source.part(rows, cols))
        return ArraySource(self.block(rows, cols))

    def in_dtype(self, dtype: Any) -> Source:
        """The same values in another precision."""
        return WithoutDiagonal(self.source.in_dtype(dtype))

    def symmetric(self) -> bool:
        """As with the diagonal."""
        return self.source.symmetric()

    def pieces(self) -> Indices:
        """As with the diagonal."""
        return self.source.pieces()


def source_of(values: Any) -> Source:
    """The source that a dense or a CSR array is, if it is not one already."""
    if isinstance(values, Source):
        return values
    return SparseSource(values) if sp.issparse(values) else ArraySource(values)


def source_checked(source: Source) -> Source:
    """A caller's own source, if it says what every source says; its values are checked when they are read."""
    who, shape = type(source).__name__, getattr(source, "shape", None)
    if not (isinstance(shape, tuple) and all(is_integer(length) for length in shape)):
        raise InputError(f"shape of {who} must be a tuple of integers such as (200, 200), got {shape!r}")
    dtype = getattr(source, "dtype", None)
    if dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise InputError(f"dtype of {who} must be np.dtype('float64') or np.dtype('float32'), got {dtype!r}")
    if source.checks_blocks:
        return source
    rows, cols = (min(2, length) for length in (*shape, 0, 0)[:2])
    block = source.block(slice(0, rows), slice(0, cols))
    if not isinstance(block, np.ndarray) or block.shape != (rows, cols) or block.dtype != dtype:
        came = f"shape {block.shape} and dtype {block.dtype}" if isinstance(block, np.ndarray) else type(block).__name__
        raise InputError(
            f"block(slice(0, {rows}), slice(0, {cols})) of {who} must be an array of shape ({rows}, {cols}) and dtype "
            f"{dtype}, got {came}"
        )
    return source
