"""The only loop: it measures, asks the stopping rule, tells the callback, and keeps the best point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import OutOfTime, checkpoint, unlimited
from unrelu._old.base.tolerances import RUN_DIVERGED, RUN_ROUNDING
from unrelu._old.loop.history import History, Record, Stop, Verdict, in_units
from unrelu._old.loop.states import Iterate
from unrelu._old.loop.stopping import StoppingRule
from unrelu._old.model.factors import Factors
from unrelu._old.problems.protocol import Kept, Point, Problem

__all__ = ["Method", "Outcome", "Watch", "renewed", "run"]


class Method(Protocol):
    """What the loop asks of a solver; :class:`unrelu._old.solvers.Solver` is what every solver here is."""

    @property
    def units(self) -> Mapping[str, float]:
        """Which power of the data's unit a detail carries."""

    def start(self, problem: Any, left: Array, right: Array) -> Any:
        """The first state."""

    def step(self, problem: Any, state: Any) -> Any:
        """The next state."""

    def diagnostics(self, problem: Any, state: Any) -> Mapping[str, float]:
        """What is worth recording but not part of the method."""


@dataclass(frozen=True, eq=False)
class Watch:
    """Who looks on while a run goes on: a truth to measure errors against, and a callback that may stop it.

    The truth, of shape (n, n), is for the record only. The callback is called with each record; returning True stops.
    """

    truth: Array | None = None
    callback: Callable[[Record], object] | None = None

    def asks_to_stop(self, record: Record) -> bool:
        """Tell the callback, if there is one."""
        answer = None if self.callback is None else self.callback(record)
        return isinstance(answer, (bool, np.bool_)) and bool(answer)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The point a run returns, how it ended, and what happened.

    ``iteration`` is that of the point. ``own`` are the factors of a method that works on its own; ``apart`` is then how
    far their product is from the point's matrix, relatively. ``gathered`` are the draws of a method that samples, those
    of a run that was cut short too. Point and factors are in units of ``problem.unit``, the history in the caller's.
    """

    point: Point
    verdict: Verdict
    history: History
    iteration: int
    objective: float  # of the method's own estimate, in units
    own: Factors | None = None
    apart: float = 0.0
    gathered: Any = None  # what a method that samples has drawn


def run(
    problem: Problem,
    solver: Method,
    start: tuple[Array, Array],
    stopping: StoppingRule,
    *,
    watch: Watch | None = None,
    keep: bool = True,
) -> Outcome:
    """Step until a rule stops.

    The point returned is the last one if that run converged, else the one with the lowest objective. Ctrl-C, and the
    end of the time that a budget gives, end the run like a rule does, with codes ``interrupted`` and ``max-seconds``.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    start : pair of ndarray of shape (n, rank)
        Where to start.
    stopping : StoppingRule
    watch : Watch, optional
        Who looks on.
    keep : bool, default True
        Whether Ctrl-C and the end of the time return the best point; else they are raised, for a step on the way.

    Returns
    -------
    Outcome
    """
    history, clock = History(), _Clock()
    watch = Watch() if watch is None else watch
    state, first, best = None, 0.0, _Best()
    try:
        while True:
            checkpoint()
            with clock, np.errstate(all="ignore"):  # what overflows shows as divergence, in words
                state = solver.start(problem, *start) if state is None else solver.step(problem, state)
                problem, state = renewed(problem, state)
            history.append(_record(len(history), problem, solver, state, clock, watch.truth))
            first = state.objective if len(history) == 1 else first
            best.offer(state, history[-1])
            verdict = (
                _diverged(state, first, problem, history)
                or stopping.check(history, problem)
                or _stuck(state, history, problem)
            )
            if watch.asks_to_stop(history[-1]) and verdict is None:
                verdict = Verdict(Stop.CALLBACK, f"the callback asked to stop after iteration {history[-1].iteration}")
            if verdict is not None:
                if verdict.converged:
                    best.take(state, history[-1])
                return replace(best.outcome(problem, verdict, history), gathered=getattr(state, "gathered", None))
    except (KeyboardInterrupt, OutOfTime) as end:
        if best.empty or not keep:
            raise
        where = f"iteration {history[-1].iteration}; this is the best point so far"
        code, words = (
            (Stop.MAX_SECONDS, f"the time was over after {where}")
            if isinstance(end, OutOfTime)
            else (Stop.INTERRUPTED, f"interrupted after {where}")
        )
        with unlimited():
            ended = best.outcome(problem, Verdict(code, words), history)
        return replace(ended, gathered=getattr(state, "gathered", None))


class _Clock:
    """Wall-clock and processor time spent inside it."""

    seconds = cpu = 0.0

    def __enter__(self) -> None:
        self._began = perf_counter(), process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += perf_counter() - self._began[0]
        self.cpu += process_time() - self._began[1]


class _Best:
    """The finite iterate with the lowest objective; its factors, not the working arrays of the method."""

    def __init__(self) -> None:
        self.empty = True
        self._objective = np.inf
        self._record: Record
        self._point: Point | None = None
        self._factors: Factors

    def offer(self, state: Iterate, record: Record) -> None:
        if self.empty or state.objective <= self._objective:
            self.take(state, record)

    def take(self, state: Iterate, record: Record) -> None:
        self._objective = state.objective if np.isfinite(state.objective) else np.inf
        self._record = record
        # What a kernel kept of it may be large, and is found again if anybody asks.
        self._point = None if state.point is None else replace(state.point, kept=Kept.FORGOTTEN)
        self._factors = state.factors
        self.empty = False

    def outcome(self, problem: Problem, verdict: Verdict, history: History) -> Outcome:
        if self._point is not None:
            found = self._point  # wherever it was made, what comes out is in memory
            found = replace(found, factor=np.asarray(found.factor), gradient=np.asarray(found.gradient))
            return Outcome(found, verdict, history, self._record.iteration, self._objective)
        point, apart = problem.finished(self._factors)
        return Outcome(point, verdict, history, self._record.iteration, self._objective, self._factors, apart)


def renewed(problem: Any, state: Any) -> tuple[Any, Any]:
    """Problem and state with what is estimated along the way brought up to date."""
    point = state.point
    if point is None or point.sums is None:
        return problem, state
    problem, found = problem.renewed(point)
    return problem, state if found is point else replace(state, point=found)


def _record(
    iteration: int, problem: Problem, solver: Method, state: Iterate, clock: _Clock, truth: Array | None
) -> Record:
    """What happened, in the caller's units."""
    unit = problem.unit
    details = {**state.details, **solver.diagnostics(problem, state)}
    norm = state.gradient_norm
    return Record(
        iteration=iteration,
        objective=in_units(state.objective, unit, problem.value_power),
        gradient_norm=None if norm is None else in_units(norm, unit, problem.gradient_power),
        seconds=clock.seconds,
        cpu_seconds=clock.cpu,
        relative_gradient_norm=None if norm is None else problem.relative(norm),
        error=None if truth is None else state.factors.error(truth, unit),
        details={name: in_units(value, unit, solver.units.get(name, 0.0)) for name, value in details.items()},
    )


def _diverged(state: Iterate, first: float, problem: Problem, history: History) -> Verdict | None:
    norm = state.gradient_norm
    finite = np.isfinite(state.objective) and (norm is None or np.isfinite(norm))
    # The zero matrix has the objective ‖M_Ω‖²/4, for comparison with starts that are nearly perfect.
    # Where only zeros were seen, one in their unit.
    if finite and not state.objective > RUN_DIVERGED * max(first, (problem.norm or 1.0) ** 2 / 4):
        return None
    return Verdict(
        Stop.DIVERGED,
        f"the objective went from {history[0].objective:.2g} to {history[-1].objective:.2g} in "
        f"{history[-1].iteration} iterations; try a shorter step or another method; "
        "the best point before that is returned",
    )


def _stuck(state: Iterate, history: History, problem: Problem) -> Verdict | None:
    if state.stuck is None:
        return None
    last = history[-1]
    small = last.relative_gradient_norm is not None and last.relative_gradient_norm <= RUN_ROUNDING[problem.dtype.name]
    if small and state.at_rounding:
        return Verdict(
            Stop.CONVERGED,
            f"relative gradient norm {last.relative_gradient_norm:.2g} is at rounding level after {last.iteration} "
            f"iteration{'' if last.iteration == 1 else 's'}",
        )
    norm = last.gradient_norm
    return Verdict(Stop.STALLED, state.stuck if norm is None else f"{state.stuck} (gradient norm {norm:.2g})")
