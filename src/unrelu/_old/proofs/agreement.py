"""Whether a fit agrees with what was seen, to the error of the data: as a whole, row by row and pair by pair."""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    AGREEMENT_AGREES,
    AGREEMENT_CONTRADICTS,
    AGREEMENT_FITTED,
    AGREEMENT_LOUD,
    AGREEMENT_ROW_AGREES,
    AGREEMENT_TINY,
    AGREEMENT_VISIBLE,
)
from unrelu._old.data.observations import Observations
from unrelu._old.placing.attach import bands
from unrelu._old.proofs.direct import DataError

__all__ = [
    "AGREEMENT_AGREES",
    "AGREEMENT_ROW_AGREES",
    "AGREEMENT_TINY",
    "cleared",
    "contradicted",
    "fits",
    "fitting",
    "gaps",
    "misfitting",
    "noise_level",
]

# The median of |x| for x normal with unit variance, and rows from which a median is taken.
MEDIAN, SAMPLE = 0.6745, 500


def cleared(observations: Observations, factor: Floats) -> tuple[Floats, Bools]:
    """The factor with rows that are zero to rounding, and of which only zeros were seen, set to zero; and which."""
    sizes = np.linalg.norm(factor, axis=1)
    tiny = np.flatnonzero((sizes <= AGREEMENT_TINY * float(np.linalg.norm(sizes))) & (observations.seen_per_row > 0))
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
    each = AGREEMENT_ROW_AGREES * error.relative * sizes * total + absolute
    squares = 0.0
    for band in bands(len(rows), len(rows)):
        checkpoint()
        gap = np.linalg.norm(gaps(observations, factor, rows[band], rows), axis=1)
        squares += float(gap @ gap)
        if not (gap <= each[band]).all():
            return False
    return np.sqrt(squares / 2) <= AGREEMENT_AGREES * error.relative * total**2 + error.absolute * np.sqrt(
        observations.count
    )


def fitting(observations: Observations, factor: Floats, error: DataError, body: Indices, rest: Indices) -> Indices:
    """Those of ``rest`` whose fit agrees with what was seen of them: the others are not where the data want them."""
    sizes = np.linalg.norm(factor, axis=1)
    each = AGREEMENT_ROW_AGREES * error.relative * sizes[rest] * float(np.linalg.norm(sizes)) + error.absolute
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


def contradicted(observations: Observations, factor: Floats, error: DataError, *, agrees: bool) -> Bools:
    """Rows with an entry (i, j) seen well outside the limits between which (j, i) is said to lie.

    No symmetric matrix has both. With noise in each, both may be on their sides if the entry is near the limit.
    """
    n, limits = observations.size, observations.limits
    rows = np.zeros(n, dtype=bool)
    if limits.nothing:
        return rows
    found: list[tuple[Indices, Indices, Floats]] = []
    for band in bands(n, n):
        checkpoint()
        absent = np.isnan(observations.block(slice(0, n), band)).T
        unknown = limits.unknown_in(slice(0, n), band)
        if unknown is not None:
            absent = absent & ~unknown.T
        values = observations.block(band, slice(0, n))
        i, j = np.nonzero(absent & ~np.isnan(values))
        found.append((i + band.start, j, values[i, j].astype(np.float64) / observations.unit))
    i, j, seen = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if i.size == 0:
        return rows
    sizes = np.linalg.norm(factor, axis=1)
    near = limits.at(j, i, observations.source.shape).over(observations.unit).nearest(seen)
    allowed = error.absolute + AGREEMENT_AGREES * error.relative * (sizes[i] * sizes[j] + np.abs(near))
    if not agrees:
        allowed += AGREEMENT_CONTRADICTS * noise_level(observations, factor)
    wrong = np.abs(seen - near) > allowed
    rows[i[wrong]] = rows[j[wrong]] = True
    return rows


def misfitting(observations: Observations, factor: Floats) -> Bools:
    """Rows that the fit misses by far more than the others, or that a fit to rounding misses visibly.

    One wrong row, or one wrong entry, hardly shows in the misfit of all; so it is asked of each. What weighs little, or
    has more noise than others, may be missed by more.
    """
    n = observations.size
    squares, sizes, counts = np.zeros((3, n))
    missed, lengths = np.zeros(n, dtype=bool), np.linalg.norm(factor, axis=1)
    everyone = np.arange(n)
    for band in bands(n, n):
        checkpoint()
        values, seen = observations.pairs(everyone[band], everyone)
        gap = np.where(seen, values - factor[band] @ factor.T, 0.0)
        weighed = gap if observations.plain else gap * observations.pair_precision(everyone[band], everyone)
        squares[band] = np.einsum("ij,ij->i", gap, weighed)
        sizes[band] = np.sum(np.where(seen, values, 0.0) ** 2, axis=1)
        counts[band] = seen.sum(axis=1)
        missed[band] = (np.abs(gap) > AGREEMENT_VISIBLE * np.outer(lengths[band], lengths)).any(axis=1)
    if not counts.any():
        return counts > 0
    mean = squares / np.maximum(counts, 1)
    usual = float(np.median(mean[counts > 0]))
    loud = mean > AGREEMENT_LOUD**2 * (1 + 4 / np.sqrt(np.maximum(counts, 1))) * usual
    fitted = squares.sum() <= AGREEMENT_FITTED**2 * sizes.sum()
    found: Bools = missed if fitted else loud & (squares > AGREEMENT_VISIBLE**2 * sizes)
    return found


def noise_level(observations: Observations, factor: Floats) -> float:
    """The standard deviation of normal noise that leaves the median gap of the fit, from a sample of the rows."""
    some = np.arange(0, observations.size, observations.size // SAMPLE + 1)
    values, seen = observations.pairs(some, some)
    gap = np.abs(values - factor[some] @ factor[some].T)[seen]
    return float(np.median(gap)) / MEDIAN if gap.size else 0.0
