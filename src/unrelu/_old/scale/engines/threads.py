"""Passes and placed rows by threads of this machine, block by block: each is read, used and forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.tolerances import PLACEMENT_SPANNED
from unrelu._old.data.source import Place
from unrelu._old.kernels.threads import in_order
from unrelu._old.placing.attach import Frame
from unrelu._old.scale.arithmetic import Work
from unrelu._old.scale.blocks import Asked, Data, Found
from unrelu._old.scale.engines.protocol import Attached, Looked
from unrelu._old.scale.rows import AT_ONCE, Placed, Reader, solved

__all__ = ["Threads"]


class Threads:
    """Whatever can be read by blocks."""

    def look(
        self,
        data: Data,
        factors: tuple[Array, Array],
        asked: Asked,
        side: int,
        found: Found | None,
        told: Looked,
    ) -> Found:
        """One pass, block by block in a fixed order."""
        dtype = data.source.dtype
        left, right = (factor.astype(dtype, copy=False) for factor in factors)
        right = left if factors[0] is factors[1] else right
        height, blocks = len(left), data.blocks(side)
        size = height if data.symmetric else height + len(right)
        found = Found.nothing(size, left.shape[1], asked) if found is None else found
        work = Work(data, left, right, asked)

        def read(block: tuple[slice, slice]) -> Array:
            return data.source.block(*block)

        parts = in_order(blocks[found.done :], read, work.block, threads=data.source.thread_safe)
        for (rows, cols), part in zip(blocks[found.done :], parts, strict=True):
            there = cols if data.symmetric else slice(height + cols.start, height + cols.stop)
            for place, side_of in ((rows, part.rows), (there, part.cols)):
                found.add(place, side_of)
            found.totals += part.totals
            found.done += 1
            told(found, rows.stop - rows.start)
        return found

    def attach(
        self,
        read: Reader,
        anchors: tuple[Indices, Floats],
        into: Placed,
        least: float,
        rows: Indices | None,
        told: Attached,
    ) -> None:
        """Place rows, a block at a time."""
        positions, factor = anchors
        frame = Frame.of(factor, PLACEMENT_SPANNED)
        step = max(1, AT_ONCE // max(len(positions), 1))
        everyone: Any = np.arange(len(into.factor)) if rows is None else rows
        first = into.done if rows is None else 0
        blocks = [
            slice(start, min(start + step, len(everyone))) if rows is None else everyone[start : start + step]
            for start in range(first, len(everyone), step)
        ]

        def work(block: Place, values: Floats) -> tuple[Floats, Floats, Floats]:
            return solved(frame, values, least)

        results = in_order(blocks, lambda block: read(block, positions), work, threads=read.source.thread_safe)
        for block, (found, share, misfit) in zip(blocks, results, strict=True):
            into.factor[block], into.share[block], into.misfit[block] = found, share, misfit
            count = len(found)
            into.done += count if rows is None else 0
            told(into, count)
