"""What an entry tells of the fit, seen or not: Fisher's information of the censored model, pair by pair.

An entry x with noise σ that goes unseen between its limits, with probability P, tells σ⁻²(1 − P(1 − b)) of x: all of it
if it is seen, and the share b, the curvature of −log P, if it is not. Far from its limits P is 0 or 1 and b is 0: an
entry is sure to be seen and tells everything, or sure to be hidden and tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Array, Floats, Indices
from unrelu.data.observations import Observations
from unrelu.kernels.protocol import Kernel, PairsSeen
from unrelu.model.losses.tails import inside

__all__ = ["Information", "InformationKernel"]


@dataclass(frozen=True, eq=False)
class Information:
    """The weights of pairs, between 0 and as often as they were measured, in units of σ⁻².

    Attributes
    ----------
    observations : Observations
        With limits.
    factor : ndarray of shape (n, r)
        The fit, in units of √``observations.unit``.
    sigma : float
        In units of ``observations.unit``.
    one : bool
        Whether (i, j) and (j, i) are one measurement.
    """

    observations: Observations
    factor: Array
    sigma: float
    one: bool

    def of_fits(self, fit: Array, limits: list[tuple[Any, Any]]) -> Floats:
        """1 − P(1 − b) of some fits, the mean over both directions of a pair if their limits differ."""
        total: Floats = np.zeros(fit.shape)
        for low, high in limits:
            if np.all(np.isinf(low)) and np.all(np.isinf(high)):
                total += 1
                continue
            unit = self.observations.unit
            ends = ((np.asarray(limit, np.float64) / unit - fit) / self.sigma for limit in (low, high))
            log, _, bend, _, _ = inside(*ends)
            total += 1 - np.exp(log) * (1 - bend)
        return total / len(limits)

    def of_pairs(self, pairs: PairsSeen) -> NDArray[np.float64]:
        """Of a block; a diagonal entry twice, as blocks have it."""
        fit = (self.factor[pairs.rows] @ self.factor[pairs.cols].T).astype(np.float64)
        limits = self.observations.limits
        ways = [limits.of(pairs.rows, pairs.cols)]
        if not limits.uniform:
            low, high = limits.of(pairs.cols, pairs.rows)
            ways.append((np.transpose(low), np.transpose(high)))
        counts = (pairs.seen if pairs.absent is None else pairs.seen + pairs.absent).astype(np.float64)
        if self.one:
            counts = np.minimum(counts, 1)
            if pairs.diagonal:
                np.fill_diagonal(counts, 2 * np.diag(counts))
        return counts * self.of_fits(fit, ways)

    def at(self, i: Indices, j: Indices) -> Floats:
        """Of single pairs; a diagonal entry once."""
        observations = self.observations
        fit = np.einsum("ek,ek->e", self.factor[i].astype(np.float64), self.factor[j])
        limits, shape = observations.limits, observations.source.shape
        low, high = (np.broadcast_to(limit, shape) for limit in (limits.low, limits.high))
        ways = [(low[i, j], high[i, j])] + ([] if limits.uniform else [(low[j, i], high[j, i])])
        counts = observations.times_told(i, j).astype(np.float64)
        return (np.minimum(counts, 1) if self.one else counts) * self.of_fits(fit, ways)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """The pairs of a block with other weights."""

    pairs: PairsSeen
    seen: NDArray[Any]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pairs, name)


@dataclass(frozen=True, eq=False)
class InformationKernel:
    """A kernel whose pairs count by what they tell; ``inner`` must listen to absence."""

    inner: Kernel
    information: Information

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the data."""
        return self.inner.dtype

    @property
    def constant(self) -> float:
        """That of the data."""
        return self.inner.constant

    @cached_property
    def _weights(self) -> Any:
        return self.inner.weighted(lambda pairs: self.information.of_pairs(pairs).astype(self.dtype))

    def curvature(self, U: Array, D: Array, kept: Any) -> Array:
        """With the weights of the information, or with others."""
        return self.inner.curvature(U, D, self._weights if kept is None else kept)

    def weighted(self, weigh: Callable[[PairsSeen], NDArray[Any]]) -> Any:
        """Other weights, made of these."""
        return self.inner.weighted(lambda pairs: weigh(self._weighed(pairs)))

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: NDArray[Any]) -> Any:
        """The sum over blocks of what ``visit`` adds."""
        return self.inner.gather(lambda pairs, into: visit(self._weighed(pairs), into), zeros)

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """The sum over blocks of what ``visit`` returns."""
        return self.inner.total(lambda pairs: visit(self._weighed(pairs)))

    def _weighed(self, pairs: PairsSeen) -> Any:
        return _Weighed(pairs, self.information.of_pairs(pairs))
