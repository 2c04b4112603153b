"""Passes over a matrix or a table in bands of rows, for methods with two factors or with a dense matrix of their own.

A band is a few rows, small enough for a core's second-level cache, so that products and element-wise steps on it cost
one trip to memory. Pattern and values need not be symmetric, and nothing here is averaged over pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array
from unrelu._old.base.engines import NUMPY, noted
from unrelu._old.data.limits import Ends
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.memory import require_memory
from unrelu._old.kernels.threads import map_chunks
from unrelu._old.model.losses import Loss

__all__ = ["Band", "BandKernel", "add_up", "square_sum"]

# 2¹⁵ doubles are a quarter of a megabyte.
BAND_ENTRIES = 1 << 15
CHUNKS = 8


@dataclass(frozen=True, eq=False)
class Band:
    """A few rows: targets (the seen value, the threshold where absent, 0 where unknown) and what kind each entry is."""

    rows: slice
    target: Array
    seen: NDArray[np.uint8]
    absent: NDArray[np.uint8] | None = None
    below: bool = True  # whether absent entries lie below their target
    interval: Ends | None = None  # limits of every entry, where one target does not say it

    def clip(self, values: Array, scratch: Array | None = None) -> None:
        """Project a band onto what is known: seen entries to their value, absent ones to their side, in place."""
        values -= self.residual(values, scratch)

    def residual(self, values: Array, out: Array | None = None) -> Array:
        """How far a band is from what is known: values minus their projection."""
        if self.interval is not None:
            return np.subtract(values, self.interval.nearest(values), out=out)
        # Arithmetic with 0 and 1 is several times faster than NumPy's masked assignments.
        gap = np.subtract(values, self.target, out=out)
        counts = self.seen
        if self.absent is not None:
            counts = (gap > 0 if self.below else gap < 0).view(np.uint8)
            np.multiply(counts, self.absent, out=counts)
            np.add(counts, self.seen, out=counts)
        return np.multiply(gap, counts, out=gap)

    def extrapolated(
        self, T: Array, before: tuple[Array, Array], momenta: tuple[float, float], after: tuple[Array, Array]
    ) -> float:
        """The element-wise part of a step of 3B-NMD, on WHᵀ of this band in ``T``, which is used up.

        With Θ and Z ``before``: write Θ⁺ = (1 + β)WHᵀ − βΘ, and (1 + γ)P(Θ⁺) − γZ with P the projection onto what is
        known, into ``after``; return the squared distance of WHᵀ from what is known.
        """
        (theta, Z), (new_theta, new_Z), (beta, gamma) = before, after, momenta
        misfit = square_sum(self.residual(T, new_Z))
        _towards(T, theta, beta, new_theta)
        np.subtract(new_theta, self.residual(new_theta, new_Z), out=T)
        _towards(T, Z, gamma, new_Z)
        return misfit


class BandKernel:
    """M_Ω and what absence says, row by row, in units of ``observations.unit``.

    Of the symmetric matrix that a table is part of only the table is looked at.

    Parameters
    ----------
    observations : Observations
    loss : Loss
        Whether absent entries count; otherwise they are unknown.

    Attributes
    ----------
    shape : tuple of int
        (n, n), or that of the table.
    count : int
        How many of these entries were seen.
    norm : float
        ‖M_Ω‖_F over them, in units of ``observations.unit``.
    share : float
        F over ½‖Z‖² of a residual Z: a half, for both entries of a pair are looked at here; 1 for a table.

    Examples
    --------
    >>> from unrelu._old.data.table_observations import table_observations
    >>> from unrelu._old.model.losses import squared_loss
    >>> seen = table_observations(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, np.nan]]), threshold=None)
    >>> bands = BandKernel(seen, squared_loss())
    >>> bands.shape, bands.count
    ((2, 3), 5)
    >>> zero = np.zeros((2, 1)), np.zeros((3, 1))
    >>> bands.evaluate(*zero)[0] * seen.unit**2, (1 + 4 + 9 + 4 + 16) / 2
    (17.0, 17.0)
    """

    def __init__(self, observations: Observations, loss: Loss) -> None:
        self.dtype, self._cut = observations.dtype, observations.source.cut
        first = self._cut or 0  # column of the symmetric matrix
        m, n = self.shape = self._cut or observations.size, observations.size - first
        copies = 1 if self._cut is None else 2  # of a table both stand there: it, and its transpose
        self.share = copies / 2
        self.count, self.norm = observations.count // copies, observations.scaled_norm / float(np.sqrt(copies))
        observations = observations.with_limits(loss.heard(observations.limits))
        self.bounded = not observations.limits.nothing
        require_memory(m * n * (self.dtype.itemsize + 2), f"a {m}×{n} matrix")
        noted(f"{NUMPY} in {self.dtype.name}")
        if observations.source.elsewhere:  # methods that work on rows have matrices as large as this one here as well
            observations = replace(observations, source=observations.source.in_memory(), scanned=observations._counts)
        self._columns = slice(first, first + n)
        height = max(1, BAND_ENTRIES // n)
        cuts = [slice(start, min(start + height, m)) for start in range(0, m, height)]
        threads = observations.source.thread_safe
        self._bands = map_chunks(lambda rows: self._pack(observations, rows), cuts, threads=threads)
        wanted = min(CHUNKS, len(self._bands))
        ends = [len(self._bands) * k // wanted for k in range(wanted + 1)]
        self._chunks = [self._bands[a:b] for a, b in pairwise(ends)]

    def _pack(self, observations: Observations, rows: slice) -> Band:
        whole = self._columns
        values = observations.block(rows, whole)
        seen = ~np.isnan(values)
        target = np.where(seen, values, 0) / self.dtype.type(observations.unit)
        if not self.bounded:
            return Band(rows, target, seen.view(np.uint8))
        absent = observations.absent(rows, whole, values)
        limits = observations.limits
        if limits.uniform:
            np.copyto(target, observations.scaled_threshold or 0.0, where=absent)
            return Band(rows, target, seen.view(np.uint8), absent.view(np.uint8), limits.side == "below")
        ends = limits.of(rows, whole).over(observations.unit)
        inside = np.where(absent, ends[0], -np.inf), np.where(absent, ends[1], np.inf)
        low, high = (np.where(seen, target, limit).astype(self.dtype) for limit in inside)
        gap = None
        if ends.gap is not None:
            gap = np.where(absent, ends.gap[0], np.inf), np.where(absent, ends.gap[1], -np.inf)
        return Band(rows, target, seen.view(np.uint8), interval=Ends((low, high), gap))

    def over(self, visit: Callable[[list[Band]], Any]) -> list[Any]:
        """Results of ``visit`` on each chunk of bands, in order."""
        return map_chunks(visit, self._chunks)

    def apart(self, left: Array, right: Array) -> tuple[Array, Array]:
        """L and R of a start: as they are; of a table the two parts of [L; R], which both are."""
        return (left, right) if self._cut is None else (left[: self._cut], left[self._cut :])

    def joined(self, left: Array, right: Array) -> tuple[Array, Array]:
        """A start of L and R, the other way round: as they are; of a table [L; R], twice."""
        if self._cut is None:
            return left, right
        both = np.concatenate([left, right])
        return both, both

    def value(self, squares: float) -> float:
        """F of a residual with this sum of squares."""
        return self.share * squares / 2

    def squares(self, value: float) -> float:
        """The sum of squares of a residual with this F."""
        return 2 * value / self.share

    def products(self, L: Array, R: Array, right: Array | None, left: Array | None) -> tuple[float, Any, Any]:
        """F of the residual Z of LRᵀ, with Z @ right and Zᵀ @ left for those that are asked for."""
        forward = None if right is None else np.empty((len(L), right.shape[1]), self.dtype)

        def visit(chunk: list[Band]) -> tuple[float, Any]:
            total, backward = 0.0, None if left is None else np.zeros((len(R), left.shape[1]), self.dtype)
            for band in chunk:
                T = L[band.rows] @ R.T
                Z = band.residual(T, T)
                total += square_sum(Z)
                if forward is not None and right is not None:
                    forward[band.rows] = Z @ right
                if backward is not None and left is not None:
                    backward += Z.T @ left[band.rows]
            return total, backward

        parts = self.over(visit)
        backward = None if left is None else add_up([part for _, part in parts])
        return self.value(sum(total for total, _ in parts)), forward, backward

    def evaluate(self, L: Array, R: Array) -> tuple[float, Array, Array]:
        """F of the residual Z of LRᵀ, with ZR and ZᵀL: the gradient of ½‖Z‖² with respect to L and R."""
        return self.products(L, R, R, L)

    def seen_values(self) -> tuple[Array, NDArray[np.bool_]]:
        """M_Ω as one dense array with zeros elsewhere, and the mask of Ω."""
        M, mask = np.zeros(self.shape, self.dtype), np.zeros(self.shape, bool)
        for band in self._bands:
            mask[band.rows] = band.seen
            M[band.rows] = band.target * band.seen
        return M, mask


def square_sum(values: Array) -> float:
    """Σ x²."""
    flat = values.ravel()
    return float(np.dot(flat, flat))


def add_up(parts: list[Array]) -> Array:
    """Their sum, in order, in the first of them."""
    total = parts[0]
    for more in parts[1:]:
        total += more
    return total


def _towards(new: Array, old: Array, momentum: float, out: Array) -> None:
    """Out ← new + momentum · (new − old); new is used up."""
    if momentum == 0:
        out[:] = new
        return
    new *= 1 + momentum
    np.multiply(old, -momentum, out=out)
    out += new
