"""Whether a fit agrees with what was seen, to the error of the data: as a whole, row by row and pair by pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unrelu.attach import bands
from unrelu.certificates.direct import DataError
from unrelu.observations import Observations

__all__ = ["AGREES", "ROW_AGREES", "TINY", "cleared", "fits", "fitting", "gaps"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

# The fit agrees with what was seen if its misfit is at most this many times the rounding of the data; that of one row
# may be further off, for solvers see the whole.
AGREES, ROW_AGREES = 100.0, 1e4
# Rows below this share of the factor's norm, of which only zeros were seen, are zero.
TINY = 1e-8


def cleared(observations: Observations, factor: Floats) -> tuple[Floats, Bools]:
    """The factor with rows that are zero to rounding, and of which only zeros were seen, set to zero; and which."""
    sizes = np.linalg.norm(factor, axis=1)
    tiny = np.flatnonzero((sizes <= TINY * float(np.linalg.norm(sizes))) & (observations.seen_per_row > 0))
    zero = np.zeros(len(factor), dtype=bool)
    if tiny.size:
        values, _ = observations.pairs(tiny, np.arange(observations.size))
        zero[tiny[(values == 0).all(axis=1)]] = True
    return np.where(zero[:, None], 0.0, factor), zero


def fits(observations: Observations, factor: Floats, error: DataError, rows: Indices) -> bool:
    """Whether the fit agrees with every entry seen among some rows, (i, j) and (j, i) both, in all and row by row."""
    sizes = np.linalg.norm(factor[rows], axis=1)
    total = float(np.linalg.norm(sizes))
    absolute = error.absolute * np.sqrt(2 * len(rows))
    each = ROW_AGREES * error.relative * sizes * total + absolute
    squares = 0.0
    for band in bands(len(rows), len(rows)):
        gap = np.linalg.norm(gaps(observations, factor, rows[band], rows), axis=1)
        squares += float(gap @ gap)
        if not (gap <= each[band]).all():
            return False
    return np.sqrt(squares / 2) <= AGREES * error.relative * total**2 + error.absolute * np.sqrt(observations.count)


def fitting(observations: Observations, factor: Floats, error: DataError, body: Indices, rest: Indices) -> Indices:
    """Those of ``rest`` whose fit agrees with what was seen of them: the others are not where the data want them."""
    sizes = np.linalg.norm(factor, axis=1)
    each = ROW_AGREES * error.relative * sizes[rest] * float(np.linalg.norm(sizes)) + error.absolute
    off = (gaps(observations, factor, rest, body) > each[:, None]).any(axis=1)
    rest, each = rest[~off], each[~off]
    off_pairs = gaps(observations, factor, rest, rest) > np.maximum(each[:, None], each[None, :])
    while off_pairs.any():  # at least one of each pair is wrong: the row with most first
        right = np.arange(len(rest)) != int(np.argmax(off_pairs.sum(axis=1)))
        rest, off_pairs = rest[right], off_pairs[np.ix_(right, right)]
    return rest


def gaps(observations: Observations, factor: Floats, rows: Indices, cols: Indices) -> Floats:
    """√((m_ij − u_i·u_j)² + (m_ji − u_i·u_j)²), 0 where not seen: means would hide that the two differ."""
    fit = factor[rows] @ factor[cols].T
    one, other = (observations.entries(rows, cols), observations.entries(cols, rows).T)
    return np.hypot(*(np.where(np.isnan(values), 0, values - fit) for values in (one, other)))
