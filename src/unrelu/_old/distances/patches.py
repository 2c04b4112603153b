"""Points that are not settled, in groups, each with the settled points around it: small problems of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import PATCHES_FLAT, PATCHES_LOWER, PATCHES_ROUGH, PATCHES_THIN
from unrelu._old.distances.alignment import align
from unrelu._old.distances.paths import from_paths
from unrelu._old.distances.refine import refine
from unrelu._old.distances.trilateration import Body, grow
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network
from unrelu._old.solvers.levenberg_marquardt import LevenbergMarquardt

__all__ = ["MOST_POINTS", "Patch", "clusters", "cut_out", "other_place", "place", "regrown", "settle"]

# Largest patch; a larger group is a problem of its own kind.
MOST_POINTS = 700
# Settled points, besides those a group sees, that stand for all settled points.
HUBS = 4
# Starts that are tried for one group.
TRIES = 6
# Up to this many points; a larger group has a start of its own only.
FEW = 60

# A descent that does not lower the misfit quickly is given up.
STEEP = LevenbergMarquardt(worth=0.05)


@dataclass(frozen=True, eq=False)
class Patch:
    """A group and settled points near it, as a network; all distances between settled points are known."""

    network: Network
    members: Indices
    settled: Bools  # per member


def clusters(network: Network, rest: Indices) -> list[Indices]:
    """The points ``rest``, in groups that hang together among themselves, the smallest first."""
    from scipy.sparse.csgraph import connected_components

    if not rest.size:
        return []
    among = network.graph[rest][:, rest]
    count, label = connected_components(among, directed=False)
    order = np.argsort(label, kind="stable")
    groups = [rest[part] for part in np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])]
    return sorted(groups, key=len)


def _neighbours(network: Network, points: Indices) -> Indices:
    graph = network.graph
    return np.unique(np.concatenate([graph.indices[graph.indptr[i] : graph.indptr[i + 1]] for i in points]))


def cut_out(
    network: Network, X: Floats, settled: Bools, cluster: Indices, rng: np.random.Generator, *, around: bool = False
) -> Patch | None:
    """A group with the settled points it sees and a few others, ``around``: also with those that these see.

    None if there is nothing to hold on to, or if the group is too large.
    """
    touching = _neighbours(network, cluster)
    border = touching[settled[touching]]
    hubs = np.zeros(0, np.intp)
    if settled.any():
        if len(border) == 0:
            return None
        pool = np.flatnonzero(settled)
        hubs = rng.choice(pool, min(len(pool), network.dim + HUBS), replace=False)
        if around:
            near = _neighbours(network, border)
            border = np.union1d(border, near[settled[near]])
    members = np.unique(np.concatenate([cluster, border, hubs])).astype(np.intp)
    if len(members) > MOST_POINTS:
        return None
    part = network.part(members)
    fixed = settled[members]
    if not fixed.any():
        return Patch(part, members, fixed)
    # Hubs see every settled point of the patch, which makes those one body.
    hub = np.flatnonzero(np.isin(members, hubs))
    other = np.flatnonzero(fixed)
    first, second = np.meshgrid(hub, other, indexing="ij")
    low, high = np.minimum(first, second).ravel(), np.maximum(first, second).ravel()
    n = len(members)
    own = part.first * n + part.second
    keys = np.unique(np.r_[low * n + high, own])
    keys = keys[keys // n != keys % n]
    a, b = keys // n, keys % n
    distance = np.linalg.norm(X[members[a]] - X[members[b]], axis=1)
    measured = np.isin(keys, own)
    loose = ~(fixed[a] & fixed[b])
    where = np.searchsorted(own, keys[measured & loose])
    distance[measured & loose] = part.distance[where]
    weight = np.ones(len(a))
    weight[measured & loose] = part.weight[where]
    joined = Network(n, network.dim, a, b, distance, weight, network.cutoff, part.limits)
    return Patch(joined, members, fixed)


def settle(
    network: Network, X: Floats, settled: Bools, misfit: Misfit, floor: float, rng: np.random.Generator
) -> Floats:
    """Place the points that are not settled anew, group by group, from what they see of settled ones.

    ``floor``: the largest gap of a distance that counts as met. Points already settled stay where they are.
    """
    X = X.copy()
    for cluster in clusters(network, np.flatnonzero(~settled)):
        patch = cut_out(network, X, settled, cluster, rng, around=True)
        if patch is not None and patch.settled.any():
            X[patch.members] = place(patch, X[patch.members], misfit, floor, rng)
    return X


def place(patch: Patch, X: Floats, misfit: Misfit, floor: float, rng: np.random.Generator) -> Floats:
    """Places of the points of a patch: settled ones stay, the others from several starts, the lowest misfit wins."""
    network, fixed = patch.network, patch.settled
    free = np.flatnonzero(~fixed)
    best, lowest = X, np.inf
    for attempt in range(TRIES if len(free) <= FEW else 1):
        checkpoint()
        start = X.copy()
        if (attempt == 0 and len(free) > 1) or attempt in (2, 4):
            guess = from_paths(network, rng, share=(0.8, 0, 1.0, 0, 0.6)[attempt])
            start[free] = align(guess[fixed], X[fixed])(guess)[free]
        else:
            start[free] = _scattered(network, X, fixed, free, rng)
        rough = Misfit(squared=True, absence=misfit.absence)
        problem = DistanceProblem(network, rough, free)
        start = refine(problem, start, tol=PATCHES_ROUGH, max_iter=40, solver=STEEP).points
        ended = refine(DistanceProblem(network, misfit, free), start, max_iter=60, solver=STEEP)
        places = mirrored(network, ended.points, free, misfit)
        value = network.forces(places, misfit).value
        if value < lowest:
            best, lowest = places, value
        gaps = np.abs(network.residual(best))
        if lowest <= floor**2 and (not gaps.size or gaps.max() <= floor):
            break
    return best


def _scattered(network: Network, X: Floats, fixed: Bools, free: Indices, rng: np.random.Generator) -> Floats:
    """Each free point near the settled points it sees, or near any."""
    size = float(network.distance.mean())
    places = np.empty((len(free), network.dim))
    graph = network.graph
    for k, point in enumerate(free):
        near = graph.indices[graph.indptr[point] : graph.indptr[point + 1]]
        near = near[fixed[near]]
        places[k] = X[near].mean(axis=0) if near.size else X[fixed].mean(axis=0)
    return places + size * rng.standard_normal(places.shape) / np.sqrt(network.dim)


def mirrored(network: Network, X: Floats, points: Indices, misfit: Misfit) -> Floats:
    """Each point flipped across the plane of what it sees, where that lowers the misfit."""
    X = X.copy()
    value = network.forces(X, misfit).value
    for point in points:
        image = reflection(network, X, int(point))
        if image is None:
            continue
        trial = X.copy()
        trial[point] = image
        lower = network.forces(trial, misfit).value
        if lower < value - PATCHES_LOWER:
            X, value = trial, lower
    return X


def reflection(network: Network, X: Floats, point: int) -> Floats | None:
    """The other place of a point that sees points of one plane only; None if it sees more, or less."""
    graph = network.graph
    return other_place(X, point, graph.indices[graph.indptr[point] : graph.indptr[point + 1]])


def other_place(X: Floats, point: int, near: Indices) -> Floats | None:
    """A point's mirror image in the plane of others; None if those do not lie in one plane, or in less."""
    dim = X.shape[1]
    if len(near) < dim:
        return None
    centre = X[near].mean(axis=0)
    _, widths, axes = np.linalg.svd(X[near] - centre, full_matrices=True)
    # Seen from the point: others at one place, or in one line, leave it a circle, not two places.
    scale = max(float(widths[0]), float(np.linalg.norm(X[point] - centre)), 1e-300)
    flat = len(near) == dim or widths[-1] < PATCHES_FLAT * scale
    if not flat or (dim > 1 and widths[dim - 2] < PATCHES_THIN * scale):
        return None
    normal = axes[-1]
    image: Floats = X[point] - 2 * ((X[point] - centre) @ normal) * normal
    return image


def regrown(network: Network, X: Floats, settled: Bools) -> tuple[Floats, Bools]:
    """Attach what trilateration reaches from settled points, at places the equations give."""
    body = grow(network, Body(X, settled, np.zeros(network.size)))
    return np.where(body.placed[:, None], body.points, X), body.placed
