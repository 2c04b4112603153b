"""What the data themselves say about their noise and their dimension, from few points at a time.

Points that all see each other, more than dim+1 of them, or a few points with more distances than they need, can be
fitted without regard to the rest. What is left over there is noise, or a dimension too few; a larger misfit of the
whole is neither, but a place that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unrelu.budget import checkpoint
from unrelu.distances.curvature import rigidity_rows
from unrelu.distances.network import Misfit, Network
from unrelu.distances.paths import scaling
from unrelu.distances.ranges import no_limits
from unrelu.distances.refine import refine
from unrelu.distances.starts import explored
from unrelu.distances.trilateration import cliques

__all__ = ["CHANCE", "Evidence", "freedom_left", "gather", "is_noise", "lopsided", "towering"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Groups that are fitted, and the cliques that are looked at for them.
GROUPS, TRIES = 12, 60
# A core is grown until it has this many distances more than it needs, or is too large.
REDUNDANT, LARGEST_CORE = 6, 16
CORE_STARTS = 40
# How often noise may be taken for something else.
CHANCE = 1e-4
# More dimensions show in the spectra beyond dim. One to three eigenvalues of each tower above the others, so far that
# noise would do it once in a million times, and this many times more. Or, where each has one alone, positive ones
# outweigh negative ones so many times, where noise would have as many of either sign; told by so many spare distances.
MORE, RARE, TOWERING = 3, 1e-6, 4.0
LOPSIDED, SPARE = 30.0, 20
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
        Whether the spectra of the groups show more dimensions than were asked for, beyond noise.
    """

    level: float
    freedom: int
    higher: bool = False


def gather(network: Network, rng: np.random.Generator, floor: float) -> Evidence:
    """Fit groups that share no distance, each by itself: cliques, or small cores where there is no clique."""
    squares, freedom = 0.0, 0
    spectra: list[Floats] = []
    used: set[int] = set()
    dim = network.dim
    for clique in cliques(network, rng, TRIES):
        if len(clique) < dim + 2 or freedom >= 200:
            continue
        group = clique[: dim + 7]
        part, edges = _within(network, group)
        if used & edges:
            continue
        used |= edges
        checkpoint()
        spectra.append(_spectrum(part))
        misfit, left = _fitted(part)
        squares, freedom = squares + misfit, freedom + left
    higher = towering(spectra, floor) or lopsided(spectra)
    if not freedom:
        for core in _cores(network, rng):
            part, edges = _within(network, core)
            if used & edges:
                continue
            used |= edges
            left = len(part.first) - _needed(part.size, dim)
            X, values = explored(part, Misfit(absence=False), floor, rng, CORE_STARTS)
            exact = np.abs(part.residual(X[0])).max() <= floor
            squares += 0.0 if exact else 2 * float(values[0])
            freedom += left
    level = float(np.sqrt(squares / freedom)) if freedom else 0.0
    return Evidence(level, freedom, higher and level > floor)


def is_noise(misfit: float, freedom: int, told: Evidence) -> bool:
    """Whether a misfit Σ w gap² with so many distances to spare is no larger than the noise that the groups show."""
    from scipy.special import fdtri

    if freedom < 1 or told.freedom < 1 or told.level <= 0:
        return False
    return bool(misfit / freedom <= told.level**2 * fdtri(freedom, told.freedom, 1 - CHANCE))


def freedom_left(network: Network, X: Floats, *, exact: bool = False) -> int:
    """How many distances more there are than the places need: the stresses that the distances can carry.

    Of many points, or where all distances are met and all that matters is whether there are any: at least so many.
    """
    m = len(network.first)
    least = max(m - _needed(network.size, network.dim), 0)
    if network.size * network.dim > RANKED or (exact and least):
        return least
    seen = replace(network, limits=no_limits())
    rows = rigidity_rows(seen.forces(X, Misfit(absence=False)), network.size).toarray()
    values = np.linalg.eigvalsh(rows.T @ rows) if rows.size else np.zeros(0)
    rank = int(np.sum(values > 1e-10 * max(float(values[-1]), 1e-300))) if values.size else 0
    return max(m - rank, 0)


def _needed(points: int, dim: int) -> int:
    """Distances that fix so many points in general position."""
    if points <= dim:
        return points * (points - 1) // 2
    return points * dim - dim * (dim + 1) // 2


def _within(network: Network, group: Indices) -> tuple[Network, set[int]]:
    inside = np.zeros(network.size, bool)
    inside[group] = True
    edges = np.flatnonzero(inside[network.first] & inside[network.second])
    return network.part(np.sort(group)), set(edges.tolist())


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
        if high > TOWERING * float(fdtri(tops, rest, 1 - RARE)) * max(low, floor**2):
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
    ended = refine(part, scaling(_squares(part), part.dim), Misfit(absence=False), tol=1e-12, max_iter=30)
    return 2 * ended.value, len(part.first) - _needed(part.size, part.dim)


def _cores(network: Network, rng: np.random.Generator) -> list[Indices]:
    """Small sets with distances to spare, grown from random points by whoever sees most of the set."""
    found = []
    dim = network.dim
    seen = np.zeros((network.size, network.size), bool) if network.size <= 2000 else None
    if seen is None:
        return []
    seen[network.first, network.second] = seen[network.second, network.first] = True
    for start in rng.choice(network.size, min(network.size, 2 * GROUPS), replace=False):
        members = [int(start)]
        inside = seen[start].astype(np.intp)
        edges = 0
        while len(members) < min(LARGEST_CORE, network.size):
            inside[members] = -1
            chosen = int(np.argmax(inside))
            if inside[chosen] <= 0:
                break
            edges += int(inside[chosen])
            members.append(chosen)
            inside = np.where(inside >= 0, inside + seen[chosen], -1)
            if edges >= _needed(len(members), dim) + REDUNDANT:
                found.append(np.array(members, np.intp))
                break
        if len(found) >= GROUPS // 2:
            break
    return found
