"""Rows that never see each other, not even through others: what each piece looks like says nothing of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.data.observations import Observations

__all__ = ["named_rows", "pieces"]


def pieces(observations: Observations) -> list[NDArray[np.intp]]:
    """The rows of each connected piece of the pattern, the largest first; rows of which nothing was seen are left out.

    Examples
    --------
    >>> nan = np.nan
    >>> [rows.tolist() for rows in pieces(Observations.of(np.array([[1, 2, nan], [2, 4, nan], [nan, nan, 3]])))]
    [[0, 1], [2]]
    """
    label, seen = observations.source.pieces(), observations.seen_per_row > 0
    found = [rows for rows in (np.flatnonzero(seen & (label == k)) for k in np.unique(label)) if rows.size]
    return sorted(found, key=lambda rows: (-len(rows), rows[0]))


def named_rows(rows: NDArray[np.intp], labels: tuple[Any, ...] | None, most: int = 3) -> str:
    """A few rows by name: ``rows 4, 9``, ``row x``, ``40 rows (0, 1, 2, …)``."""
    names = [str(labels[i]) if labels else str(i) for i in rows[:most]]
    if len(rows) > most:
        return f"{len(rows)} rows ({', '.join(names)}, …)"
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(names)}"
