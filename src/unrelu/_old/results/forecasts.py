"""What a completion says of an entry that was not seen, with what is known of its limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsed import Rehearsal
from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.base.errors import unknown_name
from unrelu._old.base.tolerances import FORECASTS_ROUNDING
from unrelu._old.data.limits import Ends
from unrelu._old.data.observations import Observations
from unrelu._old.model.predictive import Predictive
from unrelu._old.uncertainty.error_bars import ErrorBars
from unrelu._old.uncertainty.noise import level_checked

__all__ = [
    "blank",
    "expected",
    "fill",
    "forecast",
    "held",
    "limits_of",
    "noise_level",
    "predicted",
    "predicted_by_rehearsal",
]

# Rows that are filled together.
BAND = 256
# An entry that the data leave open is filled in no further out than so many of all entries are.
OPEN = 0.95
# Of its width, by which an interval misses the end of a range and is taken to reach it.
NEARLY = 0.05
# From fits, and between which numbers each entry lies, to what is expected of it.
Expectation = Callable[[Array, tuple[Floats, Floats]], Array]


class _Fit(Protocol):
    """What is known of a fit."""

    @property
    def sigma(self) -> float | None: ...

    @property
    def residual(self) -> float: ...

    @property
    def seen(self) -> tuple[int, float]: ...

    @property
    def factor(self) -> Array: ...


def blank(undetermined: Any) -> bool:
    """Whether entries that the data leave open are to be left out; they may be kept."""
    if undetermined not in ("keep", "nan"):
        raise unknown_name("undetermined", undetermined, ["keep", "nan"])
    return bool(undetermined == "nan")


def noise_level(completion: _Fit) -> float:
    """Of the seen entries around the fit: that of its likelihood, or what the squares leave; 0 for rounding."""
    count, norm = completion.seen
    rms = norm / np.sqrt(count) if count else 0.0
    sigma = completion.residual * rms if completion.sigma is None else completion.sigma
    return (
        float(sigma) if np.isfinite(sigma) and sigma > FORECASTS_ROUNDING[completion.factor.dtype.name] * rms else 0.0
    )


def expected(fit: Array, ends: tuple[Floats, Floats], sigma: float) -> Array:
    """The expectation of entries around their fits, given that they lie between their ends; never beyond these."""
    low, high = ends
    limited = np.isfinite(low) | np.isfinite(high)
    found = np.array(fit)
    if not limited.any():
        return found
    within = Ends((low[limited], high[limited]))
    if sigma > 0:
        found[limited] = Predictive(fit[limited].astype(np.float64), sigma, within).expectation()
    else:
        found[limited] = np.clip(fit[limited], *within)
    # Rounding to single precision must not lead beyond a limit.
    return np.clip(found, _rounded(low, fit.dtype, up=True), _rounded(high, fit.dtype, up=False))


def forecast(rehearsal: Rehearsal, fit: Array, ends: tuple[Floats, Floats], sigma: float) -> Array:
    """The same by a model that was rehearsed; ``sigma`` is the noise of its fit."""
    low, high = ends
    limited = np.isfinite(low) | np.isfinite(high)
    found = np.array(fit)
    if not rehearsal.extrapolates:
        found[...] = rehearsal.none.centre
    if limited.any():
        within = low[limited], high[limited]
        found[limited] = rehearsal.expectation(fit[limited].astype(np.float64), within, sigma)
    return np.clip(found, _rounded(low, fit.dtype, up=True), _rounded(high, fit.dtype, up=False))


def held(fit: Array, ends: tuple[Floats, Floats], known: NoStructure) -> Array:
    """The fits of entries that the data leave open, no further out than 95 % of all entries are.

    Such a fit is only one of many places, and may be one where hardly any entry is.
    """
    low, high = (end.astype(fit.dtype) for end in known.given(ends).interval(OPEN))
    return np.clip(fit, low, high)


def _rounded(end: Floats, dtype: Any, *, up: bool) -> Array:
    """The nearest number of a precision that is not beyond."""
    near = end.astype(dtype)
    off = (near < end) if up else (near > end)
    return np.where(off, np.nextafter(near, dtype.type(np.inf if up else -np.inf)), near)


def limits_of(observations: Observations, i: Indices, j: Indices) -> tuple[Floats, Floats]:
    """Between which the entries (i[k], j[k]) lie, if they were not seen: by what absence says, both ways round."""
    low, high = np.full(len(i), -np.inf), np.full(len(i), np.inf)
    limits, shape = observations.limits, observations.source.shape
    for a, b in ((i, j), (j, i)):
        told = observations.told_at(a, b)
        ends = limits.at(a, b, shape).hull
        low = np.where(told, np.maximum(low, ends[0]), low)
        high = np.where(told, np.minimum(high, ends[1]), high)
    return low, high


def fill(result: Array, observations: Observations, expectation: Expectation, *, both_ways: bool) -> None:
    """Write what was seen into a fit, and for what went unseen because of its value its expectation.

    ``expectation`` finds that from fits and between which numbers they lie. ``both_ways``: what was seen one way round
    is known the other way round too. A table stands off the diagonal of its observations.
    """
    cut, size = observations.source.cut or 0, observations.size
    everyone = np.arange(cut, size)
    for start in range(0, len(result), BAND):
        rows = slice(start, min(start + BAND, len(result)))
        if not observations.limits.nothing:
            ends = observations.bounds(np.arange(size)[rows], everyone)
            ends = ends[0] * observations.unit, ends[1] * observations.unit
            if observations.limits.gap is not None:
                cols = slice(cut, size)
                told = observations.absent(rows, cols, observations.block(rows, cols))
                ends = _beside(observations.limits.of(rows, cols), told, ends, result[rows])
                if both_ways:
                    told = observations.absent(cols, rows, observations.block(cols, rows)).T
                    ends = _beside(observations.limits.of(cols, rows).turned, told, ends, result[rows])
            result[rows] = expectation(result[rows], ends)
        mirrored = [observations.block(slice(0, size), rows).T] if both_ways else []
        for known in (*mirrored, observations.block(rows, slice(cut, size))):
            seen = ~np.isnan(known)
            result[rows][seen] = known[seen]


def predicted_by_rehearsal(
    rehearsal: Rehearsal,
    fits: tuple[Floats, float],
    observations: Observations,
    places: tuple[Indices, Indices],
    level: float,
) -> tuple[Any, Any]:
    """The same by a model that was rehearsed; ``fits`` are those of the entries, and their noise.

    What is filled in always lies inside.
    """
    fit, sigma = fits
    level = level_checked(level)
    shape, (i, j) = places[0].shape, (index.ravel() for index in places)
    low, high = limits_of(observations, i, j)
    values = observations.source.at(i, j).astype(np.float64)
    values = np.where(np.isnan(values), observations.source.at(j, i), values)
    filled = forecast(rehearsal, fit.ravel(), (low, high), sigma).astype(np.float64)
    low, high = _reaching(*rehearsal.forecast(fit.ravel(), (low, high)).interval(level), rehearsal.range((low, high)))
    low, high = np.minimum(low, filled), np.maximum(high, filled)
    low, high = (np.where(np.isnan(values), end, values).reshape(shape)[()] for end in (low, high))
    return low, high


def _reaching(low: Floats, high: Floats, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Intervals that all but reach an end of a range reach it: there entries may pile up, as zeros do."""
    near = NEARLY * (high - low)
    ranged = np.isfinite(ends[0]) & np.isfinite(ends[1])
    least, most = ranged & (low - ends[0] <= near), ranged & (ends[1] - high <= near)
    return np.where(least, ends[0], low), np.where(most, ends[1], high)


def _beside(limits: Ends, told: Bools, ends: tuple[Floats, Floats], fit: Array) -> tuple[Floats, Floats]:
    """The same ends, and of two intervals beside a gap the one that is nearer to the fit: an average is in neither."""
    (low, high), gap = ends, limits.gap
    if gap is None:
        return ends
    first, last = gap
    there = told & (first <= last)
    below, above = there & (first > low), there & (last < high)
    below &= ~above | (fit - first <= last - fit)
    return np.where(above & ~below, np.maximum(low, last), low), np.where(below, np.minimum(high, first), high)


def predicted(
    bars: ErrorBars,
    observations: Observations,
    places: tuple[Indices, Indices],
    level: float,
    *,
    both_ways: bool,
    alone: NoStructure | None = None,
) -> tuple[Any, Any]:
    """(low, high) between which entries lie with a probability: around the fit by its error and the noise, in limits.

    Where the fit says nothing of an entry, what is known of any entry ``alone``, or all that its limits allow; where it
    was seen, its value.
    """
    level = level_checked(level)
    shape, (i, j) = places[0].shape, (index.ravel() for index in places)
    fit = bars.fit(i, j)
    wide = np.hypot(bars.standard_errors(i, j).astype(np.float64), bars.noise.sigma)
    low, high = limits_of(observations, i, j)
    values = observations.source.at(i, j).astype(np.float64)
    if both_ways:
        values = np.where(np.isnan(values), observations.source.at(j, i), values)
    if alone is not None and not np.isfinite(wide).all():
        none = ~np.isfinite(wide)
        ends = low[none], high[none]
        filled = held(fit[none], ends, alone)
        least, most = alone.given(ends).interval(level)
        low[none], high[none] = np.minimum(least, filled), np.maximum(most, filled)
    known = np.isfinite(wide) & (wide > 0)
    if known.any():
        found = Predictive(fit[known], wide[known], Ends((low[known], high[known])))
        low[known], high[known] = found.interval(level)
    sure = wide == 0
    low[sure] = high[sure] = np.clip(fit, low, high)[sure]
    low, high = (np.where(np.isnan(values), end, values).reshape(shape)[()] for end in (low, high))
    return low, high
