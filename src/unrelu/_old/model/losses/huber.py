"""Squares near the data and straight lines far from them: a gross error pulls no harder than a small one (Huber)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError, is_number
from unrelu._old.base.tolerances import HUBER_SHORTEST, HUBER_SMALLEST
from unrelu._old.data.limits import Ends
from unrelu._old.model.losses.base import Loss

__all__ = ["Huber"]

# The corner, in standard deviations of the noise, with which nineteen twentieths of the data's information are used
# where there are no gross errors at all (Huber, 1964).
CORNER = 1.345


@dataclass(frozen=True)
class Huber(Loss):
    """σ(ρ((x − m)/σ) + β/2) for a seen entry, σ ρ(d/σ) for an unseen one that is d beyond its limits.

    ρ(z) is ½z² up to the corner |z| = δ and δ|z| − ½δ² beyond. So whatever is wrong with one entry, it pulls the fit no
    harder than an entry at the corner: one that was seen with a wrong value, and one that went unseen although its
    value would have been seen.

    The noise level σ is given, or estimated with the factors. With β = E min(Z², δ²) for a standard normal Z the best σ
    is Huber's Proposal 2, in which a gross error counts as one at the corner, and the cost is convex in fit and σ
    together. The curvature of an entry is that of the parabola which touches its cost from above: 1/σ up to the corner,
    less beyond.

    Parameters
    ----------
    delta : float, default 1.345
        The corner, in standard deviations of the noise.
    sigma : float, optional
        The noise level, in the units of the data. Default: estimated.
    level, smallest : float
        What has been estimated so far, and below what no estimate goes; set on the way.

    Examples
    --------
    >>> cost, slope, curvature = np.empty((3, 3))
    >>> Huber(delta=1.0, sigma=1.0).seen(np.array([0.5, 1.0, 9.0]), np.zeros(3), cost, slope, curvature)
    >>> slope.tolist()  # however far off, it pulls no harder
    [0.5, 1.0, 1.0]
    """

    delta: float = CORNER
    sigma: float | None = None
    level: float | None = None
    smallest: float = 0.0

    name = "huber"
    hears_gaps = True
    distrusts = True
    power = 1.0

    def __post_init__(self) -> None:
        if not (is_number(self.delta) and self.delta > 0):
            raise InputError(f"delta must be a finite number above 0, in standard deviations; got {self.delta!r}")
        if self.sigma is not None and not (is_number(self.sigma) and self.sigma > 0):
            raise InputError(f"sigma must be a finite number above 0, or None to estimate it; got {self.sigma!r}")

    @cached_property
    def expected(self) -> float:
        """β = E min(Z², δ²) of a standard normal Z."""
        density = float(np.exp(-(self.delta**2) / 2) / np.sqrt(2 * np.pi))
        inside = float(2 * ndtr(self.delta) - 1)
        return inside - 2 * self.delta * density + self.delta**2 * (1 - inside)

    @property
    def gathers(self) -> bool:
        """Always: what Proposal 2 asks for, and the squares of the residuals."""
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
        """1/σ."""
        return 1 / self._sigma

    @property
    def offset(self) -> float:
        """σβ/2, what an entry costs that is met."""
        return self._sigma * self.expected / 2

    def in_units(self, unit: float) -> Loss:
        """The same for data divided by ``unit``."""
        if self.sigma is not None:
            return replace(self, sigma=self.sigma / unit)
        level = None if self.level is None else self.level / unit
        return replace(self, level=level, smallest=self.smallest / unit)

    def misfit(self, value: float, sums: Floats | None) -> float:
        """Of the seen entries, from the squares that a pass gathers; F itself does not tell."""
        return float("nan") if sums is None else float(np.sqrt(max(sums[2], 0.0)))

    def begun(self, size: float) -> Loss:
        """As large as it might be; the first size, that of the data, says what is too small to be noise."""
        if self.sigma is not None:
            return self
        return replace(self, level=size or 1.0, smallest=self.smallest or HUBER_SMALLEST * (size or 1.0))

    def renewed(self, sums: Floats) -> Loss:
        """σ² times the mean of min(z², δ²) over β: a step towards Proposal 2, by which F never rises."""
        if self.sigma is not None or not sums[0] > 0:
            return self
        level = max(self._sigma * float(np.sqrt(sums[1] / (self.expected * sums[0]))), self.smallest)
        return self if abs(level - self._sigma) <= HUBER_SHORTEST * self._sigma else replace(self, level=level)

    def seen_sums(self, fit: Array, value: Array, slope: Array, curvature: Array) -> Floats:
        """How many, Σ min(z², δ²) and Σ (x − m)², each times the weight that the kernel gave the entry."""
        gap = fit - value
        weight = self._weights(gap, curvature)
        pulled = np.minimum(np.abs(gap) / self._sigma, self.delta)
        squares = float(np.vdot(weight, np.square(gap)))
        return np.array([float(np.sum(weight, dtype=np.float64)), float(np.vdot(weight, np.square(pulled))), squares])

    def unseen_sums(self, fit: Array, limits: tuple[Any, Any], slope: Array, curvature: Array) -> Floats:
        """What those beyond their limits add: they are not counted, for most of them say nothing of the noise."""
        gap = fit - _nearest(fit, limits)
        weight = self._weights(gap, curvature)
        pulled = np.minimum(np.abs(gap) / self._sigma, self.delta)
        return np.array([0.0, float(np.vdot(weight, np.square(pulled))), 0.0])

    def _weights(self, gap: Array, curvature: Array) -> Array:
        """What the kernel has multiplied the curvatures by: 0 where an entry is not there."""
        weight: Array = curvature * self._sigma * np.maximum(np.abs(gap) / (self.delta * self._sigma), 1)
        return weight

    def seen(self, fit: Array, value: Array, cost: Array, slope: Array, curvature: Array) -> None:
        """σ(ρ(z) + β/2)."""
        np.subtract(fit, value, out=slope)
        self._of_gaps(cost, slope, curvature)
        cost += self._sigma * self.expected / 2

    def unseen(self, fit: Array, limits: tuple[Any, Any], cost: Array, slope: Array, curvature: Array) -> None:
        """σρ of the distance from where it may lie; nothing inside."""
        np.subtract(fit, _nearest(fit, limits), out=slope)
        inside = slope == 0
        self._of_gaps(cost, slope, curvature)
        curvature[inside] = 0

    def _of_gaps(self, cost: Array, slope: Array, curvature: Array) -> None:
        """Cost and curvature of the gaps that stand in ``slope``, and their own slopes."""
        sigma = self._sigma
        slope /= sigma
        np.abs(slope, out=curvature)
        np.clip(slope, -self.delta, self.delta, out=slope)
        # σ(ψ|z| − ½ψ²) with ψ = min(|z|, δ) is both branches in one.
        np.minimum(curvature, self.delta, out=cost)
        np.multiply(cost, curvature - cost / 2, out=cost)
        cost *= sigma
        np.maximum(curvature, self.delta, out=curvature)
        np.divide(self.delta / sigma, curvature, out=curvature)


def _nearest(fit: Array, limits: tuple[Any, Any]) -> Array:
    """Where an unseen entry may lie that is nearest to its fit."""
    found: Array = Ends(limits, getattr(limits, "gap", None)).nearest(fit)
    return found
