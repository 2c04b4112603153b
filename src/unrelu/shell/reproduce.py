"""``unrelu reproduce``."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from unrelu.experiments.base import Result
from unrelu.experiments.registry import EXPERIMENTS
from unrelu.experiments.reproduce import Reproduction, Watcher, reproduce
from unrelu.experiments.runner import Finished
from unrelu.shell.common import DONE, INTERRUPTED, NOT_CONVERGED, guarded, out, say

__all__ = ["reproduce_command"]

FOLDER = "unrelu-reproduction"


@guarded
def reproduce_command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="Tables and figures, or all; without one, lists them.")
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Trials per setting.", show_default="as in the paper")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer trials and smaller sizes; minutes in all.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes, one thread each.", show_default="one per core")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for results.", show_default=f"{FOLDER}[-quick]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first trial.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that holds something else.")] = False,
) -> int:
    """Run the paper's tables and figures, and put them beside the printed numbers on one page.

    Finished trials are kept as they finish: a run that was stopped goes on where it was when the same command is given
    again. A claim that is not reproduced is a verdict on the page, not a failure.
    """
    if not names:
        width = max(map(len, EXPERIMENTS))
        for name, experiment in EXPERIMENTS.items():
            out(f"{name:<{width}}  {experiment.title} ({experiment.where}{', extra' if experiment.extra else ''})")
        out(f"{'all':<{width}}  every one of them except extras")
        return DONE
    folder = output if output is not None else Path(FOLDER + ("-quick" if quick else ""))
    began = time.perf_counter()
    watcher = _Bars() if sys.stderr.isatty() else _Lines()
    try:
        with watcher:
            found = reproduce(
                names, folder, trials=trials, quick=quick, jobs=jobs, rng=seed, force=force, watcher=watcher
            )
    except KeyboardInterrupt:
        say(f"interrupted; finished trials are kept in {folder}, and the same command goes on from there")
        return INTERRUPTED
    out(_summary(found, time.perf_counter() - began))
    for trouble in found.troubles[:5]:
        say(f"error: a trial of {trouble.name} failed: {trouble.trouble}")
    return NOT_CONVERGED if found.troubles else DONE


def _summary(found: Reproduction, seconds: float) -> str:
    lines = []
    for name, result in found.results.items():
        counts = ", ".join(f"{count} {verdict}" for verdict, count in result.counts().items())
        lines.append(f"{name}: {counts or 'no claims'}")
    trials = f"{found.run} trials run, {found.kept} kept from before, {seconds:.0f} s"
    return "\n".join([*lines, trials, f"wrote {found.report}"])


class _Lines(Watcher):
    """A line per experiment, where nobody watches a terminal."""

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def experiment(self, name: str, result: Result) -> None:
        """Say that it is done."""
        say(f"{name}: {len(result.rows)} trials done")


class _Bars(Watcher):
    """One bar over experiments, one over trials, with the time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}")]
        self._bars = Progress(
            *columns,
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),  # standard output belongs to the result
            refresh_per_second=2,
            speed_estimate_period=300,
        )
        self._experiments = self._bars.add_task("experiments", total=None, state="")
        self._trials = self._bars.add_task("trials", total=None, state="starting")
        self._done = self._all = self._finished = self._planned = 0

    def __enter__(self) -> _Bars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, experiments: Sequence[str], kept: int, trials: int, cost: float) -> None:
        """Set the lengths of both bars; what was kept counts as done."""
        self._done, self._all, self._planned = kept, trials, len(experiments)
        self._bars.update(self._experiments, total=len(experiments), state=f"0/{len(experiments)}")
        self._bars.update(self._trials, total=max(cost, 1e-9), state=f"{kept}/{trials}")

    def trial(self, finished: Finished, cost: float) -> None:
        """Move the second bar, by what the trial was expected to cost."""
        self._done += 1
        self._bars.update(self._trials, advance=cost, state=f"{self._done}/{self._all} {finished.name}")

    def experiment(self, name: str, result: Result) -> None:
        """Move the first bar."""
        self._finished += 1
        self._bars.update(self._experiments, advance=1, state=f"{self._finished}/{self._planned}")
