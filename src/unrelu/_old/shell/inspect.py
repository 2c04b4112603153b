"""``unrelu inspect``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from unrelu._old.base.errors import InputError, is_number
from unrelu._old.base.printable import printable
from unrelu._old.diagnose import diagnose
from unrelu._old.io.disk import check_target, replacing
from unrelu._old.results.diagnosis import Diagnosis
from unrelu._old.shell import options
from unrelu._old.shell.common import DONE, guarded, mask_beside, shown_table, watching
from unrelu._old.shell.help import values_of
from unrelu._old.shell.outputs import PICTURES
from unrelu._old.shell.reading import HowToRead, named
from unrelu._old.shell.streams import deliver

__all__ = ["inspect_command"]

Plot = Annotated[
    Path | None,
    typer.Option(metavar=options.FILE, help="Where to draw it: .png, .svg or .pdf."),
]
Seed = Annotated[int, typer.Option(metavar=options.COUNT, help="Seed; the same seed gives the same answer.")]
Threshold = Annotated[
    str,
    typer.Option(
        metavar="NUMBER|auto", help="Beyond which entries go unseen, if it is known; auto: found from the data."
    ),
]
Seen = Annotated[
    str,
    typer.Option(
        metavar="SIDE",
        help="On which side of the threshold entries were seen: above or below.",
        autocompletion=values_of("above", "below"),
    ),
]


@guarded
def inspect_command(
    file: options.File,
    rank: options.AutoRank = options.AUTO,
    threshold: Threshold = options.AUTO,
    seen: Seen = "above",
    unknown: options.Unknown = None,
    missing: options.Missing = None,
    header: options.Header = None,
    labels: options.Labels = None,
    layout: options.Layout = None,
    table: options.AsTable = False,
    plot: Plot = None,
    seed: Seed = 0,
    as_json: options.AsJson = False,
) -> int:
    """Say what a matrix looks like, why entries are missing, and which command that leads to."""
    level = _level(threshold)
    _require_a_reader()
    if plot is not None:
        check_target(plot, inputs=[file], accepted=PICTURES)
    brought = HowToRead(header, labels, missing, layout, table, texts=True).read(file)
    brought.tell(silent=as_json)
    if brought.read.limits is not None:
        raise InputError(
            f"{named(file).name} says itself where its entries go unseen, in its cells; unrelu table completes it so"
        )
    shown = shown_table(brought.read, as_json=as_json)
    with watching(as_json):
        mask = None if unknown is None else mask_beside(brought.matrix(), unknown)
        found = diagnose(
            shown,
            options.checked_rank(rank),
            threshold=level,
            seen=seen,
            unknown=mask,
            rng=options.checked_seed(seed),
        )
    command = found.command(str(file), said=_said(unknown, missing, header, labels, layout, table))
    if plot is not None:
        _draw(found, plot)
    if as_json:
        deliver(json.dumps({**found.as_dict(), "command": command}, allow_nan=False))
    else:
        ending = ["Recommended:", f"  {command}"] if command else [found.conclusion]
        deliver("\n".join([*found.sentences(), "", *ending]))
    return DONE


def _level(threshold: str) -> float | str:
    """A number, or auto."""
    if threshold.strip() == options.AUTO:
        return options.AUTO
    numbers = options.numbers_in(threshold)
    if numbers is None or len(numbers) != 1 or not is_number(numbers[0]):
        raise InputError(f"--threshold: expected one finite number or auto, got {printable(threshold)!r}")
    return numbers[0]


def _require_a_reader() -> None:
    """Refuse to work for nobody: what this command finds out goes to standard output only."""
    if getattr(sys.stdout, "name", None) == os.devnull:  # it was closed before we came
        raise InputError("standard output is closed, where all is told; open it, or send it to a file")


def _said(
    unknown: Path | None,
    missing: list[str] | None,
    header: bool | None,
    labels: bool | None,
    layout: str | None,
    table: bool,
) -> dict[str, list[str]]:
    """How the file was to be read, as it was typed: the command that is recommended must read it so, too."""
    return {
        "unknown": [] if unknown is None else ["--unknown", str(unknown)],
        "missing": [word for mark in missing or () for word in ("--missing", mark)],
        "header": [] if header is None else ["--header" if header else "--no-header"],
        "labels": [] if labels is None else ["--labels" if labels else "--no-labels"],
        "layout": [] if layout is None else ["--format", layout],
        "table": ["--table"] if table else [],
    }


def _draw(found: Diagnosis, plot: Path) -> None:
    from unrelu._old.show.diagnosis import drawn

    with replacing(plot) as temporary:
        drawn(found).savefig(temporary, format=plot.suffix.lstrip(".") or "png", dpi=150)
