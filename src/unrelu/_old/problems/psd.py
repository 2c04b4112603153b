"""Symmetric positive semidefinite completion: minimise F over M ≈ UUᵀ (the paper's Problem (MC))."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.tolerances import PSD_SMALLEST_SHARE
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import Kernel, Line, kernel_for
from unrelu._old.kernels.bands import BandKernel
from unrelu._old.model.factors import Factors, nearest_psd
from unrelu._old.model.losses import Loss, square_instead, squared_loss
from unrelu._old.problems.protocol import Kept, Point
from unrelu._old.problems.workspace import Workspace

__all__ = ["PSDProblem", "Point"]


class PSDProblem:
    """F(U) = ¼‖(UUᵀ − M)_Ω‖_F² (and what the loss adds for absent entries), for U of shape (n, rank).

    It answers four questions: the value and gradient at a point, the Gauss–Newton curvature times a direction, the
    residual times a block of vectors, and the polynomial along a line. The gradient is ½(Z + Zᵀ)U with
    Z = (UUᵀ − M)_Ω, the true gradient for any Ω and M; eq. (gd) of the paper prints twice that.

    Parameters
    ----------
    observations : Observations
    rank : int
    loss : Loss, optional
        Default: the paper's, of which only what was seen is a part.
    kernel : callable, optional
        What makes the kernel from observations and loss; default the quickest that there is for them.

    Examples
    --------
    >>> seen = Observations.of(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> problem = PSDProblem(seen, rank=1)
    >>> problem.unit  # values are divided by 4, factors by 2
    4.0
    >>> problem.evaluate(np.array([[0.5], [1.0]])).value
    0.0
    """

    # Whether what is known of positive semidefinite matrices holds: proofs, noise from seen blocks, error bars.
    psd = True
    # Whether noise is told from a wrong fit by what is left alone, where fully seen blocks say nothing of it.
    scored = False
    # Of the columns of U, where the fit is U D Uᵀ.
    signs: tuple[int, ...] | None = None

    def __init__(
        self,
        observations: Observations,
        rank: int,
        loss: Loss | None = None,
        kernel: Callable[[Observations, Loss], Kernel] = kernel_for,
    ) -> None:
        self.observations = observations
        self.rank = rank
        self.loss = squared_loss() if loss is None else loss
        if self.loss.gathers and self.loss.noise is None:
            self.loss = self.loss.begun(self.observations.norm / np.sqrt(max(self.observations.count, 1)))
        self._kernel_for = kernel
        self._elder: Self | None = None  # whose kernel serves here too
        self._found_again: WeakKeyDictionary[Point, Any] = WeakKeyDictionary()

    @property
    def kernel_maker(self) -> Callable[[Observations, Loss], Kernel]:
        """What makes a kernel from observations and loss."""
        return self._kernel_for

    @property
    def value_power(self) -> float:
        """The power of the unit in F."""
        return self.loss.power

    @property
    def gradient_power(self) -> float:
        """The power of the unit in the gradient: that of F, less that of a factor."""
        return self.loss.power - 0.5

    @property
    def size(self) -> int:
        """n, the number of rows."""
        return self.observations.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, as the data."""
        return self.observations.dtype

    def at_rank(self, rank: int) -> Self:
        """The same data and loss at another rank; the kernel is shared."""
        other = self._made(self.observations, rank, self.loss, self._kernel_for)
        other._elder = self
        return other

    def with_loss(self, loss: Loss) -> Self:
        """The same data under other estimates; what the kernel holds of the data is shared."""
        other = self._made(self.observations, self.rank, loss, self._kernel_for)
        other.kernel = self.kernel.with_loss(loss)
        return other

    @cached_property
    def simpler(self) -> Self | None:
        """The same data in squares, by which a fit under another loss is judged; None if the loss is a square."""
        loss = square_instead(self.loss, self.observations.limits)
        return None if loss is None else self._made(self.observations, self.rank, loss)

    def like(self, other: PSDProblem) -> Self:
        """Itself, or the simpler problem: whichever has the loss of ``other``, which has the rows in another order."""
        return self.simpler if self.simpler is not None and self.simpler.loss == other.loss else self

    def under_likelihood(self, loss: Loss) -> Self:
        """The same data and unknown under another loss."""
        return self._made(self.observations, self.rank, loss)

    def at(self, point: Point) -> Self:
        """The problem that a point was measured in: this one, but for what is estimated along the way."""
        return self if point.loss is None or point.loss == self.loss else self.with_loss(point.loss)

    def renewed(self, point: Point) -> tuple[Self, Point]:
        """Problem and point with the estimates brought up to date, if F falls by that."""
        assert point.sums is not None
        here = self.at(point)
        loss = here.loss.renewed(point.sums)
        if loss == here.loss:
            return here, point
        there = here.with_loss(loss)
        found = there.evaluate(point.factor)
        return (there, found) if found.value < point.value else (here, point)

    def among(self, observations: Observations, rank: int | None = None) -> Self:
        """The same loss and kind of kernel for other data."""
        return self._made(observations, rank or self.rank, self.loss, self._kernel_for)

    def _made(self, observations: Observations, rank: int, loss: Loss, kernel: Any = kernel_for) -> Self:
        """A problem of the same kind."""
        return type(self)(observations, rank, loss, kernel)

    @property
    def seen_only(self) -> Self:
        """The same problem with nothing known of unseen entries."""
        return self.among(self.observations.seen_only)

    @cached_property
    def kernel(self) -> Kernel:
        """Passes for UUᵀ, over pairs."""
        return self._kernel_for(self.observations, self.loss) if self._elder is None else self._elder.kernel

    @cached_property
    def bounded(self) -> bool:
        """Whether anything is known, and heard, of unseen entries."""
        return not self.loss.heard(self.observations.limits).nothing

    @cached_property
    def workspace(self) -> Workspace:
        """Large arrays for states, lent again when these are gone."""
        return Workspace()

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

    def relative(self, gradient_norm: float) -> float:
        """‖∇F‖_F / ‖M_Ω‖_F^{3/2}, for a loss as stiff as a square."""
        slack = gradient_norm / (2 * self.stiffness)
        return slack / self.norm**1.5 if self.norm else slack

    @cached_property
    def stiffness(self) -> float:
        """The curvature of a seen entry that is met, in units; ½ for squares."""
        return self.loss.in_units(self.unit).stiffness

    def rounding(self, point: Point) -> float:
        """By how much the computed F may be off: its own rounding, and that of each residual against the data.

        A residual is off by ε|M_ij|: its square by ε² M_ij², and by the residual times ε M_ij of either sign.
        """
        eps = float(np.finfo(self.dtype).eps)
        offset = self.size**2 * self.loss.in_units(self.unit).offset
        of_either_sign = self.norm * np.sqrt(self.stiffness * abs(point.value) / max(self.observations.count, 1))
        return 4 * eps * float(abs(point.value) + offset + of_either_sign + 2 * self.stiffness * eps * self.norm**2)

    def second(self, U: Array) -> Array:
        """V, where the fit is UVᵀ: U itself."""
        return U

    def evaluate(self, U: Array) -> Point:
        """F and its gradient at U, in one pass."""
        U = self._brought(U)
        value, gradient, kept, *sums = self.kernel.evaluate(U)
        return Point(U, value, gradient, kept, sums[0], self.loss) if sums else Point(U, value, gradient, kept)

    def _brought(self, U: Array) -> Array:
        """An array where the passes run: another machine's kernel brings it there, so that the steps are made there."""
        there: Array = self.kernel.brought(U) if hasattr(self.kernel, "brought") else U
        return there

    def misfit(self, value: float, sums: Floats | None = None) -> float:
        """‖(UUᵀ − M)_Ω‖_F, with what a squared loss adds for unseen entries, from F, or from the sums of a pass."""
        return self.loss.in_units(self.unit).misfit(value, sums)

    def misfit_at(self, point: Point) -> float:
        """The same at a point, whatever the loss: in squares, if its own F does not tell."""
        if self.simpler is not None and (point.sums is None or not self.loss.likelihood):
            return self.simpler.misfit(self.simpler.evaluate(point.factor).value)
        return self.at(point).misfit(point.value, point.sums)

    def over_entries(self, misfit: float) -> float:
        """A misfit, or any norm, over the caller's own entries; only in a table do they stand here twice."""
        return misfit

    def curvature(self, point: Point, D: Array) -> Array:
        """Gauss–Newton product ½JᵀJ D = (S ∘ (UDᵀ + DUᵀ)) U; ⟨D, ·⟩ is ½‖(UDᵀ + DUᵀ)_Ω‖_F². For directions."""
        product = getattr(self.kernel, "curvature_roughly", self.kernel.curvature)
        found: Array = product(point.factor, D, self._kept(point))
        return found

    def curvature_matrix(self, point: Point, *, whole: bool = False) -> NDArray[np.float64]:
        """The matrix of :meth:`curvature`, or of the ``whole`` Hessian, of shape (nr, nr): for small problems."""
        matrix = self.kernel.curvature_matrix(point.factor, self._kept(point))
        if whole:
            n, r = point.factor.shape
            residual = np.asarray(self.kernel.residual_times(point.factor, np.eye(n, dtype=self.dtype)), np.float64)
            residual -= self._ridge * np.eye(n)
            matrix.reshape(n, r, n, r)[:, np.arange(r), :, np.arange(r)] += residual
        return matrix

    def hessian(self, point: Point, D: Array) -> Array:
        """The Hessian product: the Gauss–Newton one plus the residual matrix times D."""
        product = self.curvature(point, D) + self.kernel.residual_times(point.factor, D)
        return product - self.dtype.type(self._ridge) * D if self._ridge else product

    @property
    def _ridge(self) -> float:
        """What a price on size adds to the curvature, and to the slopes again."""
        return float(getattr(self.kernel, "ridge", 0.0))

    def line(self, point: Point, D: Array) -> Line:
        """F(U + tD): a quartic, exact for ``observed`` and up to the first kink for ``one-sided``."""
        slope = float(np.vdot(point.gradient.astype(np.float64), D.astype(np.float64)))
        return self.kernel.line(point.factor, D, point.value, slope, self._kept(point))

    def _kept(self, point: Point) -> Any:
        """What the kernel kept of a point; found again for one that was stored."""
        if point.kept is not Kept.FORGOTTEN:
            return point.kept
        if point not in self._found_again:
            self._found_again[point] = self.at(point).kernel.evaluate(point.factor)[2]
        return self._found_again[point]

    def preconditioner(self, point: Point, damping: float) -> Callable[[Array], Array]:
        """D ↦ D (UᵀU + μ)⁻¹, which removes the conditioning of U."""
        U = point.factor
        eigenvalues, basis = np.linalg.eigh(U.T @ U)
        damping = (damping + self._ridge) / (
            2 * self.stiffness
        )  # F of squares has the curvature UᵀU on the right, others more or less
        floor = max(PSD_SMALLEST_SHARE * eigenvalues[-1], np.finfo(U.dtype).tiny)
        inverse = ((basis / np.maximum(eigenvalues + damping, floor)) @ basis.T).astype(U.dtype)
        return lambda D: D @ inverse

    def turns(self, U: Floats) -> Floats:
        """Directions of the factor in which no entry changes, an array of shape (n, r, count): UK with K skew."""
        n, r = U.shape
        turns = np.zeros((n, r, r * (r - 1) // 2))
        for k, (a, b) in enumerate(zip(*np.triu_indices(r, 1), strict=True)):
            turns[:, a, k], turns[:, b, k] = U[:, b], -U[:, a]
        return turns

    def begun(self, left: Array, right: Array) -> tuple[Array, Array]:
        """As they are: a method with one factor takes the first."""
        return left, right

    def finished(self, factors: Factors) -> tuple[Point, float]:
        """The nearest positive semidefinite matrix of the rank, measured; and how far it is, relatively."""
        factor, apart = nearest_psd(factors.left, factors.right, self.rank)
        return self.evaluate(factor), apart

    @cached_property
    def spectral_norm(self) -> float:
        """‖M_Ω‖₂ of the symmetrised seen entries, to a relative 1e-3, in units of ``unit``."""
        n, none = self.size, np.zeros((self.size, 1), self.dtype)
        seen_only = self.seen_only.kernel if self.bounded else self.kernel

        def times(v: Array) -> Array:
            return -seen_only.residual_times(none, np.asarray(v, self.dtype).reshape(n, -1))

        if n < 20:
            return float(np.abs(np.linalg.eigvalsh(times(np.eye(n, dtype=self.dtype)))).max())
        operator = LinearOperator((n, n), matvec=times, matmat=times, dtype=self.dtype)
        start = np.random.default_rng(0).standard_normal(n).astype(self.dtype)  # any fixed vector in general position
        top = eigsh(operator, k=1, which="LM", v0=start, tol=1e-3, return_eigenvectors=False)
        return float(abs(top[0]))
