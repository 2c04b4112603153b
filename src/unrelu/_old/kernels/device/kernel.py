"""F, its gradient, its curvature and F along a line, each in one pass where the values are: on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import torch

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.engines import noted
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.device import feed, plain
from unrelu._old.kernels.device.arrays import DTYPES, DeviceArray, tensor_of
from unrelu._old.kernels.device.feed import Feed, feed_of
from unrelu._old.kernels.device.region import Cost, Region
from unrelu._old.kernels.device.undisturbed import alone
from unrelu._old.kernels.general import GeneralKernel
from unrelu._old.kernels.line import Quartic, Sampled
from unrelu._old.kernels.protocol import Line, PairsSeen
from unrelu._old.model.losses import Loss

__all__ = ["DeviceKernel", "known_on_devices"]


def known_on_devices(observations: Observations, loss: Loss) -> bool:
    """Whether passes on a device know of such data and such a loss: squares and the likelihood, with one threshold."""
    limits = loss.heard(observations.limits)
    common = observations.plain and (limits.nothing or (limits.uniform and limits.unknown is None))
    return common and observations.caps is None and (loss.squared or loss.name == "censored")


class DeviceKernel:
    """Passes over a tensor, or over blocks of an array that are brought to a device one after the other.

    A symmetric matrix that is the same on both sides of its diagonal is read above it alone. Factors may be NumPy's or
    :class:`DeviceArray`; what comes back is there.

    Parameters
    ----------
    observations : Observations
        Its source has the ``tensor``, or says to which device blocks go.
    loss : Loss
        ``observed``, ``one-sided`` or ``censored``.
    precise : bool, default True
        Whether products are right to the precision of the data. False: the fit is, and the products that the slopes go
        into are right to three digits; errors shrink with the slopes themselves, so that an iteration still converges.

    Examples
    --------
    >>> from unrelu._old.model.losses import Observed
    >>> from unrelu._old.data.tensor_source import TensorSource
    >>> seen = Observations(TensorSource(torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64)))
    >>> value, gradient, _ = DeviceKernel(seen, Observed()).evaluate(np.array([[0.5], [1.0]]))
    >>> value, np.asarray(gradient).tolist()
    (0.0, [[0.0], [0.0]])
    """

    _signs: torch.Tensor | None = None

    def __init__(self, observations: Observations, loss: Loss, precise: bool = True) -> None:
        heard = loss.heard(observations.limits)
        self.bounded = not heard.nothing
        self._observations = observations.with_limits(heard) if self.bounded else observations.seen_only
        self._loss, self._precise = loss, precise
        self.size, self.dtype = observations.size, observations.dtype
        self._cut = observations.source.cut
        self._feed: Feed = feed_of(observations.source, self._quiet())
        self._like = torch.empty(0, dtype={v: k for k, v in DTYPES.items()}[self.dtype], device=self._feed.device)
        self._cost = self._costs(loss)
        noted(f"PyTorch on {self._feed.device} in {self.dtype.name}")

    def _quiet(self) -> Any:
        """Of which entries of the diagonal absence says nothing; None: of none."""
        if not self.bounded or self._cut is not None:
            return None
        own = np.arange(self.size)
        quiet = ~self._observations.told_at(own, own)
        return quiet if quiet.any() else None

    def _costs(self, loss: Loss) -> Cost:
        observations = self._observations
        scaled = loss.in_units(observations.unit)
        sigma = None if loss.squared else float(scaled.noise or 1.0)
        threshold = observations.scaled_threshold if self.bounded else None
        return Cost(1 / observations.unit, threshold, observations.absence_says != "above", sigma)

    @property
    def passes(self) -> ModuleType:
        """Who does them: fused kernels, or PyTorch tile by tile."""
        return self._feed.passes(self._like.dtype)

    @property
    def single(self) -> bool:
        """Whether curvatures are multiplied in single precision, for a direction needs few digits."""
        return self._feed.fused and self.dtype == np.float64

    @cached_property
    @alone
    def constant(self) -> float:
        """The part of a squared F that no fit lowers: of pairs seen twice, with two values."""
        if not self._loss.squared or self._cut is not None or self._feed.alike:
            return 0.0
        total = torch.zeros((), dtype=torch.float64, device=self._feed.device)
        for here, there in self._both_ways():
            apart = (here.to(torch.float64) - there) * self._cost.inverse
            total += torch.nan_to_num(apart, nan=0.0).square().sum()
        return float(total) / 16

    def _both_ways(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Blocks of a matrix that is not the same on both sides, each with what stands on the other side."""
        for region in self._feed.regions():
            for top in range(0, region.shape[0], feed.BAND):
                for left in range(0, region.shape[1], feed.BAND):
                    here = region.values[top : top + feed.BAND, left : left + feed.BAND]
                    first, second = region.first_row + top, region.first_col + left
                    rows, cols = slice(first, first + len(here)), slice(second, second + here.shape[1])
                    yield here, self._feed.opposite(rows, cols)

    @cached_property
    def distinct_pairs(self) -> int:
        """How many distinct pairs were seen: where both sides of the diagonal are not the same, by a look at them."""
        if self._cut is not None:
            return self._observations.count // 2
        entries = self._observations.count
        if not self._feed.alike:
            seen = torch.zeros((), dtype=torch.int64, device=self._feed.device)
            for here, there in self._both_ways():
                seen += (~(torch.isnan(here) & torch.isnan(there))).sum()
            entries = int(seen)
        return (entries + int(self._observations.source.diagonal_seen().sum())) // 2

    def brought(self, U: Any) -> DeviceArray:
        """An array where the passes run."""
        return U if isinstance(U, DeviceArray) else DeviceArray(tensor_of(U, self._like))

    def with_loss(self, loss: Loss) -> DeviceKernel:
        """The same data under other estimates."""
        other = self._copied()
        other._loss, other._cost = loss, self._costs(loss)
        return other

    def signed(self, signs: Any) -> DeviceKernel:
        """The same data, which USUᵀ with S = diag(signs) is fitted to instead of UUᵀ; None: UUᵀ."""
        other = self._copied()
        other._signs = None if signs is None else tensor_of(np.asarray(signs, self.dtype), self._like)
        return other

    def _copied(self) -> DeviceKernel:
        """The same values, without what was made of the loss and the signs."""
        other = copy(self)
        vars(other).pop("_in_memory", None)
        return other

    def _with_signs(self, U: torch.Tensor) -> torch.Tensor:
        return U if self._signs is None else U * self._signs.to(U.dtype)

    def _sides(self, region: Region, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows of two factors that belong to the rows and to the columns of a region; of a table these are below."""
        shift = self._cut or 0
        cols = slice(region.cols.start + shift, region.cols.stop + shift)
        return left[region.rows], right[cols]

    def _scattered(self, region: Region, product: torch.Tensor, rows: torch.Tensor, cols: torch.Tensor) -> None:
        into_rows, into_cols = self._sides(region, product, product)
        into_rows += rows
        into_cols += cols

    @property
    def _times(self) -> float:
        """How often an entry of a region counts: one of a table stands in the symmetric matrix twice."""
        return 1.0 if self._cut is None else 2.0

    def _slopes(self, U: torch.Tensor, V: torch.Tensor) -> tuple[Floats, torch.Tensor]:
        """The sums of all regions, and the matrix of slopes, symmetrised, times V."""
        other = self._with_signs(U)
        sums = torch.zeros(plain.SUMS, dtype=torch.float64, device=self._feed.device)
        product = torch.zeros_like(V)
        for region in self._feed.regions():
            fit, times = self._sides(region, U, other), self._sides(region, V, V)
            found, rows, cols = self.passes.slopes(region, self._cost, fit, times, precise=self._precise)
            sums += found
            self._scattered(region, product, rows, cols)
        found = sums.cpu().numpy() * self._times
        return found, product.mul_(self._cost.stiffness * self._times)

    @alone
    def evaluate(self, U: Any) -> tuple[Any, ...]:
        """F(U), ∇F(U), what the curvature at U needs to know beside it, and what the loss asks for."""
        there = self.brought(U).tensor
        (squares, log, once, twice), gradient = self._slopes(there, self._with_signs(there))
        sigma, value = self._cost.sigma, self._cost.stiffness / 2 * squares
        at = self._cost, there
        if sigma is None:
            return float(value), DeviceArray(gradient), at
        squares, count = squares / sigma**2, self._observations.count
        value += log + count * np.log(sigma)
        sums = np.array([count - squares + once, 2 * squares + twice - once, squares])
        return float(value), DeviceArray(gradient), at, sums

    @alone
    def residual_times(self, U: Any, V: Any) -> Any:
        """The matrix of slopes, symmetrised, times V."""
        there, times = self.brought(U).tensor, self.brought(V).tensor
        return DeviceArray(self._slopes(there, times)[1])

    def curvature(self, U: Any, D: Any, kept: Any) -> Any:
        """(S ∘ (UDᵀ + DUᵀ)) U with the curvatures S at U."""
        return self._curvature(U, D, kept, self._precise)

    def curvature_roughly(self, U: Any, D: Any, kept: Any) -> Any:
        """The same to three digits where that is quicker: a direction needs no more."""
        return self._curvature(U, D, kept, False)

    @alone
    def _curvature(self, U: Any, D: Any, kept: Any, precise: bool) -> Any:
        if isinstance(kept, _Weights):
            return self.brought(kept.curvature(np.asarray(U), np.asarray(D)))
        # None: nothing counts but what was seen.
        cost, at = (replace(self._cost, threshold=None), self.brought(U).tensor) if kept is None else kept
        V, along = self._with_signs(self.brought(U).tensor), self.brought(D).tensor
        V, along, at = (self._halved(one) for one in (V, along, at))
        product = self._bent(cost, at, (torch.cat([V, along], 1), torch.cat([along, V], 1)), V, precise)
        return DeviceArray(product.to(self._like.dtype))

    def _halved(self, one: torch.Tensor) -> torch.Tensor:
        return one.to(torch.float32) if self.single else one

    def _bent(
        self, cost: Cost, at: torch.Tensor, along: tuple[torch.Tensor, ...], V: torch.Tensor, precise: bool
    ) -> torch.Tensor:
        product, other = torch.zeros_like(V), self._with_signs(at)
        passes = self._feed.passes(V.dtype)
        for region in self._feed.regions():
            fit = None if cost.threshold is None else self._sides(region, at, other)
            ways, times = self._sides(region, *along), self._sides(region, V, V)
            rows, cols = passes.curvature(region, cost, fit, ways, times, precise=precise)
            self._scattered(region, product, rows, cols)
        return product.mul_(cost.stiffness * self._times)

    def curvature_matrix(self, U: Any, kept: Any) -> Floats:
        """The matrix of :meth:`curvature`, of shape (nr, nr): for small problems only."""
        here, kernel = np.asarray(U), self._in_memory
        weights = kept.kept if isinstance(kept, _Weights) else kernel.evaluate(here)[2]
        matrix: Floats = kernel.curvature_matrix(here, weights)
        return matrix

    @alone
    def line(self, U: Any, D: Any, value: float, slope: float, kept: Any) -> Line:
        """F(U + tD): a quartic under squares, with the weights held at those of U; else values by a pass."""
        here, along = self.brought(U).tensor, self.brought(D).tensor
        V, E = self._with_signs(here), self._with_signs(along)
        ways = (here, V), (torch.cat([V, along], 1), torch.cat([along, V], 1)), (along, E)
        if self._cost.sigma is not None:
            bend = float(np.vdot(self.brought(D), self.curvature(U, D, kept)))
            return Sampled(value, slope, bend, lambda steps: self._looked(ways, steps))
        sums = torch.zeros(3, dtype=torch.float64, device=self._feed.device)
        for region in self._feed.regions():
            parts = (self._sides(region, *way) for way in ways)
            sums += self.passes.quartic(region, self._cost, *parts)
        second, third, fourth = (one * self._times for one in sums.tolist())
        return Quartic(np.array([value, slope, second / 4, third / 2, fourth / 4]), exact=not self.bounded)

    @alone
    def _looked(self, ways: Any, lengths: Sequence[float]) -> tuple[Floats, Floats]:
        """Values and slopes of F along a line, given as pairs of factors of the fit and of its two derivatives."""
        found = np.zeros((plain.SUMS + 1, len(lengths)))
        for region in self._feed.regions():
            parts = (self._sides(region, *way) for way in ways)
            found += self.passes.steps(region, self._cost, *parts, list(lengths)).cpu().numpy()
        found *= self._times
        cost, offset = self._cost, 0.0 if self._cost.sigma is None else float(np.log(self._cost.sigma))
        offset *= self._observations.count
        return cost.stiffness / 2 * found[0] + found[1] + offset, cost.stiffness * found[4]

    # What only error bars and proofs ask, and never in a step of a method: by blocks in memory.

    @cached_property
    def _in_memory(self) -> Any:
        kernel: Any = GeneralKernel(self._observations, self._loss)
        return kernel if self._signs is None else kernel.signed(self._signs.cpu().numpy())

    def weighted(self, weigh: Callable[[PairsSeen], Any]) -> Any:
        """Other weights, in memory."""
        return _Weights(self._in_memory, self._in_memory.weighted(weigh))

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: Any) -> Any:
        """The sum over blocks of pairs of what ``visit`` adds to an array, in a fixed order."""
        return self._in_memory.gather(visit, zeros)

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """The sum of what ``visit`` returns for each block of pairs, in a fixed order."""
        return self._in_memory.total(visit)


class _Weights:
    """Weights that were given, with the kernel in memory that knows what to do with them."""

    def __init__(self, kernel: Any, kept: Any) -> None:
        self.kernel, self.kept = kernel, kept

    def curvature(self, U: Array, D: Array) -> Array:
        product: Array = self.kernel.curvature(U, D, self.kept)
        return product
