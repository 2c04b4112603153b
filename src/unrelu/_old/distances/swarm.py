"""Many starts at once: Levenberg–Marquardt on a stack of configurations of a few points.

For a hundred points and fewer, a single descent spends its time in the interpreter. A stack of descents costs little
more than one, and a dozen or a hundred of them tell a local minimum from the answer, or find a second one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import SWARM_IDLE
from unrelu._old.problems.network import Misfit, Network

__all__ = ["MOST_UNKNOWNS", "Springs", "descend", "flattened"]

# Beyond this many unknowns a stack is no faster than one after the other.
MOST_UNKNOWNS = 320
# Numbers in the matrices of one stack: what stays in the processor's cache.
STACK = 600_000
# Descents beyond these are given up after ten iterations if their misfit is above that of so many others.
KEPT = 0.5
FEWEST = 6


@dataclass(frozen=True, eq=False)
class Springs:
    """The pairs of a small network that may pull: where each is at rest, and how stiff it is beyond."""

    network: Network
    first: Indices
    second: Indices
    low: Floats
    high: Floats
    weight: Floats
    floor: float  # a misfit below that of one spring being off by half of this is none

    @classmethod
    def of(cls, network: Network, misfit: Misfit, floor: float) -> Springs:
        """Seen pairs rest at what was measured, pairs with limits between those, unseen ones beyond the cut-off."""
        n, limits = network.size, network.limits
        first, second = np.r_[network.first, limits.first], np.r_[network.second, limits.second]
        low, high = np.r_[network.distance, limits.lower], np.r_[network.distance, limits.upper]
        weight = np.r_[network.weight, np.ones(len(limits))]
        if misfit.absence and network.cutoff is not None:
            unseen = np.ones((n, n), bool)
            unseen[first, second] = unseen[second, first] = False
            a, b = np.nonzero(np.triu(unseen, 1))
            first, second = np.r_[first, a], np.r_[second, b]
            low, high = np.r_[low, np.full(len(a), network.cutoff)], np.r_[high, np.full(len(a), np.inf)]
            weight = np.r_[weight, np.ones(len(a))]
        return cls(network, first, second, low, high, weight, floor)

    @property
    def size(self) -> int:
        """How many points they join."""
        return self.network.size

    @cached_property
    def ends(self) -> Floats:
        """Which pairs each point belongs to, (size, pairs): 1 where it is the first, −1 where the second."""
        result = np.zeros((self.size, len(self.first)))
        pairs = np.arange(len(self.first))
        result[self.first, pairs], result[self.second, pairs] = 1.0, -1.0
        return result

    def gaps(self, X: Floats) -> tuple[Floats, Floats, Floats]:
        """Differences (B, pairs, dim), distances, and by how much each pair is out of its rest."""
        apart = X[:, self.first] - X[:, self.second]
        x = np.sqrt(np.einsum("bkd,bkd->bk", apart, apart))
        return apart, x, x - np.clip(x, self.low, self.high)

    def values(self, X: Floats) -> Floats:
        """½Σ w gap² over pairs, per configuration."""
        gap = self.gaps(X)[2]
        result: Floats = (gap * gap) @ self.weight / 2
        return result

    def worst(self, X: Floats) -> Floats:
        """The largest gap of each configuration, all pairs counted alike."""
        result: Floats = np.abs(self.gaps(X)[2]).max(axis=1, initial=0.0)
        return result


def descend(
    springs: Springs,
    starts: Floats,
    *,
    free: Indices | None = None,
    iterations: int = 60,
    prune: bool = False,
) -> tuple[Floats, Floats]:
    """Lower the misfit of every configuration of a stack (B, n, dim); places and misfits, in the order given.

    ``free``: the points that move, default all. ``prune``: only the lower half goes on after each ten iterations, down
    to a few; the others stay where they were given up.
    """
    X = starts.copy()
    values = np.full(len(X), np.inf)
    unknowns = (springs.size if free is None else len(free)) * X.shape[2]
    per = max(1, STACK // max(unknowns * unknowns, 1))
    if not len(X):
        return X, values
    values = np.concatenate([springs.values(X[k : k + per]) for k in range(0, len(X), per)])
    damping = np.full(len(X), 1e-2)
    alive = np.arange(len(X))
    mark = values.copy()
    done = 0
    while done < iterations and alive.size:
        for _ in range(min(10, iterations - done)):
            for k in range(0, len(alive), per):
                checkpoint()
                part = alive[k : k + per]
                X[part], values[part], damping[part] = _step(springs, X[part], values[part], damping[part], free)
            done += 1
        none = springs.floor**2 / 4
        going = (values[alive] > none) & (values[alive] < (1 - SWARM_IDLE) * mark[alive]) & (damping[alive] < 1e8)
        alive = alive[going]
        if prune and len(alive) > FEWEST:
            kept = max(FEWEST, int(KEPT * len(alive)))
            alive = alive[np.argsort(values[alive], kind="stable")[:kept]]
        mark = values.copy()
    return X, values


def _step(
    springs: Springs, X: Floats, values: Floats, damping: Floats, free: Indices | None
) -> tuple[Floats, Floats, Floats]:
    """One step of each configuration: taken where it lowers the misfit, else tried again with more damping."""
    count, n, dim = X.shape
    apart, x, gap = springs.gaps(X)
    along = apart / np.where(x > 0, x, 1.0)[..., None]
    gradient = np.einsum("ik,bkd->bid", springs.ends, (springs.weight * gap)[..., None] * along, optimize=True)
    # What was seen counts at every distance; the others only beyond their rest.
    stiff = springs.weight * ((gap != 0) | (springs.low == springs.high))
    blocks = (stiff[..., None] * along)[..., :, None] * along[..., None, :]
    matrix: Floats = np.zeros((count, n, dim, n, dim))
    every = np.arange(n)
    blocks_first = blocks.transpose(1, 0, 2, 3)
    matrix[:, springs.first, :, springs.second, :] = -blocks_first
    matrix[:, springs.second, :, springs.first, :] = -blocks_first
    own = np.abs(springs.ends) @ blocks.reshape(count, -1, dim * dim)
    matrix[:, every, :, every, :] = own.reshape(count, n, dim, dim).transpose(1, 0, 2, 3)
    if free is not None:
        matrix, gradient = matrix[:, free][:, :, :, free], gradient[:, free]
    unknowns = gradient.shape[1] * dim
    matrix = matrix.reshape(count, unknowns, unknowns)
    level = np.maximum(np.trace(matrix, axis1=1, axis2=2) / unknowns, 1e-300)
    matrix[:, np.arange(unknowns), np.arange(unknowns)] += ((damping + 1e-11) * level)[:, None]
    step = np.linalg.solve(matrix, gradient.reshape(count, unknowns, 1)).reshape(count, -1, dim)
    trial = X.copy()
    if free is None:
        trial -= step
    else:
        trial[:, free] -= step
    ahead = springs.values(trial)
    lower = ahead < values
    X = np.where(lower[:, None, None], trial, X)
    quick = ahead < 0.25 * values
    factor = np.where(lower, np.where(quick, 0.05, 0.3), 8.0)
    return X, np.where(lower, ahead, values), np.maximum(damping * factor, 1e-12)


def flattened(X: Floats, dim: int) -> Floats:
    """Configurations (B, n, more) in their ``dim`` widest directions."""
    centred = X - X.mean(axis=1, keepdims=True)
    axes = np.linalg.eigh(np.einsum("bni,bnj->bij", centred, centred))[1][:, :, ::-1]
    result: Floats = np.einsum("bni,bij->bnj", centred, axes[:, :, :dim])
    return result
