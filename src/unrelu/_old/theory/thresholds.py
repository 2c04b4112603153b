"""The Example (Positive-Threshold Mask): entries at or above a threshold are seen; up to which Assumption 3 holds."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError
from unrelu._old.theory.assumptions import AssumptionReport, check_assumption_3
from unrelu._old.theory.geometry import curvature
from unrelu._old.theory.partition import Partition, cone_partition, sector_partition
from unrelu._old.theory.pattern import as_factor

__all__ = ["ConvexityLimit", "ThresholdLimits", "check_threshold", "convexity_limit", "threshold_limits"]


def check_threshold(U: ArrayLike, threshold: float, partition: Partition | None = None) -> AssumptionReport:
    """The Example (Positive-Threshold Mask): Assumption 3 where the entries of UUᵀ at or above a threshold are seen.

    Parameters
    ----------
    U : array of shape (n, r)
    threshold : float
        η.
    partition : Partition, optional
        Default for r = 2: the twelve sectors of the paper's figure; otherwise cones.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((400, 2))
    >>> check_threshold(U, 0.0).holds, check_threshold(U, 0.5).holds
    (True, False)
    """
    factor = as_factor(U)
    if partition is None:
        partition = sector_partition(factor) if factor.shape[1] == 2 else cone_partition(factor, "rows")
    return check_assumption_3(partition, factor @ factor.T >= threshold)


@dataclass(frozen=True)
class ThresholdLimits:
    """Up to which threshold η (entries ≥ η seen) the conditions of Assumption 3 hold for some groups, without noise.

    Attributes
    ----------
    inside, linked : float
        The largest η at which (b), all entries within groups, and (d), a path of fully seen blocks between any two
        groups, hold.
    printed_inside, printed_linked : float
        The Example's sufficient values, min √3‖u_i‖‖u_j‖/2 within sectors and min ‖u_i‖‖u_j‖/2 between neighbours;
        NaN for groups that are no sectors.
    """

    inside: float
    linked: float
    printed_inside: float
    printed_linked: float

    @property
    def limit(self) -> float:
        """The largest η at which both hold."""
        return min(self.inside, self.linked)


def threshold_limits(partition: Partition) -> ThresholdLimits:
    """The thresholds at which conditions (b) and (d) stop holding for planted groups; (a) and (c) do not depend on η.

    For (d) it is the weakest link of the strongest tree that connects the groups, the weight of a link being the
    smallest entry of its block.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((200, 2))
    >>> limits = threshold_limits(sector_partition(U))
    >>> limits.printed_inside <= limits.inside, limits.printed_linked <= limits.linked
    (True, True)
    """
    if partition.kind == "found":
        raise InputError("threshold limits need the planted factor: a found partition has a frame per group")
    kept = [block for block in partition.blocks if len(block)]
    weakest = np.array([[float((A @ B.T).min()) for B in kept] for A in kept])
    return ThresholdLimits(
        inside=float(weakest.diagonal().min()),
        linked=_weakest_link(weakest),
        printed_inside=_printed(partition, 0, cos(pi / 6)),
        printed_linked=_printed(partition, 1, cos(pi / 3)),
    )


def _printed(partition: Partition, apart: int, cosine: float) -> float:
    """The Example's min cos(·)‖u_i‖‖u_j‖ over sectors so far apart."""
    if partition.kind != "sectors":
        return float("nan")
    shortest = [float(np.linalg.norm(block, axis=1).min()) if len(block) else np.inf for block in partition.blocks]
    return cosine * min(x * y for x, y in zip(shortest, shortest[apart:], strict=False))


def _weakest_link(weights: Floats) -> float:
    """The smallest weight in a spanning tree of largest weights (Prim's algorithm)."""
    K = len(weights)
    best, outside, weakest = weights[0].copy(), np.ones(K, bool), float("inf")
    outside[0] = False
    while outside.any():
        following = int(np.argmax(np.where(outside, best, -np.inf)))
        weakest = min(weakest, float(best[following]))
        outside[following] = False
        best = np.maximum(best, weights[following])
    return weakest


@dataclass(frozen=True)
class ConvexityLimit:
    """Up to which threshold F is strongly convex at a planted factor, without noise.

    Attributes
    ----------
    threshold : float
        The largest entry η at which γ > 0 if the entries at or above η are seen; for the next one γ is zero.
    rows : float
        The largest η at which every row sees r entries or more; γ is zero beyond it, because a row that sees fewer can
        be moved.
    """

    threshold: float
    rows: float

    @property
    def by_rows(self) -> bool:
        """Whether strong convexity lasts as long as every row sees r entries."""
        return self.threshold == self.rows


def convexity_limit(U: ArrayLike, rng: Any = None) -> ConvexityLimit:
    """The largest threshold at which γ > 0 (Theorem 2): raising it takes entries away, and γ falls with each.

    A γ that is smaller than its own error (``Curvature.residual``) counts as zero.

    Parameters
    ----------
    U : array of shape (n, r)
        A factor of full rank.
    rng : int, Generator or None
        For :func:`~unrelu._old.theory.geometry.curvature`.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((60, 2))
    >>> limit = convexity_limit(U)
    >>> limit.by_rows, curvature(U @ U.T >= limit.threshold, U).positive
    (True, True)
    """
    factor = as_factor(U)
    rank = factor.shape[1]
    matrix = factor @ factor.T
    matrix = (matrix + matrix.T) / 2  # equal entries must be equal to the last digit: they are seen together
    rows = float(np.partition(matrix, -rank, axis=1)[:, -rank].min())
    if curvature(matrix >= rows, factor, rng).positive:
        return ConvexityLimit(rows, rows)
    entries = np.unique(matrix[matrix <= rows])
    good, bad = 0, len(entries) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if curvature(matrix >= entries[middle], factor, rng).positive else (good, middle)
    return ConvexityLimit(float(entries[good]), rows)
