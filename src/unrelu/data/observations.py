"""What was seen of a matrix, and what each unseen entry is known to satisfy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Array, Bools, Floats, Indices
from unrelu.base.errors import InputError, is_number, unknown_name
from unrelu.base.units import power_of_four
from unrelu.data.checks import Counts, checked, counted
from unrelu.data.inputs import read_mask, read_values, square_size
from unrelu.data.limits import Limits
from unrelu.data.source import Place, Source, source_of

__all__ = ["Observations", "threshold_checked"]

# The largest power of four that is a double.
LARGEST_UNIT = 511


@dataclass(frozen=True, eq=False)
class Observations:
    """The whole truth about the input: seen values, and what absence says of the others.

    Every seen entry lies outside the ``limits`` that an unseen one would have, or on their edge; every unseen one lies
    strictly inside them, unless it is unknown.

    Attributes
    ----------
    source : Source
        Where the values come from: the caller's own, not a copy.
    limits : Limits
        What is known of an entry that was not seen.
    labels : tuple or None
        Row (and column) labels of a data frame.
    diagonal_seen : bool
        Whether any entry of the diagonal was seen: in the caller's matrix, also where this is a part of it.

    Examples
    --------
    >>> nan = np.nan
    >>> seen = Observations.of(np.array([[1.0, nan], [nan, 2.0]]))
    >>> seen.size, seen.count, seen.limits.side
    (2, 2, 'below')

    Whatever can be read by blocks can be observed:

    >>> from unrelu.data.source import ArraySource
    >>> half = Observations(ArraySource(np.array([[1.0, nan], [nan, 2.0]])), Limits(high=0.5))
    >>> half.bounds(np.array([0]), np.array([1]))[1]  # in units of the rms, rounded to a power of four
    array([[0.5]])
    """

    source: Source
    limits: Limits = field(default_factory=Limits)
    labels: tuple[Any, ...] | None = None
    diagonal_seen: bool = True
    # What a scan of the source has found, if there was one already.
    scanned: Counts | None = field(default=None, repr=False)

    @classmethod
    def of(cls, X: Any, *, threshold: float | None = 0.0, seen: str = "above", unknown: Any = None) -> Observations:
        """Check the caller's matrix; it is not changed, and copied only where that cannot be avoided."""
        if not isinstance(seen, str) or seen not in ("above", "below"):
            raise unknown_name("side seen", seen, ["above", "below"])
        threshold = threshold_checked(threshold)
        data, labels = read_values(X)
        n = square_size(data, "X")
        source = source_of(data)
        mask = None if unknown is None else read_mask(unknown, n, labels)
        limits = Limits.beyond(threshold, seen, mask)
        found = checked(source, limits, labels)
        result = cls(source, limits, labels, bool(source.diagonal_seen().any()), found)
        if result.dtype == np.float32 and result.unit < float(np.finfo(np.float32).tiny):
            # Their unit is no float32; what digits there are survive in doubles.
            return replace(result, source=source.in_dtype(np.float64))
        return result

    @property
    def size(self) -> int:
        """n, for an n×n matrix."""
        return int(self.source.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, as the caller's values."""
        return np.dtype(self.source.dtype)

    @cached_property
    def _counts(self) -> Counts:
        return counted(self.source) if self.scanned is None else self.scanned

    @property
    def seen_per_row(self) -> NDArray[np.int64]:
        """How many entries of row *or* column i were seen."""
        return self._counts.per_row

    @property
    def count(self) -> int:
        """How many entries were seen."""
        return self._counts.count

    @property
    def norm(self) -> float:
        """‖M_Ω‖_F, the scale against which everything relative is measured."""
        return self._counts.norm

    @cached_property
    def unit(self) -> float:
        """The power of four nearest to the rms of the seen entries.

        Solvers work on the data divided by it. That division is exact, and so is dividing the factor by its square
        root: data of any size are solved with the same digits and without overflow.
        """
        size = self.norm / np.sqrt(self.count) if self.norm else abs(self.limits.threshold or 0.0)
        return power_of_four(float(size), LARGEST_UNIT) if size else 1.0

    @cached_property
    def scaled_norm(self) -> float:
        """‖M_Ω‖_F in units of ``unit``."""
        return self.norm / self.unit

    @property
    def threshold(self) -> float | None:
        """The one value beyond which every unseen entry lies; None if there is none."""
        return self.limits.threshold

    @cached_property
    def scaled_threshold(self) -> float | None:
        """The threshold in units of ``unit``."""
        return None if self.threshold is None else self.threshold / self.unit

    @property
    def absence_says(self) -> Literal["below", "above", "between", "nothing"]:
        """On which side of its limit an unseen entry lies."""
        return self.limits.side

    def frame_numbers(self, rank: int) -> int:
        """How many numbers of a factor choose its frame, and no entry: a rotation, or for a table any r×r matrix."""
        return rank * (rank - 1) // 2 if self.source.cut is None else rank * rank

    @property
    def empty_rows(self) -> Indices:
        """Rows of which nothing was seen, neither in the row nor in the column."""
        return np.flatnonzero(self.seen_per_row == 0)

    @property
    def seen_only(self) -> Observations:
        """The same with nothing known of the entries that were not seen."""
        return self if self.limits.nothing else self.with_limits(Limits())

    @property
    def in_doubles(self) -> Observations:
        """The same in double precision."""
        if self.dtype == np.float64:
            return self
        return replace(self, source=self.source.in_dtype(np.float64), scanned=self._counts)

    def with_limits(self, limits: Limits) -> Observations:
        """The same values with something else known of the entries that were not seen."""
        return self if limits is self.limits else replace(self, limits=limits, scanned=self._counts)

    def block(self, rows: Place, cols: Place) -> Array:
        """Values of one block, NaN where unseen; a view where that is possible."""
        return self.source.block(rows, cols)

    def restricted(self, rows: Indices) -> Observations:
        """What was seen among some of the rows, in the order given; nothing is checked again, and labels come along."""
        labels = None if self.labels is None else tuple(self.labels[i] for i in rows)
        return Observations(self.source.part(rows, rows), self.limits.part(rows, rows), labels, self.diagonal_seen)

    def reordered(self, order: Indices) -> Observations:
        """All rows in another order: row ``order[k]`` becomes row k."""
        counts = replace(self._counts, per_row=self._counts.per_row[order])
        return replace(self.restricted(order), scanned=counts)

    def without(self, rows: Indices, cols: Indices) -> Observations:
        """The same with the pairs (rows[k], cols[k]) missing for another reason than their value."""
        i, j = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        limits = self.limits.without(i, j, self.source.shape)
        return Observations(self.source.without(i, j), limits, self.labels, self.diagonal_seen)

    def pairs(self, rows: Indices, cols: Indices) -> tuple[Floats, Bools]:
        """Means of the seen values of some pairs in units of ``unit`` (0 where none was seen), and which were seen."""
        values = self.entries(rows, cols)
        mirrored = values.copy() if rows is cols or np.array_equal(rows, cols) else self.entries(cols, rows)
        seen, also = ~np.isnan(values), ~np.isnan(mirrored)
        values[~seen], mirrored[~also] = 0, 0
        values += mirrored.T
        values[seen & also.T] /= 2
        return values, seen | also.T

    def entries(self, rows: Indices, cols: Indices) -> Floats:
        """Values of a block in units of ``unit``, NaN where not seen; (i, j) and (j, i) may differ."""
        block: Floats = np.divide(self.source.block(rows, cols), self.unit, dtype=np.float64)
        return block

    def times_seen(self, rows: Indices, cols: Indices) -> NDArray[np.uint8]:
        """How often each pair (rows[k], cols[k]) was seen: 0, 1 or 2, once at most on the diagonal."""
        forward, backward = (self.source.seen_at(i, j).view(np.uint8) for i, j in ((rows, cols), (cols, rows)))
        return np.where(rows == cols, forward, forward + backward)

    def times_told(self, rows: Indices, cols: Indices) -> NDArray[np.uint8]:
        """How often each pair (rows[k], cols[k]) was seen, or is absent because of its value: 0, 1 or 2."""
        told = self.times_seen(rows, cols)
        if self.limits.nothing:
            return told
        own = rows == cols
        most = np.where(own, 1, 2).astype(np.uint8)
        unknown, mirrored = self.limits.unknown_at(rows, cols), self.limits.unknown_at(cols, rows)
        if unknown is not None and mirrored is not None:
            most = most - np.where(own, unknown, unknown.astype(np.uint8) + mirrored)
        if self._diagonal_is_unknown:
            most = np.where(own, 0, most)
        if self.source.cut is not None:
            most = np.where((rows < self.source.cut) == (cols < self.source.cut), 0, most)
        return np.maximum(told, most).astype(np.uint8)

    def absent(self, rows: slice, cols: slice, values: Array) -> Bools:
        """Which entries of a block (with these ``values``) are unseen because of their value."""
        if self.limits.nothing:
            return np.zeros(values.shape, dtype=bool)
        absent = np.isnan(values)
        unknown = self.limits.unknown_in(rows, cols)
        if unknown is not None:
            absent &= ~unknown
        if self._diagonal_is_unknown:
            start, stop = max(rows.start, cols.start), min(rows.stop, cols.stop)
            if start < stop:
                diagonal = np.arange(start, stop)
                absent[diagonal - rows.start, diagonal - cols.start] = False
        exists = self.source.exists(rows, cols)
        return absent if exists is None else absent & exists

    def absent_pairs(self, rows: Indices, cols: Indices, seen: Bools) -> Bools:
        """Which pairs of a block are unseen because of their value, given which were ``seen`` in either order."""
        if self.limits.nothing:
            return np.zeros(seen.shape, dtype=bool)
        absent = ~seen
        unknown, mirrored = self.limits.unknown_in(rows, cols), self.limits.unknown_in(cols, rows)
        if unknown is not None and mirrored is not None:
            absent &= ~(unknown & mirrored.T)
        if self._diagonal_is_unknown:
            absent &= rows[:, None] != cols[None, :]
        exists = self.source.exists(rows, cols)
        return absent if exists is None else absent & exists

    def bounds(self, rows: Indices, cols: Indices, seen: Bools | None = None) -> tuple[Floats, Floats]:
        """The interval, in units of ``unit``, that each unseen pair of a block lies in by what absence says of it.

        Infinite where nothing is known, and where the pair was ``seen`` in either order. Both orders count.
        """
        seen = self.pairs(rows, cols)[1] if seen is None else seen
        absent = self.absent_pairs(rows, cols, seen)
        low, high = np.full(absent.shape, -np.inf), np.full(absent.shape, np.inf)
        if absent.any():
            forward, backward = self.limits.of(rows, cols), self.limits.of(cols, rows)
            low = np.where(absent, np.maximum(forward[0], np.transpose(backward[0])) / self.unit, low)
            high = np.where(absent, np.minimum(forward[1], np.transpose(backward[1])) / self.unit, high)
        return low, high

    @property
    def _diagonal_is_unknown(self) -> bool:
        """Whether an unseen entry of the diagonal is missing for another reason than its value.

        No PSD matrix has a negative diagonal, and one with m_ij > τ has m_ii > τ or m_jj > τ, so that part of its
        diagonal would be seen.
        """
        return self.absence_says == "below" and ((self.threshold or 0.0) <= 0 or not self.diagonal_seen)


def threshold_checked(threshold: Any) -> float | None:
    """A finite number, or None if absence says nothing."""
    if threshold is not None and not is_number(threshold):
        raise InputError(f"threshold must be a finite number, or None if absence says nothing; got {threshold!r}")
    return None if threshold is None else float(threshold)
