"""Input that is probably not what was meant: one sentence each, with the option that would be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError
from unrelu._old.base.printable import printable
from unrelu._old.data.labels import label_or_position
from unrelu._old.shell.common import warn
from unrelu._old.shell.reading import Brought, named

__all__ = ["doubts_of", "told"]

# Values that are looked at: of more, evenly spaced ones, for a look must not cost more than a pass.
MOST_LOOKED_AT = 1_000_000
# Rows that are looked at together.
BAND = 256
# A value is a mark for "not seen" if it is this share of what was seen, this many times as frequent as any other, and
# there are this many of it and of others: in whole numbers or printed decimals every value is frequent. Where more than
# one entry for so many marks was left empty, the file has another way to say "not seen", and zeros are zeros.
SHARE, TIMES, FEWEST, MARKS_PER_EMPTY = 0.05, 5, 10, 100
# Between the threshold and the nearest seen value there is a gap if it is so much wider than what the next values span
# that for a density that does not vanish there the odds are one to so many: a gap of g times that span, of k values,
# has a probability of (1 + g)^-k at most. Where fewer values differ, nothing is said.
ODDS, NEXT, FEWEST_NEXT = 1_000_000, 20, 12
# A rounder number may take the place of the nearest value, if it is no further off than so many steps between values.
STEPS = 3


def told(brought: Brought, threshold: Any, seen: str, *, quiet: bool, as_json: bool) -> list[str]:
    """Say how a file was read and what is doubtful about it; for JSON nothing is said, and the doubts come back."""
    brought.tell(silent=quiet or as_json)
    doubts = doubts_of(brought, threshold, seen)
    if as_json:
        return doubts
    warn(doubts)
    return []


def doubts_of(brought: Brought, threshold: Any, seen: str) -> list[str]:
    """What is probably not meant, in sentences; none for what may well be.

    Parameters
    ----------
    brought : Brought
        The file.
    threshold : float, or anything else
        What was said, or is assumed; only one number for all entries is looked at.
    seen : {"above", "below"}, or anything else
        On which side of it entries were seen.
    """
    found = [*_same_labels(brought), *_repeated_columns(brought)]
    plain = isinstance(threshold, float) and seen in ("above", "below") and brought.read.limits is None
    if plain:
        values = _Seen(brought, threshold, seen)
        values.refuse_a_mark()
        found += [*values.marks(), *values.gap()]
    return found


class _Seen:
    """What one pass over a file finds, with the sign turned where entries were seen below: all are ``edge`` or more.

    Attributes
    ----------
    count, unseen : int
        Entries that were seen, and that were not; without the diagonal of a symmetric matrix, which has its own values.
    at : int
        How many of the seen ones are the edge itself.
    beyond, ends : int, (float, float)
        How many lie on the wrong side of it, and between which values.
    least : array
        The smallest of all, as many as are looked at next to a gap; where all are above the edge.
    sample : array
        Evenly spaced ones, all of them if there are not too many.
    """

    def __init__(self, brought: Brought, threshold: float, seen: str) -> None:
        self.name, self.read, self.rectangular = named(brought.file).name, brought.read, brought.rectangular
        self.threshold, self.sign = threshold, 1.0 if seen == "above" else -1.0
        self.edge = self.sign * threshold
        self.count = self.at = self.beyond = 0
        self.ends = (np.inf, -np.inf)
        self.least: Floats = np.zeros(0)
        m, n = self.read.values.shape
        step, samples = max(1, m * n // MOST_LOOKED_AT), []
        for values in self._blocks():
            samples.append(values[(-self.count) % step :: step])
            self._count(values)
        self.sample = np.concatenate(samples)
        self.unseen = m * n - (0 if self.rectangular else m) - self.count

    def _blocks(self) -> Iterator[Floats]:
        values: Any = self.read.values
        if scipy.sparse.issparse(values):
            stored = values.tocoo()
            yield self.sign * (stored.data if self.rectangular else stored.data[stored.row != stored.col])
            return
        for start in range(0, len(values), BAND):
            rows = values[start : start + BAND]
            seen = ~np.isnan(rows)
            if not self.rectangular:
                places = np.arange(len(rows))
                seen[places, start + places] = False
            yield self.sign * rows[seen]

    def _count(self, values: Floats) -> None:
        self.count += len(values)
        self.at += int(np.count_nonzero(values == self.edge))
        wrong = values[values < self.edge]
        self.beyond += len(wrong)
        low, high = self.ends
        self.ends = min(low, wrong.min(initial=np.inf)), max(high, wrong.max(initial=-np.inf))
        if not (self.at or self.beyond):  # else there is no gap to be looked for
            self.least = _smallest(np.concatenate([self.least, _smallest(values)]))

    def refuse_a_mark(self) -> None:
        """Refuse entries beyond the threshold that are all the same: they stand for what was not seen."""
        if self.beyond < FEWEST or self.ends[0] != self.ends[1]:
            return
        mark = f"{self.sign * self.ends[0] + 0.0:g}"
        side = "below" if self.sign > 0 else "above"
        raise InputError(
            f"{self.name} has {self.beyond} entries {side} the threshold {self.threshold:g}, and all of them are "
            f"{mark}; if that stands for 'not seen', say --missing {mark}, else give another --threshold"
        )

    def marks(self) -> Iterator[str]:
        """Many entries at the threshold itself, where others differ: they probably stand for what was not seen."""
        if self.at < max(FEWEST, SHARE * self.count) or self.at < MARKS_PER_EMPTY * self.unseen:
            return
        others = self.sample[self.sample != self.edge]
        _, times = np.unique(others, return_counts=True)
        if len(times) < FEWEST or len(self.sample) - len(others) < TIMES * times.max():
            return
        mark = f"{self.threshold + 0.0:g}"
        yield (
            f"{self.at} of {self.count} entries of {self.name} are exactly {mark}, the threshold, and are taken as "
            f"measured; if {mark} stands for 'not seen', say --missing {mark}"
        )

    def gap(self) -> Iterator[str]:
        """No entry near the threshold: it was probably another one, or entries are missing for another reason."""
        if self.unseen <= 0:
            return
        nearest = None if self.at or self.beyond else _beyond_a_gap(self.least, self.edge)
        # What is offered for all columns must not be far from what was seen in most of them.
        if self.rectangular and self._far_columns(self.edge if nearest is None else nearest[1]):
            yield from self._gaps_of_columns()
        elif nearest is not None:
            found, rounder = (f"{self.sign * number + 0.0:.12g}" for number in nearest)
            yield (
                f"the {self._side} seen entry of {self.name} is {found}, and nothing was seen near the threshold "
                f"{self.threshold:g}; did you mean --threshold {rounder}? If entries are missing for another reason, "
                "say --no-threshold"
            )

    @property
    def _side(self) -> str:
        return "smallest" if self.sign > 0 else "largest"

    def _far_columns(self, edge: float) -> list[int]:
        """Columns with missing entries of which nothing was seen near an edge; none if that are less than half."""
        unseen = self.read.unseen_per_column
        far = [k for k, part in enumerate(self._columns) if unseen[k] and _beyond_a_gap(part, edge) is not None]
        return far if 2 * len(far) >= np.count_nonzero(unseen) else []

    @cached_property
    def _columns(self) -> list[Floats]:
        """The smallest of what was seen of each column."""
        values: Any = self.read.values
        if scipy.sparse.issparse(values):
            by_column = values.tocsc()
            return [_smallest(self.sign * part) for part in np.split(by_column.data, by_column.indptr[1:-1])]
        return [_smallest(self.sign * column[~np.isnan(column)]) for column in values.T]

    def _gaps_of_columns(self) -> Iterator[str]:
        """The columns of a table one by one, for each may have its own units and its own limit."""
        far = self._far_columns(self.edge)
        if not far:
            return
        column = label_or_position(far[0], self.read.columns)
        found = f"{self.sign * self._columns[far[0]].min() + 0.0:g}"
        more = f" (and so in {len(far) - 1} more columns)" if len(far) > 1 else ""
        yield (
            f"the {self._side} seen entry of the column {column} of {self.name} is {found}{more}, and its missing ones "
            f"are taken to lie {'below' if self.sign > 0 else 'above'} the threshold {self.threshold:g}; give the "
            "limits of the columns with --limits FILE, or say --no-threshold if entries are missing for another reason"
        )


def _smallest(values: Floats) -> Floats:
    """The smallest of some values, as many as are looked at next to a gap; two of a symmetric pair are nearly one."""
    return values if len(values) <= 4 * NEXT else np.partition(values, 4 * NEXT)[: 4 * NEXT]


def _beyond_a_gap(values: Floats, edge: float) -> tuple[float, float] | None:
    """The least value, if there is a gap between the edge and it, and a rounder number that may take its place."""
    if not len(values) or values.min() <= edge:
        return None
    next_ = np.unique(values)[: NEXT + 1]
    least, steps = float(next_[0]), len(next_) - 1
    if steps < FEWEST_NEXT or least - edge <= (ODDS ** (1 / steps) - 1) * (next_[-1] - least):
        return None
    return least, _rounder(least, STEPS * float(next_[-1] - least) / steps)


def _rounder(least: float, room: float) -> float:
    """The number with the fewest digits that is not above another, and not further below it than there is room."""
    size = int(np.floor(np.log10(abs(least)))) if least else 0
    for digits in range(1, 16):
        unit = 10.0 ** (size - digits + 1)
        number = float(f"{np.floor(least / unit) * unit:.{digits}g}")
        if number <= least <= number + room:
            return number
    return least


def _same_labels(brought: Brought) -> Iterator[str]:
    """A table whose columns are called as its rows are: part of a symmetric matrix, perhaps."""
    rows, columns = brought.read.rows, brought.read.columns
    if brought.how.table or not brought.rectangular or rows is None or columns is None:
        return
    fewer, more = sorted((set(rows), set(columns)), key=len)
    if len(fewer) < 2 or not fewer <= more or all(name.strip().lstrip("+-").isdigit() for name in fewer):
        return
    m, n = brought.read.values.shape
    yield (
        f"{named(brought.file).name} has {m} rows and {n} columns, and the {len(fewer)} names of one side all stand on "
        "the other too; it is completed as a table of rows by columns, which --table confirms; for a symmetric matrix "
        "give every row and every column"
    )


def _repeated_columns(brought: Brought) -> Iterator[str]:
    """Two columns of a table with one name; those of a symmetric matrix are told apart by its rows, or not at all."""
    if not brought.rectangular:
        return
    times = Counter(brought.read.columns or ())
    name, count = next(((name, count) for name, count in times.items() if count > 1), ("", 0))
    if count:
        others = sum(1 for one in times.values() if one > 1) - 1
        more = f", and {others} more names stand for several" if others else ""
        yield (
            f"{named(brought.file).name} gives {count} columns the name {printable(name)!r}{more}; they are kept "
            "apart, but a message cannot say which of them it means, so rename one of them"
        )
