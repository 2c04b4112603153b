"""The smallest rank that leaves nothing of the data but rounding, or nothing but noise: what a planted matrix has.

Ranks 1, 2, 4, 8 … are fitted in turn, each from the last, until one leaves nothing; then by bisection down to the
smallest that does. Squares tell whether rounding is left. Whether noise is, the likelihood tells: the slopes of its
entries have no eigenvalue beyond the edge of a random matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from unrelu._old.auto.candidates import next_factor
from unrelu._old.auto.likelier import begun_at
from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import (
    LIKELIHOOD_ALL_NOISE,
    RANKS_BEYOND_DOUBT,
    RANKS_FITTED,
    RANKS_NEARLY,
    RANKS_ROUNDING,
    REFINED_NOISE_MATTERS,
)
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import Floor, unknowns_and_pairs
from unrelu._old.judge.likelihood import MANY_ROWS, Leftover
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.model.losses import Censored, squared_loss
from unrelu._old.problems.psd import Point, PSDProblem
from unrelu._old.solvers import GaussNewton

__all__ = ["CLIMBING", "Climb", "Ladder", "Rung", "climbed", "rank_of_blocks"]

# The name of a start from a rank that was climbed to.
CLIMBING = "rank-climbing"
# Poses a problem: of observations, a rank and a loss.
Posed = Callable[..., PSDProblem]
# How far a fit goes; and how far it goes by likelihood before it is asked whether structure is left beyond any doubt.
ON_THE_WAY, AT_A_GLANCE = RelativeGradientNormBelow(RANKS_FITTED) | MaxIterations(60), MaxIterations(3)
# Unknowns per equation up to which what is left may be called noise: beyond, a fit bends to whatever was seen.
HALF = 0.5
# A column that does anything is so many times what the fit misses.
MORE = 3.0
# Beyond so many rows a fit that leaves next to nothing, and neither rounding nor noise, is not worth its cost: the data
# have small eigenvalues on and on.
MANY = 300


@dataclass(frozen=True)
class Rung:
    """A rank that was fitted.

    Attributes
    ----------
    rank : int
    residual : float
        The misfit of squares, relative.
    leaves : {"rounding", "little", "noise", "more"}
        What it leaves of the data.
    """

    rank: int
    residual: float
    leaves: str

    @property
    def enough(self) -> bool:
        """Whether it leaves nothing but rounding or noise, or next to nothing, so that its noise could be told."""
        return self.leaves != "more"


@dataclass(frozen=True, eq=False)
class Ladder:
    """All ranks that were fitted, in order, and the smallest that is enough; None if there is none.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((40, 3))
    >>> ladder = climbed(Observations.of(np.where(U @ U.T >= 0, U @ U.T, np.nan)))
    >>> ladder.rank, ladder.leaves, [rung.rank for rung in ladder.rungs]
    (3, 'rounding', [1, 2, 4, 3])
    """

    rungs: tuple[Rung, ...]
    rank: int | None
    factor: Array | None = None  # of that rank, in units

    @property
    def leaves(self) -> str:
        """What that rank leaves."""
        return "more" if self.rank is None else next(rung.leaves for rung in self.rungs if rung.rank == self.rank)


def climbed(observations: Observations, posed: Posed = PSDProblem) -> Ladder:
    """Fit rank after rank until one is enough, then find the smallest that is; ``posed`` says of which problem."""
    return Climb(observations, posed).ladder()


def rank_of_blocks(observations: Observations, rng: np.random.Generator) -> int | None:
    """The rank that fully seen blocks have to rounding; None where there is noise, or no block is large enough."""
    phase("looking for the rank of fully seen blocks")
    below, rank = 0, 1
    above = observations.size + 1
    while above - below > 1:
        floor = Floor.of(observations, rank, rng)
        if floor.noise is not None and max(floor.noise, floor.beyond) > floor.rounding:
            below = rank
        else:  # there is no block of this rank, or nothing beyond it in any
            above = rank
        rank = min(2 * rank, above - 1) if above > observations.size else (below + above) // 2
    last = Floor.of(observations, above, rng) if above <= observations.size else Floor(None)
    return above if last.noise is not None and max(last.noise, last.beyond) <= last.rounding else None


class Climb:
    """The problem in squares, and what has been fitted of it; ``factor`` is the last fit, in units."""

    def __init__(self, observations: Observations, posed: Posed = PSDProblem) -> None:
        self.factor: Array = np.zeros((observations.size, 1), observations.dtype)
        self.plain = posed(observations, 1, squared_loss(observations.limits))
        self.likely = None if observations.limits.nothing else posed(observations, 1, Censored())
        self.rungs: list[Rung] = []
        cut, n = observations.source.cut, observations.size
        self.most = n if cut is None else min(cut, n - cut)

    def ladder(self) -> Ladder:
        """Up until a rank is enough, and down to the smallest that is."""
        below = 0
        for rank in self.ranks():
            factor, rung = self.fitted(rank, self.factor)
            if rung.leaves == "little" and self.plain.size > MANY:
                rank = self._numerical_rank(factor)
                if not below < rank < rung.rank:
                    break
                factor, rung = self.fitted(rank, factor)
                if rung.leaves == "little":
                    break
            if rung.enough:
                rank, factor = self.down(below, rank, factor)
                return Ladder(tuple(self.rungs), rank, factor)
            below = rank
        return Ladder(tuple(self.rungs), None)

    def ranks(self) -> Iterator[int]:
        """1, 2, 4 … as long as there are more equations than unknowns."""
        rank = 1
        while rank <= self.most and self._spare(rank) < 1:
            yield rank
            rank *= 2

    def _spare(self, rank: int) -> float:
        """Unknowns per equation."""
        unknowns, pairs = unknowns_and_pairs(self.plain.at_rank(rank))
        return unknowns / max(pairs, 1)

    def fitted(self, rank: int, factor: Array) -> tuple[Array, Rung]:
        """The fit of a rank from another factor, and what it leaves."""
        phase(f"fitting rank {rank}")
        problem = self.plain.at_rank(rank)
        start = next_factor(problem, factor) if factor.shape[1] < rank else _leading(factor, rank)
        point = run(problem, GaussNewton(), (start, start), ON_THE_WAY, keep=False).point
        share = problem.misfit(point.value) / problem.norm
        rung = Rung(rank, share, self._leaves(problem, point, share))
        self.rungs.append(rung)
        self.factor = point.factor
        return point.factor, rung

    def _leaves(self, problem: PSDProblem, point: Point, share: float) -> str:
        if share <= RANKS_ROUNDING[problem.dtype.name]:
            return "rounding"
        little = "little" if share <= RANKS_NEARLY else "more"
        if problem.size < MANY_ROWS or self._spare(problem.rank) > HALF or share > LIKELIHOOD_ALL_NOISE:
            return little
        if share > REFINED_NOISE_MATTERS and self.likely is not None:
            begun = begun_at(self.likely.at_rank(problem.rank), problem.misfit(point.value), problem)
            point = run(begun, GaussNewton(), (point.factor, point.factor), AT_A_GLANCE, keep=False).point
            glance = Leftover.of(begun, point)
            if glance.times > RANKS_BEYOND_DOUBT * glance.most:
                return little
            point = run(begun.at(point), GaussNewton(), (point.factor, point.factor), ON_THE_WAY, keep=False).point
            problem = begun
        return "noise" if Leftover.of(problem, point).noise_only else little

    def down(self, below: int, rank: int, factor: Array) -> tuple[int, Array]:
        """The smallest rank above ``below`` that is enough, with its fit, from the fit of one that is."""
        tried = self._numerical_rank(factor)
        while rank - below > 1:
            tried = tried if below < tried < rank else (below + rank + 1) // 2
            found, rung = self.fitted(tried, factor)
            if rung.enough:
                rank, factor = tried, found
            else:
                below = tried
            # What has few columns too many has few: the next one down is asked first.
            tried = rank - 1 if rung.enough and rung.leaves == "rounding" else 0
        return rank, factor

    def _numerical_rank(self, factor: Array) -> int:
        """Columns that are more than what the fit misses."""
        missed = self.rungs[-1].residual * self.plain.norm
        return int(np.count_nonzero(np.linalg.eigvalsh((factor.T @ factor).astype(np.float64)) > MORE * missed))


def _leading(factor: Array, rank: int) -> Array:
    """The best factor with fewer columns."""
    left, values, _ = np.linalg.svd(factor, full_matrices=False)
    return (left * values)[:, :rank]
