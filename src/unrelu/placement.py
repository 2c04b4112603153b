"""One fully seen block is enough: factor it, and every other row is a linear least-squares problem against it.

Rows C whose block C×C was seen in full, with its r-th eigenvalue well above zero, have a factor that is unique up to a
rotation. A row that sees r independent placed rows then has one solution, and joins the placed ones. Each step has at most
one answer, so without noise success proves that no other matrix of rank ≤ r agrees with the seen entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.attach import Frame
from unrelu.observations import Observations

__all__ = ["Placement", "place"]

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

# The seed block is looked for among so many rows, from so many of them.
SEARCHED, TRIES = 1000, 60
# A block need not be larger than this many times the rank (plus a few rows) to be well conditioned.
LARGEST_BLOCK = 6
# Least r-th eigenvalue of a seed block, as a share of its first.
WEAKEST_SEED = 1e-8
# A row joins once the rows it sees span every direction to this share (squared): the best first, then ever weaker ones.
SHARES = (0.03, 3e-3, 3e-4, 1e-5, 1e-7, 1e-9)
# Rows that others are placed against: all while there are few, then a sample.
ANCHORS = 30


@dataclass(frozen=True, eq=False)
class Placement:
    """Rows placed from one seed block, in units of the data.

    Attributes
    ----------
    factor : ndarray of shape (n, rank)
        Zero for rows that could not be placed.
    seed : int ndarray
        The rows of the block.
    wave : int ndarray of shape (n,)
        When a row was placed: 0 for the seed, −1 for never.
    share : ndarray of shape (n,)
        How well the rows that a row saw span the space, between 0 and 1: the least eigenvalue of their Gram matrix in
        coordinates in which that of all anchors is the identity. Infinite for the seed, 0 for rows never placed.
    """

    factor: NDArray[np.float64]
    seed: Indices
    wave: NDArray[np.int64]
    share: NDArray[np.float64]

    @property
    def placed(self) -> NDArray[np.bool_]:
        """Which rows have a place."""
        return self.wave >= 0


def place(observations: Observations, rank: int, rng: np.random.Generator) -> Placement | None:
    """Find a seed block and attach every row that can be attached, in waves; None if there is no seed block."""
    seed = find_block(observations, rank, rng)
    if seed is None:
        return None
    n = observations.size
    block, _ = observations.pairs(seed, seed)
    values, vectors = np.linalg.eigh(block)
    factor = np.zeros((n, rank))
    factor[seed] = vectors[:, -rank:] * np.sqrt(values[-rank:])
    wave, share = np.full(n, -1), np.zeros(n)
    wave[seed], share[seed] = 0, np.inf
    count = 0
    for least in SHARES:
        while (wave < 0).any():
            left = np.flatnonzero(wave < 0)
            anchors = _anchors(wave, rank, rng)
            frame = Frame.of(factor[anchors], 1e-12)
            if frame.rank < rank:
                return None
            values, seen = observations.pairs(left, anchors)
            solution, shares = frame.place(seen, values)
            good = shares >= least
            if not good.any():
                break
            count += 1
            rows = left[good]
            factor[rows], wave[rows], share[rows] = solution[good], count, shares[good]
    return Placement(factor, seed, wave, share)


def _anchors(wave: NDArray[np.int64], rank: int, rng: np.random.Generator) -> Indices:
    """The seed, and of the rows placed since the earliest: they carry the least error."""
    placed = np.flatnonzero(wave >= 0)
    most = max(200, ANCHORS * rank)
    if len(placed) <= most:
        return placed
    order = np.argsort(wave[placed] + rng.random(len(placed)))
    return np.sort(placed[order[:most]])


def find_block(observations: Observations, rank: int, rng: np.random.Generator) -> Indices | None:
    """Rows whose block was seen in full and is of rank r with the largest r-th eigenvalue of many tries.

    Greedy from each of many rows at once: join the candidate that leaves most candidates and, until r rows span the
    space, points most away from those chosen (the pivots of a Cholesky decomposition of the block).
    """
    n = observations.size
    rows = np.sort(rng.permutation(n)[:SEARCHED])
    values, seen = observations.pairs(rows, rows)
    # A row that is zero sees every other row and says nothing.
    able = np.flatnonzero(np.diag(seen) & (np.diag(values) > 0))
    if len(able) < rank:
        return None
    values, seen = values[np.ix_(able, able)], seen[np.ix_(able, able)]
    members = _grow(values, seen, rank, min(TRIES, len(able)), rng)
    best, weakest = None, WEAKEST_SEED
    for rows_of_try in members:
        if len(rows_of_try) < rank:
            continue
        eigenvalues = np.linalg.eigvalsh(values[np.ix_(rows_of_try, rows_of_try)])
        share = eigenvalues[-rank] / max(eigenvalues[-1], np.finfo(float).tiny)
        if share > weakest:
            best, weakest = rows_of_try, share
    return None if best is None else rows[able[best]]


def _grow(
    values: NDArray[np.float64], seen: NDArray[np.bool_], rank: int, tries: int, rng: np.random.Generator
) -> list[Indices]:
    m = len(seen)
    neighbours = seen.astype(np.float32)
    np.fill_diagonal(neighbours, 0)
    diagonal = np.diag(values)
    first = rng.choice(m, tries, replace=False)
    candidates = neighbours[first].copy()
    members = [[int(k)] for k in first]
    # Rows of the Cholesky factor of each try's block, for all rows; right where they are candidates.
    cholesky = np.zeros((tries, rank, m))
    cholesky[:, 0] = values[first] / np.sqrt(diagonal[first])[:, None]
    left_over = np.maximum(diagonal - cholesky[:, 0] ** 2, 0)
    alive = np.arange(tries)
    for step in range(1, LARGEST_BLOCK * rank + 4):
        alive = alive[candidates[alive].any(axis=1)]
        if alive.size == 0:
            break
        # How many candidates would be left; a little noise makes the tries differ where they are equal.
        score = candidates[alive] @ neighbours + rng.random((alive.size, m), dtype=np.float32)
        if step < rank:
            score *= (left_over[alive] / diagonal).astype(np.float32)
        score[candidates[alive] == 0] = -1
        chosen = np.argmax(score, axis=1)
        if step < rank:
            pivot = left_over[alive, chosen]
            above = np.einsum("tkm,tk->tm", cholesky[alive], cholesky[alive, :, chosen])
            row = (values[chosen] - above) / np.sqrt(np.maximum(pivot, np.finfo(float).tiny))[:, None]
            row[pivot <= 0] = 0
            cholesky[alive, step] = row
            left_over[alive] = np.maximum(left_over[alive] - row**2, 0)
        candidates[alive] *= neighbours[chosen]
        for k, choice in zip(alive, chosen, strict=True):
            members[k].append(int(choice))
    return [np.array(rows) for rows in members]
