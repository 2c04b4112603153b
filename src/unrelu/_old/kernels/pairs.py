"""One number per unordered pair: any pattern, symmetric or not, becomes a symmetric weighted one.

The fit is symmetric, so (i, j) and (j, i) ask the same x. With seen values p and q of such a pair

    (x − p)² + (x − q)² = 2 (x − (p+q)/2)² + (p − q)²/2,

and the last term does not depend on x. A pair therefore needs one target, how often it was seen (0, 1, 2), how often it
is absent, and all pairs together one constant. Values come in units of ``observations.unit``. This is exact: value,
gradient and curvature are those of the paper's F.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.data.observations import Observations

__all__ = ["PairBlock", "edges", "pair_block", "places", "weighed"]

# 256² doubles are half a megabyte: a tile and its scratch stay in a core's second-level cache.
TILE = 256


def edges(n: int, tile: int = TILE) -> list[slice]:
    """Cut 0…n into equal pieces of at most ``tile`` rows."""
    pieces = -(-n // tile)
    cuts = [n * k // pieces for k in range(pieces + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(cuts)]


def places(observations: Observations) -> list[tuple[slice, slice]]:
    """The tiles of the upper triangle; of a table in a symmetric matrix only those that hold something of it."""
    n, cut = observations.size, observations.source.cut
    if cut is None:
        bands = edges(n)
        return [(rows, cols) for first, rows in enumerate(bands) for cols in bands[first:]]
    columns = [slice(cut + cols.start, cut + cols.stop) for cols in edges(n - cut)]
    return [(rows, cols) for rows in edges(cut) for cols in columns]


@dataclass(frozen=True, eq=False)
class PairBlock:
    """The pairs of one block: ``seen`` and ``absent`` count how often (0, 1, 2; a diagonal entry counts twice)."""

    mean: NDArray[np.floating[Any]]  # of the seen values; 0 where none was seen
    seen: NDArray[np.uint8]
    absent: NDArray[np.uint8]
    spread: float  # Σ (p − q)²/2 over the pairs of this block that were seen twice


def pair_block(observations: Observations, rows: slice, cols: slice) -> PairBlock:
    """Join block (rows, cols) with the transpose of block (cols, rows)."""
    unit = observations.dtype.type(observations.unit)
    forward = observations.block(rows, cols)
    seen_forward = ~np.isnan(forward)
    absent_forward = observations.absent(rows, cols, forward)
    if rows == cols:
        backward, seen_backward, absent_backward = forward.T, seen_forward.T, absent_forward.T
    else:
        there = observations.block(cols, rows)
        backward, seen_backward = there.T, ~np.isnan(there).T
        absent_backward = observations.absent(cols, rows, there).T
    absent = absent_forward.astype(np.uint8) + absent_backward
    mean, seen, spread = _means(forward, backward, seen_forward, seen_backward, unit)
    # A block on the diagonal holds each pair twice.
    return PairBlock(mean, seen, absent, spread / 2 if rows == cols else spread)


def _means(forward: Any, backward: Any, seen: Any, also: Any, unit: Any) -> tuple[Any, NDArray[np.uint8], float]:
    """Means of the seen values of each pair in units, how often it was seen, and Σ (p − q)²/2 over those seen twice."""
    if np.array_equal(seen, also):
        # The same was seen both ways round: no need to tell who is missing.
        p, q = forward / unit, backward / unit
        apart, unseen = p - q, ~seen
        p += q
        p *= p.dtype.type(0.5)
        np.copyto(p, 0, where=unseen)
        np.copyto(apart, 0, where=unseen)
        off = apart.astype(np.float64, copy=False).ravel()
        return p, seen.astype(np.uint8) * np.uint8(2), float(off @ off) / 2
    times = seen.astype(np.uint8) + also
    p, q = np.where(seen, forward, 0) / unit, np.where(also, backward, 0) / unit
    mean = (p + q) / np.maximum(times, 1).astype(forward.dtype)
    apart = ((p - q) * (times == 2)).astype(np.float64, copy=False).ravel()
    return mean, times, float(apart @ apart) / 2


def weighed(observations: Observations, rows: slice, cols: slice) -> tuple[NDArray[np.floating[Any]], float]:
    """Means of the pairs of a block where entries differ in weight and noise, and how far apart those seen twice are.

    With values x and y of weights p and q, each over the square of its noise,

        p (z − x)² + q (z − y)² = (p + q)(z − m)² + pq/(p + q) (x − y)²,

    where m is their mean by these weights, 0 where none was seen; the last terms are added up over the block.
    """
    (p, x), (q, y) = _with_precision(observations, rows, cols), _with_precision(observations, cols, rows)
    q, y = q.T, y.T
    both = (p > 0) & (q > 0)
    apart = (p * q)[both] / (p + q)[both] * (x - y)[both] ** 2
    total = float(np.sum(apart, dtype=np.float64))
    return (p * x + q * y) / np.where(p + q > 0, p + q, 1), total / 2 if rows == cols else total


def _with_precision(observations: Observations, rows: slice, cols: slice) -> tuple[Any, Any]:
    """What seen entries weigh over the square of their noise, and their values; 0 where unseen."""
    values = observations.block(rows, cols)
    seen, dtype = ~np.isnan(values), observations.dtype
    weight = (seen * observations.precision(rows, cols)).astype(dtype)
    return weight, np.where(seen, values, 0) / dtype.type(observations.unit)
