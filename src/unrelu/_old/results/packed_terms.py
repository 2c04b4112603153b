"""What was said of a matrix beside its values, as arrays of a file: limits, a range, weights, noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.data.limits import Limits

__all__ = ["pack_terms", "unpack_terms"]

# What a file has for a threshold that is no number: an array, a pair of arrays, or limits.
ARRAY, PAIR, LIMITS = "array", "pair", "limits"


def pack_terms(completion: Any) -> tuple[float | str | None, dict[str, Any]]:
    """What stands for the threshold, and arrays by their names in the file.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> said = SimpleNamespace(threshold=(-1.0, 1.0), entry_range=None, weights=None, spread=None)
    >>> word, arrays = pack_terms(said)
    >>> word, sorted(arrays)
    ('pair', ['threshold_0', 'threshold_1'])
    >>> unpack_terms(word, arrays)["threshold"]
    (-1.0, 1.0)
    """
    said = {name: getattr(completion, name) for name in ("entry_range", "weights", "spread")}
    arrays: dict[str, Any] = {name: np.asarray(value, np.float64) for name, value in said.items() if value is not None}
    threshold = completion.threshold
    if isinstance(threshold, Limits):
        parts = {"low": threshold.low, "high": threshold.high, "unknown": threshold.unknown, "chance": threshold.chance}
        parts |= dict(zip(("gap_0", "gap_1"), threshold.gap or (), strict=False))
        arrays |= {f"limits_{name}": np.asarray(part) for name, part in parts.items() if part is not None}
        return LIMITS, arrays
    if isinstance(threshold, tuple):
        return PAIR, arrays | {f"threshold_{k}": np.asarray(end) for k, end in enumerate(threshold)}
    if isinstance(threshold, np.ndarray):
        return ARRAY, arrays | {"threshold": threshold}
    return threshold, arrays


def unpack_terms(threshold: Any, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """The fields of a completion again."""
    found: dict[str, Any] = {name: arrays[name] for name in ("weights", "spread") if name in arrays}
    if "entry_range" in arrays:
        least, most = arrays["entry_range"].tolist()
        found["entry_range"] = least, most
    if threshold == LIMITS:
        low, high, unknown, chance = (
            _number(arrays.get(f"limits_{name}")) for name in ("low", "high", "unknown", "chance")
        )
        gap = (_number(arrays["limits_gap_0"]), _number(arrays["limits_gap_1"])) if "limits_gap_0" in arrays else None
        return found | {"threshold": Limits(low, high, unknown, gap, chance)}
    if threshold == PAIR:
        return found | {"threshold": (_number(arrays["threshold_0"]), _number(arrays["threshold_1"]))}
    return found | {"threshold": arrays["threshold"] if threshold == ARRAY else threshold}


def _number(values: Array | None) -> Any:
    """A number, or a truth value, where an array holds only that."""
    return values.item() if values is not None and values.ndim == 0 else values
