"""How a call shows that it lives: a bar that knows how far the gradient has to fall, or lines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import log
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Any

from unrelu._old.loop.history import Record
from unrelu._old.loop.stopping import (
    AnyOf,
    DetailBelow,
    GradientNormBelow,
    MaxIterations,
    RelativeGradientNormBelow,
    StoppingRule,
)
from unrelu._old.problems.psd import PSDProblem

__all__ = ["Bar", "Lines", "Spinner"]

# Iterations between two lines.
EVERY = 10
# Seconds after which a phase that goes on is named, and between two assurances that it still does.
SOON, STILL = 1.0, 10.0


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
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),  # standard output belongs to the result
            transient=True,
        )
        self._task = self._bar.add_task("completing", total=1.0, state="starting")

    def __enter__(self) -> Bar:
        with suppress(OSError):  # a terminal that has gone away is no reason to stop
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._bar.stop()

    def also(self, callback: Callable[[Record], Any] | None) -> Callable[[Record], Any]:
        """A callback that moves the bar and then calls the other one."""

        def both(record: Record) -> Any:
            self.show(record)
            return None if callback is None else callback(record)

        return both

    def phase(self, name: str) -> None:
        """Show what the call does from here on."""
        self._bar.update(self._task, description=name, state="")

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


class Spinner:
    """Shows on a terminal what goes on where there is nothing to count; nothing until a phase is named."""

    def __init__(self) -> None:
        self._status: Any = None

    def __enter__(self) -> Spinner:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            with suppress(OSError):
                self._status.stop()

    def phase(self, name: str) -> None:
        """Show what the call does from here on."""
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(name)
        with suppress(OSError):  # a terminal that has gone away is no reason to stop
            self._status.start()
            self._status.update(name)


class Lines:
    """A callback that says every tenth iteration in a line, and what else goes on if that takes a while.

    Parameters
    ----------
    say : callable
        Takes a line; called from a thread of its own, too.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._name = self._told = ""
        self._began = self._last = monotonic()
        self._ended = Event()
        self._thread = Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Lines:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def __call__(self, record: Record) -> None:
        """Say every tenth record."""
        if record.iteration % EVERY == 0:
            norm = "" if record.gradient_norm is None else f", gradient norm {record.gradient_norm:.3e}"
            self._say(f"iteration {record.iteration}: objective {record.objective:.3e}{norm}")
            self._last = monotonic()

    def phase(self, name: str) -> None:
        """Remember what the call does from here on; it is said if the call still does it a little later."""
        if name != self._name:
            self._name, self._began = name, monotonic()

    def _tick(self) -> None:
        while not self._ended.wait(SOON / 4):
            self.look(monotonic())

    def look(self, now: float) -> None:
        """Say the phase if it is new and has gone on for a second, or if nothing was said for ten."""
        name, lasted, silent = self._name, now - self._began, now - self._last
        if name and min(lasted, silent) >= SOON and (name != self._told or silent >= STILL):
            self._say(f"{name}, {lasted:.0f} s so far")
            self._told, self._last = name, now
