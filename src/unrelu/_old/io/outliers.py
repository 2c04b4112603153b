"""Values that the rest contradicts into a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from unrelu._old.base.errors import InputError
from unrelu._old.io.delimited import quoted
from unrelu._old.io.disk import FilePath, replacing
from unrelu._old.io.files import DELIMITERS

__all__ = ["OUTLIER_FILES", "write_outliers"]

OUTLIER_FILES = (".csv", ".tsv")
"""Extensions that :func:`write_outliers` knows."""

HEAD = ("row", "column", "value", "expected", "deviations")


def write_outliers(path: FilePath, rows: Iterable[tuple[Any, Any, float, float, float]]) -> None:
    """Write values that the rest contradicts, one a line: row, column, value, expected, deviations.

    Parameters
    ----------
    path : path-like
        Ends in .csv or .tsv.
    rows : iterable of (row, column, value, expected, deviations)

    Raises
    ------
    InputError
        If the file cannot be written, or a name has no place in it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "outliers.csv")
    ...     write_outliers(target, [("gate", "pond", 31.5, 20.25, 12.0)])
    ...     print(target.read_text())
    row,column,value,expected,deviations
    gate,pond,31.5,20.25,12.0
    <BLANKLINE>
    """
    delimiter = DELIMITERS[os.path.splitext(path)[1].lower()]
    lines = [delimiter.join(HEAD)]
    for row in rows:
        lines.append(delimiter.join([*(quoted(str(name), delimiter) for name in row[:2]), *map(repr, row[2:])]))
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as text:
        try:
            text.writelines(line + "\n" for line in lines)
        except UnicodeEncodeError as error:
            raise InputError(f"a name of {path} cannot be written as UTF-8; rename it") from error
