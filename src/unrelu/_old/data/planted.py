"""Planted instances: matrices whose completion is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.errors import InputError, unknown_name

__all__ = ["FAMILIES", "Planted", "chain", "family", "planted", "points_in_cube", "shortest", "within"]

Draw = Callable[[np.random.Generator, int, int], NDArray[np.float64]]


def _normal(rng: np.random.Generator, n: int, r: int) -> NDArray[np.float64]:
    return rng.standard_normal((n, r))


def _clustered(rng: np.random.Generator, n: int, r: int) -> NDArray[np.float64]:
    centres = rng.standard_normal((10, r))
    return centres[rng.integers(0, 10, n)] + 0.1 * rng.standard_normal((n, r))


def _on_the_sphere(rng: np.random.Generator, n: int, r: int) -> NDArray[np.float64]:
    points = rng.standard_normal((n, r))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


# Factors on which starts differ; the paper's is reliable on the first only.
FAMILIES: dict[str, Draw] = {
    "gaussian": _normal,
    "condition-10": lambda rng, n, r: _normal(rng, n, r) * np.geomspace(1, 0.1, r),
    "condition-100": lambda rng, n, r: _normal(rng, n, r) * np.geomspace(1, 0.01, r),
    "clusters": _clustered,
    "sparse": lambda rng, n, r: _normal(rng, n, r) * (rng.random((n, r)) < 0.3),
    "uniform": lambda rng, n, r: rng.uniform(-0.3, 0.7, (n, r)),
    "student-t": lambda rng, n, r: rng.standard_t(3, (n, r)),
    "cauchy": lambda rng, n, r: rng.standard_cauchy((n, r)),
    "log-normal": lambda rng, n, r: _normal(rng, n, r) * rng.lognormal(size=(n, 1)),
    "shifted": lambda rng, n, r: _normal(rng, n, r) + 0.5,
    "sphere": _on_the_sphere,
}


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
    return _plant(generator.standard_normal((n, rank)), sigma, scales, symmetric_noise, generator)


def family(
    name: str, n: int, rank: int, *, noise: float = 0.0, symmetric_noise: bool = True, rng: Any = None
) -> Planted:
    """A planted matrix whose factor is from one of :data:`FAMILIES`.

    Parameters
    ----------
    name : str
        One of ``gaussian``, ``condition-10`` and ``condition-100`` (columns scaled geometrically 1…0.1, 1…0.01),
        ``clusters`` (ten, spread 0.1), ``sparse`` (70 % zeros), ``uniform`` (on (−0.3, 0.7)), ``student-t`` (three
        degrees), ``cauchy``, ``log-normal`` (row scales), ``shifted`` (mean ½), ``sphere``.
    n, rank : int
    noise : float, default 0
        Standard deviation of the noise as a share of the rms entry.
    symmetric_noise : bool, default True
        One noise per pair (i, j), (j, i).
    rng : int, Generator or None

    Examples
    --------
    >>> family("sphere", 40, 3, rng=0).truth.diagonal().round(12).tolist() == [1.0] * 40
    True
    """
    if name not in FAMILIES:
        raise unknown_name("family", name, FAMILIES)
    if not 1 <= rank <= n:
        raise InputError(f"rank must be between 1 and n={n}, got {rank}")
    generator = np.random.default_rng(rng)
    factor = FAMILIES[name](generator, n, rank)
    sigma = noise * float(np.sqrt(np.mean((factor @ factor.T) ** 2))) if noise else 0.0
    return _plant(factor, sigma, None, symmetric_noise, generator)


def _plant(
    factor: NDArray[np.float64],
    sigma: float,
    scales: ArrayLike | None,
    symmetric_noise: bool,
    generator: np.random.Generator,
) -> Planted:
    n = len(factor)
    if scales is not None:
        factor = factor * np.asarray(scales, dtype=np.float64)
    truth = factor @ factor.T
    noise = sigma * generator.standard_normal((n, n)) if sigma else np.zeros((n, n))
    if symmetric_noise:
        noise = np.triu(noise) + np.triu(noise, 1).T
    return Planted(factor, truth, truth + noise)


def points_in_cube(n: int, dim: int, *, rng: Any = None) -> NDArray[np.float64]:
    """Points uniform in the unit cube.

    Examples
    --------
    >>> points_in_cube(10, 3, rng=0).shape
    (10, 3)
    """
    if n < 1 or dim < 1:
        raise InputError(f"n and dim must be at least 1, got {n} and {dim}")
    return np.random.default_rng(rng).random((n, dim))


def chain(
    steps: int = 300, *, step: float = 3.8, apart: float = 3.0, filling: float = 0.72, rng: Any = None
) -> NDArray[np.float64]:
    """A folded chain: a random walk in a ball, with steps of one length and no two points close together.

    The size of a protein's Cα trace: steps of 3.8 Å, no two points closer than 3 Å, in a ball of radius
    filling · step · steps^⅓. A walk that has nowhere to go takes back its last steps.

    Parameters
    ----------
    steps : int
        The chain has ``steps`` points.
    step, apart, filling : float
    rng : int, Generator or None

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
        raise InputError(f"a chain needs steps ≥ 1 and 0 < apart < step, got {steps}, {apart} and {step}")
    generator = np.random.default_rng(rng)
    radius = filling * step * steps ** (1 / 3)
    points = np.zeros((steps, 3))
    count, failures = 1, 0
    while count < steps:
        turns = _on_the_sphere(generator, 30, 3)
        tries = points[count - 1] + step * turns
        inside = np.linalg.norm(tries, axis=1) <= radius
        gaps = np.linalg.norm(tries[:, None] - points[: count - 1], axis=2)
        free = np.flatnonzero(inside & (gaps >= apart).all(axis=1))
        if free.size:
            points[count] = tries[free[0]]
            count, failures = count + 1, max(failures - 1, 0)
        else:
            failures += 5
            count = max(1, count - failures)
    return points


def shortest(points: ArrayLike, fraction: float) -> tuple[NDArray[np.float64], float]:
    """All distances but the shortest ``fraction`` of them hidden: the matrix, NaN where hidden, and the cut-off.

    Examples
    --------
    >>> D, cutoff = shortest(points_in_cube(50, 2, rng=0), 0.1)
    >>> bool(np.nanmax(D) <= cutoff)
    True
    """
    from scipy.spatial.distance import pdist

    if not 0 < fraction <= 1:
        raise InputError(f"fraction must be above 0 and at most 1, got {fraction!r}")
    gaps = np.sort(pdist(np.asarray(points, dtype=np.float64)))
    count = max(1, round(fraction * len(gaps)))
    cutoff = float(gaps[count - 1]) if count == len(gaps) else float((gaps[count - 1] + gaps[count]) / 2)
    return within(points, cutoff), cutoff


def within(points: ArrayLike, cutoff: float, *, noise: float = 0.0, rng: Any = None) -> NDArray[np.float64]:
    """All distances up to a cut-off, NaN beyond: measured with noise, then seen if what was measured is short enough.

    Parameters
    ----------
    points : array of shape (n, dim)
    cutoff : float
    noise : float, default 0
        Standard deviation of what is added to each distance before the cut-off is applied.
    rng : int, Generator or None

    Examples
    --------
    >>> within([[0.0], [1.0], [3.0]], 2.0)
    array([[ 0.,  1., nan],
           [ 1.,  0.,  2.],
           [nan,  2.,  0.]])
    """
    from scipy.spatial.distance import pdist, squareform

    gaps = pdist(np.asarray(points, dtype=np.float64))
    if noise:
        gaps = np.abs(gaps + noise * np.random.default_rng(rng).standard_normal(len(gaps)))
    D: NDArray[np.float64] = squareform(np.where(gaps <= cutoff, gaps, np.nan))
    np.fill_diagonal(D, 0.0)
    return D
