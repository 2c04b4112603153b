"""How much time a call may still take, and what it is doing: one clock for every room that a call goes through.

A front door opens a budget; whatever takes long calls :func:`checkpoint` between pieces of work of a fraction of a
second. Past the deadline that raises :class:`OutOfTime`, which the front door turns into the best answer so far, as it
does with Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

__all__ = ["Budget", "OutOfTime", "budget", "checkpoint", "current", "phase", "unlimited"]


class OutOfTime(Exception):
    """The time that the caller gave is over; caught by the front door, never seen by the caller."""


@dataclass(eq=False)
class Budget:
    """One call's clock.

    Attributes
    ----------
    seconds : float or None
        How long the call may take; None: as long as it likes.
    told : callable or None
        Called with the name of each phase as it begins.
    """

    seconds: float | None = None
    told: Callable[[str], object] | None = None
    began: float = field(default_factory=perf_counter)
    cpu_began: float = field(default_factory=process_time)

    @property
    def spent(self) -> float:
        """Seconds of wall-clock time since the call began."""
        return perf_counter() - self.began

    @property
    def cpu_spent(self) -> float:
        """Seconds of processor time since then."""
        return process_time() - self.cpu_began

    @property
    def times(self) -> dict[str, Any]:
        """Both, under the names that results have for them."""
        return dict(seconds=self.spent, cpu_seconds=self.cpu_spent)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.seconds is not None and self.spent >= self.seconds


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(seconds: float | None = None, told: Callable[[str], object] | None = None) -> Iterator[Budget]:
    """Open a budget for the block; an outer one that ends earlier still holds.

    Examples
    --------
    >>> with budget(seconds=3600) as clock:
    ...     checkpoint()
    >>> clock.over
    False
    >>> with budget(seconds=1e-9):
    ...     checkpoint()
    Traceback (most recent call last):
    unrelu._old.base.budget.OutOfTime
    """
    outer = _current.get()
    if outer is not None and outer.seconds is not None:
        left = outer.seconds - outer.spent
        seconds = left if seconds is None else min(seconds, left)
    opened = Budget(seconds, told if told is not None or outer is None else outer.told)
    token = _current.set(opened)
    try:
        yield opened
    finally:
        _current.reset(token)


@contextmanager
def unlimited() -> Iterator[None]:
    """Let the block end in peace: what gathers the answer when the time is over."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Budget | None:
    """The budget of the call that is running, if one was opened."""
    return _current.get()


def checkpoint() -> None:
    """Raise :class:`OutOfTime` if the time of the running call is over; costs a microsecond."""
    opened = _current.get()
    if opened is not None and opened.over:
        raise OutOfTime


def phase(name: str) -> None:
    """Say what the running call does from here on, for progress displays; a checkpoint too."""
    checkpoint()
    opened = _current.get()
    if opened is not None and opened.told is not None:
        opened.told(name)
