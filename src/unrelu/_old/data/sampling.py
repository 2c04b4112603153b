"""See a matrix as a sensor would: keep some entries, NaN for the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, unknown_name

__all__ = ["relu", "smallest", "thresholded", "uniform"]


def _keep(M: ArrayLike, mask: NDArray[np.bool_]) -> Array:
    values = np.asarray(M)
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    kept: Array = np.where(mask, values, values.dtype.type(np.nan))
    return kept


def relu(M: ArrayLike) -> Array:
    """Only the non-negative entries, eq. (Ob): Ω = {(i, j) : m_ij ≥ 0}.

    Examples
    --------
    >>> relu([[1.0, -2.0], [-2.0, 4.0]])
    array([[ 1., nan],
           [nan,  4.]])
    """
    return thresholded(M, 0.0)


def thresholded(M: ArrayLike, threshold: float, seen: str = "above") -> Array:
    """Only the entries at or above (``seen="below"``: at or below) a threshold.

    Examples
    --------
    >>> thresholded([[1.0, 0.2], [0.2, 4.0]], 0.5, seen="below")
    array([[nan, 0.2],
           [0.2, nan]])
    """
    values = np.asarray(M)
    if seen not in ("above", "below"):
        raise unknown_name("side seen", seen, ["above", "below"])
    return _keep(values, values >= threshold if seen == "above" else values <= threshold)


def smallest(M: ArrayLike, fraction: float) -> Array:
    """Only the given fraction of smallest entries, as for distances."""
    if not 0 < fraction <= 1:
        raise InputError(f"fraction must be above 0 and at most 1, got {fraction!r}")
    return thresholded(M, float(np.quantile(np.asarray(M), fraction)), seen="below")


def uniform(M: ArrayLike, fraction: float, rng: Any = None, *, symmetric: bool = True) -> Array:
    """Each entry with the same probability, whatever its value; (i, j) and (j, i) together if ``symmetric``."""
    if not 0 < fraction <= 1:
        raise InputError(f"fraction must be above 0 and at most 1, got {fraction!r}")
    values = np.asarray(M)
    draw = np.random.default_rng(rng).random(values.shape)
    if symmetric:
        draw = np.triu(draw) + np.triu(draw, 1).T
    return _keep(values, draw < fraction)
