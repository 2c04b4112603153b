"""The normal distribution far into its tails: log Φ, φ/Φ and their like, without overflow or lost digits."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from unrelu._old.base.arrays import Array

__all__ = ["CERTAIN", "beside", "beyond", "inside"]

ROOT_HALF = float(np.sqrt(0.5))
ROOT_TWO_OVER_PI = float(np.sqrt(2 / np.pi))
HALF_LOG_TWO_PI = float(0.5 * np.log(2 * np.pi))
# From here on Φ is 1 to double precision, and nothing is left of log Φ or φ/Φ but underflow.
CERTAIN = 38.0
# From here on into the tail the curvature is 1 − 1/z² + 6/z⁴ to double precision; h(h + z) has lost its digits.
FAR = 1e3
# Below this width an interval is as good as the density in its middle, with one correction.
NARROW = 1e-4


def beyond(z: Array, log: Array, ratio: Array, bend: Array) -> None:
    """Write log Φ(z), h = φ(z)/Φ(z) and h(h + z), its negative slope, which lies between 0 and 1.

    With x = |z|/√2, Φ(−|z|) = ½ erfcx(x) e^{−x²}: the ratio has no exponential in it for z < 0, and the logarithm only
    its exponent. For z > 0 it is log1p of the same.

    Examples
    --------
    >>> z = np.array([-40.0, 0.0, 5.0])
    >>> log, ratio, bend = np.empty((3, 3))
    >>> beyond(z, log, ratio, bend)
    >>> [round(float(value), 6) for value in log]
    [-804.608442, -0.693147, -0.0]
    >>> [round(float(value), 6) for value in ratio]
    [40.024969, 0.797885, 1e-06]
    """
    np.abs(z, out=bend)
    np.minimum(bend, z.dtype.type(1e150 if z.dtype == np.float64 else 1e18), out=bend)  # its square must not overflow
    np.multiply(bend, ROOT_HALF, out=bend)
    erfcx(bend, out=log)  # 2 e^{x²} Φ(−|z|)
    np.square(bend, out=bend)
    np.negative(bend, out=bend)
    left = z <= 0
    # Left: h = √(2/π)/erfcx. Right: h = e^{−x²}/√(2π) / (1 − ½ erfcx e^{−x²}).
    np.exp(bend, out=ratio)
    below = np.multiply(log, ratio)
    below *= 0.5  # Φ(−|z|)
    np.divide(ratio, 1 - below, out=ratio)
    ratio *= ROOT_TWO_OVER_PI / 2
    np.divide(ROOT_TWO_OVER_PI, log, out=ratio, where=left)
    np.log(log, out=log)
    log -= float(np.log(2.0))
    log += bend
    np.log1p(-below, out=log, where=~left)
    np.add(ratio, z, out=bend)
    bend *= ratio
    far = z < -FAR
    if far.any():
        square = np.square(z[far].astype(np.float64))
        bend[far] = 1 - 1 / square
    np.clip(bend, 0, 1, out=bend)


def inside(low: Array, high: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Of P = Φ(high) − Φ(low): log P, (φ(high) − φ(low))/P, −d² log P, and of the width σ the two derivatives.

    An interval on the right is mirrored, so that both ends are in the left tail, where differences keep their digits.

    Parameters
    ----------
    low, high : ndarray
        Ends in units of the noise, seen from the fit; ±∞ where there is none.

    Returns
    -------
    log, pull, bend : ndarray
        log P; the slope of −log P as the fit moves up; its curvature, between 0 and 1.
    first, second : ndarray
        The derivatives of −log P by log σ.
    """
    low, high = np.broadcast_arrays(low, high)
    with np.errstate(all="ignore"):
        mirrored = low + high > 0
        a, b = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        log_a, log_b = log_ndtr(a), log_ndtr(b)
        log = log_b + np.log(-np.expm1(np.minimum(log_a - log_b, -np.finfo(np.float64).tiny)))
        width, middle = b - a, (a + b) / 2
        narrow = width < NARROW
        # φ(m) w (1 + (m² − 1) w²/24)
        near = -(middle**2) / 2 - HALF_LOG_TWO_PI + np.log(width) + np.log1p((middle**2 - 1) * width**2 / 24)
        log = np.where(narrow, near, log)
        share_a, share_b = (np.exp(-(end**2) / 2 - HALF_LOG_TWO_PI - log) for end in (a, b))  # φ/P
        pull = share_b - share_a
        reach = _times(b, share_b) - _times(a, share_a)
        bend = pull**2 + reach
        cubes = _times(b**3, share_b) - _times(a**3, share_a)
        second = -reach + cubes + reach**2
        # Where both ends meet, −log P is the density: ½m² + const, and no width is gained or lost but log σ.
        pull = np.where(narrow, -middle, pull)
        bend = np.where(narrow, 1.0, bend)
        reach = np.where(narrow, 1 - middle**2, reach)
        second = np.where(narrow, 2 * middle**2, second)
    return log, np.where(mirrored, -pull, pull), np.clip(bend, 0, 1), reach, second


def beside(low: Array, high: Array, first: Array, last: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The same as :func:`inside` for P of lying between low and high, but not between first and last.

    With A below the gap and B above it, a = A/P and b = B/P: the slopes of −log P are the means of those of −log A and
    −log B by these shares, and what the two differ by is taken from the curvature. That may be negative, halfway
    between two likely places; 0 stands for it then.

    Examples
    --------
    >>> log, pull, bend, _, _ = beside(np.array([-np.inf]), np.array([np.inf]), np.array([-1.0]), np.array([1.0]))
    >>> round(float(np.exp(log[0])), 4), float(pull[0])
    (0.3173, 0.0)
    """
    low, high, first, last = np.broadcast_arrays(low, high, first, last)
    none = ~(first <= last)
    below = inside(low, np.where(none, high, np.minimum(first, high)))
    above = inside(np.where(none, low, np.maximum(last, low)), high)
    with np.errstate(all="ignore"):
        one = np.where(none | (first > low), below[0], -np.inf)
        other = np.where(none | ~(high > last), -np.inf, above[0])
        log = np.logaddexp(one, other)
        a, b = np.exp(one - log), np.exp(other - log)
        parts = [np.where(a > 0, value, 0) for value in below[1:]], [np.where(b > 0, value, 0) for value in above[1:]]
        (pull_a, bend_a, reach_a, second_a), (pull_b, bend_b, reach_b, second_b) = parts
        bend = a * bend_a + b * bend_b - a * b * (pull_a - pull_b) ** 2
        second = a * second_a + b * second_b - a * b * (reach_a - reach_b) ** 2
    return log, a * pull_a + b * pull_b, np.clip(bend, 0, 1), a * reach_a + b * reach_b, second


def _times(end: Array, share: Array) -> Array:
    """End · share, nothing at infinity."""
    return np.where(np.isfinite(end), end, 0) * share
