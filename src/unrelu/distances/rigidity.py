"""Which points the data fix, in four words: proved, generic, local, no.

- proved: reached by trilateration with an error bound carried along (:mod:`unrelu.distances.trilateration`), and the
  measured distances fit to rounding.
- generic: unique for all places but a set of measure zero. Either a trilateration order exists, or a random stress says
  so (Gortler, Healy and Thurston; Singer and Cucuringu): the kernel of a random equilibrium stress holds every other
  set of places with the same distances, so points on which each of its vectors is affine can only move together.
- local: no small motion keeps the distances, from the null space of the rigidity operator; a fold or a flip may exist.
- no: the point hinges or floats.

All of it is asked of the distances that the given places meet; a point held only by distances that are not met is not
fixed by them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu.distances.curvature import rigidity_rows
from unrelu.distances.network import Misfit, Network
from unrelu.distances.trilateration import Body, cliques, grow

__all__ = ["WORDS", "Rigidity", "determinacy", "known_body"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

WORDS = ("no", "local", "generic", "proved")
NO, LOCAL, GENERIC, PROVED = range(4)

# Eigenvalues below this share of the largest count as zero; a motion that weak is not told apart from none.
NULL = 1e-10
# A vector is affine, or a rigid motion, on a point if it is so to this share of its size.
AFFINE = 1e-5
# Largest number of points of which all motions are found at once.
MOST_POINTS = 700
# Points of the settled part that stand for all of it in a test of the rest.
HUBS = 4


@dataclass(frozen=True, eq=False)
class Rigidity:
    """``grade`` per point, an index into WORDS, and the largest body that trilateration reaches."""

    grade: NDArray[np.int8]
    body: Body


def determinacy(network: Network, X: Floats, rng: np.random.Generator, *, exact: bool) -> Rigidity:
    """Grades of the points of a network whose distances are met at X; ``exact`` if to rounding."""
    n, dim = network.size, network.dim
    grade = np.zeros(n, np.int8)
    if 2 <= n <= dim + 1 and len(network.first) == n * (n - 1) // 2:
        grade[:] = PROVED if exact else GENERIC  # a simplex has one shape
        return Rigidity(grade, Body(X.copy(), np.ones(n, bool), np.zeros(n)))
    body = known_body(network, X, rng)
    grade[body.placed] = GENERIC
    if exact:
        grade[np.isfinite(body.bound) & body.placed] = PROVED
    rest = np.flatnonzero(~body.placed)
    if rest.size:
        for cluster in _clusters(network, rest):
            patch = _patch(network, X, body.placed, cluster, rng)
            if patch is None:
                continue
            found = _patch_grades(*patch, X, rng)
            members = patch[1]
            inside = ~body.placed[members]
            grade[members[inside]] = np.maximum(grade[members[inside]], found[inside])
    return Rigidity(grade, body)


def known_body(network: Network, X: Floats, rng: np.random.Generator, tries: int = 40, grown: int = 4) -> Body:
    """The largest set of points that trilateration reaches, at the given places."""
    dim = network.dim
    seeds = []
    for clique in cliques(network, rng, tries):
        spread = np.linalg.svd(X[clique] - X[clique].mean(axis=0), compute_uv=False)
        if len(spread) == dim and spread[-1] > 1e-3 * spread[0]:
            seeds.append((float(spread[-1] / np.sqrt(len(clique))), clique, float(spread[-1])))
    seeds.sort(key=lambda seed: -seed[0])
    nothing = np.zeros(network.size, bool)
    best = Body(X, nothing, np.full(network.size, np.inf), 0.0)
    reached = nothing.copy()
    for _, clique, thin in seeds:
        if grown == 0 or 2 * best.count > network.size:
            break
        if reached[clique].sum() > dim:
            continue
        placed = nothing.copy()
        placed[clique] = True
        bound = np.full(network.size, np.inf)
        bound[clique] = 8 * np.finfo(np.float64).eps * float(np.max(network.distance)) ** 2 / thin
        body = grow(network, Body(X.copy(), placed, bound), known=X)
        reached |= body.placed
        grown -= 1
        if body.count > best.count:
            best = body
    return best


def _clusters(network: Network, rest: Indices) -> list[Indices]:
    """The points ``rest``, in groups that hang together among themselves."""
    from scipy.sparse.csgraph import connected_components

    among = network.graph[rest][:, rest]
    count, label = connected_components(among, directed=False)
    order = np.argsort(label, kind="stable")
    return [rest[part] for part in np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])]


def _patch(
    network: Network, X: Floats, settled: Mask, cluster: Indices, rng: np.random.Generator
) -> tuple[Network, Indices, Mask] | None:
    """A cluster with the settled points it sees; of settled points all mutual distances are known.

    Returns the network, its members, and which of those are settled.
    """
    graph = network.graph
    touching = np.unique(np.concatenate([graph.indices[graph.indptr[i] : graph.indptr[i + 1]] for i in cluster]))
    border = touching[settled[touching]]
    hubs = np.zeros(0, np.intp)
    if settled.any():
        if len(border) == 0:
            return None
        pool = np.flatnonzero(settled)
        hubs = rng.choice(pool, min(len(pool), network.dim + HUBS), replace=False)
    members = np.unique(np.concatenate([cluster, border, hubs]))
    if len(members) > MOST_POINTS:
        return None
    part = network.part(members)
    fixed = settled[members]
    if not fixed.any():
        return part, members, fixed
    # Hubs see every settled point of the patch, which makes those one body.
    hub = np.flatnonzero(np.isin(members, hubs))
    other = np.flatnonzero(fixed)
    first, second = np.meshgrid(hub, other, indexing="ij")
    low, high = np.minimum(first, second).ravel(), np.maximum(first, second).ravel()
    keys = np.unique(np.r_[low * len(members) + high, part.first * len(members) + part.second])
    a, b = keys // len(members), keys % len(members)
    a, b = a[a != b], b[a != b]
    distance = np.linalg.norm(X[members[a]] - X[members[b]], axis=1)
    return Network(len(members), network.dim, a, b, distance, np.ones(len(a))), members, fixed


def _patch_grades(
    part: Network, members: Indices, fixed: Mask, X: Floats, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Grades of the points of a small network from its motions and its stresses."""
    places = X[members] - X[members].mean(axis=0)
    n, dim = part.size, part.dim
    forces = part.forces(places, Misfit(absence=False))
    rows = rigidity_rows(forces, n).toarray()
    values, vectors = np.linalg.eigh(rows.T @ rows)
    null = values <= NULL * max(values[-1], 1e-300)
    grade = np.zeros(n, np.int8)
    motion = (vectors[:, null] @ rng.standard_normal(int(null.sum()))).reshape(n, dim)
    grade[_moving_together(_turns(places), motion, fixed, part, rng)] = LOCAL
    lengths = np.linalg.norm(places[part.first] - places[part.second], axis=1)
    for _ in range(2):
        z = rng.standard_normal(len(part.first))
        along = vectors.T @ (rows.T @ z)
        along[null] = 0
        along[~null] /= values[~null]
        stress = (z - rows @ (vectors @ along)) / np.maximum(lengths, 1e-12)
        kernel = _kernel(stress, part)
        vector = kernel @ rng.standard_normal((kernel.shape[1], 1))
        affine = np.column_stack([places, np.ones(n)])[:, None, :]
        together = _moving_together(affine, vector, fixed, part, rng)
        grade[together & (grade >= LOCAL)] = GENERIC
    return grade


def _turns(places: Floats) -> Floats:
    """What each point does in each infinitesimal rigid motion: shape (n, dim, motions)."""
    n, dim = places.shape
    motions = [np.tile(row, (n, 1)) for row in np.eye(dim)]
    for a in range(dim):
        for b in range(a + 1, dim):
            turn = np.zeros((n, dim))
            turn[:, a], turn[:, b] = places[:, b], -places[:, a]
            motions.append(turn)
    return np.stack(motions, axis=2)


def _kernel(stress: Floats, part: Network) -> Floats:
    """Vectors that a stress matrix sends to zero."""
    matrix = np.zeros((part.size, part.size))
    matrix[part.first, part.second] = matrix[part.second, part.first] = -stress
    matrix[np.diag_indices(part.size)] = -matrix.sum(axis=1)
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, np.abs(values) <= 1e-8 * max(float(np.abs(values).max()), 1e-300)]


def _moving_together(shapes: Floats, field: Floats, fixed: Mask, part: Network, rng: np.random.Generator) -> Mask:
    """On which points a field is a combination of the given shapes: with the fixed points, or else the largest set."""
    n = len(field)
    size = float(np.abs(field).max()) or 1.0

    def with_reference(reference: Indices) -> Mask:
        A = shapes[reference].reshape(-1, shapes.shape[2])
        scale = np.linalg.norm(shapes.reshape(-1, shapes.shape[2]), axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        coefficients, _, rank, _ = np.linalg.lstsq(A / scale, field[reference].ravel(), rcond=1e-9)
        if rank < A.shape[1]:
            return np.zeros(n, bool)
        gap = np.abs(field - shapes @ (coefficients / scale)).max(axis=1)
        return gap <= AFFINE * size

    if fixed.any():
        return with_reference(np.flatnonzero(fixed))
    best = np.zeros(n, bool)
    graph = part.graph
    for start in rng.choice(n, min(n, 30), replace=False):
        near = graph.indices[graph.indptr[start] : graph.indptr[start + 1]]
        if len(near) < part.dim:
            continue
        together = with_reference(np.r_[start, rng.choice(near, min(len(near), part.dim + 1), replace=False)])
        if together.sum() > best.sum():
            best = together
    return best
