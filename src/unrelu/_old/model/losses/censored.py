"""The likelihood of values with Gaussian noise of which some were not seen because of their size (Tobin, 1958)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError, is_number
from unrelu._old.model.losses.base import Loss
from unrelu._old.model.losses.tails import CERTAIN, beside, beyond, inside

__all__ = ["Censored"]

# A Newton step of log σ is at most this long, and one that is shorter than the second number is not worth a pass.
LONGEST, SHORTEST = 1.0, 1e-8
# The smallest noise level that is estimated, relative to the root mean square of the seen entries: below it nothing
# that can be told from rounding is left of a misfit.
SMALLEST = 1e-6


@dataclass(frozen=True)
class Censored(Loss):
    """−log of the likelihood: ½((x − m)/σ)² + log σ for a seen entry, −log P(low < x + σε < high) for an unseen one.

    The noise level σ is given, or estimated with the factors: after every step by a Newton step of log σ. The curvature
    of an entry is its own, 1/σ² if it was seen and between 0 and 1/σ² if not: what Fisher's information is, given
    which entries were seen.

    Parameters
    ----------
    sigma : float, optional
        The noise level, in the units of the data. Default: estimated.
    level, smallest : float
        What has been estimated so far, and below what no estimate goes; set on the way.

    Examples
    --------
    >>> cost, slope, curvature = np.empty((3, 2))
    >>> Censored(sigma=0.5).unseen(np.array([-1.0, 1.0]), (-np.inf, 0.0), cost, slope, curvature)
    >>> cost.round(4).tolist()  # a fit of 1 says that an entry below 0 is two standard deviations off
    [0.023, 3.7832]
    """

    sigma: float | None = None
    level: float | None = None
    smallest: float = 0.0

    name = "censored"
    likelihood = True
    hears_gaps = True
    power = 0.0

    def __post_init__(self) -> None:
        if self.sigma is not None and not (is_number(self.sigma) and self.sigma > 0):
            raise InputError(f"sigma must be a finite number above 0, or None to estimate it; got {self.sigma!r}")

    @property
    def gathers(self) -> bool:
        """Always: the derivatives of F by log σ, and the squares of the residuals."""
        return True

    @property
    def noise(self) -> float | None:
        """σ: as given, or as estimated so far."""
        return self.level if self.sigma is None else self.sigma

    @property
    def noise_given(self) -> bool:
        """Whether σ was given."""
        return self.sigma is not None

    @property
    def _sigma(self) -> float:
        return 1.0 if self.noise is None else float(self.noise)

    @property
    def stiffness(self) -> float:
        """1/σ²."""
        return 1 / self._sigma**2

    @property
    def offset(self) -> float:
        """1 + |log σ|: an entry that is met costs log σ, and a typical one ½ more."""
        return 1 + abs(float(np.log(self._sigma)))

    def in_units(self, unit: float) -> Loss:
        """The same for data divided by ``unit``."""
        level = None if self.level is None else self.level / unit
        if self.sigma is not None:
            return replace(self, sigma=self.sigma / unit)
        return replace(self, level=level, smallest=self.smallest / unit)

    def misfit(self, value: float, sums: Floats | None) -> float:
        """Of the seen entries, from the squares that a pass gathers; F itself does not tell."""
        return float("nan") if sums is None else self._sigma * float(np.sqrt(max(sums[2], 0.0)))

    def begun(self, size: float) -> Loss:
        """As large as it might be; the first size, that of the data, says what is too small to be noise."""
        if self.sigma is not None:
            return self
        return replace(self, level=size or 1.0, smallest=self.smallest or SMALLEST * (size or 1.0))

    def renewed(self, sums: Floats) -> Loss:
        """A Newton step of log σ, where F curves upwards; a long one down or up else."""
        if self.sigma is not None:
            return self
        slope, curvature, _ = sums
        step = -slope / curvature if curvature > 0 else -np.sign(slope) * LONGEST
        step = float(np.clip(step, -LONGEST, LONGEST))
        level = max(self._sigma * float(np.exp(step)), self.smallest)
        return self if abs(step) < SHORTEST or level == self.level else replace(self, level=level)

    def seen_sums(self, fit: Array, value: Array, slope: Array, curvature: Array) -> Floats:
        """Σ (1 − ρ²) and Σ 2ρ², the derivatives of Σ ½ρ² + log σ by log σ, with ρ = (x − m)/σ."""
        squares = float(np.vdot(slope, slope)) * self._sigma**2
        uneven = np.abs(curvature - self.stiffness) > 1e-6 * self.stiffness
        if np.any(uneven & (curvature != 0)):  # weighted, so that slopes are as well
            squares = float(np.vdot(slope, fit - value))
        count = float(np.sum(curvature, dtype=np.float64)) * self._sigma**2
        return np.array([count - squares, 2 * squares, squares])

    def unseen_sums(self, fit: Array, limits: tuple[Any, Any], slope: Array, curvature: Array) -> Floats:
        """The same of −log P: z h and z²h(h + z) − z h for one limit at z = (τ − x)/σ."""
        low, high = limits
        end = _one_end(limits)
        if end is None:
            there = slope != 0
            ends = (np.broadcast_to(end, fit.shape)[there] for end in (low, high, *(_gap(limits) or ())))
            _, pull, _, once, twice = _lying(fit[there], tuple(ends), self._sigma)
            # What the kernel has multiplied the slopes by.
            weight = slope[there].astype(np.float64) * self._sigma / np.where(pull == 0, 1, pull)
            return np.array([float(np.vdot(once, weight)), float(np.vdot(twice, weight)), 0.0])
        reach = np.where(np.isinf(end), 0, end) - fit
        pulled = reach * slope
        first = float(np.sum(pulled, dtype=np.float64))
        np.multiply(reach, reach, out=reach)
        return np.array([first, float(np.vdot(reach, curvature)) - first, 0.0])

    def seen(self, fit: Array, value: Array, cost: Array, slope: Array, curvature: Array) -> None:
        """½((x − m)/σ)² + log σ."""
        sigma = self._sigma
        np.subtract(fit, value, out=slope)
        slope /= sigma
        np.multiply(slope, slope, out=cost)
        cost *= 0.5
        cost += np.log(sigma)
        slope /= sigma
        curvature.fill(1 / sigma**2)

    def unseen(self, fit: Array, limits: tuple[Any, Any], cost: Array, slope: Array, curvature: Array) -> None:
        """−log of the probability to lie between the limits, and outside the gap."""
        sigma = self._sigma
        low, high = limits
        end = _one_end(limits)
        if end is None:
            cost[:], slope[:], curvature[:], _, _ = _lying(fit, (low, high, *(_gap(limits) or ())), sigma)
        else:
            below = np.all(np.isinf(low))
            z = np.subtract(end, fit, dtype=fit.dtype) if below else np.subtract(fit, end, dtype=fit.dtype)
            z /= fit.dtype.type(sigma)
            if np.ndim(end):  # an entry without a limit is as sure as one far from it
                np.minimum(z, CERTAIN, out=z)
            beyond(z, cost, slope, curvature)
            if not below:
                np.negative(slope, out=slope)
        np.negative(cost, out=cost)
        slope /= sigma
        curvature /= sigma**2


def _one_end(limits: tuple[Any, Any]) -> Any:
    """The only limit that any of these entries has; None if there are two, or a gap."""
    low, high = limits
    if _gap(limits) is not None:
        return None
    if np.all(np.isinf(low)):
        return high
    return low if np.all(np.isinf(high)) else None


def _gap(limits: tuple[Any, Any]) -> tuple[Any, Any] | None:
    return getattr(limits, "gap", None)


def _lying(fit: Array, ends: tuple[Any, ...], sigma: float) -> tuple[Array, Array, Array, Array, Array]:
    """Of the probability to lie between two ends, or between them and outside a gap: see :func:`inside`."""
    low, high, *gap = ((end - fit) / sigma for end in ends)
    return beside(low, high, *gap) if gap else inside(low, high)
