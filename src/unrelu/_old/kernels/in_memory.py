"""Which engine is the quickest on this machine for values that it holds or reads."""

from __future__ import annotations

from unrelu._old.base.engines import NUMPY, noted
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.general import GeneralKernel
from unrelu._old.kernels.protocol import Kernel
from unrelu._old.kernels.tiled import TiledKernel
from unrelu._old.model.losses import Loss

__all__ = ["kernel_in_memory"]


def kernel_in_memory(observations: Observations, loss: Loss) -> Kernel:
    """Squares with one limit in packed tiles, everything else in general."""
    noted(f"{NUMPY} in {observations.dtype.name}")
    limits = loss.heard(observations.limits)
    if loss.squared and observations.plain and limits.uniform:
        return TiledKernel(observations, loss)
    return GeneralKernel(observations, loss)
