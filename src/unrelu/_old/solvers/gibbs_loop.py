"""The loop of Gibbs sampling, which numba compiles when it is first needed, and keeps on disk where it may write."""

from __future__ import annotations

import math
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["available", "rows_drawn"]


@cache
def available() -> bool:
    """Whether numba is there; looking for what is not takes longer than drawing a row."""
    return find_spec("numba") is not None


@cache
def rows_drawn() -> Any:
    """Every row of U given the others, in each of several chains: what it is, stands in :mod:`unrelu._old.solvers.gibbs`.

    The Cholesky factor C of a row's precision Q, C z = toward, Cᵀ u = z + normal: u has the mean Q⁻¹·toward and the
    covariance Q⁻¹.
    """
    from numba import njit

    @njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def step(U: Any, weighted: Any, precision: Any, numbers: Any, normal: Any) -> None:
        rates, precisions, pulled = numbers
        chains, n, r = U.shape
        Q, z = np.zeros((r, r)), np.zeros(r)
        for c in range(chains):
            rate = rates[c]
            for i in range(n):
                for k in range(r):
                    z[k] = 0.0
                    for m in range(k + 1):
                        Q[k, m] = 0.0
                for j in range(n):
                    weight, value = precision[i, j], weighted[c, i, j]
                    if weight == 0.0:
                        continue
                    for k in range(r):
                        z[k] += value * U[c, j, k]
                        for m in range(k + 1):
                            Q[k, m] += weight * U[c, j, k] * U[c, j, m]
                for k in range(r):
                    z[k] = rate * z[k] + pulled[c, k]
                    for m in range(k + 1):
                        Q[k, m] *= rate
                    Q[k, k] += precisions[c, k]
                for k in range(r):
                    for m in range(k + 1):
                        total = Q[k, m]
                        for q in range(m):
                            total -= Q[k, q] * Q[m, q]
                        Q[k, m] = math.sqrt(total) if k == m else total / Q[m, m]
                    for q in range(k):
                        z[k] -= Q[k, q] * z[q]
                    z[k] /= Q[k, k]
                for k in range(r - 1, -1, -1):
                    total = z[k] + normal[i, c, k]
                    for q in range(k + 1, r):
                        total -= Q[q, k] * U[c, i, q]
                    U[c, i, k] = total / Q[k, k]

    return step
