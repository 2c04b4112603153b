"""Who owns the cores during a solve: tiles run in parallel, and BLAS has one thread in each.

A pass over the matrix is many small products and element-wise steps. BLAS threads help only the products and fight
with ours over the cores, so a solve runs tiles on a thread pool (NumPy lets go of the interpreter lock inside each
step) with BLAS held to one thread. How tiles are grouped never depends on the number of threads, so neither does any
result.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (loads SciPy's BLAS, so that the controller below sees it)
from threadpoolctl import ThreadpoolController

from unrelu._old.base.budget import checkpoint

__all__ = ["in_order", "map_chunks", "owning_the_cores"]

Chunk = TypeVar("Chunk")
Data = TypeVar("Data")
Result = TypeVar("Result")


@cache
def _controller() -> Any:
    return ThreadpoolController()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="unrelu")


class _Cores:
    """Who holds BLAS to one thread: the first to come does, the last to leave lets go."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.owners = 0
        self.workers = 1
        self.limit: Any = None


_cores = _Cores()


@contextmanager
def owning_the_cores() -> Iterator[int]:
    """Give tiles the threads that BLAS would have used, and BLAS one; nested and overlapping uses share them."""
    cores = _cores
    with cores.lock:
        if cores.owners == 0:
            blas = [library["num_threads"] for library in _controller().info() if library["user_api"] == "blas"]
            cores.workers = max(blas, default=1)
            cores.limit = _controller().limit(limits=1, user_api="blas")
            cores.limit.__enter__()
        cores.owners += 1
    try:
        yield cores.workers
    finally:
        if cores is _cores:  # else this is a child that was forked inside, and it has its own
            with cores.lock:
                cores.owners -= 1
                if cores.owners == 0:
                    cores.limit.__exit__(None, None, None)
                    cores.workers = 1


def _begin_anew() -> None:
    """A forked child inherits the pool without its threads, and the limit without those who would lift it."""
    global _cores
    _pool.cache_clear()
    inherited, _cores = _cores, _Cores()
    if inherited.owners:
        inherited.limit.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def map_chunks(function: Callable[[Chunk], Result], chunks: Sequence[Chunk], *, threads: bool = True) -> list[Result]:
    """Results of ``function`` on each chunk, in the order of the chunks; without ``threads`` in that of the caller."""
    checkpoint()
    if _cores.owners == 0:  # from outside the front doors: a pass beside a busy core takes up to 50 times as long
        with owning_the_cores():
            return map_chunks(function, chunks, threads=threads)
    workers = _cores.workers if threads else 1
    if min(workers, len(chunks)) < 2:
        return [function(chunk) for chunk in chunks]
    return list(_pool(workers).map(function, chunks))


def in_order(
    items: Sequence[Chunk], read: Callable[[Chunk], Data], work: Callable[[Chunk, Data], Result], *, threads: bool
) -> Iterator[Result]:
    """``work(item, read(item))`` for each item, in the order of the items, with few of them in memory at once.

    With ``threads`` each core reads and works on items of its own, so that one item is read while another is worked on.
    Without, only the caller's thread reads, and it reads ahead of the others.
    """
    with owning_the_cores() as workers:
        if workers < 2 or len(items) < 2:
            for item in items:
                checkpoint()
                yield work(item, read(item))
            return
        pool, waiting = _pool(workers), deque[Future[Result]]()
        try:
            for item in items:
                checkpoint()
                if threads:
                    waiting.append(pool.submit(lambda one: work(one, read(one)), item))
                else:
                    waiting.append(pool.submit(work, item, read(item)))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()
