"""What else is known, in files: positions of anchors, and bounds on distances that were not measured."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.distances.edges import EdgeList
from unrelu._old.io.delimited import MISSING, open_records
from unrelu._old.io.disk import FilePath, opening
from unrelu._old.io.files import DELIMITERS
from unrelu._old.io.measurements import number

__all__ = ["read_anchors", "read_bounds"]

BOUND = "a line 'name, name, lower, upper' for every pair, with an empty cell where a side is open"


def read_anchors(path: FilePath, names: Iterable[str], dim: int) -> dict[int, NDArray[np.float64]]:
    r"""Read the known positions of some of the points: a line 'name, coordinate, …' for each.

    Parameters
    ----------
    path : str or path
        .csv or .tsv, with or without a first line of column names; lines that begin with ``#`` are passed over.
    names : iterable of str
        What the points are called.
    dim : int
        How many coordinates each has.

    Returns
    -------
    dict
        Index of the point → position.

    Raises
    ------
    InputError
        If the file cannot be read so, or names a point that is not there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anchors = Path(folder, "anchors.csv")
    ...     _ = anchors.write_text("name,x,y\nb,0,1.5\n")
    ...     read_anchors(anchors, ["a", "b"], dim=2)
    {1: array([0. , 1.5])}
    """
    path = os.fspath(path)
    places = {name: k for k, name in enumerate(names)}
    marks = {mark.casefold() for mark in MISSING}
    records = _records(path, "anchors")
    if records and all(number(cell, marks) is None for cell in records[0][1][1:]):
        records = records[1:]
    if not records:
        raise InputError(f"{path} holds no anchors; expected a line 'name, {_axes(dim)}' for each")
    anchors: dict[int, NDArray[np.float64]] = {}
    told: dict[int, int] = {}
    for line, cells in records:
        name = cells[0].strip()
        if len(cells) != dim + 1:
            raise InputError(
                f"{path}, line {line} has {len(cells) - 1} coordinate{'s' * (len(cells) != 2)} where --dim {dim} asks "
                f"for {dim}; expected a line 'name, {_axes(dim)}'"
            )
        if name not in places:
            raise _unknown_point(name, places, f"{path}, line {line}")
        place = places[name]
        if place in told:
            raise InputError(
                f"{path} gives the position of {name!r} twice, on line {told[place]} and line {line}; keep one of them"
            )
        numbers = [number(cell, marks) for cell in cells[1:]]
        wrong = next((k for k, value in enumerate(numbers) if value is None or not np.isfinite(value)), None)
        if wrong is not None:
            raise InputError(
                f"{path}, line {line}: coordinate {wrong + 1} of {name!r} must be a number, got "
                f"{cells[wrong + 1].strip()!r}; correct it, or take the line out"
            )
        anchors[place], told[place] = np.array(numbers, dtype=float), line
    return anchors


def read_bounds(path: FilePath, names: Iterable[str]) -> tuple[EdgeList | None, EdgeList | None]:
    r"""Read bounds on distances: a line 'name, name, lower, upper' for each pair, as from NMR.

    Parameters
    ----------
    path : str or path
        .csv or .tsv, with or without a first line of column names; lines that begin with ``#`` are passed over.
    names : iterable of str
        What the points are called.

    Returns
    -------
    lower, upper : EdgeList or None
        None where no pair has such a bound.

    Raises
    ------
    InputError
        If the file cannot be read so, or names a point that is not there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bounds = Path(folder, "bounds.csv")
    ...     _ = bounds.write_text("a,b,1.8,5\nb,c,,6\n")
    ...     lower, upper = read_bounds(bounds, ["a", "b", "c"])
    >>> lower.distances.tolist(), upper.distances.tolist()
    ([1.8], [5.0, 6.0])
    """
    path = os.fspath(path)
    places = {name: k for k, name in enumerate(names)}
    marks = {mark.casefold() for mark in MISSING}
    records = _records(path, "bounds")
    if records and all(number(cell, marks) is None for cell in records[0][1][2:]):
        records = records[1:]
    if not records:
        raise InputError(f"{path} holds no bounds; expected {BOUND}")
    told: dict[tuple[int, int], int] = {}
    sides: list[tuple[list[tuple[int, int]], list[float]]] = [([], []), ([], [])]
    for line, cells in records:
        where = f"{path}, line {line}"
        if len(cells) != 4:
            raise InputError(f"{where} has {len(cells)} cell{'s' * (len(cells) != 1)} where 4 were expected: {BOUND}")
        ends = [cell.strip() for cell in cells[:2]]
        for name in ends:
            if name not in places:
                raise _unknown_point(name, places, where)
        first, second = sorted(places[name] for name in ends)
        if first == second:
            raise InputError(f"{where} bounds the distance of {ends[0]!r} to itself; name two different points")
        if (first, second) in told:
            raise InputError(
                f"{path} bounds the distance of {ends[0]!r} and {ends[1]!r} twice, on line {told[first, second]} and "
                f"line {line}; keep one of them"
            )
        told[first, second] = line
        values = [number(cell, marks) for cell in cells[2:]]
        for cell, value, (pairs, limits) in zip(cells[2:], values, sides, strict=True):
            if value is None or value < 0 or np.isinf(value):
                raise InputError(f"{where}: a bound must be a number of at least 0, got {cell.strip()!r}; correct it")
            if not np.isnan(value):
                pairs.append((first, second))
                limits.append(value)
        lower, upper = values
        if lower is not None and upper is not None and lower > upper:
            raise InputError(
                f"{where}: the lower bound {lower:g} of {ends[0]!r} and {ends[1]!r} is above the upper one, {upper:g}; "
                "exchange or correct them"
            )
    everyone = tuple(places)
    lower_edges, upper_edges = (
        EdgeList(np.array(pairs), np.array(limits), names=everyone) if pairs else None for pairs, limits in sides
    )
    return lower_edges, upper_edges


def _records(path: str, what: str) -> list[tuple[int, list[str]]]:
    delimiter = DELIMITERS.get(os.path.splitext(path)[1].lower(), ",")
    with opening(path, tuple(DELIMITERS), what) as handle, open_records(handle, delimiter, path) as lines:
        return [(line, cells) for line, cells in lines if cells and not cells[0].lstrip().startswith("#")]


def _axes(dim: int) -> str:
    return ", ".join("xyz"[:dim]) if dim <= 3 else f"x1, …, x{dim}"


def _unknown_point(name: str, places: Mapping[str, int], where: str) -> InputError:
    near = get_close_matches(name, list(places), n=1, cutoff=0.5) if len(places) <= 10_000 else []
    hint = f"did you mean {near[0]!r}?" if near else f"they are called {_few(places)}"
    return InputError(f"{where}: there is no point {name!r} among the measured ones; {hint}")


def _few(names: Mapping[str, int]) -> str:
    shown = ", ".join(repr(name) for name in islice(names, 3))
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")
