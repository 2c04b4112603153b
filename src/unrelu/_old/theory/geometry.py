"""The quotient of factors by rotations: vertical and horizontal space, gradient, Hessian, and the curvature γ.

F(UQ) = F(U) for every orthogonal Q, so F lives on the classes [U] = {UQ}, eq. (mani). The paper calls them a manifold;
they are one on the factors of full rank only, and everything here that needs that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import (
    GEOMETRY_INVERTIBLE,
    GEOMETRY_NEW,
    GEOMETRY_RESIDUAL,
    GEOMETRY_SAME,
    GEOMETRY_ZERO,
)
from unrelu._old.data.observations import Observations
from unrelu._old.model.factors import align
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.theory.pattern import Mask, Pattern, as_factor, own_generator

__all__ = [
    "Curvature",
    "Landscape",
    "aligned_direction",
    "curvature",
    "horizontal_part",
    "lift",
    "quotient_distance",
    "vertical_basis",
    "vertical_part",
    "vertical_rotation",
]

Apply = Callable[[Floats], Floats]

# The iteration starts from this many random vectors: with one, a start orthogonal to the answer would mislead it.
STARTS = 4
# The basis grows to so many vectors and is then cut to the best few.
MOST_BASIS = 40
KEPT = 8
MOST_ITERATIONS = 500


def vertical_rotation(U: ArrayLike, D: ArrayLike) -> Floats:
    """The skew R for which UR is the vertical part of D: GR + RG = UᵀD − DᵀU with G = UᵀU.

    The paper only asserts that a projection exists (Hoffman's bound, eq. (hoffman)); this is its closed form. In the
    eigenbasis of G, R_ij = (UᵀD − DᵀU)_ij / (g_i + g_j).

    Parameters
    ----------
    U, D : array of shape (n, r)

    Returns
    -------
    ndarray of shape (r, r)

    Examples
    --------
    >>> U = np.eye(3, 2)
    >>> R = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> bool(np.allclose(vertical_rotation(U, U @ R), R))
    True
    """
    factor, direction = as_factor(U), _direction(D, U)
    g, V = np.linalg.eigh(factor.T @ factor)
    product = factor.T @ direction
    sums = g[:, None] + g
    # Where g_i + g_j = 0 the columns of UV are zero, and so is their share of UR whatever R is.
    inverse = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > GEOMETRY_ZERO * g[-1])
    return V @ ((V.T @ (product - product.T) @ V) * inverse) @ V.T


def vertical_part(U: ArrayLike, D: ArrayLike) -> Floats:
    """The orthogonal projection of D onto the vertical space {UR : R + Rᵀ = 0}, eq. (defi:verticalspace)."""
    return as_factor(U) @ vertical_rotation(U, D)


def horizontal_part(U: ArrayLike, D: ArrayLike) -> Floats:
    """The orthogonal projection of D onto the horizontal space {D : UᵀD = DᵀU}, eq. (defi:horizontalspace).

    Examples
    --------
    >>> U, D = np.eye(3, 2), np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 1.0]])
    >>> horizontal_part(U, D)
    array([[0., 1.],
           [1., 0.],
           [1., 1.]])
    """
    return _direction(D, U) - vertical_part(U, D)


def vertical_basis(U: ArrayLike) -> Floats:
    """An orthonormal basis of the vertical space, shape (r(r − 1)/2, n, r), for U of rank at least r − 1.

    With UᵀU = VGVᵀ its members are U(v_i v_jᵀ − v_j v_iᵀ)/√(g_i + g_j), i < j.

    Examples
    --------
    >>> vertical_basis(np.eye(4, 3)).shape
    (3, 4, 3)
    """
    factor = as_factor(U)
    g, V = np.linalg.eigh(factor.T @ factor)
    i, j = np.triu_indices(factor.shape[1], 1)
    if len(i) and not g[0] + g[1] > GEOMETRY_ZERO * g[-1]:
        raise InputError(f"U must have rank at least r − 1 = {factor.shape[1] - 1} for all rotations to move it")
    rotations = np.einsum("ak,bk->kab", V[:, i], V[:, j])
    rotations = rotations - rotations.transpose(0, 2, 1)
    return np.einsum("na,kab->knb", factor, rotations) / np.sqrt(g[i] + g[j])[:, None, None]


def lift(U: ArrayLike, D: ArrayLike, at: ArrayLike | None = None) -> Floats:
    """lift_U(ξ): the one horizontal vector at U that stands for the tangent vector ξ at [U].

    ξ is given by any direction D at any member ``at`` = UQ of the class; D is carried to U by Qᵀ and its vertical part,
    which moves nothing on the quotient, is dropped.

    Parameters
    ----------
    U : array of shape (n, r)
        A factor of full rank.
    D : array of shape (n, r)
        A direction at ``at``.
    at : array of shape (n, r), optional
        A factor with at @ at.T = U @ U.T; default U.

    Raises
    ------
    InputError
        If U is not of full rank (the quotient is no manifold there), or ``at`` is not in its class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> U, D = rng.standard_normal((2, 6, 2))
    >>> Q, _ = np.linalg.qr(rng.standard_normal((2, 2)))
    >>> bool(np.allclose(lift(U, D @ Q, at=U @ Q), lift(U, D)))
    True
    """
    factor, direction = as_factor(U), _direction(D, U)
    _require_full_rank(factor)
    if at is not None:
        other = as_factor(at, "at", len(factor))
        Q = align(np.eye(factor.shape[1]), other.T @ factor)
        if not np.linalg.norm(other @ Q - factor) <= GEOMETRY_SAME * np.linalg.norm(factor):
            raise InputError("at must be U times an orthogonal matrix, that is at @ at.T must equal U @ U.T")
        direction = direction @ Q
    return horizontal_part(factor, direction)


def aligned_direction(U: ArrayLike, V: ArrayLike) -> Floats:
    """VPQᵀ − U with VᵀU = PΣQᵀ: from U to the member of [V] nearest to it; it is horizontal at U, eq. (eutus).

    Along it geodesic strong convexity is strong convexity in Euclidean space:
    ∇²F(U*)[D, D] ≥ (γ/2)‖D‖_F², eq. (strongconvex-euclidean).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> U, V = rng.standard_normal((2, 6, 2))
    >>> D = aligned_direction(U, V)
    >>> bool(np.allclose(U.T @ D, D.T @ U))
    True
    """
    factor = as_factor(U)
    return np.asarray(align(_direction(V, U, "V"), factor), np.float64) - factor


def quotient_distance(U: ArrayLike, V: ArrayLike) -> float:
    """The distance of [U] and [V], min over orthogonal Q of ‖U − VQ‖_F; for factors of any rank.

    Examples
    --------
    >>> quotient_distance([[1.0], [2.0]], [[-1.0], [-2.0]])
    0.0
    """
    return float(np.linalg.norm(aligned_direction(U, V)))


@dataclass(frozen=True, eq=False)
class Landscape:
    """F(U) = ¼‖(UUᵀ − M)_Ω‖_F² on the quotient, in the units of the data.

    Parameters
    ----------
    observations : Observations
        M_Ω; symmetric or not.
    rank : int

    Examples
    --------
    >>> from unrelu import datasets, sampling
    >>> planted = datasets.planted(40, 2, rng=0)
    >>> landscape = Landscape.of(Observations.of(sampling.relu(planted.matrix)), 2)
    >>> landscape.value(planted.factor) < 1e-20
    True
    """

    problem: PSDProblem

    @classmethod
    def of(cls, observations: Observations, rank: int) -> Landscape:
        """The paper's objective, seen entries only; in double precision whatever the data."""
        return cls(PSDProblem(observations.in_doubles.seen_only, rank))

    def _scaled(self, U: ArrayLike) -> Floats:
        return as_factor(U, "U", self.problem.size) / np.sqrt(self.problem.observations.unit)

    def value(self, U: ArrayLike) -> float:
        """F(U), eq. (MC)."""
        return self.problem.observations.unit**2 * self.problem.evaluate(self._scaled(U)).value

    def gradient(self, U: ArrayLike) -> Floats:
        """The Riemannian gradient lifted to U: ½(Z + Zᵀ)U with Z = (UUᵀ − M)_Ω; horizontal, as F is constant along [U].

        Printed in eq. (gd): (Z + Zᵀ)U, which is twice that; and in eq. (grad): ZU, right for symmetric M and Ω only.
        """
        gradient = self.problem.evaluate(self._scaled(U)).gradient
        return horizontal_part(U, gradient * self.problem.observations.unit**1.5)

    def euclidean_hessian(self, U: ArrayLike, D: ArrayLike) -> Floats:
        """∇²F(U)[D]; ⟨D, ·⟩ is ½‖(UDᵀ + DUᵀ)_Ω‖_F² + ⟨DDᵀ, (UUᵀ − M)_Ω⟩, eq. (hess:direc)."""
        point = self.problem.evaluate(self._scaled(U))
        product: Any = self.problem.hessian(point, _direction(D, U))
        return product * self.problem.observations.unit

    def hessian(self, U: ArrayLike, D: ArrayLike) -> Floats:
        """Hess F([U]) applied to ξ, lifted: the horizontal part of ∇²F(U)[lift_U(ξ)], eq. (gd Hess).

        D may be any representative of ξ at U; the quotient is a manifold only where U has full rank.
        """
        _require_full_rank(as_factor(U))
        return horizontal_part(U, self.euclidean_hessian(U, horizontal_part(U, D)))

    def steepness(self, U: ArrayLike, D: ArrayLike) -> float:
        """∇²F(U)[D, D]/‖D‖_F², to be compared with γ/2 (Theorem 2) or γ/8 − ‖Δ‖_F (Theorem 4)."""
        direction = _direction(D, U)
        size = float(np.vdot(direction, direction))
        if size == 0:
            raise InputError("D must not be zero: nothing is steep along no direction")
        return float(np.vdot(direction, self.euclidean_hessian(U, direction))) / size

    def smallest_eigenvalue(self, U: ArrayLike, rng: Any = None) -> float:
        """The smallest eigenvalue of Hess F([U]) on the horizontal space; γ/2 at the planted factor without noise."""
        factor = as_factor(U, "U", self.problem.size)
        pattern = Pattern(self.problem.observations, self.problem.kernel)
        point, unit = self.problem.evaluate(self._scaled(factor)), self.problem.observations.unit

        def apply(D: Floats) -> Floats:
            product: Any = self.problem.hessian(point, D)
            return product * unit

        return _smallest(pattern, factor, apply, rng)[0]


@dataclass(frozen=True, eq=False)
class Curvature:
    """γ and what was learnt on the way.

    Attributes
    ----------
    gamma : float
        min ‖(UDᵀ + DUᵀ)_Ω‖_F² over horizontal D of norm 1, eq. (gamma).
    direction : ndarray of shape (n, r)
        The D at which it is attained: what the seen entries tell least about.
    residual : float
        ‖(φ*φ − γ)D‖_F on the horizontal space; some eigenvalue is within it of γ.
    rounding : float
        Below this γ is zero to the precision of the arithmetic.
    """

    gamma: float
    direction: Floats
    residual: float
    rounding: float

    @property
    def positive(self) -> bool:
        """Whether F is strongly convex at [U] (Theorem 2): the seen entries fix UUᵀ locally."""
        return self.gamma > self.rounding + self.residual


def curvature(mask: Mask, U: ArrayLike, rng: Any = None) -> Curvature:
    """γ = min ‖(UDᵀ + DUᵀ)_Ω‖_F² over horizontal D with ‖D‖_F = 1, eq. (gamma), by Davidson's method on the operator.

    The square is the theorem's; the paper's discussion prints ``min ‖φ(D)‖_F``. It also prints that S⊥ is the kernel of
    φ; S is. At a global solution of the noisy problem the same number is γ̂ of Theorem 4, eq. (defi:tildegamma).
    Nothing larger than a few factors is formed beyond the pattern itself.

    Parameters
    ----------
    mask : boolean array of shape (n, n), Observations or Pattern
        Ω.
    U : array of shape (n, r)
        A factor of full rank.
    rng : int, Generator or None
        For the start of the iteration; None is a fixed start.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((50, 2))
    >>> found = curvature(U @ U.T >= 0, U)
    >>> found.positive, bool(2 < found.gamma < 30)
    (True, True)
    >>> curvature(np.eye(50, dtype=bool), U).positive
    False
    """
    pattern = Pattern.of(mask)
    factor = as_factor(U, "U", pattern.size)
    half, direction, residual, scale = _smallest(pattern, factor, lambda D: pattern.gram(factor, D), rng)
    return Curvature(max(2 * half, 0.0), direction, 2 * residual, 2 * GEOMETRY_ZERO * scale)


def _smallest(pattern: Pattern, U: Floats, apply: Apply, rng: Any) -> tuple[float, Floats, float, float]:
    """Smallest eigenvalue of a symmetric operator on the horizontal space, its vector, residual and the scale.

    Davidson's method: a basis grows by preconditioned residuals of the two lowest Ritz vectors and is cut to a few when
    it is full. Unlike LOBPCG it does not break down where a row sees too little and its block is singular, which is
    where γ is zero.
    """
    _require_full_rank(U)
    n, r = U.shape
    blocks = pattern.row_blocks(U)
    # ½φ*φ is at most 2‖U‖².
    scale = 2 * float(np.linalg.norm(U, 2)) ** 2
    inverse = np.linalg.inv(blocks + GEOMETRY_INVERTIBLE * scale * np.eye(r))

    def operator(x: Floats) -> Floats:
        return horizontal_part(U, apply(x.reshape(n, r))).ravel()

    def precondition(x: Floats) -> Floats:
        return np.einsum("iab,ib->ia", inverse, x.reshape(n, r)).ravel()

    generator = own_generator(rng)
    basis, images = np.zeros((0, n * r)), np.zeros((0, n * r))
    wanted: Floats = generator.standard_normal((STARTS, n * r))
    for _ in range(MOST_ITERATIONS):
        added = 0
        for x in wanted:
            direction = _orthogonal_to(basis, horizontal_part(U, x.reshape(n, r)).ravel())
            if direction is not None:
                basis = np.vstack([basis, direction])
                images = np.vstack([images, operator(direction)])
                added += 1
        projected = basis @ images.T
        values, mixtures = np.linalg.eigh((projected + projected.T) / 2)
        lowest = mixtures[:, :2].T
        residuals = lowest @ images - values[: len(lowest), None] * (lowest @ basis)
        size = float(np.linalg.norm(residuals[0]))
        # Where nothing was left to add, the basis spans the horizontal space.
        if size <= GEOMETRY_RESIDUAL * scale or not added:
            break
        wanted = np.array([precondition(residual) for residual in residuals])
        if len(basis) + len(wanted) > MOST_BASIS:
            basis, images = mixtures[:, :KEPT].T @ basis, mixtures[:, :KEPT].T @ images
            mixtures = np.eye(KEPT)
    x = mixtures[:, 0] @ basis
    return float(values[0]), x.reshape(n, r), size, scale


def _orthogonal_to(basis: Floats, x: Floats) -> Floats | None:
    """The part of a vector that is new to an orthonormal basis, of length 1; None if there is none."""
    for _ in range(2):  # twice is enough
        before = float(np.linalg.norm(x))
        x = x - basis.T @ (basis @ x)
        length = float(np.linalg.norm(x))
        if not length > GEOMETRY_NEW * before:
            return None
        x = x / length
    return x


def _direction(D: ArrayLike, U: ArrayLike, name: str = "D") -> Floats:
    direction = np.asarray(D, dtype=np.float64)
    if direction.shape != np.shape(U):
        raise InputError(f"{name} must have the shape of U, {np.shape(U)}, got {direction.shape}")
    return direction


def _require_full_rank(U: Floats) -> None:
    values = np.linalg.svd(U, compute_uv=False)
    if not values[-1] > GEOMETRY_ZERO * values[0]:
        raise InputError(
            f"U must have full rank {U.shape[1]} for its class to lie on a manifold, got singular values from "
            f"{values[0]:.3g} down to {values[-1]:.3g}; lower the rank"
        )
