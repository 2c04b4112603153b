"""Loops that numba compiles when they are first needed, and keeps on disk where it may write."""

from __future__ import annotations

import math
from functools import cache
from importlib.util import find_spec
from threading import Thread
from typing import Any

import numpy as np

from unrelu.base.arrays import Floats

__all__ = ["available", "censored", "extrapolated", "rows_drawn"]


@cache
def available() -> bool:
    """Whether numba is there; looking for what is not takes as long as several bands."""
    return find_spec("numba") is not None


def _compiler() -> Any:
    """Numba's ``njit``. A thread of its own imports it, for Ctrl-C in the middle would leave half of numba behind."""
    importing = Thread(target=__import__, args=("numba",), daemon=True)
    importing.start()
    importing.join()
    from numba import njit

    return njit


@cache
def censored() -> Any:
    """Cost, slopes and curvatures of a tile under the censored likelihood, and the sums for its noise level."""
    njit = _compiler()

    @njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def step(fit: Any, values: Any, hidden: Any, numbers: Any, into: Any, table: Floats) -> Any:
        slopes, curvatures = into
        inverse, tau, sign, sigma, times = numbers
        rate = 1.0 / sigma
        masked = hidden.size > 1
        squares, unseen, first, second = 0.0, 0.0, 0.0, 0.0
        count = 0
        for i in range(fit.shape[0]):
            for j in range(fit.shape[1]):
                value = values[i, j]
                if value == value:
                    rho = (fit[i, j] - value * inverse) * rate
                    squares += rho * rho
                    count += 1
                    slopes[i, j] += times * rho * rate
                    curvatures[i, j] += times * rate * rate
                elif not masked or hidden[i, j]:
                    z = (tau - sign * fit[i, j]) * rate
                    if z > 9.0:  # log Φ(9) is −1e-19
                        continue
                    if z > -40.0:
                        place = (z + 40.0) * 32.0
                        k = int(place + 0.5)
                        d = (place - k) / 32.0
                        h = table[k, 6]
                        for order in range(5, -1, -1):
                            h = h * d + table[k, order]
                        unseen += 0.5 * z * z + 0.9189385332046727 + math.log(h)
                    else:  # −z(1 + 1/z² − 2/z⁴ + 10/z⁶ − 74/z⁸), to double precision this far out
                        w = 1.0 / (z * z)
                        h = -z * (1.0 + w * (1.0 - w * (2.0 - w * (10.0 - w * (74.0 - w * 706.0)))))
                        unseen += 0.5 * z * z + 0.9189385332046727 + math.log(h)
                    bend = min(max(h * (h + z), 0.0), 1.0)
                    slopes[i, j] += times * sign * h * rate
                    curvatures[i, j] += times * bend * rate * rate
                    first += z * h
                    second += z * z * bend - z * h
        cost = 0.5 * squares + count * math.log(sigma) + unseen
        return cost, count - squares + first, 2.0 * squares + second, squares

    return step


@cache
def extrapolated() -> Any:
    """The element-wise part of a step of 3B-NMD on a band: what it is, stands in :meth:`Band.extrapolated`.

    Which entries are seen follows no pattern that a processor could guess, and a wrong guess costs more than all the
    arithmetic of an entry. So nothing here branches: both answers are computed and one is kept. The misfit is summed in
    any order, for else it could not be summed four or eight at a time. And each row is gone over twice: in one loop
    over eight arrays the compiler gives up showing that none of them overlap, and then takes one entry at a time.
    """
    njit = _compiler()

    @njit(nogil=True, cache=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator]
    def step(T: Any, before: Any, known: Any, numbers: Any, after: Any) -> float:
        theta, Z = before
        target, seen, absent = known
        beta, gamma, sign = numbers
        new_theta, new_Z = after
        misfit = 0.0
        for i in range(T.shape[0]):
            for j in range(T.shape[1]):
                here, goal = T[i, j], target[i, j]
                gap = here - goal
                misfit += gap * gap if (seen[i, j] != 0) | ((absent[i, j] != 0) & (sign * gap > 0.0)) else 0.0
                # Without momentum what was before may be anything, and is not kept.
                new_theta[i, j] = here if beta == 0.0 else (1.0 + beta) * here - beta * theta[i, j]
            for j in range(T.shape[1]):
                there, goal = new_theta[i, j], target[i, j]
                met = (seen[i, j] != 0) | ((absent[i, j] != 0) & (sign * (there - goal) > 0.0))
                there = goal if met else there
                new_Z[i, j] = there if gamma == 0.0 else (1.0 + gamma) * there - gamma * Z[i, j]
        return misfit

    return step


@cache
def rows_drawn() -> Any:
    """Every row of U given the others, in each of several chains: what it is, stands in :mod:`unrelu.solvers.gibbs`.

    The Cholesky factor C of a row's precision Q, C z = toward, Cᵀ u = z + normal: u has the mean Q⁻¹·toward and the
    covariance Q⁻¹.
    """
    njit = _compiler()

    @njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def step(U: Any, weighted: Any, precision: Any, numbers: Any, normal: Any) -> None:
        rates, precisions, pulled = numbers
        chains, n, r = U.shape
        Q, z = np.zeros((r, r)), np.zeros(r)
        for c in range(chains):
            rate = rates[c]
            for i in range(n):
                for k in range(r):
                    z[k] = 0.0
                    for m in range(k + 1):
                        Q[k, m] = 0.0
                for j in range(n):
                    weight, value = precision[i, j], weighted[c, i, j]
                    if weight == 0.0:
                        continue
                    for k in range(r):
                        z[k] += value * U[c, j, k]
                        for m in range(k + 1):
                            Q[k, m] += weight * U[c, j, k] * U[c, j, m]
                for k in range(r):
                    z[k] = rate * z[k] + pulled[c, k]
                    for m in range(k + 1):
                        Q[k, m] *= rate
                    Q[k, k] += precisions[c, k]
                for k in range(r):
                    for m in range(k + 1):
                        total = Q[k, m]
                        for q in range(m):
                            total -= Q[k, q] * Q[m, q]
                        Q[k, m] = math.sqrt(total) if k == m else total / Q[m, m]
                    for q in range(k):
                        z[k] -= Q[k, q] * z[q]
                    z[k] /= Q[k, k]
                for k in range(r - 1, -1, -1):
                    total = z[k] + normal[i, c, k]
                    for q in range(k + 1, r):
                        total -= Q[q, k] * U[c, i, q]
                    U[c, i, k] = total / Q[k, k]

    return step
