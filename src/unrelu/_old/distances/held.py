"""A component with anchors: fitted with those where they are known to be, and judged by what comes of it.

Distances between anchors tie a component together while it is sought in a frame of its own. That says nothing about
anchors which contradict the distances, nor about points that could lie on the other side of them: the words and the
verdict are those of the final places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.budget import OutOfTime, phase
from unrelu._old.base.tolerances import EVIDENCE_CHANCE, GRADING_SHARP, HELD_RANK, SECOND_SAME
from unrelu._old.distances.alignment import align
from unrelu._old.distances.anchors import fix_the_frame
from unrelu._old.distances.evidence import RANKED, gather, is_noise
from unrelu._old.distances.grading import graded_exact
from unrelu._old.distances.polish import MOST_POINTS as MOST_POLISHED
from unrelu._old.distances.polish import polished
from unrelu._old.distances.refine import refine
from unrelu._old.distances.rigidity import GENERIC, LOCAL, Framework, determinacy
from unrelu._old.distances.search import BEYOND, BEYOND_ALL, ROUND, SLACK, Search
from unrelu._old.distances.second import MOST_SEARCHED, searched
from unrelu._old.distances.solve import Solved
from unrelu._old.distances.starts import explored, small_enough, starts_for
from unrelu._old.distances.swarm import Springs
from unrelu._old.distances.trilateration import Body, grow
from unrelu._old.loop.history import Stop
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.laplacian import rigidity_rows
from unrelu._old.problems.network import Misfit, Network, no_limits

__all__ = ["Held"]

Grades = NDArray[np.int8]

CUT_SHORT = (Stop.INTERRUPTED, Stop.MAX_SECONDS)


@dataclass(frozen=True, eq=False)
class Held:
    """One component whose anchors stay where they are.

    Attributes
    ----------
    search : Search
        On the network that also holds the distances between the anchors.
    seen : Network
        The same points with what was measured only.
    fixed : int ndarray, known : ndarray of shape (len(fixed), dim)
        The anchors, and where they are, in units.
    """

    search: Search
    seen: Network
    fixed: Indices
    known: Floats

    def judged(self, one: Solved) -> Solved:
        """The component in the frame of its anchors; what was said of it is said of these places."""
        centre = self.known.mean(axis=0)
        here = replace(self, known=self.known - centre)
        ended = here._judged(one)
        points = ended.points + centre
        points[self.fixed] = self.known
        return replace(ended, points=points)

    @property
    def free(self) -> Indices:
        """The points that may move."""
        return np.setdiff1d(np.arange(self.seen.size), self.fixed)

    @property
    def framed(self) -> bool:
        """Whether nothing can be turned about the anchors, or mirrored."""
        return fix_the_frame(self.known, self.seen.dim)

    @property
    def floor(self) -> float:
        """What rounding may do to a distance."""
        return self.search.floor

    def _judged(self, one: Solved) -> Solved:
        X = align(one.points[self.fixed], self.known)(one.points)
        X[self.fixed] = self.known
        if one.code in CUT_SHORT:
            return replace(one, points=X)
        try:
            contradicted = self._contradicted(one)
            X = self._fitted(X, one, hopeless=bool(contradicted))
            return self._graded(X, one, contradicted)
        except OutOfTime:
            return replace(one, points=X, grade=np.zeros_like(one.grade), code=Stop.MAX_SECONDS)

    def _contradicted(self, one: Solved) -> str:
        """A sentence on two anchors whose distance was measured, and is another one."""
        held = np.isin(self.seen.first, self.fixed) & np.isin(self.seen.second, self.fixed)
        X = np.zeros((self.seen.size, self.seen.dim))
        X[self.fixed] = self.known
        gaps = np.where(held, np.abs(self.seen.residual(X)), 0.0)
        level = self.search.effort.noise or (one.noise if one.code is Stop.FITTED_TO_NOISE else 0.0)
        wrong = gaps * np.sqrt(self.seen.weight) > max(BEYOND_ALL * level, self.floor)
        if not wrong.any():
            return ""
        return (
            f"the anchors contradict the distances: {int(wrong.sum())} of {int(held.sum())} distances measured "
            "between anchors do not fit the places given"
        )

    def _exact(self, X: Floats) -> bool:
        gaps, limits = np.abs(self.seen.residual(X)), self.seen.beyond_limits(X)
        return bool(gaps.max(initial=0.0) <= self.floor and limits.max(initial=0.0) <= SLACK * self.floor)

    def _value(self, X: Floats) -> float:
        return self.search.network.forces(X, self.search.misfit).value

    def _fitted(self, X: Floats, one: Solved, *, hopeless: bool) -> Floats:
        """The lowest misfit with the anchors held; what meets all distances before what does not."""
        search, free = self.search, self.free
        if not free.size:
            return X
        misfit = Misfit(noise=one.noise) if one.likely else search.misfit
        best = min((X, self._refined(X, misfit)), key=self._rank)
        if hopeless or not small_enough(search.network):
            return best
        springs = Springs.of(search.network, search.misfit, self.floor)
        left = starts_for(search.network)
        while left > 0 and not search.journal.stopped and not self._enough(best, one):
            phase("trying other starts with the anchors held")
            places, _ = explored(springs, search.rng, ROUND, fixed=X, free=free)
            best = min((best, *(self._refined(other, misfit) for other in places[:2])), key=self._rank)
            left -= ROUND
        return best

    def _refined(self, X: Floats, misfit: Misfit) -> Floats:
        search, effort = self.search, self.search.effort
        problem = DistanceProblem(search.network, misfit, self.free)
        return refine(problem, X, tol=effort.tol, max_iter=effort.max_iter, journal=search.journal).points

    def _rank(self, X: Floats) -> tuple[bool, float]:
        return not self._exact(X), self._value(X)

    def _enough(self, X: Floats, one: Solved) -> bool:
        """Whether nothing is left to be wished for: all is met, also what absence says, or is as the noise has it."""
        if self._exact(X):
            return self._value(X) <= (SLACK * self.floor) ** 2
        return self._noise_only(X, one)

    def _noise_only(self, X: Floats, one: Solved) -> bool:
        """Whether the misfit with the anchors held is that of the noise, given or shown by small groups."""
        from scipy.special import chdtri

        known, freedom = self.search.effort.noise, self._freedom(X)
        if freedom < 1 or (known is None and one.code is not Stop.FITTED_TO_NOISE):
            return False
        gaps = np.abs(self.seen.residual(X)) * np.sqrt(self.seen.weight)
        squares = float(np.sum(gaps**2))
        level = one.noise if known is None else known
        if self.seen.beyond_limits(X).max(initial=0.0) > BEYOND_ALL * level:
            return False
        if known is not None:
            return bool(
                squares <= known**2 * float(chdtri(freedom, EVIDENCE_CHANCE)) and gaps.max() <= BEYOND_ALL * known
            )
        told = gather(self.seen, self.search.rng, self.floor)
        return is_noise(squares, freedom, told if told.freedom else self.search.evidence)

    def _freedom(self, X: Floats) -> int:
        """How many distances there are beyond those that the free points need."""
        free, dim, m = self.free, self.seen.dim, len(self.seen.first)
        if not free.size or not m or self.seen.size * dim > RANKED:
            return max(m - free.size * dim, 0)
        rows = rigidity_rows(replace(self.seen, limits=no_limits()).forces(X, Misfit(absence=False)), len(X)).toarray()
        inside = (free[:, None] * dim + np.arange(dim)).ravel()
        return m - int(np.linalg.matrix_rank(rows[:, inside], tol=HELD_RANK))

    def _graded(self, X: Floats, one: Solved, contradicted: str) -> Solved:
        phase("finding out what is determined with the anchors held")
        search = self.search
        grade = np.minimum(one.grade, LOCAL).astype(np.int8)
        if search.journal.stopped:
            return replace(one, points=X, grade=grade, code=Stop.CALLBACK)
        if self._exact(X):
            X, grade = self._when_exact(X, one)
            return replace(one, points=X, grade=grade, code=Stop.FITTED, why="", likely=False)
        if not contradicted and self._noise_only(X, one):
            if one.code is Stop.FITTED_TO_NOISE:
                grade = one.grade
                if self.framed:  # what the anchors hold, and what is held without them
                    grade = np.minimum(grade, self._held_grades(X, BEYOND * one.noise, exact=False))
            why = one.why if one.code is Stop.FITTED_TO_NOISE else "the deviation given"
            return replace(one, points=X, grade=grade, code=Stop.FITTED_TO_NOISE, why=why)
        met = np.abs(self.seen.residual(X)) <= self.floor
        why = contradicted or (
            f"with the anchors held {int((~met).sum())} of {len(met)} distances are not met: anchors that contradict "
            "them, wrong distances, or a fold that was not found"
        )
        fitted = one.code in (Stop.FITTED, Stop.FITTED_TO_NOISE)
        if not (fitted or contradicted) and search.clean and self.framed:
            grade = self._of_what_is_met(X, one, met)
        code = Stop.STATIONARY if fitted or contradicted else one.code
        return replace(one, points=X, grade=grade, code=code, why=why)

    def _of_what_is_met(self, X: Floats, one: Solved, met: NDArray[np.bool_]) -> Grades:
        """Some distances are wrong: what the others fix, in their own frame and in that of the anchors."""
        network = self.search.network
        wrong = np.zeros(network.size, bool)
        wrong[self.seen.first[~met]] = wrong[self.seen.second[~met]] = True
        wrong[self.fixed] = False  # their places are given
        kept = np.flatnonzero(~wrong)
        part = replace(self, search=self._part(kept), fixed=np.searchsorted(kept, self.fixed))
        grade = np.zeros(network.size, np.int8)
        grade[kept] = part._held_grades(X[kept], self.floor, exact=True)
        return np.where(grade >= GENERIC, np.minimum(grade, one.grade), np.minimum(one.grade, LOCAL)).astype(np.int8)

    def _part(self, kept: Indices) -> Search:
        search = self.search
        return Search(search.network.part(kept), search.misfit, search.effort, search.rng, search.journal)

    def _when_exact(self, X: Floats, one: Solved) -> tuple[Floats, Grades]:
        """Words on places that meet everything."""
        search = self.search
        if not self.framed:
            if one.code is Stop.FITTED and self._same_shape(X, one.points):
                return X, one.grade
            found, grade = graded_exact(search, X, None, exact=True)
            return align(found[self.fixed], self.known)(found), grade
        grade = self._held_grades(X, self.floor, exact=True)
        X, grade = self._polished(X, grade)
        free = self.free
        if free.size and len(X) <= MOST_SEARCHED and small_enough(search.network) and (grade[free] >= GENERIC).any():
            springs = Springs.of(search.network, search.misfit, self.floor)
            others = searched(springs, X, search.rng, free=free)
            size = max(float(np.abs(X - X.mean(axis=0)).max()), 1e-300)
            for other in others.places:
                moved = np.linalg.norm(other - X, axis=1) > SECOND_SAME * size
                grade[moved] = np.minimum(grade[moved], LOCAL)
        return X, grade

    def _same_shape(self, X: Floats, Y: Floats) -> bool:
        size = max(float(np.abs(X).max()), 1e-300)
        return bool(np.abs(align(Y, X)(Y) - X).max() <= SECOND_SAME * size)

    def _held_grades(self, X: Floats, slack: float, *, exact: bool) -> Grades:
        """Grades of points relative to anchors that fix the frame: from these everything is placed."""
        search, n = self.search, self.search.network.size
        placed = np.zeros(n, bool)
        placed[self.fixed] = True
        thin = float(np.linalg.svd(self.known - self.known.mean(axis=0), compute_uv=False)[-1])
        bound = np.full(n, np.inf)
        longest = float(np.max(search.network.distance, initial=0.0))
        bound[self.fixed] = 8 * np.finfo(np.float64).eps * longest**2 / thin
        body = grow(search.network, Body(X.copy(), placed, bound), known=X)
        misfit = search.misfit if exact else None
        framework = Framework(search.network, X, slack)
        return determinacy(framework, search.rng, exact=exact, body=body, misfit=misfit).grade

    def _polished(self, X: Floats, grade: Grades) -> tuple[Floats, Grades]:
        """The last digits of what is settled; rounding that moves a point visibly takes the word back."""
        network = self.search.network
        settled = np.union1d(np.flatnonzero(grade >= GENERIC), self.fixed)
        free = np.flatnonzero(~np.isin(settled, self.fixed))
        if not free.size or len(settled) > MOST_POLISHED:
            return X, grade
        places, error = polished(network.part(settled), X[settled], self.search.rng, free=free)
        X, grade = X.copy(), grade.copy()
        X[settled] = places
        coarse = settled[free[error[free] > GRADING_SHARP * max(float(network.distance.max()), 1e-300)]]
        grade[coarse] = np.minimum(grade[coarse], LOCAL)
        return X, grade
