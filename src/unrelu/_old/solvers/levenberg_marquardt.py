"""Levenberg and Marquardt's method: Newton steps, damped more after one that was too long."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import is_number
from unrelu._old.base.tolerances import LEVENBERG_MARQUARDT_EVEN, LEVENBERG_MARQUARDT_FLAT, LEVENBERG_MARQUARDT_SOLVED
from unrelu._old.loop.stopping import RelativeGradientNormBelow, StoppingRule
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.solvers.base import PointIterate, Solver

__all__ = ["LevenbergMarquardt"]

LEAST_DAMPING, MOST_DAMPING = 1e-12, 1e8
# So many steps in a row that lower nothing are enough.
FLAT = 3
# After so many trials it is asked whether going on is worth it.
REVIEW = 10


@dataclass(frozen=True, eq=False)
class _State(PointIterate):
    damping: float = 1e-3
    trials: int = 0
    mark: float = np.inf  # F at the last review


@dataclass(frozen=True)
class LevenbergMarquardt(Solver[_State]):
    """(H + λI) p = −∇F, λ following how well the quadratic model foretold the decrease.

    For points from distances. Inner solves by conjugate gradients are stopped at a share of the gradient that shrinks
    with it. A step that does not lower F is not taken, and is tried again with more damping.

    Parameters
    ----------
    damping : float, default 1e-3
        λ of the first step, in units of the mean diagonal entry of H.
    worth : float, default 0
        A descent that ten trials have not lowered by this share is given up: without noise, the way to the answer is
        steep. 0: never.
    stopping : {"relative", "paper"}
        The same rule for both: the gradient vanishes to 1e-14 of the data.

    References
    ----------
    K. Levenberg, A method for the solution of certain problems in least squares, 1944; D. Marquardt, An algorithm for
    least-squares estimation of nonlinear parameters, 1963.
    """

    damping: float = 1e-3
    worth: float = 0.0
    stopping: str = "relative"

    name = "levenberg-marquardt"
    max_iter = 200
    default_start = None
    default_tol: ClassVar = {"float64": 1e-14, "float32": 1e-14}

    def check(self) -> None:
        """Both in their range."""
        self.need(is_number(self.damping) and self.damping > 0, "damping", "a finite positive number")
        self.need(is_number(self.worth) and 0 <= self.worth < 1, "worth", "a number ≥ 0 and < 1")

    def paper_rule(self) -> StoppingRule:
        """The same: the paper has no such method."""
        return RelativeGradientNormBelow(1e-14)

    def start(self, problem: DistanceProblem, left: Array, right: Array) -> _State:  # type: ignore[override]
        """Measure the starting places."""
        point = problem.evaluate(left)
        details = {"damping": self.damping, "flat": 0.0}
        return _State(point, details, None, self.damping, 0, point.value)

    def step(self, problem: DistanceProblem, state: _State) -> _State:  # type: ignore[override]
        """One trial."""
        point, damping = state.point, state.damping
        size = problem.relative(point.gradient_norm)
        move = problem.newton_step(point, damping, tol=min(0.1, max(LEVENBERG_MARQUARDT_SOLVED, np.sqrt(size) * 0.1)))
        foretold = -float(np.vdot(point.gradient, move)) - problem.bend(point, move) / 2
        ahead = problem.evaluate(point.factor + move)
        gain = point.value - ahead.value
        flat, stuck = state.details["flat"], None
        if gain > 0 or abs(gain) <= LEVENBERG_MARQUARDT_EVEN * point.value:
            flat = flat + 1 if gain <= LEVENBERG_MARQUARDT_FLAT * point.value else 0.0
            ratio = gain / foretold if foretold > 0 else 0.0
            damping *= 0.1 if ratio > 0.75 else 1.0 if ratio > 0.25 else 4.0
            point = ahead
            if flat >= FLAT:
                stuck = f"{FLAT} steps have lowered nothing: rounding level"
        else:
            damping *= 8.0
            if damping > MOST_DAMPING:
                stuck = "no step, however short, lowers the misfit"
        details = {"damping": damping, "flat": flat}
        new = _State(point, details, stuck, max(damping, LEAST_DAMPING), state.trials + 1, state.mark)
        return self._reviewed(new) if self.worth and new.trials % REVIEW == 0 and stuck is None else new

    def _reviewed(self, state: _State) -> _State:
        """Whether the last trials have lowered F enough."""
        if state.point.value > (1 - self.worth) * state.mark:
            return replace(state, stuck=f"{REVIEW} trials have not lowered the misfit by {self.worth:.0%}")
        return replace(state, mark=state.point.value)
