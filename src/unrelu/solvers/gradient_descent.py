"""Algorithm 1 of the paper: gradient descent with a fixed step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.errors import InputError
from unrelu.losses import Loss, Observed
from unrelu.observations import Observations
from unrelu.problems.psd import PSDProblem
from unrelu.solvers.base import Iterate, Solver

__all__ = ["GradientDescent"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class _State(Iterate):
    step: float = 0.0


@dataclass(frozen=True)
class GradientDescent(Solver[_State]):
    """U ← U − η ∇F(U), eq. (gd), with the true gradient ½(Z + Zᵀ)U.

    Parameters
    ----------
    step_size : float, optional
        η. The paper does not state it. Default: 1/‖M_Ω‖₂, which is safe on Gaussian factors; the step for the gradient
        as printed, (Z + Zᵀ)U, is half of that. A step that is too long diverges, and the verdict says so.

    Notes
    -----
    Minimises ``observed`` (the paper's F) unless told otherwise. Converges linearly near the planted matrix, at a rate
    that suffers from the conditioning of U; ``gauss-newton`` does not.
    """

    step_size: float | None = None

    name = "gradient-descent"
    losses = ("observed", "one-sided")
    max_iter = 5000

    def __post_init__(self) -> None:
        if self.step_size is not None and not (np.isfinite(self.step_size) and self.step_size > 0):
            raise InputError(f"step_size of gradient-descent must be a finite positive number, got {self.step_size!r}")

    def default_loss(self, observations: Observations) -> Loss:
        """The paper's."""
        return Observed()

    def start(self, problem: PSDProblem, factor: Array) -> _State:
        """Measure the starting point and settle the step."""
        step = self.step_size
        if step is None:
            norm = problem.spectral_norm
            step = 1 / norm if norm > 0 else 1.0
        return _State(problem.evaluate(factor), {"step": step}, None, step)

    def step(self, problem: PSDProblem, state: _State) -> _State:
        """One gradient step."""
        factor = state.point.factor - problem.dtype.type(state.step) * state.point.gradient
        return _State(problem.evaluate(factor), state.details, None, state.step)
