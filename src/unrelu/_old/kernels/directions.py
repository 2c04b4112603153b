"""Both ways round the tiles of a symmetric matrix: values, limits, weights and noise of the entries of each.

Limits may differ between the entries (i, j) and (j, i) of a symmetric matrix; and two seen values can be replaced by
their mean only if the loss is a square. So both directions of a tile are kept, unless they say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools
from unrelu._old.data.limits import Ends, part_of
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.pairs import places
from unrelu._old.kernels.threads import map_chunks

__all__ = ["BothWays", "Direction", "Directions"]


@dataclass(frozen=True, eq=False)
class Direction:
    """One way round a tile.

    ``values`` are those of the source, NaN where unseen; None: they are read again in every pass, as views of an array
    that is there anyway. ``hidden`` are the unseen entries that are absent because of their value; None: all of them.
    ``weights`` and ``spread`` broadcast to the tile; None: 1 everywhere. It counts so many ``times``.
    """

    values: Array | None
    limits: Ends
    hidden: Bools | None
    weights: Array | None = None
    spread: Array | None = None
    times: float = 1.0

    @property
    def turned(self) -> Direction:
        """The other way round."""
        values, hidden, *extras = map(_turned, (self.values, self.hidden, self.weights, self.spread))
        return Direction(values, self.limits.turned, hidden, extras[0], extras[1], self.times)

    def like(self, other: Direction) -> bool:
        """Whether both say the same of all entries, but for the values."""
        mine, theirs = ((*d.limits, *(d.limits.gap or ()), d.weights, d.spread, d.hidden) for d in (self, other))
        return all(_equal(a, b) for a, b in zip(mine, theirs, strict=True))


@dataclass(frozen=True, eq=False)
class BothWays:
    """A tile, for both halves of the matrix: one direction on the diagonal and where both are alike, else two."""

    rows: slice
    cols: slice
    directions: tuple[Direction, ...]
    index: int

    @property
    def diagonal(self) -> bool:
        """Whether it lies on the diagonal, and holds each of its pairs twice."""
        return self.rows == self.cols

    @property
    def alike(self) -> bool:
        """Whether both ways say the same, so that one is kept and counts twice."""
        return not self.diagonal and len(self.directions) == 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows.stop - self.rows.start, self.cols.stop - self.cols.start


@dataclass(frozen=True, eq=False)
class Directions:
    """Observations cut into tiles; for squares noise of an entry's own is a weight: w (x/s − m/s)² = w/s² (x − m)²."""

    observations: Observations
    squared: bool

    @property
    def reads(self) -> bool:
        """Whether values are read where they are: an array is; whatever costs something to read is read once."""
        return self.observations.source.at_hand

    def tiles(self) -> list[BothWays]:
        """Those of the upper triangle."""
        numbered = list(enumerate(places(self.observations)))
        threads = self.observations.source.thread_safe
        return map_chunks(lambda place: self._pack(place[0], *place[1]), numbered, threads=threads)

    def values(self, tile: BothWays, number: int) -> Array:
        """Values of one way round a tile, in the caller's units."""
        kept = tile.directions[number].values
        if kept is not None:
            return kept
        source = self.observations.source
        return source.block(tile.rows, tile.cols) if number == 0 else source.block(tile.cols, tile.rows).T

    def _pack(self, index: int, rows: slice, cols: slice) -> BothWays:
        forward, here = self._direction(rows, cols)
        if rows == cols:
            return BothWays(rows, cols, (forward,), index)
        backward, there = self._direction(cols, rows)
        backward = backward.turned
        if np.array_equal(here, there.T, equal_nan=True) and forward.like(backward):
            return BothWays(rows, cols, (replace(forward, times=2.0),), index)
        return BothWays(rows, cols, (forward, backward), index)

    def _direction(self, rows: slice, cols: slice) -> tuple[Direction, Array]:
        observations = self.observations
        values = observations.block(rows, cols)
        absent, unseen = observations.absent(rows, cols, values), np.isnan(values)
        hidden = None if np.array_equal(absent, unseen) else absent
        limits = observations.limits.of(rows, cols).over(observations.unit)
        weights, spread = self._extras(rows, cols)
        return Direction(None if self.reads else values.copy(), limits, hidden, weights, spread), values

    def _extras(self, rows: slice, cols: slice) -> tuple[Any, Any]:
        """Weights and noise of a block, each in one piece, for a pass has to read them quickly; None: all alike."""
        observations = self.observations
        if observations.plain:
            return None, None
        if self.squared:
            return np.array(observations.precision(rows, cols), observations.dtype), None
        weights, spread = (
            None if extra is None else np.array(part_of(extra, rows, cols), observations.dtype)
            for extra in (observations.weights, observations.spread)
        )
        return weights, spread


def _turned(array: Any) -> Any:
    """The transpose, in one piece too."""
    return None if array is None else np.ascontiguousarray(array.T)


def _equal(one: Any, other: Any) -> bool:
    """Whether two things that broadcast to a tile are the same there; None is like None only."""
    if one is None or other is None:
        return one is other
    return bool(np.all(np.equal(one, other)))
