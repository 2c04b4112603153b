"""What each column of a table is like by itself: a normal distribution, or a skew one, of which the limits are known.

x = c + s (e^{az} − 1)/a with z standard normal: c the median, s the spread there, and a the skewness. For a = 0 that is
c + s z, and its likelihood with limits that of Tobin; for s = a c it is the lognormal distribution. A column whose seen
part has a long tail on the far side of its limit has a short one on the near side, and a normal distribution would
fill what was not seen with values far beyond anything that was there. In z every column is standard normal, and what
is found there is carried back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr
from scipy.stats import skew as skewness

from unrelu._old.base.arrays import Array, Bools, Floats
from unrelu._old.base.tolerances import MARGINS_COMPARED, MARGINS_FITTED, MARGINS_SUPPORT
from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.model.losses.tails import beside, inside

__all__ = ["Margins"]

# Skewnesses that are tried; their mean by likelihood is taken, and by a normal prior that prefers small ones.
SKEWS = np.array([0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5])
PRIOR = 4.0
# Which share of the columns is skew at all is learned from all of them, between these, in so many rounds.
FEW_SKEW, MANY_SKEW, ROUNDS = 0.02, 0.98, 50
# A mean below this is none.
LEAST_SKEW = 0.01
# The cost of what cannot be; an infinite one could not be compared with itself.
NEVER = float(np.finfo(np.float64).max)
# How far centre and log scale go at first, in units of the spread.
STEP = 0.2


@dataclass(frozen=True, eq=False)
class Margins:
    """x = centre + scale (e^{skew z} − 1)/skew, column by column; skew < 0 for a long tail below.

    Attributes
    ----------
    centre, scale, skew : ndarray of shape (n,)

    Examples
    --------
    Normal values of which those below −0.5 went unseen: their mean and deviation are found all the same.

    >>> x = np.random.default_rng(0).standard_normal((2000, 1)) * 2 + 1
    >>> cells = Measured(np.where(x >= -0.5, x, np.nan), Ends((np.full(x.shape, -np.inf), np.full(x.shape, -0.5))),
    ...                  np.zeros(x.shape, bool))
    >>> margins = Margins.of(cells, skewed=False)
    >>> margins.centre.round(1).tolist(), margins.scale.round(1).tolist()
    ([0.9], [2.0])
    """

    centre: Floats
    scale: Floats
    skew: Floats

    @classmethod
    def of(cls, cells: Measured, *, skewed: bool = True, log: bool = False) -> Margins:
        """By likelihood, from what was seen and between which ends the unseen lie.

        ``log``: the logarithms are normal. Every column must hold three different values at least.
        """
        columns = [_Column.of(cells, j, log=log) for j in range(cells.shape[1])]
        sizes = _skews(columns) if skewed and not log else np.zeros(len(columns))
        fits = [column.fitted(float(size)) for column, size in zip(columns, sizes, strict=True)]
        found = np.array(fits).reshape(-1, 3).T
        if log:
            centre = np.exp(found[0])
            return cls(centre, centre * found[1], found[1])
        return cls(found[0], found[1], found[2])

    @classmethod
    def plain(cls, scale: Floats) -> Margins:
        """No more than other units."""
        nothing = np.zeros(len(scale))
        return cls(nothing, np.asarray(scale, np.float64), nothing)

    def part(self, cols: Any) -> Margins:
        """Those of some columns."""
        return Margins(self.centre[cols], self.scale[cols], self.skew[cols])

    def where(self, mine: Bools, other: Margins) -> Margins:
        """These where it is true, others elsewhere."""
        pairs = (self.centre, other.centre), (self.scale, other.scale), (self.skew, other.skew)
        return Margins(*(np.where(mine, one, two) for one, two in pairs))

    def _stretch(self, x: Any) -> Array:
        """1 + skew (x − centre)/scale, no less than a number that stands for the end of what may be."""
        stretch: Array = np.maximum(1 + self.skew * (x - self.centre) / self.scale, MARGINS_SUPPORT)
        return stretch

    def forward(self, x: Any) -> Array:
        """From x to z; infinite ends stay."""
        with np.errstate(invalid="ignore", over="ignore"):
            z = np.where(self.skew == 0, (x - self.centre) / self.scale, np.log(self._stretch(x)) / _or_one(self.skew))
        standard: Array = np.where(np.isinf(x), x, z)
        return standard

    def log_slope(self, x: Any) -> Array:
        """Log dz/dx."""
        slope: Array = -np.log(self.scale) - np.log(self._stretch(x))
        return slope

    def backward(self, z: Any) -> Array:
        """From z to x; infinite ends stay."""
        with np.errstate(over="ignore", invalid="ignore"):
            stretched = np.where(self.skew == 0, z, np.expm1(self.skew * z) / _or_one(self.skew))
        x: Array = np.where(np.isinf(z), z, self.centre + self.scale * stretched)
        return x

    def ends(self, ends: Ends) -> Ends:
        """Those of z."""
        gap = None if ends.gap is None else (self.forward(ends.gap[0]), self.forward(ends.gap[1]))
        return Ends((self.forward(ends[0]), self.forward(ends[1])), gap)

    def standard(self, cells: Measured) -> Measured:
        """The same cells in z."""
        return Measured(self.forward(cells.values).astype(np.float64), self.ends(cells.ends), cells.silent)

    def expectation(self, mean: Array, sigma: Array, ends: Ends) -> Array:
        """Of x, where z is normal and lies between ends: E e^{az} = e^{am + a²σ²/2} P(m + aσ²)/P(m)."""
        shift = self.skew * sigma
        here, there = _lying(mean, sigma, ends), _lying(mean + shift * sigma, sigma, ends)
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.expm1(self.skew * mean + shift**2 / 2 + there[0] - here[0])
        stretched = np.where(self.skew == 0, mean - sigma * here[1], grown / _or_one(self.skew))
        x: Array = self.centre + self.scale * stretched
        return x


def _or_one(skew: Floats) -> Floats:
    return np.where(skew == 0, 1.0, skew)


def _lying(mean: Any, sigma: Any, ends: Ends) -> tuple[Array, ...]:
    """Log of the probability to lie between ends, and what goes with it."""
    low, high, *gap = ((end - mean) / sigma for end in (*ends, *(ends.gap or ())))
    return beside(low, high, *gap) if gap else inside(low, high)


def _skews(columns: list[_Column]) -> Floats:
    """The mean size of each column's skewness, given how many columns show one."""
    likely = -np.array([column.costs() for column in columns])
    among = np.exp(-PRIOR * SKEWS[1:] ** 2)
    among, share = among / among.sum(), 0.5
    for _ in range(ROUNDS):
        prior = np.concatenate([[1 - share], share * among])
        weights = np.exp(likely - likely.max(axis=1, keepdims=True)) * prior
        weights /= weights.sum(axis=1, keepdims=True)
        share = float(np.clip(np.mean(1 - weights[:, 0]), FEW_SKEW, MANY_SKEW))
    means: Floats = weights @ SKEWS
    return means


@dataclass(frozen=True, eq=False)
class _Column:
    """Seen values in units of their own spread, different ends of the unseen with how often they occur."""

    values: Floats
    ends: tuple[Floats, ...]
    times: Floats
    middle: float
    spread: float

    @classmethod
    def of(cls, cells: Measured, j: int, *, log: bool) -> _Column:
        values = cells.values[cells.seen[:, j], j]
        hidden = cells.limited[:, j]
        ends = np.array([end[hidden, j] for end in (*cells.ends, *(cells.ends.gap or ()))])
        if log:
            values, ends = np.log(values), np.log(np.maximum(ends, 0), where=ends > 0, out=np.full(ends.shape, -np.inf))
        different, times = np.unique(ends, axis=1, return_counts=True)
        unit = 2.0 ** np.frexp(np.abs(values).max(initial=0.0))[1]  # whose squares no number is too large or small for
        middle, spread = unit * float(np.mean(values / unit)), unit * float(np.std(values / unit))
        return cls(
            (values - middle) / spread, tuple((different - middle) / spread), times.astype(np.float64), middle, spread
        )

    @property
    def side(self) -> float:
        """1 if a long tail can only be above, where no limit is; −1 if below."""
        low, high = self.ends[:2]
        if self.times.size and np.isinf(low).all() and np.isfinite(high).all():
            return 1.0
        if self.times.size and np.isfinite(low).all() and np.isinf(high).all():
            return -1.0
        return float(np.sign(skewness(self.values))) or 1.0

    def costs(self) -> Floats:
        """−log of the likelihood of each skewness, at the centre and scale that are best for it."""
        at, costs = np.zeros(2), np.empty(len(SKEWS))
        for k, size in enumerate(SKEWS):
            at, costs[k] = self._at(self.side * size, at, MARGINS_COMPARED)
        return costs

    def fitted(self, size: float) -> tuple[float, float, float]:
        """(centre, scale, skew) in the units of the data, for a size of the skewness."""
        skew = self.side * size if size >= LEAST_SKEW else 0.0
        at, _ = self._at(0.0, np.zeros(2), MARGINS_COMPARED)
        at, _ = self._at(skew, at, MARGINS_FITTED)
        return self.middle + self.spread * float(at[0]), self.spread * float(np.exp(at[1])), skew

    def _at(self, skew: float, start: Floats, sharp: float) -> tuple[Floats, float]:
        """Centre and log scale of a given skewness, and −log of their likelihood."""
        simplex = start + STEP * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        options = dict(xatol=sharp, fatol=sharp, initial_simplex=simplex, maxiter=1000)
        found = minimize(self._cost, start, (skew,), "Nelder-Mead", options=options)
        return found.x, float(found.fun)

    def _cost(self, at: Floats, skew: float) -> float:
        centre, scale = at[0], np.exp(at[1])
        z = (self.values - centre) / scale
        cost = z.size * at[1]
        ends = [(end - centre) / scale for end in self.ends]
        if skew:
            stretch = 1 + skew * z
            if stretch.min() <= MARGINS_SUPPORT:
                return NEVER
            logs = np.log(stretch)
            z, cost = logs / skew, cost + logs.sum()
            ends = [
                np.where(np.isinf(end), end, np.log(np.maximum(1 + skew * end, MARGINS_SUPPORT)) / skew) for end in ends
            ]
        cost += z @ z / 2
        if self.times.size:
            low, high, *gap = ends
            one_sided = not gap and np.isneginf(low).all()
            log = log_ndtr(high) if one_sided else _lying(0.0, 1.0, Ends((low, high), tuple(gap) or None))[0]
            cost -= self.times @ log
        return float(cost) if np.isfinite(cost) else NEVER
