"""Fits that leave the data behind: where only a limit is known of an entry, nothing holds it back on its far side.

Of squares with absence, and of a likelihood, the lowest value need not be taken anywhere: with more rank than the data
carry, rows with few seen entries meet these ever better the further they go, and their unseen entries go with them.
"""

from __future__ import annotations

import numpy as np

from unrelu._old.base.tolerances import FLOOR_NOISELESS, RUNAWAY_TIMES
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.placing.attach import bands
from unrelu._old.problems.psd import Point, PSDProblem

__all__ = ["runaway", "unless_runaway"]

# Somebody wanted the answer, or it is none: these keep their reason.
KEPT = (Stop.FITTED, Stop.UNDERDETERMINED, Stop.INTERRUPTED, Stop.CALLBACK, Stop.MAX_SECONDS, Stop.DIVERGED)


def runaway(problem: PSDProblem, point: Point) -> str | None:
    """What to say of a fit with entries far larger than any that was seen; None of all others."""
    observations, n = problem.observations, problem.size
    U, seen, fitted = point.factor.astype(np.float64), 0.0, 0.0
    everyone = slice(0, n)
    V, largest = problem.second(U), float(np.max(np.sum(U * U, axis=1)))
    if largest <= RUNAWAY_TIMES * problem.norm / np.sqrt(max(observations.count, 1)):
        return None  # no entry is larger than that, and some seen one is as large as their root mean square
    for rows in bands(n, n):
        fit, exists = U[rows] @ V.T, observations.source.exists(rows, everyone)
        far = float(fit.flat[np.argmax(np.abs(fit) if exists is None else np.abs(fit) * exists)])
        fitted = far if abs(far) > abs(fitted) else fitted
        values = observations.block(rows, everyone)
        seen = max(seen, float(np.max(np.abs(values), initial=0.0, where=~np.isnan(values))))
    seen /= problem.unit
    if not abs(fitted) > RUNAWAY_TIMES * seen:
        return None
    return (
        f"this fit runs away from the data: it puts an entry at {fitted * problem.unit:.2g}, where none that was seen "
        f"is larger than {seen * problem.unit:.2g}, and nothing at rank {problem.rank} holds it back; try a lower "
        "rank, or say with entry_range= between which numbers entries lie"
    )


def unless_runaway(problem: PSDProblem, point: Point, verdict: Verdict) -> Verdict:
    """The verdict, unless the fit is above rounding and has left the data behind."""
    exact = problem.misfit_at(point) <= FLOOR_NOISELESS[problem.dtype.name] * problem.norm
    if verdict.code in KEPT or exact:
        return verdict
    said = runaway(problem, point)
    return verdict if said is None else Verdict(Stop.DIVERGED, f"{said} (it ended {verdict.code.value})")
