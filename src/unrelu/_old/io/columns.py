"""Parquet files as lines of cells; read by pyarrow, which is loaded only here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from unrelu._old.base.errors import InputError
from unrelu._old.io.sheets import not_installed

__all__ = ["parquet_records"]


def parquet_records(handle: BinaryIO, path: str) -> tuple[Iterator[tuple[int, list[str]]], bool | None]:
    """Read (row, cells), the names of the columns first, as row 0; and whether the first column holds labels.

    The index of a frame that pandas wrote comes first. None where nothing says what the first column is.
    """
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise not_installed("pyarrow", "parquet", path) from error
    try:
        table = parquet.read_table(handle)
        index = [
            name for name in (table.schema.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)
        ]
    except MemoryError:
        raise
    except Exception as error:  # a damaged file may make it raise almost anything
        raise InputError(
            f"{path} is cut short or is no .parquet file, whatever its name says; write it again as .parquet"
        ) from error
    if len(index) > 1:
        raise InputError(
            f"{path} has an index of {len(index)} columns ({', '.join(index)}); expected one at most, so write it with "
            "one label for every row"
        )
    names = index + [name for name in table.column_names if name not in index]
    if not names or not table.num_rows:
        raise InputError(
            f"{path} holds an empty matrix ({table.num_rows}×{len(names)}); expected at least one row and one column"
        )
    return _records(table.select(names)), True if index else None


def _records(table: Any) -> Iterator[tuple[int, list[str]]]:
    yield 0, list(table.column_names)
    columns = [_texts(column) for column in table.columns]
    for line, row in enumerate(zip(*columns, strict=True), 1):
        yield line, list(row)


def _texts(column: Any) -> list[str]:
    return ["" if cell is None else str(cell) for cell in column.to_pylist()]
