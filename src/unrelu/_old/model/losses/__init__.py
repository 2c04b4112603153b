"""What a disagreement between the fit and the data costs: one loss a file.

With x = (UUᵀ)_ij, seen value m and unseen entries known to lie below τ:

=============  =======================  ======================
loss           seen entry               unseen entry
=============  =======================  ======================
``observed``   ¼ (x − m)²               0
``one-sided``  ¼ (x − m)²               ¼ max(x − τ, 0)²
``censored``   ½ ((x − m)/σ)² + log σ   −log Φ((τ − x)/σ)
``detected``   the same                 −log P(not seen)
``huber``      σ ρ((x − m)/σ) + σβ/2    σ ρ(max(x − τ, 0)/σ)
=============  =======================  ======================

with ρ(z) = ½z² up to a corner |z| = δ and a straight line beyond, and β = E min(Z², δ²) of a standard normal Z.

Entries that are unseen for another reason cost nothing under any. The first two are squared: the slope is ½ w (x − t)
and the curvature ½ w with one target t (m or τ) and one weight w (1 or 0), so one quick kernel serves both, and only
the weights of unseen entries depend on the fit. Any other loss is served by the general kernel.
"""

from __future__ import annotations

from unrelu._old.data.limits import Limits
from unrelu._old.model.losses.base import Loss
from unrelu._old.model.losses.censored import Censored
from unrelu._old.model.losses.detected import Detected
from unrelu._old.model.losses.huber import Huber
from unrelu._old.model.losses.observed import Observed
from unrelu._old.model.losses.one_sided import OneSided

__all__ = ["LOSSES", "Censored", "Detected", "Huber", "Loss", "Observed", "OneSided", "square_instead", "squared_loss"]

LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Observed, OneSided, Censored, Huber)}


def squared_loss(limits: Limits | None = None) -> Loss:
    """The squared loss that listens to what is known of unseen entries, where something is known."""
    return Observed() if limits is None or limits.nothing else OneSided()


def square_instead(loss: Loss, limits: Limits) -> Loss | None:
    """The square whose fit is a good start for a loss, and by which its fit is judged; None for a square itself."""
    if loss.squared:
        return None
    return squared_loss(loss.heard(limits)) if loss.sure else Observed()
