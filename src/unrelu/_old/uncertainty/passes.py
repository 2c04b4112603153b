"""Passes that tell how noise in the seen entries moves the fit: row blocks of JᵀWJ, Jᵀ times noise, residuals per pair.

J is the derivative of U ↦ (u_i·u_j) over the seen pairs i ≤ j, and W counts how often a pair was seen (1 or 2; a
diagonal entry once). Minimising F is least squares with these weights, and JᵀWJ is twice the Gauss–Newton product of
:meth:`Kernel.curvature`. In the counts that a tile packs (0, 1, 2, the diagonal 2) the row blocks are

    (JᵀWJ)_ii = Σ_j seen_ij u_j u_jᵀ + seen_ii u_i u_iᵀ,     (JᵀWz)_i = Σ_j seen_ij z_ij u_j   for symmetric z,

so that a diagonal entry enters with 4 u_i u_iᵀ, the square of its derivative 2 u_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array
from unrelu._old.base.tolerances import PASSES_SAME_VALUE
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import Kernel
from unrelu._old.kernels.protocol import PairsSeen

__all__ = [
    "Selection",
    "noise_products",
    "pair_residuals",
    "row_blocks",
    "seen_alike",
    "seen_evenly",
    "selection_products",
    "squared_weights",
]

# Entries this many standard deviations from the threshold are on their side whatever the noise does.
FAR = 6.0


def seen_alike(kernel: Kernel, observations: Observations) -> bool:
    """Whether every pair that was seen twice has the same value both times, to rounding."""
    eps = float(np.finfo(observations.dtype).eps)
    return bool(kernel.constant <= (PASSES_SAME_VALUE * eps * observations.scaled_norm) ** 2)


def seen_evenly(kernel: Kernel) -> bool:
    """Whether all seen pairs off the diagonal were seen once, or all of them twice."""

    def counts(pairs: PairsSeen) -> NDArray[np.intp]:
        seen = pairs.seen[np.triu_indices(len(pairs.seen), 1)] if pairs.diagonal else pairs.seen
        return np.array([np.count_nonzero(seen == count) for count in (1, 2)])

    return bool(np.count_nonzero(kernel.total(counts)) <= 1)


def squared_weights(kernel: Kernel) -> Any:
    """Weights W², for ``kernel.curvature``: JᵀW²J is the noise of the normal equations if a pair has one noise."""
    return kernel.weighted(_squared)


def _squared(pairs: PairsSeen) -> NDArray[np.uint8]:
    weights = pairs.seen * pairs.seen
    if pairs.diagonal:
        np.fill_diagonal(weights, np.diag(pairs.seen))  # a diagonal entry counts once, and 1² is 1
    return weights


def pair_residuals(kernel: Kernel, U: Array, V: Array | None = None) -> tuple[int, float, float]:
    """How many distinct pairs were seen, and Σ (u_i·u_j − mean)² over them: each once, and as often as it was seen.

    U is in units of the square root of ``observations.unit``, and so are the sums in units of its square. The fit is
    UVᵀ, with V = U unless it is given.
    """
    V = U if V is None else V

    def visit(pairs: PairsSeen) -> tuple[int, float, float]:
        gap = (U[pairs.rows] @ V[pairs.cols].T - pairs.target).astype(np.float64, copy=False)
        squares = np.where(pairs.seen > 0, gap * gap, 0)
        weighted = float(np.vdot(squares, pairs.seen))
        if not pairs.diagonal:
            return int(np.count_nonzero(pairs.seen)), float(squares.sum()), weighted
        own = float(np.trace(squares))
        return int(np.count_nonzero(np.triu(pairs.seen))), (float(squares.sum()) + own) / 2, weighted / 2

    found: tuple[int, float, float] = kernel.total(visit)
    return found


def row_blocks(kernel: Kernel, U: Array, *, squared: bool = False) -> NDArray[np.float64]:
    """The diagonal blocks (n, r, r) of JᵀWJ, or of JᵀW²J."""
    n, r = U.shape
    upper = np.triu_indices(r)
    squares = U[:, upper[0]] * U[:, upper[1]]  # u_j u_jᵀ without its lower half

    def visit(pairs: PairsSeen, total: Array) -> None:
        counts = (_squared(pairs) if squared else pairs.seen).astype(U.dtype)
        total[pairs.rows] += counts @ squares[pairs.cols]
        if pairs.diagonal:
            total[pairs.rows] += np.diag(counts)[:, None] * squares[pairs.rows]
        else:
            total[pairs.cols] += counts.T @ squares[pairs.rows]

    packed = kernel.gather(visit, np.zeros_like(squares)).astype(np.float64)
    blocks = np.empty((n, r, r))
    blocks[:, upper[0], upper[1]] = packed
    blocks[:, upper[1], upper[0]] = packed
    return blocks


def noise_products(kernel: Kernel, U: Array, one: bool, seed: int, samples: int) -> Array:
    """JᵀWz for independent draws of unit noise z, an array of shape (samples, n, r).

    With one noise per pair z is ±1, with two it is their mean, ±√½ where both were seen. Signs instead of normal
    deviates have the same covariance and cost a bit each; the sums over a row's entries are near normal anyway. The
    draws of a block depend on the seed and its place only, not on threads.
    """

    def amplitudes(counts: NDArray[Any]) -> Array:
        """Of W z: a count of two is two of one noise, or of two noises; any other weight is a variance."""
        return (counts if one else np.sqrt(counts)).astype(U.dtype)

    def visit(pairs: PairsSeen, total: Array) -> None:
        rng = np.random.default_rng([seed, pairs.index])
        size = amplitudes(pairs.seen)
        if pairs.diagonal:
            np.fill_diagonal(size, 2 * np.sqrt(np.diag(pairs.seen) / 2))
        for k in range(samples):
            Z = _signs(rng, pairs.seen.shape, pairs.diagonal) * size
            total[k, pairs.rows] += Z @ U[pairs.cols]
            if not pairs.diagonal:
                total[k, pairs.cols] += Z.T @ U[pairs.rows]

    return kernel.gather(visit, np.zeros((samples, *U.shape), U.dtype))


@dataclass(frozen=True)
class Selection:
    """How a threshold on noisy entries bends a fit: where it is, in units, on which side is seen, and the noise.

    An entry x with noise σz is seen if x + σz ≥ τ. With a = (x − τ)/σ what is seen is too high by σφ(a), on average
    over being seen or not; if it is not seen and x > τ, the one-sided loss pulls it down by x − τ. Together

        e(a) = σ(φ(a) − max(a, 0)·Φ(−a)) ≥ 0,

    and the mirror image of it where entries below the threshold are seen.
    """

    threshold: float
    above: bool
    sigma: float
    signs: Any = 1.0  # of the columns of a fit that is indefinite

    def pull_and_hold(self, pairs: PairsSeen, U: Array) -> tuple[NDArray[np.float64], Array]:
        """E of each pair, as often as it counts; and the weight with which it is expected to hold the fit.

        That is Φ(a) for x < τ, which are seen or do nothing, and 1 for x > τ, which are seen or pull.
        """
        from scipy.special import ndtr  # takes a while to import

        sign = 1.0 if self.above else -1.0
        a = sign * ((U[pairs.rows] * self.signs @ U[pairs.cols].T).astype(np.float64) - self.threshold) / self.sigma
        counts = pairs.seen if pairs.absent is None else pairs.seen + pairs.absent
        near = np.flatnonzero((np.abs(a) < FAR) & (counts > 0))
        pull: NDArray[np.float64] = np.zeros(a.shape)
        held: Array = counts.astype(U.dtype) * (a > 0)
        b, times = a.ravel()[near], counts.ravel()[near]
        density = np.exp(-b * b / 2) / np.sqrt(2 * np.pi)
        pull.ravel()[near] = sign * self.sigma * (density - np.maximum(b, 0) * ndtr(-b)) * times
        held.ravel()[near] = np.where(b > 0, 1, ndtr(b)) * times
        return pull, held


def selection_products(kernel: Kernel, U: Array, V: Array, selection: Selection) -> tuple[Array, Any]:
    """JᵀWe for the pull e of a selection on the fit, with rows of V in J; and the weights that hold it.

    ``kernel`` must listen to absence; the weights are for ``kernel.curvature``.
    """

    def visit(pairs: PairsSeen, total: Array) -> None:
        pull, _ = selection.pull_and_hold(pairs, U)
        total[pairs.rows] += pull @ V[pairs.cols]
        if not pairs.diagonal:
            total[pairs.cols] += pull.T @ V[pairs.rows]

    products = kernel.gather(visit, np.zeros(V.shape)).astype(U.dtype)
    return products, kernel.weighted(lambda pairs: selection.pull_and_hold(pairs, U)[1])


def _signs(rng: np.random.Generator, shape: tuple[int, int], symmetric: bool) -> NDArray[np.int8]:
    """Random ±1, mirrored if asked."""
    count = shape[0] * shape[1]
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-count // 8)), np.uint8), count=count)
    signs = (2 * bits.view(np.int8) - 1).reshape(shape)
    return np.triu(signs) + np.triu(signs, 1).T if symmetric else signs
