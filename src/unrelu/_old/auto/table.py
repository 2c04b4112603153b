"""What ``auto`` does with a table: one start after the other, the cheapest first; by likelihood if there is noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from unrelu._old.auto.escalate import EXPLORING
from unrelu._old.auto.likelier import has_gaps, likelier, or_squares, worth_it
from unrelu._old.auto.task import CUT_SHORT, Attempts, Journal, Over, Task
from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.budget import OutOfTime, phase
from unrelu._old.base.tolerances import ESCALATE_AGREEMENT, ESCALATE_LOWER, ESCALATE_SHARP
from unrelu._old.data.pieces import pieces
from unrelu._old.judge.floor import noiseless, unknowns_and_pairs
from unrelu._old.judge.likelihood import Fits, Leftover, on_likelihood
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.run import Outcome
from unrelu._old.placing.table import table_placement
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.problems.rectangular import balanced
from unrelu._old.starts.continuation import shrunk, staircase, wider
from unrelu._old.starts.spectral import Tailored

__all__ = ["complete_table", "searched"]

# Further random starts, where the table is small.
RESTARTS, SMALL = 12, 200
BY_PIECE = "piece by piece"
CONTRADICTED = (
    "the seen entries are fitted to rounding if nobody listens to absence, so what absence says contradicts them; "
    "check threshold= and seen=, mark entries that are missing for another reason as unknown=, or pass threshold=None"
)


def complete_table(task: Task) -> Attempts:
    """The best of several starts in squares, and from there by likelihood where noise decides what is seen."""
    problem = task.problem
    plain = problem.simpler or problem
    inner = task if plain is problem else replace(task, problem=plain, journal=Journal())
    try:
        name, best, tried, agreed = searched(inner)
    except (KeyboardInterrupt, OutOfTime, Over):
        if inner is not task:
            task.journal.take(inner.journal)
        raise
    if inner is not task:
        task.journal.attempts += inner.journal.attempts
        task.keep(name, best.point.factor)
    nobody = np.zeros(0, np.intp)
    cut = best.verdict.code in CUT_SHORT
    words = f"{plain.loss.name} loss, tried {', '.join(dict.fromkeys(tried))}"
    verdict = best.verdict if cut else on_likelihood(plain, best, Fits(agreed, False, tried), words)
    exact = noiseless(plain, best.point.value)
    if not (cut or exact) and _absence_contradicts(inner, best):
        verdict = Verdict(Stop.STATIONARY, f"{best.verdict.reason}, but {CONTRADICTED} ({words})")
        cut = True  # no loss that listens to absence does better
    squares = Attempts(replace(best, history=inner.history, verdict=verdict), name, tried, nobody, plain)
    worth = worth_it(plain, best.point.value)
    # Noise that was given is there, however well the squares fit.
    settled = (exact and not problem.loss.noise_given) or (task.either and not worth)
    if plain is problem or cut or settled:
        return squares
    start, found, names, same = likelier(task, squares, lambda: _tailored(task))
    return or_squares(task, squares, start, found, Fits(same, False, names), f"tried {', '.join(names)}")


def _absence_contradicts(task: Task, best: Outcome) -> bool:
    """Whether the seen entries are fitted to rounding, with equations to spare, if nobody listens to absence."""
    problem = task.problem
    unknowns, pairs = unknowns_and_pairs(problem)
    if not problem.bounded or pairs <= unknowns:
        return False
    deaf = replace(task, problem=problem.seen_only, journal=Journal(), callback=None)
    placement = table_placement(deaf.problem.observations, problem.rank, task.rng)
    start = best.point.factor if placement is None else placement.completed(deaf.problem.observations)
    return noiseless(deaf.problem, deaf.attempt("without absence", start).point.value)


def _tailored(task: Task) -> Array:
    problem = task.problem
    root = problem.dtype.type(np.sqrt(problem.unit))
    return problem.begun(*(2 * (Tailored()(problem.observations, problem.rank, task.rng) / root,)))[0]


def _starts(task: Task) -> Iterator[tuple[str, Callable[[Array | None], Array | None]]]:
    """Names, and what makes a factor from the best so far; None where a start does not exist."""
    problem, rng, rank = task.problem, task.rng, task.problem.rank
    cut = problem.observations.source.cut
    assert cut is not None

    def clique(_: Array | None) -> Array | None:
        phase("finding fully seen blocks")
        placement = table_placement(problem.observations, rank, rng)
        if placement is None:
            return None
        factor = placement.factor.astype(problem.dtype)
        return balanced(factor, cut) if placement.placed.all() else factor

    def increasing(_: Array | None) -> Array:
        first = problem.at_rank(1)
        factor = _tailored(replace(task, problem=first))
        while factor.shape[1] < rank:
            found = replace(task, problem=problem.at_rank(factor.shape[1])).attempt(
                "rank-increasing", factor, EXPLORING
            )
            factor = wider(problem.at_rank(factor.shape[1]), found.point.factor)
        return factor

    def wide(_: Array | None) -> Array:
        most = min(2 * rank, cut, problem.size - cut)
        return shrunk(problem, _tailored(replace(task, problem=problem.at_rank(most))))

    def random(_: Array | None) -> Array:
        size = np.sqrt(problem.norm / np.sqrt(problem.observations.count) / np.sqrt(rank))
        return (size * rng.standard_normal((problem.size, rank))).astype(problem.dtype)

    parts = pieces(problem.observations)
    if len(parts) > 1:
        yield BY_PIECE, lambda _: _piece_by_piece(task, parts)
    yield "clique", clique
    yield "tailored", lambda _: _tailored(task)
    yield "staircase", lambda best: None if best is None else staircase(problem, best)
    yield "rank-increasing", increasing
    yield "shrinking", wide
    for _ in range(RESTARTS if problem.size <= SMALL else 0):
        yield "random", random


def _piece_by_piece(task: Task, parts: list[Indices]) -> Array:
    """Every piece of the pattern alone, in its own frame: what lies between them was not seen."""
    problem, cut = task.problem, task.problem.observations.source.cut
    assert cut is not None
    factor = np.zeros((problem.size, problem.rank))
    for rows in parts:
        phase(f"a piece of {len(rows)} rows and columns")
        rank = min(problem.rank, int(np.sum(rows < cut)), int(np.sum(rows >= cut)))
        inner = task.within(rows, factor, rank)
        if inner.problem.norm == 0:
            continue
        _, best, _, _ = searched(inner)
        factor[rows, :rank] = best.point.factor * np.sqrt(inner.problem.unit / problem.unit)
        if best.verdict.code in CUT_SHORT:
            raise Over(best.verdict)
    return factor.astype(problem.dtype)


def searched(task: Task) -> tuple[str, Outcome, tuple[str, ...], bool]:
    """The best start with its outcome, all that were tried, and whether the lowest objective was found twice."""
    if has_gaps(task.problem):
        return _gaps_last(task)
    problem, best, start = task.problem, None, ""
    tried: list[str] = []
    values: list[float] = []
    unknowns, pairs = unknowns_and_pairs(problem)
    for name, make in _starts(task):
        if name not in task.plan.starts and name not in (BY_PIECE, "random"):
            continue
        phase(f"starting ({name})")
        factor = make(None if best is None else best.point.factor)
        if factor is None:
            continue
        phase(f"fitting (from {name})")
        rule = task.stopping if best is None else task.stopping | EXPLORING
        outcome = task.attempt(name, factor, rule)
        if best is not None and outcome.point.value < (1 - ESCALATE_LOWER) * best.point.value:
            outcome = task.attempt(name, outcome.point.factor)
        tried.append(name)
        values.append(outcome.point.value)
        if best is None or outcome.point.value < best.point.value:
            best, start = outcome, name
        if outcome.verdict.code in CUT_SHORT:  # whichever was best: somebody wants the answer now
            best = replace(best, verdict=outcome.verdict)
            break
        if _enough(problem, best, values) or pairs < unknowns:
            break
    assert best is not None
    return start, best, tuple(tried), _twice(values)


def _gaps_last(task: Task) -> tuple[str, Outcome, tuple[str, ...], bool]:
    """First without the gaps that limits have: an entry on the wrong side of one would stay there."""
    problem, observations = task.problem, task.problem.observations
    easier = problem.among(observations.with_limits(observations.limits.apart_from_gaps()))
    inner = replace(task, problem=easier, journal=Journal())
    name, best, tried, agreed = searched(inner)
    task.journal.attempts += inner.journal.attempts
    if best.verdict.code in CUT_SHORT:
        point = problem.evaluate(best.point.factor)
        return name, replace(best, point=point, objective=point.value), tried, agreed
    return name, task.attempt(f"{name}, without gaps", best.point.factor), tried, agreed


def _enough(problem: PSDProblem, best: Outcome, values: list[float]) -> bool:
    """Whether the fit is exact, or found twice and what it leaves looks like noise."""
    if noiseless(problem, best.point.value):
        sharp = ESCALATE_SHARP[problem.dtype.name] * 100.0 * problem.norm
        return problem.misfit(best.point.value) <= sharp or len(values) >= 3
    met = best.verdict.converged or best.verdict.code is Stop.STALLED
    return _twice(values) and met and Leftover.of(problem, best.point).noise_only


def _twice(values: list[float]) -> bool:
    """Whether the lowest value was found twice."""
    lowest = sorted(values)[:2]
    return len(lowest) == 2 and lowest[1] - lowest[0] <= ESCALATE_AGREEMENT * abs(lowest[0])
