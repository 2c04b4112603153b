"""What was read from a file: a matrix, the limits that its cells name, and words about how it was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from unrelu.base.arrays import Floats
from unrelu.data.limits import Limits
from unrelu.data.table import Table

__all__ = ["Reading"]


@dataclass(frozen=True, eq=False)
class Reading(Table):
    """A matrix read from a file, with all that its cells say.

    Parameters
    ----------
    values : (m, n) array or sparse array
        NaN where nothing was measured; in a sparse array the stored entries are the measured ones.
    rows, columns : tuple of str, or None
        Labels, when the file had them.
    low, high : (m, n) array, or None
        Above and below which numbers a value lies whose cell is a limit, such as ``<0.25``; infinite for all others.
        None if no cell is a limit.
    words : tuple of str
        How the file was read, where its name does not say it: "read as semicolons with decimal commas".

    Examples
    --------
    >>> nan, inf = np.nan, np.inf
    >>> found = Reading(np.array([[1.5, nan, nan]]), low=np.array([[-inf] * 3]), high=np.array([[inf, 0.25, inf]]))
    >>> found.counts
    {'measured': 1, 'below': 1, 'above': 0, 'missing': 1}
    """

    low: Floats | None = None
    high: Floats | None = None
    words: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many cells were measured, lie below a limit, lie above one, and are missing."""
        sparse = scipy.sparse.issparse(self.values)
        values: Any = self.values
        measured = np.count_nonzero(~np.isnan(values.data if sparse else values))
        below, above = (0 if end is None else np.count_nonzero(np.isfinite(end)) for end in (self.high, self.low))
        missing = values.shape[0] * values.shape[1] - measured - below - above
        found = {"measured": measured, "below": below, "above": above, "missing": missing}
        return {kind: int(count) for kind, count in found.items()}

    @property
    def limits(self) -> Limits | None:
        """The limits as :func:`unrelu.complete` takes them; None if no cell is one."""
        if self.low is None or self.high is None:
            return None
        low, high = (end if np.isfinite(end).any() else float(end.flat[0]) for end in (self.low, self.high))
        return Limits(low, high)

    def after(self, words: Sequence[str]) -> Reading:
        """The same with words that come before the others."""
        return replace(self, words=(*words, *self.words))

    def with_counts(self) -> Reading:
        """The same with a word about its limits at the end, if it has any."""
        if self.low is None:
            return self
        count = self.counts
        told = (
            f"read limits from its cells: {count['below']} below, {count['above']} above, {count['measured']} "
            f"measured, {count['missing']} missing"
        )
        told += ", of which nothing is known" if count["missing"] else ""
        return replace(self, words=(*self.words, told))
