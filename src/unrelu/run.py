"""The only loop: it measures, asks the stopping rule, tells the callback, and keeps the best point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.factors import relative_error
from unrelu.history import History, Record, Stop, Verdict
from unrelu.problems.psd import Point, PSDProblem
from unrelu.solvers.base import Iterate, Solver
from unrelu.stopping import StoppingRule

__all__ = ["Outcome", "run"]

Array = NDArray[np.floating[Any]]

# An objective this many times that of the start is not coming back.
DIVERGED = 1e3


@dataclass(frozen=True, eq=False)
class Outcome:
    """The point a run returns, how it ended, and what happened."""

    point: Point
    verdict: Verdict
    history: History


def run(
    problem: PSDProblem,
    solver: Solver[Any],
    factor: Array,
    stopping: StoppingRule,
    *,
    truth: Array | None = None,
    callback: Callable[[Record], object] | None = None,
) -> Outcome:
    """Step until a rule stops.

    The point returned is the last one if that run converged, else the one with the lowest objective. Ctrl-C ends the
    run like a rule does, with code ``interrupted``.

    Parameters
    ----------
    problem : PSDProblem
    solver : Solver
    factor : ndarray of shape (n, rank)
        Where to start.
    stopping : StoppingRule
    truth : ndarray of shape (n, n), optional
        For the record only.
    callback : callable, optional
        Called with each record; returning True stops.

    Returns
    -------
    Outcome
    """
    history = History()
    spent = 0.0
    state = best = None
    try:
        while True:
            began = perf_counter()
            state = solver.start(problem, factor) if state is None else solver.step(problem, state)
            spent += perf_counter() - began
            if best is None or state.point.value <= best.point.value:
                best = state
            history.append(_record(len(history), state, spent, truth))
            verdict = _diverged(history) or stopping.check(history, problem) or _stuck(state, history)
            if callback is not None and callback(history[-1]) is True and verdict is None:
                verdict = Verdict(Stop.CALLBACK, f"the callback asked to stop after iteration {history[-1].iteration}")
            if verdict is not None:
                return Outcome(state.point if verdict.converged else best.point, verdict, history)
    except KeyboardInterrupt:
        if best is None:
            raise
        verdict = Verdict(
            Stop.INTERRUPTED,
            f"interrupted after iteration {history[-1].iteration}; this is the best point so far",
        )
        return Outcome(best.point, verdict, history)


def _record(iteration: int, state: Iterate, seconds: float, truth: Array | None) -> Record:
    error = None if truth is None else relative_error(state.point.factor, truth)
    return Record(iteration, state.point.value, state.point.gradient_norm, seconds, error, state.details)


def _diverged(history: History) -> Verdict | None:
    first, last = history[0], history[-1]
    finite = np.isfinite(last.objective) and np.isfinite(last.gradient_norm)
    if finite and not last.objective > DIVERGED * first.objective > 0:
        return None
    return Verdict(
        Stop.DIVERGED,
        f"the objective went from {first.objective:.2g} to {last.objective:.2g} in {last.iteration} iterations; "
        "try a shorter step or another method; the best point before that is returned",
    )


def _stuck(state: Iterate, history: History) -> Verdict | None:
    if state.stuck is None:
        return None
    return Verdict(Stop.STALLED, f"{state.stuck} (gradient norm {history[-1].gradient_norm:.2g})")
