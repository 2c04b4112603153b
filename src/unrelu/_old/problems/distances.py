"""Points from distances: minimise the misfit of a network of pairs over the places of its points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.problems.laplacian import solve
from unrelu._old.problems.network import Misfit, Network
from unrelu._old.problems.protocol import Kept, Point

__all__ = ["DistanceProblem"]


@dataclass(frozen=True, eq=False)
class DistanceProblem:
    """F(X) = Σ of what each pair's distance costs, over places X of shape (n, dim).

    It has the doors of every problem (:class:`unrelu._old.problems.protocol.Problem`) that a method for it asks for: value
    and gradient, the curvature times a direction, and a damped Newton step, which its sparse curvature makes cheap.

    Parameters
    ----------
    network : Network
    loss : Misfit
        How a pair is judged.
    free : int ndarray, optional
        Points that may move; default all.
    unit : float
        The unit of the distances; a power of two.

    Examples
    --------
    >>> pair = Network(2, 1, np.array([0]), np.array([1]), np.array([1.0]), np.array([1.0]))
    >>> problem = DistanceProblem(pair, Misfit())
    >>> problem.evaluate(np.array([[0.0], [3.0]])).value  # ½ (3 − 1)²
    2.0
    """

    network: Network
    loss: Misfit
    free: Indices | None = None
    unit: float = 1.0

    # The powers of the unit in F and in its gradient.
    value_power, gradient_power = 2.0, 1.0
    dtype = np.dtype(np.float64)

    @property
    def size(self) -> int:
        """Number of points."""
        return self.network.size

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.network.dim

    @property
    def norm(self) -> float:
        """√(Σ w d²) of the seen distances, in units; one where there are none."""
        return float(np.sqrt(np.sum(self.network.weight * self.network.distance**2))) or 1.0

    @property
    def scale(self) -> float:
        """The same in the caller's units."""
        return self.norm * self.unit

    def relative(self, gradient_norm: float) -> float:
        """A gradient's norm relative to the weight of the data."""
        return gradient_norm / self.norm

    def misfit(self, value: float) -> float:
        """The norm of the gaps that this value of F stands for."""
        return float(np.sqrt(max(2 * value, 0.0)))

    def evaluate(self, U: NDArray[Any]) -> Point:
        """F and its gradient at the places U; only free points are pulled."""
        forces = self.network.forces(U, self.loss)
        gradient = forces.gradient(self.size)
        if self.free is not None:
            held = np.zeros_like(gradient)
            held[self.free] = gradient[self.free]
            gradient = held
        return Point(U, forces.value, gradient, forces)

    def curvature(self, point: Point, D: NDArray[Any]) -> Floats:
        """The Gauss–Newton product."""
        forces = self._forces(point)
        along = np.einsum("kd,kd->k", forces.along, D[forces.first] - D[forces.second])
        return replace(forces, slope=forces.curvature * along).gradient(self.size)

    def bend(self, point: Point, D: Floats) -> float:
        """DᵀHD."""
        forces = self._forces(point)
        along = np.einsum("kd,kd->k", forces.along, D[forces.first] - D[forces.second])
        return float(np.sum(forces.curvature * along * along))

    def newton_step(self, point: Point, damping: float, tol: float) -> Floats:
        """−(H + λ mean(diag H))⁻¹ ∇F on the free points, by conjugate gradients to ``tol`` where there are many."""
        gradient = point.gradient.astype(np.float64, copy=False)
        return solve(self._forces(point), -gradient, damping, self.free, tol=tol)

    def _forces(self, point: Point) -> Any:
        if point.kept is not Kept.FORGOTTEN:
            return point.kept
        return self.network.forces(point.factor.astype(np.float64, copy=False), self.loss)

    def finished(self, factors: Any) -> tuple[Point, float]:
        """Methods for distances work on places alone."""
        raise NotImplementedError
