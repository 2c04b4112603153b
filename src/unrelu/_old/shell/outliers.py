"""Entries that are distrusted: in a file, and in the lines of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unrelu._old.base.errors import is_integer
from unrelu._old.io.marked import write_mixed
from unrelu._old.results.distrust_words import distrust_in_words
from unrelu._old.results.distrusted import Distrusted

__all__ = ["reported", "write_distrusted"]

COLUMNS = ("row", "column", "value", "expected", "deviations")


def write_distrusted(path: Path, listed: Sequence[Distrusted]) -> None:
    r"""Write a line for each; rows and columns without labels go by their numbers, counted from 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_distrusted(Path(folder, "wrong.csv"), [Distrusted(0, 2, 40.0, 2.5, 31.25)])
    ...     Path(folder, "wrong.csv").read_text()
    'row,column,value,expected,deviations\n1,3,40.0,2.5,31.25\n'
    """
    cells = np.empty((len(listed), len(COLUMNS)), object)
    for k, one in enumerate(listed):
        cells[k] = [_shown(one.row), _shown(one.column), one.value, one.expected, one.deviations]
    write_mixed(path, cells, None, COLUMNS)


def reported(listed: Sequence[Distrusted]) -> list[str]:
    """A line of a report, if there is anything to say."""
    counted = [_counted(one) for one in listed]
    return [f"distrusted: {distrust_in_words(counted)}"] if listed else []


def _counted(one: Distrusted) -> Distrusted:
    """The same as a person counts."""
    return Distrusted(_shown(one.row), _shown(one.column), one.value, one.expected, one.deviations)


def _shown(label: Any) -> Any:
    """A label as it is, a position counted from 1."""
    return int(label) + 1 if is_integer(label) else str(label)
