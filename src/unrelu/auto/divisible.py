"""Whether a similarity is a kernel, and so never negative: exp(−d²) of points at distances d.

By Schoenberg's theorem all powers of a positive matrix K are positive semidefinite if and only if −log K consists of
squared Euclidean distances: if its centred Gram matrix is positive semidefinite. Of kernels that is true of every block
that was seen in full, to rounding; of correlations and cosines of more than a few rows it is not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unrelu.base.arrays import Bools, Floats, Indices
from unrelu.base.tolerances import DIVISIBLE_ROUNDING
from unrelu.data.observations import Observations

__all__ = ["divisible"]

# Rows among which blocks are looked for, how many blocks, and their rows at most and at least.
AMONG, BLOCKS, LARGEST, SMALLEST = 400, 30, 20, 5
# A block of so many rows is hardly so by chance; a smaller one is not if its points lie in so many dimensions fewer.
MANY, SPARE = 10, 2


def divisible(observations: Observations, top: float, rng: np.random.Generator) -> bool:
    """Whether all fully seen blocks are of squared distances; ``top`` is on the diagonal."""
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
        told |= len(block) >= MANY or len(block) - 1 - dimension >= SPARE
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
        if not seen[first, first]:
            continue
        candidates[first] = False
        while candidates.any() and len(members) < LARGEST:
            one = int(rng.choice(np.flatnonzero(candidates)))
            members.append(one)
            candidates &= seen[one]
            candidates[one] = False
        if len(members) >= SMALLEST:
            yield np.array(members)
