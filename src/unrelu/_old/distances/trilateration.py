"""Direct placement: a few points that all see each other, then every point that sees dim+1 placed ones.

Each step has at most one solution, so reaching a point this way proves that no other place fits it, as long as
the error bound that is carried along stays below what the step divides by. Points are attached in rounds, the
best-conditioned first, all points of a round at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import TRILATERATION_LOST, TRILATERATION_THIN
from unrelu._old.distances.alignment import align
from unrelu._old.distances.paths import scaling
from unrelu._old.problems.network import Network

__all__ = ["Body", "Sight", "Spread", "best_body", "cliques", "grow", "joined", "look", "seed_body", "sums"]

# How thick the cloud of placed neighbours is in its thinnest direction, over their distance: from good to hardly.
LEVELS = (0.25, 0.1, 0.03, 0.01, 0.001)
EPS = float(np.finfo(np.float64).eps)
# Seeds that are looked for and grown at first, and again where no body reaches half of the points.
FIRST_TRIES, FIRST_SEEDS = 40, 6
MORE_TRIES, MORE_SEEDS = 400, 150


@dataclass(frozen=True, eq=False)
class Body:
    """Points placed in one frame.

    Attributes
    ----------
    points : ndarray of shape (n, dim)
        Zero where not placed.
    placed : boolean ndarray of shape (n,)
    bound : ndarray of shape (n,)
        Bound on each point's error against the only places that fit; inf where there is none.
    thickness : float
        The worst conditioning of a step that was taken.
    """

    points: Floats
    placed: Bools
    bound: Floats
    thickness: float = 1.0

    @property
    def count(self) -> int:
        """How many points are placed."""
        return int(self.placed.sum())


@dataclass(frozen=True, eq=False)
class Sight:
    """What some points see of placed ones: flat lists, one entry per seen pair, sorted by the point that sees."""

    owner: Indices  # position in the list of points
    neighbour: Indices
    edge: Indices
    count: Indices  # per point


def look(network: Network, rows: Indices, placed: Bools) -> Sight:
    """What the points ``rows`` see of placed points."""
    graph = network.graph
    count = np.diff(graph.indptr)[rows]
    owner = np.repeat(np.arange(len(rows)), count)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    where = graph.indptr[rows][owner] + offset
    neighbour = graph.indices[where]
    kept = placed[neighbour]
    owner = owner[kept]
    return Sight(
        owner, neighbour[kept].astype(np.intp), graph.data[where[kept]] - 1, np.bincount(owner, minlength=len(rows))
    )


def sums(sight: Sight, values: Floats) -> Floats:
    """Sum over each point's entries; values of shape (entries, ...)."""
    flat = values.reshape(len(values), prod(values.shape[1:]))
    result = np.empty((len(sight.count), flat.shape[1]))
    for k in range(flat.shape[1]):
        result[:, k] = np.bincount(sight.owner, flat[:, k], len(sight.count))
    return result.reshape(len(sight.count), *values.shape[1:])


@dataclass(frozen=True, eq=False)
class Spread:
    """The cloud of placed neighbours of each point: its centre, its axes and how wide it is along them."""

    centre: Floats
    arms: Floats  # per entry, neighbour less centre
    widths: Floats  # (points, dim), roots of the eigenvalues of Σ aaᵀ, increasing
    axes: Floats  # (points, dim, dim), in columns
    reach: Floats  # largest distance per point
    thickness: Floats

    @classmethod
    def of(cls, network: Network, sight: Sight, points: Floats) -> Spread:
        """The clouds at the given places."""
        many = np.maximum(sight.count, 1)[:, None]
        where = points[sight.neighbour]
        centre = sums(sight, where) / many
        arms = where - centre[sight.owner]
        values, axes = np.linalg.eigh(sums(sight, arms[:, :, None] * arms[:, None, :]))
        widths = np.sqrt(np.maximum(values, 0))
        d = network.distance[sight.edge]
        mean_square = sums(sight, d * d) / many[:, 0]
        reach = np.zeros(len(sight.count))
        np.maximum.at(reach, sight.owner, d)
        with np.errstate(invalid="ignore", divide="ignore"):
            thickness = np.nan_to_num(widths[:, 0] / np.sqrt(many[:, 0] * mean_square))
        return cls(centre, arms, widths, axes, reach, thickness)


def seed_body(network: Network, clique: Indices) -> Body:
    """Points that all see each other, placed by classical scaling."""
    graph = network.graph
    block = graph[clique][:, clique].toarray()
    distance = np.where(block > 0, network.distance[block - 1], 0.0)
    places = scaling(distance**2, network.dim)
    spread = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    points, placed = np.zeros((network.size, network.dim)), np.zeros(network.size, bool)
    points[clique], placed[clique] = places, True
    thin = float(spread[-1]) if len(spread) == network.dim else 0.0
    size = float(np.sqrt(np.sum(distance**2) / (2 * len(clique)))) or 1.0
    bound = np.full(network.size, np.inf)
    reach = float(distance.max()) if distance.size else 0.0
    bound[clique] = 8 * EPS * reach**2 / thin if thin > 0 else np.inf
    return Body(points, placed, bound, thin / size)


def grow(
    network: Network,
    body: Body,
    *,
    known: Floats | None = None,
    least: float = LEVELS[-1],
    rounds: int | None = None,
) -> Body:
    """Attach every point that can be, in rounds; at given places ``known``, or at those the equations give.

    ``least``: how thick the cloud of what a point sees must be. ``rounds``: how many are made, default as many as it
    takes.

    With n placed neighbours at p_k and distances d_k, y = x − p̄ solves Σ a aᵀ y = Σ a (|a|² − d²)/2, a_k = p_k − p̄.
    An error δ_S of the neighbours moves x by at most (R‖δ_S‖ + ε)/(σ − ‖δ_S‖), σ being the least width of their cloud.
    """
    points, placed, bound = body.points.copy(), body.placed.copy(), body.bound.copy()
    thickness, dim = body.thickness, network.dim
    graph = network.graph
    seen = np.bincount(network.graph.indices, np.repeat(placed, np.diff(graph.indptr)), network.size).astype(np.intp)
    level = 0
    levels = [value for value in LEVELS if value >= least]
    made = 0
    while level < len(levels) and (rounds is None or made < rounds):
        checkpoint()
        rows = np.flatnonzero(~placed & (seen > dim))
        if not rows.size:
            break
        sight = look(network, rows, placed)
        spread = Spread.of(network, sight, points)
        good = spread.thickness >= levels[level]
        if not good.any():
            level += 1
            continue
        if known is None:
            points[rows[good]] = _placed(network, sight, spread, points)[good]
        else:
            points[rows[good]] = known[rows[good]]
        bound[rows[good]] = _bounds(sight, spread, bound)[good]
        thickness = min(thickness, float(spread.thickness[good].min()))
        placed[rows[good]] = True
        fresh = look(network, rows[good], np.ones(network.size, bool))
        seen += np.bincount(fresh.neighbour, minlength=network.size)
        level = 0
        made += 1
    return Body(points, placed, bound, thickness)


def _placed(network: Network, sight: Sight, spread: Spread, points: Floats) -> Floats:
    """Places by linear equations, then three Gauss–Newton steps on the distances, which average noise better."""
    d = network.distance[sight.edge]
    arms = spread.arms
    right = sums(sight, arms * (np.einsum("kd,kd->k", arms, arms) - d * d)[:, None] / 2)
    widths = np.maximum(spread.widths, TRILATERATION_THIN * np.maximum(spread.widths[:, -1:], 1e-100))
    along = np.einsum("nij,ni->nj", spread.axes, right) / widths**2
    y = np.einsum("nij,nj->ni", spread.axes, along)
    limit = np.maximum(spread.reach, 1e-300)
    for _ in range(3):
        gap = y[sight.owner] - arms
        x = np.maximum(np.sqrt(np.einsum("kd,kd->k", gap, gap)), 1e-300)
        u = gap / x[:, None]
        normal = sums(sight, u[:, :, None] * u[:, None, :]) + 1e-10 * np.eye(network.dim)
        step = -np.linalg.solve(normal, sums(sight, u * (x - d)[:, None])[:, :, None])[:, :, 0]
        length = np.linalg.norm(step, axis=1)
        y += step * np.minimum(1.0, 0.5 * limit / np.maximum(length, 1e-300))[:, None]
    return spread.centre + y


def _bounds(sight: Sight, spread: Spread, bound: Floats) -> Floats:
    carried = np.sqrt(sums(sight, bound[sight.neighbour] ** 2))
    rounding = 8 * EPS * spread.reach**2 * np.sqrt(sight.count)
    left = spread.widths[:, 0] - carried
    with np.errstate(invalid="ignore", divide="ignore"):
        result = (spread.reach * carried + rounding) / left
    return np.where((left > 0) & (result < TRILATERATION_LOST), result, np.inf)


def cliques(network: Network, rng: np.random.Generator, tries: int, *, start: Bools | None = None) -> list[Indices]:
    """Sets of points that all see each other, grown from random points by whoever keeps most candidates."""
    graph = network.graph
    allowed = np.flatnonzero((network.degrees >= network.dim) & (True if start is None else start))
    if not allowed.size:
        return []
    found = []
    most = 3 * (network.dim + 1)
    for point in rng.choice(allowed, min(tries, len(allowed)), replace=False):
        near = graph.indices[graph.indptr[point] : graph.indptr[point + 1]]
        checkpoint()
        if len(near) < network.dim:
            continue
        if len(near) > 200:
            near = rng.choice(near, 200, replace=False)
        block = (graph[near][:, near].toarray() > 0).astype(np.int32)
        members, left = [int(point)], np.ones(len(near), bool)
        while left.any() and len(members) < most:
            score = np.where(left, block @ left, -1)
            best = np.flatnonzero(score == score.max())
            chosen = int(rng.choice(best))
            members.append(int(near[chosen]))
            left &= block[chosen] > 0
        if len(members) > network.dim:
            found.append(np.array(members, np.intp))
    return found


def best_body(network: Network, rng: np.random.Generator) -> Body:
    """The largest set of points that can be placed from several seeds, joined where they share enough points."""
    nothing = np.zeros(network.size, bool)
    bodies: list[Body] = []
    reached = nothing.copy()
    for tries, grown in ((FIRST_TRIES, FIRST_SEEDS), (MORE_TRIES, MORE_SEEDS)):
        # Seeds within what others reached already would reach nothing new.
        seeds = [seed_body(network, clique) for clique in cliques(network, rng, tries, start=~reached)]
        seeds = sorted((seed for seed in seeds if seed.thickness > LEVELS[-1]), key=lambda seed: -seed.thickness)
        for seed in seeds:
            if grown == 0 or reached.all():
                break
            if (seed.placed & reached).sum() > network.dim:
                continue
            checkpoint()
            body = grow(network, seed)
            grown -= 1
            reached |= body.placed
            bodies = _stitched(network, bodies, body)
        if bodies and 2 * max(body.count for body in bodies) >= network.size:
            break
    if bodies:
        return max(bodies, key=lambda one: one.count)
    return Body(np.zeros((network.size, network.dim)), nothing, np.full(network.size, np.inf), 0.0)


def _stitched(network: Network, bodies: list[Body], fresh: Body) -> list[Body]:
    """Join a new body with every one that shares dim+1 well-spread points with it, and let the union grow."""
    apart = []
    for body in bodies:
        larger, smaller = (body, fresh) if body.count >= fresh.count else (fresh, body)
        union = joined(larger, smaller)
        if union is None:
            apart.append(body)
        else:
            fresh = grow(network, union)
    return [*apart, fresh]


def joined(body: Body, other: Body) -> Body | None:
    """Two bodies in the frame of the first, by rigid alignment of the points they share."""
    shared = np.flatnonzero(body.placed & other.placed)
    dim = body.points.shape[1]
    if len(shared) <= dim:
        return None
    here = body.points[shared]
    widths = np.linalg.svd(here - here.mean(axis=0), compute_uv=False)
    # Points at one place, or nearly, do not say how the bodies are turned, however round their cloud is.
    extent = float(np.abs(body.points[body.placed] - here.mean(axis=0)).max())
    thickness = float(widths[-1] / max(widths[0], LEVELS[-2] * extent, 1e-300))
    if thickness < LEVELS[-2]:
        return None
    moved = align(other.points[shared], here)(other.points)
    gained = other.placed & ~body.placed
    points = np.where(gained[:, None], moved, body.points)
    # The frame is off by at most the errors of the shared points, and turns by that over their width.
    frame = float(np.linalg.norm(body.bound[shared] + other.bound[shared]))
    arm = np.linalg.norm(moved - here.mean(axis=0), axis=1)
    with np.errstate(invalid="ignore"):
        carried = other.bound + 2 * frame * (1 + arm / float(widths[-1]))
    bound = np.where(gained, np.where(carried < TRILATERATION_LOST, carried, np.inf), body.bound)
    return Body(points, body.placed | other.placed, bound, min(body.thickness, other.thickness, thickness))
