"""From what was measured to networks: all points in units near one, and which of them hang together."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Indices
from unrelu._old.distances.anchors import joining_pairs
from unrelu._old.distances.ranges import Ranges
from unrelu._old.problems.network import Network, PairLimits

__all__ = ["components", "network_of"]


def network_of(ranges: Ranges, dim: int, *, join: bool = True) -> Network:
    """All points in units; with ``join`` the distances between anchors are those of their places, measured or not."""
    n, unit = ranges.size, ranges.unit
    keys = ranges.first.astype(np.int64) * n + ranges.second
    distance = ranges.distance / unit
    precision = ranges.precision
    weight = np.ones(len(keys)) if precision is None else precision / precision.mean()
    if join and len(ranges.anchors) > 1:
        a, b = joining_pairs(len(ranges.anchors), dim)
        known = np.linalg.norm(ranges.places[a] - ranges.places[b], axis=1) / unit
        between = ranges.anchors[a].astype(np.int64) * n + ranges.anchors[b]
        fresh = ~np.isin(between, keys)
        distance[np.searchsorted(keys, between[~fresh])] = known[~fresh]
        keys = np.r_[keys, between[fresh]]
        distance, weight = np.r_[distance, known[fresh]], np.r_[weight, np.ones(int(fresh.sum()))]
        order = np.argsort(keys)
        keys, distance, weight = keys[order], distance[order], weight[order]
    limits = ranges.limits
    if len(limits):
        own = limits.first.astype(np.int64) * n + limits.second
        unseen = ~np.isin(own, keys)
        limits = PairLimits(
            limits.first[unseen], limits.second[unseen], limits.lower[unseen] / unit, limits.upper[unseen] / unit
        )
    cutoff = None if ranges.cutoff is None else ranges.cutoff / unit
    first, second = (keys // n).astype(np.intp), (keys % n).astype(np.intp)
    return Network(n, dim, first, second, distance, weight, cutoff, limits)


def components(network: Network) -> Indices:
    """Which component each point lies in, the largest first; a finite upper limit holds points together too."""
    from scipy.sparse.csgraph import connected_components

    held = np.isfinite(network.limits.upper)
    first, second = (
        np.r_[network.first, network.limits.first[held]],
        np.r_[network.second, network.limits.second[held]],
    )
    shape = (network.size, network.size)
    count, label = connected_components(sp.csr_array((np.ones(len(first)), (first, second)), shape=shape), False)
    rank = np.empty(count, np.intp)
    rank[np.argsort(-np.bincount(label, minlength=count), kind="stable")] = np.arange(count)
    result: Indices = rank[label]
    return result
