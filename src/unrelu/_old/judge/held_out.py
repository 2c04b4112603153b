"""Noise or rank? Where no fully seen block tells, pairs held out do.

A tenth of the seen pairs is hidden, as missing for another reason, and the rest is fitted at the rank and at one more.
If one more predicts the hidden pairs much better, the data have more rank than was asked for. If it does not, and the
rank predicts them about as well as it fits the others, what is left is noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import HELD_OUT_BETTER, HELD_OUT_NO_BETTER
from unrelu._old.judge.floor import rms, unknowns_and_pairs
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import Solver
from unrelu._old.starts.continuation import wider

__all__ = ["HeldOut"]

# Pairs held out: this share, at least so many; asked of that many draws. More is left than the next rank has unknowns,
# by this share of the pairs and by so many.
SHARE, LEAST, DRAWS = 0.1, 8, 3
SPARE, SPARE_PAIRS = 0.1, 20
# Held-out error over the noise that the misfit of the others means, up to which what is left is noise.
NOISY = 3.0
# Beyond this size the copies of the matrix are not worth it.
MOST_ROWS = 2000
FITS = RelativeGradientNormBelow(1e-8) | MaxIterations(60)


@dataclass(frozen=True)
class HeldOut:
    """What pairs held out say: three numbers in units, each the median over some draws.

    Attributes
    ----------
    error, next_error : float
        Root-mean-square error on held-out pairs at the rank, and at one more.
    noise : float
        Noise level that the misfit of the other pairs means.
    """

    error: float
    next_error: float
    noise: float

    @property
    def shows_rank(self) -> bool:
        """Whether one more rank predicts much better."""
        return self.next_error < HELD_OUT_BETTER * self.error

    @property
    def shows_noise(self) -> bool:
        """Whether the rank predicts about as well as it fits, and one more no better."""
        return self.next_error >= HELD_OUT_NO_BETTER * self.error and self.error <= NOISY * self.noise

    @classmethod
    def of(cls, problem: PSDProblem, factor: Array, solver: Solver[Any], rng: np.random.Generator) -> HeldOut | None:
        """Fit without some of the pairs; None if there are too few of them to spare."""
        unknowns, pairs = unknowns_and_pairs(problem.at_rank(problem.rank + 1))
        kept = pairs - max(LEAST, round(SHARE * pairs))
        if problem.size > MOST_ROWS or kept - unknowns < max(SPARE_PAIRS, SPARE * pairs):
            return None
        phase("holding out pairs")
        found = [cls._once(problem, factor, solver, rng) for _ in range(DRAWS)]
        return cls(*(float(np.median(column)) for column in zip(*found, strict=True)))

    @staticmethod
    def _once(
        problem: PSDProblem, factor: Array, solver: Solver[Any], rng: np.random.Generator
    ) -> tuple[float, float, float]:
        observations = problem.observations
        values, seen = observations.pairs(np.arange(problem.size), np.arange(problem.size))
        i, j = np.nonzero(np.triu(seen))
        some = rng.choice(len(i), max(LEAST, round(SHARE * len(i))), replace=False)
        i, j = i[some], j[some]
        fewer = problem.among(observations.without(i, j))
        # Its unit may be another one.
        ratio = np.sqrt(observations.unit / fewer.unit)
        start = (factor * ratio).astype(problem.dtype)
        fit = run(fewer, solver, (start, start), FITS, keep=False).point
        more = fewer.at_rank(problem.rank + 1)
        first = wider(fewer, fit.factor)
        fit_more = run(more, solver, (first, first), FITS, keep=False).point
        everyone = np.arange(problem.size)
        weight = 1.0 if observations.plain else observations.pair_precision(everyone, everyone)[i, j]
        errors = []
        for found in (fit, fit_more):
            U = found.factor.astype(np.float64) / ratio
            off = np.einsum("ka,ka->k", U[i], U[j]) - values[i, j]
            errors.append(float(np.sqrt(np.mean(weight * off**2))))
        unknowns, pairs = unknowns_and_pairs(fewer)
        noise = rms(fewer, fit.value) / ratio**2 * np.sqrt(pairs / max(pairs - unknowns, 1))
        return errors[0], errors[1], float(noise)
