"""Where to start from when the first answers do not fit: for few points, dozens of places at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unrelu.distances.network import Misfit, Network
from unrelu.distances.paths import from_paths
from unrelu.distances.swarm import MOST_UNKNOWNS, Springs, descend, flattened

__all__ = ["FEW", "explored", "folds", "small_enough", "starts_for"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Up to this many points, dozens of starts are tried before anything is said about a fit above its floor.
FEW = 100
# Unknowns, and how many starts are tried in all where they are no more.
STARTS = ((40, 192), (80, 128), (160, 96), (MOST_UNKNOWNS, 48))
# Iterations with more dimensions, in which there are few local minima, before the points are flattened.
RAISED = 20
# Parts beyond one mirror that are reflected, each by itself.
MOST_SIDES = 12


def small_enough(network: Network) -> bool:
    """Whether stacks of starts are worth it."""
    return network.size <= FEW and network.size * network.dim <= MOST_UNKNOWNS


def starts_for(network: Network) -> int:
    """How many starts are worth it at this size."""
    unknowns = network.size * network.dim
    return next((count for most, count in STARTS if unknowns <= most), 0)


def explored(
    network: Network,
    misfit: Misfit,
    floor: float,
    rng: np.random.Generator,
    count: int,
    *,
    iterations: int = 60,
    fixed: Floats | None = None,
    free: Indices | None = None,
    prune: bool = True,
) -> tuple[Floats, Floats]:
    """Configurations reached from ``count`` starts, and their misfits, the lowest first.

    Three quarters start at random in one or two dimensions more, where a fold can pass through itself, and are then
    flattened; the others start from shortest paths, stretched and shaken. ``fixed`` and ``free``: the places of all
    points, of which only the free ones move.
    """
    springs = Springs.of(network, misfit, floor)
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
    X, values = descend(springs, np.concatenate(stacks), free=free, iterations=iterations, prune=prune)
    order = np.argsort(values, kind="stable")
    return X[order], values[order]


def folds(network: Network, X: Floats, free: Indices, rng: np.random.Generator, count: int) -> Floats:
    """Configurations near X in which points, or all that lies beyond a mirror, are reflected or sent elsewhere.

    Every free point is flipped once, across the plane nearest to the points that it sees. Then mirrors through dim
    points: what hangs together on one side of such a mirror is reflected.
    """
    from scipy.sparse.csgraph import connected_components

    n, dim = X.shape
    graph = network.graph
    size = float(network.distance.mean()) if len(network.distance) else 1.0
    result = []
    for point in free[:count] if len(free) <= count else rng.choice(free, count, replace=False):
        near = graph.indices[graph.indptr[point] : graph.indptr[point + 1]]
        if near.size:
            trial = X.copy()
            trial[point] = _across(X[point], X[near])
            result.append(trial)
    movable = np.zeros(n, bool)
    movable[free] = True
    for _ in range(count // 2):
        first = int(rng.integers(n))
        near = graph.indices[graph.indptr[first] : graph.indptr[first + 1]]
        pool = np.setdiff1d(near, [first]) if len(near) >= dim - 1 else np.setdiff1d(np.arange(n), [first])
        if len(pool) < dim - 1:
            continue
        mirror = np.r_[first, rng.choice(pool, dim - 1, replace=False)]
        normal = np.linalg.svd(X[mirror] - X[first], full_matrices=True)[2][-1]
        height = (X - X[first]) @ normal
        on = np.abs(height) <= 1e-9 * max(float(np.abs(height).max()), 1e-300)
        on[mirror] = True
        off = np.flatnonzero(~on)
        if not off.size:
            continue
        label = connected_components(graph[off][:, off], directed=False)[1]
        sides = [off[label == side] for side in np.unique(label[movable[off]])[:MOST_SIDES]]
        if label.max() == 0:  # nothing falls apart: what lies beyond the mirror
            sides = [off[(height[off] > 0) & movable[off]]]
        for members in sides:
            if not members.size or not movable[members].all():
                continue
            trial = X.copy()
            trial[members] -= 2 * height[members, None] * normal
            result.append(trial)
    for _ in range(count // 2):
        trial = X.copy()
        chosen = rng.choice(free, int(rng.integers(1, max(2, len(free) // 3 + 1))), replace=False)
        trial[chosen] += size * rng.standard_normal((len(chosen), dim))
        result.append(trial)
    return np.stack(result) if result else np.zeros((0, n, dim))


def _across(point: Floats, others: Floats) -> Floats:
    """A point's mirror image in the plane that lies nearest to others; the other side of one of them on a line."""
    centre = others.mean(axis=0)
    normal = np.linalg.svd(others - centre, full_matrices=True)[2][-1]
    image: Floats = point - 2 * ((point - centre) @ normal) * normal
    return image
