"""Whether a column has a limit: its seen values, how many are missing, and what other columns say of their rows.

Four stories are told of a column with gaps, each with its likelihood. (a) A limit at its least seen value: what is
missing lies below. (b) Its seen values are all there is to see, with a thin tail or a natural end: the missing ones are
lost by chance. (c) It ends at its least seen value by nature, with any shape above, and the missing ones are lost by
chance. (d) As (b), but lost the more often the lower other columns forecast them. By its values alone a column cannot
do better under (a) than under (c), only as well: then as many are missing as the shape of the seen ones says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, expit, gammaln, log_ndtr, polygamma

from unrelu._old.base.arrays import Array, Bools, Floats
from unrelu._old.base.tolerances.detection import WALLS_ARMIJO, WALLS_GAIN, WALLS_LEAST_STEP, WALLS_RIDGE

__all__ = ["Gapped", "Told", "told"]

# Logarithm of how much likelier a limit must be: at 3 up to 14 % of lognormal columns mislead, at 5 hardly any.
MARGIN = 5.0
# How much less likely the number that is missing may be than the best one: once in 70 a true limit is missed by it.
MISFIT = 3.0
# A limit must be better than a tail, where the missing ones depend on other columns.
BETTER_THAN_TAIL = 2.0
# Powers of positive values that may be normal; 0: their logarithm.
POWERS = (0.5, 0.25, 0.0)
# From so many middle halves of all values on 0 is too far away to be where values begin by nature.
FAR = 3.0
# Then logarithms of distances from a point so many middle halves below the least value may be normal.
BELOW = (0.03, 0.1, 0.3, 1.0)
# Fewer different values than this share of them: they were rounded.
ROUNDED = 0.5
# Steps of Newton's method, at most.
STEPS = 40
# Half of log 2π.
NORMAL = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Gapped:
    """A column with gaps, turned round where its values are seen below a limit.

    Attributes
    ----------
    values : ndarray
        Those that were seen.
    missing : int
        How many were not, and may lie beyond a limit.
    limit : float, optional
        Where a limit would be, if these are not all the values.
    """

    values: Floats
    missing: int
    limit: float | None = None

    @property
    def step(self) -> float:
        """Of values that were rounded; else 0."""
        distinct = np.unique(self.values)
        rounded = 1 < len(distinct) < ROUNDED * len(self.values)
        return float(np.min(np.diff(distinct))) if rounded else 0.0

    @property
    def least(self) -> float:
        """Where a limit would be: half a step below the least value that was rounded."""
        return float(self.values.min()) - self.step / 2 if self.limit is None else self.limit

    @property
    def half(self) -> float:
        """Width of the middle half."""
        return float(np.subtract(*np.quantile(self.values, [0.75, 0.25])))


@dataclass(frozen=True)
class Told:
    """Logarithms of how much likelier a limit is than each other story.

    Attributes
    ----------
    whole : float
        Than values that are all there is: (b), or (d) with forecasts.
    ended : float
        Than a natural end: (c).
    """

    whole: float
    ended: float

    @property
    def by_values(self) -> bool:
        """Whether a column shows a limit by itself."""
        return self.whole >= MARGIN and self.ended >= -MISFIT

    @property
    def by_others(self) -> bool:
        """Whether forecasts show it: of missing cells they are lower, and seen values do not thin out."""
        return self.ended >= MARGIN and self.whole >= BETTER_THAN_TAIL

    @property
    def denied(self) -> bool:
        """Whether forecasts speak against it: of missing cells they are as of the others."""
        return self.ended <= -MARGIN


@dataclass(frozen=True)
class _Scale:
    """Values, and the limit, as they may be normal; ``stretch`` is the logarithm of the density of the old scale."""

    values: Floats
    limit: float
    stretch: float


def told(column: Gapped, forecasts: tuple[Floats, Floats] | None = None) -> Told:
    """Compare the stories of a column; ``forecasts`` of its seen and of its missing values come from other columns.

    Examples
    --------
    >>> values = np.random.default_rng(0).standard_normal(400)
    >>> wall = told(Gapped(values[values >= -0.5], int((values < -0.5).sum())))
    >>> wall.whole > 5, wall.ended > -3
    (True, True)
    >>> told(Gapped(values[:300], 100)).whole < 0  # lost, whatever they were
    True
    """
    count = len(column.values)
    on = np.ones((count, 1)) if forecasts is None else np.column_stack([np.ones(count), forecasts[0]])
    gone = column.missing if forecasts is None else len(forecasts[1])
    off = np.ones((gone, 1)) if forecasts is None else np.column_stack([np.ones(gone), forecasts[1]])
    chance = _chance(count, gone)
    limit, ended, whole = [], [], []
    for scale in _scales(column):
        limit.append(scale.stretch + _censored(scale, on, off))
        ended.append(scale.stretch + _truncated(scale, on) + chance)
        whole.append(scale.stretch + _normal(scale.values, on))
    if forecasts is None:
        return Told(max(limit) - max(*whole, *_natural(column)) - chance, max(limit) - max(ended))
    return Told(max(limit) - max(whole) - _logistic(on, off), max(limit) - max(ended))


def _chance(seen: int, missing: int) -> float:
    share = missing / (seen + missing)
    return missing * float(np.log(share)) + seen * float(np.log1p(-share))


def _near_zero(column: Gapped) -> bool:
    """Whether values begin at 0 by nature, if they do anywhere."""
    return 0 < column.least <= FAR * column.half


def _scales(column: Gapped) -> Iterator[_Scale]:
    """As they are; powers of positive values; and, where 0 says nothing, logarithms from somewhere below the least."""
    values, least, half = column.values, column.least, column.half
    middle, count = float(np.median(values)), len(values)
    yield _Scale((values - middle) / half, (least - middle) / half, -count * float(np.log(half)))
    if least > 0 or values.max() < 0:
        sign = 1.0 if least > 0 else -1.0
        logs = np.log(sign * values)
        mean = float(logs.mean())
        for power in POWERS:  # in units of the geometric mean, where the stretch of any power is 1
            at, end = logs - mean, float(np.log(sign * least)) - mean
            yield _Scale(
                sign * (np.expm1(power * at) / power if power else at),
                sign * float(np.expm1(power * end) / power if power else end),
                -count * mean,
            )
    if not _near_zero(column):
        for below in BELOW:
            logs = np.log((values - least) / half + below)
            yield _Scale(logs, float(np.log(below)), -count * float(np.log(half)) - float(logs.sum()))


def _natural(column: Gapped) -> list[float]:
    """Log likelihoods of shapes with an end of their own: uniform; gamma from 0, or from below the least value."""
    values, count = column.values, len(column.values)
    uniform = -count * float(np.log(np.ptp(values) + column.step))
    if _near_zero(column):
        return [uniform, _gamma(values)]
    exponential = -count * float(np.log(values.mean() - column.least)) - count
    away = values - column.least
    return [uniform, exponential, *(_gamma(away + below * column.half) for below in BELOW)]


def _gamma(values: Floats) -> float:
    """Log likelihood of a gamma distribution at its best, whose shape is found by Newton's method."""
    mean, logs = float(values.mean()), np.log(values)
    gap = float(np.log(mean) - logs.mean())
    shape = (3 - gap + float(np.sqrt((gap - 3) ** 2 + 24 * gap))) / (12 * gap)
    for _ in range(4):
        shape -= (np.log(shape) - digamma(shape) - gap) / (1 / shape - polygamma(1, shape))
    density = (shape - 1) * logs.sum() - len(values) * (shape + shape * np.log(mean / shape) + gammaln(shape))
    return float(density)


def _normal(values: Floats, on: Array) -> float:
    rest = values - on @ np.linalg.lstsq(on, values, rcond=None)[0]
    return -0.5 * len(values) * (float(np.log(2 * np.pi * np.mean(rest**2))) + 1)


def _censored(scale: _Scale, on: Array, off: Array) -> float:
    """Log likelihood of a normal distribution whose values below the limit are missing, at its best."""
    return _climbed(scale.values, on, np.column_stack([-off, np.full(len(off), scale.limit)]), 1.0)


def _truncated(scale: _Scale, on: Array) -> float:
    """The same where nothing is told of how many are missing."""
    return _climbed(scale.values, on, np.column_stack([on, np.full(len(on), -scale.limit)]), -1.0)


def _climbed(values: Floats, on: Array, tails: Array, sign: float) -> float:
    """The maximum of Σ log density(values) + sign Σ log Φ(tails·p), where p is (coefficients, 1)/σ: it is concave."""
    residual = np.column_stack([on, -values])
    count = len(values)

    def height(at: Floats) -> float:
        if at[-1] <= 0:
            return -np.inf
        rest = residual @ at
        seen = count * float(np.log(at[-1])) - 0.5 * float(rest @ rest) - count * NORMAL
        return seen + sign * float(log_ndtr(tails @ at).sum())

    first = np.linalg.lstsq(on, values, rcond=None)[0]
    at = np.append(first, 1.0) / np.std(values - on @ first)
    best = height(at)
    for _ in range(STEPS):
        tail = tails @ at
        ratio = np.exp(-0.5 * tail**2 - NORMAL - log_ndtr(tail))
        slope = sign * (tails.T @ ratio) - residual.T @ (residual @ at)
        slope[-1] += count / at[-1]
        bend = residual.T @ residual + sign * (tails.T @ ((ratio * (tail + ratio))[:, None] * tails))
        bend[-1, -1] += count / at[-1] ** 2
        step = np.linalg.solve(bend + WALLS_RIDGE * np.trace(bend) * np.eye(len(at)), slope)
        gain, share = float(slope @ step), 1.0
        while share > WALLS_LEAST_STEP and not height(at + share * step) > best + WALLS_ARMIJO * share * gain:
            share /= 2
        if gain < WALLS_GAIN or share <= WALLS_LEAST_STEP:
            break
        at = at + share * step
        best = height(at)
    return best


def _logistic(on: Array, off: Array) -> float:
    """Log likelihood of which are missing, if their chance depends on the forecast."""
    every = np.concatenate([on, off])
    gone: Bools = np.arange(len(every)) >= len(on)
    at = np.zeros(every.shape[1])
    for _ in range(STEPS):
        chance = expit(every @ at)
        slope = every.T @ (gone - chance)
        bend = every.T @ ((chance * (1 - chance))[:, None] * every)
        step = np.linalg.solve(bend + WALLS_RIDGE * (1 + np.trace(bend)) * np.eye(len(at)), slope)
        at = at + step
        if float(slope @ step) < WALLS_GAIN:
            break
    return float(-np.logaddexp(0, np.where(gone, -1.0, 1.0) * (every @ at)).sum())
