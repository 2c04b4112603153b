"""Whether a similarity is a kernel, and so never negative: exp(−d²) of points at distances d.

By Schoenberg's theorem the matrices of all powers K_ij^t, t > 0, are positive semidefinite if and only if −log K_ij are
squared Euclidean distances: if their centred Gram matrix is positive semidefinite. Other matrices may have that, too:
correlations by one factor, where −log a_i a_j = b_i + b_j. But their points are in general position. Points of fewer
dimensions than their number allows, to rounding, in every block that was seen in full, are no chance.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.tolerances import DIVISIBLE_ROUNDING
from unrelu._old.data.observations import Observations

__all__ = ["divisible"]

# Rows among which blocks are looked for, how many blocks, and their rows at most and at least.
AMONG, BLOCKS, LARGEST, SMALLEST = 400, 30, 40, 5
# So many dimensions fewer than points could have.
SPARE = 2


def divisible(observations: Observations, top: float, rng: np.random.Generator) -> bool:
    """Whether all fully seen blocks are of squared distances in few dimensions; ``top`` is on the diagonal."""
    rows = np.sort(rng.permutation(observations.size)[:AMONG])
    scaled, seen = observations.pairs(rows, rows)
    shares = scaled * (observations.unit / top)
    rounding = DIVISIBLE_ROUNDING[observations.dtype.name]
    told = False
    for block in _blocks(seen, rng):
        share = shares[np.ix_(block, block)]
        if share.min() <= 0:
            return False
        found = np.linalg.eigvalsh(_centred(-np.log(np.minimum(share, 1))))
        if found[-1] <= rounding:  # the same point many times
            continue
        if found[0] < -rounding * found[-1]:
            return False
        dimension = int(np.count_nonzero(found > rounding * found[-1]))
        told |= len(block) - 1 - dimension >= SPARE
    return told


def _centred(squares: Floats) -> Floats:
    """The Gram matrix of points around their mean, from the squares of their distances."""
    less = squares - squares.mean(axis=0)
    found: Floats = -(less - less.mean(axis=1)[:, None]) / 2
    return found


def _blocks(seen: Bools, rng: np.random.Generator) -> Iterator[Indices]:
    """Rows that were seen with each other, joined at random."""
    for first in rng.permutation(len(seen))[:BLOCKS]:
        members, candidates = [int(first)], seen[first].copy()
        candidates[first] = False
        while candidates.any() and len(members) < LARGEST:
            one = int(rng.choice(np.flatnonzero(candidates)))
            members.append(one)
            candidates &= seen[one]
            candidates[one] = False
        if len(members) >= SMALLEST:
            yield np.array(members)
