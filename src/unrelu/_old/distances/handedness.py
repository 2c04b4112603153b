"""Groups of many points that may lie mirrored: short distances with noise hardly tell a group from its image."""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import GRADING_LOWER, HANDEDNESS_TOL
from unrelu._old.distances.alignment import align
from unrelu._old.distances.refine import refine
from unrelu._old.distances.second import Others
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network
from unrelu._old.solvers.levenberg_marquardt import LevenbergMarquardt

__all__ = ["MOST_TURNED", "NOISY", "turned_groups"]

# Up to this many points groups are replaced by their mirror image, where the noise is above this share of a distance.
MOST_TURNED, NOISY = 200, 0.02
# Iterations after which a descent must be within so many times what is allowed, and all of them.
FIRST, HOPEFUL, ALL = 8, 1.2, 30


def turned_groups(
    network: Network, misfit: Misfit, X: Floats, rng: np.random.Generator, tries: int, *, allowed: float
) -> Others:
    """Answers with a misfit of at most ``allowed``, reached by replacing nearest neighbours of a point by their image.

    The image is laid upon the group as well as it may be without another mirror, and all points go down from there. An
    answer that is lower is where the next groups are taken from.
    """
    n, dim = network.size, network.dim
    best, value = X, network.forces(X, misfit).value
    places: list[Floats] = []
    mirror = np.ones(dim)
    mirror[-1] = -1
    problem = DistanceProblem(network, misfit)
    for _ in range(tries):
        checkpoint()
        count = int(rng.integers(min(dim + 3, n), max(n // 2, dim + 3) + 1))
        middle = best[int(rng.integers(n))]
        group = np.argsort(np.linalg.norm(best - middle, axis=1), kind="stable")[:count]
        trial = best.copy()
        image = best[group] * mirror
        trial[group] = align(image, best[group], mirror=False)(image)
        ended = refine(problem, trial, max_iter=FIRST, tol=HANDEDNESS_TOL)
        if ended.value > HOPEFUL * allowed:
            continue
        ended = refine(problem, ended.points, max_iter=ALL, tol=HANDEDNESS_TOL, solver=LevenbergMarquardt(damping=1e-5))
        if ended.value > allowed:
            continue
        places.append(ended.points)
        if ended.value < value * (1 - GRADING_LOWER):
            best, value = ended.points, ended.value
    return Others(places, best, value)
