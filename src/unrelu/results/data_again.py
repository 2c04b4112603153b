"""What a completion from a file does not bring back, and how it is given back: frames, data, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu.base.arrays import Array
from unrelu.base.errors import InputError
from unrelu.data.inputs import read_mask
from unrelu.data.labels import Axes
from unrelu.data.table import Table

__all__ = ["framed", "marked", "refuse_another_mask"]


def framed(values: Array, source: Any, labels: tuple[Any, ...] | None) -> Any:
    """A matrix as the caller's was: a data frame if that was one, or if its labels came back from a file.

    Examples
    --------
    >>> framed(np.ones((1, 1)), None, ("a",))
         a
    a  1.0
    """
    if hasattr(source, "index") and hasattr(source, "columns"):
        return type(source)(values, index=source.index, columns=source.columns)
    if labels is None or isinstance(source, Table):
        return values
    try:
        from pandas import DataFrame
    except ImportError:  # whoever saved it had pandas, whoever reads it need not
        return values
    return DataFrame(values, index=list(labels), columns=list(labels))


def marked(unknown: Any, size: int) -> int:
    """How many entries a mask marks; none if there is no mask."""
    return 0 if unknown is None else int(np.count_nonzero(read_mask(unknown, Axes.square(size))))


def refuse_another_mask(unknown: Any, size: int, expected: int | None) -> None:
    """Refuse a mask that does not mark as many entries as the one that a completion was made with.

    Examples
    --------
    >>> refuse_another_mask(None, 3, expected=2)
    Traceback (most recent call last):
    unrelu.base.errors.InputError: this completion was made with 2 entries marked as unknown; give the same mask again,
    with_data(X, unknown=mask)
    """
    given = marked(unknown, size)
    if expected is None or given == expected:
        return
    entries = f"{expected} entr{'y' if expected == 1 else 'ies'}"
    if unknown is None:
        raise InputError(
            f"this completion was made with {entries} marked as unknown; give the same mask again, "
            "with_data(X, unknown=mask)"
        )
    raise InputError(
        f"unknown must mark the {entries} that the completion was made with, got {given}; give the same mask again"
    )
