"""An order of the points that does not depend on how the caller numbered them.

Random draws are made in this order, so that the same data in another order give the same answer. A point's number is
made from its distances, those of the points that it sees, and so on; see :mod:`unrelu._old.base.alike`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.alike import alike_in, bits_of, first_colours, told_apart
from unrelu._old.problems.network import Network

__all__ = ["own_order"]


def own_order(network: Network) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the points in an order of their own; and, in that order, a number that points alike share."""
    first = np.concatenate([network.first, network.second])
    second = np.concatenate([network.second, network.first])
    bits = np.tile(bits_of(network.distance), 2)
    colours = first_colours(network.size, first, second, bits)
    order = np.argsort(told_apart(colours, first, second, bits), kind="stable")
    return order, alike_in(colours)[order]
