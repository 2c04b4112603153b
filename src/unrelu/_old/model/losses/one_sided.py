"""The paper's loss, and a hinge for what absence says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.data.limits import Ends, Limits
from unrelu._old.model.losses.observed import Observed

__all__ = ["OneSided"]


@dataclass(frozen=True)
class OneSided(Observed):
    """``observed`` plus ¼ of the squared distance of every unseen entry from its limits: ¼ max(x − τ, 0)² above τ.

    It is PAM's formulation with α = β = 0 and X eliminated, restricted to Θ = UUᵀ. F is continuously differentiable
    and piecewise quartic along a line.
    """

    name = "one-sided"

    def heard(self, limits: Limits) -> Limits:
        """All of it."""
        return limits

    def unseen(self, fit: Array, limits: tuple[Any, Any], cost: Array, slope: Array, curvature: Array) -> None:
        """¼ of the squared distance from where it may lie."""
        Ends(limits, getattr(limits, "gap", None)).nearest(fit, out=cost)
        np.subtract(fit, cost, out=slope)
        np.not_equal(slope, 0, out=curvature)
        np.multiply(curvature, 0.5, out=curvature)
        np.multiply(slope, slope, out=cost)
        np.multiply(cost, 0.25, out=cost)
        np.multiply(slope, 0.5, out=slope)
