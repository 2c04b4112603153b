"""What is known of an entry that was not seen: an interval that it lies in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.base.errors import InputError

__all__ = ["Blocks", "Ends", "Limits", "has_limit", "narrowed", "numbers_at", "part_of"]


@runtime_checkable
class Blocks(Protocol):
    """Numbers for the entries of a matrix that are stored in another way than an array that broadcasts to it."""

    def of(self, rows: slice | Indices, cols: slice | Indices) -> Any:
        """Those of a block."""

    def at(self, rows: Indices, cols: Indices) -> Any:
        """Those of single entries (rows[k], cols[k])."""

    def part(self, rows: Indices, cols: Indices) -> Any:
        """Those of some rows and columns, in the order given."""


class Ends(tuple[Any, Any]):
    """(low, high) of some entries, with the ``gap`` (from, to) in which none of them lies; None: there is none.

    Examples
    --------
    >>> ends = Ends((0.0, 1.0), gap=(0.4, 0.6))
    >>> low, high = ends
    >>> high, ends.gap
    (1.0, (0.4, 0.6))
    """

    gap: tuple[Any, Any] | None

    def __new__(cls, ends: tuple[Any, Any], gap: tuple[Any, Any] | None = None) -> Ends:
        """A pair that unpacks as one."""
        made = super().__new__(cls, ends)
        made.gap = gap
        return made

    def over(self, unit: Any) -> Ends:
        """The same in another unit."""
        gap = None if self.gap is None else (self.gap[0] / unit, self.gap[1] / unit)
        return Ends((self[0] / unit, self[1] / unit), gap)

    @property
    def turned(self) -> Ends:
        """The same of the transposed block."""
        gap = None if self.gap is None else (np.transpose(self.gap[0]), np.transpose(self.gap[1]))
        return Ends((np.transpose(self[0]), np.transpose(self[1])), gap)

    def mirrored(self, values: Any) -> Array:
        """The values, and the mirror image at the nearest end where a value may not be, as far as there is room."""
        near = self.nearest(values)
        result: Array = self.nearest(2 * near - values)
        return result

    @property
    def hull(self) -> Ends:
        """One interval that holds all that may be: where the gap reaches to an end, it ends beyond the gap.

        Examples
        --------
        >>> [float(end) for end in Ends((0.0, 9.0), gap=(-1.0, 2.0)).hull]
        [2.0, 9.0]
        """
        if self.gap is None:
            return self
        (low, high), (first, last) = self, self.gap
        there = np.less_equal(first, last)
        return Ends(
            (
                np.where(there & np.less_equal(first, low), np.maximum(low, last), low),
                np.where(there & np.greater_equal(last, high), np.minimum(high, first), high),
            )
        )

    def nearest(self, values: Any, out: Array | None = None) -> Array:
        """The values, and the nearest one that may be where a value may not."""
        near: Array = np.clip(values, self[0], self[1], out=out)
        if self.gap is not None:
            first, last = self.gap
            inside = (near > first) & (near < last)
            np.copyto(near, np.where(near - first <= last - near, first, last), where=inside, casting="same_kind")
        return near


@dataclass(frozen=True, eq=False)
class Limits:
    """An unseen entry lies strictly between ``low`` and ``high``, unless it is ``unknown``.

    Attributes
    ----------
    low, high : float or ndarray
        One number, one per row (shape (m, 1) for m rows), one per column (shape (1, n)), or one per entry; broadcast,
        never expanded. Infinite where nothing is known.
    unknown : boolean ndarray of the shape of the matrix, or None
        Entries that are missing for another reason than their value.
    gap : (from, to), optional
        An unseen entry does not lie between these either: each a number or an array as above, NaN where there is no
        gap. ``Limits(gap=(-1, 1))`` says that what is unseen lies below −1 or above 1.
    chance : bool or boolean ndarray, default False
        Entries whose limits hold whether they were seen or not, as those of ``entry_range`` do: being unseen says
        nothing more of them.

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
    gap: tuple[float | Array, float | Array] | None = None
    chance: bool | Bools = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            limit = getattr(self, name)
            if hasattr(limit, "detach"):  # a tensor; a frame keeps its labels
                object.__setattr__(self, name, limit := limit.detach().cpu().numpy())
            _require_numbers(name, limit, nan=False)
        if _crossed(self.low, self.high):
            raise InputError("low of Limits must not be above high, and is for some entries; swap the two")
        if self.gap is not None:
            object.__setattr__(self, "gap", _gap_checked(self.gap))
        unknown = self.unknown
        if unknown is not None and (not isinstance(unknown, np.ndarray) or unknown.dtype != bool or unknown.ndim != 2):
            raise InputError(
                "unknown of Limits must be a boolean array of the shape of X; write mask != 0 for one of numbers"
            )

    @classmethod
    def beyond(cls, threshold: Any, seen: str, unknown: Bools | None = None) -> Limits:
        """What absence says where only the side ``seen`` of a threshold was seen; None: nothing.

        Entries that were seen ``between`` the two of a pair go unseen outside of it, and the other way round. Where a
        threshold is infinite, there is none.
        """
        if threshold is None:
            return cls(unknown=unknown)
        if seen in ("between", "outside"):
            low, high = threshold
            return cls(unknown=unknown, gap=(low, high)) if seen == "between" else cls(low, high, unknown)
        nowhere = np.inf if seen == "above" else -np.inf
        one = float(threshold) if np.ndim(threshold) == 0 else np.where(np.isinf(threshold), nowhere, threshold)
        return cls(high=one, unknown=unknown) if seen == "above" else cls(low=one, unknown=unknown)

    def within(self, least: float, most: float) -> Limits:
        """The same where every entry lies between two numbers: also those of which nothing else is known.

        Where that leaves no room an entry is missing for another reason than its value.
        """
        low, high = np.maximum(self.low, least), np.minimum(self.high, most)
        silent = np.isinf(self.low) & np.isinf(self.high)
        gap = self.gap
        if gap is not None:
            # A gap that reaches to an end moves that end.
            first, last = (np.asarray(end, np.float64) for end in gap)
            silent = silent & ~(first <= last)
            low, high = (
                np.where(first <= low, np.maximum(low, last), low),
                np.where(last >= high, np.minimum(high, first), high),
            )
            through = (first > low) & (last < high)
            gap = (np.where(through, first, np.inf), np.where(through, last, -np.inf)) if through.any() else None
        open_ = silent | (low >= high)
        chance: Any = open_ if self.unknown is None else open_ | self.unknown
        chance = bool(np.all(chance)) if _all_alike(np.asarray(chance)) else chance
        low, high = (np.where(chance, end, limit) for end, limit in ((least, low), (most, high)))
        if gap is not None and np.any(chance):
            gap = np.where(chance, np.inf, gap[0]), np.where(chance, -np.inf, gap[1])
        return Limits(_number(low), _number(high), None, gap, chance)

    @cached_property
    def nothing(self) -> bool:
        """Whether no entry has a limit."""
        return bool(np.all(np.isinf(self.low)) and np.all(np.isinf(self.high))) and self.gap is None

    @property
    def uniform(self) -> bool:
        """Whether all entries have the same limit, on one side only: what the quickest kernels ask for."""
        plain = self.gap is None and self.chance is False
        plain = plain and np.ndim(self.low) == 0 and np.ndim(self.high) == 0
        return plain and bool(np.isinf(self.low) or np.isinf(self.high))

    @cached_property
    def side(self) -> Literal["below", "above", "between", "nothing"]:
        """On which side of its limit an unseen entry lies; ``between`` where that differs, or there are two."""
        if self.nothing:
            return "nothing"
        if self.gap is not None:
            return "between"
        if np.all(np.isinf(self.low)):
            return "below"
        return "above" if np.all(np.isinf(self.high)) else "between"

    @cached_property
    def threshold(self) -> float | None:
        """The one number beyond which all unseen entries lie; None if there is none."""
        if not self.uniform or self.nothing:
            return None
        return float(self.high if np.isinf(self.low) else self.low)

    @cached_property
    def largest(self) -> float:
        """The largest finite limit, as a size; 0 if there is none."""
        ends = [np.abs(np.asarray(end, np.float64)) for end in (self.low, self.high, *(self.gap or ()))]
        return max(float(np.where(np.isfinite(end), end, 0.0).max(initial=0.0)) for end in ends)

    def of(self, rows: slice | Indices, cols: slice | Indices) -> Ends:
        """(low, high) of a block, each a number or an array that broadcasts to the block; and its gap."""
        gap = None if self.gap is None else (part_of(self.gap[0], rows, cols), part_of(self.gap[1], rows, cols))
        return Ends((part_of(self.low, rows, cols), part_of(self.high, rows, cols)), gap)

    def at(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Ends:
        """The same of single entries (rows[k], cols[k])."""
        low, high, *gap = (numbers_at(end, rows, cols, shape) for end in (self.low, self.high, *(self.gap or ())))
        return Ends((low, high), (gap[0], gap[1]) if gap else None)

    def told(self, rows: slice | Indices, cols: slice | Indices) -> Any:
        """Whether the entries of a block, if they are not unknown, have any limit: one truth value, or an array."""
        return has_limit(self.of(rows, cols))

    def by_chance(self, rows: slice | Indices, cols: slice | Indices) -> Any:
        """``chance`` of a block."""
        return self.chance if isinstance(self.chance, bool) else part_of(self.chance, rows, cols)

    def chance_at(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Bools:
        """``chance`` of the entries (rows[k], cols[k])."""
        chance: Bools = numbers_at(self.chance, rows, cols, shape)
        return chance

    def unknown_in(self, rows: slice | Indices, cols: slice | Indices) -> Bools | None:
        """Which entries of a block are missing for another reason; None: none is."""
        return None if self.unknown is None else _block(self.unknown, rows, cols)

    def unknown_at(self, rows: Indices, cols: Indices) -> Bools | None:
        """Which of the entries (rows[k], cols[k]) are missing for another reason; None: none is."""
        return None if self.unknown is None else self.unknown[rows, cols]

    def part(self, rows: Indices, cols: Indices) -> Limits:
        """Those of some rows and columns, in the order given."""
        ends = self.of(rows, cols)
        return Limits(*ends, self.unknown_in(rows, cols), ends.gap, self.by_chance(rows, cols))

    def without(self, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Limits:
        """The same with the entries (rows[k], cols[k]) unknown."""
        unknown = np.zeros(shape, dtype=bool) if self.unknown is None else self.unknown.copy()
        unknown[rows, cols] = True
        return replace(self, unknown=unknown)

    def apart_from_gaps(self) -> Limits:
        """What is left for those who know nothing of gaps: less, and nothing wrong."""
        return self if self.gap is None else replace(self, gap=None)


def has_limit(ends: Ends) -> Any:
    """Whether there is any limit: one truth value, or an array."""
    told = np.isfinite(ends[0]) | np.isfinite(ends[1])
    return told if ends.gap is None else told | (ends.gap[0] <= ends.gap[1])


def _require_numbers(name: str, limit: Any, *, nan: bool) -> None:
    values = np.asarray(limit)
    numbers = values.dtype.kind in "fiu"
    missing = numbers and not nan and bool(np.isnan(values).any())
    if not numbers or values.ndim not in (0, 2) or missing:
        came = f"{limit!r}" if not (numbers and values.ndim) else "NaN" if missing else f"shape {values.shape}"
        raise InputError(
            f"{name} of Limits must be a number, or numbers of shape (m, 1), (1, n) or (m, n), infinite where "
            f"nothing is known; got {came}"
        )


def _crossed(low: Any, high: Any) -> bool:
    """Whether a low end is above a high one anywhere."""
    try:
        return bool(np.any(np.asarray(low) > np.asarray(high)))
    except ValueError:
        raise InputError(
            f"low and high of Limits must broadcast against each other, got shapes {np.shape(low)} and {np.shape(high)}"
        ) from None


def _gap_checked(gap: Any) -> tuple[Any, Any]:
    """Both ends, +∞ and −∞ where there is no gap."""
    if not isinstance(gap, (tuple, list)) or len(gap) != 2:
        raise InputError(f"gap of Limits must be a pair (from, to), got {gap!r}")
    for name, end in zip(("the first of gap", "the second of gap"), gap, strict=True):
        _require_numbers(name, end, nan=True)
    first, last = (np.asarray(end, np.float64) for end in gap)
    none = np.isnan(first) | np.isnan(last) | (np.isposinf(first) & np.isneginf(last))
    if np.any(~none & (first > last)):
        raise InputError(
            "the first of gap of Limits must not be above the second, and is for some entries; swap the two"
        )
    if not none.any():
        return gap[0], gap[1]
    return np.where(none, np.inf, first), np.where(none, -np.inf, last)


def _all_alike(mask: Bools) -> bool:
    return bool(mask.all() or not mask.any())


def _number(limit: Any) -> Any:
    """A number where an array holds only one."""
    return float(limit) if np.ndim(limit) == 0 else limit


def _block(values: NDArray[Any], rows: slice | Indices, cols: slice | Indices) -> Any:
    if isinstance(rows, slice) or isinstance(cols, slice):
        return values[rows, cols]
    return values[np.ix_(rows, cols)]


def part_of(limit: Any, rows: slice | Indices, cols: slice | Indices) -> Any:
    """A block of something that broadcasts to the matrix, or gives its blocks itself."""
    if isinstance(limit, Blocks):
        return limit.of(rows, cols)
    if np.ndim(limit) == 0:
        return limit
    array = np.asarray(limit)
    one = slice(0, 1)
    return _block(array, rows if array.shape[0] > 1 else one, cols if array.shape[1] > 1 else one)


def numbers_at(limit: Any, rows: Indices, cols: Indices, shape: tuple[int, int]) -> Any:
    """The same of the entries (rows[k], cols[k]) of a matrix of some shape."""
    return limit.at(rows, cols) if isinstance(limit, Blocks) else np.broadcast_to(limit, shape)[rows, cols]


def narrowed(limit: Any, rows: Indices, cols: Indices) -> Any:
    """The same for some rows and columns of the matrix, in the order given; None stays None."""
    if limit is None:
        return None
    return limit.part(rows, cols) if isinstance(limit, Blocks) else part_of(limit, rows, cols)
