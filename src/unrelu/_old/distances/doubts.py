"""What is believed of every range of a call, component after component."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.data.labels import label_or_position
from unrelu._old.distances.distrust import Trust
from unrelu._old.distances.reliability import WRONG
from unrelu._old.distances.solve import Solved
from unrelu._old.problems.network import Network

__all__ = ["Doubts", "without_contradictions"]


class Doubts:
    """One entry per measured range, in the order in which they came; distances in units.

    Attributes
    ----------
    kept : boolean ndarray of shape (m,)
        The ranges that were fitted.
    named : boolean ndarray of shape (m,)
        Those that are wrong.
    unchecked : boolean ndarray of shape (m,)
        Those that nothing checks, and those of which nobody knows which one is wrong.
    expected : ndarray of shape (m,)
        What the others say that the range should be.
    deviations : ndarray of shape (m,)
        By how many standard deviations it is longer.
    """

    def __init__(self, seen: Network) -> None:
        count = len(seen.first)
        self.seen = seen
        self.kept = np.ones(count, bool)
        self.named = np.zeros(count, bool)
        self.unchecked = np.zeros(count, bool)
        self.expected = seen.distance.copy()
        self.deviations = np.zeros(count)
        self.contradicting = 0  # ranges between anchors that were left out

    def listed(self, unit: float, names: tuple[Any, ...] | None) -> list[tuple[Any, Any, float, float, float]]:
        """The wrong ranges, the farthest off first: two points, measured, expected, and by how many deviations."""
        rows = np.flatnonzero(self.named)
        order = rows[np.argsort(-np.abs(self.deviations[rows]), kind="stable")]
        return [
            (
                *self._pair(k, names),
                float(self.seen.distance[k] * unit),
                float(self.expected[k] * unit),
                float(self.deviations[k]),
            )
            for k in order
        ]

    def unjudged(self, names: tuple[Any, ...] | None) -> list[tuple[Any, Any]]:
        """The pairs of points whose ranges could not be judged."""
        return [self._pair(k, names) for k in np.flatnonzero(self.unchecked)]

    def _pair(self, k: Any, names: tuple[Any, ...] | None) -> tuple[Any, Any]:
        return label_or_position(self.seen.first[k], names), label_or_position(self.seen.second[k], names)

    def note(self, trust: Trust, members: Indices, one: Solved, fixed: Indices) -> None:
        """Take over what was found out about one component; ``fixed``: its points whose places are known."""
        network = trust.search.network
        found, deviations = trust.checked(one)
        named = trust.named(one, deviations)
        where, own = self._places(network, members)
        self.kept[where] = trust.kept[own]
        self.named[where] = named[own]
        self.unchecked[where] = (~found.checkable | (~trust.kept & ~named))[own]
        self.expected[where] = found.expected[own]
        self.deviations[where] = deviations[own]
        self._note_anchors(members[fixed], one.points[fixed], trust.consensus.sigma)

    def _places(self, network: Network, members: Indices) -> tuple[Indices, Indices]:
        """Where the ranges of a component stand among all, and which of the component's those are."""
        low, high = (np.minimum, np.maximum)
        first, second = members[network.first], members[network.second]
        keys = low(first, second).astype(np.int64) * self.seen.size + high(first, second)
        all_keys = self.seen.first.astype(np.int64) * self.seen.size + self.seen.second
        where = np.minimum(np.searchsorted(all_keys, keys), max(len(all_keys) - 1, 0))
        own = np.flatnonzero(all_keys[where] == keys) if len(all_keys) else np.zeros(0, np.intp)
        return where[own], own

    def _note_anchors(self, anchors: Indices, known: Floats, sigma: float) -> None:
        """Ranges between points whose places are known are judged by those."""
        deviations = _beside_anchors(self.seen, anchors, known, sigma)
        both = np.flatnonzero(~np.isnan(deviations))
        if not both.size or len(anchors) < 2:
            return
        longer = deviations[both] * sigma / np.sqrt(self.seen.weight[both])
        self.expected[both] = self.seen.distance[both] - longer
        self.deviations[both] = deviations[both]
        self.named[both] = np.abs(deviations[both]) > WRONG
        self.kept[both], self.unchecked[both] = ~self.named[both], False
        self.contradicting += int(self.named[both].sum())


def without_contradictions(trust: Trust, seen: Network, fixed: Indices, known: Floats) -> Network:
    """What was measured in a component, without the ranges left out and those that contradict the anchors."""
    deviations = _beside_anchors(seen, fixed, known, trust.consensus.sigma)
    return trust.part(seen, wrong=np.abs(np.nan_to_num(deviations)) > WRONG)


def _beside_anchors(seen: Network, anchors: Indices, known: Floats, sigma: float) -> Floats:
    """By how many standard deviations ranges are longer than the places of two anchors say; NaN for other ranges.

    The noise is that of the consensus, before the fit: what is named must be what was not fitted.
    """
    X = np.full((seen.size, seen.dim), np.nan)
    X[anchors] = known
    result: Floats = -seen.residual(X) * np.sqrt(seen.weight) / sigma
    return result
