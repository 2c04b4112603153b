"""The Gauss–Newton matrix of a network: a Laplacian of dim×dim blocks, dense when small, else sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.problems.network import Forces

__all__ = ["DENSE_UNKNOWNS", "conjugate_gradients", "dense_matrix", "rigidity_rows", "solve", "sparse_matrix"]

# Up to here a dense Cholesky factor costs less than the passes a sparse solve makes.
DENSE_UNKNOWNS = 1300


def dense_matrix(forces: Forces, size: int) -> Floats:
    """Σ_k c_k (e_i − e_j)(e_i − e_j)ᵀ ⊗ u_k u_kᵀ as an array of shape (size·dim, size·dim)."""
    dim = forces.along.shape[1]
    blocks = forces.curvature[:, None, None] * forces.along[:, :, None] * forces.along[:, None, :]
    matrix = np.zeros((size, dim, size, dim))
    # Each pair comes once, so plain assignment does not lose any.
    matrix[forces.first, :, forces.second, :] = -blocks
    matrix[forces.second, :, forces.first, :] = -blocks
    points = np.arange(size)
    matrix[points, :, points, :] = _own_blocks(forces, blocks, size)
    return matrix.reshape(size * dim, size * dim)


def _own_blocks(forces: Forces, blocks: Floats, size: int) -> Floats:
    """The diagonal blocks: for each point the sum over its pairs."""
    dim = blocks.shape[1]
    flat = blocks.reshape(len(blocks), dim * dim)
    own = np.empty((size, dim * dim))
    for k in range(dim * dim):
        own[:, k] = np.bincount(forces.first, flat[:, k], size) + np.bincount(forces.second, flat[:, k], size)
    return own.reshape(size, dim, dim)


def sparse_matrix(forces: Forces, size: int) -> Any:
    """The same as a block-sparse array."""
    dim = forces.along.shape[1]
    blocks = forces.curvature[:, None, None] * forces.along[:, :, None] * forces.along[:, None, :]
    m = len(blocks)
    rows = np.concatenate([forces.first, forces.second, np.arange(size)])
    columns = np.concatenate([forces.second, forces.first, np.arange(size)])
    pattern = sp.csr_array((np.arange(1, 2 * m + size + 1), (rows, columns)), shape=(size, size))
    data = np.concatenate([-blocks, -blocks, _own_blocks(forces, blocks, size)])[pattern.data - 1]
    return sp.bsr_array((data, pattern.indices, pattern.indptr), shape=(size * dim, size * dim))


def rigidity_rows(forces: Forces, size: int) -> Any:
    """The rigidity operator: one row per pair, u_k at its first point and −u_k at its second, sparse."""
    dim = forces.along.shape[1]
    m = len(forces.first)
    rows = np.repeat(np.arange(m), dim)
    axes = np.tile(np.arange(dim), m)
    first = np.repeat(forces.first, dim) * dim + axes
    second = np.repeat(forces.second, dim) * dim + axes
    values = forces.along.ravel()
    entries = (np.r_[values, -values], (np.r_[rows, rows], np.r_[first, second]))
    return sp.csr_array(entries, shape=(m, size * dim))


def solve(forces: Forces, right: Floats, damping: float, free: Indices | None, tol: float) -> Floats:
    """(H + λ mean(diag H) I) p = right, on the free points only; shape (size, dim).

    Dense by Cholesky; sparse by conjugate gradients with the diagonal blocks as preconditioner.
    """
    size, dim = right.shape
    unknowns = size * dim
    if unknowns <= DENSE_UNKNOWNS:
        matrix = dense_matrix(forces, size)
        level = damping * max(float(np.trace(matrix)) / unknowns, 1e-300)
        matrix[np.diag_indices(unknowns)] += level
        vector = right.ravel()
        if free is None:
            return _cholesky(matrix, vector).reshape(size, dim)
        inside = (free[:, None] * dim + np.arange(dim)).ravel()
        step = np.zeros(unknowns)
        step[inside] = _cholesky(matrix[np.ix_(inside, inside)], vector[inside])
        return step.reshape(size, dim)
    matrix = sparse_matrix(forces, size)
    return conjugate_gradients(matrix, right, damping, free, tol)


def _cholesky(matrix: Floats, vector: Floats) -> Floats:
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=False, check_finite=False)
        solution: Floats = scipy.linalg.cho_solve(factor, vector, check_finite=False)
    except np.linalg.LinAlgError:  # damping below rounding: fall back on the least-norm solution
        solution = np.linalg.lstsq(matrix, vector, rcond=1e-13)[0].astype(np.float64)
    return solution


def conjugate_gradients(
    matrix: Any, right: Floats, damping: float, free: Indices | None, tol: float, most: int = 1000
) -> Floats:
    """Block-Jacobi preconditioned conjugate gradients on a block-sparse array."""
    size, dim = right.shape
    diagonal = matrix.diagonal()
    level = damping * max(float(diagonal.mean()), 1e-300)
    points = np.arange(size)
    rows = np.repeat(points, np.diff(matrix.indptr))
    own = matrix.data[np.flatnonzero(rows == matrix.indices)]
    blocks = own + (level + 1e-12 * float(diagonal.mean())) * np.eye(dim)
    inverse = np.linalg.inv(blocks)
    mask = np.ones((size, 1))
    if free is not None:
        mask = np.zeros((size, 1))
        mask[free] = 1.0
    r = right * mask
    z = mask * np.einsum("nij,nj->ni", inverse, r)
    p, x = z.copy(), np.zeros_like(r)
    rz = float(np.vdot(r, z))
    stop = tol * np.sqrt(max(rz, 0.0))
    for _ in range(most):
        if rz <= stop * stop or rz <= 0:
            break
        q = mask * ((matrix @ p.ravel()).reshape(size, dim) + level * p)
        curvature = float(np.vdot(p, q))
        if curvature <= 0:
            break
        a = rz / curvature
        x += a * p
        r -= a * q
        z = mask * np.einsum("nij,nj->ni", inverse, r)
        rz, before = float(np.vdot(r, z)), rz
        p = z + (rz / before) * p
    return x
