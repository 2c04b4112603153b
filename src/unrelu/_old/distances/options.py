"""What the caller asked for, checked: names become objects here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError, is_integer, is_number, unknown_name
from unrelu._old.base.tolerances import REFINE_TOL
from unrelu._old.distances.ranges import Ranges
from unrelu._old.distances.refine import DEFAULT_ITERATIONS
from unrelu._old.distances.search import Effort
from unrelu._old.loop.stopping import StoppingRule
from unrelu._old.problems.network import Misfit

__all__ = [
    "LOSSES",
    "ROBUST",
    "STARTS",
    "Plan",
    "checked_dim",
    "checked_seconds",
    "chosen_effort",
    "chosen_misfit",
    "given_start",
]

LOSSES = ("auto", "distances", "squared", "one-sided", "censored", "huber")
# The loss that looks for wrong ranges, and judges the others as ``auto`` does.
ROBUST = "huber"
STARTS = ("auto", "paths", "trilateration")


@dataclass(frozen=True, eq=False)
class Plan:
    """How places are looked for, as the caller asked.

    Attributes
    ----------
    misfit : Misfit
        How pairs are judged.
    loss : str
        The name of that, among :data:`LOSSES`.
    effort : Effort
        How long to try.
    start : str
        How the first places are found, among :data:`STARTS`; ``given`` if the caller has them.
    given : ndarray of shape (n, dim) or None
        The caller's own.
    """

    misfit: Misfit
    loss: str
    effort: Effort
    start: str
    given: Floats | None

    @property
    def robust(self) -> bool:
        """Whether some of the ranges may be grossly wrong."""
        return self.loss == ROBUST


def checked_dim(dim: Any) -> int:
    """How many coordinates."""
    if not is_integer(dim) or dim < 1:
        raise InputError(f"dim must be an integer of at least 1, or 'auto' to have it found, got {dim!r}")
    return int(dim)


def chosen_misfit(loss: Any, ranges: Ranges) -> tuple[Misfit, str]:
    """How pairs are judged, and the name of that."""
    if not isinstance(loss, str) or loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    if loss in ("one-sided", "censored") and ranges.cutoff is None:
        raise InputError(f"loss={loss!r} listens to absence and needs cutoff=; pass it, or loss='distances'")
    usual = "distances" if ranges.cutoff is None else "one-sided"
    judged = usual if loss in ("auto", ROBUST) else loss
    misfit = Misfit(squared=judged == "squared", absence=judged in ("one-sided", "censored"))
    return misfit, loss if loss == ROBUST else judged


def given_start(start: Any, n: int, dim: int) -> Floats | None:
    """The points to start from, or None if a name says how to find them."""
    if isinstance(start, str):
        if start not in STARTS:
            raise unknown_name("start", start, STARTS)
        return None
    try:
        points = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"start must be one of {', '.join(STARTS)} or points of shape ({n}, {dim})") from None
    if points.shape != (n, dim) or not np.isfinite(points).all():
        raise InputError(f"start must be finite points of shape (n, dim) = ({n}, {dim}), got shape {points.shape}")
    return points


def chosen_effort(tol: Any, max_iter: Any, loss: str, ranges: Ranges) -> Effort:
    """How long to try, and what is known of the noise, in units."""
    if tol is not None and not (isinstance(tol, StoppingRule) or (is_number(tol) and tol >= 0)):
        raise InputError(f"tol must be a number ≥ 0, or a stopping rule such as GradientNormBelow(1e-6); got {tol!r}")
    if max_iter is not None and not (is_integer(max_iter) and max_iter >= 0):
        raise InputError(f"max_iter must be an integer ≥ 0, got {max_iter!r}")
    return Effort(
        REFINE_TOL if tol is None else tol,
        DEFAULT_ITERATIONS if max_iter is None else int(max_iter),
        ranges.rounding,
        None if ranges.noise is None else ranges.noise / ranges.unit,
        {"censored": True, "auto": None, ROBUST: None}.get(loss, False),
    )


def checked_seconds(max_seconds: Any, tol: Any = None) -> float | None:
    """How long the call may take, by itself or by a stopping rule; None: as long as it likes."""
    if max_seconds is not None and not (is_number(max_seconds) and max_seconds > 0):
        raise InputError(f"max_seconds must be a positive number, or None for no limit, got {max_seconds!r}")
    of_rule = tol.time_limit if isinstance(tol, StoppingRule) else None
    limits = [float(seconds) for seconds in (max_seconds, of_rule) if seconds is not None]
    return min(limits, default=None)
