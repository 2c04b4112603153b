"""Rows that never see each other, not even through others: what each piece looks like says nothing of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu.data.observations import Observations

__all__ = ["named_rows", "pieces"]

# Rows looked at together; most patterns are known to hang together after the first.
AT_ONCE = 64


def pieces(observations: Observations) -> list[NDArray[np.intp]]:
    """The rows of each connected piece of the pattern, the largest first; rows of which nothing was seen are left out.

    Examples
    --------
    >>> nan = np.nan
    >>> [rows.tolist() for rows in pieces(Observations.of(np.array([[1, 2, nan], [2, 4, nan], [nan, nan, 3]])))]
    [[0, 1], [2]]
    """
    waiting = observations.seen_per_row > 0
    found = []
    if sp.issparse(observations.data):
        _, label = sp.csgraph.connected_components(_pattern(observations.data), directed=False)
        found = [rows for rows in (np.flatnonzero(waiting & (label == k)) for k in np.unique(label)) if rows.size]
    else:
        while waiting.any():
            found.append(_reached(observations.data, int(np.argmax(waiting)), waiting))
            waiting[found[-1]] = False
    return sorted(found, key=lambda rows: (-len(rows), rows[0]))


def _pattern(data: Any) -> Any:
    """A seen zero is an edge too, which a sparse graph would drop."""
    return sp.csr_array((np.ones(data.nnz, np.int8), data.indices, data.indptr), shape=data.shape)


def _reached(data: NDArray[Any], first: int, waiting: NDArray[np.bool_]) -> NDArray[np.intp]:
    reached = np.zeros(len(data), dtype=bool)
    reached[first] = True
    frontier = np.array([first])
    while frontier.size and not reached[waiting].all():
        now, frontier = frontier[:AT_ONCE], frontier[AT_ONCE:]
        seen = (~np.isnan(data[now])).any(axis=0) | (~np.isnan(data[:, now])).any(axis=1)
        fresh = np.flatnonzero(seen & ~reached)
        reached[fresh] = True
        frontier = np.concatenate([frontier, fresh])
    return np.flatnonzero(reached)


def named_rows(rows: NDArray[np.intp], labels: tuple[Any, ...] | None, most: int = 3) -> str:
    """A few rows by name: ``rows 4, 9``, ``row x``, ``40 rows (0, 1, 2, …)``."""
    names = [str(labels[i]) if labels else str(i) for i in rows[:most]]
    if len(rows) > most:
        return f"{len(rows)} rows ({', '.join(names)}, …)"
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(names)}"
