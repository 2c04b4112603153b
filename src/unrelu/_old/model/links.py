"""Scales on which entries of a bounded range look normal: Fisher's z for what may be negative, the logit for shares.

A correlation or a cosine lies between ±top, a kernel between 0 and top, with top on the diagonal. One normal
distribution knows nothing of that; on such a scale it cannot leave the range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.tolerances import LINKS_NEAR
from unrelu._old.data.limits import Ends
from unrelu._old.model.predictive import Predictive

__all__ = ["LINKS", "Linked", "Scale"]

# Names of scales.
LINKS = ("plain", "fisher", "logit")
# Equally likely parts into which a distribution is cut for its moments.
PARTS = 101


@dataclass(frozen=True)
class Scale:
    """From entries to z, on which they look normal.

    Attributes
    ----------
    link : {"plain", "fisher", "logit"}
        z = x, z = artanh(x/top), or z = log(x/(top − x)).
    top : float
        The largest that an entry can be; of no account for entries as they are.
    positive : bool
        Whether entries as they are cannot be below 0.

    Examples
    --------
    >>> Scale("fisher", 2.0).entries(Scale("fisher", 2.0).z(np.array([-1.0, 0.5]))).round(6).tolist()
    [-1.0, 0.5]
    >>> Scale("logit", 1.0).range, Scale("plain").range
    ((0.0, 1.0), (-inf, inf))
    """

    link: str = "plain"
    top: float = 1.0
    positive: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """Between which entries can lie."""
        least = 0.0 if self.positive else -np.inf
        return {"plain": (least, np.inf), "fisher": (-self.top, self.top), "logit": (0.0, self.top)}[self.link]

    def holds(self, values: Floats) -> bool:
        """Whether all values are within the range, to rounding at its top."""
        low, high = self.range
        above = values > low if self.link == "logit" else values >= low - LINKS_NEAR * self.top
        return bool(np.all(values <= high + LINKS_NEAR * self.top) and np.all(above))

    def narrowed(self, ends: tuple[Any, Any]) -> tuple[Any, Any]:
        """Ends that do not leave the range; those that contradict it stay as they are."""
        least, most = self.range
        if np.isinf(least) and np.isinf(most):
            return ends
        low, high = ends
        return np.where(high > least, np.maximum(low, least), low), np.where(low < most, np.minimum(high, most), high)

    def z(self, x: Any) -> Floats:
        """Of entries; infinite at the ends of the range and beyond."""
        x = np.asarray(x, np.float64)
        if self.link == "plain":
            return x
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.clip(x / self.top, -1 if self.link == "fisher" else 0, 1)
            return np.arctanh(share) if self.link == "fisher" else np.log(share) - np.log1p(-share)

    def z_of_seen(self, x: Floats) -> Floats:
        """The same, of values that were seen: those at the end of the range are a little inside."""
        near = self.top * (1 - LINKS_NEAR)
        return self.z(x if self.link == "plain" else np.clip(x, -near, near))

    def entries(self, z: Floats) -> Floats:
        """Back from z."""
        if self.link == "plain":
            return z
        # The logistic function is a tanh of half of it, which does not overflow.
        bent: Floats = self.top * (np.tanh(z) if self.link == "fisher" else (1 + np.tanh(z / 2)) / 2)
        return bent

    def log_slope(self, x: Floats) -> Floats:
        """Log dz/dx at values that were seen."""
        if self.link == "plain":
            return np.zeros(np.shape(x))
        share = np.clip(x / self.top, -1 + LINKS_NEAR, 1 - LINKS_NEAR)
        slope: Floats = (
            -np.log1p(-(share**2)) if self.link == "fisher" else -np.log(share) - np.log1p(-share)
        ) - np.log(self.top)
        return slope


@dataclass(frozen=True, eq=False)
class Linked:
    """What entries that are alike are likely to be: normal on a scale, between their ends.

    Examples
    --------
    >>> kernel = Linked(0.0, 1.0, Scale("logit", 1.0), Ends((np.zeros(2), np.array([0.5, 1.0]))))
    >>> kernel.expectation().round(3).tolist()
    [0.325, 0.5]
    >>> low, high = kernel.interval(0.9)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.123, 0.162], [0.484, 0.838])
    """

    mean: float
    sigma: float
    scale: Scale
    ends: Ends

    def _inner(self, ends: Ends) -> Predictive:
        within = Ends((self.scale.z(ends[0]), self.scale.z(ends[1])))
        shape = np.broadcast_shapes(*(np.shape(end) for end in within))
        return Predictive(np.full(shape, self.mean), self.sigma, within)

    def expectation(self) -> Floats:
        """Of x; never beyond its ends."""
        return self._moments()[0]

    def spread(self) -> Floats:
        """The standard deviation of x."""
        return self._moments()[1]

    def _moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation, over equally likely parts; once for all entries that have the same ends."""
        low, high = np.broadcast_arrays(*(np.asarray(end, np.float64) for end in self.ends))
        (least, most), which = np.unique(np.stack([low.ravel(), high.ravel()]), axis=1, return_inverse=True)
        inner = self._inner(Ends((least, most)))
        parts = np.stack([self.scale.entries(inner.quantile((k + 0.5) / PARTS)) for k in range(PARTS)])
        mean, spread = np.clip(parts.mean(axis=0), least, most), parts.std(axis=0)
        which = np.asarray(which).reshape(low.shape)
        return mean[which], spread[which]

    def log_density(self, x: Any) -> Floats:
        """Of values that lie between the ends."""
        x = np.asarray(x, np.float64)
        found: Floats = self._inner(self.ends).log_density(self.scale.z_of_seen(x)) + self.scale.log_slope(x)
        return found

    def log_probability(self, within: Ends) -> Floats:
        """To lie within narrower ends."""
        return self._inner(self.ends).log_probability(Ends((self.scale.z(within[0]), self.scale.z(within[1]))))

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """(low, high) with equal probabilities beyond them."""
        inner = self._inner(self.ends)
        low, high = (np.clip(self.scale.entries(end), *self.ends) for end in inner.interval(level))
        return low, high
