"""How exact the data are, from points that all see each other: the eigenvalues of such a block beyond dim are noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu._old.distances.trilateration import cliques
from unrelu._old.model.losses import Censored
from unrelu._old.problems.network import Misfit, Network

__all__ = ["NoiseLevel", "censored_noise", "noise_of_cliques"]

TRIES = 30


@dataclass(frozen=True)
class NoiseLevel:
    """The noise that a fit leaves, and what is known of it.

    Attributes
    ----------
    sigma : float
        Standard deviation of a distance of weight one, in units.
    freedom : int
        How many distances there are beyond those that the places need.
    likely : bool
        Whether the places are those of the likelihood of not having been seen.
    """

    sigma: float
    freedom: int
    likely: bool = False

    @property
    def misfit(self) -> Misfit:
        """How pairs are judged where error bars are drawn."""
        return Misfit(noise=self.sigma) if self.likely else Misfit(absence=False)


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


def censored_noise(network: Network, X: NDArray[np.float64], sigma: float, freedom: int) -> float:
    """The standard deviation that makes what was seen, and not seen, most likely at X; one step from ``sigma``.

    σ² (m − freedom + Σ t λ(t)) = Σ w gap² with t = (x − cutoff)/σ over unseen pairs and λ = φ/Φ, from the derivative of
    the likelihood.
    """
    gap = network.residual(X)
    cutoff = float(network.cutoff or 0.0)
    first, second = network.too_close(X, cutoff + 5 * sigma)
    x = np.linalg.norm(X[first] - X[second], axis=1)
    likelihood, limits = Censored(sigma), (cutoff, np.inf)
    cost, slope, curvature = np.empty((3, len(x)))
    likelihood.unseen(x, limits, cost, slope, curvature)
    left = len(gap) - freedom + float(likelihood.unseen_sums(x, limits, slope, curvature)[0])
    return float(np.sqrt(np.sum(network.weight * gap**2) / max(left, 1.0)))
