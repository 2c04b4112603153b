"""The few passes over the matrix that every method is made of, and which engine runs them."""

from __future__ import annotations

from unrelu.data.observations import Observations
from unrelu.kernels.general import GeneralKernel
from unrelu.kernels.protocol import Kernel, Line
from unrelu.kernels.tiled import TiledKernel
from unrelu.model.losses import Loss

__all__ = ["GeneralKernel", "Kernel", "Line", "TiledKernel", "kernel_for"]


def kernel_for(observations: Observations, loss: Loss) -> Kernel:
    """The quickest kernel for these data and this loss."""
    quick = loss.squared and observations.plain and loss.heard(observations.limits).uniform
    return TiledKernel(observations, loss) if quick else GeneralKernel(observations, loss)
