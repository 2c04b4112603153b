"""The alternating direction method of multipliers for nuclear-norm minimisation, as the paper compares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.linalg

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, is_number
from unrelu._old.kernels.bands import Band, BandKernel, square_sum
from unrelu._old.kernels.truncated import truncated_svd
from unrelu._old.loop.stopping import DetailBelow, StoppingRule
from unrelu._old.model.factors import products_apart
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import Solver, TwoFactorIterate

__all__ = ["ADMM"]

# 1/ρ in units of ‖M_Ω‖_F: with unit Gaussian factors at n=200, r=5 this is ρ = 0.03.
THRESHOLD = 0.1
# The power of ‖W_Ω − M_Ω‖_F/√δ in the X-update.
POWERS = {"ball": 1, "printed": 2}
# Residual balancing: ρ doubles or halves when one residual is this many times the other, at most so often.
IMBALANCE, BALANCE_EVERY = 10.0, 10
# Above this size the nuclear norm of X, which needs all its singular values, is recorded only now and then.
SMALL, NOW_AND_THEN = 400, 25


@dataclass(frozen=True, eq=False)
class _State(TwoFactorIterate):
    X: Array = field(default_factory=lambda: np.empty(0))  # the feasible point
    V: Array = field(default_factory=lambda: np.empty(0))  # X − Λ/ρ, of which the next Y is a part
    rho: float = 1.0
    basis: Array | None = None
    count: int = 0


@dataclass(frozen=True)
class ADMM(Solver[_State]):
    """min ‖Y‖_*  subject to  X = Y and ‖X_Ω − M_Ω‖_F² ≤ δ, eq. (cvx).

    X is Y + Λ/ρ moved onto the ball, Y the singular value thresholding of X − Λ/ρ at 1/ρ. The projection moves W_Ω to
    (W_Ω + tM_Ω)/(1 + t) with t = ‖W_Ω − M_Ω‖_F/√δ − 1; for δ = 0, X_Ω = M_Ω. The paper prints
    t = ‖W_Ω − M_Ω‖_F²/δ − 1, which lands inside the ball; ``projection="printed"`` runs that.

    Parameters
    ----------
    delta : float, optional
        δ, in the units of the data squared. Default 0, or σ²|Ω| if ``sigma`` is given.
    sigma : float, optional
        Standard deviation of the noise, from which δ follows. Give one of the two.
    rho : float, optional
        ρ, in the inverse unit of the data. The paper does not state it. Default: 1/ρ = 0.1 ‖M_Ω‖_F.
    adaptive : bool, default True
        Double or halve ρ when the primal residual ‖X − Y‖ and the dual one ρ‖Y − Y_old‖ are far apart.
    projection : {"ball", "printed"}
        Onto the ball, or the X-update as the paper prints it, which solves another problem when δ > 0.
    stopping : {"relative", "paper"}
        "paper": ‖X − Y‖_F ≤ 1e-4, in the units of the data; the default rule is the same relative to ‖M_Ω‖_F.

    Notes
    -----
    The history records the gap ‖X − Y‖_F, the rank of Y, and the nuclear norm of the feasible X (above n = 400 every 25
    iterations). What absence says is not used. The convex problem has one answer, so the start hardly matters: zero.

    References
    ----------
    S. Boyd et al., Distributed optimization and statistical learning via ADMM, 2011; E. Candès, Y. Plan, Matrix
    completion with noise, 2010, for the formulation.
    """

    delta: float | None = None
    sigma: float | None = None
    rho: float | None = None
    adaptive: bool = True
    projection: str = "ball"
    stopping: str = "relative"

    name = "admm"
    weighs = False
    needs = ("bands", "workspace")
    convex = True
    hears_limits = False
    max_iter = 2000
    default_start = None
    default_tol: ClassVar = {"float64": 1e-7, "float32": 1e-5}
    units: ClassVar = {"gap": 1.0, "nuclear_norm": 1.0, "rho": -1.0}

    def check(self) -> None:
        """Each in its range, and not both ways of giving δ."""
        self.need(self.rho is None or (is_number(self.rho) and self.rho > 0), "rho", "a finite positive number")
        for name in ("delta", "sigma"):
            value = getattr(self, name)
            self.need(value is None or (is_number(value) and value >= 0), name, "a finite number ≥ 0")
        self.need(self.projection in POWERS, "projection", " or ".join(POWERS))
        if self.delta is not None and self.sigma is not None:
            raise InputError("admm takes delta or sigma, from which delta follows, not both")

    def relative_rule(self, tol: float) -> StoppingRule:
        """The gap between X and Y, relative to the data."""
        return DetailBelow("gap", tol, relative=True)

    def paper_rule(self) -> StoppingRule:
        """‖X − Y‖_F ≤ 1e-4."""
        return DetailBelow("gap", 1e-4)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> _State:
        """Y from the start, Λ = 0, X on the data."""
        size = problem.bands.norm or 1.0  # where only zeros were seen any will do
        rho = 1 / (THRESHOLD * size) if self.rho is None else self.rho * problem.unit
        left, right = problem.bands.apart(left, right)
        V = left @ right.T
        return self._onto_data(problem, _State(left, right, X=V, V=V, rho=rho), first=True)

    def step(self, problem: PSDProblem, state: _State) -> _State:
        """Y from X, then X from Y and the multipliers."""
        found, fallback = _threshold(state.V, 1 / state.rho, state.left.shape[1], state.basis)
        left, right, basis = found
        new = _State(left, right, X=state.X, V=state.V, rho=state.rho, basis=basis, count=state.count + 1)
        old = (state.left, state.right) if self.adaptive else None
        return self._onto_data(problem, new, old=old, fallback=fallback)

    def _onto_data(
        self,
        problem: PSDProblem,
        state: _State,
        *,
        old: tuple[Array, Array] | None = None,
        first: bool = False,
        fallback: bool = False,
    ) -> _State:
        """Measure Y, and find the next X and V.

        With Λ/ρ = Y − V the three updates are one: W = 2Y − V, X = the data's nearest to W, V ← V + X − Y.
        """
        bands, L, R, X, V = problem.bands, state.left, state.right, state.X, state.V
        new_X, new_V = (problem.workspace.empty(V.shape, V.dtype) for _ in range(2))
        radius = self._radius(problem)
        pull = 1.0 if radius == 0 else _pull(bands, L, R, V, radius, POWERS[self.projection])

        def visit(chunk: list[Band]) -> tuple[float, float]:
            misfit = gap = 0.0
            for band in chunk:
                rows = band.rows
                Y, x, v = L[rows] @ R.T, new_X[rows], new_V[rows]
                misfit += square_sum(band.residual(Y))
                gap += 0.0 if first else square_sum(X[rows] - Y)
                np.multiply(Y, 2, out=x)
                x -= V[rows]
                if pull == 1:
                    band.clip(x)
                else:
                    x -= pull * band.residual(x)
                np.add(V[rows], x, out=v)
                v -= Y
            return misfit, gap

        parts = bands.over(visit)
        misfit, gap = sum(m for m, _ in parts), float(np.sqrt(sum(g for _, g in parts)))
        details = {"rho": state.rho, "fallback": float(fallback), "rank": float(L.shape[1])}
        if not first:
            details["gap"] = gap
        factor = 1.0 if old is None else self._balance(state, gap, *old)
        if factor != 1:  # Λ stays, so V = X − Λ/ρ moves with ρ
            new_V[:] = new_X + (new_V - new_X) / factor
        rho = state.rho * factor
        value = bands.value(misfit)
        return _State(L, R, value, None, details, None, new_X, new_V, rho, state.basis, state.count)

    def _radius(self, problem: PSDProblem) -> float:
        if self.sigma is not None:
            return self.sigma * float(np.sqrt(problem.bands.count)) / problem.unit
        return 0.0 if self.delta is None else float(np.sqrt(self.delta)) / problem.unit

    def _balance(self, state: _State, gap: float, L: Array, R: Array) -> float:
        """By which factor ρ changes for the next step."""
        if state.count % BALANCE_EVERY:
            return 1.0
        dual = state.rho * products_apart(L, R, state.left, state.right)
        return 2.0 if gap * state.rho > IMBALANCE * dual else 0.5 if dual > IMBALANCE * gap * state.rho else 1.0

    def diagnostics(self, problem: PSDProblem, state: _State) -> Mapping[str, float]:
        """The nuclear norm of the feasible point."""
        if min(state.X.shape) > SMALL and state.count % NOW_AND_THEN:
            return {}
        return {"nuclear_norm": float(scipy.linalg.svdvals(state.X, check_finite=False).sum())}


def _pull(bands: BandKernel, L: Array, R: Array, V: Array, radius: float, power: int) -> float:
    """By which share of its residual W = 2Y − V moves: t/(1 + t) with t = (distance/radius)^power − 1."""

    def visit(chunk: list[Band]) -> float:
        return sum(square_sum(band.residual(2 * (L[band.rows] @ R.T) - V[band.rows])) for band in chunk)

    distance = float(np.sqrt(sum(bands.over(visit))))
    return 0.0 if distance <= radius else 1 - (radius / distance) ** power


def _threshold(V: Array, at: float, rank: int, basis: Array | None) -> tuple[tuple[Array, Array, Array | None], bool]:
    """Singular value thresholding: values above ``at``, less that; a partial decomposition while few are."""
    n, wanted = min(V.shape), max(rank + 2, 5)
    while True:
        found = truncated_svd(V, min(wanted, n), basis, above=at)
        above = int(np.count_nonzero(found.values > at))
        if above < wanted or wanted >= n:
            break
        wanted, basis = 2 * wanted, found.basis
    kept = max(above, 1)
    root = np.sqrt(np.maximum(found.values[:kept] - at, 0))
    return (found.left[:, :kept] * root, found.right[:, :kept] * root, found.basis), found.how != "subspace"
