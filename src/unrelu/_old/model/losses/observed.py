"""The paper's loss: only seen entries count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.data.limits import Limits
from unrelu._old.model.losses.base import Loss

__all__ = ["Observed"]


@dataclass(frozen=True)
class Observed(Loss):
    """F(U) = ¼‖(UUᵀ − M)_Ω‖_F² (Problem (MC)): a seen entry costs ¼ (x − m)², an unseen one nothing."""

    name = "observed"
    squared = True
    hears_gaps = True

    def heard(self, limits: Limits) -> Limits:
        """Nothing."""
        return Limits()

    def seen(self, fit: Array, value: Array, cost: Array, slope: Array, curvature: Array) -> None:
        """¼ (x − m)²."""
        np.subtract(fit, value, out=slope)
        np.multiply(slope, slope, out=cost)
        np.multiply(cost, 0.25, out=cost)
        np.multiply(slope, 0.5, out=slope)
        curvature.fill(0.5)

    def unseen(self, fit: Array, limits: tuple[Any, Any], cost: Array, slope: Array, curvature: Array) -> None:
        """Nothing."""
        for array in (cost, slope, curvature):
            array.fill(0)
