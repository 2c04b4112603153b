"""Which seen entry a fit misses most."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unrelu._old.data.labels import label_or_position
from unrelu._old.data.observations import Observations
from unrelu._old.model.factors import Factors

__all__ = ["Misfit", "largest_misfit"]

BAND = 256


@dataclass(frozen=True)
class Misfit:
    """By how much a fit misses a seen entry, and which; with the labels of its row and column, if there are any.

    Examples
    --------
    >>> Misfit(0.5, 0, 1), Misfit(0.5, 0, 1, labels=("a", "b"))
    (Misfit(size=0.5, row=0, column=1), Misfit(size=0.5, row=0 ('a'), column=1 ('b')))
    """

    size: float
    row: int
    column: int
    labels: tuple[Any, Any] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        row, column = ("", "") if self.labels is None else (f" ({label!r})" for label in self.labels)
        return f"Misfit(size={self.size!r}, row={self.row}{row}, column={self.column}{column})"

    def named(self, labels: tuple[Any, ...] | None) -> dict[str, Any]:
        """The same for JSON, with labels where there are any.

        Examples
        --------
        >>> Misfit(0.5, 0, 1).named(("a", "b"))
        {'size': 0.5, 'row': 'a', 'column': 'b'}
        """
        if self.labels is not None:
            row, column = (label_or_position(0, (label,)) for label in self.labels)
            return {"size": self.size, "row": row, "column": column}
        row, column = (label_or_position(place, labels) for place in (self.row, self.column))
        return {"size": self.size, "row": row, "column": column}


def largest_misfit(observations: Observations, factors: Factors) -> Misfit:
    """The seen entry that is missed most, a few rows at a time.

    Examples
    --------
    >>> from unrelu._old.model.factors import Symmetric
    >>> seen = Observations.of(np.array([[1.0, 2.0], [2.0, 5.0]]))
    >>> largest_misfit(seen, Symmetric(np.array([[1.0], [2.0]])))
    Misfit(size=1.0, row=1, column=1)
    """
    (m, n), found = factors.shape, Misfit(0.0, 0, 0)
    first = observations.size - n if observations.source.cut is not None else 0  # where the columns of a table begin
    root = np.sqrt(observations.unit)
    left, right = (side.astype(np.float64) / root for side in (factors.left, factors.right))
    for start in range(0, m, BAND):
        rows = slice(start, min(start + BAND, m))
        gap = np.abs(observations.block(rows, slice(first, first + n)) / observations.unit - left[rows] @ right.T)
        gap[np.isnan(gap)] = -1
        i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
        if gap[i, j] * observations.unit > found.size:
            found = Misfit(float(gap[i, j]) * observations.unit, start + int(i), int(j))
    names = observations.labels
    return found if names is None else replace(found, labels=(names[found.row], names[first + found.column]))
