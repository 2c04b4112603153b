"""Rows of a matrix, or columns of a table, on their way to a place: landmarks first, then more for those left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.tolerances import LANDMARKS_HELD, LANDMARKS_NOISY
from unrelu._old.scale.passes import attach
from unrelu._old.scale.rows import Placed, Reader, spread

__all__ = ["Side"]

# Without noise so many landmarks for each column of the factor do; with noise all rows of the block do better.
PER_RANK = 20
# Rows that see too few landmarks look at so many times as many placed rows, and in the end at all of them, if that
# reads no more than this share of the matrix, or so many entries.
MORE, SHARE, FEW = 10, 0.01, 1 << 22

Told = Callable[[Placed, int], object]


@dataclass(eq=False)
class Side:
    """One side of a matrix.

    Attributes
    ----------
    read : Reader
    landmarks : int ndarray
        Positions of the rows that these are placed against; of a table they are on the other side.
    factor : ndarray
        Theirs.
    own : (int ndarray, ndarray)
        Positions of the rows of this side that the block has placed, and their factor.
    exact : bool
        Whether the block fits to rounding.
    placed : Placed
    """

    read: Reader
    landmarks: Indices
    factor: Floats
    own: tuple[Indices, Floats]
    exact: bool
    placed: Placed
    stage: int = field(default=0)  # 1 after the landmarks, 2 after more for those left

    @classmethod
    def of(
        cls, read: Reader, anchors: tuple[Indices, Floats], own: tuple[Indices, Floats], size: int, *, exact: bool
    ) -> Side:
        """Before the first row is placed; of exact landmarks those that together point everywhere."""
        positions, factor = anchors
        rank = factor.shape[1]
        if exact:
            some = spread(factor, PER_RANK * rank)
            positions, factor = positions[some], factor[some]
        return cls(read, positions, factor, own, exact, Placed.nobody(size, rank))

    @property
    def least(self) -> float:
        """How well a row must be held."""
        return LANDMARKS_HELD if self.exact else LANDMARKS_NOISY

    def against_landmarks(self, told: Told) -> None:
        """Place every row that sees enough of the landmarks."""
        attach(self.read, (self.landmarks, self.factor), self.placed, self.least, told=told)
        rows, factor = self.own
        self.placed.factor[rows], self.placed.share[rows] = factor, 1.0
        self.stage = 1

    def against_others(self, other: Placed, rng: np.random.Generator, told: Told) -> None:
        """Let rows that see too few landmarks look at more of ``other``: some, then all if that is little to read."""
        sizes = (MORE * len(self.landmarks), len(other.factor))
        for size in sizes:
            missing, there = self.placed.missing, np.flatnonzero(other.share > 0)
            last = size == len(other.factor)
            reads = missing.size * min(size, there.size)
            if not missing.size or (last and reads > max(SHARE * len(other.factor) * len(self.placed.factor), FEW)):
                break
            # The best held carry the least error.
            order = np.argsort(-other.share[there] + 0.1 * rng.random(there.size), kind="stable")
            some = np.sort(there[order[:size]])
            attach(self.read, (some, other.factor[some]), self.placed, self.least, missing, told)
        self.stage = 2
