"""How a run over rows shows how far it has come: a bar on a terminal, or lines for a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Any, Protocol, Self, runtime_checkable

from unrelu._old.loop.history import Record
from unrelu._old.loop.progress import SOON, STILL, Lines

__all__ = ["NoRows", "RowLines", "Rows", "RowsBar", "rows_watched"]

# Seconds in a minute, and minutes in an hour.
SIXTY = 60


@runtime_checkable
class Rows(Protocol):
    """Whom a run over rows tells what it does. Any thread may tell."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def begin(self, phase: str, rows: int) -> None:
        """Say what is done from here on, and with how many rows."""

    def advance(self, rows: int, bytes_read: int) -> None:
        """Say that so many more rows are done, and so many more bytes were read for them."""

    def phase(self, name: str) -> None:
        """Say what is done from here on, where no rows are counted."""


class NoRows:
    """Nobody is told anything."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def begin(self, phase: str, rows: int) -> None:
        """Nobody listens."""

    def advance(self, rows: int, bytes_read: int) -> None:
        """Nobody listens."""

    def phase(self, name: str) -> None:
        """Nobody listens."""


class RowsBar:
    """Shows on a terminal what goes on, how many rows are done, how much was read, and how long it will take.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to draw. Default: standard error, for standard output belongs to the result.
    """

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._lock, self._rows, self._read = Lock(), 0, 0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[done]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True) if console is None else console,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None, done="")

    def __enter__(self) -> Self:
        with suppress(OSError):  # a terminal that has gone away is no reason to stop
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._bar.stop()

    def begin(self, phase: str, rows: int) -> None:
        """Say what is done from here on, and with how many rows."""
        with self._lock, suppress(OSError):
            self._rows = rows
            self._bar.reset(self._task, total=rows, description=phase, done=self._words(0))

    def advance(self, rows: int, bytes_read: int) -> None:
        """Say that so many more rows are done, and so many more bytes were read for them."""
        with self._lock, suppress(OSError):
            self._read += bytes_read
            done = int(self._bar.tasks[0].completed) + rows
            self._bar.update(self._task, advance=rows, done=self._words(done))

    def phase(self, name: str) -> None:
        """Say what is done from here on, where no rows are counted."""
        with self._lock, suppress(OSError):
            self._rows = 0
            self._bar.reset(self._task, total=None, description=name, done=self._words(0))

    def _words(self, done: int) -> str:
        return _counted(done, self._rows, self._read)


class RowLines(Lines):
    """The same in lines, one every ten seconds; a callback that says nothing of single iterations.

    Parameters
    ----------
    say : callable
        Takes a line; called from a thread of its own, too.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        super().__init__(say)
        self._lock = Lock()
        self._rows = self._done = self._read = 0

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __call__(self, record: Record) -> None:
        """Say nothing: what is solved on the way is small."""

    def begin(self, phase: str, rows: int) -> None:
        """Say what is done from here on, and with how many rows."""
        with self._lock:
            self._name, self._began, self._rows, self._done = phase, monotonic(), rows, 0

    def advance(self, rows: int, bytes_read: int) -> None:
        """Say that so many more rows are done, and so many more bytes were read for them."""
        with self._lock:
            self._done += rows
            self._read += bytes_read

    def phase(self, name: str) -> None:
        """Remember what is done from here on, where no rows are counted."""
        with self._lock:
            if name != self._name:
                self._rows = self._done = 0
                super().phase(name)

    def look(self, now: float) -> None:
        """Say how far it has come if the phase is new and has gone on for a second, or if nothing was said for ten."""
        with self._lock:
            if not self._rows:
                super().look(now)
                return
            name, lasted, silent = self._name, now - self._began, now - self._last
            if min(lasted, silent) < SOON or (name == self._told and silent < STILL):
                return
            left = lasted * (self._rows - self._done) / self._done if self._done else None
            words = f"{name}: {_counted(self._done, self._rows, self._read)}"
            self._told, self._last = name, now
        self._say(words if left is None else f"{words}, about {_duration(left)} left")


@contextmanager
def rows_watched(progress: bool, callback: Any = None) -> Iterator[Rows]:
    """Whom a run over rows tells: the callback if it listens to rows, a bar if one is wanted, else nobody.

    The callback is the caller's, who has begun it and will end it.

    Examples
    --------
    >>> with rows_watched(False) as nobody:
    ...     nobody.begin("attaching rows", 10)
    >>> lines = RowLines(print)
    >>> with rows_watched(True, lines) as rows:
    ...     rows is lines
    True
    """
    if isinstance(callback, Rows):
        yield callback
        return
    with RowsBar() if progress else NoRows() as rows:
        yield rows


def _counted(done: int, rows: int, read: int) -> str:
    """How many of the rows are done, and how much was read."""
    from rich.filesize import decimal

    parts = [f"{done:,} of {rows:,} rows"] if rows else []
    return ", ".join([*parts, f"{decimal(read)} read"] if read else parts)


def _duration(seconds: float) -> str:
    """Time as people say it.

    Examples
    --------
    >>> _duration(9.6), _duration(600), _duration(3 * 3600 + 61)
    ('10 s', '10 min', '3 h 1 min')
    """
    if seconds < SIXTY:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / SIXTY), SIXTY)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
