"""What a problem is: something to minimise over an unknown array, and the matrix that the unknown stands for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.model.factors import Factors, Symmetric
from unrelu._old.model.losses import Loss

__all__ = ["Kept", "Point", "Problem"]


class Kept(Enum):
    """Stands for what a kernel kept, in a point that was stored."""

    FORGOTTEN = "forgotten"


@dataclass(frozen=True, eq=False)
class Point:
    """An unknown with what one pass over the matrix found there: all fields belong to the same place.

    ``kept`` is what the kernel wants to be told again; nobody else looks into it. It may be as large as the matrix, and
    is not stored with the point: a problem finds it again.
    """

    factor: Array
    value: float
    gradient: Array
    kept: Any = field(default=None, repr=False)
    # What the pass gathered for the estimates of the loss, and the loss itself, if it has any: part of a state.
    sums: Floats | None = field(default=None, repr=False)
    loss: Loss | None = field(default=None, repr=False)

    @cached_property
    def gradient_norm(self) -> float:
        """‖∇F(U)‖_F, the paper's α."""
        return float(np.linalg.norm(self.gradient.astype(np.float64, copy=False)))

    def __getstate__(self) -> dict[str, Any]:
        """What is stored."""
        return {**self.__dict__, "kept": Kept.FORGOTTEN}

    @property
    def factors(self) -> Factors:
        """The matrix that the unknown stands for: UUᵀ, unless a problem has points of its own."""
        return Symmetric(self.factor)


class Problem(Protocol):
    """F over an unknown U of shape (rows, rank); what U means for the matrix is the problem's business alone.

    All quantities are in units of ``unit``, so that nothing depends on the unit of the data; F itself has the power
    ``value_power`` of it, and its gradient ``gradient_power``. This is what the loop asks for. A method asks for what
    it ``needs`` besides, such as ``line`` and ``preconditioner`` (Gauss–Newton), or ``spectral_norm`` (gradient
    descent). The front door makes it of observations, rank, loss and what makes a kernel, and asks for four more:
    ``observations`` and ``loss`` as it gave them, ``psd``, False if it is another problem than UUᵀ, and
    ``begun(left, right)``, which makes the unknown of two starting factors. A problem whose points have ``sums`` is
    asked for ``renewed(point)`` after every step, the problem and the point with the estimates brought up to date, and
    for ``at(point)``, the problem that a stored point belongs to.

    Examples
    --------
    The smallest problem there is, a number whose square is known, on the loop with a solver that is here:

    >>> from unrelu._old.loop.run import run
    >>> from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
    >>> class Root:
    ...     value_power, gradient_power, rank, size, dtype = 2.0, 1.5, 1, 1, np.dtype(float)
    ...     unit = scale = norm = 1.0
    ...
    ...     def relative(self, gradient_norm):
    ...         return gradient_norm
    ...
    ...     def evaluate(self, u):
    ...         gap = u * u - 2.0
    ...         return Point(u, float((gap * gap).sum()) / 4, gap * u)
    >>> import unrelu
    >>> first, rule = np.array([[1.0]]), RelativeGradientNormBelow(1e-9) | MaxIterations(200)
    >>> outcome = run(Root(), unrelu.GradientDescent(step_size=0.2), (first, first), rule)
    >>> round(float(outcome.point.factor[0, 0]), 6)
    1.414214
    """

    @property
    def value_power(self) -> float:
        """The power of the unit in F."""

    @property
    def gradient_power(self) -> float:
        """The power of the unit in the gradient."""

    @property
    def rank(self) -> int:
        """Columns of the unknown."""

    @property
    def size(self) -> int:
        """Rows of the unknown."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, as the data."""

    @property
    def unit(self) -> float:
        """The unit of the data; values are in units of it, unknowns in units of its square root."""

    @property
    def scale(self) -> float:
        """‖M_Ω‖_F, in the caller's units."""

    @property
    def norm(self) -> float:
        """‖M_Ω‖_F, in units of ``unit``."""

    def relative(self, gradient_norm: float) -> float:
        """A gradient's norm relative to the data, which scaling them does not change."""

    def evaluate(self, U: NDArray[Any]) -> Point:
        """F and its gradient at U, in one pass."""

    def misfit(self, value: float) -> float:
        """The norm of the residual that this value of F stands for."""

    def curvature(self, point: Point, D: NDArray[Any]) -> Any:
        """What stands for the Hessian times a direction; it is positive semidefinite."""

    def finished(self, factors: Factors) -> tuple[Point, float]:
        """The point of this problem nearest to a matrix that a method found, and how far apart they are, relatively."""
