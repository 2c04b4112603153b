"""Scaled gradient descent (Tong, Ma and Chi, 2021), as the paper compares it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import is_number
from unrelu._old.data.observations import Observations
from unrelu._old.loop.stopping import GradientNormBelow, StoppingRule
from unrelu._old.model.losses import Loss, squared_loss
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import Iterate, PointIterate, Solver, TwoFactorIterate

__all__ = ["ScaledGD"]


@dataclass(frozen=True, eq=False)
class _Two(TwoFactorIterate):
    gradients: tuple[Array, Array] = (np.empty(0), np.empty(0))


@dataclass(frozen=True)
class ScaledGD(Solver[Iterate]):
    """Gradient descent on H(L, R) = ½‖(LRᵀ − M)_Ω‖_F², each factor preconditioned by the other, eq. (MC1).

    L ← L − (η/p) ∇_L H (RᵀR)⁻¹,  R ← R − (η/p) ∇_R H (LᵀL)⁻¹,  with p = |Ω|/n², or |Ω|/(mn) for a table. The
    preconditioners make the rate independent of the conditioning of M.

    Parameters
    ----------
    step_size : float, default 0.5
        η; at 1 it diverges on the paper's smaller instances.
    symmetric : bool, default False
        One factor instead of two: U ← U − (η/p) ∇F(U) (UᵀU)⁻¹. The same steps where data and start are symmetric.
    stopping : {"relative", "paper"}
        "paper": ‖∇H(L, R)‖_F ≤ 1e-4, in the units of the data to the power 3/2.

    References
    ----------
    T. Tong, C. Ma, Y. Chi, Accelerating ill-conditioned low-rank matrix estimation via scaled gradient descent, 2021.
    The paper under study starts it from its tailored start; so does this.
    """

    step_size: float = 0.5
    symmetric: bool = False
    stopping: str = "relative"

    name = "scaled-gd"
    weighs = False
    max_iter = 5000
    units: ClassVar = {}

    @property
    def not_for_tables(self) -> str | None:  # type: ignore[override]
        """With one factor there is no LRᵀ."""
        return "with symmetric=True it has one factor, and a table has two" if self.symmetric else None

    def check(self) -> None:
        """The step is positive."""
        self.need(is_number(self.step_size) and self.step_size > 0, "step_size", "a finite positive number")

    def default_loss(self, observations: Observations) -> Loss:
        """Its authors': seen entries only."""
        return squared_loss()

    def paper_rule(self) -> StoppingRule:
        """‖∇H‖_F ≤ 1e-4."""
        return GradientNormBelow(1e-4)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> Iterate:
        """Measure the starting factors."""
        if self.symmetric:
            return PointIterate(problem.evaluate(left))
        return _measure(problem, *problem.bands.apart(left, right))

    def step(self, problem: PSDProblem, state: Iterate) -> Iterate:
        """One scaled step, of both factors at once."""
        if isinstance(state, PointIterate):
            length = self.step_size * problem.size**2 / problem.observations.count
            U, G = state.point.factor, state.point.gradient
            return PointIterate(problem.evaluate(U - length * _scaled(G, U)))
        assert isinstance(state, _Two)
        bands, (left, right) = problem.bands, state.gradients
        length = self.step_size * prod(bands.shape) / bands.count
        return _measure(
            problem, state.left - length * _scaled(left, state.right), state.right - length * _scaled(right, state.left)
        )


def _measure(problem: PSDProblem, L: Array, R: Array) -> _Two:
    value, left, right = problem.bands.evaluate(L, R)
    norm = float(np.hypot(np.linalg.norm(left), np.linalg.norm(right)))
    return _Two(L, R, value, norm, gradients=(left, right))


def _scaled(G: Array, other: Array) -> Array:
    """G (VᵀV)⁻¹, by the pseudo-inverse where V has lost a direction."""
    gram = other.T @ other
    try:
        return np.linalg.solve(gram, G.T).T
    except np.linalg.LinAlgError:
        return G @ np.linalg.pinv(gram)
