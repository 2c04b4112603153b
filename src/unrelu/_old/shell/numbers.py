"""Files with a number for each row, column or entry of a matrix: limits, weights, noise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unrelu._old.base.errors import InputError
from unrelu._old.data.table import Labels, Table
from unrelu._old.io.delimited import MISSING
from unrelu._old.io.files import DELIMITERS, read_matrix
from unrelu._old.shell.common import Square, require_same

__all__ = ["numbers_beside"]

# Whether a file has labels in its first row and in its first column: as it looks, and each of the other ways.
HOW = ((None, None), (True, True), (True, False), (False, True), (False, False))


def numbers_beside(first: Square | None, given: Any, option: str = "--threshold", one: str = "threshold") -> Any:
    """What was given to an option; or the values of a file with one number per row, per column or per entry.

    Whether the file has labels is found out by what makes it fit the matrix; where it has, they must be the same. A
    number is taken for a label only where it is one of the matrix, or stands under or beside an empty corner.
    """
    if not isinstance(given, Path):
        return given
    if first is None:
        raise InputError(f"{option} must be a number here; a file of {one}s belongs to a FILE with a matrix")
    m, n = shape = first.table.values.shape
    rows, columns = first.axes
    tables = list(_readings(given, first)) or [read_matrix(given)]
    fitting = [table for table in tables if table.values.shape in ((m, n), (m, 1), (1, n))]
    agreeing = [table for table in fitting if _agree(table, first)]
    for table in [] if agreeing else tables:
        # A line for each column, or a column for each row, that goes by its labels.
        across = table.values.shape == (n, 1) and columns is not None and table.rows == columns
        if across or (table.values.shape == (1, m) and rows is not None and table.columns == rows):
            return _dense(table).T
    if not fitting:
        raise _misshapen(given, tables[0].values.shape, shape, one)
    table = (agreeing or fitting)[0]
    of_rows, of_columns = ("", "") if first.names is not None else (" of the rows", " of the columns")
    if table.values.shape[0] == m:
        require_same(table.rows, rows, given, of_rows)
    if table.values.shape[1] == n:
        require_same(table.columns, columns, given, of_columns)
    return _dense(table)


def _readings(file: Path, first: Square) -> Iterator[Table]:
    """The ways in which a file may be read without taking a number for a label that it need not be."""
    tables = {how: table for how in HOW if (table := _read_as(file, *how)) is not None}
    headless = tables.get((False, True))
    corner = "?" if headless is None or headless.rows is None else headless.rows[0]
    rows, columns = first.axes
    for how, table in tables.items():
        both = table.rows is not None and table.columns is not None
        cornered = file.suffix.lower() not in DELIMITERS or (both and not corner.strip())
        by_columns = both and table.columns == columns  # beside a line of names the first column holds names as well
        rows_named = _named(table.rows, rows) or cornered or by_columns or how == (None, None)
        if rows_named and (_named(table.columns, columns) or cornered):
            yield table


def _named(labels: Labels, known: Labels) -> bool:
    """Whether labels are those of the matrix, or text, or there are none."""
    return labels is None or labels == known or any(map(_is_text, labels))


def _is_text(label: str) -> bool:
    if label.strip().casefold() in MISSING:
        return False
    try:
        float(label)
    except ValueError:
        return True
    return False


def _agree(table: Table, first: Square) -> bool:
    """Whether the labels of a table are those of the matrix along each side that is as long."""
    sides = zip(table.values.shape, first.table.values.shape, (table.rows, table.columns), first.axes, strict=True)
    return all(size != all_ or None in (mine, theirs) or mine == theirs for size, all_, theirs, mine in sides)


def _misshapen(file: Path, came: tuple[int, int], shape: tuple[int, int], one: str) -> InputError:
    """What is wrong with the shape of a file, and how to write one per column where that was meant."""
    m, n = shape
    hint = ""
    if came == (n, 1):
        hint = f"; write one per column as one line of {n} numbers, or with the labels of the columns in their order"
    if came == (1, m):
        hint = f"; write one per row as {m} lines, or with the labels of the rows in their order"
    return InputError(
        f"{file.name} must hold one {one} per row, per column or per entry, of shape {m}x1, 1x{n} or {m}x{n}; got "
        f"{came[0]}x{came[1]}{hint}"
    )


def _dense(table: Table) -> Any:
    return table.values if isinstance(table.values, np.ndarray) else table.values.toarray()


def _read_as(file: Path, header: bool | None, labels: bool | None) -> Table | None:
    try:
        return read_matrix(file, header=header, labels=labels)
    except InputError:
        return None
