"""How much a completion hangs on its threshold: the same data, with the threshold at either end of its interval."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Bools
from unrelu._old.base.errors import CompletionWarning, InputError
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.detection.edge import edge_of
from unrelu._old.detection.evidence import measured_once
from unrelu._old.results.gaps import limits_at

__all__ = ["Moved", "moved_by_threshold"]


@dataclass(frozen=True)
class Moved:
    """How far completed entries go when the threshold goes from one end of its interval to the other.

    Attributes
    ----------
    interval : (float, float)
        Of the threshold.
    typical, most : float
        Root mean square and largest size of the moves, over all unseen entries that are completed.
    spread : float
        The standard deviation of the completed entries, to compare with.
    where : tuple
        Row and column of the largest move.

    Examples
    --------
    >>> print(Moved((0.2, 0.3), 0.01, 0.05, 0.5, ("a", "b")))
    moving the threshold from 0.2 to 0.3 moves completed entries by 0.01 typically, 2.0% of their spread; most, by \
0.05, (a, b)
    """

    interval: tuple[float, float]
    typical: float
    most: float
    spread: float
    where: tuple[Any, Any]

    @property
    def share(self) -> float:
        """The typical move over the spread."""
        return self.typical / self.spread if self.spread > 0 else 0.0

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"moving the threshold from {low:.6g} to {high:.6g} moves completed entries by {self.typical:.3g} "
            f"typically, {self.share:.1%} of their spread; most, by {self.most:.3g}, ({self.where[0]}, {self.where[1]})"
        )


def moved_by_threshold(door: Callable[..., Any], X: Any, completion: Any, options: dict[str, Any]) -> Moved:
    """Complete again with the threshold at both ends of what the data allow, and compare what is filled in.

    Parameters
    ----------
    door : callable
        :func:`unrelu.complete` or :func:`unrelu.complete_rectangular`.
    X : the caller's matrix
    completion : Completion
        Of it.
    options : dict
        What else was asked for, the rank among it.
    """
    low, high = _interval(X, completion)
    curve = completion.detection
    gaps = "censored" if curve is None or curve.certain else curve.kind
    if gaps not in ("censored", "mixed"):
        raise InputError(
            f"--sensitivity moves the threshold of a wall, and these gaps are {gaps}; drop it: what is not known of a "
            "curve is in the prediction intervals"
        )
    if not completion.symmetric:
        options = {name: value for name, value in options.items() if name not in ("pairs", "structure")}
    filled = []
    seen = (Observations.of if completion.symmetric else table_observations)(X, threshold=None)
    for end in (low, high):
        level = end if gaps != "censored" else limits_at(seen, end, completion.side)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompletionWarning)
            filled.append(np.asarray(door(X, threshold=level, gaps=gaps, **options).filled(), np.float64))
    moved = np.abs(filled[1] - filled[0])
    unseen = ~np.isnan(moved) & ~_seen(X, completion)
    if not unseen.any():
        raise InputError("--sensitivity is about completed entries, and there are none; drop it")
    i, j = np.unravel_index(int(np.argmax(np.where(unseen, moved, -1.0))), moved.shape)
    columns = getattr(completion, "column_labels", None) or completion.labels
    where = (completion.labels[i] if completion.labels else int(i), columns[j] if columns else int(j))
    typical, spread = float(np.sqrt(np.mean(moved[unseen] ** 2))), float(np.std(filled[0][unseen]))
    return Moved((low, high), typical, float(moved[i, j]), spread, where)


def _seen(X: Any, completion: Any) -> Bools:
    """Which entries were seen."""
    read = Observations.of if completion.symmetric else table_observations
    observations = read(X, threshold=None)
    cut, size = observations.source.cut, observations.size
    found: Bools = ~np.isnan(observations.block(slice(0, cut or size), slice(cut or 0, size)))
    return found


def _interval(X: Any, completion: Any) -> tuple[float, float]:
    """Of the threshold: as it was found, or as the edge of the seen values allows."""
    curve = completion.detection
    if curve is not None and np.isfinite(curve.level):
        return curve.level_interval
    level = completion.threshold
    if level is None or np.ndim(level) or isinstance(level, str):
        raise InputError("--sensitivity needs one threshold for all entries; name one, or give --threshold auto")
    read = Observations.of if completion.symmetric else table_observations
    values = measured_once(read(X, threshold=None))
    edge = edge_of(values if completion.side == "above" else -values)
    if edge is None:
        raise InputError("--sensitivity needs 40 seen entries to tell how far the threshold may be off; drop it")
    least = edge.level if completion.side == "above" else -edge.level
    ends = (*edge.interval, level) if completion.side == "above" else (*(-end for end in edge.interval), level)
    return (min(ends), max(least, min(ends))) if completion.side == "above" else (min(least, max(ends)), max(ends))
