"""One component: places, what the misfit means, and which points the data fix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import OutOfTime, phase
from unrelu._old.base.tolerances import SOLVE_LOWER
from unrelu._old.distances.evidence import LEAST, freedom_left
from unrelu._old.distances.grading import graded_exact, graded_with_noise
from unrelu._old.distances.noise import NoiseLevel
from unrelu._old.distances.rigidity import LOCAL
from unrelu._old.distances.search import SLACK, Candidate, Search
from unrelu._old.distances.starts import small_enough
from unrelu._old.loop.history import Stop

__all__ = ["Solved", "nothing", "solve_component"]

# Before the best of too few dimensions is called that, so many times the starts of the first fit are tried.
TENFOLD = 10
# How often a lower answer that the search for a second one came upon is taken up.
RESUMPTIONS = 4


@dataclass(frozen=True, eq=False)
class Solved:
    """Places of one component, grades of its points, and how it ended.

    Attributes
    ----------
    points : ndarray of shape (n, dim)
    grade : int8 ndarray of shape (n,)
        Positions in the words of determinacy.
    start : str
        The name of the start that won.
    code : Stop
    why : str
        The second half of a sentence about the misfit, where the code alone does not say it.
    noise : float
        Standard deviation of a distance of weight one, in units.
    freedom : int
        How many distances there are beyond those that the places need.
    likely : bool
        Whether the likelihood of not having been seen was used.
    """

    points: Floats
    grade: NDArray[np.int8]
    start: str
    code: Stop
    why: str = ""
    noise: float = 0.0
    freedom: int = 0
    likely: bool = False


def nothing(size: int, dim: int, code: Stop) -> Solved:
    """No place was found, or there is none to find: all points at the origin, none determined."""
    return Solved(np.zeros((size, dim)), np.zeros(size, np.int8), "nothing", code)


def solve_component(search: Search, *, given: Floats | None = None, start: str = "auto") -> Solved:
    """Place the points of one component; if time or patience ends, as well as was possible until then.

    ``given``: places to start from; without them ``start`` says how they are found.
    """
    network = search.network
    if network.size == 1 or not len(network.first) + len(network.limits):
        return nothing(network.size, network.dim, Stop.FITTED)
    search.journal.left = None
    try:
        return _solved(search, given, start)
    except OutOfTime:
        return _cut_short(search, Stop.MAX_SECONDS)
    except KeyboardInterrupt:
        return _cut_short(search, Stop.INTERRUPTED)


def _cut_short(search: Search, code: Stop) -> Solved:
    """The lowest misfit so far: of what was followed down to its end, and of what was under way."""
    network, left = search.network, search.journal.left
    found = [] if search.best is None else [search.best]
    if left is not None and left.shape == (network.size, network.dim):
        found.append(Candidate(left, network.forces(left, search.misfit).value, "unfinished"))
    if not found:
        return nothing(network.size, network.dim, code)
    best = min(found, key=lambda one: one.value)
    seen = max(len(network.first), 1)
    noise = 0.0 if search.exact(best.points) else float(np.sqrt(search.squares(best.points) / seen))
    return Solved(best.points, np.zeros(network.size, np.int8), best.name, code, noise=noise)


def _solved(search: Search, given: Floats | None, start: str) -> Solved:
    phase("looking for points that all see each other")
    _ = search.told
    best, body = search.given(given) if given is not None else search.auto(start)
    network = search.network
    for done in range(RESUMPTIONS):
        exact = search.exact(best.points)
        noise = 0.0 if exact else search.noise(best.points)
        likely = not exact and not search.clean and search.censored
        if likely:
            phase("weighing what was not seen")
            best, noise = search.likeliest(best, noise)
        code, why = _judged(search, best, exact, tried=given is None and start == "auto")
        phase("finding out what is determined")
        freedom = freedom_left(network, best.points, exact=exact)
        if code is Stop.FITTED_TO_NOISE:
            if search.effort.noise is None and not likely:
                noise = float(np.sqrt(search.squares(best.points) / freedom))
            level = NoiseLevel(noise, freedom, likely)
            grade, lower = graded_with_noise(search, best, level, last=done == RESUMPTIONS - 1)
            if lower is not None:  # the search for a second answer found a better first one
                best, body = lower, None
                continue
            return Solved(best.points, grade, best.name, code, why, noise, freedom, likely)
        break
    X = best.points
    if exact or search.clean:
        X, grade = graded_exact(search, X, body, exact=exact)
    else:
        grade, _ = graded_with_noise(search, best, NoiseLevel(noise, freedom, likely), look=False)
        grade = np.minimum(grade, LOCAL).astype(np.int8)
    return Solved(X, grade, best.name, code, why, noise, freedom, likely)


def _judged(search: Search, best: Candidate, exact: bool, *, tried: bool) -> tuple[Stop, str]:
    """What the misfit means, from evidence; and why, in words."""
    if exact:
        return Stop.FITTED, ""
    if search.journal.stopped:
        return Stop.CALLBACK, ""
    if search.clean:
        gaps = np.abs(search.network.residual(best.points))
        return Stop.STATIONARY, (
            f"{int((gaps > search.floor).sum())} of {len(gaps)} distances are not met although the others are exact: a "
            "fold that was not found, or wrong distances; points that only they hold are not called determined"
        )
    if search.fitted_to_noise(best.points):
        known = search.effort.noise is not None
        return Stop.FITTED_TO_NOISE, "the deviation given" if known else "what small groups of points show"
    if not best.converged:
        return Stop.MAX_ITERATIONS, ""
    if search.network.beyond_limits(best.points).max(initial=0.0) > SLACK * search.floor:
        return (
            Stop.STATIONARY,
            "bounds are not met: they contradict the distances or each other, or a fold was not found",
        )
    if search.evidence.higher and tried and _nothing_lower(search, best):
        return Stop.BEST_OF_RANK, f"{search.starts} starts found nothing lower"
    if search.effort.noise is None:
        if search.evidence.freedom < min(LEAST, max(freedom_left(search.network, best.points), 1)):
            return Stop.STATIONARY, "no small group of points shows the noise, and this may be a fold"
        if not search.evidence.higher and search.outgrown(best.points):
            return Stop.STATIONARY, "one more dimension would explain it as well, so that it need not be noise"
    return Stop.STATIONARY, (
        "the misfit is larger than the noise that "
        f"{'was given' if search.effort.noise is not None else 'small groups of points show'}: a fold that was not "
        "found, or wrong distances"
    )


def _nothing_lower(search: Search, best: Candidate) -> bool:
    """Whether starts worth ten times the first fit lead to nothing lower."""
    first = max(search.starts, 1) if not small_enough(search.network) else 4
    wanted = TENFOLD * first
    while search.starts < wanted:
        phase("trying other starts")
        again = search.once_more(best)
        if again.value < best.value * (1 - SOLVE_LOWER):
            return False
    return True
