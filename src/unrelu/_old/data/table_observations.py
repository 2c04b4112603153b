"""What was seen of a rectangular matrix: rows and columns with labels of their own."""

from __future__ import annotations

from math import sqrt
from typing import Any

from unrelu._old.base.arrays import Array
from unrelu._old.data.bipartite import Bipartite, BipartiteLimits, Embedded
from unrelu._old.data.checks import Counts, checked, within_range
from unrelu._old.data.inputs import read_table
from unrelu._old.data.labels import Axes
from unrelu._old.data.left_out import Places, apart_from
from unrelu._old.data.observations import Observations, relative_weights
from unrelu._old.data.source import source_of
from unrelu._old.data.terms import Terms, read_limits, settled

__all__ = ["table_observations"]


def table_observations(X: Any, terms: Terms | None = None, left_out: Places | None = None, **said: Any) -> Observations:
    """Check the caller's table, and make it part of a symmetric matrix; it is not changed.

    The labels are those of the rows followed by those of the columns, if the table has any.

    Parameters
    ----------
    X : as in :func:`unrelu.complete_rectangular`
    terms : Terms, optional
        What is said of it beside its values; or the fields of that by name.
    left_out : pair of int ndarray, optional
        Entries whose values are not looked at, and whose absence says nothing.
    """
    data, axes = read_table(X)
    told = settled(Terms(**said) if terms is None else terms, axes)
    source, limits = apart_from(source_of(data), read_limits(told, axes), left_out)
    counts = checked(source, limits, axes, told.entry_range)
    limits = limits if told.entry_range is None else within_range(limits, told.entry_range)
    weights = relative_weights(told.weights, source, counts)
    return Observations(
        Bipartite(source),
        BipartiteLimits.of_table(limits, axes.shape),
        _labels(axes),
        diagonal_seen=False,
        scanned=Counts(2 * counts.per_row, 2 * counts.count, sqrt(2) * counts.norm),
        weights=_embedded(weights, axes),
        spread=_embedded(told.spread, axes),
        said=told,
    ).representable


def _labels(axes: Axes) -> tuple[Any, ...] | None:
    if axes.rows is None and axes.columns is None:
        return None
    m, n = axes.shape
    return (*(axes.rows or range(m)), *(axes.columns or range(n)))


def _embedded(values: Array | None, axes: Axes) -> Embedded | None:
    """Weights or noise of a table, 1 where there is none."""
    return None if values is None else Embedded(values, 1.0, axes.shape[0], sum(axes.shape))
