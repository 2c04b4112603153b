"""Direct placement of data with a little noise: what is placed is fitted again from time to time, before errors grow.

Trilateration multiplies the errors of what was placed before, and a step that is thinner than they are puts a point
on the wrong side, with all that hangs on it. Few rounds at a time, thick steps first, and a fit of all that is placed
in between keep the errors at the size of the noise.
"""

from __future__ import annotations

import numpy as np

from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import CAREFUL_TOL
from unrelu._old.distances.advance import advanced
from unrelu._old.distances.refine import refine
from unrelu._old.distances.trilateration import Body, cliques, grow, seed_body
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network

__all__ = ["carefully_grown", "refitted"]

# How thick steps are, from good to hardly; with noise of more than a share of that a step is not made.
THICKNESS, SHARE = (0.25, 0.1, 0.03, 0.01, 0.003), 4.0
# Rounds between two fits, and seeds that are tried.
ROUNDS, SEEDS = 3, 3
# A body of this share of the points needs no other seed.
ENOUGH = 0.8
# A gap of so many standard deviations is not met.
MET = 8.0


def refitted(network: Network, body: Body, misfit: Misfit) -> Body:
    """The placed points where a fit of the distances between them has them."""
    members = np.flatnonzero(body.placed)
    ended = refine(DistanceProblem(network.part(members), misfit), body.points[members], tol=CAREFUL_TOL, max_iter=40)
    points = body.points.copy()
    points[members] = ended.points
    return Body(points, body.placed, body.bound, body.thickness)


def worst_gap(network: Network, body: Body) -> float:
    """The largest gap between placed points."""
    inside = body.placed[network.first] & body.placed[network.second]
    gaps = np.abs(network.residual(body.points)[inside])
    return float(gaps.max()) if gaps.size else 0.0


def carefully_grown(network: Network, misfit: Misfit, noise: float, rng: np.random.Generator) -> Body | None:
    """The largest body whose distances are met to the noise; None if no seed has grown beyond itself."""
    seeds = [seed_body(network, clique) for clique in cliques(network, rng, 40)]
    seeds = sorted(seeds, key=lambda seed: -seed.thickness * np.sqrt(seed.count))
    best: Body | None = None
    for seed in seeds[:SEEDS]:
        body = refitted(network, seed, misfit)
        for least in THICKNESS:
            if least < SHARE * noise:
                break
            body = _grown(network, body, misfit, noise, least)
        X, placed = advanced(network, body.points, body.placed, misfit, MET * noise, rng)
        body = refitted(network, Body(X, placed, body.bound, body.thickness), misfit)
        if best is None or body.count > best.count:
            best = body
        if best.count >= ENOUGH * network.size:
            break
    return best if best is not None and best.count > network.dim + 2 else None


def _grown(network: Network, body: Body, misfit: Misfit, noise: float, least: float) -> Body:
    """Rounds of growth and fits in turn; a round that cannot be fitted to the noise is taken back."""
    while True:
        checkpoint()
        wider = grow(network, body, least=least, rounds=ROUNDS)
        if wider.count == body.count:
            return body
        wider = refitted(network, wider, misfit)
        if worst_gap(network, wider) > MET * noise:
            return body
        body = wider
