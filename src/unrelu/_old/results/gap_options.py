"""What may be asked of gaps, and beside what."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.auto.named import strategy_of
from unrelu._old.base.errors import InputError, unknown_name
from unrelu._old.data.terms import PAIRED, SIDES
from unrelu._old.detection.chosen import KINDS

__all__ = ["GAPS", "alone_with_a_wall", "asks_for_gaps", "is_auto", "require_one_meaning"]

GAPS = (*KINDS, "auto")
# Kinds that are fitted together with the matrix.
TOGETHER = ("mixed", "curve")
# What a fit together with a curve does not take, and what stands there if nothing is said.
USUAL = {
    "weights": None,
    "sigma": None,
    "entry_range": None,
    "loss": "auto",
    "structure": "psd",
    "problem": "psd",
    "diagonal": "auto",
    "pairs": "auto",
}


def is_auto(threshold: Any) -> bool:
    """Whether a threshold is to be found."""
    return isinstance(threshold, str) and threshold == "auto"


def asks_for_gaps(threshold: Any, gaps: Any) -> bool:
    """Whether something is to be found out about how entries go unseen."""
    if not isinstance(gaps, str) or gaps not in GAPS:
        raise unknown_name("gaps", gaps, GAPS)
    return gaps != "censored" or is_auto(threshold)


def require_one_meaning(threshold: Any, gaps: str, options: dict[str, Any]) -> None:
    """Refuse what a curve with one level cannot say, and what contradicts itself."""
    side = options["seen"]
    if not isinstance(side, str) or side not in SIDES + PAIRED:
        raise unknown_name("side seen", side, SIDES + PAIRED)
    if side in PAIRED:
        raise InputError(
            f"threshold='auto' and gaps={gaps!r} are for entries seen 'above' or 'below' one level, got "
            f"seen={side!r}; name both thresholds and drop gaps="
        )
    if not (threshold is None or is_auto(threshold) or np.ndim(threshold) == 0):
        raise InputError(
            f"gaps={gaps!r} goes with one threshold for all entries, 'auto' or None, got shape {np.shape(threshold)}; "
            "pass one of them, or drop gaps="
        )
    if threshold is None and gaps in ("mixed", "auto"):
        raise InputError(
            f"gaps={gaps!r} asks what absence says, and threshold=None says that it says nothing; pass "
            "threshold='auto', or gaps='random'"
        )
    _require_alone(gaps, options)


def _require_alone(gaps: str, options: dict[str, Any]) -> None:
    """Refuse, beside kinds that are fitted together with the matrix, what that fit would not heed."""
    strategy = strategy_of(options.get("method", "auto"))
    if gaps not in ("censored", "random") and strategy.samples:
        raise InputError(
            f"method='gibbs' samples entries beyond one threshold, got gaps={gaps!r}; drop one of them, or mark "
            "random gaps as unknown="
        )
    name = next(iter(_unusual(options)), None)
    if gaps in TOGETHER and name is not None:
        raise InputError(
            f"gaps={gaps!r} fits the matrix together with a curve and cannot heed {name}=, got "
            f"{_short(options[name])}; drop one of them"
        )
    if gaps in TOGETHER and strategy.name not in ("auto", "gauss-newton"):
        raise InputError(
            f"gaps={gaps!r} fits the matrix together with a curve by Gauss–Newton, got method={strategy.name!r}; drop "
            "one of them"
        )


def _short(value: Any) -> str:
    return f"shape {np.shape(value)}" if np.ndim(value) else repr(value)


def _unusual(options: dict[str, Any]) -> list[str]:
    """Options that a fit together with a curve would not heed."""
    found = []
    for name, usual in USUAL.items():
        value = options.get(name, usual)
        robust = name == "loss" and (value == "huber" or getattr(value, "name", "") == "huber")
        if not (value is usual or (isinstance(value, str) and value == usual) or robust):
            found.append(name)
    return found


def alone_with_a_wall(options: dict[str, Any]) -> bool:
    """Whether something was said that only a wall, or chance, goes with."""
    strategy = strategy_of(options.get("method", "auto"))
    return bool(_unusual(options)) or strategy.name not in ("auto", "gauss-newton")
