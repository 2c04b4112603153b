"""An order of the rows that depends on what was seen of them, not on how they came: permuting them changes nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unrelu.data.observations import Observations

__all__ = ["canonical_order"]

# Values that tell most rows apart; all of them are compared only where these do not.
FEW = 4


def canonical_order(observations: Observations) -> NDArray[np.intp]:
    """Positions of the rows, sorted by their diagonal entry and then by all that was seen of them.

    Rows that tie see the same values, as repeated rows do.

    Examples
    --------
    >>> X = np.array([[4.0, 2.0, np.nan], [2.0, 1.0, 3.0], [np.nan, 3.0, 9.0]])
    >>> canonical_order(Observations.of(X)).tolist()
    [1, 0, 2]
    """
    everyone = np.arange(observations.size)
    values = observations.entries(everyone, everyone)
    seen = np.sort(np.concatenate([values, values.T], axis=1), axis=1)  # NaN comes last
    marked = np.zeros(observations.size)
    if observations.unknown is not None:
        marked = observations.unknown.sum(axis=0) + observations.unknown.sum(axis=1)
    diagonal = np.diagonal(values)
    order = np.lexsort((*seen.T[FEW - 1 :: -1], marked, diagonal))
    first = np.column_stack([diagonal, marked, seen[:, :FEW]])[order]
    if _ties(first):
        order = np.lexsort((*seen.T[::-1], marked, diagonal))
    return order


def _ties(keys: NDArray[np.float64]) -> bool:
    """Whether two neighbours are alike; NaN is like NaN."""
    same = (keys[1:] == keys[:-1]) | (np.isnan(keys[1:]) & np.isnan(keys[:-1]))
    return bool(same.all(axis=1).any())
