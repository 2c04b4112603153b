"""What a pass of a cluster costs, before it is run: tasks, bytes read and moved, sums in a tree, seconds.

Tasks and bytes follow from the graph that :mod:`unrelu.scale.engines.dask` makes, and are exact where chunks are equal.
Seconds need rates, which a small run measures (``benchmarks/cluster_cost.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from unrelu.base.engines import SUMS_AT_ONCE

__all__ = ["Attachment", "Pass", "Rates"]

# Bytes of a number of a sum: they are doubles, and counts of 64 bits.
DOUBLE = 8


@dataclass(frozen=True)
class Rates:
    """What machines do in a second.

    Attributes
    ----------
    entries : float
        Entries that one worker looks at.
    read : float
        Bytes that one worker reads from its store; infinite for what it holds.
    network : float
        Bytes that one machine takes in.
    tasks : float
        Tasks that the scheduler hands out.
    """

    entries: float
    read: float = float("inf")
    network: float = 1.25e9
    tasks: float = 2000.0


@dataclass(frozen=True)
class Pass:
    """A pass over an n×n matrix in square chunks.

    Examples
    --------
    >>> one = Pass(rows=20_000, rank=20, side=2000, workers=2, itemsize=4)
    >>> one.chunks, one.tasks, one.levels, round(one.bytes_back / 1e6, 1)
    (55, 140, 2, 37.1)
    """

    rows: int
    rank: int
    side: int = 2000
    workers: int = 2
    itemsize: int = 8
    alike: bool = True
    curvature: bool = True

    @property
    def bands(self) -> int:
        """Bands of chunks, one below the other."""
        return ceil(self.rows / self.side)

    @property
    def chunks(self) -> int:
        """Chunks that are looked at: of two that mirror each other, one."""
        return self.bands * (self.bands + 1) // 2 if self.alike else self.bands**2

    @property
    def levels(self) -> int:
        """How deep the tree of sums is."""
        return len(self._tree)

    @property
    def _tree(self) -> list[int]:
        """How many sums each level has, of one band."""
        left = self.bands if self.alike else 2 * self.bands - 1
        found: list[int] = []
        while not found or left > 1:
            left = ceil(left / SUMS_AT_ONCE)
            found.append(left)
        return found

    @property
    def tasks(self) -> int:
        """Two for each chunk, and those of the trees."""
        return 2 * self.chunks + self.bands * sum(self._tree)

    @property
    def numbers(self) -> int:
        """Numbers that a row asks for: its count, gradient, curvature and sum of squares."""
        return 2 + self.rank + (self.rank * (self.rank + 1) // 2 if self.curvature else 0)

    @property
    def bytes_looked_at(self) -> int:
        """Of the matrix."""
        return self.chunks * self.side**2 * self.itemsize

    @property
    def bytes_out(self) -> int:
        """The factor that goes to the workers: each needs nearly all of it."""
        return self.workers * self.rows * self.rank * self.itemsize

    @property
    def bytes_between(self) -> float:
        """Sums that change the worker, at most: of all but those that lie where they are added, on each level."""
        below = self.bands if self.alike else 2 * self.bands - 1
        added = self.bands * (below + sum(self._tree[:-1]))
        return added * self.side * self.numbers * DOUBLE * (1 - 1 / self.workers)

    @property
    def bytes_back(self) -> int:
        """What the client receives."""
        return self.rows * self.numbers * DOUBLE

    def seconds(self, rates: Rates) -> float:
        """Work and traffic of workers side by side, then what one scheduler and one client do alone."""
        entries = self.chunks * self.side**2 / self.workers
        shared = max(entries / rates.entries, entries * self.itemsize / rates.read)
        moved = self.bytes_between / self.workers / rates.network
        alone = (self.bytes_out + self.bytes_back) / rates.network
        return max(shared + moved, self.tasks / rates.tasks) + alone


@dataclass(frozen=True)
class Attachment:
    """All rows placed against landmarks, 20 for each column of the factor: one way, as of a symmetric matrix.

    Examples
    --------
    >>> Attachment(rows=10**8, rank=20, itemsize=4).bytes_looked_at / 1e9
    160.0
    """

    rows: int
    rank: int
    side: int = 2000
    workers: int = 2
    itemsize: int = 8

    @property
    def landmarks(self) -> int:
        """How many."""
        return 20 * self.rank

    @property
    def bytes_looked_at(self) -> int:
        """Of the matrix, if a store gives single rows of its chunks; else a whole chunk for every one that is met."""
        return self.rows * self.landmarks * self.itemsize

    @property
    def bytes_back(self) -> int:
        """The factor, how well each row is held, and what is left of it."""
        return self.rows * (self.rank + 2) * DOUBLE

    @property
    def tasks(self) -> int:
        """One for each band, and one for each of its chunks that has landmarks."""
        bands = ceil(self.rows / self.side)
        return bands * (1 + min(bands, self.landmarks))

    def seconds(self, rates: Rates) -> float:
        """As of a pass; a row costs as many multiplications as rank² numbers against all landmarks."""
        entries = self.rows * self.landmarks / self.workers
        shared = max(entries / rates.entries, entries * self.itemsize / rates.read)
        return max(shared, self.tasks / rates.tasks) + self.bytes_back / rates.network
