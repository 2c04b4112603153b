"""Planted instances: matrices whose completion is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu.errors import InputError, unknown_name

__all__ = ["FAMILIES", "Planted", "family", "planted"]

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
