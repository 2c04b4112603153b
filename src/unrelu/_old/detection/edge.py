"""A wall shows in the seen values alone: they begin at once, and do not thin out towards their end.

Just above a wall seen values lie as a Poisson process does, with one rate. So the least of n values is an exponential
distance above it, of 1/rate on average, and the distances of the next few from it are those of uniform numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import f as fisher
from scipy.stats import kstest

from unrelu._old.base.arrays import Floats, Indices

__all__ = ["Edge", "edge_of"]

# Of the lowest values, how many tell the rate just above the edge: at most, of all of them, at least; and of how many.
NEAR, SHARE, FEWEST, OF = 200, 0.04, 10, 40
# At a wall there are at least so many to a unit as around the middle, relatively: a tail has fewer. Where the lowest
# are a larger share of all values than SHARE, a tail has more of them, and so must a wall.
DENSE = 0.25
# As seldom as this a wall looks like none.
DOUBT = 0.01
# Fewer different values among the lowest than this share of them: they were rounded.
ROUNDED = 0.5
# Times as many among the next rounded values as at the edge: no wall, but the end of a tail.
TAIL = 3.0


@dataclass(frozen=True)
class Edge:
    """Where seen values begin.

    Attributes
    ----------
    level : float
        The least seen value: nothing that was seen is below it.
    interval : (float, float)
        Where the wall is, with a probability of 95 %, if there is one.
    sharp : bool
        Whether it looks like one.
    """

    level: float
    interval: tuple[float, float]
    sharp: bool


def edge_of(values: Floats) -> Edge | None:
    """The lower edge of some values, each measured once; None where there are too few to tell.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> normal = rng.standard_normal(5000)
    >>> wall = edge_of(normal[normal >= 0.3])
    >>> wall.sharp, bool(wall.interval[0] <= 0.3 <= wall.interval[1]), bool(abs(wall.level - 0.3) < 0.002)
    (True, True, True)
    >>> edge_of(normal).sharp  # a tail thins out
    False
    """
    count = int(min(NEAR, max(SHARE * values.size, FEWEST)))
    if values.size < OF:
        return None
    lowest = np.sort(np.partition(values, count)[: count + 1].astype(np.float64))
    distinct, often = np.unique(lowest, return_counts=True)
    if len(distinct) < ROUNDED * len(lowest):
        return _rounded(distinct, often)
    away = lowest[1:] - lowest[0]
    if not away[-1] > 0:
        return None
    # The distances before the last, in units of it, are uniform: k − 1 of them.
    sharp = float(kstest(away[:-1] / away[-1], "uniform").pvalue) >= DOUBT and _dense(values, len(away) / away[-1])
    # (least − wall) times the rate is exponential, and the rate is known by k distances: their ratio is an F.
    reach = float(fisher.ppf(0.95, 2, 2 * len(away))) * float(away[-1]) / len(away)
    return Edge(float(lowest[0]), (float(lowest[0]) - reach, float(lowest[0])), sharp)


def _dense(values: Floats, rate: float) -> bool:
    """Whether values begin with as many to a unit as a wall leaves, compared with their middle half."""
    low, high = np.quantile(values, [0.25, 0.75])
    dense = DENSE * max(1.0, np.sqrt(FEWEST / (SHARE * values.size)))
    return bool(rate * (high - low) >= dense * values.size / 2)


def _rounded(distinct: Floats, often: Indices) -> Edge:
    """Of rounded values: a wall is between the least and the one that would have come before it."""
    step = float(np.min(np.diff(distinct))) if len(distinct) > 1 else 0.0
    # The last of them was cut off where counting ended.
    following = float(np.mean(often[1:-1])) if len(often) > 2 else float(often[0])
    spaced = len(distinct) < 3 or float(distinct[1] - distinct[0]) < 1.5 * step
    sharp = spaced and following <= TAIL * float(often[0])
    return Edge(float(distinct[0]), (float(distinct[0]) - step, float(distinct[0])), sharp)
