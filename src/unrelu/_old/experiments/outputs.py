"""Files of one experiment: CSV of each table and of the trials, PNG and SVG of each figure, its section of the page."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import unrelu
from unrelu._old.base.errors import InputError
from unrelu._old.experiments.base import Experiment, Judgement, Result, Row, Table
from unrelu._old.experiments.runner import cores
from unrelu._old.experiments.ticks import plain_powers
from unrelu._old.experiments.trials import CURVES, TRIALS, csv_text, curves_csv, trials_csv
from unrelu._old.io.disk import replacing

__all__ = ["VERDICTS", "machine", "make_folder", "read_section", "verdicts_csv", "write_files", "write_text"]

VERDICTS = "verdicts.csv"
# What a reader's machine has, widest first, so that labels do not grow out of the room they were given.
FONTS = ["DejaVu Sans", "Verdana", "Bitstream Vera Sans", "sans-serif"]


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


def table_csv(table: Table) -> str:
    """A table as CSV."""
    return csv_text(table.columns, table.rows)


def verdicts_csv(judgements: Sequence[Judgement]) -> str:
    """The verdicts as CSV: what a later reading of the trials has to come to again."""
    names = ("key", "case", "verdict", "near", "measured", "why", "rule", "rests")
    lines = ([", ".join(j.rests) if name == "rests" else getattr(j, name) for name in names] for j in judgements)
    return csv_text(names, lines)


def write_files(
    folder: Path, experiment: Experiment, result: Result, command: str, seconds: Sequence[float], *, quick: bool
) -> dict[str, Any]:
    """Write everything about a result into its own folder; what the page needs to know of it is returned."""
    from matplotlib import rc_context

    from unrelu._old.show.plots import save_figure

    make_folder(folder)
    tables = []
    for table in result.tables:
        write_text(folder / f"{table.name}.csv", table_csv(table))
        tables.append({"name": table.name, "caption": table.caption, "columns": table.columns, "rows": table.rows})
    # The curves first: trials that stand alone would be taken for trials without curves.
    texts = {
        CURVES: curves_csv(result.rows),
        TRIALS: trials_csv(result.rows, seconds),
        VERDICTS: verdicts_csv(result.judgements) if result.judgements else "",
    }
    for name, text in texts.items():
        if text:
            write_text(folder / name, text)
        else:  # that of an earlier run would be taken for this one's
            (folder / name).unlink(missing_ok=True)
    pictures = []
    for picture in result.pictures:
        for name, narrow in ((picture.name, False), (f"{picture.name}-narrow", True)):
            drawn = picture.draw(narrow)
            plain_powers(drawn)
            # Text stays text: smaller files, and readable by whoever cannot see the figure.
            with rc_context({"svg.fonttype": "none", "font.sans-serif": FONTS}):
                save_figure(drawn, folder / f"{name}.svg")
            if not narrow:
                save_figure(drawn, folder / f"{name}.png", dpi=200)
        pictures.append({"name": picture.name, "caption": picture.caption})
    about: dict[str, Any] = {
        "name": result.name,
        "title": experiment.title,
        "where": experiment.where,
        "setting": experiment.setting(result.sizes),
        "sizes": result.sizes,
        "quick": quick,
        "command": command,
        "edition": experiment.edition,
        "version": unrelu.__version__,
        "trials": len(result.rows),
        "seeds": _seeds(result.rows),
        "seconds": round(sum(seconds), 1),
        "notes": list(result.notes),
        "says": list(result.says),
        "judgements": [vars(judgement) for judgement in result.judgements],
        "counts": result.counts(),
        "counts_ours": result.counts(ours=True),
        "ledger": [vars(setting) for setting in experiment.ledger(result.sizes)],
        "tables": tables,
        "pictures": pictures,
    }
    write_text(folder / "section.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    return about


PARTS = {"name", "title", "where", "setting", "sizes", "quick", "command", "trials", "seconds"}
PARTS |= {"edition", "version", "seeds"}
PARTS |= {"notes", "says", "judgements", "counts", "counts_ours", "ledger", "tables", "pictures"}


def _seeds(rows: Sequence[Row]) -> list[int] | None:
    """The first seed and the last, if trials have some."""
    seeds = [row["seed"] for row in rows if "seed" in row]
    return [min(seeds), max(seeds)] if seeds else None


def read_section(folder: Path) -> dict[str, Any] | None:
    """What an earlier call wrote of an experiment; None if there is nothing whole, for then it has to run again."""
    try:
        about = json.loads((folder / "section.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(about, dict) or not set(about) >= PARTS:
        return None
    try:
        wanted = [f"{table['name']}.csv" for table in about["tables"]]
        wanted += [f"{picture['name']}{kind}.svg" for picture in about["pictures"] for kind in ("", "-narrow")]
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
