"""New rows of a matrix of similarities, placed by how rows of the fitted one lie, and entries held out in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from unrelu._old.base.arrays import Array, Bools, Floats
from unrelu._old.base.tolerances import FORECASTS_ROUNDING
from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.model.links import Linked
from unrelu._old.model.predictive import Predictive
from unrelu._old.results.completion import Completion
from unrelu._old.results.forecasts import forecast, noise_level

__all__ = ["NewRows"]

NOWHERE = Ends((-np.inf, np.inf))


@dataclass(frozen=True, eq=False)
class NewRows:
    """New rows u beside the fitted ones: normal with the covariance of these, and seen with the noise of the fit.

    Attributes
    ----------
    completion : Completion
        Of the fitted ones.
    sigma : float
        The noise, not less than rounding; of a model that forecasts, its rehearsed error.
    features : ndarray of shape (n, k)
        What entries are of a row whose coordinates are independent with variance one.
    back : ndarray of shape (k, rank)
        From these coordinates to those of the factor.

    Examples
    --------
    >>> import unrelu
    >>> U = np.random.default_rng(0).standard_normal((40, 2))
    >>> M = U @ U.T
    >>> found = unrelu.complete(np.where(M >= 0, M, np.nan), 2, rng=0)
    >>> rows = NewRows.of(found).placed(M[:1])
    >>> bool(np.abs(rows @ found.factor.T - M[:1]).max() < 1e-5)
    True
    """

    completion: Completion
    sigma: float
    features: Floats
    back: Floats

    @classmethod
    def of(cls, completion: Completion) -> NewRows:
        """Beside the rows of a completion."""
        left, sizes, right = np.linalg.svd(completion.factor.astype(np.float64), full_matrices=False)
        scale = sizes / np.sqrt(len(left))
        count, norm = completion.seen
        rounding = FORECASTS_ROUNDING[completion.factor.dtype.name] * norm / np.sqrt(max(count, 1))
        shown = completion.rehearsal
        sigma = noise_level(completion)
        sigma = max(sigma, shown.sigma) if completion.forecasts and shown is not None else sigma
        smallest = float(np.finfo(np.float64).tiny)
        return cls(completion, max(sigma, rounding, smallest), left * sizes * scale, scale[:, None] * right)

    def placed(self, values: Array) -> Floats:
        """Factor rows of new samples, by what was seen of them."""
        return np.stack([self._one(row)[0] for row in values.astype(np.float64)]) @ self.back

    def _one(self, row: Floats) -> tuple[Floats, Floats]:
        """The mean of the coordinates of a row, and the variances of its entries, without noise."""
        seen = ~np.isnan(row)
        features = self.features[seen] / self.sigma
        precision = cho_factor(np.eye(self.features.shape[1]) + features.T @ features)
        mean: Floats = cho_solve(precision, features.T @ (row[seen] / self.sigma))
        return mean, np.einsum("ij,ji->i", self.features, cho_solve(precision, self.features.T))

    def filled(self, cells: Measured, dtype: np.dtype[np.floating]) -> Array:
        """What is expected of every cell of new rows, within its limits; where one was seen, its value."""
        shown = self.completion.rehearsal
        assert shown is not None
        fit = (self.placed(cells.values) @ self.completion.factor.T.astype(np.float64)).astype(dtype)
        ends = tuple(np.where(cells.limited, end, far) for end, far in zip(cells.ends, NOWHERE, strict=True))
        found = forecast(shown, fit, (ends[0], ends[1]), self.completion.sigma or self.sigma)
        return np.where(cells.seen, cells.values.astype(dtype), found)

    def log_likelihood(self, cells: Measured) -> float:
        """Mean log-likelihood of the cells of new rows, each held out in turn and foretold from the others of its row.

        A seen cell by its density, one beyond its limit by the probability of that; 0 where there is neither.
        """
        total, count = 0.0, 0
        for k, row in enumerate(cells.values):
            seen, limited = cells.seen[k], cells.limited[k]
            low, high, *gap = (end[k][limited] for end in (*cells.ends, *(cells.ends.gap or ())))
            within = Ends((low, high), (gap[0], gap[1]) if gap else None)
            of_seen, of_limited = self._foretold(row, seen, limited)
            total += float(of_seen.log_density(row[seen]).sum() + of_limited.log_probability(within).sum())
            count += int(seen.sum() + limited.sum())
        return total / count if count else 0.0

    def _foretold(self, row: Floats, *parts: Bools) -> Iterator[Predictive | Linked]:
        """What the others of a row say of some of its entries, or what is known of any."""
        shown = self.completion.rehearsal
        if self.completion.forecasts and shown is not None and not shown.extrapolates:
            for part in parts:
                yield shown.none.given((np.full(part.sum(), -np.inf), np.full(part.sum(), np.inf)))
            return
        mean, sigma = self._held_out(row)
        for part in parts:
            yield Predictive(mean[part], sigma[part], NOWHERE)

    def _held_out(self, row: Floats) -> tuple[Floats, Floats]:
        """Of each entry of a row, what the others say it is, and how far off that may be."""
        coordinates, variance = self._one(row)
        fit, noise = self.features @ coordinates, self.sigma**2
        # Without an entry the fit misses it by so many times as much as with it.
        left = np.maximum(1 - variance / noise, np.finfo(np.float64).eps)
        seen = ~np.isnan(row)
        mean = np.where(seen, row - (row - fit) / left, fit)
        return mean, np.sqrt(np.where(seen, noise / left, noise + variance))
