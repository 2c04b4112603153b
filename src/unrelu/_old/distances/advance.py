"""Beyond trilateration: a few points at a time, together, where none of them sees enough settled points alone.

A group next to the settled points is placed by least squares with those held; if its distances are then met to rounding
and a random stress says that it has no other places, its points are settled too, and trilateration goes on from them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.distances.patches import cut_out, place
from unrelu._old.distances.rigidity import GENERIC, patch_grades
from unrelu._old.distances.trilateration import Body, grow, look
from unrelu._old.problems.network import Misfit, Network

__all__ = ["advanced"]

# Points of a group, and how many groups in a row may fail.
GROUP = 25
PATIENCE = 30
MOST_GROUPS = 2000


def advanced(
    network: Network, X: Floats, settled: Bools, misfit: Misfit, floor: float, rng: np.random.Generator
) -> tuple[Floats, Bools]:
    """Settle more points, group by group; returns places and which points are settled now."""
    X, settled = X.copy(), settled.copy()
    tried = np.zeros(network.size, bool)
    failures = 0
    for _ in range(MOST_GROUPS):
        checkpoint()
        group = _front(network, settled, tried, rng)
        if not group.size or failures > PATIENCE:
            break
        tried[group[0]] = True
        patch = cut_out(network, X, settled, group, rng, around=True)
        if patch is None or not patch.settled.any():
            failures += 1
            continue
        places = place(patch, X[patch.members], misfit, floor, rng)
        trial = X.copy()
        trial[patch.members] = places
        met = np.abs(patch.network.residual(places)) <= floor
        kept = patch.network.part(np.arange(patch.network.size), keep=met)
        grades = patch_grades(replace(patch, network=kept), trial, rng)
        # A point that misses one of its distances is not where it should be, whatever the others say of it.
        missing = np.zeros(len(grades), bool)
        missing[np.r_[patch.network.first[~met], patch.network.second[~met]]] = True
        gained = patch.members[(grades >= GENERIC) & ~patch.settled & ~missing]
        if not gained.size:
            failures += 1
            continue
        failures = 0
        X[gained] = trial[gained]
        settled[gained] = True
        body = grow(network, Body(X, settled, np.full(network.size, np.inf)))
        if _consistent(network, body, floor):
            X, settled = np.where(body.placed[:, None], body.points, X), body.placed
        tried[look(network, gained, np.ones(network.size, bool)).neighbour] = False
    return X, settled


def _front(network: Network, settled: Bools, tried: Bools, rng: np.random.Generator) -> Indices:
    """The untried point that sees most settled points, and the nearest others that are not settled."""
    rows = np.flatnonzero(~settled & ~tried)
    if not rows.size:
        return rows
    seen = look(network, rows, settled).count
    if seen.max() == 0:
        return rows[:0]
    start = int(rng.choice(rows[seen == seen.max()]))
    group, inside = [start], {start}
    graph = network.graph
    for point in group:  # grows while it is walked through
        if len(group) >= GROUP:
            break
        near = graph.indices[graph.indptr[point] : graph.indptr[point + 1]]
        for other in near[~settled[near]].tolist():
            if other not in inside and len(group) < GROUP:
                group.append(other)
                inside.add(other)
    return np.array(group, np.intp)


def _consistent(network: Network, body: Body, floor: float) -> bool:
    inside = body.placed[network.first] & body.placed[network.second]
    gaps = np.abs(network.residual(body.points)[inside])
    return bool(gaps.size == 0 or gaps.max() <= floor)
