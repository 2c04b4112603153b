"""A completion with the entries that it distrusts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from unrelu._old.auto.doubts import Doubts
from unrelu._old.base.arrays import Array, Floats
from unrelu._old.data.observations import Observations
from unrelu._old.results.completion import Completion
from unrelu._old.results.distrust_words import with_warning
from unrelu._old.results.distrusted import Distrusted

__all__ = ["listed_doubts", "with_doubts"]

Made = TypeVar("Made", bound=Completion)


def listed_doubts(
    doubts: Doubts, values: Array, expected: Array, observations: Observations, axes: tuple[Any, Any]
) -> tuple[Distrusted, ...]:
    """Entries that are distrusted, the worst first; of a pair that is distrusted both ways round one.

    Parameters
    ----------
    doubts : Doubts
        Positions are those of the matrix, or of the symmetric one that a table is part of.
    values, expected : ndarray
        What was seen there, NaN where nothing was, and what the fit has.
    observations : Observations
        Whose limits tell by how much an unseen entry should have been seen.
    axes : pair of tuple or None
        Labels of the rows and of the columns.
    """
    rows, cols, cut = doubts.rows, doubts.cols, observations.source.cut
    ends = observations.limits.at(rows, cols, observations.source.shape)
    nearest = ends.nearest(np.array(expected, np.float64))
    gaps: Floats = np.abs(np.where(np.isnan(values), nearest, values) - expected) / doubts.errors
    n = observations.size
    mirrored = np.isin(cols * n + rows, rows * n + cols)
    once = (rows < cut) & (cols >= cut) if cut is not None else ~mirrored | (rows <= cols)
    order = np.flatnonzero(once)[np.argsort(-gaps[once], kind="stable")]
    labels = [range(n) if names is None else names for names in axes]
    return tuple(
        Distrusted(labels[0][rows[k]], labels[1][cols[k] - (cut or 0)], *map(float, (values[k], expected[k], gaps[k])))
        for k in order
    )


def with_doubts(completion: Made, doubts: Doubts, values: Array, before: Observations, *, left_out: bool) -> Made:
    """A completion with what it distrusts: what was ``left_out`` of its fit, or what the fit has only listened to less.

    ``values`` are those that were seen at the places of the doubts, ``before`` all observations but impossible ones.
    """
    if not len(doubts.rows):
        return completion
    cut = before.source.cut or 0
    mine = np.ones(len(doubts.rows), bool) if not cut else (doubts.rows < cut) & (doubts.cols >= cut)
    found = Doubts(doubts.rows[mine], doubts.cols[mine], doubts.errors[mine])
    expected = completion.entries(found.rows, found.cols - cut)
    axes = completion.labels, getattr(completion, "column_labels", completion.labels)
    listed = listed_doubts(found, values[mine], expected, before, axes)
    verdict = with_warning(completion.verdict, listed, before.count, left_out=left_out)
    return replace(completion, distrusted=listed, verdict=verdict)
