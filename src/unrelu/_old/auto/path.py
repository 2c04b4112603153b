"""How an answer is found where nobody names a rank: exact data first, then noisy data of a low rank, then all others.

Fully seen blocks tell the rank of exact data at once. Where they do not, ranks are climbed until one leaves only
rounding or only noise. If none does, or a rehearsal says that noise is not all that is left, the data are of no low
rank: then models are rehearsed, and the one that forecasts best is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.auto.candidates import Candidate
from unrelu._old.auto.menu import Chosen, chosen_from, menu_for
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.ranks import CLIMBING, ON_THE_WAY, Climb, Ladder, rank_of_blocks
from unrelu._old.auto.rehearsal import alone, hidden_side
from unrelu._old.auto.rehearsed import Rehearsal
from unrelu._old.auto.solving import CANONICAL, cut_short
from unrelu._old.auto.task import CUT_SHORT, Attempts, Task
from unrelu._old.base.budget import OutOfTime
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import PATH_REHEARSED, RANKS_NEAR, RANKS_ROUNDING
from unrelu._old.data.canonical import canonical_order
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.judge.likelihood import noise_of
from unrelu._old.loop.history import Stop
from unrelu._old.loop.run import run
from unrelu._old.model.losses import squared_loss
from unrelu._old.placing.placement import best_placement
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import GaussNewton

__all__ = ["Search", "Searched", "rehearsed"]

# Distinct pairs beside the diagonal, and rows, with which a rehearsal can be held; and pairs of one distribution.
ENOUGH_PAIRS, ENOUGH_ROWS, FEW_PAIRS = 20, 6, 2

# Ranks in a row that are not exact, after which no smaller one is tried.
MISSED = 3

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
    alone : NoStructure or None
        What is known of an entry that nothing else determines; None where a rank was named.
    """

    task: Task | None = None
    attempts: Attempts | None = None
    chosen: Chosen | None = None
    rehearsal: Rehearsal | None = None
    ladder: Ladder | None = None
    alone: NoStructure | None = None


@dataclass(frozen=True, eq=False)
class Search:
    """What a search works with.

    Attributes
    ----------
    observations : Observations
    at_rank : callable
        Solves at a rank.
    started : callable
        The task at a rank, before anything is tried.
    rng : Generator
    diagonal : {"auto", "data", "unknown", "limit"}
        What the diagonal is to models that are rehearsed; ``auto``: whatever forecasts best.
    """

    observations: Observations
    at_rank: AtRank
    started: Callable[[int], Task]
    rng: np.random.Generator
    diagonal: str = "auto"

    def given(self, rank: int, *, rehearse: bool) -> Searched:
        """The answer at a rank that was named, and what a rehearsal says of it if it is to be held.

        A diagonal that is no data is one of a model that is rehearsed, and nothing else knows what to do with it.
        """
        if self._as_data:
            task, attempts = self.at_rank(rank)
            if not rehearse or attempts.outcome.verdict.code in CUT_SHORT or not self._may_be_rehearsed():
                return Searched(task, attempts)
            try:
                shown = _rehearsed(self.observations, _up_to(rank), self.diagonal, self.rng)
            except (OutOfTime, KeyboardInterrupt) as end:
                return Searched(task, cut_short(task, end))
            return Searched(task, attempts, rehearsal=shown)
        self._require_rehearsal()
        return self._chosen([[Candidate(one, 0.0, self.diagonal) for one in _up_to(rank)]], last=True)

    def found(self) -> Searched:
        """The rank, or the model, and the answer with it."""
        if not self.observations.norm > 0:
            return Searched(*self.at_rank(1))
        climb = Climb(self.observations)
        try:
            if not self._as_data:
                self._require_rehearsal()
                return self._chosen(_menu(self.observations, self.diagonal))
            found = self._by_rank(climb)
            known = found.chosen is None and self._may_be_rehearsed()
            return replace(found, alone=alone(self.observations, self.rng)) if known else found
        except (OutOfTime, KeyboardInterrupt) as end:
            task = self.started(climb.factor.shape[1])
            task.journal.factor, task.journal.start = climb.factor, CLIMBING
            return Searched(task, cut_short(task, end))

    def _by_rank(self, climb: Climb) -> Searched:
        """Exact data first, then data of a low rank with noise, then all others."""
        guess = rank_of_blocks(self.observations, self.rng)
        guess = guess if guess is not None and self._counted(guess) else None
        off = np.inf if guess is None else self._off_from_blocks(guess)
        if guess is not None and off <= self._rounding:
            found = self._exactly(guess)
            if found is not None:
                return found
        ladder = climb.ladder()
        found = None if ladder.rank is None else self._at(ladder)
        found = found if found is None else self._lower(found, guess)
        if found is None and guess is not None and (off <= RANKS_NEAR or self.observations.size <= CANONICAL):
            found = self._exactly(guess)
        if found is not None:
            return found
        if not self._may_be_rehearsed():
            return self._with_few_pairs(ladder)
        return replace(self._chosen(_menu(self.observations, self.diagonal)), ladder=ladder)

    def _lower(self, found: Searched, guess: int | None) -> Searched:
        """Of exact data the rank of their blocks, or if rows are open the smallest exact one: a climb may miss it."""
        assert found.attempts is not None
        assert found.task is not None
        exact = found.attempts.outcome.verdict.code is Stop.FITTED and found.ladder is not None
        if not exact or self.observations.size > CANONICAL:
            return found
        if guess is not None and guess < found.task.problem.rank:
            by_blocks = self._exactly(guess)
            return found if by_blocks is None else replace(by_blocks, ladder=found.ladder)
        if not found.attempts.undetermined.size:
            return found
        missed = 0
        for rank in range(found.task.problem.rank - 1, 0, -1):
            lower = self._exactly(rank)
            code = None if lower is None or lower.attempts is None else lower.attempts.outcome.verdict.code
            if lower is not None and code is Stop.FITTED:
                found, missed = replace(lower, ladder=found.ladder), 0
            else:
                missed += 1
            if missed == MISSED or code in (Stop.MAX_SECONDS, Stop.INTERRUPTED, Stop.CALLBACK):
                break
        return found

    def _with_few_pairs(self, ladder: Ladder) -> Searched:
        """The answer at the rank that was found, if it is one; else what one distribution says of every entry."""
        task, attempts = self.at_rank(ladder.rank or 1)
        told = attempts.outcome.verdict.code in (*CUT_SHORT, Stop.FITTED, Stop.UNDERDETERMINED)
        if told or hidden_side(self.observations) is None or _pairs_off_diagonal(self.observations) < FEW_PAIRS:
            return Searched(task, attempts, ladder=ladder)
        chosen = self._chosen([[Candidate(1)]]).chosen
        assert chosen is not None
        shown = replace(chosen.rehearsal, extrapolates=False, few=True)
        return Searched(chosen=replace(chosen, rehearsal=shown), rehearsal=shown, ladder=ladder)

    @property
    def _rounding(self) -> float:
        """The relative residual of exact data."""
        return RANKS_ROUNDING[self.observations.dtype.name]

    def _off_from_blocks(self, rank: int) -> float:
        """The relative residual of a fit from fully seen blocks; infinite where no row is placed by them."""
        placement = best_placement(self.observations, rank, self.rng)
        if placement is None:
            return np.inf
        plain = PSDProblem(self.observations, rank, squared_loss(self.observations.limits))
        start = placement.completed(self.observations).astype(plain.dtype)
        found = run(plain, GaussNewton(), (start, start), ON_THE_WAY, keep=False).point
        return plain.misfit(found.value) / plain.norm

    def _exactly(self, rank: int) -> Searched | None:
        """The answer at a rank, if it has all its digits, or somebody wants it now."""
        task, attempts = self.at_rank(rank)
        outcome, problem = attempts.outcome, attempts.problem or task.problem
        if outcome.verdict.code in CUT_SHORT:
            return Searched(task, attempts)
        exact = (
            outcome.verdict.code is Stop.FITTED and problem.misfit_at(outcome.point) <= self._rounding * problem.norm
        )
        return Searched(task, attempts) if exact else None

    @property
    def _as_data(self) -> bool:
        return self.diagonal in ("auto", "data")

    def _counted(self, rank: int) -> bool:
        """Whether there are more equations than unknowns."""
        unknowns, pairs = unknowns_and_pairs(PSDProblem(self.observations, rank))
        return unknowns < pairs

    def _at(self, ladder: Ladder) -> Searched | None:
        """The answer at the rank that is enough; None if it is not one after all."""
        assert ladder.rank is not None
        found = self._from(ladder)
        if found is not None:
            return found
        task, attempts = self.at_rank(ladder.rank)
        code = attempts.outcome.verdict.code
        noisy = code is Stop.FITTED_TO_NOISE or (code is Stop.FITTED and ladder.leaves == "noise")
        if code in CUT_SHORT or (noisy and not self._may_be_rehearsed()):
            return Searched(task, attempts, ladder=ladder)
        if not noisy:
            return None
        noise = noise_of(attempts.problem or task.problem, attempts.outcome.point)
        ranks = sorted({rung.rank for rung in ladder.rungs if rung.rank <= ladder.rank})
        try:
            shown = _rehearsed(self.observations, ranks, self.diagonal, self.rng)
        except (OutOfTime, KeyboardInterrupt) as end:
            return Searched(task, cut_short(task, end), ladder=ladder)
        steady = shown.best.rank == ladder.rank and shown.best.sigmas[0] <= PATH_REHEARSED * noise
        if not (steady and shown.best.diagonal == "data" and shown.extrapolates and shown.damping == 1):
            return None
        return Searched(task, attempts, rehearsal=shown, ladder=ladder)

    def _from(self, ladder: Ladder) -> Searched | None:
        """The answer of exact data from the fit that was found on the way; None if that has not all its digits."""
        if ladder.leaves != "rounding" or ladder.factor is None or ladder.rank is None:
            return None
        task = self.started(ladder.rank)
        plain = task.problem.simpler or task.problem
        inner = replace(task, problem=plain)
        attempts = inner.answer(inner.attempt(CLIMBING, ladder.factor))
        if attempts.outcome.verdict.code is not Stop.FITTED:
            return None
        return Searched(inner, replace(attempts, problem=plain), ladder=ladder)

    def _may_be_rehearsed(self) -> bool:
        return _enough(self.observations)

    def _require_rehearsal(self) -> None:
        _require_enough(self.observations, f"diagonal={self.diagonal!r} needs a rehearsal", "; drop diagonal=")

    def _chosen(self, menu: list[list[Candidate]], *, last: bool = False) -> Searched:
        """The model that forecasts best, or the last; the rows of a small matrix are sorted first.

        So their order does not matter.
        """
        kept = len(menu[0]) - 1 if last else None
        if self.observations.size > CANONICAL:
            chosen = chosen_from(menu, self.observations, self.rng, only=kept)
            return Searched(chosen=chosen, rehearsal=chosen.rehearsal)
        order = canonical_order(self.observations)
        inner = replace(self.observations.reordered(order), said=self.observations.said)
        chosen = chosen_from(menu, inner, self.rng, only=kept)
        factor = np.empty_like(chosen.fitted.factor)
        factor[order] = chosen.fitted.factor
        chosen = replace(chosen, fitted=replace(chosen.fitted, factor=factor))
        return Searched(chosen=chosen, rehearsal=chosen.rehearsal)


def rehearsed(observations: Observations, rank: int | None, diagonal: str, rng: np.random.Generator) -> Rehearsal:
    """What a rehearsal of one rank, with smaller ones on the way, or of all models shows."""
    _require_enough(observations, "a rehearsal hides some of what was seen", "")
    if rank is None:
        return chosen_from(_menu(observations, diagonal), observations, rng).rehearsal
    return _rehearsed(observations, _up_to(rank), diagonal, rng)


def _menu(observations: Observations, diagonal: str) -> list[list[Candidate]]:
    return menu_for(observations, ("data", "limit") if diagonal == "auto" else (diagonal,))


def _rehearsed(observations: Observations, ranks: list[int], diagonal: str, rng: np.random.Generator) -> Rehearsal:
    """Some ranks, of which the last is meant; where one may choose, that also with the diagonal as a limit."""
    path = [Candidate(one, 0.0, "data" if diagonal == "auto" else diagonal) for one in ranks]
    last = len(path) - 1
    if observations.diagonal_seen and diagonal == "auto":
        path.append(replace(path[-1], diagonal="limit"))
        return chosen_from([path], observations, rng, unless_alike=last, fit=False).rehearsal
    return chosen_from([path], observations, rng, only=last, fit=False).rehearsal


def _enough(observations: Observations) -> bool:
    """Whether there are pairs enough to hide some on purpose."""
    return observations.size >= ENOUGH_ROWS and _pairs_off_diagonal(observations) >= ENOUGH_PAIRS


def _pairs_off_diagonal(observations: Observations) -> int:
    """That were seen, if the diagonal was."""
    _, pairs = unknowns_and_pairs(PSDProblem(observations, 1))
    return pairs - observations.size


def _require_enough(observations: Observations, why: str, advice: str) -> None:
    if not _enough(observations):
        _, pairs = unknowns_and_pairs(PSDProblem(observations, 1))
        raise InputError(
            f"{why}, and that needs {ENOUGH_ROWS} rows and {ENOUGH_PAIRS} seen pairs beyond their number at least, got "
            f"{observations.size} rows and {pairs} pairs{advice}"
        )


def _up_to(rank: int) -> list[int]:
    """1, 2, 4 … and the rank: a path to it."""
    return sorted({*(2**k for k in range(rank.bit_length()) if 2**k < rank), rank})
