"""What a completion from a file does not bring back, and how it is given back: frames, data, masks."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import DATA_AGAIN_ROUNDING
from unrelu._old.data.inputs import read_mask, same_labels
from unrelu._old.data.labels import Axes
from unrelu._old.data.left_out import Places
from unrelu._old.data.observations import Observations
from unrelu._old.data.table import Table
from unrelu._old.data.terms import Terms

__all__ = ["framed", "marked", "read_again", "refuse_another_mask"]


class _Made(Protocol):
    """What is known of the data that a completion was made from."""

    @property
    def source(self) -> Any: ...

    @property
    def labels(self) -> tuple[Any, ...] | None: ...

    @property
    def size(self) -> int: ...

    @property
    def seen(self) -> tuple[int, float]: ...

    @property
    def left_out(self) -> Places: ...


def read_again(completion: _Made, X: Any, terms: Terms) -> Observations:
    """What was seen, from the caller's matrix or from one given now; refused if it is not what was completed."""
    matrix = completion.source if X is None else X
    if matrix is None:
        raise InputError(
            "this completion does not hold the seen entries; pass the matrix that was completed as X, or give it "
            "back once and for all: completion = completion.with_data(X)"
        )
    same_labels(matrix, completion.labels, "X", of="the completed matrix")
    observations = Observations.of(matrix, terms, completion.left_out)
    if observations.size != completion.size:
        raise InputError(f"X must have {completion.size} rows like the completed matrix, got {observations.size}")
    count, norm = completion.seen
    if observations.count != count or abs(observations.norm - norm) > DATA_AGAIN_ROUNDING * norm:
        raise InputError(
            f"X has changed since it was completed ({completion.seen[0]} entries then, {observations.count} now; "
            "or their values differ); pass the matrix as it was"
        )
    return observations


def framed(values: Array, source: Any, labels: tuple[Any, ...] | None, columns: tuple[Any, ...] | None = None) -> Any:
    """A matrix as the caller's was: a data frame if that was one, or if its labels came back from a file.

    Columns are labelled like rows unless they have labels of their own.

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
    return DataFrame(values, index=list(labels), columns=list(labels if columns is None else columns))


def marked(unknown: Any, shape: tuple[int, int]) -> int:
    """How many entries a mask marks; none if there is no mask."""
    return 0 if unknown is None else int(np.count_nonzero(read_mask(unknown, Axes(shape))))


def refuse_another_mask(unknown: Any, shape: tuple[int, int], expected: int | None) -> None:
    """Refuse a mask that does not mark as many entries as the one that a completion was made with.

    Examples
    --------
    >>> refuse_another_mask(None, (3, 3), expected=2)
    Traceback (most recent call last):
    unrelu._old.base.errors.InputError: this completion was made with 2 entries marked as unknown; give the same mask again,
    with_data(X, unknown=mask)
    """
    given = marked(unknown, shape)
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
