"""A symmetric matrix as a table of its own: what was seen one way round is known the other way round too."""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.data.bipartite import Bipartite, BipartiteLimits
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import Place, Source

__all__ = ["Mirrored", "as_table"]


class Mirrored(Source):
    """The mean of (i, j) and (j, i), or the one of them that was seen.

    Examples
    --------
    >>> from unrelu._old.data.source import ArraySource
    >>> Mirrored(ArraySource(np.array([[1.0, 2.0], [4.0, np.nan]]))).block(slice(0, 2), slice(0, 2)).tolist()
    [[1.0, 3.0], [3.0, nan]]
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shape, self.dtype, self.labels = source.shape, source.dtype, source.labels
        self.thread_safe, self.at_hand = source.thread_safe, False  # type: ignore[misc]

    def block(self, rows: Place, cols: Place) -> Array:
        """Both ways round."""
        return _mean(self.source.block(rows, cols), self.source.block(cols, rows).T)

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        return _mean(self.source.at(rows, cols), self.source.at(cols, rows))


def as_table(observations: Observations) -> Observations:
    """The same data as a table whose rows and columns are the rows of the matrix, with all entries alike.

    Whatever a table of some rank has one value for, a symmetric matrix of that rank has too. Its diagonal is part of it
    if that is hidden because of its values, and not if it is missing for another reason.
    """
    n, own = observations.size, np.arange(observations.size)
    limits = observations.limits
    missing = own[~observations.told_at(own, own)]
    limits = limits.without(missing, missing, (n, n)) if missing.size and not limits.nothing else limits
    labels = None if observations.labels is None else 2 * observations.labels
    source = Bipartite(Mirrored(observations.source))
    return Observations(source, BipartiteLimits.of_table(limits, (n, n)), labels, diagonal_seen=False)


def _mean(one: Array, other: Array) -> Array:
    both = (one + other) / 2
    return np.where(np.isnan(both), np.where(np.isnan(one), other, one), both)
