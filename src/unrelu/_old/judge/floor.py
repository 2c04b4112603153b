"""Is the fit as good as the data allow? Whether a stationary point is the answer shows in its residual.

Without noise the answer fits to rounding. With noise it fits to the noise level, which fully seen blocks tell: beyond
its r leading eigenvalues a block of the true matrix is zero, so what is left there is noise. Noise has as much below
zero as above. Further rank of a positive semidefinite matrix is above zero alone: so the eigenvalues below zero tell
the noise. Where those above are larger, the data are not of this rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    FLOOR_ERRORS,
    FLOOR_EXCESS,
    FLOOR_FEW,
    FLOOR_LOOSE,
    FLOOR_MARGIN,
    FLOOR_NOISELESS,
    FLOOR_ROUNDING,
)
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.protocol import PairsSeen
from unrelu._old.placing.placement import find_blocks, several_blocks
from unrelu._old.problems.psd import PSDProblem

__all__ = ["Floor"]

# Distinct entries of blocks, beyond their r leading eigenvalues, that tell the noise level well enough; with fewer,
# blocks are looked for from so many further rows.
ENOUGH, MORE_TRIES = 60, 24
# With fewer than this many nothing is said of noise: two eigenvalues are both above zero once in seven times.
LEAST = 10


@dataclass(frozen=True)
class Floor:
    """What fully seen blocks say of the data at some rank.

    Attributes
    ----------
    noise : float or None
        The noise level, in units of ``observations.unit``; None if no block tells it.
    beyond : float
        The same from the eigenvalues above zero: noise, and what the matrix has beyond its rank.
    entries : int
        Distinct entries of the blocks beyond their leading eigenvalues: how well the two are known.
    rounding : float
        What rounding may leave of either.
    """

    noise: float | None
    beyond: float = 0.0
    entries: int = 0
    rounding: float = 0.0

    @classmethod
    def of(cls, observations: Observations, rank: int, rng: np.random.Generator) -> Floor:
        """Estimate it from fully seen blocks with more rows than the rank."""
        blocks = _larger(several_blocks(observations, rank, rng), rank)
        if sum(_distinct(len(rows) - rank) for rows in blocks) < ENOUGH:
            blocks += _larger(find_blocks(observations, rank, rng, MORE_TRIES), rank)
        blocks = list({tuple(sorted(rows.tolist())): rows for rows in blocks}.values())
        below = above = room = 0.0
        counted: set[int] = set()
        for rows in blocks:
            checkpoint()
            block, _ = observations.pairs(rows, rows)
            rest = np.linalg.eigvalsh(block)[: len(rows) - rank]
            if not observations.plain:  # the noise of an entry of weight 1
                rest = rest / np.sqrt(np.mean(1 / observations.pair_precision(rows, rows)))
            below += float(np.sum(np.minimum(rest, 0) ** 2))
            above += float(np.sum(np.maximum(rest, 0) ** 2))
            room += (len(rows) - rank) ** 2 / 2
            counted.update(rows.tolist())
        if room == 0:
            return cls(None)
        # Blocks share rows: they know no more than one block of all their rows would.
        entries = min(sum(_distinct(len(rows) - rank) for rows in blocks), _distinct(len(counted) - rank))
        rounding, noise, beyond = FLOOR_ROUNDING[observations.dtype.name], np.sqrt(below / room), np.sqrt(above / room)
        if entries < LEAST and max(noise, beyond) > rounding:
            return cls(None)
        return cls(float(noise), float(beyond), entries, rounding)

    @property
    def margin(self) -> float:
        """By which factor a fit may exceed the noise level."""
        return FLOOR_MARGIN * (1 + FLOOR_ERRORS / float(np.sqrt(2 * max(self.entries, 1))))

    @property
    def shows_no_noise(self) -> bool:
        """Whether the blocks are of this rank to rounding."""
        return self.noise is not None and max(self.noise, self.beyond) <= self.rounding

    @property
    def shows_rank(self) -> bool:
        """Whether the blocks have eigenvalues beyond the rank that noise does not explain."""
        if self.noise is None or self.beyond <= self.rounding:
            return False
        return self.beyond**2 > (FLOOR_EXCESS + FLOOR_FEW / max(self.entries, 1)) * self.noise**2

    def reached(self, problem: PSDProblem, value: float) -> bool:
        """Whether a fit with this objective is at the floor."""
        return noiseless(problem, value) or self.told(problem, value)

    def told(self, problem: PSDProblem, value: float) -> bool:
        """Whether the misfit is that of the noise which the blocks tell, however small that is."""
        return self.noise is not None and rms(problem, value) <= self.margin * self.noise


def _distinct(size: int) -> int:
    """Entries of a symmetric matrix that may differ."""
    return size * (size + 1) // 2


def _larger(blocks: list[NDArray[np.intp]], rank: int) -> list[NDArray[np.intp]]:
    """Those that tell anything of the noise."""
    return [rows for rows in blocks if len(rows) >= rank + 2]


def unknowns_and_pairs(problem: PSDProblem) -> tuple[int, int]:
    """How many numbers the rank leaves free, nr less those of a frame, and how many distinct pairs were seen."""
    r = problem.rank

    def count(pairs: PairsSeen) -> int:
        seen = pairs.seen > 0
        return int(np.count_nonzero(np.triu(seen) if pairs.diagonal else seen))

    known = getattr(problem.kernel, "distinct_pairs", None)  # some kernels know without looking
    return (
        problem.size * r - problem.observations.frame_numbers(r),
        problem.kernel.total(count) if known is None else known,
    )


def noiseless(problem: PSDProblem, value: float, *, loosely: bool = False) -> bool:
    """Whether the fit needs no noise to explain it."""
    misfit = problem.misfit(value)
    return misfit <= (FLOOR_LOOSE if loosely else FLOOR_NOISELESS)[problem.dtype.name] * problem.norm


def rms(problem: PSDProblem, value: float) -> float:
    """Root-mean-square residual of the means of seen pairs, with what the loss adds for absent ones."""
    return problem.misfit(value - problem.kernel.constant) / float(np.sqrt(problem.observations.count))
