"""Raise the threshold and see: hide what lies just beyond it as the sensor would have, fit, and score the forecasts.

Random gaps test interpolation. What is missing here is missing because of its value, and whether a model reaches there
is tested by moving the limit into the data. Forecasts are scored by their likelihood given all that the fit was told:
a value that was hidden on purpose by its density, an entry hidden at the true limit by the probability to lie beyond
that, both given that it lies beyond the raised one. σ is the one that scores best: the error of a forecast, with
whatever the model gets wrong in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from unrelu.base.arrays import Bools, Floats, Indices
from unrelu.base.tolerances import REHEARSAL_ALONE, REHEARSAL_NARROWEST, REHEARSAL_SHARP, REHEARSAL_WIDEST
from unrelu.data.limits import Ends
from unrelu.data.observations import Observations
from unrelu.data.raised import raised
from unrelu.model.predictive import Predictive

__all__ = ["Level", "NoStructure", "levels"]

# Pairs that are scored at most.
SCORED = 200_000
# Shares of the seen pairs that are hidden on purpose.
SHARES = (0.25, 0.5)


@dataclass(frozen=True, eq=False)
class NoStructure:
    """One normal distribution for all entries: what anyone knows who knows nothing of rows and columns."""

    mean: float
    sigma: float

    @classmethod
    def of(cls, values: Floats, hidden: int, ends: tuple[float, float]) -> NoStructure:
        """By likelihood, from seen values and how many entries lie between the ends unseen."""
        centre, spread = float(np.mean(values)), max(float(np.std(values)), np.finfo(float).tiny)
        low, high = ((end - centre) / spread for end in ends)
        standard = (values - centre) / spread

        def cost(at: Floats) -> float:
            mean, sigma = at[0], np.exp(at[1])
            one = Predictive(np.array([mean]), sigma, Ends((-np.inf, np.inf)))
            seen = standard.size * (np.log(sigma)) + np.sum((standard - mean) ** 2) / (2 * sigma**2)
            return float(seen - hidden * one.log_probability(Ends((low, high)))[0])

        found = minimize(cost, np.zeros(2), method="Nelder-Mead", options=dict(xatol=REHEARSAL_ALONE)).x
        return cls(centre + spread * float(found[0]), spread * float(np.exp(found[1])))


@dataclass(frozen=True, eq=False)
class Level:
    """The data under a raised threshold, and the pairs by which forecasts are scored.

    Attributes
    ----------
    share : float
        Of the seen pairs that are hidden on purpose.
    limit : float
        The raised threshold.
    observations : Observations
        As they would have been seen.
    rows, cols : int ndarray
        Pairs that are hidden then.
    values : ndarray
        Theirs, NaN where they are hidden in any case.
    told, true : (low, high)
        Between which the fit is told that they lie, and between which those lie that are hidden in any case.
    """

    share: float
    limit: float
    observations: Observations
    rows: Indices
    cols: Indices
    values: Floats
    told: tuple[float, float]
    true: tuple[float, float]

    @cached_property
    def hidden(self) -> Bools:
        """Which are hidden in any case."""
        return np.isnan(self.values)

    def score(self, means: Floats, sigma: float) -> float:
        """Mean log-likelihood of all of them."""
        forecast = Predictive(means, sigma, Ends(self.told))
        known = np.where(self.hidden, 0.0, self.values)
        scores = np.where(self.hidden, forecast.log_probability(Ends(self.true)), forecast.log_density(known))
        return float(np.mean(scores))

    def best(self, means: Floats) -> tuple[float, float]:
        """The σ that scores best, and its score."""
        spread = max(float(np.nanstd(self.values)), np.finfo(float).tiny)
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

    For a symmetric matrix with one threshold for all; the diagonal, if it was seen, stays seen.
    """
    threshold, side = observations.threshold, observations.absence_says
    assert threshold is not None
    i, j = _pairs(observations, rng)
    forward, backward = observations.source.at(i, j).astype(np.float64), observations.source.at(j, i).astype(np.float64)
    values = np.where(np.isnan(forward), backward, forward)
    known = ~np.isnan(values) | (observations.told_at(i, j) | observations.told_at(j, i))
    i, j, values = i[known], j[known], values[known]
    seen = values[~np.isnan(values)]
    found = []
    for share in SHARES:
        below = side == "below"
        limit = float(np.quantile(seen, share if below else 1 - share))
        ends = {"least": limit} if below else {"most": limit}
        hidden = np.isnan(values) | (values < limit if below else values > limit)
        told, true = ((-np.inf, end) if below else (end, np.inf) for end in (limit, threshold))
        data = raised(observations, **ends, spared=True)
        found.append(Level(share, limit, data, i[hidden], j[hidden], values[hidden], told, true))
    return found


def _pairs(observations: Observations, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """All pairs off the diagonal, or a random few."""
    n = observations.size
    if n * (n - 1) // 2 <= SCORED:
        return np.triu_indices(n, 1)
    i, j = rng.integers(0, n, (2, SCORED))
    off = i != j
    return i[off], j[off]
