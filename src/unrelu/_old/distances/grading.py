"""Grades of the points of a fit: for exact data, and for data with noise, which may hide a flip."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import GRADING_LOWER, GRADING_SHARP, GRADING_THICK, GRADING_TOL, SECOND_SAME
from unrelu._old.distances.handedness import MOST_TURNED, NOISY, turned_groups
from unrelu._old.distances.noise import NoiseLevel
from unrelu._old.distances.polish import MOST_POINTS as MOST_POLISHED
from unrelu._old.distances.polish import polished
from unrelu._old.distances.refine import refine
from unrelu._old.distances.regrouping import bent, regrouped, soft_points
from unrelu._old.distances.rigidity import GENERIC, LOCAL, Framework, determinacy
from unrelu._old.distances.second import (
    LIKELY,
    MOST_SEARCHED,
    Others,
    flippable,
    not_a_bowl,
    same_in_both,
    searched,
    still_there,
)
from unrelu._old.distances.starts import small_enough
from unrelu._old.distances.swarm import Springs, descend
from unrelu._old.distances.trilateration import Body, look
from unrelu._old.distances.uncertainty import covariances
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Network

if TYPE_CHECKING:
    from unrelu._old.distances.search import Candidate, Search

__all__ = ["graded_exact", "graded_with_noise", "regraded"]

Grades = NDArray[np.int8]

# A second answer counts where it has two points apart by this many of their standard errors.
DISTINCT = 4.0
# But wherever it has them apart by this share of the typical distance, however soft the places are.
COARSE = 0.2
# Up to this many points, loose ones are tried elsewhere with a few about them.
MOST_REGROUPED = 2000


def graded_exact(search: Search, X: Floats, body: Body | None, *, exact: bool) -> tuple[Floats, Grades]:
    """Grades of exact data, all of which are met or some of which are not; and places with their last digits."""
    network, rng = search.network, search.rng
    met = np.abs(network.residual(X)) <= search.floor
    if met.all():
        framework = Framework(network, X, search.floor)
        grade = determinacy(framework, rng, exact=True, body=body, misfit=search.misfit).grade
        return _verified(network, X, grade, met, body, rng)
    # Points that carry the distances which are not met say nothing about the others.
    kept = np.flatnonzero(~_covering(network, ~met))
    grade = np.zeros(network.size, np.int8)
    part = network.part(kept)
    if len(kept) < 2 or not len(part.first):
        return X, grade
    own = None
    if body is not None and np.isin(np.flatnonzero(body.placed), kept).all():
        own = Body(body.points[kept], body.placed[kept], body.bound[kept], body.thickness)
    framework = Framework(part, X[kept], search.floor)
    found = determinacy(framework, rng, exact=True, body=own, misfit=search.misfit)
    places, grade[kept] = _verified(part, X[kept], found.grade, np.ones(len(part.first), bool), own, rng)
    X = X.copy()
    X[kept] = places
    if small_enough(network) and not exact:
        # A stress speaks of what is met. What was not found after dozens of starts may lie elsewhere altogether.
        sure = np.zeros(network.size, bool)
        sure[kept] = found.body.placed
        grade = np.where(sure, grade, np.minimum(grade, LOCAL)).astype(np.int8)
    return X, grade


def _covering(network: Network, wrong: Bools) -> Bools:
    """Few points that touch every wrong pair: those with most of them first."""
    gone = np.zeros(network.size, bool)
    first, second = network.first[wrong], network.second[wrong]
    while first.size:
        worst = int(np.argmax(np.bincount(np.r_[first, second], minlength=network.size)))
        gone[worst] = True
        left = (first != worst) & (second != worst)
        first, second = first[left], second[left]
    return gone


def _verified(
    network: Network, X: Floats, grade: Grades, met: Bools, body: Body | None, rng: np.random.Generator
) -> tuple[Floats, Grades]:
    """Polish what is settled, and take back the word for points that rounding alone moves visibly."""
    fixed = np.flatnonzero(grade >= GENERIC)
    free = None
    if (
        body is not None and body.thickness > GRADING_THICK
    ):  # well-conditioned at every step: only the others are looked at
        rest = fixed[~body.placed[fixed]]
        if not rest.size:
            return X, grade
        near = look(network, rest, grade >= GENERIC).neighbour
        fixed = np.union1d(rest, near)
        free = np.searchsorted(fixed, rest)
    if len(fixed) <= network.dim + 1 or len(fixed) > MOST_POLISHED:
        return X, grade
    places, error = polished(network.part(fixed, keep=met), X[fixed], rng, free=free)
    X, grade = X.copy(), grade.copy()
    X[fixed] = places
    grade[fixed[error > GRADING_SHARP * max(float(network.distance.max()), 1e-300)]] = LOCAL
    return X, grade


def graded_with_noise(
    search: Search, best: Candidate, level: NoiseLevel, *, look: bool = True, last: bool = False
) -> tuple[Grades, Candidate | None]:
    """Grades of data with noise, as fitted; and a lower answer, if the search for a second one came upon it.

    ``look``: whether a second answer is looked for. ``last``: a lower answer is then one more that points may lie in.
    """
    network, X, rng, sigma = search.network, best.points, search.rng, level.sigma
    grade = determinacy(Framework(network, X, search.beyond * sigma), rng, exact=False).grade
    fixed = np.flatnonzero(grade >= GENERIC)
    if not look or len(fixed) < 2:
        return grade, None
    phase("looking for a second answer")
    kept = fixed
    few = len(fixed) <= MOST_SEARCHED and small_enough(network)
    compared = _Compared(search, X, level, fixed, few)
    if few or (network.size <= MOST_TURNED and sigma > NOISY * float(np.median(network.distance))):
        others = compared.searched(last=last)
        lower, kept = compared.lower(others, kept), compared.alike_in(others, kept)
        if lower is not None and not last:
            return grade, lower
    for look_again in (compared.regrouped, compared.bent) if network.size <= MOST_REGROUPED else ():
        if len(kept) < 2:
            break
        others = look_again(kept)
        lower, kept = compared.lower(others, kept), compared.alike_in(others, kept)
        if lower is not None and not last:
            return grade, lower
    if not few:  # too many to search: one by one
        kept = np.setdiff1d(kept, flippable(network, X, search.misfit, sigma, kept))
    kept = np.setdiff1d(kept, not_a_bowl(network, X, level.misfit, sigma, kept))
    if len(kept) < len(fixed):
        grade[np.setdiff1d(fixed, kept)] = LOCAL
        regraded(network, X, grade, kept, rng, search.beyond * sigma)
    return grade, None


def regraded(network: Network, X: Floats, grade: Grades, kept: Indices, rng: np.random.Generator, slack: float) -> None:
    """What is left must hold without the points that were given up; changes ``grade``."""
    part = network.part(kept)
    again = np.zeros(len(kept), np.int8)
    if len(kept) > 1 and len(part.first):
        again = determinacy(Framework(part, X[kept], slack), rng, exact=False).grade
    grade[kept[again < GENERIC]] = LOCAL


class _Compared:
    """A fit that other answers are compared with: what may be as likely, and what counts as elsewhere."""

    def __init__(self, search: Search, X: Floats, level: NoiseLevel, fixed: Indices, few: bool) -> None:
        network, misfit, sigma = search.network, search.misfit, level.sigma
        self.search, self.level, self.fixed, self.few, self.fit = search, level, fixed, few, X
        self.springs = Springs.of(network, misfit, search.floor) if few else None
        if self.springs is not None:
            stack, value = descend(self.springs, X[None])
            self.here, self.first = stack[0], float(value[0])
        else:
            ended = refine(DistanceProblem(network, misfit), X, tol=GRADING_TOL, max_iter=60)
            self.here, self.first = ended.points, ended.value
        if search.effort.noise is not None:
            self.allowed = self.first + LIKELY * search.effort.noise**2 / 2
        else:
            self.allowed = self.first * float(np.exp(min(LIKELY / max(level.freedom, 1), 300.0)))
        part = network.part(fixed)
        cov = covariances(part, X[fixed], sigma, np.zeros(0, np.intp), level.misfit)
        self.error = np.zeros(network.size)
        self.error[fixed] = np.sqrt(np.trace(cov, axis1=1, axis2=2))
        size = float(np.abs(X - X.mean(axis=0)).max())
        coarse = COARSE * float(part.distance.mean())
        self.reach = np.minimum(DISTINCT * self.error, coarse) + SECOND_SAME * size
        self._coarse, self._same = coarse, SECOND_SAME * size

    def searched(self, *, last: bool) -> Others:
        """Flips, folds and fresh starts of few points; groups of more by their mirror images."""
        search, misfit = self.search, self.search.misfit
        if self.springs is not None:
            return searched(self.springs, self.fit, search.rng, allowed=self.allowed, sigma=self.level.sigma)
        tries = search.turns if last else search.turns // 2
        others = turned_groups(search.network, misfit, self.here, search.rng, tries, allowed=self.allowed)
        search.turns -= tries
        search.answers += others.places
        within = [one for one in search.answers if search.network.forces(one, misfit).value <= self.allowed]
        return replace(others, places=within)

    def regrouped(self, kept: Indices) -> Others:
        """The loosest points tried elsewhere with a few about them."""
        search, sigma = self.search, self.level.sigma
        soft = soft_points(self.error, sigma, kept)
        problem = DistanceProblem(search.network, search.misfit)
        return regrouped(problem, self.here, search.rng, soft, allowed=self.allowed, sigma=sigma)

    def bent(self, kept: Indices) -> Others:
        """The softest motions of the points, followed far."""
        problem = DistanceProblem(self.search.network, self.search.misfit)
        return bent(problem, self.here, allowed=self.allowed, sigma=self.level.sigma)

    def lower(self, others: Others, kept: Indices) -> Candidate | None:
        """The lowest of them, followed down, if it is lower than the fit and has points elsewhere."""
        if others.value >= self.first * (1 - GRADING_LOWER) or len(self._alike(others.lowest, kept)) == len(kept):
            return None
        return self.search.followed(others.lowest)

    def alike_in(self, others: Others, kept: Indices) -> Indices:
        """Those of the points that lie in all of them as in the fit."""
        for other in others.places:
            kept = self._alike(other, kept)
        return kept

    def _alike(self, other: Floats, chosen: Indices) -> Indices:
        error = self.error[chosen]
        tolerance = np.minimum(DISTINCT * (error[:, None] + error), self._coarse) + self._same
        same = same_in_both(self.here[chosen], other[chosen], np.arange(len(chosen)), tolerance)
        return still_there(self.here, other, chosen[same], self.reach)
