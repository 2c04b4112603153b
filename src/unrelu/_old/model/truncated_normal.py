"""Normal numbers of which it is known where they lie: quantiles and random draws, exact far into the tails."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.data.limits import Ends
from unrelu._old.model.losses.tails import HALF_LOG_TWO_PI, beside, inside

__all__ = ["above", "draw_within", "expected_within", "quantile_within"]


def quantile_within(mean: Floats, sigma: Any, ends: Ends, share: Any) -> Floats:
    """Below which mean + sigma·ε lies with probability ``share``, given that it lies between its ends.

    Of two intervals beside a gap the lower has the smaller shares. All is done with logarithms of the lower tail,
    which has its digits however far out it is; what lies on the right is mirrored first.

    Parameters
    ----------
    mean, sigma, share : arrays that broadcast
    ends : Ends
        (low, high), ±∞ where there is none, and the gap if there is one.

    Examples
    --------
    >>> far = quantile_within(np.array([0.0, 50.0]), 1.0, Ends((40.0, np.inf)), 0.5)
    >>> far.round(4).tolist()  # forty standard deviations out, and well inside
    [40.0173, 50.0]
    >>> quantile_within(np.zeros(2), 1.0, Ends((-np.inf, np.inf), gap=(-1.0, 1.0)), np.array([0.25, 0.75])).round(3)
    array([-1.41,  1.41])
    """
    mean, sigma, share = np.broadcast_arrays(np.asarray(mean, np.float64), sigma, share)
    low, high = (np.broadcast_to(end, mean.shape) for end in ends)
    if ends.gap is not None:
        low, high, share = _one_side((mean, sigma, share), (low, high), ends.gap)
    with np.errstate(all="ignore"):  # infinitely far is far
        a, b = (low - mean) / sigma, (high - mean) / sigma
        mirrored = a + b > 0  # also where only the low end is finite; NaN, where none is, is not
        a, b = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
        lower = np.where(mirrored, 1 - share, share)
        log = np.logaddexp(log_ndtr(a) + np.log1p(-lower), log_ndtr(b) + np.log(lower))
        standard = ndtri_exp(np.minimum(log, 0.0))
    found: Floats = np.clip(mean + sigma * np.where(mirrored, -standard, standard), low, high)
    return found


def _one_side(numbers: tuple[Any, Any, Any], ends: tuple[Any, Any], gap: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Ends of the interval beside the gap that a share falls into, and its share of that."""
    (mean, sigma, share), (low, high) = numbers, ends
    first, last = (np.broadcast_to(end, mean.shape) for end in gap)
    there = (first <= last) & (last > low) & (first < high)
    with np.errstate(all="ignore"):
        least, until, since, most = ((end - mean) / sigma for end in (low, first, last, high))
        below = np.where(until > least, inside(least, np.maximum(until, least))[0], -np.inf)
        beyond = np.where(most > since, inside(np.minimum(since, most), most)[0], -np.inf)
        weight = np.exp(below - np.logaddexp(below, beyond))
        under = there & (share < weight)
        over = there & ~under
        scaled = np.where(under, share / weight, np.where(over, (share - weight) / (1 - weight), share))
    return np.where(over, last, low), np.where(under, first, high), np.clip(scaled, 0.0, 1.0)


def draw_within(mean: Floats, sigma: Any, ends: Ends, rng: np.random.Generator) -> Floats:
    """Random draws of mean + sigma·ε, given that they lie between their ends.

    A plain normal number that happens to lie there is one; in the place of the others exact ones are drawn.

    Examples
    --------
    >>> below = draw_within(np.full(5, 9.0), 1.0, Ends((-np.inf, 0.0)), np.random.default_rng(0))
    >>> bool((below <= 0).all() and (below > -1).all())  # nine standard deviations out, most lie near the end
    True
    """
    drawn: Floats = mean + sigma * rng.standard_normal(mean.shape)
    outside = ~_lies(drawn, ends)
    count = int(np.count_nonzero(outside))
    if count:
        low, high, *gap = (_at(end, outside, mean.shape) for end in (*ends, *(ends.gap or ())))
        spread = _at(sigma, outside, mean.shape)
        some = Ends((low, high), (gap[0], gap[1]) if gap else None)
        drawn[outside] = quantile_within(mean[outside], spread, some, 1 - rng.random(count))
    return drawn


def _at(numbers: Any, where: Bools, shape: tuple[int, ...]) -> Any:
    return numbers if np.ndim(numbers) == 0 else np.broadcast_to(numbers, shape)[where]


def _lies(values: Floats, ends: Ends) -> Bools:
    """Which values are between their ends, and outside their gap."""
    found: Bools = (values > ends[0]) & (values < ends[1])
    if ends.gap is not None:
        found &= (values < ends.gap[0]) | (values > ends.gap[1])
    return found


def expected_within(mean: Floats, sigma: Any, ends: Ends) -> Floats:
    """The expectation of mean + sigma·ε, given that it lies between its ends.

    Examples
    --------
    >>> expected_within(np.array([0.0]), 1.0, Ends((-np.inf, 0.0))).round(4).tolist()
    [-0.7979]
    """
    if ends.gap is None and np.all(np.isneginf(ends[0])):  # the usual case, in fewer passes
        with np.errstate(over="ignore"):
            z = (np.asarray(ends[1]) - mean) / sigma
            pull = np.exp(-(z * z) / 2 - HALF_LOG_TWO_PI - log_ndtr(z))
    else:
        pull = _standard(mean, sigma, ends)[1]
    found: Floats = np.clip(mean - sigma * pull, *ends)
    return found


def above(value: Any, mean: Floats, sigma: Any, ends: Ends) -> Floats:
    """The probability that mean + sigma·ε is above a value, given that it lies between its ends.

    Examples
    --------
    >>> above(1.0, np.array([1.0, 1.0]), 1.0, Ends((-np.inf, np.array([np.inf, 0.5])))).tolist()
    [0.5, 0.0]
    """
    whole = _standard(mean, sigma, ends)[0]
    low, high = np.maximum(ends[0], value), ends[1]
    part = _standard(mean, sigma, Ends((np.minimum(low, high), high), ends.gap))[0]
    with np.errstate(invalid="ignore"):
        found: Floats = np.where(low < high, np.exp(np.minimum(part - whole, 0.0)), 0.0)
    return found


def _standard(mean: Floats, sigma: Any, ends: Ends) -> tuple[Any, ...]:
    """Log of the probability to lie between some ends, and what goes with it."""
    with np.errstate(over="ignore"):
        low, high, *gap = ((np.asarray(end) - mean) / sigma for end in (*ends, *(ends.gap or ())))
    return beside(low, high, *gap) if gap else inside(low, high)
