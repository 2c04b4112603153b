"""Seen values that the rest contradicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Distrusted"]


@dataclass(frozen=True)
class Distrusted:
    """A seen value that the rest contradicts.

    Attributes
    ----------
    row, column : label or int
        Where it stands: by label if there are any, else by position.
    value : float
        What was seen.
    expected : float
        What the rest says that it should be.
    deviations : float
        By how many standard deviations it is too large; negative if it is too small.

    Examples
    --------
    >>> Distrusted("gate", "pond", 31.5, 20.25, 12.0)
    Distrusted(row='gate', column='pond', value=31.5, expected=20.25, deviations=12.0)
    """

    row: Any
    column: Any
    value: float
    expected: float
    deviations: float
