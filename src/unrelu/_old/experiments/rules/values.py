"""Claims of which every trial gives a number: printed means, slopes, ratios, quantities between bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from scipy.stats import t as student

from unrelu._old.experiments.base import Judgement
from unrelu._old.experiments.judging import printed, spread_text
from unrelu._old.experiments.rules.common import (
    BETTER,
    LEAST_VALUES,
    LEVEL,
    NOT_REPRODUCED,
    NOT_TESTED,
    REPRODUCED,
    SHARE,
    STALLED,
    WIDE,
    Told,
    about,
    few,
    is_finite,
    mean_interval,
    words,
)

__all__ = ["bounded", "fitted", "number", "ratio", "stalled"]


def _unfit(
    known: Mapping[str, Any], values: Sequence[float], told: Told, otherwise: str, *, positive: bool = False
) -> Judgement | None:
    """The verdict on a sample of which no mean can be taken: too small, or with values that are none."""
    least = told.get("least", LEAST_VALUES)
    if len(values) < least:
        return Judgement(**known, verdict=NOT_TESTED, why=words(few(len(values), least), told.get("why", "")))
    bad = sum(not is_finite(value) or (positive and value <= 0) for value in values)
    if bad:
        reason = f"{bad} of {len(values)} values are not finite" + (" and positive" if positive else "")
        return Judgement(**known, verdict=NOT_REPRODUCED, why=words(reason, otherwise))
    return None


def _measured(values: Sequence[float], told: Told) -> str:
    case = told.get("case", "")
    return spread_text([value for value in values if is_finite(value)]) + (f" ({case})" if case else "")


def number(key: str, values: Sequence[float], note: str = "", **told: Unpack[Told]) -> Judgement:
    """A printed mean: reproduced if Welch's 95 % t-interval for the difference of the means (the printed deviation with
    its number of trials, the measured one with its own) holds zero, or if they differ by at most 5 %; not reproduced
    otherwise, or if a value is not finite. Not tested with fewer than 5 values, or if the interval holds zero but is
    wider than half the printed mean on either side.

    Examples
    --------
    >>> key = "init/0.0001/tailored/gamma"
    >>> number(key, [4.4e-5, 4.5e-5]).why
    '2 trials where 5 are needed'
    >>> number(key, [4.3e-5, 4.4e-5, 4.4e-5, 4.5e-5, 4.4e-5]).verdict, number(key, [8.8e-5] * 5).verdict
    ('reproduced', 'not reproduced')
    """
    entry = printed()["numbers"][key]
    value = float(entry["value"])
    known = {**about(key, "number", told), "measured": _measured(values, told)}
    unfit = _unfit(known, values, told, note)
    if unfit is not None:
        return unfit
    mean, margin, allowed = float(np.mean(values)), _welch_margin(values, entry), SHARE * abs(value)
    apart = abs(mean - value)
    if apart <= margin and margin > max(WIDE * abs(value), allowed):
        why = f"the difference of the means is known to ±{margin:.2g} only"
        return Judgement(**known, verdict=NOT_TESTED, why=words(why, note))
    if apart <= max(margin, allowed):
        return Judgement(**known, verdict=REPRODUCED, why=note)
    why = f"the measured mean is {f'{mean / value:.3g} times the printed one' if value else f'{mean:.3g}'}"
    return Judgement(**known, verdict=NOT_REPRODUCED, why=words(why, note, entry.get("note", "")))


def _welch_margin(values: Sequence[float], entry: Mapping[str, Any]) -> float:
    """Half the width of Welch's interval for the difference of the printed mean and the measured one."""
    own = float(np.var(values, ddof=1)) / len(values)
    trials = entry.get("trials", 1)
    theirs = entry.get("spread", 0.0) ** 2 / trials
    if own + theirs == 0:
        return 0.0
    part = own / (own + theirs)  # squares of the variances themselves may overflow
    freedom = 1 / (part**2 / (len(values) - 1) + ((1 - part) ** 2 / (trials - 1) if trials > 1 else 0.0))
    return float(student.ppf((1 + LEVEL) / 2, freedom) * np.sqrt(own + theirs))


def stalled(key: str, values: Sequence[float], note: str = "", **told: Unpack[Told]) -> Judgement:
    """A printed gradient norm that says only where runs were cut off: reproduced if the mean is within ten times the
    printed mean or deviation, whichever is larger; better if it is below a tenth of the printed mean. Not tested with
    fewer than 5 values.

    Examples
    --------
    >>> key = "init/0/random-imputation/alpha"
    >>> [stalled(key, [value] * 5).verdict for value in (1e-6, 0.01, 5.0)], stalled(key, [1e-6]).verdict
    (['better', 'reproduced', 'not reproduced'], 'not tested')
    """
    entry = printed()["numbers"][key]
    value, spread = float(entry["value"]), float(entry.get("spread", 0.0))
    known = {**about(key, "stalled", told), "measured": _measured(values, told)}
    unfit = _unfit(known, values, told, note)
    if unfit is not None:
        return unfit
    mean = float(np.mean(values))
    if min(values) < 0:
        return Judgement(**known, verdict=NOT_REPRODUCED, why=words("a norm below zero is none", note))
    if mean < value / STALLED:
        return Judgement(**known, verdict=BETTER, why=words("the runs went further before they ended", note))
    if mean <= STALLED * max(value, spread):
        return Judgement(**known, verdict=REPRODUCED, why=note)
    why = f"the measured mean is {mean / value:.3g} times the printed one"
    return Judgement(**known, verdict=NOT_REPRODUCED, why=words(why, note))


def fitted(
    key: str, estimates: Sequence[float], note: str = "", *, what: str = "slope", **told: Unpack[Told]
) -> Judgement:
    """A printed slope, power, share or rank, of which every trial (or every group of them) gives an estimate:
    reproduced if the 95 % t-interval for their mean lies within the tolerance that the data file states, not reproduced
    if it lies outside, not tested if it reaches over the tolerance or if there are fewer than 5 estimates.

    Examples
    --------
    >>> fitted("noise/slope", [0.99, 1.0, 1.01, 1.0, 1.0]).verdict, fitted("noise/slope", [1.3] * 5).verdict
    ('reproduced', 'not reproduced')
    >>> fitted("noise/slope", [0.5, 1.5, 1.0, 0.7, 1.3]).verdict, fitted("noise/slope", [1.0]).verdict
    ('not tested', 'not tested')
    """
    entry = printed()["numbers"][key]
    value, tolerance = float(entry["value"]), float(entry["tolerance"])
    known = {**about(key, "fitted", told), "measured": _measured(estimates, told)}
    known["printed"] += f" (tolerance {tolerance:g})"
    unfit = _unfit(known, estimates, told, note)
    if unfit is not None:
        return unfit
    low, high = mean_interval(estimates)
    known["measured"] += f", {what} {low:.3g} to {high:.3g}"
    otherwise = words(note, entry.get("note", ""))
    return _between(known, (low, high), (value - tolerance, value + tolerance), what, otherwise, {"why": note})


def ratio(
    key: str, ratios: Sequence[float], low: float, high: float, measured: str = "", **told: Unpack[Told]
) -> Judgement:
    """Faster, as fast, comparable: of every matrix the ratio of two methods is taken. Reproduced if the 95 % t-interval
    for the geometric mean of these ratios lies between the bounds that the claim's words stand for, not reproduced if
    it lies outside, not tested if it reaches over a bound or if there are fewer than 5 matrices. "As fast" and
    "similar" is within a factor of two, "slightly faster" 1 to 2 times, "substantially faster" 5 times or more,
    "comparable" errors at most 10 times as large.

    Examples
    --------
    >>> [ratio("methods/pam", [r, r, r, r, 1.1 * r], 1, 2).verdict for r in (1.5, 12.0)]
    ['reproduced', 'not reproduced']
    >>> ratio("methods/pam", [0.5, 1.5, 2.0, 1.9, 1.2], 1, 2).verdict, ratio("methods/pam", [1.5], 1, 2).verdict
    ('not tested', 'not tested')
    """
    known = {**about(key, "ratio", told), "measured": measured or "nothing"}
    otherwise = words(told.get("otherwise", ""), told.get("why", ""))
    unfit = _unfit(known, ratios, told, otherwise, positive=True)
    if unfit is not None:
        return unfit
    logs = [math.log(value) for value in ratios]
    ends = mean_interval(logs)
    first, last = math.exp(ends[0]), math.exp(ends[1])
    middle = math.exp(float(np.mean(logs)))
    known["measured"] = words(measured, f"ratio {middle:.3g} ({first:.2g} to {last:.2g})")
    return _between(known, (first, last), (low, high), "ratio", otherwise, told)


def bounded(
    key: str, values: Sequence[float], low: float, high: float, measured: str = "", **told: Unpack[Told]
) -> Judgement:
    """A quantity of which the claim's words say between which bounds it lies: reproduced if the 95 % t-interval for its
    mean lies between them, not reproduced if it lies outside, not tested if it reaches over one or if there are fewer
    than 5 values. The bounds stand in what was measured.

    Examples
    --------
    >>> bounded("threshold/share", [0.5, 0.51, 0.5, 0.5, 0.49], 0.4, 0.6).verdict
    'reproduced'
    >>> bounded("threshold/share", [0.1] * 5, 0.4, 0.6).verdict, bounded("threshold/share", [], 0, 1).verdict
    ('not reproduced', 'not tested')
    """
    known = {**about(key, "bounded", told), "measured": measured or "nothing"}
    otherwise = words(told.get("otherwise", ""), told.get("why", ""))
    unfit = _unfit(known, values, told, otherwise)
    if unfit is not None:
        return unfit
    ends = mean_interval(values)
    known["measured"] = words(measured, f"mean {ends[0]:.3g} to {ends[1]:.3g}; asked {low:g} to {high:g}")
    return _between(known, ends, (low, high), "mean", otherwise, told)


def _between(
    known: Mapping[str, Any],
    interval: tuple[float, float],
    bounds: tuple[float, float],
    what: str,
    otherwise: str,
    told: Told,
) -> Judgement:
    """The verdict on an interval that should lie between two bounds."""
    (first, last), (low, high), why = interval, bounds, told.get("why", "")
    if low <= first and last <= high:
        return Judgement(**known, verdict=BETTER if told.get("better") else REPRODUCED, why=why)
    side = f"{low:.3g} at least" if last < low else f"{high:.3g} at most"
    if last < low or first > high:
        return Judgement(**known, verdict=NOT_REPRODUCED, why=otherwise or f"the {what} should be {side}")
    reason = f"the interval for the {what} reaches over {low if first < low else high:.3g}"
    return Judgement(**known, verdict=NOT_TESTED, why=words(reason, why))
