"""Gauss–Newton with conjugate gradients: few passes, no step size, indifferent to conditioning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, is_integer, is_number
from unrelu._old.base.tolerances import GAUSS_NEWTON_SMALLEST_SHARE
from unrelu._old.kernels import Line
from unrelu._old.loop.stopping import GradientNormBelow, StoppingRule
from unrelu._old.problems.psd import Point, PSDProblem
from unrelu._old.solvers.base import PointIterate, Solver

__all__ = ["GaussNewton"]

# Sufficient decrease and curvature of the line search across kinks (strong Wolfe conditions, the second one loose:
# the first trial is the exact minimiser unless kinks lie between).
DECREASE = 1e-4
CURVATURE = 0.9
MOST_TRIALS = 12
# Where F no longer resolves a decrease, so many steps may pass without a new lowest gradient norm.
PATIENCE = 10
# A step that leaves more than this share of the gradient shows that the residual matters: the next one takes the whole
# Hessian, which costs a second pass per product but converges quadratically where Gauss–Newton crawls.
SLOW = 0.3
# Levenberg–Marquardt damping in units of ‖∇F‖_F/‖U‖₂. Without it a rank above that of the data (columns of U that go
# to zero) makes directions so long that the line search gives up; elsewhere nothing is lost, as it vanishes with ∇F.
DAMPING = 0.3
# Up to so many unknowns the equations of a direction are formed and solved as they are.
DIRECT = 500


@dataclass(frozen=True, eq=False)
class _State(PointIterate):
    forcing: float = 0.1
    lowest: float = np.inf  # gradient norm
    idle: int = 0  # steps since then, counted only where F no longer resolves a decrease
    slow: bool = False  # the last step hardly reduced the gradient
    at_rounding: ClassVar = True  # it is stuck only where no step helps, whatever its length


@dataclass(frozen=True)
class GaussNewton(Solver[_State]):
    """Solve (½JᵀJ + μ) D = −∇F by preconditioned conjugate gradients, then go to the minimum of F along D.

    J is the derivative of U ↦ (UUᵀ)_Ω, so ½JᵀJ D = (S ∘ (UDᵀ + DUᵀ))U; the damping μ goes to zero with the gradient.
    The preconditioner (UᵀU + μ)⁻¹ removes the conditioning of U. F along a line is a quartic, whose global minimum over
    t > 0 is found exactly from its coefficients; under ``one-sided`` it is quartic up to the first kink, and the search
    goes on across kinks until value and slope have fallen. The objective never rises beyond rounding. Where a large
    residual makes Gauss–Newton slow, the next direction is a truncated Newton one, with the whole Hessian.

    Parameters
    ----------
    forcing : float, default 0.1
        The inner solve stops when its preconditioned residual has fallen to this share; near the solution the share
        tightens with the square of the gradient's own decrease (Eisenstat and Walker's second choice).
    tightest : float, default 0.01
        The smallest such share.
    max_inner : int, default 200
        Most inner steps per iteration.
    stopping : {"relative", "paper"}
        "paper": ‖∇F‖_F ≤ 1e-4, in the units of the data to the power 3/2.
    """

    forcing: float = 0.1
    tightest: float = 0.01
    max_inner: int = 200
    stopping: str = "relative"

    name = "gauss-newton"
    needs = ("line", "curvature", "curvature_matrix", "hessian", "preconditioner", "stiffness", "rounding", "turns")
    squared_only = False
    # Its last steps are so short of cost that it may as well go down to rounding, with a margin.
    default_tol: ClassVar = {"float64": 1e-15, "float32": 2e-7}
    max_iter = 500

    def check(self) -> None:
        """Shares between 0 and 1, in order."""
        if not (is_number(self.forcing) and is_number(self.tightest) and 0 < self.tightest <= self.forcing < 1):
            raise InputError(
                "forcing and tightest of gauss-newton must satisfy 0 < tightest ≤ forcing < 1, "
                f"got forcing={self.forcing!r}, tightest={self.tightest!r}"
            )
        self.need(is_integer(self.max_inner) and self.max_inner >= 1, "max_inner", "an integer ≥ 1")

    def paper_rule(self) -> StoppingRule:
        """‖∇F‖_F ≤ 1e-4, as the paper stops its gradient descent."""
        return GradientNormBelow(1e-4)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> _State:
        """Measure the starting point."""
        point = problem.evaluate(left)
        return _State(point, {}, None, self.forcing, point.gradient_norm)

    def step(self, problem: PSDProblem, state: _State) -> _State:
        """One direction and one line search."""
        point = state.point
        if point.factor.size <= DIRECT:
            D, inner = _direct(problem, point, whole=state.slow), 1
        else:
            product = problem.hessian if state.slow else problem.curvature
            D, inner = self._direction(problem, point, state.forcing, product)
        found, length, trials = _search(problem, point, D)
        details = {"step": length, "inner": float(inner), "trials": float(trials)}
        idle = 0
        if (
            found is not None
            and found.gradient_norm >= state.lowest
            and found.value > point.value - problem.rounding(point)
        ):
            idle = state.idle + 1
        if found is None or idle > PATIENCE:
            return _State(point, details, "no step along the Gauss–Newton direction helps any more: rounding level")
        ratio = found.gradient_norm / point.gradient_norm if point.gradient_norm > 0 else 0.0
        forcing = min(self.forcing, max(self.tightest, 0.9 * ratio**2))
        return _State(found, details, None, forcing, min(state.lowest, found.gradient_norm), idle, ratio > SLOW)

    def _direction(
        self, problem: PSDProblem, point: Point, forcing: float, product: Callable[[Point, Array], Array]
    ) -> tuple[Array, int]:
        """Conjugate gradients on (½JᵀJ + μ) D = −∇F, preconditioned with (UᵀU + μ)⁻¹."""
        U = point.factor
        largest = max(np.linalg.eigh(U.T @ U)[0][-1], np.finfo(U.dtype).tiny)
        damping = U.dtype.type(DAMPING * point.gradient_norm / np.sqrt(largest))
        near_inverse = problem.preconditioner(point, float(damping))
        D, R = np.zeros_like(U), -point.gradient
        Y = near_inverse(R)
        P = Y
        now = first = _inner(R, Y)
        for count in range(1, self.max_inner + 1):
            HP = product(point, P) + damping * P
            bend = _inner(P, HP)
            if not bend > 0:  # a direction the data do not see (or rounding): what has been gathered must do
                return (D, count) if count > 1 else (P, count)
            length = U.dtype.type(now / bend)
            D = D + length * P
            R = R - length * HP
            Y = near_inverse(R)
            new = _inner(R, Y)
            if not new > forcing**2 * first:
                return D, count
            P = Y + U.dtype.type(new / now) * P
            now = new
        return D, self.max_inner


def _direct(problem: PSDProblem, point: Point, *, whole: bool) -> Array:
    """The direction from the matrix itself; ``whole``: with the Hessian's, where that is positive definite.

    Rotations D = UK, K skew, are directions in which nothing changes, and a problem may have more of them. The gradient
    has no part along them, and with their squares added to the matrix neither has the solution.
    """
    U = point.factor.astype(np.float64)
    n, r = U.shape
    gradient = point.gradient.astype(np.float64).ravel()
    largest = max(float(np.linalg.norm(U, 2)) ** 2, float(np.finfo(np.float64).tiny))
    stiff = 2 * problem.stiffness
    shift = DAMPING * point.gradient_norm / np.sqrt(largest) + GAUSS_NEWTON_SMALLEST_SHARE * stiff * largest
    turns = problem.turns(U).reshape(n * r, -1)
    for with_residual in (True, False) if whole else (False,):
        matrix = problem.curvature_matrix(point, whole=with_residual)
        matrix += stiff * turns @ turns.T
        matrix[np.diag_indices(n * r)] += shift
        try:
            solved = scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix, check_finite=False), -gradient)
        except np.linalg.LinAlgError:
            continue
        return solved.reshape(n, r).astype(point.factor.dtype)
    return -point.gradient


def _search(problem: PSDProblem, point: Point, D: Array) -> tuple[Point | None, float, int]:
    """The point at the minimum of F along D (None if F does not fall), the length, and how many points were tried."""
    line = problem.line(point, D)
    slope, length = line.slope, line.lowest()
    if not (slope < 0 and np.isfinite(length)):
        return None, 0.0, 0
    rounding = problem.rounding(point)
    low, high = 0.0, np.inf
    for trial in range(1, MOST_TRIALS + 1):
        there = problem.evaluate(point.factor + point.factor.dtype.type(length) * D)
        if _accept(point, there, length, line, D, rounding):
            return there, length, trial
        if not there.value <= point.value + DECREASE * length * slope or _inner(there.gradient, D) > 0:
            high = length
        else:
            low = length
        length = 2 * length if np.isinf(high) else (low + high) / 2
    return None, 0.0, MOST_TRIALS


def _accept(point: Point, there: Point, length: float, line: Line, D: Array, rounding: float) -> bool:
    if not np.isfinite(there.value):
        return False
    slope = line.slope
    flatter = abs(_inner(there.gradient, D)) <= CURVATURE * abs(slope)
    # Where the decrease itself is below rounding of F, only the slope can still tell progress (Hager and Zhang's
    # approximate Wolfe conditions).
    if -length * slope <= rounding and there.value <= point.value + rounding:
        return flatter
    if line.exact:  # no kinks: the length is the exact minimiser
        return there.value <= point.value
    return there.value <= point.value + DECREASE * length * slope and flatter


def _inner(A: Array, B: Array) -> float:
    return float(np.vdot(A, B))
