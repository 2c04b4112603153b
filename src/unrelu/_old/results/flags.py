"""Where each entry of a filled matrix comes from: measured, censored, missing, or not determined at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.data.observations import Observations
from unrelu._old.results.completion import Completion
from unrelu._old.results.forecasts import limits_of

__all__ = ["FLAGS", "flags_of", "known_limits"]

FLAGS = ("measured", "censored", "missing", "undetermined")
"""Measured: as it was given. Censored: unseen because of its value, beyond a limit. Missing: unseen for another reason.
Undetermined: unseen, and the data do not tell its value, whatever the reason."""
MEASURED, CENSORED, MISSING, UNDETERMINED = range(len(FLAGS))

# Rows that are looked at together.
BAND = 256


def flags_of(completion: Completion, known: Bools | None = None) -> NDArray[np.uint8]:
    """Of every entry its place in :data:`FLAGS`.

    What was seen one way round of a symmetric matrix is measured both ways.

    Parameters
    ----------
    completion : Completion
    known : boolean array of the shape of the matrix, optional
        Entries that were seen, or that the data determine; found out when not given.

    Examples
    --------
    >>> import unrelu
    >>> M = np.outer([1.0, 2, 3, -1], [1.0, 2, 3, -1])
    >>> found = unrelu.complete(np.where(M >= 0, M, np.nan), rank=1, rng=0)
    >>> flags_of(found)[0].tolist(), FLAGS[1]
    ([0, 0, 0, 1], 'censored')
    """
    observations = completion.observed()
    if known is None:
        known = ~np.isnan(np.asarray(completion.filled(undetermined="nan")))
    found = np.full(completion.shape, MISSING, np.uint8)
    cut, size = observations.source.cut or 0, observations.size
    for start in range(0, len(found), BAND):
        rows, cols = slice(start, min(start + BAND, len(found))), slice(cut, size)
        seen, censored = _of_block(observations, rows, cols)
        if completion.symmetric:
            seen_back, censored_back = _of_block(observations, cols, rows)
            seen, censored = seen | seen_back.T, censored | censored_back.T
        found[rows][censored] = CENSORED
        found[rows][~known[rows]] = UNDETERMINED
        found[rows][seen] = MEASURED
    return found


def _of_block(observations: Observations, rows: slice, cols: slice) -> tuple[Bools, Bools]:
    """Which entries were seen, and which were not because of their value; a range that all have is no such reason."""
    values = observations.block(rows, cols)
    absent = observations.absent(rows, cols, values)
    return ~np.isnan(values), absent & np.logical_not(observations.limits.by_chance(rows, cols))


def known_limits(completion: Completion) -> tuple[Floats, Floats]:
    """(low, high) of every entry by what was seen, and by what absence says, alone: infinite where that is nothing."""
    observations = completion.observed()
    m, n = completion.shape
    cut = observations.source.cut or 0
    low, high = np.empty((m, n)), np.empty((m, n))
    for start in range(0, m, BAND):
        rows = np.arange(start, min(start + BAND, m))
        i, j = (place.ravel() for place in np.broadcast_arrays(rows[:, None], cut + np.arange(n)))
        ends = limits_of(observations, i, j)
        values = observations.source.at(i, j).astype(np.float64)
        if completion.symmetric:
            values = np.where(np.isnan(values), observations.source.at(j, i), values)
        low[rows], high[rows] = (np.where(np.isnan(values), end, values).reshape(-1, n) for end in ends)
    return low, high
