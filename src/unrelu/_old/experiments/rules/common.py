"""What all rules share: the verdicts, how much evidence each asks for, and what the data file says of a claim."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from scipy.stats import t as student

from unrelu._old.experiments.judging import printed

__all__ = [
    "BETTER",
    "DEPENDS",
    "LEAST_ALWAYS",
    "LEAST_GENERALLY",
    "LEAST_VALUES",
    "LEVEL",
    "NOT_REPRODUCED",
    "NOT_TESTED",
    "POWER",
    "REPRODUCED",
    "SHARE",
    "STALLED",
    "VERDICTS",
    "WIDE",
    "Told",
    "about",
    "few",
    "is_finite",
    "mean_interval",
    "words",
]

REPRODUCED, BETTER, NOT_REPRODUCED = "reproduced", "better", "not reproduced"
NOT_TESTED, DEPENDS = "not tested", "depends on the setting"
VERDICTS = (REPRODUCED, BETTER, NOT_REPRODUCED, DEPENDS, NOT_TESTED)

# Intervals are 95 % intervals throughout.
LEVEL = 0.95
# "Always" and "never" need so many trials: with none against, the rate is then 83 % at least.
LEAST_ALWAYS = 20
# "Generally" means more often than not; below this a coin that always falls on one side says little.
LEAST_GENERALLY = 10
# Fewer values than these have no deviation to speak of.
LEAST_VALUES = 5
# Two means that differ by no more than this share of the printed one are the same for every purpose of the paper.
SHARE = 0.05
# An interval wider than this share of the printed mean on either side would agree with almost anything.
WIDE = 0.5
# A gradient norm that says only where a run was cut off is compared to within this factor.
STALLED = 10.0
# A sample speaks for a stated probability if the interval for the rate reaches no further below it.
POWER = 0.1
# A value beyond this comes from a run that diverged, and is treated as one that is not finite.
DIVERGED = 1e100


class Told(TypedDict, total=False):
    """What may be told to a rule beside the sample.

    ``otherwise`` is why the claim does not hold, if it does not; ``why`` is what may be said even if it does. ``case``
    tells several judgements of one claim apart, ``rests`` names the settings that the paper does not state. ``least``
    asks for more trials than the rule does, ``better`` says that a claim that holds is more than the paper says.
    """

    otherwise: str
    why: str
    case: str
    rests: Sequence[str]
    least: int
    better: bool


def about(key: str, rule: str, told: Told) -> dict[str, Any]:
    """What the data file says of a claim or number, as parts of a judgement."""
    numbers, claims = printed()["numbers"], printed()["claims"]
    prose = key in claims
    entry = claims[key] if prose else numbers[key]
    return {
        "key": key,
        "claim": entry.get("claim", entry["where"]),
        "where": entry["where"],
        "printed": entry["claim"] if prose else _shown(entry),
        "prose": prose,
        "case": told.get("case", ""),
        "rule": rule,
        "rests": tuple(told.get("rests", ())),
        "ours": bool(entry.get("ours", False)),
    }


def _shown(entry: Mapping[str, Any]) -> str:
    value, spread = entry["value"], entry.get("spread", 0.0)
    return f"{value:.3g} ± {spread:.2g}" if spread else f"{value:.3g}"


def words(*parts: str) -> str:
    """Sentences, those that say nothing left out."""
    return ". ".join(part for part in parts if part)


def few(total: int, least: int) -> str:
    """Why a sample is too small."""
    return f"{total} trial{'' if total == 1 else 's'} where {least} are needed"


def is_finite(value: float) -> bool:
    """Whether a value is that of a run that did not diverge."""
    return math.isfinite(value) and abs(value) < DIVERGED


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % t-interval for a mean.

    Examples
    --------
    >>> [round(end, 2) for end in mean_interval([1.0, 2.0, 3.0])]
    [-0.48, 4.48]
    """
    mean = float(np.mean(values))
    margin = float(student.ppf((1 + LEVEL) / 2, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean - margin, mean + margin
