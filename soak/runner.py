"""Workers that try one instance after the other, and a parent that hears them and outlives their deaths."""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from soak.answer import asked
from soak.catalogue import drawn
from soak.trial import facts, trial

__all__ = ["run", "work"]

ROOT = Path(__file__).resolve().parent.parent
# One BLAS thread per worker: more only stand in each other's way at these sizes.
ALONE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Seconds by the clock after which a worker is ended that cannot even raise the alarm.
SILENT = 900

Record = dict[str, Any]


def work(only_facts: bool) -> None:
    """A worker: names on standard input, one a line; records on what was standard output, nothing else gets there."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    with tempfile.TemporaryFile() as stray:
        os.dup2(stray.fileno(), 1)
        for line in sys.stdin:
            record = _facts_of(line.strip()) if only_facts else trial(line.strip())
            words = _drained(stray)
            if words and not only_facts:
                record["findings"]["printed"] = f"standard output got {words[:80]!r}"
            told.write(json.dumps(record) + "\n")


def _facts_of(name: str) -> Record:
    instance = drawn(name)
    return {"name": name} | facts(instance, asked(instance, everything=False))


def _drained(stray: IO[bytes]) -> bytes:
    """What was written to standard output since the last time, by Python or by a library in C."""
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
    stray.seek(0)
    words = stray.read()
    stray.truncate(0)
    stray.seek(0)
    return words


class Worker:
    """One process, what it is at, and since when."""

    def __init__(self, source: str | None, only_facts: bool, answers: queue.Queue[tuple[Worker, str | None]]) -> None:
        paths = [path for path in (source, str(ROOT), os.environ.get("PYTHONPATH")) if path]
        command = [sys.executable, "-m", "soak", "work", *(["--facts"] if only_facts else [])]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | ALONE | {"PYTHONPATH": os.pathsep.join(paths)},
        )
        self.name, self.since = "", 0.0
        self._answers = answers
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                self._answers.put((self, line))
        self._answers.put((self, None))

    def ask(self, name: str) -> None:
        """Hand over the next instance."""
        assert self.process.stdin is not None
        self.name, self.since = name, time.monotonic()
        with suppress(BrokenPipeError):  # its end is told by the listener
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()

    def end(self) -> int:
        """Stop it, whatever it is at; its exit code."""
        assert self.process.stdin is not None
        self.process.kill()
        code = self.process.wait()
        self._listener.join()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        return code


def run(
    names: Iterable[str],
    told: Callable[[Record], None],
    *,
    seconds: float = float("inf"),
    workers: int = 2,
    source: str | None = None,
    only_facts: bool = False,
) -> None:
    """Try the names in turn until they or the seconds are over; what is under way then is waited for.

    Parameters
    ----------
    names : iterable of str
    told : callable
        Gets every record.
    seconds : float
    workers : int
    source : str, optional
        The ``src`` folder of another checkout, whose package is asked.
    only_facts : bool
        What :mod:`soak.baseline` compares, without checks.
    """
    answers: queue.Queue[tuple[Worker, str | None]] = queue.Queue()
    left: Iterator[str] = iter(names)
    deadline = time.monotonic() + seconds
    busy: dict[int, Worker] = {}

    def hand_over(worker: Worker) -> None:
        name = next(left, None) if time.monotonic() < deadline else None
        if name is None:
            worker.end()
            busy.pop(id(worker), None)
        else:
            busy[id(worker)] = worker
            worker.ask(name)

    try:
        for _ in range(workers):
            hand_over(Worker(source, only_facts, answers))
        while busy:
            try:
                worker, line = answers.get(timeout=5)
            except queue.Empty:
                for late in [one for one in busy.values() if time.monotonic() - one.since > SILENT]:
                    late.process.kill()  # its listener tells the rest
                continue
            if id(worker) not in busy:
                continue
            if line is None:
                told(_lost(worker))
                del busy[id(worker)]
                hand_over(Worker(source, only_facts, answers))
            else:
                told(json.loads(line))
                hand_over(worker)
    finally:
        for worker in list(busy.values()):
            worker.end()


def _lost(worker: Worker) -> Record:
    """A record of an instance that took its worker with it."""
    code = worker.end()
    waited = time.monotonic() - worker.since
    stuck = waited > SILENT
    words = f"no answer after {waited:.0f} s" if stuck else f"the process died with {_signal_name(code)}"
    instance = drawn(worker.name)
    return {
        "name": worker.name, "kind": instance.kind, "group": instance.group, "about": instance.about, "code": "none",
        "converged": False, "right": False, "rows": [], "right_rows": [], "noise": instance.noise, "covered": [0, 0],
        "seconds": round(waited, 3), "companion": instance.companion, "findings": {"hang" if stuck else "died": words},
    }  # fmt: skip


def _signal_name(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
