"""A fit that a few gross errors cannot lead astray, and which entries it contradicts.

It begins with values cut off where half of them reach three times, and goes on with a loss under which no entry pulls
harder than a small error does. What the fit contradicts is left out, and the fit and the question are repeated until
nothing changes: a gross error less may show another one. What is left is completed as data without errors are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.auto.candidates import next_factor
from unrelu._old.auto.doubts import Doubts, contradicted
from unrelu._old.auto.solving import CANONICAL
from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import (
    DOUBTS_ROUGH,
    DOUBTS_ROUNDING,
    ROBUST_ALIKE,
    ROBUST_FITTED,
    ROBUST_ON_THE_WAY,
    ROBUST_ROUNDING,
    ROBUST_SHARPER,
)
from unrelu._old.data.canonical import canonical_order
from unrelu._old.data.mirrored import as_table
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource
from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow, StoppingRule
from unrelu._old.model.losses import LOSSES, Loss, squared_loss
from unrelu._old.problems.protocol import Point
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.problems.rectangular import RectangularProblem
from unrelu._old.solvers import GaussNewton
from unrelu._old.starts.spectral import Tailored

__all__ = ["RobustFit", "corner_of", "doubted", "robust_of"]

# Where values are cut off for a start, in standard deviations of normal ones with the same median size.
CLIPPED = 3.0
# The median size of a standard normal number.
MEDIAN = 0.6745
# How often what is distrusted is asked for again.
ROUNDS = 4
# Ranks that are tried where none is named, which share of the seen pairs is hidden to choose one, how many of them at
# most, and after how many ranks that are no better no further one is tried.
RANKS, HIDDEN, MOST_HIDDEN, PATIENCE = (1, 2, 3, 4, 5, 6, 8, 11, 16, 22, 30), 0.1, 20_000, 3
# Unknowns per equation up to which a rank is tried.
SPARE = 0.7
# Ranks on the way up to one that is named.
STEPS = (1, 2, 4, 8, 16)
# How far fits on the way go; and how long those by which entries are judged.
ON_THE_WAY, LONG = RelativeGradientNormBelow(ROBUST_ON_THE_WAY) | MaxIterations(20), 40

Places = tuple[Indices, Indices]


def robust_of(loss: Any) -> Loss | None:
    """The loss that a name, or a loss, stands for, if it is one that distrusts entries; None for any other.

    Examples
    --------
    >>> robust_of("huber").delta, robust_of("censored"), robust_of("auto")
    (1.345, None, None)
    """
    made = LOSSES[loss]() if isinstance(loss, str) and loss in LOSSES else loss
    return made if getattr(made, "distrusts", False) and not isinstance(made, type) else None


def corner_of(loss: Loss | None) -> float:
    """The misfit, in standard deviations, beyond which an entry pulls no harder; infinite where a loss has no such."""
    return float(getattr(loss, "delta", np.inf))


def doubted(
    observations: Observations, rank: int | None, loss: Loss, rng: np.random.Generator, also: Places | None = None
) -> Doubts:
    """Entries that a robust fit of the rank, or of one that is found, contradicts; and those of ``also``, as they are.

    Parameters
    ----------
    observations : Observations
        Of a symmetric matrix, or of a table.
    rank : int or None
    loss : Loss
        One that distrusts.
    rng : Generator
    also : pair of int ndarray, optional
        Entries that cannot be what they are said to be, and are not among the observations.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((30, 2))
    >>> X = U @ U.T
    >>> X[2, 5] = X[5, 2] = 40.0
    >>> found = doubted(Observations.of(X, threshold=None), 2, robust_of("huber"), np.random.default_rng(0))
    >>> found.rows.tolist(), found.cols.tolist()
    ([2, 5], [5, 2])
    """
    phase("looking for entries that the others contradict")
    also = (np.zeros(0, np.intp), np.zeros(0, np.intp)) if also is None else also
    if observations.source.cut is None and not observations.definite:
        return _as_a_table(observations, rank, loss, rng, also)
    if observations.size > CANONICAL:
        return _doubted(observations, rank, loss, rng, also)
    order = canonical_order(observations)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    found = _doubted(observations.reordered(order), rank, loss, rng, (place[also[0]], place[also[1]]))
    rows, cols = order[found.rows], order[found.cols]
    first = np.lexsort((cols, rows))
    return Doubts(rows[first], cols[first], found.errors[first])


def _as_a_table(
    observations: Observations, rank: int | None, loss: Loss, rng: np.random.Generator, also: Places
) -> Doubts:
    """A symmetric matrix with signs that nobody knows yet, as a table, which needs none."""
    n = observations.size
    both = np.concatenate([also[0], also[1] + n]), np.concatenate([also[1] + n, also[0]])
    found = doubted(as_table(observations), rank, loss, rng, both)
    mine = (found.rows < n) & (found.cols >= n)
    rows, cols = found.rows[mine], found.cols[mine] - n
    told = observations.source.seen_at(rows, cols) | observations.told_at(rows, cols)
    told |= np.isin(rows * n + cols, also[0] * n + also[1])
    return Doubts(rows[told], cols[told], found.errors[mine][told])


def _doubted(
    observations: Observations, rank: int | None, loss: Loss, rng: np.random.Generator, also: Places
) -> Doubts:
    fit = RobustFit(observations, loss, rng)
    rank = fit.rank_found() if rank is None else rank
    asked = _Asked(observations, also, corner_of(loss))
    factor, found, impossible = asked.settled(fit.at_rank(rank), loss, (Doubts.none(), Doubts.none()))
    # Where all misfits tend to zero straight lines get there slowly, and what is slow looks wrong: squares of what is
    # trusted find the last digits of exact data.
    _, *again = asked.settled(factor, squared_loss(observations.limits), (found, impossible))
    sharp = again[0].sigma < ROBUST_SHARPER * found.sigma
    found, impossible = again if sharp else (found, impossible)
    return found.and_also(impossible)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is asked again and again: what a fit contradicts, and what the fit is without it."""

    observations: Observations
    also: Places
    corner: float

    def settled(self, factor: Array, loss: Loss, known: tuple[Doubts, Doubts]) -> tuple[Array, Doubts, Doubts]:
        """The fit, what it contradicts and what is known of impossible entries, once nothing changes any more."""
        rough = DOUBTS_ROUGH if loss.distrusts else DOUBTS_ROUNDING[self.observations.dtype.name]
        before, first = known[0], True
        for _ in range(ROUNDS):
            places = before.rows, before.cols
            trusted = self.observations.without_entries(*places) if len(places[0]) else self.observations
            if not (first and loss.distrusts):
                factor = RobustFit(trusted, loss, np.random.default_rng(0)).going_on(factor)
            found, impossible = contradicted(self.observations, trusted, factor, (self.corner, rough), self.also)
            if found.same(before) and not first:
                break
            before, first = found, False
        return factor, found, impossible


class RobustFit:
    """Fits of some data under a loss that distrusts; factors are in the units of the data."""

    def __init__(self, observations: Observations, loss: Loss, rng: np.random.Generator) -> None:
        posed = PSDProblem if observations.source.cut is None else RectangularProblem
        self.observations, self.rng = observations, rng
        self.problem = posed(observations, 1, loss)
        self.root = observations.dtype.type(np.sqrt(observations.unit))

    def _run(self, start: Array, rule: StoppingRule | None = None) -> Point:
        """From a factor in units, as far as the noise asks for."""
        problem, start = self.problem.at_rank(start.shape[1]), start.astype(self.problem.dtype)
        rule = (
            RelativeGradientNormBelow(ROBUST_FITTED[problem.dtype.name]) | MaxIterations(LONG) if rule is None else rule
        )
        return run(problem, GaussNewton(), problem.begun(start, start), rule, keep=False).point

    def going_on(self, factor: Array) -> Array:
        """The fit from a factor."""
        return self._run(factor / self.root).factor * self.root

    def at_rank(self, rank: int) -> Array:
        """The better of two fits: from the top eigenvectors of values that were cut off, and up from rank one."""
        start = Tailored()(_clipped(self.observations), rank, self.rng) / self.root
        *_, last = self.climbed([one for one in STEPS if one < rank] + [rank])
        best = min((self._run(start, ON_THE_WAY), last), key=lambda point: point.value)
        return self.going_on(best.factor * self.root)

    def climbed(self, ranks: list[int]) -> Iterator[Point]:
        """Fits of one rank after the other, each from the last and what that leaves."""
        factor = np.zeros((self.problem.size, 1), self.problem.dtype)
        problem = self.problem
        for rank in ranks:
            phase(f"looking for entries that the others contradict (rank {rank})")
            point = self._run(next_factor(problem.at_rank(rank), factor), ON_THE_WAY)
            factor, problem = point.factor, self.problem.at(point)
            yield point

    def rank_found(self, least: int = 1) -> int:
        """The smallest rank that forecasts entries hidden on purpose as well as any does, by half of them."""
        i, j = _hidden(self.observations, self.rng)
        values = self.observations.source.at(i, j).astype(np.float64)
        inner = RobustFit(self.observations.without(i, j), self.problem.loss, self.rng)
        ranks = [rank for rank in RANKS if _affordable(inner.problem, rank)] or [1]
        misses = [float(np.median(np.abs(values)))][least:]
        for point in inner.climbed(ranks):
            U = point.factor.astype(np.float64) * float(inner.root)
            misses.append(float(np.median(np.abs(values - np.einsum("ek,ek->e", U[i], U[j])))))
            if len(misses) - 1 - int(np.argmin(misses)) >= PATIENCE:
                break
        rounding = ROBUST_ROUNDING[self.observations.dtype.name] * float(np.median(np.abs(values)))
        good = max((1 + ROBUST_ALIKE) * min(misses), rounding)
        tried = [0, *ranks][least:]
        return next(rank for rank, missed in zip(tried, misses, strict=False) if missed <= good)


def _affordable(problem: PSDProblem, rank: int) -> bool:
    """Whether there is so much data that a fit of this rank does not bend to all of it."""
    cut, n = problem.observations.source.cut, problem.size
    unknowns, pairs = unknowns_and_pairs(problem.at_rank(rank))
    return rank <= (n if cut is None else min(cut, n - cut)) and unknowns <= SPARE * pairs


def _hidden(observations: Observations, rng: np.random.Generator) -> Places:
    """Some of the seen pairs, each one way round."""
    n = observations.size
    rows, cols = np.nonzero(np.triu(~np.isnan(observations.block(slice(0, n), slice(0, n)))))
    some = rng.permutation(len(rows))[: max(1, min(int(HIDDEN * len(rows)), MOST_HIDDEN))]
    return rows[some], cols[some]


def _clipped(observations: Observations) -> Observations:
    """The same with values cut off that are far larger than most."""
    n = observations.size
    values = observations.block(slice(0, n), slice(0, n))
    sizes: Floats = np.abs(values[~np.isnan(values)]).astype(np.float64)
    most = CLIPPED / MEDIAN * float(np.median(sizes)) or float(sizes.max())
    source = _CutOff(np.clip(values, -most, most), observations.source.cut)
    return replace(observations, source=source, scanned=None)


class _CutOff(ArraySource):
    """An array, with the cut of a table if there is one."""

    def __init__(self, values: Array, cut: int | None) -> None:
        super().__init__(values)
        self.cut = cut
