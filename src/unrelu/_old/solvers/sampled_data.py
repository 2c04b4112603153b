"""What a sampler of the censored model needs to know of the data: values, intervals, and how precise each is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.tolerances import PASSES_SAME_VALUE
from unrelu._old.data.limits import Ends
from unrelu._old.data.observations import Observations

__all__ = ["Told", "limits_of_pairs", "one_noise", "told"]


@dataclass(frozen=True, eq=False)
class Told:
    """Entries above the diagonal, or on both sides of it, and what is known of each, in units of the data.

    Attributes
    ----------
    rows, cols, values : ndarray
        Of the seen entries.
    hidden_rows, hidden_cols, ends : ndarray, Ends
        Of those that were not seen, and of which something is known.
    own, own_ends : ndarray of shape (n,), Ends
        The diagonal, NaN where it was not seen, and what is known of it there; infinite ends: nothing.
    precision : ndarray of shape (n, n)
        What each of these entries weighs, 0 where nothing is known: the noise of one has the variance σ²/precision.
    one : bool
        Whether a pair counts once.
    """

    rows: Indices
    cols: Indices
    values: Floats
    hidden_rows: Indices
    hidden_cols: Indices
    ends: Ends
    own: Floats
    own_ends: Ends
    precision: Floats
    one: bool

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.own)

    @property
    def own_known(self) -> Bools:
        """Of which entries of the diagonal anything is known."""
        found: Bools = ~np.isnan(self.own) | np.isfinite(self.own_ends[0]) | np.isfinite(self.own_ends[1])
        return found if self.own_ends.gap is None else found | (self.own_ends.gap[0] <= self.own_ends.gap[1])


def one_noise(observations: Observations, pairs: str) -> bool:
    """Whether (i, j) and (j, i) carry one noise: as it is said, or if they agree wherever both were seen."""
    if pairs != "auto":
        return pairs == "one"
    everyone = np.arange(observations.size)
    values = observations.entries(everyone, everyone)
    apart = values - values.T
    room = PASSES_SAME_VALUE * float(np.finfo(observations.dtype).eps) * observations.scaled_norm
    return bool(np.nansum(apart * apart) <= room**2)


def told(observations: Observations, pairs: str) -> Told:
    """Everything that was seen, and what absence says of the rest."""
    n, everyone, one = observations.size, np.arange(observations.size), one_noise(observations, pairs)
    whole = slice(0, n)
    values = observations.entries(everyone, everyone)
    own = np.diag(values).copy()
    weight = np.broadcast_to(observations.precision(whole, whole), (n, n)).astype(np.float64)
    own_weight = np.diag(weight).copy()
    if one:
        values, seen = observations.pairs(everyone, everyone)
        absent = observations.absent_pairs(everyone, everyone, seen)
        weight = np.triu(observations.pair_precision(everyone, everyone), 1)
    else:
        seen = ~np.isnan(values)
        absent = observations.absent(whole, whole, values)
        np.fill_diagonal(weight, 0.0)
    counted = np.triu(np.ones((n, n), bool), 1) if one else ~np.eye(n, dtype=bool)
    seen, absent = seen & counted, absent & counted
    i, j = np.nonzero(absent)
    precision = np.where(seen | absent, weight, 0.0)
    own_ends = _of_diagonal(observations)
    np.fill_diagonal(precision, own_weight)
    rows, cols = np.nonzero(seen)
    ends = limits_of_pairs(observations, i, j) if one else observations.limits.at(i, j, (n, n))
    return Told(rows, cols, values[rows, cols], i, j, ends.over(observations.unit), own, own_ends, precision, one)


def _of_diagonal(observations: Observations) -> Ends:
    """What is known of the diagonal where it was not seen; a diagonal that is no entry like the others is a limit."""
    own = np.arange(observations.size)
    if observations.caps is not None:
        return Ends((np.full(len(own), -np.inf), observations.caps / observations.unit))
    ends, silent = observations.limits.at(own, own, (len(own), len(own))), ~observations.told_at(own, own)
    low, high = np.where(silent, -np.inf, ends[0]), np.where(silent, np.inf, ends[1])
    gap = None if ends.gap is None else (np.where(silent, np.inf, ends.gap[0]), np.where(silent, -np.inf, ends.gap[1]))
    return Ends((low, high), gap).over(observations.unit)


def limits_of_pairs(observations: Observations, i: Indices, j: Indices, one: bool = True) -> Ends:
    """What is known of the unseen pairs (i[k], j[k]) both ways round, in the caller's units.

    Where each way has a noise of its own (not ``one``), only what is said of (i, j) is known of it. Of two gaps the
    wider is kept. Where the two ways contradict each other, what is said of (i, j) holds.
    """
    shape = observations.source.shape
    low, high = np.full(len(i), -np.inf), np.full(len(i), np.inf)
    first, last = np.full(len(i), np.inf), np.full(len(i), -np.inf)
    for a, b in ((i, j), (j, i)) if one else ((i, j),):
        there, ends = observations.told_at(a, b), observations.limits.at(a, b, shape)
        least, most = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        there &= least < most
        low, high = np.where(there, least, low), np.where(there, most, high)
        if ends.gap is not None:
            with np.errstate(invalid="ignore"):
                wider = there & (ends.gap[0] <= ends.gap[1]) & ~(last - first >= ends.gap[1] - ends.gap[0])
            first, last = np.where(wider, ends.gap[0], first), np.where(wider, ends.gap[1], last)
    return Ends((low, high), (first, last) if observations.limits.gap is not None else None)
