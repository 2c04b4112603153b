"""What was measured: seen distances, what the unseen ones are known to satisfy, and points whose place is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu.distances.edges import EdgeList, all_different, edge_list, real
from unrelu.errors import InputError, is_integer, is_number, positions, unknown_name

__all__ = ["Limits", "Ranges", "named"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Two numbers that should be the same differ at most by this share of the largest distance when only rounding did it.
ROUNDING = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
# Noise exceeds this many standard deviations about once in 10⁹ draws.
BEYOND_NOISE = 6.0


@dataclass(frozen=True, eq=False)
class Limits:
    """Interval restraints: lower ≤ distance ≤ upper for some pairs, 0 and inf where one side is open."""

    first: Indices
    second: Indices
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Ranges:
    """The whole truth about the input.

    Attributes
    ----------
    size : int
        Number of points.
    first, second : int ndarray of shape (m,)
        The two points of each seen pair, first < second, each pair once, in increasing order.
    distance : ndarray of shape (m,)
    sigma : ndarray of shape (m,) or None
        Standard deviation of each distance, if the caller knows it.
    cutoff : float or None
        Every unseen distance is at least this.
    limits : Limits
    anchors : int ndarray, places : ndarray of shape (len(anchors), dim)
        Points whose place is known.
    names : tuple or None
    dtype : numpy dtype
        float32 if the distances came so, else float64.
    notes : tuple of str
        What a person should know about the input, in sentences.
    """

    size: int
    first: Indices
    second: Indices
    distance: Floats
    sigma: Floats | None = None
    cutoff: float | None = None
    limits: Limits = field(default_factory=lambda: no_limits())
    anchors: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    places: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    names: tuple[Any, ...] | None = None
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        D: Any,
        dim: int,
        *,
        cutoff: Any = None,
        squared: bool = False,
        sigma: Any = None,
        lower: Any = None,
        upper: Any = None,
        anchors: Any = None,
        names: Any = None,
    ) -> Ranges:
        """Check the caller's distances; nothing of the caller's is changed."""
        if cutoff is not None and not (is_number(cutoff) and cutoff > 0):
            raise InputError(f"cutoff must be a positive number, or None if absence says nothing; got {cutoff!r}")
        labels = None if names is None else tuple(names)
        all_different(labels or ())
        seen, n, labels, dtype = _seen_pairs(D, labels)
        deviation = _given_sigma(sigma, seen, n)
        seen = _checked_values(seen, squared, labels)
        if squared and deviation is not None and sigma is None:
            raise InputError("sigma in an edge list of squared distances is ambiguous; pass distances and their sigma")
        first, second, distance, deviation = _merged(seen, deviation, n, dtype, labels)
        _within_cutoff(first, second, distance, deviation, cutoff, dtype, labels)
        notes = _zeros(first, second, distance, labels)
        limits = _limits(lower, upper, n, labels, dtype)
        fixed, places = _anchors(anchors, n, dim, labels)
        return cls(n, first, second, distance, deviation, cutoff, limits, fixed, places, labels, dtype, notes)

    @property
    def unit(self) -> float:
        """A power of two near the typical distance: dividing by it is exact, and everything is solved at size one."""
        values = [self.distance[self.distance > 0], self.limits.lower[self.limits.lower > 0]]
        known = np.concatenate(values)
        size = float(np.median(known)) if known.size else (self.cutoff or 1.0)
        return float(2.0 ** round(float(np.log2(size))))

    @property
    def rounding(self) -> float:
        """The share of a distance that rounding of the input may have changed."""
        return ROUNDING[self.dtype]


def no_limits() -> Limits:
    """No interval restraint."""
    return Limits(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), np.zeros(0))


def named(index: int, names: tuple[Any, ...] | None) -> str:
    """The name of a point, or its number."""
    return str(names[index]) if names else str(int(index))


def _pair(first: Any, second: Any, names: tuple[Any, ...] | None) -> str:
    return f"({named(first, names)}, {named(second, names)})"


@dataclass(frozen=True, eq=False)
class _Seen:
    first: Indices
    second: Indices
    values: Floats
    sigma: Any = None
    directed: bool = False  # a matrix, in which (i, j) and (j, i) are the same measurement


def _seen_pairs(D: Any, names: tuple[Any, ...] | None) -> tuple[_Seen, int, tuple[Any, ...] | None, np.dtype[Any]]:
    """Seen pairs as the caller gave them, the number of points, their names, and the precision."""
    if isinstance(D, EdgeList):
        edges = D
    elif sp.issparse(D):
        return _from_sparse(D, names)
    else:
        edges_or_matrix = _table(D, names)
        if not isinstance(edges_or_matrix, EdgeList):
            return edges_or_matrix
        edges = edges_or_matrix
    if names is not None and edges.names is None:
        if len(names) != edges.size:
            raise InputError(f"names must be one per point, {edges.size}, got {len(names)}")
        edges = EdgeList(edges.pairs, edges.distances, edges.sigma, names)
    elif names is not None and edges.names is not None and tuple(edges.names) != names:
        edges = EdgeList([[edges.names[k] for k in pair] for pair in edges.pairs], edges.distances, edges.sigma, names)
    first, second = edges.pairs[:, 0], edges.pairs[:, 1]
    own = np.flatnonzero(first == second)
    if own.size:
        raise InputError(
            f"an edge joins two different points, got {named(first[own[0]], edges.names)} with itself in row {own[0]}"
            f"{f' and {own.size - 1} more' if own.size > 1 else ''}; drop such rows"
        )
    dtype = np.dtype(np.float64)
    return _Seen(first, second, edges.distances, edges.sigma), int(edges.size or 0), edges.names, dtype


def _table(D: Any, names: tuple[Any, ...] | None) -> Any:
    """A square matrix, or an edge list in three or four columns."""
    shape = getattr(D, "shape", None) or np.shape(np.asarray(D, dtype=object))
    if len(shape) == 2 and shape[0] != shape[1] and shape[1] in (3, 4):
        return edge_list(D, names)
    labels = names
    if hasattr(D, "columns") and hasattr(D, "index"):
        if tuple(D.columns) != tuple(D.index):
            raise InputError(
                "a data frame of distances must carry the same labels in index and columns; pass an edge list as three "
                "or four columns i, j, distance[, sigma]"
            )
        labels = tuple(D.index) if names is None and tuple(D.index) != tuple(range(len(D))) else names
    hidden = np.ma.getmaskarray(D) if isinstance(D, np.ma.MaskedArray) else None
    raw = np.asarray(D.data if hidden is not None else D)
    dtype = np.dtype(np.float32 if raw.dtype in (np.float32, np.float16) else np.float64)
    values = real(raw, "D")
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.shape[0] == 0:
        raise InputError(
            f"D must be a square matrix of distances, or an edge list of three or four columns, got shape "
            f"{values.shape}"
        )
    n = len(values)
    if labels is not None and len(labels) != n:
        raise InputError(f"names must be one per point, {n}, got {len(labels)}")
    seen = ~np.isnan(values)
    if hidden is not None:
        seen &= ~hidden
    first, second = np.nonzero(seen)
    return _matrix_pairs(first, second, values[first, second], labels), n, labels, dtype


def _from_sparse(D: Any, names: tuple[Any, ...] | None) -> tuple[_Seen, int, tuple[Any, ...] | None, np.dtype[Any]]:
    if D.shape[0] != D.shape[1] or D.shape[0] == 0:
        raise InputError(f"D must be square, got shape {D.shape}")
    if names is not None and len(names) != D.shape[0]:
        raise InputError(f"names must be one per point, {D.shape[0]}, got {len(names)}")
    entries = D.tocoo()
    dtype = np.dtype(np.float32 if entries.dtype == np.float32 else np.float64)
    values = real(entries.data, "D")
    kept = ~np.isnan(values)
    first, second = entries.row[kept].astype(np.intp), entries.col[kept].astype(np.intp)
    return _matrix_pairs(first, second, values[kept], names), D.shape[0], names, dtype


def _matrix_pairs(first: Indices, second: Indices, values: Floats, names: tuple[Any, ...] | None) -> _Seen:
    own = first == second
    wrong = np.flatnonzero(own & (values != 0))
    if wrong.size:
        k = wrong[0]
        raise InputError(
            f"the diagonal of D must be zero or unseen, got {values[k]:g} at {_pair(first[k], second[k], names)}"
        )
    return _Seen(first[~own], second[~own], values[~own], directed=True)


def _given_sigma(sigma: Any, seen: _Seen, n: int) -> Floats | None:
    """One standard deviation per seen pair, or None."""
    if sigma is None:
        sigma = seen.sigma
    if sigma is None:
        return None
    if sp.issparse(sigma):
        sigma = sigma.toarray()
    values = real(sigma, "sigma")
    if values.ndim == 2 and values.shape == (n, n):
        values = values[seen.first, seen.second]
    elif values.ndim == 0:
        values = np.full(len(seen.values), float(values))
    if values.shape != seen.values.shape:
        raise InputError(f"sigma must be one number, one per edge or an {n}×{n} matrix, got shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InputError("sigma must be finite and at least 0 wherever a distance was seen; drop it if it is unknown")
    return None if not values.any() else values


def _checked_values(seen: _Seen, squared: bool, names: tuple[Any, ...] | None) -> _Seen:
    values = seen.values
    what = "squared distance" if squared else "distance"
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        k = wrong[0]
        raise InputError(
            f"a {what} must be finite, got {values[k]} at {_pair(seen.first[k], seen.second[k], names)}; write NaN in "
            "a matrix, or leave the edge out, where nothing was seen"
        )
    wrong = np.flatnonzero(values < 0)
    if wrong.size:
        k = wrong[np.argmin(values[wrong])]
        raise InputError(
            f"a {what} must not be negative, got {values[k]:g} at {_pair(seen.first[k], seen.second[k], names)}"
            f"{f' and {wrong.size - 1} more' if wrong.size > 1 else ''}"
        )
    return _Seen(seen.first, seen.second, np.sqrt(values) if squared else values, seen.sigma, seen.directed)


def _merged(
    seen: _Seen, sigma: Floats | None, n: int, dtype: np.dtype[Any], names: tuple[Any, ...] | None
) -> tuple[Indices, Indices, Floats, Floats | None]:
    """Each pair once: what was given twice must agree."""
    low, high = np.minimum(seen.first, seen.second), np.maximum(seen.first, seen.second)
    keys = low.astype(np.int64) * n + high
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], seen.values[order]
    start = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if keys.size else np.zeros(0, np.intp)
    if not keys.size:
        return low, high, values, sigma
    count = np.diff(np.r_[start, keys.size])
    most, least = np.maximum.reduceat(values, start), np.minimum.reduceat(values, start)
    allowed = ROUNDING[dtype] * max(float(values.max()), 0.0)
    deviations = None if sigma is None else sigma[order]
    slack = np.full(len(start), allowed)
    if deviations is not None:
        slack = slack + BEYOND_NOISE * np.sqrt(2) * np.maximum.reduceat(deviations, start)
    apart = most - least
    broken = np.flatnonzero(apart > slack)
    if broken.size:
        k = broken[np.argmax((apart - slack)[broken])]
        where = _pair(low[order[start[k]]], high[order[start[k]]], names)
        if seen.directed:
            raise InputError(
                f"D must be symmetric, got entries that differ by up to {apart[k]:.3g}, at {where}: {least[k]:g} and "
                f"{most[k]:g}; average them, or pass sigma= if they are two noisy measurements"
            )
        raise InputError(
            f"the pair {where} is given {count[k]} times with distances from {least[k]:g} to {most[k]:g}; keep one of "
            "them, or pass sigma= if they are noisy measurements"
        )
    mean = np.add.reduceat(values, start) / count
    mean = np.where(most == least, most, mean)
    merged = None
    if deviations is not None:
        merged = np.add.reduceat(deviations, start) / count
        if not seen.directed:  # repeated measurements; the two halves of a matrix are one
            merged = merged / np.sqrt(count)
    return low[order[start]], high[order[start]], mean, merged


def _within_cutoff(
    first: Indices,
    second: Indices,
    distance: Floats,
    sigma: Floats | None,
    cutoff: float | None,
    dtype: np.dtype[Any],
    names: tuple[Any, ...] | None,
) -> None:
    if cutoff is None:
        return
    slack = ROUNDING[dtype] * cutoff + (0.0 if sigma is None else BEYOND_NOISE * sigma)
    beyond = np.flatnonzero(distance > cutoff + slack)
    if beyond.size:
        k = beyond[np.argmax(distance[beyond])]
        raise InputError(
            f"a seen distance must not exceed cutoff={cutoff:g}, got {distance[k]:g} at "
            f"{_pair(first[k], second[k], names)}{f' and {beyond.size - 1} more' if beyond.size > 1 else ''}; raise "
            "the cut-off, drop it, or pass sigma= if noise did it"
        )


def _zeros(first: Indices, second: Indices, distance: Floats, names: tuple[Any, ...] | None) -> tuple[str, ...]:
    same = np.flatnonzero(distance == 0)
    if not same.size:
        return ()
    where = _pair(first[same[0]], second[same[0]], names)
    more = f" and {same.size - 1} more pairs" if same.size > 1 else ""
    return (f"{where}{more} have distance zero: different points at one place",)


def _limits(lower: Any, upper: Any, n: int, names: tuple[Any, ...] | None, dtype: np.dtype[Any]) -> Limits:
    if lower is None and upper is None:
        return no_limits()
    sides = []
    for side, what in ((lower, "lower"), (upper, "upper")):
        if side is None:
            sides.append((np.zeros(0, np.int64), np.zeros(0)))
            continue
        seen, size, _, _ = _seen_pairs(side, names if isinstance(side, EdgeList) else None)
        if size > n or (size != n and not isinstance(side, EdgeList)):
            raise InputError(f"{what} must be about the same {n} points as D, got {size}")
        pair = _checked_values(seen, False, names)
        first, second, value, _ = _merged(pair, None, n, dtype, names)
        sides.append((first.astype(np.int64) * n + second, value))
    keys = np.union1d(sides[0][0], sides[1][0])
    low, high = np.zeros(len(keys)), np.full(len(keys), np.inf)
    low[np.searchsorted(keys, sides[0][0])] = sides[0][1]
    high[np.searchsorted(keys, sides[1][0])] = sides[1][1]
    first, second = (keys // n).astype(np.intp), (keys % n).astype(np.intp)
    crossing = np.flatnonzero(low > high)
    if crossing.size:
        k = crossing[0]
        raise InputError(
            f"lower must not exceed upper, got {low[k]:g} above {high[k]:g} at {_pair(first[k], second[k], names)}"
            f"{f' and {crossing.size - 1} more' if crossing.size > 1 else ''}"
        )
    return Limits(first, second, low, high)


def _anchors(anchors: Any, n: int, dim: int, names: tuple[Any, ...] | None) -> tuple[Indices, Floats]:
    """Indices of the points whose place is known, and those places."""
    if anchors is None:
        return np.zeros(0, np.intp), np.zeros((0, dim))
    if isinstance(anchors, dict):
        known = {name: place for place, name in enumerate(names)} if names else {}
        indices = []
        for key in anchors:
            if key in known:
                indices.append(known[key])
            elif is_integer(key) and 0 <= key < n and not any(is_integer(name) for name in known):
                indices.append(int(key))
            elif known:
                raise unknown_name("anchor", key, [str(name) for name in known])
            else:
                raise InputError(f"an anchor must be the index of a point, 0 to {n - 1}, got {key!r}")
        places = real([np.asarray(place, dtype=object) for place in anchors.values()], "anchors")
        places = places.reshape(len(indices), -1) if places.size else np.zeros((0, dim))
        fixed = np.array(indices, np.intp)
    else:
        table = real(anchors, "anchors")
        if table.shape != (n, dim):
            raise InputError(
                f"anchors must be a dictionary of positions, or have shape (n, dim) = ({n}, {dim}) with NaN rows for "
                f"free points, got {table.shape}"
            )
        fixed = np.flatnonzero(~np.isnan(table).all(axis=1))
        places = table[fixed]
    if places.shape[1] != dim:
        raise InputError(f"an anchor's position must have {dim} coordinates, got {places.shape[1]}")
    if len(np.unique(fixed)) != len(fixed):
        raise InputError("an anchor was given twice, once by name and once by index")
    broken = np.argwhere(~np.isfinite(places))
    if broken.size:
        where = [(fixed[row], column) for row, column in broken]
        raise InputError(f"an anchor's position must be finite, got NaN or infinity at {positions(where, len(where))}")
    order = np.argsort(fixed)
    return fixed[order], places[order]
