"""What a caller says of a matrix beside its values: where entries go unseen, which range they have, what they weigh."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError, is_number, unknown_name
from unrelu._old.data.inputs import read_mask, same_label
from unrelu._old.data.labels import Axes
from unrelu._old.data.limits import Limits

__all__ = ["Terms", "kept_terms", "read_limits", "read_range", "settled"]

SIDES, PAIRED = ("above", "below"), ("between", "outside")


@dataclass(frozen=True, eq=False)
class Terms:
    """Everything that is said of a matrix of m rows and n columns beside its values, as the caller said it.

    Attributes
    ----------
    threshold : float, array, pair of these, Limits, dict of columns or None
        Where entries go unseen.
    seen : {"above", "below", "between", "outside"}
        On which side of it they are seen.
    unknown : boolean array of shape (m, n), or None
        Entries that are missing for another reason.
    entry_range : (least, most) or None
        Between which numbers every entry lies.
    weights, spread : array or None
        What each entry weighs, and how large its noise is relative to that of the others.

    Examples
    --------
    >>> axes = Axes.square(3)
    >>> read_limits(settled(Terms(threshold=(-1, 1), seen="outside"), axes), axes)
    Limits(low=-1.0, high=1.0, gap=None)
    """

    threshold: Any = 0.0
    seen: str = "above"
    unknown: Any = None
    entry_range: Any = None
    weights: Any = None
    spread: Any = None


def settled(terms: Terms, axes: Axes) -> Terms:
    """The same in numbers and arrays of two dimensions that broadcast to the matrix; refused if it cannot be meant.

    Labels were compared and are gone, and vectors are rows or columns. Where all entries weigh the same, or have the
    same noise, nothing is left of that.

    Examples
    --------
    >>> settled(Terms(threshold=[1.0, 2.0, 3.0]), Axes((2, 3))).threshold
    array([[1., 2., 3.]])
    """
    return Terms(
        _threshold(terms.threshold, terms.seen, axes),
        terms.seen,
        terms.unknown,
        read_range(terms.entry_range),
        _positive(terms.weights, "weights", axes, limited=terms.threshold is not None),
        _positive(terms.spread, "sigma", axes, limited=terms.threshold is not None),
    )


def read_limits(said: Terms, axes: Axes) -> Limits:
    """What absence says by terms that are settled, without the range of all entries."""
    mask = None if said.unknown is None else read_mask(said.unknown, axes)
    limits = said.threshold
    if not isinstance(limits, Limits):
        return Limits.beyond(limits, said.seen, mask)
    if mask is None:
        return limits
    both = mask if limits.unknown is None else mask | limits.unknown
    return Limits(limits.low, limits.high, both, limits.gap, limits.chance)


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


def kept_terms(said: Terms) -> dict[str, Any]:
    """What a completion keeps of terms that are settled, by the names it has for it."""
    return {
        "threshold": said.threshold,
        "side": said.seen,
        "unknown": said.unknown,
        "entry_range": said.entry_range,
        "weights": said.weights,
        "spread": said.spread,
    }


def _positive(values: Any, name: str, axes: Axes, *, limited: bool) -> Array | None:
    """Numbers above 0, one per row, column or entry; None where they are all the same."""
    if values is None:
        return None
    array = _numbers(values, name, axes)
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        also = ", and as unknown=, for absence says something" if limited else ""
        raise InputError(
            f"{name} must be finite numbers above 0, got {array[bad].flat[0]:g}{axes.first_of(bad)}; mark entries to "
            f"be left out with NaN in X{also}"
        )
    if array.size == 1 or (array == array.flat[0]).all():
        return None
    return array


def _threshold(threshold: Any, seen: Any, axes: Axes) -> Any:
    """A number, an array, a pair of these, limits or None, as the side asks for."""
    if not isinstance(seen, str) or seen not in SIDES + PAIRED:
        raise unknown_name("side seen", seen, SIDES + PAIRED)
    if threshold is None:
        return None
    if isinstance(threshold, Limits):
        return _limits_checked(threshold, seen, axes)
    return _one(threshold, axes) if seen in SIDES else _pair(threshold, seen, axes)


def _one(threshold: Any, axes: Axes) -> float | Array:
    if isinstance(threshold, Mapping):
        return _by_column(threshold, axes)
    if isinstance(threshold, (tuple, list)) and len(threshold) == 2 and all(np.ndim(end) != 1 for end in threshold):
        raise InputError(
            "threshold is a pair, which needs seen='between' (entries inside it were seen) or seen='outside' (entries "
            f"beyond it were seen); pass one of them, or one threshold, of shape {axes.shapes} if it is not the same "
            "for all"
        )
    if np.ndim(threshold) == 0 and not is_number(threshold):
        raise InputError(f"threshold must be a finite number, or None if absence says nothing; got {threshold!r}")
    return float(threshold) if np.ndim(threshold) == 0 else _ends(threshold, "threshold", axes)


def _by_column(limits: Mapping[Any, Any], axes: Axes) -> Floats:
    """Limits by the names of columns; the others have none."""
    if axes.alike or axes.columns is None:
        what = "a symmetric matrix has the same names on both sides" if axes.alike else "X came without names"
        raise InputError(
            f"threshold is a dict, by the names of columns, and {what}; pass a number or shape {axes.shapes}"
        )
    found = np.full((1, axes.shape[1]), np.inf)
    for name, limit in limits.items():
        places = [k for k, label in enumerate(axes.columns) if same_label(name, label)]
        if not places:
            raise unknown_name("column in threshold", name, map(str, axes.columns))
        if not is_number(limit):
            raise InputError(f"threshold must be a number for each column, got {limit!r} for {name!r}")
        found[0, places] = float(limit)
    return found


def _pair(threshold: Any, seen: str, axes: Axes) -> tuple[Any, Any]:
    if not isinstance(threshold, (tuple, list)) or len(threshold) != 2:
        came = f"{threshold!r}" if np.ndim(threshold) == 0 else f"shape {np.shape(threshold)}"
        raise InputError(
            f"threshold must be a pair (low, high) for seen={seen!r}, each a number or an array; got {came}"
        )
    low, high = (
        float(end) if is_number(end) else _ends(end, f"the {which} one of threshold", axes)
        for which, end in zip(("first", "second"), threshold, strict=True)
    )
    swapped = np.atleast_2d(np.asarray(low) > np.asarray(high))
    if swapped.any():
        where = axes.first_of(swapped)
        raise InputError(f"threshold must be a pair (low, high), and low is above high{where}; swap the two")
    return low, high


def _ends(values: Any, name: str, axes: Axes) -> Floats:
    """Where entries go unseen: numbers that may be infinite."""
    array = _numbers(values, name, axes)
    blank = np.isnan(array)
    if blank.any():
        raise InputError(
            f"{name} must not be NaN, as it is{axes.first_of(blank)}; write inf where an entry has no limit"
        )
    return array


def _numbers(values: Any, name: str, axes: Axes) -> Floats:
    """A number (1×1), or an array that broadcasts to the matrix; labels, if it has any, must be those of X."""
    goes_by = _compared(values, name, axes)
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must hold numbers, got {type(values).__name__} that does not; convert it first"
        ) from None
    if array.ndim == 0:
        array = array.reshape(1, 1)
    if array.ndim == 1:
        array = _lined_up(array, name, axes, goes_by)
    if not _fits(array.shape, axes):
        raise InputError(f"{name} must be a number or have shape {axes.shapes}; got shape {array.shape}")
    return array


def _fits(shape: tuple[int, ...], axes: Axes) -> bool:
    return len(shape) == 2 and all(size in (1, all_) for size, all_ in zip(shape, axes.shape, strict=True))


def _lined_up(vector: Floats, name: str, axes: Axes, goes_by: str | None) -> Floats:
    """A vector as one per row or one per column, where only one of them can be meant."""
    m, n = axes.shape
    if goes_by == "rows":
        return vector[:, None]
    if len(vector) == n and (goes_by == "columns" or m != n):
        return vector[None, :]
    if len(vector) == n:
        raise InputError(
            f"{name} is a vector of {n} numbers, which for a square matrix may be one per row or one per column; pass "
            f"shape ({n}, 1) for rows or (1, {n}) for columns"
        )
    return vector


def _compared(values: Any, name: str, axes: Axes) -> str | None:
    """Refuse a series or a frame whose labels are not those of X, along whichever side is as long as X.

    A series goes by its labels: those of the rows, or those of the columns. None where they do not tell which.
    """
    if not hasattr(values, "index") or callable(values.index):
        return None
    index = tuple(values.index)
    if hasattr(values, "columns"):
        _require_labels(index, axes.rows, name, ("index", "rows"), axes)
        _require_labels(tuple(values.columns), axes.columns, name, ("columns", "columns"), axes)
        return None
    known = {side: labels for side, labels in (("columns", axes.columns), ("rows", axes.rows)) if labels is not None}
    fits = [side for side, labels in known.items() if _first_apart(index, labels) is None]
    if not fits:
        for side, labels in known.items():
            _require_labels(index, labels, name, ("index", side), axes)
        _require_as_many(index, known, name, axes)
    return fits[0] if len(fits) == 1 else None


def _first_apart(theirs: tuple[Any, ...], labels: tuple[Any, ...]) -> int | None:
    """The first place where labels differ; None if they are the same."""
    if len(theirs) != len(labels):
        return 0
    pairs = enumerate(zip(theirs, labels, strict=True))
    return next((k for k, (one, label) in pairs if not same_label(one, label)), None)


def _require_labels(
    theirs: tuple[Any, ...], labels: tuple[Any, ...] | None, name: str, sides: tuple[str, str], axes: Axes
) -> None:
    """Refuse as many labels as X has on a side if they are others; one alone is that of all rows or columns."""
    if labels is None or len(theirs) != len(labels) or len(labels) == 1:
        return
    wrong = _first_apart(theirs, labels)
    if wrong is not None:
        mine = "X" if axes.alike else f"the {sides[1]} of X"
        raise InputError(
            f"{name} must carry the labels of X in the same order, but label {wrong} of its {sides[0]} is "
            f"{theirs[wrong]!r} and that of {mine} is {labels[wrong]!r}; reindex it, or pass {name}.to_numpy()"
        )


def _require_as_many(theirs: tuple[Any, ...], known: dict[str, tuple[Any, ...]], name: str, axes: Axes) -> None:
    """Name the label that is too much or missing in a series, by the side of X with which it shares most labels."""
    written = [str(label) for label in theirs]
    shared = {side: len(set(written).intersection(map(str, labels))) for side, labels in known.items()}
    side = max(shared, key=shared.__getitem__, default="")
    if not side or not shared[side]:
        return
    mine, times = {str(label) for label in known[side]}, Counter(written)
    extra = next((f"{label!r} is none of them" for label in theirs if str(label) not in mine), "")
    missing = next((f"{label!r} is missing" for label in known[side] if str(label) not in times), "")
    twice = next((f"{label!r} stands there twice" for label in theirs if times[str(label)] > 1), "")
    what = extra or missing or twice
    if what:
        of = "X" if axes.alike else f"the {side} of X"
        raise InputError(f"{name} must carry the labels of {of} in the same order, but {what}; reindex it")


def _limits_checked(limits: Limits, seen: str, axes: Axes) -> Limits:
    """A caller's own limits, if they fit the matrix; as numbers and arrays."""
    if seen != "above":
        raise InputError(f"Limits say themselves where unseen entries lie, got seen={seen!r} besides; drop seen=")
    gap = limits.gap or ()
    parts = [("low", limits.low), ("high", limits.high), *(("gap", end) for end in gap), ("chance", limits.chance)]
    for name, values in parts:
        _compared(values, f"{name} of Limits", axes)
        if np.ndim(values) and not _fits(np.shape(values), axes):
            raise InputError(
                f"{name} of Limits must be a number or have shape {axes.shapes}; got shape {np.shape(values)}"
            )
    if limits.unknown is not None and limits.unknown.shape != axes.shape:
        raise InputError(f"unknown of Limits must have the shape of X, {axes.shape}, got {limits.unknown.shape}")
    if not any(hasattr(values, "columns") for _, values in parts):
        return limits
    plain: list[Any] = [np.asarray(values) if np.ndim(values) else values for _, values in parts]
    low, high, *rest = plain
    return Limits(low, high, limits.unknown, (rest[0], rest[1]) if gap else None, rest[-1])
