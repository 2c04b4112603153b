"""Planted instances: matrices whose completion is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu.errors import InputError

__all__ = ["Planted", "planted"]


@dataclass(frozen=True, eq=False)
class Planted:
    """M = U*U*ᵀ + Δ, eq. (UV).

    Attributes
    ----------
    factor : ndarray of shape (n, rank)
        U*.
    truth : ndarray of shape (n, n)
        M* = U*U*ᵀ.
    matrix : ndarray of shape (n, n)
        M, with the noise; not symmetric unless asked for.
    """

    factor: NDArray[np.float64]
    truth: NDArray[np.float64]
    matrix: NDArray[np.float64]


def planted(
    n: int,
    rank: int,
    *,
    sigma: float = 0.0,
    scales: ArrayLike | None = None,
    symmetric_noise: bool = False,
    rng: Any = None,
) -> Planted:
    """A factor with independent standard normal entries, as in the paper.

    Parameters
    ----------
    n, rank : int
    sigma : float, default 0
        Standard deviation of the noise.
    scales : array of shape (rank,), optional
        Factors for the columns of U*; ``np.linspace(1, 0.1, rank)`` makes it ill-conditioned.
    symmetric_noise : bool, default False
        One noise per pair (i, j), (j, i) instead of two.
    rng : int, Generator or None

    Examples
    --------
    >>> instance = planted(50, 3, rng=0)
    >>> instance.matrix.shape, int(np.linalg.matrix_rank(instance.matrix))
    ((50, 50), 3)
    """
    if not 1 <= rank <= n:
        raise InputError(f"rank must be between 1 and n={n}, got {rank}")
    if not sigma >= 0:
        raise InputError(f"sigma must be at least 0, got {sigma!r}")
    generator = np.random.default_rng(rng)
    factor = generator.standard_normal((n, rank))
    if scales is not None:
        factor = factor * np.asarray(scales, dtype=np.float64)
    truth = factor @ factor.T
    noise = sigma * generator.standard_normal((n, n)) if sigma else np.zeros((n, n))
    if symmetric_noise:
        noise = np.triu(noise) + np.triu(noise, 1).T
    return Planted(factor, truth, truth + noise)
