"""The likelihood of values with Gaussian noise that were seen by a detection curve, and not from a wall on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError
from unrelu._old.model.detection import DetectionCurve
from unrelu._old.model.losses.censored import Censored

__all__ = ["Detected"]

ROOT_TWO_PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class Detected(Censored):
    """−log of the likelihood where P(seen | value) = b + (1 − a − b)·Φ((value − t)/w).

    A seen entry costs what it costs under ``censored``: its value is known, and how likely that was to be seen does not
    depend on the fit. An unseen one costs −log(a + (1 − a − b)·Φ((t − x)/√(w² + σ²))), the probability of going unseen
    averaged over the noise. Limits say only which entries went unseen; the level is that of the curve.

    Parameters
    ----------
    curve : DetectionCurve
        In the units of the data.

    Examples
    --------
    >>> cost, slope, curvature = np.empty((3, 2))
    >>> curve = DetectionCurve(level=0.0, share=0.1)
    >>> Detected(sigma=0.5, curve=curve).unseen(np.array([-1.0, 9.0]), (-np.inf, 0.0), cost, slope, curvature)
    >>> cost.round(3).tolist()  # far beyond the level an entry is missing by chance, and pulls no more
    [0.021, 2.303]
    """

    curve: DetectionCurve | None = None

    name = "detected"
    # An unseen entry may lie anywhere: squares that know only walls take nothing from it.
    sure = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.curve, DetectionCurve) or np.isinf(self.curve.level):
            raise InputError(f"curve of Detected must be a DetectionCurve with a finite level, got {self.curve!r}")

    def in_units(self, unit: float) -> Detected:
        """The same for data divided by ``unit``."""
        assert self.curve is not None
        plain: Any = super().in_units(unit)
        return replace(plain, curve=self.curve.scaled(1 / unit))

    def _rising(self, fit: Array) -> tuple[Floats, Floats, Floats, float]:
        """Z = (x − t)/s on the side of the seen, P(unseen), φ-hazard g = cφ/P, and s."""
        curve = self.curve
        assert curve is not None
        wide = float(np.hypot(curve.width, self._sigma))
        z = curve.sign * (fit.astype(np.float64) - curve.level) / wide
        c = 1 - curve.share - curve.stray
        missed = np.maximum(curve.share + c * ndtr(-z), np.finfo(np.float64).tiny)
        with np.errstate(over="ignore", under="ignore"):
            hazard = c * np.exp(-0.5 * z * z) / ROOT_TWO_PI / missed
        return z, missed, hazard, wide

    def unseen(self, fit: Array, limits: tuple[Any, Any], cost: Array, slope: Array, curvature: Array) -> None:
        """−log of the probability to go unseen; where that bends downwards, 0 stands for its curvature."""
        curve = self.curve
        assert curve is not None
        if curve.share == 0 and curve.stray == 0 and curve.width == 0:
            ends = (-np.inf, curve.level) if curve.side == "above" else (curve.level, np.inf)
            return super().unseen(fit, ends, cost, slope, curvature)
        z, missed, hazard, wide = self._rising(fit)
        np.negative(np.log(missed), out=cost, casting="same_kind")
        slope[...] = curve.sign * hazard / wide
        curvature[...] = np.maximum(hazard * (hazard - z), 0.0) / wide**2
        return None

    def unseen_sums(self, fit: Array, limits: tuple[Any, Any], slope: Array, curvature: Array) -> Floats:
        """The derivatives by log σ, on which z depends by −z σ²/s²."""
        curve = self.curve
        assert curve is not None
        z, _, hazard, wide = self._rising(fit)
        # What the kernel has multiplied the slopes by.
        weight = np.where(hazard > 0, curve.sign * slope * wide / np.where(hazard > 0, hazard, 1.0), 0.0)
        share = (self._sigma / wide) ** 2
        first = -hazard * z * share
        second = hazard * (hazard - z) * (z * share) ** 2 + hazard * z * share * (3 * share - 2)
        return np.array([float(np.vdot(weight, first)), float(np.vdot(weight, second)), 0.0])
