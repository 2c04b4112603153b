"""The same data as a sensor with a higher threshold would have seen them: what a rehearsal is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.data.limits import narrowed, numbers_at, part_of
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource, Place, Source

__all__ = ["Raised", "raised"]


class Raised(Source):
    """Another source, of which only values from ``least`` on, and up to ``most``, were seen.

    Parameters
    ----------
    source : Source
    least, most : float, ndarray or Blocks
        Numbers that broadcast to the matrix, infinite where there is no such end.
    spared : bool, default False
        Whether the diagonal is seen whatever its value.

    Examples
    --------
    >>> Raised(ArraySource(np.array([[1.0, 2.0], [2.0, 4.0]])), 2.0, np.inf).block(slice(0, 2), slice(0, 2)).tolist()
    [[nan, 2.0], [2.0, 4.0]]
    """

    def __init__(self, source: Source, least: Any, most: Any, *, spared: bool = False) -> None:
        self.source, self.least, self.most, self.spared = source, least, most, spared
        self.shape, self.dtype, self.labels, self.cut = source.shape, source.dtype, source.labels, source.cut
        self.thread_safe = source.thread_safe  # type: ignore[misc]

    def exists(self, rows: Place, cols: Place) -> Any:
        """As in the other."""
        return self.source.exists(rows, cols)

    def block(self, rows: Place, cols: Place) -> Array:
        """NaN where a value is beyond the ends."""
        values = self.source.block(rows, cols)
        beyond = (values < part_of(self.least, rows, cols)) | (values > part_of(self.most, rows, cols))
        if self.spared:
            i, j = (np.arange(length)[place] for length, place in zip(self.shape, (rows, cols), strict=True))
            beyond &= i[:, None] != j
        return np.where(beyond, np.nan, values).astype(self.dtype)

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        values = self.source.at(rows, cols)
        least, most = (numbers_at(end, rows, cols, self.shape) for end in (self.least, self.most))
        beyond = (values < least) | (values > most)
        beyond &= (rows != cols) | (not self.spared)
        return np.where(beyond, np.nan, values).astype(self.dtype)

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns, in the order given."""
        if self.spared and not np.array_equal(rows, cols):
            return ArraySource(self.block(rows, cols))
        least, most = (narrowed(end, rows, cols) for end in (self.least, self.most))
        return Raised(self.source.part(rows, cols), least, most, spared=self.spared)

    def in_dtype(self, dtype: Any) -> Source:
        """The same values in another precision."""
        return Raised(self.source.in_dtype(dtype), self.least, self.most, spared=self.spared)


def raised(seen: Observations, least: Any = -np.inf, most: Any = np.inf, *, spared: bool = False) -> Observations:
    """What would have been seen had entries gone unseen below ``least``, or above ``most``; the unknown stay unknown.

    What went unseen then is known to lie beyond these, no more: that it lies beyond the true limits as well is what a
    rehearsal keeps to itself. ``spared``: the diagonal was seen whatever its value.
    """
    ends = {} if _nowhere(least) else {"high": _moved(least, np.inf)}
    ends |= {} if _nowhere(most) else {"low": _moved(most, -np.inf)}
    source = Raised(seen.source, least, most, spared=spared)
    return replace(seen, source=source, limits=replace(seen.limits, **ends), scanned=None, said=None)


def _nowhere(end: Any) -> bool:
    """Whether nothing is cut off there."""
    return bool(np.ndim(end) == 0 and np.isinf(end))


def _moved(end: Any, nowhere: float) -> Any:
    """An end of what is unseen: on the other side of everything where nothing is cut off."""
    return end if np.ndim(end) == 0 else np.where(np.isinf(end), nowhere, end)
