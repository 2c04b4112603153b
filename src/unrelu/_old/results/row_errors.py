"""Error bars of single entries of a matrix of any size: only the rows that are asked about are read.

A row that was fitted to noisy entries has the covariance C_i = σ²(Σ_{j seen} u_j u_jᵀ)⁻¹, and an entry the variance
u_jᵀC_iu_j + u_iᵀC_ju_i. Where a row was fitted to few columns, whose own rows are not exact either, what these leave
open counts as noise: σ² + u_iᵀC̄u_i with the covariance C̄ of a typical one of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.tolerances import POLISH_FLOOR
from unrelu._old.data.observations import Observations
from unrelu._old.placing.attach import normal_matrices
from unrelu._old.uncertainty.noise import Noise, level_checked

__all__ = ["RowErrors"]

# Entries read at once.
AT_ONCE = 1 << 22


class RowErrors:
    """Standard errors and intervals of entries, by the row formula.

    Parameters
    ----------
    completion : StreamedCompletion
    observations : Observations
    determined : boolean ndarray of shape (n,)
        Entries of other rows have an infinite error.
    columns : int ndarray or None
        Which columns every row was fitted to; None: all.
    """

    method = "row formula"
    caution = None

    def __init__(
        self, completion: Any, observations: Observations, determined: NDArray[np.bool_], columns: Indices | None
    ) -> None:
        self.factor = completion.factor.astype(np.float64)
        self.observations, self.determined, self.columns = observations, determined, columns
        self._sigma = float(completion.sigma or 0.0)
        count = completion.seen[0] // (2 if completion.pairs != "independent" else 1)
        freedom = max(count - self.factor.size, 1)
        words = f"noise of {self._sigma:.3g}, from {count} seen values"
        self.noise = Noise(self._sigma, freedom, "one" if completion.pairs == "auto" else completion.pairs, words)

    def fit(self, rows: Indices, cols: Indices) -> Floats:
        """Entries of the fit."""
        result: Floats = np.einsum("...a,...a->...", self.factor[rows], self.factor[cols])
        return result

    def standard_errors(self, rows: Any, cols: Any) -> Any:
        """Of entries at positions that broadcast against each other."""
        i, j = np.broadcast_arrays(np.asarray(rows), np.asarray(cols))
        shape, i, j = i.shape, i.ravel(), j.ravel()
        everyone, place = np.unique(np.concatenate([i, j]), return_inverse=True)
        known = np.flatnonzero(self.determined[everyone])  # of the others every error is infinite
        covariance = np.zeros((len(everyone), *self.factor.shape[1:] * 2))
        if self._sigma > 0:
            covariance[known] = self._covariances(everyone[known])
        of_i, of_j = covariance[place[: len(i)]], covariance[place[len(i) :]]
        u, v = self.factor[i], self.factor[j]
        variance = np.einsum("ka,kab,kb->k", v, of_i, v) + np.einsum("ka,kab,kb->k", u, of_j, u)
        error = np.sqrt(np.maximum(variance, 0))
        error[~(self.determined[i] & self.determined[j])] = np.inf
        return error.reshape(shape)[()]

    def interval(self, rows: Any, cols: Any, level: float = 0.95) -> tuple[Any, Any]:
        """(low, high) around the fit."""
        wide = float(ndtri(0.5 + level_checked(level) / 2)) * self.standard_errors(rows, cols)
        middle = self.fit(*np.broadcast_arrays(np.asarray(rows), np.asarray(cols)))
        return middle - wide, middle + wide

    def _covariances(self, rows: Indices) -> Floats:
        """C_i of some rows; what was seen of them is read, some at a time."""
        rank = self.factor.shape[1]
        columns = np.arange(len(self.factor)) if self.columns is None else self.columns
        anchors = self.factor[columns] * self.determined[columns, None]  # columns without a place tell nothing
        result = np.empty((len(rows), rank, rank))
        step = max(1, AT_ONCE // len(columns))
        width = AT_ONCE if self.columns is None else len(columns)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            normal = np.zeros((len(some), rank, rank))
            for first in range(0, len(columns), width):
                part = slice(first, min(first + width, len(columns)))
                place = part if self.columns is None else columns[part]
                seen = (~np.isnan(self.observations.block(some, place))).astype(np.float64)
                if self.noise.pairs == "independent":  # what stands across the diagonal says as much again
                    seen += ~np.isnan(self.observations.block(place, some)).T
                normal += normal_matrices(seen, anchors[part])
            size = np.trace(normal, axis1=1, axis2=2)[:, None, None]
            inverse = np.linalg.inv(normal + POLISH_FLOOR**2 * np.maximum(size, np.finfo(float).tiny) * np.eye(rank))
            result[start : start + step] = self._noise_of(some, inverse)[:, None, None] * inverse
        return result

    def _noise_of(self, rows: Indices, inverse: Floats) -> Floats:
        """σ², with what the columns that these rows were fitted to leave open themselves."""
        own = np.full(len(rows), self._sigma**2)
        if self.columns is None:
            return own
        u = self.factor[rows]
        result: Floats = own * (1 + np.einsum("ka,ab,kb->k", u, np.median(inverse, axis=0), u))
        return result
