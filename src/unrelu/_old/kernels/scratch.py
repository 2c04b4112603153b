"""Arrays of the size of a tile that one thread writes to, made once for each shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.kernels.directions import BothWays

__all__ = ["Scratch", "Work", "working"]


class Work:
    """What a pass writes of a tile: fits and values first, then slopes and curvatures."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.fit, self.value, self.slopes, self.curvatures = np.empty((4, *shape), dtype)
        self._rows = np.empty((5, shape[0] * shape[1]), dtype)
        self._sums: Floats | None = None

    def rows(self, count: int) -> tuple[Array, ...]:
        """Five rows of so many numbers."""
        return tuple(row[:count] for row in self._rows)

    def clear(self) -> None:
        """No slopes, no curvatures."""
        self.slopes.fill(0)
        self.curvatures.fill(0)

    def add_squares(self, off: Array, counts: Bools, factor: Any, *, first: bool) -> float:
        """Add slopes and curvatures of ½ Σ factor · off² over the entries that count; that sum, and ``off`` is lost.

        The first of a tile are written over what was there before.
        """
        slope, curvature = (self.slopes, self.curvatures) if first else (r.reshape(off.shape) for r in self._rows[:2])
        np.multiply(counts, factor, out=curvature)
        np.multiply(off, curvature, out=slope)
        if not first:
            self.slopes += slope
            self.curvatures += curvature
        np.multiply(slope, off, out=off)
        return float(np.sum(off, dtype=np.float64)) / 2

    def add(self, sums: Floats) -> None:
        """Add what the loss wants to know for its estimates."""
        self._sums = sums if self._sums is None else self._sums + sums

    def taken(self) -> Floats:
        """What was added since it was last asked."""
        found, self._sums = (np.zeros(1) if self._sums is None else self._sums), None
        return found

    def put(self, at: Indices, slope: Array, curvature: Array) -> None:
        """Add slopes and curvatures of some entries where they belong."""
        for whole, part in ((self.slopes, slope), (self.curvatures, curvature)):
            flat = whole.reshape(-1)
            flat[at] += part

    def mirror(self) -> None:
        """Of a tile on the diagonal: add the other way round."""
        self.slopes += self.slopes.T.copy()
        self.curvatures += self.curvatures.T.copy()


class Scratch:
    """One array per shape."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._made: dict[tuple[int, int], Array] = {}

    def of(self, shape: tuple[int, int]) -> Array:
        """That of this shape; what is in it may be anything."""
        if shape not in self._made:
            self._made[shape] = np.empty(shape, self._dtype)
        return self._made[shape]


def working(chunk: list[BothWays], dtype: np.dtype[Any]) -> Iterator[tuple[BothWays, Work]]:
    """Each tile with arrays to write to."""
    made: dict[tuple[int, int], Work] = {}
    for tile in chunk:
        if tile.shape not in made:
            made[tile.shape] = Work(tile.shape, dtype)
        yield tile, made[tile.shape]
