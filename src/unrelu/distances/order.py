"""An order of the points that does not depend on how the caller numbered them.

Random draws are made in this order, so that the same data in another order give the same answer. A point's number is
made from its distances, those of the points that it sees, and so on: sums of 64-bit integers, which do not depend on
the order of their terms, not even by rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unrelu.distances.network import Network

__all__ = ["own_order"]

Numbers = NDArray[np.uint64]

ROUNDS = 4
ODD = np.uint64(0x9E3779B97F4A7C15)


def own_order(network: Network) -> NDArray[np.intp]:
    """Positions of the points in an order of their own; the caller's where points cannot be told apart."""
    lengths = _mixed(np.ascontiguousarray(network.distance, np.float64).view(np.uint64))
    colour = np.full(network.size, ODD, np.uint64)
    for _ in range(ROUNDS):
        total = np.zeros(network.size, np.uint64)
        for one, other in ((network.first, network.second), (network.second, network.first)):
            np.add.at(total, one, _mixed(lengths ^ colour[other]))
        colour = _mixed(colour + ODD * total)
    return np.argsort(colour, kind="stable")


def _mixed(values: Numbers) -> Numbers:
    """Bits well shaken; arithmetic wraps around."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Numbers = values ^ (values >> np.uint64(31))
    return result
