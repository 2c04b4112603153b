"""What tells how entries go unseen: for each of them its fit, how sure that is, and its value if it was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.base.tolerances import EVIDENCE_FLAT
from unrelu._old.data.observations import Observations

__all__ = ["Evidence", "measured_once"]

# Entries that are looked at, at most, drawn at random: a level is told by those near it, and there are enough.
MOST_ENTRIES = 400_000
# Numbers of their covariances that are held at once.
MOST_NUMBERS = 40_000_000
# A row with hardly more seen entries than unknowns has a fit that says nothing.
SPARE = 1.5


@dataclass(frozen=True, eq=False)
class Evidence:
    """Entries, each once, with what is known of them.

    Attributes
    ----------
    fit : ndarray of shape (count,)
        By a fit that took nothing from absence.
    error : ndarray of shape (count,)
        Its standard error.
    value : ndarray of shape (count,)
        What was seen, NaN where nothing was.
    sigma : float
        The noise of what was seen.
    column : ndarray of shape (count,)
        In which column an entry stands.
    """

    fit: Floats
    error: Floats
    value: Floats
    sigma: float
    column: Indices

    @classmethod
    def of(cls, observations: Observations, left: Array, right: Array, sigma: float) -> Evidence:
        """From a fit LRᵀ, in the units of the data: of a symmetric matrix each pair, of others each entry.

        Entries that are missing for a reason that is known are left out, and so are rows and columns of which too
        little was seen to fit them.
        """
        cut = observations.source.cut
        if cut is not None:
            values = np.asarray(observations.block(slice(0, cut), slice(cut, observations.size)), np.float64)
            unknown = observations.limits.unknown_in(slice(0, cut), slice(cut, observations.size))
        else:
            values = np.asarray(observations.block(slice(0, observations.size), slice(0, observations.size)))
            unknown = observations.limits.unknown
        asked = np.ones(values.shape, bool) if unknown is None else ~unknown
        mirrored = cut is None and _symmetric(values)
        if cut is None:
            asked &= np.triu(np.ones(values.shape, bool), 1) if mirrored else ~np.eye(len(values), dtype=bool)
        seen = ~np.isnan(values)
        errors = _row_errors(left, right, seen, sigma), _row_errors(right, left, seen.T, sigma)
        i, j = np.nonzero(asked & np.isfinite(errors[0][0])[:, None] & np.isfinite(errors[1][0])[None, :])
        most = min(MOST_ENTRIES, max(MOST_NUMBERS // left.shape[1] ** 2, 1))
        if len(i) > most:
            some = np.sort(np.random.default_rng(0).choice(len(i), most, replace=False))
            i, j = i[some], j[some]
        fit = np.einsum("kr,kr->k", left[i].astype(np.float64), right[j].astype(np.float64))
        of_rows = np.einsum("kr,krs,ks->k", right[j], errors[0][1][i], right[j])
        of_columns = np.einsum("kr,krs,ks->k", left[i], errors[1][1][j], left[i])
        error = np.sqrt(np.maximum(of_rows + of_columns, 0.0))
        return cls(fit, error, values[i, j].astype(np.float64), float(sigma), j)

    @property
    def seen(self) -> Bools:
        """Which entries were."""
        return ~np.isnan(self.value)

    @property
    def mirrored(self) -> Evidence:
        """The same with the other sign."""
        return replace(self, fit=-self.fit, value=-self.value)

    def among(self, which: Bools) -> Evidence:
        """Some of the entries."""
        return replace(
            self, fit=self.fit[which], error=self.error[which], value=self.value[which], column=self.column[which]
        )


def measured_once(observations: Observations) -> Floats:
    """All seen values that were measured by themselves: of a symmetric matrix one of each pair, off the diagonal."""
    cut, size = observations.source.cut, observations.size
    values = observations.block(slice(0, cut or size), slice(cut or 0, size))
    if cut is None:
        values = np.where(np.eye(size, dtype=bool), np.nan, values)
        values = values[np.triu_indices(size, 1)] if _symmetric(values) else values
    found: Floats = values[~np.isnan(values)].astype(np.float64)
    return found


def _symmetric(values: Array) -> bool:
    """Whether both halves were seen alike: then they are one measurement."""
    return bool(np.array_equal(values, values.T, equal_nan=True))


def _row_errors(left: Array, right: Array, seen: Bools, sigma: float) -> tuple[Floats, Floats]:
    """σ²(Σ r_j r_jᵀ)⁻¹ over what was seen of each row; infinite where too little was."""
    R = right.astype(np.float64)
    r = R.shape[1]
    products = (R[:, :, None] * R[:, None, :]).reshape(len(R), r * r)
    normal = (seen.astype(np.float64) @ products).reshape(-1, r, r)
    enough = seen.sum(axis=1) >= SPARE * r
    found = np.zeros_like(normal)
    told = np.full(len(normal), np.inf)
    values, vectors = np.linalg.eigh(normal)
    fine = enough & (values[:, 0] > EVIDENCE_FLAT * np.maximum(values[:, -1], np.finfo(float).tiny))
    inverse = np.einsum("kab,kb,kcb->kac", vectors[fine], 1 / values[fine], vectors[fine])
    found[fine], told[fine] = sigma**2 * inverse, 0.0
    return told, found
