"""Who goes over a large matrix: threads of this machine, unless its values are elsewhere."""

from __future__ import annotations

from unrelu._old.data.source import Source
from unrelu._old.scale.engines.dask import Dask
from unrelu._old.scale.engines.protocol import Engine
from unrelu._old.scale.engines.threads import Threads

__all__ = ["Engine", "engine_of"]


def engine_of(source: Source) -> Engine:
    """The engine for values that are where this source has them."""
    if source.device is not None:
        from unrelu._old.scale.engines.torch import OnDevice

        return OnDevice()
    return Threads() if source.lazy is None else Dask()
