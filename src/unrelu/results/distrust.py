"""What a completion says of the entries that it distrusts, in words, for JSON and in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

import numpy as np

from unrelu.auto.doubts import Doubts
from unrelu.base.arrays import Array, Floats
from unrelu.data.labels import label_or_position
from unrelu.data.observations import Observations
from unrelu.loop.history import Verdict, finite
from unrelu.results.completion import Completion
from unrelu.results.distrusted import Distrusted

__all__ = ["distrust_in_json", "distrust_in_words", "listed_doubts", "with_doubts", "with_warning"]

Made = TypeVar("Made", bound=Completion)

# Entries that a sentence names one by one.
NAMED = 5
# A larger share of the seen entries than this is not a few: then something else is wrong.
A_FEW = 0.1


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


def with_warning(verdict: Verdict, listed: Sequence[Distrusted], count: int, *, left_out: bool) -> Verdict:
    """The same verdict, which says how many entries are distrusted."""
    if not listed:
        return verdict
    many = f"{len(listed)} entries are" if len(listed) > 1 else "one entry is"
    said = f"{many} distrusted{' and left out' if left_out else ''}"
    if len(listed) > A_FEW * count:
        said += ", more than a few wrong ones would be: look whether rank and threshold are right"
    return Verdict(verdict.code, f"{verdict.reason}; {said}")


def distrust_in_words(listed: Sequence[Distrusted], most: int = NAMED) -> str:
    """The first of them, and how many more there are.

    Examples
    --------
    >>> distrust_in_words([Distrusted("a", "b", 40.0, 2.5, 31.0), Distrusted(3, 4, float("nan"), 2.5, 8.0)], most=1)
    '(a, b) is 40, where the others say 2.5 (31 standard deviations) … and 1 more'
    """
    shown = [_in_words(one) for one in listed[:most]]
    more = len(listed) - len(shown)
    return "; ".join(shown) + (f" … and {more} more" if more else "")


def _in_words(one: Distrusted) -> str:
    came = "was not seen" if np.isnan(one.value) else f"is {one.value:.4g}"
    return f"({one.row}, {one.column}) {came}, where the others say {one.expected:.3g} ({one.deviations:.2g} standard deviations)"


def distrust_in_json(listed: Sequence[Distrusted]) -> list[dict[str, Any]]:
    """All of them, ready for JSON; a value that was not seen is null.

    Examples
    --------
    >>> distrust_in_json([Distrusted(3, 4, float("nan"), 2.5, 8.0)])
    [{'row': 3, 'column': 4, 'value': None, 'expected': 2.5, 'deviations': 8.0}]
    """
    return [finite(asdict(one) | {"row": _label(one.row), "column": _label(one.column)}) for one in listed]


def _label(label: Any) -> str | int:
    return int(label) if isinstance(label, int | np.integer) else str(label_or_position(0, (label,)))
