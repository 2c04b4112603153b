"""Rows and columns of a table placed by linear equations, from a block that was seen in full.

A block of rank r, seen in full, has one factorisation LRᵀ up to an invertible r×r matrix. Every row that sees r
independent placed columns is then a least-squares problem with one solution, and so is every column that sees r
independent placed rows. Without noise no search is needed; and as each step has at most one solution, success proves
that at most one matrix of rank r agrees with what was seen of the placed rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import PLACEMENT_COMPLETED, TABLE_KNOWN, TABLE_SEED, TABLE_WORSE
from unrelu._old.data.observations import Observations

__all__ = ["TablePlacement", "placed_from", "table_blocks", "table_placement"]

# Rows from which blocks are grown, and how many of the blocks found are looked at.
TRIES, KEPT = 60, 12


@dataclass(frozen=True, eq=False)
class TablePlacement:
    """What was placed from one block.

    Attributes
    ----------
    factor : ndarray of shape (m + n, r)
        [L; R] in units, zero where nothing was placed.
    placed : boolean ndarray of shape (m + n,)
    bound : ndarray of shape (m + n,)
        How far a placed row may be off because of rounding, infinite where it is not placed.
    seed : tuple of int ndarray
        Rows and columns of the block.
    """

    factor: Floats
    placed: Bools
    bound: Floats
    seed: tuple[Indices, Indices]

    def completed(self, observations: Observations) -> Floats:
        """The factor with what could not be placed as well as may be: least squares of least norm."""
        values, factor = table_values(observations), self.factor.copy()
        m = len(values)
        for i in np.flatnonzero(~self.placed):
            mine, other = (values[i], slice(m, None)) if i < m else (values[:, i - m], slice(0, m))
            there = self.placed[other] & ~np.isnan(mine)
            if there.any():
                factor[i] = np.linalg.lstsq(self.factor[other][there], mine[there], rcond=PLACEMENT_COMPLETED)[0]
        return factor

    @property
    def details(self) -> dict[str, float]:
        """What is worth recording: how many rows and columns, and how far rounding may move the worst."""
        return {"placed": float(self.placed.sum()), "bound": float(self.bound[self.placed].max())}


def table_values(observations: Observations) -> Floats:
    """The table itself in units, NaN where nothing was seen."""
    cut, size = observations.source.cut, observations.size
    assert cut is not None
    return observations.entries(np.arange(cut), np.arange(cut, size))


def table_blocks(seen: Bools, rank: int, rng: np.random.Generator, tries: int = TRIES) -> list[tuple[Indices, Indices]]:
    """Fully seen blocks with at least ``rank`` rows and columns, greedily grown from random rows, the largest first."""
    m, _ = seen.shape
    found: dict[tuple[int, ...], tuple[Indices, Indices]] = {}
    for first in rng.permutation(m)[:tries]:
        checkpoint()
        rows, cols = [int(first)], np.flatnonzero(seen[first])
        free = np.ones(m, dtype=bool)
        free[first] = False
        while len(cols) >= rank:
            overlap = np.where(free, seen[:, cols].sum(axis=1), -1)
            best = int(np.argmax(overlap))
            # As many rows as columns hold most entries; beyond that a row must cost nothing.
            if overlap[best] < max(rank, min(len(rows) + 1, len(cols))):
                break
            rows.append(best)
            free[best] = False
            cols = cols[seen[best, cols]]
        if len(rows) >= rank and len(cols) >= rank:
            found[tuple(sorted(rows))] = np.sort(np.array(rows)), cols
    return sorted(found.values(), key=lambda block: -min(len(block[0]), len(block[1])))[:KEPT]


def table_placement(observations: Observations, rank: int, rng: np.random.Generator) -> TablePlacement | None:
    """From the block with the strongest r-th singular value that reaches furthest; None if there is no block."""
    values = table_values(observations)
    seen = ~np.isnan(values)
    best: TablePlacement | None = None
    strengths = []
    for rows, cols in table_blocks(seen, rank, rng):
        singular = np.linalg.svd(values[np.ix_(rows, cols)], compute_uv=False)
        if singular[rank - 1] > TABLE_SEED * singular[0]:
            strengths.append((float(singular[rank - 1]), rows, cols))
    for _, rows, cols in sorted(strengths, key=lambda item: -item[0])[:3]:
        placement = placed_from(values, rank, (rows, cols), float(np.finfo(observations.dtype).eps))
        if best is None or placement.placed.sum() > best.placed.sum():
            best = placement
        if best.placed.all():
            break
    return best


def placed_from(values: Floats, rank: int, seed: tuple[Indices, Indices], eps: float) -> TablePlacement:
    """Rows and columns placed from a block, wave after wave, the best conditioned first."""
    m, n = values.shape
    rows, cols = seed
    left, singular, right = np.linalg.svd(values[np.ix_(rows, cols)], full_matrices=False)
    root = np.sqrt(singular[:rank])
    factor, bound = np.zeros((m + n, rank)), np.full(m + n, np.inf)
    factor[rows], factor[m + cols] = left[:, :rank] * root, right[:rank].T * root
    # Rounding of the block over the gap to zero, as its singular vectors have it.
    bound[rows] = bound[m + cols] = 4 * eps * float(singular[0]) / float(root[-1])
    seen = ~np.isnan(values)
    known = np.where(seen, values, 0.0)
    sides = ((slice(0, m), slice(m, m + n), seen, known), (slice(m, m + n), slice(0, m), seen.T, known.T))
    while True:
        checkpoint()
        fresh = [_wave(factor, bound, side, eps) for side in sides]
        if not any(fresh):
            break
    return TablePlacement(factor, np.isfinite(bound), bound, seed)


def _wave(factor: Floats, bound: Floats, side: tuple[slice, slice, Bools, Floats], eps: float) -> int:
    """Place what sees r independent of the other side, if its condition is nearly the best of this wave."""
    mine, theirs, seen, known = side
    other, off = factor[theirs], bound[theirs]
    there = np.isfinite(off)
    waiting = np.flatnonzero(~np.isfinite(bound[mine]))
    if not waiting.size or not there.any():
        return 0
    rank = factor.shape[1]
    sees = seen[np.ix_(waiting, np.flatnonzero(there))]
    enough = sees.sum(axis=1) >= rank
    waiting, sees = waiting[enough], sees[enough]
    if not waiting.size:
        return 0
    V, off = other[there], off[there]
    grams = (sees @ (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)).reshape(-1, rank, rank)
    least = np.sqrt(np.maximum(np.linalg.eigvalsh(grams)[:, 0], 0.0))
    drift = np.sqrt(sees @ off**2)
    good = (least > TABLE_KNOWN * drift) & (least > eps * np.sqrt(grams[:, range(rank), range(rank)].sum(axis=1)))
    if not good.any():
        return 0
    good &= least >= least[good].max() / TABLE_WORSE
    placed = 0
    for k in np.flatnonzero(good):
        i, cols = waiting[k], np.flatnonzero(there)[sees[k]]
        # A Gram matrix has its least eigenvalue to √eps only: of dependent rows that is not zero.
        weakest = float(np.linalg.svd(other[cols], compute_uv=False)[-1])
        if weakest <= TABLE_KNOWN * drift[k]:
            continue
        placed += 1
        target = known[i, cols]
        row = np.linalg.lstsq(other[cols], target, rcond=None)[0]
        factor[mine.start + i] = row
        rounding = 4 * eps * float(np.linalg.norm(target))
        bound[mine.start + i] = (rounding + float(np.linalg.norm(row)) * drift[k]) / (weakest - drift[k])
    return placed
