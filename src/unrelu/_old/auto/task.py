"""What travels through the rooms of ``auto``: one task, and the best point that any of them has found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError
from unrelu._old.data.pieces import named_rows
from unrelu._old.judge.verdicts import judged
from unrelu._old.loop.history import History, Record, Stop, Verdict
from unrelu._old.loop.run import Outcome, Watch, run
from unrelu._old.loop.stopping import StoppingRule
from unrelu._old.placing.attach import bands
from unrelu._old.placing.placement import undetermined
from unrelu._old.problems.psd import Point, PSDProblem
from unrelu._old.solvers import Solver

__all__ = ["CUT_SHORT", "Attempt", "Attempts", "Journal", "Over", "Plan", "Task"]

# Verdicts after which nothing else is tried: somebody wants the answer now.
CUT_SHORT = (Stop.INTERRUPTED, Stop.CALLBACK, Stop.MAX_SECONDS)


class Over(Exception):
    """Another attempt was asked for after somebody wanted the answer: the best so far ends the call."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


@dataclass(frozen=True)
class Attempt:
    """One start that was tried: its name, the objective it ended at, under which loss, and how it ended."""

    start: str
    objective: float
    code: Stop
    loss: str = ""

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Attempt:
        """Made again from the output of :func:`dataclasses.asdict`; what is null in JSON was infinite."""
        objective = stored["objective"]
        found = float("inf") if objective is None else objective
        return cls(stored["start"], found, Stop(stored["code"]), stored.get("loss", ""))


@dataclass(frozen=True, eq=False)
class Attempts:
    """The attempt that is returned, and what was tried on the way to it."""

    outcome: Outcome
    start: str
    tried: tuple[str, ...]
    undetermined: NDArray[np.intp]  # rows without a place among the others
    problem: PSDProblem | None = None  # which it is an answer to, if that was chosen on the way


@dataclass(frozen=True)
class Plan:
    """Which starts are tried, and after how many passes over the matrix no further one begins."""

    # What all further starts of a small problem are called together.
    FURTHER: ClassVar[str] = "restarts"
    KNOWN: ClassVar[Mapping[str, str]] = {
        "clique": "rows placed by linear equations from a block that was seen in full",
        "tailored": "top eigenvectors, with unseen entries drawn on the side where they lie",
        "staircase": "from the best so far up to higher ranks and back down",
        "rank-increasing": "from rank one up, a direction of the residual at a time",
        "shrinking": "from twice the rank down, a direction at a time",
        "many at once": "hundreds of random starts side by side, where there are few unknowns",
        "restarts": "dozens of random, wider and shaken starts, where there are few rows",
    }

    starts: tuple[str, ...] = tuple(KNOWN)
    passes: int = 20_000


@dataclass(eq=False)
class Journal:
    """Everything that was tried, in order, and the lowest point of the whole matrix."""

    records: list[Record] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    factor: Array | None = None
    value: float = np.inf
    start: str = "none"
    # A factor of the whole matrix on the way to the first point; its objective is not known yet.
    sketch: Array | None = None
    # How the attempt ended after which nobody wants another.
    over: Verdict | None = None

    def take(self, other: Journal) -> None:
        """All that another has."""
        self.__dict__.update(other.__dict__)


@dataclass(frozen=True, eq=False)
class Task:
    """A problem and how it is to be solved; a part of it (``within``) shares the journal.

    Attributes
    ----------
    problem : PSDProblem
    solver : Solver
    stopping : StoppingRule
    rng : Generator
    truth : ndarray of shape (n, n) or None
    callback : callable or None
    plan : Plan
        For the strategy ``auto``.
    either : bool
        Whether the loss of the problem is one of two: it, or the squares that are simpler, by the noise that is found.

    Examples
    --------
    A task by hand, and one attempt at it:

    >>> from unrelu._old.data.observations import Observations
    >>> from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
    >>> from unrelu._old.solvers import GaussNewton
    >>> problem = PSDProblem(Observations.of(np.outer([1.0, 2, 3], [1.0, 2, 3])), rank=1)
    >>> rule = RelativeGradientNormBelow(1e-12) | MaxIterations(50)
    >>> task = Task(problem, GaussNewton(), rule, np.random.default_rng(0))
    >>> outcome = task.attempt("ones", np.ones((3, 1)))
    >>> task.answer(outcome).outcome.verdict.code.value, [attempt.start for attempt in task.journal.attempts]
    ('fitted', ['ones'])
    """

    problem: PSDProblem
    solver: Solver[Any]
    stopping: StoppingRule
    rng: np.random.Generator
    truth: Array | None = None
    callback: Callable[[Record], object] | None = None
    plan: Plan = field(default_factory=Plan)
    either: bool = False
    journal: Journal = field(default_factory=Journal)
    # How a factor of this part becomes one of the whole matrix, in units of the whole; None for the whole itself.
    embed: Callable[[Array], Array] | None = None
    whole: PSDProblem | None = None
    rows: NDArray[np.intp] | None = None  # positions in the whole; None: all, in order
    everything: bool = True  # whether these are all rows of the whole, in whatever order

    def within(self, rows: NDArray[np.intp], around: Array | None = None, rank: int | None = None) -> Task:
        """The same task among some of the rows; ``around`` holds the others, zero if it is not given."""
        problem = self.problem
        inner = problem.among(problem.observations.restricted(rows), rank)
        ratio = np.sqrt(problem.unit / inner.unit)
        held = np.zeros((problem.size, problem.rank)) if around is None else around

        def embedded(factor: Array) -> Array:
            found = held.copy()
            found[rows, : factor.shape[1]] = factor / ratio
            found = found.astype(problem.dtype)
            return found if self.embed is None else self.embed(found)

        cut = problem.observations.source.cut
        grid = (rows, rows) if cut is None else (rows[rows < cut], rows[rows >= cut] - cut)
        truth = None if self.truth is None else self.truth[np.ix_(*grid)]
        places = rows if self.rows is None else self.rows[rows]
        return replace(
            self,
            problem=inner,
            truth=truth,
            embed=embedded,
            whole=self.whole or problem,
            rows=places,
            everything=self.everything and len(rows) == problem.size,
        )

    def named(self, rows: NDArray[np.intp]) -> str:
        """Some rows of this part by their names in the whole."""
        places = np.sort(rows if self.rows is None else self.rows[rows])
        return named_rows(places, (self.whole or self.problem).observations.labels)

    def attempt(self, name: str, factor: Array, stopping: StoppingRule | None = None) -> Outcome:
        """Run from a factor, and note what came of it."""
        if self.journal.over is not None:
            raise Over(self.journal.over)
        first = self._checked(name, factor)
        told = None if self.callback is None else self._numbered
        rule = self.stopping if stopping is None else stopping
        outcome = run(self.problem, self.solver, (first, first), rule, watch=Watch(self.truth, told))
        began, before = len(self.journal.records), self.journal.records
        seconds, cpu = (before[-1].seconds, before[-1].cpu_seconds) if before else (0.0, 0.0)
        number = len(self.journal.attempts)
        self.journal.records += [
            replace(
                record,
                iteration=record.iteration + began,
                seconds=record.seconds + seconds,
                cpu_seconds=record.cpu_seconds + cpu,
                details={**record.details, "attempt": float(number)},
            )
            for record in outcome.history
        ]
        ended = outcome.history[outcome.iteration].objective
        self.journal.attempts.append(Attempt(name, ended, outcome.verdict.code, self.problem.loss.name))
        self.offer(name, outcome.point)
        self.journal.over = outcome.verdict if outcome.verdict.code in CUT_SHORT else None
        return replace(outcome, iteration=outcome.iteration + began)

    def _checked(self, name: str, factor: Any) -> Array:
        """A starting factor of the right shape, finite, in the precision of the data."""
        shape = (self.problem.size, self.problem.rank)
        first = np.asarray(factor)
        if first.shape != shape or first.dtype.kind not in "fiu" or not np.isfinite(first).all():
            finite = "" if first.shape != shape else ", with entries that are no finite real numbers"
            raise InputError(
                f"the start {name!r} must give a finite factor of shape (n, rank) = {shape}, "
                f"got shape {first.shape}{finite}"
            )
        return first.astype(self.problem.dtype)

    def answer(self, outcome: Outcome) -> Attempts:
        """What a strategy returns: an outcome of one of its attempts, judged as that of a named method is."""
        problem = self.problem
        judged_ = judged(problem, outcome, self.solver, self.rng)
        missing = undetermined(problem.observations, problem.rank, outcome.point.factor, None)
        tried = tuple(attempt.start for attempt in self.journal.attempts)
        return Attempts(replace(judged_, history=self.history), self.journal.start, tried, missing)

    def offer(self, name: str, point: Point) -> None:
        """Keep a point, if it is the lowest of the whole matrix so far: what an interrupt would leave."""
        factor, value = point.factor, point.value
        if self.embed is not None:
            assert self.whole is not None
            factor = self.embed(point.factor)
            ratio = self.problem.unit / self.whole.unit
            value = value * ratio**2 if self.everything else self.whole.evaluate(factor).value
        if value < self.journal.value:
            self.journal.factor, self.journal.value, self.journal.start = factor, value, name

    def keep(self, name: str, factor: Array) -> None:
        """Keep a factor that was found under another loss, until there is a point of this one."""
        if self.journal.factor is None:
            self.journal.factor = factor if self.embed is None else self.embed(factor)
            self.journal.start = name

    def sketch(self, factor: Array) -> None:
        """Keep a factor that is on its way: better than nothing, if the time is over before the first point."""
        if self.journal.factor is None:
            self.journal.sketch = factor if self.embed is None else self.embed(factor)

    def _numbered(self, record: Record) -> object:
        """Tell the caller of an iteration under its number among all."""
        assert self.callback is not None
        return self.callback(replace(record, iteration=record.iteration + len(self.journal.records)))

    @property
    def history(self) -> History:
        """All iterations of all attempts."""
        return History(self.journal.records)

    def cut_short(self, code: Stop, reason: str) -> Outcome:
        """The best point so far, for a caller who did not wait for the end."""
        problem, journal = self.whole or self.problem, self.journal
        if not problem.psd:
            return self._cut_short_elsewhere(problem, Verdict(code, reason))
        factor, value = journal.factor, journal.value
        words = f"this is the best point so far, from the {journal.start} start"
        if factor is None:
            words = "nothing was found before that, and the matrix is zero"
            if journal.sketch is not None:
                words = "no fit was found before that, only places of some rows"
            factor = np.zeros((problem.size, problem.rank)) if journal.sketch is None else journal.sketch
            value = np.inf
        value = value if np.isfinite(value) else _objective(problem, factor)
        point = Point(factor.astype(problem.dtype), value, np.zeros_like(factor))
        records = journal.records or [Record(0, value, None, 0.0)]
        return Outcome(point, Verdict(code, f"{reason}; {words}"), History(records), len(records) - 1, value)

    def _cut_short_elsewhere(self, problem: Any, verdict: Verdict) -> Outcome:
        """The same on a problem of which nothing is known but its value."""
        found = self.journal.factor is not None
        point = problem.evaluate(
            self.journal.factor if found else np.zeros((problem.size, problem.rank), problem.dtype)
        )
        words = "this is the best point so far" if found else "nothing was found before that, and the unknown is zero"
        records = self.journal.records or [Record(0, point.value, None, 0.0)]
        said = Verdict(verdict.code, f"{verdict.reason}; {words}")
        return Outcome(point, said, History(records), len(records) - 1, point.value)


def _objective(problem: PSDProblem, factor: Array) -> float:
    """F on the seen entries alone, a few rows at a time: building a kernel for it would take longer."""
    observations = problem.observations
    everyone, squares = np.arange(problem.size), 0.0
    for rows in bands(problem.size, problem.size):
        gap = observations.entries(everyone[rows], everyone) - factor[rows] @ factor.T
        squares += float(np.nansum(gap * gap))
    return squares / 4
