"""Rows by name: labels where the input had them, else positions."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from unrelu.base.errors import InputError, is_integer, unknown_name

__all__ = ["as_positions", "label_or_position", "listed_rows"]

# Rows that a sentence names one by one.
MOST_NAMED = 5


def as_positions(index: Any, labels: tuple[Any, ...] | None) -> Any:
    """An index whose labels are replaced by the positions of their rows; integers are positions and stay.

    Parameters
    ----------
    index : label, position, or array or list of them
    labels : tuple or None
        Those of the rows.

    Examples
    --------
    >>> as_positions("b", ("a", "b")), as_positions(["b", "a", 1], ("a", "b"))
    (1, array([1, 0, 1]))
    >>> as_positions("bee", ("ant", "bees"))
    Traceback (most recent call last):
    unrelu.base.errors.InputError: unknown label 'bee'; did you mean 'bees'? accepted: ant, bees
    >>> as_positions(1005, (1004, 1005))
    Traceback (most recent call last):
    unrelu.base.errors.InputError: integers are positions, 0 to 1, also where labels are integers; got 1005, which is
    the label of row 1: completion.labels.index(1005) finds it
    """
    _refuse_integer_labels(index, labels or ())
    places: dict[Any, list[int]] = {}
    for place, label in enumerate(labels or ()):
        if not is_integer(label):  # integers are positions
            places.setdefault(label, []).append(place)
    if places:
        return _read(index, places)
    if np.asarray(index).dtype.kind == "U":
        why = "the labels are integers too" if labels else "the data came without labels"
        raise InputError(f"rows and cols must be integer positions, for {why}; got {np.ravel(index).tolist()[0]!r}")
    return index


def _refuse_integer_labels(index: Any, labels: tuple[Any, ...]) -> None:
    """Refuse an integer that is no position and the label of a row, and say which."""
    if not any(map(is_integer, labels)):
        return
    try:
        given = np.asarray(index, dtype=object).ravel()
    except ValueError:  # labels of several levels among others
        return
    beyond = (one for one in given if is_integer(one) and not -len(labels) <= one < len(labels))
    wrong = next((one for one in beyond if one in labels), None)
    if wrong is not None:
        raise InputError(
            f"integers are positions, 0 to {len(labels) - 1}, also where labels are integers; got {wrong}, which is "
            f"the label of row {labels.index(wrong)}: completion.labels.index({wrong}) finds it"
        )


def _read(index: Any, places: dict[Any, list[int]]) -> Any:
    """The same, with the places of each label."""
    if isinstance(index, str) or (isinstance(index, tuple) and index in places) or is_integer(index):
        return _position(index, places)
    if isinstance(index, np.ndarray):
        if index.dtype.kind in "iub" or index.size == 0:
            return index
        return np.array([_position(one, places) for one in index.ravel().tolist()]).reshape(index.shape)
    if hasattr(index, "to_numpy"):  # of pandas
        return np.array([_position(one, places) for one in index])
    if isinstance(index, list | tuple | range):
        return np.array([_read(one, places) for one in index])
    return _position(index, places)


def _position(label: Any, places: dict[Any, list[int]]) -> int:
    """Where a label stands; a position stays."""
    if is_integer(label):
        return int(label)
    try:
        found = places.get(label, [])
    except TypeError:  # nothing that could be a label
        found = []
    if not found:
        raise unknown_name("label", label, map(str, places))
    if len(found) > 1:
        raise InputError(
            f"a label must name one row, but {label!r} is that of {len(found)}, {found[0]} and {found[1]} among them; "
            "give the position"
        )
    return found[0]


def label_or_position(row: SupportsIndex, labels: tuple[Any, ...] | None) -> str | int:
    """For JSON: the label of a row as text, or its position as a number.

    Examples
    --------
    >>> label_or_position(1, ("a", "b")), label_or_position(1, None)
    ('b', 1)
    """
    return str(labels[row]) if labels else int(row)


def listed_rows(rows: NDArray[np.intp], labels: tuple[Any, ...] | None, most: int = MOST_NAMED) -> str:
    """The first rows by name, and how many more there are.

    Examples
    --------
    >>> listed_rows(np.arange(3), ("a", "b", "c"), most=2)
    'rows a, b and 1 more'
    """
    names = ", ".join(str(label_or_position(row, labels)) for row in rows[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"row{'s' if len(rows) > 1 else ''} {names}{more}"
