"""How a call ended, from how its components did."""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.distances.solve import Solved
from unrelu._old.loop.history import Stop, Verdict

__all__ = ["verdict_of"]

# The verdict of a call is that of its worst component; what cut it short comes first.
WORST_FIRST = (
    Stop.INTERRUPTED,
    Stop.CALLBACK,
    Stop.MAX_SECONDS,
    Stop.MAX_ITERATIONS,
    Stop.STATIONARY,
    Stop.BEST_OF_RANK,
    Stop.FITTED_TO_NOISE,
    Stop.FITTED,
)


def verdict_of(solved: list[Solved], gap: Floats, iterations: int, seconds: float, dim: int) -> Verdict:
    """The code of the worst component and a sentence; ``gap`` in units of the typical distance."""
    worst = min(solved, key=lambda one: WORST_FIRST.index(one.code))
    largest = float(np.abs(gap).max()) if len(gap) else 0.0
    after = f"after {iterations} iteration{'' if iterations == 1 else 's'}"
    misfit = f"the largest misfit is {largest:.2g} typical distances"
    match worst.code:
        case Stop.FITTED if not len(gap):
            reason = f"no distance was seen, so that no point is determined; what bounds there are are met {after}"
        case Stop.FITTED:
            reason = f"all seen distances are met to rounding {after}"
        case Stop.FITTED_TO_NOISE:
            reason = f"the misfit {after} is that of the noise, by {worst.why}; {misfit}"
        case Stop.BEST_OF_RANK:
            reason = (
                f"the distances among small groups of points need more than {dim} dimension{'s' if dim > 1 else ''}; "
                f"{worst.why}, and {misfit}"
            )
        case Stop.STATIONARY:
            reason = f"nothing lower was found {after}, and {misfit}; {worst.why}"
        case Stop.MAX_ITERATIONS:
            reason = f"the misfit still fell {after}; raise max_iter to go on"
        case Stop.MAX_SECONDS:
            reason = f"the time was over after {seconds:.1f} s; {misfit}, and no point is called determined"
        case Stop.CALLBACK:
            reason = f"the callback asked to stop {after}"
        case _:
            reason = f"interrupted {after}; these are the best places so far, and no point is called determined"
    return Verdict(worst.code, reason)
