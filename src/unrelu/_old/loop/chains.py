"""Chains of draws: which of them are kept, and how far the chains agree.

R̂ and the effective sample size are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021): draws are replaced
by normal scores of their ranks, so that heavy tails do no harm, and every chain is cut in two, so that a chain that
still drifts disagrees with itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from unrelu._old.base.arrays import Array, Floats

__all__ = ["FEWEST", "Draws", "effective_sample_size", "r_hat", "root_mean_square"]

# Draws of a chain that are kept; when there are more, every other one goes.
MOST = 512
# Draws of a chain from which anything can be told: two halves with a spread each.
FEWEST = 4


@dataclass(frozen=True, eq=False)
class Draws:
    """Factors and noise levels that chains have drawn: those of the second half of all sweeps, thinned where many.

    Attributes
    ----------
    factors : tuple of ndarray of shape (chains, n, rank)
        One for each sweep that is kept.
    sigmas : tuple of ndarray of shape (chains,)
    numbers : tuple of int
        Which sweeps these are.
    sweeps, every : int
        How many sweeps there were, and the distance of those that are kept.
    one : bool
        Whether (i, j) and (j, i) carry one noise.

    Examples
    --------
    >>> draws = Draws()
    >>> for k in range(10):
    ...     draws = draws.then(np.full((2, 1, 1), float(k)), np.ones(2))
    >>> draws.numbers, draws.stacked()[0].shape
    ((6, 7, 8, 9, 10), (2, 5, 1, 1))
    """

    factors: tuple[Array, ...] = ()
    sigmas: tuple[Floats, ...] = ()
    numbers: tuple[int, ...] = ()
    sweeps: int = 0
    every: int = 1
    one: bool = True

    def then(self, factor: Array, sigma: Floats) -> Draws:
        """The same after one more sweep."""
        number, every = self.sweeps + 1, self.every
        numbers, factors, sigmas = self.numbers, self.factors, self.sigmas
        if number % every == 0:
            numbers, factors, sigmas = (*numbers, number), (*factors, factor), (*sigmas, sigma)
        gone = sum(1 for k in numbers if k <= number // 2)  # the first half is the way there
        numbers, factors, sigmas = numbers[gone:], factors[gone:], sigmas[gone:]
        if len(numbers) > MOST:
            every *= 2
            stay = [k for k, place in enumerate(numbers) if place % every == 0]
            numbers, factors = tuple(numbers[k] for k in stay), tuple(factors[k] for k in stay)
            sigmas = tuple(sigmas[k] for k in stay)
        return Draws(factors, sigmas, numbers, number, every, self.one)

    @property
    def enough(self) -> bool:
        """Whether there are so many that anything can be told."""
        return len(self.numbers) >= FEWEST

    def stacked(self) -> tuple[Array, Floats]:
        """Factors of shape (chains, draws, n, rank), and noise levels of shape (chains, draws)."""
        return np.stack(self.factors, axis=1), np.stack(self.sigmas, axis=1)

    def by_place(self, places: int) -> list[Draws]:
        """The draws of the chains that began at the same of several places, which they took in turn."""
        return [
            replace(
                self,
                factors=tuple(factor[first::places] for factor in self.factors),
                sigmas=tuple(sigma[first::places] for sigma in self.sigmas),
            )
            for first in range(places)
        ]

    def mapped(self, change: Any, unit: float) -> Draws:
        """The same in another order of the rows (``change`` is an index) and in another unit of the data."""
        root = float(np.sqrt(unit))
        factors = tuple(factor[:, change] * factor.dtype.type(root) for factor in self.factors)
        return replace(self, factors=factors, sigmas=tuple(sigma * unit for sigma in self.sigmas))


def r_hat(draws: Floats) -> Floats:
    """R̂ of quantities that chains have drawn: near 1 where they agree; the larger of that of size and of spread.

    Parameters
    ----------
    draws : ndarray of shape (chains, draws, quantities)

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((4, 200, 2))
    >>> draws[0, :, 1] += 1.0  # one of the chains is somewhere else
    >>> r_hat(draws).round(2).tolist()
    [1.0, 1.11]
    """
    halves = _halves(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    found: Floats = np.maximum(_between(_scores(halves)), _between(_scores(folded)))
    return found


def effective_sample_size(draws: Floats) -> Floats:
    """How many independent draws tell as much as these, of the bulk of each quantity.

    Sums of neighbouring autocorrelations are added up until they are negative, and never grow (Geyer, 1992).

    Parameters
    ----------
    draws : ndarray of shape (chains, draws, quantities)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sizes = effective_sample_size(rng.standard_normal((4, 500, 3)))
    >>> bool((sizes > 1500).all())
    True
    >>> slow = np.cumsum(rng.standard_normal((4, 500, 1)), axis=1)
    >>> bool(effective_sample_size(slow)[0] < 20)
    True
    """
    scores = _scores(_halves(draws))
    chains, count, _ = scores.shape
    covariance = _autocovariance(scores)
    within = covariance[:, 0].mean(axis=0) * count / (count - 1)
    total = within * (count - 1) / count + scores.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(all="ignore"):
        correlation = 1 - (within - covariance.mean(axis=0) * count / (count - 1)) / total
    pairs = correlation[0 : count - count % 2 : 2] + correlation[1::2][: count // 2]
    pairs = np.minimum.accumulate(np.maximum(pairs, 0.0), axis=0)
    length = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(chains * count))
    found: Floats = np.where(total > 0, chains * count / length, float(chains * count))
    return found


def root_mean_square(levels: Floats) -> float:
    """√(mean of the squares), of numbers above 0 whose squares may be too large, or too small, for a number.

    Examples
    --------
    >>> round(root_mean_square(np.array([1e300, 7e300])) / 1e300, 9)
    5.0
    """
    most = float(levels.max())
    return most * float(np.sqrt(np.mean((levels / most) ** 2))) if most > 0 else 0.0


def _halves(draws: Floats) -> Floats:
    """Every chain as two."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _scores(draws: Floats) -> Floats:
    """Normal scores of the ranks among all draws of a quantity; what ties shares its rank."""
    chains, count, _ = draws.shape
    ranks = rankdata(draws.reshape(chains * count, -1), axis=0)
    scores: Floats = ndtri((ranks - 3 / 8) / (chains * count + 1 / 4)).reshape(draws.shape)
    return scores


def _between(draws: Floats) -> Floats:
    """√(total variance / variance within chains); 1 for what does not vary."""
    count = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(all="ignore"):
        found: Floats = np.sqrt((count - 1) / count + between / within)
    return np.where((within == 0) & (between == 0), 1.0, found)


def _autocovariance(draws: Floats) -> Floats:
    """Of each chain, at every distance."""
    count = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    transformed = np.fft.rfft(centred, 2 * count, axis=1)
    found: Floats = np.fft.irfft(transformed * transformed.conj(), 2 * count, axis=1)[:, :count] / count
    return found
