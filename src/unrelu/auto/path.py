"""How an answer is found where nobody names a rank: exact data first, then noisy data of a low rank, then all others.

Fully seen blocks tell the rank of exact data at once. Where they do not, ranks are climbed until one leaves only
rounding or only noise. If none does, or a rehearsal says that noise is not all that is left, the data are of no low
rank: then models are rehearsed, and the one that forecasts best is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from unrelu.auto.candidates import Candidate, Fitted
from unrelu.auto.menu import Chosen, chosen_from, menu_for
from unrelu.auto.ranks import Climb, Ladder, rank_of_blocks
from unrelu.auto.rehearsed import Rehearsal
from unrelu.auto.solving import CANONICAL, cut_short
from unrelu.auto.task import CUT_SHORT, Attempts, Task
from unrelu.base.budget import OutOfTime
from unrelu.base.tolerances import PATH_REHEARSED
from unrelu.data.canonical import canonical_order
from unrelu.data.observations import Observations
from unrelu.judge.floor import unknowns_and_pairs
from unrelu.loop.history import Stop
from unrelu.problems.psd import PSDProblem

__all__ = ["Searched", "searched"]

# Distinct pairs beside the diagonal, and rows, with which a rehearsal can be held.
ENOUGH_PAIRS, ENOUGH_ROWS = 20, 6

AtRank = Callable[[int], tuple[Task, Attempts]]


@dataclass(frozen=True, eq=False)
class Searched:
    """How a search ended: with an answer at some rank, or with a model that was rehearsed.

    Attributes
    ----------
    task, attempts : Task and Attempts, or None
        The answer at a rank.
    chosen : Chosen or None
        The model that forecasts best, where no rank was enough.
    rehearsal : Rehearsal or None
        What was rehearsed; of exact data nothing is.
    ladder : Ladder or None
        The ranks that were fitted on the way.
    """

    task: Task | None = None
    attempts: Attempts | None = None
    chosen: Chosen | None = None
    rehearsal: Rehearsal | None = None
    ladder: Ladder | None = None


def searched(
    observations: Observations, at_rank: AtRank, started: Callable[[int], Task], rng: np.random.Generator
) -> Searched:
    """Find the rank, or the model, and the answer with it.

    Parameters
    ----------
    observations : Observations
    at_rank : callable
        Solves at a rank.
    started : callable
        The task at a rank, before anything is tried.
    rng : Generator
    """
    if not np.isfinite(observations.norm) or observations.norm == 0:
        return Searched(*at_rank(1))
    climb = Climb(observations)
    try:
        guess = rank_of_blocks(observations, rng)
        if guess is not None and _counted(observations, guess):
            task, attempts = at_rank(guess)
            if attempts.outcome.verdict.code in (Stop.FITTED, *CUT_SHORT):
                return Searched(task, attempts)
        ladder = climb.ladder()
        if ladder.rank is not None:
            found = _at(ladder, observations, at_rank, rng)
            if found is not None:
                return found
        if not _may_be_rehearsed(observations):
            return Searched(*at_rank(ladder.rank or 1), ladder=ladder)
        chosen = _in_an_order_of_its_own(observations, rng)
        return Searched(chosen=chosen, rehearsal=chosen.rehearsal, ladder=ladder)
    except (OutOfTime, KeyboardInterrupt) as end:
        task = started(climb.factor.shape[1])
        task.journal.factor, task.journal.start = climb.factor, f"rank {climb.factor.shape[1]} on the way"
        return Searched(task, cut_short(task, end))


def _counted(observations: Observations, rank: int) -> bool:
    """Whether there are more equations than unknowns."""
    unknowns, pairs = unknowns_and_pairs(PSDProblem(observations, rank))
    return unknowns < pairs


def _at(ladder: Ladder, observations: Observations, at_rank: AtRank, rng: np.random.Generator) -> Searched | None:
    """The answer at the rank that is enough; None if it is not one after all."""
    assert ladder.rank is not None
    task, attempts = at_rank(ladder.rank)
    code = attempts.outcome.verdict.code
    if code in (Stop.FITTED, *CUT_SHORT) or (code is Stop.FITTED_TO_NOISE and not _may_be_rehearsed(observations)):
        return Searched(task, attempts, ladder=ladder)
    if code is not Stop.FITTED_TO_NOISE:
        return None
    problem, point = attempts.problem or task.problem, attempts.outcome.point
    noise = point.loss.noise if point.loss is not None else None
    if noise is None:  # of squares
        noise = problem.misfit(point.value) / np.sqrt(problem.observations.count) * problem.unit
    shown = _rehearsed(ladder, observations, rng)
    steady = shown.best.rank == ladder.rank and shown.best.sigmas[0] <= PATH_REHEARSED * float(noise)
    if not (steady and shown.best.diagonal == "data" and shown.extrapolates and shown.damping == 1):
        return None
    return Searched(task, attempts, rehearsal=shown, ladder=ladder)


def _rehearsed(ladder: Ladder, observations: Observations, rng: np.random.Generator) -> Rehearsal:
    """All ranks up to the one that is enough; that one also with the diagonal as a limit, which may not be data."""
    ranks = sorted({rung.rank for rung in ladder.rungs if rung.rank <= (ladder.rank or 1)})
    path = [Candidate(rank) for rank in ranks]
    path += [replace(path[-1], diagonal="limit")] if observations.diagonal_seen else []
    return chosen_from([path], observations, rng, unless_alike=len(ranks) - 1).rehearsal


def _may_be_rehearsed(observations: Observations) -> bool:
    """Whether there are pairs enough to hide some on purpose."""
    _, pairs = unknowns_and_pairs(PSDProblem(observations, 1))
    return observations.size >= ENOUGH_ROWS and pairs - observations.size >= ENOUGH_PAIRS


def _in_an_order_of_its_own(observations: Observations, rng: np.random.Generator) -> Chosen:
    """The model that is chosen; the rows of a small matrix are sorted first, so that their order does not matter."""
    if observations.size > CANONICAL:
        return chosen_from(menu_for(observations), observations, rng)
    order = canonical_order(observations)
    inner = replace(observations.reordered(order), said=observations.said)
    found = chosen_from(menu_for(inner), inner, rng)
    factor = np.empty_like(found.fitted.factor)
    factor[order] = found.fitted.factor
    fit: Fitted = replace(found.fitted, factor=factor)
    return replace(found, fitted=fit)
