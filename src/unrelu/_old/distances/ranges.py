"""What was measured: seen distances, what the unseen ones are known to satisfy, and points whose place is known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.errors import InputError, is_number
from unrelu._old.base.tolerances import RANGES_SHARPEST, SEEN_ROUNDING
from unrelu._old.base.units import power_of_two
from unrelu._old.distances.anchors import known_places
from unrelu._old.distances.edges import EdgeList, all_different, named_pair
from unrelu._old.distances.seen import BEYOND_NOISE, checked_values, given_sigma, merged_pairs, seen_pairs
from unrelu._old.problems.network import PairLimits, no_limits

__all__ = ["Ranges"]

# A distance with a deviation of so many times the longest one says nothing.
NOTHING_SAID = 1e12


@dataclass(frozen=True, eq=False)
class Ranges:
    """The whole truth about the input.

    Attributes
    ----------
    size : int
        Number of points.
    first, second : int ndarray of shape (m,)
        The two points of each seen pair, first < second, each pair once, in increasing order.
    distance : ndarray of shape (m,)
    sigma : ndarray of shape (m,) or None
        Standard deviation of each distance, if the caller knows it.
    cutoff : float or None
        Every unseen distance is at least this.
    limits : PairLimits
    anchors : int ndarray, places : ndarray of shape (len(anchors), dim)
        Points whose place is known.
    names : tuple or None
    dtype : numpy dtype
        float32 if the distances came so, else float64.
    notes : tuple of str
        What a person should know about the input, in sentences.
    """

    size: int
    first: Indices
    second: Indices
    distance: Floats
    sigma: Floats | None = None
    cutoff: float | None = None
    limits: PairLimits = field(default_factory=lambda: no_limits())
    anchors: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    places: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    names: tuple[Any, ...] | None = None
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        D: Any,
        *,
        cutoff: Any = None,
        squared: bool = False,
        sigma: Any = None,
        names: Any = None,
        robust: bool = False,
    ) -> Ranges:
        """Check the caller's distances; nothing of the caller's is changed.

        What else is known of the points, :meth:`restrained` adds. ``robust``: a distance beyond the cut-off is one that
        may be wrong, and no reason to refuse the others.
        """
        if cutoff is not None and not (is_number(cutoff) and cutoff > 0):
            raise InputError(f"cutoff must be a positive number, or None if absence says nothing; got {cutoff!r}")
        labels = None if names is None else tuple(names)
        all_different(labels or ())
        seen, n, labels, dtype = seen_pairs(D, labels, squared=squared)
        deviation = given_sigma(sigma, seen, n)
        seen = checked_values(seen, squared, labels)
        if squared and deviation is not None and sigma is None:
            raise InputError("sigma in an edge list of squared distances is ambiguous; pass distances and their sigma")
        deviation = _not_beyond_all(deviation, seen.values)
        first, second, distance, deviation = merged_pairs(seen, deviation, n, dtype, labels)
        ranges = cls(n, first, second, distance, deviation, cutoff, names=labels, dtype=dtype)
        if not robust:
            ranges._refuse_beyond_cutoff()
        return replace(ranges, notes=ranges._zeros())

    def restrained(self, dim: int, *, lower: Any = None, upper: Any = None, anchors: Any = None) -> Ranges:
        """The same with limits of further distances and with points whose place is known, in ``dim`` coordinates."""
        limits = _limits(lower, upper, self.size, self.names, self.dtype)
        fixed, places = known_places(anchors, self.size, dim, self.names)
        ranges = replace(self, limits=limits, anchors=fixed, places=places)
        ranges._refuse_beyond_limits()
        ranges._refuse_anchors_beyond_limits()
        return ranges

    @property
    def unit(self) -> float:
        """A power of two near the typical distance: dividing by it is exact, and everything is solved at size one."""
        values = [self.distance[self.distance > 0], self.limits.lower[self.limits.lower > 0]]
        known = np.concatenate(values)
        if not known.size and self.cutoff is None:  # contacts alone
            known = self.limits.upper[np.isfinite(self.limits.upper) & (self.limits.upper > 0)]
        size = float(np.median(known)) if known.size else (self.cutoff or 1.0)
        return power_of_two(size)

    @property
    def rounding(self) -> float:
        """The share of a distance that rounding of the input may have changed."""
        return SEEN_ROUNDING[self.dtype]

    @property
    def precision(self) -> Floats | None:
        """1/σ² over that of the largest σ, a million at most; None if σ is not known."""
        if self.sigma is None:
            return None
        shares = self.sigma / float(self.sigma.max())  # squares of the deviations themselves may be beyond all numbers
        result: Floats = 1 / np.maximum(shares, RANGES_SHARPEST) ** 2
        return result

    @property
    def noise(self) -> float | None:
        """The standard deviation of a distance of weight one, where weights are the precision over its mean."""
        precision = self.precision
        if precision is None or self.sigma is None:
            return None
        return float(self.sigma.max() / np.sqrt(precision.mean()))

    def _refuse_beyond_cutoff(self) -> None:
        cutoff, distance = self.cutoff, self.distance
        if cutoff is None:
            return
        slack = self.rounding * cutoff + (0.0 if self.sigma is None else BEYOND_NOISE * self.sigma)
        beyond = np.flatnonzero(distance > cutoff + slack)
        if beyond.size:
            k = beyond[np.argmax(distance[beyond])]
            more = f" and {beyond.size - 1} more" if beyond.size > 1 else ""
            raise InputError(
                f"a seen distance must not exceed cutoff={cutoff:g}, got {distance[k]:g} at "
                f"{named_pair(self.first[k], self.second[k], self.names)}{more}; "
                "raise the cut-off, drop it, or pass sigma= if noise did it"
            )

    def _refuse_beyond_limits(self) -> None:
        """PairLimits are of unseen distances; of a seen one they must at least not say the opposite."""
        limits, sigma = self.limits, self.sigma
        if not len(limits) or not len(self.first):
            return
        keys = self.first.astype(np.int64) * self.size + self.second
        own = limits.first.astype(np.int64) * self.size + limits.second
        where = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
        slack = self.rounding * float(self.distance.max()) + (0.0 if sigma is None else BEYOND_NOISE * sigma[where])
        seen = self.distance[where]
        beyond = (keys[where] == own) & ((seen < limits.lower - slack) | (seen > limits.upper + slack))
        if beyond.any():
            k = int(np.flatnonzero(beyond)[0])
            more = f" and {int(beyond.sum()) - 1} more" if beyond.sum() > 1 else ""
            raise InputError(
                f"bounds must not contradict a seen distance, got {seen[k]:g} outside {limits.lower[k]:g} to "
                f"{limits.upper[k]:g} at {named_pair(limits.first[k], limits.second[k], self.names)}{more}; "
                "correct one of them, or pass sigma= if noise did it"
            )

    def _refuse_anchors_beyond_limits(self) -> None:
        limits, fixed, places = self.limits, self.anchors, self.places
        both = np.flatnonzero(np.isin(limits.first, fixed) & np.isin(limits.second, fixed))
        if not both.size:
            return
        one, other = (places[np.searchsorted(fixed, side[both])] for side in (limits.first, limits.second))
        apart = np.linalg.norm(one - other, axis=1)
        slack = self.rounding * float(np.abs(places).max())
        beyond = np.flatnonzero((apart < limits.lower[both] - slack) | (apart > limits.upper[both] + slack))
        if beyond.size:
            k = both[beyond[0]]
            more = f" and {beyond.size - 1} more" if beyond.size > 1 else ""
            raise InputError(
                f"bounds must not contradict the anchors, which lie {apart[beyond[0]]:g} apart, outside "
                f"{limits.lower[k]:g} to {limits.upper[k]:g}, at "
                f"{named_pair(limits.first[k], limits.second[k], self.names)}{more}; correct one of them"
            )

    def _zeros(self) -> tuple[str, ...]:
        """What is to be said about different points at one place."""
        same = np.flatnonzero(self.distance == 0)
        if not same.size:
            return ()
        where = named_pair(self.first[same[0]], self.second[same[0]], self.names)
        more = f" and {same.size - 1} more pairs" if same.size > 1 else ""
        return (f"{where}{more} have distance zero: different points at one place",)


def _not_beyond_all(sigma: Floats | None, distance: Floats) -> Floats | None:
    """Deviations whose squares are numbers: beyond so many times the longest distance they all say nothing."""
    if sigma is None or not distance.size or not distance.max() > 0:
        return sigma
    with np.errstate(over="ignore"):
        result: Floats = np.minimum(sigma, NOTHING_SAID * float(distance.max()))
    return result


def _limits(lower: Any, upper: Any, n: int, names: tuple[Any, ...] | None, dtype: np.dtype[Any]) -> PairLimits:
    if lower is None and upper is None:
        return no_limits()
    sides = []
    for side, what in ((lower, "lower"), (upper, "upper")):
        if side is None:
            sides.append((np.zeros(0, np.int64), np.zeros(0)))
            continue
        seen, size, _, _ = seen_pairs(side, names if isinstance(side, EdgeList) else None)
        if size > n or (size != n and not isinstance(side, EdgeList)):
            raise InputError(f"{what} must be about the same {n} points as D, got {size}")
        pair = checked_values(seen, False, names)
        first, second, value, _ = merged_pairs(pair, None, n, dtype, names)
        sides.append((first.astype(np.int64) * n + second, value))
    keys = np.union1d(sides[0][0], sides[1][0])
    low, high = np.zeros(len(keys)), np.full(len(keys), np.inf)
    low[np.searchsorted(keys, sides[0][0])] = sides[0][1]
    high[np.searchsorted(keys, sides[1][0])] = sides[1][1]
    first, second = (keys // n).astype(np.intp), (keys % n).astype(np.intp)
    crossing = np.flatnonzero(low > high)
    if crossing.size:
        k = crossing[0]
        raise InputError(
            f"lower must not exceed upper, got {low[k]:g} above {high[k]:g} at {named_pair(first[k], second[k], names)}"
            f"{f' and {crossing.size - 1} more' if crossing.size > 1 else ''}"
        )
    return PairLimits(first, second, low, high)
