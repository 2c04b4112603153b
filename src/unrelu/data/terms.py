"""What a caller says of a matrix beside its values: where entries go unseen, which range they have, what they weigh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu.base.arrays import Array, Bools
from unrelu.base.errors import InputError, is_number, unknown_name
from unrelu.data.inputs import read_mask, same_label
from unrelu.data.limits import Limits

__all__ = ["Terms", "kept_terms", "read_limits", "read_positive", "read_range"]

SIDES, PAIRED = ("above", "below"), ("between", "outside")
SHAPES = "(n, 1) for one per row, (1, n) for one per column or (n, n) for one per entry"


@dataclass(frozen=True, eq=False)
class Terms:
    """Everything that is said of a matrix beside its values, as the caller said it.

    Attributes
    ----------
    threshold : float, array, pair of these, Limits or None
        Where entries go unseen.
    seen : {"above", "below", "between", "outside"}
        On which side of it they are seen.
    unknown : boolean array of shape (n, n), or None
        Entries that are missing for another reason.
    entry_range : (least, most) or None
        Between which numbers every entry lies.
    weights, spread : array or None
        What each entry weighs, and how large its noise is relative to that of the others.

    Examples
    --------
    >>> read_limits(Terms(threshold=(-1.0, 1.0), seen="outside"), 3, None)
    Limits(low=-1.0, high=1.0, gap=None)
    """

    threshold: Any = 0.0
    seen: str = "above"
    unknown: Any = None
    entry_range: Any = None
    weights: Any = None
    spread: Any = None


def read_limits(terms: Terms, n: int, labels: tuple[Any, ...] | None) -> Limits:
    """What absence says, without the range of all entries; refused if it cannot be what was meant."""
    seen, threshold = terms.seen, terms.threshold
    if not isinstance(seen, str) or seen not in SIDES + PAIRED:
        raise unknown_name("side seen", seen, SIDES + PAIRED)
    mask = None if terms.unknown is None else read_mask(terms.unknown, n, labels)
    if isinstance(threshold, Limits):
        return _limits_checked(threshold, seen, mask, n)
    if threshold is None:
        return Limits(unknown=mask)
    if seen in SIDES:
        return Limits.beyond(_threshold(threshold, n, labels), seen, mask)
    return Limits.beyond(_pair(threshold, seen, n, labels), seen, mask)


def read_range(entry_range: Any) -> tuple[float, float] | None:
    """The least and the most that any entry can be."""
    if entry_range is None:
        return None
    pair = list(entry_range) if isinstance(entry_range, (tuple, list, np.ndarray)) else []
    numbers = [float(end) for end in pair if is_number(end) or (isinstance(end, float) and np.isinf(end))]
    if len(pair) != 2 or len(numbers) != 2 or np.isinf(numbers).all():
        raise InputError(f"entry_range must be a pair of numbers such as (0, 1), got {entry_range!r}")
    if numbers[0] >= numbers[1]:
        raise InputError(f"entry_range must be (least, most), got {numbers[0]:g} and {numbers[1]:g}; swap the two")
    return numbers[0], numbers[1]


def read_positive(values: Any, name: str, n: int, labels: tuple[Any, ...] | None) -> Array | None:
    """Numbers above 0, one per row, column or entry; None where they are all the same."""
    if values is None:
        return None
    array = _numbers(values, name, n, labels)
    if not np.isfinite(array).all() or (array <= 0).any():
        bad = array[~(np.isfinite(array) & (array > 0))].flat[0]
        raise InputError(
            f"{name} must be finite numbers above 0, got {bad:g}; mark entries to be left out with NaN in X"
        )
    if array.size == 1 or (array == array.flat[0]).all():
        return None
    return array


def kept_terms(terms: Terms) -> dict[str, Any]:
    """What a completion keeps of them, by the names it has for it: numbers and arrays, for labels were compared."""
    return {
        "threshold": _bare(terms.threshold),
        "side": terms.seen,
        "unknown": terms.unknown,
        "entry_range": read_range(terms.entry_range),
        "weights": _bare(terms.weights),
        "spread": _bare(terms.spread),
    }


def _bare(value: Any) -> Any:
    """Numbers, arrays of numbers and pairs of these without anything else about them."""
    if value is None or isinstance(value, Limits):
        return value
    if is_number(value):
        return float(value)
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(np.ndim(end) != 1 for end in value):
        return tuple(_bare(end) for end in value)
    return np.array(value, np.float64)


def _threshold(threshold: Any, n: int, labels: tuple[Any, ...] | None) -> Any:
    if isinstance(threshold, (tuple, list)) and len(threshold) == 2 and all(np.ndim(end) != 1 for end in threshold):
        raise InputError(
            "threshold is a pair, which needs seen='between' (entries inside it were seen) or seen='outside' (entries "
            "beyond it were seen); pass one of them, or one threshold"
        )
    if np.ndim(threshold) == 0 and not is_number(threshold):
        raise InputError(f"threshold must be a finite number, or None if absence says nothing; got {threshold!r}")
    return float(threshold) if np.ndim(threshold) == 0 else _numbers(threshold, "threshold", n, labels)


def _pair(threshold: Any, seen: str, n: int, labels: tuple[Any, ...] | None) -> tuple[Any, Any]:
    if not isinstance(threshold, (tuple, list)) or len(threshold) != 2:
        came = f"{threshold!r}" if np.ndim(threshold) == 0 else f"shape {np.shape(threshold)}"
        raise InputError(
            f"threshold must be a pair (low, high) for seen={seen!r}, each a number or an array; got {came}"
        )
    low, high = (
        float(end) if is_number(end) else _numbers(end, f"the {which} one of threshold", n, labels)
        for which, end in zip(("first", "second"), threshold, strict=True)
    )
    if np.any(np.asarray(low) > np.asarray(high)):
        raise InputError("threshold must be a pair (low, high), and low is above high for some entries; swap the two")
    return low, high


def _numbers(values: Any, name: str, n: int, labels: tuple[Any, ...] | None) -> Array:
    """A number (1×1), or an array that broadcasts to (n, n); labels, if it has any, must be those of X."""
    _require_labels(values, name, labels)
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must hold numbers, got {type(values).__name__} that does not; convert it first"
        ) from None
    if array.ndim == 0:
        array = array.reshape(1, 1)
    if array.ndim == 1 and len(array) == n:
        raise InputError(
            f"{name} is a vector of {n} numbers, which for a square matrix may be one per row or one per column; pass "
            f"shape ({n}, 1) for rows or (1, {n}) for columns"
        )
    if array.ndim != 2 or any(size not in (1, n) for size in array.shape):
        raise InputError(f"{name} must be a number or have shape {SHAPES}, with n = {n}; got shape {array.shape}")
    if np.isnan(array).any():
        raise InputError(f"{name} must not be NaN; write inf where an entry has no limit")
    return array


def _require_labels(values: Any, name: str, labels: tuple[Any, ...] | None) -> None:
    """Refuse a series or a frame whose labels are not those of X, along whichever side is as long as X."""
    if labels is None or not hasattr(values, "index") or callable(values.index):
        return
    for side in ("index", "columns"):
        theirs = tuple(getattr(values, side, ()))
        if len(theirs) != len(labels) or (side == "columns" and len(theirs) == 1):
            continue
        wrong = next(
            (k for k, (one, label) in enumerate(zip(theirs, labels, strict=True)) if not same_label(one, label)), None
        )
        if wrong is not None:
            raise InputError(
                f"{name} must carry the labels of X in the same order, but label {wrong} of its {side} is "
                f"{theirs[wrong]!r} and that of X is {labels[wrong]!r}; reindex it, or pass {name}.to_numpy()"
            )


def _limits_checked(limits: Limits, seen: str, mask: Bools | None, n: int) -> Limits:
    """A caller's own limits, if they fit the matrix; with a further mask."""
    if seen != "above":
        raise InputError(f"Limits say themselves where unseen entries lie, got seen={seen!r} besides; drop seen=")
    for name, values in (
        ("low", limits.low),
        ("high", limits.high),
        ("gap", (limits.gap or (0.0, 0.0))[0]),
        ("gap", (limits.gap or (0.0, 0.0))[1]),
        ("chance", limits.chance),
    ):
        if np.ndim(values) and any(size not in (1, n) for size in np.shape(values)):
            raise InputError(
                f"{name} of Limits must be a number or have shape {SHAPES}, with n = {n}; got shape {np.shape(values)}"
            )
    if limits.unknown is not None and limits.unknown.shape != (n, n):
        raise InputError(f"unknown of Limits must have the shape of X, ({n}, {n}), got {limits.unknown.shape}")
    if mask is None:
        return limits
    both = mask if limits.unknown is None else mask | limits.unknown
    return Limits(limits.low, limits.high, both, limits.gap, limits.chance)
