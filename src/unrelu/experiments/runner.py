"""Trials in parallel processes, one thread each, so that their CPU times are comparable."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from unrelu.errors import InputError
from unrelu.experiments.base import Row, Task
from unrelu.experiments.inline import run_trial

__all__ = ["Finished", "cores", "run_all"]

# Read by the libraries when they are loaded, hence set before the processes start.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Finished:
    """A trial that ended: with what it found, or with what went wrong."""

    name: str
    task: Task
    found: Row | None
    seconds: float
    trouble: str = ""


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(todo: Sequence[tuple[str, Task]], jobs: int) -> Generator[Finished, None, None]:
    """Run trials given by the name of their experiment and their task; yield each as it ends.

    Closing it early (Ctrl-C, an error while storing) ends the processes.
    """
    if not todo:
        return
    before = set(multiprocessing.active_children())
    with _one_thread():
        pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare)
        waiting = list(reversed(todo))
        running: dict[Future[Finished], tuple[str, Task]] = {}
        try:
            while waiting or running:
                # A few in reserve, so that no process waits for us; not all, so that the end is quick.
                while waiting and len(running) < 2 * jobs:
                    name, task = waiting.pop()
                    running[pool.submit(_run, name, task)] = (name, task)
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    del running[future]
                    yield future.result()
        except BrokenProcessPool:
            raise InputError(
                "a process that ran trials was ended from outside, perhaps for want of memory; finished trials are "
                "kept: give the same command again, with fewer --jobs"
            ) from None
        finally:
            for process in set(multiprocessing.active_children()) - before if waiting or running else ():
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread() -> Iterator[None]:
    old = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in old.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _prepare() -> None:
    """In each process: Ctrl-C is the parent's business, no library takes a second thread, no parent means the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def _leave_with_parent() -> None:
    """A parent that was killed cannot end us, and we would wait for it forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(name: str, task: Task) -> Finished:
    from unrelu.experiments.registry import EXPERIMENTS

    began = perf_counter()
    try:
        found = run_trial(EXPERIMENTS[name], task)
    except Exception as error:  # one bad trial must not cost the others
        return Finished(name, task, None, perf_counter() - began, f"{type(error).__name__}: {error}")
    return Finished(name, task, found, perf_counter() - began)
