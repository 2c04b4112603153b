"""Rows placed from one fully seen block, in a symmetric matrix or in a table."""

from __future__ import annotations

import numpy as np

from unrelu._old.data.observations import Observations
from unrelu._old.placing.placement import Placement, best_placement
from unrelu._old.placing.table import TablePlacement, table_placement

__all__ = ["direct_placement"]


def direct_placement(
    observations: Observations, rank: int, rng: np.random.Generator
) -> Placement | TablePlacement | None:
    """The placement that reaches most rows, of a table rows and columns; None if there is no block.

    Examples
    --------
    >>> from unrelu._old.data.table_observations import table_observations
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 5.0])
    >>> X[2, 1] = np.nan
    >>> seen = table_observations(X, threshold=None)
    >>> factor = direct_placement(seen, 1, np.random.default_rng(0)).completed(seen)
    >>> (factor[:3] @ factor[3:].T * seen.unit).round(9).tolist()
    [[1.0, 5.0], [2.0, 10.0], [3.0, 15.0]]
    """
    if observations.source.cut is None:
        return best_placement(observations, rank, rng)
    return table_placement(observations, rank, rng)
