"""Trials in parallel processes, one thread each, so that their CPU times are comparable."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import process_time

from unrelu._old.base.errors import InputError
from unrelu._old.experiments.base import Experiment, Row, Task

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


def run_all(todo: Sequence[tuple[Experiment, Task]], jobs: int) -> Generator[Finished, None, None]:
    """Run trials given by their experiment and their task; yield each as it ends.

    Closing it early (an error while storing, a KeyboardInterrupt) ends the processes.
    """
    if not todo:
        return
    waiting = list(reversed(todo))
    with _one_thread():
        team = _Team(min(jobs, len(todo)))
    with team:
        while waiting or team.busy:
            waiting = team.give(waiting)
            yield from team.ended()


class _Team:
    """Processes that run trials, a pipe to each: nothing is shared that would have to be cleared away."""

    # One that runs and one in reserve, so that no process waits for us; not more, so that the end is quick.
    RESERVE = 2

    def __init__(self, size: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._given: dict[Connection, int] = {}
        self._processes: list[BaseProcess] = []
        # A terminal sends Ctrl-C to all of us. It is the parent's business: a child never hears of it, from its first
        # moment on. The tracker that Python starts along with the first child would undo that, so it comes before.
        if os.name == "posix":
            from multiprocessing.resource_tracker import ensure_running

            ensure_running()
        for _ in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs,), daemon=True)
            with _deaf():
                process.start()
                self._processes.append(process)
            theirs.close()
            self._given[ours] = 0

    def __enter__(self) -> _Team:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.end()
        for pipe in self._given:
            pipe.close()  # which a process without work takes as the end
        for process in self._processes:
            process.join()

    @property
    def busy(self) -> bool:
        """Whether a trial is under way."""
        return any(self._given.values())

    def give(self, waiting: list[tuple[Experiment, Task]]) -> list[tuple[Experiment, Task]]:
        """Give out work, from the end of the list; what is left of it is returned."""
        for level in range(self.RESERVE):
            for pipe, given in self._given.items():
                if waiting and given <= level:
                    with _alive():
                        pipe.send(waiting[-1])
                    self._given[pipe] += 1
                    waiting = waiting[:-1]
        return waiting

    def ended(self) -> Iterator[Finished]:
        """The trials that have ended, at least one."""
        for pipe in wait([pipe for pipe, given in self._given.items() if given]):
            assert isinstance(pipe, Connection)
            with _alive():
                finished = pipe.recv()
            self._given[pipe] -= 1
            yield finished

    def end(self) -> None:
        """Stop at once; what they had not told is lost."""
        for process in self._processes:
            process.kill()


@contextmanager
def _alive() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise InputError(
            "a process that ran trials was ended from outside, perhaps for want of memory; finished trials are "
            "kept: give the same command again, with fewer --jobs"
        ) from None


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started inside never hear of Ctrl-C."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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


def _serve(pipe: Connection) -> None:
    """In each process: run what comes, until nothing comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # no library takes a second thread
    with suppress(EOFError, OSError):  # the parent has no more work, or is no more
        while True:
            pipe.send(_run(*pipe.recv()))


def _leave_with_parent() -> None:
    """A parent that was killed cannot end us, and we would wait for it forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(experiment: Experiment, task: Task) -> Finished:
    began = process_time()
    try:
        found = experiment.quietly(task)
    except Exception as error:  # one bad trial must not cost the others
        return Finished(experiment.name, task, None, process_time() - began, f"{type(error).__name__}: {error}")
    return Finished(experiment.name, task, found, process_time() - began)
