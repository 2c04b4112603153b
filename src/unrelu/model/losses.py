"""What a disagreement between the fit and the data costs, entry by entry.

With x = (UUᵀ)_ij, seen value m and threshold τ, and unseen entries known to lie below τ:

=============  ==================  ======================
loss           seen entry          absent entry
=============  ==================  ======================
``observed``   ¼ (x − m)²          0
``one-sided``  ¼ (x − m)²          ¼ max(x − τ, 0)²
=============  ==================  ======================

For unseen entries known to lie above τ the hinge is turned round. Entries that are unseen for another reason cost
nothing under either. In both losses the slope is ½ w (x − t) and the curvature ½ w with one target t (m or τ) and one
weight w (1 or 0), so one kernel serves both: only the weights of absent entries depend on the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["LOSSES", "Loss", "Observed", "OneSided"]


@dataclass(frozen=True)
class Loss:
    """A loss is told apart by whether it listens to what absence says."""

    name: ClassVar[str]
    uses_absence: ClassVar[bool]


@dataclass(frozen=True)
class Observed(Loss):
    """The paper's F(U) = ¼‖(UUᵀ − M)_Ω‖_F²: only seen entries count (Problem (MC))."""

    name = "observed"
    uses_absence = False


@dataclass(frozen=True)
class OneSided(Loss):
    """``observed`` plus ¼ max(x − τ, 0)² for every absent entry on the wrong side of the threshold.

    It is PAM's formulation with α = β = 0 and X eliminated, restricted to Θ = UUᵀ. F is continuously differentiable
    and piecewise quartic along a line.
    """

    name = "one-sided"
    uses_absence = True


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Observed, OneSided)}
