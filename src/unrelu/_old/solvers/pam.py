"""Proximal alternating minimisation for the formulation of Saul (2022), as the paper compares it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import is_number
from unrelu._old.kernels.bands import Band, BandKernel, square_sum
from unrelu._old.kernels.truncated import truncated_svd
from unrelu._old.loop.stopping import DetailBelow, StoppingRule
from unrelu._old.model.factors import products_apart
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import Solver, TwoFactorIterate

__all__ = ["PAM"]


@dataclass(frozen=True, eq=False)
class _State(TwoFactorIterate):
    X: Array = field(default_factory=lambda: np.empty(0))
    basis: Array | None = None


@dataclass(frozen=True)
class PAM(Solver[_State]):
    """Alternate between a matrix X that obeys the data and one Θ of rank r near it, eq. (sparse).

    min ‖X − Θ‖_F²  subject to  rank Θ = r,  X_Ω = M_Ω,  X ≤ τ where absent (≥ for values seen below). Both steps have
    closed forms: X is Θ (averaged with the old X for α > 0) moved onto the data, and Θ the truncated singular value
    decomposition of X (averaged with the old Θ for β > 0). Under ``observed`` absent entries of X are free.

    Parameters
    ----------
    alpha, beta : float, default 0
        Weights of the proximal terms α/2‖X − X_t‖² and β/2‖Θ − Θ_t‖². The paper does not state them; 0 is fastest.
    stopping : {"relative", "paper"}
        "paper": ‖X_{t+1} − X_t‖_F + ‖Θ_{t+1} − Θ_t‖_F ≤ 1e-4, in the units of the data. The default rule is the same
        relative to ‖M_Ω‖_F.

    Notes
    -----
    Starts from a random matrix, as in the paper. From a symmetric start (``start="tailored"``, say) symmetric data need
    less than half the iterations: the part of Θ that is not symmetric is the slowest to go.

    References
    ----------
    L. K. Saul, A nonlinear matrix decomposition for mining the zeros of sparse data, SIAM J. Math. Data Sci., 2022.
    """

    alpha: float = 0.0
    beta: float = 0.0
    stopping: str = "relative"

    name = "pam"
    weighs = False
    needs = ("bands", "workspace")
    max_iter = 2000
    default_start = "random-fill"
    default_tol: ClassVar = {"float64": 1e-9, "float32": 1e-5}
    units: ClassVar = {"change": 1.0}

    def check(self) -> None:
        """Weights are not negative."""
        for name in ("alpha", "beta"):
            value = getattr(self, name)
            self.need(is_number(value) and value >= 0, name, "a finite number ≥ 0")

    def relative_rule(self, tol: float) -> StoppingRule:
        """The change of X and Θ, relative to the data."""
        return DetailBelow("change", tol, relative=True)

    def paper_rule(self) -> StoppingRule:
        """The change of X and Θ, absolute."""
        return DetailBelow("change", 1e-4)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> _State:
        """Θ = LRᵀ, and X on the data next to it."""
        bands = problem.bands
        left, right = bands.apart(left, right)
        X = problem.workspace.empty(bands.shape, problem.dtype)
        misfit, _ = _project(bands, left, right, None, X, 0.0)
        return _State(left, right, bands.value(misfit), X=X)

    def step(self, problem: PSDProblem, state: _State) -> _State:
        """Θ from X, then X from Θ."""
        share = self.beta / (2 + self.beta)
        X = state.X if share == 0 else (1 - share) * state.X + share * (state.left @ state.right.T)
        found = truncated_svd(X, problem.rank, state.basis)
        root = np.sqrt(found.values)
        left, right = found.left * root, found.right * root
        moved = products_apart(state.left, state.right, left, right)
        new = problem.workspace.empty(X.shape, X.dtype)
        misfit, change = _project(problem.bands, left, right, state.X, new, self.alpha / (2 + self.alpha))
        details = {"change": float(np.sqrt(change)) + moved, "fallback": float(found.how != "subspace")}
        return _State(left, right, problem.bands.value(misfit), None, details, X=new, basis=found.basis)


def _project(bands: BandKernel, L: Array, R: Array, X: Array | None, new: Array, share: float) -> tuple[float, float]:
    """New ← the data's nearest to (1 − share)·LRᵀ + share·X; the squared misfit of LRᵀ, and the squared change of X.

    Without an X the share must be 0, and nothing has changed.
    """

    def visit(chunk: list[Band]) -> tuple[float, float]:
        misfit = change = 0.0
        scratch = np.empty((max(band.rows.stop - band.rows.start for band in chunk), len(R)), new.dtype)
        for band in chunk:
            T, there = scratch[: band.rows.stop - band.rows.start], new[band.rows]
            np.matmul(L[band.rows], R.T, out=T)
            off = band.residual(T, there)
            misfit += square_sum(off)
            if X is None or share == 0:
                np.subtract(T, off, out=there)
            else:
                np.add((1 - share) * T, share * X[band.rows], out=there)
                band.clip(there)
            if X is not None:
                change += square_sum(np.subtract(there, X[band.rows], out=T))
        return misfit, change

    parts = bands.over(visit)
    return sum(m for m, _ in parts), sum(c for _, c in parts)
