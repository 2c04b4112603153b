"""The few passes over the matrix that every method is made of, and which engine runs them."""

from __future__ import annotations

from unrelu._old.data.limits import Limits
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.capped import CappedKernel
from unrelu._old.kernels.general import GeneralKernel
from unrelu._old.kernels.in_memory import kernel_in_memory
from unrelu._old.kernels.protocol import Kernel, Line
from unrelu._old.kernels.tiled import TiledKernel
from unrelu._old.model.losses import Loss

__all__ = ["GeneralKernel", "Kernel", "Line", "TiledKernel", "kernel_for"]


def kernel_for(observations: Observations, loss: Loss) -> Kernel:
    """The quickest kernel for these data and this loss."""
    kernel, caps = _quickest(observations, loss), observations.caps
    if caps is None or loss.heard(Limits(high=0.0)).nothing:
        return kernel
    return CappedKernel(kernel, caps / observations.unit, loss, observations.unit)


def _quickest(observations: Observations, loss: Loss) -> Kernel:
    if observations.source.device is not None:
        from unrelu._old.kernels.device.kernel import DeviceKernel, known_on_devices

        if known_on_devices(observations, loss):
            return DeviceKernel(observations, loss)
    if observations.source.lazy is not None:
        from unrelu._old.kernels.dask import DaskKernel, known_on_clusters

        if known_on_clusters(observations, loss):
            return DaskKernel(observations, loss)
    return kernel_in_memory(observations, loss)
