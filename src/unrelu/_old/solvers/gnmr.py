"""Gauss–Newton matrix recovery (Zilber and Nadler 2022): a linear least-squares problem per iteration, two factors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import is_integer, is_number, unknown_name
from unrelu._old.kernels.bands import Band, BandKernel
from unrelu._old.loop.stopping import DetailBelow, StoppingRule
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import Solver, TwoFactorIterate
from unrelu._old.solvers.lsqr import Linearised, lsqr

__all__ = ["GNMR", "VARIANTS"]

# α of each variant.
VARIANTS = {"setting": 1.0, "averaging": 0.0, "updating": -1.0}
# No inner solve is asked for more than this many units of rounding.
ROUNDING = 4
# How far a tie L = R is broken, relative to L and the relative residual.
TIE = 1e-2
# Below a relative change of √rounding so many steps may pass without a new smallest one before rounding is to blame.
# Near a saddle runs slow down, but none measured came below 1e-7 there.
PATIENCE = 10


@dataclass(frozen=True, eq=False)
class _State(TwoFactorIterate):
    smallest: float = np.inf  # relative change
    idle: int = 0  # steps since then


@dataclass(frozen=True)
class GNMR(Solver[_State]):
    """Linearise LRᵀ, solve for the minimal-norm least-squares solution by LSQR, and go there.

    With α = 1, 0, −1 for the variants "setting", "averaging", "updating", an iteration solves

        min ‖(L R̃ᵀ + L̃ Rᵀ)_Ω − (M + α L Rᵀ)_Ω‖_F   over L̃, R̃,   least ‖L̃‖² + ‖R̃‖² among the minimisers,

    and sets L ← (1−α)/2 · L + L̃, R likewise, after balancing (LᵀL = RᵀR). No matrix of the operator is formed: each
    inner step is one trip over bands of rows.

    Parameters
    ----------
    variant : {"setting", "averaging", "updating"}
        What is solved for: the next factors, their distance from half the last ones, or from the last ones. Between
        balanced factors all three take the same step wherever the data determine it; elsewhere (rows of which fewer
        than ``rank`` entries were seen) "setting" has the least norm and "updating" stays closest to the start.
    max_inner : int, default 2000
        Most inner steps per iteration.
    inner_tol : float, default 1e-15
        The inner solve stops when ‖Aᵀρ‖ ≤ inner_tol·‖A‖‖ρ‖ or ‖ρ‖ ≤ inner_tol·‖b‖, ρ being its residual and b its
        right-hand side. For float32 at least 5e-7.
    forcing : float, default 0.01
        The inner solve also stops when ‖Aᵀρ‖ has fallen to this share of ‖Aᵀ(LRᵀ − M)_Ω‖, times the relative residual
        of LRᵀ. The product goes to zero with the residual, so that convergence stays quadratic. 0: only ``inner_tol``,
        as in the authors' code, which takes two to four times the inner steps and, far from the solution, goes
        astray more often.
    stopping : {"relative", "paper"}
        "relative": converged when ‖(LRᵀ − M)_Ω‖_F (``residual``) or the change of LRᵀ (``change``) is at most
        tol · ‖M_Ω‖_F; by default tol = 2e-14, for float32 1e-6. "paper": the same at 1e-15, the tolerance of the inner
        solves, which rounding does not always let it reach; the verdict then says ``stalled``.

    Notes
    -----
    The residual is measured against ‖M_Ω‖_F, which is fixed. Measured against the right-hand side, which changes with
    the iterate, the smallest one under noise belongs to the wrong iterate.

    What absence says is not used. A symmetric pattern keeps L = R for as long as rounding lets it, and such iterates
    may pass half of a run near a saddle. A start with L = R is therefore moved a little apart in the first iteration,
    by an amount that vanishes with the residual. Far from the solution the objective may rise in between.

    References
    ----------
    P. Zilber and B. Nadler, "GNMR: A provable one-line algorithm for low rank matrix recovery", SIAM J. Math. Data Sci.
    4 (2022). C. Paige and M. Saunders, "LSQR", ACM Trans. Math. Softw. 8 (1982).
    """

    variant: str = "setting"
    max_inner: int = 2000
    inner_tol: float = 1e-15
    forcing: float = 0.01
    stopping: str = "relative"

    name = "gnmr"
    weighs = False
    needs = ("bands",)
    hears_limits = False
    default_start = "spectral"
    max_iter = 100
    default_tol: ClassVar = {"float64": 2e-14, "float32": 1e-6}
    units: ClassVar = {"residual": 1.0, "change": 1.0}

    def check(self) -> None:
        """A known variant, at least one inner step, tolerances in [0, 1)."""
        if self.variant not in VARIANTS:
            raise unknown_name("variant of gnmr", self.variant, VARIANTS)
        self.need(is_integer(self.max_inner) and self.max_inner >= 1, "max_inner", "an integer ≥ 1")
        self.need(is_number(self.inner_tol) and 0 <= self.inner_tol < 1, "inner_tol", "a number ≥ 0 and < 1")
        self.need(is_number(self.forcing) and 0 <= self.forcing < 1, "forcing", "a number ≥ 0 and < 1")

    def relative_rule(self, tol: float) -> StoppingRule:
        """Residual or change of the estimate at most ``tol`` · ‖M_Ω‖_F."""
        return DetailBelow("residual", tol, relative=True) | DetailBelow("change", tol, relative=True)

    def paper_rule(self) -> StoppingRule:
        """The same at 1e-15."""
        return self.relative_rule(1e-15)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> _State:
        """Measure the starting point."""
        return _measured(problem.bands, *problem.bands.apart(left, right), {})

    def step(self, problem: PSDProblem, state: _State) -> _State:
        """Balance, solve the linear problem, go to its solution."""
        kernel, dtype, alpha = problem.bands, problem.dtype, VARIANTS[self.variant]
        L, R, top = _balanced(_apart(kernel, state), state.right)
        tolerance = max(self.inner_tol, ROUNDING * float(np.finfo(dtype).eps))
        norm = float(np.sqrt(2 * top))  # ‖A‖ ≤ (‖L‖₂² + ‖R‖₂²)^½
        relative = state.details["residual"] / kernel.norm if kernel.norm else 0.0
        enough = self.forcing * min(1.0, relative) * (state.gradient_norm or 0.0) / kernel.share

        def stop(normal: float, residual: float) -> bool:
            return normal <= max(enough, tolerance * norm * residual)

        B = _right_hand_side(kernel, L, R, alpha)
        X, inner = lsqr(Linearised(kernel, L, R), B, stop=stop, least=tolerance, max_inner=self.max_inner)
        keep = dtype.type((1 - alpha) / 2)
        left, right = keep * L + X[: len(L)], keep * R + X[len(L) :]
        change = _change(left, right, L, R)
        share = change / kernel.norm if kernel.norm else change
        idle = 0 if share < state.smallest or share > np.sqrt(np.finfo(dtype).eps) else state.idle + 1
        stuck = "the estimate no longer settles further: rounding level" if idle > PATIENCE else None
        details = {"change": change, "inner": float(inner)}
        found = _measured(kernel, left, right, details)
        return replace(found, stuck=stuck, smallest=min(share, state.smallest), idle=idle)


def _measured(kernel: BandKernel, left: Array, right: Array, details: dict[str, float]) -> _State:
    value, ZR, ZL = kernel.evaluate(left, right)
    gradient_norm = kernel.share * float(np.hypot(np.linalg.norm(ZR), np.linalg.norm(ZL)))
    residual = float(np.sqrt(kernel.squares(value)))
    return _State(left, right, float(value), gradient_norm, {"residual": residual, **details})


def _apart(kernel: BandKernel, state: _State) -> Array:
    """L, moved a little away from R where both are the same and do not fit: rounding would do so later."""
    L = state.left
    if not np.array_equal(L, state.right):
        return L
    size = TIE * state.details["residual"] / kernel.norm if kernel.norm else 0.0
    noise = np.random.default_rng(0).standard_normal(L.shape)  # any fixed direction in general position
    return L + (size * float(np.sqrt(np.mean(L**2))) * noise).astype(L.dtype)


def _balanced(L: Array, R: Array) -> tuple[Array, Array, float]:
    """The factors of the same LRᵀ with LᵀL = RᵀR diagonal, and ‖LRᵀ‖₂."""
    P, S = np.linalg.qr(L.astype(np.float64, copy=False))
    Q, T = np.linalg.qr(R.astype(np.float64, copy=False))
    u, s, v = np.linalg.svd(S @ T.T)
    root = np.sqrt(s)
    left, right = P @ (u * root), Q @ (v.T * root)
    return left.astype(L.dtype, copy=False), right.astype(R.dtype, copy=False), float(s[0])


def _change(L: Array, R: Array, L0: Array, R0: Array) -> float:
    """‖LRᵀ − L₀R₀ᵀ‖_F = ‖(L−L₀)Rᵀ + L₀(R−R₀)ᵀ‖_F: nothing cancels and nothing is n×n; ∞ if something overflowed."""
    left, right = np.hstack([L - L0, L0]), np.hstack([R, R - R0])
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return float("inf")
    _, S = np.linalg.qr(left.astype(np.float64, copy=False))
    _, T = np.linalg.qr(right.astype(np.float64, copy=False))
    return float(np.linalg.norm(S @ T.T))


def _right_hand_side(kernel: BandKernel, L: Array, R: Array, alpha: float) -> Array:
    """(M + α LRᵀ)_Ω, with zeros elsewhere."""
    B = np.empty((len(L), len(R)), L.dtype)
    scaled = L * L.dtype.type(alpha)

    def visit(chunk: list[Band]) -> None:
        for band in chunk:
            rows = np.matmul(scaled[band.rows], R.T, out=B[band.rows])
            np.add(rows, band.target, out=rows)
            np.multiply(rows, band.seen, out=rows)

    kernel.over(visit)
    return B
