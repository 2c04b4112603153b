"""Passes for any loss and any limits, tile by tile: what the quick kernels of squared losses do not cover.

Limits may differ between the entries (i, j) and (j, i) of a symmetric matrix; and two seen values can be replaced by
their mean only if the loss is a square. So both directions of a tile are kept, unless they say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu.base.arrays import Array, Bools, Floats, Indices
from unrelu.data.limits import Ends
from unrelu.data.observations import Observations
from unrelu.kernels.line import Sampled
from unrelu.kernels.memory import require_memory
from unrelu.kernels.pairs import pair_block, places
from unrelu.kernels.protocol import PairsSeen
from unrelu.kernels.threads import map_chunks
from unrelu.kernels.tiles import Tile, added, weighted_matrix
from unrelu.model.losses import Loss

__all__ = ["GeneralKernel"]

CHUNKS = 16


@dataclass(frozen=True, eq=False)
class _Direction:
    """One way round a tile.

    ``values`` are those of the source, NaN where unseen; None: they are read again in every pass, as views of an array
    that is there anyway. ``hidden`` are the unseen entries that are absent because of their value; None: all of them.
    """

    values: Array | None
    limits: tuple[Any, Any]
    hidden: Bools | None
    times: float = 1.0


@dataclass(frozen=True, eq=False)
class _BothWays:
    rows: slice
    cols: slice
    directions: tuple[_Direction, ...]
    index: int

    @property
    def diagonal(self) -> bool:
        return self.rows == self.cols

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.stop - self.rows.start, self.cols.stop - self.cols.start


class GeneralKernel:
    """F(U) = Σ cost((UUᵀ)_ij) over all ordered pairs, for any loss and limits, in units of ``observations.unit``.

    What it keeps of a point are the curvatures of all entries, in single precision: they steer a method, and their last
    digits decide nothing.

    Parameters
    ----------
    observations : Observations
    loss : Loss
    """

    constant = 0.0

    def __init__(self, observations: Observations, loss: Loss) -> None:
        self._observations = observations.with_limits(loss.heard(observations.limits))
        self._loss = loss.in_units(observations.unit)
        n, self.size, self.dtype = observations.size, observations.size, observations.dtype
        self._inverse = self.dtype.type(1 / observations.unit)  # exact: the unit is a power of four
        self.bounded = not self._observations.limits.nothing
        self._threads = observations.source.thread_safe
        # An array is read where it is; whatever costs something to read is read once.
        self._reads = observations.source.at_hand
        require_memory(n * n * (4 if self._reads else 4 + self.dtype.itemsize), f"a {n}×{n} matrix")
        numbered = list(enumerate(places(observations)))
        self._tiles = map_chunks(lambda place: self._pack(place[0], *place[1]), numbered, threads=self._threads)
        wanted = min(CHUNKS, len(self._tiles))
        self._chunks = [self._tiles[k::wanted] for k in range(wanted)]

    def _pack(self, index: int, rows: slice, cols: slice) -> _BothWays:
        forward, here = self._direction(rows, cols)
        if rows == cols:
            return _BothWays(rows, cols, (forward,), index)
        back, there = self._direction(cols, rows)
        low, high = (np.transpose(limit) for limit in back.limits)
        backward = _Direction(_turned(back.values), (low, high), _turned(back.hidden))
        if np.array_equal(here, there.T, equal_nan=True) and _alike(forward, backward):
            return _BothWays(rows, cols, (replace(forward, times=2.0),), index)
        return _BothWays(rows, cols, (forward, backward), index)

    def _direction(self, rows: slice, cols: slice) -> tuple[_Direction, Array]:
        observations = self._observations
        values = observations.block(rows, cols)
        absent, unseen = observations.absent(rows, cols, values), np.isnan(values)
        low, high = (limit / observations.unit for limit in observations.limits.of(rows, cols))
        hidden = None if np.array_equal(absent, unseen) else absent
        return _Direction(None if self._reads else values.copy(), (low, high), hidden), values

    def _values(self, tile: _BothWays, number: int) -> Array:
        """Values of one way round a tile, in the caller's units."""
        kept = tile.directions[number].values
        if kept is not None:
            return kept
        source = self._observations.source
        return source.block(tile.rows, tile.cols) if number == 0 else source.block(tile.cols, tile.rows).T

    def _cost(self, tile: _BothWays, work: _Work) -> float:
        """Cost of the fit in ``work.fit``; slopes and curvatures of the whole tile are left in ``work``."""
        work.slopes.fill(0)
        work.curvatures.fill(0)
        total = 0.0
        for number, way in enumerate(tile.directions):
            np.multiply(self._values(tile, number), self._inverse, out=work.value)
            missing = np.isnan(work.value)
            seen = np.flatnonzero(~missing)
            hidden = np.flatnonzero(missing if way.hidden is None else way.hidden) if self.bounded else seen[:0]
            total += way.times * (self._seen(way, seen, work) + self._unseen(way, hidden, work))
        if tile.diagonal:
            work.slopes += work.slopes.T.copy()
            work.curvatures += work.curvatures.T.copy()
        return total

    def _seen(self, way: _Direction, at: Indices, work: _Work) -> float:
        """Of the seen entries of a way, gathered into one row each of what the loss reads and writes."""
        if not at.size:
            return 0.0
        fit, known, cost, slope, curvature = work.rows(at.size)
        np.take(work.fit.reshape(-1), at, out=fit)
        np.take(work.value.reshape(-1), at, out=known)
        self._loss.seen(fit, known, cost, slope, curvature)
        if self._loss.gathers:
            work.add(way.times * self._loss.seen_sums(fit, known, slope, curvature))
        return work.spread(way.times, at, cost, slope, curvature)

    def _unseen(self, way: _Direction, at: Indices, work: _Work) -> float:
        """The same of those that are absent because of their value."""
        if not at.size:
            return 0.0
        fit, _, cost, slope, curvature = work.rows(at.size)
        np.take(work.fit.reshape(-1), at, out=fit)
        low, high = (_picked(limit, at, work.fit.shape) for limit in way.limits)
        limits = Ends((low, high))
        self._loss.unseen(fit, limits, cost, slope, curvature)
        if self._loss.gathers:
            work.add(way.times * self._loss.unseen_sums(fit, limits, slope, curvature))
        return work.spread(way.times, at, cost, slope, curvature)

    def with_loss(self, loss: Loss) -> GeneralKernel:
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
                kept[tile.index] = work.curvatures.astype(np.float32)
                sums = sums + work.taken()
            return total, gradient, sums

        total, gradient, sums = added(map_chunks(visit, self._chunks))
        return (total, gradient, kept, sums) if self._loss.gathers else (total, gradient, kept)

    def curvature(self, U: Array, D: Array, kept: list[Array]) -> Array:
        """(S ∘ (UDᵀ + DUᵀ)) U with the curvatures S found at U."""
        left, right = np.hstack([U, D]), np.hstack([D, U])

        def visit(chunk: list[_BothWays]) -> Array:
            product, scratch = np.zeros_like(U), _Scratch(self.dtype)
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
        absent = pairs.absent if self.bounded else None
        return Tile(tile.rows, tile.cols, pairs.mean, pairs.seen, absent, None, tile.index)


class _Work:
    """Arrays of the size of a tile that one thread writes to."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.fit, self.value, self.slopes, self.curvatures = np.empty((4, *shape), dtype)
        self._rows = np.empty((5, shape[0] * shape[1]), dtype)
        self._sums: Floats | None = None

    def rows(self, count: int) -> tuple[Array, ...]:
        """Five rows of so many numbers."""
        return tuple(row[:count] for row in self._rows)

    def add(self, sums: Floats) -> None:
        """Add what the loss wants to know for its estimates."""
        self._sums = sums if self._sums is None else self._sums + sums

    def taken(self) -> Floats:
        """What was added since it was last asked."""
        found, self._sums = (np.zeros(1) if self._sums is None else self._sums), None
        return found

    def spread(self, times: float, at: Indices, cost: Array, slope: Array, curvature: Array) -> float:
        """Add slopes and curvatures of some entries where they belong, and return their cost."""
        for whole, part in ((self.slopes, slope), (self.curvatures, curvature)):
            if times != 1:
                part *= times
            flat = whole.reshape(-1)
            flat[at] += part
        return float(np.sum(cost, dtype=np.float64))


class _Scratch:
    """One array per shape, made once."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._made: dict[tuple[int, int], Array] = {}

    def of(self, shape: tuple[int, int]) -> Array:
        if shape not in self._made:
            self._made[shape] = np.empty(shape, self._dtype)
        return self._made[shape]


def _working(chunk: list[_BothWays], dtype: np.dtype[Any]) -> Iterator[tuple[_BothWays, _Work]]:
    """Each tile with arrays to write to, made once for each shape."""
    made: dict[tuple[int, int], _Work] = {}
    for tile in chunk:
        if tile.shape not in made:
            made[tile.shape] = _Work(tile.shape, dtype)
        yield tile, made[tile.shape]


def _turned(values: Any) -> Any:
    return None if values is None else values.T


def _alike(one: _Direction, other: _Direction) -> bool:
    """Whether limits and what is hidden are the same both ways."""
    if (one.hidden is None) != (other.hidden is None):
        return False
    hidden = one.hidden is None or np.array_equal(one.hidden, other.hidden)  # type: ignore[arg-type]
    return hidden and all(bool(np.all(np.equal(a, b))) for a, b in zip(one.limits, other.limits, strict=True))


def _picked(limit: Any, at: Indices, shape: tuple[int, int]) -> Any:
    """Of something that broadcasts to a tile, what belongs to some of its entries; a number stays one."""
    if np.ndim(limit) == 0:
        return limit
    row, col = np.divmod(at, shape[1])
    return limit[row if limit.shape[0] > 1 else 0, col if limit.shape[1] > 1 else 0]


def _scatter(into: Array, tile: _BothWays, Z: Array, V: Array) -> None:
    into[tile.rows] += Z @ V[tile.cols]
    if not tile.diagonal:
        into[tile.cols] += Z.T @ V[tile.rows]
