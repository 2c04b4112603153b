"""What an engine is: who goes over a large matrix, where its values are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.scale.blocks import Asked, Data, Found
from unrelu._old.scale.rows import Placed, Reader

__all__ = ["Attached", "Engine", "Looked"]

# Who hears after each block what there is so far, and how many rows were done.
Looked = Callable[[Found, int], object]
Attached = Callable[[Placed, int], object]


class Engine(Protocol):
    """The two things that are done with all of a large matrix: to look at its entries, and to place its rows.

    An engine is chosen by where the values are (:func:`unrelu._old.scale.engines.engine_of`), and nobody else knows of it.
    """

    def look(
        self,
        data: Data,
        factors: tuple[Array, Array],
        asked: Asked,
        side: int,
        found: Found | None,
        told: Looked,
    ) -> Found:
        """One pass, see :func:`unrelu._old.scale.passes.look`."""

    def attach(
        self,
        read: Reader,
        anchors: tuple[Indices, Floats],
        into: Placed,
        least: float,
        rows: Indices | None,
        told: Attached,
    ) -> None:
        """Place rows, see :func:`unrelu._old.scale.passes.attach`."""
