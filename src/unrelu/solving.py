"""From a checked task to an answer: ``auto`` or one named method, and the best so far for whoever does not wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.budget import OutOfTime, phase, unlimited
from unrelu.by_piece import complete_by_piece
from unrelu.canonical import canonical_order
from unrelu.choices import choose
from unrelu.completion import Completion
from unrelu.errors import InputError
from unrelu.escalate import Attempts
from unrelu.history import Stop, Verdict
from unrelu.initialise import STARTS, Start
from unrelu.observations import Observations
from unrelu.placement import undetermined
from unrelu.problems.psd import Point
from unrelu.run import run
from unrelu.solvers import Solver
from unrelu.task import Task
from unrelu.verdicts import judged

__all__ = ["escalated", "run_once"]

Array = NDArray[np.floating[Any]]

# Up to this size rows are put into an order of their own before ``auto`` begins, so that permuting them permutes the
# answer; beyond, a copy of the matrix would cost more than it is worth.
CANONICAL = 300


def escalated(task: Task) -> Attempts:
    """``auto``; the rows of a small matrix in an order that does not depend on how they came."""
    problem = task.problem
    order = canonical_order(problem.observations) if problem.size <= CANONICAL else None
    inner = task if order is None else task.within(order)
    try:
        attempts = complete_by_piece(inner)
        if order is None:
            return attempts
        assert inner.embed is not None
        found = attempts.outcome.point
        factor, gradient = inner.embed(found.factor), inner.embed(found.gradient)
        point = Point(factor, found.value * (inner.problem.unit / problem.unit) ** 2, gradient)
        outcome = replace(attempts.outcome, point=point, objective=point.value)
        return replace(attempts, outcome=outcome, undetermined=np.sort(order[attempts.undetermined]))
    except (KeyboardInterrupt, OutOfTime) as end:
        return _cut_short(task, end)


def run_once(task: Task, start: Any) -> Attempts:
    """One run with a named method or start."""
    problem = task.problem
    observations = problem.observations
    try:
        phase("starting")
        factors, name = _starting_factors(start, task.solver, observations, problem.rank, task.rng)
        phase("fitting")
        outcome = run(problem, task.solver, factors, task.stopping, truth=task.truth, callback=task.callback)
        outcome = replace(outcome, verdict=_zeros(outcome.verdict)) if problem.norm == 0 else outcome
        task.offer(name, outcome.point)
        outcome = outcome if problem.norm == 0 else judged(problem, outcome, task.solver, task.rng)
        missing = undetermined(observations, problem.rank, outcome.point.factor, None)
        return Attempts(outcome, name, (name,), missing)
    except (KeyboardInterrupt, OutOfTime) as end:
        return _cut_short(task, end)


def _zeros(verdict: Verdict) -> Verdict:
    """All that was seen is zero, and so is the fit."""
    return Verdict(Stop.FITTED, verdict.reason) if verdict.converged else verdict


def _cut_short(task: Task, end: BaseException) -> Attempts:
    """Somebody wants the answer now: the best so far, and no row is called placed."""
    code, words = (
        (Stop.MAX_SECONDS, f"the time was over ({task.stopping.time_limit:g} s)")
        if isinstance(end, OutOfTime)
        else (Stop.INTERRUPTED, "interrupted")
    )
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
    root = dtype.type(np.sqrt(observations.unit))
    if isinstance(start, Completion):
        if start.left is not None and start.right is not None and start.left.shape == (n, rank):
            return (start.left.astype(dtype) / root, start.right.astype(dtype) / root), "an earlier completion"
        factor = _given(start.factor, "the completion given as start", n, rank, dtype) / root
        return (factor, factor), "an earlier completion"
    if isinstance(start, (np.ndarray, list)) or hasattr(start, "to_numpy"):
        factor = _given(start, "start", n, rank, dtype) / root
        return (factor, factor), "a given factor"
    if start is None or (observations.norm == 0 and _zero_fits(observations)):
        factor = np.zeros((n, rank), dtype)
        return (factor, factor), "zero"
    left, right = choose("start", start, STARTS, Start, "").pair(observations, rank, rng)
    name = start if isinstance(start, str) else start.name
    return (left / root, right / root), name


def _zero_fits(observations: Observations) -> bool:
    tau = observations.threshold
    return tau is None or (tau >= 0 if observations.absence_says == "below" else tau <= 0)


def _given(start: Any, what: str, n: int, rank: int, dtype: np.dtype[Any]) -> Array:
    try:
        factor = np.asarray(start)
    except ValueError:
        raise InputError(f"{what} must have shape (n, rank) = ({n}, {rank}), got rows of different lengths") from None
    if factor.shape != (n, rank):
        raise InputError(f"{what} must have shape (n, rank) = ({n}, {rank}), got {factor.shape}")
    if np.ma.is_masked(start) or factor.dtype.kind not in "fiu" or not np.isfinite(factor).all():
        raise InputError(f"{what} must be finite and real, got NaN, infinite or non-numeric entries")
    empty = np.flatnonzero(~factor.any(axis=0))
    if empty.size:
        raise InputError(
            f"{what} must have no zero column, which no gradient method ever leaves, got zeros in column {empty[0]}; "
            "add a little noise there, or lower the rank"
        )
    return factor.astype(dtype)
