"""What is wrong with the caller's values, found in one scan; and what that scan counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Bools
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import CHECKS_ROUNDING
from unrelu._old.data.labels import Axes
from unrelu._old.data.limits import Ends, Limits, has_limit
from unrelu._old.data.source import Source
from unrelu._old.data.summary import Summary

__all__ = ["Counts", "checked", "counted", "impossible", "within_range"]


# Rows that are looked at before all are.
FEW_ROWS = 16
# Entries that a sentence names.
NAMED = 3
# Up to which share of the seen entries some may be on the wrong side where a few wrong ones are expected: with more of
# them it is the threshold, or the side, that is wrong.
A_FEW = 0.1


@dataclass(frozen=True, eq=False)
class Counts:
    """How many entries of each row or column were seen, how many in all, and ‖M_Ω‖_F."""

    per_row: NDArray[np.int64]
    count: int
    norm: float


class _Offenders:
    """How many entries break a rule, and where the first three are."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[tuple[int, int]] = []

    def collect(self, mask: Bools, first_row: int) -> None:
        """Count the marked entries of a band of rows."""
        count = int(np.count_nonzero(mask))
        if count and len(self.first) < NAMED:
            found = np.argwhere(mask)[: NAMED - len(self.first)]
            self.first += [(int(i) + first_row, int(j)) for i, j in found]
        self.count += count

    def collect_at(self, places: tuple[NDArray[Any], NDArray[Any]], mask: Bools) -> None:
        """The same for a list of places."""
        found = np.flatnonzero(mask)
        self.first += [(int(places[0][k]), int(places[1][k])) for k in found[:NAMED]]
        self.count += int(found.size)

    def named(self, axes: Axes) -> str:
        """Where the first are, by their labels if there are any, and how many more."""
        return axes.placed(self.first[:NAMED], self.count)


@dataclass
class _Faults:
    """What breaks the rules: entries that are infinite, on the wrong side, out of range, or seen and called unknown."""

    limits: Limits
    shape: tuple[int, int]
    entry_range: tuple[float, float] | None = None
    outside: _Offenders = field(default_factory=_Offenders)
    infinite: _Offenders = field(default_factory=_Offenders)
    wrong: _Offenders = field(default_factory=_Offenders)
    overlap: _Offenders = field(default_factory=_Offenders)

    def none_in(self, known: Summary) -> bool:
        """Whether the ends of all values show that none breaks a rule."""
        low, high, limits = known.low, known.high, self.limits
        if limits.unknown is not None or not (limits.nothing or limits.uniform) or not np.isfinite([low, high]).all():
            return False
        ends = np.array([[low, high]])
        inside = self._inside(ends, limits.of(slice(0, 1), slice(0, 2)), False)
        return not (inside.any() or self._out_of_range(ends).any())

    def look_at(self, start: int, values: Array, present: Bools) -> None:
        """A band of rows."""
        rows, cols = slice(start, start + len(values)), slice(0, values.shape[1])
        self.infinite.collect(np.isinf(values), start)
        self.wrong.collect(self._inside(values, self.limits.of(rows, cols), self.limits.by_chance(rows, cols)), start)
        self.outside.collect(self._out_of_range(values), start)
        unknown = self.limits.unknown_in(rows, cols)
        if unknown is not None:
            self.overlap.collect(present & unknown, start)

    def look_at_places(self, rows: Any, cols: Any, values: Array) -> None:
        """A list of seen entries."""
        self.infinite.collect_at((rows, cols), np.isinf(values))
        chance = self.limits.chance_at(rows, cols, self.shape)
        self.wrong.collect_at((rows, cols), self._inside(values, self.limits.at(rows, cols, self.shape), chance))
        self.outside.collect_at((rows, cols), self._out_of_range(values))
        if self.limits.unknown is not None:
            self.overlap.collect_at((rows, cols), self.limits.unknown[rows, cols])

    def _inside(self, values: Array, ends: Ends, chance: Any) -> Bools:
        """Which seen values lie where an unseen one would."""
        if self.limits.nothing:
            return np.zeros(values.shape, dtype=bool)
        low, high = ends
        with np.errstate(over="ignore"):  # beyond the range of float32 the threshold is infinite, and so compared
            if self.limits.uniform:
                return values < high if self.limits.side == "below" else values > low
            inside = (values > low) & (values < high) & has_limit(ends)
            if ends.gap is not None:
                inside &= (values < ends.gap[0]) | (values > ends.gap[1])
        return inside & np.logical_not(chance)

    def _out_of_range(self, values: Array) -> Bools:
        """Which seen values no entry can have; the cosine of a row with itself may be 1 and rounding."""
        if self.entry_range is None:
            return np.zeros(values.shape, dtype=bool)
        least, most = self.entry_range
        room = CHECKS_ROUNDING * float(np.finfo(values.dtype).eps)
        return (values < least - room * _size(least)) | (values > most + room * _size(most))


def _size(end: float) -> float:
    return abs(end) if np.isfinite(end) else 0.0


def within_range(limits: Limits, entry_range: tuple[float, float]) -> Limits:
    """The same limits of entries that all lie in a range; refused if no entry could go unseen there."""
    least, most = entry_range
    if limits.uniform and limits.threshold is not None:
        below = limits.side == "below"
        if limits.threshold <= least if below else limits.threshold >= most:
            side = "below" if below else "above"
            raise InputError(
                f"no entry can lie {side} threshold={limits.threshold:g} and in entry_range=({least:g}, {most:g}), so "
                "that nothing would go unseen; widen entry_range, or pass threshold=None if absence says nothing"
            )
    return limits.within(least, most)


def counted(source: Source, faults: _Faults | None = None, *, table: bool = False) -> Counts:
    """What one pass over the values counts; with ``faults`` it also finds everything wrong there.

    Of a ``table`` rows and columns are counted one after the other, of a symmetric matrix together.
    """
    size, width = source.shape
    shift, total = (size, size + width) if table else (0, size)
    stored = source.coordinates()
    if stored is not None:
        rows, cols, values = stored
        if faults is not None:
            faults.look_at_places(rows, cols, values)
        places = (rows, cols + shift)
        per_row = np.asarray(sum(np.bincount(place, minlength=total) for place in places), np.int64)
        return Counts(per_row, int(values.size), _norm(values))
    known = source.summary()
    if known is not None and (faults is None or faults.none_in(known)):
        per_row = np.zeros(total, np.int64)
        per_row[:size] += known.per_row
        per_row[shift:] += known.per_column
        return Counts(per_row, known.count, known.norm)
    per_row, count, norm = np.zeros(total, np.int64), 0, 0.0
    for start, values in source.bands():
        if values.shape[1:] != source.shape[1:] or start + len(values) > size:
            raise InputError(
                f"{type(source).__name__} gave a block of shape {values.shape} for the rows from {start} on of a "
                f"matrix of shape {source.shape}"
            )
        present = ~np.isnan(values)
        if faults is not None:
            faults.look_at(start, values, present)
        in_row = present.sum(axis=1)
        per_row[start : start + len(values)] += in_row
        per_row[shift:] += present.sum(axis=0)
        count += int(in_row.sum())
        norm = hypot(norm, _norm(np.where(present, values, 0)))
    return Counts(per_row, count, norm)


def checked(source: Source, limits: Limits, axes: Axes, entry_range: tuple[float, float] | None = None) -> Counts:
    """The counts, or the error that says what is wrong; entries go by their labels, if there are any."""
    faults = _Faults(limits, source.shape, entry_range)
    counts = counted(source, faults, table=not axes.alike)
    if faults.infinite.count:
        raise InputError(
            f"X must be finite where it was seen, got {faults.infinite.count} infinite entries, at "
            f"{faults.infinite.named(axes)}; "
            "write NaN where nothing was seen"
        )
    if faults.outside.count and entry_range is not None:
        raise InputError(
            f"every seen entry must lie in entry_range=({entry_range[0]:g}, {entry_range[1]:g}), but "
            f"{faults.outside.count} do not, at {faults.outside.named(axes)}, the first being "
            f"{_first_of(source, faults.outside):g}; widen entry_range, or leave it out"
        )
    if faults.wrong.count:
        raise InputError(_wrong_side(source, limits, faults.wrong, axes))
    if faults.overlap.count:
        raise InputError(
            f"unknown must mark only unseen entries, but {faults.overlap.count} of those it marks were seen, "
            f"at {faults.overlap.named(axes)}; set them to NaN in X, or clear them in unknown"
        )
    if counts.count == 0:
        raise InputError("X must have at least one seen entry, got none; there is nothing to complete from")
    if axes.alike:
        _refuse_one_triangle(source, limits)
    _refuse_a_threshold_out_of_reach(source, limits, counts)
    return counts


def impossible(
    source: Source, limits: Limits, entry_range: tuple[float, float] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where values were seen that could not have been: on the wrong side of a limit, or outside of a range.

    Nowhere, if there are more than a few of them: then :func:`checked` says what is wrong.

    Examples
    --------
    >>> from unrelu._old.data.source import ArraySource
    >>> X = np.ones((4, 4))
    >>> X[1, 2] = -3.0
    >>> [place.tolist() for place in impossible(ArraySource(X), Limits(high=0.0), None)]
    [[1], [2]]
    """
    faults, count = _Faults(limits, source.shape, entry_range), 0
    found: list[NDArray[np.intp]] = [np.zeros((2, 0), np.intp)]
    stored = source.coordinates()
    if stored is not None:
        rows, cols, values = stored
        chance = limits.chance_at(rows, cols, source.shape)
        wrong = faults._inside(values, limits.at(rows, cols, source.shape), chance) | faults._out_of_range(values)
        found, count = [np.array([rows[wrong], cols[wrong]], np.intp)], len(values)
    else:
        for start, values in source.bands():
            band, all_ = slice(start, start + len(values)), slice(0, values.shape[1])
            inside = faults._inside(values, limits.of(band, all_), limits.by_chance(band, all_))
            i, j = np.nonzero(inside | faults._out_of_range(values))
            found.append(np.array([i + start, j], np.intp))
            count += int(np.count_nonzero(~np.isnan(values)))
    rows, cols = np.concatenate(found, axis=1)
    return (rows, cols) if len(rows) <= A_FEW * count else (rows[:0], cols[:0])


def _refuse_one_triangle(source: Source, limits: Limits) -> None:
    """In half of a symmetric matrix every pair was seen once and is absent once, which cannot both be."""
    if limits.nothing or limits.unknown is not None or source.shape[0] < 2:
        return
    upper = lower = apart = False
    stored = source.coordinates()
    if stored is not None:
        rows, cols, values = stored
        upper, lower = bool((rows < cols).any()), bool((rows > cols).any())
        apart = bool(((limits.at(cols, rows, source.shape).nearest(values) != values) & (rows != cols)).any())
    elif _shows_both_triangles(source):
        return
    else:
        for start, values in source.bands():
            places = np.arange(values.shape[1]) - np.arange(start, start + len(values))[:, None]
            present = ~np.isnan(values)
            upper = upper or bool((present & (places > 0)).any())
            lower = lower or bool((present & (places < 0)).any())
            if upper and lower:
                return
            mirrored = limits.of(slice(0, values.shape[1]), slice(start, start + len(values))).turned
            apart = apart or bool((present & (places != 0) & (mirrored.nearest(values) != values)).any())
    if upper != lower and (limits.uniform or apart):
        which = "upper" if upper else "lower"
        raise InputError(
            f"only the {which} triangle of X holds seen entries, which with a threshold says that (j, i) lies on "
            "the other side than (i, j); mirror X if it is symmetric, or mark the other triangle as unknown="
        )


def _shows_both_triangles(source: Source) -> bool:
    """Whether the first rows hold something above the diagonal, and the last ones something below it."""
    n = source.shape[0]
    few, everyone = min(FEW_ROWS, n), np.arange(n)
    top, bottom = (~np.isnan(source.block(slice(k, k + few), slice(0, n))) for k in (0, n - few))
    above, below = everyone > everyone[:few, None], everyone < everyone[n - few :, None]
    return bool((top & above).any() and (bottom & below).any())


def _refuse_a_threshold_out_of_reach(source: Source, limits: Limits, counts: Counts) -> None:
    """Beside a threshold with none of the digits of the data, absence would drown what was seen."""
    marked = 0 if limits.unknown is None else int(np.count_nonzero(limits.unknown))
    if limits.nothing or (counts.norm and counts.count + marked == source.shape[0] * source.shape[1]):
        return
    size, digits = counts.norm / np.sqrt(counts.count), np.finfo(source.dtype)
    if limits.largest * float(digits.eps) > (size or float(digits.eps) * float(digits.max) / 16):
        named = "a limit of" if limits.threshold is None else "threshold="
        came = f"{named}{limits.threshold:g}" if limits.threshold is not None else f"{named} {limits.largest:g}"
        raise InputError(
            f"{came} is too far from the seen entries, of size {size:.2g}, to say anything "
            f"about the others in {source.dtype}; give the value at which entries go unseen, or pass threshold=None "
            "if absence says nothing"
        )


def _wrong_side(source: Source, limits: Limits, wrong: _Offenders, axes: Axes) -> str:
    value = _first_of(source, wrong)
    if limits.threshold is None:
        return _inside_its_limits(source, limits, wrong, axes)
    seen = "above" if limits.side == "below" else "below"
    relation, other = ("≥", "below") if seen == "above" else ("≤", "above")
    return (
        f"every seen entry must be {relation} threshold={limits.threshold:g} (seen={seen!r}), but "
        f"{wrong.count} are not, at {wrong.named(axes)}, the first being {value:g}; check threshold= and seen= "
        f"(seen={other!r} turns the side round), or pass threshold=None if absence says nothing"
    )


def _first_of(source: Source, some: _Offenders) -> float:
    row, col = some.first[0]
    return float(source.block(slice(row, row + 1), slice(col, col + 1))[0, 0])


def _inside_its_limits(source: Source, limits: Limits, wrong: _Offenders, axes: Axes) -> str:
    row, col = wrong.first[0]
    low, high = (float(np.broadcast_to(limit, source.shape)[row, col]) for limit in (limits.low, limits.high))
    where = f"between {low:g} and {high:g}" if np.isfinite([low, high]).all() else f"below {high:g}"
    where = where if np.isfinite(high) else f"above {low:g}"
    if limits.gap is not None:
        first, last = (float(np.broadcast_to(end, source.shape)[row, col]) for end in limits.gap)
        where = f"outside {first:g} to {last:g}" if first <= last else where
    return (
        f"every seen entry must lie where it would have been seen, but {wrong.count} do not, at {wrong.named(axes)}, "
        f"the first being {_first_of(source, wrong):g} although entries {where} go unseen there; check threshold= and "
        "seen=, or mark entries without a limit with inf"
    )


def _norm(values: Array) -> float:
    """The Euclidean norm, by the BLAS routine that neither overflows nor underflows on the way."""
    return float(scipy.linalg.norm(values.astype(np.float64, copy=False).ravel(), check_finite=False))
