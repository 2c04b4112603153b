"""What is known of an entry that was not seen: an interval that it lies in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Array, Bools, Indices
from unrelu.base.errors import InputError

__all__ = ["Limits"]


@dataclass(frozen=True, eq=False)
class Limits:
    """An unseen entry lies strictly between ``low`` and ``high``, unless it is ``unknown``.

    Attributes
    ----------
    low, high : float or ndarray
        One number, one per row (shape (n, 1)), one per column (shape (1, n)), or one per entry; broadcast, never
        expanded. Infinite where nothing is known.
    unknown : boolean ndarray of shape (n, n), or None
        Entries that are missing for another reason than their value.

    Examples
    --------
    What a matrix says of which only the entries from 0 on were kept, and what nobody says:

    >>> Limits(high=0.0).side, Limits(high=0.0).threshold
    ('below', 0.0)
    >>> Limits().nothing
    True

    Detection limits that differ from column to column, and those of a part of the matrix:

    >>> limits = Limits(high=np.array([[0.5, 1.0, 2.0]]))
    >>> low, high = limits.of(slice(0, 2), slice(1, 3))
    >>> float(low), high.tolist()
    (-inf, [[1.0, 2.0]])
    """

    low: float | Array = -np.inf
    high: float | Array = np.inf
    unknown: Bools | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, limit in (("low", self.low), ("high", self.high)):
            values = np.asarray(limit)
            if values.dtype.kind not in "fiu" or values.ndim not in (0, 2) or np.isnan(values).any():
                came = f"shape {values.shape}" if values.dtype.kind in "fiu" and values.ndim else f"{limit!r}"
                raise InputError(
                    f"{name} of Limits must be a number, or numbers of shape (n, 1), (1, n) or (n, n), infinite where "
                    f"nothing is known; got {came}"
                )
        if np.any(np.asarray(self.low) > np.asarray(self.high)):
            raise InputError("low of Limits must not be above high, and is for some entries; swap the two")

    @classmethod
    def beyond(cls, threshold: float | None, seen: str, unknown: Bools | None = None) -> Limits:
        """What absence says where only the side ``seen`` of a threshold was seen; None: nothing."""
        if threshold is None:
            return cls(unknown=unknown)
        return cls(high=threshold, unknown=unknown) if seen == "above" else cls(low=threshold, unknown=unknown)

    @cached_property
    def nothing(self) -> bool:
        """Whether no entry has a limit."""
        return bool(np.all(np.isinf(self.low)) and np.all(np.isinf(self.high)))

    @property
    def uniform(self) -> bool:
        """Whether all entries have the same limit, on one side only: what the quickest kernels ask for."""
        return np.ndim(self.low) == 0 and np.ndim(self.high) == 0 and bool(np.isinf(self.low) or np.isinf(self.high))

    @cached_property
    def side(self) -> Literal["below", "above", "between", "nothing"]:
        """On which side of its limit an unseen entry lies."""
        if self.nothing:
            return "nothing"
        if np.all(np.isinf(self.low)):
            return "below"
        return "above" if np.all(np.isinf(self.high)) else "between"

    @cached_property
    def threshold(self) -> float | None:
        """The one number beyond which all unseen entries lie; None if there is none."""
        if not self.uniform or self.nothing:
            return None
        return float(self.high if np.isinf(self.low) else self.low)

    def of(self, rows: slice | Indices, cols: slice | Indices) -> tuple[Any, Any]:
        """(low, high) of a block, each a number or an array that broadcasts to the block."""
        return tuple(_part(limit, rows, cols) for limit in (self.low, self.high))

    def unknown_in(self, rows: slice | Indices, cols: slice | Indices) -> Bools | None:
        """Which entries of a block are missing for another reason; None: none is."""
        return None if self.unknown is None else _block(self.unknown, rows, cols)

    def unknown_at(self, rows: Indices, cols: Indices) -> Bools | None:
        """Which of the entries (rows[k], cols[k]) are missing for another reason; None: none is."""
        return None if self.unknown is None else self.unknown[rows, cols]

    def part(self, rows: Indices, cols: Indices) -> Limits:
        """Those of some rows and columns, in the order given."""
        low, high = self.of(rows, cols)
        return Limits(low, high, self.unknown_in(rows, cols))

    def without(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Limits:
        """The same with the entries (rows[k], cols[k]) unknown."""
        unknown = np.zeros(shape, dtype=bool) if self.unknown is None else self.unknown.copy()
        unknown[rows, cols] = True
        return replace(self, unknown=unknown)

    def divided(self, unit: float) -> Limits:
        """The limits in another unit."""
        return replace(self, low=self.low / unit, high=self.high / unit)


def _block(values: NDArray[Any], rows: slice | Indices, cols: slice | Indices) -> Any:
    if isinstance(rows, slice) or isinstance(cols, slice):
        return values[rows, cols]
    return values[np.ix_(rows, cols)]


def _part(limit: float | Array, rows: slice | Indices, cols: slice | Indices) -> Any:
    """A block of something that broadcasts to the matrix."""
    if np.ndim(limit) == 0:
        return limit
    array = np.asarray(limit)
    one = slice(0, 1)
    return _block(array, rows if array.shape[0] > 1 else one, cols if array.shape[1] > 1 else one)
