"""How a run shows itself while it goes on: bars on a terminal, lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from unrelu._old.experiments.base import Result
from unrelu._old.experiments.reproduce import Watcher
from unrelu._old.experiments.runner import Finished

__all__ = ["Bars", "Lines"]


class Lines(Watcher):
    """A line per experiment, where nobody watches a terminal.

    Parameters
    ----------
    say : callable
        Takes a line.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def experiment(self, name: str, result: Result) -> None:
        """Say that it is done."""
        self._say(f"{name}: {len(result.rows)} trials done")


class Bars(Watcher):
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

    def __enter__(self) -> Bars:
        with suppress(OSError):  # a terminal that has gone away is no reason to stop
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
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
