"""The general kernel with the element-wise part of a pass compiled: one loop over a tile instead of thirty.

What NumPy does worst are many cheap steps on the same numbers, each of which reads and writes all of them. numba
(``pip install unrelu[compiled]``) makes one loop of them. The NumPy kernel beside it is the reference, and serves where
numba is not installed, for losses that have no compiled form, and for limits that differ between entries.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from unrelu.base.arrays import Floats
from unrelu.data.observations import Observations
from unrelu.kernels.general import GeneralKernel
from unrelu.model.losses import Loss
from unrelu.model.losses.tails import ratio_table

__all__ = ["CompiledKernel", "can_compile"]


def can_compile(observations: Observations, loss: Loss) -> bool:
    """Whether there is a compiled pass for this loss and these limits, and a compiler."""
    limits = loss.heard(observations.limits)
    return loss.name == "censored" and limits.uniform and not limits.nothing and find_spec("numba") is not None


class CompiledKernel(GeneralKernel):
    """F and its derivatives for the censored likelihood with one threshold; all else as in the general kernel."""

    def _cost(self, tile: Any, work: Any) -> float:
        work.slopes.fill(0)
        work.curvatures.fill(0)
        step, table = _step(), ratio_table()
        sigma = float(self._loss.noise or 1.0)
        limits = self._observations.limits
        below = limits.side == "below"
        tau = float(limits.threshold or 0.0) / self._observations.unit
        total, sums = 0.0, np.zeros(3)
        nobody = np.zeros((1, 1), dtype=bool)
        for number, way in enumerate(tile.directions):
            found = step(
                work.fit, self._values(tile, number), nobody if way.hidden is None else way.hidden,
                (float(self._inverse), tau if below else -tau, 1.0 if below else -1.0, sigma, way.times),
                (work.slopes, work.curvatures), table,
            )  # fmt: skip
            total += way.times * found[0]
            sums += way.times * np.array(found[1:])
        work.add(sums)
        if tile.diagonal:
            work.slopes += work.slopes.T.copy()
            work.curvatures += work.curvatures.T.copy()
        return total


@cache
def _step() -> Any:
    """The loop, compiled when it is first needed and kept on disk where that can be written to."""
    from numba import njit

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
