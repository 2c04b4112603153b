"""Momentum variants of alternating minimisation for the three-block formulation: 3B-NMD, A-NMD and eBCD."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import is_number, unknown_name
from unrelu._old.kernels.bands import Band, BandKernel, add_up, square_sum
from unrelu._old.kernels.truncated import truncated_svd
from unrelu._old.loop.stopping import DetailBelow, StoppingRule
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import Solver, TwoFactorIterate

__all__ = ["MomentumPAM"]

VARIANTS = ("3b", "adaptive", "ebcd")

# A-NMD: growth and cut of the momentum and of its ceiling, as its authors set them.
GROW, CUT, GROW_CEILING = 1.1, 0.4, 1.05
# eBCD: over-relaxation grows by at least 0.3 up to 4 while the residual falls by less than a fifth.
GROW_RELAXATION, MOST_RELAXATION, SLOW = 0.3, 4.0, 0.8


@dataclass(frozen=True, eq=False)
class _State(TwoFactorIterate):
    Z: Array = field(default_factory=lambda: np.empty(0))  # the dense matrix on the data, extrapolated
    theta: Array = field(default_factory=lambda: np.empty(0))  # WHᵀ, extrapolated
    ahead: tuple[Array, Array] = (np.empty(0), np.empty(0))  # what this pass found out for the next step
    basis: Array | None = None
    momentum: float = 0.0
    ceiling: float = 1.0
    recent: tuple[float, ...] = ()  # the last misfits


@dataclass(frozen=True)
class MomentumPAM(Solver[_State]):
    """min ‖Z − WHᵀ‖_F²  subject to  Z_Ω = M_Ω and Z ≤ τ where absent, block by block with extrapolation.

    Parameters
    ----------
    variant : {"3b", "adaptive", "ebcd"}, default "3b"
        "3b" (3B-NMD): Z, W and H in turn by least squares, Z and WHᵀ extrapolated by a fixed ``momentum``.
        "adaptive" (A-NMD): Z and a truncated decomposition in turn; the momentum grows while the misfit falls and is
        cut (and the step undone) when it rises. "ebcd": W orthonormal, Z replaced by αZ + (1 − α)WHᵀ with an α ≥ 1
        that grows while progress is slow and goes back to 1 when the misfit rises.
    momentum : float in [0, 1), optional
        Default 0.7 for "3b" and 0.9 to begin with for "adaptive"; "ebcd" has none.
    stopping : {"relative", "paper"}
        Both are relative here: the misfit ‖(WHᵀ − Z)‖_F ≤ tol ‖M_Ω‖_F; "paper": tol = 1e-4.

    Notes
    -----
    Starts from Gaussian W and H, as its authors' code does. The default rule also stops when the misfit no longer
    falls, which with noise it does before it is small.

    References
    ----------
    G. Seraghiti, A. Awari, A. Vandaele, M. Porcelli, N. Gillis, Accelerated algorithms for nonlinear matrix
    decomposition with the ReLU function, 2023 (3B-NMD, A-NMD).
    N. Gillis, M. Porcelli, G. Seraghiti, An extrapolated and provably convergent algorithm for nonlinear matrix
    decomposition with the ReLU function, 2025 (eBCD).
    """

    variant: str = "3b"
    momentum: float | None = None
    stopping: str = "relative"

    name = "momentum-pam"
    weighs = False
    needs = ("bands", "workspace")
    max_iter = 1000
    default_start = "gaussian"
    default_tol: ClassVar = {"float64": 1e-9, "float32": 1e-5}
    units: ClassVar = {"misfit": 1.0, "change over ten": 1.0}

    def check(self) -> None:
        """A known variant, and a momentum below one."""
        if self.variant not in VARIANTS:
            raise unknown_name(f"variant of {self.name}", self.variant, VARIANTS)
        inside = self.momentum is None or (is_number(self.momentum) and 0 <= self.momentum < 1)
        self.need(inside, "momentum", "at least 0 and below 1")

    def relative_rule(self, tol: float) -> StoppingRule:
        """A small misfit, or one that stands still."""
        return DetailBelow("misfit", tol, relative=True) | DetailBelow("change over ten", tol, relative=True)

    def paper_rule(self) -> StoppingRule:
        """‖X − (WHᵀ)_Ω‖_F ≤ 1e-4 ‖X‖_F, or a change of that by less than 1e-5 ‖X‖_F over ten iterations."""
        return DetailBelow("misfit", 1e-4, relative=True) | DetailBelow("change over ten", 1e-5, relative=True)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> _State:
        """Z on the data next to WHᵀ."""
        left, right = problem.bands.apart(left, right)
        if self.variant == "ebcd":
            return _ebcd_state(problem, left, right, 1.0, GROW_RELAXATION, ())
        theta = left @ right.T
        Z = problem.workspace.empty(theta.shape, problem.dtype)
        momentum = {"3b": 0.7, "adaptive": 0.9}[self.variant] if self.momentum is None else self.momentum
        state = _State(left, right, Z=Z, theta=theta, momentum=momentum)
        return self._three_block(problem, state, 0.0) if self.variant == "3b" else self._adaptive_start(problem, state)

    def step(self, problem: PSDProblem, state: _State) -> _State:
        """The next W and H, and one pass over the matrix with them."""
        if self.variant == "3b":
            W, B = state.ahead
            H = B @ np.linalg.pinv(W.T @ W, hermitian=True)
            return self._three_block(problem, replace(state, left=W, right=H), state.momentum)
        return self._adaptive(problem, state) if self.variant == "adaptive" else _ebcd(problem, state)

    def _three_block(self, problem: PSDProblem, state: _State, momentum: float) -> _State:
        """In one pass: measure WHᵀ, extrapolate it, put Z on the data, extrapolate that, and find the next W."""
        bands, theta, Z = problem.bands, state.theta, state.Z
        new_theta, new_Z = (problem.workspace.empty(Z.shape, Z.dtype) for _ in range(2))
        W, H = state.left, state.right
        inverse = np.linalg.pinv(H.T @ H, hermitian=True)
        following = np.empty_like(W)
        first = not state.recent

        def visit(chunk: list[Band]) -> tuple[float, Array]:
            misfit, product = 0.0, np.zeros_like(H)
            most = max(band.rows.stop - band.rows.start for band in chunk)
            scratch = np.empty((most, len(H)), W.dtype)
            for band in chunk:
                rows = band.rows
                T, there = scratch[: rows.stop - rows.start], new_Z[rows]
                np.matmul(W[rows], H.T, out=T)
                before, momenta = (theta[rows], Z[rows]), (momentum, 0.0 if first else momentum)
                misfit += band.extrapolated(T, before, momenta, (new_theta[rows], there))
                following[rows] = (there @ H) @ inverse
                product += there.T @ following[rows]
            return misfit, product

        parts = bands.over(visit)
        misfit = sum(m for m, _ in parts)
        ahead = (following, add_up([product for _, product in parts]))
        return replace(state, **_measured(bands, misfit, state.recent), ahead=ahead, Z=new_Z, theta=new_theta)

    def _adaptive_start(self, problem: PSDProblem, state: _State) -> _State:
        misfit = _onto_data(problem.bands, state.left @ state.right.T, state.Z)
        return replace(state, **_measured(problem.bands, misfit, ()))

    def _adaptive(self, problem: PSDProblem, state: _State) -> _State:
        """A-NMD: extrapolate Z, decompose it, extrapolate the result; undo the step if the misfit rises."""
        bands, momentum = problem.bands, state.momentum if len(state.recent) > 1 else 0.0
        Z, theta = (problem.workspace.empty(state.Z.shape, state.Z.dtype) for _ in range(2))
        _onto_data(bands, state.theta, Z)
        _extrapolate_all(bands, Z, state.Z, momentum)
        found = truncated_svd(Z, problem.rank, state.basis)
        root = np.sqrt(found.values)
        left, right = found.left * root, found.right * root
        misfit = _misfit(bands, left, right, theta)
        fallback = {"fallback": float(found.how != "subspace")}
        if len(state.recent) > 1 and np.sqrt(misfit) > state.recent[-1]:
            # Undone: the same point with less momentum, from WHᵀ as it is.
            before = _misfit(bands, state.left, state.right, theta)
            back = _measured(bands, before, state.recent, fallback)
            return replace(state, **back, Z=Z, theta=theta, momentum=CUT * momentum, ceiling=momentum)
        _extrapolate_all(bands, theta, state.theta, momentum)
        grown = min(state.ceiling, GROW * state.momentum)
        return _State(
            left,
            right,
            **_measured(bands, misfit, state.recent, fallback),
            Z=Z,
            theta=theta,
            basis=found.basis,
            momentum=grown,
            ceiling=min(1.0, GROW_CEILING * state.ceiling),
        )


def _measured(
    bands: BandKernel, misfit: float, recent: tuple[float, ...], more: dict[str, float] | None = None
) -> dict[str, Any]:
    """Fields of a state whose squared misfit is this."""
    norm = float(np.sqrt(misfit))
    recent = (*recent, norm)[-11:]
    details = {"misfit": norm, **(more or {})}
    if len(recent) == 11:
        details["change over ten"] = abs(recent[0] - norm)
    return {"objective": bands.value(misfit), "details": details, "recent": recent}


def _extrapolate_all(bands: BandKernel, new: Array, old: Array, momentum: float) -> None:
    """New ← new + momentum · (new − old)."""

    def visit(chunk: list[Band]) -> None:
        for band in chunk:
            rows = band.rows
            new[rows] += momentum * (new[rows] - old[rows])

    if momentum:
        bands.over(visit)


def _onto_data(bands: BandKernel, theta: Array, Z: Array) -> float:
    """Z ← Θ moved onto the data; the squared distance."""

    def visit(chunk: list[Band]) -> float:
        misfit = 0.0
        for band in chunk:
            rows = band.rows
            Z[rows] = theta[rows]
            band.clip(Z[rows])
            misfit += square_sum(Z[rows] - theta[rows])
        return misfit

    return sum(bands.over(visit))


def _misfit(bands: BandKernel, L: Array, R: Array, theta: Array) -> float:
    """Θ ← LRᵀ; its squared distance from the data."""

    def visit(chunk: list[Band]) -> float:
        misfit = 0.0
        for band in chunk:
            T = np.matmul(L[band.rows], R.T, out=theta[band.rows])
            misfit += square_sum(band.residual(T))
        return misfit

    return sum(bands.over(visit))


def _ebcd_state(
    problem: PSDProblem, W: Array, H: Array, relaxation: float, growth: float, recent: tuple[float, ...]
) -> _State:
    """WHᵀ with its misfit, and the residual times H, which the next step needs."""
    bands = problem.bands
    value, forward, _ = bands.products(W, H, H, None)
    measured = _measured(bands, bands.squares(value), recent)
    return _State(W, H, **measured, ahead=(forward, np.empty(0)), momentum=relaxation, ceiling=growth)


def _ebcd(problem: PSDProblem, state: _State) -> _State:
    """Z_α = αZ + (1 − α)WHᵀ = WHᵀ − α·residual; W ← an orthonormal basis of Z_α H, H ← Z_αᵀ W."""
    W, H, relaxation, growth = state.left, state.right, state.momentum, state.ceiling
    Q = np.linalg.qr(W @ (H.T @ H) - relaxation * state.ahead[0])[0]
    _, _, backward = problem.bands.products(W, H, None, Q)
    new = _ebcd_state(problem, Q, H @ (W.T @ Q) - relaxation * backward, relaxation, growth, state.recent)
    if new.objective > state.objective and relaxation > 1:
        back = _measured(problem.bands, problem.bands.squares(state.objective), state.recent)
        return replace(state, **back, momentum=1.0, ceiling=GROW_RELAXATION)
    if new.objective > SLOW**2 * state.objective:
        growth = max(growth, 0.25 * (relaxation - 1))
        return replace(new, momentum=min(relaxation + growth, MOST_RELAXATION), ceiling=growth)
    return new
