"""The paper's propositions about Gaussian factors: how probable its assumptions are, and where that is vacuous."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, exp, lgamma, log, log2, pi, sin, sqrt

import numpy as np
from numpy.typing import ArrayLike

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError

__all__ = [
    "Chance",
    "all_orthants_probability",
    "cone_probability",
    "cone_second_moment",
    "orthant_second_moment",
    "proposition_noiseless",
    "proposition_noisy",
]


@dataclass(frozen=True)
class Chance:
    """A probability that was proved, or the reason why nothing was.

    Examples
    --------
    >>> str(Chance(0.5, "")), str(Chance(None, "it is negative"))
    ('0.5', 'vacuous')
    """

    probability: float | None
    reason: str

    @property
    def vacuous(self) -> bool:
        """Whether the proposition says nothing here."""
        return self.probability is None

    def __str__(self) -> str:
        return "vacuous" if self.probability is None else f"{self.probability:.6g}"


def proposition_noiseless(n: int, rank: int) -> Chance:
    """Proposition (gaussian-noiseless): Assumptions 1 and 2 hold with probability at least 1 − √n exp(−√n/16).

    For r ≤ (log₂ n)/2. Negative below n = 4538, so vacuous there; and false at r = 1, which the paper does not except:
    M and |u||u|ᵀ agree on every seen entry. Its proof bounds the number of entries seen between orthants, not that
    their products span the r×r matrices.

    Examples
    --------
    >>> print(proposition_noiseless(4537, 2), proposition_noiseless(10_000, 2))
    vacuous 0.806955
    """
    _sizes(n, rank)
    if rank == 1:
        return Chance(None, "at rank 1 nothing is seen between positive and negative rows, so Assumption 2 never holds")
    if rank > log2(n) / 2:
        return Chance(None, f"rank {rank} is above (log2 n)/2 = {log2(n) / 2:.3g}")
    probability = 1 - sqrt(n) * exp(-sqrt(n) / 16)
    if probability <= 0:
        return Chance(None, f"1 - sqrt(n) exp(-sqrt(n)/16) = {probability:.3g} is not positive below n = 4538")
    return Chance(probability, "")


def proposition_noisy(n: int, rank: int) -> Chance:
    """Proposition (guassian): Assumption 3 holds with probability at least 1 − 1/n, if ‖Δ‖_∞ < min ‖u_k‖²/2.

    For r ≤ (log n)/(4 log 3), that is n ≥ 81^r: 6561 at r = 2 and 531,441 at r = 3. False at r = 1, where no path
    leads from the positive to the negative rows.

    Examples
    --------
    >>> print(proposition_noisy(6560, 2), proposition_noisy(6561, 2))
    vacuous 0.999848
    """
    _sizes(n, rank)
    if rank == 1:
        return Chance(None, "at rank 1 no path leads from the positive to the negative rows, so 3(d) never holds")
    if n < 81**rank:
        return Chance(
            None, f"rank {rank} is above (log n)/(4 log 3) = {log(n) / (4 * log(3)):.3g}; it needs n >= {81**rank}"
        )
    return Chance(1 - 1 / n, "")


def all_orthants_probability(n: int, rank: int) -> float:
    """The exact probability of Assumption 1 for a Gaussian factor: at least r of n rows in each of the 2^r orthants.

    Independent Poisson counts of mean n/2^r, given their sum n, are the counts; those below r are struck out.

    Examples
    --------
    >>> round(all_orthants_probability(2, 1), 12), all_orthants_probability(7, 2)
    (0.5, 0.0)
    """
    _sizes(n, rank)
    orthants = 1 << rank
    if n < rank * orthants:
        return 0.0
    counts = np.arange(n + 1)
    mean = n / orthants
    poisson = np.array([exp(k * log(mean) - mean - lgamma(k + 1)) for k in counts])
    poisson[:rank] = 0
    # Doubling: after r steps the sum of 2^r counts.
    for _ in range(rank):
        poisson = _twice(poisson)
    return float(min(poisson[n] / exp(n * log(n) - n - lgamma(n + 1)), 1.0))


def _twice(chances: Floats) -> Floats:
    """The distribution of the sum of two independent counts, up to the same count."""
    n = len(chances)
    if n <= 4096:
        return np.convolve(chances, chances)[:n]
    spectrum = np.fft.rfft(chances, 2 * n)
    return np.maximum(np.fft.irfft(spectrum * spectrum, 2 * n)[:n], 0)


def cone_probability(rank: int, angle: float = pi / 12, *, printed: bool = False) -> float:
    """P(u ∈ C_k) for a Gaussian row and a cone of half-opening ``angle``.

    Exactly ½ I_{sin²}((r − 1)/2, ½); with ``printed`` the paper's lower bound
    Γ(r/2)/(2√π Γ((r+1)/2)) sin^{r−1}, the projection of the cap onto a plane.

    Examples
    --------
    >>> round(cone_probability(2) * 12, 12), cone_probability(3, printed=True) < cone_probability(3)
    (1.0, True)
    """
    if rank < 1 or not 0 < angle <= pi / 2:
        raise InputError(f"rank must be at least 1 and angle between 0 and π/2, got {rank} and {angle}")
    if printed:
        return exp(lgamma(rank / 2) - lgamma((rank + 1) / 2)) / (2 * sqrt(pi)) * sin(angle) ** (rank - 1)
    if rank == 1:
        return 0.5
    from scipy.special import betainc

    return float(betainc((rank - 1) / 2, 0.5, 1 - cos(angle) ** 2)) / 2


def cone_second_moment(rank: int, angle: float = pi / 12) -> tuple[float, float]:
    """E[uuᵀ | u in a cone] for standard Gaussian u: its eigenvalue along the axis, and the r − 1 equal ones across it.

    The paper says of the second that it is independent of n and r. With θ the angle to the axis, whose density is
    proportional to sin^{r−2}θ up to ``angle``, they are r E cos²θ and r E sin²θ/(r − 1); the second rises from 0.045 at
    r = 2 to sin²(π/12) = 0.067.

    Examples
    --------
    >>> [round(cone_second_moment(r)[1], 3) for r in (2, 5, 50)]
    [0.045, 0.056, 0.066]
    """
    if rank < 2 or not 0 < angle <= pi / 2:
        raise InputError(f"rank must be at least 2 and angle between 0 and π/2, got {rank} and {angle}")
    from scipy.integrate import quad

    # Relative to the edge, so that high powers of a small sine do not vanish.
    def moment(power: int) -> float:
        return float(quad(lambda t: (sin(t) / sin(angle)) ** power, 0, angle)[0])

    square = sin(angle) ** 2 * moment(rank) / moment(rank - 2)
    return rank * (1 - square), rank * square / (rank - 1)


def orthant_second_moment(signs: ArrayLike) -> Floats:
    """E[uuᵀ | u in an orthant] for standard Gaussian u: (1 − 2/π)I + (2/π)ssᵀ with the signs s of the orthant.

    Printed with s = e, the all-one vector, for every orthant; right for the first. Its smallest eigenvalue is
    1 − 2/π = 0.363 whatever n and r > 1, so λ grows like 0.363 n/2^r.

    Examples
    --------
    >>> orthant_second_moment([1, -1]).round(3)
    array([[ 1.   , -0.637],
           [-0.637,  1.   ]])
    """
    s = np.asarray(signs, np.float64)
    if s.ndim != 1 or not np.isin(s, (-1, 1)).all():
        raise InputError(f"signs must be a list of +1 and -1, got {signs!r}")
    return (1 - 2 / pi) * np.eye(len(s)) + (2 / pi) * np.outer(s, s)


def _sizes(n: int, rank: int) -> None:
    if not 1 <= rank <= n:
        raise InputError(f"rank must be between 1 and n={n}, got {rank}")
