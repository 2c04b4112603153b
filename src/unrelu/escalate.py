"""What ``auto`` does: the cheapest start first, and the next one only while the fit is not at its floor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.continuation import RankIncreasing, Shrinking, lowest_residual_eigenpair, staircase
from unrelu.floor import Floor, noiseless, unknowns_and_pairs
from unrelu.history import Record, Stop, Verdict
from unrelu.initialise import Start, Tailored
from unrelu.placement import Placement, best_placement
from unrelu.problems.psd import PSDProblem
from unrelu.run import Outcome, run
from unrelu.solvers import Solver
from unrelu.stopping import StoppingRule

__all__ = ["Attempts", "escalate", "judged"]

Array = NDArray[np.floating[Any]]

# Fresh draws of the tailored start after everything else.
DRAWS = 2
# Two starts that end within this share of the same objective have found the same floor.
AGREEMENT = 1e-3
# A residual matrix whose lowest eigenvalue is above this share of its norm, below zero, counts as semidefinite.
OPTIMAL = 1e-6
# Most curvature products over all attempts.
BUDGET = 20_000


@dataclass(frozen=True, eq=False)
class Attempts:
    """The attempt that is returned, and what was tried on the way to it."""

    outcome: Outcome
    start: str
    tried: tuple[str, ...]
    placement: Placement | None


def escalate(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    *,
    truth: Array | None,
    callback: Callable[[Record], object] | None,
) -> Attempts:
    """Try one start after the other until the fit is at its floor, and return the best."""
    placement = best_placement(problem.observations, problem.rank, rng)
    if placement is not None and not placement.placed.all():
        part = _part(problem, solver, stopping, rng, placement, truth, callback)
        if part is not None:
            return part
    floor: Floor | None = None
    best: tuple[Outcome, str] | None = None
    tried: list[str] = []
    values: list[float] = []
    products = 0.0
    for name, make in _starts(problem, placement, rng):
        factor = make(None if best is None else best[0].point.factor)
        outcome = run(problem, solver, (factor, factor), stopping, truth=truth, callback=callback)
        tried.append(name)
        if best is None or outcome.point.value < best[0].point.value:
            best = outcome, name
        if outcome.verdict.code in (Stop.INTERRUPTED, Stop.CALLBACK):
            return Attempts(outcome, name, tuple(tried), placement)
        products += float(np.nansum(outcome.history.column("inner")))
        if noiseless(problem, outcome.point.value):
            break
        floor = Floor.of(problem.observations, problem.rank, rng) if floor is None else floor
        if floor.reached(problem, outcome.point.value):
            break
        if outcome.verdict.converged:
            values.append(outcome.point.value)
        if _agree(values) or products > BUDGET:
            break
    assert best is not None
    outcome, name = best
    verdict = _verdict(problem, outcome, tried, floor, agreed=_agree(values))
    return Attempts(replace(outcome, verdict=verdict), name, tuple(tried), placement)


def _part(
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
            f"{problem.size - len(rows)} are undetermined ({problem.loss.name} loss, tried clique)",
        )
    point = problem.evaluate(whole.astype(problem.dtype))
    return Attempts(replace(outcome, point=point, verdict=verdict), "clique", ("clique",), placement)


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


def _verdict(problem: PSDProblem, outcome: Outcome, tried: list[str], floor: Floor | None, *, agreed: bool) -> Verdict:
    words = f"{problem.loss.name} loss, tried {', '.join(tried)}"
    counted = _underdetermined(problem, outcome, words)
    if counted is not None:
        return counted
    if not outcome.verdict.converged:
        return Verdict(outcome.verdict.code, f"{outcome.verdict.reason} ({words})")
    if noiseless(problem, outcome.point.value):
        return Verdict(Stop.CONVERGED, f"{outcome.verdict.reason}; the data are fitted to rounding ({words})")
    if floor is not None and floor.reached(problem, outcome.point.value):
        return Verdict(Stop.CONVERGED, f"{outcome.verdict.reason}; the data are fitted to their noise ({words})")
    if _globally_optimal(problem, outcome):
        return Verdict(
            Stop.CONVERGED,
            f"{outcome.verdict.reason}; the residual matrix is positive semidefinite, which proves this the best fit "
            f"over all positive semidefinite matrices ({words})",
        )
    if agreed:
        return Verdict(
            Stop.CONVERGED, f"{outcome.verdict.reason}; no start found a lower objective, two this one ({words})"
        )
    return _stationary(problem, outcome, words)


def _underdetermined(problem: PSDProblem, outcome: Outcome, words: str) -> Verdict | None:
    """Past the counting limit a perfect fit is one of many."""
    unknowns, pairs = unknowns_and_pairs(problem)
    # A perfect fit that is still creeping is no better determined: more iterations would be the wrong advice.
    creeping = outcome.verdict.code in (Stop.MAX_ITERATIONS, Stop.STALLED) and noiseless(problem, outcome.objective)
    if unknowns <= pairs or not (outcome.verdict.converged or creeping):
        return None
    return Verdict(
        Stop.UNDERDETERMINED,
        f"{outcome.verdict.reason}, but rank {problem.rank} leaves {unknowns} numbers free and only {pairs} distinct "
        f"entries were seen, so many matrices fit as well ({words}); lower the rank, or see more entries",
    )


def _globally_optimal(problem: PSDProblem, outcome: Outcome) -> bool:
    lowest, _ = lowest_residual_eigenpair(problem, outcome.point.factor)
    return lowest >= -OPTIMAL * float(np.sqrt(4 * outcome.point.value))


def judged(problem: PSDProblem, outcome: Outcome, solver: Solver[Any], rng: np.random.Generator) -> Outcome:
    """One run with a named method or start: a point that met its rule above the floor is only stationary.

    A convex program that is solved is solved; and a method with two factors is judged by its own estimate, which need
    not be near a positive semidefinite one.
    """
    if solver.convex:
        return outcome
    counted = _underdetermined(problem, outcome, f"{problem.loss.name} loss")
    if counted is not None:
        return replace(outcome, verdict=counted)
    if not outcome.verdict.converged or noiseless(problem, outcome.objective, loosely=True):
        return outcome
    if Floor.of(problem.observations, problem.rank, rng).reached(problem, outcome.objective):
        return outcome
    return replace(outcome, verdict=_stationary(problem, outcome, f"{problem.loss.name} loss"))


def _stationary(problem: PSDProblem, outcome: Outcome, words: str) -> Verdict:
    residual = float(np.sqrt(4 * outcome.point.value)) / problem.norm
    return Verdict(
        Stop.STATIONARY,
        f"{outcome.verdict.reason}, but the relative residual {residual:.2g} is above rounding and above the noise "
        f"that fully seen blocks show, if any ({words}); try another start, a higher rank, or look for outliers",
    )
