"""Rows beyond the placed ones, fitted together with them; what was placed stays exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.continuation import RankIncreasing
from unrelu.floor import noiseless
from unrelu.losses import Observed
from unrelu.observations import Observations
from unrelu.placement import Placement
from unrelu.problems.psd import PSDProblem
from unrelu.run import Outcome, run
from unrelu.solvers import Solver
from unrelu.stopping import MaxIterations, StoppingRule

__all__ = ["sharpened", "widened"]

Array = NDArray[np.floating[Any]]

# Rows beyond the placed ones are fitted with them from another start if they are this share of all, in so many steps.
MANY, WIDENED = 0.05, 60


def widened(
    problem: PSDProblem,
    solver: Solver[Any],
    stopping: StoppingRule,
    rng: np.random.Generator,
    placement: Placement,
    part: Outcome,
) -> Outcome:
    """Rows that linear steps do not reach may still be determined by each other: fit those that see enough as well.

    The part alone if that fit is not perfect. What was placed stays as it was; the others are still called
    undetermined, for a fit is no proof.
    """
    observations, rank = problem.observations, problem.rank
    exact = part.point.factor.astype(np.float64)
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
        whole[rows] = sharpened(problem, solver, stopping, rows, found, exact, placement.placed)
        verdict = replace(part.verdict, reason=f"{part.verdict.reason}; {core.size} of these could be fitted as well")
        return replace(part, point=problem.evaluate(whole.astype(problem.dtype)), verdict=verdict)
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


def sharpened(
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
