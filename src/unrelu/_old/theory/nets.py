"""ε-nets of the unit sphere: few unit vectors such that every unit vector is within ε of one."""

from __future__ import annotations

from functools import lru_cache
from math import acos, asin, ceil, cos, pi, sin

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import NETS_ROUNDING

__all__ = ["EPSILON", "covering_bound", "sphere_net"]

# The paper's net: chords of at most ¼, which is an angle below π/12 (Lemma union-C: 31/32 > cos π/12).
EPSILON = 0.25
# Up to 9^r points are held in a list.
MOST_NET_RANK = 5


def sphere_net(rank: int, epsilon: float = EPSILON) -> Floats:
    """An ε-net of the unit sphere (Definition eps-net): every unit vector is within ε of one of these.

    Not the smallest, which nobody knows, but built so that the covering holds by construction; the tests count at
    most (1 + 2/ε)^r points for the paper's ε = ¼ at every rank offered.

    Parameters
    ----------
    rank : int, 1 to 5
    epsilon : float, default ¼

    Returns
    -------
    ndarray of shape (K, rank)

    Examples
    --------
    >>> len(sphere_net(2)), len(sphere_net(3)) < covering_bound(3)
    (13, True)
    """
    if not 1 <= rank <= MOST_NET_RANK:
        raise InputError(f"nets are built for ranks from 1 to {MOST_NET_RANK}, got {rank}; use centres='rows'")
    if not 0 < epsilon <= 2:
        raise InputError(f"epsilon must be above 0 and at most 2, got {epsilon!r}")
    net: Floats = _net(rank, 2 * asin(epsilon / 2)).copy()
    return net


@lru_cache(maxsize=8)
def _net(rank: int, angle: float) -> Floats:
    """Unit vectors within ``angle`` of every unit vector, by circles of latitude.

    A point at polar angle φ, within δ of that of its circle, φ_k, and within ψ along it, is at most d away with
    cos d = cos(φ − φ_k) − sin φ sin φ_k (1 − cos ψ); δ is the same for every circle and ψ as large as d ≤ angle allows.
    """
    if rank == 1:
        return np.array([[1.0], [-1.0]])
    if angle >= pi:
        return np.eye(1, rank)
    if rank == 2:
        count = max(1, ceil(pi / angle - NETS_ROUNDING))
        turns = 2 * pi * np.arange(count) / count
        return np.column_stack([np.cos(turns), np.sin(turns)])
    # With angle/√2 for either way the circles are as far apart as the points on them; a whole number of bands fits.
    bands = max(1, ceil(pi / (2 * angle / 2**0.5)))
    half = pi / (2 * bands)
    points = []
    for band in range(bands):
        polar = half * (2 * band + 1)
        low, high = half * 2 * band, half * 2 * (band + 1)
        reach = 1.0 if low <= pi / 2 <= high else max(sin(low), sin(high))
        share = (cos(half) - cos(angle)) / (reach * sin(polar))
        along = pi if share >= 2 else acos(1 - share)
        circle = _net(rank - 1, along)
        points.append(np.column_stack([np.full(len(circle), cos(polar)), sin(polar) * circle]))
    return np.vstack(points)


def covering_bound(rank: int, epsilon: float = EPSILON) -> float:
    """(1 + 2/ε)^r, which the smallest ε-net of the unit sphere does not exceed, eq. (covering-number).

    Examples
    --------
    >>> covering_bound(3)
    729.0
    """
    if rank < 1 or not epsilon > 0:
        raise InputError(f"rank must be at least 1 and epsilon positive, got {rank} and {epsilon}")
    return (1 + 2 / epsilon) ** rank
