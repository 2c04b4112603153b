"""A diagonal that is an upper limit: M = UUᵀ + diag(ψ) with ψ ≥ 0, as in factor analysis.

The diagonal of a correlation or kernel matrix is what a row shares with itself, its own noise included: no low-rank
entry. Taken as data it bends the fit; left out, the fit may exceed it and run away (Heywood's cases). What it says is
that ‖u_i‖² is at most m_ii, and that is what absence says of any entry below its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.data.limits import Ends
from unrelu._old.kernels.line import Sampled
from unrelu._old.kernels.protocol import Line, PairsSeen
from unrelu._old.kernels.wrapped import Wrapped
from unrelu._old.model.losses import Loss

__all__ = ["CappedKernel"]


@dataclass(frozen=True, eq=False)
class CappedKernel(Wrapped):
    """F with what the loss says of ‖u_i‖² below its limit, for entries (i, i) that the inner kernel knows nothing of.

    Parameters
    ----------
    inner : Kernel
        Passes for F.
    most : ndarray of shape (n,)
        Limits of the diagonal, in units; infinite where there is none.
    loss : Loss
        In the units of the data.
    unit : float
        Of the data.
    """

    most: Floats
    loss: Loss
    unit: float

    def _own(self, U: Array) -> tuple[Floats, Floats, Floats, Floats | None]:
        """Costs, slopes and curvatures of all ‖u_i‖², and what the loss gathers of them."""
        sizes = np.einsum("ik,ik->i", U, U, dtype=np.float64)
        limits, loss = Ends((np.full(len(U), -np.inf), self.most)), self.loss.in_units(self.unit)
        cost, slope, curvature = np.empty((3, len(U)))
        loss.unseen(sizes, limits, cost, slope, curvature)
        return cost, slope, curvature, loss.unseen_sums(sizes, limits, slope, curvature) if loss.gathers else None

    def evaluate(self, U: Array) -> tuple[Any, ...]:
        """F and its gradient, with the diagonal."""
        value, gradient, kept, *sums = self.inner.evaluate(U)
        cost, slope, curvature, own = self._own(U)
        gradient = gradient + (2 * slope[:, None] * U).astype(U.dtype)
        sums = [sums[0] + own] if sums else []
        return value + float(cost.sum()), gradient, (kept, curvature), *sums

    def with_loss(self, loss: Loss) -> CappedKernel:
        """The same data under other estimates."""
        return replace(self, inner=self.inner.with_loss(loss), loss=loss)

    def curvature(self, U: Array, D: Array, kept: Any) -> Array:
        """That of F, and 4c_i(u_i·d_i)u_i."""
        inner, bend = kept
        along = np.einsum("ik,ik->i", U, D, dtype=np.float64)
        product: Array = self.inner.curvature(U, D, inner) + (4 * (bend * along)[:, None] * U).astype(U.dtype)
        return product

    def curvature_matrix(self, U: Array, kept: Any) -> Floats:
        """The matrix of :meth:`curvature`."""
        inner, bend = kept
        n, r = U.shape
        matrix = self.inner.curvature_matrix(U, inner)
        each = np.arange(n)
        own = 4 * bend[:, None, None] * U[:, :, None].astype(np.float64) * U[:, None, :]
        matrix.reshape(n, r, n, r)[each, :, each, :] += own
        return matrix

    def weighted(self, weigh: Callable[[PairsSeen], NDArray[Any]]) -> Any:
        """That of F, with no curvature of the diagonal."""
        return self.inner.weighted(weigh), np.zeros(len(self.most))

    def residual_times(self, U: Array, V: Array) -> Array:
        """The slopes, with those of the diagonal, times V."""
        product: Array = self.inner.residual_times(U, V) + (2 * self._own(U)[1][:, None] * V).astype(V.dtype)
        return product

    def line(self, U: Array, D: Array, value: float, slope: float, kept: Any) -> Line:
        """Values and slopes of F(U + tD), with the diagonal; a limit is a kink, so none is exact."""
        inner, _ = kept
        cost, pull, _, _ = self._own(U)
        along = np.einsum("ik,ik->i", U, D, dtype=np.float64)
        found = self.inner.line(U, D, value - float(cost.sum()), slope - float(2 * pull @ along), inner)

        def look(steps: Sequence[float]) -> tuple[Floats, Floats]:
            values, slopes = found.at(steps)
            for k, step in enumerate(steps):
                there = U + step * D
                cost, pull, _, _ = self._own(there)
                values[k] += cost.sum()
                slopes[k] += 2 * pull @ np.einsum("ik,ik->i", there, D, dtype=np.float64)
            return values, slopes

        return Sampled(value, slope, float(np.vdot(D, self.curvature(U, D, kept))), look)
