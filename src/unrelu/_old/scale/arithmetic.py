"""The arithmetic of a pass over blocks, a few rows at a time: every temporary array stays in a core's cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import erfcx

from unrelu._old.base.arrays import Array, Bools
from unrelu._old.scale.blocks import Asked, Data, Totals

__all__ = ["AT_ONCE", "Part", "Work", "outer_products"]

# Rows of a block that are worked on at once.
AT_ONCE = 128
# Beyond so many standard deviations from the threshold an unseen entry says nothing: log Φ(6) is −1e-9.
FAR = 6.0
# h(z) = √(2/π) / erfcx(−z/√2).
ROOT_TWO, TWO_OVER_PI = float(np.sqrt(2.0)), float(np.sqrt(2.0 / np.pi))
# Between these units the factors are multiplied by the unit, and nobody divides the data by it.
USUAL = 2.0**-40, 2.0**40


def outer_products(Q: Array) -> Array:
    """q_j q_jᵀ of every row of Q, its lower triangle as a row of length r(r + 1)/2."""
    first, second = np.tril_indices(Q.shape[1])
    return Q[:, first] * Q[:, second]


@dataclass(frozen=True, eq=False)
class Part:
    """Of one block: counts, gradients, packed N_i and squares of its rows and of its columns, and the sums."""

    rows: tuple[Any, ...]
    cols: tuple[Any, ...]
    totals: Totals


class Work:
    """What is done with a block, for the fit LRᵀ; what comes out is in units, whatever the values are in."""

    def __init__(self, data: Data, left: Array, right: Array, asked: Asked) -> None:
        self.data, self.asked, self.left, self.right = data, asked, left, right
        usual = USUAL[0] <= data.unit <= USUAL[1]
        # Powers of four: both ways round nothing.
        self.scale, self.divisor = (data.unit, 1.0) if usual else (1.0, data.unit)
        self.fitted = left * left.dtype.type(self.scale)
        self.tau = (data.threshold or 0.0) * self.scale
        self.sigma = None if asked.sigma is None else asked.sigma * self.scale
        if asked.curvature:  # single precision suffices for what a step is divided by
            self.outer_right = outer_products(right).astype(np.float32)
            self.outer_left = self.outer_right if left is right else outer_products(left).astype(np.float32)

    def block(self, block: tuple[slice, slice], values: Array) -> Part:
        """All of one block."""
        rows, cols = block
        of_rows, of_cols = self._nothing(rows), self._nothing(cols)
        totals, halved = Totals(), self.data.halved
        for start in range(rows.start, rows.stop, AT_ONCE):
            here = slice(start, min(start + AT_ONCE, rows.stop))
            inner = slice(here.start - rows.start, here.stop - rows.start)
            tile, own = values[inner], None
            if self.divisor != 1:
                tile = tile / tile.dtype.type(self.divisor)
            if halved and cols.start < here.stop:
                tile, own = _above(tile, here, cols)
            more = self._tile(tile, (here, cols, inner), of_rows, of_cols)
            totals += more.times(2) if halved else more
            if own is not None:
                totals += self._diagonal(own, rows.start, of_rows)
        for side in (of_rows, of_cols):
            side[1][:] /= self.scale
            side[3][:] /= self.scale**2
        return Part(of_rows, of_cols, totals.over(self.scale))

    def _nothing(self, place: slice) -> tuple[Any, ...]:
        count, rank = place.stop - place.start, self.left.shape[1]
        some, wide = rank * (rank + 1) // 2 if self.asked.curvature else 0, rank if self.asked.gradient else 0
        seen, squares = np.zeros(count, np.int64), np.zeros(count)
        return seen, np.zeros((count, wide)), np.zeros((count, some), np.float32), squares

    def _tile(
        self, values: Array, places: tuple[slice, slice, slice], of_rows: tuple[Any, ...], of_cols: tuple[Any, ...]
    ) -> Totals:
        """A few rows: what they and the columns ask for is added, and the sums are returned."""
        (rows, cols, inner), asked = places, self.asked
        fit = self.fitted[rows] @ self.right[cols].T
        unseen = np.isnan(values)
        totals = Totals(count=unseen.size - int(np.count_nonzero(unseen)))
        if asked.first:
            of_rows[0][inner] += unseen.shape[1] - np.count_nonzero(unseen, axis=1)
            of_cols[0][:] += len(unseen) - np.count_nonzero(unseen, axis=0)
            totals = _sizes(totals, values)
        # Whatever the order of the values in memory: unseen entries are written to by their places in this one.
        weights = np.subtract(1, unseen, dtype=np.float32, order="C") if asked.curvature else None
        absent = self._absent(fit, unseen, rows, cols) if self.data.threshold is not None else None
        slopes = np.subtract(fit, values, out=fit)
        np.copyto(slopes, 0, where=unseen)
        totals = replace(totals, squares=float(np.vdot(slopes, slopes)))
        if asked.gradient:
            squares = np.square(slopes)
            of_rows[3][inner] += squares @ np.ones(squares.shape[1], squares.dtype)
            of_cols[3][:] += np.ones(len(squares), squares.dtype) @ squares
        if absent is not None:
            at, over = absent
            totals = self._told(at, over, slopes, weights, totals)
        if asked.gradient:
            of_rows[1][inner] = slopes @ self.right[cols]
            of_cols[1][:] += slopes.T @ self.left[rows]
        if weights is not None:
            of_rows[2][inner] = weights @ self.outer_right[cols]
            of_cols[2][:] += weights.T @ self.outer_left[rows]
        return totals

    def _absent(self, fit: Array, unseen: Bools, rows: slice, cols: slice) -> tuple[Any, Any]:
        """Places of the unseen entries of which absence says something, and by how much the fit is beyond there."""
        sign, reach = self.data.sign, 0.0 if self.sigma is None else FAR * self.sigma
        near = fit > self.tau - reach if sign > 0 else fit < self.tau + reach
        near &= unseen
        if self.data.symmetric and cols.start < rows.stop:
            _open(near, rows, cols, below=self.data.halved)
        at = np.flatnonzero(near)
        return at, sign * (fit.reshape(-1)[at].astype(np.float64) - self.tau)

    def _told(self, at: Any, over: Any, slopes: Array, weights: Any, totals: Totals) -> Totals:
        """Put what unseen entries say into slopes and weights."""
        wrong = np.maximum(over, 0)
        beyond = float(wrong @ wrong)
        if self.sigma is None:
            return replace(totals, beyond=beyond)
        z = -over / self.sigma
        h = TWO_OVER_PI / erfcx(-z / ROOT_TWO)
        slopes.reshape(-1)[at] = self.data.sign * self.sigma * h
        if weights is not None:
            weights.reshape(-1)[at] = np.clip(h * (h + z), 0, 1)
        return replace(totals, beyond=beyond, pulled=float(z @ h))

    def _diagonal(self, own: tuple[Any, Array], first: int, of_rows: tuple[Any, ...]) -> Totals:
        """Put seen entries of the diagonal, at these rows, into what their rows add up; they stand there once."""
        at, values = own
        at, values = at[~np.isnan(values)], values[~np.isnan(values)]
        slopes = np.einsum("ia,ia->i", self.fitted[at], self.left[at]) - values
        of_rows[3][at - first] += slopes * slopes if self.asked.gradient else 0.0
        totals = Totals(len(at), float(slopes @ slopes))
        if self.asked.first:
            of_rows[0][at - first] += 1
            totals = _sizes(totals, values)
        if self.asked.gradient:
            of_rows[1][at - first] += slopes[:, None] * self.left[at]
        if self.asked.curvature:
            of_rows[2][at - first] += self.outer_left[at]
        return totals


def _sizes(totals: Totals, values: Array) -> Totals:
    """With the norm of the seen values, the least and the largest of them."""
    known = np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf)
    low, high = (float(end.reduce(values, axis=None, initial=np.nan)) for end in (np.fmin, np.fmax))
    if np.isnan(low):
        return totals
    return replace(totals, norm=float(np.vdot(known, known)), low=low, high=high)


def _open(near: Bools, rows: slice, cols: slice, *, below: bool) -> None:
    """Leave out what absence says nothing of: the diagonal, which a positive semidefinite matrix does not hide.

    And what lies ``below`` it, if that is not looked at.
    """
    i, j = np.arange(rows.start, rows.stop)[:, None], np.arange(cols.start, cols.stop)
    near &= j > i if below else j != i


def _above(values: Array, rows: slice, cols: slice) -> tuple[Array, tuple[Any, Array]]:
    """A tile without what lies on or below the diagonal; and the rows whose diagonal it holds, with that."""
    i, j = np.arange(rows.start, rows.stop)[:, None], np.arange(cols.start, cols.stop)
    own = np.arange(max(rows.start, cols.start), min(rows.stop, cols.stop))
    return np.where(j > i, values, np.nan), (own, values[own - rows.start, own - cols.start])
