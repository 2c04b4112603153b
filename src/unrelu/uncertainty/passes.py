"""Passes that tell how noise in the seen entries moves the fit: row blocks of JᵀWJ, Jᵀ times noise, residuals per pair.

J is the derivative of U ↦ (u_i·u_j) over the seen pairs i ≤ j, and W counts how often a pair was seen (1 or 2; a
diagonal entry once). Minimising F is least squares with these weights, and JᵀWJ is twice the Gauss–Newton product of
:meth:`TiledKernel.curvature`. In the counts that a tile packs (0, 1, 2, the diagonal 2) the row blocks are

    (JᵀWJ)_ii = Σ_j seen_ij u_j u_jᵀ + seen_ii u_i u_iᵀ,     (JᵀWz)_i = Σ_j seen_ij z_ij u_j   for symmetric z,

so that a diagonal entry enters with 4 u_i u_iᵀ, the square of its derivative 2 u_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.kernels.threads import map_chunks
from unrelu.kernels.tiled import TiledKernel, Weights

__all__ = [
    "noise_products",
    "pair_residuals",
    "row_blocks",
    "seen_alike",
    "seen_evenly",
    "selection_products",
    "squared_weights",
]

Array = NDArray[np.floating[Any]]

# Entries this many standard deviations from the threshold are on their side whatever the noise does.
FAR = 6.0


def seen_alike(kernel: TiledKernel) -> bool:
    """Whether every pair that was seen twice has exactly the same value both times."""
    return bool(kernel.constant == 0)


def seen_evenly(kernel: TiledKernel) -> bool:
    """Whether all seen pairs off the diagonal were seen once, or all of them twice."""
    counts = set()
    for tile in kernel.tiles:
        seen = tile.seen[np.triu_indices(len(tile.seen), 1)] if tile.diagonal else tile.seen
        counts |= {count for count in (1, 2) if (seen == count).any()}
    return len(counts) <= 1


def squared_weights(kernel: TiledKernel) -> Weights:
    """Weights W² in the packing of the tiles: JᵀW²J is the noise of the normal equations if a pair has one noise."""
    squares = []
    for tile in kernel.tiles:
        weights = tile.seen * tile.seen
        if tile.diagonal:
            np.fill_diagonal(weights, np.diag(tile.seen))  # a diagonal entry counts once, and 1² is 1
        squares.append(weights)
    return squares


def pair_residuals(kernel: TiledKernel, U: Array) -> tuple[int, float, float]:
    """How many distinct pairs were seen, and Σ (u_i·u_j − mean)² over them: each once, and as often as it was seen.

    U is in units of the square root of ``observations.unit``, and so are the sums in units of its square.
    """

    def visit(chunk: list[Any]) -> tuple[int, float, float]:
        count, once, weighted = 0, 0.0, 0.0
        for tile in chunk:
            gap = (U[tile.rows] @ U[tile.cols].T - tile.target).astype(np.float64, copy=False)
            squares = np.where(tile.seen > 0, gap * gap, 0)
            if tile.diagonal:
                own = float(np.trace(squares))
                count += int(np.count_nonzero(np.triu(tile.seen)))
                once += (float(squares.sum()) + own) / 2
                weighted += float(np.vdot(squares, tile.seen)) / 2
            else:
                count += int(np.count_nonzero(tile.seen))
                once += float(squares.sum())
                weighted += float(np.vdot(squares, tile.seen))
        return count, once, weighted

    parts = map_chunks(visit, kernel.chunks)
    return sum(p[0] for p in parts), sum(p[1] for p in parts), sum(p[2] for p in parts)


def row_blocks(kernel: TiledKernel, U: Array, weights: Weights | None = None) -> NDArray[np.float64]:
    """The diagonal blocks (n, r, r) of JᵀWJ, or of JᵀW′J for other weights."""
    n, r = U.shape
    upper = np.triu_indices(r)
    squares = U[:, upper[0]] * U[:, upper[1]]  # u_j u_jᵀ without its lower half

    def visit(chunk: list[Any]) -> Array:
        total = np.zeros_like(squares)
        for tile in chunk:
            counts = (tile.seen if weights is None else weights[tile.index]).astype(kernel.dtype)
            total[tile.rows] += counts @ squares[tile.cols]
            if tile.diagonal:
                total[tile.rows] += np.diag(counts)[:, None] * squares[tile.rows]
            else:
                total[tile.cols] += counts.T @ squares[tile.rows]
        return total

    packed = np.sum(map_chunks(visit, kernel.chunks), axis=0, dtype=np.float64)
    blocks = np.empty((n, r, r))
    blocks[:, upper[0], upper[1]] = packed
    blocks[:, upper[1], upper[0]] = packed
    return blocks


def noise_products(kernel: TiledKernel, U: Array, one: bool, seed: int, samples: int) -> Array:
    """JᵀWz for independent draws of unit noise z, an array of shape (samples, n, r).

    With one noise per pair z is ±1, with two it is their mean, ±√½ where both were seen. Signs instead of normal
    deviates have the same covariance and cost a bit each; the sums over a row's entries are near normal anyway. The
    draws of a tile depend on the seed and its place only, not on threads.
    """
    amplitudes = np.array([0.0, 1.0, 2.0] if one else [0.0, 1.0, np.sqrt(2)], kernel.dtype)

    def visit(chunk: list[Any]) -> Array:
        total = np.zeros((samples, *U.shape), kernel.dtype)
        for tile in chunk:
            rng = np.random.default_rng([seed, tile.index])
            size = amplitudes[tile.seen]
            if tile.diagonal:
                np.fill_diagonal(size, np.diag(tile.seen))
            for k in range(samples):
                Z = _signs(rng, tile.seen.shape, tile.diagonal) * size
                total[k, tile.rows] += Z @ U[tile.cols]
                if not tile.diagonal:
                    total[k, tile.cols] += Z.T @ U[tile.rows]
        return total

    return np.sum(map_chunks(visit, kernel.chunks), axis=0)


def selection_products(
    kernel: TiledKernel, U: Array, V: Array, sigma: float, *, above: bool
) -> tuple[Array, list[Array]]:
    """JᵀWe for the pull e that a threshold on noisy entries is expected to have on the fit, with rows of V in J.

    An entry x with noise σz is seen if x + σz ≥ τ. With a = (x − τ)/σ what is seen is too high by σφ(a), on average
    over being seen or not; if it is not seen and x > τ, the one-sided loss pulls it down by x − τ. Together

        e(a) = σ(φ(a) − max(a, 0)·Φ(−a)) ≥ 0,

    and the mirror image of it where entries below the threshold are seen. Also returned, in the packing of the tiles:
    the weights with which entries are expected to hold the fit, Φ(a) for x < τ, which are seen or do nothing, and 1
    for x > τ, which are seen or pull. ``kernel`` must listen to absence.
    """
    from scipy.special import ndtr  # takes a while to import

    sign = 1.0 if above else -1.0
    weights: list[Array] = [np.empty(0, kernel.dtype)] * len(kernel.tiles)

    def visit(chunk: list[Any]) -> Array:
        total = np.zeros(V.shape)
        for tile in chunk:
            a = sign * ((U[tile.rows] @ U[tile.cols].T).astype(np.float64) - kernel.threshold) / sigma
            counts = tile.seen if tile.absent is None else tile.seen + tile.absent
            near = np.flatnonzero((np.abs(a) < FAR) & (counts > 0))
            pull, held = np.zeros(a.shape), (a > 0) * counts.astype(kernel.dtype)
            b, times = a.ravel()[near], counts.ravel()[near]
            density = np.exp(-b * b / 2) / np.sqrt(2 * np.pi)
            pull.ravel()[near] = sign * sigma * (density - np.maximum(b, 0) * ndtr(-b)) * times
            held.ravel()[near] = np.where(b > 0, 1, ndtr(b)) * times
            weights[tile.index] = held
            total[tile.rows] += pull @ V[tile.cols]
            if not tile.diagonal:
                total[tile.cols] += pull.T @ V[tile.rows]
        return total

    return np.sum(map_chunks(visit, kernel.chunks), axis=0).astype(kernel.dtype), weights


def _signs(rng: np.random.Generator, shape: tuple[int, int], symmetric: bool) -> NDArray[np.int8]:
    """Random ±1, mirrored if asked."""
    count = shape[0] * shape[1]
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-count // 8)), np.uint8), count=count)
    signs = (2 * bits.view(np.int8) - 1).reshape(shape)
    return np.triu(signs) + np.triu(signs, 1).T if symmetric else signs
