"""Rows that a completed table did not have: where they lie, from what was seen of them in its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, warn
from unrelu._old.data.inputs import read_table, same_label
from unrelu._old.data.labels import Axes, listed_rows
from unrelu._old.data.source import source_of
from unrelu._old.placing.attach import Attached, attached

__all__ = ["rows_beside"]


def rows_beside(right: Array, column_labels: tuple[Any, ...] | None, X: Any) -> Array:
    """The rows of L that belong to new rows of a table, R and the names of its columns being known.

    Examples
    --------
    >>> R = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> rows_beside(R, None, [[2.0, np.nan, 5.0]])
    array([[2., 3.]])
    """
    data, axes = read_table(X, least=0)
    _require_columns(axes, column_labels, len(right))
    values = source_of(data).block(slice(0, axes.shape[0]), slice(0, axes.shape[1]))
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        where = axes.placed([(int(i), int(j)) for i, j in infinite[:1]], len(infinite))
        raise InputError(f"X must be finite where it was seen, got inf at {where}; write NaN where nothing was seen")
    found = attached(right, values)
    _warn(found, axes)
    return found.rows


def _require_columns(axes: Axes, labels: tuple[Any, ...] | None, n: int) -> None:
    """Refuse columns that are not those of the completed table, in the same order."""
    if axes.shape[1] != n:
        raise InputError(f"X must have the {n} columns of the completed table, got {axes.shape[1]}")
    for k, (one, label) in enumerate(zip(axes.columns or (), labels or (), strict=False)):
        if not same_label(one, label):
            raise InputError(
                f"X must have the columns of the completed table in the same order, but column {k} is {one!r} instead "
                f"of {label!r}; pass X[list(completion.column_labels)]"
            )


def _warn(found: Attached, axes: Axes) -> None:
    """Say which rows are guesses."""
    facts = []
    if found.empty:
        facts.append(f"nothing was seen of {listed_rows(np.array(found.empty), axes.rows)}, completed with zeros")
    if found.short:
        sees = "sees" if len(found.short) == 1 else "see"
        named = listed_rows(np.array(found.short), axes.rows)
        facts.append(f"{named} {sees} fewer than {found.rank} independent columns, completed with the least norm")
    if facts:
        message = f"{'; '.join(facts)}: the data do not determine what was not seen there"
        warn(message)
