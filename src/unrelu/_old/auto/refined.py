"""A loss that is no square: the squares first, with all that is known of them, then from their fit the loss itself.

Squares have few false minima and many ways around them; a likelihood has its minimum near theirs unless the noise is
large, and where it is, a fresh start with all the data taken for noise leads there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unrelu._old.auto.by_piece import complete_by_piece
from unrelu._old.auto.likelier import likelier, or_squares, worth_it
from unrelu._old.auto.task import CUT_SHORT, Attempts, Journal, Task
from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import OutOfTime
from unrelu._old.data.pieces import pieces
from unrelu._old.judge.floor import noiseless
from unrelu._old.judge.likelihood import MANY_ROWS, Fits
from unrelu._old.judge.verdicts import judged
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.starts.spectral import Tailored

__all__ = ["refined"]


def refined(task: Task) -> Attempts:
    """Fit the squares, then the loss from there and from a fresh start; where the two differ, from a third."""
    problem = task.problem
    plain = problem.simpler
    assert plain is not None
    squares = _in_squares(task, plain)
    # Noise that was given is there, however well the squares fit.
    exact = noiseless(plain, squares.outcome.point.value) and not problem.loss.noise_given
    if squares.outcome.verdict.code in CUT_SHORT or exact or (task.either and not _worth_it(plain, squares)):
        return _as_squares(task, plain, squares, exact)
    name, best, tried, agreed = likelier(task, replace(squares, problem=plain), lambda: _tailored(problem, task.rng))
    if problem.loss.likelihood:
        evidence = Fits(agreed, squares.outcome.verdict.code is Stop.FITTED_TO_NOISE, tried)
        return or_squares(task, replace(squares, problem=plain), name, best, evidence, f"tried {', '.join(tried)}")
    if best.verdict.code not in CUT_SHORT:
        best = judged(problem, best, task.solver, task.rng)
    return replace(squares, outcome=replace(best, history=task.history), start=name, tried=tried, problem=problem)


def _tailored(problem: PSDProblem, rng: np.random.Generator) -> Array:
    observations = problem.observations
    return Tailored()(observations, problem.rank, rng) / problem.dtype.type(np.sqrt(observations.unit))


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


def _worth_it(plain: PSDProblem, squares: Attempts) -> bool:
    """Whether there is so much noise that it decides what is seen, and so much data that a likelihood can be judged.

    Few rows are told from a wrong fit by their squares alone; of pieces that never see each other each has its own
    verdict; past the counting limit nothing tells the noise; where nothing is absent squares are the likelihood.
    """
    if not plain.kernel.total(lambda pairs: 0 if pairs.absent is None else int(np.count_nonzero(pairs.absent))):
        return False
    told = squares.outcome.verdict.code is Stop.FITTED_TO_NOISE or plain.size >= MANY_ROWS
    together = len(pieces(plain.observations)) == 1
    return told and together and worth_it(plain, squares.outcome.point.value)


def _as_squares(task: Task, plain: PSDProblem, squares: Attempts, exact: bool) -> Attempts:
    """The fit of the squares, which is also that of the loss where no noise is left, or as near as noise allows."""
    outcome = squares.outcome
    if task.either:
        return replace(squares, problem=plain)
    if exact and outcome.verdict.converged:
        words = f"no noise is left to estimate, so that {task.problem.loss.name} loss says the same"
        outcome = replace(outcome, verdict=Verdict(outcome.verdict.code, f"{outcome.verdict.reason}; {words}"))
    return replace(squares, outcome=outcome, problem=plain)
