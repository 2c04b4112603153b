"""Arithmetic on M = UUᵀ that never forms M unless asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["align", "dense", "distance", "entries", "relative_error"]

Array = NDArray[np.floating[Any]]


def dense(U: Array) -> Array:
    """UUᵀ, exactly symmetric."""
    M = U @ U.T
    lower = np.tril_indices(len(M), -1)
    if not np.array_equal(M, M.T):  # BLAS does not promise it
        M[lower] = M.T[lower]
    return M


def entries(U: Array, rows: ArrayLike, cols: ArrayLike) -> Array:
    """(UUᵀ)_ij for index arrays that broadcast against each other.

    Examples
    --------
    >>> entries(np.array([[1.0], [2.0], [3.0]]), [0, 1], [2, 2])
    array([3., 6.])
    """
    i, j = np.broadcast_arrays(np.asarray(rows), np.asarray(cols))
    result: Array = np.einsum("...k,...k->...", U[i], U[j])
    return result


def distance(U: Array, V: Array) -> float:
    """‖UUᵀ − VVᵀ‖_F without cancellation and without anything n×n.

    With [U V] = QR the difference is Q (R_u R_uᵀ − R_v R_vᵀ) Qᵀ, small and accurate to rounding of the factors.

    Examples
    --------
    >>> round(distance(np.array([[3.0], [4.0]]), np.array([[0.0], [0.0]])), 12)
    25.0
    """
    _, R = np.linalg.qr(np.hstack([U, V]).astype(np.float64))
    A, B = R[:, : U.shape[1]], R[:, U.shape[1] :]
    return float(np.linalg.norm(A @ A.T - B @ B.T))


def relative_error(U: Array, truth: Array, band: int = 512) -> float:
    """The paper's completion error γ = ‖UUᵀ − M‖_F / ‖M‖_F, a band of rows at a time."""
    apart = whole = 0.0
    for start in range(0, len(U), band):
        rows = slice(start, start + band)
        M = truth[rows].astype(np.float64, copy=False)
        Z = (U[rows] @ U.T - M).ravel()
        apart += float(Z @ Z)
        whole += float(M.ravel() @ M.ravel())
    if whole == 0:
        return 0.0 if apart == 0 else float("inf")
    return float(np.sqrt(apart / whole))


def align(U: Array, V: Array) -> Array:
    """U rotated onto V: U Q with the orthogonal Q that minimises ‖UQ − V‖_F (Procrustes)."""
    left, _, right = np.linalg.svd(U.T @ V)
    rotated: Array = U @ (left @ right)
    return rotated
