"""What a completion says of entries that a detection curve hid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.base.tolerances import HIDDEN_SURE
from unrelu._old.data.observations import Observations
from unrelu._old.model.detection import DetectionCurve
from unrelu._old.model.hidden import Hidden
from unrelu._old.results.forecasts import noise_level
from unrelu._old.uncertainty.error_bars import ErrorBars
from unrelu._old.uncertainty.noise import level_checked

__all__ = ["fill_hidden", "predicted_hidden"]


def fill_hidden(result: Array, completion: Any, seen: Observations) -> Array:
    """Write what is expected of entries that went unseen by a curve; a wall is a limit, and was filled in already."""
    curve = completion.detection
    sigma = noise_level(completion)
    if curve is None or curve.certain or not sigma > 0:
        return result
    cut = seen.source.cut or 0
    rows, cols = (np.arange(len(result)), np.arange(cut, seen.size))
    hidden = _hidden(seen, *np.meshgrid(rows, cols, indexing="ij"), both_ways=completion.symmetric)
    hidden &= ~np.isnan(result)
    fits = result[hidden].astype(np.float64)
    result[hidden] = Hidden(fits, np.full(fits.shape, sigma), curve).expectation()
    return result


def _hidden(seen: Observations, i: Indices, j: Indices, *, both_ways: bool) -> Bools:
    """Which entries went unseen, and not for another reason that is known; the diagonal is none of them."""
    a, b = i.ravel(), j.ravel()
    there = seen.times_seen(a, b) > 0 if both_ways else seen.source.seen_at(a, b)
    unknown = seen.limits.unknown_at(a, b)
    there = there if unknown is None else there | unknown
    found: Bools = (~there & (a != b)).reshape(i.shape)
    return found


def predicted_hidden(
    curve: DetectionCurve,
    bars: ErrorBars,
    observations: Observations,
    places: tuple[Indices, Indices],
    level: float,
    *,
    both_ways: bool,
) -> tuple[Any, Any]:
    """(low, high) of entries with a probability: around the fit by its error and the noise, weighed by the curve.

    What is not known of the level widens the curve. Where the fit says nothing of an entry, nothing is known of it.
    """
    level = level_checked(level)
    shape, (i, j) = places[0].shape, (index.ravel() for index in places)
    fit = np.asarray(bars.fit(i, j), np.float64)
    wide = np.hypot(bars.standard_errors(i, j).astype(np.float64), bars.noise.sigma)
    low, high = np.full(len(i), -np.inf), np.full(len(i), np.inf)
    values = observations.source.at(i, j).astype(np.float64)
    if both_ways:
        values = np.where(np.isnan(values), observations.source.at(j, i), values)
    hidden = _hidden(observations, i, j, both_ways=both_ways)
    none = DetectionCurve(-np.inf)
    for which, one in ((hidden, curve.blurred), (~hidden, none)):
        some = which & np.isfinite(wide) & (wide > 0)
        if some.any() and one.before_noise:
            low[some], high[some] = _before_noise(fit[some], wide[some], bars.noise.sigma, one, level)
        elif some.any():
            low[some], high[some] = Hidden(fit[some], wide[some], one).interval(level)
    sure = wide == 0
    low[sure] = high[sure] = fit[sure]
    low, high = (np.where(np.isnan(values), end, values).reshape(shape)[()] for end in (low, high))
    return low, high


def _before_noise(fit: Floats, wide: Floats, sigma: float, curve: DetectionCurve, level: float) -> tuple[Any, Any]:
    """(low, high) where the value without its noise decided: that lies beyond the level, and its noise anywhere."""
    error = np.sqrt(np.maximum(wide**2 - sigma**2, (HIDDEN_SURE * sigma) ** 2))
    beyond = replace(curve, before_noise=False)
    low, high = Hidden(fit, error, beyond).interval(level)
    middle, half = (low + high) / 2, (high - low) / 2
    reach = np.hypot(half, sigma * float(norm.ppf((1 + level) / 2)))
    return middle - reach, middle + reach
