"""What no unbiased method can beat: the Cramér–Rao bound of the observed model, modulo rotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError, is_number, unknown_name
from unrelu._old.theory.geometry import curvature, horizontal_part
from unrelu._old.theory.pattern import Mask, Pattern, as_factor, own_generator

__all__ = ["CramerRao", "Pairs", "cramer_rao"]

Pairs = Literal["one", "independent"]

# Up to this many unknowns nr the information matrix is decomposed; beyond, traces are sampled.
MOST_UNKNOWNS = 1200
SAMPLES = 48
# Eigenvalues of the information below this share of the largest are zero but for rounding.
ZERO = 1e-11
# Relative residual of a solve with a random right-hand side: the average over those is known to fewer digits.
SOLVED = 1e-7
# Keeps the blocks of a preconditioner invertible; the answer does not depend on it.
INVERTIBLE = 1e-10


@dataclass(frozen=True)
class CramerRao:
    """The bound on the error of the completed matrix.

    Attributes
    ----------
    error : float
        √E‖UUᵀ − M*‖_F² of an unbiased estimate that attains the bound, over all n² entries.
    relative : float
        The same over ‖M*‖_F.
    standard_error : float
        Of ``error``, where it was sampled; 0 where it was computed.
    samples : int
        0 where it was computed.
    """

    error: float
    relative: float
    standard_error: float
    samples: int


@dataclass(frozen=True, eq=False)
class _Information:
    """σ² times the Fisher information JᵀJ of the seen entries, as an operator, its diagonal blocks and as a matrix."""

    apply: Callable[[Floats], Floats]
    blocks: Floats
    weights: Callable[[], Floats]


def cramer_rao(
    mask: Mask,
    U: ArrayLike,
    sigma: float,
    pairs: str = "one",
    *,
    rng: Any = None,
    samples: int = SAMPLES,
    most_unknowns: int = MOST_UNKNOWNS,
) -> CramerRao:
    """The Cramér–Rao bound for m_ij = (UUᵀ)_ij + σ z_ij, seen on Ω, with z standard normal.

    The information of U is JᵀJ/σ²; its kernel holds at least the rotations, so the bound is of its pseudo-inverse, and
    for M = UUᵀ it is σ² tr((JᵀJ)⁺ ΦᵀΦ) with Φ(D) = UDᵀ + DUᵀ on all entries. What absence says is not used: that is
    the ``observed`` model. Where the seen entries do not fix UUᵀ, even locally, it is infinite.

    Above ``most_unknowns`` unknowns the trace is the mean of ⟨w, (JᵀJ)⁺w⟩ over Gaussian w of covariance ΦᵀΦ, one
    conjugate-gradient solve each, without any nr×nr or n×n matrix beyond the pattern.

    Parameters
    ----------
    mask : boolean array of shape (n, n), Observations or Pattern
        Ω.
    U : array of shape (n, r)
        U*, of full rank.
    sigma : float
        Standard deviation of the noise.
    pairs : {"one", "independent"}, default "one"
        Whether (i, j) and (j, i) carry one noise or two; the paper's are two.
    rng : int, Generator or None
        For sampling; None is a fixed seed.
    samples : int, default 48
    most_unknowns : int, default 1200

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((60, 2))
    >>> one, two = (cramer_rao(U @ U.T >= 0, U, 0.1, pairs).error for pairs in ("one", "independent"))
    >>> bool(1.3 < one / two < 1.5)
    True
    """
    if pairs not in ("one", "independent"):
        raise unknown_name("pairs", pairs, ["one", "independent"])
    if not is_number(sigma) or sigma < 0:
        raise InputError(f"sigma must be a finite number of at least 0, got {sigma!r}")
    if samples < 2:
        raise InputError(f"samples must be at least 2, got {samples}")
    pattern = Pattern.of(mask)
    factor = as_factor(U, "U", pattern.size)
    information = _one_noise(pattern, factor) if pairs == "one" else _independent(pattern, factor)
    G = factor.T @ factor
    size = float(np.linalg.norm(G))
    if factor.size <= most_unknowns:
        variance, spread, drawn = _exact(information, factor, G), 0.0, 0
    elif not curvature(pattern, factor).positive:
        variance, spread, drawn = float("inf"), 0.0, 0
    else:
        generator = own_generator(rng)
        found = [_sample(information, factor, generator) for _ in range(samples)]
        variance, spread, drawn = float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(samples)), samples
    error = sigma * float(np.sqrt(variance))
    return CramerRao(error, error / size, sigma * spread / (2 * float(np.sqrt(variance))) if spread else 0.0, drawn)


def _independent(pattern: Pattern, U: Floats) -> _Information:
    mask = pattern.mask
    return _Information(
        lambda D: 2 * pattern.gram(U, D), 2 * pattern.row_blocks(U), lambda: mask.astype(np.float64) + mask.T
    )


def _one_noise(pattern: Pattern, U: Floats) -> _Information:
    """A pair tells once, whether it was seen one way round or both; a diagonal entry once as well."""
    whole = pattern.either_way

    def apply(D: Floats) -> Floats:
        on_diagonal = 2 * whole.diagonal * np.einsum("ia,ia->i", U, D)
        return whole.gram(U, D) + on_diagonal[:, None] * U

    own = np.einsum("i,ia,ib->iab", 2 * whole.diagonal, U, U)
    return _Information(
        apply, whole.row_blocks(U) + own, lambda: whole.mask.astype(np.float64) + np.diag(whole.diagonal)
    )


def _exact(information: _Information, U: Floats, G: Floats) -> float:
    """The trace by a decomposition of JᵀJ: block (i, j) is w_ij u_j u_iᵀ, on the diagonal plus Σ_j w_ij u_j u_jᵀ."""
    n, r = U.shape
    weights = information.weights()
    matrix = np.einsum("ij,ja,ib->iajb", weights, U, U, optimize=True)
    sums = np.einsum("ij,ja,jb->iab", weights, U, U, optimize=True)
    matrix[np.arange(n), :, np.arange(n), :] += sums
    values, vectors = np.linalg.eigh(matrix.reshape(n * r, n * r))
    rotations = r * (r - 1) // 2
    if not values[rotations] > ZERO * values[-1]:
        return float("inf")
    directions = vectors[:, rotations:].T.reshape(-1, n, r)
    inner = np.einsum("na,knb->kab", U, directions, optimize=True)
    images = 2 * np.einsum("kna,knb,ab->k", directions, directions, G, optimize=True)
    images += 2 * np.einsum("kab,kba->k", inner, inner)
    return float(np.sum(images / values[rotations:]))


def _sample(information: _Information, U: Floats, rng: np.random.Generator) -> float:
    """⟨w, (JᵀJ)⁺w⟩ for w = (z + zᵀ)U with z standard normal, of which only zQ and zᵀQ, U = QT, are needed."""
    from scipy.sparse.linalg import LinearOperator, cg

    n, r = U.shape
    Q, T = np.linalg.qr(U)
    one_way, other_way = rng.standard_normal((2, n, r))
    other_way += Q @ ((Q.T @ one_way).T - Q.T @ other_way)
    w = (one_way + other_way) @ T
    scale = float(np.trace(information.blocks, axis1=1, axis2=2).max())
    inverse = np.linalg.inv(information.blocks + INVERTIBLE * scale * np.eye(r))

    def precondition(x: Floats) -> Floats:
        D = np.einsum("iab,ib->ia", inverse, horizontal_part(U, x.reshape(n, r)))
        return horizontal_part(U, D).ravel()

    def apply(x: Floats) -> Floats:
        return information.apply(x.reshape(n, r)).ravel()

    size = n * r
    solution, _ = cg(
        LinearOperator((size, size), matvec=apply, dtype=np.float64),
        w.ravel(),
        rtol=SOLVED,
        maxiter=2000,
        M=LinearOperator((size, size), matvec=precondition, dtype=np.float64),
    )
    return float(w.ravel() @ solution)
