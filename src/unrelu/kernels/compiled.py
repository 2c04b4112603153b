"""The general kernel with the element-wise part of a pass compiled: one loop over a tile instead of thirty.

What NumPy does worst are many cheap steps on the same numbers, each of which reads and writes all of them. numba
(``pip install unrelu[compiled]``) makes one loop of them. The NumPy kernel beside it is the reference, and serves where
numba is not installed, for losses that have no compiled form, and for limits that differ between entries.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from unrelu.data.observations import Observations
from unrelu.kernels.general import GeneralKernel
from unrelu.kernels.loops import censored
from unrelu.model.losses import Loss
from unrelu.model.losses.tails import ratio_table

__all__ = ["CompiledKernel", "can_compile"]


def can_compile(observations: Observations, loss: Loss) -> bool:
    """Whether there is a compiled pass for this loss and these limits, and a compiler."""
    limits = loss.heard(observations.limits)
    one_limit = observations.plain and limits.uniform and not limits.nothing
    return loss.name == "censored" and one_limit and find_spec("numba") is not None


class CompiledKernel(GeneralKernel):
    """F and its derivatives for the censored likelihood with one threshold; all else as in the general kernel."""

    def _cost(self, tile: Any, work: Any) -> float:
        work.clear()
        step, table = censored(), ratio_table()
        sigma = float(self._loss.noise or 1.0)
        limits = self._observations.limits
        below = limits.side == "below"
        tau = float(limits.threshold or 0.0) / self._observations.unit
        total, sums = 0.0, np.zeros(3)
        nobody = np.zeros((1, 1), dtype=bool)
        for number, way in enumerate(tile.directions):
            found = step(
                work.fit, self._data.values(tile, number), nobody if way.hidden is None else way.hidden,
                (float(self._inverse), tau if below else -tau, 1.0 if below else -1.0, sigma, way.times),
                (work.slopes, work.curvatures), table,
            )  # fmt: skip
            total += way.times * found[0]
            sums += way.times * np.array(found[1:])
        work.add(sums)
        if tile.diagonal:
            work.mirror()
        return total
