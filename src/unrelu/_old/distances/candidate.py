"""What a search may spend, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass

from unrelu._old.base.arrays import Floats
from unrelu._old.base.tolerances import CANDIDATE_EXACT
from unrelu._old.loop.stopping import StoppingRule

__all__ = ["CANDIDATE_EXACT", "Candidate", "Effort"]


@dataclass(frozen=True)
class Effort:
    """How long to try."""

    tol: float | StoppingRule
    max_iter: int
    rounding: float = CANDIDATE_EXACT
    noise: float | None = None  # standard deviation of a distance of weight one, if the caller knows it, in units
    censored: bool | None = None  # whether unseen distances were measured and found too long; None: ask the data


@dataclass(frozen=True, eq=False)
class Candidate:
    """Places, how they were found, and their misfit."""

    points: Floats
    value: float
    name: str
    converged: bool = True
    settled: bool = False  # whether the points that trilateration reached are where it put them
