"""Lines ``row, column, value`` of a file or a frame, read a part at a time: numbers for the names, and the values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, is_integer, unknown_name
from unrelu._old.io.cells import Cells
from unrelu._old.io.delimited import open_records
from unrelu._old.io.disk import extension_of, opening, require_lasting
from unrelu._old.io.sheets import not_installed
from unrelu._old.io.text import PACKED, STANDARD, TEXTS, delimiter_of, opening_text

__all__ = ["Lines", "read_lines"]

# Lines that are in memory as text at once.
AT_ONCE = 1 << 18
WANTED = "a line 'row, column, value' for every entry"

# Numbers of names; two thousand million of them are enough, at half the memory.
Codes = NDArray[np.int32]
Columns = Sequence[str | int] | None


@dataclass(eq=False)
class Lines:
    """What was read: for each line the numbers of its two names and its value, NaN where there is none.

    Attributes
    ----------
    name : str
        What errors call the file.
    names : dict
        The number of each name, in the order in which they came.
    rows, columns, values : ndarray
        One for each line.
    line_of : callable
        Where the k-th of them stands, in words; it may read the file again.
    """

    name: str
    line_of: Callable[[int], str] = field(repr=False, default=str)
    names: dict[str, int] = field(default_factory=dict)
    rows: Codes = field(default_factory=lambda: np.zeros(0, np.int32))
    columns: Codes = field(default_factory=lambda: np.zeros(0, np.int32))
    values: Array = field(default_factory=lambda: np.zeros(0))

    def numbers(self, names: Iterable[str]) -> Codes:
        """The numbers of some names; those that are new get the next ones."""
        known = self.names
        return np.fromiter((known.setdefault(name, len(known)) for name in names), np.int32)

    def read(self, parts: Iterable[_Part]) -> Lines:
        """The same with all lines of the parts."""
        found = [(self._coded(part.rows), self._coded(part.columns), part.values) for part in parts]
        if found:
            self.rows, self.columns, self.values = (np.concatenate(side) for side in zip(*found, strict=True))
        return self

    def _coded(self, ids: _Ids) -> Codes:
        return self.numbers(ids.names)[ids.number]


class _Ids(NamedTuple):
    """One name for each line: different ones, and which of them each line has."""

    names: list[str]
    number: NDArray[Any]


class _Part(NamedTuple):
    rows: _Ids
    columns: _Ids
    values: Array


def read_lines(source: Any, columns: Columns = None) -> Lines:
    r"""Read an edge list, in memory that grows with its lines and with nothing else.

    Parameters
    ----------
    source : str, path or data frame
        A text (.csv, .tsv or .txt, packed by gzip or not) or a .parquet file.
    columns : sequence of three, optional
        Which columns hold the row, the column and the value: names, or positions from 0. Needed if there are others.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.csv")
    ...     _ = path.write_text("i,j,value\nanna,ben,0.8\nben,carl,0.4\n")
    ...     found = read_lines(path)
    >>> found.names, found.rows.tolist(), found.columns.tolist(), found.values.tolist()
    ({'anna': 0, 'ben': 1, 'carl': 2}, [0, 1], [1, 2], [0.8, 0.4])
    """
    if columns is not None and (isinstance(columns, str) or len(columns) != 3):
        raise InputError(f"columns must be three, of rows, columns and values, got {columns!r}")
    if hasattr(source, "iloc") and hasattr(source, "columns"):
        return _of_frame(source, columns)
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"an edge list must be the path of a file or a data frame of three columns, got {type(source).__name__}"
        )
    path = os.fspath(source)
    if path == STANDARD:
        raise InputError("an edge list must be the path of a file, got standard input; copy it to a file")
    if extension_of(path) == ".parquet":
        return _of_parquet(path, columns)
    require_lasting(path)
    return _quick(path, columns) or _careful(path, columns)


# --- text -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Text:
    """A text, and how its lines are read."""

    path: str
    columns: Columns

    def lines(self) -> Iterator[tuple[int, str, str, float]]:
        """Where each line stands, its two names, and its value."""
        with opening_text(self.path, (*TEXTS, *PACKED, ".parquet")) as handle:
            delimiter = delimiter_of(handle, extension_of(self.path))
            cells = Cells(self.path, local=delimiter == ";")
            with open_records(handle, delimiter, self.path) as records:
                filled = ((line, row) for line, row in records if row)
                first = next(filled, None)
                if first is None:
                    return
                places, header = self.layout(first[1], cells)
                if not header:
                    yield self._entry(*first, places, cells, len(first[1]))
                for line, row in filled:
                    yield self._entry(line, row, places, cells, len(first[1]))

    def layout(self, first: list[str], cells: Cells) -> tuple[list[int], bool]:
        """Where row, column and value stand on a line, by the first one; and whether that is one of names."""
        names = [cell.strip() for cell in first]
        places = _places(names, self.columns, self.path)
        named = any(isinstance(column, str) for column in self.columns or ())
        return places, named or cells.is_text(first[places[2]])

    def _entry(
        self, line: int, row: list[str], places: list[int], cells: Cells, width: int
    ) -> tuple[int, str, str, float]:
        where = f"{self.path}, line {line}"
        if len(row) != width:
            raise InputError(
                f"{where} has {len(row)} cell{'s' * (len(row) != 1)} where {width} were expected: {WANTED}"
            )
        one, other, cell = (row[place].strip() for place in places)
        if not (one and other):
            raise InputError(
                f"{where} leaves the {'row' if other else 'column'} of {cell!r} without a name; expected {WANTED}"
            )
        value = cells.number(cell)
        if value is None:
            limit = cell[:1] in "<>≤≥"
            advice = "unrelu._old.io.reader.read_data reads limits" if limit else "correct it, or leave it empty"
            raise InputError(f"{where}: {cell!r} does not read as a number; {advice}")
        if cells.local:  # for one decimal sign in all of them
            cells.numbers([cell], line, places[2] + 1, width)
        return line, one, other, value

    def line_of(self, k: int) -> str:
        """Where the k-th entry stands."""
        return f"on line {next(islice(self.lines(), k, None))[0]}"


def _careful(path: str, columns: Columns) -> Lines:
    """Line by line, so that each that is wrong can be named."""
    text = _Text(path, columns)
    found = Lines(path, text.line_of)

    def parts() -> Iterator[_Part]:
        lines = text.lines()
        while some := list(islice(lines, AT_ONCE)):
            _, rows, cols, values = zip(*some, strict=True)
            yield _Part(_distinct(rows), _distinct(cols), np.array(values))

    return found.read(parts())


def _distinct(names: Sequence[str]) -> _Ids:
    number: dict[str, int] = {}
    codes = np.fromiter((number.setdefault(name, len(number)) for name in names), np.int32, len(names))
    return _Ids(list(number), codes)


def _quick(path: str, columns: Columns) -> Lines | None:
    """The same by pandas, several times as fast, if there is nothing special about any line; else None."""
    try:
        import pandas as pd
    except ImportError:
        return None
    if extension_of(path) not in (*TEXTS, *PACKED):
        return None
    text = _Text(path, columns)
    for kind in ("int64", "str"):  # whole numbers are quicker than names, and most lists have them
        try:
            return Lines(path, text.line_of).read(_by_pandas(pd, text, kind))
        except (InputError, MemoryError):
            raise
        except Exception:  # something special: line by line it is told what
            continue
    return None


def _by_pandas(pd: Any, text: _Text, kind: str) -> Iterator[_Part]:
    with opening_text(text.path, (*TEXTS, *PACKED)) as handle:
        delimiter = delimiter_of(handle, extension_of(text.path))
        if delimiter not in (",", "\t"):
            raise ValueError("decimal commas, or any number of spaces")
        with open_records(handle, delimiter, text.path) as records:
            (line, first), *second = islice(((line, row) for line, row in records if row), 2)
        if any(len(row) != len(first) for _, row in second):  # pandas would make an index of what is too much
            raise ValueError("too few or too many cells")
        handle.seek(0)
        places, header = text.layout(first, Cells(text.path))
        kinds = {place: "float64" if place == places[2] else kind for place in places}
        chunks = pd.read_csv(
            handle, sep=delimiter, header=None, names=range(len(first)), skiprows=line * header,
            dtype=kinds, keep_default_na=False, na_values={places[2]: [""]}, chunksize=AT_ONCE, encoding="utf-8-sig",
            **_exact(pd),
        )  # fmt: skip
        for chunk in chunks:
            rows, cols = (_factorized(pd, chunk[place]) for place in places[:2])
            values = chunk[places[2]].to_numpy()
            if np.isnan(values).any():
                raise ValueError("a line without a value, or with too few cells")
            yield _Part(rows, cols, values)


def _exact(pd: Any) -> dict[str, str]:
    """Read numbers to the last digit, as Python does; since pandas 3.1 that need not be said."""
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    return {"float_precision": "round_trip"} if version < (3, 1) else {}


def _factorized(pd: Any, column: Any) -> _Ids:
    number, names = pd.factorize(column)
    found = [str(name).strip() for name in names]
    if (number < 0).any() or not all(found):
        raise ValueError("a line without a name")
    return _Ids(found, number)


# --- parquet and frames ---------------------------------------------------------------------------------------------


def _of_parquet(path: str, columns: Columns) -> Lines:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise not_installed("pyarrow", "parquet", path) from error
    found = Lines(path, lambda k: f"on row {k + 1}")
    with opening(path, (".parquet",)) as handle:
        try:
            file = parquet.ParquetFile(handle)
            schema = file.schema_arrow
            index = (schema.pandas_metadata or {}).get("index_columns", [])
            names = [name for name in schema.names if columns is not None or name not in index]
            places = _places(names, columns, path)
            wanted = [names[place] for place in places]
            return found.read(_batches(pa, file, wanted, path))
        except (InputError, MemoryError):
            raise
        except Exception as error:  # a damaged file may make it raise almost anything
            raise InputError(
                f"{path} is cut short or is no .parquet file, whatever its name says; write it again as .parquet"
            ) from error


def _batches(pa: Any, file: Any, wanted: list[str], path: str) -> Iterator[_Part]:
    first = 1
    for batch in file.iter_batches(batch_size=AT_ONCE, columns=wanted):
        rows, cols = (_of_arrow(pa, batch.column(name), name, path, first) for name in wanted[:2])
        values = batch.column(wanted[2])
        if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
            raise _no_numbers(path, wanted[2], str(values.type))
        yield _Part(rows, cols, _floats(values.to_numpy(zero_copy_only=False)))
        first += len(batch)


def _of_arrow(pa: Any, column: Any, name: str, path: str, first: int) -> _Ids:
    if column.null_count:
        empty = first + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"{path}, row {empty} has no name in the column {name!r}; expected {WANTED}")
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return _Ids(_texts(coded.dictionary.to_pylist()), coded.indices.to_numpy(zero_copy_only=False))


def _of_frame(frame: Any, columns: Columns) -> Lines:
    import pandas as pd  # it is there, for this is one of its frames

    name = "the frame"
    found = Lines(name, lambda k: f"in row {k}")
    places = _places(list(frame.columns), columns, name)
    rows, cols, values = (frame.iloc[:, place] for place in places)
    if getattr(values.dtype, "kind", "O") not in "iuf":
        raise _no_numbers(name, values.name, str(values.dtype))

    def ids(column: Any, first: int) -> _Ids:
        number, names = pd.factorize(column)
        if (number < 0).any():
            empty = first + int(np.flatnonzero(number < 0)[0])
            raise InputError(f"{name}, row {empty} has no name in the column {column.name!r}; expected {WANTED}")
        return _Ids(_texts(list(names)), number)

    def parts() -> Iterator[_Part]:
        for first in range(0, len(frame), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            single = str(values.dtype).lower() == "float32"
            numbers = values.iloc[some].to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
            yield _Part(ids(rows.iloc[some], first), ids(cols.iloc[some], first), numbers)

    return found.read(parts())


def _texts(names: Iterable[Any]) -> list[str]:
    return [str(name).strip() for name in names]


def _floats(values: NDArray[Any]) -> Array:
    return values.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False)


def _no_numbers(name: str, column: Any, kind: str) -> InputError:
    return InputError(f"{name} must hold numbers in the column {column!r} of its values, got {kind}; convert it first")


def _places(names: list[Any], columns: Columns, name: str) -> list[int]:
    """Where row, column and value stand among the columns."""
    if columns is None:
        if len(names) != 3:
            listed = ", ".join(map(str, names[:8])) + (", …" if len(names) > 8 else "")
            raise InputError(
                f"{name} has {len(names)} column{'s' * (len(names) != 1)} ({listed}) where 3 were expected; say which "
                "hold row, column and value, as with columns=('i', 'j', 'value')"
            )
        return [0, 1, 2]
    places = []
    for column in columns:
        if column not in names and is_integer(column) and 0 <= column < len(names):
            places.append(int(column))
        elif column in names:
            places.append(names.index(column))
        else:
            raise unknown_name(f"column of {name}", column, map(str, names))
    return places
