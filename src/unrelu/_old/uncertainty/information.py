"""What an entry tells of the fit, seen or not: Fisher's information of the censored model, pair by pair.

An entry x with noise σ that goes unseen between its limits, with probability P, tells σ⁻²(1 − P(1 − b)) of x: all of it
if it is seen, and the share b, the curvature of −log P, if it is not. Far from its limits P is 0 or 1 and b is 0: an
entry is sure to be seen and tells everything, or sure to be hidden and tells nothing. One that is missing by chance,
and has a range, tells b. Weights and noise of its own count besides.

Of one measurement that is seen either way round, the way that is more likely to see it tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.data.limits import Ends, has_limit, numbers_at, part_of
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.protocol import PairsSeen
from unrelu._old.kernels.wrapped import Wrapped
from unrelu._old.model.losses.tails import beside, inside

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
    signs : ndarray of shape (r,), optional
        Of the columns, where the fit is indefinite.
    """

    observations: Observations
    factor: Array
    sigma: float
    one: bool
    signs: Any = 1.0

    def of_pairs(self, pairs: PairsSeen) -> NDArray[np.float64]:
        """Of a block; a diagonal entry twice, as blocks have it."""
        fit = (self.factor[pairs.rows] * self.signs @ self.factor[pairs.cols].T).astype(np.float64)
        if self._alike:
            counts = (pairs.seen if pairs.absent is None else pairs.seen + pairs.absent).astype(np.float64)
            counts = np.minimum(counts, 1) if self.one else counts
            told = counts * self._shares(fit, self.observations.limits.of(pairs.rows, pairs.cols))[0]
        else:
            forward, backward = self._block(fit, pairs.rows, pairs.cols), self._block(fit.T, pairs.cols, pairs.rows).T
            told = np.maximum(forward, backward) if self.one else forward + backward
        if self.one and pairs.diagonal:
            np.fill_diagonal(told, 2 * np.diag(told))
        return told

    def at(self, i: Indices, j: Indices) -> Floats:
        """Of single pairs; a diagonal entry once."""
        observations = self.observations
        fit = np.einsum("ek,ek->e", self.factor[i].astype(np.float64) * self.signs, self.factor[j])
        if self._alike:
            counts = observations.times_told(i, j).astype(np.float64)
            ends = observations.limits.at(i, j, observations.source.shape)
            return (np.minimum(counts, 1) if self.one else counts) * self._shares(fit, ends)[0]
        forward, backward = self._places(fit, i, j), self._places(fit, j, i)
        return np.maximum(forward, backward) if self.one else np.where(i == j, forward, forward + backward)

    @property
    def _alike(self) -> bool:
        """Whether one limit, one weight and one noise serve all."""
        return self.observations.limits.uniform and self.observations.plain

    def _block(self, fit: Floats, rows: slice, cols: slice) -> Floats:
        """Of the entries of a block one way round."""
        observations, limits = self.observations, self.observations.limits
        values = observations.block(rows, cols)
        absent = observations.absent(rows, cols, values)
        spread = 1.0 if observations.spread is None else part_of(observations.spread, rows, cols)
        ends, chance = limits.of(rows, cols), limits.by_chance(rows, cols)
        told = self._told(fit, (~np.isnan(values), absent), ends, chance, spread)
        return told * observations.precision(rows, cols)

    def _places(self, fit: Floats, i: Indices, j: Indices) -> Floats:
        """Of single entries."""
        observations, limits, shape = self.observations, self.observations.limits, self.observations.source.shape
        seen = observations.source.seen_at(i, j)
        absent = np.zeros_like(seen) if limits.nothing else observations.told_at(i, j) & ~seen
        spread = 1.0 if observations.spread is None else numbers_at(observations.spread, i, j, shape)
        told = self._told(fit, (seen, absent), limits.at(i, j, shape), limits.chance_at(i, j, shape), spread)
        return told * observations.precision_at(i, j)

    def _told(self, fit: Floats, known: tuple[Bools, Bools], ends: Ends, chance: Any, spread: Any) -> Floats:
        """What entries tell that were ``known``, seen or absent: where their value decided which, on average."""
        seen, absent = known
        whole, hidden = self._shares(fit, ends, spread)
        by_chance = np.logical_or(chance, np.logical_not(has_limit(ends)))
        return np.where(by_chance, seen + absent * hidden, (seen | absent) * whole)

    def _shares(self, fit: Floats, ends: Ends, spread: Any = 1.0) -> tuple[Floats, Floats]:
        """1 − P(1 − b) and b of some fits."""
        if not np.any(has_limit(ends)):
            return np.ones(fit.shape), np.zeros(fit.shape)
        unit, gap = self.observations.unit, ends.gap or ()
        low, high, *rest = ((np.asarray(end, np.float64) / unit - fit) / (self.sigma * spread) for end in (*ends, *gap))
        log, _, bend, _, _ = beside(low, high, *rest) if rest else inside(low, high)
        hidden = bend.astype(np.float64)
        return 1 - np.exp(log.astype(np.float64)) * (1 - hidden), hidden


@dataclass(frozen=True, eq=False)
class _Weighed:
    """The pairs of a block with other weights."""

    pairs: PairsSeen
    seen: NDArray[Any]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pairs, name)


@dataclass(frozen=True, eq=False)
class InformationKernel(Wrapped):
    """A kernel whose pairs count by what they tell; ``inner`` must listen to absence."""

    information: Information

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
