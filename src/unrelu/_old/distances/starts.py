"""Where to start from when the first answers do not fit: for few points, dozens of places at once."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.tolerances import STARTS_ON_MIRROR
from unrelu._old.distances.paths import from_paths
from unrelu._old.distances.swarm import MOST_UNKNOWNS, Springs, descend, flattened
from unrelu._old.problems.network import Network

__all__ = ["FEW", "explored", "folds", "small_enough", "starts_for"]

# Up to this many points, dozens of starts are tried before anything is said about a fit above its floor.
FEW = 100
# Unknowns, and how many starts are tried in all where they are no more.
STARTS = ((40, 256), (80, 192), (160, 64), (MOST_UNKNOWNS, 24))
# Iterations with more dimensions, in which there are few local minima, before the points are flattened.
RAISED = 20
# Planes through dim points that are tried as mirrors.
MOST_MIRRORS = 2000
# Points closer than this share of the typical distance are flipped together too.
TOGETHER = 0.1


def small_enough(network: Network) -> bool:
    """Whether stacks of starts are worth it."""
    return network.size <= FEW and network.size * network.dim <= MOST_UNKNOWNS


def starts_for(network: Network) -> int:
    """How many starts are worth it at this size."""
    unknowns = network.size * network.dim
    return next((count for most, count in STARTS if unknowns <= most), 0)


def explored(
    springs: Springs,
    rng: np.random.Generator,
    count: int,
    *,
    iterations: int = 60,
    fixed: Floats | None = None,
    free: Indices | None = None,
) -> tuple[Floats, Floats]:
    """Configurations reached from ``count`` starts, and their misfits, the lowest first.

    Three quarters start at random in one or two dimensions more, where a fold can pass through itself, and are then
    flattened; the others start from shortest paths, stretched and shaken. ``fixed`` and ``free``: the places of all
    points, of which only the free ones move.
    """
    network = springs.network
    n, dim = network.size, network.dim
    size = float(network.distance.mean()) if len(network.distance) else 1.0
    stacks = []
    for more, share in ((1, 4), (2, 2)):
        several = max(1, count // share)
        X = size * rng.standard_normal((several, n, dim + more))
        if fixed is not None and free is not None:
            held = np.setdiff1d(np.arange(n), free)
            centre = fixed[held].mean(axis=0) if held.size else np.zeros(dim)
            X[..., :dim] += centre
            X[:, held, :dim], X[:, held, dim:] = fixed[held], 0.0
        X = descend(springs, X, free=free, iterations=min(RAISED, iterations))[0]
        stacks.append(flattened(X, dim) if free is None else X[..., :dim])
    places = [from_paths(network, rng, share=float(rng.uniform(0.4, 1.1))) for _ in range(max(1, count // 4))]
    shaken = np.stack(places) + 0.2 * size * rng.standard_normal((len(places), n, dim))
    if fixed is not None and free is not None:
        moved = np.repeat(fixed[None], len(shaken), axis=0)
        moved[:, free] = shaken[:, free] - shaken[:, free].mean(axis=1, keepdims=True) + fixed.mean(axis=0)
        shaken = moved
    stacks.append(shaken)
    X, values = descend(springs, np.concatenate(stacks), free=free, iterations=iterations, prune=True)
    order = np.argsort(values, kind="stable")
    return X[order], values[order]


def folds(
    network: Network, X: Floats, free: Indices, rng: np.random.Generator, count: int, sigma: float = 0.0
) -> Floats:
    """Configurations near X in which points, or all that lies beyond a mirror, are reflected or sent elsewhere.

    Free points are flipped across the plane nearest to the points that they see, alone and with those at nearly the
    same place. Mirrors that cut the network in two are looked for among the planes through dim points; what hangs
    together on one side of such a mirror is reflected. Some points are sent elsewhere at random.
    """
    n, dim = X.shape
    graph = network.graph
    size = float(network.distance.mean()) if len(network.distance) else 1.0
    result = []
    movable = np.zeros(n, bool)
    movable[free] = True
    for point in free if len(free) <= count else rng.choice(free, count, replace=False):
        near = graph.indices[graph.indptr[point] : graph.indptr[point + 1]]
        together = near[movable[near] & (np.linalg.norm(X[near] - X[point], axis=1) <= TOGETHER * size)]
        for group in [np.array([point])] + ([np.r_[point, together]] if together.size else []):
            seen = np.unique(np.concatenate([graph.indices[graph.indptr[i] : graph.indptr[i + 1]] for i in group]))
            seen = np.setdiff1d(seen, group)
            if seen.size:
                trial = X.copy()
                trial[group] = _across(X[group], X[seen])
                result.append(trial)
    result += _mirrored(network, X, movable, rng, count, max(STARTS_ON_MIRROR * size, 3 * sigma))
    for _ in range(count // 4):
        trial = X.copy()
        chosen = rng.choice(free, int(rng.integers(1, max(2, len(free) // 3 + 1))), replace=False)
        trial[chosen] += size * rng.standard_normal((len(chosen), dim))
        result.append(trial)
    return np.stack(result) if result else np.zeros((0, n, dim))


def _mirrored(
    network: Network, X: Floats, movable: Bools, rng: np.random.Generator, count: int, thin: float
) -> list[Floats]:
    """X with one side of a plane through dim points reflected: planes that cut the network first, then any."""
    n, dim = X.shape
    if n <= dim:
        return []
    mirrors = _subsets(n, dim, rng)
    normals = np.linalg.svd(X[mirrors] - X[mirrors[:, :1]], full_matrices=True)[2][:, -1]
    height = np.einsum("knd,kd->kn", X[None] - X[mirrors[:, :1]], normals)
    on = np.abs(height) <= thin
    on[np.arange(len(mirrors))[:, None], mirrors] = True
    beyond = _one_side(network, on)
    off = ~on
    cuts = np.flatnonzero((beyond != off).any(axis=1) & off.any(axis=1))
    others = np.setdiff1d(np.arange(len(mirrors)), cuts)
    chosen = [(k, side) for k in _some(cuts, count, rng) for side in (beyond[k], off[k] & ~beyond[k])]
    chosen += [(k, height[k] > thin) for k in _some(others, count // 4, rng)]
    result = []
    for k, side in chosen:
        members = np.flatnonzero(side & movable)
        if members.size and movable[side].all():
            trial = X.copy()
            trial[members] -= 2 * height[k, members, None] * normals[k]
            result.append(trial)
    return result


def _subsets(n: int, dim: int, rng: np.random.Generator) -> Indices:
    """All sets of dim points, or many of them."""
    if comb(n, dim) <= MOST_MIRRORS:
        return np.array(list(combinations(range(n), dim)), np.intp)
    return np.argsort(rng.random((MOST_MIRRORS, n)), axis=1)[:, :dim]


def _one_side(network: Network, on: Bools) -> Bools:
    """For each mirror, the points off it that hang together with the first of them, without crossing it."""
    n = network.size
    sees = np.zeros((n, n), np.float32)
    sees[network.first, network.second] = sees[network.second, network.first] = 1
    reached = np.zeros(on.shape, bool)
    reached[np.arange(len(on)), np.argmin(on, axis=1)] = True
    reached &= ~on
    for _ in range(n):
        wider = (reached | (reached.astype(np.float32) @ sees > 0)) & ~on
        if (wider == reached).all():
            break
        reached = wider
    return reached


def _some(items: Indices, count: int, rng: np.random.Generator) -> Indices:
    return items if len(items) <= count else rng.choice(items, count, replace=False)


def _across(points: Floats, others: Floats) -> Floats:
    """The mirror image of some points in the plane that lies nearest to others."""
    centre = others.mean(axis=0)
    normal = np.linalg.svd(others - centre, full_matrices=True)[2][-1]
    image: Floats = points - 2 * ((points - centre) @ normal)[:, None] * normal
    return image
