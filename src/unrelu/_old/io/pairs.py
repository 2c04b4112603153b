"""Matrices as edge lists: a line ``row, column, value`` for every entry that is known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.errors import InputError
from unrelu._old.io.cells import Cells
from unrelu._old.io.reading import Reading
from unrelu._old.kernels.memory import require_memory

__all__ = ["HEADERS", "LAYOUTS", "looks_like_pairs", "read_pairs"]

LAYOUTS = ("edges", "matrix")

_WHOLE_NUMBER = re.compile(r"[+-]?\d+")
# What the first two columns of an edge list are called; a table of three columns has other names.
HEADERS = {("i", "j"), ("row", "column"), ("row", "col"), ("from", "to"), ("source", "target")}
_WANTED = "a line 'row, column, value' for every entry"

Records = Iterable[tuple[int, list[str]]]


@dataclass(frozen=True)
class _Entry:
    """A line: where it is, the two names, what the cell says as text and in numbers."""

    line: int
    pair: tuple[str, str]
    text: str
    value: float
    low: float = -np.inf
    high: float = np.inf

    def says_as(self, other: _Entry) -> bool:
        same = self.value == other.value or (np.isnan(self.value) and np.isnan(other.value))
        return bool(same) and (self.low, self.high) == (other.low, other.high)


def looks_like_pairs(records: Records, cells: Cells) -> bool:
    """Whether the first lines are those of an edge list: three columns, with names in the second or known names above.

    Three columns of plain numbers may be a table, and stay one.

    Examples
    --------
    >>> cells = Cells("scores.csv")
    >>> looks_like_pairs([(1, ["a", "b", "1.5"]), (2, ["a", "c", "2"])], cells)
    True
    >>> looks_like_pairs([(1, ["1", "2", "1.5"]), (2, ["1", "3", "2"])], cells)
    False
    """
    rows = [row for _, row in records if row]
    if not rows or any(len(row) != 3 for row in rows) or not all(cell.strip() for cell in rows[0][:2]):
        return False
    first, body = rows[0], rows[1:] or rows
    if any(cells.is_text(row[2]) for row in body):
        return False
    known = tuple(cell.strip().casefold() for cell in first[:2]) in HEADERS and cells.is_text(first[2])
    ids = all(_WHOLE_NUMBER.fullmatch(cell.strip()) or cells.is_text(cell) for row in body for cell in row[:2])
    return (known and ids and len(rows) > 1) or all(cells.is_text(row[1]) for row in body)


def read_pairs(records: Records, cells: Cells, header: bool | None = None, *, table: bool = False) -> Reading:
    """Read a matrix from lines ``row, column, value``; entries that have no line are missing.

    Rows and columns are one and the same if any name stands in both columns, unless it is said to be a ``table``: the
    matrix is symmetric then, and a pair may be given once, or in both directions alike. Names that are all whole
    numbers come in their order, others in that of the file.

    Parameters
    ----------
    records : iterable of (line, cells)
        Blank lines are passed over.
    cells : Cells
        How a value is read.
    header : bool, optional
        Whether the first line holds names of columns; by default if its third cell is text.
    table : bool
        Whether rows and columns are different things whatever they are called.

    Examples
    --------
    >>> found = read_pairs([(1, ["a", "b", "1.5"]), (2, ["b", "b", "4"])], Cells("scores.csv"))
    >>> found.values, found.rows
    (array([[nan, 1.5], [1.5, 4. ]]), ('a', 'b'))
    """
    entries = list(_entries(records, cells, header))
    if not entries:
        raise InputError(f"{cells.name} holds no entries; expected {_WANTED}")
    rows, columns = ([entry.pair[side] for entry in entries] for side in (0, 1))
    alike = not table and not set(rows).isdisjoint(columns)
    if alike:
        both = [name for entry in entries for name in entry.pair]
        rows = columns = both
    row_names, column_names = _in_order(rows), _in_order(columns)
    shape = len(row_names), len(column_names)
    require_memory(24 * shape[0] * shape[1], f"a matrix of {shape[0]} rows and {shape[1]} columns")
    row_of, column_of = ({name: k for k, name in enumerate(names)} for names in (row_names, column_names))
    values, low, high = np.full(shape, np.nan), np.full(shape, -np.inf), np.full(shape, np.inf)
    met: dict[tuple[int, int], _Entry] = {}
    for entry in entries:
        i, j = row_of[entry.pair[0]], column_of[entry.pair[1]]
        before = met.setdefault((min(i, j), max(i, j)) if alike else (i, j), entry)
        if not before.says_as(entry):
            raise _twice(before, entry, cells)
        for place in ((i, j), (j, i)) if alike else ((i, j),):
            values[place], low[place], high[place] = entry.value, entry.low, entry.high
    words = f"read as an edge list of {_several(len(met), 'entry', 'entries')}, {shape[0]}×{shape[1]}"
    if alike:
        words = (
            f"read as an edge list of {_several(len(met), 'pair', 'pairs')} of {_several(shape[0], 'name', 'names')}, "
            "the same for rows and columns; say --table if those are different things"
        )
    found = Reading(values, row_names, column_names, words=(words,))
    return replace(found, low=low, high=high) if cells.limits else found


def _entries(records: Records, cells: Cells, header: bool | None) -> Iterable[_Entry]:
    first = True
    for line, row in records:
        if not row:
            continue
        where = f"{cells.name}, {cells.unit} {line}"
        if len(row) != 3:
            raise InputError(f"{where} has {len(row)} cell{'s' * (len(row) != 1)} where 3 were expected: {_WANTED}")
        named = first and (cells.is_text(row[2]) if header is None else header)
        first = False
        if named:
            continue
        one, other = (cell.strip() for cell in row[:2])
        if not (one and other):
            raise InputError(
                f"{where} leaves {'the row' if other else 'the column'} of {row[2].strip()!r} without a name; expected "
                f"{_WANTED}"
            )
        known = len(cells.limits)
        value = float(cells.numbers(row[2:], line, 3, 3)[0])
        ends = [(limit.low, limit.high) for limit in cells.limits[known:]] or [(-np.inf, np.inf)]
        yield _Entry(line, (one, other), row[2].strip(), value, *ends[0])


def _several(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _in_order(names: list[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(names))
    return tuple(sorted(found, key=int)) if all(map(_WHOLE_NUMBER.fullmatch, found)) else found


def _twice(before: _Entry, entry: _Entry, cells: Cells) -> InputError:
    turned = before.pair != entry.pair
    advice = ", or say --table if rows and columns are different things" if turned else ""
    said = " and as ".join(f"{one.text or 'nothing'!r} on {cells.unit} {one.line}" for one in (before, entry))
    return InputError(
        f"{cells.name} gives the entry of {entry.pair[0]!r} and {entry.pair[1]!r} twice, as {said}; keep one of "
        f"them{advice}"
    )
