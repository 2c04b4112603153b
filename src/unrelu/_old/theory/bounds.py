"""The right-hand sides of the paper's lemmas and theorems, in the form that is true.

Where the printed form is wrong the docstring has both. The propositions are in
:mod:`unrelu._old.theory.propositions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import BOUNDS_ZERO
from unrelu._old.model.factors import distance
from unrelu._old.theory.pattern import as_factor

__all__ = [
    "NoisyBounds",
    "convexity_radius",
    "error_constant",
    "factor_constant",
    "hoffman_constant",
    "lemma_1",
    "lemma_2",
    "noisy_bounds",
    "root_lemma",
    "theorem_2",
    "tu_lemma",
]

# 1/√(2(√2 − 1)) = 1.0987, the constant of Tu et al.
TU = 1 / sqrt(2 * (sqrt(2) - 1))


def _singular_values(U: Floats) -> Floats:
    """Those that are not zero, largest first."""
    values = np.linalg.svd(U, compute_uv=False)
    kept: Floats = values[values > BOUNDS_ZERO * values[0]]
    return kept


def _gap(U: Floats, V: Floats) -> float:
    if U.shape != V.shape:
        raise InputError(f"U and V must have the same shape, got {U.shape} and {V.shape}")
    return distance(U, V)


def lemma_1(U: ArrayLike, V: ArrayLike) -> float:
    """Lemma 1: min_Q ‖U − VQ‖_F ≤ (σ_r(U) + ‖V‖)/σ_r(U)² · ‖UUᵀ − VVᵀ‖_F for U of rank r; the right-hand side.

    Examples
    --------
    >>> lemma_1([[1.0], [0.0]], [[0.0], [0.0]])
    1.0
    """
    left, right = as_factor(U), as_factor(V, "V")
    values = _singular_values(left)
    _require_rank(left, values)
    return float((values[-1] + np.linalg.norm(right, 2)) / values[-1] ** 2) * _gap(left, right)


def tu_lemma(U: ArrayLike, V: ArrayLike) -> float:
    """The sharper known lemma (Tu et al. 2016, Lemma 5.4): min_Q ‖U − VQ‖_F ≤ 1.0987 ‖UUᵀ − VVᵀ‖_F/σ_r(U).

    Below Lemma 1 wherever ‖V‖ > 0.0987 σ_r(U), because it does not pay for the size of V.

    Examples
    --------
    >>> U, V = np.eye(3, 2), 5 * np.eye(3, 2)
    >>> tu_lemma(U, V) < lemma_1(U, V)
    True
    """
    left, right = as_factor(U), as_factor(V, "V")
    values = _singular_values(left)
    _require_rank(left, values)
    return TU * _gap(left, right) / float(values[-1])


def lemma_2(U: ArrayLike, V: ArrayLike, *, printed: bool = False) -> float:
    """Lemma 2, for U and V of any rank, with their smallest *non-zero* singular values; the right-hand side of

        min_Q ‖U − VQ‖_F ≤ max{(σ_min(U) + ‖V‖)/σ_min(U)², 1/σ_min(V)} · ‖UUᵀ − VVᵀ‖_F.

    With ``printed`` as in eq. (lem UV): σ²_min(U) + ‖V‖ in the numerator, which is not even of one dimension. A term
    whose factor is zero is left out; so read, the printed form is false for U = ½ and V = 0. Where neither is zero it
    is true all the same, for it is never below :func:`root_lemma`; its printed proof is not one. (That proof chooses
    Q₂ᵀQ = Q₁ᵀ; it needs Q₂ᵀQ = RQ₁ᵀ with the rotation R of Lemma 1 between Σ₁ and P₂Σ₂.)

    Examples
    --------
    >>> lemma_2([[0.5], [0.0]], [[0.0], [0.0]]), lemma_2([[0.5], [0.0]], [[0.0], [0.0]], printed=True)
    (0.5, 0.25)
    """  # noqa: D400
    left, right = as_factor(U), as_factor(V, "V")
    terms = []
    if left.any():
        least = float(_singular_values(left)[-1])
        terms.append(((least**2 if printed else least) + float(np.linalg.norm(right, 2))) / least**2)
    if right.any():
        terms.append(1 / float(_singular_values(right)[-1]))
    return max(terms) * _gap(left, right) if terms else 0.0


def root_lemma(U: ArrayLike, V: ArrayLike) -> float:
    """Shorter and sharper than Lemma 2: min_Q ‖U − VQ‖_F ≤ ‖UUᵀ − VVᵀ‖_F / min{σ_min(U), σ_min(V)}, any ranks.

    Not in the paper. With A = UUᵀ and B = VVᵀ the left side is at most ‖A^½ − B^½‖_F, and in eigenbases of A and B
    the entries of A^½ − B^½ are those of A − B over √a_i + √b_j, which is at least the smaller of the two where not
    both are zero. A factor that is zero is left out of the minimum.

    Examples
    --------
    >>> from unrelu._old.theory.geometry import quotient_distance
    >>> root_lemma([[1.0], [0.0]], [[0.0], [1.0]]) == quotient_distance([[1.0], [0.0]], [[0.0], [1.0]])
    True
    """
    left, right = as_factor(U), as_factor(V, "V")
    least = [float(_singular_values(factor)[-1]) for factor in (left, right) if factor.any()]
    return _gap(left, right) / min(least) if least else 0.0


def _require_rank(U: Floats, values: Floats) -> None:
    if len(values) < U.shape[1] or not U.any():
        raise InputError(
            f"U must have full rank {U.shape[1]} for this lemma, got rank {len(values) * U.any()}; use lemma_2"
        )


def theorem_2(gamma: float) -> float:
    """Theorem 2: Hess F([U*])[ξ, ξ] ≥ (γ/2)‖lift(ξ)‖_F², eq. (Hess); γ from :func:`~.geometry.curvature`."""
    return _at_least_zero(gamma, "gamma") / 2


def hoffman_constant(U: ArrayLike) -> float:
    """κ of Theorem 4 in closed form: (2(σ_r² + σ_{r−1}²))^(−½) of U*, and 0 for r = 1.

    The paper takes it from Hoffman's error bound and says only that it depends on U*: the distance of E from the
    horizontal space is at most κ‖U*ᵀE − EᵀU*‖_F. Its vertical part UR has ‖UR‖² = ½Σ b_ij²/(g_i + g_j) with
    B = UᵀE − EᵀU in the eigenbasis of G = UᵀU, so the constant is attained.

    Examples
    --------
    >>> hoffman_constant(np.eye(4, 2))
    0.5
    """
    factor = as_factor(U)
    if factor.shape[1] == 1:
        return 0.0
    values = np.linalg.svd(factor, compute_uv=False)
    pair = float(values[-1] ** 2 + values[-2] ** 2)
    return 1 / sqrt(2 * pair) if pair > 0 else float("inf")


def factor_constant(norm: float, groups: int, lambda_: float, noise: float, *, steps: int | None = None) -> float:
    """The constant c₀ of Theorem 3: ‖U − U*Q‖_F ≤ (c₀/λ)‖Δ‖_F, eq. (tilde-star).

        c₀ = √(8K) (√λ + 2‖Δ‖_F^½ + ‖U*‖ + s‖U*‖(3 + (2/λ)‖Δ‖_F))

    Parameters
    ----------
    norm : float
        ‖U*‖, the spectral norm.
    groups : int
        K.
    lambda_ : float
    noise : float
        ‖Δ‖_F; ‖Δ_Ω‖_F may stand for it, as only seen entries enter the proof.
    steps : int, optional
        s, the longest path from one group to another; the paper bounds it by K, the default.

    Examples
    --------
    >>> factor_constant(1.0, 2, 1.0, 0.0)
    32.0
    """
    _at_least_zero(noise, "noise")
    if not lambda_ > 0:
        return float("inf")
    s = groups if steps is None else steps
    return sqrt(8 * groups) * (sqrt(lambda_) + 2 * sqrt(noise) + norm + s * norm * (3 + 2 * noise / lambda_))


def error_constant(norm: float, groups: int, lambda_: float, noise: float, *, steps: int | None = None) -> float:
    """The constant c of Theorem 3: ‖UUᵀ − M*‖_F ≤ (c/λ)‖Δ‖_F with c = c₀(2‖U*‖ + (c₀/λ)‖Δ‖_F).

    Printed in eq. (c depe): (c₀/λ)(2‖U*‖ + (c₀/λ)‖Δ‖_F)‖Δ‖_F, with one 1/λ and one ‖Δ‖_F more than the last line of
    the proof, which the theorem multiplies in again. Parameters as for :func:`factor_constant`.

    Examples
    --------
    >>> error_constant(1.0, 2, 1.0, 0.0)
    64.0
    """
    first = factor_constant(norm, groups, lambda_, noise, steps=steps)
    return first * (2 * norm + first * noise / lambda_) if isfinite(first) else float("inf")


@dataclass(frozen=True)
class NoisyBounds:
    """Everything Theorems 3 and 4 say about one planted factor and one noise.

    Attributes
    ----------
    noise : float
        ‖Δ‖_F (or ‖Δ_Ω‖_F).
    c0, c, c0_tilde, kappa : float
        The constants; c̃₀ is c₀ at the largest noise Theorem 4 allows, ‖Δ‖_F = γ/8, rounded up.
    factor_error : float
        (c₀/λ)‖Δ‖_F, bounds min_Q ‖U − U*Q‖_F of every global solution U (Theorem 3's proof).
    error : float
        (c/λ)‖Δ‖_F, bounds ‖UUᵀ − M*‖_F (Theorem 3).
    limits : tuple of three floats
        What ‖Δ‖_F may not exceed in Theorem 4, eq. (noise-upperbound).
    gamma_hat : float
        A lower bound of γ̂, the curvature at U: (√γ − (2c̃₀/λ)(1 + κ(√γ + 2‖U*‖))‖Δ‖_F)²; at least γ/4 within the limit.
    hessian : float
        γ/8 − ‖Δ‖_F, below every eigenvalue of Hess F([U]) within the limit (Theorem 4).
    """

    noise: float
    gamma: float
    lambda_: float
    c0: float
    c: float
    c0_tilde: float
    kappa: float
    factor_error: float
    error: float
    limits: tuple[float, float, float]
    gamma_hat: float
    hessian: float

    @property
    def noise_limit(self) -> float:
        """The largest ‖Δ‖_F of which Theorem 4 speaks."""
        return min(self.limits)

    @property
    def applies(self) -> bool:
        """Whether Theorem 4 speaks of this noise."""
        return self.noise <= self.noise_limit


def noisy_bounds(
    U: ArrayLike,
    groups: int,
    lambda_: float,
    gamma: float,
    noise: float,
    *,
    steps: int | None = None,
) -> NoisyBounds:
    """The constants and bounds of Theorems 3 and 4.

    Parameters
    ----------
    U : array of shape (n, r)
        U*.
    groups, lambda_ : int, float
        K and λ of a collection that satisfies Assumption 3 (``AssumptionReport.groups``, ``.lambda_``).
    gamma : float
        γ of U* (:func:`~unrelu._old.theory.geometry.curvature`).
    noise : float
        ‖Δ‖_F, or ‖Δ_Ω‖_F.
    steps : int, optional
        The longest path between groups (``AssumptionReport.steps``) instead of K.

    Examples
    --------
    >>> bounds = noisy_bounds(np.eye(4, 2), groups=2, lambda_=1.0, gamma=1.0, noise=1e-5)
    >>> bounds.applies, bounds.hessian == 1 / 8 - 1e-5
    (True, True)
    """
    factor = as_factor(U)
    _at_least_zero(gamma, "gamma")
    norm, kappa = float(np.linalg.norm(factor, 2)), hoffman_constant(factor)
    c0 = factor_constant(norm, groups, lambda_, noise, steps=steps)
    c = error_constant(norm, groups, lambda_, noise, steps=steps)
    if not lambda_ > 0:
        endless, never = float("inf"), (gamma / 8, 0.0, 0.0)
        bad: dict[str, Any] = dict(c0=c0, c=c, c0_tilde=endless, kappa=kappa, factor_error=endless, error=endless)
        return NoisyBounds(noise, gamma, lambda_, **bad, limits=never, gamma_hat=0.0, hessian=gamma / 8 - noise)
    s = groups if steps is None else steps
    c0_tilde = sqrt(8 * groups) * (sqrt(lambda_) + sqrt(gamma) + norm + s * norm * (3 + gamma / (4 * lambda_)))
    turn = 1 + kappa * (sqrt(gamma) + 2 * norm)
    limits = (
        gamma / 8,
        lambda_ * sqrt(lambda_) / (4 * (sqrt(lambda_) + sqrt(gamma) + norm)),
        lambda_ * sqrt(gamma) / (4 * c0_tilde * turn),
    )
    root = sqrt(gamma) - 2 * c0_tilde / lambda_ * turn * noise
    return NoisyBounds(
        noise=noise,
        gamma=gamma,
        lambda_=lambda_,
        c0=c0,
        c=c,
        c0_tilde=c0_tilde,
        kappa=kappa,
        factor_error=c0 / lambda_ * noise,
        error=c / lambda_ * noise,
        limits=limits,
        gamma_hat=max(root, 0.0) ** 2,
        hessian=gamma / 8 - noise,
    )


def convexity_radius(U: ArrayLike, gamma: float) -> float:
    """A distance from [U*] within which F, without noise, is strongly convex on the quotient.

    The paper says "in a neighbourhood" and stops at the point itself; the steps of Theorem 4's proof give one. At
    distance ρ the Hessian is at least ½(√γ − 2ρ(1 + κ(√γ + 2‖U*‖)))² − ρ(2‖U*‖ + ρ) on unit horizontal vectors, and
    this returns the ρ at which that is zero.

    Examples
    --------
    >>> 0 < convexity_radius(np.eye(4, 2), 1.0) < 0.2
    True
    """
    factor = as_factor(U)
    _at_least_zero(gamma, "gamma")
    norm, kappa = float(np.linalg.norm(factor, 2)), hoffman_constant(factor)
    # ½(g − 2tρ)² = ρ(2b + ρ), the smaller root; beyond ρ = g/2t the square says nothing.
    g, t = sqrt(gamma), 1 + kappa * (sqrt(gamma) + 2 * norm)
    a2, a1, a0 = 2 * t * t - 1, -(2 * t * g + 2 * norm), g * g / 2
    return 2 * a0 / (-a1 + sqrt(max(a1 * a1 - 4 * a2 * a0, 0.0))) if gamma else 0.0


def _at_least_zero(value: float, name: str) -> float:
    if not (isfinite(value) and value >= 0):
        raise InputError(f"{name} must be a finite number of at least 0, got {value!r}")
    return value
