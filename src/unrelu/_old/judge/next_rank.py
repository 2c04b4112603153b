"""Noise or something else, where too little was seen to hold pairs out: how much better another model fits.

Noise leaves about the same variance per degree of freedom whatever the rank, once that is high enough. Data of a higher
rank are fitted by it far better than its further unknowns explain. And if the seen entries are fitted far better when
absence is left out, then absence contradicts them, and it is not noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import NEXT_RANK_FAR_BETTER
from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import GaussNewton
from unrelu._old.solvers.side_by_side import best_of_many
from unrelu._old.starts.continuation import wider

__all__ = ["NEXT_RANK_FAR_BETTER", "gain_of_next_rank", "gain_without_absence"]

# Degrees of freedom that must be left, starts, and how far the best of them is followed.
LEFT, STARTS, FITS = 2, 40, RelativeGradientNormBelow(1e-10) | MaxIterations(60)


def gain_of_next_rank(problem: PSDProblem, factor: NDArray[Any], rng: np.random.Generator) -> float | None:
    """Misfit per degree of freedom at the rank over that at one more; None if nothing is left to tell it by."""
    more = problem.at_rank(problem.rank + 1)
    (unknowns, pairs), (further, _) = unknowns_and_pairs(problem), unknowns_and_pairs(more)
    if pairs - further < LEFT:
        return None
    phase("trying one more rank")
    best = _best(more, wider(problem, factor), rng)
    return float(problem.evaluate(factor).value / (pairs - unknowns) / (best / (pairs - further)))


def gain_without_absence(problem: PSDProblem, factor: NDArray[Any], rng: np.random.Generator) -> float | None:
    """Misfit of the seen entries over that of a fit to them alone; None where absence is not listened to."""
    if not problem.bounded:
        return None
    phase("fitting without absence")
    alone = problem.seen_only
    return float(alone.evaluate(factor).value / _best(alone, factor, rng))


def _best(problem: PSDProblem, factor: NDArray[Any], rng: np.random.Generator) -> float:
    """The lowest objective that some starts lead to, rounding at least."""
    start = best_of_many(problem, rng, factor, most=STARTS).astype(problem.dtype)
    found = run(problem, GaussNewton(), (start, start), FITS, keep=False).point.value
    return max(found, float(np.finfo(problem.dtype).eps) ** 2 * problem.norm**2)
