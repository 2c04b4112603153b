"""One fully seen block is enough: factor it, and every other row is a linear least-squares problem against it.

Rows C whose block C×C was seen in full, with its r-th eigenvalue well above zero, have a factor that is unique up to a
rotation. A row that sees r independent placed rows then has one solution, and joins the placed ones. Each step has at
most one answer, so without noise success proves that no other matrix of rank ≤ r agrees with the seen entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    PLACEMENT_COMPLETED,
    PLACEMENT_INVERTIBLE,
    PLACEMENT_NOISELESS,
    PLACEMENT_OPEN,
    PLACEMENT_SPANNED,
    PLACEMENT_WEAKEST_SEED,
)
from unrelu._old.data.observations import Observations
from unrelu._old.placing.attach import Frame, bands, normal_matrices

__all__ = [
    "Placement",
    "best_placement",
    "find_blocks",
    "furthest_placement",
    "grown",
    "place",
    "several_blocks",
    "steadied",
    "undetermined",
]

Told = Callable[[NDArray[np.float64]], object]

# The seed block is looked for among so many rows, from so many of them; first, from a few, among fewer rows (and at
# least this multiple of the rank).
SEARCHED, TRIES = 1000, 60
FEW_SEARCHED, PER_RANK, FEW_TRIES, SOME_TRIES = 400, 30, 6, 12
# Seed blocks tried while some rows are not reached.
SEEDS = 4
# A block need not be larger than this many times the rank (plus a few rows) to be well conditioned.
LARGEST_BLOCK = 6
# A row joins once the rows it sees span every direction to this share (squared): the best first, then ever weaker ones.
SHARES = (0.03, 3e-3, 3e-4, 1e-5, 1e-7, 1e-9)
# Other seed blocks whose placements are averaged when there is noise, and rows that tell whether there is.
AVERAGED, SAMPLE = 4, 300
# Every row within this share of the rms entry: as near as a solver needs its start.
NEAR = 0.1
# Rows that others are placed against: all while there are few, then a sample.
ANCHORS = 15
# A row that sees so many times the rank among a sample would not be held much better by all.
FEW_SEEN = 4


@dataclass(frozen=True, eq=False)
class Placement:
    """Rows placed from one seed block; the factor is in units of the square root of ``observations.unit``.

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
        coordinates in which that of all anchors is the identity, within a factor √r. Infinite for the seed, 0 for rows
        never placed.
    """

    factor: NDArray[np.float64]
    seed: Indices
    wave: NDArray[np.int64]
    share: NDArray[np.float64]

    def completed(self, observations: Observations) -> NDArray[np.float64]:
        """The factor with the rows that could not be placed as well as may be: least squares of least norm."""
        missing = np.flatnonzero(~self.placed)
        factor = self.factor.copy()
        if missing.size:
            anchors = np.flatnonzero(self.placed)
            frame = Frame.of(self.factor[anchors], PLACEMENT_COMPLETED)
            values, seen = observations.pairs(missing, anchors)
            for i, row in enumerate(missing):
                if seen[i].any():
                    factor[row], _ = frame.solve_one(seen[i], values[i])
        return factor

    @property
    def placed(self) -> NDArray[np.bool_]:
        """Which rows have a place."""
        return self.wave >= 0

    @property
    def details(self) -> dict[str, float]:
        """What is worth recording: how many rows, in how many waves, and how well the weakest was held."""
        weakest = float(self.share[self.placed].min())
        return {"placed": float(self.placed.sum()), "waves": float(self.wave.max()), "weakest": weakest}


def best_placement(observations: Observations, rank: int, rng: np.random.Generator) -> Placement | None:
    """The placement that reaches most rows; with noise, averaged over several blocks."""
    best = furthest_placement(observations, rank, rng)
    return None if best is None else steadied(observations, rank, best, rng)


def furthest_placement(
    observations: Observations, rank: int, rng: np.random.Generator, told: Told = lambda _: None
) -> Placement | None:
    """The one that reaches most rows: from the best of a few seed blocks, of many if that does not reach all."""
    best: Placement | None = None
    for tries in (FEW_TRIES, TRIES):
        for seed in find_blocks(observations, rank, rng, tries)[:SEEDS]:
            if best is not None and best.placed[seed].all():
                continue  # it would reach the same rows
            found = place(observations, rank, seed, rng, told)
            if found is not None and (best is None or found.placed.sum() > best.placed.sum()):
                best = found
            if best is not None and best.placed.all():
                return best
    return best


def place(
    observations: Observations, rank: int, seed: Indices, rng: np.random.Generator, told: Told = lambda _: None
) -> Placement | None:
    """Factor the seed block and attach every row that can be attached, in waves."""
    n = observations.size
    block, _ = observations.pairs(seed, seed)
    values, vectors = np.linalg.eigh(block)
    factor = np.zeros((n, rank))
    factor[seed] = vectors[:, -rank:] * np.sqrt(values[-rank:])
    wave, share = np.full(n, -1), np.zeros(n)
    wave[seed], share[seed] = 0, np.inf
    return grown(observations, Placement(factor, seed, wave, share), rng, told)


def grown(
    observations: Observations, first: Placement, rng: np.random.Generator, told: Told = lambda _: None
) -> Placement | None:
    """Attach every row that can be attached to those placed already; None if those do not span the space.

    ``told`` is called with the factor as it grows.
    """
    factor, wave, share = first.factor.copy(), first.wave.copy(), first.share.copy()
    rank, count = factor.shape[1], int(wave.max())
    span: _Span | None = None
    for least in SHARES:
        everyone = False
        while (wave < 0).any():
            checkpoint()
            left = np.flatnonzero(wave < 0)
            # Where little was seen a row may see too few of a sample; only then all are asked.
            anchors = np.flatnonzero(wave >= 0) if everyone else _anchors(wave, rank, rng)
            frame = Frame.of(factor[anchors], PLACEMENT_SPANNED)
            if frame.rank < rank:
                return None
            if everyone:
                span = _Span(observations, frame.T) if span is None else span
                left = left[span.shares(factor, anchors, left) >= least]
            values, seen = observations.pairs(left, anchors)
            solution, shares = frame.place(seen, values)
            good = shares >= least
            if good.any():
                count += 1
                rows = left[good]
                factor[rows], wave[rows], share[rows] = solution[good], count, shares[good]
                told(factor)
            elif everyone or len(anchors) == int((wave >= 0).sum()) or seen.sum(axis=1).min() >= FEW_SEEN * rank:
                break
            else:
                everyone = True
    return Placement(factor, first.seed, wave, share)


class _Span:
    """How well the placed rows that each other row sees span the space; every pair is looked at once."""

    def __init__(self, observations: Observations, whitening: NDArray[np.float64]) -> None:
        self.observations, self.whitening = observations, whitening
        self.normal = np.zeros((observations.size, len(whitening), len(whitening)))
        self.counted = np.zeros(observations.size, dtype=bool)

    def shares(self, factor: Array, anchors: Indices, left: Indices) -> NDArray[np.float64]:
        """As :meth:`Frame.place` has them, in the frame of the rows that were placed at first."""
        fresh = anchors[~self.counted[anchors]]
        self.counted[fresh] = True
        Q = factor[fresh] @ self.whitening.T
        for part in bands(len(left), max(len(fresh), 1)):
            checkpoint()
            _, seen = self.observations.pairs(left[part], fresh)
            self.normal[left[part]] += normal_matrices(seen.astype(np.float64), Q)
        inverse = np.linalg.inv(self.normal[left] + PLACEMENT_INVERTIBLE * np.eye(len(self.whitening)))
        return 2 / np.linalg.norm(inverse, axis=(1, 2))  # twice: the frame changes a little as rows are placed


def steadied(
    observations: Observations, rank: int, first: Placement, rng: np.random.Generator, *, unless_near: bool = False
) -> Placement:
    """With noise: the same rows placed from several other blocks, aligned by a rotation, and averaged.

    Rows enter with the inverse square of what they leave of the entries they see, so that one badly attached does no
    harm. Without noise the placement comes back as it was; with ``unless_near`` also if every row already fits what it
    sees well enough to start from.
    """
    known = np.flatnonzero(first.placed)
    sample = np.sort(rng.permutation(known)[:SAMPLE])
    values, seen = observations.pairs(known, sample)
    misfit = _misfit(first.factor, known, sample, values, seen)
    size = np.sqrt(np.mean(values[seen] ** 2)) if seen.any() else 0.0
    if not np.median(misfit) > PLACEMENT_NOISELESS * size or (unless_near and misfit.max() <= NEAR * size):
        return first
    weights = 1 / (misfit**2 + np.median(misfit) ** 2)
    total, weight = first.factor[known] * weights[:, None], weights.copy()
    others = 0
    for seed in several_blocks(observations, rank, rng):
        if others == AVERAGED or len(np.intersect1d(seed, first.seed)) > len(seed) // 2:
            continue
        other = place(observations, rank, seed, rng)
        if other is None:
            continue
        both = np.flatnonzero(other.placed[known])
        left = _misfit(other.factor, known[both], sample, values[both], seen[both])
        if len(both) < 2 * rank or np.median(left) > 3 * np.median(misfit):
            continue
        theirs = 1 / (left**2 + np.median(misfit) ** 2)
        mean = total[both] / weight[both, None]
        turn = _rotation(other.factor[known[both]], mean, np.minimum(theirs, weight[both]))
        total[both] += theirs[:, None] * (other.factor[known[both]] @ turn)
        weight[both] += theirs
        others += 1
    factor = first.factor.copy()
    factor[known] = total / weight[:, None]
    return replace(first, factor=factor)


def _misfit(
    factor: NDArray[np.float64], rows: Indices, cols: Indices, values: NDArray[np.float64], seen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Root-mean-square residual of each row on the entries it sees."""
    gap = np.where(seen, factor[rows] @ factor[cols].T - values, 0)
    return np.sqrt(np.sum(gap**2, axis=1) / np.maximum(seen.sum(axis=1), 1))


def _rotation(A: Array, B: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The orthogonal Q that brings AQ nearest to B, rows weighted."""
    left, _, right = np.linalg.svd(A.T @ (weights[:, None] * B))
    return left @ right


def _anchors(wave: NDArray[np.int64], rank: int, rng: np.random.Generator) -> Indices:
    """The seed, and of the rows placed since the earliest: they carry the least error."""
    placed = np.flatnonzero(wave >= 0)
    most = max(200, ANCHORS * rank)
    if len(placed) <= most:
        return placed
    order = np.argsort(wave[placed] + rng.random(len(placed)))
    return np.sort(placed[order[:most]])


def find_blocks(
    observations: Observations,
    rank: int,
    rng: np.random.Generator,
    tries: int = TRIES,
    among: Indices | None = None,
) -> list[Indices]:
    """Sets of rows whose block was seen in full and has rank r, those with the largest r-th eigenvalue first.

    Greedy from each of many rows at once: join the candidate that leaves most candidates and, until r rows span the
    space, points most away from those chosen (the pivots of a Cholesky decomposition of the block).
    """
    rows = np.arange(observations.size) if among is None else among
    most = SEARCHED if tries > SOME_TRIES else min(SEARCHED, max(FEW_SEARCHED, PER_RANK * rank))
    rows = np.sort(rng.permutation(rows)[:most])
    values, seen = observations.pairs(rows, rows)
    # A row that is zero sees every other row and says nothing.
    able = np.flatnonzero(np.diag(seen) & (np.diag(values) > 0))
    if len(able) < rank:
        return []
    values, seen = values[np.ix_(able, able)], seen[np.ix_(able, able)]
    found: list[tuple[float, Indices]] = []
    for members in _grow(values, seen, rank, min(tries, len(able)), rng):
        if len(members) >= rank:
            eigenvalues = np.linalg.eigvalsh(values[np.ix_(members, members)])
            share = float(eigenvalues[-rank] / max(eigenvalues[-1], np.finfo(float).tiny))
            if share > PLACEMENT_WEAKEST_SEED:
                found.append((share, rows[able[members]]))
    return [members for _, members in sorted(found, key=lambda pair: -pair[0])]


def several_blocks(observations: Observations, rank: int, rng: np.random.Generator) -> list[Indices]:
    """Blocks to average over: from many tries where that is cheap, else from a dozen unless those find none."""
    if observations.size <= FEW_SEARCHED:
        return find_blocks(observations, rank, rng)
    return find_blocks(observations, rank, rng, SOME_TRIES) or find_blocks(observations, rank, rng)


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


def undetermined(observations: Observations, rank: int, factor: Array, placement: Placement | None) -> Indices:
    """Rows without a place: never attached to the seed block or, where there is none, seeing fewer than r others."""
    if placement is not None:
        return np.flatnonzero(~placement.placed)
    # Only rows of which little was seen can be short of r independent ones.
    few = np.flatnonzero(observations.seen_per_row < 8 * rank)
    if few.size == 0:
        return few
    everyone = np.arange(observations.size)
    frame = Frame.of(factor.astype(np.float64), PLACEMENT_OPEN)
    _, seen = observations.pairs(few, everyone)
    seen[np.arange(few.size), few] = False
    short = [i for i in range(few.size) if frame.solve_one(seen[i], np.zeros(observations.size))[1] < frame.rank]
    return few[short]
