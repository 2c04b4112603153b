"""A progress bar that knows how far the gradient has to fall."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from types import TracebackType
from typing import Any

from unrelu.history import Record
from unrelu.problems.psd import PSDProblem
from unrelu.stopping import AnyOf, GradientNormBelow, MaxIterations, RelativeGradientNormBelow, StoppingRule

__all__ = ["Bar"]


class Bar:
    """Shows iteration, objective and gradient norm; full when the stopping rule will be met.

    The share done is that of the logarithm of the gradient norm on its way to the tolerance, or that of the iterations
    allowed, whichever is further.
    """

    def __init__(self, problem: PSDProblem, stopping: StoppingRule) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        rules = stopping.rules if isinstance(stopping, AnyOf) else (stopping,)
        bounds = [rule.bound for rule in rules if isinstance(rule, GradientNormBelow)]
        bounds += [rule.tol * problem.gradient_scale for rule in rules if isinstance(rule, RelativeGradientNormBelow)]
        self._bound = max(bounds, default=0.0)
        self._most = min((rule.count for rule in rules if isinstance(rule, MaxIterations)), default=0)
        self._first: float | None = None
        self._bar = Progress(
            TextColumn("completing"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),  # standard output belongs to the result
            transient=True,
        )
        self._task = self._bar.add_task("completing", total=1.0, state="starting")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def also(self, callback: Callable[[Record], Any] | None) -> Callable[[Record], Any]:
        """A callback that moves the bar and then calls the other one."""

        def both(record: Record) -> Any:
            self.show(record)
            return None if callback is None else callback(record)

        return both

    def show(self, record: Record) -> None:
        """Move the bar to this record."""
        state = f"iteration {record.iteration}, objective {record.objective:.1e}, gradient {record.gradient_norm:.1e}"
        self._bar.update(self._task, completed=self.share(record), state=state)

    def share(self, record: Record) -> float:
        """How far along this record is, between 0 and 1."""
        if self._first is None:
            self._first = record.gradient_norm
        done = record.iteration / self._most if self._most else 0.0
        if 0 < self._bound < self._first and record.gradient_norm > 0:
            done = max(done, log(self._first / record.gradient_norm) / log(self._first / self._bound))
        return min(max(done, 0.0), 1.0)
