"""Sources whose values are not in memory, and stay where they are when they are changed: each block is, as it comes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.data.gather import Gather
from unrelu._old.data.source import Place, Source

__all__ = ["Far", "Lacking", "Recast"]


class Far(Source):
    """A source of more than fits into memory: nothing that is made of it reads it as a whole."""

    def in_dtype(self, dtype: Any) -> Source:
        """The same values in another precision, put on each block as it is read."""
        return self if np.dtype(dtype) == self.dtype else Recast(self, dtype)

    def without(self, rows: Indices, cols: Indices) -> Source:
        """The same without some entries, which are taken out of each block as it is read."""
        return Lacking(self, rows, cols)


class _Around(Far):
    """Another source, of which something is different."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shape, self.dtype, self.cut = source.shape, source.dtype, source.cut
        self.labels, self.column_labels = source.labels, source.column_labels
        self.thread_safe, self.at_hand = source.thread_safe, source.at_hand  # type: ignore[misc]
        self.checks_blocks = source.checks_blocks  # type: ignore[misc]
        self.block_shape = source.block_shape

    def exists(self, rows: Place, cols: Place) -> Bools | None:
        """As in the other."""
        return self.source.exists(rows, cols)


class Recast(_Around):
    """Another source in another precision.

    Examples
    --------
    >>> from unrelu._old.data.source import ArraySource
    >>> Recast(ArraySource(np.eye(2)), np.float32).block(slice(0, 1), slice(0, 2))
    array([[1., 0.]], dtype=float32)
    """

    def __init__(self, source: Source, dtype: Any) -> None:
        super().__init__(source)
        self.dtype = np.dtype(dtype)

    def block(self, rows: Place, cols: Place) -> Array:
        """The block of the other."""
        return self.source.block(rows, cols).astype(self.dtype, copy=False)

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        return self.source.at(rows, cols).astype(self.dtype, copy=False)

    def coordinates(self) -> tuple[Indices, Indices, Array] | None:
        """Those of the other."""
        found = self.source.coordinates()
        return None if found is None else (found[0], found[1], found[2].astype(self.dtype, copy=False))

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns, in the order given."""
        return self.source.part(rows, cols).in_dtype(self.dtype)

    def symmetric(self) -> bool:
        """As the other."""
        return self.source.symmetric()

    def pieces(self) -> Indices:
        """As the other."""
        return self.source.pieces()


class Lacking(_Around):
    """Another source without the entries (rows[k], cols[k]).

    Examples
    --------
    >>> from unrelu._old.data.source import ArraySource
    >>> Lacking(ArraySource(np.eye(2)), np.array([1]), np.array([0])).block(slice(0, 2), slice(0, 2)).tolist()
    [[1.0, 0.0], [nan, 1.0]]
    """

    def __init__(self, source: Source, rows: Indices, cols: Indices) -> None:
        super().__init__(source)
        taken = sp.csr_array((np.ones(len(rows), np.float32), (rows, cols)), shape=source.shape)
        self._taken = Gather(taken)

    def block(self, rows: Place, cols: Place) -> Array:
        """NaN where an entry was taken out."""
        values = self.source.block(rows, cols)
        i, j, _ = self._taken.entries(rows, cols)
        if len(i):
            values = values.copy()
            values[i, j] = np.nan
        return values

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        values = self.source.at(rows, cols).copy()
        values[self._taken.find(rows, cols) >= 0] = np.nan
        return values

    def coordinates(self) -> tuple[Indices, Indices, Array] | None:
        """Those of the other that are left."""
        found = self.source.coordinates()
        if found is None:
            return None
        rows, cols, values = found
        left = self._taken.find(rows, cols) < 0
        return rows[left], cols[left], values[left]

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns, in the order given."""
        i, j, _ = self._taken.entries(rows, cols)
        part = self.source.part(rows, cols)
        return part.without(i, j) if len(i) else part
