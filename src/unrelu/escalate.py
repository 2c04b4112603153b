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
from unrelu.losses import Observed
from unrelu.observations import Observations
from unrelu.pieces import named_rows, pieces
from unrelu.placement import Placement, best_placement, undetermined
from unrelu.problems.psd import PSDProblem
from unrelu.remarks import contradiction
from unrelu.run import Outcome, run
from unrelu.solvers import Solver
from unrelu.stopping import MaxIterations, ObjectiveBelow, StoppingRule

__all__ = ["Attempts", "escalate", "judged"]

Array = NDArray[np.floating[Any]]

# Fresh draws of the tailored start after everything else.
DRAWS = 2
# Two starts that end within this share of the same objective have found the same floor.
AGREEMENT = 1e-3
# A residual matrix whose lowest eigenvalue is above this share of its norm, below zero, counts as semidefinite.
OPTIMAL = 1e-6
# Passes over the matrix (evaluations and curvature products) after which no further start is tried.
BUDGET = 20_000
# Past the counting limit a perfect fit is one of many: one start, so many iterations, this relative residual will do.
PAST_THE_LIMIT, PERFECT = 100, {"float64": 1e-9, "float32": 1e-4}
# Rows beyond the placed ones are fitted with them from another start if they are this share of all, in so many steps.
MANY, WIDENED = 0.05, 60
# Pieces named in a verdict, and pieces turned so that what absence says of entries between them holds.
MOST_NAMED, TURNED = 4, 8


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
    """Try one start after the other until the fit is at its floor, and return the best.

    Pieces of the pattern that never see each other are completed one by one, each in its own frame.
    """
    parts = pieces(problem.observations)
    if len(parts) > 1:
        return _by_piece(problem, solver, stopping, rng, parts, truth, callback)
    return _connected(problem, solver, stopping, rng, truth, callback)


def _connected(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    truth: Array | None,
    callback: Callable[[Record], object] | None,
) -> Attempts:
    observations, rank = problem.observations, problem.rank
    placement = best_placement(observations, rank, rng)
    past_the_limit = False
    if placement is None or not placement.placed.all():
        part = None if placement is None else _part(problem, solver, stopping, rng, placement, truth, callback)
        if part is not None:
            return part
        unknowns, pairs = unknowns_and_pairs(problem)
        past_the_limit = unknowns > pairs
    if past_the_limit:
        perfect = (PERFECT[problem.dtype.name] * observations.norm) ** 2 / 4
        stopping = stopping | ObjectiveBelow(perfect) | MaxIterations(PAST_THE_LIMIT)
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
        missing = undetermined(observations, rank, best[0].point.factor, placement)
        if outcome.verdict.code in (Stop.INTERRUPTED, Stop.CALLBACK):
            return Attempts(outcome, name, tuple(tried), missing)
        passes += float(np.nansum(outcome.history.column("inner"))) + 2 * len(outcome.history)
        if past_the_limit or noiseless(problem, outcome.point.value):
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
    verdict = _verdict(problem, outcome, tried, floor, agreed=_agree(values))
    return Attempts(replace(outcome, verdict=verdict), name, tuple(tried), missing)


def _by_piece(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    parts: list[NDArray[np.intp]],
    truth: Array | None,
    callback: Callable[[Record], object] | None,
) -> Attempts:
    """Complete every piece alone; the verdict is that of the largest, and what lies between them is open."""
    observations = problem.observations
    factor = np.zeros((problem.size, problem.rank))
    first: Attempts | None = None
    placed = np.zeros(problem.size, dtype=bool)
    failed = 0
    for rows in parts:
        inner = PSDProblem(observations.restricted(rows), min(problem.rank, len(rows)), problem.loss)
        if inner.norm == 0:
            continue
        known = None if truth is None else truth[np.ix_(rows, rows)]
        told = callback if first is None else None
        attempts = _connected(inner, solver, stopping, rng, known, told)
        factor[rows, : inner.rank] = attempts.outcome.point.factor * np.sqrt(inner.unit / problem.unit)
        placed[rows] = True
        placed[rows[attempts.undetermined]] = False
        if first is None:
            first = attempts
        elif not attempts.outcome.verdict.converged:
            failed += 1
        if attempts.outcome.verdict.code in (Stop.INTERRUPTED, Stop.CALLBACK):
            first = replace(first, outcome=replace(first.outcome, verdict=attempts.outcome.verdict))
            break
    assert first is not None
    names = [named_rows(rows, observations.labels) for rows in parts[:MOST_NAMED]]
    more = [f"{len(parts) - MOST_NAMED} more"] if len(parts) > MOST_NAMED else []
    words = (
        f"the pattern falls into {len(parts)} pieces that never see each other ({', '.join(names + more)}): each was "
        "completed in its own frame, this verdict is on the first, and entries between them are not determined"
    )
    words += f"; {failed} of the others did not converge" if failed else ""
    largest = np.setdiff1d(parts[0], parts[0][first.undetermined])
    outcome = _turned_together(problem, solver, stopping, factor, parts, placed, rng, first.outcome)
    code = first.outcome.verdict.code if len(parts[0]) > 1 else Stop.UNDERDETERMINED
    verdict = Verdict(code, f"{first.outcome.verdict.reason}; {words}")
    missing = np.setdiff1d(np.arange(problem.size), largest)
    return replace(first, outcome=replace(outcome, verdict=verdict), undetermined=missing)


def _turned_together(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    factor: NDArray[np.float64],
    parts: list[NDArray[np.intp]],
    placed: NDArray[np.bool_],
    rng: np.random.Generator,
    of_the_largest: Outcome,
) -> Outcome:
    """Where absence speaks of the entries between pieces, frames in which it is heard; else the frames as they are."""
    whole = factor.astype(problem.dtype)
    point = problem.evaluate(whole)
    if problem.loss.uses_absence and not noiseless(problem, point.value):
        for rows in parts[1:TURNED]:
            for Q in _turns(problem.rank, rng):
                whole = point.factor.copy()
                whole[rows] = whole[rows] @ Q
                turned = problem.evaluate(whole)
                point = turned if turned.value < point.value else point
        found = run(problem, solver, (point.factor, point.factor), stopping).point
        whole = found.factor.astype(np.float64)
        for rows in parts:
            whole[rows] = _sharpened(problem, solver, stopping, rows, whole, factor, placed)
        turned = problem.evaluate(whole.astype(problem.dtype))
        point = turned if noiseless(problem, turned.value) else point
    return replace(of_the_largest, point=point)


def _sharpened(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rows: NDArray[np.intp],
    found: NDArray[np.float64],
    exact: NDArray[np.float64],
    placed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Some rows of ``found``, with those that have a place turned rigidly from where they are exact.

    The others are fitted to them once more, to what was seen alone: near a solution that is quick, and loses no digits.
    """
    inside = rows[placed[rows]]
    whole = found.copy()
    left, _, right = np.linalg.svd(exact[inside].T @ found[inside])
    whole[inside] = exact[inside] @ (left @ right)
    if len(inside) == len(rows):
        return whole[rows]
    inner = PSDProblem(problem.observations.restricted(rows), problem.rank, Observed())
    ratio = np.sqrt(problem.unit / inner.unit)
    start = (whole[rows] * ratio).astype(problem.dtype)
    return run(inner, solver, (start, start), stopping).point.factor / ratio


def _widened(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    placement: Placement,
    part: Attempts,
) -> Attempts:
    """Rows that linear steps do not reach may still be determined by each other: fit those that see enough as well.

    The part alone if that fit is not perfect. What was placed stays as it was; the others are still called
    undetermined, for a fit is no proof.
    """
    observations, rank = problem.observations, problem.rank
    exact = part.outcome.point.factor.astype(np.float64)
    core = _core(observations, rank, placement)
    rows = np.sort(np.concatenate([np.flatnonzero(placement.placed), core]))
    if core.size == 0:
        return part
    inner = PSDProblem(observations.restricted(rows), rank, problem.loss)
    ratio = np.sqrt(problem.unit / inner.unit)
    starts: list[Array] = [exact[rows] * ratio]
    if core.size >= MANY * len(rows):
        starts.insert(0, RankIncreasing()(inner.observations, rank, rng) / np.sqrt(inner.unit))
    for start in starts:
        first = start.astype(problem.dtype)
        fit = run(inner, solver, (first, first), stopping | MaxIterations(WIDENED)).point
        if not noiseless(inner, fit.value):
            continue
        found = exact.copy()
        found[rows] = fit.factor / ratio
        whole = exact.copy()
        whole[rows] = _sharpened(problem, solver, stopping, rows, found, exact, placement.placed)
        verdict = part.outcome.verdict
        verdict = replace(verdict, reason=f"{verdict.reason}; {core.size} of these could be fitted as well")
        point = problem.evaluate(whole.astype(problem.dtype))
        return replace(part, outcome=replace(part.outcome, point=point, verdict=verdict))
    return part


def _core(observations: Observations, rank: int, placement: Placement) -> NDArray[np.intp]:
    """Rows without a place that see r others, or r − 1 and their own norm, among the placed ones and each other."""
    core = np.flatnonzero(~placement.placed & (observations.seen_per_row > 0))
    while core.size:
        others = np.concatenate([np.flatnonzero(placement.placed), core])
        _, seen = observations.pairs(core, others)
        enough = seen.sum(axis=1) >= rank  # the row itself is one of the others
        if enough.all():
            break
        core = core[enough]
    return core


def _turns(rank: int, rng: np.random.Generator) -> Iterator[Array]:
    """The opposite, and orthogonal matrices at random: no continuous path leads from one to its mirror image."""
    yield -np.eye(rank)
    for _ in range(2 * rank if rank > 1 else 0):
        yield np.linalg.qr(rng.standard_normal((rank, rank)))[0]


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
            f"{problem.size - len(rows)} could not be placed ({problem.loss.name} loss, tried clique)",
        )
    point = problem.evaluate(whole.astype(problem.dtype))
    missing = undetermined(problem.observations, problem.rank, whole, placement)
    part = Attempts(replace(outcome, point=point, verdict=verdict), "clique", ("clique",), missing)
    return _widened(problem, solver, stopping, rng, placement, part) if fits and verdict.converged else part


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
    contradicted = contradiction(problem.rank, _residual(problem, outcome))
    if contradicted is not None:
        code = Stop.STATIONARY if outcome.verdict.converged else outcome.verdict.code
        return Verdict(code, f"{outcome.verdict.reason}, but {contradicted} ({words})")
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
    # A fit that is still creeping is no better determined: more iterations would be the wrong advice.
    creeping = outcome.verdict.code in (Stop.MAX_ITERATIONS, Stop.STALLED)
    if unknowns <= pairs or not (outcome.verdict.converged or creeping):
        return None
    ended = outcome.verdict.reason if outcome.verdict.converged else f"stopped after {outcome.iteration} iterations"
    return Verdict(
        Stop.UNDERDETERMINED,
        f"{ended}, but rank {problem.rank} leaves {unknowns} numbers free and only {pairs} distinct "
        f"entries were seen, so many matrices fit as well ({words}); lower the rank, or see more entries",
    )


def _residual(problem: PSDProblem, outcome: Outcome) -> float:
    return float(np.sqrt(4 * outcome.point.value)) / problem.norm


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
    residual = _residual(problem, outcome)
    contradicted = contradiction(problem.rank, residual)
    if contradicted is not None:
        return Verdict(Stop.STATIONARY, f"{outcome.verdict.reason}, but {contradicted} ({words})")
    return Verdict(
        Stop.STATIONARY,
        f"{outcome.verdict.reason}, but the relative residual {residual:.2g} is above rounding and above the noise "
        f"that fully seen blocks show, if any ({words}); try another start, a higher rank, or look for outliers",
    )
