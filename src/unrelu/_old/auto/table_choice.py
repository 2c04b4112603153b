"""Which model a table is completed by: what is tried, how it is scored, what is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unrelu._old.auto.table_candidates import Alone, Fit, LowRank, Model, Shrunk, Together, World
from unrelu._old.auto.table_rehearsal import Shape, TableLevel, best_widths, table_levels
from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import OutOfTime, phase, unlimited
from unrelu._old.base.tolerances import TABLE_CHOICE_CLEAN, TABLE_CHOICE_FALLEN
from unrelu._old.data.measured import Measured
from unrelu._old.loop.history import Stop, Verdict

__all__ = ["Chosen", "TableRehearsal", "Tried", "choose", "ranks_worth_trying"]

# What answers for a rank whose fit leaves next to nothing, or None.
Exact = Callable[[int], Any]
# How many rows without any correlation weigh as much as the prior of none, from many to few; 0 is offsets alone.
WEIGHTS = (100.0, 30.0, 10.0, 3.0, 1.0)
# The one that is tried first; where that gains less than half of what low rank does, no other is tried.
TYPICAL = 10.0
# Shares of the largest singular value by which all are shrunk, from many to few.
SHRUNK = (0.5, 0.25, 0.12, 0.06)
# A model is taken instead of no structure at all if its log scores are so much better in sum, and so much a cell.
WORTH, WORTH_EACH = 4.0, 0.01
# Multiplications in one pass over the rows of a table up to which correlations are tried.
AFFORDABLE = 1e8
# More times as likely than this is all the same.
MOST_TIMES = 1e3
# Of the seen cells so many are needed for each number of the factors.
SPARE = 1.4


def _never(rank: int) -> None:
    """Nobody answers."""


@dataclass(frozen=True)
class Tried:
    """A model that was rehearsed.

    Attributes
    ----------
    name : str
        What it is, in words.
    rank : int or None
        Columns of its factors, if it has any.
    score : float
        Mean log score of the cells by which forecasts are scored, less that of each column by itself.
    """

    name: str
    rank: int | None
    score: float


@dataclass(frozen=True, eq=False)
class TableRehearsal:
    """What raising the limits has shown.

    Attributes
    ----------
    shares : tuple of float
        Of the seen cells of each column that were hidden on purpose, level by level.
    cells : int
        By how many cells forecasts were scored, in all.
    tried : tuple of Tried
        Every model, in the order in which they were tried.
    chosen : str
        The name of the one that was taken.
    gain : float
        Its log scores in sum, less those of each column by itself.
    width : ndarray
        For each column, how many times as far as the fit says its values lie from their forecasts.
    cut : Stop or None
        Why not all models were tried, if they were not.
    unseen : int
        How many cells there were to fill in, if nothing could be rehearsed.
    """

    shares: tuple[float, ...] = ()
    cells: int = 0
    tried: tuple[Tried, ...] = ()
    chosen: str = Alone.name
    gain: float = 0.0
    width: Floats = field(default_factory=lambda: np.ones(0))
    cut: Stop | None = None
    unseen: int = 1

    @property
    def verdict(self) -> Verdict:
        """What may be said of forecasts beyond the limits."""
        if self.cut is not None:
            why = "interrupted" if self.cut is Stop.INTERRUPTED else "the time was over"
            count = len(self.tried)
            return Verdict(
                self.cut, f"{why} with {count} model{'s' * (count != 1)} rehearsed; the best so far is {self.chosen}"
            )
        if not self.cells and not self.unseen:
            return Verdict(Stop.DOES_NOT_EXTRAPOLATE, "every cell was seen: there is nothing to fill in")
        if not self.cells:
            return Verdict(
                Stop.DOES_NOT_EXTRAPOLATE, "too little was seen to raise any limit, so that nothing was rehearsed"
            )
        told = f"{self.cells} cells hidden on purpose or beyond their limits"
        if self.chosen == Alone.name:
            return Verdict(
                Stop.DOES_NOT_EXTRAPOLATE,
                f"in the rehearsal nothing foretold {told} better than each column by itself, which serves as well",
            )
        if self.gain < max(WORTH, WORTH_EACH * self.cells):
            return Verdict(
                Stop.DOES_NOT_EXTRAPOLATE,
                f"in the rehearsal {self.chosen} foretold {told} no better than each column by itself; it was named, "
                "and is what is filled in: name none",
            )
        with np.errstate(over="ignore"):
            each = np.minimum(np.exp(self.gain / self.cells), MOST_TIMES)
        return Verdict(
            Stop.PREDICTS,
            f"in the rehearsal {self.chosen} foretold {told} better than each column by itself, by a factor of "
            f"{each:.3g} in the likelihood of each",
        )


@dataclass(frozen=True, eq=False)
class Chosen:
    """The model that was taken, its fit to the whole table, and how it was found."""

    model: Model
    fit: Fit
    rehearsal: TableRehearsal


class _Contest:
    """Models and their scores at all levels, each found once."""

    def __init__(self, levels: list[TableLevel]) -> None:
        self.levels = levels
        self.widths: dict[Model, Floats] = {}
        self.total: dict[Model, float] = {}

    def score(self, model: Model) -> float:
        """At all levels."""
        if model not in self.total:
            phase(f"rehearsing {model.name}")
            scores = [level.scores(model) for level in self.levels]
            # Of the nearest level, which is most like the table as it is.
            self.widths[model] = best_widths(scores[0])[0]
            total = float(sum(best_widths(one)[1].sum() for one in scores))
            self.total[model] = total if np.isfinite(total) else -np.inf
        return self.total[model]

    def nearby(self, model: Model) -> float:
        """At the nearest level alone, where most is left to fit."""
        phase(f"rehearsing {model.name}")
        found = float(best_widths(self.levels[0].scores(model))[1].sum())
        return found if np.isfinite(found) else -np.inf

    @property
    def cells(self) -> int:
        return sum(int(level.hidden.sum()) for level in self.levels)

    def rank_of(self, model: Model) -> int | None:
        return self.levels[-1].world.fit(model).rank


def choose(
    cells: Measured, shape: Shape, rng: np.random.Generator, rank: int | None = None, exact: Exact = _never
) -> Chosen | Any:
    """The model that foretells best what raised limits hide, fitted to the whole table; or the one of a given rank.

    Parameters
    ----------
    cells : Measured
        The table as it is.
    shape : Shape
        What its columns may be like.
    rng : Generator
        Hides cells of columns that have no limit.
    rank : int, optional
        The only one that is tried.
    exact : callable, optional
        Asked for a rank whose fit leaves next to nothing: what it returns is the answer, unless that is None.
    """
    world, levels = table_levels(cells, shape, rng)
    contest = _Contest(levels)
    alone: Model = Alone()
    if not contest.levels:
        model = alone if rank is None else LowRank(rank)
        found = exact(rank) if rank is not None and _named(world, rank) else None
        width, unseen = np.ones(world.cells.shape[1]), int((~cells.seen).sum())
        return found or Chosen(model, world.fit(model), TableRehearsal(chosen=model.name, width=width, unseen=unseen))
    cut: Stop | None = None
    try:
        answer = _contested(contest, world, rank, exact)
        if answer is not None:
            return answer
    except (OutOfTime, KeyboardInterrupt) as end:
        cut = Stop.MAX_SECONDS if isinstance(end, OutOfTime) else Stop.INTERRUPTED
    with unlimited():  # who does not wait gets the best so far
        return _best(contest, world, rank, cut)


def _contested(contest: _Contest, world: World, rank: int | None, exact: Exact) -> Any:
    """Score whatever is worth it; the exact answer, if there is one."""
    best_rank, whole = _look_for_rank(contest) if rank is None else (rank, _named(world, rank))
    most = min(world.cells.shape)
    # What is of a rank about the means of columns may be of one more, and of two where rows have means of their own.
    for more in range(3 if rank is None else 1) if whole else ():
        answer = exact(min(whole + more, most))
        if answer is not None:
            return answer
    contest.score(Alone())
    if best_rank:
        contest.score(LowRank(best_rank))
    if rank is None:
        for model in _menu(contest, best_rank):
            contest.score(model)
    return None


def _best(contest: _Contest, world: World, rank: int | None, cut: Stop | None) -> Chosen:
    """The model that foretells best of those that were scored, fitted to the whole table."""
    alone: Model = Alone()
    base = contest.score(alone)
    best: Model = max(contest.total, key=contest.total.__getitem__)
    if rank is not None and LowRank(rank) in contest.total:
        best = LowRank(rank)
    elif contest.total[best] - base < max(WORTH, WORTH_EACH * contest.cells):
        best = alone
    count = contest.cells
    tried = tuple(Tried(m.name, contest.rank_of(m), (s - base) / count) for m, s in contest.total.items())
    shares, widths = tuple(level.share for level in contest.levels), contest.widths[best]
    return Chosen(
        best,
        world.fit(best),
        TableRehearsal(shares, count, tried, best.name, contest.total[best] - base, widths, cut),
    )


def _menu(contest: _Contest, rank: int) -> Iterator[Model]:
    """What is tried apart from ranks: correlations, or where these would take too long the best price on size."""
    m, n = contest.levels[0].truth.shape
    if n < 2:
        return
    base = contest.nearby(Alone())
    to_beat = (contest.nearby(LowRank(rank)) - base) / 2 if rank else 0.0
    if m * float(n) ** 3 <= AFFORDABLE:
        yield Together(TYPICAL)
        if contest.nearby(Together(TYPICAL)) - base >= to_beat:
            yield Together(0.0)
            yield from map(Together, WEIGHTS)
        return
    found: dict[Model, float] = {}
    for share in SHRUNK:
        found[Shrunk(share)] = gain = contest.nearby(Shrunk(share)) - base
        if gain < max(found.values()) or (len(found) > 1 and gain < to_beat):
            break
    yield max(found, key=found.__getitem__)


def ranks_worth_trying(world: World) -> int:
    """The largest rank with fewer numbers in its factors than were seen, by some margin."""
    m, n = world.cells.shape
    seen = int(world.cells.seen.sum())
    ranks = np.arange(1, min(m, n) + 1)
    return int(np.sum(ranks * (m + n - ranks) * SPARE <= seen))


def _look_for_rank(contest: _Contest) -> tuple[int, int]:
    """The one that scores best nearby, 0 where the data are too few for any; and the smallest that may be exact, or 0.

    Ranks 1, 2, 4, … until two in a row score lower than the best, then between the neighbours of the best.
    """
    world = contest.levels[0].world
    most = ranks_worth_trying(world)
    rank, worse, found = 1, 0, {0: -np.inf}
    left = float(np.sqrt(np.mean(world.in_units.values[world.cells.seen] ** 2)))
    clean = TABLE_CHOICE_CLEAN * left
    while rank <= most and worse < 2:
        found[rank] = contest.nearby(LowRank(rank))
        worse = worse + 1 if found[rank] < max(found.values()) else 0
        before, left = left, _left(world, rank)
        if left <= min(clean, TABLE_CHOICE_FALLEN * before):
            return rank, _smallest(world, rank, max(clean, left))
        rank *= 2
    best = max(found, key=found.__getitem__)
    step = best // 2
    while step:
        for near in (best - step, best + step):
            if 1 <= near <= most and near not in found:
                found[near] = contest.nearby(LowRank(near))
        best, step = max(found, key=found.__getitem__), step // 2
    return best, 0


def _named(world: World, rank: int) -> int:
    """The rank that was named if it may be exact, else 0."""
    size = float(np.sqrt(np.mean(world.in_units.values[world.cells.seen] ** 2)))
    return rank if _left(world, rank) <= TABLE_CHOICE_CLEAN * size else 0


def _left(world: World, rank: int) -> float:
    """What a rank leaves of the values that were seen."""
    return float(world.fit(LowRank(rank)).forecast.sigma[0, 0])


def _smallest(world: World, rank: int, clean: float) -> int:
    """The smallest rank that leaves as little as one of twice the rank before it, by halving."""
    below, above = rank // 2, rank
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if _left(world, middle) <= clean else (middle, above)
    return above
