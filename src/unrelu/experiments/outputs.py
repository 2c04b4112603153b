"""Files of one experiment: CSV of each table and of the trials, PNG and SVG of each figure, its section of the page."""

from __future__ import annotations

import csv
import io
import json
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import unrelu
from unrelu.base.errors import InputError
from unrelu.experiments.base import Experiment, Result, Row, Table
from unrelu.experiments.runner import cores
from unrelu.io.disk import replacing

__all__ = ["csv_text", "machine", "make_folder", "read_section", "trials_csv", "write_files", "write_text"]


def make_folder(folder: Path) -> None:
    """Make a folder, or say in one sentence why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made: {error.strerror or error}; choose another folder with -o"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()


def table_csv(table: Table) -> str:
    """A table as CSV."""
    return csv_text(table.columns, table.rows)


def trials_csv(rows: Sequence[Row]) -> str:
    """The trials as they were found, one line each; of curves a line per point, lists joined by spaces."""
    if not rows:
        return ""
    plain = list(dict.fromkeys(name for row in rows for name in row if name != "series"))
    curves = list(dict.fromkeys(name for row in rows for name in row.get("series", ())))
    lines: list[list[Any]] = []
    for row in rows:
        fixed = [_cell(row.get(name)) for name in plain]
        series = row.get("series")
        points = zip(*(series[name] for name in curves), strict=True) if series else [[""] * len(curves)]
        lines.extend([*fixed, *point] for point in points)
    return csv_text([*plain, *curves], lines)


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return " ".join(f"{name}={entry}" for name, entry in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else value


def write_files(
    folder: Path, experiment: Experiment, result: Result, command: str, seconds: float, *, quick: bool
) -> dict[str, Any]:
    """Write everything about a result into its own folder; what the page needs to know of it is returned."""
    from unrelu.show.plots import save_figure

    make_folder(folder)
    tables = []
    for table in result.tables:
        write_text(folder / f"{table.name}.csv", table_csv(table))
        tables.append({"name": table.name, "caption": table.caption, "columns": table.columns, "rows": table.rows})
    write_text(folder / "trials.csv", trials_csv(result.rows))
    pictures = []
    for picture in result.pictures:
        drawn = picture.draw()
        save_figure(drawn, folder / f"{picture.name}.svg")
        save_figure(drawn, folder / f"{picture.name}.png", dpi=200)
        pictures.append({"name": picture.name, "caption": picture.caption})
    about: dict[str, Any] = {
        "name": result.name,
        "title": experiment.title,
        "where": experiment.where,
        "setting": experiment.setting,
        "extra": experiment.extra,
        "sizes": result.sizes,
        "quick": quick,
        "command": command,
        "trials": len(result.rows),
        "seconds": round(seconds, 1),
        "notes": list(result.notes),
        "says": list(result.says),
        "judgements": [vars(judgement) for judgement in result.judgements],
        "counts": result.counts(),
        "tables": tables,
        "pictures": pictures,
    }
    write_text(folder / "section.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    return about


PARTS = {"name", "title", "where", "setting", "extra", "sizes", "quick", "command", "trials", "seconds"}
PARTS |= {"notes", "says", "judgements", "counts", "tables", "pictures"}


def read_section(folder: Path) -> dict[str, Any] | None:
    """What an earlier call wrote of an experiment; None if there is nothing whole, for then it has to run again."""
    try:
        about = json.loads((folder / "section.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(about, dict) or not set(about) >= PARTS:
        return None
    try:
        wanted = [f"{table['name']}.csv" for table in about["tables"]] + ["trials.csv"]
        wanted += [f"{picture['name']}.svg" for picture in about["pictures"]]
    except (TypeError, KeyError):
        return None
    return about if all((folder / name).is_file() for name in wanted) else None


def machine() -> dict[str, Any]:
    """Versions and machine, for whoever wants to know where numbers come from."""
    found: dict[str, Any] = {"unrelu": unrelu.__version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return {
        "versions": found,
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": cores(),
            "threads per trial": 1,
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
