"""Worker processes that try one instance after the other, and a parent that survives their deaths."""

import ctypes
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from unittest.mock import patch

from soak.answer import Answer
from soak.catalogue import drawn
from soak.instance import Record
from soak.trial import facts, trial

# One BLAS thread per worker: the problems are small.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Seconds after which a worker is killed.
STUCK = 900


def _work(connection: Connection) -> None:
    """Send a record for each name received; what Python or a C library writes to standard output is a finding."""
    with tempfile.TemporaryFile() as stray, suppress(EOFError, KeyboardInterrupt):
        os.dup2(stray.fileno(), 1)
        while True:
            start = stray.seek(0, os.SEEK_END)
            record = trial(connection.recv())
            sys.stdout.flush()
            ctypes.CDLL(None).fflush(None)
            stray.seek(start)
            text = stray.read()
            if text:
                record["findings"]["printed"] = f"standard output got {text[:80]!r}"
            connection.send(record)


class Worker:
    """A process, the instance it tries, and since when."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other_end = context.Pipe()
        self.process = context.Process(target=_work, args=(other_end,), daemon=True)
        with patch.dict(os.environ, ONE_THREAD):
            self.process.start()
        other_end.close()

    def begin(self, name: str) -> None:
        """Start the next instance."""
        self.name, self.since = name, time.monotonic()
        with suppress(OSError):  # a dead process is noticed when its record is awaited
            self.connection.send(name)

    def record(self) -> Record | None:
        """Return the record, or None if the process died."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> int:
        """Kill the process and return its exit code."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode or 0


def run(
    names: Iterable[str], report: Callable[[Record], None], *, seconds: float = float("inf"), workers: int = 2
) -> None:
    """Try instances in turn until none or no time is left; report the record of each.

    Parameters
    ----------
    names : iterable of str
    report : callable
        Receives every record.
    seconds : float
    workers : int
    """
    left, deadline = iter(names), time.monotonic() + seconds
    busy: dict[Connection, Worker] = {}

    def begin_next(worker: Worker | None) -> None:
        name = next(left, None) if time.monotonic() < deadline else None
        if name is not None:
            worker = worker or Worker()
            busy[worker.connection] = worker
            worker.begin(name)
        elif worker:
            worker.end()

    try:
        for _ in range(workers):
            begin_next(None)
        while busy:
            for connection in wait(list(busy), timeout=5):
                worker: Worker | None = busy.pop(connection)
                record = worker.record()
                if record is None:
                    record, worker = _lost(worker), None
                report(record)
                begin_next(worker)
            for late in [worker for worker in busy.values() if time.monotonic() - worker.since > STUCK]:
                late.process.kill()
    finally:
        for worker in busy.values():
            worker.end()


def _lost(worker: Worker) -> Record:
    """Return the record of an instance that ended its worker."""
    waited, code = time.monotonic() - worker.since, worker.end()
    cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    died = {"died": f"the process died with {cause}"}
    findings = {"hang": f"no answer after {waited:.0f} s"} if waited > STUCK else died
    return facts(drawn(worker.name), Answer(seconds=waited)) | {"findings": findings}
