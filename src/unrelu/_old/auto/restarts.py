"""Starts for small problems, where dozens of them are cheap: each kind is different from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.starts.continuation import shrunk, staircase
from unrelu._old.starts.spectral import Tailored

__all__ = ["restarts"]

Make = Callable[[Array | None], Array]

# Further columns that a start with room to move around obstacles begins with.
WIDER = 2


def restarts(problem: PSDProblem, rng: np.random.Generator) -> Iterator[tuple[str, Make]]:
    """Endless pairs: the name of a start, and a function from the best factor so far to a new one (in units)."""

    def gaussian(rank: int) -> Array:
        diagonal = problem.norm / np.sqrt(problem.observations.count)  # the size of an entry
        spread = np.sqrt(diagonal / np.sqrt(rank))
        return (spread * rng.standard_normal((problem.size, rank))).astype(problem.dtype)

    def tailored(_: Array | None) -> Array:
        root = problem.dtype.type(np.sqrt(problem.observations.unit))
        return Tailored()(problem.observations, problem.rank, rng) / root

    def wider(_: Array | None) -> Array:
        return shrunk(problem, gaussian(min(problem.rank + WIDER, problem.size)))

    def shaken(best: Array | None) -> Array:
        if best is None:
            return gaussian(problem.rank)
        rows = rng.random(problem.size) < 0.3
        found = best.copy()
        found[rows] = gaussian(problem.rank)[rows]
        return found

    while True:
        yield "random", lambda _: gaussian(problem.rank)
        yield "random and wider", wider
        yield "another draw", tailored
        yield "shaken", shaken
        yield "staircase", lambda best: gaussian(problem.rank) if best is None else staircase(problem, best)
        yield "random", lambda _: gaussian(problem.rank)
        yield "shaken", shaken
