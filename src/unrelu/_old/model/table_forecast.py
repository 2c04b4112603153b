"""What the cells of a table are likely to be: z normal around a mean, carried back to the units of its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.model.margins import Margins
from unrelu._old.model.predictive import Predictive

__all__ = ["Forecast"]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Of every cell, from what is known of the others.

    Attributes
    ----------
    margins : Margins
        From z to the units of the columns.
    mean, sigma : ndarray of shape (m, n)
        Of z.

    Examples
    --------
    >>> lognormal = Margins(np.array([1.0]), np.array([1.0]), np.array([1.0]))
    >>> forecast = Forecast(lognormal, np.zeros((1, 1)), np.ones((1, 1)))
    >>> nowhere = Ends((np.full((1, 1), -np.inf), np.full((1, 1), np.inf)))
    >>> forecast.expectation(nowhere).round(3).tolist(), float(np.exp(0.5).round(3))
    ([[1.649]], 1.649)
    """

    margins: Margins
    mean: Floats
    sigma: Floats

    def widened(self, factor: Floats) -> Forecast:
        """With every column's sigma times a factor."""
        return replace(self, sigma=self.sigma * factor)

    def part(self, rows: slice | Array, cols: slice | Array) -> Forecast:
        """Of some rows and columns."""
        return Forecast(self.margins.part(cols), self.mean[rows][:, cols], self.sigma[rows][:, cols])

    def expectation(self, ends: Ends) -> Array:
        """Of the cells, given between which ends they lie; never beyond these.

        Where that is in a gap, the end of the gap that is nearer: of all that a cell can be, it has the least error.
        """
        found = self.margins.expectation(self.mean, self.sigma, self.margins.ends(ends))
        inside: Array = np.clip(found, *ends)
        return inside if ends.gap is None else np.asarray(ends.nearest(inside))

    def interval(self, ends: Ends, level: float) -> tuple[Array, Array]:
        """(low, high) with equal probabilities beyond them; never beyond the ends."""
        within = Predictive(self.mean, self.sigma, self.margins.ends(ends))
        low, high = (np.clip(self.margins.backward(end), *ends) for end in within.interval(level))
        return low, high

    def log_scores(self, truth: Measured, told: Measured) -> Floats:
        """Of every cell that ``told`` does not show, given what it tells.

        The log density of a value that is known in truth; of one that is not, the log probability to lie between its
        true ends. 0 where the value is told.
        """
        forecast = Predictive(self.mean, self.sigma, self.margins.ends(told.ends))
        known = np.where(truth.seen, truth.values, self.margins.centre)
        density = forecast.log_density(self.margins.forward(known)) + self.margins.log_slope(known)
        probability = forecast.log_probability(self.margins.ends(truth.ends))
        scores: Floats = np.where(truth.seen, density, probability)
        return np.where(told.seen, 0.0, scores)
