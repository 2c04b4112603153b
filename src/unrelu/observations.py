"""What was seen of a matrix, and what each unseen entry is known to satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu.errors import InputError, is_number, positions, unknown_name

__all__ = ["Observations", "Side"]

Side = Literal["above", "below"]
FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]

# Rows scanned at a time: a few megabytes of temporaries, whatever the size of the matrix.
SCAN_ENTRIES = 1 << 19


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
    frame: Any = field(default=None, repr=False)
    seen_per_row: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    count: int = 0
    norm: float = 0.0

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
        if seen not in ("above", "below"):
            raise unknown_name("side seen", seen, ["above", "below"])
        threshold = _threshold(threshold)
        data, labels, frame = _matrix(X)
        n = _square(data, "X")
        mask = None if unknown is None else _mask(unknown, n)
        scanned = cls(data, threshold, seen, mask, labels, frame)  # type: ignore[arg-type]
        seen_per_row, count, norm = scanned._scan()
        return cls(data, threshold, seen, mask, labels, frame, seen_per_row, count, norm)  # type: ignore[arg-type]

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

    def absent(self, rows: slice, cols: slice, values: FloatArray) -> BoolArray:
        """Which entries of a block (with these ``values``) are unseen because of their value."""
        if self.threshold is None:
            return np.zeros(values.shape, dtype=bool)
        absent = np.isnan(values)
        if self.unknown is not None:
            absent &= ~self.unknown[rows, cols]
        if self.absence_says == "below" and self.threshold <= 0:
            # No PSD matrix has a negative diagonal: such an entry is missing for another reason.
            start, stop = max(rows.start, cols.start), min(rows.stop, cols.stop)
            if start < stop:
                diagonal = np.arange(start, stop)
                absent[diagonal - rows.start, diagonal - cols.start] = False
        return absent

    def _bands(self) -> Iterator[tuple[int, FloatArray, BoolArray | None]]:
        """Everything there is to look at, a few rows at a time: first row, values, and what is called unknown there."""
        n = self.size
        step = max(1, SCAN_ENTRIES // n)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield start, self.data[rows], None if self.unknown is None else self.unknown[rows]

    def _scan(self) -> tuple[NDArray[np.int64], int, float]:
        """One pass that finds everything wrong with the values, and counts what is right."""
        infinite, wrong, overlap = _Offenders(), _Offenders(), _Offenders()
        if sp.issparse(self.data):
            values, places = self.data.data, self.data.tocoo().coords
            infinite.collect_at(places, np.isinf(values))
            wrong.collect_at(places, self._on_the_wrong_side(values))
            if self.unknown is not None:
                overlap.collect_at(places, self.unknown[places])
            per_row = sum(np.bincount(place, minlength=self.size) for place in places)
            count, squares = values.size, _square_sum(values)
        else:
            per_row, count, squares = np.zeros(self.size, np.int64), 0, 0.0
            for start, values, unknown in self._bands():
                present = ~np.isnan(values)
                infinite.collect(np.isinf(values), start)
                wrong.collect(self._on_the_wrong_side(values), start)
                if unknown is not None:
                    overlap.collect(present & unknown, start)
                in_row = present.sum(axis=1)
                per_row[start : start + len(values)] += in_row
                per_row += present.sum(axis=0)
                count += int(in_row.sum())
                squares += _square_sum(np.where(present, values, 0))
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
            raise InputError("X must have at least one seen entry, got only NaN; there is nothing to complete from")
        return np.asarray(per_row, np.int64), int(count), float(np.sqrt(squares))

    def _on_the_wrong_side(self, values: FloatArray) -> BoolArray:
        if self.threshold is None:
            return np.zeros(values.shape, dtype=bool)
        return values < self.threshold if self.seen == "above" else values > self.threshold

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


def _square_sum(values: FloatArray) -> float:
    """Σ x² in double precision; an overflow shows as inf, and is reported as infinite entries are."""
    flat = values.astype(np.float64, copy=False).ravel()
    with np.errstate(invalid="ignore", over="ignore"):
        return float(flat @ flat)


def _threshold(threshold: Any) -> float | None:
    if threshold is not None and not is_number(threshold):
        raise InputError(f"threshold must be a finite number, or None if absence says nothing; got {threshold!r}")
    return None if threshold is None else float(threshold)


def _square(data: Any, name: str) -> int:
    if data.ndim != 2:
        raise InputError(f"{name} must be a square matrix (2-D), got {data.ndim}-D data of shape {data.shape}")
    rows, cols = data.shape
    if rows != cols:
        raise InputError(f"{name} must be square, got {rows} rows and {cols} columns")
    if rows == 0:
        raise InputError(f"{name} must have at least one row, got an empty matrix")
    return int(rows)


def _matrix(X: Any) -> tuple[Any, tuple[Any, ...] | None, Any]:
    """The values as a float array (NaN where unseen) or CSR array, with labels and frame type if there were any."""
    if sp.issparse(X):
        if X.ndim != 2:
            raise InputError(f"X must be a square matrix (2-D), got {X.ndim}-D sparse data of shape {X.shape}")
        data = sp.csr_array(X)
        if not data.has_canonical_format:
            # Only `coo` may hold one position twice; the conversion has added them up, on a copy of the caller's data.
            data = data.copy()
            data.sum_duplicates()
        values = _floats(data.data, "X")
        keep = ~np.isnan(values)
        if not keep.all():
            rows, cols = data.tocoo().coords
            return sp.csr_array((values[keep], (rows[keep], cols[keep])), shape=data.shape), None, None
        if values.dtype != data.dtype:
            data = sp.csr_array((values, data.indices, data.indptr), shape=data.shape)
        return data, None, None
    if hasattr(X, "to_numpy") and hasattr(X, "index") and hasattr(X, "columns"):
        return _from_frame(X)
    if isinstance(X, np.ma.MaskedArray):
        if X.ndim != 2:
            raise InputError(f"X must be a square matrix (2-D), got {X.ndim}-D data of shape {X.shape}")
        return _floats(X.data, "X", copy=True, hide=np.ma.getmaskarray(X)), None, None
    try:
        array = np.asarray(X)
    except ValueError:
        raise InputError("X must be a square matrix of numbers, got rows of different lengths") from None
    return _floats(array, "X"), None, None


def _from_frame(X: Any) -> tuple[Any, tuple[Any, ...], Any]:
    rows, cols = list(X.index), list(X.columns)
    if len(rows) != len(cols):
        raise InputError(f"X must be square, got {len(rows)} rows and {len(cols)} columns")
    for k, (row, col) in enumerate(zip(rows, cols, strict=True)):
        if row != col:
            why = "the same labels in another order" if set(rows) == set(cols) else "other labels"
            raise InputError(
                f"index and columns of X must carry the same labels in the same order, but label {k} is {row!r} in the "
                f"index and {col!r} in the columns ({why}); use X.loc[labels, labels], or X.to_numpy() to drop them"
            )
    kinds = {np.dtype(d) if isinstance(d, np.dtype) else None for d in X.dtypes}
    dtype = np.float32 if kinds == {np.dtype(np.float32)} else np.float64
    if kinds == {np.dtype(dtype)}:
        return X.to_numpy(), tuple(rows), type(X)
    try:
        return X.to_numpy(dtype=dtype, na_value=np.nan), tuple(rows), type(X)
    except (TypeError, ValueError):
        name, kind = next(
            ((name, d) for name, d in X.dtypes.items() if getattr(d, "kind", "O") not in "iuf"), ("?", "unknown")
        )
        raise InputError(
            f"X must hold numbers, but column {name!r} has dtype {kind}; convert it with pandas.to_numeric"
        ) from None


def _floats(array: NDArray[Any], name: str, *, copy: bool = False, hide: BoolArray | None = None) -> FloatArray:
    kind = array.dtype.kind
    if kind == "c":
        raise InputError(
            f"{name} must be real, got complex dtype {array.dtype}; pass the real part if that is what you mean"
        )
    if kind == "b":
        raise InputError(f"{name} must hold numbers, got a boolean array; is this the mask rather than the values?")
    if kind not in "fiu":
        raise InputError(f"{name} must hold numbers, got dtype {array.dtype}; convert it with X.astype(float) first")
    dtype = np.float32 if array.dtype in (np.float32, np.float16) else np.float64
    values: FloatArray = array.astype(dtype, copy=copy)
    if hide is not None:
        values[hide] = np.nan
    return values


def _mask(unknown: Any, n: int) -> BoolArray:
    mask = unknown.toarray() if sp.issparse(unknown) else np.asarray(unknown)
    if mask.shape != (n, n):
        raise InputError(f"unknown must have the shape of X, ({n}, {n}), got {mask.shape}")
    if mask.dtype.kind != "b":
        raise InputError(
            f"unknown must be a boolean mask, got dtype {mask.dtype}; write unknown != 0 if that is what you mean"
        )
    return mask
