"""Spreadsheets (.xlsx) as lines of cells; read by openpyxl, which is loaded only here."""

from __future__ import annotations

import warnings
from typing import Any, BinaryIO

from unrelu._old.base.errors import InputError

__all__ = ["not_installed", "sheet_records"]


def not_installed(package: str, extra: str, path: str) -> InputError:
    """What to install for a file that only some people have."""
    return InputError(
        f"{path} needs the package {package}, which is not installed; install it with pip install 'unrelu[{extra}]', "
        "or save the file as .csv"
    )


def sheet_records(handle: BinaryIO, path: str) -> tuple[list[tuple[int, list[str]]], tuple[str, ...]]:
    """Read (row, cells) of the first sheet that holds anything, and words about which that was.

    Empty rows and columns at the end, which spreadsheets keep for their format, are left out.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise not_installed("openpyxl", "excel", path) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and other things that are no cells
            sheets, formulas = (_sheets(openpyxl, handle, results=results) for results in (True, False))
    except MemoryError:
        raise
    except Exception as error:  # a damaged archive may make it raise almost anything
        raise InputError(
            f"{path} is cut short or is no .xlsx file, whatever its name says; save it again as .xlsx"
        ) from error
    filled = [(title, records) for title, rows in sheets.items() if (records := _records(rows))]
    if filled or any(map(_records, formulas.values())):
        title = filled[0][0] if filled else next(title for title, rows in formulas.items() if _records(rows))
        _require_results(sheets[title], formulas[title], path)
    if not filled:
        raise InputError(f"{path} holds no cells in any of its sheets; expected a row of cells for every row")
    title, records = filled[0]
    words = (f"read the sheet {title!r}, the first of {len(filled)} that hold anything",) if len(filled) > 1 else ()
    return records, words


def _sheets(openpyxl: Any, handle: BinaryIO, *, results: bool) -> dict[str, list[list[Any]]]:
    """The cells of every sheet by its name: the results of formulas, or the formulas."""
    handle.seek(0)
    book = openpyxl.load_workbook(handle, read_only=True, data_only=results)
    return {sheet.title: [list(row) for row in sheet.values] for sheet in book.worksheets}


def _require_results(rows: list[list[Any]], formulas: list[list[Any]], path: str) -> None:
    """Refuse a formula that no program has worked out yet: it would look like a missing cell."""
    for line, (values, written) in enumerate(zip(rows, formulas, strict=True), 1):
        for column, (value, formula) in enumerate(zip(values, written, strict=True), 1):
            if value is None and formula is not None:
                raise InputError(
                    f"{path}, row {line}, column {column}: the formula {_text(formula)!r} has no result in the file; "
                    "open it in a spreadsheet and save it again"
                )


def _records(rows: list[list[Any]]) -> list[tuple[int, list[str]]]:
    texts = [[_text(cell) for cell in row] for row in rows]
    width = max((k + 1 for row in texts for k, cell in enumerate(row) if cell.strip()), default=0)
    while texts and not any(cell.strip() for cell in texts[-1]):
        texts.pop()
    return [(line, (row + [""] * width)[:width]) for line, row in enumerate(texts, 1)]


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)
