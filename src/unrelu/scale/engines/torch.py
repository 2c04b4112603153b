"""Passes and placed rows on a device: what each row asks for is a product of tiles there, and nothing n×n is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from unrelu.base.arrays import Array, Floats, Indices
from unrelu.base.budget import checkpoint
from unrelu.base.engines import noted
from unrelu.base.tolerances import ATTACH_TRUSTED_SIZE, PLACEMENT_SPANNED
from unrelu.kernels.device.tails import tails
from unrelu.placing.attach import Frame
from unrelu.scale.blocks import Asked, Data, Found, Totals
from unrelu.scale.engines.protocol import Attached, Looked
from unrelu.scale.engines.threads import Threads
from unrelu.scale.rows import Placed, Reader, solved

__all__ = ["OnDevice"]

# Rows and columns of a tile: what a core's cache holds, and what keeps a GPU busy.
SIDES = {"cpu": 1024}
SIDE = 4096
# Numbers of the normal matrices of rows that are placed together.
AT_ONCE = 1 << 26
# Beyond so many standard deviations from the threshold an unseen entry says nothing: log Φ(6) is −1e-9.
FAR = 6.0


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
        """One pass, tile by tile; a pass that was cut short begins anew."""
        noted(f"PyTorch on {data.source.device} in {data.source.dtype.name}")
        with torch.no_grad():
            look, nothing = _Look(data, factors, asked), Found.nothing(0, 1, Asked())
            for rows in look.bands():
                checkpoint()
                told(nothing, look.band(rows))
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
        data, asked = self.data, self.asked
        self.tensor, self.device = data.source.tensor, data.source.device
        device, self.dtype = self.device, torch.float32 if data.source.dtype == np.float32 else torch.float64
        self.left = torch.as_tensor(self.factors[0]).to(device, self.dtype)
        alone = self.factors[0] is self.factors[1]
        self.right = self.left if alone else torch.as_tensor(self.factors[1]).to(device, self.dtype)
        self.height, self.width = data.source.shape
        self.size, rank = self.height if data.symmetric else self.height + self.width, self.left.shape[1]
        double = dict(dtype=torch.float64, device=device)
        self.seen = torch.zeros(self.size, dtype=torch.int64, device=device)
        self.squares = torch.zeros(self.size, **double)
        self.gradient = torch.zeros((self.size, rank if asked.gradient else 0), **double)
        pairs = rank * (rank + 1) // 2 if asked.curvature else 0
        self.normal = torch.zeros((self.size, pairs), dtype=torch.float32, device=device)
        if asked.curvature:  # single precision suffices for what a step is divided by
            first, second = (torch.as_tensor(index).to(device) for index in np.tril_indices(rank))
            self.outer_right = (self.right[:, first] * self.right[:, second]).to(torch.float32)
            self.outer_left = (
                self.outer_right if alone else (self.left[:, first] * self.left[:, second]).to(torch.float32)
            )
        self.totals = Totals()

    def bands(self) -> list[slice]:
        """Rows that are looked at together."""
        self.side = SIDES.get(self.device.type, SIDE)
        return [slice(top, min(top + self.side, self.height)) for top in range(0, self.height, self.side)]

    def band(self, rows: slice) -> int:
        """All columns of a few rows, or those from the diagonal on; how many rows that stands for in the progress."""
        done = 0
        for left in range(rows.start if self.data.halved else 0, self.width, self.side):
            cols = slice(left, min(left + self.side, self.width))
            self._tile(rows, cols)
            done += rows.stop - rows.start
        return done

    def _tile(self, rows: slice, cols: slice) -> None:
        """What one tile adds to its rows and its columns."""
        data, asked = self.data, self.asked
        values = self._values(rows, cols) / data.unit
        fit = self.left[rows] @ self.right[cols].T
        unseen = torch.isnan(values)
        across = data.symmetric and cols.start < rows.stop and rows.start < cols.stop
        count = self._counts(rows, cols, across)
        slopes = (fit - values).masked_fill_(unseen, 0)
        weights = (~unseen).to(torch.float32) if asked.curvature else None
        parts: dict[str, Any] = dict(count=int(_summed(~unseen, count)), squares=float(_summed(slopes * slopes, count)))
        if asked.first:
            parts |= self._sizes(values, unseen, count)
        squares = slopes * slopes if asked.gradient else None
        if data.threshold is not None:
            parts |= self._absent(fit, unseen, (slopes, weights), count, across)
        self.totals += Totals(**parts)
        there = cols if data.symmetric else slice(self.height + cols.start, self.height + cols.stop)
        once = _once(count)
        if asked.first:
            self.seen[rows] += (~unseen * once[0]).sum(dim=1).to(torch.int64)
            self.seen[there] += (~unseen * once[1]).sum(dim=0).to(torch.int64)
        if squares is not None:
            self.squares[rows] += (squares * once[0]).sum(dim=1, dtype=torch.float64)
            self.squares[there] += (squares * once[1]).sum(dim=0, dtype=torch.float64)
            self.gradient[rows] += (slopes * once[0]) @ self.right[cols]
            self.gradient[there] += (slopes * once[1]).T @ self.left[rows]
        if weights is not None:
            self.normal[rows] += (weights * _single(once[0])) @ self.outer_right[cols]
            self.normal[there] += (weights * _single(once[1])).T @ self.outer_left[rows]

    def _values(self, rows: slice, cols: slice) -> Any:
        """Of a tile: where they are, or brought there."""
        if self.tensor is not None:
            self.data.source.count((rows.stop - rows.start) * (cols.stop - cols.start))
            return self.tensor[rows, cols].to(self.dtype)
        return torch.as_tensor(np.ascontiguousarray(self.data.source.block(rows, cols))).to(self.device, self.dtype)

    def _counts(self, rows: slice, cols: slice, across: bool) -> Any:
        """How often each entry counts in the sums: where one half is looked at twice, but once on the diagonal."""
        if not self.data.halved:
            return 1.0
        if not across:
            return 2.0
        device = self.device
        i = torch.arange(rows.start, rows.stop, device=device)[:, None]
        j = torch.arange(cols.start, cols.stop, device=device)
        return (2.0 * (j > i) + 1.0 * (j == i)).to(self.dtype)

    def _sizes(self, values: Any, unseen: Any, count: Any) -> dict[str, float]:
        """The norm of the seen values, the least and the largest of them."""
        if bool(unseen.all()):
            return {}
        known = torch.where(unseen, 0, values)
        low, high = (
            torch.where(unseen, torch.inf, values).amin(),
            torch.where(unseen, -torch.inf, values).amax(),
        )
        return dict(norm=float(_summed(known * known, count)), low=float(low), high=float(high))

    def _absent(self, fit: Any, unseen: Any, into: tuple[Any, Any], count: Any, across: bool) -> dict[str, float]:
        """Put what unseen entries say into slopes and weights; of the diagonal absence says nothing."""
        slopes, weights = into
        data, sigma = self.data, self.asked.sigma
        assert data.threshold is not None
        over = data.sign * (fit - data.threshold)
        near = unseen & (over > (0.0 if sigma is None else -FAR * sigma))
        if across:
            near.fill_diagonal_(False)
        beyond = float(_summed(torch.where(near, over.clamp(min=0), 0).square(), count))
        if sigma is None:
            return dict(beyond=beyond)
        t = -over[near] / sigma
        _, ratio, bend = tails(t)
        slopes[near] = data.sign * sigma * ratio
        if weights is not None:
            weights[near] = bend.clamp(0, 1).to(torch.float32)
        share = count[near] if torch.is_tensor(count) else count
        return dict(beyond=beyond, pulled=float(_summed(t * ratio, share)))

    def found(self) -> Found:
        """All sums, in memory."""
        seen, gradient, normal, squares = (
            part.cpu().numpy() for part in (self.seen, self.gradient, self.normal, self.squares)
        )
        return Found(seen, gradient, normal.astype(np.float64), squares, self.totals, 1)


def _summed(values: Any, count: Any) -> Any:
    """Σ of values that count so often, in double precision."""
    if torch.is_tensor(count):
        return (values * count).sum(dtype=torch.float64)
    return count * values.sum(dtype=torch.float64)


def _single(times: Any) -> Any:
    return times.to(torch.float32) if torch.is_tensor(times) else times


def _once(count: Any) -> tuple[Any, Any]:
    """What an entry is for its row, and for its column: of one half each entry is both, on the diagonal once."""
    if not torch.is_tensor(count):
        return 1.0, 1.0
    return (count > 0).to(count.dtype), (count > 1).to(count.dtype)


class _Solve:
    """Rows against landmarks, as :func:`unrelu.scale.rows.solved` does it, on the device and in double precision."""

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
