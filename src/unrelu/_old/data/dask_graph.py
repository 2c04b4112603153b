"""Graphs of tasks, run by whatever scheduler of dask the caller has: on a cluster, or here in threads.

Nothing here schedules, and nothing tries again: dask does. What a task cannot do for a reason that will not pass is a
sentence, which travels in the place of a result, so that nobody tries it four times.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import uuid4

from unrelu._old.base.budget import checkpoint
from unrelu._old.base.engines import SUMS_AT_ONCE
from unrelu._old.base.errors import InputError
from unrelu._old.data.counted import said

__all__ = [
    "Key",
    "Sides",
    "failing",
    "memory",
    "named",
    "needed",
    "places_of",
    "run",
    "summed",
    "task",
    "unhurried",
    "where",
    "workers",
]

# As dask names the parts of an array: a name, and numbers.
Key = tuple[Any, ...]
# How often a task that failed is tried again; workers that die are counted by the scheduler itself.
RETRIES = 3
# Options of mallopt, and how many bytes a worker keeps.
MMAP_THRESHOLD, TRIM_THRESHOLD, KEPT = -3, -1, 1 << 25
# What tells that a client or its cluster is not there any more.
LOST = (
    "FutureCancelledError",
    "CancelledError",
    "CommClosedError",
    "TimeoutError",
    "ClosedClientError",
)
# What a scheduler says of results that were kept for a client which has gone since.
GONE = "Missing dependency"
ADVICE = "see that array.compute() works, and call again"


@dataclass(frozen=True)
class Refused:
    """What comes in the place of a result that cannot be had."""

    words: str


def task(function: Callable[..., Any], *given: Any) -> tuple[Any, ...]:
    """A task of a graph: what is given are keys, or things that are no text, no tuple and no list."""
    return (_carefully, function, *given)


def _carefully(function: Callable[..., Any], *given: Any) -> Any:
    """A result; or the first sentence that says why there is none."""
    for one in given:
        if isinstance(one, Refused):
            return one
    try:
        return function(*given)
    except InputError as error:
        return Refused(str(error))


@cache
def unhurried() -> None:
    """Let this worker keep memory that it has just used, as every other process does.

    Workers of dask start with MALLOC_TRIM_THRESHOLD_=65536, with which glibc asks the system anew for each array of
    more than 128 KiB: passes over chunks, which use such arrays again and again, take twice as long.
    """
    if os.environ.get("MALLOC_TRIM_THRESHOLD_") and sys.platform == "linux":
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL("libc.so.6")
            for option in (MMAP_THRESHOLD, TRIM_THRESHOLD):
                library.mallopt(option, KEPT)


def named(what: str) -> str:
    """A name that no other graph has."""
    return f"unrelu-{what}-{uuid4().hex}"


def needed(graph: dict[Key, Any], keys: list[Key]) -> dict[Key, Any]:
    """The tasks that some need, and no more: a scheduler is sent all that it is given."""
    from dask.optimization import cull

    found: dict[Key, Any] = dict(cull(graph, keys)[0])
    return found


def places_of(sizes: Sequence[int]) -> list[slice]:
    """Where pieces of these sizes lie, one after the other.

    Examples
    --------
    >>> places_of((2, 3))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    found, start = [], 0
    for size in sizes:
        found.append(slice(start, start + int(size)))
        start += int(size)
    return found


@dataclass(frozen=True)
class Sides:
    """For each result of a sum, which of its two parts is meant: 0 for its rows, 1 for its columns."""

    numbers: tuple[int, ...]


def summed(graph: dict[Key, Any], name: Key, parts: Sequence[tuple[Key, int]], add: Callable[..., Any]) -> Key:
    """Put a tree of sums into a graph; the key of the last.

    Parameters
    ----------
    graph : dict
    name : key
        What the keys of the sums begin with.
    parts : list of (key, side)
        Results, and which part of each is meant.
    add : callable
        Takes :class:`Sides` and results, and returns a result whose part 0 is the sum.
    """
    level = 0
    while True:
        above: list[tuple[Key, int]] = []
        for k in range(0, len(parts), SUMS_AT_ONCE):
            some, key = parts[k : k + SUMS_AT_ONCE], (*name, level, k // SUMS_AT_ONCE)
            graph[key] = task(add, Sides(tuple(side for _, side in some)), *(part for part, _ in some))
            above.append((key, 0))
        if len(above) == 1:
            return above[0][0]
        parts, level = above, level + 1


def run(
    graph: Mapping[Key, Any],
    wanted: Sequence[Key],
    told: Callable[[Key], object] = lambda key: None,
    stay: Sequence[Key] = (),
) -> tuple[list[Any], dict[Key, Any]]:
    """Run a graph: results of the tasks ``wanted`` come here, in their order, and those that ``stay`` are referred to.

    Parameters
    ----------
    graph : dict
        Tasks by their keys, and those of the arrays they are made of.
    wanted : list of keys
    told : callable
        Hears of each task of ``wanted`` that is done.
    stay : list of keys
        Results that the next graph will need: on a cluster they stay on their workers while somebody holds what is
        returned for them, which goes into that graph in their place.

    Raises
    ------
    InputError
        If a task refused, or failed for good. Whatever ends it, what was submitted is cancelled.
    """
    get = _scheduler()
    client = getattr(get, "__self__", None)
    if hasattr(client, "cancel"):
        return _on_cluster(client, dict(graph), list(wanted), told, list(stay))
    found = _here(get, dict(graph), [*wanted, *stay], set(wanted), told)
    values = [_checked(value) for value in found[: len(wanted)]]
    return values, dict(zip(stay, map(_checked, found[len(wanted) :]), strict=True))


class _Ended(BaseException):
    """Who is told of a task has ended the run."""


def _here(
    get: Any, graph: dict[Key, Any], keys: list[Key], watched: set[Key], told: Callable[[Key], object]
) -> list[Any]:
    from dask.callbacks import Callback

    def done(key: Any, *_: Any) -> None:
        try:
            checkpoint()
            if key in watched:
                told(key)
        except Exception as error:
            raise _Ended from error

    try:
        with Callback(posttask=done), failing():
            return list(get(graph, keys))
    except _Ended as end:
        raise end.__cause__ or end from None


def _on_cluster(
    client: Any, graph: dict[Key, Any], wanted: list[Key], told: Callable[[Key], object], stay: list[Key]
) -> tuple[list[Any], dict[Key, Any]]:
    from distributed import as_completed

    futures: list[Any] = []
    try:
        with failing(), _of_any_size():
            futures = list(client.get(graph, [*wanted, *stay], sync=False, retries=RETRIES))
            waiting = iter(as_completed(futures))
        asked = {future.key: key for future, key in zip(futures, wanted, strict=False)}
        while True:
            with failing():
                future = next(waiting, None)
                if future is None:
                    break
                if future.status != "finished":
                    future.result()  # raises what went wrong
            if future.key in asked:
                told(asked[future.key])
            checkpoint()
        with failing():
            values = [_checked(value) for value in client.gather(futures[: len(wanted)])]
    except BaseException:
        # Also on Ctrl-C: what was submitted is not wanted any more.
        with suppress(Exception):  # a client that is closed has nobody to tell
            client.cancel(futures, force=True)
        raise
    return values, dict(zip(stay, futures[len(wanted) :], strict=True))


def _scheduler() -> Any:
    """Who runs graphs: the client that is connected, what the caller has configured, or threads."""
    from dask.base import get_scheduler
    from dask.threaded import get

    try:
        return get_scheduler() or get
    except (ValueError, TypeError) as error:
        raise InputError(
            f"dask is configured for a scheduler that it does not know ({said(error)}); set it to 'threads', or "
            "connect a Client"
        ) from error


def workers() -> int | None:
    """How many workers the cluster has; None if there is no cluster."""
    client: Any = getattr(_scheduler(), "__self__", None)
    if not hasattr(client, "nthreads"):
        return None
    with _asking():
        return len(client.nthreads())


def memory() -> int | None:
    """Bytes that the workers of a cluster may take, together; None where nobody has set a limit."""
    client: Any = getattr(_scheduler(), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        return None
    with _asking():
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(worker["memory_limit"] for worker in workers) or None


@contextmanager
def _asking() -> Iterator[None]:
    """A question to a scheduler, which may be gone."""
    try:
        yield
    except Exception as error:
        raise _lost(error) from error


def _lost(error: Exception) -> InputError:
    return InputError(
        f"the cluster lost what it was computing ({said(error)}); see that its scheduler and workers run, and call "
        "again"
    )


def where() -> str:
    """Where graphs run, in words."""
    count = workers()
    if count is None and "multiprocessing" in getattr(_scheduler(), "__module__", ""):
        return "in processes"
    return "in threads" if count is None else f"on {count} worker{'' if count == 1 else 's'}"


def _checked(value: Any) -> Any:
    if isinstance(value, Refused):
        raise InputError(value.words)
    return value


@contextmanager
def _of_any_size() -> Iterator[None]:
    """Factors are part of a graph on purpose: a worker that dies takes none with it. So nobody need be warned."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield


@contextmanager
def failing() -> Iterator[None]:
    """What may go wrong inside tasks as one sentence."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        name = type(error).__name__
        if name == "KilledWorker":
            raise InputError(
                "the workers that computed a block died, one after the other; give them more memory, or write the data "
                "in smaller chunks"
            ) from error
        if str(error).startswith(GONE):
            raise InputError(
                "the cluster has let go of data that were persisted by a client which has been closed; connect one, "
                "persist them again, and call again"
            ) from error
        if name in LOST:
            raise _lost(error) from error
        raise InputError(f"dask failed to compute a block ({said(error)}); {ADVICE}") from error
