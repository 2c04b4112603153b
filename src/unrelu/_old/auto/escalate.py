"""One start after the other for a pattern that hangs together, the cheapest first, until the fit is at its floor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unrelu._old.auto.restarts import restarts
from unrelu._old.auto.task import CUT_SHORT, Attempts, Plan, Task
from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import (
    ESCALATE_AGREEMENT,
    ESCALATE_LOWER,
    ESCALATE_PERFECT,
    ESCALATE_SHARP,
    NEXT_RANK_FAR_BETTER,
)
from unrelu._old.judge.floor import Floor, noiseless, unknowns_and_pairs
from unrelu._old.judge.held_out import HeldOut
from unrelu._old.judge.next_rank import gain_of_next_rank, gain_without_absence
from unrelu._old.judge.verdicts import Evidence, verdict_on_best
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.run import Outcome
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow, StoppingRule
from unrelu._old.placing.outside import fitted_outside
from unrelu._old.placing.placement import Placement, furthest_placement, steadied, undetermined
from unrelu._old.placing.turning import joined
from unrelu._old.problems.psd import Point, PSDProblem
from unrelu._old.solvers.side_by_side import MOST_UNKNOWNS, best_of_many, count_of_starts
from unrelu._old.starts import Start
from unrelu._old.starts.continuation import RankIncreasing, Shrinking, staircase
from unrelu._old.starts.spectral import Tailored

__all__ = ["escalate"]

# Up to this size so many starts are tried before a fit above its floor is called anything.
SMALL, DOZENS = 100, 40
# Where starts run side by side, this often, each time around the best so far.
SIDE_BY_SIDE, MANY = 2, "many at once"
# Dozens of starts around a fit that is at the noise already, as often as they lead lower.
CHECK = "dozens at once"
# Further starts worth so many times the first fit: only then "nothing lower was found" says anything.
TEN_TIMES = 10.0
# How far a further start is followed before it is asked whether it leads lower by this share.
EXPLORING = RelativeGradientNormBelow(1e-7) | MaxIterations(80)
# Past the counting limit a perfect fit is one of many: one start, so many iterations, a gradient this small will do.
PAST_THE_LIMIT = 100
# Of up to SMALL rows some may have a place nevertheless: so many starts, or until two lead to the same fit.
STARTS_PAST_THE_LIMIT, ROUNDS_PAST_THE_LIMIT = 6, 2
# Steps in which rows with a place and those without are fitted together, where there is noise.
TOGETHER = 30


def escalate(task: Task, given: tuple[str, Array] | None = None) -> Attempts:
    """Solve from a placement if there is one, then from one start after the other, and return the best.

    ``given`` is a start to begin with, by name, and a factor in units.
    """
    problem = task.problem
    phase("finding fully seen blocks")
    placement = furthest_placement(problem.observations, problem.rank, task.rng, task.sketch)
    if placement is not None:
        task.sketch(placement.factor)
    turned = np.zeros(problem.size, dtype=bool)
    if placement is not None and not placement.placed.all():
        phase("joining bodies of rows")
        alone = placement.placed
        placement = joined(problem.observations, placement, task.rng)
        turned = placement.placed & ~alone
    whole = placement is not None and bool(placement.placed.all())
    if placement is not None:
        placement = steadied(problem.observations, problem.rank, placement, task.rng, unless_near=whole)
    unknowns, pairs = (0, 0) if whole else unknowns_and_pairs(problem)
    return _Search(task, placement, unknowns > pairs, np.flatnonzero(turned), given).found()


def _sharp(problem: PSDProblem, value: float, times: float = 1.0) -> bool:
    """Whether a fit has all its digits: one that has only some of them may be far off where rows are weakly held."""
    return problem.misfit(value) <= times * ESCALATE_SHARP[problem.dtype.name] * problem.norm


@dataclass(eq=False)
class _Search:
    """What has been tried so far on one task."""

    task: Task
    placement: Placement | None
    past_the_limit: bool
    # Rows of bodies that were turned until they fit: whether they fit one way only is asked later.
    turned: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    given: tuple[str, Array] | None = None
    best: Outcome | None = None
    start: str = ""
    tried: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    floor: Floor | None = None
    lower: bool = True  # whether the last start led lower

    @property
    def problem(self) -> PSDProblem:
        return self.task.problem

    def found(self) -> Attempts:
        """Try until the fit is at its floor, somebody wants the answer now, or enough was tried."""
        for name, make in self._starts_and_checks():
            before = None if self.best is None else self.best.point
            outcome = make(None if before is None else before.factor)
            self.tried.append(name)
            self.passes.append(float(np.nansum(outcome.history.column("inner"))) + 2 * len(outcome.history))
            if self.best is None or outcome.point.value < self.best.point.value:
                self.best, self.start = outcome, name
            if outcome.verdict.code in CUT_SHORT:
                return self._ended(replace(self.best, verdict=outcome.verdict))
            if outcome.verdict.converged:
                self.values.append(outcome.point.value)
            self.lower = before is None or self.best.point.value < (1 - ESCALATE_LOWER) * before.value
            at_floor = self._at_floor() and not self._to_check()
            if at_floor or self._one_of_many(before, outcome) or self._tried_enough():
                break
        assert self.best is not None
        held_out = self._held_out()
        evidence = Evidence(
            tuple(self.tried),
            self.floor,
            held_out,
            enough=self._ten_times(),
            agreed=self._agree(),
            starts=self.starts,
            gain=self._gain() if held_out is None else None,
            contradicted=held_out is None and self._contradicted(),
            body=self.placement is not None,
        )
        verdict = verdict_on_best(self.problem, self.best, evidence)
        return self._ended(replace(self.best, verdict=verdict))

    def _ended(self, outcome: Outcome) -> Attempts:
        observations, rank = self.problem.observations, self.problem.rank
        missing = np.union1d(undetermined(observations, rank, outcome.point.factor, self.placement), self.turned)
        outcome = replace(outcome, history=self.task.history)
        return Attempts(outcome, self.start, tuple(self.tried), missing)

    def _at_floor(self) -> bool:
        assert self.best is not None
        value = self.best.point.value
        # A few digits are not all: of a small matrix other starts are cheaper than a wrong answer.
        if noiseless(self.problem, value) and (self.problem.size > SMALL or _sharp(self.problem, value, 100.0)):
            return True
        if self.floor is None:
            phase("finding the noise level")
            self.floor = Floor.of(self.problem.observations, self.problem.rank, self.task.rng)
        return self.floor.told(self.problem, value)

    def _one_of_many(self, before: Point | None, last: Outcome) -> bool:
        """Whether a fit past the counting limit is as good as any: nothing lower would be the answer either."""
        assert self.best is not None
        if not self.past_the_limit:
            return False
        again = before is not None and abs(last.point.value - before.value) <= ESCALATE_AGREEMENT * before.value
        nearly = noiseless(self.problem, self.best.point.value, loosely=True)
        return nearly or again or self.problem.size > SMALL or len(self.tried) >= STARTS_PAST_THE_LIMIT

    def _to_check(self) -> bool:
        """Whether a fit at the noise of a small problem is still to be checked: noise hides a wrong row."""
        assert self.best is not None
        if noiseless(self.problem, self.best.point.value) or not self._few_unknowns or self.past_the_limit:
            return False
        return self.lower or self.tried[-1] != CHECK

    @property
    def _few_unknowns(self) -> bool:
        return self.problem.size * self.problem.rank <= MOST_UNKNOWNS

    def _tried_enough(self) -> bool:
        if self.problem.size <= SMALL and self.starts < DOZENS:
            return False
        return self._ten_times() or sum(self.passes) > self.task.plan.passes

    @property
    def starts(self) -> int:
        """How many starts were tried, each of those that ran side by side included."""
        counts = {MANY: count_of_starts(self.problem.size * self.problem.rank), CHECK: DOZENS}
        return sum(counts.get(name, 1) for name in self.tried)

    def _ten_times(self) -> bool:
        """Whether the starts after the first cost ten times what that cost; at small sizes, dozens of starts too."""
        if self.tried.count(MANY) == SIDE_BY_SIDE:
            return True
        dozens = self.problem.size > SMALL or self.starts >= DOZENS
        return dozens and sum(self.passes[1:]) >= TEN_TIMES * self.passes[0]

    def _agree(self) -> bool:
        """Whether the lowest objective was found twice."""
        if len(self.values) < 2:
            return False
        first, second = sorted(self.values)[:2]
        return second - first <= ESCALATE_AGREEMENT * first

    def _silent(self) -> bool:
        """Whether blocks were asked and say nothing, and enough was tried to ask further."""
        return self._to_ask_further() and self.floor is not None and self.floor.noise is None

    def _to_ask_further(self) -> bool:
        return not self.past_the_limit and self._ten_times()

    def _gain(self) -> float | None:
        assert self.best is not None
        if not self._silent() or not self._few_unknowns:
            return None
        return gain_of_next_rank(self.problem, self.best.point.factor, self.task.rng)

    def _contradicted(self) -> bool:
        """Asked where blocks say nothing, and where they say that there is no noise though the fit leaves some."""
        assert self.best is not None
        if not self._to_ask_further() or not self._few_unknowns or noiseless(self.problem, self.best.point.value):
            return False
        if self.floor is None or not (self.floor.noise is None or self.floor.shows_no_noise):
            return False
        gain = gain_without_absence(self.problem, self.best.point.factor, self.task.rng)
        return gain is not None and gain > NEXT_RANK_FAR_BETTER

    def _held_out(self) -> HeldOut | None:
        """Asked only where blocks say nothing."""
        assert self.best is not None
        if not self._silent():
            return None
        return HeldOut.of(self.problem, self.best.point.factor, self.task.solver, self.task.rng)

    def _starts_and_checks(self) -> Iterator[tuple[str, Callable[[Array | None], Outcome]]]:
        """The starts of the plan; whenever one of them leads to the noise of a small problem, dozens around it."""
        for start in self._starts():
            yield start
            while self._at_floor() and self._to_check():
                dozens = partial(best_of_many, self.problem, self.task.rng, most=DOZENS)
                yield CHECK, self._fitting(CHECK, dozens)

    def _starts(self) -> Iterator[tuple[str, Callable[[Array | None], Outcome]]]:
        """Names, and what makes an outcome from the best factor so far (in units): those that the plan names."""
        problem, rng, plan = self.problem, self.task.rng, self.task.plan.starts
        if self.given is not None:
            name, factor = self.given
            yield name, self._fitting(name, lambda _: factor)
        tried = self.given is not None
        for name, make in self._first_starts():
            if name in plan:
                tried = True
                yield name, make
        if Plan.FURTHER in plan:
            for name, draw in restarts(problem, rng):
                yield name, self._fitting(name, draw)
        elif not tried:  # none of the plan can be made here
            yield "tailored", self._fresh(Tailored())

    def _fresh(self, start: Start) -> Callable[[Array | None], Outcome]:
        observations, rank = self.problem.observations, self.problem.rank
        root = self.problem.dtype.type(np.sqrt(observations.unit))
        return self._fitting(start.name, lambda _: start(observations, rank, self.task.rng) / root)

    def _first_starts(self) -> Iterator[tuple[str, Callable[[Array | None], Outcome]]]:
        problem, rng = self.problem, self.task.rng
        observations, rank = problem.observations, problem.rank
        root = problem.dtype.type(np.sqrt(observations.unit))
        if self.placement is not None:
            placed = self.placement
            if placed.placed.all():
                yield "clique", self._fitting("clique", lambda _: placed.factor)
            else:
                yield "clique", lambda _: self._part_and_rest(placed)
        yield "tailored", self._fresh(Tailored())
        yield (
            "staircase",
            self._fitting(
                "staircase",
                lambda best: Tailored()(observations, rank, rng) / root if best is None else staircase(problem, best),
            ),
        )
        yield "rank-increasing", self._fresh(RankIncreasing())
        yield "shrinking", self._fresh(Shrinking())
        if self._few_unknowns:
            for _ in range(SIDE_BY_SIDE):
                yield MANY, self._fitting(MANY, lambda best: best_of_many(problem, rng, best))

    def _fitting(self, name: str, make: Callable[[Array | None], Array]) -> Callable[[Array | None], Outcome]:
        task, rule = self.task, self._rule()

        def run_from(best: Array | None) -> Outcome:
            phase(f"starting ({name})")
            factor = make(best)
            phase(f"fitting (from {name})")
            if self.best is None or self.past_the_limit:
                return task.attempt(name, factor, rule)
            # Whether a further start leads lower shows long before its last digits.
            rough = task.attempt(name, factor, rule | EXPLORING)
            if rough.verdict.code in CUT_SHORT or not rough.point.value < (1 - ESCALATE_LOWER) * self.best.point.value:
                return rough
            return task.attempt(name, rough.point.factor, rule)

        return run_from

    def _rule(self) -> StoppingRule:
        if not self.past_the_limit:
            return self.task.stopping
        rule = self.task.stopping | MaxIterations(PAST_THE_LIMIT)
        return rule | RelativeGradientNormBelow(ESCALATE_PERFECT[self.problem.dtype.name])

    def _part_and_rest(self, placement: Placement) -> Outcome:
        """Solve for the rows that have a place alone: the others, which may be anywhere, would only pull at them.

        Then these are fitted to them, and where that leaves a misfit all rows together.
        """
        task, problem = self.task, self.problem
        rows = np.flatnonzero(placement.placed)
        start = placement.completed(problem.observations)
        inner = task.within(rows, start)
        ratio = np.sqrt(problem.unit / inner.problem.unit)
        phase("fitting the rows that have a place")
        part = inner.attempt("clique", start[rows] * ratio, self._rule())
        factor = start.copy()
        factor[rows] = part.point.factor / ratio
        if part.verdict.code in CUT_SHORT:
            return replace(part, point=problem.evaluate(factor.astype(problem.dtype)))
        phase("fitting the other rows")
        absence = problem.bounded
        rounds = ROUNDS_PAST_THE_LIMIT if self.past_the_limit else None
        factor = fitted_outside(
            problem.observations, factor, placement.placed, task.rng, absence=absence, rounds=rounds
        )
        point = problem.evaluate(factor.astype(problem.dtype))
        task.offer("clique", point)
        verdict = part.verdict
        if not _sharp(problem, point.value):
            phase("fitting all rows together")
            part = task.attempt("clique", point.factor, self._rule() | MaxIterations(TOGETHER))
            point = part.point
            if part.verdict.code is not Stop.MAX_ITERATIONS:
                verdict = part.verdict
        left = problem.size - len(rows)
        words = f"{verdict.reason}; {len(rows)} rows were placed from a fully seen block, the other "
        words += f"{left} were fitted to them" if left > 1 else "one was fitted to them"
        return replace(part, point=point, objective=point.value, verdict=Verdict(verdict.code, words))
