"""What an entry is likely to be: a normal number around the fit, of which its limits are known.

An entry that went unseen below its limit is not around the fit but below the limit: its expectation, its intervals and
the score of a forecast are those of a truncated normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri, ndtri_exp

from unrelu._old.base.arrays import Floats
from unrelu._old.data.limits import Ends
from unrelu._old.model.losses.tails import beside, inside

__all__ = ["Predictive", "damped"]

HALF_LOG_TWO_PI = float(0.5 * np.log(2 * np.pi))
# Halvings of an interval of 80 standard deviations: down to rounding.
HALVINGS = 64
# Standard deviations beyond which nothing is looked for.
FAR = 40.0


@dataclass(frozen=True, eq=False)
class Predictive:
    """x = mean + sigma·ε with ε standard normal, given that it lies between its ends, and outside their gap.

    Attributes
    ----------
    mean : ndarray
        Around which it lies.
    sigma : float or ndarray
        How far.
    ends : Ends
        (low, high), ±∞ where there is none, each a number or an array that broadcasts; and the gap, if there is one.

    Examples
    --------
    >>> hidden = Predictive(np.array([0.0, 3.0]), 1.0, Ends((-np.inf, 0.0)))  # below 0
    >>> hidden.expectation().round(3).tolist()
    [-0.798, -0.283]
    >>> low, high = hidden.interval(0.9)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-1.96, -0.817], [-0.063, -0.016])
    """

    mean: Floats
    sigma: Any
    ends: Ends

    def _standard(self, ends: Ends) -> tuple[Any, ...]:
        """Log of the probability to lie between some ends, and what goes with it."""
        sigma = np.maximum(self.sigma, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):  # infinitely far is far
            low, high, *gap = ((np.asarray(end) - self.mean) / sigma for end in (*ends, *(ends.gap or ())))
        return beside(low, high, *gap) if gap else inside(low, high)

    def expectation(self) -> Floats:
        """Of x; never beyond its ends, though a gap may have it in its middle."""
        found: Floats = np.clip(self.mean - self.sigma * self._standard(self.ends)[1], *self.ends)
        return found

    def spread(self) -> Floats:
        """The standard deviation of x."""
        found: Floats = self.sigma * np.sqrt(np.maximum(1 - self._standard(self.ends)[2], 0))
        return found

    def log_density(self, x: Any) -> Floats:
        """Of values that lie between the ends."""
        with np.errstate(over="ignore"):  # infinitely far is far
            standard = (np.asarray(x) - self.mean) / self.sigma
            plain = -(standard**2) / 2 - HALF_LOG_TWO_PI - np.log(self.sigma)
        found: Floats = plain - self._standard(self.ends)[0]
        return found

    def log_probability(self, within: Ends) -> Floats:
        """To lie within narrower ends."""
        inner, outer = self._standard(within)[0], self._standard(self.ends)[0]
        # What is impossible to begin with stays so.
        outer = np.where(np.isneginf(inner), 0.0, outer)
        found: Floats = np.minimum(inner - outer, 0.0)
        return found

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """(low, high) with equal probabilities beyond them."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def quantile(self, share: float) -> Floats:
        """Below which x lies with this probability."""
        mean = np.asarray(self.mean, np.float64)
        low, high = (np.broadcast_to((np.asarray(end) - mean) / self.sigma, mean.shape) for end in self.ends)
        if self.ends.gap is None and np.isneginf(low).all():
            standard = ndtri_exp(np.log(share) + log_ndtr(high))
        elif self.ends.gap is None and np.isposinf(high).all():
            standard = -ndtri_exp(np.log1p(-share) + log_ndtr(-low))
        else:
            return self._searched(share)
        if np.isinf(low).all() and np.isinf(high).all():
            standard = np.full(mean.shape, ndtri(share))
        found: Floats = np.clip(mean + self.sigma * standard, *self.ends)
        return found

    def _searched(self, share: float) -> Floats:
        """By halving."""
        mean = np.asarray(self.mean, np.float64)
        reach = FAR * np.asarray(self.sigma)
        near = np.asarray(self.ends.nearest(mean))
        low, high = (np.broadcast_to(end, mean.shape) for end in self.ends)
        below, above = np.maximum(low, np.minimum(mean, near) - reach), np.minimum(high, np.maximum(mean, near) + reach)
        for _ in range(HALVINGS):
            middle = (below + above) / 2
            less = self.log_probability(Ends((self.ends[0], middle), self.ends.gap)) < np.log(share)
            below, above = np.where(less, middle, below), np.where(less, above, middle)
        found: Floats = (below + above) / 2
        return found


def damped(means: Floats, ends: tuple[Any, Any], side: str | None, damping: float) -> Floats:
    """Means that go only a share of their way beyond the limit at which entries go unseen.

    Examples
    --------
    >>> damped(np.array([-1.0, 0.5, 2.0]), (-np.inf, 1.0), "below", 0.5).tolist()
    [0.0, 0.75, 2.0]
    """
    if damping == 1 or side is None:
        return means
    limit = ends[1] if side == "below" else ends[0]
    beyond = (means < limit) if side == "below" else (means > limit)
    beyond &= np.isfinite(limit)
    with np.errstate(invalid="ignore"):  # where there is no limit
        found: Floats = np.where(beyond, limit + damping * (means - limit), means)
    return found
