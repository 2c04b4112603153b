"""Passes over the whole matrix in bands of rows, for methods with two factors or with a dense matrix of their own.

A band is a few rows, small enough for a core's second-level cache, so that products and element-wise steps on it cost
one trip to memory. Pattern and values need not be symmetric, and nothing here is averaged over pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Array
from unrelu.data.limits import Ends
from unrelu.data.observations import Observations
from unrelu.kernels import loops as compiled
from unrelu.kernels.memory import require_memory
from unrelu.kernels.threads import map_chunks
from unrelu.model.losses import Loss

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
        if self.interval is None and find_spec("numba") is not None:
            nobody = np.zeros((1, 1), np.uint8)
            absent = nobody if self.absent is None else self.absent
            sign = 1.0 if self.below else -1.0
            step = compiled.extrapolated()
            return float(step(T, (theta, Z), (self.target, self.seen, absent), (beta, gamma, sign), after))
        misfit = square_sum(self.residual(T, new_Z))
        _towards(T, theta, beta, new_theta)
        np.subtract(new_theta, self.residual(new_theta, new_Z), out=T)
        _towards(T, Z, gamma, new_Z)
        return misfit


class BandKernel:
    """M_Ω and what absence says, row by row, in units of ``observations.unit``.

    Parameters
    ----------
    observations : Observations
    loss : Loss
        Whether absent entries count; otherwise they are unknown.
    """

    def __init__(self, observations: Observations, loss: Loss) -> None:
        n, self.dtype = observations.size, observations.dtype
        self.size, self.count = n, observations.count
        observations = observations.with_limits(loss.heard(observations.limits))
        self.bounded = not observations.limits.nothing
        require_memory(n * n * (self.dtype.itemsize + 2), f"a {n}×{n} matrix")
        height = max(1, BAND_ENTRIES // n)
        cuts = [slice(start, min(start + height, n)) for start in range(0, n, height)]
        threads = observations.source.thread_safe
        self._bands = map_chunks(lambda rows: self._pack(observations, rows), cuts, threads=threads)
        wanted = min(CHUNKS, len(self._bands))
        ends = [len(self._bands) * k // wanted for k in range(wanted + 1)]
        self._chunks = [self._bands[a:b] for a, b in pairwise(ends)]

    def _pack(self, observations: Observations, rows: slice) -> Band:
        whole = slice(0, self.size)
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

    def products(self, L: Array, R: Array, right: Array | None, left: Array | None) -> tuple[float, Any, Any]:
        """¼‖Z‖² of the residual Z of LRᵀ, with Z @ right and Zᵀ @ left for those that are asked for."""
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
        return sum(total for total, _ in parts) / 4, forward, backward

    def evaluate(self, L: Array, R: Array) -> tuple[float, Array, Array]:
        """¼‖Z‖² of the residual Z of LRᵀ, with ZR and ZᵀL: the gradient of twice that with respect to L and R."""
        return self.products(L, R, R, L)

    def seen_values(self) -> tuple[Array, NDArray[np.bool_]]:
        """M_Ω as one dense array with zeros elsewhere, and the mask of Ω."""
        M = np.zeros((self.size, self.size), self.dtype)
        mask = np.zeros((self.size, self.size), bool)
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
