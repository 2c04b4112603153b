"""What was seen of a matrix, and what each unseen entry is known to satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import hypot
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu.base.errors import InputError, is_number, positions, unknown_name
from unrelu.base.units import power_of_four
from unrelu.data.inputs import read_mask, read_values, square_size

__all__ = ["Observations", "Side"]

Side = Literal["above", "below"]
FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]

# Rows scanned at a time: a few megabytes of temporaries, whatever the size of the matrix.
SCAN_ENTRIES = 1 << 19
# The largest power of four that is a double.
LARGEST_UNIT = 511


@dataclass(frozen=True, eq=False)
class Observations:
    """The whole truth about the input: seen values, and what absence says of the others.

    Every seen entry lies on the side ``seen`` of ``threshold`` (the threshold itself included), every
    unseen one strictly on the other side, unless it is ``unknown``. With ``threshold=None`` absence says nothing.

    Attributes
    ----------
    data : ndarray or CSR array of shape (n, n)
        The caller's values, not a copy: NaN where nothing was seen, or for a sparse array everything not stored.
    threshold, seen
        What absence says; see :func:`unrelu.complete`.
    unknown : boolean ndarray or None
        Entries missing for another reason.
    labels : tuple or None
        Row (and column) labels of a data frame.
    seen_per_row : int ndarray of shape (n,)
        How many entries of row *or* column i were seen.
    norm : float
        ‖M_Ω‖_F, the scale against which everything relative is measured.

    Examples
    --------
    >>> nan = np.nan
    >>> seen = Observations.of(np.array([[1.0, nan], [nan, 2.0]]))
    >>> seen.size, seen.count, seen.absence_says
    (2, 2, 'below')
    """

    data: Any
    threshold: float | None = 0.0
    seen: Side = "above"
    unknown: BoolArray | None = None
    labels: tuple[Any, ...] | None = None
    seen_per_row: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    count: int = 0
    norm: float = 0.0
    # Whether any entry of the diagonal was seen: in the caller's matrix, also where this is a part of it.
    diagonal_seen: bool = True

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        threshold: float | None = 0.0,
        seen: str = "above",
        unknown: Any = None,
    ) -> Observations:
        """Check the caller's matrix; it is not changed, and copied only where that cannot be avoided."""
        if not isinstance(seen, str) or seen not in ("above", "below"):
            raise unknown_name("side seen", seen, ["above", "below"])
        threshold = _threshold(threshold)
        data, labels = read_values(X)
        n = square_size(data, "X")
        mask = None if unknown is None else read_mask(unknown, n, labels)
        unscanned = cls(data, threshold, seen, mask, labels)  # type: ignore[arg-type]
        found = unscanned._scanned(check=True, diagonal_seen=_any_of_the_diagonal(data))
        found._refuse_a_threshold_out_of_reach()
        if found.dtype == np.float32 and found.unit < float(np.finfo(np.float32).tiny):
            # Their unit is no float32; what digits there are survive in doubles.
            return replace(found, data=data.astype(np.float64))
        return found

    @property
    def size(self) -> int:
        """n, for an n×n matrix."""
        return int(self.data.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, as the caller's values."""
        return np.dtype(self.data.dtype)

    @property
    def absence_says(self) -> Literal["below", "above", "nothing"]:
        """On which side of the threshold an unseen entry lies."""
        if self.threshold is None:
            return "nothing"
        return "below" if self.seen == "above" else "above"

    @property
    def unit(self) -> float:
        """The power of four nearest to the rms of the seen entries.

        Solvers work on the data divided by it: the division is exact, and so is that of the factor by its square root,
        so that data of any size are solved with the same digits and without overflow.
        """
        size = self.norm / np.sqrt(self.count) if self.norm else abs(self.threshold or 0.0)
        return power_of_four(float(size), LARGEST_UNIT) if size else 1.0

    @property
    def scaled_norm(self) -> float:
        """‖M_Ω‖_F in units of ``unit``."""
        return self.norm / self.unit

    @property
    def scaled_threshold(self) -> float | None:
        """The threshold in units of ``unit``."""
        return None if self.threshold is None else self.threshold / self.unit

    @property
    def empty_rows(self) -> NDArray[np.intp]:
        """Rows of which nothing was seen, neither in the row nor in the column."""
        return np.flatnonzero(self.seen_per_row == 0)

    def block(self, rows: slice, cols: slice) -> FloatArray:
        """Values of one block, NaN where unseen; a view where the data are dense."""
        if not sp.issparse(self.data):
            values: FloatArray = self.data[rows, cols]
            return values
        part = self.data[rows][:, cols].tocoo()
        dense = np.full(part.shape, np.nan, dtype=self.dtype)
        dense[part.row, part.col] = part.data
        return dense

    def restricted(self, rows: NDArray[np.intp]) -> Observations:
        """What was seen among some of the rows, in the order given; nothing is checked again, and labels come along."""
        data = self.data[rows][:, rows] if sp.issparse(self.data) else self.data[np.ix_(rows, rows)]
        unknown = None if self.unknown is None else self.unknown[np.ix_(rows, rows)]
        labels = None if self.labels is None else tuple(self.labels[i] for i in rows)
        part = replace(self, data=data, unknown=unknown, labels=labels)
        return part._scanned(check=False, diagonal_seen=self.diagonal_seen)

    def pairs(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> tuple[NDArray[np.float64], BoolArray]:
        """Means of the seen values of some pairs in units of ``unit`` (0 where none was seen), and which were seen."""
        values = self.entries(rows, cols)
        mirrored = values.copy() if rows is cols or np.array_equal(rows, cols) else self.entries(cols, rows)
        seen, also = ~np.isnan(values), ~np.isnan(mirrored)
        values[~seen], mirrored[~also] = 0, 0
        values += mirrored.T
        values[seen & also.T] /= 2
        return values, seen | also.T

    def entries(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> NDArray[np.float64]:
        """Values of a block in units of ``unit``, NaN where not seen; (i, j) and (j, i) may differ."""
        if not sp.issparse(self.data):
            block: NDArray[np.float64] = self.data[np.ix_(rows, cols)].astype(np.float64, copy=False)  # a copy already
            block /= self.unit
            return block
        part = self.data[rows][:, cols].tocoo()
        values = np.full((len(rows), len(cols)), np.nan)
        values[part.row, part.col] = part.data
        values /= self.unit
        return values

    def times_seen(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> NDArray[np.uint8]:
        """How often each pair (rows[k], cols[k]) was seen: 0, 1 or 2, once at most on the diagonal."""
        forward, backward = (self._stored(i, j).view(np.uint8) for i, j in ((rows, cols), (cols, rows)))
        return np.where(rows == cols, forward, forward + backward)

    def _stored(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> BoolArray:
        if not sp.issparse(self.data):
            seen: BoolArray = ~np.isnan(self.data[rows, cols])
            return seen
        ones = (np.ones(self.data.nnz, np.uint8), self.data.indices, self.data.indptr)
        found = sp.csr_array(ones, shape=self.data.shape)[rows, cols]
        return np.asarray(found.toarray() if sp.issparse(found) else found).ravel() > 0

    def absent(self, rows: slice, cols: slice, values: FloatArray) -> BoolArray:
        """Which entries of a block (with these ``values``) are unseen because of their value."""
        if self.threshold is None:
            return np.zeros(values.shape, dtype=bool)
        absent = np.isnan(values)
        if self.unknown is not None:
            absent &= ~self.unknown[rows, cols]
        if self._diagonal_is_unknown:
            start, stop = max(rows.start, cols.start), min(rows.stop, cols.stop)
            if start < stop:
                diagonal = np.arange(start, stop)
                absent[diagonal - rows.start, diagonal - cols.start] = False
        return absent

    def absent_pairs(self, rows: NDArray[np.intp], cols: NDArray[np.intp], seen: BoolArray) -> BoolArray:
        """Which pairs of a block are unseen because of their value, given which were ``seen`` in either order."""
        if self.threshold is None:
            return np.zeros(seen.shape, dtype=bool)
        absent = ~seen
        if self.unknown is not None:
            absent &= ~(self.unknown[np.ix_(rows, cols)] & self.unknown[np.ix_(cols, rows)].T)
        if self._diagonal_is_unknown:
            absent &= rows[:, None] != cols[None, :]
        return absent

    @property
    def _diagonal_is_unknown(self) -> bool:
        """Whether an unseen entry of the diagonal is missing for another reason than its value.

        No PSD matrix has a negative diagonal, and one with m_ij > τ has m_ii > τ or m_jj > τ, so that part of its
        diagonal would be seen.
        """
        return self.absence_says == "below" and ((self.threshold or 0.0) <= 0 or not self.diagonal_seen)

    def _bands(self) -> Iterator[tuple[int, FloatArray, BoolArray | None]]:
        """Everything there is to look at, a few rows at a time: first row, values, and what is called unknown there."""
        n = self.size
        step = max(1, SCAN_ENTRIES // n)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield start, self.data[rows], None if self.unknown is None else self.unknown[rows]

    def _scanned(self, *, check: bool, diagonal_seen: bool) -> Observations:
        """The same with what one pass over the values counts; with ``check`` it also finds everything wrong there."""
        infinite, wrong, overlap = _Offenders(), _Offenders(), _Offenders()
        if sp.issparse(self.data):
            values, places = self.data.data, self.data.tocoo().coords
            if check:
                infinite.collect_at(places, np.isinf(values))
                wrong.collect_at(places, self._on_the_wrong_side(values))
                if self.unknown is not None:
                    overlap.collect_at(places, self.unknown[places])
            per_row = np.asarray(sum(np.bincount(place, minlength=self.size) for place in places), np.int64)
            count, norm = int(values.size), _norm(values)
        else:
            per_row, count, norm = np.zeros(self.size, np.int64), 0, 0.0
            for start, values, unknown in self._bands():
                present = ~np.isnan(values)
                if check:
                    infinite.collect(np.isinf(values), start)
                    wrong.collect(self._on_the_wrong_side(values), start)
                    if unknown is not None:
                        overlap.collect(present & unknown, start)
                in_row = present.sum(axis=1)
                per_row[start : start + len(values)] += in_row
                per_row += present.sum(axis=0)
                count += int(in_row.sum())
                norm = hypot(norm, _norm(np.where(present, values, 0)))
        if check:
            self._refuse(infinite, wrong, overlap, count)
        return replace(self, seen_per_row=per_row, count=count, norm=norm, diagonal_seen=diagonal_seen)

    def _refuse(self, infinite: _Offenders, wrong: _Offenders, overlap: _Offenders, count: int) -> None:
        """Raise the error that says what is wrong, if anything is."""
        if infinite.count:
            raise InputError(
                f"X must be finite where it was seen, got {infinite.count} infinite entries, at {infinite}; "
                "write NaN where nothing was seen"
            )
        if wrong.count:
            raise InputError(self._wrong_side(wrong))
        if overlap.count:
            raise InputError(
                f"unknown must mark only unseen entries, but {overlap.count} of those it marks were seen, "
                f"at {overlap}; set them to NaN in X, or clear them in unknown"
            )
        if count == 0:
            raise InputError("X must have at least one seen entry, got none; there is nothing to complete from")
        self._refuse_one_triangle()

    def _refuse_one_triangle(self) -> None:
        """Half of a symmetric matrix says of every pair that it was seen and that it was not."""
        if self.threshold is None or self.unknown is not None or self.size < 2:
            return
        if sp.issparse(self.data):
            rows, cols = self.data.tocoo().coords
            upper, lower = bool((rows < cols).any()), bool((rows > cols).any())
        else:
            upper = lower = False
            for start, values, _ in self._bands():
                places = np.arange(self.size) - np.arange(start, start + len(values))[:, None]
                present = ~np.isnan(values)
                upper, lower = (
                    upper or bool((present & (places > 0)).any()),
                    lower or bool((present & (places < 0)).any()),
                )
                if upper and lower:
                    return
        if upper != lower:
            which = "upper" if upper else "lower"
            raise InputError(
                f"only the {which} triangle of X holds seen entries, which with a threshold says that (j, i) lies on "
                "the other side than (i, j); mirror X if it is symmetric, or mark the other triangle as unknown="
            )

    def _on_the_wrong_side(self, values: FloatArray) -> BoolArray:
        if self.threshold is None:
            return np.zeros(values.shape, dtype=bool)
        with np.errstate(over="ignore"):  # beyond the range of float32 the threshold is infinite, and so compared
            return values < self.threshold if self.seen == "above" else values > self.threshold

    def _refuse_a_threshold_out_of_reach(self) -> None:
        """Beside a threshold with none of the digits of the data, absence would drown what was seen."""
        marked = 0 if self.unknown is None else int(np.count_nonzero(self.unknown))
        if self.threshold is None or (self.norm and self.count + marked == self.size**2):
            return
        size, digits = self.norm / np.sqrt(self.count), np.finfo(self.dtype)
        if abs(self.threshold) * float(digits.eps) > (size or float(digits.eps) * float(digits.max) / 16):
            raise InputError(
                f"threshold={self.threshold:g} is too far from the seen entries, of size {size:.2g}, to say anything "
                f"about the others in {self.dtype}; give the value at which entries go unseen, or pass threshold=None "
                "if absence says nothing"
            )

    def _wrong_side(self, wrong: _Offenders) -> str:
        row, col = wrong.first[0]
        value = float(self.block(slice(row, row + 1), slice(col, col + 1))[0, 0])
        relation, other = ("≥", "below") if self.seen == "above" else ("≤", "above")
        return (
            f"every seen entry must be {relation} threshold={self.threshold:g} (seen={self.seen!r}), but "
            f"{wrong.count} are not, at {wrong}, the first being {value:g}; check threshold= and seen= "
            f"(seen={other!r} turns the side round), or pass threshold=None if absence says nothing"
        )


class _Offenders:
    """How many entries break a rule, and where the first three are."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[tuple[int, int]] = []

    def collect(self, mask: BoolArray, first_row: int) -> None:
        """Count the marked entries of a band of rows."""
        count = int(np.count_nonzero(mask))
        if count and len(self.first) < 3:
            found = np.argwhere(mask)[: 3 - len(self.first)]
            self.first += [(int(i) + first_row, int(j)) for i, j in found]
        self.count += count

    def collect_at(self, places: tuple[NDArray[Any], NDArray[Any]], mask: BoolArray) -> None:
        """The same for a list of places."""
        found = np.flatnonzero(mask)
        self.first += [(int(places[0][k]), int(places[1][k])) for k in found[:3]]
        self.count += int(found.size)

    def __str__(self) -> str:
        return positions(self.first, self.count)


def _any_of_the_diagonal(data: Any) -> bool:
    if sp.issparse(data):
        rows, cols = data.tocoo().coords
        return bool((rows == cols).any())
    return not bool(np.isnan(np.diagonal(data)).all())


def _norm(values: FloatArray) -> float:
    """The Euclidean norm, by the BLAS routine that neither overflows nor underflows on the way."""
    return float(scipy.linalg.norm(values.astype(np.float64, copy=False).ravel(), check_finite=False))


def _threshold(threshold: Any) -> float | None:
    if threshold is not None and not is_number(threshold):
        raise InputError(f"threshold must be a finite number, or None if absence says nothing; got {threshold!r}")
    return None if threshold is None else float(threshold)
