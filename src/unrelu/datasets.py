"""Planted matrices and points, whose completion is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist, squareform

__all__ = ["FAMILIES", "Planted", "chain", "family", "planted", "points_in_cube", "shortest", "within"]

Floats = NDArray[np.float64]
Generator = np.random.Generator


def _clusters(rng: Generator, n: int, r: int) -> Floats:
    centres = rng.standard_normal((10, r))
    return centres[rng.integers(0, 10, n)] + 0.1 * rng.standard_normal((n, r))


def _sphere(rng: Generator, n: int, r: int) -> Floats:
    points = rng.standard_normal((n, r))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


# Distributions of the rows of a factor.
FAMILIES: dict[str, Callable[[Generator, int, int], Floats]] = {
    "gaussian": lambda rng, n, r: rng.standard_normal((n, r)),
    "condition-10": lambda rng, n, r: rng.standard_normal((n, r)) * np.geomspace(1, 0.1, r),
    "condition-100": lambda rng, n, r: rng.standard_normal((n, r)) * np.geomspace(1, 0.01, r),
    "clusters": _clusters,
    "sparse": lambda rng, n, r: rng.standard_normal((n, r)) * (rng.random((n, r)) < 0.3),
    "uniform": lambda rng, n, r: rng.uniform(-0.3, 0.7, (n, r)),
    "student-t": lambda rng, n, r: rng.standard_t(3, (n, r)),
    "cauchy": lambda rng, n, r: rng.standard_cauchy((n, r)),
    "log-normal": lambda rng, n, r: rng.standard_normal((n, r)) * rng.lognormal(size=(n, 1)),
    "shifted": lambda rng, n, r: rng.standard_normal((n, r)) + 0.5,
    "sphere": _sphere,
}


@dataclass(frozen=True, eq=False)
class Planted:
    """A matrix M = UUᵀ + noise.

    Attributes
    ----------
    factor : ndarray of shape (n, rank)
        U.
    truth : ndarray of shape (n, n)
        UUᵀ.
    matrix : ndarray of shape (n, n)
        M.
    """

    factor: Floats
    truth: Floats
    matrix: Floats


def planted(
    n: int,
    rank: int,
    *,
    sigma: float = 0.0,
    scales: ArrayLike | None = None,
    symmetric_noise: bool = False,
    rng: Any = None,
) -> Planted:
    """Return a planted matrix whose factor has independent standard normal entries.

    Parameters
    ----------
    n, rank : int
        Shape of the factor.
    sigma : float, default 0
        Standard deviation of the noise.
    scales : array of shape (rank,), optional
        Multiplies the columns of the factor; ``np.linspace(1, 0.1, rank)`` makes it ill-conditioned.
    symmetric_noise : bool, default False
        Whether entries (i, j) and (j, i) have the same noise.
    rng : int, Generator or None
        Seed of the draws.

    Examples
    --------
    >>> instance = planted(50, 3, rng=0)
    >>> instance.matrix.shape, int(np.linalg.matrix_rank(instance.matrix))
    ((50, 50), 3)
    """
    _check_rank(rank, n)
    if not sigma >= 0:
        raise ValueError(f"sigma must be at least 0, got {sigma!r}")
    generator = np.random.default_rng(rng)
    factor = generator.standard_normal((n, rank))
    if scales is not None:
        factor = factor * np.asarray(scales, dtype=np.float64)
    return _with_noise(factor, sigma, symmetric_noise, generator)


def family(
    name: str, n: int, rank: int, *, noise: float = 0.0, symmetric_noise: bool = True, rng: Any = None
) -> Planted:
    """Return a planted matrix whose factor is drawn from one of `FAMILIES`.

    Parameters
    ----------
    name : str
        ``gaussian``; ``condition-10`` and ``condition-100`` (columns scaled geometrically from 1 to 0.1 or 0.01);
        ``clusters`` (ten, with a spread of 0.1); ``sparse`` (70 % zeros); ``uniform`` on (−0.3, 0.7); ``student-t``
        with three degrees of freedom; ``cauchy``; ``log-normal`` (row norms); ``shifted`` (mean ½); ``sphere``.
    n, rank : int
        Shape of the factor.
    noise : float, default 0
        Standard deviation of the noise as a share of the rms entry.
    symmetric_noise : bool, default True
        Whether entries (i, j) and (j, i) have the same noise.
    rng : int, Generator or None
        Seed of the draws.

    Examples
    --------
    >>> family("sphere", 40, 3, rng=0).truth.diagonal().round(12).tolist() == [1.0] * 40
    True
    """
    if name not in FAMILIES:
        raise ValueError(f"name must be one of {', '.join(FAMILIES)}; got {name!r}")
    _check_rank(rank, n)
    generator = np.random.default_rng(rng)
    factor = FAMILIES[name](generator, n, rank)
    sigma = noise * float(np.sqrt(np.mean((factor @ factor.T) ** 2)))
    return _with_noise(factor, sigma, symmetric_noise, generator)


def _check_rank(rank: int, n: int) -> None:
    if not 1 <= rank <= n:
        raise ValueError(f"rank must be between 1 and n={n}, got {rank}")


def _with_noise(factor: Floats, sigma: float, symmetric: bool, generator: Generator) -> Planted:
    truth = factor @ factor.T
    noise = sigma * generator.standard_normal(truth.shape) if sigma else np.zeros_like(truth)
    if symmetric:
        noise = np.triu(noise) + np.triu(noise, 1).T
    return Planted(factor, truth, truth + noise)


def points_in_cube(n: int, dim: int, *, rng: Any = None) -> Floats:
    """Return n points, uniform in the unit cube of dimension dim.

    Examples
    --------
    >>> points_in_cube(10, 3, rng=0).shape
    (10, 3)
    """
    if n < 1 or dim < 1:
        raise ValueError(f"n and dim must be at least 1, got {n} and {dim}")
    return np.random.default_rng(rng).random((n, dim))


def chain(steps: int = 300, *, step: float = 3.8, apart: float = 3.0, filling: float = 0.72, rng: Any = None) -> Floats:
    """Return the points of a folded chain: a self-avoiding random walk in a ball.

    The defaults have the size of a protein's Cα trace in Å. Steps are drawn 30 at a time; where all of them leave the
    ball or come too close to an earlier point, the walk goes back, farther after each failure.

    Parameters
    ----------
    steps : int
        Number of points.
    step : float
        Distance between successive points.
    apart : float
        Least distance between other points.
    filling : float
        The radius of the ball over step · steps^⅓.
    rng : int, Generator or None
        Seed of the draws.

    Returns
    -------
    ndarray of shape (steps, 3)

    Examples
    --------
    >>> points = chain(50, rng=0)
    >>> bool(np.allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), 3.8))
    True
    """
    if steps < 1 or not 0 < apart < step:
        raise ValueError(f"steps must be at least 1 and 0 < apart < step; got {steps}, {apart} and {step}")
    generator = np.random.default_rng(rng)
    radius = filling * step * steps ** (1 / 3)
    points = np.zeros((steps, 3))
    count, back = 1, 0
    while count < steps:
        candidates = points[count - 1] + step * _sphere(generator, 30, 3)
        distances = np.linalg.norm(candidates[:, None] - points[: count - 1], axis=2)
        free = (np.linalg.norm(candidates, axis=1) <= radius) & (distances >= apart).all(axis=1)
        if free.any():
            points[count] = candidates[free.argmax()]
            count, back = count + 1, max(back - 1, 0)
        else:
            back += 5
            count = max(1, count - back)
    return points


def within(points: ArrayLike, cutoff: float, *, noise: float = 0.0, rng: Any = None) -> Floats:
    """Return the distances that are at most a cut-off when they are measured, NaN elsewhere.

    Parameters
    ----------
    points : array of shape (n, dim)
        Positions.
    cutoff : float
        Largest distance that is observed.
    noise : float, default 0
        Standard deviation of what is added to each distance before it is compared with the cut-off.
    rng : int, Generator or None
        Seed of the noise.

    Examples
    --------
    >>> within([[0.0], [1.0], [3.0]], 2.0)
    array([[ 0.,  1., nan],
           [ 1.,  0.,  2.],
           [nan,  2.,  0.]])
    """
    distances = pdist(np.asarray(points, dtype=np.float64))
    if noise:
        distances = np.abs(distances + noise * np.random.default_rng(rng).standard_normal(len(distances)))
    D: Floats = squareform(np.where(distances <= cutoff, distances, np.nan))
    np.fill_diagonal(D, 0.0)
    return D


def shortest(points: ArrayLike, fraction: float) -> tuple[Floats, float]:
    """Return the shortest share of the distances between points, NaN elsewhere, and the cut-off that keeps them.

    Examples
    --------
    >>> D, cutoff = shortest(points_in_cube(50, 2, rng=0), 0.1)
    >>> bool(np.nanmax(D) <= cutoff)
    True
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be above 0 and at most 1, got {fraction!r}")
    distances = np.sort(pdist(np.asarray(points, dtype=np.float64)))
    count = max(1, round(fraction * len(distances)))
    cutoff = float(np.mean(distances[count - 1 : count + 1]))
    return within(points, cutoff), cutoff
