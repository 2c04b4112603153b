"""Passes over all entries in blocks: what a fit leaves of them, and what each row asks for.

With the other rows held, row i of the fit UUᵀ is a problem of its own: its gradient is g_i = Σ_j s_ij u_j, its
curvature N_i = Σ_j w_ij u_j u_jᵀ. A seen entry has the slope s = u_i·u_j − m_ij and the weight 1. With noise σ an
unseen one has those of −σ² log Φ(z), z = (τ − u_i·u_j)/σ: with h = φ(z)/Φ(z) the slope σh and the weight h(h + z). One
pass finds g_i and N_i of all rows. A block is read, used and forgotten; nothing n×n is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from unrelu.base.arrays import Array, Bools, Floats
from unrelu.data.source import Source
from unrelu.kernels.threads import in_order

__all__ = ["Asked", "Data", "Found", "Totals", "look", "outer_products"]

# Rows and columns of a block where the source has no grid of its own, and rows of it that are worked on at once: what
# stays in a core's second-level cache.
SIDE, AT_ONCE = 1024, 128
# Beyond so many standard deviations from the threshold an unseen entry says nothing: log Φ(6) is −1e-9.
FAR = 6.0
# h(z) = √(2/π) / erfcx(−z/√2).
ROOT_TWO, TWO_OVER_PI = float(np.sqrt(2.0)), float(np.sqrt(2.0 / np.pi))


@dataclass(frozen=True, eq=False)
class Data:
    """The values of a matrix and where entries go unseen, in units of ``unit``.

    Attributes
    ----------
    source : Source
    unit : float
        A power of four, so that dividing by it rounds nothing.
    threshold : float or None
        Beyond it an entry goes unseen, in units; None: absence says nothing.
    sign : float
        1 if unseen entries lie below the threshold, −1 if above.
    symmetric : bool
        Whether the fit is UUᵀ; else LRᵀ.
    alike : bool
        Whether a symmetric matrix has the same entries on both sides of its diagonal, so that half is read.
    """

    source: Source
    unit: float = 1.0
    threshold: float | None = 0.0
    sign: float = 1.0
    symmetric: bool = True
    alike: bool = True

    def blocks(self, side: int) -> list[tuple[slice, slice]]:
        """The blocks that hold everything, each row of blocks from left to right."""
        grid = self.source.block_shape or (1, 1)
        rows, cols = (_edges(length, side, step) for length, step in zip(self.source.shape, grid, strict=True))
        if self.symmetric and self.alike:
            rows = cols = _edges(self.source.shape[0], side, max(grid))
            return [(one, other) for k, one in enumerate(rows) for other in rows[k:]]
        return [(one, other) for one in rows for other in cols]


def _edges(length: int, side: int, step: int) -> list[slice]:
    """Pieces of about ``side``, each a multiple of ``step`` but for the last."""
    side = max(step, side // step * step)
    return [slice(start, min(start + side, length)) for start in range(0, length, side)]


@dataclass(frozen=True)
class Asked:
    """What a pass is for: at which noise (None: none), whether for N_i, and whether for the sizes of the data too."""

    sigma: float | None = None
    curvature: bool = False
    first: bool = False


@dataclass(frozen=True)
class Totals:
    """Sums over all entries, in units; of a symmetric matrix read by halves, over the pairs of rows.

    Attributes
    ----------
    count : int
        Of seen entries.
    squares : float
        Σ s² over the seen ones.
    beyond : float
        Σ of the squares by which unseen ones are fitted on the wrong side.
    pulled : float
        Σ z h over the unseen ones, which tells the noise: σ² = Σs²/(count + Σ z h).
    norm : float
        Σ m² over the seen ones, if that was asked for.
    low, high : float
        The least and the largest seen value, if that was asked for.
    """

    count: int = 0
    squares: float = 0.0
    beyond: float = 0.0
    pulled: float = 0.0
    norm: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.count + other.count,
            self.squares + other.squares,
            self.beyond + other.beyond,
            self.pulled + other.pulled,
            self.norm + other.norm,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def times(self, number: int) -> Totals:
        """All sums so many times."""
        return replace(
            self,
            count=self.count * number,
            squares=self.squares * number,
            beyond=self.beyond * number,
            pulled=self.pulled * number,
            norm=self.norm * number,
        )


@dataclass(eq=False)
class Found:
    """What a pass adds up: for the rows, and of a table for the columns, in two pieces of one array each."""

    seen: NDArray[np.int64]
    gradient: Floats
    normal: NDArray[np.floating[Any]]
    totals: Totals = field(default_factory=Totals)
    done: int = 0  # blocks

    @classmethod
    def nothing(cls, size: int, rank: int, asked: Asked) -> Found:
        """Before the first block."""
        some = rank * (rank + 1) // 2 if asked.curvature else 0
        wide = rank if asked.curvature else 0
        return cls(np.zeros(size, np.int64), np.zeros((size, wide)), np.zeros((size, some)))


def outer_products(Q: Array) -> Array:
    """q_j q_jᵀ of every row of Q, its lower triangle as a row of length r(r + 1)/2."""
    first, second = np.tril_indices(Q.shape[1])
    return Q[:, first] * Q[:, second]


def look(
    data: Data,
    factors: tuple[Array, Array],
    asked: Asked,
    side: int = SIDE,
    found: Found | None = None,
    told: Callable[[Found, int], object] = lambda found, rows: None,
) -> Found:
    """One pass: ``factors`` are U twice, or L and R; ``told`` hears after each block what there is so far.

    With ``found`` from an earlier pass that was cut short it goes on from there, to the same last digit.
    """
    dtype = data.source.dtype
    left, right = (factor.astype(dtype, copy=False) for factor in factors)
    right = left if factors[0] is factors[1] else right
    height, blocks = len(left), data.blocks(side)
    size = height if data.symmetric else height + len(right)
    found = Found.nothing(size, left.shape[1], asked) if found is None else found
    work = _Work(data, left, right, asked)

    def read(block: tuple[slice, slice]) -> Array:
        return data.source.block(*block)

    parts = in_order(blocks[found.done :], read, work.block, threads=data.source.thread_safe)
    for (rows, cols), part in zip(blocks[found.done :], parts, strict=True):
        there = cols if data.symmetric else slice(height + cols.start, height + cols.stop)
        mirrored = not data.symmetric or rows != cols or not data.alike
        for place, side_of in ((rows, part.rows), (there, part.cols)) if mirrored else ((rows, part.rows),):
            found.seen[place] += side_of[0]
            if asked.curvature:
                found.gradient[place] += side_of[1]
                found.normal[place] += side_of[2]
        found.totals += part.totals.times(2 if data.symmetric and data.alike and rows != cols else 1)
        found.done += 1
        told(found, rows.stop - rows.start)
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    """Of one block: counts, gradients and packed N_i of its rows and of its columns, and the sums."""

    rows: tuple[Any, Any, Any]
    cols: tuple[Any, Any, Any]
    totals: Totals


class _Work:
    """The arithmetic of a pass, a few rows of a block at a time."""

    def __init__(self, data: Data, left: Array, right: Array, asked: Asked) -> None:
        self.data, self.asked, self.left, self.right = data, asked, left, right
        self.dtype = left.dtype
        if asked.curvature:  # single precision suffices for what a step is divided by
            self.outer_right = outer_products(right).astype(np.float32)
            self.outer_left = self.outer_right if left is right else outer_products(left).astype(np.float32)

    def block(self, block: tuple[slice, slice], values: Array) -> _Part:
        """All of one block."""
        rows, cols = block
        height, width, rank = rows.stop - rows.start, cols.stop - cols.start, self.left.shape[1]
        in_row, in_col = np.zeros(height, np.int64), np.zeros(width, np.int64)
        asked, totals = self.asked, Totals()
        some = rank * (rank + 1) // 2 if asked.curvature else 0
        wide = rank if asked.curvature else 0
        g_row, g_col = np.empty((height, wide)), np.zeros((width, wide))
        n_row, n_col = np.empty((height, some), np.float32), np.zeros((width, some), np.float32)
        for start in range(0, height, AT_ONCE):
            inner = slice(start, min(start + AT_ONCE, height))
            here = slice(rows.start + inner.start, rows.start + inner.stop)
            slopes, weights, more = self._tile(values[inner], here, cols)
            totals += more
            unseen = np.isnan(values[inner])
            in_row[inner] = width - np.count_nonzero(unseen, axis=1)
            in_col += (inner.stop - inner.start) - np.count_nonzero(unseen, axis=0)
            if asked.curvature:
                g_row[inner], n_row[inner] = slopes @ self.right[cols], weights @ self.outer_right[cols]
                g_col += slopes.T @ self.left[here]
                n_col += weights.T @ self.outer_left[here]
        return _Part((in_row, g_row, n_row), (in_col, g_col, n_col), totals)

    def _tile(self, values: Array, rows: slice, cols: slice) -> tuple[Array, Any, Totals]:
        """Slopes and weights of a few rows, and their sums."""
        data, asked = self.data, self.asked
        fit = self.left[rows] @ self.right[cols].T
        if data.unit != 1:
            values = values / self.dtype.type(data.unit)
        unseen = np.isnan(values)
        slopes = np.subtract(fit, values)
        np.copyto(slopes, 0, where=unseen)
        squares, count = float(np.vdot(slopes, slopes)), unseen.size - int(np.count_nonzero(unseen))
        weights = np.subtract(1, unseen, dtype=np.float32) if asked.curvature else None
        beyond = pulled = 0.0
        if data.threshold is not None:
            if data.symmetric:
                _open_diagonal(unseen, rows, cols)
            beyond, pulled = self._absent(fit, unseen, slopes, weights)
        totals = Totals(count, squares, beyond, pulled)
        if asked.first:
            known = np.where(np.isnan(values), 0, values)
            low, high = float(np.fmin.reduce(values, axis=None)), float(np.fmax.reduce(values, axis=None))
            totals = replace(totals, norm=float(np.vdot(known, known)), low=low, high=high)
        return slopes, weights, totals

    def _absent(self, fit: Array, unseen: Bools, slopes: Array, weights: Any) -> tuple[float, float]:
        """Put what unseen entries say into slopes and weights; the squares beyond the threshold, and Σ z h."""
        sign, tau, sigma = self.data.sign, self.data.threshold or 0.0, self.asked.sigma
        reach = 0.0 if sigma is None else FAR * sigma
        near = fit > tau - reach if sign > 0 else fit < tau + reach
        near &= unseen
        at = np.flatnonzero(near)
        if not at.size:
            return 0.0, 0.0
        over = sign * (fit.reshape(-1)[at].astype(np.float64) - tau)
        wrong = np.maximum(over, 0)
        beyond = float(wrong @ wrong)
        if sigma is None:
            return beyond, 0.0
        z = -over / sigma
        h = TWO_OVER_PI / erfcx(-z / ROOT_TWO)
        slopes.reshape(-1)[at] = sign * sigma * h
        if weights is not None:
            weights.reshape(-1)[at] = np.clip(h * (h + z), 0, 1)
        return beyond, float(z @ h)


def _open_diagonal(unseen: Bools, rows: slice, cols: slice) -> None:
    """An unseen entry of the diagonal of a positive semidefinite matrix is missing for another reason."""
    start, stop = max(rows.start, cols.start), min(rows.stop, cols.stop)
    if start < stop:
        own = np.arange(start, stop)
        unseen[own - rows.start, own - cols.start] = False
