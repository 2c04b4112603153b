"""One component: starts, refinement, repair, and what the data fix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu.distances.alignment import align
from unrelu.distances.network import Misfit, Network
from unrelu.distances.noise import noise_of_cliques
from unrelu.distances.patches import regrown, settle
from unrelu.distances.paths import from_paths
from unrelu.distances.refine import Journal, refine
from unrelu.distances.rigidity import determinacy, known_body
from unrelu.distances.trilateration import Body, best_body

__all__ = ["Effort", "Solved", "solve_component"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Misfits below this share of the typical distance need no noise to explain them.
EXACT = 1e-9
# Gaussian noise is beyond this many standard deviations once in two million distances.
BEYOND = 5.0
# Shares of a squared shortest path that are tried for the square of an unseen distance.
SHARES = (0.8, 1.0, 0.6)
# Beyond this many points one global start is all that is tried.
LARGE = 2000
# Trilateration with misfits below this share of a distance is still a start, even of many points.
NEARLY = 0.05
REPAIRS = 8


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
    search = Search(network, misfit, effort, rng, journal)
    best, body = search.given(given) if given is not None else search.auto(start)
    exact = search.exact(best.points)
    noise = effort.rounding if exact else search.noise(best.points)
    met = np.abs(network.residual(best.points)) * np.sqrt(network.weight) <= (
        search.floor if exact or search.clean else BEYOND * noise
    )
    grade = np.zeros(n, np.int8)
    if met.any():
        kept = network if met.all() else network.part(np.arange(n), keep=met)
        slack = search.floor if exact or search.clean else BEYOND * noise
        grade = determinacy(kept, best.points, rng, exact=exact, slack=slack, body=body, seen=network).grade
    return Solved(best.points, grade, best.name, best.value, exact, best.converged)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Places, how they were found, and their misfit."""

    points: Floats
    value: float
    name: str
    converged: bool = True
    settled: bool = False  # whether the points that trilateration reached are where it put them


class Search:
    """Looks for places with a misfit as low as the data allow: direct placement, global starts, repair."""

    def __init__(
        self, network: Network, misfit: Misfit, effort: Effort, rng: np.random.Generator, journal: Journal
    ) -> None:
        self.network, self.misfit, self.effort, self.rng, self.journal = network, misfit, effort, rng, journal
        longest = float(network.distance.max()) if len(network.distance) else 1.0
        self.floor = effort.rounding * longest
        told = noise_of_cliques(network, rng)
        self.told = told
        # Data that are exact on blocks are exact: a misfit is then a fold, not noise.
        self.clean = told is not None and told <= self.floor and not len(network.limits)

    def exact(self, X: Floats) -> bool:
        """Whether all distances are met to rounding."""
        gap = np.abs(self.network.residual(X))
        return bool(gap.size == 0 or gap.max() <= self.floor)

    def noise(self, X: Floats) -> float:
        """Standard deviation of the distances: from blocks if those tell, else from the middle of the misfits."""
        gap = np.abs(self.network.residual(X)) * np.sqrt(self.network.weight)
        middle = 1.4826 * float(np.median(gap)) if gap.size else 0.0
        # The rough estimate of the blocks may be a third off.
        return max(middle if self.told is None else min(middle, 2 * self.told), self.floor)

    def given(self, X: Floats) -> tuple[Candidate, None]:
        """From the caller's start alone."""
        return self._descend(X, "given", smooth=False), None

    def auto(self, start: str) -> tuple[Candidate, Body | None]:
        """Direct placement if that explains everything, else the best of several starts."""
        found: list[Candidate] = []
        body = best_body(self.network, self.rng) if start != "paths" else None
        if body is not None and body.count > self.network.dim:
            direct = self._direct(body)
            if direct is not None:
                found.append(direct)
                if self.exact(direct.points) or (self.clean and self.network.size > LARGE and direct.settled):
                    return direct, body if direct.settled else None
        for share in SHARES[: 1 if start != "auto" or self.network.size > LARGE else len(SHARES)]:
            places = from_paths(self.network, self.rng, share=share)
            found.append(self._descend(places, "paths", smooth=True))
            if self.exact(found[-1].points) or self.journal.stopped:
                break
        best = min(found, key=lambda one: one.value)
        if self.clean and not self.exact(best.points) and start == "auto":
            best = self._repaired(best)
        return best, body if best.settled else None

    def _direct(self, body: Body) -> Candidate | None:
        """The placed points, and the others around them; None where errors have grown too large to go on."""
        network = self.network
        inside = body.placed[network.first] & body.placed[network.second]
        gaps = np.abs(network.residual(body.points)[inside])
        if gaps.max() > self.floor:  # noise: a start like others
            good = body.count == network.size and (network.size <= LARGE or gaps.max() < NEARLY)
            return self._descend(body.points, "trilateration", smooth=False) if good else None
        if 2 * body.count < network.size:
            return None
        X = settle(network, body.points, body.placed, self.misfit, self.floor, self.rng)
        forces = network.forces(X, self.misfit)
        candidate = Candidate(X, forces.value, "trilateration", settled=True)
        size = float(np.linalg.norm(forces.gradient(network.size)))
        self.journal.note(forces.value, size, size / max(float(np.linalg.norm(network.distance)), 1e-300))
        return candidate

    def _descend(self, X: Floats, name: str, *, smooth: bool) -> Candidate:
        effort = self.effort
        if smooth:
            rough = Misfit(squared=True, absence=self.misfit.absence)
            iterations = min(60, effort.max_iter)
            X = refine(self.network, X, rough, tol=1e-6, max_iter=iterations, journal=self.journal).points
        ended = refine(self.network, X, self.misfit, tol=effort.tol, max_iter=effort.max_iter, journal=self.journal)
        return Candidate(ended.points, ended.value, name, ended.converged)

    def _repaired(self, best: Candidate) -> Candidate:
        """Keep what is settled, place the rest anew from it; where that does not help, start elsewhere."""
        network = self.network
        for attempt in range(REPAIRS):
            if self.exact(best.points) or self.journal.stopped:
                break
            met = np.abs(network.residual(best.points)) <= self.floor
            trial = None
            if attempt % 2 == 0 and met.any():
                body = known_body(network.part(np.arange(network.size), keep=met), best.points, self.rng)
                if body.count > network.dim + 1:
                    X, placed = regrown(network, best.points, body.placed)
                    X = settle(network, X, placed, self.misfit, self.floor, self.rng)
                    trial = self._descend(X, best.name, smooth=False)
            if trial is None and network.size <= LARGE:
                share = float(self.rng.uniform(0.5, 1.1))
                trial = self._descend(from_paths(network, self.rng, share=share), "paths", smooth=True)
            if trial is not None and trial.value < best.value:
                best = trial
        return best


def fitted_to(points: Floats, anchors: Indices, places: Floats) -> Floats:
    """The points moved so that the anchors lie nearest to where they are known to be."""
    return align(points[anchors], places)(points)
