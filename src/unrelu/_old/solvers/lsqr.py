"""LSQR for the linearised product of two factors, a trip over the matrix per step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.kernels.bands import Band, BandKernel

__all__ = ["Linearised", "lsqr"]


@dataclass(frozen=True, eq=False)
class Linearised:
    """A(L̃, R̃) = (L R̃ᵀ + L̃ Rᵀ)_Ω, with the seen entries of ``kernel`` as Ω; an unknown is L̃ above R̃."""

    kernel: BandKernel
    L: Array
    R: Array

    def adjoint(self, B: Array, out: Array) -> float:
        """Out ← (B R above Bᵀ L) for B zero off Ω; ‖B‖ is returned."""

        def visit(chunk: list[Band]) -> tuple[float, Array]:
            below = np.zeros_like(self.R)
            return sum(self._back(band, B[band.rows], out, below) for band in chunk), below

        return self._gathered(self.kernel.over(visit), out)

    def advance(self, B: Array, V: Array, share: float, out: Array) -> float:
        """B ← A V − share · B, and its adjoint into out; ‖B‖ is returned.

        A band of rows goes through both while it is in cache.
        """
        n = len(self.L)
        left, right = np.hstack([self.L, V[:n]]), np.hstack([V[n:], self.R])

        def visit(chunk: list[Band]) -> tuple[float, Array]:
            below, square = np.zeros_like(self.R), 0.0
            for band in chunk:
                product = left[band.rows] @ right.T
                np.multiply(product, band.seen, out=product)
                rows = B[band.rows]
                np.multiply(rows, -share, out=rows)
                np.add(rows, product, out=rows)
                square += self._back(band, rows, out, below)
            return square, below

        return self._gathered(self.kernel.over(visit), out)

    def _back(self, band: Band, rows: Array, out: Array, below: Array) -> float:
        out[band.rows] = rows @ self.R
        below += rows.T @ self.L[band.rows]
        flat = rows.ravel()
        return float(np.dot(flat, flat))

    def _gathered(self, parts: list[tuple[float, Array]], out: Array) -> float:
        out[len(self.L) :] = sum(below for _, below in parts)
        return float(np.sqrt(sum(square for square, _ in parts)))


def lsqr(
    operator: Linearised, B: Array, *, stop: Callable[[float, float], bool], least: float = 0.0, max_inner: int = 2000
) -> tuple[Array, int]:
    """The minimal-norm least-squares solution of A(L̃, R̃) = B, by Golub and Kahan's bidiagonalisation.

    Parameters
    ----------
    operator : Linearised
    B : ndarray of shape (m, n)
        Zero off Ω. Overwritten.
    stop : callable
        Told ‖Aᵀρ‖ and ‖ρ‖ for the residual ρ after each step; True ends.
    least : float
        End when ‖ρ‖ ≤ least · ‖B‖.
    max_inner : int

    Returns
    -------
    X : ndarray of shape (m + n, rank)
        L̃ above R̃.
    inner : int
        How many steps were taken.
    """
    whole = len(operator.L) + len(operator.R), operator.L.shape[1]
    X, V = np.zeros(whole, operator.L.dtype), np.empty(whole, operator.L.dtype)
    size = beta = operator.adjoint(B, V)
    length = _normalise(V)  # of Aᵀb; α is that over β
    if not (beta > 0 and length > 0):
        return X, 0
    alpha = length / beta
    W, G = V.copy(), np.empty_like(V)
    rest, rho_bar = beta, alpha
    for count in range(1, max_inner + 1):
        beta = operator.advance(B, V, alpha / beta, G)  # the rows of B are kept unscaled: B = βu
        if beta > 0:
            np.multiply(G, 1 / beta, out=G)
            np.multiply(V, -beta, out=V)
            np.add(V, G, out=V)
            alpha = _normalise(V)
        else:
            alpha = 0.0
        rho = float(np.hypot(rho_bar, beta))
        c, s = rho_bar / rho, beta / rho
        theta, rho_bar = s * alpha, -c * alpha
        X += (c * rest / rho) * W
        rest *= s
        if rest <= least * size or stop(rest * alpha * abs(c), rest) or not alpha > 0:
            return X, count
        np.multiply(W, -theta / rho, out=W)
        np.add(W, V, out=W)
    return X, max_inner


def _normalise(V: Array) -> float:
    """Divide by the norm, in place, and return it."""
    norm = float(np.linalg.norm(V))
    if norm > 0:
        np.multiply(V, 1 / norm, out=V)
    return norm
