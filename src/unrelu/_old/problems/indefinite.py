"""Symmetric completion that need not be positive semidefinite: minimise F over M ≈ U D Uᵀ, D = diag(±1).

With V = UD the fit is UVᵀ, and a small step changes it by UD'ᵀ + D'Uᵀ where D' is the step times D: in these numbers
the derivative is that of UUᵀ. So passes, curvature and error bars are those of positive semidefinite completion; what
differs is the fit itself, and what is of second order in the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import Kernel, kernel_for
from unrelu._old.model.factors import Factors, Signed, nearest_signed
from unrelu._old.model.losses import Loss
from unrelu._old.problems.protocol import Point
from unrelu._old.problems.psd import PSDProblem

__all__ = ["IndefiniteProblem", "SignedPoint"]


@dataclass(frozen=True, eq=False)
class SignedPoint(Point):
    """A point whose unknown is U; ``signs`` are the diagonal of D."""

    signs: tuple[int, ...] = ()

    @property
    def factors(self) -> Factors:
        """U D Uᵀ."""
        return Signed(self.factor, np.array(self.signs))


class IndefiniteProblem(PSDProblem):
    """F(U) = ¼‖(U D Uᵀ − M)_Ω‖_F², with what the loss adds, for U of shape (n, rank) and signs D that are given.

    Parameters
    ----------
    observations, rank, loss, kernel
        As in :class:`unrelu._old.problems.psd.PSDProblem`.
    signs : tuple of 1 and −1, optional
        The diagonal of D. Default: all positive, until :meth:`with_signs` says otherwise.

    Examples
    --------
    >>> seen = Observations.of(np.array([[3.0, 1.0], [1.0, -1.0]]), threshold=None)
    >>> problem = IndefiniteProblem(seen, rank=2, signs=(1, -1))
    >>> U = np.array([[2.0, 1.0], [0.0, 1.0]]) / np.sqrt(problem.unit)
    >>> problem.evaluate(U).factors.dense() * problem.unit
    array([[ 3., -1.],
           [-1., -1.]])
    """

    psd = False
    scored = True

    def __init__(
        self,
        observations: Observations,
        rank: int,
        loss: Loss | None = None,
        kernel: Callable[[Observations, Loss], Kernel] = kernel_for,
        signs: tuple[int, ...] = (),
    ) -> None:
        super().__init__(observations, rank, loss, kernel)
        self.signs: tuple[int, ...] = (tuple(int(sign) for sign in signs) + rank * (1,))[:rank]

    def _made(self, observations: Observations, rank: int, loss: Loss, kernel: Any = kernel_for) -> IndefiniteProblem:
        return IndefiniteProblem(observations, rank, loss, kernel, self.signs)

    def with_signs(self, signs: tuple[int, ...]) -> IndefiniteProblem:
        """The same problem with another D; what the kernel holds of the data is shared."""
        other = IndefiniteProblem(self.observations, self.rank, self.loss, self._kernel_for, signs)
        other._elder = self
        return other

    def like(self, other: PSDProblem) -> IndefiniteProblem:
        """Itself, or the simpler problem, with the signs of the other."""
        return super().like(other).with_signs(other.signs or ())

    @cached_property
    def unsigned(self) -> Kernel:
        """Passes for UUᵀ."""
        return self._kernel_for(self.observations, self.loss) if self._elder is None else self._elder.unsigned

    @cached_property
    def kernel(self) -> Kernel:
        """Passes for U D Uᵀ."""
        signed = getattr(self.unsigned, "signed", None)
        if signed is None:
            raise InputError(
                f"{type(self.unsigned).__name__} must have signed(signs) to serve structure='indefinite'; add it, or "
                "leave the kernel to kernel='auto'"
            )
        kernel: Kernel = signed(np.array(self.signs, self.dtype))
        return kernel

    def with_loss(self, loss: Loss) -> IndefiniteProblem:
        """The same data under other estimates; what the kernel holds of the data is shared."""
        other = self._made(self.observations, self.rank, loss, self._kernel_for)
        other.unsigned = self.unsigned.with_loss(loss)
        return other

    def second(self, U: Array) -> Array:
        """UD."""
        return U * np.array(self.signs, U.dtype)

    def evaluate(self, U: Array) -> Point:
        """F and its gradient at U, in one pass."""
        point = super().evaluate(U)
        return SignedPoint(U, point.value, point.gradient, point.kept, point.sums, point.loss, self.signs)

    def curvature_matrix(self, point: Point, *, whole: bool = False) -> NDArray[np.float64]:
        """The matrix of :meth:`curvature`, or of the ``whole`` Hessian, of shape (nr, nr): for small problems."""
        matrix = super().curvature_matrix(point)
        if whole:
            n, r = point.factor.shape
            residual = self.kernel.residual_times(point.factor, np.eye(n, dtype=self.dtype)).astype(np.float64)
            for k, sign in enumerate(self.signs):
                matrix.reshape(n, r, n, r)[:, k, :, k] += sign * residual
        return matrix

    def hessian(self, point: Point, D: Array) -> Array:
        """The Hessian product: the Gauss–Newton one plus the residual matrix times D, with its signs."""
        return self.curvature(point, D) + self.second(self.kernel.residual_times(point.factor, D))

    def preconditioner(self, point: Point, damping: float) -> Callable[[Array], Array]:
        """D ↦ D (VᵀV + μ)⁻¹ with V = UD."""
        inner = super().preconditioner(point, damping)
        return lambda D: self.second(inner(self.second(D)))

    def turns(self, U: Floats) -> Floats:
        """UKD with K skew: in these directions no entry changes."""
        return super().turns(U) * np.array(self.signs, np.float64)[None, :, None]

    def finished(self, factors: Factors) -> tuple[Point, float]:
        """The nearest matrix with these signs, measured; and how far it is, relatively."""
        factor, _, apart = nearest_signed(factors.left, factors.right, self.rank, self.signs)
        return self.evaluate(factor), apart

    @cached_property
    def spectral_norm(self) -> float:
        """‖M_Ω‖₂ of the symmetrised seen entries, in units of ``unit``."""
        return PSDProblem(self.observations, self.rank).spectral_norm
