"""Completing pieces of the pattern that never see each other, one by one, each in its own frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.escalate import Attempts, escalate
from unrelu.floor import noiseless
from unrelu.history import Record, Stop, Verdict
from unrelu.observations import Observations
from unrelu.pieces import named_rows, pieces
from unrelu.problems.psd import PSDProblem
from unrelu.run import Outcome, run
from unrelu.solvers import Solver
from unrelu.stopping import StoppingRule
from unrelu.widen import sharpened

__all__ = ["complete_by_piece"]

Array = NDArray[np.floating[Any]]

# Pieces named in a verdict, and pieces turned so that what absence says of entries between them holds.
MOST_NAMED, TURNED = 4, 8


def complete_by_piece(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    *,
    truth: Array | None,
    callback: Callable[[Record], object] | None,
) -> Attempts:
    """What ``auto`` does: complete every piece alone.

    The verdict is that of the largest, and what lies between them is open.
    """
    parts = pieces(problem.observations)
    if len(parts) <= 1:
        return escalate(problem, solver, stopping, rng, truth=truth, callback=callback)
    factor = np.zeros((problem.size, problem.rank))
    first: Attempts | None = None
    placed = np.zeros(problem.size, dtype=bool)
    failed = 0
    for rows in parts:
        inner = PSDProblem(problem.observations.restricted(rows), min(problem.rank, len(rows)), problem.loss)
        if inner.norm == 0:
            continue
        known = None if truth is None else truth[np.ix_(rows, rows)]
        told = callback if first is None else None
        attempts = escalate(inner, solver, stopping, rng, truth=known, callback=told)
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
    outcome = _turned_together(problem, solver, stopping, factor, parts, placed, rng, first.outcome)
    verdict = _verdict(problem.observations, parts, first.outcome.verdict, failed)
    largest = np.setdiff1d(parts[0], parts[0][first.undetermined])
    missing = np.setdiff1d(np.arange(problem.size), largest)
    return replace(first, outcome=replace(outcome, verdict=verdict), undetermined=missing)


def _verdict(
    observations: Observations, parts: list[NDArray[np.intp]], of_the_largest: Verdict, failed: int
) -> Verdict:
    names = [named_rows(rows, observations.labels) for rows in parts[:MOST_NAMED]]
    more = [f"{len(parts) - MOST_NAMED} more"] if len(parts) > MOST_NAMED else []
    words = (
        f"the pattern falls into {len(parts)} pieces that never see each other ({', '.join(names + more)}): each was "
        "completed in its own frame, this verdict is on the first, and entries between them are not determined"
    )
    words += f"; {failed} of the others did not converge" if failed else ""
    code = of_the_largest.code if len(parts[0]) > 1 else Stop.UNDERDETERMINED
    return Verdict(code, f"{of_the_largest.reason}; {words}")


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
            whole[rows] = sharpened(problem, solver, stopping, rows, whole, factor, placed)
        turned = problem.evaluate(whole.astype(problem.dtype))
        point = turned if noiseless(problem, turned.value) else point
    return replace(of_the_largest, point=point)


def _turns(rank: int, rng: np.random.Generator) -> Iterator[Array]:
    """The opposite, and orthogonal matrices at random: no continuous path leads from one to its mirror image."""
    yield -np.eye(rank)
    for _ in range(2 * rank if rank > 1 else 0):
        yield np.linalg.qr(rng.standard_normal((rank, rank)))[0]
