"""Stress matrices: symmetric S supported on the seen pairs with SU = 0.

Stresses of U and of D U T (D diagonal, T invertible) correspond to each other, so U is first brought to rows of unit
length and orthonormal columns: what is left of ill-conditioning is the pattern's own.

- **Random stress** (Singer and Cucuringu 2010): a random symmetric matrix supported on the pattern, projected onto
  {SU = 0}. For generic U every other solution U′ has its columns in the kernel of S; rank n − r means U′ = UA.
- **PSD stress** (Laurent and Varvitsiotis 2014; Connelly and Gortler 2018): if S ⪰ 0 has rank n − r and no symmetric
  Φ ≠ 0 has u_iᵀΦu_j = 0 on the pattern, UUᵀ is the only positive semidefinite matrix of *any* rank that agrees. It
  says nothing of matrices that are not semidefinite. In floating point it bounds how far such a matrix may be from
  UUᵀ, see :meth:`Stresses.reach`.
- **Local**: D with (UDᵀ + DUᵀ)_Ω = 0 beyond rotations. Projecting one random direction finds every row that can move.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    STRESS_CONIC,
    STRESS_INVERTIBLE,
    STRESS_KERNEL,
    STRESS_LOOSE,
    STRESS_MOTIONLESS,
    STRESS_NONE,
    STRESS_POSITIVE,
    STRESS_REACH,
    STRESS_ROUNDING,
    STRESS_TIGHT,
    STRESS_VIOLATED,
)
from unrelu._old.placing.attach import normal_matrices

__all__ = ["MOST_ROWS", "PSDStress", "Stresses"]

# The tests with dense matrices stop here.
MOST_ROWS = 3000
# Conjugate gradients on singular but consistent equations: most steps.
MOST_STEPS = 4000
# Random stresses drawn, of few rows: bad luck makes a kernel larger, never smaller.
DRAWS, FEW = 3, 100
# Most numbers in a factor whose equations of small motions are decomposed.
MOST_RANKED = 200
# The search for a positive semidefinite stress: most rounds, the share of the mean eigenvalue to which small ones are
# raised, and over-relaxation.
ROUNDS, RAISED, RELAXED = 400, 0.05, 1.7
# It has stalled when the least eigenvalue is still at this share of what it was so many rounds ago.
STALLED, PATIENCE = 0.9, 20


@dataclass(frozen=True)
class PSDStress:
    """A positive semidefinite stress of rank n − r.

    Attributes
    ----------
    least, error : float
        Its (r+1)-th eigenvalue, of largest 1, and ‖SU‖.
    rounds : int
    reach : float
        How far a positive semidefinite matrix that agrees may be from UUᵀ, row by row, as a share of the row's norm.
    """

    least: float
    error: float
    rounds: int
    reach: float = np.inf


class Stresses:
    """The stresses of a factor on a pattern.

    Parameters
    ----------
    mask : symmetric boolean array of shape (m, m)
    factor : ndarray of shape (m, r)
        Of rank r, no row zero.
    """

    def __init__(self, mask: Bools, factor: Floats) -> None:
        self.mask = mask.astype(np.float64)
        U, scale = factor, np.ones(len(factor))
        for _ in range(3):
            sizes = np.linalg.norm(U, axis=1)
            scale = scale / sizes
            U, _ = np.linalg.qr(U / sizes[:, None])
        self.U = U
        self.scaled = factor * scale[:, None]  # U = scaled @ T for some T
        self.scale = scale
        self.size, self.rank = U.shape

    @cached_property
    def _inverse_blocks(self) -> Floats:
        """Of the r×r diagonal blocks of the normal operator: a preconditioner that sees each row's own pattern."""
        own = np.einsum("ia,ib->iab", self.U, self.U) * np.diag(self.mask)[:, None, None]
        blocks = normal_matrices(self.mask, self.U) + own
        scale = np.trace(blocks, axis1=1, axis2=2)[:, None, None] / self.rank
        return np.linalg.inv(blocks + (STRESS_INVERTIBLE * scale + 1e-300) * np.eye(self.rank))

    def normal(self, D: Floats) -> Floats:
        """(UDᵀ + DUᵀ)_Ω U: twice the map S ↦ SU after its adjoint, and the Gauss–Newton product."""
        L = self.U @ D.T
        L += L.T
        L *= self.mask
        return L @ self.U

    def solve(
        self, B: Floats, tight: float = STRESS_TIGHT, start: Floats | None = None, rounding: float = 0.0
    ) -> Floats:
        """Least-squares Y with normal(Y) = B, by preconditioned conjugate gradients; B in the range up to rounding."""
        Y = np.zeros_like(B) if start is None else start.copy()
        R = B if start is None else B - self.normal(Y)
        aim = max(tight * float(np.linalg.norm(B)), rounding)
        Z = np.einsum("iab,ib->ia", self._inverse_blocks, R)
        P, rho = Z, float(np.vdot(R, Z))
        for _ in range(MOST_STEPS):
            checkpoint()
            if float(np.linalg.norm(R)) <= aim or rho <= 0:
                break
            NP = self.normal(P)
            curvature = float(np.vdot(P, NP))
            if curvature <= 0:
                break
            step = rho / curvature
            Y = Y + step * P
            R = R - step * NP
            Z = np.einsum("iab,ib->ia", self._inverse_blocks, R)
            rho, before = float(np.vdot(R, Z)), rho
            P = Z + (rho / before) * P
        return Y

    def project(self, S: Floats, tight: float = STRESS_TIGHT, start: Floats | None = None) -> tuple[Floats, Floats]:
        """The nearest stress to a symmetric S, and the multipliers that lead there."""
        S = S * self.mask
        Y = self.solve(S @ self.U, tight, start, STRESS_ROUNDING * float(np.linalg.norm(S)))
        correction = self.U @ Y.T
        correction += correction.T
        return S - correction * self.mask, Y

    def motion(self, rng: np.random.Generator) -> Floats:
        """A random direction D with (UDᵀ + DUᵀ)_Ω = 0: it moves every row that can move, rotations included."""
        D = rng.standard_normal(self.U.shape) / np.sqrt(self.size)
        return D - self.solve(self.normal(D))

    def kernel(self, rng: np.random.Generator) -> Floats:
        """The kernel of a random stress: orthonormal columns, at least r of them; the least of a few where cheap."""
        return min((self._kernel(rng) for _ in range(DRAWS if self.size <= FEW else 1)), key=lambda V: V.shape[1])

    def _kernel(self, rng: np.random.Generator) -> Floats:
        S = rng.standard_normal((self.size, self.size))
        stress, _ = self.project(S + S.T)
        values, vectors = np.linalg.eigh(stress)
        largest = float(np.abs(values).max())
        zero = np.abs(values) <= STRESS_KERNEL * largest
        if largest <= STRESS_NONE or zero.sum() < self.rank:
            zero = np.ones(self.size, dtype=bool)  # no stress at all
        return vectors[:, zero]

    def regular(self, rng: np.random.Generator) -> bool:
        """Whether the equations of small motions have the rank here that they have at random rows.

        Less means a special position: rows that repeat each other, vanish or lie in a common plane. Theorems about
        general position then say nothing. False as well where there are too many rows to look.
        """
        if self.size * self.rank > MOST_RANKED:
            return False
        rows, cols = np.nonzero(np.triu(self.mask))
        ranks = []
        for U in (self.scaled, rng.standard_normal(self.U.shape)):
            units = U / np.linalg.norm(U, axis=1, keepdims=True)
            equations = np.zeros((len(rows), self.size, self.rank))
            each = np.arange(len(rows))
            equations[each, rows] += units[cols]
            equations[each, cols] += units[rows]
            values = np.linalg.svd(equations.reshape(len(rows), -1), compute_uv=False)
            ranks.append(int(np.sum(values > STRESS_MOTIONLESS * max(float(values.max(initial=0.0)), 1e-300))))
        return ranks[0] == ranks[1]

    def positive(self, error: Floats, rng: np.random.Generator, rounds: int = ROUNDS) -> PSDStress | None:
        """A positive semidefinite stress of rank n − r, by alternating projections; None if none was found.

        Parameters
        ----------
        error : ndarray of shape (m, m)
            By how much a matrix that agrees with the data may differ from that of the factor, where seen.
        rng : Generator
        rounds : int
        """
        complement = np.eye(self.size) - self.U @ self.U.T
        S, Y = self.project(complement, STRESS_LOOSE)
        path: list[float] = []
        for count in range(rounds):
            checkpoint()
            values, vectors = np.linalg.eigh(S)
            beyond = self._beyond(vectors)
            if not values[beyond].max() > 0:
                return None  # no stress at all
            path.append(float(values[beyond].min() / values[beyond].max()))
            if path[-1] > 2 * STRESS_POSITIVE:
                return self._checked(S, count, error, rng)
            if count >= 3 * PATIENCE and path[-1] < STALLED * path[-1 - PATIENCE]:
                return None  # negative, and hardly rising
            missing = np.where(beyond, np.maximum(RAISED * values[beyond].mean() - values, 0), 0)
            low = missing > 0
            lifted = S + RELAXED * (vectors[:, low] * missing[low]) @ vectors[:, low].T
            S, Y = self.project(lifted, STRESS_LOOSE, Y)
        return None

    def _beyond(self, vectors: Floats) -> Bools:
        """Eigenvectors that are not those of the kernel spanned by U."""
        inside = np.linalg.norm(self.U.T @ vectors, axis=0)
        beyond = np.ones(self.size, dtype=bool)
        beyond[np.argsort(-inside)[: self.rank]] = False
        return beyond

    def _checked(self, S: Floats, rounds: int, error: Floats, rng: np.random.Generator) -> PSDStress | None:
        """Project once more to rounding, and measure what is left."""
        S, _ = self.project(S)
        S, _ = self.project(S)
        values, vectors = np.linalg.eigh(S)
        beyond = values[self._beyond(vectors)]
        violated = float(np.linalg.norm(S @ self.U))
        least, largest = float(beyond.min()), float(beyond.max())
        if least <= STRESS_POSITIVE * largest or violated >= STRESS_VIOLATED * largest:
            return None
        reach = self.reach(S, least, violated, error, self.conic_strength(rng))
        return PSDStress(least / largest, violated / largest, rounds, reach) if reach <= STRESS_REACH else None

    def reach(self, S: Floats, least: float, violated: float, error: Floats, conic: float) -> float:
        """How far a positive semidefinite N that agrees may be from N₀ = UUᵀ, as a share of the norm of the least row.

        Rows and columns scaled, with Q orthonormal of the range of N₀, Y = QᵀNQ and P the projection beyond Q:

            least · tr PNP ≤ ⟨S, N⟩ + … ≤ Σ |S_ij| error_ij + 7 ‖SQ‖ tr Y₀ =: t,
            ‖N − QYQᵀ‖ ≤ (2 ‖Y‖₂ tr PNP)^½ + tr PNP,      conic · ‖Y − Y₀‖ ≤ ‖N − QYQᵀ‖ + ‖error‖,

        while ‖Y‖ ≤ 2‖Y₀‖ and tr Y ≤ 2 tr Y₀; and if that leaves Y well inside these limits no N lies beyond them, for
        all N that agree form a convex set.
        """
        if conic <= 0 or least <= 6 * violated:
            return np.inf
        scaled = np.where(self.mask > 0, error, 0) * np.outer(self.scale, self.scale)
        Y = self.U.T @ self.scaled
        sizes = np.linalg.svd(Y, compute_uv=False) ** 2  # eigenvalues of Y₀
        trace = float(sizes.sum())
        beyond = (float(np.sum(np.abs(S) * scaled)) + 7 * violated * trace) / (least - 3 * violated)
        apart = float(np.sqrt(4 * sizes[0] * beyond)) + beyond
        inside = (apart + float(np.linalg.norm(scaled))) / conic
        if np.sqrt(self.rank) * inside > sizes[0]:
            return np.inf
        rows = np.linalg.norm(self.scaled @ self.scaled.T, axis=1)
        return float((inside + apart) / rows.min())

    def conic_strength(self, rng: np.random.Generator, inside: Bools | None = None) -> float:
        """Min ‖(QΦQᵀ)_Ω‖_F over symmetric Φ of unit norm, Q orthonormal: U′ = UA agrees only for orthogonal A if > 0.

        From a sample of the pattern where that is large, which can only make it less; 0 if it is zero to rounding.
        """
        mask, Q = self.mask > 0, self.U
        if inside is not None:
            axes, values, _ = np.linalg.svd(Q[inside], full_matrices=False)
            mask, Q = (
                mask[np.ix_(inside, inside)],
                axes[:, values > STRESS_CONIC * values[0]],
            )  # they may not span the space
        rank = Q.shape[1]
        rows, cols = np.nonzero(np.triu(mask))
        unknowns = rank * (rank + 1) // 2
        if len(rows) < unknowns:
            return 0.0
        if len(rows) > 3 * unknowns + 50:
            some = rng.choice(len(rows), 3 * unknowns + 50, replace=False)
            rows, cols = rows[some], cols[some]
        i, j = np.triu_indices(rank)
        equations = Q[rows][:, i] * Q[cols][:, j] + Q[rows][:, j] * Q[cols][:, i]
        equations *= np.where(i == j, 0.5, np.sqrt(0.5))  # coordinates of Φ of the same norm
        equations *= np.where(rows == cols, 1.0, np.sqrt(2))[:, None]  # (i, j) and (j, i)
        values = np.linalg.eigvalsh(equations.T @ equations)
        return float(np.sqrt(values[0])) if values[0] > STRESS_CONIC**2 * values[-1] else 0.0
