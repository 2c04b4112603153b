"""One start after the other for a pattern that hangs together, the cheapest first, until the fit is at its floor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.continuation import RankIncreasing, Shrinking, staircase
from unrelu.floor import Floor, noiseless, unknowns_and_pairs
from unrelu.history import Record, Stop, Verdict
from unrelu.initialise import Start, Tailored
from unrelu.placement import Placement, furthest_placement, steadied, undetermined
from unrelu.problems.psd import PSDProblem
from unrelu.run import Outcome, run
from unrelu.solvers import Solver
from unrelu.stopping import MaxIterations, ObjectiveBelow, StoppingRule
from unrelu.verdicts import verdict_on_best
from unrelu.widen import widened

__all__ = ["Attempts", "escalate"]

Array = NDArray[np.floating[Any]]

# Fresh draws of the tailored start after everything else.
DRAWS = 2
# Two starts that end within this share of the same objective have found the same floor.
AGREEMENT = 1e-3
# Passes over the matrix (evaluations and curvature products) after which no further start is tried.
BUDGET = 20_000
# Past the counting limit a perfect fit is one of many: one start, so many iterations, this relative residual will do.
PAST_THE_LIMIT, PERFECT = 100, {"float64": 1e-9, "float32": 1e-4}


@dataclass(frozen=True, eq=False)
class Attempts:
    """The attempt that is returned, and what was tried on the way to it."""

    outcome: Outcome
    start: str
    tried: tuple[str, ...]
    undetermined: NDArray[np.intp]  # rows without a place among the others


def escalate(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    *,
    truth: Array | None,
    callback: Callable[[Record], object] | None,
) -> Attempts:
    """Solve from a placement if it reaches enough, else try one start after the other, and return the best."""
    observations, rank = problem.observations, problem.rank
    placement = furthest_placement(observations, rank, rng)
    whole = placement is not None and bool(placement.placed.all())
    if placement is not None:
        placement = steadied(observations, rank, placement, rng, unless_near=whole)
    past_the_limit = False
    if not whole:
        part = None if placement is None else _placed_alone(problem, solver, stopping, rng, placement, truth, callback)
        if part is not None:
            return part
        unknowns, pairs = unknowns_and_pairs(problem)
        past_the_limit = unknowns > pairs
    if past_the_limit:
        perfect = (PERFECT[problem.dtype.name] * problem.observations.norm) ** 2 / 4
        stopping = stopping | ObjectiveBelow(perfect) | MaxIterations(PAST_THE_LIMIT)
    return _best(problem, solver, stopping, rng, placement, truth, callback, first_only=past_the_limit)


def _best(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    placement: Placement | None,
    truth: Array | None,
    callback: Callable[[Record], object] | None,
    *,
    first_only: bool,
) -> Attempts:
    """The start with the lowest objective; no more are tried once one is at its floor, or two agree."""
    floor: Floor | None = None
    best: tuple[Outcome, str] | None = None
    tried: list[str] = []
    values: list[float] = []
    passes = 0.0
    for name, make in _starts(problem, placement, rng):
        factor = make(None if best is None else best[0].point.factor)
        outcome = run(problem, solver, (factor, factor), stopping, truth=truth, callback=callback)
        tried.append(name)
        if best is None or outcome.point.value < best[0].point.value:
            best = outcome, name
        missing = undetermined(problem.observations, problem.rank, best[0].point.factor, placement)
        if outcome.verdict.code in (Stop.INTERRUPTED, Stop.CALLBACK):
            return Attempts(outcome, name, tuple(tried), missing)
        passes += float(np.nansum(outcome.history.column("inner"))) + 2 * len(outcome.history)
        if first_only or noiseless(problem, outcome.point.value):
            break
        floor = Floor.of(problem.observations, problem.rank, rng) if floor is None else floor
        if floor.reached(problem, outcome.point.value):
            break
        if outcome.verdict.converged:
            values.append(outcome.point.value)
        if _agree(values) or passes > BUDGET:
            break
    assert best is not None
    outcome, name = best
    verdict = verdict_on_best(problem, outcome, tried, floor, agreed=_agree(values))
    return Attempts(replace(outcome, verdict=verdict), name, tuple(tried), missing)


def _placed_alone(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    placement: Placement,
    truth: Array | None,
    callback: Callable[[Record], object] | None,
) -> Attempts | None:
    """Solve for the rows that have a place alone: the others, which may be anywhere, would only pull at them.

    None if that fit is not at its floor.
    """
    rows = np.flatnonzero(placement.placed)
    inner = PSDProblem(problem.observations.restricted(rows), problem.rank, problem.loss)
    ratio = np.sqrt(problem.unit / inner.unit)
    start = (placement.factor[rows] * ratio).astype(problem.dtype)
    known = None if truth is None else truth[np.ix_(rows, rows)]
    outcome = run(inner, solver, (start, start), stopping, truth=known, callback=callback)
    fits = noiseless(inner, outcome.point.value)
    if not (fits or Floor.of(inner.observations, inner.rank, rng).reached(inner, outcome.point.value)):
        return None
    placement.factor[rows] = outcome.point.factor / ratio
    whole = placement.completed(problem.observations)
    verdict = outcome.verdict
    if verdict.converged:
        words = "fitted to rounding" if fits else "fitted to their noise"
        verdict = Verdict(
            Stop.CONVERGED,
            f"{verdict.reason}; the {len(rows)} rows that could be placed are {words}, the other "
            f"{problem.size - len(rows)} could not be placed ({problem.loss.name} loss, tried clique)",
        )
    point = problem.evaluate(whole.astype(problem.dtype))
    missing = undetermined(problem.observations, problem.rank, whole, placement)
    part = replace(outcome, point=point, verdict=verdict)
    if fits and verdict.converged:
        part = widened(problem, solver, stopping, rng, placement, part)
    return Attempts(part, "clique", ("clique",), missing)


def _starts(
    problem: PSDProblem, placement: Placement | None, rng: np.random.Generator
) -> Iterator[tuple[str, Callable[[Array | None], Array]]]:
    """Names, and what makes a factor (in units) from the best one so far."""
    observations, rank, dtype = problem.observations, problem.rank, problem.dtype
    root = np.sqrt(observations.unit)

    def fresh(start: Start) -> Callable[[Array | None], Array]:
        return lambda _: start(observations, rank, rng) / dtype.type(root)

    if placement is not None:
        yield "clique", lambda _: placement.completed(observations).astype(dtype)
    yield "tailored", fresh(Tailored())
    yield "staircase", lambda best: fresh(Tailored())(None) if best is None else staircase(problem, best)
    yield "rank-increasing", fresh(RankIncreasing())
    yield "shrinking", fresh(Shrinking())
    for _ in range(DRAWS):
        yield "another draw", fresh(Tailored())


def _agree(values: list[float]) -> bool:
    """Whether the lowest objective was found twice."""
    if len(values) < 2:
        return False
    first, second = sorted(values)[:2]
    return second - first <= AGREEMENT * first
