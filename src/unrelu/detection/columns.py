"""A level for each column of a table: where its values begin, if they begin at once."""

from __future__ import annotations

import numpy as np

from unrelu.base.arrays import Array, Floats, Indices
from unrelu.detection.edge import Edge, edge_of

__all__ = ["column_levels", "levels_in_words", "levels_of_columns"]

# Columns that a sentence names.
NAMED = 5


def column_levels(values: Array, columns: Indices, side: str) -> dict[int, Edge]:
    """The edge of each column that has gaps and a wall; others have none.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        NaN where nothing was seen.
    columns : int ndarray
        Which columns are looked at.
    side : {"above", "below"}
        Where entries are seen; for ``below`` edges are those of the values with the other sign.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = rng.standard_normal((300, 2))
    >>> table[table[:, 0] < -0.5, 0] = np.nan  # a limit of detection
    >>> table[:50, 1] = np.nan  # lost
    >>> found = column_levels(table, np.arange(2), "above")
    >>> list(found), bool(abs(found[0].level + 0.5) < 0.02)
    ([0], True)
    """
    found: dict[int, Edge] = {}
    for j in columns:
        column = np.asarray(values[:, j], np.float64)
        seen = column[~np.isnan(column)]
        if seen.size == column.size:
            continue
        edge = edge_of(seen if side == "above" else -seen)
        if edge is not None and edge.sharp:
            found[int(j)] = edge
    return found


def levels_of_columns(found: dict[int, Edge], count: int, side: str) -> Floats:
    """The same as one row of numbers, infinite where a column has no level."""
    sign = 1.0 if side == "above" else -1.0
    levels = np.full((1, count), sign * np.inf)
    for j, edge in found.items():
        levels[0, j] = sign * edge.level
    return levels


def levels_in_words(found: dict[int, Edge], names: dict[int, str], side: str) -> str:
    """A sentence about the levels that were found.

    Examples
    --------
    >>> levels_in_words({0: Edge(0.2, (0.19, 0.2), True)}, {0: "iron"}, "above")
    'limits found from the data: iron 0.2'
    >>> levels_in_words({}, {}, "above")
    'no column begins at once, so that absence is taken to say nothing'
    """
    if not found:
        return "no column begins at once, so that absence is taken to say nothing"
    sign = 1.0 if side == "above" else -1.0
    said = ", ".join(f"{names[j]} {sign * edge.level:.4g}" for j, edge in list(found.items())[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f"limits found from the data: {said}{more}"
