"""An entry that the others contradict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Distrusted"]


@dataclass(frozen=True)
class Distrusted:
    """An entry that lies further from what the others say of it than noise would lead any.

    Attributes
    ----------
    row, column : label or int
        Where it is: labels if there are any, else positions.
    value : float
        What was seen; NaN for an entry that was not seen although it should have been.
    expected : float
        What the fit to the trusted entries has there.
    deviations : float
        How far the two are apart, in standard deviations; of a distance negative where it is too short.

    Examples
    --------
    >>> Distrusted("iron", "zinc", value=40.0, expected=2.5, deviations=31.0)
    Distrusted(row='iron', column='zinc', value=40.0, expected=2.5, deviations=31.0)
    """

    row: Any
    column: Any
    value: float
    expected: float
    deviations: float
