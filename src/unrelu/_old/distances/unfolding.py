"""Taking folds out of places that meet most distances: what the met ones hold stays, the rest is placed anew."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.distances.candidate import Candidate
from unrelu._old.distances.patches import regrown, settle
from unrelu._old.distances.refine import concentrated
from unrelu._old.distances.rigidity import known_body
from unrelu._old.problems.network import Misfit, Network

__all__ = ["unfolded"]

# How often, one after the other.
UNFOLDINGS = 3


class Descent(Protocol):
    """What follows places down."""

    def exact(self, X: Floats) -> bool:
        """Whether nothing is left to be lowered."""
        ...

    def descend(self, X: Floats, name: str, *, smooth: bool) -> Candidate:
        """The candidate that places lead to."""
        ...


def unfolded(
    network: Network, found: Candidate, misfit: Misfit, floor: float, rng: np.random.Generator, search: Descent
) -> Candidate:
    """Let few distances carry the misfit, so that the others are met; place anew what those do not hold."""
    best, everything = found, np.arange(network.size)
    for _ in range(UNFOLDINGS):
        X = concentrated(network, best.points, misfit)
        met = np.abs(network.residual(X)) <= floor
        if met.all():
            return Candidate(X, network.forces(X, misfit).value, found.name)
        body = known_body(network.part(everything, keep=met), X, rng)
        if body.count <= network.dim + 1:
            break
        X, placed = regrown(network, X, body.placed)
        X = settle(network, X, placed, misfit, floor, rng)
        trial = search.descend(X, found.name, smooth=False)
        if trial.value >= best.value:
            break
        best = trial
        if search.exact(best.points):
            break
    return best
