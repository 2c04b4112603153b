"""Passes where entries differ: weights, noise of their own, values that may not be; for squares too, with any limits.

Limits may differ between the entries (i, j) and (j, i) of a symmetric matrix; so both directions of a tile are kept,
unless they say the same. Where all entries weigh alike, the leaner kernel of :mod:`unrelu.kernels.general` serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Array, Floats
from unrelu.data.limits import Ends, part_of
from unrelu.data.observations import Observations
from unrelu.kernels.line import Sampled
from unrelu.kernels.memory import require_memory
from unrelu.kernels.pairs import pair_block, places
from unrelu.kernels.protocol import PairsSeen
from unrelu.kernels.threads import map_chunks
from unrelu.kernels.tiles import Tile, added, weighted_matrix
from unrelu.model.losses import Loss

__all__ = ["UnevenKernel"]

CHUNKS = 16


@dataclass(frozen=True, eq=False)
class _Direction:
    """One way round a tile: values (0 where unseen), which were seen, limits, which are absent; how often it counts.

    Where entries have a weight, ``seen`` and ``absent`` are that instead of 1; where the noise of some is larger than
    that of others, ``spread`` says how many times, and values and limits are divided by it.
    """

    values: Array
    seen: NDArray[Any]
    limits: Ends
    absent: NDArray[Any]
    times: float = 1.0
    spread: Any = None

    def like(self, other: _Direction) -> bool:
        """Whether both say the same."""
        mine, theirs = (
            (d.values, d.seen, d.absent, *d.limits, *(d.limits.gap or ()), *([] if d.spread is None else [d.spread]))
            for d in (self, other)
        )
        return all(
            np.shape(a) == np.shape(b) and bool(np.all(np.equal(a, b))) for a, b in zip(mine, theirs, strict=True)
        )

    @property
    def turned(self) -> _Direction:
        """The other way round."""
        spread = None if self.spread is None else np.transpose(self.spread)
        return _Direction(self.values.T, self.seen.T, self.limits.turned, self.absent.T, self.times, spread)


@dataclass(frozen=True, eq=False)
class _BothWays:
    rows: slice
    cols: slice
    directions: tuple[_Direction, ...]
    index: int

    @property
    def diagonal(self) -> bool:
        return self.rows == self.cols


class UnevenKernel:
    """F(U) = Σ cost((UUᵀ)_ij) over all ordered pairs, for any loss and limits, in units of ``observations.unit``.

    Parameters
    ----------
    observations : Observations
    loss : Loss
    """

    def __init__(self, observations: Observations, loss: Loss) -> None:
        heard = loss.heard(observations.limits)
        self._observations = observations.with_limits(heard if loss.hears_gaps else heard.apart_from_gaps())
        self._loss = loss.in_units(observations.unit)
        n, self.size, self.dtype = observations.size, observations.size, observations.dtype
        self.bounded = not self._observations.limits.nothing
        require_memory(n * n * (self.dtype.itemsize + 2), f"a {n}×{n} matrix")
        self._threads = observations.source.thread_safe
        numbered = list(enumerate(places(observations)))
        self._tiles = map_chunks(lambda place: self._pack(place[0], *place[1]), numbered, threads=self._threads)
        wanted = min(CHUNKS, len(self._tiles))
        self._chunks = [self._tiles[k::wanted] for k in range(wanted)]

    def _pack(self, index: int, rows: slice, cols: slice) -> _BothWays:
        forward = self._direction(rows, cols)
        if rows == cols:
            return _BothWays(rows, cols, (forward,), index)
        backward = self._direction(cols, rows).turned
        if forward.like(backward):
            return _BothWays(rows, cols, (replace(forward, times=2.0),), index)
        return _BothWays(rows, cols, (forward, backward), index)

    def _direction(self, rows: slice, cols: slice) -> _Direction:
        observations, unit = self._observations, self._observations.unit
        values = observations.block(rows, cols)
        seen = ~np.isnan(values)
        absent = observations.absent(rows, cols, values)
        ends = observations.limits.of(rows, cols).over(unit)
        target = np.where(seen, values, 0) / self.dtype.type(unit)
        if observations.plain:
            return _Direction(target, seen.view(np.uint8), ends, absent.view(np.uint8))
        if observations.weights is not None:
            weights = part_of(observations.weights, rows, cols).astype(self.dtype)
            seen, absent = seen * weights, absent * weights
        if observations.spread is None:
            return _Direction(target, seen, ends, absent)
        spread = part_of(observations.spread, rows, cols).astype(self.dtype)
        return _Direction(target / spread, seen, ends.over(spread), absent, 1.0, spread)

    @cached_property
    def constant(self) -> float:
        """The part of a squared F that no fit lowers: of pairs seen twice, with two values."""
        if not self._loss.squared:
            return 0.0
        return sum(self._apart(tile) for tile in self._tiles) / 4

    def _apart(self, tile: _BothWays) -> float:
        """Σ pq/(p + q) (x − y)² of the pairs of a tile with values x and y, of weights p and q."""
        (p, x), (q, y) = (self._weighed(way) for way in self._ways(tile))
        both = (p > 0) & (q > 0)
        apart = (p * q)[both] / (p + q)[both] * (x - y)[both] ** 2
        return float(np.sum(apart, dtype=np.float64)) / (2 if tile.diagonal else 1)

    def _weighed(self, way: _Direction) -> tuple[Array, Array]:
        """What seen entries weigh, over the square of their noise, and their values."""
        if way.spread is None:
            return way.seen.astype(self.dtype), way.values
        return way.seen / np.square(way.spread), way.values * way.spread

    def _cost(self, tile: _BothWays, work: _Work) -> float:
        """Cost of the fit in ``work.fit``; slopes and curvatures of the whole tile are left in ``work``."""
        work.slopes.fill(0)
        work.curvatures.fill(0)
        total = 0.0
        for way in tile.directions:
            for mask, write in ((way.seen, self._seen), (way.absent, self._unseen)):
                if not mask.any():
                    continue
                fit = work.fit if way.spread is None else work.fit / way.spread
                write(way, fit, work)
                for array in (work.cost, work.slope, work.curvature):
                    np.multiply(array, mask, out=array)
                total += way.times * float(np.sum(work.cost, dtype=np.float64))
                if self._loss.gathers:
                    self._sums(way, mask is way.seen, fit, work)
                if way.spread is not None:
                    work.slope /= way.spread
                    work.curvature /= np.square(way.spread)
                work.slopes += work.slope if way.times == 1 else way.times * work.slope
                work.curvatures += work.curvature if way.times == 1 else way.times * work.curvature
        if tile.diagonal:
            work.slopes += work.slopes.T.copy()
            work.curvatures += work.curvatures.T.copy()
        return total

    def _sums(self, way: _Direction, seen: bool, fit: Array, work: _Work) -> None:
        """Add what the loss wants to know for its estimates."""
        written = work.slope, work.curvature
        if seen:
            found = way.times * self._loss.seen_sums(fit, way.values, *written)
        else:
            found = way.times * self._loss.unseen_sums(fit, way.limits, *written)
        work.sums = found if work.sums is None else work.sums + found

    def _seen(self, way: _Direction, fit: Array, work: _Work) -> None:
        self._loss.seen(fit, way.values, work.cost, work.slope, work.curvature)

    def _unseen(self, way: _Direction, fit: Array, work: _Work) -> None:
        self._loss.unseen(fit, way.limits, work.cost, work.slope, work.curvature)

    def with_loss(self, loss: Loss) -> UnevenKernel:
        """The same tiles under other estimates."""
        other = copy(self)
        other._loss = loss.in_units(self._observations.unit)
        return other

    def evaluate(self, U: Array) -> tuple[Any, ...]:
        """F(U), ∇F(U), the curvatures of all entries there, and what the loss asks for."""
        kept: list[Array] = [np.empty(0)] * len(self._tiles)

        def visit(chunk: list[_BothWays]) -> tuple[Any, ...]:
            total, gradient, sums = 0.0, np.zeros_like(U), np.zeros(1)
            for tile, work in _working(chunk, self.dtype):
                np.matmul(U[tile.rows], U[tile.cols].T, out=work.fit)
                total += self._cost(tile, work)
                _scatter(gradient, tile, work.slopes, U)
                kept[tile.index] = work.curvatures.copy()
                if work.sums is not None:
                    sums, work.sums = sums + work.sums, None
            return total, gradient, sums

        total, gradient, sums = added(map_chunks(visit, self._chunks))
        return (total, gradient, kept, sums) if self._loss.gathers else (total, gradient, kept)

    def curvature(self, U: Array, D: Array, kept: list[Array]) -> Array:
        """(S ∘ (UDᵀ + DUᵀ)) U with the curvatures S found at U."""

        def visit(chunk: list[_BothWays]) -> Array:
            product = np.zeros_like(U)
            for tile in chunk:
                along = U[tile.rows] @ D[tile.cols].T
                along += D[tile.rows] @ U[tile.cols].T
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
        return weighted_matrix(S, U)

    def residual_times(self, U: Array, V: Array) -> Array:
        """The matrix of slopes, symmetrised, times V."""

        def visit(chunk: list[_BothWays]) -> Array:
            product = np.zeros_like(V)
            for tile, work in _working(chunk, self.dtype):
                np.matmul(U[tile.rows], U[tile.cols].T, out=work.fit)
                self._cost(tile, work)
                _scatter(product, tile, work.slopes, V)
            return product

        product: Array = added(map_chunks(visit, self._chunks))
        return product

    def line(self, U: Array, D: Array, value: float, slope: float, kept: list[Array]) -> Sampled:
        """Values and slopes of F(U + tD), for all steps of a request in one pass."""

        def look(steps: Sequence[float]) -> tuple[Floats, Floats]:
            def visit(chunk: list[_BothWays]) -> Floats:
                found = np.zeros((2, len(steps)))
                for tile, work in _working(chunk, self.dtype):
                    here = U[tile.rows] @ U[tile.cols].T
                    along = U[tile.rows] @ D[tile.cols].T
                    along += D[tile.rows] @ U[tile.cols].T
                    beyond = D[tile.rows] @ D[tile.cols].T
                    for k, step in enumerate(steps):
                        np.copyto(work.fit, here + step * along + step**2 * beyond)
                        found[0, k] += self._cost(tile, work)
                        moved = float(np.vdot(work.slopes, along + 2 * step * beyond))
                        found[1, k] += moved / 2 if tile.diagonal else moved
                return found

            values, slopes = added(map_chunks(visit, self._chunks))
            return values, slopes

        bend = float(np.vdot(D, self.curvature(U, D, kept)))
        return Sampled(value, slope, bend, look)

    def weighted(self, weigh: Callable[[PairsSeen], Any]) -> list[Array]:
        """Other weights, in the order of the tiles."""
        return [weigh(self._pairs(tile)) * self.dtype.type(0.5) for tile in self._tiles]

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: Any) -> Any:
        """The sum over blocks of pairs of what ``visit`` adds to an array, in a fixed order."""

        def of_chunk(chunk: list[_BothWays]) -> Any:
            into = zeros.copy()
            for tile in chunk:
                visit(self._pairs(tile), into)
            return into

        return added(map_chunks(of_chunk, self._chunks, threads=self._threads))

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """The sum of what ``visit`` returns for each block of pairs, in a fixed order."""

        def of_chunk(chunk: list[_BothWays]) -> Any:
            return added([visit(self._pairs(tile)) for tile in chunk])

        return added(map_chunks(of_chunk, self._chunks, threads=self._threads))

    def _pairs(self, tile: _BothWays) -> Tile:
        pairs = pair_block(self._observations, tile.rows, tile.cols)
        absent, mean = pairs.absent if self.bounded else None, pairs.mean
        if not self._observations.plain:
            (p, x), (q, y) = (self._weighed(way) for way in self._ways(tile))
            mean = (p * x + q * y) / np.where(p + q > 0, p + q, 1)
        return Tile(tile.rows, tile.cols, mean, pairs.seen, absent, None, tile.index)

    def _ways(self, tile: _BothWays) -> tuple[_Direction, _Direction]:
        """Both ways round, also where they are alike."""
        forward = tile.directions[0]
        if tile.diagonal:
            return forward, forward.turned
        return forward, tile.directions[-1]


class _Work:
    """Arrays of the size of a tile that one thread writes to."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.sums: Floats | None = None
        self.fit, self.cost, self.slope, self.curvature, self.slopes, self.curvatures = np.empty((6, *shape), dtype)


def _working(chunk: list[_BothWays], dtype: np.dtype[Any]) -> Iterator[tuple[_BothWays, _Work]]:
    """Each tile with arrays to write to, made once for each shape."""
    made: dict[tuple[int, int], _Work] = {}
    for tile in chunk:
        shape = tile.directions[0].values.shape
        if shape not in made:
            made[shape] = _Work(shape, dtype)
        yield tile, made[shape]


def _scatter(into: Array, tile: _BothWays, Z: Array, V: Array) -> None:
    into[tile.rows] += Z @ V[tile.cols]
    if not tile.diagonal:
        into[tile.cols] += Z.T @ V[tile.rows]
