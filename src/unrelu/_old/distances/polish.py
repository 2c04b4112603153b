"""The last digits of exact data, and how much of rounding each place has picked up.

Places found one after the other, or together with weakly held ones, carry rounding errors that have grown on the way. A
few Gauss–Newton steps with a sparse factorisation take them back to what the distances themselves allow, and the same
factorisation tells how far a distance that is off by rounding moves each point: a place that is fixed on paper only
is not called determined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.distances.rigidity import turns
from unrelu._old.distances.trilateration import cliques
from unrelu._old.problems.laplacian import sparse_matrix
from unrelu._old.problems.network import Forces, Misfit, Network

__all__ = ["MOST_POINTS", "polished"]

# Beyond this many points the factorisation is not worth its memory.
MOST_POINTS = 20_000
STEPS = 3
SAMPLES = 4


def polished(
    network: Network, X: Floats, rng: np.random.Generator, *, free: Indices | None = None
) -> tuple[Floats, Floats]:
    """Better places of points whose distances are met nearly, and an estimate of each one's error.

    Parameters
    ----------
    network : Network
        Of settled points only, with distances that are met.
    X : ndarray of shape (n, dim)
    rng : Generator
    free : int ndarray, optional
        Points that may move; default all, in the frame of a few of them.

    Returns
    -------
    points : ndarray of shape (n, dim)
    error : ndarray of shape (n,)
        What distances off by as much as the places miss them would do to first order; inf if that is not bounded.
    """
    from scipy.sparse.linalg import splu

    n, dim = network.size, network.dim
    held = _held(network, X, rng) if free is None else np.zeros(0, np.intp)
    moving = np.arange(n) if free is None else free
    inside = (moving[:, None] * dim + np.arange(dim)).ravel()
    misfit = Misfit(absence=False)
    error = np.full(n, np.inf)
    if free is None and held.size <= dim:
        return X, error
    for done in range(STEPS + 1):
        forces = network.forces(X, misfit)
        matrix = sparse_matrix(forces, n).tocsc()
        matrix = (matrix + _frame(X, held)).tocsc() if free is None else matrix[inside][:, inside].tocsc()
        try:
            factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular: something hinges
            return X, error
        if done == STEPS:
            break
        trial = X.copy()
        trial[moving] -= factor.solve(forces.gradient(n).ravel()[inside]).reshape(-1, dim)
        if not np.isfinite(trial).all() or network.forces(trial, misfit).value >= forces.value:
            break
        X = trial
    gap = float(np.sqrt(np.mean(network.residual(X) ** 2)))
    eps = float(np.finfo(np.float64).eps) * float(np.max(network.distance))
    moves = [_moved(forces, factor.solve, inside, n, rng) for _ in range(SAMPLES)]
    error = np.zeros(n)
    error[moving] = max(gap, eps) * np.max(moves, axis=0)
    return X, np.where(np.isfinite(error), error, np.inf)


def _frame(X: Floats, held: Indices) -> Any:
    """A matrix that resists rigid motions of a few points, and nothing else: it fixes the frame without a strain."""
    n, dim = X.shape
    places = X[held] - X[held].mean(axis=0)
    basis = np.linalg.qr(turns(places).reshape(len(held) * dim, -1))[0]
    inside = (held[:, None] * dim + np.arange(dim)).ravel()
    rows, columns = np.meshgrid(inside, inside, indexing="ij")
    return sp.csc_array(((basis @ basis.T).ravel(), (rows.ravel(), columns.ravel())), shape=(n * dim, n * dim))


def _moved(forces: Forces, solve: object, inside: Indices, n: int, rng: np.random.Generator) -> Floats:
    """How far the points move when every distance is off by a random amount of size one."""
    pull = replace(forces, slope=np.sqrt(forces.curvature) * rng.standard_normal(len(forces.slope)))
    step = solve(pull.gradient(n).ravel()[inside])  # type: ignore[operator]
    moved: Floats = np.linalg.norm(step.reshape(-1, forces.along.shape[1]), axis=1)
    return moved


def _held(network: Network, X: Floats, rng: np.random.Generator) -> Indices:
    """A few points that all see each other and are well spread: the frame is theirs."""
    best, widest = np.zeros(0, np.intp), -1.0
    for clique in cliques(network, rng, 20):
        chosen = clique[: network.dim + 1]
        width = float(np.linalg.svd(X[chosen] - X[chosen].mean(axis=0), compute_uv=False)[network.dim - 1])
        if width > widest:
            best, widest = chosen, width
    return best
