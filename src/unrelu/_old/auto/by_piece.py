"""Completing pieces of the pattern that never see each other, one by one, each in its own frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unrelu._old.auto.escalate import escalate
from unrelu._old.auto.task import CUT_SHORT, Attempts, Task
from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import ESCALATE_LOWER, FLOOR_FINISHED
from unrelu._old.data.pieces import pieces
from unrelu._old.judge.floor import noiseless
from unrelu._old.judge.verdicts import contradicts_absence
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.stopping import MaxIterations
from unrelu._old.placing.turning import turned_together
from unrelu._old.problems.psd import Point, PSDProblem

__all__ = ["complete_by_piece"]

# Pieces named in a verdict.
MOST_NAMED = 4
# Orders in which pieces are turned against each other, and steps in which all of them are then fitted together.
ORDERS, STEPS = 4, 60
TOGETHER, WITHOUT_GAPS = "piece by piece", "without gaps"
# A whole is as good as its worst piece; every other code is worse than these.
FROM_BEST = (Stop.FITTED, Stop.FITTED_TO_NOISE, Stop.BEST_OF_RANK)


def complete_by_piece(task: Task) -> Attempts:
    """What ``auto`` does: complete every piece alone. What lies between them is open, unless absence settles it."""
    problem = task.problem
    if problem.loss.heard(problem.observations.limits).gap is not None:
        return _gaps_last(task)
    parts = pieces(problem.observations)
    if len(parts) <= 1:
        return escalate(task)
    factor = np.zeros((problem.size, problem.rank))
    first: Attempts | None = None
    verdicts: list[Verdict] = []
    for rows in parts:
        checkpoint()
        inner = task.within(rows, factor, min(problem.rank, len(rows)))
        if inner.problem.norm == 0:
            continue
        attempts = escalate(inner)
        factor[rows, : inner.problem.rank] = attempts.outcome.point.factor * np.sqrt(inner.problem.unit / problem.unit)
        first = attempts if first is None else first
        if attempts.outcome.verdict.code in CUT_SHORT:
            return _cut_short(problem, factor, first, attempts.outcome.verdict)
        # Of a piece beside the largest it is no news that it is open, as long as it fits.
        if attempts is first or attempts.outcome.verdict.code is not Stop.UNDERDETERMINED:
            verdicts.append(attempts.outcome.verdict)
    assert first is not None
    point, ended = _turned(task, factor, parts)
    task.offer(TOGETHER, point)
    if ended is not None:
        return _cut_short(problem, point.factor, first, ended)
    verdict = _verdict(task, parts, verdicts)
    if problem.bounded and not noiseless(problem, point.value):
        # What absence says between them does not hold: then the pieces are one problem.
        whole = escalate(task, (TOGETHER, point.factor))
        lower = whole.outcome.point.value < (1 - ESCALATE_LOWER) * point.value
        noisy = verdict.code is Stop.FITTED_TO_NOISE
        if noisy and not lower and not contradicts_absence(problem, point):
            # Noise near the threshold is all that is left, and each piece is what it says of itself.
            return replace(whole, outcome=replace(whole.outcome, verdict=verdict), undetermined=np.arange(problem.size))
        words = f"{whole.outcome.verdict.reason}; {_in_words(task, parts)}"
        outcome = replace(whole.outcome, verdict=Verdict(whole.outcome.verdict.code, words))
        return replace(whole, outcome=outcome, undetermined=np.arange(problem.size))
    outcome = replace(first.outcome, point=point, objective=point.value, verdict=verdict, history=task.history)
    largest = np.setdiff1d(parts[0], parts[0][first.undetermined])
    missing = np.setdiff1d(np.arange(problem.size), largest)
    return replace(first, outcome=outcome, undetermined=missing)


def _gaps_last(task: Task) -> Attempts:
    """First without the gaps that limits have: an entry on the wrong side of one would stay there.

    A fit that no gap contradicts is the answer. An exact one that some gap does contradict is where to begin; with
    noise a few steps from there are enough, for what noise allows was said without them.
    """
    problem, observations = task.problem, task.problem.observations
    easier = problem.among(observations.with_limits(observations.limits.apart_from_gaps()))
    easier = easier if easier.bounded else PSDProblem(easier.observations, problem.rank)
    found = complete_by_piece(replace(task, problem=easier))
    point = problem.evaluate(found.outcome.point.factor)
    if found.outcome.verdict.code not in CUT_SHORT and not noiseless(problem, point.value):
        if noiseless(easier, found.outcome.point.value):
            return escalate(task, (WITHOUT_GAPS, point.factor))
        moved = task.attempt(WITHOUT_GAPS, point.factor, task.stopping | MaxIterations(STEPS)).point
        point = moved if moved.value < point.value else point
    outcome = replace(found.outcome, point=point, objective=point.value, history=task.history)
    return replace(found, outcome=outcome)


def _cut_short(problem: PSDProblem, factor: Array, first: Attempts, verdict: Verdict) -> Attempts:
    """The pieces so far, for a caller who did not wait for the others."""
    point = problem.evaluate(factor.astype(problem.dtype))
    outcome = replace(first.outcome, point=point, objective=point.value, verdict=verdict)
    return replace(first, outcome=outcome, undetermined=np.arange(problem.size))


def _turned(task: Task, factor: NDArray[np.float64], parts: list[NDArray[np.intp]]) -> tuple[Point, Verdict | None]:
    """Where absence speaks of the entries between pieces, frames in which it is heard; else the frames as they are.

    Also the verdict of a caller who did not wait for that.
    """
    problem = task.problem
    best = problem.evaluate(factor.astype(problem.dtype))
    if not problem.bounded:
        return best, None
    order = parts
    for _ in range(ORDERS):
        checkpoint()
        # A fit that is nearly exact leaves its misfit on entries that the pieces alone meet: another order may not.
        if problem.misfit(best.value) <= FLOOR_FINISHED[problem.dtype.name] * problem.norm:
            return best, None
        turned = problem.evaluate(turned_together(problem, factor, order, task.rng).astype(problem.dtype))
        # The pieces together: what they are alone may leave them room.
        outcome = task.attempt(TOGETHER, turned.factor, task.stopping | MaxIterations(STEPS))
        best = outcome.point if outcome.point.value < best.value else best
        if outcome.verdict.code in CUT_SHORT:
            return best, outcome.verdict
        order = [parts[k] for k in task.rng.permutation(len(parts))]
    return best, None


def _in_words(task: Task, parts: list[NDArray[np.intp]]) -> str:
    names = [task.named(rows) for rows in parts[:MOST_NAMED]]
    more = [f"{len(parts) - MOST_NAMED} more"] if len(parts) > MOST_NAMED else []
    return f"the pattern falls into {len(parts)} pieces that never see each other ({', '.join(names + more)})"


def _verdict(task: Task, parts: list[NDArray[np.intp]], verdicts: list[Verdict]) -> Verdict:
    """That of the piece with the least to say for itself."""
    words = (
        f"{_in_words(task, parts)}: each was completed in its own frame, and entries between them are not determined "
        "by what was seen"
    )
    worst = max(verdicts, key=lambda verdict: FROM_BEST.index(verdict.code) if verdict.code in FROM_BEST else np.inf)
    alone = len(parts[0]) == 1 and worst.code is Stop.FITTED
    return Verdict(Stop.UNDERDETERMINED if alone else worst.code, f"{worst.reason}; {words}")
