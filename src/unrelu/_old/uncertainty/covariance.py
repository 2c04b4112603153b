"""The whole covariance of a small fit at once, as one dense matrix.

Up to some hundred unknowns one eigendecomposition of A = JᵀWJ (see :mod:`unrelu._old.uncertainty.sensitivity`) costs less
than a few conjugate-gradient solves, knows which directions nobody saw, and leaves nothing to chance. With D the block
diagonal of the rows' own A_i, the eigenvalues of D^(−½)AD^(−½) lie between 0 and 2 whatever the sizes of the rows. The
kernel holds the rotations, which move no entry, and what the seen entries leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.tolerances import COVARIANCE_OPEN, COVARIANCE_ZERO

__all__ = ["MOST_UNKNOWNS", "Covariance"]

Counts = NDArray[np.uint8]

# Largest m·r for which the dense way is taken: about a tenth of a second.
MOST_UNKNOWNS = 500
# Directions along which the second order is looked at.
WEAKEST = 6


@dataclass(frozen=True, eq=False)
class Bend:
    """A term z_k z_l of second order in two independent standard normal numbers.

    With d = ``one`` and e = ``other``, entry (i, j) changes by (d_i·e_j + d_j·e_i)/2 too. The seen entries do not allow
    that, and the rows give way by ``answer``: rows that turn together keep their lengths.
    """

    one: Floats
    other: Floats
    answer: Floats


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of the rows' moves d for unit noise, and the directions in which the seen entries do not change.

    Attributes
    ----------
    basis : ndarray of shape (m, r)
    moves : ndarray of shape (m, r, m, r)
        A⁺BA⁺ with B the covariance of JᵀWz: A if every entry has its own noise, JᵀW²J if a pair has one.
    unseen : ndarray of shape (m, r, k)
        Kernel of A, orthonormal in the metric of D.
    alone : ndarray of shape (m, r, r)
        D⁻¹: what the rows' moves would be with the others held fixed.
    scales : ndarray of shape (r,)
        Size of the rows along each column of the basis.
    weakest : list of Bend
        Of the directions in which noise moves the rows furthest.
    """

    basis: Floats
    moves: Floats
    unseen: Floats
    alone: Floats
    scales: Floats
    weakest: list[Bend]

    @classmethod
    def of(cls, basis: NDArray[np.floating[Any]], times: Counts, scales: Floats, *, one: bool) -> Covariance:
        """From how often each pair was seen, an (m, m) table with at most 1 on its diagonal.

        Every row must see r independent others: its own block has an inverse.
        """
        V = basis.astype(np.float64)
        m, r = V.shape
        A = _normal_matrix(V, times.astype(np.float64))
        own = A[np.arange(m), :, np.arange(m), :]
        values, vectors = np.linalg.eigh(own)
        values = np.maximum(values, np.finfo(float).eps * values[:, -1:])
        halves = np.matmul(vectors / np.sqrt(values)[:, None, :], vectors.swapaxes(1, 2))
        scaled = np.einsum("iak,ikjl,jlb->iajb", halves, A, halves, optimize=True).reshape(m * r, m * r)
        eigenvalues, turned = np.linalg.eigh((scaled + scaled.T) / 2)
        full = np.einsum("iak,ikc->iac", halves, turned.reshape(m, r, m * r)).reshape(m * r, m * r)
        zero = eigenvalues <= COVARIANCE_ZERO
        seen, inverse = full[:, ~zero], 1 / eigenvalues[~zero]
        if one:
            # In the eigenbasis, where A⁺ is diagonal.
            B = _normal_matrix(V, times.astype(np.float64) ** 2).reshape(m * r, m * r)
            middle = inverse[:, None] * (seen.T @ B @ seen) * inverse[None, :]
            moves = seen @ middle @ seen.T
            spread, mixed = np.linalg.eigh((middle + middle.T) / 2)
            far = (seen @ mixed[:, -WEAKEST:]) * np.sqrt(np.maximum(spread[-WEAKEST:], 0))
        else:
            moves = (seen * inverse) @ seen.T
            far = (seen * np.sqrt(inverse))[:, :WEAKEST]  # eigenvalues ascend, their inverses descend
        bends = _bends(V, times.astype(np.float64), scales, far.T.reshape(-1, m, r), seen, inverse)
        unseen, alone = full[:, zero].reshape(m, r, -1), np.matmul(halves, halves)
        return cls(V, moves.reshape(m, r, m, r), unseen, alone, scales, bends)

    def variances(self, i: Indices, j: Indices) -> Floats:
        """Variance of some entries for unit noise; infinite where the seen entries leave them open."""
        V = self.basis
        across = np.einsum("ek,ekl,el->e", V[j], self.moves[i, :, j, :], V[i])
        own = self.moves[np.arange(len(V)), :, np.arange(len(V)), :]
        found = _forms(own[i], V[j]) + _forms(own[j], V[i]) + 2 * across
        pushed = np.einsum("ek,ekc->ec", V[j], self.unseen[i]) + np.einsum("ek,ekc->ec", V[i], self.unseen[j])
        size = np.sqrt(_forms(self.alone[i], V[j]) + _forms(self.alone[j], V[i]))
        return np.where(np.linalg.norm(pushed, axis=1) > COVARIANCE_OPEN * size, np.inf, np.maximum(found, 0))

    def bends(self, i: Indices, j: Indices) -> Floats:
        """Mean square, for unit noise, of what linearising leaves out along the weakest directions."""
        trace, squares = np.zeros(len(i)), np.zeros(len(i))
        V = self.basis
        for bend in self.weakest:
            one, other = bend.one, bend.other / self.scales**2
            entry = _products(one[i], other[j]) + _products(one[j], other[i])
            entry += _products(V[i], bend.answer[j]) + _products(V[j], bend.answer[i])
            same = bend.one is bend.other
            trace += entry / 2 if same else 0
            squares += (entry / 2) ** 2 * (1 if same else 2)
        return trace**2 + 2 * squares


def _products(one: Floats, other: Floats) -> Floats:
    """Row by row."""
    found: Floats = np.einsum("ek,ek->e", one, other)
    return found


def _forms(matrices: Floats, vectors: Floats) -> Floats:
    """vᵀCv for each."""
    found: Floats = np.einsum("ek,ekl,el->e", vectors, matrices, vectors)
    return found


def _bends(V: Floats, weights: Floats, scales: Floats, far: Floats, seen: Floats, inverse: Floats) -> list[Bend]:
    """All pairs of directions; the answer to a change Q of the seen entries is −A⁺JᵀWQ, A⁺ = seen·inverse·seenᵀ."""
    found, weights = [], weights.copy()
    weights[np.diag_indices_from(weights)] *= 2  # the derivative of a diagonal entry is 2v_i
    directions = list(far)
    for k, one in enumerate(directions):
        for other in directions[: k + 1]:
            change = one / scales**2 @ other.T
            pull = (weights * (change + change.T)) @ V
            answer = -(seen @ (inverse * (seen.T @ pull.ravel())))
            found.append(Bend(one, other, answer.reshape(V.shape)))
    return found


def _normal_matrix(V: Floats, weights: Floats) -> Floats:
    """JᵀWJ, an array of shape (m, r, m, r), for weights of pairs; the derivative of a diagonal entry is 2v_i."""
    m = len(V)
    off = weights.copy()
    np.fill_diagonal(off, 0)
    A = np.einsum("ij,jk,il->ikjl", off, V, V)
    everyone = np.arange(m)
    A[everyone, :, everyone, :] += np.einsum("ij,jk,jl->ikl", off, V, V)
    A[everyone, :, everyone, :] += 4 * np.diag(weights)[:, None, None] * V[:, :, None] * V[:, None, :]
    return A
