"""Completion of a table: minimise F over M ≈ LRᵀ, with U = [L; R] in the symmetric matrix that the table is part of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.model.factors import Factors, TwoSided
from unrelu._old.problems.protocol import Point
from unrelu._old.problems.psd import PSDProblem

__all__ = ["RectangularProblem", "TablePoint", "balanced"]


@dataclass(frozen=True, eq=False)
class TablePoint(Point):
    """A point whose unknown is L above R; ``cut`` is the number of rows of L."""

    cut: int = 0

    @property
    def factors(self) -> Factors:
        """(L, R)."""
        return TwoSided(self.factor[: self.cut], self.factor[self.cut :])


class RectangularProblem(PSDProblem):
    """F = ½‖(LRᵀ − M)_Ω‖_F², with what the loss adds, for L of shape (m, rank) and R of shape (n, rank).

    ``observations`` are those of the symmetric matrix (:class:`unrelu._old.data.bipartite.Bipartite`), in which every entry
    of the table stands twice. LA and RA⁻ᵀ are the same matrix for every invertible A; of these the balanced ones, with
    LᵀL = RᵀR, are those from which Gauss–Newton and gradient descent go on best.

    Examples
    --------
    >>> from unrelu._old.data.table_observations import table_observations
    >>> seen = table_observations(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, np.nan]]), threshold=None)
    >>> problem = RectangularProblem(seen, rank=1)
    >>> point = problem.evaluate(np.array([[0.5], [1.0], [0.5], [1.0], [1.5]]))
    >>> point.value, point.factors.shape
    (0.0, (2, 3))
    """

    psd = False
    scored = True

    @property
    def cut(self) -> int:
        """The number of rows of L."""
        cut = self.observations.source.cut
        assert cut is not None
        return cut

    def evaluate(self, U: Array) -> Point:
        """F and its gradient at [L; R], in one pass."""
        point = super().evaluate(U)
        return TablePoint(U, point.value, point.gradient, point.kept, point.sums, point.loss, self.cut)

    def turns(self, U: Floats) -> Floats:
        """[LK; −RKᵀ] for every r×r matrix K, of which the skew ones turn both alike."""
        n, r = U.shape
        turns = np.zeros((n, r, r, r))
        for a in range(r):
            for b in range(r):
                turns[: self.cut, b, a, b] += U[: self.cut, a]
                turns[self.cut :, a, a, b] -= U[self.cut :, b]
        return turns.reshape(n, r, r * r)

    @property
    def scale(self) -> float:
        """‖M_Ω‖_F of the table, in the caller's units."""
        return self.over_entries(self.observations.norm)

    def over_entries(self, misfit: float) -> float:
        """That of the table, which stands in the symmetric matrix twice."""
        return misfit / float(np.sqrt(2.0))

    def begun(self, left: Array, right: Array) -> tuple[Array, Array]:
        """The unknown [L; R] twice, balanced; a start for the symmetric matrix has it already."""
        unknown = left if len(left) == self.size else np.vstack([left, right])
        unknown = balanced(unknown, self.cut)
        return unknown, unknown

    def finished(self, factors: Factors) -> tuple[Point, float]:
        """Balanced factors of the nearest matrix of the rank, measured; and how far that is, relatively."""
        unknown = balanced(np.vstack([factors.left, factors.right]).astype(self.dtype), self.cut)
        kept = np.zeros((self.size, self.rank), self.dtype)
        kept[:, : factors.rank] = unknown[:, : self.rank]
        # Columns are orthogonal, and those of L as long as those of R: their squares are the singular values.
        values = np.sum(np.square(unknown[: self.cut], dtype=np.float64), axis=0)
        size, apart = (float(np.linalg.norm(part)) for part in (values[: self.rank], values[self.rank :]))
        return self.evaluate(kept), apart / size if size else (0.0 if apart == 0 else float("inf"))


def balanced(unknown: Array, cut: int) -> Array:
    """[LA; RA⁻ᵀ] with equal Gram matrices, diagonal and descending: from the singular values of LRᵀ.

    Examples
    --------
    >>> unknown = balanced(np.array([[8.0], [0.5], [1.0]]), cut=1)
    >>> L, R = unknown[:1], unknown[1:]
    >>> bool(np.allclose(L.T @ L, R.T @ R)), (L @ R.T).round(6).tolist()
    (True, [[4.0, 8.0]])
    """
    L, R = unknown[:cut].astype(np.float64), unknown[cut:].astype(np.float64)
    if not (L.any() and R.any()):
        return unknown
    r = unknown.shape[1]
    if min(len(L), len(R)) < r:  # a QR of fewer rows than columns has no square factor
        left, values, right = np.linalg.svd(L @ R.T, full_matrices=False)
        root = np.zeros((len(values), r))
        np.fill_diagonal(root, np.sqrt(values[:r]))
        return np.vstack([left @ root, right.T @ root]).astype(unknown.dtype)
    Q, S = np.linalg.qr(L)
    P, T = np.linalg.qr(R)
    left, values, right = np.linalg.svd(S @ T.T)
    root = np.sqrt(values)
    result: Any = np.vstack([Q @ (left * root), P @ (right.T * root)]).astype(unknown.dtype)
    return result
