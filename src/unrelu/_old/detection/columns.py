"""A level for each column of a table: where its values begin, if what is missing of it lies beyond."""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.detection.edge import Edge, edge_of
from unrelu._old.detection.forecasts import ColumnForecasts
from unrelu._old.detection.walls import Gapped, told

__all__ = ["column_levels", "levels_in_words", "levels_of_columns"]

# Columns that a sentence names.
NAMED = 5
# Seen cells with a forecast, at least, for other columns to be asked.
ASKED = 30


def column_levels(values: Array, columns: Indices, side: str, unknown: Bools | None = None) -> dict[int, Edge]:
    """The edge of each column that has gaps and shows a limit; others have none.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        NaN where nothing was seen.
    columns : int ndarray
        Which columns are looked at.
    side : {"above", "below"}
        Where entries are seen; for ``below`` edges are those of the values with the other sign.
    unknown : bool ndarray of shape (m, n), optional
        Cells that are missing for another reason than their value.

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
    table = np.asarray(values[:, columns], np.float64) * (1.0 if side == "above" else -1.0)
    absent = np.isnan(table) if unknown is None else np.isnan(table) & ~unknown[:, columns]
    others = ColumnForecasts(table)
    found: dict[int, Edge] = {}
    for k in np.flatnonzero(absent.any(axis=0)):
        column = table[:, k]
        edge = edge_of(column[~np.isnan(column)])
        if edge is not None and _limited(column, absent[:, k], others.of(int(k))):
            found[int(columns[k])] = edge
    return found


def _limited(column: Floats, absent: Bools, forecasts: Floats | None) -> bool:
    """Whether what is absent of a column lies below its least value; what cannot be told is none."""
    seen = ~np.isnan(column)
    alone = Gapped(column[seen], int(absent.sum()))
    if not alone.half > 0:
        return False
    if forecasts is not None:
        on, off = seen & ~np.isnan(forecasts), absent & ~np.isnan(forecasts)
        if on.sum() >= ASKED and off.any():
            part = Gapped(column[on], int(off.sum()), limit=alone.least)
            said = told(part, (forecasts[on], forecasts[off])) if part.half > 0 else None
            if said is not None and (said.by_others or said.denied):
                return said.by_others
    # Values from 0 on end there by nature.
    return alone.values.min() != 0 and told(alone).by_values


def levels_of_columns(found: dict[int, Edge], count: int, side: str) -> Floats:
    """The same as one row of numbers, infinite where a column has no level."""
    sign = 1.0 if side == "above" else -1.0
    levels = np.full((1, count), sign * np.inf)
    for j, edge in found.items():
        levels[0, j] = sign * edge.level
    return levels


def levels_in_words(found: dict[int, Edge], names: dict[int, str], side: str, untold: int = 0) -> str:
    """A sentence about the levels that were found, and about how many columns with gaps show none.

    Examples
    --------
    >>> levels_in_words({0: Edge(0.2, (0.19, 0.2), True)}, {0: "iron"}, "above", untold=2)
    'limits found from the data: iron 0.2; 2 other columns with gaps show none, and absence says nothing there'
    >>> levels_in_words({}, {}, "above", untold=2)
    'no column shows a limit in its values, so that absence is taken to say nothing; name limits that are known'
    """
    if not untold and not found:
        return ""
    if not found:
        return (
            "no column shows a limit in its values, so that absence is taken to say nothing; name limits that are known"
        )
    sign = 1.0 if side == "above" else -1.0
    said = ", ".join(f"{names[j]} {sign * edge.level:.4g}" for j, edge in list(found.items())[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    columns = "one other column with gaps shows" if untold == 1 else f"{untold} other columns with gaps show"
    rest = f"; {columns} none, and absence says nothing there" if untold else ""
    return f"limits found from the data: {said}{more}{rest}"
