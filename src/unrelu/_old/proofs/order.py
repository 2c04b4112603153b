"""An order of the rows, and axes, that depend on what was seen and not on where rows stand in the matrix."""

from __future__ import annotations

import numpy as np

from unrelu._old.base.alike import rows_told_apart
from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.tolerances import ORDER_INDEPENDENT
from unrelu._old.data.canonical import bits_seen
from unrelu._old.data.observations import Observations

__all__ = ["canonical_frame", "canonical_order"]

# Rows that look alike are told apart by what the rows they see look like, so many steps away.
STEPS_AWAY = 6


def canonical_order(observations: Observations) -> tuple[Indices, Indices]:
    """Rows by how many of their entries were seen, then by their sums, then by those of the rows they see.

    Values are sorted before they are added, so that not even rounding depends on the order of the matrix. Besides the
    order a number for each row is returned, the same for rows that nothing that was seen tells apart.
    """
    everyone = np.arange(observations.size)
    values, seen = observations.pairs(everyone, everyone)
    keys: list[Floats] = [
        seen.sum(axis=1).astype(np.float64),
        np.where(np.diag(seen), np.diag(values), -np.inf),
        _sums(values),
        _sums(values**2),
    ]
    number = np.random.default_rng(0).random(len(everyone))
    classes = _classes(keys)
    for _ in range(STEPS_AWAY):
        keys += [_sums(values * number[classes]), _sums(seen * number[classes])]
        before, classes = classes, _classes(keys)
        if classes.max(initial=0) == before.max(initial=0):
            break
    if classes.max(initial=0) + 1 == len(everyone):
        return np.lexsort(keys[::-1]), classes
    return rows_told_apart(classes, bits_seen(observations))


def _sums(values: Floats) -> Floats:
    sums: Floats = np.sort(values, axis=1).sum(axis=1)
    return sums


def _classes(keys: list[Floats]) -> Indices:
    """The class of each row: rows with equal keys have the same."""
    _, classes = np.unique(np.array(keys).T, axis=0, return_inverse=True)
    return classes.reshape(-1).astype(np.intp)


def canonical_frame(factor: Floats) -> Floats:
    """The factor turned so that its first independent rows are lower triangular: the Gram matrix alone decides how.

    Examples
    --------
    >>> canonical_frame(np.array([[0.0, 2.0], [3.0, 4.0]])).tolist()
    [[2.0, 0.0], [4.0, 3.0]]
    """
    rank = factor.shape[1]
    axes = np.zeros((rank, 0))
    for row in factor:
        left = row - axes @ (axes.T @ row)
        left -= axes @ (axes.T @ left)
        if axes.shape[1] < rank and np.linalg.norm(left) > ORDER_INDEPENDENT * np.linalg.norm(row):
            axes = np.column_stack([axes, left / np.linalg.norm(left)])
    if axes.shape[1] < rank:  # further axes, which no row points along
        axes = np.column_stack([axes, np.linalg.svd(axes, full_matrices=True)[0][:, axes.shape[1] :]])
    turned: Floats = factor @ axes
    return turned
