"""One connected set of points and the springs between them: value, slope and curvature of the misfit.

Every pair contributes a function of its distance x alone. Seen pairs pull towards what was measured, pairs with
limits push back into their interval, unseen pairs closer than the cut-off push apart; which those are a
neighbour search tells, so a pass costs as much as there are seen pairs and close ones, never n².
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.model.losses import Censored

__all__ = ["Forces", "Misfit", "Network", "PairLimits", "no_limits"]

# Beyond this many standard deviations a censored pair's pull is zero to rounding.
REACH = 5.0


@dataclass(frozen=True, eq=False)
class PairLimits:
    """Interval restraints: lower ≤ distance ≤ upper for some pairs, 0 and inf where one side is open."""

    first: Indices
    second: Indices
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.first)

    @property
    def silent(self) -> bool:
        """Whether they allow every distance; then they only say that absence means nothing of their pairs."""
        return bool((self.lower <= 0).all() and np.isinf(self.upper).all())


def no_limits() -> PairLimits:
    """No interval restraint."""
    return PairLimits(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class Misfit:
    """How a pair's distance x is judged.

    Attributes
    ----------
    squared : bool
        Seen pairs by (x² − d²)²/8 instead of (x − d)²/2: smoother far from the answer, the same near it.
    absence : bool
        Whether unseen pairs below the cut-off c are penalised, by (c − x)²/2.
    noise : float
        If positive, an unseen pair instead contributes −σ² log Φ((x − c)/σ), the likelihood of not having been seen.
    """

    squared: bool = False
    absence: bool = True
    noise: float = 0.0


@dataclass(frozen=True, eq=False)
class Forces:
    """The pairs that count at some points, their directions, and value, slope and curvature along them."""

    first: Indices
    second: Indices
    along: Floats  # (m, dim), unit vectors from second to first
    slope: Floats
    curvature: Floats
    value: float

    def gradient(self, size: int) -> Floats:
        """∂value/∂X, shape (size, dim)."""
        pull = self.slope[:, None] * self.along
        result = np.empty((size, self.along.shape[1]))
        for k in range(result.shape[1]):
            result[:, k] = np.bincount(self.first, pull[:, k], size) - np.bincount(self.second, pull[:, k], size)
        return result


@dataclass(frozen=True, eq=False)
class Network:
    """Seen pairs of one component, in units near one; indices are within the component.

    Attributes
    ----------
    size, dim : int
    first, second : int ndarray of shape (m,)
        first < second, each pair once, increasing.
    distance, weight : ndarray of shape (m,)
        Weights have mean one.
    cutoff : float or None
    limits : PairLimits
    """

    size: int
    dim: int
    first: Indices
    second: Indices
    distance: Floats
    weight: Floats
    cutoff: float | None = None
    limits: PairLimits = field(default_factory=no_limits)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """One increasing number per seen pair, and per pair with limits."""
        keys = self.first.astype(np.int64) * self.size + self.second
        if len(self.limits):
            limited = self.limits.first.astype(np.int64) * self.size + self.limits.second
            keys = np.union1d(keys, limited)
        return keys

    @cached_property
    def graph(self) -> Any:
        """Seen pairs as a symmetric CSR array of positions in ``distance`` plus one."""
        number = np.arange(1, len(self.first) + 1)
        rows, columns = np.r_[self.first, self.second], np.r_[self.second, self.first]
        shape = (self.size, self.size)
        return sp.csr_array((np.r_[number, number], (rows, columns)), shape=shape)

    def heard(self, point: Any) -> Indices:
        """The points whose distance from this one was seen, or has limits: absence says nothing of them."""
        own = self._known
        near: Indices = own.indices[own.indptr[point] : own.indptr[point + 1]]
        return near

    @cached_property
    def _known(self) -> Any:
        """Pairs that were seen, and pairs with limits, as a symmetric CSR array of ones."""
        rows, columns = self.keys // self.size, self.keys % self.size
        entries = (np.ones(2 * len(rows)), (np.r_[rows, columns], np.r_[columns, rows]))
        return sp.csr_array(entries, shape=(self.size, self.size))

    @cached_property
    def lengths(self) -> Any:
        """Seen pairs as a symmetric CSR array of distances."""
        graph = self.graph
        return sp.csr_array((self.distance[graph.data - 1], graph.indices, graph.indptr), shape=graph.shape)

    @cached_property
    def roads(self) -> Any:
        """Lengths for shortest paths: seen distances, and the middle of limits that are closed above."""
        held = np.isfinite(self.limits.upper)
        if not held.any():
            lengths = self.lengths.copy()
        else:
            first, second = np.r_[self.first, self.limits.first[held]], np.r_[self.second, self.limits.second[held]]
            middle = (self.limits.lower[held] + self.limits.upper[held]) / 2
            values = np.r_[self.distance, middle]
            entries = (np.r_[values, values], (np.r_[first, second], np.r_[second, first]))
            lengths = sp.csr_array(entries, shape=(self.size, self.size))
        lengths.data = np.maximum(lengths.data, 1e-12)  # a stored zero would mean no road
        return lengths

    @cached_property
    def degrees(self) -> Indices:
        """How many distances of each point were seen."""
        return np.bincount(np.r_[self.first, self.second], minlength=self.size).astype(np.intp)

    def part(self, members: Indices, *, keep: NDArray[np.bool_] | None = None) -> Network:
        """The network among some points, or of some edges among them."""
        place = np.full(self.size, -1, np.intp)
        place[members] = np.arange(len(members))
        inside = (place[self.first] >= 0) & (place[self.second] >= 0)
        if keep is not None:
            inside &= keep
        limits = self.limits
        if len(limits):
            both = (place[limits.first] >= 0) & (place[limits.second] >= 0)
            low, high = _ordered(place[limits.first[both]], place[limits.second[both]])
            limits = PairLimits(low, high, limits.lower[both], limits.upper[both])
        first, second = _ordered(place[self.first[inside]], place[self.second[inside]])
        order = np.lexsort((second, first))
        chosen = np.flatnonzero(inside)[order]
        values = self.distance[chosen], self.weight[chosen]
        return Network(len(members), self.dim, first[order], second[order], *values, self.cutoff, limits)

    def residual(self, X: Floats) -> Floats:
        """Distances in X less those measured."""
        return np.linalg.norm(X[self.first] - X[self.second], axis=1) - self.distance

    def beyond_limits(self, X: Floats) -> Floats:
        """By how much each limited pair is out of its interval in X."""
        x = np.linalg.norm(X[self.limits.first] - X[self.limits.second], axis=1)
        result: Floats = np.abs(x - np.clip(x, self.limits.lower, self.limits.upper))
        return result

    def forces(self, X: Floats, misfit: Misfit) -> Forces:
        """Pairs that count at X."""
        parts = [_seen(self, X, misfit)]
        if len(self.limits):
            parts.append(_limited(self.limits, X))
        if misfit.absence and self.cutoff is not None:
            parts.append(_absent(self, X, misfit))
        if len(parts) == 1:
            return parts[0]
        joined = [np.concatenate([getattr(p, k) for p in parts]) for k in ("first", "second", "along", "slope")]
        curvature = np.concatenate([p.curvature for p in parts])
        return Forces(joined[0], joined[1], joined[2], joined[3], curvature, sum(p.value for p in parts))

    def too_close(self, X: Floats, reach: float) -> tuple[Indices, Indices]:
        """Unseen pairs closer than ``reach``."""
        from scipy.spatial import cKDTree

        close = cKDTree(X).query_pairs(reach, output_type="ndarray").astype(np.int64)
        keys = close.min(axis=1) * self.size + close.max(axis=1) if len(close) else np.zeros(0, np.int64)
        if len(self.keys):
            where = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            keys = keys[self.keys[where] != keys]
        keys.sort()
        return (keys // self.size).astype(np.intp), (keys % self.size).astype(np.intp)


def _ordered(first: Indices, second: Indices) -> tuple[Indices, Indices]:
    return np.minimum(first, second), np.maximum(first, second)


def _directions(X: Floats, first: Indices, second: Indices) -> tuple[Floats, Floats]:
    """Unit vectors and distances; points at one place are pulled apart along the first axis."""
    difference = X[first] - X[second]
    x = np.sqrt(np.einsum("kd,kd->k", difference, difference))
    with np.errstate(invalid="ignore", divide="ignore"):
        along = difference / x[:, None]
    together = x == 0
    if together.any():
        along[together] = np.eye(X.shape[1])[0]
    return along, x


def _seen(network: Network, X: Floats, misfit: Misfit) -> Forces:
    along, x = _directions(X, network.first, network.second)
    w, d = network.weight, network.distance
    if misfit.squared:
        gap = x * x - d * d
        return Forces(
            network.first, network.second, along, w * gap * x / 2, w * x * x, float(np.sum(w * gap * gap)) / 8
        )
    gap = x - d
    return Forces(network.first, network.second, along, w * gap, w.copy(), float(np.sum(w * gap * gap)) / 2)


def _limited(limits: PairLimits, X: Floats) -> Forces:
    along, x = _directions(X, limits.first, limits.second)
    gap = np.minimum(x - limits.lower, 0) + np.maximum(x - limits.upper, 0)
    out = np.flatnonzero(gap)
    g = gap[out]
    return Forces(limits.first[out], limits.second[out], along[out], g, np.ones(len(g)), float(g @ g) / 2)


def _absent(network: Network, X: Floats, misfit: Misfit) -> Forces:
    cutoff, sigma = float(network.cutoff or 0.0), misfit.noise
    first, second = network.too_close(X, cutoff + REACH * sigma)
    along, x = _directions(X, first, second)
    if sigma > 0:
        # The likelihood of matrices, in units of σ²: beside it a seen pair costs ½(x − d)².
        cost, slope, curvature = np.empty((3, len(x)))
        Censored(sigma).unseen(x, (cutoff, np.inf), cost, slope, curvature)
        square = sigma * sigma
        return Forces(first, second, along, square * slope, square * curvature, square * float(np.sum(cost)))
    if misfit.squared:
        gap = x * x - cutoff * cutoff
        return Forces(first, second, along, gap * x / 2, x * x, float(gap @ gap) / 8)
    gap = x - cutoff
    return Forces(first, second, along, gap, np.ones(len(gap)), float(gap @ gap) / 2)
