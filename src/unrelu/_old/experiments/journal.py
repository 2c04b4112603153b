"""Finished trials on disk: one JSON line each, flushed before the next begins, so that a kill loses at most one."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from unrelu._old.base.errors import InputError
from unrelu._old.experiments.base import Row, Task
from unrelu._old.experiments.registry import EXPERIMENTS

__all__ = ["Journal", "key_of"]


def key_of(name: str, task: Task) -> str:
    """What tells a trial apart from every other: the experiment, its edition, and the whole task."""
    return json.dumps([name, _edition(name), task], sort_keys=True)


def _edition(name: str) -> int | None:
    return EXPERIMENTS[name].edition if name in EXPERIMENTS else None


class Journal:
    """An append-only log of trials.

    A line cut short by a kill is dropped when the log is opened; the trial runs again. Only one run may write at a
    time.

    Parameters
    ----------
    path : Path
        The log; made if there is none.

    Attributes
    ----------
    done : dict
        What is in the log: results and seconds by :func:`key_of`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: dict[str, tuple[Row, float]] = {}
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._lock()
            self._read()
        except OSError as error:
            raise self._trouble(error) from error

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such locks on this system; two runs at once are then the caller's business
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise InputError(
                f"another run is writing to {self.path.parent}; wait until it ends, or choose another folder with -o"
            ) from None

    def _read(self) -> None:
        content = self.path.read_bytes() if self.path.is_file() else b""
        whole = content.rfind(b"\n") + 1
        if whole < len(content):  # the last run was killed while it wrote
            os.ftruncate(self._file, whole)
        for line in content[:whole].splitlines():
            try:
                entry = json.loads(line)
                if entry["edition"] == _edition(entry["experiment"]):
                    found = {**entry["found"]}  # an object, or the line is none of ours
                    self.done[key_of(entry["experiment"], entry["task"])] = (found, float(entry["seconds"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # a line damaged on disk is a trial to run again

    def append(self, name: str, task: Task, found: Row, seconds: float) -> None:
        """Keep one trial; it is on the disk when this returns."""
        entry: dict[str, Any] = {"experiment": name, "edition": _edition(name), "task": task}
        entry |= {"seconds": round(seconds, 4), "found": found}
        line = (json.dumps(entry) + "\n").encode()
        size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
            with suppress(OSError):  # some file systems cannot; the line is written all the same
                os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, size)
            raise self._trouble(error) from error
        self.done[key_of(name, task)] = (found, seconds)

    def _trouble(self, error: OSError) -> InputError:
        kept = f"{len(self.done)} finished trial{'' if len(self.done) == 1 else 's'} kept"
        return InputError(
            f"{self.path} cannot be written: {error.strerror or error}; {kept}: free some space or choose another "
            "folder with -o, and give the same command again"
        )

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)
