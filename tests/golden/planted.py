"""Planted matrices, tables and points, and ways to observe them, drawn with NumPy alone.

Nothing here comes from the package: its own families may change, and golden instances may not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.golden.case import Data, Intervals

__all__ = ["FAMILIES", "distances_within", "factor", "matrix", "observe", "rectangular", "symmetric_noise", "table"]

Array = np.ndarray
Generator = np.random.Generator

FAMILIES = {
    "gaussian": lambda g, n, r: g.standard_normal((n, r)),
    "condition-10": lambda g, n, r: g.standard_normal((n, r)) * np.geomspace(1, 0.1, r),
    "condition-100": lambda g, n, r: g.standard_normal((n, r)) * np.geomspace(1, 0.01, r),
    "clusters": lambda g, n, r: g.standard_normal((10, r))[g.integers(0, 10, n)] + 0.1 * g.standard_normal((n, r)),
    "sparse": lambda g, n, r: g.standard_normal((n, r)) * (g.random((n, r)) < 0.3),
    "uniform": lambda g, n, r: g.uniform(-0.3, 0.7, (n, r)),
    "student-t": lambda g, n, r: g.standard_t(3, (n, r)),
    "cauchy": lambda g, n, r: g.standard_cauchy((n, r)),
    "log-normal": lambda g, n, r: g.standard_normal((n, r)) * g.lognormal(size=(n, 1)),
    "shifted": lambda g, n, r: g.standard_normal((n, r)) + 0.5,
    "repeated": lambda g, n, r: g.standard_normal((n // 4, r))[g.integers(0, n // 4, n)],
}


def factor(g: Generator, n: int, r: int, family: str = "gaussian") -> Array:
    """Draw a factor of shape (n, r) from a family."""
    return FAMILIES[family](g, n, r)


def symmetric_noise(g: Generator, n: int, sigma: float) -> Array:
    """Draw one normal number of standard deviation sigma for each pair (i, j), (j, i)."""
    noise = sigma * g.standard_normal((n, n))
    return np.triu(noise) + np.triu(noise, 1).T


def observe(values: Array, threshold: Any = 0.0, observed: str = "above", unknown: Array | None = None) -> Intervals:
    """Keep the entries on one side of a threshold; entries of `unknown` are missing without any limit."""
    low: Any = -np.inf
    high: Any = np.inf
    if threshold is None:
        kept = np.ones(values.shape, bool)
    elif observed == "above":
        kept, high = values >= threshold, np.asarray(threshold, float)
    elif observed == "below":
        kept, low = values <= threshold, np.asarray(threshold, float)
    elif observed == "outside":
        low, high = (np.asarray(end, float) for end in threshold)
        kept = (values <= low) | (values >= high)
    else:
        raise ValueError(f"observed={observed!r} has no single interval")
    low, high = (np.broadcast_to(end, values.shape) for end in (low, high))
    if unknown is not None:
        kept = kept & ~unknown
        low, high = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
    return Intervals(np.where(kept, values, np.nan), low, high)


def matrix(
    g: Generator,
    n: int,
    r: int,
    *,
    family: str = "gaussian",
    noise: float = 0.0,
    one_noise: bool = True,
    signs: Any = None,
    threshold: Any = 0.0,
    quantile: float | None = None,
    observed: str = "above",
    random_share: float = 0.0,
    dtype: Any = float,
) -> Data:
    """Draw a symmetric matrix U·diag(signs)·Uᵀ plus noise (a share of its rms) and observe it.

    With ``quantile`` the threshold is that quantile of the entries, and is passed as ``given["threshold"]``. A share
    ``random_share`` of the pairs is missing completely at random besides; their mask is ``given["unknown"]``.
    """
    u = factor(g, n, r, family)
    truth = u * (np.ones(r) if signs is None else np.asarray(signs, float)) @ u.T
    sigma = noise * float(np.sqrt(np.mean(truth**2)))
    error = symmetric_noise(g, n, sigma) if one_noise else sigma * g.standard_normal((n, n))
    values = truth + error
    given: dict[str, Any] = {}
    if quantile is not None:
        threshold = given["threshold"] = float(np.quantile(values, quantile))
    unknown = None
    if random_share:
        upper = np.triu(g.random((n, n)) < random_share)
        unknown = given["unknown"] = upper | upper.T
    known = observe(values, threshold, observed, unknown)
    given["X"] = known.values.astype(dtype)
    return Data(given, truth, sigma, known=known)


def rectangular(
    g: Generator,
    m: int,
    n: int,
    r: int,
    *,
    noise: float = 0.0,
    offsets: bool = False,
    threshold: Any = 0.0,
    quantile: float | None = None,
    column_quantile: float | None = None,
    observed: str = "above",
    random_share: float = 0.0,
    dtype: Any = float,
) -> Data:
    """Draw L·Rᵀ (plus column offsets) plus noise (a share of its rms) and observe it; see :func:`matrix`."""
    truth = g.standard_normal((m, r)) @ g.standard_normal((r, n))
    if offsets:
        truth = truth + 3 * g.standard_normal(n)
    sigma = noise * float(np.sqrt(np.mean(truth**2)))
    values = truth + sigma * g.standard_normal((m, n))
    given: dict[str, Any] = {}
    if quantile is not None:
        threshold = given["threshold"] = float(np.quantile(values, quantile))
    if column_quantile is not None:
        threshold = given["threshold"] = np.quantile(values, column_quantile, axis=0)[None, :]
    unknown = None
    if random_share:
        unknown = given["unknown"] = g.random((m, n)) < random_share
    known = observe(values, threshold, observed, unknown)
    given["X"] = known.values.astype(dtype)
    return Data(given, truth, sigma, known=known)


def table(
    g: Generator,
    m: int,
    n: int,
    *,
    censored: float = 0.3,
    common: float = 0.8,
    log: bool = True,
    random_share: float = 0.0,
) -> Data:
    """Draw a table of correlated columns, log-normal if ``log``, each with a limit at its ``censored`` quantile.

    The truth is on the scale of the values. ``given`` has ``X`` (NaN below the limit) and ``limits`` of shape (n,).
    """
    scores = common * (g.standard_normal((m, 2)) @ g.standard_normal((2, n))) + 0.5 * g.standard_normal((m, n))
    values = np.exp(scores) * g.lognormal(size=n) if log else 10 + scores * g.lognormal(size=n)
    limits = np.quantile(values, censored, axis=0)
    kept = values >= limits
    if random_share:
        kept &= g.random((m, n)) >= random_share
    return Data({"X": np.where(kept, values, np.nan), "limits": limits}, values, float(values.std()))


def distances_within(g: Generator, points: Array, cutoff: float | None, noise: float = 0.0) -> Data:
    """Observe the distances between points that are at most ``cutoff``; the truth is the points."""
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    seen = np.abs(apart + symmetric_noise(g, len(points), noise))
    np.fill_diagonal(seen, 0.0)
    kept = np.ones(seen.shape, bool) if cutoff is None else seen <= cutoff
    return Data({"D": np.where(kept, seen, np.nan)}, points, noise, scale=float(np.sqrt(np.mean(apart**2))))
