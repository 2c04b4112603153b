"""Matrices in files: csv, tsv, npy, npz and mtx, in and out."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.io
import scipy.sparse
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.data.table import Labels, Table
from unrelu._old.io.delimited import read_delimited, shortest, write_delimited
from unrelu._old.io.disk import FilePath, check_target, opening, replacing, require_lasting

__all__ = ["DELIMITERS", "READABLE", "WRITABLE", "read_matrix", "without_marks", "write_matrix"]

# An archive may unpack to so many times its size; beyond that only if it stays below so many bytes.
MOST_PACKED, LARGE = 300, 2**28

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_matrix(
    path: FilePath,
    *,
    header: bool | None = None,
    labels: bool | None = None,
    missing: Sequence[str] = (),
) -> Table:
    r"""Read a matrix from a file whose extension names the format.

    Parameters
    ----------
    path : str or path
        A file ending in one of `READABLE`.
    header, labels : bool, optional
        Whether the first line, the first column, of a csv or tsv file holds names; found out when not given.
    missing : sequence of str
        Marks that mean missing besides an empty cell, NA, NaN, N/A, ND, #N/A, null, None and a lone point. One that
        is a number also stands for every entry equal to it, in all formats: ``"-999"`` covers ``-999.0``.

    Returns
    -------
    Table
        Values as float64, or float32 where the file says so.

    Raises
    ------
    InputError
        If the file cannot be read as one matrix of real numbers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     observed = Path(folder, "observed.csv")
    ...     _ = observed.write_text("gene,a,b\nx,1.5,-999\ny,,2\n")
    ...     table = read_matrix(observed, missing=["-999"])
    >>> table.values
    array([[1.5, nan], [nan, 2. ]])
    >>> table.rows, table.columns
    (('x', 'y'), ('a', 'b'))
    """
    path = os.fspath(path)
    extension = os.path.splitext(path)[1].lower()
    missing = (missing,) if isinstance(missing, str) else missing
    with opening(path, READABLE) as handle:
        if extension in DELIMITERS:
            delimiter = DELIMITERS[extension]
            table = Table(*read_delimited(handle, delimiter, path, header=header, labels=labels, missing=missing))
        else:
            table = (_read_mtx if extension == ".mtx" else _read_numpy)(handle, path)
    if 0 in table.values.shape:
        shape = "×".join(map(str, table.values.shape))
        raise InputError(f"{path} holds an empty matrix ({shape}); expected at least one row and one column")
    return Table(without_marks(table.values, missing), table.rows, table.columns)


def without_marks(values: Any, missing: Sequence[str]) -> Any:
    """Take out the entries equal to a missing mark that is a number."""
    for mark in missing:
        with suppress(ValueError):
            number = float(mark)
            if scipy.sparse.issparse(values):
                seen = values.tocoo()
                keep = seen.data != number
                where = (seen.row[keep], seen.col[keep])
                values = scipy.sparse.csr_array((seen.data[keep], where), shape=seen.shape)
            else:
                values[values == number] = np.nan
    return values


def _floating(array: NDArray[Any], name: str) -> NDArray[np.floating[Any]]:
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds values of type {array.dtype}; expected real numbers, so save it as float64")
    narrow = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return array.astype(np.float32 if narrow else np.float64, copy=False)


def _dense(array: NDArray[Any], name: str) -> NDArray[np.floating[Any]]:
    if array.ndim != 2:
        raise InputError(f"{name} holds an array of shape {array.shape}; expected a matrix, with two dimensions")
    return _floating(array, name)


def _sparse(matrix: Any, name: str) -> Any:
    stored = scipy.sparse.coo_array(matrix)
    rows, columns = stored.shape
    _require_proportion(rows, columns, stored.nnz, 16 * stored.nnz, name)
    place = stored.row.astype(np.int64) * stored.shape[1] + stored.col
    places, times = np.unique(place, return_counts=True)
    if len(places) < stored.nnz:
        # SciPy would add such entries up, and the sum was never seen.
        row, column = divmod(int(places[times > 1][0]), stored.shape[1])
        raise InputError(f"{name} gives the entry in row {row + 1}, column {column + 1} twice or more; keep one value")
    data = _floating(stored.data, name)
    return scipy.sparse.csr_array((data, (stored.row, stored.col)), shape=stored.shape)


def _require_proportion(rows: int, columns: int, stored: int, size: int, name: str) -> None:
    """Refuse what a few bytes announce and no memory holds: a place for every row, and every entry that is stored."""
    needed = 8 * (max(rows, columns) + stored)
    if needed > LARGE and needed > MOST_PACKED * max(size, 1):
        raise InputError(
            f"{name} is said to hold a matrix of {rows} rows and {columns} columns, for which its {size} bytes are "
            "next to nothing; check its size, or leave out the rows of which nothing was seen"
        )


def _read_numpy(handle: BinaryIO, name: str) -> Table:
    magic = handle.read(6)
    handle.seek(0)
    pickled = f"{name} holds pickled Python objects, which can run code when opened; save it as a plain numeric array"
    try:
        if magic == b"\x93NUMPY":
            return Table(_dense(np.load(handle, allow_pickle=False), name))
        if magic.startswith(b"PK"):
            shapes = _shapes(handle, name)
            with np.load(handle, allow_pickle=False) as archive:
                # What scipy.sparse.save_npz writes, for each of its formats.
                if not {"format", "shape", "data"} <= set(archive.files):
                    return _read_archive(archive, shapes, name)
            handle.seek(0)
            return Table(_sparse(scipy.sparse.load_npz(handle), name))
    except InputError:
        raise
    except Exception as error:  # a damaged header may make NumPy raise almost anything
        if "allow_pickle" in str(error):
            raise InputError(pickled) from error
        raise InputError(f"{name} is cut short or damaged; write it again or fetch a fresh copy") from error
    if magic.startswith(b"\x80"):  # how a pickle begins
        raise InputError(pickled)
    raise InputError(f"{name} is not a NumPy file, whatever its name says; write it with numpy.save or numpy.savez")


def _shapes(handle: BinaryIO, name: str) -> dict[str, tuple[int, ...]]:
    """What the headers in an archive promise, before any of it is unpacked; refused if that is out of proportion."""
    shapes: dict[str, tuple[int, ...]] = {}
    with zipfile.ZipFile(handle) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(".npy"):
                continue
            with archive.open(entry) as packed:
                version = np.lib.format.read_magic(packed)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(packed)
            size = math.prod(shape) * dtype.itemsize
            if size > LARGE and size > MOST_PACKED * max(entry.compress_size, 1):
                raise InputError(
                    f"{name} holds an array of {size / 2**30:.1f} GiB ({'×'.join(map(str, shape))}) in "
                    f"{entry.compress_size / 2**20:.1f} MiB, which is nearly nothing but one value; if it is meant, "
                    "write it with numpy.save or as a sparse matrix"
                )
            shapes[entry.filename.removesuffix(".npy")] = shape
    handle.seek(0)
    return shapes


def _read_archive(archive: Any, shapes: dict[str, tuple[int, ...]], name: str) -> Table:
    wanted = next((key for key in ("matrix", "X") if key in archive.files), None)
    if wanted is None:
        matrices = [key for key in archive.files if len(shapes.get(key, ())) == 2]
        if len(matrices) != 1:
            names = ", ".join(archive.files) or "nothing"
            raise InputError(
                f"{name} holds {len(matrices)} matrices among its arrays ({names}); "
                "expected one, or one named 'matrix' or 'X'"
            )
        wanted = matrices[0]
    values = _dense(archive[wanted], name)

    def labels(key: str, length: int) -> Labels:
        found = archive[key] if key in archive.files else np.empty(0)
        fits = found.dtype.kind in "Uiu" and found.shape == (length,)
        return tuple(map(str, found.tolist())) if fits else None

    return Table(values, labels("rows", values.shape[0]), labels("columns", values.shape[1]))


def _read_mtx(handle: BinaryIO, name: str) -> Table:
    require_lasting(name)
    if any(b"\0" in chunk for chunk in iter(partial(handle.read, 1 << 20), b"")):
        # SciPy 1.17 crashes on a zero byte, which files half-written before a power cut are full of.
        raise InputError(f"{name} holds zero bytes where text was expected; write it again or fetch a fresh copy")
    try:
        # By name: given an open file, SciPy 1.17 ends the whole process when a seek fails.
        rows, columns, stored, layout, field, _ = scipy.io.mminfo(name)
        if field in ("pattern", "complex"):
            without = "no values, only positions" if field == "pattern" else "complex values"
            raise InputError(f"{name} holds {without}; expected real numbers, so write it again as real")
        _require_proportion(rows, columns, stored, os.path.getsize(name), name)
        matrix = scipy.io.mmread(name)
    except InputError:
        raise
    except (ValueError, OverflowError) as error:
        reason = str(error).rstrip(".").replace(". ", ", ")
        raise InputError(
            f"{name} is not a whole Matrix Market file ({reason[:1].lower()}{reason[1:]}); "
            "write it again or fetch a fresh copy"
        ) from error
    return Table(_sparse(matrix, name) if layout == "coordinate" else _dense(matrix, name))


def write_matrix(
    path: FilePath,
    values: Any,
    *,
    rows: Iterable[object] | None = None,
    columns: Iterable[object] | None = None,
    overwrite: bool = True,
) -> None:
    r"""Write a matrix to a file whose extension names the format.

    Numbers are written so that they read back the same, NaN as an empty cell (csv, tsv) or as an entry that
    is not there (mtx). The old file stays until the new one is complete.

    Parameters
    ----------
    path : str or path
        A file ending in one of `WRITABLE`.
    values : (m, n) array or sparse array
        Real numbers; entries that a sparse array does not store count as missing.
    rows, columns : iterable, optional
        Labels; npy and mtx have no place for them and go without.
    overwrite : bool
        Whether a file that is already there may be replaced.

    Raises
    ------
    InputError
        If the matrix or its labels do not fit, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     completed = Path(folder, "completed.csv")
    ...     write_matrix(completed, np.array([[1.0, 0.1]]), columns=["a", "b"])
    ...     completed.read_text()
    'a,b\n1.0,0.1\n'
    """
    check_target(path, accepted=WRITABLE)
    if not overwrite and os.path.lexists(path):
        raise InputError(f"{path} is already there; choose another name or allow it to be overwritten")
    extension = os.path.splitext(path)[1].lower()
    sparse = scipy.sparse.issparse(values)
    matrix: Any = values.tocoo() if sparse else np.asarray(values)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InputError(
            f"cannot write an array of shape {matrix.shape} and type {matrix.dtype} to {path}; "
            "expected a matrix of real numbers"
        )
    if matrix.dtype not in (np.float32, np.float64) and matrix.dtype.kind in "bf":
        matrix = matrix.astype(_floating(np.empty(0, matrix.dtype), str(path)).dtype)
    row_labels = _labels(rows, matrix.shape[0], "row")
    column_labels = _labels(columns, matrix.shape[1], "column")
    if sparse and extension != ".mtx":
        filled = np.full(matrix.shape, np.nan, np.result_type(matrix.dtype, np.float32))
        filled[matrix.row, matrix.col] = matrix.data
        matrix = filled
    with replacing(path) as temporary:
        _WRITERS[extension](temporary, matrix, row_labels, column_labels)


def _labels(given: Iterable[object] | None, expected: int, kind: str) -> Labels:
    if given is None:
        return None
    found = tuple(map(str, given))
    if len(found) != expected:
        raise InputError(f"expected {expected} {kind} labels, one for each {kind}; got {len(found)}")
    for label in found:
        try:
            label.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the {kind} label {label!r} cannot be written as UTF-8; rename it") from error
    return found


def _write_delimited(path: Path, values: Any, rows: Labels, columns: Labels, *, delimiter: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as handle:
        write_delimited(handle, delimiter, values, rows, columns)


def _write_npy(path: Path, values: Any, rows: Labels, columns: Labels) -> None:
    with open(path, "wb") as handle:
        np.save(handle, values, allow_pickle=False)


def _write_npz(path: Path, values: Any, rows: Labels, columns: Labels) -> None:
    arrays: dict[str, Any] = {"matrix": values}
    for key, labels in (("rows", rows), ("columns", columns)):
        if labels is not None:
            arrays[key] = np.array(labels, dtype=np.str_)
    with open(path, "wb") as handle:
        np.savez(handle, **arrays)


def _write_mtx(path: Path, values: Any, rows: Labels, columns: Labels) -> None:
    # Not by scipy.io.mmwrite, which lets a full disk pass without a word.
    if not scipy.sparse.issparse(values):
        seen = ~np.isnan(values)
        if not seen.all():
            values = scipy.sparse.coo_array((values[seen], np.nonzero(seen)), shape=values.shape)
    layout = "coordinate" if scipy.sparse.issparse(values) else "array"
    field = "integer" if values.dtype.kind in "iu" else "real"
    size = " ".join(map(str, values.shape))
    with open(path, "w", encoding="ascii", newline="\n") as handle:
        handle.write(f"%%MatrixMarket matrix {layout} {field} general\n{size}")
        if layout == "coordinate":
            handle.write(f" {values.nnz}\n")
            entries = zip((values.row + 1).tolist(), (values.col + 1).tolist(), shortest(values.data), strict=True)
            handle.writelines(f"{row} {column} {number}\n" for row, column, number in entries)
        else:
            handle.write("\n")
            for column in values.T:
                handle.writelines(f"{number}\n" for number in shortest(column))


_WRITERS: dict[str, Callable[[Path, Any, Labels, Labels], None]] = {
    ".csv": partial(_write_delimited, delimiter=","),
    ".tsv": partial(_write_delimited, delimiter="\t"),
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".mtx": _write_mtx,
}
WRITABLE = tuple(_WRITERS)
"""Extensions that `write_matrix` knows."""
READABLE = WRITABLE
"""Extensions that `read_matrix` knows."""
