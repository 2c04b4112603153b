"""What was read from a file: a matrix, the limits that its cells name, and words about how it was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats
from unrelu._old.data.limits import Limits
from unrelu._old.data.table import Table

__all__ = ["Reading", "TextColumn"]


@dataclass(frozen=True)
class TextColumn:
    """A column of a file that holds words: where it stands among all columns, what it is called, and its cells."""

    place: int
    name: str | None
    cells: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Reading(Table):
    """A matrix read from a file, with all that its cells say.

    Parameters
    ----------
    values : (m, n) array or sparse array
        NaN where nothing was measured; in a sparse array the stored entries are the measured ones.
    rows, columns : tuple of str, or None
        Labels, when the file had them.
    low, high : (m, n) array, one number per column (1, n), or None
        Above and below which numbers a value lies that was not measured: its cell is a limit, such as ``<0.25``, or its
        column has one. Infinite for all others. None if there are no limits.
    gap : (from, to), or None
        Between which it does not lie, where a column has a limit on either side; NaN for all others.
    words : tuple of str
        How the file was read, where its name does not say it: "read as semicolons with decimal commas".
    texts : tuple of TextColumn
        Columns of words, which are not among the others.

    Examples
    --------
    >>> nan, inf = np.nan, np.inf
    >>> found = Reading(np.array([[1.5, nan, nan]]), low=np.array([[-inf] * 3]), high=np.array([[inf, 0.25, inf]]))
    >>> found.counts
    {'measured': 1, 'below': 1, 'above': 0, 'missing': 1}
    """

    low: Floats | None = None
    high: Floats | None = None
    gap: tuple[Floats, Floats] | None = None
    words: tuple[str, ...] = ()
    texts: tuple[TextColumn, ...] = ()

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Where the columns of numbers stand among all columns of the file."""
        width = self.values.shape[1] + len(self.texts)
        return np.setdiff1d(np.arange(width), [text.place for text in self.texts]).astype(np.intp)

    @property
    def all_columns(self) -> tuple[str, ...] | None:
        """The names of all columns of the file, those of words among them."""
        if self.columns is None:
            return None
        names = dict(zip(self.numbers.tolist(), self.columns, strict=True))
        names |= {text.place: text.name or "" for text in self.texts}
        return tuple(names[k] for k in sorted(names))

    @property
    def unseen_per_column(self) -> NDArray[np.int64]:
        """How many cells of each column were not measured."""
        values: Any = self.values
        if not scipy.sparse.issparse(values):
            return np.isnan(values).sum(axis=0)
        stored = values.tocoo()
        return values.shape[0] - np.bincount(stored.col[~np.isnan(stored.data)], minlength=values.shape[1])

    @property
    def counts(self) -> dict[str, int]:
        """How many cells were measured, lie below a limit, above one, beyond either of two, and are missing."""
        unseen = self.unseen_per_column
        total = self.values.shape[0] * self.values.shape[1]
        found = {"measured": total - int(unseen.sum())}
        found |= {"below": self._unseen_where(self.high), "above": self._unseen_where(self.low)}
        either = 0 if self.gap is None else self._unseen_where(self.gap[0])
        found["missing"] = total - sum(found.values()) - either
        return found if self.gap is None else found | {"either": either}

    def _unseen_where(self, end: Floats | None) -> int:
        """How many cells that were not measured have such a limit."""
        if end is None:
            return 0
        if end.shape[0] == 1:  # one per column
            return int(self.unseen_per_column[np.isfinite(end[0])].sum())
        return int(np.count_nonzero(np.isfinite(end) & np.isnan(self.values)))

    @property
    def limits(self) -> Limits | None:
        """The limits as :func:`unrelu.complete` takes them; None if there are none."""
        if self.low is None or self.high is None:
            return None
        low, high = (end if np.isfinite(end).any() else float(end.flat[0]) for end in (self.low, self.high))
        return Limits(low, high, gap=self.gap)

    def after(self, words: Sequence[str]) -> Reading:
        """The same with words that come before the others."""
        return replace(self, words=(*words, *self.words))

    def with_counts(self, whose: str = "limits from its cells") -> Reading:
        """The same with a word about its limits, and ``whose`` they are, at the end, if it has any."""
        if self.low is None:
            return self
        count = self.counts
        either = f"{count['either']} beyond either of two, " if "either" in count else ""
        told = (
            f"read {whose}: {count['below']} below, {count['above']} above, {either}{count['measured']} measured, "
            f"{count['missing']} missing"
        )
        told += ", of which nothing is known" if count["missing"] else ""
        return replace(self, words=(*self.words, told))
