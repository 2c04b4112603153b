"""The paper's numbers and claims, and how a measured value compares with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from unrelu.experiments.base import Judgement

__all__ = ["BETTER", "NOT_REPRODUCED", "REPRODUCED", "compare_number", "judge_claim", "printed", "spread_text"]

REPRODUCED, BETTER, NOT_REPRODUCED = "reproduced", "better", "not reproduced"
# Two means agree if they differ by no more than this share, or than so many standard errors of their difference.
SHARE, ERRORS = 0.05, 2.0


@cache
def printed() -> dict[str, Any]:
    """The data file: ``numbers`` and ``claims`` by key."""
    text = files("unrelu.experiments").joinpath("printed.json").read_text(encoding="utf-8")
    content = json.loads(text)
    return {kind: {entry["key"]: entry for entry in content[kind]} for kind in ("numbers", "claims")}


def compare_number(
    key: str, values: Sequence[float], note: str = "", *, what: str = "mean", case: str = ""
) -> Judgement:
    """A printed number beside the mean of measured ones (``what`` they are, in which ``case``).

    The rule stands in the data file. ``close``: within 5 %, two standard errors of the difference (of ``trials``
    printed and the measured ones), or the ``tolerance`` given there. ``stalled``: a gradient norm that says only where
    a run was cut off; a smaller one is better, and the same order of magnitude is the same.

    Examples
    --------
    >>> compare_number("rank/breakdown", [47.0]).verdict
    'reproduced'
    """
    entry = printed()["numbers"][key]
    value, spread = entry["value"], entry.get("spread", 0.0)
    shown = f"{value:.3g} ± {spread:.2g}" if spread else f"{value:.3g}"
    about = {"key": key, "claim": entry.get("claim", entry["where"]), "where": entry["where"], "printed": shown}
    if not values:
        return Judgement(**about, measured="nothing", verdict=NOT_REPRODUCED, why=note or "no trial gave a value")
    mean = float(np.mean(values))
    about["measured"] = spread_text(values) + (f" ({case})" if case else "")
    if entry["rule"] == "stalled":
        if mean < value / 10:
            return Judgement(**about, verdict=BETTER, why="the runs went further before they ended")
        if mean <= 10 * max(value, spread):
            return Judgement(**about, verdict=REPRODUCED, why=note)
    elif abs(mean - value) <= max(SHARE * abs(value), ERRORS * _error(entry, values), entry.get("tolerance", 0.0)):
        return Judgement(**about, verdict=REPRODUCED, why=note)
    ratio = mean / value if value else float("inf")
    why = f"the measured {what} is {ratio:.3g} times the printed one" if value else f"the measured {what} is {mean:.3g}"
    return Judgement(
        **about, verdict=NOT_REPRODUCED, why=". ".join(filter(None, [why, note, entry.get("note", "")])).strip()
    )


def _error(entry: dict[str, Any], values: Sequence[float]) -> float:
    """The standard error of the difference between the printed mean and the measured one."""
    own = float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else 0.0
    return float(np.sqrt(entry.get("spread", 0.0) ** 2 / entry.get("trials", 1) + own))


def judge_claim(
    key: str, holds: bool, measured: str, *, otherwise: str, why: str = "", better: bool = False
) -> Judgement:
    """A claim in words beside what was measured.

    ``otherwise`` is why it does not hold, if it does not: no claim is turned down without a reason. ``why`` is what may
    be said even if it holds.

    Examples
    --------
    >>> judge_claim("methods/admm", True, "ADMM takes 40 times the CPU time", otherwise="few iterations").verdict
    'reproduced'
    >>> judge_claim("methods/admm", False, "ADMM takes half the CPU time", otherwise="few iterations").why
    'few iterations'
    """
    entry = printed()["claims"][key]
    verdict = NOT_REPRODUCED if not holds else BETTER if better else REPRODUCED
    reason = why if holds else ". ".join(filter(None, [otherwise, why]))
    return Judgement(key, entry["claim"], entry["where"], entry["claim"], measured, verdict, reason, prose=True)


def spread_text(values: Sequence[float]) -> str:
    """Mean and deviation, as the paper prints them.

    Examples
    --------
    >>> spread_text([0.5, 0.7])
    '0.6 ± 0.14'
    """
    if not values:
        return "nothing"
    if len(values) == 1:
        return f"{values[0]:.3g}"
    deviation = float(np.std(values, ddof=1))
    return f"{float(np.mean(values)):.3g} ± {deviation:.2g}"
