"""What linearising a fit at U overlooks: two moves multiplied, and rows that have a mirror image.

Noise moves entry (i, j) by u_i·δ_j + u_j·δ_i + δ_i·δ_j. Where u_i and u_j are both small the last term is all there is;
its variance is tr(C_iC_j), and 2 tr(C_i²) on the diagonal. What rows do together where they are held weakly is known if
the whole covariance is: :class:`Covariance`.

A row that sees its own diagonal entry may have two places. With L = Σ w_ij u_j u_jᵀ and h = Σ w_ij m_ij u_j over the
others it sees, and v the eigenvector of L with the least eigenvalue, the mirror image x = u_i − 2tv, t = v·u_i, keeps
‖x‖² and every entry with rows orthogonal to v. Along v the misfit is λ(t − t₀)² + (t² − c)², which has two minima only
if λ < 2c, about 2t²: else the entries of the others decide, and linearising says it all. Going to the mirror image
raises it by 4t(v·h). If that is no more than noise does, nothing in the seen entries tells the two apart, and the row
may be off by 2tv. Others whose own part along v is within their error say nothing here: they would be mirrored too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.data.observations import Observations
from unrelu._old.uncertainty.covariance import Covariance
from unrelu._old.uncertainty.sensitivity import RowFormula

__all__ = ["BeyondLinear"]

# A mirror image whose misfit is higher by less than so many times σ² may be the right one: beyond it, its likelihood is
# less than exp(−8) of the other's.
TOLD_APART = 16.0
# A row has a part along a direction if that is more than so many of its standard errors.
BEYOND_NOISE = 3.0


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
    scales : ndarray of shape (r,)
        Size of the rows along each column of the basis.
    """

    factor: Floats
    covariance: Floats
    mirror: Floats
    sigma: float
    scales: Floats

    @classmethod
    def of(
        cls, observations: Observations, U: NDArray[np.floating[Any]], rows: RowFormula, sigma: float
    ) -> BeyondLinear:
        """``U`` in units of √``observations.unit``, and ``sigma`` in units of ``observations.unit``."""
        m = len(U)
        scales = np.linalg.norm(rows.basis.T @ U.astype(np.float64), axis=1) / m
        factor = rows.basis * scales
        inverse, covariance = (blocks / np.multiply.outer(scales, scales) for blocks in (rows.inverse, rows.covariance))
        mirror = np.zeros_like(factor)
        everyone = np.arange(m)
        # With λ < 2t² the least eigenvalue of L + 4u_iu_iᵀ is below 6t²: most rows see far too much for that.
        few = np.linalg.norm(inverse, axis=(1, 2)) * 6 * np.einsum("ik,ik->i", factor, factor) > 1
        for i in np.flatnonzero(few & (observations.times_seen(everyone, everyone) > 0)):
            values, vectors = np.linalg.eigh(np.linalg.inv(inverse[i]) - 4 * np.outer(factor[i], factor[i]))
            weakest = vectors[:, 0]
            along = float(weakest @ factor[i])
            if values[0] < 2 * along**2:
                errors = sigma * np.sqrt(np.einsum("ikl,k,l->i", covariance, weakest, weakest))
                raised = _raised(observations, factor, (factor @ weakest, errors), int(i), along)
                mirror[i] = 2 * along * weakest if raised <= TOLD_APART * sigma**2 else 0
        return cls(factor, covariance, mirror, sigma, scales)

    def variances(self, i: Indices, j: Indices, whole: Covariance | None = None) -> Floats:
        """What is to be added to σ² times the linear variance of some entries; ``whole`` if it is known."""
        products = np.einsum("ekl,ekl->e", self.covariance[i], self.covariance[j]) * np.where(i == j, 2, 1)
        if whole is not None:  # of rows alone is part of it
            products = np.maximum(products, whole.bends(i, j))
        squares = products * self.sigma**4
        one, other = (np.einsum("ek,ek->e", self.mirror[a], self.factor[b]) for a, b in ((i, j), (j, i)))
        found: Floats = squares + np.where(i == j, 0, one**2 + other**2)
        return found


def _raised(observations: Observations, factor: Floats, parts: tuple[Floats, Floats], i: int, along: float) -> float:
    """By how much mirroring row i raises Σ w (u_i·u_j − m_ij)² over the others that it sees.

    ``parts`` are those of all rows along the normal of the mirror, and their standard errors.
    """
    others = np.delete(np.arange(len(factor)), i)
    part, error = (values[others] for values in parts)
    values, _ = observations.pairs(np.array([i]), others)
    times = observations.times_seen(np.full(len(others), i), others)
    return 4 * along * float((times * values[0]) @ np.where(np.abs(part) > BEYOND_NOISE * error, part, 0))
