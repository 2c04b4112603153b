"""An order of the rows that depends on what was seen of them and not on where they stand in the matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu.observations import Observations

__all__ = ["canonical_order", "reordered"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows that look alike are told apart by what the rows they see look like, so many steps away.
STEPS_AWAY = 3


def canonical_order(observations: Observations) -> Indices:
    """Rows by how many of their entries were seen, then by their sums, then by those of the rows they see.

    Values are sorted before they are added, so that not even rounding depends on the order of the matrix. Rows that
    look alike in all of this keep their order.
    """
    everyone = np.arange(observations.size)
    values, seen = observations.pairs(everyone, everyone)
    keys: list[Floats] = [
        seen.sum(axis=1).astype(np.float64),
        np.where(np.diag(seen), np.diag(values), -np.inf),
        _sums(values),
        _sums(values**2),
    ]
    for _ in range(STEPS_AWAY):
        place = _numbered(keys)
        keys.append(_sums(values * place))
        keys.append(_sums(seen * place))
    return np.lexsort(keys[::-1])


def _sums(values: Floats) -> Floats:
    sums: Floats = np.sort(values, axis=1).sum(axis=1)
    return sums


def _numbered(keys: list[Floats]) -> Floats:
    """The number of each row's class: rows with equal keys have the same."""
    _, classes = np.unique(np.array(keys).T, axis=0, return_inverse=True)
    return (classes.reshape(-1) + 1).astype(np.float64)


def reordered(observations: Observations, order: Indices) -> Observations:
    """The same observations with row ``order[k]`` as row k; nothing is checked again."""
    data = observations.data
    return replace(
        observations,
        data=data[order][:, order] if sp.issparse(data) else data[np.ix_(order, order)],
        unknown=None if observations.unknown is None else observations.unknown[np.ix_(order, order)],
        labels=None if observations.labels is None else tuple(observations.labels[k] for k in order),
        seen_per_row=observations.seen_per_row[order],
    )
