"""A loss that is no square: the squares first, with all that is known of them, then from their fit the loss itself.

Squares have few false minima and many ways around them; a likelihood has its minimum near theirs unless the noise is
large, and where it is, a fresh start with all the data taken for noise leads there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unrelu.auto.by_piece import complete_by_piece
from unrelu.auto.task import CUT_SHORT, Attempts, Journal, Task
from unrelu.base.budget import OutOfTime, phase
from unrelu.base.tolerances import ESCALATE_AGREEMENT, REFINED_CONVERGED, REFINED_NOISE_MATTERS, REFINED_SAME
from unrelu.data.pieces import pieces
from unrelu.judge.floor import noiseless, unknowns_and_pairs
from unrelu.judge.likelihood import MANY_ROWS, Fits, on_likelihood
from unrelu.judge.verdicts import judged
from unrelu.loop.history import Stop, Verdict
from unrelu.loop.run import Outcome
from unrelu.loop.stopping import RelativeGradientNormBelow, StoppingRule
from unrelu.problems.psd import PSDProblem
from unrelu.starts.continuation import staircase
from unrelu.starts.spectral import Tailored

__all__ = ["refined"]


def refined(task: Task) -> Attempts:
    """Fit the squares, then the loss from there and from a fresh start; where the two differ, from a third."""
    problem = task.problem
    plain = problem.simpler
    assert plain is not None
    squares = _in_squares(task, plain)
    exact = noiseless(plain, squares.outcome.point.value)
    if squares.outcome.verdict.code in CUT_SHORT or exact or (task.either and not _worth_it(plain, squares)):
        return _as_squares(task, plain, squares, exact)
    named = f"{squares.start}, {plain.loss.name}"
    begun = _begun(problem, plain.misfit(squares.outcome.point.value), plain)
    found = [(named, replace(task, problem=begun).attempt(named, squares.outcome.point.factor, _rule(task)))]
    if found[-1][1].verdict.code not in CUT_SHORT:
        found += _further(task, found[0][1])
    name, best = min(found, key=lambda pair: pair[1].point.value)
    tried = tuple(name for name, _ in found)
    cut = [outcome.verdict for _, outcome in found if outcome.verdict.code in CUT_SHORT]
    if cut:
        best = replace(best, verdict=cut[0])
    elif problem.loss.likelihood:
        words = f"{_why(task, plain, squares)}{problem.loss.name} loss, tried {', '.join(tried)}"
        agreed = _same(problem, sorted(outcome.point.value for _, outcome in found)[:2])
        evidence = Fits(agreed, squares.outcome.verdict.code is Stop.FITTED_TO_NOISE, tried)
        best = replace(best, verdict=on_likelihood(problem, best, evidence, words))
    else:
        best = judged(problem, best, task.solver, task.rng)
    return replace(squares, outcome=replace(best, history=task.history), start=name, tried=tried, problem=problem)


def _in_squares(task: Task, plain: PSDProblem) -> Attempts:
    """What ``auto`` does with squares; their objectives are not to be compared with those of the loss."""
    inner = replace(task, problem=plain, journal=Journal())
    try:
        found = complete_by_piece(inner)
    except (KeyboardInterrupt, OutOfTime):
        task.journal.take(inner.journal)  # who does not wait gets the best of these
        raise
    task.journal.attempts += inner.journal.attempts
    return found


def _rule(task: Task) -> StoppingRule:
    """As the caller asks, or where noise is far larger than what is left to gain."""
    return task.stopping | RelativeGradientNormBelow(REFINED_CONVERGED[task.problem.dtype.name])


def _begun(problem: PSDProblem, misfit: float, plain: PSDProblem) -> PSDProblem:
    """The problem with the noise that the squares have left, per number that is free."""
    if problem.loss.noise is None:
        return problem
    unknowns, pairs = unknowns_and_pairs(plain)
    share = np.sqrt(pairs / max(pairs - unknowns, 1) / plain.observations.count)
    return problem.with_loss(problem.loss.begun(max(misfit * float(share) * problem.unit, np.finfo(float).tiny)))


def _further(task: Task, first: Outcome) -> list[tuple[str, Outcome]]:
    """A fresh start; and where that ends elsewhere, the stairs from the better one."""
    problem = task.problem
    observations, rank = problem.observations, problem.rank
    root = problem.dtype.type(np.sqrt(observations.unit))
    phase("a fresh start")
    fresh = task.attempt("tailored", Tailored()(observations, rank, task.rng) / root, _rule(task))
    found = [("tailored", fresh)]
    if fresh.verdict.code in CUT_SHORT or _same(problem, [first.point.value, fresh.point.value]):
        return found
    better = min(first, fresh, key=lambda outcome: outcome.point.value)
    phase("up to higher ranks and back")
    posed = problem.at(better.point)
    last = replace(task, problem=posed).attempt("staircase", staircase(posed, better.point.factor), _rule(task))
    return [*found, ("staircase", last)]


def _same(problem: PSDProblem, values: list[float]) -> bool:
    """Whether two values of F are as good as one."""
    if len(values) < 2:
        return False
    least = REFINED_SAME if problem.loss.likelihood else ESCALATE_AGREEMENT * abs(values[0])
    return abs(values[1] - values[0]) <= least


def _share(plain: PSDProblem, squares: Attempts) -> float:
    """The misfit of the squares per free number, relative to the size of the seen entries."""
    unknowns, pairs = unknowns_and_pairs(plain)
    free = np.sqrt(pairs / max(pairs - unknowns, 1))
    return float(plain.misfit(squares.outcome.point.value) / plain.norm * free)


def _worth_it(plain: PSDProblem, squares: Attempts) -> bool:
    """Whether there is so much noise that it decides what is seen, and so much data that a likelihood can be judged.

    Few rows are told from a wrong fit by their squares alone; of pieces that never see each other each has its own
    verdict; past the counting limit nothing tells the noise; where nothing is absent squares are the likelihood.
    """
    if not plain.kernel.total(lambda pairs: 0 if pairs.absent is None else int(np.count_nonzero(pairs.absent))):
        return False
    unknowns, pairs = unknowns_and_pairs(plain)
    told = squares.outcome.verdict.code is Stop.FITTED_TO_NOISE or plain.size >= MANY_ROWS
    together = len(pieces(plain.observations)) == 1
    return told and together and pairs > unknowns and _share(plain, squares) > REFINED_NOISE_MATTERS


def _why(task: Task, plain: PSDProblem, squares: Attempts) -> str:
    """Why the loss was chosen, if it was to be chosen."""
    if not task.either:
        return ""
    return f"chosen because the {plain.loss.name} fit leaves noise of {_share(plain, squares):.2g} of the entries: "


def _as_squares(task: Task, plain: PSDProblem, squares: Attempts, exact: bool) -> Attempts:
    """The fit of the squares, which is also that of the loss where no noise is left, or as near as noise allows."""
    outcome = squares.outcome
    if task.either:
        return replace(squares, problem=plain)
    if exact and outcome.verdict.converged:
        words = f"no noise is left to estimate, so that {task.problem.loss.name} loss says the same"
        outcome = replace(outcome, verdict=Verdict(outcome.verdict.code, f"{outcome.verdict.reason}; {words}"))
    return replace(squares, outcome=outcome, problem=plain)
