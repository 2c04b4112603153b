"""How exact the data are, told by points that all see each other: beyond dim, such a block's spectrum is noise."""

from __future__ import annotations

import numpy as np

from unrelu.distances.network import Network
from unrelu.distances.trilateration import cliques

__all__ = ["noise_of_cliques"]

TRIES = 30


def noise_of_cliques(network: Network, rng: np.random.Generator) -> float | None:
    """A rough standard deviation of the distances, or None if no dim+2 points all see each other.

    Noise e in a distance d changes −½JDJ by about d·e/√2 per entry off the diagonal; the spectrum beyond dim collects a
    share (k−1−dim)/(k−1) of that.
    """
    found = []
    for clique in cliques(network, rng, TRIES):
        k = len(clique)
        if k < network.dim + 2:
            continue
        block = network.graph[clique][:, clique].toarray()
        square = np.where(block > 0, network.distance[block - 1], 0.0) ** 2
        centred = square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean()
        values = np.sort(np.abs(np.linalg.eigvalsh(-centred / 2)))[: -network.dim]
        size = float(np.sqrt(square.sum() / (k * (k - 1))))
        if size == 0:
            continue
        share = (k - 1 - network.dim) * (k - network.dim) / 2
        found.append(float(np.sqrt(np.sum(values**2) / (2 * share))) / size)
    return float(np.median(found)) if found else None
