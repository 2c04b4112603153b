"""Which points the data fix, in four words: proved, generic, local, no.

- proved: reached by trilateration with an error bound carried along (:mod:`unrelu._old.distances.trilateration`), and the
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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    RIGIDITY_AFFINE,
    RIGIDITY_NULL,
    RIGIDITY_REFERENCE,
    RIGIDITY_SEED,
    RIGIDITY_SHORTEST,
    RIGIDITY_STRESSLESS,
    SECOND_SAME,
)
from unrelu._old.distances.patches import Patch, clusters, cut_out, other_place
from unrelu._old.distances.second import MOST_SEARCHED, same_in_both, searched, special
from unrelu._old.distances.starts import small_enough
from unrelu._old.distances.swarm import Springs
from unrelu._old.distances.trilateration import Body, cliques, grow, look
from unrelu._old.problems.laplacian import rigidity_rows
from unrelu._old.problems.network import Misfit, Network, no_limits

__all__ = ["WORDS", "Framework", "Rigidity", "determinacy", "known_body", "patch_grades", "turns"]

WORDS = ("no", "local", "generic", "proved")
NO, LOCAL, GENERIC, PROVED = range(4)

# Vectors that are drawn: one alone passes by chance once in 10⁵ times, and there are many points.
DRAWS = 4
# Groups that are looked at one by one.
MOST_GROUPS = 2000


@dataclass(frozen=True, eq=False)
class Framework:
    """Bars and joints, as rigidity theory has them: a network, and places at which its distances are met.

    Attributes
    ----------
    network : Network
        Only with distances that are met.
    places : ndarray of shape (n, dim)
    slack : float
        By how much an unseen pair must fall below the cut-off to contradict it.
    seen : Network, optional
        With all distances that were seen, met or not; default ``network``.
    """

    network: Network
    places: Floats
    slack: float = 0.0
    seen: Network | None = None


@dataclass(frozen=True, eq=False)
class Rigidity:
    """``grade`` per point, an index into WORDS, and the largest body that trilateration reaches."""

    grade: NDArray[np.int8]
    body: Body


def determinacy(
    framework: Framework,
    rng: np.random.Generator,
    *,
    exact: bool,
    body: Body | None = None,
    misfit: Misfit | None = None,
) -> Rigidity:
    """Grades of the points of a framework.

    Parameters
    ----------
    framework : Framework
    rng : Generator
    exact : bool
        Whether its distances are met to rounding; only then anything is proved.
    body : Body, optional
        What trilateration reached already, at the places of the framework up to a rigid motion.
    misfit : Misfit, optional
        How pairs are judged. If given, a stress is believed only where the places are no special ones, or where a
        search for a second answer finds none.
    """
    network, X = framework.network, framework.places
    n, dim = network.size, network.dim
    grade = np.zeros(n, np.int8)
    if 2 <= n <= dim + 1 and len(network.first) == n * (n - 1) // 2:
        grade[:] = PROVED if exact else GENERIC  # a simplex has one shape
        return Rigidity(grade, Body(X.copy(), np.ones(n, bool), np.zeros(n)))
    if body is None:
        body = known_body(network, X, rng)
    grade[body.placed] = GENERIC
    if exact:
        grade[np.isfinite(body.bound) & body.placed] = PROVED
    _grade_rest(framework, grade, rng, misfit)
    while network.cutoff is not None and _settled_by_absence(framework, grade):
        grown = grow(network, Body(X, grade >= GENERIC, np.full(n, np.inf)), known=X)
        grade[grown.placed & (grade < GENERIC)] = GENERIC
        _grade_rest(framework, grade, rng, misfit)
    return Rigidity(grade, body)


def _grade_rest(framework: Framework, grade: NDArray[np.int8], rng: np.random.Generator, misfit: Misfit | None) -> None:
    """Raise the grades of points that are not settled by looking at them in groups; changes ``grade``."""
    network, X = framework.network, framework.places
    settled = grade >= GENERIC
    rest = np.flatnonzero(~settled)
    if not rest.size:
        return
    for cluster in clusters(network, rest)[:MOST_GROUPS]:
        checkpoint()
        patch = cut_out(network, X, settled, cluster, rng)
        if patch is None:
            continue
        found = patch_grades(patch, X, rng)
        inside = ~patch.settled
        if misfit is not None and (found[inside] >= GENERIC).any():
            elsewhere = _elsewhere(framework, patch, found, misfit, rng)
            found[elsewhere] = np.minimum(found[elsewhere], LOCAL)
        members = patch.members[inside]
        grade[members] = np.maximum(grade[members], found[inside])


def _elsewhere(
    framework: Framework, patch: Patch, found: NDArray[np.int8], misfit: Misfit, rng: np.random.Generator
) -> Bools:
    """Which points of a patch have another place, in an answer that fits as well as this one.

    Many points in general position need no search: there a stress is right. Many points in special places cannot be
    searched, and none of them is vouched for.
    """
    network, X, slack = framework.network, framework.places, framework.slack
    inside = ~patch.settled
    free = np.flatnonzero(inside)
    places = X[patch.members]
    if len(free) > MOST_SEARCHED and not special(patch.network, places):
        return np.zeros(len(inside), bool)
    if network.size > MOST_SEARCHED and not special(patch.network, places):
        return np.zeros(len(inside), bool)
    if len(free) > MOST_SEARCHED or not small_enough(patch.network):
        return inside
    held = free if patch.settled.any() else None
    others = searched(Springs.of(patch.network, misfit, slack), places, rng, free=held)
    size = float(np.abs(places - places.mean(axis=0)).max())
    elsewhere = np.zeros(len(inside), bool)
    reach = network.cutoff - 10 * slack if misfit.absence and network.cutoff is not None else 0.0
    for other in others.places:
        trial = X.copy()
        trial[patch.members] = other
        if reach > 0 and network.too_close(trial, reach)[0].size:
            continue
        if held is not None:
            elsewhere |= np.linalg.norm(other - places, axis=1) > SECOND_SAME * size
        else:
            alike = same_in_both(places, other, np.flatnonzero(found >= GENERIC), SECOND_SAME * size)
            elsewhere |= ~np.isin(np.arange(len(inside)), alike)
    return elsewhere


def _settled_by_absence(framework: Framework, grade: NDArray[np.int8]) -> bool:
    """Settle points with two places, one of which is too close to a settled point that they do not see.

    Changes ``grade``; says whether anything was settled.
    """
    from scipy.spatial import cKDTree

    network, X = framework.network, framework.places
    settled = grade >= GENERIC
    rows = np.flatnonzero(~settled)
    sight = look(network, rows, settled)
    rows = rows[sight.count >= network.dim]
    if not rows.size or network.cutoff is None:
        return False
    images, sources = [], []
    graph = network.graph
    for point in rows:
        near = graph.indices[graph.indptr[point] : graph.indptr[point + 1]]
        image = other_place(X, int(point), near[settled[near]])
        if image is not None:
            images.append(image)
            sources.append(point)
    if not images:
        return False
    places = np.flatnonzero(settled)
    reach = network.cutoff - framework.slack
    every = network if framework.seen is None else framework.seen
    changed = False
    for point, close in zip(sources, cKDTree(X[places]).query_ball_point(np.array(images), reach), strict=True):
        if np.setdiff1d(places[close], every.heard(point)).size:
            grade[point] = GENERIC
            changed = True
    return changed


def known_body(network: Network, X: Floats, rng: np.random.Generator, tries: int = 40, grown: int = 4) -> Body:
    """The largest set of points that trilateration reaches, at the given places."""
    dim = network.dim
    seeds = []
    for clique in cliques(network, rng, tries):
        spread = np.linalg.svd(X[clique] - X[clique].mean(axis=0), compute_uv=False)
        if len(spread) == dim and spread[-1] > RIGIDITY_SEED * spread[0]:
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


def patch_grades(patch: Patch, X: Floats, rng: np.random.Generator) -> NDArray[np.int8]:
    """Grades of the points of a small network from its motions and its stresses."""
    part, fixed = patch.network, patch.settled
    places = X[patch.members] - X[patch.members].mean(axis=0)
    n, dim = part.size, part.dim
    if not len(part.first):
        return np.zeros(n, np.int8)
    seen = replace(part, limits=no_limits())  # a limit that is not met is no distance
    rows = rigidity_rows(seen.forces(places, Misfit(absence=False)), n).toarray()
    values, vectors = np.linalg.eigh(rows.T @ rows)
    null = values <= RIGIDITY_NULL * max(values[-1], 1e-300)
    grade = np.zeros(n, np.int8)
    motions = vectors[:, null] @ rng.standard_normal((int(null.sum()), DRAWS))
    grade[_moving_together(turns(places), motions.reshape(n, dim, DRAWS), fixed, part, rng)] = LOCAL
    lengths = np.linalg.norm(places[part.first] - places[part.second], axis=1)
    for _ in range(2):
        z = rng.standard_normal(len(part.first))
        along = vectors.T @ (rows.T @ z)
        along[null] = 0
        along[~null] /= values[~null]
        stress = (z - rows @ (vectors @ along)) * np.median(lengths) / np.maximum(lengths, RIGIDITY_SHORTEST)
        kernel = _kernel(stress, part)
        drawn = kernel @ rng.standard_normal((kernel.shape[1], DRAWS))
        affine = np.column_stack([places, np.ones(n)])[:, None, :]
        together = _moving_together(affine, drawn[:, None, :], fixed, part, rng)
        grade[together & (grade >= LOCAL)] = GENERIC
    return grade


def turns(places: Floats) -> Floats:
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
    # A stress was drawn with entries of size one: where no stress exists, only rounding of that is left.
    return vectors[:, np.abs(values) <= RIGIDITY_STRESSLESS * max(float(np.abs(values).max()), 1.0)]


def _moving_together(shapes: Floats, fields: Floats, fixed: Bools, part: Network, rng: np.random.Generator) -> Bools:
    """On which points all fields are combinations of the given shapes: with the fixed points, or else the largest set.

    ``shapes``: (n, components, shapes), ``fields``: (n, components, draws).
    """
    n = len(fields)
    size = np.maximum(np.abs(fields).max(axis=(0, 1)), 1e-300)

    def with_reference(reference: Indices) -> Bools:
        A = shapes[reference].reshape(-1, shapes.shape[2])
        scale = np.linalg.norm(shapes.reshape(-1, shapes.shape[2]), axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        known = fields[reference].reshape(-1, fields.shape[2])
        coefficients, _, rank, _ = np.linalg.lstsq(A / scale, known, rcond=RIGIDITY_REFERENCE)
        if rank < A.shape[1]:
            return np.zeros(n, bool)
        gap = np.abs(fields - shapes @ (coefficients / scale[:, None])).max(axis=1)
        together: Bools = (gap <= RIGIDITY_AFFINE * size).all(axis=1)
        return together

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
