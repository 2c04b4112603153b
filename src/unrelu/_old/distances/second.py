"""A second answer, looked for directly: which points could lie elsewhere, and where the misfit is no bowl around them.

Rigidity in general position says nothing about repeated points, grids, or points in one line or plane, and nothing
about noise. Where there are few points the way to know is to look: flips, folds, jumps and fresh starts, each
followed down to its own minimum. A configuration that fits as well as the first one takes away the word "determined"
from the points that it has elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    SECOND_ALIKE,
    SECOND_COINCIDENCE,
    SECOND_EQUAL,
    SECOND_FLAT,
    SECOND_SAME,
    SECOND_SOFT,
)
from unrelu._old.distances.alignment import align
from unrelu._old.distances.starts import explored, folds
from unrelu._old.distances.swarm import MOST_UNKNOWNS, Springs, descend
from unrelu._old.distances.trilateration import Sight, Spread, look, sums
from unrelu._old.problems.laplacian import dense_matrix
from unrelu._old.problems.network import Misfit, Network

__all__ = [
    "LIKELY",
    "MOST_SEARCHED",
    "SECOND_SAME",
    "Others",
    "flippable",
    "not_a_bowl",
    "same_in_both",
    "searched",
    "special",
    "still_there",
]

# Up to this many points that may move, a second answer is looked for.
MOST_SEARCHED = 60
# Twice the difference of two log-likelihoods below which the less likely answer is still an answer.
LIKELY = 20.0
# Starts, and as many folds of an answer, from which a second one is looked for.
TRIED = 24
# Steps after which a descent is where it leads to.
TO_THE_END = 300
# From so many answers on, flips and folds are no longer looked for: there are many.
MOST_FOLDED = 4
# The misfit must rise by this share of what a bowl would, so many standard deviations out.
BOWL, OUT = 0.25, 4.0
# A step s bends a distance d by s²/2d; below half of this share of a deviation nothing is bent.
STRAIGHT = 0.1
# A flip within this many standard deviations of a distance is no flip.
FLIPPED = 8.0
# Points within so many standard deviations of each other flip together.
TOGETHER = 6.0


@dataclass(frozen=True, eq=False)
class Others:
    """Configurations that fit as well as the first, and the lowest of all, which may be lower than the first."""

    places: list[Floats]
    lowest: Floats
    value: float


def searched(
    springs: Springs,
    X: Floats,
    rng: np.random.Generator,
    *,
    free: Indices | None = None,
    allowed: float | None = None,
    sigma: float = 0.0,
) -> Others:
    """Other configurations with a misfit of at most ``allowed``; without that, with no gap beyond rounding.

    ``free``: the points that may move, default all. ``sigma``: of the noise, within which a mirror is not sharp.
    """
    movable = np.arange(springs.size) if free is None else free
    every, misfits = explored(springs, rng, TRIED, fixed=None if free is None else X, free=free)
    same = SECOND_SAME if allowed is None else SECOND_ALIKE
    known = _distinct([X], _settled(springs, every, misfits, free, allowed), same)
    done = 0
    # One fold may only be seen from behind another.
    while done < min(len(known), MOST_FOLDED):
        near = folds(springs.network, known[done], movable, rng, TRIED, sigma)
        done += 1
        if not len(near):
            continue
        places, values = descend(springs, near, free=free, iterations=40)
        every, misfits = np.concatenate([every, places]), np.concatenate([misfits, values])
        known = _distinct(known, _settled(springs, places, values, free, allowed), same)
    lowest = int(np.argmin(misfits))
    return Others(known[1:], every[lowest], float(misfits[lowest]))


def _settled(springs: Springs, places: Floats, misfits: Floats, free: Indices | None, allowed: float | None) -> Floats:
    """Those that fit, each at its own minimum: a descent that was cut short is not a second answer but on its way."""
    if allowed is None:
        return places[springs.worst(places) <= 10 * springs.floor]
    return descend(springs, places[misfits <= allowed], free=free, iterations=TO_THE_END)[0]


def _distinct(known: list[Floats], places: Floats, same: float) -> list[Floats]:
    """The known configurations and those of the others that differ from each of them by more than a motion."""
    shapes = [_distances(one) for one in known]
    known = list(known)
    for one in places:
        shape = _distances(one)
        size = max(float(shape.max()), 1e-300)
        if all(np.abs(shape - other).max() > same * size for other in shapes):
            known.append(one)
            shapes.append(shape)
    return known


def same_in_both(X: Floats, Y: Floats, chosen: Indices, tolerance: Floats | float) -> Indices:
    """Those of the chosen points that lie in Y as they lie in X, up to a rigid motion or a mirror image."""
    gaps = np.abs(_distances(X[chosen]) - _distances(Y[chosen]))
    allowed = tolerance[np.ix_(chosen, chosen)] if isinstance(tolerance, np.ndarray) else tolerance
    apart = gaps > allowed
    kept = np.arange(len(chosen))
    while apart.any():  # one of each pair has moved: the point that disagrees with most others first
        gone = int(np.argmax(apart.sum(axis=1)))
        right = np.arange(len(kept)) != gone
        kept, apart = kept[right], apart[np.ix_(right, right)]
    return chosen[kept]


def still_there(X: Floats, Y: Floats, chosen: Indices, reach: Floats) -> Indices:
    """Those of the chosen points that stay within their reach when Y is laid upon X.

    Distances alone do not show a flip across a line on which nearly all the others lie.
    """
    kept = chosen
    while len(kept) > 1:
        away = np.linalg.norm(align(Y[kept], X[kept])(Y[kept]) - X[kept], axis=1) / reach[kept]
        worst = int(np.argmax(away))
        if away[worst] <= 1:
            break
        kept = np.delete(kept, worst)
    return kept


def special(network: Network, X: Floats) -> bool:
    """Whether the places are no accident: points at one place, equal distances, or too many in one line or plane."""
    d = np.sort(network.distance)
    scale = float(d[-1]) if d.size else 1.0
    if d.size and (d[0] <= SECOND_COINCIDENCE * scale or np.sum(np.diff(d) <= SECOND_EQUAL * scale) > 0):
        return True
    dim, graph = network.dim, network.graph
    for point in range(network.size):
        near = graph.indices[graph.indptr[point] : graph.indptr[point + 1]]
        if len(near) <= dim:
            continue
        widths = np.linalg.svd(X[near] - X[near].mean(axis=0), compute_uv=False)
        if widths[-1] <= SECOND_FLAT * widths[0]:
            return True
    return False


def not_a_bowl(network: Network, X: Floats, misfit: Misfit, sigma: float, chosen: Indices) -> Indices:
    """Those of the chosen points along whose softest motions the misfit does not rise as its curvature foretells.

    Error ellipses are of first order. A motion that the noise allows, and along which the misfit is flat or comes down
    again within a few standard deviations, may have taken the points to the other side.
    """
    part = network.part(chosen)
    places = X[chosen]
    n, dim = places.shape
    if n * dim > 2 * MOST_UNKNOWNS or not len(part.first) or sigma <= 0:
        return chosen[:0]
    checkpoint()
    forces = part.forces(places, misfit)
    values, vectors = np.linalg.eigh(dense_matrix(forces, n))
    soft = np.flatnonzero(values > SECOND_SOFT * max(float(values[-1]), 1e-300))
    soft = soft[np.argsort(values[soft])][: max(60, n)]
    gradient = forces.gradient(n)
    flat = np.zeros(n, bool)
    short = float(np.quantile(part.distance, 0.1))
    for mode in soft:
        step = vectors[:, mode].reshape(n, dim) * (OUT * sigma / np.sqrt(values[mode]))
        if float(np.einsum("nd,nd->n", step, step).max()) < STRAIGHT * sigma * short:
            break  # a step this small, and all that follow, bend no distance by as much as the noise
        foretold = (OUT * sigma) ** 2 / 2
        # Places that also listen to what was not seen are not quite a minimum of what was: without the slope.
        slope = float(np.vdot(gradient, step))
        ahead = [part.forces(places + sign * step, misfit).value - sign * slope for sign in (1, -1)]
        rises = [value - forces.value for value in ahead]
        if min(rises) < BOWL * foretold:
            moved = np.linalg.norm(step, axis=1)
            flat |= moved >= 0.2 * moved.max()
    return chosen[flat]


def flippable(network: Network, X: Floats, misfit: Misfit, sigma: float, chosen: Indices) -> Indices:
    """Those of the chosen points that fit nearly as well when they lie on the other side of what they see.

    Once with all that a point sees, and once without its nearest: points at one place flip together. An image that is
    too close to a point which was not seen is no second place.
    """
    if not chosen.size:
        return chosen
    inside = np.zeros(network.size, bool)
    inside[chosen] = True
    sight = look(network, chosen, inside)
    near = network.distance[sight.edge] <= np.maximum(TOGETHER * sigma, 0.05 * _reach(network, sight)[sight.owner])
    flips = np.zeros(len(chosen), bool)
    for kept in [np.ones(len(near), bool)] + ([~near] if near.any() else []):
        part = Sight(
            sight.owner[kept],
            sight.neighbour[kept],
            sight.edge[kept],
            np.bincount(sight.owner[kept], minlength=len(chosen)),
        )
        images, as_good = _images(network, X, chosen, part, sigma)
        if misfit.absence and network.cutoff is not None:
            as_good &= ~_too_close(network, X, chosen, images, as_good, network.cutoff - TOGETHER * sigma)
        flips |= as_good
    result: Indices = chosen[flips]
    return result


def _reach(network: Network, sight: Sight) -> Floats:
    reach = np.zeros(len(sight.count))
    np.maximum.at(reach, sight.owner, network.distance[sight.edge])
    return reach


def _too_close(network: Network, X: Floats, chosen: Indices, images: Floats, asked: Bools, reach: float) -> Bools:
    """Which images lie within reach of a chosen point that their point does not see."""
    from scipy.spatial import cKDTree

    result = np.zeros(len(chosen), bool)
    rows = np.flatnonzero(asked)
    if not rows.size or reach <= 0:
        return result
    for row, close in zip(rows, cKDTree(X[chosen]).query_ball_point(images[rows], reach), strict=True):
        point = chosen[row]
        seen = np.r_[network.heard(point), point]
        result[row] = bool(np.setdiff1d(chosen[close], seen).size)
    return result


def _images(network: Network, X: Floats, chosen: Indices, sight: Sight, sigma: float) -> tuple[Floats, Bools]:
    """Where each point comes to lie from its mirror image, all at once with the others held; and which fit there.

    The mirror is the plane nearest to what the point sees; from there Gauss–Newton goes to the nearest minimum.
    """
    spread = Spread.of(network, sight, X)
    places, dim = X[chosen], X.shape[1]
    normal = spread.axes[:, :, 0]
    height = np.einsum("nd,nd->n", places - spread.centre, normal)
    trial = places - 2 * height[:, None] * normal
    d, weight = network.distance[sight.edge], network.weight[sight.edge]
    there = X[sight.neighbour]

    def misfit(at: Floats) -> tuple[Floats, Floats, Floats]:
        apart = at[sight.owner] - there
        x = np.maximum(np.linalg.norm(apart, axis=1), 1e-300)
        gap = x - d
        return sums(sight, weight * gap * gap), apart / x[:, None], gap

    here, now = misfit(places)[0], misfit(trial)
    for _ in range(12):
        value, u, gap = now
        normals = sums(sight, weight[:, None, None] * u[:, :, None] * u[:, None, :])
        normals += (1e-3 * np.trace(normals, axis1=1, axis2=2) / dim + 1e-12)[:, None, None] * np.eye(dim)
        pull = sums(sight, (weight * gap)[:, None] * u)
        step = -np.linalg.solve(normals, pull[:, :, None])[:, :, 0]
        limit = 0.5 * np.maximum(spread.reach, 1e-300) / np.maximum(np.linalg.norm(step, axis=1), 1e-300)
        ahead = trial + step * np.minimum(1.0, limit)[:, None]
        better = misfit(ahead)[0] < value
        trial = np.where(better[:, None], ahead, trial)
        now = misfit(trial)
    away = np.linalg.norm(trial - places, axis=1) > FLIPPED * sigma
    return trial, (now[0] <= here + LIKELY * sigma**2) & away & (sight.count > 0)


def _distances(X: Floats) -> Floats:
    result: Floats = np.linalg.norm(X[:, None] - X, axis=2)
    return result
