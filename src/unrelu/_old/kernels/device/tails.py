"""The normal distribution far into its tails on a device: log Φ, φ/Φ and its slope from one polynomial.

With a = |t|, h(−a) = φ(a)/Φ(−a) = a + d(a), and d falls from √(2/π) at 0 like 1/a. So d (a + 4) is between 1 and 3.2
everywhere, and a polynomial in y = (a − 4)/(a + 4), which lies between −1 and 1, is right from 0 to ∞. All else follows
without lost digits: h(h − a) = h d, log Φ(−a) = −a²/2 − log √(2π) − log h, and the right side by Φ(a) = 1 − φ(a)/h(−a).

The polynomial is not written down here: it interpolates d at Chebyshev's points, which takes less than a millisecond.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx

from unrelu._old.base.arrays import Floats

if TYPE_CHECKING:
    import torch

__all__ = [
    "DEGREES",
    "FURTHEST",
    "LARGEST",
    "LOG_DEGREES",
    "LOG_ROOT_TWO_PI",
    "MIDDLE",
    "SURE",
    "excess",
    "log_polynomial",
    "polynomial",
    "tails",
]

LOG_ROOT_TWO_PI = float(0.5 * np.log(2 * np.pi))
# Where y is 0. Chebyshev coefficients fall fastest for 3 to 5.
MIDDLE = 4.0
# At these degrees the polynomial is as good as the arithmetic: 1e-7 and 1e-14.
DEGREES = {"float32": 11, "float64": 28}
# And of log(1 + w)/w: 2e-7 and 2e-15.
LOG_DEGREES = {"float32": 7, "float64": 18}
# Beyond it the square of t would overflow; log Φ stands still there.
FURTHEST = {"float32": 1.8e19, "float64": 1e153}
# What stands for infinity: times 0 it is 0, and its inverse is none of the numbers that some units take for 0.
LARGEST = {"float32": 1e37, "float64": 1e300}
# From here on φ is 0 in any precision, so that nothing is lost where t is no larger.
SURE = 40.0
# From here on the continued fraction of d has double precision after so many terms.
FRACTION_FROM, FRACTION_TERMS = 3.0, 400


def excess(a: Floats) -> Floats:
    """Say how far φ(a)/Φ(−a) is above a, for a ≥ 0: 1/(a + 2/(a + 3/(a + …))), by erfcx where that is slow.

    Examples
    --------
    >>> [round(float(d), 12) for d in excess(np.array([0.0, 1.0, 1e3]))]
    [0.797884560803, 0.525135276161, 0.000999998]
    """
    near, far = np.minimum(a, FRACTION_FROM), np.maximum(a, FRACTION_FROM)
    rest = np.zeros_like(far)
    for j in range(FRACTION_TERMS, 1, -1):
        rest = j / (far + rest)
    return np.where(a > FRACTION_FROM, 1 / (far + rest), np.sqrt(2 / np.pi) / erfcx(near / np.sqrt(2)) - near)


@cache
def polynomial(degree: int) -> tuple[float, ...]:
    """Coefficients of d(a) (a + 4) in powers of y = (a − 4)/(a + 4), the highest first.

    They fall quickly enough for powers, by a factor of 3.7 a degree; below 1 + √2 powers would lose digits.

    Examples
    --------
    >>> round(sum(polynomial(11)), 6)  # at infinity
    1.0
    """
    y = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    a = MIDDLE * (1 + y) / (1 - y)
    found = np.polynomial.chebyshev.chebfit(y, excess(a) * (a + MIDDLE), degree)
    return tuple(float(c) for c in np.polynomial.chebyshev.cheb2poly(found)[::-1])


@cache
def log_polynomial(degree: int) -> tuple[float, ...]:
    """Coefficients of log(1 + w)/w in powers of w from 0 to 1, the highest first: −log Φ(a) with w = Φ(−a)/Φ(a).

    Logarithms of devices are right to so many digits after the point only, and this one is small far to the right.

    Examples
    --------
    >>> round(log_polynomial(7)[-1], 6), round(sum(log_polynomial(7)), 6)  # at 0, and at 1: log 2
    (1.0, 0.693147)
    """
    y = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    w = (y + 1) / 2
    found = np.polynomial.Chebyshev(np.polynomial.chebyshev.chebfit(y, np.log1p(w) / w, degree), [0, 1])
    powers = found.convert(domain=[-1, 1], kind=np.polynomial.Polynomial, window=[-1, 1]).coef
    return tuple(float(c) for c in powers[::-1])


def tails(t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of t: log Φ(t), h = φ(t)/Φ(t) and h(h + t), its negative slope, which lies between 0 and 1.

    Worst relative errors from t = −40 to 13 against scipy.special.log_ndtr in double precision:

    ======== ======= ======= ========
    .        log Φ   h       h(h + t)
    ======== ======= ======= ========
    float32  4.7e-6  4.7e-6  4.7e-6
    float64  1.4e-14 3.0e-15 8.7e-15
    ======== ======= ======= ========

    ``pytest tests/kernels/test_device_tails.py`` checks them, and t down to −10¹⁹ in single precision and −10¹⁵⁰ in
    double against the asymptotic series. Beyond 13 all three fall below 1e-36, where single precision runs out of
    digits, and then to 0.
    """
    import torch

    name = str(t.dtype).removeprefix("torch.")
    a = t.abs().clamp_(max=LARGEST[name])
    near = 1 / (a + MIDDLE)
    y = near * (-2 * MIDDLE) + 1
    first, *others = polynomial(DEGREES[name])
    d = torch.full_like(y, first)
    for coefficient in others:
        d.mul_(y).add_(coefficient)
    d *= near
    h = a + d  # of −a
    exponent = a.clamp(max=FURTHEST[name]).square_().mul_(-0.5).sub_(LOG_ROOT_TWO_PI)
    left = t <= 0
    density = torch.exp(exponent)
    above = density / h  # Φ(−a)
    log = torch.where(left, exponent - torch.log(h), torch.log1p(-above))
    right = density.div_(above.neg_().add_(1))
    bend = torch.where(left, h * d, right * (right + a))
    return log, torch.where(left, h, right), bend.clamp_(max=1)
