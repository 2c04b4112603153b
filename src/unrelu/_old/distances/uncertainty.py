"""Error ellipses: what noise in the distances does to the places, to first order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.tolerances import UNCERTAINTY_SOLVED, UNCERTAINTY_ZERO
from unrelu._old.problems.laplacian import conjugate_gradients, dense_matrix, sparse_matrix
from unrelu._old.problems.network import Forces, Misfit, Network

__all__ = ["covariances"]

# Up to this many unknowns the whole matrix is inverted; beyond, perturbed solutions are sampled.
INVERTED = 3000
SAMPLES = 64


def covariances(network: Network, X: Floats, sigma: float, anchors: Indices, misfit: Misfit) -> Floats:
    """σ² times the diagonal blocks of the pseudo-inverse of the Gauss–Newton matrix, shape (n, dim, dim).

    Without anchors the frame is that in which the points as a whole neither shift nor turn, which is the frame of the
    best alignment with the truth. Weights of the network are relative to σ². Anchors have none.
    """
    n, dim = network.size, network.dim
    free = np.setdiff1d(np.arange(n), anchors)
    result = np.zeros((n, dim, dim))
    if not free.size:
        return result
    inside = (free[:, None] * dim + np.arange(dim)).ravel()
    forces = network.forces(X, misfit)
    if n * dim <= INVERTED:
        matrix = dense_matrix(forces, n)[np.ix_(inside, inside)]
        values, vectors = np.linalg.eigh(matrix)
        kept = values > UNCERTAINTY_ZERO * max(float(values[-1]), 1e-300)
        half = vectors[:, kept] / np.sqrt(values[kept])
        blocks = half.reshape(len(free), dim, -1)
        result[free] = sigma**2 * np.einsum("nik,njk->nij", blocks, blocks)
        return result
    result[free] = sigma**2 * _sampled(network, forces, free)[free]
    return result


def _sampled(network: Network, forces: Forces, free: Indices) -> Floats:
    """Covariance over solutions of H d = Jᵀz with random z; the relative error of a block is about √(2/samples)."""
    n, dim = network.size, network.dim
    matrix = sparse_matrix(forces, n)
    rng = np.random.default_rng(0)  # of the error bar, not of the answer: the same each time
    total = np.zeros((n, dim, dim))
    root = np.sqrt(forces.curvature)
    for _ in range(SAMPLES):
        pull = replace(forces, slope=root * rng.standard_normal(len(root)))
        step = conjugate_gradients(matrix, pull.gradient(n), 1e-12, free, UNCERTAINTY_SOLVED)
        total += step[:, :, None] * step[:, None, :]
    return total / SAMPLES
