"""What the data themselves say about their noise and their dimension, from few points at a time.

Points that all see each other, more than dim+1 of them, or a few points with more distances than they need, can be
fitted without regard to the rest. What is left over there is noise, or a dimension too few; a larger misfit of the
whole is neither, but a place that is wrong. Spectra tell which of the two it is, or a fit in one more dimension, which
meets noise hardly better than its additional unknowns explain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    EVIDENCE_CHANCE,
    EVIDENCE_COMPARED,
    EVIDENCE_FITTED,
    EVIDENCE_RANK,
    EVIDENCE_RARE,
    EVIDENCE_SAME,
)
from unrelu._old.distances.paths import scaling
from unrelu._old.distances.refine import refine
from unrelu._old.distances.starts import explored, small_enough, starts_for
from unrelu._old.distances.swarm import Springs
from unrelu._old.distances.trilateration import cliques
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.laplacian import rigidity_rows
from unrelu._old.problems.network import Misfit, Network, no_limits

__all__ = [
    "EVIDENCE_CHANCE",
    "LEAST",
    "Evidence",
    "freedom_left",
    "gather",
    "is_noise",
    "lopsided",
    "outdone",
    "raised",
    "towering",
]

# Groups that are fitted, and the cliques that are looked at for them.
GROUPS, TRIES = 12, 60
# A core is grown until it has this many distances more than it needs, in one more dimension too, or is too large. Where
# cliques have fewer than enough distances to spare, cores are asked as well.
REDUNDANT, LARGEST_CORE, ENOUGH = 6, 16, 20
CORE_STARTS, RAISED_STARTS, ROUND = 40, 128, 64
# Fewer spare distances tell nothing about noise, unless there are no others; and however few they are, a misfit of this
# many times their level is not noise.
LEAST, FAR = 3, 4.0
# Beyond this many points neither cores are looked for nor is one more dimension tried.
MANY = 2000
# More dimensions show in the spectra beyond dim. One to three eigenvalues of each tower above the others, so far that
# noise would do it once in a million times, and this many times more. Or, where each has one alone, positive ones
# outweigh negative ones so many times, where noise would have as many of either sign; told by so many spare distances.
MORE, TOWERING = 3, 4.0
LOPSIDED, SPARE = 30.0, 20
# How far points are moved along one more dimension, in typical distances, to see whether that helps.
LIFT = 0.3
# Beyond this many unknowns the rank of the rigidity operator is not computed.
RANKED = 1500


@dataclass(frozen=True)
class Evidence:
    """What small groups say.

    Attributes
    ----------
    level : float
        Standard deviation of a distance of weight one, pooled over the groups, in units.
    freedom : int
        How many distances more than needed the groups had; 0 if nothing was told.
    higher : bool
        Whether the groups show more dimensions than were asked for, beyond noise.
    dimension : bool
        Whether the spectra of cliques are enough to show them.
    """

    level: float
    freedom: int
    higher: bool = False
    dimension: bool = False


def gather(network: Network, rng: np.random.Generator, floor: float) -> Evidence:
    """Fit groups that share no distance, each by itself: cliques, and small cores where those have little to spare."""
    squares, freedom = 0.0, 0
    spectra: list[Floats] = []
    used = np.zeros(len(network.first), bool)
    dim = network.dim
    for clique in cliques(network, rng, TRIES):
        if len(clique) < dim + 2 or freedom >= 200:
            continue
        group = clique[: dim + 7]
        edges = _edges(network, group)
        if used[edges].any():
            continue
        used[edges] = True
        checkpoint()
        part = network.part(np.sort(group))
        spectra.append(_spectrum(part))
        misfit, left = _fitted(part)
        squares, freedom = squares + misfit, freedom + left
    higher = towering(spectra, floor) or lopsided(spectra)
    if freedom < ENOUGH and network.size <= MANY:
        cores = _asked(network, used, rng, floor)
        if freedom + cores.freedom < REDUNDANT:  # what is left around the cliques is too little without them
            together = _asked(network, np.zeros_like(used), rng, floor)
            if together.freedom > freedom + cores.freedom:
                squares, freedom, cores = 0.0, 0, together
        squares, freedom = squares + cores.squares, freedom + cores.freedom
        higher = higher or outdone(cores.squares, cores.freedom, cores.raised, cores.raised_freedom, floor)
    level = float(np.sqrt(squares / freedom)) if freedom else 0.0
    spare = sum(len(v) * (len(v) + 1) // 2 for v in spectra)
    return Evidence(level, freedom, higher and level > floor, spare >= SPARE)


def is_noise(misfit: float, freedom: int, told: Evidence) -> bool:
    """Whether a misfit Σ w gap² with so many distances to spare is no larger than the noise that the groups show."""
    from scipy.special import fdtri

    if freedom < 1 or told.freedom < min(LEAST, freedom) or told.level <= 0:
        return False
    most = min(float(fdtri(freedom, told.freedom, 1 - EVIDENCE_CHANCE)), FAR**2)
    return bool(misfit / freedom <= told.level**2 * most)


def outdone(squares: float, freedom: int, raised: float, left: int, floor: float) -> bool:
    """Whether a misfit falls, in one more dimension, far beyond what the additional unknowns explain.

    The extra dimension is not one unknown per point and linear: it bends distances by its square, and takes up to
    twice as much of the noise, which ``TOWERING`` allows for. Without a distance to spare there, nothing is shown.
    """
    from scipy.special import fdtri

    more = freedom - left
    if left < 1 or more < 1:
        return False
    gained = (squares - raised) / more
    return gained > TOWERING * float(fdtri(more, left, 1 - EVIDENCE_RARE)) * max(raised, floor**2) / left


def raised(network: Network, X: Floats, floor: float, rng: np.random.Generator) -> bool:
    """Whether, from X and from other starts, one more dimension meets all distances, or is far better than noise."""
    if network.size > MANY or network.size < network.dim + 2:
        return False
    seen = replace(network, cutoff=None)  # limits stay: they may be all that joins two parts
    plain = Misfit(absence=False)
    flat = refine(DistanceProblem(seen, plain), X, tol=EVIDENCE_COMPARED, max_iter=30)
    above = replace(seen, dim=network.dim + 1)
    lifted = np.column_stack([X, LIFT * rng.standard_normal(len(X))])
    ended = refine(DistanceProblem(above, plain), lifted, tol=EVIDENCE_COMPARED, max_iter=60)
    places, value = ended.points, ended.value
    left = min(starts_for(above), RAISED_STARTS) if small_enough(above) else 0
    while left > 0 and np.abs(above.residual(places)).max() > floor:
        others, values = explored(Springs.of(above, plain, floor), rng, min(left, ROUND))
        left -= ROUND
        if values[0] < value:
            again = refine(DistanceProblem(above, plain), others[0], tol=EVIDENCE_FITTED, max_iter=30)
            places, value = again.points, again.value
    if np.abs(above.residual(places)).max() <= floor:
        return True
    freedom, spare = freedom_left(seen, flat.points), freedom_left(above, places)
    return outdone(2 * flat.value, freedom, 2 * value, spare, floor)


def freedom_left(network: Network, X: Floats, *, exact: bool = False) -> int:
    """How many distances more there are than the places need: the stresses that the distances can carry.

    For many points, and where distances are ``exact`` and some are to spare, it is a lower bound.
    """
    m = len(network.first)
    least = max(m - _needed(network.size, network.dim), 0)
    if network.size * network.dim > RANKED or (exact and least):
        return least
    seen = replace(network, limits=no_limits())
    rows = rigidity_rows(seen.forces(X, Misfit(absence=False)), network.size).toarray()
    values = np.linalg.eigvalsh(rows.T @ rows) if rows.size else np.zeros(0)
    rank = int(np.sum(values > EVIDENCE_RANK * max(float(values[-1]), 1e-300))) if values.size else 0
    return max(m - rank, 0)


def _needed(points: int, dim: int) -> int:
    """Distances that fix so many points in general position."""
    if points <= dim:
        return points * (points - 1) // 2
    return points * dim - dim * (dim + 1) // 2


def _edges(network: Network, group: Indices) -> Indices:
    """Positions of the distances within a group."""
    inside = np.zeros(network.size, bool)
    inside[group] = True
    return np.flatnonzero(inside[network.first] & inside[network.second])


def _squares(part: Network) -> Floats:
    square = np.zeros((part.size, part.size))
    square[part.first, part.second] = square[part.second, part.first] = part.distance**2
    return square


def _spectrum(part: Network) -> Floats:
    """Eigenvalues of −½JDJ beyond the dim largest and the one that is zero because of the centre, increasing."""
    square = _squares(part)
    centred = square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean()
    values = np.linalg.eigvalsh(-centred / 2)[: -part.dim]
    return np.sort(np.delete(values, np.argmin(np.abs(values))))


def towering(spectra: list[Floats], floor: float) -> bool:
    """Whether the few largest eigenvalues of each group are of another kind than its others."""
    from scipy.special import fdtri

    for more in range(1, MORE + 1):
        long = [values for values in spectra if len(values) > more]
        tops, rest = more * len(long), sum((len(v) - more) * (len(v) - more + 1) // 2 for v in long)
        if rest < 3 or min(float(v[-more]) for v in long) <= 0:
            continue
        high = sum(float(np.sum(v[-more:] ** 2)) for v in long) / tops
        low = sum(float(np.sum(v[:-more] ** 2)) for v in long) / rest
        if high > TOWERING * float(fdtri(tops, rest, 1 - EVIDENCE_RARE)) * max(low, floor**2):
            return True
    return False


def lopsided(spectra: list[Floats]) -> bool:
    """Whether hardly any eigenvalue is negative."""
    positive = sum(float(np.sum(np.maximum(v, 0) ** 2)) for v in spectra)
    negative = sum(float(np.sum(np.minimum(v, 0) ** 2)) for v in spectra)
    spare = sum(len(v) * (len(v) + 1) // 2 for v in spectra)
    return spare >= SPARE and positive > LOPSIDED * negative


def _fitted(part: Network) -> tuple[float, int]:
    """Σ w gap² of a clique fitted by itself, and how many distances it has to spare."""
    problem = DistanceProblem(part, Misfit(absence=False))
    ended = refine(problem, scaling(_squares(part), part.dim), tol=EVIDENCE_FITTED, max_iter=30)
    return 2 * ended.value, len(part.first) - _needed(part.size, part.dim)


@dataclass
class _Cores:
    """What small cores have left over, and what they would have in one more dimension."""

    squares: float = 0.0
    freedom: int = 0
    raised: float = 0.0
    raised_freedom: int = 0


def _asked(network: Network, used: Bools, rng: np.random.Generator, floor: float) -> _Cores:
    """Cores that share no distance with each other, nor with what was used, fitted in dim and in dim+1 dimensions."""
    told = _Cores()
    plain = Misfit(absence=False)
    sees = np.zeros((network.size, network.size), bool)
    sees[network.first[~used], network.second[~used]] = True
    sees |= sees.T
    found = 0
    for start in rng.choice(network.size, min(network.size, 2 * GROUPS), replace=False):
        core = _core(sees, int(start), network.dim)
        if core is None:
            continue
        part = network.part(core, keep=sees[network.first, network.second])
        sees[np.ix_(core, core)] = False
        X, values = explored(Springs.of(part, plain, floor), rng, CORE_STARTS)
        ended = refine(DistanceProblem(part, plain), X[0], tol=EVIDENCE_FITTED, max_iter=30)
        exact = np.abs(part.residual(ended.points)).max() <= floor
        found += 1
        if exact:
            told.raised_freedom += (left := freedom_left(part, ended.points))
            told.freedom += left
        elif values[1] <= (1 + EVIDENCE_SAME) * values[0]:  # else a fit that may be a fold: it says nothing
            above = replace(part, dim=part.dim + 1)
            lifted = explored(Springs.of(above, plain, floor), rng, CORE_STARTS)[0]
            Y = refine(DistanceProblem(above, plain), lifted[0], tol=EVIDENCE_FITTED, max_iter=30)
            told.squares, told.raised = told.squares + 2 * ended.value, told.raised + 2 * Y.value
            told.freedom += freedom_left(part, ended.points)
            told.raised_freedom += freedom_left(above, Y.points)
        if found >= GROUPS // 2 or told.freedom >= ENOUGH:
            break
    return told


def _core(sees: Bools, start: int, dim: int) -> Indices | None:
    """A small set with distances to spare, grown from a point by whoever sees most of the set."""
    size = len(sees)
    members, best = [start], None
    inside = sees[start].astype(np.intp)
    edges, most = 0, 0
    while len(members) < min(LARGEST_CORE, size):
        inside[members] = -1
        chosen = int(np.argmax(inside))
        if inside[chosen] <= 0:
            break
        edges += int(inside[chosen])
        members.append(chosen)
        inside = np.where(inside >= 0, inside + sees[chosen], -1)
        spare = edges - _needed(len(members), dim)
        if spare > most:
            best, most = np.sort(np.array(members, np.intp)), spare
        if edges >= _needed(len(members), dim + 1) + REDUNDANT:
            break
    return best
