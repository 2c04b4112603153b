"""The leading singular triplets of a dense matrix, from a guess: what rank-constrained methods do every iteration.

From one iteration of such a method to the next the leading subspace hardly turns, so a few steps of block subspace
iteration from the last one are enough, at two products with the matrix each. Where they are not (no gap), SciPy's
Lanczos takes over at large n, and LAPACK's full decomposition at small n or where that fails too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

from unrelu._old.base.arrays import Array
from unrelu._old.kernels.threads import map_chunks

__all__ = ["Triplets", "times", "transposed_times", "truncated_svd"]

# Columns carried beyond those asked for: they widen the gap that sets the rate.
EXTRA = 8
MOST_ROUNDS = 30
CHUNKS = 8
# Up to this size LAPACK's full decomposition is faster than Lanczos where there is no gap.
FULL = 1500


@dataclass(frozen=True, eq=False)
class Triplets:
    """A ≈ left · diag(values) · rightᵀ; ``basis`` is the guess for the next time, ``how`` names what it took."""

    left: Array
    values: Array
    right: Array
    basis: Array
    how: str


def _rows(A: Array) -> list[slice]:
    cuts = [len(A) * k // CHUNKS for k in range(CHUNKS + 1)]
    return [slice(a, b) for a, b in pairwise(cuts) if b > a]


def times(A: Array, V: Array) -> Array:
    """A @ V on all cores."""
    return np.concatenate(map_chunks(lambda rows: A[rows] @ V, _rows(A)))


def transposed_times(A: Array, V: Array) -> Array:
    """A.T @ V on all cores."""
    return np.sum(map_chunks(lambda rows: A[rows].T @ V[rows], _rows(A)), axis=0)


def truncated_svd(
    A: Array, k: int, guess: Array | None = None, *, tol: float | None = None, above: float = 0.0
) -> Triplets:
    """The k leading singular triplets of A.

    Parameters
    ----------
    A : ndarray of shape (m, n)
    k : int
    guess : ndarray of shape (n, p), optional
        A basis near the leading right singular vectors, such as ``Triplets.basis`` of a matrix near this one.
    tol : float, optional
        By how much, as the sine of an angle, the subspace may still turn in the last round; default the square root of
        rounding, at which the product is exact to rounding.
    above : float, default 0
        Only triplets with values above this matter, in proportion to how far above they are.
    """
    n = min(A.shape)
    width = min(n, k + EXTRA)
    if 2 * width >= n:
        return _full(A, k, width)
    tol = float(np.sqrt(np.finfo(A.dtype).eps)) if tol is None else tol
    # Any fixed directions in general position will do for the columns no guess covers.
    V = np.random.default_rng(0).standard_normal((A.shape[1], width)).astype(A.dtype)
    if guess is not None:
        V[:, : min(width, guess.shape[1])] = guess[:, :width]
    turned = np.inf
    for _ in range(MOST_ROUNDS):
        Q = scipy.linalg.qr(times(A, V), mode="economic", check_finite=False, overwrite_a=True)[0]
        right, values, small = scipy.linalg.svd(transposed_times(A, Q), full_matrices=False, check_finite=False)
        before, V = V[:, :k], right
        rest = before - right @ (right.T @ before) if turned < np.inf or guess is not None else before
        # Of the k leading directions only those that carry weight need stand still.
        weight = np.maximum(values[:k] - above, 0) / max(values[0], np.finfo(A.dtype).tiny)
        turned = float(np.linalg.norm(rest * weight))
        if turned <= tol:
            return Triplets((Q @ small.T)[:, :k], values[:k], right[:, :k], right, "subspace")
    return _full(A, k, width) if n <= FULL else _lanczos(A, k, width)


def _lanczos(A: Array, k: int, width: int) -> Triplets:
    operator = LinearOperator(
        A.shape, matvec=lambda v: times(A, v), rmatvec=lambda v: transposed_times(A, v), dtype=A.dtype
    )
    start = np.random.default_rng(0).standard_normal(min(A.shape)).astype(A.dtype)
    try:
        left, values, right = svds(operator, k, v0=start)
    except ArpackError:
        return _full(A, k, width)
    order = np.argsort(values)[::-1]
    return Triplets(left[:, order], values[order], right[order].T, right[order].T, "lanczos")


def _full(A: Array, k: int, width: int) -> Triplets:
    left, values, right = scipy.linalg.svd(A, full_matrices=False, check_finite=False)
    return Triplets(left[:, :k], values[:k], right[:k].T, right[:width].T, "full")
