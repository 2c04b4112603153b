"""Passes over the upper triangle in cache-sized tiles, in plain NumPy.

A tile (I, J) with I < J stands for both halves: its products go to the rows of I and, transposed, to the rows of J. So
symmetry halves the element-wise work; nothing n×n beyond the packed data is ever allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.line import Quartic
from unrelu._old.kernels.memory import require_memory
from unrelu._old.kernels.pairs import pair_block, places
from unrelu._old.kernels.protocol import PairsSeen
from unrelu._old.kernels.threads import map_chunks
from unrelu._old.kernels.tiles import Tile, added, times_signs, weighted_matrix
from unrelu._old.model.losses import Loss

__all__ = ["TiledKernel", "Weights"]

Weights = list[NDArray[np.uint8]]

# Each chunk of tiles sums into its own n×r array: enough chunks to share, few enough that adding them is cheap.
TILES_PER_CHUNK = 16
MOST_CHUNKS = 32
# Tiles packed together.
AT_ONCE = 64


class TiledKernel:
    """Value, gradient, curvature product and line polynomial of F, in one pass each.

    With symmetric weights S_ij ∈ {0, ½, 1} and targets t_ij (see :mod:`unrelu._old.kernels.pairs`),

        F(U) = ¼ Σ S_ij ((UUᵀ)_ij − t_ij)² + constant,   ∇F(U) = (S ∘ (UUᵀ − T)) U,

    which for ``observed`` is ∇F = ½(Z + Zᵀ)U, the true gradient of the paper's F; the printed eq. (gd) is twice that.
    S depends on U only through absent entries under a loss that listens to them. Everything is in units of
    ``observations.unit``.

    Parameters
    ----------
    observations : Observations
    loss : Loss
        A squared one; what it makes of the limits is the same for all entries.
    """

    _signs: Array | None = None

    def __init__(self, observations: Observations, loss: Loss) -> None:
        observations = observations.with_limits(loss.heard(observations.limits))
        n, dtype = observations.size, observations.dtype
        self.size, self.dtype = n, dtype
        self.bounded = not observations.limits.nothing
        self.threshold = observations.scaled_threshold or 0.0
        # The hinge acts where UUᵀ − τ has this sign.
        self._wrong: Callable[..., Any] = np.greater if observations.absence_says == "below" else np.less
        require_memory(n * n // 2 * (dtype.itemsize + (3 if self.bounded else 1)), f"a {n}×{n} matrix")
        numbered = list(enumerate(places(observations)))
        packed = []
        for first in range(0, len(numbered), AT_ONCE):  # between two parts a call can end
            some, threads = numbered[first : first + AT_ONCE], observations.source.thread_safe
            packed += map_chunks(lambda place: self._pack(observations, *place), some, threads=threads)
        self.tiles = [tile for tile, _ in packed]
        self.constant = sum(spread for _, spread in packed) / 4
        wanted = min(MOST_CHUNKS, max(2, len(self.tiles) // TILES_PER_CHUNK))
        self.chunks = [self.tiles[k::wanted] for k in range(min(wanted, len(self.tiles)))]

    def _pack(self, observations: Observations, index: int, place: tuple[slice, slice]) -> tuple[Tile, float]:
        pairs = pair_block(observations, *place)
        absent, mixed, target = None, None, pairs.mean
        if self.bounded:
            absent = pairs.absent
            both = (pairs.seen > 0) & (absent > 0)
            mixed = np.flatnonzero(both) if both.any() else None
            absent[pairs.seen > 0] = 0
            np.copyto(target, self.threshold, where=absent > 0)
        return Tile(*place, target, pairs.seen, absent, mixed, index), pairs.spread

    # Each pass below is a loop over tiles in chunks; the sums of the chunks are added in a fixed order.

    def with_loss(self, loss: Loss) -> TiledKernel:
        """Itself: a square estimates nothing."""
        return self

    def signed(self, signs: Any) -> TiledKernel:
        """The same data, which USUᵀ with S = diag(signs) is fitted to instead of UUᵀ; None: UUᵀ.

        With V = US the fit is UVᵀ, its gradient has V in the place of U, and its change VDᵀ + DVᵀ along D is that of
        the fit VVᵀ: so curvatures are those at V.
        """
        other = copy(self)
        other._signs = None if signs is None else np.asarray(signs, self.dtype)
        return other

    def evaluate(self, U: Array) -> tuple[float, Array, Weights | None]:
        """F(U), ∇F(U), and the weights that the curvature at U needs (None: those of the pattern)."""
        V = times_signs(U, self._signs)
        active: Weights | None = [np.empty(0, np.uint8)] * len(self.tiles) if self.bounded else None

        def visit(chunk: list[Tile]) -> tuple[float, Array]:
            total, gradient, scratch = 0.0, np.zeros_like(U), _Scratch(self.dtype)
            for tile in chunk:
                T, Z = scratch.pair(tile)
                VI, VJ = V[tile.rows], V[tile.cols]
                weights = self._residual(tile, U[tile.rows], VJ, T)
                np.multiply(T, weights, out=Z)
                value = _dot(Z, T)
                if tile.mixed is not None and self.bounded:
                    value += self._add_mixed(tile, T, Z, weights)
                total += value if tile.diagonal else 2 * value
                _scatter(gradient, tile, Z, VI, VJ)
                if active is not None:
                    active[tile.index] = weights
            return total, gradient

        total, gradient = _sum(map_chunks(visit, self.chunks))
        gradient *= 0.5
        return total / 8 + self.constant, gradient, active

    def curvature(self, U: Array, D: Array, active: Weights | None) -> Array:
        """The Gauss–Newton product (S ∘ (UDᵀ + DUᵀ)) U with the weights S found at U."""
        U = times_signs(U, self._signs)
        left, right = np.hstack([U, D]), np.hstack([D, U])

        def visit(chunk: list[Tile]) -> tuple[float, Array]:
            product, scratch = np.zeros_like(U), _Scratch(self.dtype)
            for tile in chunk:
                L, _ = scratch.pair(tile)
                np.matmul(left[tile.rows], right[tile.cols].T, out=L)
                np.multiply(L, tile.seen if active is None else active[tile.index], out=L)
                _scatter(product, tile, L, U[tile.rows], U[tile.cols])
            return 0.0, product

        _, product = _sum(map_chunks(visit, self.chunks))
        product *= 0.5
        return product

    def curvature_matrix(self, U: Array, active: Weights | None) -> NDArray[np.float64]:
        """The Gauss–Newton matrix whose product is :meth:`curvature`, of shape (nr, nr): for small problems only."""
        S = np.zeros((self.size, self.size))
        for tile in self.tiles:
            weights = (tile.seen if active is None else active[tile.index]) * 0.5
            S[tile.rows, tile.cols] = weights
            S[tile.cols, tile.rows] = weights.T
        return weighted_matrix(S, times_signs(U, self._signs))

    def residual_times(self, U: Array, V: Array) -> Array:
        """(S ∘ (UUᵀ − T)) V: the residual matrix applied to V; with U = 0 and ``observed``, −M_Ω V."""
        other = times_signs(U, self._signs)

        def visit(chunk: list[Tile]) -> tuple[float, Array]:
            product, scratch = np.zeros_like(V), _Scratch(self.dtype)
            for tile in chunk:
                T, Z = scratch.pair(tile)
                weights = self._residual(tile, U[tile.rows], other[tile.cols], T)
                np.multiply(T, weights, out=Z)
                if tile.mixed is not None and self.bounded:
                    self._add_mixed(tile, T, Z, weights)
                _scatter(product, tile, Z, V[tile.rows], V[tile.cols])
            return 0.0, product

        _, product = _sum(map_chunks(visit, self.chunks))
        product *= 0.5
        return product

    def line(self, U: Array, D: Array, value: float, slope: float, active: Weights | None) -> Quartic:
        """F(U + tD) with the weights held at those of U: a quartic.

        With T = UUᵀ − t, L = UDᵀ + DUᵀ and Q = DDᵀ the coefficients of t², t³ and t⁴ are ¼Σ S(L² + 2TQ), ½Σ S LQ and
        ¼Σ S Q². The constant is F(U) and the slope ⟨∇F(U), D⟩, which the caller has already.
        """
        V, E = (times_signs(factor, self._signs) for factor in (U, D))
        left, right = np.hstack([V, D]), np.hstack([D, V])

        def visit(chunk: list[Tile]) -> tuple[float, Array]:
            sums, scratch = np.zeros(3), _Scratch(self.dtype)
            for tile in chunk:
                T, L = scratch.pair(tile)
                weights = tile.seen if active is None else active[tile.index]
                np.matmul(U[tile.rows], V[tile.cols].T, out=T)
                np.subtract(T, tile.target, out=T)
                np.matmul(left[tile.rows], right[tile.cols].T, out=L)
                Q, W = scratch.second_pair(tile)
                np.matmul(D[tile.rows], E[tile.cols].T, out=Q)
                np.multiply(L, weights, out=W)
                second = _dot(L, W)
                np.multiply(Q, weights, out=W)
                second += 2 * _dot(T, W)
                if tile.mixed is not None and active is not None:
                    acting = weights.ravel()[tile.mixed] > 1
                    at = tile.mixed[acting]
                    second += 2 * float(Q.ravel()[at] @ (tile.target.ravel()[at] - self.threshold))
                once = 1 if tile.diagonal else 2
                sums += once * np.array([second, 2 * _dot(L, W), _dot(Q, W)])
            return 0.0, sums

        _, sums = _sum(map_chunks(visit, self.chunks))
        return Quartic(np.array([value, slope, *(float(c) / 8 for c in sums)]), exact=active is None)

    def weighted(self, weigh: Callable[[PairsSeen], Any]) -> Any:
        """Other weights in the packing of the tiles."""
        return [weigh(tile) for tile in self.tiles]

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: Any) -> Any:
        """The sum over tiles of what ``visit`` adds to an array, in a fixed order."""

        def of_chunk(chunk: list[Tile]) -> Any:
            into = zeros.copy()
            for tile in chunk:
                visit(tile, into)
            return into

        return added(map_chunks(of_chunk, self.chunks))

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """The sum of what ``visit`` returns for each tile, in a fixed order."""
        parts = map_chunks(lambda chunk: added([visit(tile) for tile in chunk]), self.chunks)
        return added(parts)

    def _residual(self, tile: Tile, UI: Array, VJ: Array, T: Array) -> NDArray[np.uint8]:
        """Write UVᵀ − target into T and return the weights there."""
        np.matmul(UI, VJ.T, out=T)
        np.subtract(T, tile.target, out=T)
        if tile.absent is None:
            return tile.seen
        weights = self._wrong(T, 0).view(np.uint8)
        np.multiply(weights, tile.absent, out=weights)
        return np.add(weights, tile.seen, out=weights)

    def _add_mixed(self, tile: Tile, T: Array, Z: Array, weights: NDArray[np.uint8]) -> float:
        """Add the hinge of pairs seen one way round and absent the other: their target is the value, not τ."""
        above = T.ravel()[tile.mixed] + (tile.target.ravel()[tile.mixed] - self.threshold)
        hinge = np.where(self._wrong(above, 0), above, 0)
        Z.ravel()[tile.mixed] += hinge
        weights.ravel()[tile.mixed] += hinge != 0
        return float(hinge @ hinge)


class _Scratch:
    """Tile-sized work arrays of one thread, allocated once per chunk."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._arrays: dict[tuple[int, int, int], Array] = {}

    def _get(self, which: int, shape: tuple[int, int]) -> Array:
        key = (which, *shape)
        if key not in self._arrays:
            self._arrays[key] = np.empty(shape, self._dtype)
        return self._arrays[key]

    def pair(self, tile: Tile) -> tuple[Array, Array]:
        return self._get(0, tile.target.shape), self._get(1, tile.target.shape)

    def second_pair(self, tile: Tile) -> tuple[Array, Array]:
        return self._get(2, tile.target.shape), self._get(3, tile.target.shape)


def _dot(A: Array, B: Array) -> float:
    return float(np.dot(A.ravel(), B.ravel()))


def _scatter(into: Array, tile: Tile, Z: Array, VI: Array, VJ: Array) -> None:
    into[tile.rows] += Z @ VJ
    if not tile.diagonal:
        into[tile.cols] += Z.T @ VI


def _sum(parts: list[tuple[float, Array]]) -> tuple[float, Array]:
    total, array = parts[0]
    for value, more in parts[1:]:
        total += value
        array += more
    return total, array
