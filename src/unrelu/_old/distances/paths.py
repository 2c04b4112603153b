"""A global start: unseen distances from shortest paths, then classical scaling; landmarks where points are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats
from unrelu._old.base.tolerances import PATHS_SMALLEST_SHARE
from unrelu._old.problems.network import Network

__all__ = ["ALL_PAIRS", "from_paths", "scaling"]

# Up to this many points all pairs of shortest paths are found; beyond, those from this many landmarks.
ALL_PAIRS = 600
LANDMARKS = 150


def from_paths(network: Network, rng: np.random.Generator, *, share: float = 0.8) -> Floats:
    """Classical scaling of max(share · path², cut-off²) where unseen, of the distance where seen.

    A shortest path overestimates a distance, so its square is taken at a share; an unseen distance is at least the
    cut-off.
    """
    from scipy.sparse.csgraph import dijkstra

    if network.size <= ALL_PAIRS:
        squares = dijkstra(network.roads, directed=False) ** 2
        return scaling(_raised(network, squares, share, np.arange(network.size)), network.dim)
    landmarks = spread(network, rng)
    squares = dijkstra(network.roads, directed=False, indices=landmarks) ** 2
    return _landmark_scaling(_raised(network, squares, share, landmarks), landmarks, network.dim)


def spread(network: Network, rng: np.random.Generator) -> NDArray[np.intp]:
    """Landmarks drawn at random."""
    return np.sort(rng.choice(network.size, min(LANDMARKS, network.size), replace=False))


def _raised(network: Network, squares: Floats, share: float, rows: NDArray[np.intp]) -> Floats:
    """Squares of unseen distances at a share of the path's, and never below the cut-off."""
    raised = share * squares
    if network.cutoff is not None:
        raised = np.maximum(raised, network.cutoff**2)
    place = np.full(network.size, -1, np.intp)
    place[rows] = np.arange(len(rows))
    for one, other in ((network.first, network.second), (network.second, network.first)):
        inside = place[one] >= 0
        raised[place[one[inside]], other[inside]] = network.distance[inside] ** 2
    raised[np.arange(len(rows)), rows] = 0.0
    return raised


def scaling(squares: Floats, dim: int) -> Floats:
    """Classical scaling: the leading eigenvectors of −½JDJ, scaled by the roots of their eigenvalues."""
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = _leading(-centred / 2, dim)
    return vectors * np.sqrt(np.maximum(values, 0))


def _leading(matrix: Floats, dim: int) -> tuple[Floats, Floats]:
    import scipy.linalg

    n = len(matrix)
    count = min(dim, n)
    symmetric = (matrix + matrix.T) / 2
    values, vectors = scipy.linalg.eigh(symmetric, subset_by_index=[n - count, n - 1])
    if count < dim:
        values = np.r_[np.zeros(dim - count), values]
        vectors = np.column_stack([np.zeros((n, dim - count)), vectors])
    return values[::-1], vectors[:, ::-1]


def _landmark_scaling(squares: Floats, landmarks: NDArray[np.intp], dim: int) -> Floats:
    """Scale the landmarks, then place every point by its squared distances to them."""
    among = squares[:, landmarks]
    mean = among.mean(axis=0)
    values, vectors = _leading(-(among - mean - mean[:, None] + mean.mean()) / 2, dim)
    values = np.maximum(values, PATHS_SMALLEST_SHARE * max(float(values[0]), 1e-300))
    placed: Floats = -((squares - mean[:, None]).T @ (vectors / np.sqrt(values))) / 2
    return placed
