"""Edge lists as sparse sources: a line for each entry that was seen, of matrices that nobody could hold as a whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.base.errors import InputError, is_integer, unknown_name
from unrelu._old.data.gather import Gather
from unrelu._old.data.source import SparseSource
from unrelu._old.io.edge_lines import WANTED, Lines, read_lines
from unrelu._old.kernels.memory import require_memory

__all__ = ["edges"]

_WHOLE_NUMBER = re.compile(r"[+-]?\d+(\.0*)?")


def edges(
    source: Any,
    *,
    shape: tuple[int, int] | None = None,
    labels: bool | Sequence[Any] | None = None,
    mirror: bool | str = "auto",
    table: bool = False,
    columns: Sequence[str | int] | None = None,
) -> SparseSource:
    r"""Read an edge list, a line ``row, column, value`` for each seen entry, for :func:`unrelu.complete`.

    The list is read a part at a time, and kept sparse: memory grows with its lines. Rows and columns are the same
    things if any name stands in both columns; the matrix is symmetric then. A line without a value says nothing.

    Parameters
    ----------
    source : str, path or data frame
        A .csv, .tsv or .txt file, packed by gzip or not, a .parquet file, or a data frame of pandas.
    shape : (int, int), optional
        Rows and columns of the matrix. The first two columns are positions from 0 then.
    labels : bool or sequence, optional
        Whether the first two columns hold names, or positions from 0. By default they are positions if they are all
        the whole numbers from 0 on, without a gap, or if ``shape`` is given, else names: whole numbers in their order,
        others in that of the list. A sequence names all rows, in the order wanted; of a table, two sequences, of rows
        and of columns.
    mirror : {"auto", True, False}
        Whether a line (i, j) of a symmetric matrix stands for (j, i) as well. By default it does if that has no line of
        its own; if all pairs are listed both ways round, and may differ, they stay as they are.
    table : bool
        Whether rows and columns are different things even if they share names.
    columns : sequence of three, optional
        The columns of row, column and value, by name or position, if there are others.

    Returns
    -------
    SparseSource

    Raises
    ------
    InputError
        If a line is no entry, an entry is given twice with different values, or a name is not among the ``labels``.

    Examples
    --------
    >>> import tempfile, unrelu
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.csv")
    ...     _ = path.write_text("anna,ben,0.8\nben,carl,0.4\ncarl,carl,1\n")
    ...     found = unrelu.edges(path)
    >>> found.labels, found.block(slice(0, 3), slice(0, 3)).tolist()
    (('anna', 'ben', 'carl'), [[nan, 0.8, nan], [0.8, nan, 0.4], [nan, 0.4, 1.0]])
    """
    _check(shape, mirror, table)
    lines = read_lines(source, columns)
    if not len(lines.values):
        raise InputError(f"{lines.name} holds no entries; expected {WANTED}")
    if table and mirror is True:
        raise InputError("mirror=True is for symmetric matrices; leave out table=True, or mirror=True")
    axes = _Named(lines, shape, labels, _alike(lines, shape, mirror, table)).axes()
    listed = _Listed(lines, *axes.placed(lines))
    stored = listed.stored(axes.shape)
    if axes.alike and mirror is not False:
        stored = listed.mirrored(stored, sure=mirror is True)
    return SparseSource(stored, axes.rows, None if axes.alike else axes.columns)


def _check(shape: Any, mirror: Any, table: bool) -> None:
    if shape is not None and not (
        isinstance(shape, tuple) and len(shape) == 2 and all(is_integer(size) and size > 0 for size in shape)
    ):
        raise InputError(f"shape must be two positive integers such as (200, 200), got {shape!r}")
    if mirror not in (True, False, "auto"):
        raise unknown_name("mirror", mirror, ("auto", "True", "False"))
    if mirror is True and shape is not None and shape[0] != shape[1]:
        raise InputError(f"mirror=True is for symmetric matrices, got shape={shape}; leave out one of them")


def _alike(lines: Lines, shape: tuple[int, int] | None, mirror: bool | str, table: bool) -> bool:
    """Whether rows and columns are the same things."""
    if table or (shape is not None and shape[0] != shape[1]):
        return False
    both = np.zeros((2, len(lines.names)), bool)
    both[0, lines.rows] = both[1, lines.columns] = True
    if mirror is True or shape is not None or both.all(axis=0).any():
        return True
    # Of a table both would be counted from 0: numbers of which those of the columns go on are of the same things.
    numbers = _whole(list(lines.names))
    return numbers is not None and _all_from_0(numbers)


@dataclass(frozen=True, eq=False)
class _Axes:
    """The shape of the matrix, what its rows and columns are called, and the row and column of each name, or -1."""

    shape: tuple[int, int]
    rows: tuple[Any, ...] | None
    columns: tuple[Any, ...] | None
    alike: bool
    row_of: Indices
    column_of: Indices

    def placed(self, lines: Lines) -> tuple[Indices, Indices]:
        return self.row_of[lines.rows], self.column_of[lines.columns]


@dataclass(frozen=True, eq=False)
class _Named:
    """Which row and which column each name of a list is."""

    lines: Lines
    shape: tuple[int, int] | None
    labels: Any
    alike: bool

    def axes(self) -> _Axes:
        codes = [self.lines.rows, self.lines.columns]
        if self.alike:
            codes = [np.stack(codes, axis=1).ravel()]
        names = list(self.lines.names)
        found = [self._side(side, _as_they_came(code), names) for side, code in enumerate(codes)]
        (one, rows, row_of), (other, columns, column_of) = found if len(found) == 2 else 2 * found
        return _Axes((one, other), rows, columns, self.alike, row_of, column_of)

    def _side(self, side: int, used: Indices, names: list[str]) -> tuple[int, tuple[Any, ...] | None, Indices]:
        """How many rows, or columns, there are, their labels, and which of them each name is."""
        place = np.full(len(names), -1, np.intp)
        mine = [names[k] for k in used]
        given = self._given(side)
        if given is not None:
            at = {str(label).strip(): k for k, label in enumerate(given)}
            for k, name in zip(used, mine, strict=True):
                if name not in at:
                    raise unknown_name(f"name in {self.lines.name}", name, at)
                place[k] = at[name]
            return len(given), given, place
        numbers = _whole(mine)
        positions = numbers is not None and (self.shape is not None or _all_from_0(numbers))
        if self.labels is False or (self.labels is None and positions):
            return self._positions(side, place, used, numbers)
        if self.shape is not None and self.shape[side] != len(mine):
            raise InputError(
                f"shape={self.shape} says {self.shape[side]} {('rows', 'columns')[side]}, but {self.lines.name} names "
                f"{len(mine)}; name all of them with labels=, or leave out shape="
            )
        if numbers is not None:
            found, rank = np.unique(np.array(numbers, dtype=object), return_inverse=True)
            place[used] = rank
            return len(found), tuple(map(str, found)), place
        place[used] = np.arange(len(mine))
        return len(mine), tuple(mine), place

    def _positions(
        self, side: int, place: Indices, used: Indices, numbers: list[int] | None
    ) -> tuple[int, None, Indices]:
        name = self.lines.name
        if numbers is None:
            word = next(word for word in self.lines.names if not _WHOLE_NUMBER.fullmatch(word))
            raise InputError(f"labels=False says that {name} holds positions, got {word!r}; leave out labels=False")
        most = max(numbers) + 1 if self.shape is None else self.shape[side]
        wrong = next((number for number in numbers if not 0 <= number < most), None)
        if wrong is not None:
            sides = (self.lines.rows, self.lines.columns)
            of_it = [code == used[numbers.index(wrong)] for code in (sides if self.alike else sides[side : side + 1])]
            k = int(np.flatnonzero(np.any(of_it, axis=0))[0])
            raise InputError(
                f"{name} holds the position {wrong} {self.lines.line_of(k)}, where 0 to {most - 1} were expected; "
                "count from 0, or pass labels=True if these are names"
            )
        require_memory(16 * most, f"a matrix of {most} rows, as the largest position in {name} says,")
        place[used] = numbers
        return most, None, place

    def _given(self, side: int) -> tuple[Any, ...] | None:
        """The labels that the caller names, if any, for one side."""
        if self.labels is None or isinstance(self.labels, bool):
            return None
        if self.alike:
            given = tuple(self.labels)
        else:
            pair = tuple(self.labels)
            if len(pair) != 2 or any(isinstance(one, str) for one in pair):
                raise InputError("labels of a table must be two sequences, of its rows and of its columns")
            given = tuple(pair[side])
        texts = [str(label).strip() for label in given]
        if len(set(texts)) < len(texts):
            twice = next(text for k, text in enumerate(texts) if text in texts[:k])
            raise InputError(f"labels must all be different, got {twice!r} twice")
        if self.shape is not None and self.shape[side] != len(given):
            raise InputError(f"labels must be {self.shape[side]}, as shape={self.shape} says, got {len(given)}")
        return given


def _as_they_came(codes: Any) -> Indices:
    """The different ones, in the order of the list."""
    different, first = np.unique(codes, return_index=True)
    return different[np.argsort(first)].astype(np.intp)


def _whole(names: list[str]) -> list[int] | None:
    """The whole numbers that names are; None if not all of them are."""
    if not all(map(_WHOLE_NUMBER.fullmatch, names)):
        return None
    return [int(name.partition(".")[0]) for name in names]


def _all_from_0(numbers: list[int]) -> bool:
    """Whether these are the numbers from 0 on, each of them."""
    return min(numbers) == 0 and len(set(numbers)) == max(numbers) + 1


@dataclass(frozen=True, eq=False)
class _Listed:
    """Entries in the order of the list, those without a value among them."""

    lines: Lines
    rows: Indices
    columns: Indices

    def stored(self, shape: tuple[int, int]) -> Any:
        """Those with a value, each once."""
        seen = ~np.isnan(self.lines.values)
        rows, columns, values = self.rows[seen], self.columns[seen], self.lines.values[seen]
        stored = sp.csr_array((values, (rows, columns)), shape=shape)
        if stored.nnz == len(values):
            return stored
        order = np.lexsort((columns, rows))  # which keeps the order of the list among equal ones
        rows, columns, values = rows[order], columns[order], values[order]
        again: Bools = (np.diff(rows, prepend=-1) == 0) & (np.diff(columns, prepend=-1) == 0)
        other = np.flatnonzero(again[1:] & (values[1:] != values[:-1])) + 1
        if len(other):
            where = np.flatnonzero(seen)[order]
            raise self._twice(int(where[other[0] - 1]), int(where[other[0]]), "keep one of them", len(other))
        once = ~again
        return sp.csr_array((values[once], (rows[once], columns[once])), shape=shape)

    def mirrored(self, stored: Any, *, sure: bool) -> Any:
        """The same with (j, i) as (i, j), where only that is there."""
        rows, columns = (side.astype(np.intp) for side in stored.tocoo().coords)
        values: Array = stored.data
        back = Gather(stored).find(columns, rows)
        both: Bools = (back >= 0) & (rows != columns)
        alone: Bools = back < 0
        if not alone.any() and not sure:
            return stored
        apart = np.flatnonzero(both & (values != values[np.maximum(back, 0)]))
        if len(apart):
            i, j = rows[apart[0]], columns[apart[0]]
            one, other = sorted(self._first(*pair) for pair in ((i, j), (j, i)))
            advice = "keep one of them, or pass mirror=False if both directions were measured"
            raise self._twice(one, other, advice, len(apart) // 2)
        places = np.concatenate([rows, columns[alone]]), np.concatenate([columns, rows[alone]])
        return sp.csr_array((np.concatenate([values, values[alone]]), places), shape=stored.shape)

    def _first(self, row: int, column: int) -> int:
        """The first line of an entry that has a value."""
        mine = (self.rows == row) & (self.columns == column) & ~np.isnan(self.lines.values)
        return int(np.flatnonzero(mine)[0])

    def _twice(self, one: int, other: int, advice: str, count: int) -> InputError:
        names, lines = list(self.lines.names), self.lines
        said = " and as ".join(f"{lines.values[k]:g} {lines.line_of(k)}" for k in (one, other))
        more = f", and {count - 1} more of them" if count > 1 else ""
        return InputError(
            f"{lines.name} gives the entry of {names[lines.rows[one]]!r} and {names[lines.columns[one]]!r} twice, as "
            f"{said}{more}; {advice}"
        )
