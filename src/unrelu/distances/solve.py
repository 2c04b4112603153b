"""One component: starts, refinement, repair, and what the data fix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu.distances.alignment import align
from unrelu.distances.network import Misfit, Network
from unrelu.distances.paths import from_paths
from unrelu.distances.refine import Journal, refine
from unrelu.distances.rigidity import determinacy
from unrelu.distances.trilateration import best_body

__all__ = ["Effort", "Solved", "solve_component"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Misfits below this share of the typical distance need no noise to explain them.
EXACT = 1e-9


@dataclass(frozen=True)
class Effort:
    """How long to try."""

    tol: float
    max_iter: int
    rounding: float = EXACT


@dataclass(frozen=True, eq=False)
class Solved:
    """Places of one component, grades of its points, and the name of the start that won."""

    points: Floats
    grade: NDArray[np.int8]
    start: str
    value: float
    exact: bool
    converged: bool


def solve_component(
    network: Network,
    misfit: Misfit,
    effort: Effort,
    rng: np.random.Generator,
    journal: Journal,
    *,
    given: Floats | None = None,
    start: str = "auto",
) -> Solved:
    """Place the points of one component."""
    n, dim = network.size, network.dim
    if n == 1 or not len(network.first) + len(network.limits):
        return Solved(np.zeros((n, dim)), np.zeros(n, np.int8), "nothing", 0.0, True, True)
    found: list[tuple[float, Floats, str, bool]] = []
    if given is not None:
        found.append(_descend(network, given, "given", misfit, effort, journal, smooth=False))
    else:
        if start in ("auto", "trilateration"):
            body = best_body(network, rng)
            if body.count == n:
                found.append(_descend(network, body.points, "trilateration", misfit, effort, journal, smooth=False))
        if start in ("auto", "paths", "trilateration") and not (found and _exact(network, found[-1][1], effort)):
            for share in (0.8, 1.0, 0.6):
                places = from_paths(network, rng, share=share)
                found.append(_descend(network, places, "paths", misfit, effort, journal, smooth=True))
                if _exact(network, found[-1][1], effort) or start != "auto":
                    break
    value, X, name, converged = min(found, key=lambda one: one[0])
    exact = _exact(network, X, effort)
    met = _met(network, X, effort, exact)
    grade = np.zeros(n, np.int8)
    if len(met):
        kept = network.part(np.arange(n), keep=met)
        grade = determinacy(kept, X, rng, exact=exact).grade
    return Solved(X, grade, name, value, exact, converged)


def _descend(
    network: Network, X: Floats, name: str, misfit: Misfit, effort: Effort, journal: Journal, *, smooth: bool
) -> tuple[float, Floats, str, bool]:
    if smooth:
        rough = Misfit(squared=True, absence=misfit.absence)
        X = refine(network, X, rough, tol=1e-6, max_iter=min(60, effort.max_iter), journal=journal).points
    ended = refine(network, X, misfit, tol=effort.tol, max_iter=effort.max_iter, journal=journal)
    return ended.value, ended.points, name, ended.converged


def _exact(network: Network, X: Floats, effort: Effort) -> bool:
    gap = np.abs(network.residual(X))
    return bool(gap.size == 0 or gap.max() <= effort.rounding * max(float(np.max(network.distance)), 1.0))


def _met(network: Network, X: Floats, effort: Effort, exact: bool) -> NDArray[np.bool_]:
    """Which distances the places meet, to rounding or to the noise of the others."""
    gap = np.abs(network.residual(X)) * np.sqrt(network.weight)
    if exact or not gap.size:
        return np.ones(len(gap), bool)
    typical = 1.4826 * float(np.median(gap))
    return gap <= max(8 * typical, effort.rounding)


def fitted_to(points: Floats, anchors: Indices, places: Floats) -> Floats:
    """The points moved so that the anchors lie nearest to where they are known to be."""
    return align(points[anchors], places)(points)
