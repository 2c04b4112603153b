"""What is known of every entry, in words: a table of flags, and one long table with everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from unrelu._old.io.delimited import cells_of, quoted, write_delimited
from unrelu._old.io.disk import FilePath, check_target, extension_of, replacing
from unrelu._old.io.files import DELIMITERS

__all__ = ["WORDY", "write_long", "write_mixed", "write_words"]

WORDY = tuple(DELIMITERS)
"""Extensions of files that hold words."""


def write_words(
    path: FilePath,
    codes: NDArray[np.uint8],
    words: Sequence[str],
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    r"""Write a word for every entry of a matrix; the old file stays until the new one is complete.

    Parameters
    ----------
    path : str or path
        A file ending in one of `WORDY`.
    codes : (m, n) array
        The place of each word in ``words``.
    words : sequence of str
    rows, columns : sequence of str, optional
        Labels, written as the first column and the first line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     flags = Path(folder, "flags.csv")
    ...     write_words(flags, np.array([[0, 1]], np.uint8), ("measured", "censored"), columns=["a", "b"])
    ...     flags.read_text()
    'a,b\nmeasured,censored\n'
    """
    check_target(path, accepted=WORDY)
    with replacing(path) as temporary, _opened(temporary) as text:
        write_delimited(text, DELIMITERS[extension_of(path)], np.array(words, object)[codes], rows, columns)


def write_mixed(
    path: FilePath,
    entries: NDArray[Any],
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    r"""Write a table of numbers and words; the old file stays until the new one is complete.

    Parameters
    ----------
    path : str or path
        A file ending in one of `WORDY`.
    entries : (m, n) array of objects
        NaN becomes an empty cell.
    rows, columns : sequence of str, optional
        Labels, written as the first column and the first line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     levels = Path(folder, "levels.csv")
    ...     write_mixed(levels, np.array([["clay", 1.5, 7]], object), columns=["soil", "lead", "count"])
    ...     levels.read_text()
    'soil,lead,count\nclay,1.5,7\n'
    """
    check_target(path, accepted=WORDY)
    with replacing(path) as temporary, _opened(temporary) as text:
        write_delimited(text, DELIMITERS[extension_of(path)], entries, rows, columns)


def write_long(
    path: FilePath,
    entries: Mapping[str, NDArray[Any]],
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    r"""Write a line for every entry of a matrix: its row, its column, and what is known of it.

    Rows and columns without labels go by their numbers, counted from 1.

    Parameters
    ----------
    path : str or path
        A file ending in one of `WORDY`.
    entries : mapping of str to (m, n) array
        Numbers or words, under the names of their columns in the file.
    rows, columns : sequence of str, optional
        Labels.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     long = Path(folder, "long.csv")
    ...     write_long(long, {"value": np.array([[1.5, np.nan]])}, rows=["x"])
    ...     long.read_text()
    'row,column,value\nx,1,1.5\nx,2,\n'
    """
    check_target(path, accepted=WORDY)
    delimiter = DELIMITERS[extension_of(path)]
    m, n = next(iter(entries.values())).shape
    heads, tops = (
        [quoted(label, delimiter) for label in labels] if labels is not None else list(map(str, range(1, size + 1)))
        for labels, size in ((rows, m), (columns, n))
    )
    with replacing(path) as temporary, _opened(temporary) as text:
        text.write(delimiter.join(["row", "column", *entries]) + "\n")
        for head, *known in zip(heads, *entries.values(), strict=True):
            told = [cells_of(entries, delimiter) for entries in known]
            text.writelines(delimiter.join(cells) + "\n" for cells in zip(repeat(head, n), tops, *told, strict=True))


def _opened(path: Path) -> TextIO:
    return open(path, "w", encoding="utf-8", newline="")
