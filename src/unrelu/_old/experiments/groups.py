"""The most that the noisy theorems say of a planted factor, over several collections of groups."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.data.observations import Observations
from unrelu._old.theory.assumptions import AssumptionReport, check_assumption_3
from unrelu._old.theory.bounds import NoisyBounds, noisy_bounds
from unrelu._old.theory.discover import find_partition
from unrelu._old.theory.partition import Partition, cone_partition, sector_partition

__all__ = ["COLLECTION", "best_bounds"]

# What is tried, for a ledger.
COLLECTION = "sectors (12, 8), cones (π/12, π/8), cliques"

# Groups of few rows have a small λ; the others often cover all rows without them.
SHARES_DROPPED = (0.0, 0.25, 0.5, 0.75, 0.9)


def best_bounds(
    U: NDArray[Any], seen: NDArray[np.bool_], gamma: float, noise: float, rng: Any = None, *, search: bool = True
) -> tuple[NoisyBounds, AssumptionReport] | None:
    """The bounds of Theorems 3 and 4 with the groups that let Theorem 4 speak of most noise; None if none will do.

    Tried: the paper's sectors or cones of half-opening π/12, the same of π/8 (two of which still span no more than a
    right angle), cliques found from the pattern (``search``), and each without its poorest groups.
    """
    best: tuple[NoisyBounds, AssumptionReport] | None = None
    for partition in _candidates(U, seen, rng, search):
        weights = partition.eigenvalues
        for share in SHARES_DROPPED:
            kept = (weights >= np.quantile(weights, share)) & (weights > 0)
            if not kept.any():
                continue
            report = check_assumption_3(partition.keep(kept), seen)
            if not report.holds:
                break  # with fewer groups still it does not hold either
            steps = max(report.steps, 1)
            bounds = noisy_bounds(U, len(report.groups), report.lambda_, gamma, noise, steps=steps)
            if best is None or bounds.noise_limit > best[0].noise_limit:
                best = bounds, report
    return best


def _candidates(U: NDArray[Any], seen: NDArray[np.bool_], rng: Any, search: bool) -> Iterator[Partition]:
    if U.shape[1] == 2:
        yield sector_partition(U)
        yield sector_partition(U, 8)
    for angle in (pi / 12, pi / 8):
        yield cone_partition(U, "rows", angle)
    if search:
        found = find_partition(Observations.of(np.where(seen, U @ U.T, np.nan), threshold=None), U.shape[1], rng)
        if found is not None:
            yield found
