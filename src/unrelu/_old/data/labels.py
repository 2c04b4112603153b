"""Rows and columns by name: labels where the input had them, else positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError, is_integer, positions, unknown_name

__all__ = ["Axes", "as_positions", "label_or_position", "listed_rows"]

# Rows that a sentence names one by one.
MOST_NAMED = 5


@dataclass(frozen=True)
class Axes:
    """How many rows and columns a matrix has, and what they are called.

    Attributes
    ----------
    shape : (int, int)
    rows, columns : tuple or None
        Labels, if there are any.
    alike : bool
        Whether rows and columns are the same things, as in a symmetric matrix.

    Examples
    --------
    >>> Axes((2, 3), rows=("a", "b")).placed([(1, 2)], total=4)
    '(b, 2) and 3 more'
    """

    shape: tuple[int, int]
    rows: tuple[Any, ...] | None = None
    columns: tuple[Any, ...] | None = None
    alike: bool = False

    @classmethod
    def square(cls, n: int, labels: tuple[Any, ...] | None = None) -> Axes:
        """Those of a symmetric matrix."""
        return cls((n, n), labels, labels, alike=True)

    @property
    def shapes(self) -> str:
        """Which shapes numbers for its entries may have, in words."""
        m, n = ("n", "n") if self.alike else self.shape
        said = f"({m}, 1) for one per row, (1, {n}) for one per column or ({m}, {n}) for one per entry"
        return f"{said}, with n = {self.shape[0]}" if self.alike else said

    def placed(self, entries: Iterable[tuple[int, int]], total: int) -> str:
        """Where some entries are, by labels as far as there are any, and how many more of them there are."""
        if self.rows is None and self.columns is None:
            return positions(entries, total)
        rows, columns = self.rows or range(self.shape[0]), self.columns or range(self.shape[1])
        shown = [f"({rows[i]}, {columns[j]})" for i, j in entries]
        return ", ".join(shown) + (f" and {total - len(shown)} more" if total > len(shown) else "")

    def first_of(self, marked: NDArray[np.bool_]) -> str:
        """Which row, column or entry is the first that is marked, by numbers of one of :attr:`shapes`.

        Examples
        --------
        >>> Axes((2, 3), columns=("a", "b", "c")).first_of(np.array([[False, True, True]]))
        ' for column b and 1 more'
        >>> Axes((2, 3)).first_of(np.array([[False, True, False], [False, False, False]]))
        ' for entry (0, 1)'
        """
        if marked.size == 1:
            return ""
        i, j = (int(place) for place in np.argwhere(marked)[0])
        more = int(np.count_nonzero(marked)) - 1
        row, column = label_or_position(i, self.rows), label_or_position(j, self.columns)
        where = f"entry ({row}, {column})"
        if 1 in marked.shape and marked.shape != self.shape:
            where = f"row {row}" if marked.shape[1] == 1 else f"column {column}"
        return f" for {where}" + (f" and {more} more" if more else "")


def as_positions(index: Any, labels: tuple[Any, ...] | None, what: str = "row") -> Any:
    """An index whose labels are replaced by the positions of their rows; integers are positions and stay.

    Parameters
    ----------
    index : label, position, or array or list of them
    labels : tuple or None
        Those of the rows.
    what : {"row", "column"}
        What they are labels of.

    Examples
    --------
    >>> as_positions("b", ("a", "b")), as_positions(["b", "a", 1], ("a", "b"))
    (1, array([1, 0, 1]))
    >>> as_positions("bee", ("ant", "bees"))
    Traceback (most recent call last):
    unrelu._old.base.errors.InputError: unknown label 'bee'; did you mean 'bees'? accepted: ant, bees
    >>> as_positions(1005, (1004, 1005))
    Traceback (most recent call last):
    unrelu._old.base.errors.InputError: integers are positions, 0 to 1, also where labels are integers; got 1005, which is
    the label of row 1: completion.labels.index(1005) finds it
    """
    _refuse_integer_labels(index, labels or (), what)
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


def _refuse_integer_labels(index: Any, labels: tuple[Any, ...], what: str) -> None:
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
        kept = "column_labels" if what == "column" else "labels"
        raise InputError(
            f"integers are positions, 0 to {len(labels) - 1}, also where labels are integers; got {wrong}, which is "
            f"the label of {what} {labels.index(wrong)}: completion.{kept}.index({wrong}) finds it"
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


def listed_rows(
    rows: NDArray[np.intp], labels: tuple[Any, ...] | None, most: int = MOST_NAMED, what: str = "row"
) -> str:
    """The first rows, or columns, by name, and how many more there are.

    Examples
    --------
    >>> listed_rows(np.arange(3), ("a", "b", "c"), most=2)
    'rows a, b and 1 more'
    """
    names = ", ".join(str(label_or_position(row, labels)) for row in rows[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"{what}{'s' if len(rows) > 1 else ''} {names}{more}"
