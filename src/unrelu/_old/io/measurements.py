"""Measured distances in files: edge lists and matrices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError, unknown_name
from unrelu._old.data.table import Table
from unrelu._old.distances.edges import EdgeList
from unrelu._old.io.delimited import MISSING, open_records
from unrelu._old.io.disk import FilePath, opening, require_lasting
from unrelu._old.io.files import DELIMITERS, READABLE, read_matrix
from unrelu._old.io.pairs import LAYOUTS

__all__ = ["LAYOUTS", "Measurements", "edges_of_records", "in_order", "number", "read_distances"]

WANTED = "a line 'name, name, distance' or 'name, name, distance, sigma' for every measured pair"

Records = list[tuple[int, list[str]]]


@dataclass(frozen=True, eq=False)
class Measurements:
    """Distances read from a file, as :func:`unrelu.complete_distances` takes them, with the names of the points.

    Attributes
    ----------
    data : EdgeList, (n, n) array or sparse array
        NaN in an array, and what is not stored in a sparse one, was not measured.
    names : tuple of str
        One for each point; 0, 1, 2, … where the file has none.
    """

    data: Any
    names: tuple[str, ...]


def read_distances(
    path: FilePath,
    *,
    layout: str | None = None,
    header: bool | None = None,
    labels: bool | None = None,
    missing: Sequence[str] = (),
    repeats: bool = False,
) -> Measurements:
    r"""Read distances from an edge list or a matrix.

    An edge list has one line for every measured pair: two names, their distance and, optionally, its standard error.
    Names are text: ids may start anywhere and leave gaps. Blank lines and lines that begin with ``#`` are passed over.
    A pair may stand there in both directions with the same distance. Points come in the order of their ids where all
    names are whole numbers, else in the order in which the file names them first.

    Parameters
    ----------
    path : str or path
        .csv, .tsv, .npy, .npz or .mtx.
    layout : {"edges", "matrix"}, optional
        Found out when not given: three or four columns are an edge list, unless they are a square of distances.
    header, labels : bool, optional
        Whether the first line of a csv or tsv file, the first column of a matrix, holds names; looked for when not
        given.
    missing : sequence of str
        Marks that mean that nothing was measured, besides those of :func:`unrelu._old.io.files.read_matrix`.
    repeats : bool
        Whether a pair may have several different distances, as repeated measurements. With a column of sigmas it may.

    Returns
    -------
    Measurements

    Raises
    ------
    InputError
        If the file cannot be read as distances between points.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ranges = Path(folder, "ranges.csv")
    ...     _ = ranges.write_text("# metres\nfrom,to,distance\n7,12,3.5\n12,40,4\n40,7,5\n")
    ...     found = read_distances(ranges)
    >>> found.names
    ('7', '12', '40')
    >>> found.data.pairs.tolist(), found.data.distances.tolist()
    ([[0, 1], [1, 2], [0, 2]], [3.5, 4.0, 5.0])
    """
    path = os.fspath(path)
    missing = (missing,) if isinstance(missing, str) else tuple(missing)
    if layout is not None and layout not in LAYOUTS:
        raise unknown_name("format", layout, LAYOUTS)
    extension = os.path.splitext(path)[1].lower()
    if extension in DELIMITERS:
        with (
            opening(path, READABLE, "measured distances") as handle,
            open_records(handle, DELIMITERS[extension], path) as lines,
        ):
            told = ((line, cells) for line, cells in lines if cells and not cells[0].lstrip().startswith("#"))
            # A matrix of up to four points and its labels ends within six lines; an edge list may go on for ever.
            records = list(islice(told, 7))
            if not records:
                raise InputError(f"{path} holds no distances; expected {WANTED}, or a matrix")
            if (layout or _layout(records, missing)) == "edges":
                records.extend(told)
                return edges_of_records(records, path, header, missing, repeats)
        require_lasting(path)
    table = read_matrix(path, header=header, labels=labels, missing=missing)
    if extension not in DELIMITERS and (layout or _layout_of_array(table.values)) == "edges":
        return _edges_of_array(table.values, path, repeats)
    return _matrix(table, path)


# --- which of the two it is ----------------------------------------------------------------------------------


def _layout(records: Records, missing: Sequence[str]) -> str:
    """Tell an edge list from a matrix by the first lines: only a matrix is square, with nothing on its diagonal."""
    rows = [cells for _, cells in records]
    width = max(map(len, rows))
    if width not in (3, 4):
        return "matrix"
    heads = [row[0].strip() for row in rows[1:]]
    names = [cell.strip() for cell in rows[0]]
    if len(heads) > 1 and heads in (names, names[1:]):
        return "matrix"
    marks = {mark.strip().casefold() for mark in (*MISSING, *missing)}
    for skipped, offset in ((0, 0), (1, 0), (0, 1)):  # plain; below a line of names; beside a column of names
        body = rows[skipped:]
        square = len(body) == width - offset and all(len(row) == width for row in body)
        if square and all(_is_nothing(row[k + offset], marks) for k, row in enumerate(body)):
            return "matrix"
    return "edges"


def _is_nothing(cell: str, marks: set[str]) -> bool:
    value = number(cell, marks)
    return value is not None and not value > 0


def _layout_of_array(values: Any) -> str:
    rows, columns = values.shape
    if sp.issparse(values) or columns not in (3, 4):
        return "matrix"
    return "edges" if rows != columns or (np.diagonal(values) > 0).any() else "matrix"


# --- edge lists ----------------------------------------------------------------------------------------------


def number(cell: str, marks: set[str]) -> float | None:
    """A number, NaN for a missing mark, or None for anything else."""
    text = cell.strip()
    if text.casefold() in marks:
        return float("nan")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def edges_of_records(
    records: Records, path: str, header: bool | None, missing: Sequence[str], repeats: bool
) -> Measurements:
    """An edge list from lines of cells."""
    marks = {mark.strip().casefold() for mark in (*MISSING, *missing)}
    line, first = records[0]
    width = len(first)
    if width not in (3, 4):
        hint = "; separate the cells by commas in a .csv file and by tabs in a .tsv file" if width == 1 else ""
        raise InputError(
            f"{path}, line {line} has {width} cell{'s' * (width != 1)} where 3 or 4 were expected: {WANTED}{hint}"
        )
    if header or (header is None and number(first[2], marks) is None):
        records = records[1:]
    if not records:
        raise InputError(f"{path} holds names of columns on line {line} and no distances below them; add them")
    places: dict[str, int] = {}
    rows, values = [], []
    for line, cells in records:
        if len(cells) != width:
            raise InputError(
                f"{path}, line {line} has {len(cells)} cell{'s' * (len(cells) != 1)} where {width} were expected; "
                "give every line the same number of cells"
            )
        pair = [cell.strip() for cell in cells[:2]]
        if not all(pair):
            raise InputError(f"{path}, line {line} leaves a point without a name; expected {WANTED}")
        numbers = [number(cell, marks) for cell in cells[2:]]
        for what, value, cell in zip(("distance", "sigma"), numbers, cells[2:], strict=False):
            if value is None:
                raise InputError(
                    f"{path}, line {line}: the {what} {cell.strip()!r} is not a number; correct it (the decimal sign "
                    "is a point), or leave it empty where nothing was measured"
                )
        rows.append([places.setdefault(name, len(places)) for name in pair])
        values.append(numbers)
    where = [f"line {line}" for line, _ in records]
    return _edges(np.array(rows), np.array(values, dtype=float), tuple(places), where, path, repeats)


def _edges_of_array(values: Any, path: str, repeats: bool) -> Measurements:
    table = values.toarray() if sp.issparse(values) else np.asarray(values)
    if table.shape[1] not in (3, 4):
        raise InputError(
            f"{path} holds {table.shape[1]} columns where an edge list has 3 or 4: two ids, a distance and, if known, "
            "its sigma; say --format matrix if it is a matrix"
        )
    ids = table[:, :2]
    wrong = np.flatnonzero(~np.isfinite(ids).all(axis=1) | (ids != np.round(ids)).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        raise InputError(
            f"{path}, row {row}: ids of points must be whole numbers, got {ids[row, 0]:g} and {ids[row, 1]:g}; "
            "say --format matrix if it is a matrix"
        )
    known, rows = np.unique(ids.astype(np.int64), return_inverse=True)
    where = [f"row {row}" for row in range(len(table))]
    names = tuple(map(str, known.tolist()))
    return _edges(rows.reshape(ids.shape), table[:, 2:].astype(float), names, where, path, repeats)


def _edges(
    pairs: NDArray[Any],
    values: NDArray[np.float64],
    names: tuple[str, ...],
    where: Sequence[str],
    path: str,
    repeats: bool,
) -> Measurements:
    """Check what stands in an edge list, line by line; ``where`` says what to call each of them."""
    pairs, names = in_order(pairs, names)
    distances = values[:, 0]

    def between(k: int) -> str:
        return f"{names[pairs[k, 0]]!r} and {names[pairs[k, 1]]!r}"

    for wrong, what in ((distances < 0, "must not be negative"), (np.isinf(distances), "must be finite")):
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"{path}, {where[k]}: the distance of {between(k)} {what}, got {distances[k]:g}"
                f"{_also(wrong)}; correct it, or leave it empty if it was not measured"
            )
    itself = (pairs[:, 0] == pairs[:, 1]) & (distances > 0)
    if itself.any():
        k = int(np.flatnonzero(itself)[0])
        raise InputError(
            f"{path}, {where[k]}: the distance of {names[pairs[k, 0]]!r} to itself is given as {distances[k]:g}"
            f"{_also(itself)}; name two different points"
        )
    kept = np.flatnonzero(~np.isnan(distances) & (pairs[:, 0] != pairs[:, 1]))
    if not kept.size:
        raise InputError(f"{path} holds no distance between two points; expected {WANTED}")
    sigma = values[kept, 1] if values.shape[1] > 1 else None
    if sigma is not None:
        bad = ~(np.isfinite(sigma) & (sigma > 0))
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"{path}, {where[kept[k]]}: sigma of {between(int(kept[k]))} must be a positive number, got "
                f"{'nothing' if np.isnan(sigma[k]) else format(sigma[k], 'g')}{_also(bad)}; give one for every "
                "distance, or leave the column out"
            )
    ends = np.sort(pairs[kept], axis=1)
    if not repeats and sigma is None:
        _refuse_repeats(ends, distances[kept], [where[k] for k in kept.tolist()], names, path)
    # The same numbers again are the same measurement, told from its other end.
    told = np.column_stack([ends, values[kept]])
    kept = kept[np.sort(np.unique(told, axis=0, return_index=True)[1])]
    sigma = values[kept, 1] if values.shape[1] > 1 else None
    edges = EdgeList(np.sort(pairs[kept], axis=1), distances[kept], sigma=sigma, names=names)
    return Measurements(edges, names)


def in_order(pairs: NDArray[Any], names: tuple[str, ...]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Sort names that are all whole numbers by their value."""
    try:
        order = sorted(range(len(names)), key=lambda k: int(names[k]))
    except ValueError:
        return pairs.astype(np.int64), names
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    return place[pairs], tuple(names[k] for k in order)


def _refuse_repeats(
    ends: NDArray[np.int64], distances: NDArray[np.float64], where: Sequence[str], names: tuple[str, ...], path: str
) -> None:
    """A pair given twice must be given alike."""
    _, first, inverse = np.unique(ends[:, 0] * len(names) + ends[:, 1], return_index=True, return_inverse=True)
    again = distances != distances[first[inverse]]
    if again.any():
        k = int(np.flatnonzero(again)[0])
        before = int(first[inverse[k]])
        raise InputError(
            f"{path} gives the distance of {names[ends[k, 0]]!r} and {names[ends[k, 1]]!r} twice, as "
            f"{distances[before]:g} on {where[before]} and as {distances[k]:g} on {where[k]}{_also(again)}; keep one "
            "of them, or say with --sigma how far repeated measurements scatter"
        )


def _also(wrong: NDArray[np.bool_]) -> str:
    rest = int(np.count_nonzero(wrong)) - 1
    return f" (and {rest} more like it)" if rest else ""


# --- matrices ------------------------------------------------------------------------------------------------


def _matrix(table: Table, path: str) -> Measurements:
    rows, columns = table.values.shape
    if rows != columns:
        hint = "; say --format edges if it is an edge list" if columns in (3, 4) else ""
        if table.columns and columns == rows + 1:
            hint = "" if table.rows else "; if its first column holds labels, say --labels"
            hint += "; if its first row holds distances, say --no-header"
        hint = "; if its first row holds names, say --header" if not table.columns and rows == columns + 1 else hint
        raise InputError(
            f"{path} must be square, a row and a column for every point, got {rows} rows and {columns} columns{hint}"
        )
    diagonal = _diagonal(table.values)
    if rows > 1 and diagonal.size and (diagonal > 0).all():
        raise InputError(
            f"{path} has positive numbers on its diagonal, {diagonal[0]:g} the first, where distances have zeros; "
            "these look like similarities, which unrelu complete is for"
        )
    if table.rows is not None and table.columns is not None and table.rows != table.columns:
        k = next(k for k, (row, column) in enumerate(zip(table.rows, table.columns, strict=True)) if row != column)
        raise InputError(
            f"rows and columns of {path} must carry the same names in the same order, but name {k + 1} is "
            f"{table.rows[k]!r} for the row and {table.columns[k]!r} for the column; sort one like the other"
        )
    if rows > 1 and not _any_between(table.values):
        raise InputError(
            f"{path} holds no distance between two points: every entry off the diagonal is missing; check what stands "
            "for a missing one"
        )
    names = table.rows or table.columns or tuple(map(str, range(rows)))
    return Measurements(table.values, _different(tuple(name.strip() for name in names), path))


def _any_between(values: Any) -> bool:
    """Whether an entry off the diagonal is there."""
    if sp.issparse(values):
        entries = values.tocoo()
        return bool(np.any((entries.row != entries.col) & ~np.isnan(entries.data)))
    seen = ~np.isnan(np.asarray(values, dtype=float)) & ~np.ma.getmaskarray(values)
    return int(np.count_nonzero(seen)) > int(np.count_nonzero(np.diagonal(seen)))


def _diagonal(values: Any) -> NDArray[np.float64]:
    """What was seen of it."""
    if sp.issparse(values):
        stored = values.tocoo()
        return np.asarray(stored.data[stored.row == stored.col], float)
    diagonal = np.asarray(np.diagonal(values), float)
    return diagonal[~np.isnan(diagonal)]


def _different(names: tuple[str, ...], path: str) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        places: dict[str, int] = {}
        for k, name in enumerate(names):
            if name in places:
                raise InputError(
                    f"{path} calls points {places[name] + 1} and {k + 1} both {name!r}; give every point its own name"
                )
            places[name] = k
    return names
