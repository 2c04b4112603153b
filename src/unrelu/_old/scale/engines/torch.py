"""Passes and placed rows on a device: what each row asks for is a product of tiles there, and nothing n×n is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.engines import noted
from unrelu._old.base.tolerances import ATTACH_TRUSTED_SIZE, PLACEMENT_SPANNED
from unrelu._old.kernels.device.feed import BLOCK, brought_to, passes_for
from unrelu._old.kernels.device.region import Cost, Region
from unrelu._old.placing.attach import Frame
from unrelu._old.scale.blocks import Asked, Data, Found, Totals
from unrelu._old.scale.engines.protocol import Attached, Looked
from unrelu._old.scale.engines.threads import Threads
from unrelu._old.scale.rows import Placed, Reader, solved

__all__ = ["OnDevice"]

# Rows that are looked at together, so that progress is heard of.
SIDES = {"cpu": 1024}
SIDE = 16384
# Numbers of the normal matrices of rows that are placed together.
AT_ONCE = 1 << 26


class OnDevice:
    """Tensors, where they are; and what is brought to a device by blocks."""

    def look(
        self,
        data: Data,
        factors: tuple[Array, Array],
        asked: Asked,
        side: int,
        found: Found | None,
        told: Looked,
    ) -> Found:
        """One pass, a few rows at a time; one that was cut short begins anew."""
        noted(f"PyTorch on {data.source.device} in {data.source.dtype.name}")
        with torch.no_grad():
            look, nothing = _Look(data, factors, asked), Found.nothing(0, 1, Asked())
            whole, before = sum(rows.stop - rows.start for rows, _ in data.blocks(side)), 0
            for rows in look.bands():
                checkpoint()
                so_far = round(whole * look.band(rows))
                told(nothing, so_far - before)
                before = so_far
            return look.found()

    def attach(
        self,
        read: Reader,
        anchors: tuple[Indices, Floats],
        into: Placed,
        least: float,
        rows: Indices | None,
        told: Attached,
    ) -> None:
        """Place rows; a few that are left over in memory."""
        positions, factor = anchors
        frame = Frame.of(factor, PLACEMENT_SPANNED)
        if rows is not None or frame.rank < factor.shape[1] or read.source.tensor is None:
            Threads().attach(read, anchors, into, least, rows, told)
            return
        tensor, rank = read.source.tensor, frame.rank
        noted(f"PyTorch on {tensor.device} in {read.source.dtype.name}")
        step = max(1, AT_ONCE // max(rank * rank, len(positions)))
        with torch.no_grad():
            solve = _Solve(read, positions, frame, least)
            for first in range(into.done, len(into.factor), step):
                checkpoint()
                block = slice(first, min(first + step, len(into.factor)))
                for whole, part in zip((into.factor, into.share, into.misfit), solve.rows(block), strict=True):
                    whole[block] = part
                into.done = block.stop
                told(into, block.stop - block.start)


@dataclass(eq=False)
class _Look:
    """A pass on its way; sums of rows, and of the columns of a table below them, on the device."""

    data: Data
    factors: tuple[Array, Array]
    asked: Asked

    def __post_init__(self) -> None:
        data, asked, source = self.data, self.asked, self.data.source
        dtype = torch.float32 if source.dtype == np.float32 else torch.float64
        left = torch.as_tensor(self.factors[0]).to(source.device, dtype)
        alone = self.factors[0] is self.factors[1]
        right = left if alone else torch.as_tensor(self.factors[1]).to(source.device, dtype)
        self.fit, self.outer = (left, right), None
        self.height, self.width = source.shape
        size, rank = self.height if data.symmetric else self.height + self.width, left.shape[1]
        double = dict(dtype=torch.float64, device=source.device)
        self.seen, self.squares = torch.zeros(size, **double), torch.zeros(size, **double)
        self.gradient = torch.zeros((size, rank if asked.gradient else 0), **double)
        pairs = rank * (rank + 1) // 2 if asked.curvature else 0
        self.normal = torch.zeros((size, pairs), dtype=torch.float32, device=source.device)
        if asked.curvature:  # single precision suffices for what a step is divided by
            first, second = (torch.as_tensor(index).to(source.device) for index in np.tril_indices(rank))
            outer = (left[:, first] * left[:, second]).to(torch.float32)
            self.outer = outer, outer if alone else (right[:, first] * right[:, second]).to(torch.float32)
        self.totals = torch.tensor([0.0] * 5 + [torch.inf, -torch.inf], **double)
        # Of the diagonal absence says nothing.
        quiet = torch.ones(self.height, dtype=torch.bool, device=source.device)
        self.quiet = quiet if data.symmetric and data.threshold is not None else None
        self.cost = Cost(1 / data.unit, data.threshold, data.sign > 0, asked.sigma)
        self.looked_at, halved = 0, data.halved
        self.all = sum((rows.stop - rows.start) * (self.width - rows.start * halved) for rows in self.bands())

    def bands(self) -> list[slice]:
        """Rows that are looked at together."""
        side = SIDES.get(self.data.source.device.type, SIDE)
        return [slice(top, min(top + side, self.height)) for top in range(0, self.height, side)]

    def band(self, rows: slice) -> float:
        """All columns of a few rows, or those from the diagonal on; how much of everything has been looked at."""
        data = self.data
        first = rows.start if data.halved else 0
        step = self.width if data.source.tensor is not None else BLOCK
        for left in range(first, self.width, step):
            cols = slice(left, min(left + step, self.width))
            region = Region(self._values(rows, cols), rows.start, left, data.halved, data.symmetric, self.quiet)
            self._add(region)
        self.looked_at += (rows.stop - rows.start) * (self.width - first)
        return self.looked_at / self.all

    def _values(self, rows: slice, cols: slice) -> Any:
        """Of a block: where they are, or brought there."""
        source = self.data.source
        if source.tensor is not None:
            source.count((rows.stop - rows.start) * (cols.stop - cols.start))
            return source.tensor[rows, cols]
        return brought_to(source.block(rows, cols), source.device)

    def _add(self, region: Region) -> None:
        """What a region says of its rows and its columns."""
        asked, (left, right) = self.asked, self.fit
        outer = None if self.outer is None else (self.outer[0][region.rows], self.outer[1][region.cols])
        found = passes_for(region.values.device, left.dtype).look(
            region, self.cost, (left[region.rows], right[region.cols]),
            gradient=asked.gradient, outer=outer, first=asked.first,
        )  # fmt: skip
        self.totals[:5] += found.totals[:5]
        self.totals[5] = torch.minimum(self.totals[5], found.totals[5])
        self.totals[6] = torch.maximum(self.totals[6], found.totals[6])
        shift = 0 if self.data.symmetric else self.height
        there = slice(shift + region.cols.start, shift + region.cols.stop)
        for into, part in (
            (self.seen, found.seen),
            (self.squares, found.squares),
            (self.gradient, found.gradient),
            (self.normal, found.normal),
        ):
            if part is not None:
                into[region.rows] += part[0]
                into[there] += part[1]

    def found(self) -> Found:
        """All sums, in memory."""
        asked = self.asked
        seen, gradient, normal, squares = (
            part.cpu().numpy() for part in (self.seen, self.gradient, self.normal, self.squares)
        )
        count, *sums = self.totals.tolist()
        return Found(
            np.rint(seen).astype(np.int64),
            gradient,
            normal,
            squares if asked.gradient else np.zeros(len(squares)),
            Totals(round(count), *sums),
            1,
        )


class _Solve:
    """Rows against landmarks, as :func:`unrelu._old.scale.rows.solved` does it, on the device and in double precision."""

    def __init__(self, read: Reader, positions: Indices, frame: Frame, least: float) -> None:
        self.read, self.frame, self.least = read, frame, least
        tensor = read.source.tensor
        self.at = torch.as_tensor(positions).to(tensor.device)
        there = dict(dtype=torch.float64, device=tensor.device)
        self.Q, self.T = torch.as_tensor(frame.Q).to(**there), torch.as_tensor(frame.T).to(**there)
        self.first, self.second = (torch.as_tensor(one).to(tensor.device) for one in np.triu_indices(frame.rank))
        self.outer = self.Q[:, self.first] * self.Q[:, self.second]

    def _values(self, block: slice) -> Any:
        """In units, NaN where nothing was seen."""
        read, tensor = self.read, self.read.source.tensor
        read.source.count((2 if read.side == "both" else 1) * (block.stop - block.start) * len(self.at))
        if read.side == "rows":
            return tensor[block][:, self.at].to(torch.float64)
        values = tensor[:, block][self.at].T.to(torch.float64)
        if read.side != "both":
            return values
        other = tensor[block][:, self.at].to(torch.float64)
        both = (values + other) / 2
        return torch.where(torch.isnan(values), other, torch.where(torch.isnan(other), values, both))

    def rows(self, block: slice) -> tuple[Floats, Floats, Floats]:
        """Factor, how well they are held, and what is left."""
        values = self._values(block)
        self._check(values, block)
        values /= self.read.unit
        unseen = torch.isnan(values)
        seen, known = (~unseen).to(torch.float64), torch.where(unseen, 0.0, values)
        rank = self.frame.rank
        packed = seen @ self.outer
        normal = torch.empty((len(packed), rank, rank), dtype=torch.float64, device=packed.device)
        normal[:, self.first, self.second] = packed
        normal[:, self.second, self.first] = packed
        normal.diagonal(dim1=1, dim2=2).add_(ATTACH_TRUSTED_SIZE)
        inverse = torch.linalg.inv(normal)
        share = 1 / torch.linalg.matrix_norm(inverse)
        share = torch.where(share >= self.least, share, 0.0)
        v = torch.einsum("ikl,il->ik", inverse, known @ self.Q)
        left = known - (v @ self.Q.T) * seen
        v += torch.einsum("ikl,il->ik", inverse, left @ self.Q)
        misfit = torch.sqrt(left.square().sum(dim=1) / seen.sum(dim=1).clamp(min=1))
        found = [one.cpu().numpy() for one in (v @ self.T, share, misfit)]
        weak = np.flatnonzero(found[1] == 0)
        if weak.size:  # as well as may be, in memory
            there = values[torch.as_tensor(weak).to(values.device)].cpu().numpy()
            for whole, part in zip(found, solved(self.frame, there, self.least), strict=True):
                whole[weak] = part
        return found[0], found[1], found[2]

    def _check(self, values: Any, block: slice) -> None:
        """Refuse what cannot have been seen, in the words of who reads blocks."""
        least, most = self.read.range
        if bool(((values < least) | (values > most) | torch.isinf(values)).any()):
            self.read(block, self.at.cpu().numpy())
