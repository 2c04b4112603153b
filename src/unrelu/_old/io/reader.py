"""Matrices from the files that people have: text of any kind, packed or not, spreadsheets, parquet, edge lists."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from unrelu._old.base.errors import InputError, unknown_name
from unrelu._old.io.cells import Cells
from unrelu._old.io.columns import parquet_records
from unrelu._old.io.delimited import open_records, read_records
from unrelu._old.io.disk import FilePath, extension_of, opening
from unrelu._old.io.files import READABLE as ARRAYS_AND_TEXT
from unrelu._old.io.files import read_matrix, without_marks
from unrelu._old.io.pairs import LAYOUTS, looks_like_pairs, read_pairs
from unrelu._old.io.reading import Reading
from unrelu._old.io.sheets import sheet_records
from unrelu._old.io.text import PACKED, STANDARD, TEXTS, delimiter_of, opening_text, words_of
from unrelu._old.io.texts import read_mixed

__all__ = ["READABLE", "read_data", "read_lines", "read_sheet"]

READABLE = (*ARRAYS_AND_TEXT, ".txt", *PACKED, ".xlsx", ".parquet")
"""Extensions that `read_data` knows."""

# Lines by which an edge list is told from a matrix.
FIRST_LINES = 20

Records = Iterator[tuple[int, list[str]]]


def read_data(
    path: FilePath,
    *,
    header: bool | None = None,
    labels: bool | None = None,
    missing: Sequence[str] = (),
    layout: str | None = None,
    table: bool = False,
) -> Reading:
    r"""Read a matrix, and the limits that its cells name, from a file of any known format.

    A cell such as ``<0.25`` or ``>100`` was not measured and lies below or above that number.

    Parameters
    ----------
    path : str or path
        A file ending in one of `READABLE`, or ``-`` for text on standard input.
    header, labels : bool, optional
        Whether the first line, the first column, holds names; found out when not given.
    missing : sequence of str
        Marks that mean missing besides an empty cell, NA, NaN, N/A, ND, #N/A, null, None and a lone point.
    layout : {"edges", "matrix"}, optional
        Whether a line is an entry, ``row, column, value``, or a row of the matrix. Found out when not given: three
        columns are an edge list if the second holds names, or if the first two are called i and j, row and column,
        from and to, or source and target.
    table : bool
        Whether rows and columns of an edge list are different things even if they share names.

    Returns
    -------
    Reading

    Raises
    ------
    InputError
        If the file cannot be read as one matrix of real numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     levels = Path(folder, "levels.csv")
    ...     _ = levels.write_text("site;lead;zinc\nnorth;1,5;<0,25\nsouth;ND;2\n")
    ...     found = read_data(levels)
    >>> found.values, found.high
    (array([[1.5, nan], [nan, 2. ]]), array([[ inf, 0.25], [ inf, inf]]))
    >>> found.words[0]
    'read as semicolons with decimal commas'
    """
    return _read(path, missing, _How(header, labels, layout, table, texts=False))


def read_sheet(
    path: FilePath,
    *,
    header: bool | None = None,
    labels: bool | None = None,
    missing: Sequence[str] = (),
    layout: str | None = None,
    table: bool = False,
) -> Reading:
    """Read a file as :func:`read_data` does, and keep columns of words, which that refuses, beside the numbers."""
    return _read(path, missing, _How(header, labels, layout, table, texts=True))


def read_lines(path: FilePath) -> tuple[list[tuple[int, list[str]]], Cells]:
    r"""Read the lines of a file of text, a spreadsheet or a parquet file as cells, and how to read a number in them.

    Blank lines are left out. Of a parquet file the names of the columns come first.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     limits = Path(folder, "limits.csv")
    ...     _ = limits.write_text("column;lower\n\nlead;0,25\n")
    ...     lines, cells = read_lines(limits)
    >>> lines, cells.numbers(["0,25"], line=3, column=2, width=2)
    ([(1, ['column', 'lower']), (3, ['lead', '0,25'])], array([0.25]))
    """
    path = os.fspath(path)
    extension = extension_of(path)
    if extension in (".xlsx", ".parquet"):
        cells = Cells(path, unit="row")
        with opening(path, READABLE) as handle:
            if extension == ".xlsx":
                return sheet_records(handle, path)[0], cells
            return list(parquet_records(handle, path)[0]), cells
    with opening_text(path, (*TEXTS, *PACKED, ".xlsx", ".parquet")) as handle:
        delimiter = delimiter_of(handle, extension)
        name = "standard input" if path == STANDARD else path
        with open_records(handle, delimiter, name) as records:
            return [(line, row) for line, row in records if row], Cells(name, local=delimiter == ";")


@dataclass(frozen=True)
class _How:
    """What was said of a file."""

    header: bool | None
    labels: bool | None
    layout: str | None
    table: bool
    texts: bool

    def read(self, records: Records, cells: Cells) -> Reading:
        first = list(islice(records, FIRST_LINES))
        everything = chain(first, records)
        looks = self.layout is None and self.labels is None and looks_like_pairs(first, cells)
        if self.layout == "edges" or looks:
            return read_pairs(everything, cells, self.header, table=self.table)
        if self.texts:
            return read_mixed(list(everything), cells, self.header, self.labels)
        return read_records(everything, cells, self.header, self.labels)


def _read(path: FilePath, missing: Sequence[str], how: _How) -> Reading:
    path = os.fspath(path)
    missing = (missing,) if isinstance(missing, str) else tuple(missing)
    if how.layout is not None and how.layout not in LAYOUTS:
        raise unknown_name("format", how.layout, LAYOUTS)
    extension = ".txt" if path == STANDARD else extension_of(path)
    if extension in ARRAYS_AND_TEXT and extension not in TEXTS:
        if how.layout == "edges":
            raise InputError(f"{path} cannot be an edge list; expected text, .xlsx or .parquet, so convert it")
        plain = read_matrix(path, header=how.header, labels=how.labels, missing=missing)
        return Reading(plain.values, plain.rows, plain.columns)
    if extension in (".xlsx", ".parquet"):
        found = _of_cells(path, extension, missing, how)
    else:
        found = _of_text(path, extension, missing, how)
    return replace(found, values=without_marks(found.values, missing)).with_counts()


def _of_text(path: str, extension: str, missing: Sequence[str], how: _How) -> Reading:
    name = "standard input" if path == STANDARD else path
    with opening_text(path, READABLE) as handle:
        delimiter = delimiter_of(handle, extension, missing)
        cells = Cells(name, missing, limited=True, local=delimiter == ";")
        with open_records(handle, delimiter, name) as records:
            found = how.read(records, cells)
    return found.after(words_of(delimiter, extension, cells))


def _of_cells(path: str, extension: str, missing: Sequence[str], how: _How) -> Reading:
    cells = Cells(path, missing, limited=True, unit="row")
    with opening(path, READABLE) as handle:
        if extension == ".xlsx":
            rows, words = sheet_records(handle, path)
            return how.read(iter(rows), cells).after(words)
        records, indexed = parquet_records(handle, path)
        labels = how.labels if indexed is None else indexed
        return replace(how, header=True, labels=labels).read(records, cells)
