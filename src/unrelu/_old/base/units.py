"""Powers of two and four to divide data by: exact, and scaling the data by such a power scales the unit by it."""

from __future__ import annotations

import math

__all__ = ["power_of_four", "power_of_two"]


def power_of_two(size: float) -> float:
    """The nearest power of two, by ratio.

    Examples
    --------
    >>> power_of_two(1.4), power_of_two(1.5), power_of_two(5.0)
    (1.0, 2.0, 4.0)
    >>> power_of_two(2**0.5 / 4) * 4 == power_of_two(2**0.5)    # halfway between two, but for rounding
    True
    """
    share, power = math.frexp(size)
    return math.ldexp(1.0, power if share >= math.sqrt(0.5) else power - 1)


def power_of_four(size: float, largest: int) -> float:
    """The nearest power of four, by ratio, with an exponent of at most ``largest``.

    Examples
    --------
    >>> power_of_four(1.9, 99), power_of_four(2.1, 99), power_of_four(1e9, 3)
    (1.0, 4.0, 64.0)
    >>> power_of_four(8.0, 99) == 4 * power_of_four(2.0, 99)
    True
    """
    _, power = math.frexp(size)
    # size = share · 2^power with share in [½, 1): 4^k is nearest for size from 2^(2k − 1) to 2^(2k + 1).
    return 4.0 ** min(power // 2, largest)
