"""An edge list: pairs of points, their distances, and the names the points go by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError, is_integer, positions, unknown_name

__all__ = ["EdgeList", "all_different", "edge_list", "named", "named_pair", "numbered", "real"]

MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Distances as a list of pairs.

    Attributes
    ----------
    pairs : array of shape (m, 2)
        Positions 0…n−1 of the two points of each pair, or their names.
    distances : array of shape (m,)
    sigma : float or array of shape (m,), optional
        Standard deviation of each distance.
    names : sequence, optional
        Names of all points, in the order the answer has. If the pairs are names and this is missing, the points are
        numbered in the order in which they appear.
    size : int, optional
        How many points there are, if some at the end have no distance.

    Examples
    --------
    >>> from unrelu import EdgeList
    >>> edges = EdgeList([("a", "b"), ("b", "c")], [1.0, 2.0])
    >>> edges.names, edges.pairs.tolist()
    (('a', 'b', 'c'), [[0, 1], [1, 2]])
    """

    pairs: Any
    distances: Any
    sigma: Any = None
    names: tuple[Any, ...] | None = None
    size: int | None = field(default=None)

    def __post_init__(self) -> None:
        names = None if self.names is None else tuple(self.names)
        pairs, names, size = numbered(self.pairs, names, self.size)
        distances = real(self.distances, "distances")
        if distances.shape != (len(pairs),):
            raise InputError(f"distances must be one per pair, {len(pairs)} numbers, got shape {distances.shape}")
        sigma = self.sigma
        if sigma is not None:
            sigma = real(sigma, "sigma")
            if sigma.ndim and sigma.shape != (len(pairs),):
                raise InputError(f"sigma must be one number, or one per pair, {len(pairs)}, got shape {sigma.shape}")
        for name, value in dict(pairs=pairs, distances=distances, sigma=sigma, names=names, size=size).items():
            object.__setattr__(self, name, value)


def numbered(
    pairs: Any, names: tuple[Any, ...] | None, size: int | None
) -> tuple[NDArray[np.intp], tuple[Any, ...] | None, int]:
    """Pairs as positions 0…n−1, the names those stand for, and how many points there are."""
    rows = pairs if isinstance(pairs, np.ndarray) else np.array([tuple(pair) for pair in pairs], dtype=object)
    if rows.size == 0:
        rows = np.zeros((0, 2), np.intp)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise InputError(f"pairs must have shape (m, 2), two points each, got {rows.shape}")
    if size is not None and (not is_integer(size) or size < 1):
        raise InputError(f"size must be a positive integer, got {size!r}")
    if names is not None:
        all_different(names)
        if size is not None and size != len(names):
            raise InputError(f"size must be the number of names, {len(names)}, got {size}")
        return _by_name(rows, names), names, len(names)
    if _integers(rows):
        indices = rows.astype(np.intp)
        return indices, None, _contiguous(indices, size)
    found: dict[Any, int] = {}
    for name in rows.ravel().tolist():
        found.setdefault(name, len(found))
    flat = np.array([found[name] for name in rows.ravel().tolist()], np.intp)
    return flat.reshape(-1, 2), tuple(found), len(found)


def _integers(rows: NDArray[Any]) -> bool:
    if rows.dtype.kind in "iu":
        return True
    if rows.dtype.kind == "f":
        whole = bool(np.isfinite(rows).all() and (rows == np.round(rows)).all())
        if not whole:
            where = np.argwhere(~np.isfinite(rows) | (rows != np.round(rows)))[0]
            raise InputError(f"pairs must be integer positions or names, got {rows[tuple(where)]} in row {where[0]}")
        return True
    return all(is_integer(value) for value in rows.ravel().tolist())


def _contiguous(indices: NDArray[np.intp], size: int | None) -> int:
    if indices.size and indices.min() < 0:
        row = int(np.argmin(indices.min(axis=1)))
        raise InputError(f"positions in pairs must be at least 0, got {indices.min()} in row {row}")
    if size is not None:
        if indices.size and indices.max() >= size:
            row = int(np.argmax(indices.max(axis=1)))
            raise InputError(f"positions in pairs must be below size={size}, got {indices.max()} in row {row}")
        return size
    if not indices.size:
        raise InputError("an edge list without edges has no points; pass size= to say how many there are")
    used = np.unique(indices)
    if len(used) != used[-1] + 1:
        gap = int(np.flatnonzero(used != np.arange(len(used)))[0])
        raise InputError(
            f"ids must run from 0 to n−1 without gaps, got {len(used)} different ids up to {used[-1]}, and {gap} is "
            "missing; pass names= (all ids, in the order wanted) to keep them as names, or size= if the missing points "
            "exist and have no distance"
        )
    return int(used[-1]) + 1


def all_different(names: Sequence[Any]) -> None:
    """Refuse names of which one occurs twice."""
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise InputError(f"names must all be different, got {name!r} twice")
        seen.add(name)


def _by_name(rows: NDArray[Any], names: tuple[Any, ...]) -> NDArray[np.intp]:
    places = {name: place for place, name in enumerate(names)}
    values = rows.ravel().tolist()
    if not any(is_integer(name) for name in names) and values and all(is_integer(value) for value in values):
        if min(values) < 0 or max(values) >= len(names):
            worst = max(values) if max(values) >= len(names) else min(values)
            raise InputError(f"positions in pairs must be between 0 and {len(names) - 1}, got {worst}")
        return rows.astype(np.intp)
    for value in values:
        if value not in places:
            raise unknown_name("point", value, [str(name) for name in names])
    return np.array([places[value] for value in values], np.intp).reshape(-1, 2)


def named(index: int, names: tuple[Any, ...] | None) -> str:
    """The name of a point, or its number."""
    return str(names[index]) if names else str(int(index))


def named_pair(first: Any, second: Any, names: tuple[Any, ...] | None) -> str:
    """Two points by name."""
    return f"({named(first, names)}, {named(second, names)})"


def real(values: Any, what: str) -> NDArray[np.float64]:
    """An array of real numbers, float64, or an error in words."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{what} must be numbers, got rows of different lengths") from None
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{what} must be real numbers, got {array.ravel()[:1].tolist()}") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{what} must be real numbers, got dtype {array.dtype}; convert with .astype(float) first")
    return array.astype(np.float64)


def edge_list(table: Any, names: tuple[Any, ...] | None) -> EdgeList:
    """The edge list in a table of three or four columns: i, j, distance and perhaps sigma."""
    if hasattr(table, "iloc"):
        columns = [table.iloc[:, k].to_numpy() for k in range(table.shape[1])]
    else:
        columns = list(np.asarray(table).T)
    first, second = columns[0], columns[1]
    if all(column.dtype.kind in "iuf" for column in (first, second)):
        both = np.column_stack([first, second])
        broken = ~np.isfinite(both.astype(np.float64)) | (both != np.round(both))
        if broken.any():
            where = np.argwhere(broken)
            raise InputError(
                f"the first two columns of an edge list must be positions, got {both[tuple(where[0])]} at "
                f"{positions(where, len(where))}"
            )
        pairs: Any = both.astype(np.intp)
    else:
        pairs = np.empty((len(first), 2), dtype=object)
        pairs[:, 0], pairs[:, 1] = first.tolist(), second.tolist()
    return EdgeList(pairs, columns[2], columns[3] if len(columns) == 4 else None, names)
