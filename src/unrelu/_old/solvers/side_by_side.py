"""Hundreds of starts of a small problem at once: Levenberg and Marquardt's steps for all of them in the same products.

At n = 8 and rank 3 a run has 24 unknowns, and nearly all of its time is overhead. Two hundred runs side by side cost
hardly more than one, and what they do not find is most likely not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import SIDE_BY_SIDE_FITTED
from unrelu._old.problems.psd import PSDProblem

__all__ = ["MOST_UNKNOWNS", "all_of_many", "best_of_many", "count_of_starts", "descended", "squares_of"]

# Problems with more unknowns have starts one by one; so many numbers in the equations of all starts, and most starts.
MOST_UNKNOWNS, NUMBERS, MOST_STARTS = 150, 1.5e6, 256
STEPS = 40
# A start whose last ten steps left more than this share of its objective goes nowhere.
IDLE = 0.98


def count_of_starts(unknowns: int) -> int:
    """How many starts are worth their time."""
    return int(min(MOST_STARTS, NUMBERS / max(unknowns, 1) ** 2))


def best_of_many(
    problem: PSDProblem, rng: np.random.Generator, around: NDArray[Any] | None = None, most: int = MOST_STARTS
) -> Floats:
    """The factor (in units) with the lowest objective that many starts lead to, ``most`` at most."""
    U, values = all_of_many(problem, rng, around, most)
    best: Floats = U[int(np.argmin(values))]
    return best


def all_of_many(
    problem: PSDProblem, rng: np.random.Generator, around: NDArray[Any] | None = None, most: int = MOST_STARTS
) -> tuple[Floats, Floats]:
    """Where many starts end, of shape (b, n, r), and the squares of what they miss.

    A third of the starts are random; a third are ``around``, with some rows thrown anywhere; a third mirror some of its
    rows, for a mirror image of a group of rows is what a wrong fit most often has.
    """
    n, r = problem.size, problem.rank
    known = _dense(problem)
    count = min(max(count_of_starts(n * r), 8), most)
    size = np.sqrt(problem.norm / np.sqrt(problem.observations.count) / np.sqrt(r))
    starts = size * rng.standard_normal((count, n, r)) * rng.uniform(0.5, 2.0, (count, 1, 1))
    if around is not None:
        some = rng.random((count, n, 1)) < rng.uniform(0.1, 0.7, (count, 1, 1))
        third = count // 3
        starts[:third] = np.where(some[:third], starts[:third], around)
        for k in range(third, 2 * third):
            normal = rng.standard_normal(r)
            normal /= np.linalg.norm(normal)
            mirrored = around - 2 * np.outer(around @ normal, normal)
            starts[k] = np.where(some[k], mirrored, around) + 0.1 * size * rng.standard_normal((n, r))
    return descended(starts, known)


def squares_of(problem: PSDProblem, factor: Floats) -> float:
    """What one factor misses, in the squares of :func:`all_of_many`: every pair counts alike, seen once or twice."""
    return float(_dense(problem).off(factor[None], np.zeros(1, np.intp))[2][0])


class Objective(Protocol):
    """What many fits UDUᵀ, D = diag(``signs``), are to meet side by side."""

    @property
    def signs(self) -> Any:
        """1.0, or an array of shape (r,)."""

    @property
    def size(self) -> float:
        """Of the objective, if nothing were met."""

    def off(self, places: Floats, which: Indices) -> tuple[Floats, Floats, Floats]:
        """Slopes and curvatures of pairs, of shape (b, n, n), and the objective, of the fits ``which``."""


@dataclass(frozen=True, eq=False)
class _Dense:
    """What is known of all pairs: weights of seen ones, and between which values each lies, a seen one between two.

    ``size`` is the sum of squares of what they are compared with.
    """

    weights: Floats
    seen: NDArray[np.bool_]
    low: Floats
    high: Floats
    size: float
    signs: float = 1.0

    def off(self, places: Floats, which: Indices) -> tuple[Floats, Floats, Floats]:
        """What is wrong with each pair, times the weight with which it acts; that weight; and Σ weight · square."""
        entries = places @ places.transpose(0, 2, 1)
        gap = entries - np.clip(entries, self.low, self.high)
        active = np.where(self.seen, self.weights, gap != 0)
        pull = gap * active
        return pull, active, np.einsum("bij,bij->b", pull, gap)


def _dense(problem: PSDProblem) -> _Dense:
    observations, everyone = problem.observations, np.arange(problem.size)
    target, seen = observations.pairs(everyone, everyone)
    weights = seen.astype(np.float64)
    if not observations.plain:
        given = [~np.isnan(observations.entries(everyone, everyone)) * observations.precision(everyone, everyone)]
        weights = (given[0] + given[0].T) / 2
    low, high = np.full(seen.shape, -np.inf), np.full(seen.shape, np.inf)
    if problem.bounded:
        low, high = observations.bounds(everyone, everyone, seen)
    ends = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0))
    size = float(np.sum(np.where(seen, target, ends) ** 2))
    return _Dense(weights, seen, np.where(seen, target, low), np.where(seen, target, high), size)


def descended(U: Floats, known: Objective, steps: int = STEPS) -> tuple[Floats, Floats]:
    """Where starts of shape (b, n, r) end, in their own array, and their objectives."""
    count, n, r = U.shape
    damping = np.full(count, 1e-2)
    gap, active, values = known.off(U, np.arange(count))
    going, mark = np.arange(count), values.copy()
    each = np.arange(n)
    for step in range(1, steps + 1):
        checkpoint()
        V, S = U[going] * known.signs, active[going]
        H = S[:, :, None, :, None] * V.transpose(0, 2, 1)[:, None, :, :, None] * V[:, :, None, None, :]
        own = (S @ (V[..., :, None] * V[..., None, :]).reshape(len(going), n, r * r)).reshape(-1, n, r, r)
        H[:, each, :, each, :] += own.transpose(1, 0, 2, 3)
        H = H.reshape(len(going), n * r, n * r)
        scale = np.einsum("bii->b", H) / (n * r) + 1e-300
        H[:, np.arange(n * r), np.arange(n * r)] += (damping[going] * scale)[:, None]
        gradient = (gap[going] @ V).reshape(len(going), n * r, 1)
        tried = U[going] - np.linalg.solve(H, gradient).reshape(-1, n, r)
        there, theirs, reached = known.off(tried, going)
        better = reached < values[going]
        won = going[better]
        U[won], gap[won], active[won], values[won] = tried[better], there[better], theirs[better], reached[better]
        damping[going] = np.where(better, np.maximum(damping[going] / 6, 1e-10), damping[going] * 6)
        if step % 10 == 0:
            fitted = values[going] <= SIDE_BY_SIDE_FITTED * known.size
            going = going[(values[going] < IDLE * mark[going]) & ~fitted]
            mark = values.copy()
            if going.size == 0:
                break
    return U, values
