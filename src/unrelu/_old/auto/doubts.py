"""Which entries the others contradict: those that lie further from a robust fit than noise would lead any of them.

The misfit of an entry is measured in standard deviations of what it would be if the entry were as good as the others.
An entry that was part of the fit has pulled it towards itself, and is missed by less than its noise; one that was left
out is missed by more, for the fit has errors too. Both follow from what each row knows without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import DOUBTS_CHANCE, DOUBTS_ITS_OWN, DOUBTS_LEAST, DOUBTS_RIDGE
from unrelu._old.data.limits import part_of
from unrelu._old.data.observations import Observations

__all__ = ["Doubts", "contradicted", "deviations_allowed", "heard", "inverted", "spread_of", "studentised"]

# Rows that are looked at together.
BAND = 256
# Of misfits the half and the nine tenths that are smallest tell the noise, by how far those of a normal one reach. The
# larger of the two: what is left of real data has longer tails, and no tenth of them is wrong.
SHARES = (0.5, 0.9)
# Fewer entries than this count as so many where they tell a standard deviation.
LEAST_TOLD = 6


@dataclass(frozen=True, eq=False)
class Doubts:
    """Entries that are distrusted.

    Attributes
    ----------
    rows, cols : int ndarray
        Where they are; a pair that was seen both ways is there both ways if both are wrong.
    errors : ndarray
        How far from the fit a value there would be, typically.
    sigma : float
        The noise by which they were judged.
    """

    rows: Indices
    cols: Indices
    errors: Floats
    sigma: float = 0.0

    def same(self, other: Doubts) -> bool:
        """Whether these are the same entries."""
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.cols, other.cols)

    def and_also(self, other: Doubts) -> Doubts:
        """These, and others."""
        rows, cols = (np.concatenate(pair) for pair in ((self.rows, other.rows), (self.cols, other.cols)))
        return Doubts(rows, cols, np.concatenate([self.errors, other.errors]), self.sigma)

    @classmethod
    def none(cls) -> Doubts:
        """Nothing is distrusted."""
        return cls(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))


def spread_of(misfits: Floats) -> float:
    """The standard deviation of noise, from misfits of which a few may be anything.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_normal(10_000)
    >>> noise[:200] = 1e6
    >>> round(spread_of(noise), 1)
    1.1
    """
    if not misfits.size:
        return 0.0
    return float(max(np.quantile(np.abs(misfits), share) / ndtri((1 + share) / 2) for share in SHARES))


def deviations_allowed(count: int, told: Any = None) -> Any:
    """How many standard deviations the worst of ``count`` entries may be off by chance.

    Half of the ``told`` ones, all of them by default, tell the standard deviation: that of few is not known well, as
    Student's distribution says.

    Examples
    --------
    >>> round(float(deviations_allowed(10_000)), 2), round(float(deviations_allowed(10_000, told=40)), 2)
    (4.57, 6.17)
    """
    chance = DOUBTS_CHANCE / 2 / max(count, 1)
    freedom = np.maximum(count if told is None else told, LEAST_TOLD) / 2
    return np.maximum(-stdtrit(freedom, chance), DOUBTS_LEAST)


def heard(gap: Floats, most: Any) -> Floats:
    """How much misfits are listened to: all of what they say up to the corner ``most``, less beyond."""
    found: Any = np.minimum(1.0, most / np.maximum(np.abs(gap), np.finfo(float).tiny))
    return np.asarray(found, np.float64)


def inverted(information: Floats) -> Floats:
    """The inverses of many small matrices, where some of them may have none."""
    r = information.shape[-1]
    size = float(np.trace(information, axis1=1, axis2=2).mean()) / r or 1.0
    found: Any = np.linalg.inv(information + DOUBTS_RIDGE * size * np.eye(r))
    return np.asarray(found, np.float64)


def studentised(gap: Floats, lever: Floats, weight: Floats) -> tuple[Floats, Bools]:
    """Misfits of entries by the others alone, over what noise is multiplied by there; and which decide their own fit.

    With h = ``lever``, what a misfit in all entries but this one moves it by, and w how much it was listened to, the
    misfit without it is that with it over 1 − wh, and its variance that of the noise times 1 + h/(1 − wh).

    Examples
    --------
    >>> t, blind = studentised(np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.5, 0.99]), np.array([1.0, 0.0, 1.0]))
    >>> t.round(4).tolist(), blind.tolist()
    ([1.4142, 0.8165, 0.0], [False, False, True])
    """
    own = weight * lever
    blind = own > DOUBTS_ITS_OWN
    left = np.where(blind, 1.0, 1 - own)
    return np.where(blind, 0.0, gap / left / np.sqrt(1 + lever / left)), blind


def contradicted(
    observations: Observations,
    trusted: Observations,
    factor: Array,
    scales: tuple[float, float],
    also: tuple[Indices, Indices],
) -> tuple[Doubts, Doubts]:
    """The entries that the fit UUᵀ contradicts, and how far off those of ``also`` might be.

    Parameters
    ----------
    observations : Observations
        All entries that may be distrusted.
    trusted : Observations
        Those of them that U was fitted to.
    factor : ndarray of shape (n, r)
        U, in the units of the data.
    scales : pair of float
        The misfit, in standard deviations, beyond which an entry pulled no harder; and the least standard deviation
        that is believed, relative to the size of the seen entries.
    also : pair of int ndarray
        Entries that cannot be what they are said to be: not part of either.
    """
    corner, least = scales
    look = _Look(observations, trusted, np.asarray(factor, np.float64) / np.sqrt(observations.unit), least)
    sigma = look.rounded(spread_of(np.concatenate([gap[there] for _, gap, there, _ in look.bands()])))
    most = corner * sigma
    inverse = look.information(most)
    sigma = look.rounded(spread_of(np.concatenate([t[there] for _, t, there, _ in look.studentised(inverse, most)])))
    too_far = sigma * float(deviations_allowed(observations.count))
    rows, cols, errors = [], [], []
    for start, t, _, error in look.studentised(inverse, most):
        i, j = np.nonzero(np.abs(t) > too_far)
        rows.append(i + start)
        cols.append(j)
        errors.append(sigma * error[i, j] * observations.unit)
    found = Doubts(
        np.concatenate(rows).astype(np.intp), np.concatenate(cols).astype(np.intp), np.concatenate(errors), sigma
    )
    i, j = also
    lever = look.lever_at(inverse, i, j)
    return found, Doubts(i, j, sigma * observations.unit * np.sqrt(1 + lever))


@dataclass(frozen=True, eq=False)
class _Look:
    """A fit beside the data, in units of these, a few rows at a time."""

    observations: Observations
    trusted: Observations
    factor: Floats
    least: float

    def rounded(self, sigma: float) -> float:
        """A standard deviation that is no smaller than rounding."""
        size = self.observations.scaled_norm / np.sqrt(max(self.observations.count, 1))
        return max(sigma, self.least * float(size), float(np.finfo(float).tiny))

    def bands(self) -> Iterator[tuple[int, Floats, Bools, Bools]]:
        """The first row, misfits in units of each entry's noise, where a value was seen, and which were fitted."""
        n = self.observations.size
        for start in range(0, n, BAND):
            checkpoint()
            rows, cols = slice(start, min(start + BAND, n)), slice(0, n)
            fit = self.factor[rows] @ self.factor.T
            values = self.observations.block(rows, cols)
            seen, absent = ~np.isnan(values), self.observations.absent(rows, cols, values)
            gap = np.where(seen, values / self.observations.unit, fit).astype(np.float64) - fit
            if absent.any():
                ends = self.observations.limits.of(rows, cols).over(self.observations.unit)
                gap = np.where(absent, ends.nearest(fit.copy()) - fit, gap)
            kept = self.trusted.block(rows, cols)
            fitted = ~np.isnan(kept) | self.trusted.absent(rows, cols, kept)
            yield start, gap / self._spread(rows, cols), seen, fitted

    def _spread(self, rows: slice, cols: slice) -> Any:
        """How large the noise of each entry of a block is, relative to that of the others."""
        return 1.0 if self.observations.spread is None else part_of(self.observations.spread, rows, cols)

    def information(self, most: float) -> Floats:
        """For each row, the inverse of what it knows of its place by all others: Σ w u_j u_jᵀ over what counts."""
        n, r = self.factor.shape
        products = (self.factor[:, :, None] * self.factor[:, None, :]).reshape(n, r * r)
        known = np.zeros((n, r * r))
        for start, gap, seen, fitted in self.bands():
            rows = np.arange(start, start + len(gap))
            weight = heard(gap, most) * (fitted & (seen | (gap != 0)))
            weight[rows - start, rows] *= 2  # the entry of a row with itself
            known[rows] += weight @ products
        return inverted(known.reshape(n, r, r))

    def studentised(self, inverse: Floats, most: float) -> Iterator[tuple[int, Floats, Bools, Floats]]:
        """The first row, misfits over what their noise is multiplied by, where one can be judged, and that factor."""
        for start, gap, seen, fitted in self.bands():
            rows = np.arange(start, start + len(gap))
            lever = self._lever(inverse, rows)
            t, blind = studentised(gap, lever, heard(gap, most) * fitted)
            error = np.sqrt(1 + lever) * self._spread(slice(start, start + len(gap)), slice(0, len(inverse)))
            yield start, t, seen & ~blind, np.broadcast_to(error, gap.shape)

    def _lever(self, inverse: Floats, rows: Indices) -> Floats:
        """Which share of a misfit of its own an entry (i, j) would take up: u_jᵀA_i⁻¹u_j + u_iᵀA_j⁻¹u_i."""
        U = self.factor
        forward = np.einsum("jk,ikl,jl->ij", U, inverse[rows], U, optimize=True)
        backward = np.einsum("ik,jkl,il->ij", U[rows], inverse, U[rows], optimize=True)
        total: Floats = forward + backward
        return total

    def lever_at(self, inverse: Floats, rows: Indices, cols: Indices) -> Floats:
        """The same of single entries."""
        U = self.factor
        forward = np.einsum("ek,ekl,el->e", U[cols], inverse[rows], U[cols])
        total: Floats = forward + np.einsum("ek,ekl,el->e", U[rows], inverse[cols], U[rows])
        return total
