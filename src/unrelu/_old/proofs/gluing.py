"""Two groups that each have one place, and whether one rotation only fits between them.

Rows i of A and j of B in frames that differ by an orthogonal Q obey ⟨x_i y_jᵀ, Q⟩ = m_ij for every entry seen between
them, and ⟨e_a y_kᵀ, Q⟩ = (x_k)_a for every row k they share. With Q₀ = I in the frame at hand, Q₀ is the only
orthogonal solution if the span of these matrices contains a symmetric positive definite S: for orthogonal Q,
⟨S, I − Q⟩ = ½⟨S, (I − Q)ᵀ(I − Q)⟩ > 0 unless Q = I. That is weaker than the paper's spanning condition (all r²
directions) and than its Assumption 3(d), which it names as open. Where the shared rows span all directions but one, two
rotations are left, the identity and a reflection, and an entry between the groups, or its absence, may rule out the
second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.tolerances import (
    GLUING_COMBINED,
    GLUING_EIGENVALUE,
    GLUING_KNOWN,
    GLUING_LEAST,
    GLUING_RANK_TOLERANCE,
    GLUING_SINGULAR,
)
from unrelu._old.data.observations import Observations
from unrelu._old.proofs.direct import DataError, Group

__all__ = ["Glue", "glue", "polar_matrix", "ruled_out"]

# Equations beyond this multiple of r² add nothing.
EQUATIONS = 6
# Steps of the search for a positive definite matrix, and singular values that count as zero.
STEPS = 300


@dataclass(frozen=True)
class Glue:
    """How two groups were joined, ``polar`` or ``reflection`` (ruled out), and ‖Q − I‖_F of the rotation at most."""

    kind: str
    error: float


@dataclass(frozen=True, eq=False)
class _Equations:
    matrices: Floats  # (K, r, r), each of unit norm
    error: Floats  # (K,) |⟨A_k, I − Q⟩| at most, for the true rotation Q and the matrices at hand


def glue(
    observations: Observations,
    factor: Floats,
    error: DataError,
    first: Group,
    second: Group,
    rng: np.random.Generator,
) -> Glue | None:
    """Whether one rotation only fits between two groups, by which proof; None if that is not proved."""
    equations = _equations(observations, factor, error, first, second, rng)
    turned = _polar(equations, factor.shape[1])
    if turned is not None:
        return Glue("polar", turned)
    return _reflection(observations, factor, error, first, second)


def _equations(
    observations: Observations,
    factor: Floats,
    error: DataError,
    first: Group,
    second: Group,
    rng: np.random.Generator,
) -> _Equations:
    rank = factor.shape[1]
    sizes = np.linalg.norm(factor, axis=1)
    shared = np.flatnonzero(first.inside & second.inside & (sizes > 0))
    shared = shared[np.argsort((first.bound + second.bound)[shared] / sizes[shared])][: 4 * rank]
    units = factor[shared] / sizes[shared, None]
    own = np.einsum("ab,kc->kabc", np.eye(rank), units).reshape(-1, rank, rank)
    own_error = np.repeat((first.bound + second.bound)[shared] / sizes[shared], rank)
    rows, cols = first.rows[sizes[first.rows] > 0], second.rows[sizes[second.rows] > 0]
    values, seen = observations.pairs(rows, cols)
    # Entries inside one group say nothing of the rotation.
    seen &= ~(second.inside[rows][:, None] | first.inside[cols][None, :])
    places = np.argwhere(seen)
    if len(places) > EQUATIONS * rank**2:
        places = places[np.sort(rng.choice(len(places), EQUATIONS * rank**2, replace=False))]
    i, j = rows[places[:, 0]], cols[places[:, 1]]
    scale = sizes[i] * sizes[j]
    across = np.einsum("ka,kb->kab", factor[i], factor[j]) / scale[:, None, None]
    gap = np.abs(error.gap(np.einsum("ka,ka->k", factor[i], factor[j]) - values[places[:, 0], places[:, 1]]))
    moved = (first.bound[i] / sizes[i] + second.bound[j] / sizes[j]) * 1.01
    noise = (error.absolute + error.relative * scale) / scale
    return _Equations(
        np.concatenate([own, across]),
        np.concatenate([own_error, gap / scale + moved + noise]),
    )


def _polar(equations: _Equations, rank: int) -> float | None:
    """‖I − Q‖_F of the true rotation, if the polar condition proves that there is one."""
    A = equations.matrices.reshape(len(equations.matrices), rank * rank)
    if len(A) == 0:
        return None
    S = polar_matrix(equations.matrices)
    if S is None:
        return None
    # With S = Σ c_k A_k up to rounding, ½ least ‖I − Q‖² ≤ ⟨S, I − Q⟩ ≤ Σ |c_k| error_k + off ‖I − Q‖.
    c, *_ = np.linalg.lstsq(A.T, S.ravel(), rcond=GLUING_COMBINED)
    off = float(np.linalg.norm(A.T @ c - S.ravel()))
    least = float(np.linalg.eigvalsh(S)[0]) - GLUING_EIGENVALUE * rank
    if least <= 0:
        return None
    distance = (off + float(np.sqrt(off**2 + 2 * least * (np.abs(c) @ equations.error)))) / least
    if rank == 1:  # Q = ±1: a distance below 2 is none
        return 0.0 if distance < 1 else None
    distance = _refined(distance, equations)
    return distance if distance <= GLUING_KNOWN else None


def _refined(distance: float, equations: _Equations) -> float:
    """From Q = exp(K), K skew: weakest · ‖K‖ ≤ violation + size · ‖K‖² once ‖K‖ is small.

    Equations that only see the square of a rotation, such as those of symmetric matrices, leave the distance as it is.
    """
    if distance > 0.3:
        return distance
    rank, size = equations.matrices.shape[1], float(np.sqrt(len(equations.error)))
    strength = np.linalg.svd(_skew_part(equations.matrices), compute_uv=False)
    needed = rank * (rank - 1) // 2
    weakest = float(strength[needed - 1]) - GLUING_SINGULAR * size if len(strength) >= needed else 0.0
    if weakest <= 0:
        return distance
    violation = float(np.linalg.norm(equations.error))
    K = 1.1 * distance
    for _ in range(4):
        K = min(K, (violation + size * K**2) / weakest)
    return min(distance, 1.1 * K)


def polar_matrix(matrices: Floats) -> Floats | None:
    """A symmetric positive definite matrix of largest eigenvalue 1 in the span of some matrices, or None.

    Alternating projections between the symmetric matrices of the span and those with eigenvalues of at least one.

    Parameters
    ----------
    matrices : ndarray of shape (K, r, r)

    Examples
    --------
    >>> polar_matrix(np.array([[[1.0, 0.0], [0.0, 0.0]]])) is None    # one direction cannot be enough
    True
    >>> x, y = np.array([1.0, 0.2]), np.array([0.1, 1.0])
    >>> S = polar_matrix(np.array([np.outer(x, x), np.outer(y, y)]))
    >>> bool(np.linalg.eigvalsh(S)[0] > 0.1)
    True
    """
    count, rank, _ = matrices.shape
    _, sizes, axes = np.linalg.svd(matrices.reshape(count, rank * rank), full_matrices=False)
    axes = axes[sizes > GLUING_RANK_TOLERANCE * sizes[0]]
    skew = _skew_part(axes.reshape(-1, rank, rank))  # (skew directions, basis)
    if skew.shape[0]:
        _, values, right = np.linalg.svd(skew, full_matrices=True)
        zero = np.ones(len(axes), dtype=bool)
        zero[: len(values)] = values <= GLUING_RANK_TOLERANCE
        basis = right[zero] @ axes
    else:
        basis = axes
    if len(basis) == 0:
        return None
    S = (basis.T @ (basis @ np.eye(rank).ravel())).reshape(rank, rank)
    for _ in range(STEPS):
        values, vectors = np.linalg.eigh((S + S.T) / 2)
        if values[-1] > 0 and values[0] > 0.1 * values[-1]:
            break
        lifted = (vectors * np.maximum(values, 1.0)) @ vectors.T
        S = (basis.T @ (basis @ lifted.ravel())).reshape(rank, rank)
    values = np.linalg.eigvalsh((S + S.T) / 2)
    if values[0] <= GLUING_LEAST * values[-1]:
        return None
    return (S + S.T) / (2 * values[-1])


def _skew_part(matrices: Floats) -> Floats:
    """Coordinates of the skew-symmetric parts: one column per matrix, √2 times the upper triangle of (A − Aᵀ)/2."""
    rank = matrices.shape[1]
    i, j = np.triu_indices(rank, 1)
    return ((matrices[:, i, j] - matrices[:, j, i]) / np.sqrt(2)).T


def _reflection(
    observations: Observations, factor: Floats, error: DataError, first: Group, second: Group
) -> Glue | None:
    """Shared rows that span all directions but one, and an entry that the reflection would contradict."""
    rank = factor.shape[1]
    shared = np.flatnonzero(first.inside & second.inside)
    sizes = np.linalg.norm(factor, axis=1)
    shared = shared[sizes[shared] > 0]
    normal, turn = np.ones(1), 0.0
    if rank > 1:
        if len(shared) < rank - 1:
            return None
        weights = 1 / (first.bound + second.bound)[shared]
        _, values, axes = np.linalg.svd(factor[shared] * (weights / weights.max())[:, None])
        slack = np.sqrt(len(shared)) / weights.max()
        if len(values) < rank - 1 or values[rank - 2] <= 4 * slack:
            return None
        normal = axes[-1]
        # ‖(I − Q)v‖ ≤ η = slack/value on that subspace, so Q is within 2η of the identity or of the reflection.
        turn = float(2 * slack / (values[rank - 2] - slack))
        if turn > GLUING_KNOWN:
            return None
    rows, cols = first.rows, np.setdiff1d(second.rows, first.rows)
    mirrored = factor[cols] - 2 * np.outer(factor[cols] @ normal, normal)
    room = (first.bound[rows] / np.maximum(sizes[rows], 1e-300))[:, None] + (
        second.bound[cols] / np.maximum(sizes[cols], 1e-300)
    )
    room = (room + 4 * turn) * np.outer(sizes[rows], sizes[cols]) + error.of_pairs(sizes[rows], sizes[cols])
    here = factor[rows] @ factor[cols].T
    if ruled_out(observations, rows, cols, here, here, room):  # the data contradict themselves, and prove nothing
        return None
    out = ruled_out(observations, rows, cols, here, factor[rows] @ mirrored.T, room)
    return Glue("reflection", turn) if out else None


def ruled_out(
    observations: Observations, rows: Indices, cols: Indices, here: Floats, values: Floats, room: Floats
) -> bool:
    """Whether a seen entry, or what absence says of an unseen one, contradicts these values by more than ``room``.

    What the fit itself, ``here``, leaves of a seen entry is no argument against the values.
    """
    known, seen = observations.pairs(rows, cols)
    if bool((seen & (np.abs(values - known) > 2 * room + np.abs(here - known))).any()):
        return True
    return bool((np.abs(observations.beyond(rows, cols, values, seen)) > 2 * room).any())
