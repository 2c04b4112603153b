"""The block that everything else is attached to: which rows it has, and what came of solving it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint, phase
from unrelu._old.base.errors import InputError
from unrelu._old.base.units import power_of_four
from unrelu._old.data.source import Source
from unrelu._old.loop.history import Stop
from unrelu._old.proofs.determinacy import GENERIC
from unrelu._old.scale.hanging import hanging_together

__all__ = ["PER_RANK", "Seed", "Wanted", "fingerprint", "seed_rows", "size_for", "solved"]

# Rows of the block: this multiple of the rank, and at least so many; so many where no rank is named.
PER_RANK, LEAST, UNNAMED = 40, 150, 400
# A block that was not solved is tried again with more rows, each time twice as many.
TRIES = 3
# Where the source has a grid of chunks, rows are taken from so many bands of it, so that few chunks are read.
BANDS = 8
LARGEST_UNIT = 511
# What a block is called that is of no low rank.
NO_LOW_RANK = (Stop.PREDICTS, Stop.DOES_NOT_EXTRAPOLATE)

Solve = Callable[[Array, int | None], Any]


@dataclass(frozen=True, eq=False)
class Seed:
    """A solved block; factors are in units.

    Attributes
    ----------
    rows, cols : int ndarray
        Its rows, and its columns: the same for a symmetric matrix.
    left, right : ndarray
        Their factors.
    unit : float
    alike : bool
        Whether the block, and so presumably the matrix, is the same on both sides of its diagonal.
    code : Stop
        How it ended.
    reason : str
    sigma : float or None
        The noise that the fit shows; None if it fits to rounding.
    level : int ndarray
        What is known of its rows: places in :data:`unrelu._old.proofs.determinacy.LEVELS`; of a table rows, then columns.
    """

    rows: Indices
    cols: Indices
    left: Floats
    right: Floats
    unit: float
    alike: bool
    code: Stop
    reason: str
    sigma: float | None
    level: NDArray[np.int64]

    @property
    def rank(self) -> int:
        """Of the fit."""
        return int(self.left.shape[1])

    @property
    def exact(self) -> bool:
        """Whether it fits to rounding."""
        return self.code is Stop.FITTED


def size_for(rank: int | None, count: int | None, length: int) -> int:
    """Rows of the block; refused if they are fewer than the rank asks for."""
    if count is not None and rank is not None and count <= rank:
        raise InputError(
            f"rank must be smaller than the block of {count} rows that is solved first, got rank={rank}; raise count= "
            "of landmarks, or lower the rank"
        )
    wanted = count or (UNNAMED if rank is None else max(LEAST, PER_RANK * rank))
    return min(wanted, length)


def seed_rows(source: Source, length: int, count: int, step: int, rng: np.random.Generator) -> Indices:
    """Rows, or columns, drawn by chance: from few bands of a grid of chunks; of a sparse matrix those seen most."""
    stored = source.coordinates()
    if stored is not None and stored[2].size < 0.25 * source.shape[0] * source.shape[1]:
        return _crowded(stored, source.shape, count)
    if step <= 1:
        return np.sort(rng.permutation(length)[:count])
    starts = rng.permutation(np.arange(0, length, step))[:BANDS]
    every = np.concatenate([np.arange(start, min(start + step, length)) for start in starts])
    return np.sort(rng.permutation(every)[:count])


def _crowded(stored: tuple[Indices, Indices, Array], shape: tuple[int, int], count: int) -> Indices:
    """Rows around the one of which most was seen: what it sees, those first that are seen most themselves."""
    rows, cols, _ = stored
    times = np.bincount(rows, minlength=shape[0])
    first = int(np.argmax(times))
    near = np.union1d(cols[rows == first], [first])
    near = near[near < shape[0]]
    order = near[np.argsort(-times[near], kind="stable")]
    if len(order) < count:
        others = np.setdiff1d(np.argsort(-times, kind="stable")[: 2 * count], order, assume_unique=False)
        order = np.concatenate([order, others])
    return np.sort(order[:count])


@dataclass(frozen=True)
class Wanted:
    """Which block: of which rank, of how many rows, of a symmetric matrix or a table, and with which verdicts.

    ``told`` says whether absence tells something, as the sign of an unseen entry.
    """

    rank: int | None
    count: int | None
    symmetric: bool
    codes: tuple[Stop, ...] = (Stop.FITTED, Stop.FITTED_TO_NOISE, Stop.BEST_OF_RANK)
    told: bool = False


def solved(source: Source, wanted: Wanted, solve: Solve, rng: np.random.Generator) -> tuple[Seed | None, Any]:
    """The block, solved by ``solve(block, rank)``, and the completion; no seed if no block of rows has an answer."""
    height, width = source.shape
    rank, count, symmetric = wanted.rank, wanted.count, wanted.symmetric
    grid = source.block_shape or (1, 1)
    size, completion = size_for(rank, count, min(height, width)), None
    for _ in range(TRIES):
        checkpoint()
        phase("solving a block")
        rows = seed_rows(source, height, size, grid[0], rng)
        cols = rows if symmetric else seed_rows(source, width, size, grid[1], rng)
        block = source.block(rows, cols)
        if np.isnan(block).all():
            size = min(2 * size, min(height, width))
            continue
        completion = solve(block, rank)
        if completion.verdict.code in NO_LOW_RANK:  # more rows would say the same
            return None, completion
        found = _seed_of(completion, block, (rows, cols), wanted)
        if found is not None or size == min(height, width) or count is not None:
            return found, completion
        size = min(2 * size, min(height, width))
    return None, completion


def _seed_of(completion: Any, block: Array, places: tuple[Indices, Indices], wanted: Wanted) -> Seed | None:
    """What others may be attached to, if the block has one answer."""
    (rows, cols), symmetric = places, wanted.symmetric
    if completion.verdict.code not in wanted.codes:
        return None
    unit = _unit(block)
    root = np.sqrt(unit)
    left, right = completion.factors.left / root, completion.factors.right / root
    level = completion._rows.determinacy if symmetric else completion.table_determinacy
    known = np.where(level.determined, level.rank_of, 0)
    keep = known >= GENERIC
    rank = left.shape[1]
    alike = symmetric and np.array_equal(block, block.T, equal_nan=True)
    sigma = None
    if completion.verdict.code is not Stop.FITTED:
        gap = block / unit - left @ right.T
        seen = ~np.isnan(gap)
        spare = max(int(seen.sum()) - (len(rows) + (0 if symmetric else len(cols))) * rank, 1)
        rms = float(np.sqrt(np.nansum(gap * gap) / spare))
        sigma = rms if completion.sigma is None else completion.sigma / unit
        if not (symmetric and wanted.told):  # there absence tells the sign of one piece beside another
            keep = _one_body(keep, seen, (left, right), sigma)
    of_rows, of_cols = (keep, keep) if symmetric else (keep[: len(rows)], keep[len(rows) :])
    if min(int(of_rows.sum()), int(of_cols.sum())) <= rank:
        return None
    return Seed(
        rows[of_rows],
        cols[of_cols],
        left[of_rows].astype(np.float64),
        right[of_cols].astype(np.float64),
        unit,
        alike,
        completion.verdict.code,
        completion.verdict.reason,
        sigma,
        known[keep],
    )


def _one_body(keep: Bools, seen: Bools, pair: tuple[Array, Array], sigma: float) -> Bools:
    """Of rows, and of a table columns after them, those that hang together by more than noise."""
    left, right = (side.astype(np.float64) for side in pair)
    symmetric = len(keep) == len(left)
    of_rows, of_cols = (keep, keep) if symmetric else (keep[: len(left)], keep[len(left) :])
    seen = (seen | seen.T if symmetric else seen) & of_rows[:, None] & of_cols
    rows, cols = hanging_together(seen, left, right, sigma)
    return keep & (rows & cols if symmetric else np.concatenate([rows, cols]))


def _unit(block: Array) -> float:
    seen = block[~np.isnan(block)].astype(np.float64)
    size = float(np.sqrt(np.mean((seen / max(float(np.abs(seen).max()), np.finfo(float).tiny)) ** 2)))
    size *= float(np.abs(seen).max())
    return power_of_four(size, LARGEST_UNIT) if size else 1.0


def fingerprint(block: Array) -> str:
    """Of a block: the same data give the same."""
    return sha256(np.ascontiguousarray(block).tobytes()).hexdigest()
