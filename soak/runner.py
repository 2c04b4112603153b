"""Workers that try one instance after the other, and a parent that hears them and outlives their deaths."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from soak.catalogue import drawn
from soak.trial import HANG, facts, trial

__all__ = ["run", "work"]

ROOT = Path(__file__).resolve().parent.parent
# One BLAS thread per worker: more only stand in each other's way at these sizes.
ALONE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# A worker that cannot even raise the alarm is ended this much later.
GRACE = 60

Record = dict[str, Any]


def work(baseline: bool) -> None:
    """A worker: names on standard input, one a line; records on what was standard output, nothing else gets there."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.dup2(writing, 1)
    for line in sys.stdin:
        name = line.strip()
        record = _facts_of(name) if baseline else trial(name)
        sys.stdout.flush()
        stray = _drained(reading)
        if stray and not baseline:
            record["findings"]["printed"] = f"standard output got {stray[:80]!r}"
        told.write(json.dumps(record) + "\n")


def _facts_of(name: str) -> Record:
    from soak.answer import asked

    instance = drawn(name)
    return {"name": name} | facts(instance, asked(instance, everything=False))


def _drained(reading: int) -> bytes:
    try:
        return os.read(reading, 1 << 16)
    except BlockingIOError:
        return b""


class Worker:
    """One process, what it is at, and since when."""

    def __init__(self, source: str | None, baseline: bool, answers: queue.Queue[tuple[Worker, str | None]]) -> None:
        paths = [path for path in (source, str(ROOT), os.environ.get("PYTHONPATH")) if path]
        command = [sys.executable, "-m", "soak", "work", *(["--baseline"] if baseline else [])]
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
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put((self, line))
        self._answers.put((self, None))

    def ask(self, name: str) -> None:
        """Hand over the next instance."""
        assert self.process.stdin is not None
        self.name, self.since = name, time.monotonic()
        try:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its end is told by the listener

    def end(self) -> None:
        """Stop it, whatever it is at."""
        self.process.kill()
        self.process.wait()


def run(
    names: Iterable[str],
    told: Callable[[Record], None],
    *,
    seconds: float = float("inf"),
    workers: int = 2,
    source: str | None = None,
    baseline: bool = False,
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
    baseline : bool
        Facts only, no checks.
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
            hand_over(Worker(source, baseline, answers))
        while busy:
            try:
                worker, line = answers.get(timeout=5)
            except queue.Empty:
                for late in [one for one in busy.values() if time.monotonic() - one.since > HANG + GRACE]:
                    late.process.kill()  # its listener tells the rest
                continue
            if id(worker) not in busy:
                continue
            if line is None:
                told(_lost(worker))
                del busy[id(worker)]
                hand_over(Worker(source, baseline, answers))
            else:
                told(json.loads(line))
                hand_over(worker)
    finally:
        for worker in list(busy.values()):
            worker.end()


def _lost(worker: Worker) -> Record:
    """A record of an instance that took its worker with it."""
    code = worker.process.wait()
    waited = time.monotonic() - worker.since
    stuck = waited > HANG
    words = f"no answer after {waited:.0f} s" if stuck else f"the process died with {_signal_name(code)}"
    instance = drawn(worker.name)
    return {
        "name": worker.name, "kind": instance.kind, "group": instance.group, "about": instance.about, "code": "none",
        "converged": False, "right": False, "rows": [], "right_rows": [], "noise": instance.noise, "covered": [0, 0],
        "seconds": round(waited, 3), "companion": instance.companion, "findings": {"hang" if stuck else "died": words},
    }  # fmt: skip


def _signal_name(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
