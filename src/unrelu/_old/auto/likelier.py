"""From a fit of squares to one by likelihood, or by any other loss: from there, from a fresh start, from a third."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from unrelu._old.auto.task import CUT_SHORT, Attempts, Task
from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import ESCALATE_AGREEMENT, REFINED_CONVERGED, REFINED_NOISE_MATTERS, REFINED_SAME
from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.judge.likelihood import Fits, on_likelihood
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.run import Outcome
from unrelu._old.loop.stopping import RelativeGradientNormBelow, StoppingRule
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.starts.continuation import staircase

__all__ = ["begun_at", "has_gaps", "likelier", "noise_share", "or_squares", "rule_of_noise", "worth_it"]


def likelier(task: Task, squares: Attempts, fresh: Callable[[], Array]) -> tuple[str, Outcome, tuple[str, ...], bool]:
    """The best fit under the loss of the task, beginning with that of the squares.

    Also the name of its start, all that were tried, and whether two of them ended at the same value. Where somebody
    wants the answer now, the verdict says so.
    """
    problem, plain = task.problem, squares.problem
    assert plain is not None
    named = f"{squares.start}, {plain.loss.name}"
    begun = begun_at(problem, plain.misfit(squares.outcome.point.value), plain)
    found = [(named, replace(task, problem=begun).attempt(named, squares.outcome.point.factor, rule_of_noise(task)))]
    # A fresh start would have its entries on either side of a gap, and leave them there.
    if found[-1][1].verdict.code not in CUT_SHORT and not has_gaps(problem):
        found += _further(task, found[0][1], fresh)
    name, best = min(found, key=lambda pair: pair[1].point.value)
    cut = [outcome.verdict for _, outcome in found if outcome.verdict.code in CUT_SHORT]
    best = replace(best, verdict=cut[0]) if cut else best
    agreed = _same(problem, sorted(outcome.point.value for _, outcome in found)[:2])
    return name, best, tuple(name for name, _ in found), agreed


def has_gaps(problem: PSDProblem) -> bool:
    """Whether some unseen entry may lie on either side of a gap."""
    return problem.loss.heard(problem.observations.limits).gap is not None


def noise_share(plain: PSDProblem, value: float) -> float:
    """The misfit of squares per free number, relative to the size of the seen entries."""
    unknowns, pairs = unknowns_and_pairs(plain)
    free = np.sqrt(pairs / max(pairs - unknowns, 1))
    return float(plain.misfit(value) / plain.norm * free)


def or_squares(task: Task, squares: Attempts, start: str, found: Outcome, evidence: Fits, about: str) -> Attempts:
    """The fit by likelihood, judged; or that of the squares, if one may choose and only they have an answer."""
    problem, plain, said = task.problem, squares.problem, squares.outcome.verdict
    assert plain is not None
    if found.verdict.code not in CUT_SHORT:
        words = f"{_chosen_because(task, plain, squares)}{problem.loss.name} loss, {about}"
        found = replace(found, verdict=on_likelihood(problem, found, evidence, words))
        # A fit that is there and contradicts the data is no reason to believe another.
        failed = not found.verdict.answered and found.verdict.code is not Stop.STATIONARY
        if task.either and said.answered and failed:
            # Squares do not know that noise decides what is seen: how far that bends them nobody can say.
            code = Stop.STATIONARY if said.code is Stop.FITTED_TO_NOISE else said.code
            stands = (
                f"{said.reason}; but noise decides what is seen, and the fit by likelihood, which knows that, ended "
                f"{found.verdict.code.value}: this is the fit of the squares, which selection bends"
            )
            return replace(squares, outcome=replace(squares.outcome, verdict=Verdict(code, stands)))
    outcome = replace(found, history=task.history)
    return replace(squares, outcome=outcome, start=start, tried=evidence.tried, problem=problem)


def worth_it(plain: PSDProblem, value: float) -> bool:
    """Whether there is so much noise that it decides what is seen, and so much data that it can be told."""
    unknowns, pairs = unknowns_and_pairs(plain)
    return pairs > unknowns and noise_share(plain, value) > REFINED_NOISE_MATTERS


def _chosen_because(task: Task, plain: PSDProblem, squares: Attempts) -> str:
    """Why the loss was chosen, if it was to be chosen."""
    if not task.either:
        return ""
    share = noise_share(plain, squares.outcome.point.value)
    return f"chosen because the {plain.loss.name} fit leaves noise of {share:.2g} of the entries: "


def rule_of_noise(task: Task) -> StoppingRule:
    """As the caller asks, or where noise is far larger than what is left to gain."""
    return task.stopping | RelativeGradientNormBelow(REFINED_CONVERGED[task.problem.dtype.name])


def begun_at(problem: PSDProblem, misfit: float, plain: PSDProblem) -> PSDProblem:
    """The problem with the noise that the squares have left, per number that is free."""
    if problem.loss.noise is None:
        return problem
    unknowns, pairs = unknowns_and_pairs(plain)
    share = np.sqrt(pairs / max(pairs - unknowns, 1) / plain.observations.count)
    return problem.with_loss(problem.loss.begun(max(misfit * float(share) * problem.unit, np.finfo(float).tiny)))


def _further(task: Task, first: Outcome, fresh: Callable[[], Array]) -> list[tuple[str, Outcome]]:
    """A fresh start; and where that ends elsewhere, the stairs from the better one."""
    problem = task.problem
    phase("a fresh start")
    second = task.attempt("tailored", fresh(), rule_of_noise(task))
    found = [("tailored", second)]
    if second.verdict.code in CUT_SHORT or _same(problem, [first.point.value, second.point.value]):
        return found
    better = min(first, second, key=lambda outcome: outcome.point.value)
    phase("up to higher ranks and back")
    posed = problem.at(better.point)
    last = replace(task, problem=posed).attempt("staircase", staircase(posed, better.point.factor), rule_of_noise(task))
    return [*found, ("staircase", last)]


def _same(problem: PSDProblem, values: list[float]) -> bool:
    """Whether two values of F are as good as one."""
    if len(values) < 2:
        return False
    least = REFINED_SAME if problem.loss.likelihood else ESCALATE_AGREEMENT * abs(values[0])
    return abs(values[1] - values[0]) <= least
