"""The cells of a table in double precision: values, and between which ends a cell lies that was not seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.data.limits import Ends, Limits, has_limit
from unrelu._old.data.observations import Observations

__all__ = ["Measured", "measured"]

# Ends and gap where nothing is known.
NOTHING = (-np.inf, np.inf, np.inf, -np.inf)
# From here on every number is an integer.
ALL_INTEGERS = 2.0**53
# An end itself is never reached, but a count may be zero.
JUST_BELOW_ZERO = -float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Measured:
    """What is known of each cell; everything of shape (m, n).

    Attributes
    ----------
    values : ndarray
        NaN where nothing was seen.
    ends : Ends
        Between which a cell lies if it was not seen, and the gap; infinite where nothing is known. A cell that was seen
        has those that it would have had.
    silent : bool ndarray
        Cells whose absence says nothing: it had another reason than their value.

    Examples
    --------
    >>> from unrelu._old.data.table_observations import table_observations
    >>> cells = measured(table_observations(np.array([[1.0, np.nan], [np.nan, 2.0]]), threshold=[[0.5, 1.5]]))
    >>> cells.ends[1].tolist(), cells.limited.tolist()
    ([[0.5, 1.5], [0.5, 1.5]], [[False, True], [True, False]])
    """

    values: Floats
    ends: Ends
    silent: Bools

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        return self.values.shape[0], self.values.shape[1]

    @cached_property
    def seen(self) -> Bools:
        """Whose values are known."""
        return ~np.isnan(self.values)

    @cached_property
    def limited(self) -> Bools:
        """Cells that went unseen because of their value."""
        return ~self.seen & ~self.silent

    def part(self, rows: Any, cols: Any = slice(None)) -> Measured:
        """Some rows, some columns."""

        def cut(values: Any) -> Any:
            return values[rows][:, cols]

        gap = None if self.ends.gap is None else (cut(self.ends.gap[0]), cut(self.ends.gap[1]))
        ends = Ends((cut(self.ends[0]), cut(self.ends[1])), gap)
        return Measured(cut(self.values), ends, cut(self.silent))

    def without(self, hidden: Bools) -> Measured:
        """The same with some cells unseen for no reason of theirs."""
        low, high, *gap = (
            np.where(hidden, nothing, end)
            for end, nothing in zip(
                (*self.ends, *(self.ends.gap or ())), (-np.inf, np.inf, np.inf, -np.inf), strict=False
            )
        )
        ends = Ends((low, high), (gap[0], gap[1]) if gap else None)
        return Measured(np.where(hidden, np.nan, self.values), ends, self.silent | hidden)

    @property
    def counts(self) -> Bools:
        """Columns that hold counts: integers from 0 on, of which those below a limit went unseen.

        Examples
        --------
        >>> from unrelu._old.data.table_observations import table_observations
        >>> X = np.array([[5.0, 5.5], [np.nan, np.nan], [3.0, 3.0]])
        >>> cells = measured(table_observations(X, threshold=2.0))
        >>> cells.counts.tolist(), cells.from_zero(cells.counts).ends[0].round(2).tolist()[1]
        ([True, False], [-0.0, -inf])
        """
        if self.ends.gap is not None:
            return np.zeros(self.shape[1], bool)
        values = np.where(self.seen, self.values, 0.0)
        whole = (values >= 0).all(axis=0) & (values == np.round(values)).all(axis=0)
        whole &= values.max(axis=0, initial=0.0) < ALL_INTEGERS
        low, high = (np.broadcast_to(end, self.shape) for end in self.ends)
        below = np.isneginf(low) & np.isfinite(high) & (high > 0)
        found: Bools = whole & self.limited.any(axis=0) & (below | ~self.limited).all(axis=0)
        return found

    def from_zero(self, columns: Bools) -> Measured:
        """The same, but what is below a limit in these columns is no less than 0."""
        low, high = (np.broadcast_to(end, self.shape) for end in self.ends)
        limited = np.isneginf(low) & np.isfinite(high) & (high > 0) & columns
        return Measured(self.values, Ends((np.where(limited, JUST_BELOW_ZERO, low), high), self.ends.gap), self.silent)

    @property
    def limits(self) -> Limits:
        """The same ends as limits of a table, no larger than need be."""
        silent = self.silent & ~self.seen
        unknown = silent & ~has_limit(self.ends)
        chance = silent & ~unknown
        gap = None if self.ends.gap is None else (_narrow(self.ends.gap[0]), _narrow(self.ends.gap[1]))
        known = [np.where(unknown, end[:1], end) for end in self.ends] if unknown.any() else list(self.ends)
        return Limits(
            _narrow(known[0]),
            _narrow(known[1]),
            unknown if unknown.any() else None,
            gap,
            chance if chance.any() else False,
        )


def _narrow(end: Floats) -> Any:
    """One number where all cells have the same, one per column where all rows have."""
    if (end == end[:1]).all():
        end = end[:1]
        return float(end[0, 0]) if (end == end[0, 0]).all() else end
    return end


def measured(seen: Observations) -> Measured:
    """The cells of an observed table."""
    cut = seen.source.cut
    assert cut is not None
    rows, cols = slice(0, cut), slice(cut, seen.size)
    values = np.array(seen.block(rows, cols), np.float64)
    ends, unknown = seen.limits.of(rows, cols), seen.limits.unknown_in(rows, cols)
    whole = [np.broadcast_to(np.asarray(end, np.float64), values.shape) for end in (*ends, *(ends.gap or ()))]
    if unknown is not None:
        whole = [np.where(unknown, nothing, end) for end, nothing in zip(whole, NOTHING, strict=False)]
    spread = Ends((whole[0], whole[1]), (whole[2], whole[3]) if len(whole) > 2 else None)
    chance = np.broadcast_to(seen.limits.by_chance(rows, cols), values.shape)
    return Measured(values, spread, ~has_limit(spread) | chance)
