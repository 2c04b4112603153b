"""A progress bar that knows how far the gradient has to fall."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from types import TracebackType
from typing import Any

from unrelu.history import Record
from unrelu.problems.psd import PSDProblem
from unrelu.stopping import (
    AnyOf,
    DetailBelow,
    GradientNormBelow,
    MaxIterations,
    RelativeGradientNormBelow,
    StoppingRule,
)

__all__ = ["Bar"]


class Bar:
    """Shows iteration, objective and gradient norm; full when the stopping rule will be met.

    The share done is that of the logarithm of what the rule watches on its way to the tolerance, or that of the
    iterations allowed, whichever is further.
    """

    def __init__(self, problem: PSDProblem, stopping: StoppingRule) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._rules = stopping.rules if isinstance(stopping, AnyOf) else (stopping,)
        self._scale = problem.scale
        self._most = min((rule.count for rule in self._rules if isinstance(rule, MaxIterations)), default=0)
        self._first: dict[StoppingRule, float] = {}
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
        state = f"iteration {record.iteration}, objective {record.objective:.1e}"
        if record.gradient_norm is not None:
            state += f", gradient {record.gradient_norm:.1e}"
        self._bar.update(self._task, completed=self.share(record), state=state)

    def share(self, record: Record) -> float:
        """How far along this record is, between 0 and 1."""
        done = record.iteration / self._most if self._most else 0.0
        for rule in self._rules:
            now, bound = self._watched(rule, record)
            if now is None or not (now > 0 and bound > 0):
                continue
            first = self._first.setdefault(rule, now)
            if bound < first:
                done = max(done, log(first / now) / log(first / bound))
        return min(max(done, 0.0), 1.0)

    def _watched(self, rule: StoppingRule, record: Record) -> tuple[float | None, float]:
        """What a rule looks at, and where it stops."""
        match rule:
            case RelativeGradientNormBelow(tol):
                return record.relative_gradient_norm, tol
            case GradientNormBelow(bound):
                return record.gradient_norm, bound
            case DetailBelow(name, bound, relative):
                return record.details.get(name), bound * (self._scale if relative else 1.0)
            case _:
                return None, 0.0
