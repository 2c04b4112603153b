"""Loops that numba compiles when they are first needed, and keeps on disk where it may write."""

from __future__ import annotations

import math
from functools import cache
from importlib.util import find_spec
from threading import Thread
from typing import Any

from unrelu.base.arrays import Floats

__all__ = ["available", "censored", "extrapolated"]


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
