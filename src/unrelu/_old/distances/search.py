"""Places of one component with a misfit as low as the data allow: direct placement, global starts, repair."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import (
    CANDIDATE_EXACT,
    EVIDENCE_CHANCE,
    SEARCH_AGREE,
    SEARCH_LITTLE,
    SEARCH_NOISY_TOL,
    SEARCH_ROUGH,
    SEARCH_SMOOTH,
    SEARCH_TINY,
)
from unrelu._old.distances.advance import advanced
from unrelu._old.distances.alignment import align
from unrelu._old.distances.candidate import Candidate, Effort
from unrelu._old.distances.careful import carefully_grown
from unrelu._old.distances.evidence import Evidence, freedom_left, gather, is_noise, raised
from unrelu._old.distances.noise import censored_noise, noise_of_cliques
from unrelu._old.distances.patches import MOST_POINTS, clusters, settle
from unrelu._old.distances.paths import from_paths
from unrelu._old.distances.refine import Journal, concentrated, refine
from unrelu._old.distances.rigidity import GENERIC, Framework, determinacy
from unrelu._old.distances.starts import explored, small_enough, starts_for
from unrelu._old.distances.swarm import Springs
from unrelu._old.distances.trilateration import Body, best_body
from unrelu._old.distances.unfolding import unfolded
from unrelu._old.loop.stopping import StoppingRule
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network
from unrelu._old.solvers.levenberg_marquardt import LevenbergMarquardt

__all__ = ["BEYOND", "CANDIDATE_EXACT", "Candidate", "Effort", "Search"]

# Limits are met to so many times the rounding of a distance: a descent ends a little outside.
SLACK = 100.0
# Gaussian noise is beyond this many standard deviations once in two million distances; of many, the largest is within
# the second. Beyond so many times the middle of the misfits there is no noise of one level.
BEYOND, BEYOND_ALL, OUTLYING = 5.0, 6.0, 9.0
# Shares of a squared shortest path that are tried for the square of an unseen distance.
SHARES = (0.8, 1.0, 0.6)
# Beyond this many points one global start is all that is tried.
LARGE = 2000
# Trilateration with misfits below this share of a distance is still a start, even of many points.
NEARLY = 0.05
SETTLINGS = 6
NOISE_ROUNDS = 4
REPAIRS = 4
# Iterations of one descent while there are other places to look.
EXPLORING = 80
# Starts of few points that are followed down together.
ROUND = 32
# Groups of many points that are replaced by their mirror image, in all.
TURNS = 96
# Ten iterations that lower the misfit by less than this share lead nowhere, if there is no noise.
EXPLORER = LevenbergMarquardt(worth=0.05)


class Search:
    """Looks for places with a misfit as low as the data allow: direct placement, global starts, repair."""

    def __init__(
        self, network: Network, misfit: Misfit, effort: Effort, rng: np.random.Generator, journal: Journal
    ) -> None:
        self.network, self.misfit, self.effort, self.rng, self.journal = network, misfit, effort, rng, journal
        longest = float(network.distance.max(initial=0.0))
        self.floor = effort.rounding * (longest or 1.0)  # points all at one place are still rounded
        self.best: Candidate | None = None  # the lowest so far, for those who cannot wait
        self.starts = 0  # how many were followed down
        self._raised: tuple[Floats, bool] | None = None
        self.turns = TURNS  # how many groups may still be replaced by their mirror image
        self.answers: list[Floats] = []  # what that has led to

    @cached_property
    def told(self) -> float | None:
        """A rough standard deviation of the distances, from points that all see each other."""
        return noise_of_cliques(self.network, self.rng)

    @cached_property
    def clean(self) -> bool:
        """Data that are exact on blocks are exact: a misfit is then a fold, not noise."""
        return self.told is not None and self.told <= self.floor and self.network.limits.silent

    @cached_property
    def evidence(self) -> Evidence:
        """What groups of few points say about noise and dimension, each fitted by itself."""
        phase("looking at small groups for the noise")
        return gather(self.network, self.rng, self.floor)

    def squares(self, X: Floats) -> float:
        """Σ w gap² over seen pairs."""
        return float(np.sum(self.network.weight * self.network.residual(X) ** 2))

    def fitted_to_noise(self, X: Floats) -> bool:
        """Whether the misfit is what the given deviation, or the evidence of small groups, says of the noise."""
        from scipy.special import chdtri

        network, known = self.network, self.effort.noise
        gaps = np.abs(network.residual(X)) * np.sqrt(network.weight)
        freedom = freedom_left(network, X)
        if freedom < 1 or not gaps.size:
            return False
        level = self.evidence.level if known is None else known
        if network.beyond_limits(X).max(initial=0.0) > BEYOND_ALL * max(level, self.floor):
            return False
        if known is not None:
            least, most = (
                known**2 * float(chdtri(freedom, chance)) for chance in (1 - EVIDENCE_CHANCE, EVIDENCE_CHANCE)
            )
            if self.squares(X) > most or gaps.max() > BEYOND_ALL * known:
                return False
            # Noise of that deviation would leave more: it is not what these distances have, and they are asked.
            return self.squares(X) >= least or not self.evidence.higher
        # Distances that nothing else checks are met in any case, and say nothing about the level.
        checked = np.sort(gaps)[-freedom:]
        one_level = checked[-1] <= OUTLYING * max(1.4826 * float(np.median(checked)), self.floor)
        told = self.evidence
        if not one_level or told.higher or not is_noise(self.squares(X), freedom, told):
            return False
        return told.dimension or not self.raised(X)

    def raised(self, X: Floats) -> bool:
        """Whether places in one more dimension explain the misfit at X; asked once of the same places."""
        if self._raised is None or self._raised[0] is not X:
            phase("trying one more dimension")
            self._raised = X, raised(self.network, X, self.floor, self.rng)
        return self._raised[1]

    def outgrown(self, X: Floats) -> bool:
        """Whether that is why the misfit at X was not called noise."""
        return self._raised is not None and self._raised[0] is X and self._raised[1]

    def _note(self, one: Candidate) -> Candidate:
        """Remember a candidate if it is the lowest so far."""
        if self.best is None or one.value < self.best.value:
            self.best = one
        return one

    @property
    def tol(self) -> float | StoppingRule:
        """With noise, digits far below it are not worth the work."""
        tol = self.effort.tol
        return tol if self.clean or isinstance(tol, StoppingRule) else max(tol, SEARCH_NOISY_TOL)

    def exact(self, X: Floats) -> bool:
        """Whether all distances are met to rounding, and all limits."""
        gap, beyond = np.abs(self.network.residual(X)), self.network.beyond_limits(X)
        return bool(gap.max(initial=0.0) <= self.floor and beyond.max(initial=0.0) <= SLACK * self.floor)

    def noise(self, X: Floats) -> float:
        """Standard deviation of the distances: from blocks if those tell, else from the middle of the misfits."""
        gap = np.abs(self.network.residual(X)) * np.sqrt(self.network.weight)
        middle = 1.4826 * float(np.median(gap)) if gap.size else 0.0
        # The rough estimate of the blocks may be a third off.
        return max(middle if self.told is None else min(middle, 2 * self.told), self.floor)

    @property
    def censored(self) -> bool:
        """Whether measured distances were cut off, rather than true ones: then no seen one is beyond the cut-off."""
        cutoff = self.network.cutoff
        if cutoff is None or not self.misfit.absence:
            return False
        if self.effort.censored is not None:
            return self.effort.censored
        return bool((self.network.distance <= cutoff * (1 + self.effort.rounding)).all())

    def likeliest(self, found: Candidate, noise: float) -> tuple[Candidate, float]:
        """Refine by the likelihood of what was seen and of what was not; with the noise level, unless it is given."""
        known = self.effort.noise
        sigma = noise if known is None else known
        freedom = self.network.size * self.network.dim - self.network.dim * (self.network.dim + 1) // 2
        best = found
        rounds = 1 if known is not None else NOISE_ROUNDS
        for done in range(rounds):
            ended = refine(
                DistanceProblem(self.network, Misfit(noise=sigma)),
                best.points,
                tol=self.tol if done == rounds - 1 else SEARCH_ROUGH,
                max_iter=self.effort.max_iter,
                journal=self.journal,
            )
            best = Candidate(ended.points, ended.value, found.name, ended.converged)
            if known is None:
                sigma = censored_noise(self.network, best.points, sigma, freedom)
        return best, sigma

    def given(self, X: Floats) -> tuple[Candidate, None]:
        """From the caller's start alone."""
        phase("following the given start down")
        return self.descend(X, "given", smooth=False), None

    def auto(self, start: str) -> tuple[Candidate, Body | None]:
        """Direct placement if that explains everything, else the best of several starts."""
        found: list[Candidate] = []
        phase("placing points one after the other")
        body = best_body(self.network, self.rng) if start != "paths" else None
        if body is not None and body.count > self.network.dim:
            direct = self._direct(body)
            if direct is not None:
                found.append(direct)
                if self.exact(direct.points) or (self.clean and self.network.size > LARGE and direct.settled):
                    return direct, body if direct.settled else None
        if start == "auto" and self._little(SEARCH_TINY):
            found += self._carefully()
            # Noise as small as this hides no fold: what is fitted to it is the answer.
            if found and self.fitted_to_noise(min(found, key=lambda one: one.value).points):
                return min(found, key=lambda one: one.value), None
        for share in SHARES[: 1 if start != "auto" or self.network.size > LARGE else len(SHARES)]:
            phase("starting from shortest paths")
            places = from_paths(self.network, self.rng, share=share)
            found.append(self.descend(places, "paths", smooth=True))
            if self.exact(found[-1].points) or self.journal.stopped or self._agreed(found):
                break
        best = min(found, key=lambda one: one.value)
        if start == "auto" and not self.exact(best.points):
            if small_enough(self.network):
                best = self._tried_again(best)
            elif self._little() and not self._little(SEARCH_TINY) and not self.fitted_to_noise(best.points):
                best = min([best, *self._carefully()], key=lambda one: one.value)
        if self.clean and not self.exact(best.points) and not self.journal.stopped and start == "auto":
            best = self._repaired(best)
            if not self.exact(best.points):
                return self._partial(best, body, found)
        return best, body if best.settled else None

    def _tried_again(self, best: Candidate) -> Candidate:
        """Of few points dozens of starts, until one fits."""
        left = starts_for(self.network)
        while left > 0 and not self.journal.stopped:
            if self.exact(best.points) or (not self.clean and self.fitted_to_noise(best.points)):
                break
            phase("trying other starts")
            best = self.tried(best, min(left, ROUND))
            left -= ROUND
        return best

    def _little(self, most: float = SEARCH_LITTLE) -> bool:
        """Whether there is noise, but so little that many points can still be placed one after the other."""
        few = small_enough(self.network) or self.network.size > LARGE
        return not few and not self.clean and self.told is not None and self.told <= most

    def _carefully(self) -> list[Candidate]:
        """Points placed one after the other, with fits in between; nothing if that leads nowhere."""
        phase("placing points with care")
        noise = self.told or 0.0
        body = carefully_grown(self.network, self.misfit, noise, self.rng)
        if body is None:
            return []
        found: list[Candidate] = []
        for _ in range(SETTLINGS):  # the others around it; what hinges may be caught in a fold
            X = settle(self.network, body.points, body.placed, self.misfit, BEYOND * noise, self.rng)
            found.append(self.descend(X, "trilateration", smooth=False))
            if body.count == self.network.size or self.fitted_to_noise(found[-1].points):
                break
        return found

    @property
    def beyond(self) -> float:
        """How many standard deviations noise may take a distance."""
        return BEYOND

    def followed(self, X: Floats) -> Candidate:
        """Places that another search came upon, followed down."""
        return self.descend(X, "many starts", smooth=False)

    def once_more(self, best: Candidate) -> Candidate:
        """Try another start, or a round of them if points are few; returns the new answer or, if lower, the old one."""
        if small_enough(self.network):
            return self.tried(best, ROUND)
        places = from_paths(self.network, self.rng, share=float(self.rng.uniform(0.5, 1.1)))
        places += 0.3 * self.rng.standard_normal(places.shape)
        return min(best, self.descend(places, "paths", smooth=True), key=lambda one: one.value)

    def tried(self, best: Candidate, count: int) -> Candidate:
        """The best of some more starts and of what there was."""
        most = min(60, self.effort.max_iter)
        springs = Springs.of(self.network, self.misfit, self.floor)
        places, values = explored(springs, self.rng, count, iterations=most)
        self.starts += count
        if values[0] < best.value:
            best = min(best, self.descend(places[0], "many starts", smooth=False), key=lambda one: one.value)
        return best

    def _agreed(self, found: list[Candidate]) -> bool:
        """Whether, with noise, two starts led to the same misfit, and to none that is lower."""
        if self.clean or len(found) < 2:
            return False
        values = sorted(one.value for one in found)
        return values[1] <= (1 + SEARCH_AGREE) * values[0]

    def _direct(self, body: Body) -> Candidate | None:
        """The placed points, and the others around them; None where errors have grown too large to go on."""
        network = self.network
        if not self._consistent(body):  # noise: a start like others
            near = self._consistent(body, NEARLY) and 2 * body.count >= network.size
            if near and body.count < network.size:
                X = settle(network, body.points, body.placed, self.misfit, NEARLY, self.rng)
                return self.descend(X, "trilateration", smooth=False)
            if near or (body.count == network.size and network.size <= LARGE):
                return self.descend(body.points, "trilateration", smooth=False)
            return None
        X, placed = advanced(network, body.points, body.placed, self.misfit, self.floor, self.rng)
        if 4 * np.sum(placed) < network.size:
            return None
        X = self._filled(X, placed)
        X = settle(network, X, placed, self.misfit, self.floor, self.rng)
        forces = network.forces(X, self.misfit)
        candidate = self._note(Candidate(X, forces.value, "trilateration", settled=True))
        size = float(np.linalg.norm(forces.gradient(network.size)))
        self.journal.note(forces.value, size, size / max(float(np.linalg.norm(network.distance)), 1e-300))
        return candidate

    def _filled(self, X: Floats, settled: Bools) -> Floats:
        """Groups too large to be placed as one: where shortest paths would have them, then as well as may be."""
        network = self.network
        groups = [group for group in clusters(network, np.flatnonzero(~settled)) if len(group) > MOST_POINTS // 2]
        if not groups:
            return X
        rest = np.concatenate(groups)
        places = from_paths(network, self.rng)
        X = X.copy()
        X[rest] = align(places[settled], X[settled])(places)[rest]
        problem = DistanceProblem(network, self.misfit, rest)
        return refine(problem, X, max_iter=EXPLORING, journal=self.journal, solver=EXPLORER).points

    def descend(self, X: Floats, name: str, *, smooth: bool) -> Candidate:
        """The candidate that places lead to, by squared distances first if asked."""
        effort = self.effort
        if smooth:
            rough = Misfit(squared=True, absence=self.misfit.absence)
            iterations = min(60, effort.max_iter)
            problem = DistanceProblem(self.network, rough)
            X = refine(problem, X, tol=SEARCH_SMOOTH, max_iter=iterations, journal=self.journal).points
        most, solver = (min(EXPLORING, effort.max_iter), EXPLORER) if self.clean else (effort.max_iter, None)
        tol = SEARCH_ROUGH if self.censored and not self.clean else self.tol  # the likelihood has the last word
        problem = DistanceProblem(self.network, self.misfit)
        ended = refine(problem, X, tol=tol, max_iter=most, journal=self.journal, solver=solver)
        self.starts += 1
        return self._note(Candidate(ended.points, ended.value, name, ended.converged))

    def _repaired(self, best: Candidate) -> Candidate:
        """Find the folds, keep what is settled, and place the rest anew from it; else start elsewhere."""
        network = self.network
        trial: Candidate | None = best
        for _ in range(REPAIRS):
            phase("looking for folds")
            if trial is not None:
                trial = unfolded(network, trial, self.misfit, self.floor, self.rng, self)
                best = min(best, trial, key=lambda one: one.value)
            if self.exact(best.points) or self.journal.stopped or network.size > LARGE:
                break
            share = float(self.rng.uniform(0.5, 1.1))
            places = from_paths(network, self.rng, share=share)
            places += 0.3 * self.rng.standard_normal(places.shape)
            trial = self.descend(places, "paths", smooth=True)
        return best

    def _partial(self, best: Candidate, body: Body | None, found: list[Candidate]) -> tuple[Candidate, Body | None]:
        """The places that fix most points: around what trilateration reached, or with few distances not met."""
        X = concentrated(self.network, best.points, self.misfit)
        options: list[tuple[Candidate, Body | None]] = [(Candidate(X, best.value, best.name, False), None)]
        if body is not None and body.count > self.network.dim + 1 and self._consistent(body):
            options += [(one, body) for one in found if one.settled] or [(self._partly(best, body), body)]
        return max(options, key=lambda option: self._fixed(*option))

    def _fixed(self, one: Candidate, body: Body | None) -> int:
        """How many points the distances that are met to rounding fix."""
        met = np.abs(self.network.residual(one.points)) <= self.floor
        if not met.any():
            return 0
        kept = self.network.part(np.arange(self.network.size), keep=met)
        framework = Framework(kept, one.points, self.floor, seen=self.network)
        grade = determinacy(framework, self.rng, exact=False, body=body).grade
        return int(np.sum(grade >= GENERIC))

    def _consistent(self, body: Body, share: float = 0.0) -> bool:
        """Whether all distances between placed points are met, to rounding or to a share of a distance."""
        inside = body.placed[self.network.first] & body.placed[self.network.second]
        gaps = np.abs(self.network.residual(body.points)[inside])
        return bool(gaps.size == 0 or gaps.max() <= max(self.floor, share))

    def _partly(self, best: Candidate, body: Body) -> Candidate:
        """What trilateration reached stays where it is; the rest as well as may be."""
        network, rest = self.network, np.flatnonzero(~body.placed)
        X = align(best.points[body.placed], body.points[body.placed])(best.points)
        X[body.placed] = body.points[body.placed]
        X = settle(network, X, body.placed, self.misfit, self.floor, self.rng)
        problem = DistanceProblem(network, self.misfit, rest)
        ended = refine(problem, X, max_iter=EXPLORING, journal=self.journal)
        X = concentrated(network, ended.points, self.misfit, free=rest)
        return Candidate(X, ended.value, "trilateration", False)
