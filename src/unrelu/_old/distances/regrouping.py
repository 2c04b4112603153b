"""Small groups of points tried elsewhere while the others stay: a fold that noise hides is often that of a few points.

Of many points a second answer is not found by starting anew. But where the distances hold a few points loosely,
against their neighbours, those few can be searched by themselves. What fits nearly as well there is let go, and all
points go down from it.
"""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import GRADING_LOWER, HANDEDNESS_TOL, SECOND_SOFT
from unrelu._old.distances.refine import refine
from unrelu._old.distances.second import LIKELY, Others, searched
from unrelu._old.distances.starts import small_enough
from unrelu._old.distances.swarm import Springs
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.laplacian import dense_matrix
from unrelu._old.problems.network import Misfit, Network

__all__ = ["bent", "regrouped", "soft_points"]

# A point is held loosely if its standard error is so many times that of the middle one, or so many deviations.
LOOSE, VERY_LOOSE = 1.8, 6.0
# Groups are those points and their nearest, so many in all; so many groups of each size are tried.
SIZES, TRIED = (5, 10), 10
# What holds the others still may cost so many times what is allowed, until they are let go.
HELD_STILL = 10.0
# Other places of one group that are let go, and iterations of that.
LET_GO, ITERATIONS = 3, 40

# Soft motions that are followed, the softest first, and how far: until a point has moved by this share of a typical
# distance, if that is beyond so many standard deviations; nearer, error ellipses hold, or are found not to.
BENT, FARTHEST, BEYOND = 8, (0.25, 0.7), 6.0
# Up to this many unknowns motions are looked at.
MOST_UNKNOWNS = 1200
# Iterations after which a descent must be within so many times what is allowed.
FIRST, HOPEFUL = 12, 3.0


def soft_points(error: Floats, sigma: float, chosen: Indices) -> Indices:
    """Those of the chosen points that are held loosely, the loosest first."""
    own = error[chosen]
    loose = own > min(LOOSE * float(np.median(own)), VERY_LOOSE * sigma) if len(own) else np.zeros(0, bool)
    return chosen[loose][np.argsort(-own[loose], kind="stable")]


def regrouped(
    problem: DistanceProblem, X: Floats, rng: np.random.Generator, soft: Indices, *, allowed: float, sigma: float
) -> Others:
    """Answers with a misfit of at most ``allowed`` in which a few points about a soft one lie elsewhere."""
    network, misfit = problem.network, problem.loss
    best, value = X, network.forces(X, misfit).value
    places: list[Floats] = []
    for size in SIZES:
        covered = np.zeros(network.size, bool)
        tries = 0
        for point in soft:
            if covered[point] or tries == TRIED:
                continue
            checkpoint()
            group = _nearest(network, int(point), size)
            covered[group] = True
            tries += 1
            for other in _elsewhere(problem, X, group, rng, HELD_STILL * LIKELY * sigma**2):
                ended = refine(problem, other, tol=HANDEDNESS_TOL, max_iter=ITERATIONS)
                if ended.value > allowed:
                    continue
                places.append(ended.points)
                if ended.value < value * (1 - GRADING_LOWER):
                    best, value = ended.points, ended.value
    return Others(places, best, value)


def bent(problem: DistanceProblem, X: Floats, *, allowed: float, sigma: float) -> Others:
    """Answers with a misfit of at most ``allowed`` to which the softest motions lead when they are followed far.

    A thin sheet of points buckles: it fits nearly as well bent the other way, with a rise in between that looks like
    the wall of a bowl.
    """
    network, misfit = problem.network, problem.loss
    n, dim = X.shape
    best, value = X, network.forces(X, misfit).value
    places: list[Floats] = []
    if n * dim > MOST_UNKNOWNS or not len(network.first):
        return Others(places, best, value)
    values, vectors = np.linalg.eigh(dense_matrix(network.forces(X, Misfit(absence=False)), n))
    stiff = np.flatnonzero(values > SECOND_SOFT * max(float(values[-1]), 1e-300))
    far = float(network.distance.mean())
    for mode in stiff[:BENT]:
        step = vectors[:, mode].reshape(n, dim)
        largest = float(np.linalg.norm(step, axis=1).max())
        for share in FARTHEST:
            length = share * far / largest
            if length * np.sqrt(values[mode]) < BEYOND * sigma:
                continue
            for sign in (1, -1):
                checkpoint()
                ended = refine(problem, X + sign * length * step, tol=HANDEDNESS_TOL, max_iter=FIRST)
                if ended.value > HOPEFUL * allowed:
                    continue
                ended = refine(problem, ended.points, tol=HANDEDNESS_TOL, max_iter=ITERATIONS)
                if ended.value > allowed:
                    continue
                places.append(ended.points)
                if ended.value < value * (1 - GRADING_LOWER):
                    best, value = ended.points, ended.value
    return Others(places, best, value)


def _nearest(network: Network, point: int, size: int) -> Indices:
    """A point and those about it, by the lengths of the ways to them."""
    from scipy.sparse.csgraph import dijkstra

    lengths = dijkstra(network.roads, directed=False, indices=point)
    near = np.argsort(lengths, kind="stable")[:size]
    return np.sort(near[np.isfinite(lengths[near])])


def _elsewhere(
    problem: DistanceProblem, X: Floats, group: Indices, rng: np.random.Generator, room: float
) -> list[Floats]:
    """All places with the group elsewhere, and the others where they were."""
    network, graph = problem.network, problem.network.graph
    beside = [graph.indices[graph.indptr[k] : graph.indptr[k + 1]] for k in group]
    members = np.union1d(group, np.concatenate(beside))
    part = network.part(members)
    if not small_enough(part) or not len(part.first):
        return []
    springs = Springs.of(part, problem.loss, 0.0)
    here = float(springs.values(X[members][None])[0])
    free = np.searchsorted(members, group)
    found = searched(springs, X[members], rng, free=free, allowed=here + room)
    result = []
    for places in sorted(found.places, key=lambda one: float(springs.values(one[None])[0]))[:LET_GO]:
        trial = X.copy()
        trial[members] = places
        result.append(trial)
    return result
