"""Points whose place is known: reading them, tying them together, and whether they fix the frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.errors import InputError, is_integer, positions, unknown_name
from unrelu._old.base.tolerances import ANCHORS_FLAT
from unrelu._old.distances.edges import real

__all__ = ["fix_the_frame", "joining_pairs", "known_places"]

# Up to this many anchors all distances between them are used; beyond, those to some of them.
MOST_ANCHORS = 60


def known_places(anchors: Any, n: int, dim: int, names: tuple[Any, ...] | None) -> tuple[Indices, Floats]:
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


def joining_pairs(count: int, dim: int) -> tuple[Indices, Indices]:
    """Pairs of anchors that make all of them one body: all pairs of a few, else all with some of them."""
    if count <= MOST_ANCHORS:
        return np.triu_indices(count, 1)
    hubs = np.unique(np.linspace(0, count - 1, 4 * (dim + 1)).astype(np.intp))
    a, b = (part.ravel() for part in np.meshgrid(hubs, np.arange(count), indexing="ij"))
    low, high = np.minimum(a, b), np.maximum(a, b)
    keys = np.unique(low[low < high] * count + high[low < high])
    return keys // count, keys % count


def fix_the_frame(places: Floats, dim: int) -> bool:
    """Whether anchors fix frame and mirror image: dim+1 of them, not in one plane."""
    if len(places) <= dim:
        return False
    widths = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    return bool(len(widths) >= dim and widths[-1] > ANCHORS_FLAT * max(float(widths[0]), 1e-300))
