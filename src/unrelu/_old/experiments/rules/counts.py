"""Claims of which every trial says yes or no: always, generally, with a stated probability."""

from __future__ import annotations

from typing import Unpack

from scipy.stats import beta as beta_distribution

from unrelu._old.experiments.base import Judgement
from unrelu._old.experiments.rules.common import (
    BETTER,
    LEAST_ALWAYS,
    LEAST_GENERALLY,
    LEVEL,
    NOT_REPRODUCED,
    NOT_TESTED,
    POWER,
    REPRODUCED,
    Told,
    about,
    few,
    words,
)

__all__ = ["always", "generally", "rate_interval", "with_probability"]


def rate_interval(good: int, total: int) -> tuple[float, float]:
    """The 95 % interval of Clopper and Pearson for a rate.

    Examples
    --------
    >>> [round(end, 3) for end in rate_interval(20, 20)]
    [0.832, 1.0]
    >>> rate_interval(0, 0)
    (0.0, 1.0)
    """
    tail = (1 - LEVEL) / 2
    low = float(beta_distribution.ppf(tail, good, total - good + 1)) if good > 0 else 0.0
    high = float(beta_distribution.ppf(1 - tail, good + 1, total - good)) if good < total else 1.0
    return low, high


def _counted(measured: str, good: int, total: int, more: str = "") -> str:
    low, high = rate_interval(good, total)
    return f"{measured or f'{good} of {total}'} (rate {low:.0%} to {high:.0%}{more})"


def always(key: str, good: int, total: int, measured: str = "", **told: Unpack[Told]) -> Judgement:
    """Always, never, and what a theorem says of every instance: reproduced if at least 20 trials have no exception; one
    exception is enough for not reproduced, however few the trials. The interval of Clopper and Pearson for the rate is
    given.

    Examples
    --------
    >>> always("init/ours-global", 6, 6, otherwise="").verdict, always("init/ours-global", 5, 6, otherwise="").verdict
    ('not tested', 'not reproduced')
    >>> always("init/ours-global", 20, 20, "20 of 20 runs", otherwise="").measured
    '20 of 20 runs (rate 83% to 100%)'
    """
    known = {**about(key, "always", told), "measured": _counted(measured, good, total)}
    least, why = told.get("least", LEAST_ALWAYS), told.get("why", "")
    if good < total:
        otherwise = told.get("otherwise") or f"{total - good} of {total} are exceptions"
        return Judgement(**known, verdict=NOT_REPRODUCED, why=words(otherwise, why))
    if total < least:
        return Judgement(**known, verdict=NOT_TESTED, why=few(total, least))
    return Judgement(**known, verdict=BETTER if told.get("better") else REPRODUCED, why=why)


def generally(
    key: str, good: int, total: int, measured: str = "", *, share: float = 0.5, **told: Unpack[Told]
) -> Judgement:
    """Generally: reproduced if the interval of Clopper and Pearson for the rate lies above one half, not reproduced if
    it lies below; not tested if it holds one half or if there are fewer than 10 trials.

    ``share`` stands in for one half where a claim names another.

    Examples
    --------
    >>> [generally("landscape/relu", good, 20, otherwise="").verdict for good in (18, 11, 2)]
    ['reproduced', 'not tested', 'not reproduced']
    """
    known = {**about(key, "generally", told), "measured": _counted(measured, good, total)}
    least, why = told.get("least", LEAST_GENERALLY), told.get("why", "")
    low, high = rate_interval(good, total)
    if total < least:
        return Judgement(**known, verdict=NOT_TESTED, why=few(total, least))
    if low > share:
        return Judgement(**known, verdict=BETTER if told.get("better") else REPRODUCED, why=why)
    if high < share:
        otherwise = told.get("otherwise") or f"fewer than {share:.0%}, beyond chance"
        return Judgement(**known, verdict=NOT_REPRODUCED, why=words(otherwise, why))
    reason = f"the interval for the rate holds {share:.0%}: more trials are needed to tell"
    return Judgement(**known, verdict=NOT_TESTED, why=words(reason, why))


def _stated(chance: float) -> str:
    """A probability, one that is nearly 1 as what is missing to it."""
    return f"{chance:.4g}" if chance < 0.999 else f"1 − {1 - chance:.1g}"


def with_probability(
    key: str, good: int, total: int, stated: float, measured: str = "", **told: Unpack[Told]
) -> Judgement:
    """With probability at least p: not reproduced if the interval of Clopper and Pearson for the rate lies below p;
    reproduced if it reaches no further below p than 0.1; not tested otherwise, or with fewer than 10 trials, for so few
    have no power.

    Examples
    --------
    >>> key = "assumptions/noisy"
    >>> [with_probability(key, good, total, 0.99).verdict for good, total in ((3, 3), (40, 40), (1, 10))]
    ['not tested', 'reproduced', 'not reproduced']
    """
    known = {**about(key, "with probability", told)}
    known["measured"] = _counted(measured, good, total, f"; stated {_stated(stated)}")
    least, why = told.get("least", LEAST_GENERALLY), told.get("why", "")
    low, high = rate_interval(good, total)
    if total < least:
        return Judgement(**known, verdict=NOT_TESTED, why=few(total, least))
    if high < stated:
        otherwise = told.get("otherwise") or "fewer than stated, beyond chance"
        return Judgement(**known, verdict=NOT_REPRODUCED, why=words(otherwise, why))
    if low >= stated - POWER:
        return Judgement(**known, verdict=BETTER if told.get("better") else REPRODUCED, why=why)
    reason = f"with {total} trials the rate is known to {high - low:.2g} only"
    return Judgement(**known, verdict=NOT_TESTED, why=words(reason, why))
