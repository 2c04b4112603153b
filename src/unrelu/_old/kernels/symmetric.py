"""A symmetric matrix in packed tiles, and its top eigenpairs: half the memory, no full decomposition at large n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from unrelu._old.base.arrays import Array
from unrelu._old.base.tolerances import SYMMETRIC_LANCZOS_TOL
from unrelu._old.kernels.pairs import edges
from unrelu._old.kernels.threads import map_chunks

__all__ = ["SymmetricTiles", "top_eigenpairs", "top_eigenpairs_by_passes"]

# Below this size, or for more than this share of the eigenvectors, LAPACK's subset of a dense decomposition is faster.
DENSE_SIZE = 400
DENSE_SHARE = 0.1
# Of subspace iteration for a start.
SWEEPS = 6


class SymmetricTiles:
    """Tiles of the upper triangle, made once by ``block(rows, cols)``."""

    def __init__(self, n: int, dtype: Any, block: Callable[[slice, slice], Array]) -> None:
        self.size, self.dtype = n, np.dtype(dtype)
        bands = edges(n)
        self.tiles = [
            (rows, cols, block(rows, cols).astype(self.dtype, copy=False))
            for first, rows in enumerate(bands)
            for cols in bands[first:]
        ]
        self._chunks = [chunk for chunk in (self.tiles[0::2], self.tiles[1::2]) if chunk]

    def times(self, V: Array) -> Array:
        """The matrix times the columns of V."""
        V = np.asarray(V, self.dtype)

        def visit(chunk: list[tuple[slice, slice, Array]]) -> Array:
            product = np.zeros_like(V)
            for rows, cols, A in chunk:
                product[rows] += A @ V[cols]
                if rows != cols:
                    product[cols] += A.T @ V[rows]
            return product

        return np.sum(map_chunks(visit, self._chunks), axis=0)

    def dense(self) -> Array:
        """The whole matrix."""
        whole = np.empty((self.size, self.size), self.dtype)
        for rows, cols, A in self.tiles:
            whole[rows, cols] = A
            whole[cols, rows] = A.T
        return whole


def top_eigenpairs(matrix: SymmetricTiles, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The k algebraically largest eigenvalues, descending, and their eigenvectors as columns."""
    n = matrix.size
    if n <= DENSE_SIZE or k >= DENSE_SHARE * n:
        values, vectors = scipy.linalg.eigh(matrix.dense(), subset_by_index=[n - k, n - 1])
    else:
        operator = LinearOperator((n, n), matvec=matrix.times, matmat=matrix.times, dtype=matrix.dtype)
        start = rng.standard_normal(n).astype(matrix.dtype)
        try:
            values, vectors = eigsh(operator, k, which="LA", v0=start, tol=SYMMETRIC_LANCZOS_TOL)
        except ArpackNoConvergence:
            values, vectors = scipy.linalg.eigh(matrix.dense(), subset_by_index=[n - k, n - 1])
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def top_eigenpairs_by_passes(
    times: Callable[[Array], Array], first: Array, k: int, sweeps: int = SWEEPS
) -> tuple[Array, Array]:
    """About the same of a matrix that only passes know, from a block of random columns: all are multiplied at once.

    A few sweeps of subspace iteration are no decomposition, but a start needs none. The columns stay wherever
    ``times`` leaves them until the end.
    """
    V = _orthonormal(first)
    for _ in range(sweeps):
        V = _orthonormal(times(V))
    values, axes = np.linalg.eigh(np.asarray(V.T @ times(V), np.float64))
    order = np.argsort(values)[::-1][:k]
    return values[order], np.asarray(V @ axes[:, order].astype(first.dtype))


def _orthonormal(V: Array) -> Array:
    """The same span with orthonormal columns, twice by the Cholesky factor of the Gram matrix."""
    for _ in range(2):
        sizes, axes = np.linalg.eigh(np.asarray(V.T @ V, np.float64))
        kept = np.maximum(sizes, np.finfo(V.dtype).eps * sizes[-1])
        V = V @ (axes / np.sqrt(kept)).astype(V.dtype)
    return V
