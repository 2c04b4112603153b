"""From a checked task to an answer, by ``auto`` or one named method; who does not wait gets the best so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from unrelu._old.auto.by_piece import complete_by_piece
from unrelu._old.auto.choices import choose
from unrelu._old.auto.refined import refined
from unrelu._old.auto.task import CUT_SHORT, Attempts, Over, Task
from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import OutOfTime, phase, unlimited
from unrelu._old.base.errors import InputError
from unrelu._old.data.canonical import canonical_order
from unrelu._old.data.observations import Observations
from unrelu._old.judge.verdicts import judged
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.run import Watch, run
from unrelu._old.placing.placement import undetermined
from unrelu._old.solvers import Solver
from unrelu._old.starts import STARTS, Given, Start

__all__ = ["cut_short", "escalated", "in_an_order_of_its_own", "run_once"]

# Up to this size rows are put into an order of their own before ``auto`` begins, so that permuting them permutes the
# answer; beyond, a copy of the matrix would cost more than it is worth.
CANONICAL = 300


def escalated(task: Task) -> Attempts:
    """What ``auto`` does with a positive semidefinite matrix."""
    return in_an_order_of_its_own(task, _by_squares_or_not)


def _by_squares_or_not(task: Task) -> Attempts:
    return complete_by_piece(task) if task.problem.simpler is None else refined(task)


def in_an_order_of_its_own(task: Task, solve: Callable[[Task], Attempts]) -> Attempts:
    """What ``solve`` finds; the rows of a small matrix are sorted first, so that their order does not matter."""
    problem = task.problem
    order = canonical_order(problem.observations) if problem.size <= CANONICAL else None
    inner = task if order is None else task.within(order)
    try:
        attempts = solve(inner)
        if order is None:
            return attempts
        assert inner.embed is not None
        found = attempts.outcome.point
        factor, gradient = inner.embed(found.factor), inner.embed(found.gradient)
        answered = None if attempts.problem is None else problem.like(attempts.problem)
        ratio = (inner.problem.unit / problem.unit) ** (answered or problem).value_power
        point = replace(found, factor=factor, value=found.value * ratio, gradient=gradient, kept=None)
        outcome = replace(attempts.outcome, point=point, objective=point.value)
        missing = np.sort(order[attempts.undetermined])
        return replace(attempts, outcome=outcome, undetermined=missing, problem=answered)
    except (KeyboardInterrupt, OutOfTime) as end:
        return cut_short(task, end)


def run_once(task: Task, start: Any) -> Attempts:
    """One run with a named method or start."""
    problem = task.problem
    observations = problem.observations
    try:
        phase("starting")
        factors, name = _starting_factors(start, task.solver, observations, problem.rank, task.rng)
        factors = problem.begun(*factors)
        phase("fitting")
        outcome = run(problem, task.solver, factors, task.stopping, watch=Watch(task.truth, task.callback))
        outcome = replace(outcome, verdict=_zeros(outcome.verdict)) if problem.norm == 0 else outcome
        task.offer(name, outcome.point)
        if not problem.psd:  # what is returned is the point, and not what a method has of its own
            outcome = replace(outcome, objective=outcome.point.value)
        if problem.norm > 0 and outcome.verdict.code not in CUT_SHORT:
            outcome = judged(problem, outcome, task.solver, task.rng)
        missing = np.zeros(0, np.intp)
        if problem.psd:
            missing = undetermined(observations, problem.rank, outcome.point.factor, None)
        return Attempts(outcome, name, (name,), missing)
    except (KeyboardInterrupt, OutOfTime) as end:
        return cut_short(task, end)


def _zeros(verdict: Verdict) -> Verdict:
    """All that was seen is zero, and so is the fit."""
    return Verdict(Stop.FITTED, verdict.reason) if verdict.converged else verdict


def cut_short(task: Task, end: BaseException) -> Attempts:
    """Somebody wants the answer now: the best so far, and no row is called placed."""
    code, words = Stop.INTERRUPTED, "interrupted"
    if isinstance(end, OutOfTime):
        code, words = Stop.MAX_SECONDS, f"the time was over ({task.stopping.time_limit:g} s)"
    if isinstance(end, Over):
        code, words = end.verdict.code, end.verdict.reason
    with unlimited():
        outcome = task.cut_short(code, words)
    return Attempts(outcome, task.journal.start, (task.journal.start,), np.zeros(0, np.intp))


def _starting_factors(
    start: Any, solver: Solver[Any], observations: Observations, rank: int, rng: np.random.Generator
) -> tuple[tuple[Array, Array], str]:
    n, dtype = observations.size, observations.dtype
    if isinstance(start, str) and start == "auto":
        start = solver.default_start
    elif not solver.takes_start:
        raise InputError(f"method {solver.name!r} takes no start; drop start=, or choose another method")
    given = isinstance(start, Given)
    if start is None or (observations.norm == 0 and not given and _zero_fits(observations)):
        factor = np.zeros((n, rank), dtype)
        return (factor, factor), "zero"
    of_table = observations.source.cut is not None
    others = "a pair (L, R) of arrays, a Rectangular" if of_table else "an array of shape (n, rank), a "
    chosen = choose("start", start, STARTS, Start, "", f", {others}Completion")
    left, right = chosen.pair(observations, rank, rng)
    for side in (left, right):
        if np.shape(side) != (n, rank) or not np.isfinite(side).all():
            came = f"shape {np.shape(side)}" if np.shape(side) != (n, rank) else "entries that are not finite"
            must = f"must give finite factors of shape (n, rank) = {(n, rank)}"
            raise InputError(f"start {chosen.name!r} {must}, got {came}")
    root = dtype.type(np.sqrt(observations.unit))
    return (left / root, right / root), chosen.name


def _zero_fits(observations: Observations) -> bool:
    limits, whole = observations.limits, slice(0, observations.size)
    zeros = np.zeros((1, 1) if limits.uniform else observations.source.shape)
    return bool(np.all(limits.of(whole, whole).nearest(zeros) == 0))
