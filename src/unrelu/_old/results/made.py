"""A completion from what a strategy found: in the caller's units, judged, and with what its rows say of the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.auto.escalate import SMALL
from unrelu._old.auto.menu import Chosen
from unrelu._old.auto.path import Searched
from unrelu._old.auto.task import Attempts, Task
from unrelu._old.base.budget import OutOfTime, budget
from unrelu._old.base.errors import warn
from unrelu._old.base.tolerances import FLOOR_NOISELESS
from unrelu._old.data.labels import listed_rows
from unrelu._old.data.observations import Observations
from unrelu._old.judge.definite import diagonal_hidden, not_definite
from unrelu._old.judge.likelihood import bent_by_selection
from unrelu._old.judge.remarks import remarks
from unrelu._old.loop.history import History, Record, Stop, Verdict, in_units
from unrelu._old.loop.run import Outcome
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.results.completion import Completion
from unrelu._old.results.sampled import completion_of_draws
from unrelu._old.results.witnesses import Forecasting, witnesses_for

__all__ = ["completion_of", "completion_of_search", "looked_at", "warn_of_rows"]


def completion_of(task: Task, attempts: Attempts) -> Completion:
    """The answer to a task, in the caller's units."""
    problem, outcome, point = attempts.problem or task.problem, attempts.outcome, attempts.outcome.point
    observations, unit = problem.observations, problem.unit
    ours = problem.psd or getattr(problem, "signs", None) is not None
    misfit = problem.misfit_at(point) if ours else problem.misfit(point.value)
    root = observations.dtype.type(np.sqrt(unit))
    residual = misfit / problem.norm if problem.norm else (0.0 if misfit == 0 else float("inf"))
    odd = remarks(observations, point.factor, residual) if ours else []
    ended = _unless_bent(problem, outcome)
    if problem.psd and residual > FLOOR_NOISELESS[observations.dtype.name]:
        negative = not_definite(observations, problem.rank)
        negative = diagonal_hidden(observations) if negative is None and not ended.answered else negative
        odd += [] if negative is None else [negative]
        if negative is not None and ended.code is Stop.FITTED_TO_NOISE:  # what is left is not noise
            ended = Verdict(Stop.STATIONARY, f"{ended.reason}, but what was seen contradicts it")
    said = "; ".join([ended.reason, *odd])
    own = outcome.own if ours else point.factors
    likelihood = (point.loss or problem.loss) if problem.loss.likelihood else None
    return Completion(
        factor=np.asarray(point.factor if ours else point.factors.left) * root,
        verdict=Verdict(ended.code, said),
        history=outcome.history,
        objective=in_units(point.value, unit, problem.value_power),
        residual=residual,
        method=task.solver.name,
        start=attempts.start,
        loss=problem.loss.name,
        seen=(observations.count, observations.norm),
        iteration=outcome.iteration,
        undetermined_rows=attempts.undetermined,
        labels=observations.labels,
        left=None if own is None else np.asarray(own.left) * root,
        right=None if own is None else np.asarray(own.right) * root,
        apart=outcome.apart,
        attempts=tuple(task.journal.attempts),
        symmetric=ours,
        signs=getattr(problem, "signs", None),
        sigma=None if likelihood is None else likelihood.noise,
        sigma_given=likelihood is not None and likelihood.noise_given,
        witnesses=witnesses_for(symmetric=ours, signed=ours and not problem.psd),
    )


def completion_of_search(found: Searched, observations: Observations, seconds: float | None) -> Completion:
    """What a search ended with; ``seconds`` is how long it might take."""
    if found.chosen is not None:
        return _forecasts(found.chosen, observations, seconds)
    assert found.task is not None
    assert found.attempts is not None
    made = completion_of if found.attempts.outcome.gathered is None else completion_of_draws
    completion = replace(made(found.task, found.attempts), alone=found.alone)
    if found.rehearsal is None:
        return completion
    verdict = Verdict(completion.verdict.code, f"{completion.verdict.reason}; {found.rehearsal}")
    return replace(completion, verdict=verdict, rehearsal=found.rehearsal)


def _forecasts(chosen: Chosen, observations: Observations, seconds: float | None) -> Completion:
    """A model that was rehearsed, and its fit."""
    fit, shown = chosen.fitted, chosen.rehearsal
    problem = fit.candidate.problem(observations)
    root = problem.dtype.type(np.sqrt(problem.unit))
    plain = PSDProblem(problem.observations.seen_only, 1)
    misfit = plain.misfit(plain.evaluate(fit.factor / root).value)
    count, norm = observations.count, observations.norm
    return Completion(
        factor=fit.factor,
        verdict=_rehearsed_verdict(chosen, seconds),
        history=History([Record(0, fit.value, None, 0.0)]),
        objective=fit.value,
        residual=misfit / observations.scaled_norm,
        method="gauss-newton",
        start="rehearsal",
        loss=problem.loss.name,
        seen=(count, norm),
        labels=observations.labels,
        sigma=fit.sigma,
        rehearsal=shown,
        witnesses=Forecasting(),
    )


def _rehearsed_verdict(chosen: Chosen, seconds: float | None) -> Verdict:
    shown = chosen.rehearsal
    if isinstance(chosen.cut, OutOfTime):
        return Verdict(Stop.MAX_SECONDS, f"the time was over ({seconds:g} s); the best so far of {shown}")
    if chosen.cut is not None:
        return Verdict(Stop.INTERRUPTED, f"interrupted; the best so far of {shown}")
    if shown.extrapolates:
        damped = (
            ""
            if shown.damping == 1
            else (f"; fits go too far beyond the limit, so that forecasts go {shown.damping:.0%} of the way")
        )
        return Verdict(
            Stop.PREDICTS,
            f"to its rehearsed error of {shown.sigma:.3g}; no rank leaves only noise of the data; {shown}{damped}",
        )
    return Verdict(
        Stop.DOES_NOT_EXTRAPOLATE,
        f"{shown.doubt}: simple filling does as well, and is what is filled in; {shown}",
    )


def _unless_bent(problem: Any, outcome: Outcome) -> Verdict:
    """The verdict on an outcome; a fit of squares that the choice of what is seen has bent is no answer."""
    verdict = outcome.verdict
    own_way = outcome.own is not None  # a method with factors of its own does not minimise squares over UUᵀ
    if own_way or not (problem.psd and problem.simpler is None and verdict.answered):
        return verdict
    bent = bent_by_selection(problem, outcome.point)
    return verdict if bent is None else Verdict(Stop.STATIONARY, f"{verdict.reason}; but {bent}")


def looked_at(completion: Completion, seconds: float | None, told: Callable[[str], object] | None) -> Completion:
    """What the rows say of the verdict: asked in the time that is left, and where it may change something."""
    began = perf_counter()
    try:
        with budget(None if seconds is None else max(seconds - completion.seconds, 0.0), told):
            if completion.verdict.code is Stop.UNDERDETERMINED and completion.at_floor and completion.size <= SMALL:
                completion = _settled_by_absence(completion)
            if completion.undetermined_rows.size and completion.verdict.answered:
                completion = _exactly(completion)
    except OutOfTime:
        pass  # the fit is there; which rows it fixes is found when asked for
    except KeyboardInterrupt:
        words = "interrupted while it was asked which rows the data determine"
        completion = replace(completion, verdict=Verdict(Stop.INTERRUPTED, f"{completion.verdict.reason}; {words}"))
    return replace(completion, seconds=completion.seconds + perf_counter() - began)


def _settled_by_absence(completion: Completion) -> Completion:
    """Counting what was seen is not all: what absence says may leave one matrix, and then that is proved."""
    if not (completion.determinacy == "proved").all() or not (completion.components == 0).all():
        return completion
    words = "what was not seen leaves one matrix, which is proved"
    verdict = Verdict(Stop.FITTED, f"{completion.verdict.reason}; but {words}")
    return completion.with_verdict(verdict, np.zeros(0, np.intp))


def _exactly(completion: Completion) -> Completion:
    """Some rows could not be placed: say which of them the data leave open, for others may be fixed by each other."""
    rows = np.flatnonzero(~completion.determined)
    by = "the data" if completion.verdict.converged else "the data and the rank"
    open_ = f"{rows.size} of {completion.size} rows are not"
    words = f"{open_ if rows.size else 'all rows are'} determined by {by}"
    verdict = Verdict(completion.verdict.code, f"{completion.verdict.reason}; {words}")
    return completion.with_verdict(verdict, rows)


def warn_of_rows(observations: Observations, missing: NDArray[np.intp]) -> None:
    """Tell the caller of rows of which nothing, or too little, was seen."""
    empty = observations.empty_rows
    if empty.size:
        fact = f"nothing was seen of {listed_rows(empty, observations.labels)}"
        how = "completed with the least norm, which the data do not determine"
        warn(f"{fact}; {how}")
    others = np.setdiff1d(missing, empty)
    if others.size:
        fact = f"too little was seen to place {listed_rows(others, observations.labels)}"
        advice = "completed as well as may be; see undetermined_rows"
        warn(fact, advice)
