"""What other columns say of the cells of one: an average of their ranks, as normal numbers."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from unrelu._old.base.arrays import Array, Floats

__all__ = ["ColumnForecasts"]

# A correlation counts from so many of its standard errors on; of those the largest, at most so many.
CLEAR, MOST = 4.0, 10
# Rows that show both columns, at least.
COMMON = 20
# A correlation is taken to be less than this, squared: else one column would outweigh all others.
CLOSE = 0.95


class ColumnForecasts:
    """Forecasts of each column by those that go with it; only cells that were seen are asked.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        NaN where nothing was seen.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> common = rng.standard_normal((200, 1))
    >>> table = np.hstack([common + 0.3 * rng.standard_normal((200, 2)), rng.standard_normal((200, 1))])
    >>> asked = ColumnForecasts(table)
    >>> bool(np.corrcoef(asked.of(0), table[:, 0])[0, 1] > 0.8), asked.of(2) is None
    (True, True)
    """

    def __init__(self, values: Array) -> None:
        self.seen = ~np.isnan(values)
        self.scores = np.zeros(values.shape)
        for j in range(values.shape[1]):
            there = self.seen[:, j]
            self.scores[there, j] = ndtri(rankdata(values[there, j]) / (there.sum() + 1))

    def of(self, j: int) -> Floats | None:
        """One for each row, NaN where no column says anything; None where none goes with this one."""
        there = self.seen[:, j]
        scores, seen = self.scores[there], self.seen[there].astype(np.float64)
        own = scores[:, [j]]
        count = np.maximum(seen.sum(axis=0), 1)
        mean, mean_own = scores.sum(axis=0) / count, (own * seen).sum(axis=0) / count
        both = (own * scores).sum(axis=0) / count - mean * mean_own
        spread = (scores**2).sum(axis=0) / count - mean**2
        spread_own = (own**2 * seen).sum(axis=0) / count - mean_own**2
        product = np.sqrt(np.maximum(spread * spread_own, 0))
        correlation = np.divide(both, product, out=np.zeros_like(both), where=product > 0)
        correlation[j] = 0.0
        clear = np.where(count >= COMMON, np.abs(correlation) * np.sqrt(count), 0.0)
        chosen = np.argsort(-clear, kind="stable")[:MOST]
        chosen = chosen[clear[chosen] >= CLEAR]
        if not len(chosen):
            return None
        weights = correlation[chosen] / (1 - np.minimum(correlation[chosen] ** 2, CLOSE))
        total = self.seen[:, chosen] @ np.abs(weights)
        said = self.scores[:, chosen] @ weights
        return np.divide(said, total, out=np.full(len(said), np.nan), where=total > 0)
