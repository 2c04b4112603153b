"""The caller's distances, in whatever form they came: seen pairs, each once, and what was said about their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import SEEN_ROUNDING, SEEN_SAME_PLACE
from unrelu._old.distances.edges import EdgeList, edge_list, named, named_pair, real

__all__ = ["BEYOND_NOISE", "SEEN_ROUNDING", "SeenPairs", "checked_values", "given_sigma", "merged_pairs", "seen_pairs"]

# Noise exceeds this many standard deviations about once in 10⁹ draws.
BEYOND_NOISE = 6.0


@dataclass(frozen=True, eq=False)
class SeenPairs:
    """Pairs and their values as they were given, perhaps twice."""

    first: Indices
    second: Indices
    values: Floats
    sigma: Any = None
    directed: bool = False  # a matrix, in which (i, j) and (j, i) are the same measurement


def seen_pairs(
    D: Any, names: tuple[Any, ...] | None, *, squared: bool = False
) -> tuple[SeenPairs, int, tuple[Any, ...] | None, np.dtype[Any]]:
    """Seen pairs as the caller gave them, the number of points, their names, and the precision."""
    if isinstance(D, EdgeList):
        edges = D
    elif sp.issparse(D):
        return _from_sparse(D, names, squared)
    else:
        edges_or_matrix = _table(D, names, squared)
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
    return SeenPairs(first, second, edges.distances, edges.sigma), int(edges.size or 0), edges.names, dtype


def _table(D: Any, names: tuple[Any, ...] | None, squared: bool) -> Any:
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
    return _matrix_pairs(first, second, values[first, second], labels, dtype, squared), n, labels, dtype


def _from_sparse(
    D: Any, names: tuple[Any, ...] | None, squared: bool
) -> tuple[SeenPairs, int, tuple[Any, ...] | None, np.dtype[Any]]:
    if D.shape[0] != D.shape[1] or D.shape[0] == 0:
        raise InputError(f"D must be square, got shape {D.shape}")
    if names is not None and len(names) != D.shape[0]:
        raise InputError(f"names must be one per point, {D.shape[0]}, got {len(names)}")
    entries = D.tocoo()
    dtype = np.dtype(np.float32 if entries.dtype == np.float32 else np.float64)
    values = real(entries.data, "D")
    kept = ~np.isnan(values)
    first, second = entries.row[kept].astype(np.intp), entries.col[kept].astype(np.intp)
    return _matrix_pairs(first, second, values[kept], names, dtype, squared), D.shape[0], names, dtype


def _matrix_pairs(
    first: Indices,
    second: Indices,
    values: Floats,
    names: tuple[Any, ...] | None,
    dtype: np.dtype[Any],
    squared: bool,
) -> SeenPairs:
    """Pairs off the diagonal, which must be zero to rounding; what is as small as its rounding is zero too."""
    own = first == second
    lengths = np.sqrt(np.abs(values)) if squared else np.abs(values)
    allowed = SEEN_SAME_PLACE[dtype] * _typical(lengths[~own])
    wrong = np.flatnonzero(own & (values != 0) & ~(lengths <= allowed))
    if wrong.size:
        k = wrong[0]
        raise InputError(
            f"the diagonal of D must be zero or unseen, got {values[k]:g} at {named_pair(first[k], second[k], names)}"
        )
    off, lengths = values[~own], lengths[~own]
    rounding = float(np.max(np.abs(values[own]), initial=0.0))
    # Points at one place have been treated as the diagonal was: their distances are off by as much.
    same = lengths <= 4 * (np.sqrt(rounding) if squared else rounding)
    if squared:
        same |= (off < 0) & (lengths <= allowed)
    return SeenPairs(first[~own], second[~own], np.where(same, 0.0, off), directed=True)


def _typical(lengths: Floats) -> float:
    """The median of the distances that are neither zero nor infinite; 0 if there is none."""
    known = lengths[np.isfinite(lengths) & (lengths > 0)]
    return float(np.median(known)) if known.size else 0.0


def given_sigma(sigma: Any, seen: SeenPairs, n: int) -> Floats | None:
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


def checked_values(seen: SeenPairs, squared: bool, names: tuple[Any, ...] | None) -> SeenPairs:
    """Distances that are finite and not negative; roots of them if squares were given."""
    values = seen.values
    what = "squared distance" if squared else "distance"
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        k = wrong[0]
        raise InputError(
            f"a {what} must be finite, got {values[k]} at {named_pair(seen.first[k], seen.second[k], names)}; write "
            "NaN in a matrix, or leave the edge out, where nothing was seen"
        )
    wrong = np.flatnonzero(values < 0)
    if wrong.size:
        k = wrong[np.argmin(values[wrong])]
        raise InputError(
            f"a {what} must not be negative, got {values[k]:g} at {named_pair(seen.first[k], seen.second[k], names)}"
            f"{f' and {wrong.size - 1} more' if wrong.size > 1 else ''}"
        )
    return SeenPairs(seen.first, seen.second, np.sqrt(values) if squared else values, seen.sigma, seen.directed)


def merged_pairs(
    seen: SeenPairs, sigma: Floats | None, n: int, dtype: np.dtype[Any], names: tuple[Any, ...] | None
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
    allowed = SEEN_ROUNDING[dtype] * max(float(values.max()), 0.0)
    # A tiny distance taken from the difference of large squares is uncertain in its square.
    place = SEEN_SAME_PLACE[dtype] * _typical(values) if seen.directed else 0.0
    deviations = None if sigma is None else sigma[order]
    slack = np.maximum(allowed, np.hypot(least, place) - least)
    if deviations is not None:
        slack = slack + BEYOND_NOISE * np.sqrt(2) * np.maximum.reduceat(deviations, start)
    apart = most - least
    broken = np.flatnonzero(apart > slack)
    if broken.size:
        k = broken[np.argmax((apart - slack)[broken])]
        where = named_pair(low[order[start[k]]], high[order[start[k]]], names)
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
