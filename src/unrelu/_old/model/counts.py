"""Counts below a limit: many of them are 0, which no normal number knows of.

Where 0 is within reach of a column, a count below its limit is taken to be a forecast with one half of the probability,
and any whole number from 0 to the limit with the other half.
"""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.data.limits import Ends
from unrelu._old.model.margins import Margins

__all__ = ["Counts"]

# Spreads below the middle of a column at which 0 is still within reach.
REACH = 3.0


class Counts:
    """What is expected of cells of columns of counts, and between which numbers they lie.

    Parameters
    ----------
    columns : bool ndarray
        Which columns hold counts.
    margins : Margins
        Of all columns.

    Examples
    --------
    >>> margins = Margins(np.array([8.0, 300.0]), np.array([5.0, 10.0]), np.zeros(2))
    >>> counts, ends = Counts(np.ones(2, bool), margins), Ends((np.zeros((1, 2)), np.full((1, 2), 6.0)))
    >>> counts.expectation(np.array([[5.0, 5.0]]), ends).tolist()
    [[4.0, 5.0]]
    """

    def __init__(self, columns: Bools, margins: Margins) -> None:
        self.columns = columns
        self.near: Bools = columns & ((margins.centre <= REACH * margins.scale) | (margins.forward(0.0) > -REACH))

    def expectation(self, found: Array, ends: Ends) -> Array:
        """Of cells, from what a forecast expects: half way to the middle of what is possible, where 0 is near."""
        below = self.near & np.isfinite(ends[0]) & np.isfinite(ends[1])
        with np.errstate(invalid="ignore"):
            middle = (np.maximum(ends[0], 0) + ends[1]) / 2
        hedged: Array = np.where(below, (found + middle) / 2, found)
        return hedged

    def interval(
        self, low: Array, high: Array, ends: tuple[Floats, Floats], cols: Indices, level: float
    ) -> tuple[Array, Array]:
        """Of single cells in these columns: whole numbers, and as far down as either half allows."""
        least, most = np.maximum(ends[0], 0), ends[1]
        limited = np.isfinite(ends[0]) & np.isfinite(most)
        reached = np.where(self.near[cols] & limited, least + (1 - level) * (most - least), np.inf)
        down, up = np.floor(np.minimum(low, reached)), np.minimum(np.ceil(high), most)
        whole = self.columns[cols] & limited
        return np.where(whole, np.maximum(down, least), low), np.where(whole, up, high)
