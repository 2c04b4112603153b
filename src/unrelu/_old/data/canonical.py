"""An order of the rows that depends on what was seen of them, not on how they came: permuting them changes nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.alike import bits_of, rows_told_apart
from unrelu._old.data.limits import part_of
from unrelu._old.data.observations import Observations

__all__ = ["bits_seen", "canonical_order"]

# Values that tell most rows apart; all of them are compared only where these do not.
FEW = 4
# Stands for an entry of which nothing is known; no number has these bits.
UNKNOWN = np.uint64(0x7FF8000000000001)
# An odd number by which the bits of several numbers are mixed into one.
MIXED = np.uint64(0x9E3779B97F4A7C15)


def canonical_order(observations: Observations) -> NDArray[np.intp]:
    """Positions of the rows, sorted by their diagonal entry and then by all that was seen of them.

    Rows that tie in this, as repeated rows do, are told apart by which rows they see. The rows of a table come before
    its columns.

    Examples
    --------
    >>> X = np.array([[4.0, 2.0, np.nan], [2.0, 1.0, 3.0], [np.nan, 3.0, 9.0]])
    >>> canonical_order(Observations.of(X)).tolist()
    [1, 0, 2]
    """
    order, cut = _sorted(observations), observations.source.cut
    return order if cut is None else np.concatenate([order[order < cut], order[order >= cut]])


def _sorted(observations: Observations) -> NDArray[np.intp]:
    everyone = np.arange(observations.size)
    values = observations.entries(everyone, everyone)
    seen = np.sort(np.concatenate([values, values.T], axis=1), axis=1)  # NaN comes last
    marked = np.zeros(observations.size)
    unknown = observations.limits.unknown_in(everyone, everyone)
    if unknown is not None:
        marked = unknown.sum(axis=0) + unknown.sum(axis=1)
    marked = marked + _limits_of_rows(observations)
    diagonal = np.diagonal(values)
    order = np.lexsort((*seen.T[FEW - 1 :: -1], marked, diagonal))
    if not _ties(np.column_stack([diagonal, marked, seen[:, :FEW]])[order]).any():
        return order
    order = np.lexsort((*seen.T[::-1], marked, diagonal))
    ties = _ties(np.column_stack([diagonal, marked, seen])[order])
    if not ties.any():
        return order
    classes = np.empty(len(order), np.intp)
    classes[order] = np.concatenate([[0], np.cumsum(~ties)])
    return rows_told_apart(classes, bits_seen(observations))[0]


def bits_seen(observations: Observations) -> NDArray[np.uint64]:
    """What was seen of each entry as one integer: its value, or why there is none."""
    everyone = np.arange(observations.size)
    bits = bits_of(observations.entries(everyone, everyone))
    unknown = observations.limits.unknown_in(everyone, everyone)
    if unknown is not None:
        bits[unknown] = UNKNOWN
    for told in _told(observations):
        bits = bits * MIXED + bits_of(told)
    return bits


def _told(observations: Observations) -> list[NDArray[np.float64]]:
    """What else tells entries apart, where they differ in it: limits, weights, noise."""
    limits, shape, everyone = observations.limits, observations.source.shape, np.arange(observations.size)
    own = None if limits.uniform else limits.of(everyone, everyone)
    ends = [] if own is None else [*own, *(own.gap or ())]
    extras = (observations.weights, observations.spread)
    more = [part_of(extra, everyone, everyone) for extra in extras if extra is not None]
    return [np.broadcast_to(np.asarray(part, np.float64), shape) for part in (*ends, *more)]


def _limits_of_rows(observations: Observations) -> NDArray[np.float64]:
    """A number by which rows with other limits, weights or noise are told apart, whatever their order."""
    total = np.zeros(observations.size)
    for told in _told(observations):
        both = np.sort(np.concatenate([told, told.T], axis=1), axis=1)
        total += np.sum(np.where(np.isfinite(both), both, 0.0), axis=1)
    return total


def _ties(keys: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which neighbours are alike; NaN is like NaN."""
    same = (keys[1:] == keys[:-1]) | (np.isnan(keys[1:]) & np.isnan(keys[:-1]))
    alike: NDArray[np.bool_] = same.all(axis=1)
    return alike
