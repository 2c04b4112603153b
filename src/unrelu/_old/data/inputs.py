"""The caller's arrays, data frames, masked and sparse matrices, maps and oracles as what the library computes with."""

from __future__ import annotations

from math import prod
from os import PathLike, fspath
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Bools
from unrelu._old.base.errors import InputError, positions
from unrelu._old.data.dask_source import DaskSource, fetched, is_dask
from unrelu._old.data.labels import Axes
from unrelu._old.data.mapped import MappedSource, is_mapped
from unrelu._old.data.oracle import OracleSource, is_oracle
from unrelu._old.data.source import Source, source_checked
from unrelu._old.data.table import Table
from unrelu._old.data.tensor_source import TensorSource, is_tensor
from unrelu._old.data.zarr_source import ZarrSource, is_zarr

__all__ = ["read_mask", "read_table", "read_values", "same_axes", "same_label", "same_labels", "square_size"]

# What to do about a matrix that is not.
SQUARE = "; complete_table, complete_rectangular and certify_rectangular take a table of rows by columns"

# A dask array with fewer entries than this is solved here; a larger one is left where it is.
FEW = 4000**2

# What the labels of a source are labels of.
SIDE = {"labels": "rows", "column_labels": "columns"}


def square_size(data: Any, name: str) -> int:
    """N of an n×n matrix; anything else is refused."""
    if len(data.shape) != 2:
        raise InputError(f"{name} must be a square matrix (2-D), got {len(data.shape)}-D data of shape {data.shape}")
    rows, cols = data.shape
    if rows != cols:
        raise InputError(f"{name} must be square, got {rows} rows and {cols} columns{SQUARE}")
    if rows == 0:
        raise InputError(f"{name} must have at least one row, got an empty matrix")
    return int(rows)


def read_values(X: Any) -> tuple[Any, tuple[Any, ...] | None]:
    """The values as a float array (NaN where unseen), a CSR array or a source, with labels if there were any."""
    if isinstance(X, str | PathLike):
        zarr = fspath(X).rstrip("/").endswith(".zarr")
        how = "unrelu.ZarrSource(path)" if zarr else "pandas.read_csv(path, index_col=0)"
        raise InputError(
            f"X must be a matrix, got the path {fspath(X)!r}; read it first, as with "
            f"{how}, or run unrelu complete in a shell, which reads files"
        )
    if is_dask(X) and prod(X.shape) < FEW:
        X = fetched(X)
    source = _as_source(X)
    if source is not None:
        return source_checked(source), source.labels
    if isinstance(X, Table):
        data, _ = read_values(X.values)
        return data, X.rows or X.columns
    if sp.issparse(X):
        if X.ndim != 2:
            raise InputError(f"X must be a matrix (2-D), got {X.ndim}-D sparse data of shape {X.shape}")
        data = _canonical(X)
        values = _floats(data.data, "X")
        keep = ~np.isnan(values)
        if not keep.all():
            rows, cols = data.tocoo().coords
            return sp.csr_array((values[keep], (rows[keep], cols[keep])), shape=data.shape), None
        if values.dtype != data.dtype:
            data = sp.csr_array((values, data.indices, data.indptr), shape=data.shape)
        return data, None
    if hasattr(X, "to_numpy") and hasattr(X, "index") and hasattr(X, "columns"):
        return _from_frame(X)
    if isinstance(X, np.ma.MaskedArray):
        if X.ndim != 2:
            raise InputError(f"X must be a matrix (2-D), got {X.ndim}-D data of shape {X.shape}")
        return _floats(X.data, "X", copy=True, hide=np.ma.getmaskarray(X)), None
    try:
        array = np.asarray(X)
    except ValueError:
        raise InputError("X must be a matrix of numbers, got rows of different lengths") from None
    return _floats(array, "X"), None


def _as_source(X: Any) -> Source | None:
    """What is read block by block as the source that it is; None if it is none. Nothing is read."""
    if isinstance(X, Source):
        return X
    if is_mapped(X):
        return MappedSource(X)
    if is_dask(X):
        return DaskSource(X)
    if is_zarr(X):
        return ZarrSource(X)
    if is_tensor(X):
        return TensorSource(X)
    return OracleSource(X) if is_oracle(X) else None


def _canonical(X: Any) -> Any:
    """The sparse matrix by rows, if no position is stored twice: SciPy adds such entries up, and nobody saw the sum."""
    stored = X.tocoo()
    data = sp.csr_array(stored)
    if data.nnz < stored.nnz:
        rows, cols = stored.coords if hasattr(stored, "coords") else (stored.row, stored.col)
        place = rows.astype(np.int64) * stored.shape[1] + cols
        places, times = np.unique(place, return_counts=True)
        twice = [divmod(int(k), stored.shape[1]) for k in places[times > 1]]
        raise InputError(
            f"X must store every entry once, got two or more values at {positions(twice, len(twice))}; keep one of "
            "them, or add them up with X.sum_duplicates() if that is what they mean"
        )
    return data


def read_table(X: Any, least: int = 1) -> tuple[Any, Axes]:
    """The values of a rectangular matrix of so many rows at least, with the labels it has of rows and of columns."""
    rows = columns = None
    source = None if isinstance(X, Table) or is_dask(X) else _as_source(X)
    if isinstance(X, Table):
        data, rows, columns = read_values(X.values)[0], X.rows, X.columns
    elif source is not None:
        data, rows, columns = source_checked(source), source.labels, source.column_labels
    elif hasattr(X, "to_numpy") and hasattr(X, "index") and hasattr(X, "columns"):
        data, rows, columns = _frame_values(X), tuple(X.index), tuple(X.columns)
    else:
        data, _ = read_values(X)
    if len(data.shape) != 2 or data.shape[0] < least or data.shape[1] == 0:
        raise InputError(f"X must be a table with rows and columns (2-D), got data of shape {data.shape}")
    for name, labels, size in (("labels", rows, data.shape[0]), ("column_labels", columns, data.shape[1])):
        if labels and len(labels) != size:
            raise InputError(f"{name} of X must name each of its {size} {SIDE[name]}, got {len(labels)} names")
    return data, Axes((int(data.shape[0]), int(data.shape[1])), rows or None, columns or None)


def _frame_values(X: Any) -> Any:
    """The numbers of a data frame."""
    for name, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "iuf":
            raise InputError(
                f"X must hold numbers, but column {name!r} has dtype {kind}; convert it with pandas.to_numeric, or "
                f"make it the index with X.set_index({name!r}) if it holds the labels"
            )
    single = {str(kind).lower() for kind in X.dtypes} <= {"float32", "float16"}
    dtype = np.dtype(np.float32 if single else np.float64)
    if set(X.dtypes) == {dtype}:
        return X.to_numpy()
    return X.to_numpy(dtype=dtype, na_value=np.nan)


def _from_frame(X: Any) -> tuple[Any, tuple[Any, ...]]:
    values, rows, cols = _frame_values(X), list(X.index), list(X.columns)
    if len(rows) != len(cols):
        raise InputError(f"X must be square, got {len(rows)} rows and {len(cols)} columns{SQUARE}")
    for k, (row, col) in enumerate(zip(rows, cols, strict=True)):
        if not _same(row, col):
            why = "the same labels in another order" if set(rows) == set(cols) else "other labels"
            raise InputError(
                f"index and columns of X must carry the same labels in the same order, but label {k} is {row!r} in the "
                f"index and {col!r} in the columns ({why}); use X.loc[labels, labels], or X.to_numpy() to drop them"
            )
    return values, tuple(rows)


def _floats(array: NDArray[Any], name: str, *, copy: bool = False, hide: Bools | None = None) -> Array:
    kind = array.dtype.kind
    if kind == "c":
        raise InputError(
            f"{name} must be real, got complex dtype {array.dtype}; pass the real part if that is what you mean"
        )
    if kind == "b":
        raise InputError(f"{name} must hold numbers, got a boolean array; is this the mask rather than the values?")
    if kind == "O":
        raise InputError(
            f"{name} must hold numbers, got dtype object; numpy.array({name}, dtype=float) makes them of what reads as "
            "a number, and NaN of None"
        )
    if kind not in "fiu":
        raise InputError(
            f"{name} must hold numbers, got dtype {array.dtype}; convert it with numpy.array({name}, dtype=float) first"
        )
    dtype = np.float32 if kind == "f" and array.dtype.itemsize <= 4 else np.float64
    values: Array = array.astype(dtype, copy=copy)
    if hide is not None:
        values[hide] = np.nan
    return values


def _same(one: Any, other: Any) -> bool:
    """Whether two labels are the same; NaN is a label like any other."""
    if one is other:
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):  # of an index with several levels
        return len(one) == len(other) and all(map(_same, one, other))
    try:
        return bool(one == other or (one != one and other != other))
    except TypeError:  # pandas.NA is neither equal nor different
        return False


def same_label(one: Any, label: Any) -> bool:
    """Whether two labels are the same, or one is the other written as text, as it comes back from a file."""
    return _same(one, label) or str(one) == label


def same_labels(other: Any, labels: tuple[Any, ...] | None, what: str, of: str = "X") -> None:
    """Refuse a labelled side input whose rows or columns are not those of X, in the same order.

    Labels that came back from a file as text are those that are written so.
    """
    same_axes(other, Axes((0, 0), labels, labels), what, of)


def same_axes(other: Any, axes: Axes, what: str, of: str = "X") -> None:
    """The same for a matrix whose rows and columns have labels of their own."""
    if not (hasattr(other, "index") and hasattr(other, "columns")):
        return
    for name, labels in (("index", axes.rows), ("columns", axes.columns)):
        if labels is None:
            continue
        theirs = tuple(getattr(other, name))
        pairs = enumerate(zip(theirs, labels, strict=False))
        k = next((k for k, (one, label) in pairs if not same_label(one, label)), len(theirs))
        if k < len(labels) or len(theirs) > len(labels):
            use = f"use {what}.loc[X.index, X.columns]" if of == "X" else "use X.loc[labels, labels] with its labels"
            raise InputError(
                f"{what} must carry the labels of {of} in the same order, but its {name} differs from label {k} on; "
                f"{use}"
            )


def read_mask(unknown: Any, axes: Axes) -> Bools:
    """The boolean array of entries missing for another reason."""
    try:
        mask = unknown.toarray() if sp.issparse(unknown) else np.asarray(unknown)
    except ValueError:
        raise InputError("unknown must be a boolean mask, got rows of different lengths") from None
    if mask.shape != axes.shape:
        raise InputError(f"unknown must have the shape of X, {axes.shape}, got {mask.shape}")
    same_axes(unknown, axes, "unknown")
    if mask.dtype.kind != "b":
        raise InputError(
            f"unknown must be a boolean mask, got dtype {mask.dtype}; write unknown != 0 if that is what you mean"
        )
    return mask
