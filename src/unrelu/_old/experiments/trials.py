"""Trials as CSV files: written so that a person reads them, and read back to just what was written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from unrelu._old.experiments.base import Row

__all__ = ["CURVES", "TRIALS", "csv_text", "curves_csv", "read_trials", "trials_csv"]

TRIALS, CURVES = "trials.csv", "curves.csv"
# The column with the seconds of a trial, and in the file of curves the one with the number of its line.
SECONDS, LINE = "seconds", "trial"
SERIES = "series"


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()


def trials_csv(rows: Sequence[Row], seconds: Sequence[float] | None = None) -> str:
    """One line for each trial: its task, what it found, and how long it took.

    A cell is empty where a trial has no such finding. Lists and what might be misread are written as JSON, all other
    text as it is. Curves have a file of their own.

    Examples
    --------
    >>> print(trials_csv([{"seed": 0, "code": "fitted", "failed": [1, 2], "error": None}], [0.5]))
    seed,code,failed,error,seconds
    0,fitted,"[1, 2]",null,0.5
    <BLANKLINE>
    """
    plain = list(dict.fromkeys(name for row in rows for name in row if name != SERIES))
    taken = [0.0] * len(rows) if seconds is None else seconds
    lines = ([*(_cell(row, name) for name in plain), f"{s:g}"] for row, s in zip(rows, taken, strict=True))
    return csv_text([*plain, SECONDS], lines) if rows else ""


def curves_csv(rows: Sequence[Row]) -> str:
    """The curves of those trials that have some, a line for each point; empty if none has.

    Examples
    --------
    >>> print(curves_csv([{"seed": 0}, {"seed": 1, "series": {"t": [0, 1], "gamma": [0.5, 0.1]}}]))
    trial,t,gamma
    1,0,0.5
    1,1,0.1
    <BLANKLINE>
    """
    names = list(dict.fromkeys(name for row in rows for name in row.get(SERIES, ())))
    lines = [
        [place, *(_cell(dict(zip(row[SERIES], point, strict=True)), name) for name in names)]
        for place, row in enumerate(rows)
        for point in zip(*row.get(SERIES, {}).values(), strict=True)
    ]
    return csv_text([LINE, *names], lines) if lines else ""


def _cell(row: Row, name: str) -> str:
    if name not in row:
        return ""
    value = row[name]
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value if value and _read(value) == value else json.dumps(value, ensure_ascii=False)


def _read(cell: str) -> Any:
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def read_trials(folder: Path) -> list[tuple[Row, float]]:
    """The trials that stand in a folder's files, and the seconds of each; none if there are none, or not whole.

    Examples
    --------
    >>> import tempfile
    >>> rows = [{"seed": 0, "start": "clique", "path": {"cpu": [0.1]}, "series": {"t": [0, 1], "gamma": [0.5, 0.1]}}]
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = (Path(name) / TRIALS).write_text(trials_csv(rows, [2.0]))
    ...     _ = (Path(name) / CURVES).write_text(curves_csv(rows))
    ...     read_trials(Path(name)) == [(rows[0], 2.0)]
    True
    """
    try:
        found = [(row, float(row.pop(SECONDS))) for row in _lines(folder / TRIALS)]
        for point in _lines(folder / CURVES) if (folder / CURVES).is_file() else ():
            series = found[point.pop(LINE)][0].setdefault(SERIES, {})
            for name, value in point.items():
                series.setdefault(name, []).append(value)
    except (OSError, ValueError, KeyError, IndexError, TypeError, csv.Error):
        return []
    return found


def _lines(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream, strict=True):
            yield {name: _read(cell) for name, cell in line.items() if cell != ""}
