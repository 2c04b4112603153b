"""A large matrix as blocks, what a pass over them is asked, and what it adds up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats
from unrelu._old.data.source import Source

__all__ = ["SIDE", "Asked", "Data", "Found", "Totals"]

# Rows and columns of a block where the source has no grid of its own.
SIDE = 1024


@dataclass(frozen=True, eq=False)
class Data:
    """The values of a matrix and where entries go unseen, in units of ``unit``.

    Attributes
    ----------
    source : Source
    unit : float
        A power of four, so that dividing by it rounds nothing.
    threshold : float or None
        Beyond it an entry goes unseen, in units; None: absence says nothing.
    sign : float
        1 if unseen entries lie below the threshold, −1 if above.
    symmetric : bool
        Whether the fit is UUᵀ; else LRᵀ.
    alike : bool
        Whether a symmetric matrix has the same entries on both sides of its diagonal, so that half is read.
    """

    source: Source
    unit: float = 1.0
    threshold: float | None = 0.0
    sign: float = 1.0
    symmetric: bool = True
    alike: bool = True

    def blocks(self, side: int) -> list[tuple[slice, slice]]:
        """The blocks that hold everything, each row of blocks from left to right."""
        grid = self.source.block_shape or (1, 1)
        rows, cols = (_edges(length, side, step) for length, step in zip(self.source.shape, grid, strict=True))
        every = [(one, other) for one in rows for other in cols]
        return [block for block in every if block[1].stop > block[0].start] if self.halved else every

    @property
    def halved(self) -> bool:
        """Whether only what lies above the diagonal, and on it, is looked at: the rest is the same."""
        return self.symmetric and self.alike


def _edges(length: int, side: int, step: int) -> list[slice]:
    """Pieces of about ``side``, each a multiple of ``step`` but for the last."""
    side = max(step, side // step * step)
    return [slice(start, min(start + side, length)) for start in range(0, length, side)]


@dataclass(frozen=True)
class Asked:
    """What a pass is for.

    Attributes
    ----------
    sigma : float or None
        The noise at which unseen entries are asked; None: there is none.
    gradient, curvature : bool
        Whether for g_i, and for N_i.
    first : bool
        Whether for the sizes of the data, and for how many were seen of each row.
    """

    sigma: float | None = None
    gradient: bool = False
    curvature: bool = False
    first: bool = False


@dataclass(frozen=True)
class Totals:
    """Sums over all entries, in units.

    Attributes
    ----------
    count : int
        Of seen entries.
    squares : float
        Σ s² over the seen ones.
    beyond : float
        Σ of the squares by which unseen ones are fitted on the wrong side.
    pulled : float
        Σ z h over the unseen ones, which tells the noise: σ² = Σs²/(count + Σ z h).
    norm : float
        Σ m² over the seen ones, if that was asked for.
    low, high : float
        The least and the largest seen value, if that was asked for.
    """

    count: int = 0
    squares: float = 0.0
    beyond: float = 0.0
    pulled: float = 0.0
    norm: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.count + other.count,
            self.squares + other.squares,
            self.beyond + other.beyond,
            self.pulled + other.pulled,
            self.norm + other.norm,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def times(self, number: int) -> Totals:
        """All sums so many times."""
        return replace(
            self,
            count=self.count * number,
            squares=self.squares * number,
            beyond=self.beyond * number,
            pulled=self.pulled * number,
            norm=self.norm * number,
        )

    def over(self, unit: float) -> Totals:
        """The same of values divided by a unit."""
        if unit == 1:
            return self
        square = unit * unit
        return replace(
            self,
            squares=self.squares / square,
            beyond=self.beyond / square,
            norm=self.norm / square,
            low=self.low / unit,
            high=self.high / unit,
        )


@dataclass(eq=False)
class Found:
    """What a pass adds up: for the rows, and of a table for the columns, in two pieces of one array each."""

    seen: NDArray[np.int64]
    gradient: Floats
    normal: NDArray[np.floating[Any]]
    squares: Floats  # what is left of the seen entries of each, where the gradient is asked for
    totals: Totals = field(default_factory=Totals)
    done: int = 0  # blocks

    @classmethod
    def nothing(cls, size: int, rank: int, asked: Asked) -> Found:
        """Before the first block."""
        some, wide = rank * (rank + 1) // 2 if asked.curvature else 0, rank if asked.gradient else 0
        return cls(np.zeros(size, np.int64), np.zeros((size, wide)), np.zeros((size, some)), np.zeros(size))

    def add(self, place: slice, more: tuple[Any, ...]) -> None:
        """What a block has found of some rows, or columns: counts, gradients, N_i and squares."""
        for into, part in zip((self.seen, self.gradient, self.normal, self.squares), more, strict=True):
            into[place] += part
