"""What was seen of a matrix, and what each unseen entry is known to satisfy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.base.units import power_of_four
from unrelu._old.data.checks import Counts, checked, counted, within_range
from unrelu._old.data.inputs import read_values, square_size
from unrelu._old.data.labels import Axes
from unrelu._old.data.left_out import Places, apart_from
from unrelu._old.data.limits import Blocks, Ends, Limits, has_limit, narrowed, numbers_at, part_of
from unrelu._old.data.source import Place, Source, WithoutDiagonal, source_of
from unrelu._old.data.terms import Terms, read_limits, settled

__all__ = ["Observations", "relative_weights"]

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
    weights, spread : ndarray, Blocks or None
        What each entry weighs, 1 on average over the seen ones, and how large its noise is relative to that of the
        others: broadcast like limits. None: the same for all.
    said : Terms or None
        What the caller said of the whole matrix beside its values, settled.

    Examples
    --------
    >>> nan = np.nan
    >>> seen = Observations.of(np.array([[1.0, nan], [nan, 2.0]]))
    >>> seen.size, seen.count, seen.limits.side
    (2, 2, 'below')

    Whatever can be read by blocks can be observed:

    >>> from unrelu._old.data.source import ArraySource
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
    weights: Array | Blocks | None = field(default=None, repr=False)
    spread: Array | Blocks | None = field(default=None, repr=False)
    said: Terms | None = field(default=None, repr=False)
    # Whether the matrix is positive semidefinite, which tells something of its diagonal.
    definite: bool = field(default=True, repr=False)
    # Upper limits of the diagonal, where that is no entry like the others: infinite where it was not seen.
    caps: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(cls, X: Any, terms: Terms | None = None, left_out: Places | None = None, **said: Any) -> Observations:
        """Check the caller's matrix; it is not changed, and copied only where that cannot be avoided.

        Parameters
        ----------
        X : as in :func:`unrelu.complete`
        terms : Terms, optional
            What is said of it beside its values; or the fields of that by name.
        left_out : pair of int ndarray, optional
            Entries whose values are not looked at, and whose absence says nothing.
        """
        data, labels = read_values(X)
        n = square_size(data, "X")
        source = source_of(data)
        axes = Axes.square(n, labels)
        told = settled(Terms(**said) if terms is None else terms, axes)
        source, limits = apart_from(source, read_limits(told, axes), left_out)
        found = checked(source, limits, axes, told.entry_range)
        limits = limits if told.entry_range is None else within_range(limits, told.entry_range)
        weights, diagonal_seen = relative_weights(told.weights, source, found), bool(source.diagonal_seen().any())
        return cls(source, limits, labels, diagonal_seen, found, weights, told.spread, told).representable

    def with_diagonal(self, use: str) -> Observations:
        """The same with the diagonal used otherwise: as ``data``, as ``unknown``, or as an upper ``limit`` of ‖u_i‖².

        Only of observations whose diagonal is data.
        """
        if use == "data":
            return self
        own = np.arange(self.size)
        caps = np.full(self.size, np.inf)
        if use == "limit":
            values = self.source.at(own, own).astype(np.float64)
            caps = np.where(np.isnan(values), np.inf, values)
        return replace(self, source=WithoutDiagonal(self.source), diagonal_seen=False, scanned=None, caps=caps)

    @property
    def representable(self) -> Observations:
        """The same; in doubles if their unit is no float32, so that what digits there are survive."""
        if self.dtype == np.float32 and self.unit < float(np.finfo(np.float32).tiny):
            return replace(self, source=self.source.in_dtype(np.float64))
        return self

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
    def room(self) -> int:
        """How many entries there are, seen or not: n², or of a table each of its entries twice."""
        cut = self.source.cut
        return self.size**2 if cut is None else 2 * cut * (self.size - cut)

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
        size = self.norm / np.sqrt(self.count) if self.norm else self.limits.largest
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
        weights, spread = (narrowed(extra, rows, rows) for extra in (self.weights, self.spread))
        limits = self.limits.part(rows, rows)
        part, caps = self.source.part(rows, rows), None if self.caps is None else self.caps[rows]
        seen = self.diagonal_seen
        return Observations(part, limits, labels, seen, None, weights, spread, definite=self.definite, caps=caps)

    def reordered(self, order: Indices) -> Observations:
        """All rows in another order: row ``order[k]`` becomes row k."""
        counts = replace(self._counts, per_row=self._counts.per_row[order])
        return replace(self.restricted(order), scanned=counts)

    def without(self, rows: Indices, cols: Indices) -> Observations:
        """The same with the pairs (rows[k], cols[k]) missing for another reason than their value."""
        return self.without_entries(np.concatenate([rows, cols]), np.concatenate([cols, rows]))

    def without_entries(self, rows: Indices, cols: Indices) -> Observations:
        """The same with the entries (rows[k], cols[k]) missing for another reason; of a pair the other may stay."""
        limits = self.limits.without(rows, cols, self.source.shape)
        return replace(self, source=self.source.without(rows, cols), limits=limits, scanned=None)

    def pairs(self, rows: Indices, cols: Indices) -> tuple[Floats, Bools]:
        """Means of the seen values of some pairs in units of ``unit`` (0 where none was seen), and which were seen."""
        values = self.entries(rows, cols)
        own = rows is cols or np.array_equal(rows, cols)
        mirrored = np.ascontiguousarray((values if own else self.entries(cols, rows)).T)
        unseen, also = np.isnan(values), np.isnan(mirrored)
        if not np.array_equal(unseen, also):  # what was seen one way round alone
            np.copyto(mirrored, values, where=also)
            np.copyto(values, mirrored, where=unseen)
            unseen &= also
        values += mirrored
        values *= 0.5
        np.copyto(values, 0, where=unseen)
        return values, np.logical_not(unseen, out=unseen)

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
        if self.limits.nothing:
            return self.times_seen(rows, cols)
        own = rows == cols
        forward, backward = (self.source.seen_at(i, j) | self.told_at(i, j) for i, j in ((rows, cols), (cols, rows)))
        return np.where(own, forward, forward.astype(np.uint8) + backward).astype(np.uint8)

    def told_at(self, rows: Indices, cols: Indices) -> Bools:
        """Of which entries (rows[k], cols[k]) absence would say something."""
        told: Bools = np.ones(rows.shape, bool)
        if not self.limits.uniform:
            told &= has_limit(self.limits.at(rows, cols, self.source.shape))
        unknown = self.limits.unknown_at(rows, cols)
        if unknown is not None:
            told &= ~unknown
        if self.source.cut is not None:
            told &= (rows < self.source.cut) != (cols < self.source.cut)
        return told & ~((rows == cols) & self._diagonal_unknown[rows])

    def _told(self, rows: slice | Indices, cols: slice | Indices) -> Any:
        """Of which entries of a block absence would say something, but for the diagonal: an array, or one answer."""
        told = True if self.limits.uniform else self.limits.told(rows, cols)
        unknown, exists = self.limits.unknown_in(rows, cols), self.source.exists(rows, cols)
        told = told if unknown is None else ~unknown & told
        return told if exists is None else exists & told

    def absent(self, rows: slice, cols: slice, values: Array) -> Bools:
        """Which entries of a block (with these ``values``) are unseen because of their value."""
        if self.limits.nothing:
            return np.zeros(values.shape, dtype=bool)
        absent = np.isnan(values)
        absent &= self._told(rows, cols)
        start, stop = max(rows.start, cols.start), min(rows.stop, cols.stop)
        if start < stop:
            diagonal = np.arange(start, stop)
            absent[diagonal - rows.start, diagonal - cols.start] &= ~self._diagonal_unknown[diagonal]
        return absent

    def absent_pairs(self, rows: Indices, cols: Indices, seen: Bools) -> Bools:
        """Which pairs of a block are unseen because of their value, given which were ``seen`` in either order."""
        if self.limits.nothing:
            return np.zeros(seen.shape, dtype=bool)
        absent: Bools = ~seen & (self._told(rows, cols) | np.transpose(self._told(cols, rows)))
        if self._diagonal_unknown.any():
            absent &= (rows[:, None] != cols[None, :]) | ~self._diagonal_unknown[rows][:, None]
        return absent

    def bounds(self, rows: Indices, cols: Indices, seen: Bools | None = None) -> tuple[Floats, Floats]:
        """The interval, in units of ``unit``, that each unseen pair of a block lies in by what absence says of it.

        Infinite where nothing is known, and where the pair was ``seen`` in either order. Both orders count, and where
        only one of them is unknown, the other.
        """
        seen = self.pairs(rows, cols)[1] if seen is None else seen
        absent = self.absent_pairs(rows, cols, seen)
        low, high = np.full(absent.shape, -np.inf), np.full(absent.shape, np.inf)
        if absent.any():
            forward, backward = self._heard(rows, cols), self._heard(cols, rows).turned
            low = np.where(absent, np.maximum(forward[0], backward[0]) / self.unit, low)
            high = np.where(absent, np.minimum(forward[1], backward[1]) / self.unit, high)
        return low, high

    def beyond(self, rows: Indices, cols: Indices, values: Floats, seen: Bools | None = None) -> Floats:
        """By how much values of the pairs of a block, in units of ``unit``, are outside :meth:`bounds`: 0 inside."""
        off: Floats = values - np.clip(values, *self.bounds(rows, cols, seen))
        return off

    def _heard(self, rows: Indices, cols: Indices) -> Ends:
        """The limits of a block, infinite where an entry is unknown."""
        unknown, ends = self.limits.unknown_in(rows, cols), self.limits.of(rows, cols).hull
        if unknown is None:
            return ends
        return Ends((np.where(unknown, -np.inf, ends[0]), np.where(unknown, np.inf, ends[1])))

    @cached_property
    def _diagonal_unknown(self) -> Bools:
        """Whether an entry of the diagonal, if it is unseen, is missing for another reason than its value.

        No PSD matrix has a negative diagonal, and one with m_ij > τ has m_ii > τ or m_jj > τ, so that part of its
        diagonal would be seen.
        """
        own, limits = np.arange(self.size), self.limits
        if self.caps is not None:
            return np.ones(self.size, dtype=bool)
        if not self.definite:  # nothing is known of it, but that a diagonal of which nothing was seen is seldom hidden
            return np.full(self.size, not self.diagonal_seen)
        if limits.uniform:
            low_or_none = (limits.threshold or 0.0) <= 0 or not self.diagonal_seen
            return np.full(self.size, limits.side == "below" and low_or_none)
        high = limits.at(own, own, self.source.shape)[1]
        missing: Bools = np.isfinite(high) & ((high <= 0) | (not self.diagonal_seen))
        return missing & ~limits.chance_at(own, own, self.source.shape)

    @property
    def unweighted(self) -> Observations:
        """The same with all entries alike."""
        return self if self.plain else replace(self, weights=None, spread=None, scanned=self._counts)

    @property
    def plain(self) -> bool:
        """Whether all entries weigh the same, and have the same noise."""
        return self.weights is None and self.spread is None

    def precision(self, rows: slice | Indices, cols: slice | Indices) -> Any:
        """What entries of a block weigh over the square of their noise: 1, or an array that broadcasts to it."""
        weights = 1.0 if self.weights is None else part_of(self.weights, rows, cols)
        return weights if self.spread is None else weights / np.square(part_of(self.spread, rows, cols))

    def precision_at(self, rows: Indices, cols: Indices) -> Any:
        """The same of the entries (rows[k], cols[k])."""
        shape = self.source.shape
        weights = 1.0 if self.weights is None else numbers_at(self.weights, rows, cols, shape)
        return weights if self.spread is None else weights / np.square(numbers_at(self.spread, rows, cols, shape))

    def pair_precision(self, rows: Indices, cols: Indices) -> Floats:
        """The same of the pairs of a block, the mean over both ways round."""
        shape = len(rows), len(cols)
        forward = np.broadcast_to(self.precision(rows, cols), shape)
        backward = np.broadcast_to(self.precision(cols, rows), shape[::-1])
        mean: Floats = (forward + backward.T) / 2
        return mean


def relative_weights(weights: Array | None, source: Source, counts: Counts) -> Array | None:
    """Weights over their mean at the seen entries of a source, for only their ratios matter."""
    if weights is None:
        return None
    total = 0.0
    for start, values in source.bands():
        rows = slice(start, start + len(values))
        part = np.broadcast_to(part_of(weights, rows, slice(0, source.shape[1])), values.shape)
        total += float(np.sum(part[~np.isnan(values)], dtype=np.float64))
    relative: Array = weights * (counts.count / total)
    return relative
