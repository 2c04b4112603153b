"""The rules by which a claim of the paper gets its verdict, each described where it is written and nowhere else.

A rule takes a sample and the claim's key, and returns a :class:`~unrelu._old.experiments.base.Judgement`. Every rule takes
any sample, and says *not tested* where a sample is too small or too wide to tell. The page prints
the first paragraph of each rule's docstring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unrelu._old.experiments.rules.common import BETTER, DEPENDS, NOT_REPRODUCED, NOT_TESTED, REPRODUCED, VERDICTS
from unrelu._old.experiments.rules.counts import always, generally, rate_interval, with_probability
from unrelu._old.experiments.rules.instances import no_evidence, refuted, witness
from unrelu._old.experiments.rules.settings import across
from unrelu._old.experiments.rules.values import bounded, fitted, number, ratio, stalled

__all__ = [
    "BETTER",
    "DEPENDS",
    "NOT_REPRODUCED",
    "NOT_TESTED",
    "REPRODUCED",
    "RULES",
    "VERDICTS",
    "across",
    "always",
    "bounded",
    "fitted",
    "generally",
    "no_evidence",
    "number",
    "rate_interval",
    "ratio",
    "refuted",
    "stalled",
    "with_probability",
    "witness",
]


def _described(rule: Callable[..., Any]) -> str:
    return " ".join((rule.__doc__ or "").strip().split("\n\n", 1)[0].split())


# What the page and the docs say of each rule; the names are those that judgements carry.
RULES: dict[str, str] = {
    "always": _described(always),
    "generally": _described(generally),
    "with probability": _described(with_probability),
    "number": _described(number),
    "stalled": _described(stalled),
    "fitted": _described(fitted),
    "ratio": _described(ratio),
    "bounded": _described(bounded),
    "counterexample": _described(refuted),
    "witness": _described(witness),
    "several settings": _described(across),
    "no evidence": _described(no_evidence),
}
