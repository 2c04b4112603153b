"""What a rehearsal has shown, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from math import exp, isfinite, log
from typing import Any

from unrelu._old.auto.rehearsed import Rehearsal, Trial

__all__ = ["in_json", "listed", "model_in_words", "rehearsal_in_json", "rehearsal_in_words", "times_in_words"]

# More times as likely than this is all the same.
MANY_TIMES = 1000
DIAGONALS = {"data": "", "limit": ", its diagonal taken as an upper limit", "unknown": ", its diagonal left out"}


def rehearsal_in_json(shown: Rehearsal) -> dict[str, Any]:
    """The curve, which of its models was chosen and how far to trust it; not the pairs that were drawn on the way."""
    about = {
        "trials": [asdict(trial) for trial in shown.trials],
        "chosen": shown.chosen,
        "extrapolates": shown.extrapolates,
        "sigma": shown.sigma,
        "spread": shown.spread,
        "damping": shown.damping,
        "gains": list(shown.gains),
        "side": shown.side,
        "no_structure": asdict(shown.none),
        "levels": [
            {"share": level.share, "limit": level.limit, "pairs_kept": len(level.hidden)} for level in shown.levels
        ],
    }
    plain: dict[str, Any] = in_json(about)
    return plain


def in_json(value: Any) -> Any:
    """The same with None for what JSON cannot say, however deep it lies.

    Examples
    --------
    >>> in_json({"gains": (0.5, float("-inf"))})
    {'gains': [0.5, None]}
    """
    if isinstance(value, dict):
        return {name: in_json(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_json(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def model_in_words(trial: Trial, columns: int) -> str:
    """What a model is; ``columns`` is how many its factor has."""
    model = f"rank {trial.rank}" if not trial.shrinkage else f"a trace penalty of {trial.shrinkage:.3g}"
    left = f", which leaves {columns} column{'s' * (columns != 1)}" if trial.shrinkage else ""
    return f"{model}{left}{DIAGONALS[trial.diagonal]}"


def rehearsal_in_words(shown: Rehearsal) -> str:
    """What was hidden on purpose, and what the best model made of it."""
    shares = listed([f"{level.share:.0%}" for level in shown.levels])
    how = "by a raised threshold" if shown.side else "at random"
    odds = listed([times_in_words(gain) for gain in shown.best.gains])
    return (
        f"rehearsed with {shares} of the seen pairs hidden {how}: to the best model each of them was {odds} times as "
        "likely as to one distribution for all entries"
    )


def times_in_words(gain: float) -> str:
    """How many times as likely a gain in log-likelihood makes something.

    Examples
    --------
    >>> times_in_words(0.05), times_in_words(1000.0)
    ('1.05', 'over 1000')
    """
    return f"{exp(gain):.2f}" if gain <= log(MANY_TIMES) else f"over {MANY_TIMES}"


def listed(words: list[str]) -> str:
    """With commas, and "and" before the last.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else ""]))
