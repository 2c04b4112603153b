"""Columns of words beside columns of numbers: told apart, and kept as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unrelu._old.base.errors import InputError
from unrelu._old.io.cells import Cells
from unrelu._old.io.delimited import read_records
from unrelu._old.io.reading import Reading, TextColumn

__all__ = ["read_mixed"]

Record = tuple[int, list[str]]


def read_mixed(records: Sequence[Record], cells: Cells, header: bool | None, labels: bool | None) -> Reading:
    r"""Read a matrix from (line, cells) as `read_records` does, and keep the columns that hold words for what they are.

    A column holds words if most of its cells that are not missing can only be words; in any other column a word is a
    mistake, and refused. The first column is one of labels then, unless that is denied.

    Examples
    --------
    >>> lines = [(1, ["site", "soil", "lead"]), (2, ["a", "clay", "1.5"]), (3, ["b", "sand", "ND"])]
    >>> found = read_mixed(lines, Cells("levels.csv"), None, None)
    >>> found.values, found.columns, found.texts[0].cells
    (array([[1.5], [nan]]), ('lead',), ('clay', 'sand'))
    """
    body = [row for _, row in records[1:]]
    width = max(map(len, body), default=0)
    first = 0 if labels is False else 1
    places = [k for k in range(first, width) if _holds_words([row[k] for row in body if k < len(row)], cells)]
    if not places:
        return read_records(iter(records), cells, header, labels)
    if len(places) == width - first:
        raise InputError(f"{cells.name} holds no column of numbers beside its names; expected at least one")
    cornerless = len(records[0][1]) == width - 1  # R's write.table leaves out the corner
    if header is None:
        others = [cell for k, cell in enumerate(records[0][1], int(cornerless)) if k >= first and k not in places]
        header = cornerless or cells.are_names(others)
    kept = [row for _, row in records[int(header) :]]
    blank = [(line, row if header and not at else _without(row, places)) for at, (line, row) in enumerate(records)]
    found = read_records(iter(blank), cells, header, labels)
    return _apart(found, kept, places)


def _holds_words(column: Sequence[str], cells: Cells) -> bool:
    told = [cell for cell in column if cell.strip().casefold() not in cells.marks]
    return 2 * sum(map(cells.is_text, told)) > len(told)


def _without(row: list[str], places: Sequence[int]) -> list[str]:
    return ["" if k in places else cell for k, cell in enumerate(row)]


def _apart(found: Reading, kept: Sequence[list[str]], places: Sequence[int]) -> Reading:
    """The numbers, and the words that were blank among them."""
    start = 0 if found.rows is None else 1
    names = found.columns
    texts = tuple(
        TextColumn(k - start, None if names is None else names[k - start], tuple(row[k] for row in kept))
        for k in places
        if k >= start
    )
    width = found.values.shape[1]
    numbers = np.setdiff1d(np.arange(width), [text.place for text in texts])
    columns = None if names is None else tuple(names[k] for k in numbers)
    values, low, high = (
        None if part is None else np.asarray(part)[:, numbers] for part in (found.values, found.low, found.high)
    )
    assert values is not None
    return replace(found, values=values, columns=columns, low=low, high=high, texts=texts)
