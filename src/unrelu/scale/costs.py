"""What a run on a cluster costs, before it is made: tasks, bytes read and moved, sums in a tree, seconds.

Tasks and bytes follow from the graphs that :mod:`unrelu.scale.engines.dask` makes of a symmetric matrix. What changes
the worker depends on where dask runs each task, so that of it only the most is known. Seconds need rates, which a small
run measures (``benchmarks/cluster_cost.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import ceil
from typing import Any

from unrelu.base.engines import SUMS_AT_ONCE
from unrelu.scale.seed import BANDS, size_for
from unrelu.scale.sides import PER_RANK

__all__ = ["Attachment", "Pass", "Rates", "Run"]

# Bytes of a number of a sum: they are doubles, and counts of 64 bits.
DOUBLE = 8
# Bytes of a number of the curvature that one chunk has found, whatever the precision of the data.
SINGLE = 4


@dataclass(frozen=True)
class Rates:
    """What machines do in a second.

    Attributes
    ----------
    curvature : float
        Entries that one worker looks at in a pass with curvature.
    gradient : float
        The same in a pass without.
    attached : float
        Entries, of rows against landmarks, that one worker places rows by.
    read : float
        Bytes that one worker reads from its store.
    network : float
        Bytes that one machine takes in.
    tasks : float
        Tasks that the scheduler hands out.
    """

    curvature: float
    gradient: float
    attached: float
    read: float = 1e9
    network: float = 1.25e9
    tasks: float = 2000.0


@dataclass(frozen=True)
class _Matrix:
    """A symmetric n×n matrix in square chunks, and who works on it.

    Attributes
    ----------
    rows, rank : int
    side : int
        Rows and columns of a chunk; the last ones may have fewer.
    workers : int
    itemsize : int
        Bytes of an entry.
    alike : bool
        Whether it has the same entries on both sides of its diagonal, so that half is looked at.
    stored : bool
        Whether workers read it from a store, in every step anew; else they hold it, and read nothing.
    """

    rows: int
    rank: int
    side: int = 2000
    workers: int = 2
    itemsize: int = 8
    alike: bool = True
    stored: bool = False

    @property
    def bands(self) -> int:
        """Bands of chunks, one below the other."""
        return ceil(self.rows / self.side)

    @property
    def _others(self) -> int:
        """Workers but one."""
        return self.workers - 1


class _Step(_Matrix):
    """What passes and attachment have in common: both go over chunks."""

    @property
    def chunks(self) -> int:
        """Chunks that are looked at."""
        raise NotImplementedError

    @property
    def bytes_looked_at(self) -> int:
        """Of those chunks: a task has a whole one, however little of it is asked for."""
        raise NotImplementedError

    @property
    def bytes_read(self) -> int:
        """From a store, before it is compressed: each of those chunks once."""
        return self.bytes_looked_at if self.stored else 0

    @property
    def chunks_between(self) -> int:
        """Bytes of those chunks that change the worker, at most: all, if each is worked on where it does not lie.

        Dask moves a chunk only to give work to a worker that has none. Seconds know nothing of it.
        """
        return self.bytes_looked_at * min(self._others, 1)

    @property
    def _reading(self) -> int:
        """Tasks that read: one for each chunk, and one that knows the store, but for a single chunk which knows it."""
        return self.chunks + (self.bands > 1) if self.stored else 0


@dataclass(frozen=True)
class Pass(_Step):
    """A pass over all entries, with ``curvature`` or without.

    Examples
    --------
    >>> one = Pass(rows=20_000, rank=20, side=2000, workers=2, itemsize=4)
    >>> one.chunks, one.tasks, one.levels, round(one.bytes_back / 1e6, 1)
    (55, 152, 2, 37.1)

    Data that are held by the workers are not read, and those of a store are:

    >>> stored = Pass(rows=20_000, rank=20, side=2000, workers=2, itemsize=4, stored=True)
    >>> one.bytes_read, stored.bytes_read / 1e6, stored.tasks
    (0, 880.0, 208)
    """

    curvature: bool = True

    @property
    def chunks(self) -> int:
        """Chunks that are looked at: of two that mirror each other, one."""
        return self.bands * (self.bands + 1) // 2 if self.alike else self.bands**2

    @property
    def entries(self) -> int:
        """Of those chunks."""
        whole, last = self.rows // self.side, self.rows % self.side
        diagonal = whole * self.side**2 + last**2
        return (self.rows**2 + diagonal) // 2 if self.alike else self.rows**2

    @property
    def levels(self) -> int:
        """How deep the tree of sums is."""
        return len(self._tree)

    @property
    def _parts(self) -> int:
        """Chunks that have found something of the rows of one band."""
        return self.bands if self.alike else 2 * self.bands - 1

    @property
    def _tree(self) -> list[int]:
        """How many sums each level has, of one band."""
        left = self._parts
        found: list[int] = []
        while not found or left > 1:
            left = ceil(left / SUMS_AT_ONCE)
            found.append(left)
        return found

    @property
    def tasks(self) -> int:
        """Two for each chunk, those of the trees, those that read, rows of the factor, and terms that all need.

        Chunks on the diagonal have terms of their own, and the others theirs.
        """
        terms = 1 if self.bands == 1 else 2
        return 2 * self.chunks + self.bands * sum(self._tree) + self._reading + self.bands + terms

    @property
    def numbers(self) -> int:
        """Numbers that a row asks for: its count, gradient, curvature and sum of squares."""
        return 2 + self.rank + self._curved

    @property
    def _curved(self) -> int:
        return self.rank * (self.rank + 1) // 2 if self.curvature else 0

    @property
    def bytes_looked_at(self) -> int:
        """Of those chunks."""
        return self.entries * self.itemsize

    @property
    def bytes_out(self) -> int:
        """The factor, which goes from the client to the workers once."""
        return self.rows * self.rank * self.itemsize

    @property
    def bytes_between(self) -> int:
        """Results that change the worker, at most: rows of the factor, what chunks have found, and sums.

        Each is counted for every worker that may need it. Whoever adds up rows takes what a chunk has found as a whole:
        for its rows and for its columns. Data that change the worker come on top, see :attr:`chunks_between`.
        """
        factor = self.bytes_out * min(self._others, self._parts)
        # Of chunks beside the diagonal two bands need both halves; of those on it, one band needs one.
        beside = (self._parts - 1) * min(self._others, 2)
        row = (self.numbers - self._curved) * DOUBLE + self._curved * SINGLE
        found = self.rows * (beside + min(self._others, 1)) * row
        sums = self.rows * sum(self._tree[:-1]) * min(self._others, 1) * self.numbers * DOUBLE
        return factor + found + sums

    @property
    def bytes_back(self) -> int:
        """What the client receives; beside it, seven numbers of each chunk."""
        return self.rows * self.numbers * DOUBLE

    def seconds(self, rates: Rates) -> float:
        """Work and traffic of workers side by side, then what one client does alone."""
        return _seconds(self, self.entries, rates.curvature if self.curvature else rates.gradient, rates)


@dataclass(frozen=True)
class Attachment(_Step):
    """All rows placed against landmarks: with ``noise`` against all rows of the block, else against some of them.

    The block is drawn from few bands of chunks, and a row meets the chunks of those bands.

    Examples
    --------
    >>> one = Attachment(rows=10**8, rank=20, side=8000, itemsize=4, stored=True)
    >>> one.landmarks, one.met, one.bytes_read / 1e12
    (400, 8, 25.6)
    """

    noise: bool = False

    @property
    def landmarks(self) -> int:
        """How many, at most."""
        block = size_for(self.rank, None, self.rows)
        return block if self.noise else min(PER_RANK * self.rank, block)

    @property
    def met(self) -> int:
        """Bands of chunks that have landmarks, at most."""
        return min(BANDS, self.bands)

    @property
    def _ways(self) -> int:
        """Rows against landmarks, and landmarks against rows where that is not the same."""
        return 1 if self.alike else 2

    @property
    def entries(self) -> int:
        """That rows have in common with landmarks."""
        return self.rows * self.landmarks * self._ways

    @property
    def chunks(self) -> int:
        """Chunks that have some of those; both ways meet in the chunks of landmarks against landmarks."""
        return self.bands * self.met * self._ways - (self._ways - 1) * self.met**2

    @property
    def bytes_looked_at(self) -> int:
        """Of those chunks: a task has a whole one, and takes a few rows, or columns, out of it."""
        return (self.rows * self._wide * self._ways - (self._ways - 1) * self._wide**2) * self.itemsize

    @property
    def _wide(self) -> int:
        """Rows of the bands that have landmarks, at most."""
        return min(self.met * self.side, self.rows)

    @property
    def chunks_between(self) -> int:
        """As of a pass; chunks of landmarks against landmarks may be needed by two others."""
        twice = min(self._others, self._ways) - min(self._others, 1)
        return super().chunks_between + twice * self._wide**2 * self.itemsize

    @property
    def tasks(self) -> int:
        """One for each band, for each chunk that it meets, those that read, and one with what all are told."""
        return self.bands * (1 + self.met * self._ways) + self._reading + 1

    @property
    def bytes_out(self) -> int:
        """Landmarks: their positions, their factor and the same in a frame, which go to the workers once."""
        return (self.landmarks * (2 * self.rank + 1) + self.rank**2) * DOUBLE

    @property
    def bytes_between(self) -> int:
        """Results that change the worker, at most: what is taken out of chunks, and what all are told."""
        told = self.bytes_out * min(self._others, self.bands)
        return told + self.entries * self.itemsize * min(self._others, 1)

    @property
    def bytes_back(self) -> int:
        """The factor, how well each row is held, and what is left of it."""
        return self.rows * (self.rank + 2) * DOUBLE

    def seconds(self, rates: Rates) -> float:
        """As of a pass."""
        return _seconds(self, self.entries, rates.attached, rates)


@dataclass(frozen=True)
class Run(_Matrix):
    """Rows are attached, and so many ``passes`` over all entries follow, of which the first has curvature.

    Passes are for noise: at least two, and at most twelve. A run without any is that of data without noise with
    ``Landmarks(passes=0)``: the look at every entry that else follows is not counted. Nor are the block that is solved
    first, which lies in at most 64 chunks, and further landmarks for rows that see too few.

    Examples
    --------
    >>> matrix = dict(rows=10**6, rank=20, side=8000, workers=100, itemsize=4, stored=True)
    >>> short, long = Run(**matrix, passes=0), Run(**matrix, passes=2)
    >>> short.tasks, long.tasks
    (2127, 54383)
    >>> [round(run.bytes_read / 1e12, 2) for run in (short, long)]
    [0.26, 4.29]
    >>> rates = Rates(curvature=1e8, gradient=2e8, attached=1e7)
    >>> [round(run.seconds(rates)) for run in (short, long)]
    [3, 83]
    """

    passes: int = 2

    @property
    def steps(self) -> tuple[Attachment | Pass, ...]:
        """One after the other."""
        same: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(_Matrix)}
        passes = (Pass(curvature=number == 0, **same) for number in range(self.passes))
        return Attachment(noise=self.passes > 0, **same), *passes

    @property
    def tasks(self) -> int:
        """Of all steps."""
        return sum(step.tasks for step in self.steps)

    @property
    def bytes_read(self) -> int:
        """From a store: every step reads anew."""
        return sum(step.bytes_read for step in self.steps)

    @property
    def bytes_out(self) -> int:
        """What goes from the client to the workers."""
        return sum(step.bytes_out for step in self.steps)

    @property
    def bytes_between(self) -> int:
        """Results that change the worker, at most."""
        return sum(step.bytes_between for step in self.steps)

    @property
    def chunks_between(self) -> int:
        """Bytes of chunks that change the worker, at most."""
        return sum(step.chunks_between for step in self.steps)

    @property
    def bytes_back(self) -> int:
        """What the client receives."""
        return sum(step.bytes_back for step in self.steps)

    def seconds(self, rates: Rates) -> float:
        """One step after the other."""
        return sum(step.seconds(rates) for step in self.steps)


def _seconds(step: Attachment | Pass, entries: int, rate: float, rates: Rates) -> float:
    """Work, or reading if that takes longer, and traffic; or the scheduler; then what goes through the client."""
    shared = max(entries / rate, step.bytes_read / rates.read) / step.workers
    moved = step.bytes_between / step.workers / rates.network
    alone = (step.bytes_out + step.bytes_back) / rates.network
    return max(shared + moved, step.tasks / rates.tasks) + alone
