"""Distances obey the triangle inequality; what breaks it beyond the noise is a mistake, and is named."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.arrays import Indices
from unrelu._old.base.errors import InputError
from unrelu._old.distances.edges import named
from unrelu._old.distances.ranges import Ranges
from unrelu._old.distances.seen import BEYOND_NOISE

__all__ = ["check_triangles"]

# Pairs of seen pairs with a common point that are looked at; of larger data a random part is.
MOST_WEDGES = 400_000
# Without a noise level: a pair that exceeds its detours by this share of itself in most of its triangles. Short pairs
# by this share of a typical distance: noise may be longer than they are.
GROSS = 0.5


def check_triangles(ranges: Ranges, rng: np.random.Generator) -> None:
    """Raise an error that names the worst triangle, if one is broken beyond the noise."""
    edge, one, other, middle = _triangles(ranges, rng)
    if not edge.size:
        return
    unit = float(ranges.distance.max()) or 1.0  # squares of distances near 1e200 are no numbers
    d = ranges.distance / unit
    excess = d[edge] - d[one] - d[other]
    if ranges.sigma is not None:
        s = ranges.sigma / unit
        slack = BEYOND_NOISE * np.sqrt(s[edge] ** 2 + s[one] ** 2 + s[other] ** 2) + ranges.rounding * d[edge]
        k = int(np.argmax(excess - slack))
        if excess[k] > slack[k]:
            raise _broken(
                ranges, edge[k], one[k], other[k], middle[k], f"{excess[k] / (slack[k] / BEYOND_NOISE):.0f} σ"
            )
        return
    if excess.max() <= ranges.rounding * float(d.max()):
        return
    order = np.lexsort((excess, edge))
    start = np.flatnonzero(np.r_[True, np.diff(edge[order]) > 0])
    count = np.diff(np.r_[start, len(order)])
    median = excess[order[start + (count - 1) // 2]]
    own = edge[order[start]]
    typical = float(np.sqrt(np.mean(d * d))) or 1.0
    share = median / np.maximum(d[own], typical)
    worst = int(np.argmax(share))
    if share[worst] > GROSS:
        k = order[start[worst] + count[worst] - 1]
        raise _broken(ranges, edge[k], one[k], other[k], middle[k], f"{excess[k] * unit:.3g}")


def _broken(ranges: Ranges, edge: Any, one: Any, other: Any, middle: Any, by: str) -> InputError:
    i, j = (named(int(end[edge]), ranges.names) for end in (ranges.first, ranges.second))
    k = named(int(middle), ranges.names)
    d = ranges.distance
    return InputError(
        f"the triangle inequality is broken beyond the noise, worst by {by} in the triangle ({i}, {k}, {j}): "
        f"{d[edge]:g} between {i} and {j}, but {d[one]:g} + {d[other]:g} by way of {k}; correct that distance, or pass "
        "a larger sigma="
    )


def _triangles(ranges: Ranges, rng: np.random.Generator) -> tuple[Indices, Indices, Indices, Indices]:
    """Seen triangles as positions of their three pairs, each three times, and the point opposite the first pair."""
    n, m = ranges.size, len(ranges.first)
    ends = np.r_[ranges.first, ranges.second]
    partner, number = np.r_[ranges.second, ranges.first], np.tile(np.arange(m), 2)
    order = np.argsort(ends, kind="stable")
    ends, partner, number = ends[order], partner[order], number[order]
    degree = np.bincount(ends, minlength=n)
    wedges = degree * (degree - 1) // 2
    points = rng.permutation(n)
    points = points[np.cumsum(wedges[points]) <= max(MOST_WEDGES, int(wedges[points[:1]].sum()))]
    points = points[degree[points] > 1]
    if not points.size:
        empty = np.zeros(0, np.intp)
        return empty, empty, empty, empty
    begin = np.cumsum(degree) - degree
    # All ordered pairs of the entries of each point, of which the increasing ones are kept.
    total = degree[points] ** 2
    owner = np.repeat(np.arange(len(points)), total)
    inside = np.arange(int(total.sum())) - np.repeat(np.cumsum(total) - total, total)
    a, b = inside // degree[points][owner], inside % degree[points][owner]
    a, b, owner = a[a < b], b[a < b], owner[a < b]
    a, b = begin[points][owner] + a, begin[points][owner] + b
    low, high = np.minimum(partner[a], partner[b]), np.maximum(partner[a], partner[b])
    keys = ranges.first.astype(np.int64) * n + ranges.second
    wanted = low.astype(np.int64) * n + high
    where = np.minimum(np.searchsorted(keys, wanted), m - 1)
    seen = keys[where] == wanted
    return where[seen], number[a[seen]], number[b[seen]], points[owner[seen]]
