"""Algorithm 1 of the paper: gradient descent with a fixed step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import is_number
from unrelu._old.data.observations import Observations
from unrelu._old.loop.stopping import GradientNormBelow, StoppingRule
from unrelu._old.model.losses import Loss, squared_loss
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import PointIterate, Solver

__all__ = ["GradientDescent"]


@dataclass(frozen=True, eq=False)
class _State(PointIterate):
    step: float = 0.0


@dataclass(frozen=True)
class GradientDescent(Solver[_State]):
    """U ← U − η ∇F(U), eq. (gd), with the true gradient ½(Z + Zᵀ)U.

    Parameters
    ----------
    step_size : float, optional
        η. The paper does not state it. Default: 1/max(‖M_Ω‖₂, ‖U₀‖₂²) with the starting factor U₀, which is safe on
        Gaussian factors, over twice the stiffness of the loss, which is ½ for squares; the step for the gradient as
        printed, (Z + Zᵀ)U, is half of that. A step that is too long diverges, and the verdict says so.
    stopping : {"relative", "paper"}
        "paper": ‖∇F‖_F ≤ 1e-4, in the units of the data to the power 3/2.

    Notes
    -----
    Minimises ``observed`` (the paper's F) unless told otherwise. Converges linearly near the planted matrix, at a rate
    that suffers from the conditioning of U; ``gauss-newton`` does not.
    """

    step_size: float | None = None
    stopping: str = "relative"

    name = "gradient-descent"
    needs = ("spectral_norm",)
    squared_only = False
    units: ClassVar = {"step": -1.0}
    max_iter = 5000

    def check(self) -> None:
        """The step, if given, is positive."""
        positive = self.step_size is None or (is_number(self.step_size) and self.step_size > 0)
        self.need(positive, "step_size", "a finite positive number")

    def default_loss(self, observations: Observations) -> Loss:
        """The paper's."""
        return squared_loss()

    def paper_rule(self) -> StoppingRule:
        """‖∇F‖_F ≤ 1e-4, as in the comparison of methods; the table of starts uses 1e-6."""
        return GradientNormBelow(1e-4)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> _State:
        """Measure the starting point and settle the step."""
        if self.step_size is None:
            # What was seen may be the smaller part of the matrix (seen="below"); the start knows better then.
            norm = max(problem.spectral_norm, float(np.linalg.norm(left, 2)) ** 2)
            step = 1 / norm if norm > 0 else 1.0
        else:
            step = self.step_size * problem.unit
        return _State(problem.evaluate(left), {"step": step}, None, step)

    def step(self, problem: PSDProblem, state: _State) -> _State:
        """One gradient step; by default as much shorter as the loss is stiffer than squares."""
        stiff = 1.0 if self.step_size is not None else 2 * getattr(problem, "stiffness", 0.5)
        factor = state.point.factor - problem.dtype.type(state.step / stiff) * state.point.gradient
        return _State(problem.evaluate(factor), state.details, None, state.step)
