"""Is the fit as good as the data allow? Whether a stationary point is the answer shows in its residual.

Without noise the answer fits to rounding. With noise it fits to the noise level, which fully seen blocks tell: beyond
its r leading eigenvalues a block of the true matrix is zero, so what is left there is noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu.observations import Observations
from unrelu.placement import find_blocks, several_blocks
from unrelu.problems.psd import PSDProblem

__all__ = ["Floor"]

# A relative residual that no noise explains: first-order methods stop here and there above rounding.
NOISELESS = {"float64": 1e-6, "float32": 1e-3}
# The same for one run with a named method, whose tolerance may be loose: a wrong stationary point is far above it.
LOOSE = {"float64": 1e-3, "float32": 1e-2}
# Distinct entries of blocks, beyond their r leading eigenvalues, that tell the noise level well enough; with fewer,
# blocks are looked for from so many further rows.
ENOUGH, MORE_TRIES = 30, 24
# The fit may exceed the noise level of the blocks, which is an estimate, by this factor.
MARGIN = 1.5


@dataclass(frozen=True)
class Floor:
    """The noise level of some data at some rank, in units of ``observations.unit``; None if no block tells it."""

    noise: float | None

    @classmethod
    def of(cls, observations: Observations, rank: int, rng: np.random.Generator) -> Floor:
        """Estimate it from fully seen blocks with more rows than the rank."""
        blocks = _larger(several_blocks(observations, rank, rng), rank)
        if sum(_distinct(len(rows) - rank) for rows in blocks) < ENOUGH:
            blocks += _larger(find_blocks(observations, rank, rng, MORE_TRIES), rank)
        found = []
        for rows in blocks:
            block, _ = observations.pairs(rows, rows)
            values = np.linalg.eigvalsh(block)
            rest = np.sort(np.abs(values))[: len(rows) - rank]
            found.append(float(np.sqrt(np.sum(rest**2))) / (len(rows) - rank))
        return cls(float(np.median(found)) if found else None)

    def reached(self, problem: PSDProblem, value: float) -> bool:
        """Whether a fit with this objective is at the floor."""
        return noiseless(problem, value) or (self.noise is not None and rms(problem, value) <= MARGIN * self.noise)


def _distinct(size: int) -> int:
    """Entries of a symmetric matrix that may differ."""
    return size * (size + 1) // 2


def _larger(blocks: list[NDArray[np.intp]], rank: int) -> list[NDArray[np.intp]]:
    """Those that tell anything of the noise."""
    return [rows for rows in blocks if len(rows) >= rank + 2]


def unknowns_and_pairs(problem: PSDProblem) -> tuple[int, int]:
    """How many numbers the rank leaves free, nr − r(r−1)/2, and how many distinct pairs were seen."""
    r = problem.rank
    pairs = 0
    for tile in problem.kernel.tiles:
        seen = tile.seen > 0
        pairs += int(np.count_nonzero(np.triu(seen) if tile.diagonal else seen))
    return problem.size * r - r * (r - 1) // 2, pairs


def noiseless(problem: PSDProblem, value: float, *, loosely: bool = False) -> bool:
    """Whether the fit needs no noise to explain it."""
    misfit = float(np.sqrt(max(4 * value, 0.0)))
    return misfit <= (LOOSE if loosely else NOISELESS)[problem.dtype.name] * problem.norm


def rms(problem: PSDProblem, value: float) -> float:
    """Root-mean-square residual of the means of seen pairs, with what the loss adds for absent ones."""
    misfit = max(4 * (value - problem.kernel.constant), 0.0)
    return float(np.sqrt(misfit / problem.observations.count))
