"""F with a price on size: any rank, as low as the data ask for.

λ tr(UUᵀ) = λ‖U‖² shrinks the eigenvalues of the fit by λ and leaves none below: with as many columns as that leaves,
the factors find the same minimum as eigenvalues that are shrunk one by one (Burer and Monteiro), and no n×n matrix is
decomposed on the way. For tables λ‖U‖² = λ(‖L‖² + ‖R‖²) is twice λ times the nuclear norm of LRᵀ, as every entry
counts twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import kernel_for
from unrelu._old.kernels.line import Quartic, Sampled
from unrelu._old.kernels.protocol import Kernel, Line
from unrelu._old.kernels.wrapped import Wrapped
from unrelu._old.model.losses import Loss

__all__ = ["Penalised", "PenalisedKernel"]


@dataclass(frozen=True)
class Penalised:
    """What makes a kernel with a price on size: ``complete(…, kernel=Penalised(0.5))``.

    Parameters
    ----------
    shrinkage : float
        λ, in the units of the data.
    kernel : callable, optional
        What makes the kernel from observations and loss; default the quickest that there is for them.

    Examples
    --------
    >>> from unrelu._old.problems.psd import PSDProblem
    >>> problem = PSDProblem(Observations.of(np.array([[4.0, 2.0], [2.0, 1.0]])), 1, kernel=Penalised(1.0))
    >>> U = np.array([[2.0], [1.0]]) / 2  # what was seen, exactly; the unit is 4
    >>> problem.evaluate(U).value  # ½ · ¼ · ‖U‖²
    0.15625
    >>> float(np.abs(problem.evaluate(U * np.sqrt(4 / 5)).gradient).max()) < 1e-15  # its eigenvalue of 5, less 1
    True
    """

    shrinkage: float
    kernel: Callable[[Observations, Loss], Kernel] = kernel_for

    def __call__(self, observations: Observations, loss: Loss) -> PenalisedKernel:
        """The kernel for these data and this loss."""
        return PenalisedKernel(self.kernel(observations, loss), self.shrinkage, loss, observations.unit)


@dataclass(frozen=True, eq=False)
class PenalisedKernel(Wrapped):
    """F(U) + λ k ‖U‖², where k is the curvature of an entry that is met: ½ for squares, 1/σ² for a likelihood.

    So λ is a size: what is shrunk off every eigenvalue of a fit to entries that were all seen. Under a likelihood the
    price is −log of a prior whose width goes with the noise, and σ is estimated with it.

    Parameters
    ----------
    inner : Kernel
        Passes for F.
    shrinkage : float
        λ, in the units of the data.
    loss : Loss
        In the units of the data.
    unit : float
        Of the data; what passes take and return is in units of it.
    """

    shrinkage: float
    loss: Loss
    unit: float

    @cached_property
    def ridge(self) -> float:
        """2λk: the slope of the price by U is this times U."""
        return 2 * self.shrinkage / self.unit * self.loss.in_units(self.unit).stiffness

    def evaluate(self, U: Array) -> tuple[Any, ...]:
        """F and its gradient with the price; of what a likelihood gathers, the derivatives by log σ with it too."""
        value, gradient, kept, *sums = self.inner.evaluate(U)
        price = self.ridge / 2 * _inner(U, U)
        if sums:  # k is 1/σ²
            sums = [sums[0] + np.array([-2 * price, 4 * price, 0.0])]
        return value + price, gradient + U.dtype.type(self.ridge) * U, kept, *sums

    def with_loss(self, loss: Loss) -> PenalisedKernel:
        """The same data and λ under other estimates."""
        return replace(self, inner=self.inner.with_loss(loss), loss=loss)

    def curvature(self, U: Array, D: Array, kept: Any) -> Array:
        """That of F, and 2λk D."""
        product: Array = self.inner.curvature(U, D, kept) + U.dtype.type(self.ridge) * D
        return product

    def curvature_matrix(self, U: Array, kept: Any) -> Floats:
        """The matrix of :meth:`curvature`."""
        matrix = self.inner.curvature_matrix(U, kept)
        matrix[np.diag_indices(len(matrix))] += self.ridge
        return matrix

    def residual_times(self, U: Array, V: Array) -> Array:
        """The slopes, and 2λk on the diagonal, times V."""
        product: Array = self.inner.residual_times(U, V) + V.dtype.type(self.ridge) * V
        return product

    def line(self, U: Array, D: Array, value: float, slope: float, kept: Any) -> Line:
        """F along U + tD, given value and slope at t = 0, with the price."""
        price = self.ridge * np.array([_inner(U, U) / 2, _inner(U, D), _inner(D, D) / 2])
        found = self.inner.line(U, D, value - price[0], slope - price[1], kept)
        if isinstance(found, Quartic):
            return Quartic(found.coefficients + np.pad(price, (0, 2)), found.exact)
        bend = float(np.vdot(D, self.curvature(U, D, kept)))

        def look(steps: Sequence[float]) -> tuple[Floats, Floats]:
            values, slopes = found.at(steps)
            return values + np.polyval(price[::-1], steps), slopes + np.polyval(np.polyder(price[::-1]), steps)

        return Sampled(value, slope, bend, look)


def _inner(A: Array, B: Array) -> float:
    return float(np.vdot(A.astype(np.float64), B.astype(np.float64)))
