"""``unrelu reproduce``."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unrelu._old.base.printable import printable
from unrelu._old.shell import options
from unrelu._old.shell.common import DONE, INTERRUPTED, NOT_CONVERGED, guarded
from unrelu._old.shell.streams import deliver, out, say

if TYPE_CHECKING:
    from unrelu._old.experiments.reproduce import Reproduction

__all__ = ["reproduce_command"]

FOLDER = "unrelu-reproduction"


@partial(guarded, at_once=False)
def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar=options.NAME, help="Tables and figures, or all; without one, lists them."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(metavar=options.COUNT, help="Trials per setting.", show_default="full run"),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", metavar=options.FLAG, help="Fewer trials and smaller sizes; minutes in all."),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(metavar=options.COUNT, help="Processes, one thread each.", show_default="one per core"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar=options.FOLDER, help="Folder for results.", show_default=f"{FOLDER}[-quick]"
        ),
    ] = None,
    seed: options.FirstSeed = 0,
    force: Annotated[
        bool, typer.Option("--force", metavar=options.FLAG, help="Write into a folder that holds something else.")
    ] = False,
) -> int:
    """Run the paper's tables and figures, and put them beside the printed numbers on one page.

    Finished trials are kept as they finish: a run that was stopped goes on where it was when the same command is given
    again. A claim that is not reproduced is a verdict on the page, not a failure.
    """
    # Other commands need not wait for what only this one loads.
    from unrelu._old.experiments.registry import EXPERIMENTS
    from unrelu._old.experiments.reproduce import reproduce
    from unrelu._old.experiments.watch import Bars, Lines

    if not names:
        width = max(map(len, EXPERIMENTS))
        listed = [
            f"{name:<{width}}  {experiment.title} ({experiment.where})" for name, experiment in EXPERIMENTS.items()
        ]
        deliver("\n".join([*listed, f"{'all':<{width}}  every one of them"]))
        return DONE
    options.checked_seed(seed)
    folder = output if output is not None else Path(FOLDER + ("-quick" if quick else ""))
    began = time.perf_counter()
    words = f"interrupted; finished trials are kept in {printable(folder)}, and the same command goes on from there"
    watcher = Bars() if sys.stderr.isatty() else Lines(say)
    try:
        with watcher:
            found = reproduce(
                names, folder, trials=trials, quick=quick, jobs=jobs, rng=seed, force=force, watcher=watcher
            )
    except KeyboardInterrupt:
        say(words)
        return INTERRUPTED
    out(_summary(found, time.perf_counter() - began))
    for trouble in found.troubles[:5]:
        say(f"error: a trial of {trouble.name} failed: {trouble.trouble}")
    return NOT_CONVERGED if found.troubles else DONE


def _summary(found: Reproduction, seconds: float) -> str:
    lines = []
    for name, result in found.results.items():
        counts = ", ".join(f"{count} {verdict}" for verdict, count in result.counts().items())
        own = ", ".join(f"{count} {verdict}" for verdict, count in result.counts(ours=True).items())
        counts = "; ".join(filter(None, [counts, f"of this library: {own}" if own else ""]))
        if not counts:  # a table of other experiments' verdicts
            rows = sum(len(table.rows) for table in result.tables)
            counts = f"{rows} lines"
        lines.append(f"{name}: {counts}")
    trials = f"{found.run} trials run, {found.kept} kept from before, {seconds:.0f} s"
    return "\n".join([*lines, trials, f"wrote {printable(found.report)}"])
