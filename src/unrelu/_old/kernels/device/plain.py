"""The passes in PyTorch, tile by tile: no temporary is larger than a tile, on any device that PyTorch knows.

The same functions as in ``fused.py``, which does each of them in one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from unrelu._old.kernels.device.region import Cost, Looked, Region
from unrelu._old.kernels.device.tails import SURE, tails

__all__ = ["SUMS", "curvature", "look", "quartic", "slopes", "steps"]

# Rows and columns of a tile: what a core's cache holds, and what keeps a GPU busy.
SIDES = {"cpu": 512}
SIDE = 4096
# Σ of squares, and of −log Φ, of t h and of t²h(h + t) of unseen entries.
SUMS = 4
# Beyond so many standard deviations from the threshold an unseen entry says nothing: log Φ(6) is −1e-9.
FAR = 6.0

Pair = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True, eq=False)
class _Tile:
    """A few rows and columns of a region; ``weights`` is one number, or one for each entry across the diagonal."""

    region: Region
    rows: slice
    cols: slice
    weights: torch.Tensor | float

    def product(self, factors: Pair) -> torch.Tensor:
        """Of two factors, here."""
        return factors[0][self.rows] @ factors[1][self.cols].T

    def values(self, cost: Cost, dtype: torch.dtype) -> torch.Tensor:
        """In units, in which any precision has room for them."""
        return (self.region.values[self.rows, self.cols] * cost.inverse).to(dtype)

    @property
    def own(self) -> tuple[int, int, int] | None:
        """Of the diagonal of a symmetric matrix: its first entry's row and column here, and how many there are."""
        region = self.region
        if not region.symmetric:
            return None
        i, j = region.first_row + self.rows.start, region.first_col + self.cols.start
        first, last = max(i, j), min(i + self.rows.stop - self.rows.start, j + self.cols.stop - self.cols.start)
        return (first - i, first - j, last - first) if first < last else None

    def hidden(self, unseen: torch.Tensor) -> torch.Tensor:
        """Which unseen entries say something: all but quiet ones of the diagonal."""
        quiet, own = self.region.quiet, self.own
        if quiet is None or own is None:
            return unseen
        a, b, count = own
        first, steps = self.region.first_row + self.rows.start + a, torch.arange(count, device=unseen.device)
        unseen = unseen.clone()
        unseen[a + steps, b + steps] &= ~quiet[first : first + count]
        return unseen


def _tiles(region: Region) -> Iterator[_Tile]:
    """All tiles that hold something to look at."""
    side = SIDES.get(region.values.device.type, SIDE)
    height, width = region.shape
    for top in range(0, height, side):
        rows = slice(top, min(top + side, height))
        for left in range(0, width, side):
            cols = slice(left, min(left + side, width))
            if not region.triangle:
                yield _Tile(region, rows, cols, 1.0)
                continue
            i, j = (region.first_row + place for place in (rows.start, rows.stop)), region.first_col + cols.stop
            first, last = i
            if j <= first:  # below the diagonal
                continue
            if region.first_col + cols.start >= last:
                yield _Tile(region, rows, cols, 2.0)
                continue
            device = region.values.device
            row = torch.arange(first, last, device=device)[:, None]
            col = torch.arange(region.first_col + cols.start, j, device=device)
            weights = 2 * (col > row).to(torch.float32) + (col == row).to(torch.float32)
            yield _Tile(region, rows, cols, weights)


@dataclass(frozen=True, eq=False)
class _Entries:
    """What the fit of a tile costs: slopes, curvatures if they are asked for, and sums, all without the weights."""

    slopes: torch.Tensor
    curvatures: torch.Tensor | None
    sums: torch.Tensor


def _entries(tile: _Tile, cost: Cost, fit: torch.Tensor, *, curvatures: bool = False) -> _Entries:
    values = tile.values(cost, fit.dtype)
    unseen = torch.isnan(values)
    slope = (fit - values).masked_fill_(unseen, 0)
    bend = (~unseen).to(fit.dtype) if curvatures else None
    sums = torch.zeros(SUMS, dtype=torch.float64, device=fit.device)
    if cost.threshold is not None and cost.sigma is None:
        over = fit - cost.threshold
        over = over.clamp_(min=0) if cost.below else over.clamp_(max=0)
        slope = torch.where(tile.hidden(unseen), over, slope)
        if bend is not None:
            bend = torch.where(slope != 0, 1.0, bend)
    sums[0] = _summed(tile.weights, slope * slope)
    if cost.threshold is not None and cost.sigma is not None:
        _unlikely(tile, cost, fit, (tile.hidden(unseen), slope, bend), sums)
    return _Entries(slope, bend, sums)


def _unlikely(
    tile: _Tile,
    cost: Cost,
    fit: torch.Tensor,
    into: tuple[torch.Tensor, torch.Tensor, torch.Tensor | None],
    sums: torch.Tensor,
) -> None:
    """Put what the likelihood says of unseen entries into slopes, curvatures and sums."""
    hidden, slope, bend = into
    assert cost.threshold is not None
    assert cost.sigma is not None
    side = 1.0 if cost.below else -1.0
    t = (cost.threshold - fit[hidden]) * (side / cost.sigma)
    log, ratio, curved = tails(t)
    slope[hidden] = ratio * (side * cost.sigma)
    if bend is not None:
        bend[hidden] = curved.clamp(0, 1)
    weights = tile.weights if isinstance(tile.weights, float) else tile.weights[hidden]
    sums[1] -= _summed(weights, log)
    t = t.clamp_(max=SURE)  # beyond it h is 0, and the square of t may be infinite
    sums[2] += _summed(weights, t * ratio)
    sums[3] += _summed(weights, t * t * curved)


def _summed(weights: torch.Tensor | float, values: torch.Tensor) -> torch.Tensor:
    """Σ w x, in double precision."""
    if isinstance(weights, float):
        return weights * values.sum(dtype=torch.float64)
    return (weights.to(values.dtype if values.dtype.is_floating_point else torch.float64) * values).sum(
        dtype=torch.float64
    )


def _scatter(tile: _Tile, matrix: torch.Tensor, times: Pair, into: Pair) -> None:
    """Add the products of a tile, weighted, to its rows and to its columns."""
    often = tile.weights
    if not isinstance(often, float):
        matrix, often = matrix * often.to(matrix.dtype), 1.0
    into[0][tile.rows] += often * (matrix @ times[1][tile.cols])
    into[1][tile.cols] += often * (matrix.T @ times[0][tile.rows])


def _nothing(region: Region, times: Pair) -> Pair:
    return torch.zeros_like(times[0]), torch.zeros_like(times[1])


def slopes(
    region: Region, cost: Cost, fit: Pair, times: Pair, *, precise: bool = True
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sums, and the matrix of slopes Z, weighted, times the right of ``times`` and Zᵀ times the left of it.

    Parameters
    ----------
    region : Region
    cost : Cost
    fit : (tensor of shape (p, r), tensor of shape (q, r))
        Factors of the fit.
    times : (tensor of shape (p, k), tensor of shape (q, k))
    precise : bool
        Whether products are as good as the precision allows; here they always are.
    """
    sums, into = torch.zeros(SUMS, dtype=torch.float64, device=region.values.device), _nothing(region, times)
    for tile in _tiles(region):
        found = _entries(tile, cost, tile.product(fit))
        sums += found.sums
        _scatter(tile, found.slopes, times, into)
    return sums, *into


def curvature(region: Region, cost: Cost, fit: Pair | None, along: Pair, times: Pair, *, precise: bool = True) -> Pair:
    """C ∘ L, weighted, times the right of ``times``, and its transpose times the left; L is the product of ``along``.

    C are the curvatures at the fit, which is not needed where unseen entries say nothing.
    """
    into = _nothing(region, times)
    for tile in _tiles(region):
        bend = _bend(tile, cost, fit, along[0].dtype)
        _scatter(tile, tile.product(along).mul_(bend), times, into)
    return into


def _bend(tile: _Tile, cost: Cost, fit: Pair | None, dtype: torch.dtype) -> torch.Tensor:
    if cost.threshold is None or fit is None:
        return (~torch.isnan(tile.region.values[tile.rows, tile.cols])).to(dtype)
    found = _entries(tile, cost, tile.product(fit), curvatures=True).curvatures
    assert found is not None
    return found


def quartic(region: Region, cost: Cost, fit: Pair, along: Pair, beyond: Pair) -> torch.Tensor:
    """Σ w(cL² + 2zQ), Σ w c L Q and Σ w c Q² with slopes z and curvatures c at the fit: what F along a line is of."""
    sums = torch.zeros(3, dtype=torch.float64, device=region.values.device)
    for tile in _tiles(region):
        L, Q = tile.product(along), tile.product(beyond)
        found = _entries(tile, cost, tile.product(fit), curvatures=True)
        assert found.curvatures is not None
        bent = L * found.curvatures
        sums[0] += _summed(tile.weights, bent * L + 2 * found.slopes * Q)
        sums[1] += _summed(tile.weights, bent * Q)
        sums[2] += _summed(tile.weights, Q * Q * found.curvatures)
    return sums


def steps(region: Region, cost: Cost, fit: Pair, along: Pair, beyond: Pair, lengths: Sequence[float]) -> torch.Tensor:
    """For each length t, at the fit + tL + t²Q: the four sums, and Σ w z (L + 2tQ)."""
    found = torch.zeros((SUMS + 1, len(lengths)), dtype=torch.float64, device=region.values.device)
    for tile in _tiles(region):
        here, L, Q = (tile.product(factors) for factors in (fit, along, beyond))
        for k, length in enumerate(lengths):
            there = _entries(tile, cost, here + length * L + length**2 * Q)
            found[:SUMS, k] += there.sums
            found[SUMS, k] += _summed(tile.weights, there.slopes * (L + 2 * length * Q))
    return found


def look(
    region: Region, cost: Cost, fit: Pair, *, gradient: bool = False, outer: Pair | None = None, first: bool = False
) -> Looked:
    """What a fit leaves of each row and column, and what each asks for, as passes over a large matrix need it.

    Under squares unseen entries ask for nothing; how far they are fitted beyond the threshold is told all the same.

    Parameters
    ----------
    region : Region
    cost : Cost
    fit : (tensor of shape (p, r), tensor of shape (q, r))
    gradient : bool
        Whether for Z · fit[1] and Zᵀ · fit[0] with the slopes Z.
    outer : (tensor of shape (p, k), tensor of shape (q, k)), optional
        Products of the columns of the fit, single precision: also for C · outer[1] and Cᵀ · outer[0], curvatures C.
    first : bool
        Whether for how many were seen of each, and for the sizes of their values.
    """
    device, (height, width) = region.values.device, region.shape
    double = dict(dtype=torch.float64, device=device)
    totals = torch.tensor([0.0] * 5 + [torch.inf, -torch.inf], **double)
    seen, squares = ((torch.zeros(height, **double), torch.zeros(width, **double)) for _ in range(2))
    slopes = _nothing(region, fit) if gradient else None
    normal = None if outer is None else _nothing(region, outer)
    for tile in _tiles(region):
        values, x = tile.values(cost, fit[0].dtype), tile.product(fit)
        unseen = torch.isnan(values)
        slope = (x - values).masked_fill_(unseen, 0)
        bend = None if outer is None else (~unseen).to(torch.float32)
        left = _once(tile, slope.square())
        squares[0][tile.rows] += left.sum(dim=1, dtype=torch.float64)
        squares[1][tile.cols] += left.sum(dim=0, dtype=torch.float64)
        often = 2.0 if region.triangle else 1.0
        totals[0] += _summed(tile.weights, ~unseen)
        totals[1] += often * left.sum(dtype=torch.float64)
        if first:
            once = _once(tile, (~unseen).to(torch.float32))
            seen[0][tile.rows] += once.sum(dim=1, dtype=torch.float64)
            seen[1][tile.cols] += once.sum(dim=0, dtype=torch.float64)
            totals[4] += often * _once(tile, values.square().masked_fill_(unseen, 0)).sum(dtype=torch.float64)
            totals[5] = torch.minimum(totals[5], values.masked_fill(unseen, torch.inf).amin())
            totals[6] = torch.maximum(totals[6], values.masked_fill_(unseen, -torch.inf).amax())
        if cost.threshold is not None:
            totals[2:4] += _absent(tile, cost, x, unseen, (slope, bend))
        if slopes is not None:
            _add(tile, _once(tile, slope), fit, slopes)
        if normal is not None and outer is not None and bend is not None:
            _add(tile, _once(tile, bend), outer, normal)
    return Looked(totals, seen if first else None, squares, slopes, normal)


def _once(tile: _Tile, values: torch.Tensor) -> torch.Tensor:
    """As often as an entry counts for its row, and for its column: those of a triangle once, on the diagonal half."""
    return values if isinstance(tile.weights, float) else values * (tile.weights / 2).to(values.dtype)


def _add(tile: _Tile, matrix: torch.Tensor, times: Pair, into: Pair) -> None:
    into[0][tile.rows] += matrix @ times[1][tile.cols]
    into[1][tile.cols] += matrix.T @ times[0][tile.rows]


def _absent(
    tile: _Tile, cost: Cost, x: torch.Tensor, unseen: torch.Tensor, into: tuple[torch.Tensor, torch.Tensor | None]
) -> torch.Tensor:
    """Put what unseen entries say into slopes and curvatures; how far they are beyond the threshold, and Σ z h."""
    assert cost.threshold is not None
    slope, bend = into
    side = 1.0 if cost.below else -1.0
    over = (x - cost.threshold).mul_(side)
    hidden = tile.hidden(unseen)
    beyond = _summed(tile.weights, over.clamp(min=0).masked_fill_(~hidden, 0).square_())
    if cost.sigma is None:
        return torch.stack([beyond, torch.zeros_like(beyond)])
    near = hidden.logical_and_(over > -FAR * cost.sigma)
    t = over[near] / -cost.sigma
    _, ratio, curved = tails(t)
    slope[near] = ratio * (side * cost.sigma)
    if bend is not None:
        bend[near] = curved.clamp(0, 1).to(bend.dtype)
    weights = tile.weights if isinstance(tile.weights, float) else tile.weights[near]
    return torch.stack([beyond, _summed(weights, t.clamp_(max=SURE) * ratio)])
