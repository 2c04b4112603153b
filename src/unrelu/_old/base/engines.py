"""Who did the passes over a matrix, for the verdict: whoever did one says so, and the front door listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["NUMPY", "SUMS_AT_ONCE", "noted", "noting"]

# What everyone expects, and need not be told where nobody else had a part in it.
NUMPY = "NumPy"

# Where many machines add up what each has found, so many sums at once, in a tree.
SUMS_AT_ONCE = 8

_heard: ContextVar[list[str] | None] = ContextVar("engines", default=None)


def noted(engine: str) -> None:
    """Say who does a pass, such as ``"PyTorch on cuda:0 in float32"``."""
    heard = _heard.get()
    if heard is not None and engine not in heard:
        heard.append(engine)


@contextmanager
def noting() -> Iterator[list[str]]:
    """Listen; what was said is in the list, each once, in order. Who listens inside is the one who hears.

    Examples
    --------
    >>> with noting() as engines:
    ...     noted("dask on 2 workers in float64")
    >>> engines
    ['dask on 2 workers in float64']
    """
    heard: list[str] = []
    before = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(before)
