"""Passes for any loss, any limits, weights and noise of each entry's own, tile by tile.

What the quick kernel does not cover: that of squares knows of one limit and counts all entries alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.data.limits import Ends
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.directions import BothWays, Direction, Directions
from unrelu._old.kernels.line import Sampled
from unrelu._old.kernels.memory import require_memory
from unrelu._old.kernels.pairs import pair_block, weighed
from unrelu._old.kernels.protocol import PairsSeen
from unrelu._old.kernels.scratch import Scratch, Work, working
from unrelu._old.kernels.threads import map_chunks
from unrelu._old.kernels.tiles import Tile, added, times_signs, weighted_matrix
from unrelu._old.model.losses import Loss

__all__ = ["GeneralKernel"]

CHUNKS = 16


class GeneralKernel:
    """F(U) = Σ cost((UUᵀ)_ij) over all ordered pairs, for any loss and limits, in units of ``observations.unit``.

    An entry with a weight costs so many times as much; one whose noise is ``spread`` times as large as that of others
    is measured in units of that: fit, value and limits are divided by it.

    What it keeps of a point are the curvatures of all entries. Where all weigh the same that is in single precision:
    for squares it is exact, and under other losses the last digits of a curvature decide nothing.

    Parameters
    ----------
    observations : Observations
    loss : Loss
    """

    _signs: Array | None = None

    def __init__(self, observations: Observations, loss: Loss) -> None:
        heard = loss.heard(observations.limits)
        observations = observations.with_limits(heard if loss.hears_gaps else heard.apart_from_gaps())
        self._observations, self._data = observations, Directions(observations, squared=loss.squared)
        self._loss = loss.in_units(observations.unit)
        n, self.size, self.dtype = observations.size, observations.size, observations.dtype
        self._inverse = self.dtype.type(1 / observations.unit)  # exact: the unit is a power of four
        self._lowest = np.finfo(self.dtype).min
        self.bounded = not observations.limits.nothing
        self._threads = observations.source.thread_safe
        self._kept = np.dtype(np.float32) if observations.plain else self.dtype
        values = 0 if self._data.reads else self.dtype.itemsize
        require_memory(n * n * (self._kept.itemsize + values), f"a {n}×{n} matrix")
        self._tiles = self._data.tiles()
        wanted = min(CHUNKS, len(self._tiles))
        self._chunks = [self._tiles[k::wanted] for k in range(wanted)]

    @cached_property
    def constant(self) -> float:
        """The part of a squared F that no fit lowers: of pairs seen twice, with two values."""
        if not self._loss.squared:
            return 0.0
        different = [tile for tile in self._tiles if not tile.alike]
        return sum(weighed(self._observations, tile.rows, tile.cols)[1] for tile in different) / 4

    def _cost(self, tile: BothWays, work: Work) -> float:
        """Cost of the fit in ``work.fit``; slopes and curvatures of the whole tile are left in ``work``."""
        total, squared = 0.0, self._loss.squared
        if not squared:
            work.clear()
        for number, way in enumerate(tile.directions):
            np.multiply(self._data.values(tile, number), self._inverse, out=work.value)
            total += self._squares(way, work, first=number == 0) if squared else way.times * self._picked(way, work)
        if tile.diagonal:
            work.mirror()
        return total

    def _squares(self, way: Direction, work: Work, *, first: bool) -> float:
        """A whole way in squares: ¼ w (x − t)², with the nearest value that may be as the target t of an unseen entry.

        Few cheap steps on all entries, times 0 for those that do not count, take less time than to pick the others.
        """
        seen = work.value == work.value  # NaN is not
        np.fmax(work.value, self._lowest, out=work.value)  # any finite number is nothing times 0
        half = self.dtype.type(way.times / 2)
        factor = half if way.weights is None else way.weights if half == 1 else way.weights * half
        off = np.subtract(work.fit, work.value, out=work.value)
        total = work.add_squares(off, seen, factor, first=first)
        if self.bounded:
            near = way.limits.nearest(work.fit, out=work.value)
            off = np.subtract(work.fit, near, out=near)
            hidden = ~seen if way.hidden is None else way.hidden
            total += work.add_squares(off, (off != 0) & hidden, factor, first=False)
        return total

    def _picked(self, way: Direction, work: Work) -> float:
        """A way under any loss: what was seen and what is absent because of its value, each gathered into a row."""
        missing = np.isnan(work.value)
        seen = np.flatnonzero(~missing)
        hidden = np.flatnonzero(missing if way.hidden is None else way.hidden) if self.bounded else seen[:0]
        return self._seen(way, seen, work) + self._unseen(way, hidden, work)

    def _seen(self, way: Direction, at: Indices, work: Work) -> float:
        """Of the seen entries of a way."""
        if not at.size:
            return 0.0
        fit, known, cost, slope, curvature = work.rows(at.size)
        np.take(work.fit.reshape(-1), at, out=fit)
        np.take(work.value.reshape(-1), at, out=known)
        spread = _of_entries(way.spread, at, work)
        if spread is not None:
            fit /= spread
            known /= spread
        self._loss.seen(fit, known, cost, slope, curvature)
        self._weigh(way, at, work)
        if self._loss.gathers:
            work.add(way.times * self._loss.seen_sums(fit, known, slope, curvature))
        return self._put(way, at, work, spread)

    def _unseen(self, way: Direction, at: Indices, work: Work) -> float:
        """The same of those that are absent because of their value."""
        if not at.size:
            return 0.0
        fit, _, cost, slope, curvature = work.rows(at.size)
        np.take(work.fit.reshape(-1), at, out=fit)
        low, high, *gap = (_of_entries(end, at, work) for end in (*way.limits, *(way.limits.gap or ())))
        limits, spread = Ends((low, high), (gap[0], gap[1]) if gap else None), _of_entries(way.spread, at, work)
        if spread is not None:
            fit /= spread
            limits = limits.over(spread)
        self._loss.unseen(fit, limits, cost, slope, curvature)
        self._weigh(way, at, work)
        if self._loss.gathers:
            work.add(way.times * self._loss.unseen_sums(fit, limits, slope, curvature))
        return self._put(way, at, work, spread)

    def _weigh(self, way: Direction, at: Indices, work: Work) -> None:
        """Multiply what the loss has written by the weights of these entries."""
        weights = _of_entries(way.weights, at, work)
        if weights is not None:
            for written in work.rows(at.size)[2:]:
                written *= weights

    def _put(self, way: Direction, at: Indices, work: Work, spread: Array | None) -> float:
        """Add slopes and curvatures of these entries where they belong, and return their cost."""
        cost, slope, curvature = work.rows(at.size)[2:]
        if spread is not None:
            slope /= spread
            curvature /= np.square(spread)
        if way.times != 1:
            slope *= way.times
            curvature *= way.times
        work.put(at, slope, curvature)
        return float(np.sum(cost, dtype=np.float64))

    def with_loss(self, loss: Loss) -> GeneralKernel:
        """The same tiles under other estimates."""
        other = copy(self)
        other._loss = loss.in_units(self._observations.unit)
        return other

    def signed(self, signs: Any) -> GeneralKernel:
        """The same data, which USUᵀ with S = diag(signs) is fitted to instead of UUᵀ; None: UUᵀ.

        With V = US the fit is UVᵀ, its gradient has V in the place of U, and its change VDᵀ + DVᵀ along D is that of
        the fit VVᵀ: so curvatures are those at V.
        """
        other = copy(self)
        other._signs = None if signs is None else np.asarray(signs, self.dtype)
        return other

    def evaluate(self, U: Array) -> tuple[Any, ...]:
        """F(U), ∇F(U), the curvatures of all entries there, and what the loss asks for."""
        kept: list[Array] = [np.empty(0)] * len(self._tiles)
        V = times_signs(U, self._signs)

        def visit(chunk: list[BothWays]) -> tuple[Any, ...]:
            total, gradient, sums = 0.0, np.zeros_like(U), np.zeros(1)
            for tile, work in working(chunk, self.dtype):
                np.matmul(U[tile.rows], V[tile.cols].T, out=work.fit)
                total += self._cost(tile, work)
                _scatter(gradient, tile, work.slopes, V)
                kept[tile.index] = work.curvatures.astype(self._kept)
                sums = sums + work.taken()
            return total, gradient, sums

        total, gradient, sums = added(map_chunks(visit, self._chunks))
        return (total, gradient, kept, sums) if self._loss.gathers else (total, gradient, kept)

    def curvature(self, U: Array, D: Array, kept: list[Array]) -> Array:
        """(S ∘ (UDᵀ + DUᵀ)) U with the curvatures S found at U."""
        U = times_signs(U, self._signs)
        left, right = np.hstack([U, D]), np.hstack([D, U])

        def visit(chunk: list[BothWays]) -> Array:
            product, scratch = np.zeros_like(U), Scratch(self.dtype)
            for tile in chunk:
                along = scratch.of(tile.shape)
                np.matmul(left[tile.rows], right[tile.cols].T, out=along)
                along *= kept[tile.index]
                _scatter(product, tile, along, U)
            return product

        product: Array = added(map_chunks(visit, self._chunks))
        return product

    def curvature_matrix(self, U: Array, kept: list[Array]) -> Floats:
        """The matrix of :meth:`curvature`, of shape (nr, nr): for small problems only."""
        n = len(U)
        S = np.zeros((n, n))
        for tile in self._tiles:
            S[tile.rows, tile.cols] = kept[tile.index]
            S[tile.cols, tile.rows] = kept[tile.index].T
        return weighted_matrix(S, times_signs(U, self._signs))

    def residual_times(self, U: Array, V: Array) -> Array:
        """The matrix of slopes, symmetrised, times V."""
        other = times_signs(U, self._signs)

        def visit(chunk: list[BothWays]) -> Array:
            product = np.zeros_like(V)
            for tile, work in working(chunk, self.dtype):
                np.matmul(U[tile.rows], other[tile.cols].T, out=work.fit)
                self._cost(tile, work)
                _scatter(product, tile, work.slopes, V)
            return product

        product: Array = added(map_chunks(visit, self._chunks))
        return product

    def line(self, U: Array, D: Array, value: float, slope: float, kept: list[Array]) -> Sampled:
        """Values and slopes of F(U + tD), for all steps of a request in one pass."""
        bend = float(np.vdot(D, self.curvature(U, D, kept)))
        return Sampled(value, slope, bend, lambda steps: self.looked(U, D, steps))

    def looked(self, U: Array, D: Array, steps: Sequence[float]) -> tuple[Floats, Floats]:
        """Values and slopes of F(U + tD) at some steps t, in one pass."""
        V, E = (times_signs(factor, self._signs) for factor in (U, D))

        def visit(chunk: list[BothWays]) -> Floats:
            found = np.zeros((2, len(steps)))
            for tile, work in working(chunk, self.dtype):
                here = U[tile.rows] @ V[tile.cols].T
                along = V[tile.rows] @ D[tile.cols].T
                along += D[tile.rows] @ V[tile.cols].T
                beyond = D[tile.rows] @ E[tile.cols].T
                for k, step in enumerate(steps):
                    np.copyto(work.fit, here + step * along + step**2 * beyond)
                    found[0, k] += self._cost(tile, work)
                    moved = float(np.vdot(work.slopes, along + 2 * step * beyond))
                    found[1, k] += moved / 2 if tile.diagonal else moved
            return found

        values, slopes = added(map_chunks(visit, self._chunks))
        return values, slopes

    def weighted(self, weigh: Callable[[PairsSeen], Any]) -> list[Array]:
        """Other weights, in the order of the tiles."""
        return [weigh(self._pairs(tile)) * self.dtype.type(0.5) for tile in self._tiles]

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: Any) -> Any:
        """The sum over blocks of pairs of what ``visit`` adds to an array, in a fixed order."""

        def of_chunk(chunk: list[BothWays]) -> Any:
            into = zeros.copy()
            for tile in chunk:
                visit(self._pairs(tile), into)
            return into

        return added(map_chunks(of_chunk, self._chunks, threads=self._threads))

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """The sum of what ``visit`` returns for each block of pairs, in a fixed order."""

        def of_chunk(chunk: list[BothWays]) -> Any:
            return added([visit(self._pairs(tile)) for tile in chunk])

        return added(map_chunks(of_chunk, self._chunks, threads=self._threads))

    def _pairs(self, tile: BothWays) -> Tile:
        pairs = pair_block(self._observations, tile.rows, tile.cols)
        absent, mean = pairs.absent if self.bounded else None, pairs.mean
        if not self._observations.plain:
            mean = weighed(self._observations, tile.rows, tile.cols)[0]
        return Tile(tile.rows, tile.cols, mean, pairs.seen, absent, None, tile.index)


def _of_entries(value: Any, at: Indices, work: Work) -> Any:
    """Of something that broadcasts to a tile, what belongs to some of its entries; a number stays one, None too."""
    return value if np.ndim(value) == 0 else np.broadcast_to(value, work.fit.shape).take(at)


def _scatter(into: Array, tile: BothWays, Z: Array, V: Array) -> None:
    into[tile.rows] += Z @ V[tile.cols]
    if not tile.diagonal:
        into[tile.cols] += Z.T @ V[tile.rows]
