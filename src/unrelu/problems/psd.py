"""Symmetric positive semidefinite completion: minimise F over M ≈ UUᵀ (the paper's Problem (MC))."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from unrelu.data.observations import Observations
from unrelu.kernels.bands import BandKernel
from unrelu.kernels.tiled import TiledKernel, Weights
from unrelu.model.losses import Loss, Observed

__all__ = ["PSDProblem", "Point"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Point:
    """A factor with what one pass over the matrix found there: all fields belong to the same U."""

    factor: Array
    value: float
    gradient: Array
    weights: Weights | None = field(default=None, repr=False)

    @cached_property
    def gradient_norm(self) -> float:
        """‖∇F(U)‖_F, the paper's α."""
        return float(np.linalg.norm(self.gradient.astype(np.float64, copy=False)))


class PSDProblem:
    """F(U) = ¼‖(UUᵀ − M)_Ω‖_F² (and what the loss adds for absent entries), for U of shape (n, rank).

    It answers four questions: the value and gradient at a point, the Gauss–Newton curvature times a direction, the
    residual times a block of vectors, and the polynomial along a line. The gradient is ½(Z + Zᵀ)U with
    Z = (UUᵀ − M)_Ω, the true gradient for any Ω and M; eq. (gd) of the paper prints twice that.

    Parameters
    ----------
    observations : Observations
    rank : int
    loss : Loss, default Observed()

    Examples
    --------
    >>> seen = Observations.of(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> problem = PSDProblem(seen, rank=1)
    >>> problem.unit  # values are divided by 4, factors by 2
    4.0
    >>> problem.evaluate(np.array([[0.5], [1.0]])).value
    0.0
    """

    def __init__(self, observations: Observations, rank: int, loss: Loss | None = None) -> None:
        self.observations = observations
        self.rank = rank
        self.loss = Observed() if loss is None else loss

    @property
    def size(self) -> int:
        """n, the number of rows."""
        return self.observations.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, as the data."""
        return self.observations.dtype

    def at_rank(self, rank: int) -> PSDProblem:
        """The same data and loss at another rank; the kernel is shared."""
        other = PSDProblem(self.observations, rank, self.loss)
        other.__dict__["kernel"] = self.kernel
        return other

    @cached_property
    def kernel(self) -> TiledKernel:
        """Passes for UUᵀ, over pairs."""
        return TiledKernel(self.observations, self.loss)

    @cached_property
    def bands(self) -> BandKernel:
        """Passes for LRᵀ, row by row."""
        return BandKernel(self.observations, self.loss)

    @property
    def unit(self) -> float:
        """The unit of the data; values here are in units of it, factors in units of its square root."""
        return self.observations.unit

    @property
    def scale(self) -> float:
        """‖M_Ω‖_F, in the caller's units."""
        return self.observations.norm

    @property
    def norm(self) -> float:
        """‖M_Ω‖_F, in units of ``unit``."""
        return self.observations.scaled_norm

    def evaluate(self, U: Array) -> Point:
        """F and its gradient at U, in one pass."""
        value, gradient, weights = self.kernel.evaluate(U)
        return Point(U, value, gradient, weights)

    def curvature(self, point: Point, D: Array) -> Array:
        """Gauss–Newton product ½JᵀJ D = (S ∘ (UDᵀ + DUᵀ)) U; ⟨D, ·⟩ is ½‖(UDᵀ + DUᵀ)_Ω‖_F²."""
        return self.kernel.curvature(point.factor, D, point.weights)

    def curvature_matrix(self, point: Point, *, whole: bool = False) -> NDArray[np.float64]:
        """The matrix of :meth:`curvature`, or of the ``whole`` Hessian, of shape (nr, nr): for small problems."""
        matrix = self.kernel.curvature_matrix(point.factor, point.weights)
        if whole:
            n, r = point.factor.shape
            residual = self.kernel.residual_times(point.factor, np.eye(n, dtype=self.dtype)).astype(np.float64)
            matrix.reshape(n, r, n, r)[:, np.arange(r), :, np.arange(r)] += residual
        return matrix

    def hessian(self, point: Point, D: Array) -> Array:
        """The Hessian product: the Gauss–Newton one plus the residual matrix times D."""
        return self.curvature(point, D) + self.kernel.residual_times(point.factor, D)

    def line(self, point: Point, D: Array) -> NDArray[np.float64]:
        """Coefficients c₀…c₄ of F(U + tD), exact for ``observed`` and up to the first kink for ``one-sided``."""
        slope = float(np.vdot(point.gradient.astype(np.float64), D.astype(np.float64)))
        return np.array([point.value, slope, *self.kernel.line(point.factor, D, point.weights)])

    @cached_property
    def spectral_norm(self) -> float:
        """‖M_Ω‖₂ of the symmetrised seen entries, to a relative 1e-3, in units of ``unit``."""
        n, none = self.size, np.zeros((self.size, 1), self.dtype)
        seen_only = self.kernel if not self.kernel.hinge else TiledKernel(self.observations, Observed())

        def times(v: Array) -> Array:
            return -seen_only.residual_times(none, np.asarray(v, self.dtype).reshape(n, -1))

        if n < 20:
            return float(np.abs(np.linalg.eigvalsh(times(np.eye(n, dtype=self.dtype)))).max())
        operator = LinearOperator((n, n), matvec=times, matmat=times, dtype=self.dtype)
        start = np.random.default_rng(0).standard_normal(n).astype(self.dtype)  # any fixed vector in general position
        top = eigsh(operator, k=1, which="LM", v0=start, tol=1e-3, return_eigenvectors=False)
        return float(abs(top[0]))
