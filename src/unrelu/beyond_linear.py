"""What linearising a fit at U overlooks: two moves multiplied, and rows that have a mirror image.

Noise moves entry (i, j) by u_i·δ_j + u_j·δ_i + δ_i·δ_j. Where u_i and u_j are both small the last term is all there is;
its variance is tr(C_iC_j), and 2 tr(C_i²) on the diagonal.

A row that sees its own diagonal entry may have two places. With L = Σ w_ij u_j u_jᵀ and h = Σ w_ij m_ij u_j over the
others it sees, and v the eigenvector of L with the least eigenvalue, the mirror image x = u_i − 2tv, t = v·u_i, keeps
‖x‖² and every entry with rows orthogonal to v. Along v the misfit is λ(t − t₀)² + (t² − c)², which has two minima only
if λ < 2c, about 2t²: else the entries of the others decide, and linearising says it all. Going to the mirror image
raises it by 4t(v·h). If that is no more than noise does, nothing in the seen entries tells the two apart, and the row
may be off by 2tv.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.observations import Observations
from unrelu.sensitivity import RowFormula

__all__ = ["BeyondLinear"]

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]

# A mirror image whose misfit is higher by less than so many times σ² may be the right one: beyond it, its likelihood is
# less than exp(−8) of the other's.
TOLD_APART = 16.0


@dataclass(frozen=True, eq=False)
class BeyondLinear:
    """Additions to the variances of entries, in units of ``observations.unit``.

    Attributes
    ----------
    factor : ndarray of shape (m, r)
        The rows in coordinates along the columns of the basis.
    covariance : ndarray of shape (m, r, r)
        C_i of :class:`RowFormula` in these coordinates, for unit noise.
    mirror : ndarray of shape (m, r)
        2tv of rows that may have to be mirrored, 0 for the others.
    sigma : float
        Of the noise.
    """

    factor: Doubles
    covariance: Doubles
    mirror: Doubles
    sigma: float

    @classmethod
    def of(
        cls, observations: Observations, U: NDArray[np.floating[Any]], rows: RowFormula, sigma: float
    ) -> BeyondLinear:
        """``U`` in units of √``observations.unit``, and ``sigma`` in units of ``observations.unit``."""
        m = len(U)
        scales = np.linalg.norm(rows.basis.T @ U.astype(np.float64), axis=1) / m
        factor = rows.basis * scales
        inverse = rows.inverse / np.multiply.outer(scales, scales)
        mirror = np.zeros_like(factor)
        everyone = np.arange(m)
        # With λ < 2t² the least eigenvalue of L + 4u_iu_iᵀ is below 6t²: most rows see far too much for that.
        few = np.linalg.norm(inverse, axis=(1, 2)) * 6 * np.einsum("ik,ik->i", factor, factor) > 1
        for i in np.flatnonzero(few & (observations.times_seen(everyone, everyone) > 0)):
            values, vectors = np.linalg.eigh(np.linalg.inv(inverse[i]) - 4 * np.outer(factor[i], factor[i]))
            weakest = vectors[:, 0]
            along = float(weakest @ factor[i])
            if values[0] < 2 * along**2:
                raised = _raised(observations, factor, int(i), weakest, along)
                mirror[i] = 2 * along * weakest if raised <= TOLD_APART * sigma**2 else 0
        return cls(factor, rows.covariance / np.multiply.outer(scales, scales), mirror, sigma)

    def variances(self, i: Indices, j: Indices) -> Doubles:
        """What is to be added to σ² times the linear variance of some entries."""
        products = np.einsum("ekl,ekl->e", self.covariance[i], self.covariance[j])
        squares = np.where(i == j, 2, 1) * products * self.sigma**4
        one, other = (np.einsum("ek,ek->e", self.mirror[a], self.factor[b]) for a, b in ((i, j), (j, i)))
        found: Doubles = squares + np.where(i == j, 0, one**2 + other**2)
        return found


def _raised(observations: Observations, factor: Doubles, i: int, weakest: Doubles, along: float) -> float:
    """By how much mirroring row i raises Σ w (u_i·u_j − m_ij)² over the others that it sees."""
    others = np.delete(np.arange(len(factor)), i)
    values, _ = observations.pairs(np.array([i]), others)
    times = observations.times_seen(np.full(len(others), i), others)
    h = (times * values[0]) @ factor[others]
    return 4 * along * float(weakest @ h)
