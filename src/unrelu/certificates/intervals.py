"""Guaranteed intervals for entries that are not determined, by linear programs.

A row i that sees rows S of the determined ones has a factor row x with U_S x = m_S; of every unseen entry absence says
u_j·x ≤ τ (or ≥ τ); and a seen diagonal entry bounds ‖x‖² = m_ii. Minimising and maximising u_j·x over the first two is
a pair of linear programs, whose interval contains the truth; the third cuts it by Cauchy and Schwarz. Without noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from unrelu.certificates.direct import DataError
from unrelu.observations import Observations

__all__ = ["entry_bounds"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

# Equations and inequalities are loosened by this many times what the error bounds say, and at least by this share of
# the row's scale, so that rounding can never make the truth infeasible.
LOOSENED, ROUNDING = 4.0, 1e-9
# Where a row's size is not known, that of its least-norm solution times this stands in for it in error bounds.
FURTHER = 10.0


def entry_bounds(
    observations: Observations,
    factor: Floats,
    bound: Floats,
    body: Bools,
    error: DataError,
    rows: Indices,
    cols: Indices,
) -> tuple[Floats, Floats]:
    """Low and high ends for entries (rows[k], cols[k]), all in units of ``observations.unit``.

    Parameters
    ----------
    observations : Observations
    factor, bound : ndarray of shape (n, r) and (n,)
        The fit, and how far each determined row may be off.
    body : boolean ndarray of shape (n,)
        The determined rows.
    error : DataError
    rows, cols : int ndarray of the same length
    """
    low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    sizes = np.linalg.norm(factor, axis=1)
    corner = np.full(observations.size, np.inf)
    for i in np.unique(np.concatenate([rows, cols])):
        value, seen = observations.pairs(np.array([i]), np.array([i]))
        corner[i] = np.sqrt(max(value[0, 0], 0.0)) if seen[0, 0] else np.inf
    for k, (i, j) in enumerate(zip(rows, cols, strict=True)):
        value, seen = observations.pairs(np.array([i]), np.array([j]))
        if seen[0, 0]:
            low[k] = high[k] = value[0, 0]
            continue
        low[k], high[k] = _absence(observations, int(i), int(j))
        size = _size(sizes, corner, body, int(i)) * _size(sizes, corner, body, int(j))
        low[k], high[k] = max(low[k], -size), min(high[k], size)
        if body[i] and body[j]:
            here = float(factor[i] @ factor[j])
            room = LOOSENED * float(sizes[i] * bound[j] + sizes[j] * bound[i]) + error.absolute
            low[k], high[k] = max(low[k], here - room), min(high[k], here + room)
    for i in np.unique(np.concatenate([rows[body[cols] & ~body[rows]], cols[body[rows] & ~body[cols]]])):
        own = np.flatnonzero(((rows == i) & body[cols]) | ((cols == i) & body[rows]))
        reach = float(corner[i]) if np.isfinite(corner[i]) else FURTHER * float(sizes[i]) + 1.0
        _by_programs(observations, factor, bound, body, error, int(i), reach, own, rows, cols, low, high)
    return np.minimum(low, high), np.maximum(low, high)


def _size(sizes: Floats, corner: Floats, body: Bools, i: int) -> float:
    """An upper bound of ‖u_i‖."""
    return float(sizes[i] if body[i] else corner[i]) * (1 + 1e-9)


def _absence(observations: Observations, i: int, j: int) -> tuple[float, float]:
    tau = observations.scaled_threshold
    values = np.full((1, 1), np.nan)
    absent = [observations.absent(slice(a, a + 1), slice(b, b + 1), values)[0, 0] for a, b in ((i, j), (j, i))]
    if tau is None or not any(absent):
        return -np.inf, np.inf
    return (-np.inf, tau) if observations.absence_says == "below" else (tau, np.inf)


def _by_programs(
    observations: Observations,
    factor: Floats,
    bound: Floats,
    body: Bools,
    error: DataError,
    i: int,
    reach: float,
    own: Indices,
    rows: Indices,
    cols: Indices,
    low: Floats,
    high: Floats,
) -> None:
    """Tighten the intervals of the entries ``own`` of row i against determined rows."""
    inside = np.flatnonzero(body)
    values, seen = observations.pairs(np.array([i]), inside)
    values, seen = values[0], seen[0]
    scale = float(np.abs(values[seen]).max(initial=0.0)) or 1.0
    room = LOOSENED * (bound[inside] * reach + error.absolute) + ROUNDING * scale
    A, b = [factor[inside[seen]], -factor[inside[seen]]], [values[seen] + room[seen], -values[seen] + room[seen]]
    tau = observations.scaled_threshold
    absent = np.array([any(np.isfinite(_absence(observations, i, int(j)))) for j in inside]) & ~seen
    if tau is not None and absent.any():
        sign = 1.0 if observations.absence_says == "below" else -1.0
        A.append(sign * factor[inside[absent]])
        b.append(sign * tau + room[absent])
    matrix, right = np.concatenate(A), np.concatenate(b)
    for k in own:
        j = int(cols[k] if rows[k] == i else rows[k])
        for sign in (1.0, -1.0):
            answer = linprog(sign * factor[j], A_ub=matrix, b_ub=right, bounds=(None, None), method="highs")
            if answer.status != 0:
                continue  # unbounded, or not solved: what is known already stands
            end = sign * float(answer.fun)
            slack = float(bound[j]) * reach * LOOSENED + ROUNDING * scale
            if sign > 0:
                low[k] = max(low[k], end - slack)
            else:
                high[k] = min(high[k], end + slack)
