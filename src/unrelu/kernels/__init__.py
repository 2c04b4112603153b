"""The few passes over the matrix that every method is made of, and which engine runs them."""

from __future__ import annotations

from unrelu.data.observations import Observations
from unrelu.kernels.compiled import CompiledKernel, can_compile
from unrelu.kernels.general import GeneralKernel
from unrelu.kernels.protocol import Kernel, Line
from unrelu.kernels.tiled import TiledKernel
from unrelu.kernels.uneven import UnevenKernel
from unrelu.model.losses import Loss

__all__ = ["CompiledKernel", "GeneralKernel", "Kernel", "Line", "TiledKernel", "UnevenKernel", "kernel_for"]


def kernel_for(observations: Observations, loss: Loss) -> Kernel:
    """The quickest kernel for these data and this loss."""
    limits = loss.heard(observations.limits)
    if loss.squared and observations.plain and limits.uniform:
        return TiledKernel(observations, loss)
    if loss.squared or not observations.plain or limits.gap is not None:
        return UnevenKernel(observations, loss)
    return (CompiledKernel if can_compile(observations, loss) else GeneralKernel)(observations, loss)
