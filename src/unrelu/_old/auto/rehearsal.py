"""Raise the threshold and see: hide what lies just beyond it as the sensor would have, fit, and score the forecasts.

Random gaps test interpolation. What is missing here is missing because of its value, and whether a model reaches there
is tested by moving the limit into the data. Forecasts are scored by their likelihood given all that the fit was told:
a value that was hidden on purpose by its density, an entry hidden at the true limit by the probability to lie beyond
that, both given that it lies beyond the raised one. σ is the one that scores best: the error of a forecast, with
whatever the model gets wrong in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from unrelu._old.auto.divisible import divisible
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.base.tolerances import (
    REHEARSAL_LEVEL,
    REHEARSAL_NARROWEST,
    REHEARSAL_SAME,
    REHEARSAL_SHARP,
    REHEARSAL_WIDEST,
)
from unrelu._old.data.limits import Ends
from unrelu._old.data.observations import Observations
from unrelu._old.data.raised import raised
from unrelu._old.model.links import Linked, Scale
from unrelu._old.model.predictive import Predictive, damped

__all__ = ["Level", "alone", "alone_beside", "held_out", "hidden_side", "levels"]

# Pairs that are scored at most.
SCORED = 40_000
# Shares of the seen pairs that are hidden on purpose.
SHARES = (0.25, 0.5)
# Of all pairs that are hidden whatever they are.
HELD_OUT = 0.1


@dataclass(frozen=True, eq=False)
class Level:
    """The data with some of them hidden on purpose, and the pairs by which forecasts are scored.

    Attributes
    ----------
    share : float
        Of the seen pairs that are hidden on purpose.
    limit : float or None
        The raised threshold, if it is one for all; None where pairs were hidden whatever their value.
    observations : Observations
        As they would have been seen.
    rows, cols : int ndarray
        Pairs that are hidden then.
    values : ndarray
        Theirs, NaN where they are hidden in any case.
    told, true : (low, high)
        Between which the fit is told that they lie, and between which those lie that are hidden in any case.
    none : NoStructure
        What all that the fit is told says of any entry.
    side : {"below", "above"} or None
        On which side of its limit an entry goes unseen; None where pairs were hidden whatever their value.
    """

    share: float
    limit: float | None
    observations: Observations
    rows: Indices
    cols: Indices
    values: Floats
    told: tuple[Any, Any]
    true: tuple[Any, Any]
    none: NoStructure
    side: str | None = None

    def damped(self, means: Floats, damping: float) -> Floats:
        """Forecasts that go only so far beyond the raised limit, of the way that a fit says."""
        return damped(means, self.told, self.side, damping)

    @property
    def without_structure(self) -> float:
        """The score of no structure at all."""
        return self.score_of(self.none)

    def score_of(self, none: NoStructure) -> float:
        """Mean log-likelihood of all of them by one distribution."""
        return self._score(none.given(self.told))

    @cached_property
    def hidden(self) -> Bools:
        """Which are hidden in any case."""
        return np.isnan(self.values)

    def forecast(self, means: Floats, sigma: float) -> Predictive:
        """What they are likely to be, by all that the fit is told."""
        return Predictive(means, sigma, Ends(self.told))

    def score(self, means: Floats, sigma: float) -> float:
        """Mean log-likelihood of all of them."""
        return self._score(self.forecast(means, sigma))

    def _score(self, forecast: Predictive | Linked) -> float:
        known = np.where(self.hidden, np.nanmedian(self.values), self.values)  # whatever it is, it has a density
        scores = np.where(self.hidden, forecast.log_probability(Ends(self.true)), forecast.log_density(known))
        return float(np.mean(scores))

    def best(self, means: Floats) -> tuple[float, float]:
        """The σ that scores best, and its score."""
        # Rounded values may all be alike.
        spread = max(float(np.nanstd(self.values)), REHEARSAL_NARROWEST * self.none.spread, np.finfo(float).tiny)
        grid = np.log(spread) + np.linspace(np.log(REHEARSAL_NARROWEST), np.log(REHEARSAL_WIDEST), 25)
        scores = [self.score(means, float(np.exp(at))) for at in grid]
        top = int(np.argmax(scores))
        bracket = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
        found = minimize_scalar(
            lambda at: -self.score(means, float(np.exp(at))),
            bounds=bracket,
            method="bounded",
            options={"xatol": REHEARSAL_SHARP},
        )
        return float(np.exp(found.x)), -float(found.fun)


def levels(observations: Observations, rng: np.random.Generator) -> list[Level]:
    """Raised thresholds at which a share of the seen pairs is hidden on purpose, the nearest first.

    Where entries go unseen on one side of a limit, each pair has the same way to go from its own limit; the diagonal,
    if it was seen, stays seen. Where absence says nothing, or more than that, there are none.
    """
    side = hidden_side(observations)
    if side is None:
        return []
    pairs = _Pairs.of(observations, rng)
    known = pairs.alone(observations)
    pairs = pairs.narrowed(known.scale)
    sign = 1.0 if side == "below" else -1.0
    ends = pairs.ends[1 if side == "below" else 0]
    limited = pairs.seen & np.isfinite(ends)
    if not limited.any():
        return []
    beyond = sign * (pairs.values - ends)  # how far the value of a seen pair is from its limit
    found = []
    for share in SHARES:
        way = float(np.quantile(beyond[limited], share))
        hidden = ~pairs.seen | (limited & (beyond < way))
        if not (hidden & pairs.seen).any() or not (~hidden).any():  # many are alike
            continue
        data = _further(observations, side, way)
        told = pairs.moved(hidden, side, way)
        none = NoStructure.of(pairs.values[~hidden], told, scale=known.scale)
        one = None if observations.threshold is None else observations.threshold + sign * way
        found.append(Level(share, one, data, *pairs.some(hidden), told, pairs.true(hidden), none, side))
    return found


def alone(observations: Observations, rng: np.random.Generator) -> NoStructure:
    """One distribution for all entries, from all that is known of them."""
    return _Pairs.of(observations, rng).alone(observations)


def alone_beside(
    known: Callable[[Indices, Indices], Array], observations: Observations, rng: np.random.Generator
) -> NoStructure:
    """One distribution for entries that the data leave open; ``known`` has the values of those that are determined.

    With the same number all along the diagonal they are cosines of angles, up to a factor: then by Fisher's z.
    """
    pairs, top = _Pairs.of(observations, rng), top_of(observations)
    values = np.where(pairs.seen, pairs.values, known(pairs.rows, pairs.cols))
    pairs = replace(pairs, values=values)
    scale = Scale() if top is None else Scale("fisher", top)
    return NoStructure.of(values[pairs.seen], pairs.true(~pairs.seen), scale=scale)


def top_of(observations: Observations) -> float | None:
    """The largest that an entry can be by a diagonal that is the same all along; None where it is not."""
    if not observations.definite or not observations.diagonal_seen:
        return None
    own = np.arange(observations.size)
    diagonal = observations.source.at(own, own).astype(np.float64)
    top = float(np.max(diagonal))
    level = np.all(np.abs(diagonal - top) <= REHEARSAL_LEVEL * top)  # False where one was not seen
    return top if top > 0 and level else None


def _further(observations: Observations, side: str, way: float) -> Observations:
    """The data with every limit moved into them."""
    limits = observations.limits
    end, sign = (limits.high, 1.0) if side == "below" else (limits.low, -1.0)
    moved = end + sign * way
    moved = moved if np.ndim(moved) == 0 else np.where(np.isinf(moved), -sign * np.inf, moved)
    return raised(observations, **{"least" if side == "below" else "most": moved}, spared=True)


def held_out(observations: Observations, rng: np.random.Generator) -> Level:
    """A tenth of the pairs hidden whatever they are, and whether they were seen."""
    pairs = _Pairs.of(observations, rng)
    known = pairs.alone(observations)
    pairs = pairs.narrowed(known.scale)
    out = rng.permutation(len(pairs.rows)) < HELD_OUT * len(pairs.rows)
    data = observations.without(pairs.rows[out], pairs.cols[out])
    rest = ~out & ~pairs.seen
    none = NoStructure.of(pairs.values[pairs.seen & ~out], pairs.true(rest), scale=known.scale)
    told = known.scale.narrowed((np.full(out.sum(), -np.inf), np.full(out.sum(), np.inf)))
    return Level(HELD_OUT, None, data, *pairs.some(out), told, pairs.true(out), none)


def hidden_side(observations: Observations) -> str | None:
    """On which side of a limit of their own all entries go unseen; None where that differs."""
    limits, said = observations.limits, observations.said
    if limits.gap is not None or limits.nothing or limits.chance is not False:
        return None
    if limits.side in ("below", "above"):
        return limits.side
    # A range in which all entries lie is no limit of what is seen.
    if said is None or said.entry_range is None:
        return None
    return {"above": "below", "below": "above"}.get(said.seen)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs off the diagonal that were seen, or are hidden because of their value: all of them, or a random few.

    Where the two ways round of a pair differ, each is taken by itself.
    """

    rows: Indices
    cols: Indices
    values: Floats
    ends: tuple[Floats, Floats]

    @classmethod
    def of(cls, observations: Observations, rng: np.random.Generator) -> _Pairs:
        n, shape = observations.size, observations.source.shape
        i, j = np.triu_indices(n, 1) if n * (n - 1) // 2 <= SCORED else rng.integers(0, n, (2, SCORED))
        i, j = i[i != j], j[i != j]
        forward, backward = (observations.source.at(*at).astype(np.float64) for at in ((i, j), (j, i)))
        two = np.abs(forward - backward) > REHEARSAL_SAME * np.abs(forward)
        if two.any():  # of measurements, each with its noise
            i, j = np.concatenate([i, j]), np.concatenate([j, i])
            values, known = np.concatenate([forward, backward]), observations.told_at(i, j)
            low, high = observations.limits.at(i, j, shape).hull
        else:
            values = np.where(np.isnan(forward), backward, forward)
            known = observations.told_at(i, j) | observations.told_at(j, i)
            (low, high), other = (observations.limits.at(a, b, shape).hull for a, b in ((i, j), (j, i)))
            # Of a pair both ways round are known: the narrower ends count.
            low, high = np.maximum(low, other[0]), np.minimum(high, other[1])
        known = (known & (np.isfinite(low) | np.isfinite(high))) | ~np.isnan(values)
        return cls(i[known], j[known], values[known], (low[known], high[known]))

    @property
    def seen(self) -> Bools:
        return ~np.isnan(self.values)

    def some(self, which: Bools) -> tuple[Indices, Indices, Floats]:
        return self.rows[which], self.cols[which], self.values[which]

    def true(self, which: Bools) -> tuple[Floats, Floats]:
        return self.ends[0][which], self.ends[1][which]

    def alone(self, observations: Observations) -> NoStructure:
        """One distribution for all of them, on the scale that their diagonal and fully seen blocks allow."""
        seen, top = self.seen, top_of(observations)
        ranged = observations.said is not None and observations.said.entry_range is not None  # then it is known
        positive = top is not None and not ranged and divisible(observations, top, np.random.default_rng(0))
        return NoStructure.likeliest(self.values[seen], self.true(~seen), top, observations.size, positive=positive)

    def narrowed(self, scale: Scale) -> _Pairs:
        """The same, with ends that do not leave the range of a scale."""
        return replace(self, ends=scale.narrowed(self.ends))

    def moved(self, which: Bools, side: str, way: float) -> tuple[Floats, Floats]:
        """The ends of some pairs, with the one that hides them further in the data."""
        low, high = self.true(which)
        return (low, high + way) if side == "below" else (low - way, high)
