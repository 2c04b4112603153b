"""Guaranteed intervals for entries, from proofs alone, and by linear programs where an entry is not determined.

The truth is taken to be a positive semidefinite matrix of the given rank with which the seen entries agree exactly. A
row i that sees rows S of the proved ones has a factor row x with U_S x = m_S; of every unseen entry absence says
between which limits u_j·x lies; and a seen diagonal entry bounds ‖x‖² = m_ii. Minimising and maximising u_j·x over the
first two is a pair of linear programs, whose interval contains the truth; the third cuts it by Cauchy and Schwarz.
What they return holds whatever rounding does: :mod:`unrelu._old.proofs.programs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.tolerances import INTERVALS_LOOSENED, INTERVALS_ROUNDING, INTERVALS_SIZES
from unrelu._old.data.observations import Observations
from unrelu._old.proofs.determinacy import PROVED, Determinacy
from unrelu._old.proofs.direct import DataError
from unrelu._old.proofs.programs import least

__all__ = ["Known", "entry_bounds"]

# Errors of the proved rows count in proportion to the size of the row that is bounded. Where nothing bounds that, it is
# taken to be at most this many times the size of the largest proved row.
FURTHER = 1e4


@dataclass(frozen=True, eq=False)
class Known:
    """What the intervals are made from, in units of ``observations.unit``.

    Attributes
    ----------
    observations : Observations
    factor : ndarray of shape (n, r)
        The fit.
    error : DataError
    bound : ndarray of shape (n,)
        How far each proved row may be off in the frame of its component; infinite for all others.
    components : int ndarray of shape (n,)
        The component of each proved row, 0 the largest; −1 for rows that are not proved.
    """

    observations: Observations
    factor: Floats
    error: DataError
    bound: Floats
    components: NDArray[np.int64]

    @classmethod
    def of(cls, observations: Observations, factor: Floats, error: DataError, found: Determinacy) -> Known:
        """The fit, with what was proved of it: what is ``generic`` proves nothing, and a stress carries no bound."""
        bound, components = np.full(len(found.rank_of), np.inf), np.full(len(found.rank_of), -1)
        for number, group in enumerate(found.groups):
            proved = (found.components == number) & (found.rank_of == PROVED) & group.inside
            bound[proved], components[proved] = group.bound[proved], number
        return cls(observations, factor, error, bound, components)

    @cached_property
    def sizes(self) -> Floats:
        """‖u_i‖ of the fit."""
        result: Floats = np.linalg.norm(self.factor, axis=1)
        return result

    def size(self, i: int) -> float:
        """An upper bound of ‖u_i‖: of a proved row its own, else the root of its diagonal entry, if seen."""
        if self.components[i] >= 0:
            return float(self.sizes[i] + INTERVALS_LOOSENED * self.bound[i])
        value, seen = self.observations.pairs(np.array([i]), np.array([i]))
        if not seen[0, 0]:
            return np.inf
        return float(
            np.sqrt(max(value[0, 0], 0.0) * (1 + INTERVALS_LOOSENED * self.error.relative) + self.error.absolute)
        )


def entry_bounds(known: Known, rows: Indices, cols: Indices) -> tuple[Floats, Floats]:
    """Low and high ends for entries (rows[k], cols[k]), in units of ``observations.unit``."""
    observations, factor, error = known.observations, known.factor, known.error
    bound, components = known.bound, known.components
    low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    size = {int(i): known.size(int(i)) for i in np.unique(np.concatenate([rows, cols]))}
    programs: dict[int, list[tuple[int, int]]] = {}
    for k, (i, j) in enumerate(zip(rows.tolist(), cols.tolist(), strict=True)):
        value, seen = observations.pairs(np.array([i]), np.array([j]))
        if seen[0, 0]:
            low[k] = high[k] = value[0, 0]
            continue
        low[k], high[k] = _absence(observations, i, j)
        most = size[i] * size[j] * (1 + INTERVALS_SIZES) if size[i] and size[j] else 0.0  # zero times anything is zero
        low[k], high[k] = max(low[k], -most if i != j else 0.0), min(high[k], most)
        if components[i] == components[j] >= 0:
            here = float(factor[i] @ factor[j])
            room = INTERVALS_LOOSENED * float(size[i] * (bound[j] + error.relative * size[j]) + size[j] * bound[i])
            low[k], high[k] = max(low[k], here - room), min(high[k], here + room)
        elif components[i] == 0 or components[j] == 0:
            outside, inside = (j, i) if components[i] == 0 else (i, j)
            programs.setdefault(outside, []).append((k, inside))
    largest = float(known.sizes[components >= 0].max(initial=0.0))
    for i, wanted in programs.items():
        _by_programs(known, i, (size[i], FURTHER * largest), wanted, low, high)
    return np.minimum(low, high), np.maximum(low, high)


def _absence(observations: Observations, i: int, j: int) -> tuple[float, float]:
    low, high = observations.bounds(np.array([i]), np.array([j]), np.zeros((1, 1), dtype=bool))
    return float(low[0, 0]), float(high[0, 0])


def _by_programs(
    known: Known, i: int, sizes: tuple[float, float], wanted: list[tuple[int, int]], low: Floats, high: Floats
) -> None:
    """Tighten the intervals of some entries of row i, (position, other row) each, against rows of component 0.

    ``sizes`` bound ‖u_i‖: what is known, which may be infinite, and what is assumed then.
    """
    sized = bool(np.isfinite(sizes[0]))
    reach = sizes[0] if sized else sizes[1]
    observations, factor, error = known.observations, known.factor, known.error
    inside = np.flatnonzero((known.components == 0) & (known.sizes > 0))
    lengths = known.sizes[inside]
    values, seen = observations.pairs(np.array([i]), inside)
    values, seen = values[0], seen[0]
    scale = float(np.abs(values[seen]).max(initial=0.0)) or 1.0
    room = (
        INTERVALS_LOOSENED * (known.bound[inside] * reach + error.absolute + error.relative * lengths * reach)
        + INTERVALS_ROUNDING * scale
    )
    # Every row at unit length: solvers drop what is small against one.
    units, values, room = factor[inside] / lengths[:, None], values / lengths, room / lengths
    A, b = [units[seen], -units[seen]], [(values + room)[seen], (room - values)[seen]]
    low_ends, high_ends = (end[0] for end in observations.bounds(np.array([i]), inside, seen[None]))
    for sign, ends in ((1.0, high_ends), (-1.0, low_ends)):
        told = np.isfinite(ends)
        A.append(sign * units[told])
        b.append((sign * ends[told] / lengths[told]) + room[told])
    matrix, right = np.concatenate(A), np.concatenate(b)
    for k, j in wanted:
        size = float(known.sizes[j])
        if size == 0:
            continue
        aim = factor[j] / size
        slack = INTERVALS_LOOSENED * float(known.bound[j]) * reach + INTERVALS_ROUNDING * scale
        low[k] = max(low[k], size * least(aim, matrix, right, reach, known=sized) - slack)
        high[k] = min(high[k], -size * least(-aim, matrix, right, reach, known=sized) + slack)
