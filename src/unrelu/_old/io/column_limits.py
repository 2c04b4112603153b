"""Limits of detection of the columns of a table, from a file of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.errors import InputError, unknown_name
from unrelu._old.data.labels import Axes
from unrelu._old.data.table import Labels
from unrelu._old.io.cells import Cells
from unrelu._old.io.disk import FilePath
from unrelu._old.io.reader import read_lines
from unrelu._old.io.reading import Reading

__all__ = ["ColumnLimits", "of_columns", "read_column_limits", "with_column_limits"]

SIDES = ("lower", "upper")
_WANTED = "lines 'column,lower,upper', or one line of lower limits under the names of the columns"
_WHOLE_NUMBER = re.compile(r"[1-9]\d*")

Line = tuple[int, list[str]]


@dataclass(frozen=True, eq=False)
class ColumnLimits:
    """Below and above which numbers the entries of each column go unseen.

    Attributes
    ----------
    name : str
        Of the file they come from.
    lower, upper : (n,) array
        Infinite where a column has no such limit.
    listed : (n,) array of bool
        Which columns the file names, with limits or without.
    """

    name: str
    lower: Floats
    upper: Floats
    listed: Bools


def read_column_limits(path: FilePath, columns: Labels, width: int) -> ColumnLimits:
    r"""Read the limits of the columns of a table.

    Parameters
    ----------
    path : str or path
        Text, packed or not, a spreadsheet or parquet: lines ``column,lower,upper`` under these names, with empty cells
        where there is no limit; or one line of lower limits under the names of the columns, and if wanted two, which
        are called lower and upper in the first cell.
    columns : tuple of str, or None
        The names of the columns of the table. The file may give their numbers instead, counted from 1.
    width : int
        How many there are.

    Raises
    ------
    InputError
        If a column is unknown or named twice, or a lower limit is above the upper one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lod = Path(folder, "lod.csv")
    ...     _ = lod.write_text("column,lower,upper\nlead,0.2,\nzinc,0.5,100\n")
    ...     found = read_column_limits(lod, ("lead", "zinc"), 2)
    >>> found.lower, found.upper
    (array([0.2, 0.5]), array([ inf, 100.]))
    """
    lines, cells = read_lines(path)
    lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
    met: dict[int, _Named] = {}
    for named in _by_column(lines, cells, width):
        place = _place(named.column, columns, width, f"{cells.name}, {cells.unit} {named.line}")
        before = met.setdefault(place, named)
        if before is not named:
            lines_ = {before.line, named.line}
            where = f"{cells.unit}{'s' * (len(lines_) > 1)} {' and '.join(map(str, sorted(lines_)))}"
            raise InputError(f"{cells.name} names the column {named.column!r} twice, on {where}; keep one of them")
        if named.lower > named.upper:
            raise InputError(
                f"{cells.name}, {cells.unit} {named.line}: the lower limit of the column {named.column!r}, "
                f"{named.lower:g}, is above its upper limit, {named.upper:g}; swap the two"
            )
        lower[place], upper[place] = named.lower, named.upper
    listed = np.zeros(width, bool)
    listed[list(met)] = True
    return ColumnLimits(cells.name, lower, upper, listed)


@dataclass(frozen=True)
class _Named:
    """What a file says of one column, and on which line."""

    line: int
    column: str
    lower: float = -np.inf
    upper: float = np.inf


def _by_column(lines: list[Line], cells: Cells, width: int) -> Iterator[_Named]:
    """The lines of a file of limits, whichever way round it is written."""
    if not lines:
        raise InputError(f"{cells.name} is empty; expected {_WANTED}")
    (_, first), *body = lines
    heads = [cell.strip().casefold() for cell in first]
    for line, row in body:
        if len(row) != len(first):
            raise InputError(
                f"{cells.name}, {cells.unit} {line} has {len(row)} cell{'s' * (len(row) != 1)} where {len(first)} were "
                f"expected: {_WANTED}"
            )
    if body and len(heads) > 1 and len(set(heads[1:])) == len(heads[1:]) and set(heads[1:]) <= set(SIDES):
        for line, row in body:
            ends = {side: _number(cells, row, k, line, side) for k, side in enumerate(heads) if k}
            yield _Named(line, row[0].strip(), **ends)
    elif not body and len(first) == width and not any(map(cells.is_text, first)):
        for k in range(width):
            yield _Named(lines[0][0], str(k + 1), _number(cells, first, k, lines[0][0], "lower"))
    else:
        yield from _across(first, body, cells)


def _across(first: list[str], body: list[Line], cells: Cells) -> Iterator[_Named]:
    """One line of lower limits, or two that are called lower and upper, under the names of the columns."""
    called = [row[0].strip().casefold() for _, row in body]
    known = [name for name in called if name in SIDES]
    labelled = bool(body) and (bool(known) or not first[0].strip() or cells.is_text(body[0][1][0]))
    sides = called if known else ["lower"]
    if len(body) != len(sides) or len(set(sides)) < len(sides) or not set(sides) <= set(SIDES):
        raise InputError(f"{cells.name} holds no limits that can be told apart; expected {_WANTED}")
    for k in range(int(labelled), len(first)):
        ends = {side: _number(cells, row, k, line, side) for side, (line, row) in zip(sides, body, strict=True)}
        yield _Named(body[0][0], first[k].strip(), **ends)


def _number(cells: Cells, row: list[str], k: int, line: int, side: str) -> float:
    """A limit, infinite where there is none."""
    value = float(cells.numbers(row[k : k + 1], line, k + 1, len(row))[0])
    nowhere = -np.inf if side == "lower" else np.inf
    return value if np.isfinite(value) else nowhere


def _place(name: str, columns: Labels, width: int, where: str) -> int:
    """Which column goes by a name, or by a number from 1 if none has that name."""
    names = [] if columns is None else [column.strip() for column in columns]
    times = names.count(name)
    if times > 1:
        raise InputError(
            f"{where}: {times} columns of the table are called {name!r}; give the number of each, counted from 1"
        )
    if times:
        return names.index(name)
    if _WHOLE_NUMBER.fullmatch(name) and int(name) <= width:
        return int(name) - 1
    raise InputError(f"{where}: {unknown_name('column', name, names or map(str, range(1, width + 1)))}")


def of_columns(limits: ColumnLimits, places: Any) -> ColumnLimits:
    """The same of some columns only."""
    return replace(limits, lower=limits.lower[places], upper=limits.upper[places], listed=limits.listed[places])


def with_column_limits(read: Reading, limits: ColumnLimits) -> Reading:
    """A table whose missing cells lie beyond the limits of their columns; cells with limits of their own keep these.

    Raises
    ------
    InputError
        If a measured value lies beyond the limits of its column, or a column with missing cells is not listed.

    Examples
    --------
    >>> read = Reading(np.array([[1.5, np.nan], [np.nan, 2.0]]), columns=("lead", "zinc"))
    >>> lod = ColumnLimits("lod.csv", np.array([0.2, 0.5]), np.array([np.inf, 100.0]), np.ones(2, bool))
    >>> found = with_column_limits(read, lod)
    >>> found.limits.high, found.limits.gap
    (array([[0.2, inf]]), (array([[inf, 0.5]]), array([[-inf, 100.]])))
    >>> found.counts
    {'measured': 2, 'below': 1, 'above': 0, 'missing': 0, 'either': 1}
    """
    _refuse_seen_beyond(read, limits)
    _require_listed(read, limits)
    lower, upper = limits.lower[None, :], limits.upper[None, :]
    both = np.isfinite(lower) & np.isfinite(upper)
    low, high = np.where(both | np.isinf(upper), -np.inf, upper), np.where(both | np.isinf(lower), np.inf, lower)
    gap = np.where(both, lower, np.nan), np.where(both, upper, np.nan)
    whose = f"limits of {int((np.isfinite(limits.lower) | np.isfinite(limits.upper)).sum())} columns from {limits.name}"
    words = read.words
    if read.low is not None and read.high is not None:
        own = np.isfinite(read.low) | np.isfinite(read.high)
        low, high = np.where(own, read.low, low), np.where(own, read.high, high)
        gap = np.where(own, np.nan, gap[0]), np.where(own, np.nan, gap[1])
        words, whose = words[:-1], f"limits from its cells, and {whose}"  # the last word counted what cells say alone
    found = replace(read, low=low, high=high, gap=gap if both.any() else None, words=words)
    return found.with_counts(whose)


def _refuse_seen_beyond(read: Reading, limits: ColumnLimits) -> None:
    values: Any = read.values
    seen = values.tocoo() if scipy.sparse.issparse(values) else None
    rows, cols = np.nonzero(~np.isnan(values)) if seen is None else (seen.row, seen.col)
    data = values[rows, cols] if seen is None else seen.data
    below, above = data < limits.lower[cols], data > limits.upper[cols]
    wrong = np.flatnonzero(below | above)
    if not wrong.size:
        return
    k = wrong[0]
    side, ends = ("lower", limits.lower) if below[k] else ("upper", limits.upper)
    places = [(int(rows[k]), int(cols[k]))]
    alike = wrong.size > 1 and bool((data[wrong] == data[k]).all())
    mark = f", or say --missing {data[k] + 0.0:g} if that stands for 'not seen'" if alike else ""
    where = Axes(values.shape, read.rows, read.columns).placed(places, wrong.size)
    raise InputError(
        f"every measured value must lie within the limits of its column, but {wrong.size} do not, at {where}, the "
        f"first being {data[k]:g} where the {side} limit in {limits.name} is {ends[cols[k]]:g}; correct the limit, or "
        f"write {'<' if side == 'lower' else '>'}{ends[cols[k]]:g} into the cell{mark}"
    )


def _require_listed(read: Reading, limits: ColumnLimits) -> None:
    left = np.flatnonzero(~limits.listed & (read.unseen_per_column > 0))
    if left.size:
        column = str(left[0] + 1) if read.columns is None else read.columns[left[0]]
        count = int(read.unseen_per_column[left[0]])
        more = f", nor of {left.size - 1} more that have some" if left.size > 1 else ""
        raise InputError(
            f"{limits.name} says nothing of the column {column!r}, which has {count} missing cell{'s' * (count != 1)}"
            f"{more}; give it a line, with empty limits if nothing is known of those"
        )
