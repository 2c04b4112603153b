"""Rows or points that look alike, told apart by whom they see: an order that does not depend on how they came.

Everyone's colour is made from the colours of those it sees and from what it sees of them, step by step. Who still
shares a colour then sees the same in everything, as repeated rows do. Which of them comes first does not matter: one is
given a colour of its own, and the steps go on, so that those that belong to it follow it. Colours are sums of 64-bit
integers, which do not depend on the order of their terms, not even by rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Indices

__all__ = ["alike_in", "bits_of", "evened", "first_colours", "rows_told_apart", "told_apart"]

Bits = NDArray[np.uint64]

ODD = np.uint64(0x9E3779B97F4A7C15)
# Steps from one colour of its own to the next, and how many are given at most: beyond, those alike keep their order.
STEPS, MOST = 4, 200


def bits_of(values: NDArray[np.floating[Any]]) -> Bits:
    """Numbers as integers: equal if and only if the numbers are, all NaN being equal."""
    plain = np.ascontiguousarray(values, np.float64) + 0.0  # no negative zero
    plain[np.isnan(plain)] = np.nan
    return plain.view(np.uint64)


def first_colours(size: int, first: Indices, second: Indices, bits: Bits) -> Bits:
    """Colours of everyone after a few steps, from what each ``first`` sees of each ``second``."""
    return _stepped(np.full(size, ODD, np.uint64), first, second, _mixed(bits))


def alike_in(colours: Bits) -> Indices:
    """A number for each colour: those alike have the same."""
    return np.unique(colours, return_inverse=True)[1].reshape(-1).astype(np.intp)


def evened(levels: NDArray[Any], alike: Indices, proved: int) -> NDArray[Any]:
    """Give those that are alike their lowest grade, for none can be known better than another; who is proved stays so.

    Examples
    --------
    >>> evened(np.array([2, 1, 3, 2]), np.array([0, 0, 0, 1]), proved=3)
    array([1, 1, 3, 2])
    """
    lowest = np.full(alike.max(initial=-1) + 1, proved, levels.dtype)
    np.minimum.at(lowest, alike, levels)
    return np.where(levels == proved, levels, np.minimum(levels, lowest[alike]))


def rows_told_apart(classes: Indices, bits: NDArray[np.uint64]) -> tuple[Indices, Indices]:
    """An order of the rows by their classes, and within a class by whom they see; and a number for those still alike.

    ``bits`` has what was seen of each entry, of shape (n, n).
    """
    n = len(classes)
    first, second = (place.ravel() for place in np.indices((n, n)))
    both = (_mixed(bits) + ODD * bits.T).ravel()
    colours = _stepped(_mixed(classes.astype(np.uint64) + ODD), first, second, _mixed(both))
    return np.lexsort((told_apart(colours, first, second, both), classes)), alike_in(colours)


def told_apart(colours: Bits, first: Indices, second: Indices, bits: Bits) -> Bits:
    """Colours that tell everyone apart; who differed before still differs.

    Examples
    --------
    >>> alike = np.zeros(3, np.uint64)  # a path: the one in the middle sees two others
    >>> first, second = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])
    >>> len(set(told_apart(alike, first, second, np.zeros(4, np.uint64)).tolist()))
    3
    """
    seen = _mixed(bits)
    for _ in range(MOST):
        alike = _alike(colours)
        if alike is None:
            break
        colours = _stepped(colours, first, second, seen)
        alike = _alike(colours)
        if alike is not None:
            colours[alike] = _mixed(colours[alike : alike + 1] ^ ODD)[0]
    return colours


def _alike(colours: Bits) -> int | None:
    """One of those with the smallest colour that is not its own; None if everyone has its own."""
    _, where, counts = np.unique(colours, return_index=True, return_counts=True)
    several = np.flatnonzero(counts > 1)
    return int(where[several[0]]) if several.size else None


def _stepped(colours: Bits, first: Indices, second: Indices, seen: Bits) -> Bits:
    for _ in range(STEPS):
        total = np.zeros(len(colours), np.uint64)
        np.add.at(total, first, _mixed(seen ^ colours[second]))
        colours = _mixed(colours + ODD * total)
    return colours


def _mixed(values: Bits) -> Bits:
    """Bits well shaken; arithmetic wraps around."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Bits = values ^ (values >> np.uint64(31))
    return result
