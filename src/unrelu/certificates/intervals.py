"""Guaranteed intervals for entries that are not determined, by linear programs.

A row i that sees rows S of the determined ones has a factor row x with U_S x = m_S; of every unseen entry absence says
u_j·x ≤ τ (or ≥ τ); and a seen diagonal entry bounds ‖x‖² = m_ii. Minimising and maximising u_j·x over the first two is
a pair of linear programs, whose interval contains the truth; the third cuts it by Cauchy and Schwarz. Without noise.

What a solver of linear programs returns is only nearly optimal, and could cut off the truth. Its multipliers y ≥ 0 give
a bound that holds whatever they are: Ax ≤ b and ‖x‖ ≤ ρ imply c·x ≥ −y·b − ρ‖c + Aᵀy‖.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from unrelu.certificates.direct import DataError
from unrelu.observations import Observations

__all__ = ["entry_bounds"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

# Equations and inequalities are loosened by this many times what the error bounds say, and at least by this share of
# the row's scale, so that rounding can never make the truth infeasible.
LOOSENED, ROUNDING = 4.0, 1e-9
# Where a row's size is not known, that of its least-norm solution times this stands in for it in error bounds.
FURTHER = 10.0


@dataclass(frozen=True, eq=False)
class _Known:
    """What the intervals are made from, in units of ``observations.unit``."""

    observations: Observations
    factor: Floats
    bound: Floats
    components: NDArray[np.int64]
    error: DataError
    sizes: Floats

    def size(self, i: int) -> float:
        """An upper bound of ‖u_i‖: of a determined row its own, else the root of its diagonal entry, if seen."""
        if self.components[i] >= 0:
            return float(self.sizes[i] + LOOSENED * self.bound[i])
        value, seen = self.observations.pairs(np.array([i]), np.array([i]))
        if not seen[0, 0]:
            return np.inf
        return float(np.sqrt(max(value[0, 0], 0.0) * (1 + LOOSENED * self.error.relative) + self.error.absolute))


def entry_bounds(
    observations: Observations,
    factor: Floats,
    bound: Floats,
    components: NDArray[np.int64],
    error: DataError,
    rows: Indices,
    cols: Indices,
) -> tuple[Floats, Floats]:
    """Low and high ends for entries (rows[k], cols[k]), all in units of ``observations.unit``.

    Parameters
    ----------
    observations : Observations
    factor, bound : ndarray of shape (n, r) and (n,)
        The fit, and how far each determined row may be off in the frame of its component.
    components : int ndarray of shape (n,)
        The component of each determined row, 0 the largest; −1 for rows that are not determined.
    error : DataError
    rows, cols : int ndarray of the same length
    """
    known = _Known(observations, factor, bound, components, error, np.linalg.norm(factor, axis=1))
    low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    size = {int(i): known.size(int(i)) for i in np.unique(np.concatenate([rows, cols]))}
    programs: dict[int, list[tuple[int, int]]] = {}
    for k, (i, j) in enumerate(zip(rows.tolist(), cols.tolist(), strict=True)):
        value, seen = observations.pairs(np.array([i]), np.array([j]))
        if seen[0, 0]:
            low[k] = high[k] = value[0, 0]
            continue
        low[k], high[k] = _absence(observations, i, j)
        most = size[i] * size[j] * (1 + 1e-12)
        low[k], high[k] = max(low[k], -most if i != j else 0.0), min(high[k], most)
        if components[i] == components[j] >= 0:
            here = float(factor[i] @ factor[j])
            room = LOOSENED * float(size[i] * (bound[j] + error.relative * size[j]) + size[j] * bound[i])
            low[k], high[k] = max(low[k], here - room), min(high[k], here + room)
        elif components[i] == 0 or components[j] == 0:
            outside, inside = (j, i) if components[i] == 0 else (i, j)
            programs.setdefault(outside, []).append((k, inside))
    for i, wanted in programs.items():
        reach = size[i] if np.isfinite(size[i]) else FURTHER * float(known.sizes[i]) + 1.0
        _by_programs(known, i, reach, wanted, low, high)
    return np.minimum(low, high), np.maximum(low, high)


def _absence(observations: Observations, i: int, j: int) -> tuple[float, float]:
    tau = observations.scaled_threshold
    values = np.full((1, 1), np.nan)
    absent = [observations.absent(slice(a, a + 1), slice(b, b + 1), values)[0, 0] for a, b in ((i, j), (j, i))]
    if tau is None or not any(absent):
        return -np.inf, np.inf
    return (-np.inf, tau) if observations.absence_says == "below" else (tau, np.inf)


def _by_programs(known: _Known, i: int, reach: float, wanted: list[tuple[int, int]], low: Floats, high: Floats) -> None:
    """Tighten the intervals of some entries of row i, (position, other row) each, against rows of component 0."""
    observations, factor, error = known.observations, known.factor, known.error
    inside = np.flatnonzero((known.components == 0) & (known.sizes > 0))
    sizes = known.sizes[inside]
    values, seen = observations.pairs(np.array([i]), inside)
    values, seen = values[0], seen[0]
    scale = float(np.abs(values[seen]).max(initial=0.0)) or 1.0
    room = LOOSENED * (known.bound[inside] * reach + error.absolute + error.relative * sizes * reach) + ROUNDING * scale
    # Every row at unit length: solvers drop what is small against one.
    units, values, room = factor[inside] / sizes[:, None], values / sizes, room / sizes
    A, b = [units[seen], -units[seen]], [(values + room)[seen], (room - values)[seen]]
    tau = observations.scaled_threshold
    absent = ~seen if observations.unknown is None else ~seen & ~_unknown(observations, i, inside)
    if tau is not None and absent.any():
        sign = 1.0 if observations.absence_says == "below" else -1.0
        A.append(sign * units[absent])
        b.append((sign * tau / sizes + room)[absent])
    matrix, right = np.concatenate(A), np.concatenate(b)
    for k, j in wanted:
        size = float(known.sizes[j])
        if size == 0:
            continue
        aim = factor[j] / size
        slack = LOOSENED * float(known.bound[j]) * reach + ROUNDING * scale
        low[k] = max(low[k], size * _least(aim, matrix, right, reach) - slack)
        high[k] = min(high[k], -size * _least(-aim, matrix, right, reach) + slack)


def _least(c: Floats, A: Floats, b: Floats, reach: float) -> float:
    """A lower bound of c·x over Ax ≤ b, ‖x‖ ≤ reach, from the multipliers of a linear program."""
    answer = linprog(c, A_ub=A, b_ub=b, bounds=(None, None), method="highs")
    if answer.status != 0:
        return -np.inf  # unbounded, or not solved: what is known already stands
    y = np.maximum(-np.asarray(answer.ineqlin.marginals), 0)
    used = np.flatnonzero(y)
    exact, *_ = np.linalg.lstsq(A[used].T, -c, rcond=None)
    if (exact >= 0).all():
        y[used] = exact
    return float(-y @ b - reach * np.linalg.norm(c + A.T @ y) - 1e-14 * (y @ np.abs(b)))


def _unknown(observations: Observations, i: int, cols: Indices) -> Bools:
    assert observations.unknown is not None
    return observations.unknown[i, cols] & observations.unknown[cols, i]
