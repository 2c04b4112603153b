"""Refining places on the one loop, alone or as part of a call whose history and callback they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.budget import OutOfTime
from unrelu._old.base.tolerances import REFINE_CONCENTRATED, REFINE_TOL, REFINE_VANISHED
from unrelu._old.loop.history import History, Record, Stop, in_units
from unrelu._old.loop.run import Outcome, Watch, run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow, StoppingRule
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network
from unrelu._old.solvers.levenberg_marquardt import FLAT, LevenbergMarquardt

__all__ = ["Journal", "Refined", "concentrated", "refine"]

DEFAULT_ITERATIONS = 200


class Journal:
    """One history over all refinements of a call, in the caller's units, and the callback that may stop it."""

    def __init__(self, unit: float, callback: Callable[[Record], object] | None = None) -> None:
        self.history = History()
        self.stopped = False
        self.left: Floats | None = None  # where a refinement was when it was cut short
        self._unit, self._watch = unit, Watch(callback=callback)

    def run(self, problem: DistanceProblem, solver: Any, start: Floats, rule: StoppingRule) -> Outcome:
        """A run whose iterations are numbered with all others; the end of the time and Ctrl-C are raised again."""
        began, told = len(self.history), Watch(callback=lambda record: self._watch.asks_to_stop(self._later(record)))
        self.left = start
        outcome = run(replace(problem, unit=self._unit), solver, (start, start), rule, watch=told)
        renumbered = [self._later(record) for record in outcome.history]
        for record in renumbered:
            self.history.append(record)
        assert len(self.history) == began + len(renumbered)
        self.left = outcome.point.factor.astype(np.float64, copy=False)
        code = outcome.verdict.code
        self.stopped |= code is Stop.CALLBACK
        if code in (Stop.INTERRUPTED, Stop.MAX_SECONDS):
            raise KeyboardInterrupt if code is Stop.INTERRUPTED else OutOfTime
        return outcome

    def _later(self, record: Record) -> Record:
        """A record under its number among all."""
        last = self.history[-1] if len(self.history) else Record(-1, 0.0, None, 0.0)
        return replace(
            record,
            iteration=record.iteration + last.iteration + 1,
            seconds=record.seconds + last.seconds,
            cpu_seconds=record.cpu_seconds + last.cpu_seconds,
        )

    def note(self, objective: float, gradient: float, relative: float) -> None:
        """Record places that no iteration led to; objective and gradient in units."""
        values = in_units(objective, self._unit, 2), in_units(gradient, self._unit, 1)
        record = self._later(Record(0, *values, 0.0, relative_gradient_norm=relative))
        self.history.append(record)
        self.stopped |= self._watch.asks_to_stop(record)


@dataclass(frozen=True, eq=False)
class Refined:
    """Where a refinement ended."""

    points: Floats
    value: float
    gradient: float  # relative to the weight of the data
    iterations: int
    converged: bool


def refine(
    problem: DistanceProblem,
    start: Floats,
    *,
    tol: float | StoppingRule = REFINE_TOL,
    max_iter: int = DEFAULT_ITERATIONS,
    journal: Journal | None = None,
    solver: LevenbergMarquardt | None = None,
) -> Refined:
    """Lower the misfit from a start until its gradient vanishes to ``tol`` of the data, or nothing gets lower.

    ``tol`` may be any stopping rule. Once a callback has asked to stop, nothing is done.
    """
    solver = LevenbergMarquardt() if solver is None else solver
    small = tol if not isinstance(tol, StoppingRule) else 0.0
    rule = (tol if isinstance(tol, StoppingRule) else RelativeGradientNormBelow(tol)) | MaxIterations(max_iter)
    if journal is None:
        outcome = run(problem, solver, (start, start), rule, keep=False)
    elif journal.stopped:
        outcome = run(problem, solver, (start, start), MaxIterations(0), keep=False)
    else:
        outcome = journal.run(problem, solver, start, rule)
    point, last = outcome.point, outcome.history[-1]
    size = problem.relative(point.gradient_norm)
    ended = isinstance(tol, StoppingRule) and outcome.verdict.converged
    converged = ended or size <= max(small, REFINE_VANISHED) or last.details["flat"] >= FLAT
    return Refined(point.factor.astype(np.float64, copy=False), point.value, size, last.iteration, converged)


def concentrated(network: Network, start: Floats, misfit: Misfit, *, free: Indices | None = None) -> Floats:
    """Places at which few distances carry all of the misfit, and the others none.

    Least squares spreads the misfit of a fold over its surroundings. Weights 1/(1 + (gap/s)²)², with s falling from a
    large share of the gaps to almost nothing, leave it where it comes from.
    """
    X = start
    gaps = np.abs(network.residual(X))
    scale = float(np.quantile(gaps, 0.9)) if gaps.size else 0.0
    for _ in range(14):
        if scale <= REFINE_CONCENTRATED:
            break
        gaps = network.residual(X)
        weight = network.weight / (1 + (gaps / scale) ** 2) ** 2
        problem = DistanceProblem(replace(network, weight=weight), misfit, free)
        X = refine(problem, X, max_iter=6, solver=LevenbergMarquardt(damping=1e-6)).points
        scale = min(scale / 2, 4 * float(np.median(np.abs(gaps))))
    return X
