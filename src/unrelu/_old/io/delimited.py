"""Comma- and tab-separated text in and out, with the labels of its rows and columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.io.cells import MISSING, Cells
from unrelu._old.io.reading import Reading

__all__ = [
    "MISSING",
    "cells_of",
    "open_records",
    "quoted",
    "read_delimited",
    "read_records",
    "shortest",
    "write_delimited",
]

_WHOLE_NUMBER = re.compile(r"[+-]?\d+")
Records = Iterator[tuple[int, list[str]]]

# How UTF-16 begins.
WIDE = (b"\xff\xfe", b"\xfe\xff")


def read_delimited(
    handle: BinaryIO,
    delimiter: str,
    name: str,
    *,
    header: bool | None = None,
    labels: bool | None = None,
    missing: Sequence[str] = (),
) -> tuple[NDArray[np.float64], tuple[str, ...] | None, tuple[str, ...] | None]:
    r"""Read a matrix, its row labels and its column labels from delimited text in UTF-8.

    Parameters
    ----------
    handle : binary file
        Open at its beginning.
    delimiter : str
        One character.
    name : str
        What errors call the file.
    header, labels : bool, optional
        Whether the first line, the first column, holds names; found out when not given.
    missing : sequence of str
        Further missing marks, compared as text without regard to case.

    Returns
    -------
    values : (m, n) array
        NaN where a cell is missing.
    rows, columns : tuple of str, or None
        The labels, where the file has them.

    Examples
    --------
    >>> read_delimited(io.BytesIO(b",a,b\nx,1,\ny,NA,4"), ",", "observed.csv")
    (array([[ 1., nan], [nan,  4.]]), ('x', 'y'), ('a', 'b'))
    """
    with open_records(handle, delimiter, name) as records:
        found = read_records(records, Cells(name, missing), header, labels)
    return np.asarray(found.values), found.rows, found.columns


@contextmanager
def open_records(handle: BinaryIO, delimiter: str, name: str) -> Iterator[Iterator[tuple[int, list[str]]]]:
    r"""Lend (line, cells) of delimited text in UTF-8; a blank line comes as no cells, and those at the end not at all.

    Parameters
    ----------
    handle : binary file
        Open at its beginning.
    delimiter : str
        One character; a space stands for any number of spaces and tabs.
    name : str
        What errors call the file.

    Examples
    --------
    >>> with open_records(io.BytesIO(b"a,b,1.5\n\na,c,2\n"), ",", "ranges.csv") as records:
    ...     list(records)
    [(1, ['a', 'b', '1.5']), (2, []), (3, ['a', 'c', '2'])]
    """
    text = io.TextIOWrapper(io.BufferedReader(_Text(handle, name)), encoding="utf-8-sig", newline="")
    try:
        yield _records(text, delimiter, name)
    except UnicodeDecodeError as error:
        handle.seek(0)
        line = next((at for at, raw in enumerate(handle, 1) if not _is_utf8(raw)), 1)
        raise InputError(
            f"{name}, line {line}: expected UTF-8 text, got other bytes; save it again as UTF-8 "
            "('CSV UTF-8' in a spreadsheet)"
        ) from error
    finally:
        text.detach()


class _Text(io.RawIOBase):
    """The bytes of a file, up to the first zero byte: what was cut off by a full disk may be nothing else, for ever."""

    def __init__(self, handle: BinaryIO, name: str) -> None:
        self._handle, self._name = handle, name
        self._wide = False  # UTF-16, which decoding will tell

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._handle.read(len(buffer))
        buffer[: len(found)] = found
        self._wide = self._wide or found.startswith(WIDE)
        if b"\0" in found and not self._wide:
            raise InputError(
                f"{self._name} holds zero bytes where text was expected; write it again or fetch a fresh copy"
            )
        return len(found)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _records(text: TextIO, delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    blanks = delimiter == " "  # any number of them, or tabs, and at both ends
    lines = (line.replace("\t", " ").strip() for line in text) if blanks else text
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=blanks)
    blank: list[int] = []
    line = 1
    try:
        for cells in reader:
            if not cells or (len(cells) == 1 and cells[0].isspace()):
                blank.append(line)
            else:
                yield from ((at, []) for at in blank)
                blank.clear()
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{name}, line {line}: {error}; check the quotation marks there") from error


def read_records(records: Records, cells: Cells, header: bool | None, labels: bool | None) -> Reading:
    r"""Read a matrix from (line, cells), whatever they come from, and the limits that its cells name.

    Parameters
    ----------
    records : iterator of (line, cells)
        A blank line as no cells.
    cells : Cells
        How a cell is read.
    header, labels : bool or None
        Whether the first line, the first column, holds names; None: to be found out.

    Examples
    --------
    >>> lines = iter([(1, ["a", "b"]), (2, ["1.5", ">100"])])
    >>> found = read_records(lines, Cells("levels.csv", limited=True), None, None)
    >>> found.values, found.low
    (array([[1.5, nan]]), array([[-inf, 100.]]))
    """
    # Whether the first column holds labels is known only at the last line, so that column waits as text
    # while the others are turned into numbers.
    first_line, first = next(records, (1, None))
    if first is None:
        raise InputError(f"{cells.name} is empty; expected a line of cells for every row of the matrix")
    if not first:
        raise _ragged(cells.name, first_line, 0, next(len(found) for _, found in records if found))
    width = len(first)
    if header is None and width > 1:
        _refuse_semicolons(first, first_line, cells)
    named = cells.are_names(first) if header is None else header
    lines: list[int] = []
    heads: list[str] = []
    body: list[NDArray[np.float64]] = []
    for line, found in records:
        if not lines and named and labels is not False and len(found) == width + 1:
            width += 1  # R's write.table leaves out the corner
        row = found if found or width != 1 else [""]
        if labels is not True and width > 1:
            _refuse_semicolons(row[:1], line, cells)
        if len(row) != width:
            if width == 1 and ";" in first[0]:  # names, over numbers with decimal commas
                raise _semicolons(cells.name, first_line)
            raise _ragged(cells.name, line, len(row), width)
        lines.append(line)
        heads.append(row[0])
        body.append(cells.numbers(row[1:], line, 2, width))

    cornerless = width > len(first)
    if header is None:
        header = cornerless or _is_header(first, heads, body, cells)
    if not header:
        lines.insert(0, first_line)
        heads.insert(0, first[0])
        body.insert(0, cells.numbers(first[1:], first_line, 2, width))
    if not lines:
        raise InputError(
            f"{cells.name} holds column names on line {first_line} and no rows below them; "
            "add the rows, or give --no-header if that line is a row"
        )
    if labels is None:
        cornered = header and (not first[0].strip() or _alike(first, heads))
        names = cells.are_names(heads) if header else any(map(cells.is_text, heads))
        labels = width > 1 and (cornerless or cornered or names)
    if labels and width == 1:
        raise InputError(
            f"{cells.name} has one column, which --labels takes for names; expected at least one column of numbers"
        )

    start = 0 if labels else 1
    values = np.empty((len(body), width - 1 + start))
    for row_values, numbers in zip(values, body, strict=True):
        row_values[start:] = numbers
    if not labels:
        for row_values, head, line in zip(values, heads, lines, strict=True):
            row_values[:1] = cells.numbers([head], line, 1, width)
    columns = tuple(first[1:] if labels and not cornerless else first) if header else None
    low, high = _limits(values, cells, lines, 2 if labels else 1)
    return Reading(values, tuple(heads) if labels else None, columns, low, high)


def _limits(
    values: NDArray[np.float64], cells: Cells, lines: list[int], first: int
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Low and high of every entry, where cells name limits; ``first`` is the column of the first entry."""
    if not cells.limits:
        return None, None
    low, high = np.full(values.shape, -np.inf), np.full(values.shape, np.inf)
    place = {line: row for row, line in enumerate(lines)}
    for limit in cells.limits:
        low[place[limit.line], limit.column - first] = limit.low
        high[place[limit.line], limit.column - first] = limit.high
    return low, high


def _refuse_semicolons(row: list[str], line: int, cells: Cells) -> None:
    """Refuse what spreadsheets write where the comma is the decimal sign; '2;4' is no name."""
    for cell in row:
        if cells.several(cell):
            raise _semicolons(cells.name, line)


def _semicolons(name: str, line: int) -> InputError:
    return InputError(
        f"{name}, line {line}: cells are separated by semicolons; separate them by commas in a .csv file "
        "and by tabs in a .tsv file, and write the decimal sign as a point"
    )


def _is_header(first: list[str], heads: list[str], body: list[NDArray[np.float64]], cells: Cells) -> bool:
    """Whether the first line holds column names, given the first cells of the lines below and their numbers."""
    if cells.are_names(first):
        return True
    # ",4711,4712" over "4711,…", "4712,…" is what pandas writes for a frame labelled by numbers. A symmetric matrix
    # whose first entry was not seen looks the same, unless it holds other than whole numbers.
    names = [name.strip() for name in first[1:]]
    if first[0].strip() or not _alike(first, heads) or len(set(names)) < len(names):
        return False
    if len(names) < 2 or not all(map(_WHOLE_NUMBER.fullmatch, names)):
        return False
    values = np.array(body)
    if (values[np.isfinite(values)] % 1).any():
        return True
    if np.isnan(values.diagonal()).all():  # none of the diagonal was seen, so that an empty corner says nothing
        return False
    raise InputError(
        f"{cells.name}: the first row and the first column hold the same whole numbers, which may be labels or "
        "entries; say --header --labels if they are labels, --no-header --no-labels if they are entries"
    )


def _alike(first: list[str], heads: list[str]) -> bool:
    """Whether the first row is the first column, but for the corner."""
    return [name.strip() for name in first[1:]] == [head.strip() for head in heads]


def _ragged(name: str, line: int, found: int, expected: int) -> InputError:
    got = f"has {found} cell{'s' * (found != 1)}" if found else "is blank"
    were = "was" if expected == 1 else "were"
    return InputError(
        f"{name}, line {line} {got} where {expected} {were} expected; "
        "give every line the same number of cells, empty ones where nothing was seen"
    )


def write_delimited(
    text: TextIO,
    delimiter: str,
    values: NDArray[Any],
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    r"""Write a matrix with the shortest numbers that read back the same, and NaN as an empty cell.

    Parameters
    ----------
    text : text file
        Open for writing with ``newline=""``.
    delimiter : str
        One character.
    values : (m, n) array
        Numbers; or objects, words among them.
    rows, columns : sequence of str, optional
        Labels, written as the first column and the first line.

    Examples
    --------
    >>> out = io.StringIO()
    >>> write_delimited(out, ",", np.array([[0.1, np.nan]], dtype=np.float32), rows=["x"], columns=["a", "b"])
    >>> out.getvalue()
    ',a,b\nx,0.1,\n'
    """
    # A line with nothing on it would be no line at all, so a lone empty cell is written in quotes.
    nothing = '""' if values.shape[1] == 1 and rows is None else ""
    if columns is not None:
        corner = [] if rows is None else [""]
        names = [quoted(label, delimiter) or nothing for label in columns]
        text.write(delimiter.join(corner + names) + "\n")
    for index, row in enumerate(values):
        written = [cell or nothing for cell in cells_of(row, delimiter)]
        head = [] if rows is None else [quoted(rows[index], delimiter)]
        text.write(delimiter.join(head + written) + "\n")


def cells_of(entries: NDArray[Any], delimiter: str) -> list[str]:
    """Entries as cells: NaN empty, and words, which stand among objects, in quotes where they need them.

    Examples
    --------
    >>> cells_of(np.array([0.1, np.nan]), ","), cells_of(np.array(["a,b", 7, np.nan], object), ",")
    (['0.1', ''], ['"a,b"', '7', ''])
    """
    if entries.dtype != object:
        return ["" if number == "nan" else number for number in shortest(entries)]
    return [quoted(one, delimiter) if isinstance(one, str) else "" if one != one else str(one) for one in entries]


def shortest(numbers: NDArray[Any]) -> list[str]:
    """Write each number with the fewest digits that tell it from the others of its type.

    Examples
    --------
    >>> shortest(np.array([0.1, 2], dtype=np.float32))
    ['0.1', '2.0']
    """
    # tolist() is fast but widens: the double nearest to a float32 0.1 has seventeen digits.
    return list(map(str, numbers if numbers.dtype == np.float32 else numbers.tolist()))


def quoted(label: str, delimiter: str) -> str:
    """Write a label as one cell, in quotes where it needs them.

    Examples
    --------
    >>> quoted("Oslo, Gardermoen", ",")
    '"Oslo, Gardermoen"'
    """
    # A byte order mark at the very start of a file would be taken off by the reader.
    if any(mark in label for mark in (delimiter, '"', "\r", "\n", "\ufeff")):
        return '"' + label.replace('"', '""') + '"'
    return label
