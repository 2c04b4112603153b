"""What a run that ended may be called: fitted, the best of its rank, underdetermined, or only stationary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.base.tolerances import (
    NEXT_RANK_FAR_BETTER,
    VERDICTS_ABSENT,
    VERDICTS_CUT_OFF,
    VERDICTS_NOISE,
    VERDICTS_OPTIMAL,
    VERDICTS_SHRUNK,
)
from unrelu._old.judge.counting import underdetermined
from unrelu._old.judge.floor import Floor, noiseless, rms, unknowns_and_pairs
from unrelu._old.judge.held_out import HeldOut
from unrelu._old.judge.likelihood import Fits, on_likelihood
from unrelu._old.judge.remarks import contradiction
from unrelu._old.judge.runaway import unless_runaway
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.run import Outcome, run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.problems.psd import Point, PSDProblem
from unrelu._old.solvers import GaussNewton, Solver
from unrelu._old.starts.continuation import lowest_residual_eigenpair

__all__ = ["Evidence", "contradicts_absence", "judged", "verdict_on_best"]

# Starts that search a small problem through, and the largest relative residual that is then called noise.
HUNDREDS = 150
# A method with a loose tolerance is at the answer if so many Gauss–Newton steps from there fit to rounding.
FEW_STEPS = RelativeGradientNormBelow(1e-13) | MaxIterations(15)


@dataclass(frozen=True)
class Evidence:
    """What speaks for the best of several starts.

    Attributes
    ----------
    tried : tuple of str
        Names of the starts.
    floor : Floor or None
        What fully seen blocks say, where they were asked.
    held_out : HeldOut or None
        What pairs held out say, where blocks said nothing.
    enough : bool
        Whether further starts worth ten times the first fit found nothing lower.
    agreed : bool
        Whether two starts ended at this objective: a remark, and no reason by itself.
    starts : int
        How many starts were tried, each of those that ran side by side included.
    gain : float or None
        How much better one more rank fits, where too little was seen for the other two.
    contradicted : bool
        Whether the seen entries would be fitted far better if nobody listened to absence.
    body : bool
        Whether rows were placed from a fully seen block: then some are determined, whatever counting says of all.
    """

    tried: tuple[str, ...]
    floor: Floor | None = None
    held_out: HeldOut | None = None
    enough: bool = False
    agreed: bool = False
    starts: int = 0
    gain: float | None = None
    contradicted: bool = False
    body: bool = False

    @property
    def exhausted(self) -> bool:
        """Whether a problem with few unknowns was searched from hundreds of places, and nothing speaks of more rank.

        Where no two of them ended alike, as among the many near misses of rows that nearly repeat each other, the
        search has not come to an end.
        """
        silent = self.floor is not None and self.floor.noise is None and self.held_out is None
        return silent and self.starts >= HUNDREDS and self.agreed and not self.shows_rank and not self.contradicted

    @property
    def shows_rank(self) -> bool:
        """Whether the data themselves show more rank than was asked for."""
        return self.rank_shown_by is not None

    @property
    def rank_shown_by(self) -> str | None:
        """What shows it."""
        if self.floor is not None and self.floor.shows_rank:
            return "fully seen blocks show"
        if self.held_out is not None and self.held_out.shows_rank:
            return "pairs held out show"
        if self.gain is not None and self.gain > NEXT_RANK_FAR_BETTER:
            return "one more rank, which fits far better, shows"
        return None


def judged(problem: PSDProblem, outcome: Outcome, solver: Solver[Any], rng: np.random.Generator) -> Outcome:
    """One run with a named method or start: a point that met its rule above the floor is only stationary.

    A method with two factors is judged by its own estimate, which need not be near a positive semidefinite one.
    """
    words = f"{problem.loss.name} loss"
    scored = getattr(problem, "scored", False)  # a problem from outside need not know of it
    if not (problem.psd or scored):
        return replace(outcome, verdict=_plainly(problem, outcome, words))
    if scored or problem.loss.likelihood:
        evidence = Fits(agreed=False, plain=False)
        return replace(outcome, verdict=on_likelihood(problem, outcome, evidence, words))
    if problem.simpler is not None:
        # What another loss calls small is not what rounding or noise leaves: a fit is judged in squares.
        seen_as = problem.simpler
        point = seen_as.evaluate(outcome.point.factor)
        ended = replace(outcome, point=point, objective=point.value)
        return replace(outcome, verdict=_judged(seen_as, ended, solver, rng, words).verdict)
    ended = _judged(problem, outcome, solver, rng, words)
    if ended.verdict.code is Stop.MAX_ITERATIONS:  # it was cut short, wherever it is
        return ended
    return replace(ended, verdict=unless_runaway(problem, ended.point, ended.verdict))


def _judged(
    problem: PSDProblem, outcome: Outcome, solver: Solver[Any], rng: np.random.Generator, words: str
) -> Outcome:
    """The same for squares."""
    counted = None if solver.convex else underdetermined(problem, outcome, words)
    if counted is not None:
        return replace(outcome, verdict=counted)
    if not outcome.verdict.converged:
        return outcome
    said = outcome.verdict.reason
    residual = _relative(problem, outcome.objective)
    if solver.convex:
        return replace(outcome, verdict=_on_convex(problem, outcome, words, rng))
    if noiseless(problem, outcome.objective):
        return replace(outcome, verdict=Verdict(Stop.FITTED, f"{said}; the data are fitted to rounding ({words})"))
    if noiseless(problem, outcome.objective, loosely=True) and _near_an_exact_fit(problem, outcome):
        met = f"the data are fitted to the method's tolerance (relative residual {residual:.2g})"
        return replace(outcome, verdict=Verdict(Stop.FITTED, f"{said}; {met} ({words})"))
    floor = Floor.of(problem.observations, problem.rank, rng)
    if contradiction(problem.rank, residual) is None and floor.reached(problem, outcome.objective):
        verdict = Verdict(Stop.FITTED_TO_NOISE, f"{said}; the data are fitted to their noise ({words})")
        return replace(outcome, verdict=verdict)
    return replace(outcome, verdict=_stationary(problem, outcome, words, Evidence((), floor)))


def _plainly(problem: PSDProblem, outcome: Outcome, words: str) -> Verdict:
    """On a problem of which nothing more is known: fitted to rounding, or only stationary."""
    if not outcome.verdict.converged:
        return outcome.verdict
    if noiseless(problem, outcome.objective):
        said = f"{outcome.verdict.reason}; the data are fitted to rounding ({words})"
        return Verdict(Stop.FITTED, said)
    return _stationary(problem, outcome, words, Evidence(()))


def _on_convex(problem: PSDProblem, outcome: Outcome, words: str, rng: np.random.Generator) -> Verdict:
    """A convex program has no wrong stationary point; but its answer may have more rank than the factor returned."""
    said, cut = outcome.verdict.reason, outcome.point.value
    own = outcome.history[-1].details.get("uncut", outcome.objective)
    residual = _relative(problem, cut)
    if noiseless(problem, cut, loosely=True):
        return Verdict(Stop.FITTED, f"{said}; the data are fitted to the method's tolerance ({residual:.2g}; {words})")
    floor = Floor.of(problem.observations, problem.rank, rng)
    near_noise = floor.noise is not None and rms(problem, cut) <= VERDICTS_SHRUNK * floor.noise
    if cut > VERDICTS_CUT_OFF**2 * own and not near_noise:
        more = f"its answer has more rank than {problem.rank}: cut down to it, the relative residual is {residual:.2g}"
        return Verdict(Stop.STATIONARY, f"{said}, but {more} ({words}); try a higher rank, or another method")
    best = "a convex program is solved, and its answer is of this rank: what is left is noise"
    return Verdict(Stop.FITTED_TO_NOISE, f"{said}; {best} ({words})")


def verdict_on_best(problem: PSDProblem, outcome: Outcome, evidence: Evidence) -> Verdict:
    """On the best of several starts."""
    return unless_runaway(problem, outcome.point, _on_best(problem, outcome, evidence))


def _on_best(problem: PSDProblem, outcome: Outcome, evidence: Evidence) -> Verdict:
    words = f"{problem.loss.name} loss, tried {_listed(evidence.tried)}"
    said = outcome.verdict.reason
    fits = noiseless(problem, outcome.point.value)
    counted = None if evidence.body and fits else underdetermined(problem, outcome, words)
    if counted is not None:
        return counted
    met = outcome.verdict.converged or outcome.verdict.code is Stop.STALLED
    if met and fits:
        return Verdict(Stop.FITTED, f"{said}; the data are fitted to rounding ({words})")
    if not met:
        return Verdict(outcome.verdict.code, f"{said} ({words})")
    contradicted = contradiction(problem.rank, _residual(problem, outcome))
    floor, held_out = evidence.floor, evidence.held_out
    if contradicted is None and floor is not None and floor.reached(problem, outcome.point.value):
        return Verdict(Stop.FITTED_TO_NOISE, f"{said}; the data are fitted to their noise ({words})")
    absence_fails = contradicts_absence(problem, outcome.point)
    # With no more entries than unknowns a misfit is that of absence, not of noise.
    proved = _spare(problem) > 0 and not (absence_fails or evidence.contradicted)
    proved = proved and _globally_optimal(problem, outcome)
    if contradicted is None and proved:
        return Verdict(
            Stop.FITTED_TO_NOISE,
            f"{said}; the residual matrix is positive semidefinite, which proves this the best fit over all positive "
            f"semidefinite matrices of any rank: what is left is noise ({words})",
        )
    by_pairs = evidence.enough and held_out is not None and held_out.shows_noise
    if contradicted is None and by_pairs and not absence_fails:
        return Verdict(
            Stop.FITTED_TO_NOISE,
            f"{said}; pairs held out are predicted about as well as the others are fitted, and no better by one more "
            f"rank: what is left is noise ({words})",
        )
    tellable = _spare(problem) > 0 and _residual(problem, outcome) <= VERDICTS_NOISE
    tellable = tellable and not absence_fails
    if contradicted is None and evidence.exhausted and tellable:
        return Verdict(
            Stop.FITTED_TO_NOISE,
            f"{said}; {evidence.starts} starts found nothing lower, so no matrix of rank {problem.rank} fits exactly; "
            f"too little was seen to show the noise, and nothing shows more rank: what is left is called noise "
            f"({words})",
        )
    if evidence.enough and evidence.shows_rank:
        return Verdict(
            Stop.BEST_OF_RANK,
            f"{said}; {evidence.rank_shown_by} that the data are not of rank {problem.rank}, as real data seldom are; "
            f"of that rank no further start found a better fit, whose relative residual is "
            f"{_residual(problem, outcome):.2g} ({words})",
        )
    return _stationary(problem, outcome, words, evidence)


def _near_an_exact_fit(problem: PSDProblem, outcome: Outcome) -> bool:
    """Whether a few Gauss–Newton steps lead from here to a fit to rounding."""
    first = outcome.point.factor
    return noiseless(problem, run(problem, GaussNewton(), (first, first), FEW_STEPS, keep=False).point.value)


def contradicts_absence(problem: PSDProblem, point: Point) -> bool:
    """Whether so much of the misfit is that of absent entries: noise moves only the few that are near the threshold."""
    seen = problem.seen_only.evaluate(point.factor).value
    return point.value - seen > VERDICTS_ABSENT * point.value


def _spare(problem: PSDProblem) -> int:
    """Seen pairs beyond the unknowns."""
    unknowns, pairs = unknowns_and_pairs(problem)
    return pairs - unknowns


def _stationary(problem: PSDProblem, outcome: Outcome, words: str, evidence: Evidence) -> Verdict:
    residual = _residual(problem, outcome)
    remark = "; two starts ended at this point" if evidence.agreed else ""
    contradicted = contradiction(problem.rank, residual)
    if contradicted is not None:
        return Verdict(Stop.STATIONARY, f"{outcome.verdict.reason}, but {contradicted} ({words}){remark}")
    return Verdict(
        Stop.STATIONARY,
        f"{outcome.verdict.reason}, but the relative residual {residual:.2g} is above rounding and above the noise "
        f"that fully seen blocks show, if any ({words}){remark}; try another start, a higher rank, or look for "
        "outliers",
    )


def _globally_optimal(problem: PSDProblem, outcome: Outcome) -> bool:
    lowest, _ = lowest_residual_eigenpair(problem, outcome.point.factor)
    return lowest >= -VERDICTS_OPTIMAL * problem.misfit(outcome.point.value)


def _residual(problem: PSDProblem, outcome: Outcome) -> float:
    return _relative(problem, outcome.point.value)


def _relative(problem: PSDProblem, value: float) -> float:
    return problem.misfit(value) / problem.norm


def _listed(tried: tuple[str, ...]) -> str:
    """Each name once, in order, with how often: ``clique, tailored, random ×12``."""
    counts = {name: tried.count(name) for name in dict.fromkeys(tried)}
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
