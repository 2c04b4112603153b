"""The blocks of a matrix in turn, read anew in every pass, and within a given memory.

One thread reads the next block while the current one is in use. The first pass learns of each block whether the one
opposite says the same, so that later ones read half, and which entries were seen: one bit each, if there is room.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import lcm
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Array
from unrelu.base.errors import InputError
from unrelu.data.observations import Observations
from unrelu.data.source import Source
from unrelu.kernels.block_costs import Work
from unrelu.kernels.pairs import edges
from unrelu.kernels.threads import map_chunks

__all__ = ["Block", "BlockReader", "Facts", "Piece", "Recall"]

# Edges of blocks, where the source has no grid of its own: the largest for which there is memory.
EDGES = (2048, 1024, 512, 256, 128)
# The largest edge at which blocks meet both sides of a grid that is not square, and how far from square it may be.
LARGEST_EDGE, LONGEST = 4096, 4
# Rows and columns of a tile at most: larger ones than would fit in a core's second-level cache, for threads that hand
# the interpreter to each other after every step of a smaller one wait more than they work.
TALL, WIDE = 256, 1024
# Bytes of a page of memory, and what an array takes beside its numbers.
PAGE, OVERHEAD = 4096, 200
# What else a pass needs: tables, and small arrays.
SMALL = 1 << 20


@dataclass(frozen=True, eq=False)
class Piece:
    """A tile of a block: its rows and columns in the matrix, where it lies in the block, and its numbers in both."""

    rows: slice
    cols: slice
    within: tuple[slice, slice]
    number: int
    index: int

    @property
    def diagonal(self) -> bool:
        """Whether it lies on the diagonal, and holds each of its pairs twice."""
        return self.rows == self.cols

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows.stop - self.rows.start, self.cols.stop - self.cols.start


@dataclass(frozen=True, eq=False)
class Facts:
    """What was learned of a block and the one opposite.

    Attributes
    ----------
    alike : bool
        Whether one is the transpose of the other.
    tidy : bool
        Whether no seen value lies where an unseen one would.
    count : int
        How many entries of both were seen.
    bits : list of pairs of ndarray, or None
        The pattern of each tile, packed: one way round, and the other where it differs; None: it is not kept.
    """

    alike: bool
    tidy: bool
    count: int
    bits: list[tuple[NDArray[np.uint8], NDArray[np.uint8] | None]] | None

    @property
    def size(self) -> int:
        """Bytes of the pattern."""
        parts = [part for pair in self.bits or [] for part in pair if part is not None]
        return sum(part.nbytes + OVERHEAD for part in parts)


@dataclass(eq=False)
class Block:
    """A block of the upper triangle and the one opposite, while they are in use; tiles in strips of rows."""

    rows: slice
    cols: slice
    here: Array | None  # None: it was not read
    there: Array | None  # None: it was not read, for it says the same, or is the block itself
    facts: Facts = field(default_factory=lambda: Facts(False, False, 0, None))
    strips: list[list[Piece]] = field(default_factory=list)

    @property
    def diagonal(self) -> bool:
        """Whether it lies on the diagonal."""
        return self.rows == self.cols

    def one_way(self, piece: Piece) -> bool:
        """Whether one way round says all of a tile: on the diagonal, and where the other says the same."""
        return self.facts.alike or piece.diagonal

    def times(self, piece: Piece) -> float:
        """How often that counts which :meth:`values` and :meth:`seen` say of a tile."""
        return 2.0 if self.facts.alike and not piece.diagonal else 1.0

    def opposite(self, piece: Piece) -> Array:
        """Values of a tile the other way round, as the source has them."""
        there = self.here if self.diagonal else self.there
        assert there is not None
        return there[piece.within[1], piece.within[0]].T

    def values(self, piece: Piece) -> list[Array]:
        """Values of a tile, one way round or both, as the source has them."""
        assert self.here is not None
        first = self.here[piece.within]
        return [first] if self.one_way(piece) else [first, self.opposite(piece)]

    def seen(self, piece: Piece) -> tuple[NDArray[np.uint8], int]:
        """How often each pair of a tile was seen, and of how many ways round that was."""
        ways = 1 if self.one_way(piece) else 2
        if self.facts.bits is None:
            seen, *also = (np.equal(way, way).view(np.uint8) for way in self.values(piece))
        else:
            length = piece.shape[0] * piece.shape[1]
            bits = [part for part in self.facts.bits[piece.number] if part is not None]
            seen, *also = (np.unpackbits(part, count=length).reshape(piece.shape) for part in bits)
        if ways == 2:
            seen += also[0] if also else seen
        return seen, ways

    def release(self) -> None:
        """Let go of the values."""
        self.here = self.there = None


class Recall:
    """What was found of the tiles at one point, as far as there is room, for the next pass there."""

    def __init__(self, room: float) -> None:
        self._room, self._lock = room, Lock()
        self._found: dict[int, tuple[NDArray[Any], ...]] = {}

    def get(self, piece: Piece) -> tuple[NDArray[Any], ...] | None:
        """Of a tile; None: it was not kept."""
        return self._found.get(piece.index)

    def keep(self, piece: Piece, parts: tuple[NDArray[Any], ...]) -> None:
        """Keep it if there is room."""
        size = sum(part.nbytes + OVERHEAD for part in parts)
        with self._lock:
            fits = size <= self._room
            self._room -= size if fits else 0
        if fits:
            self._found[piece.index] = parts


class BlockReader:
    """Blocks of the upper triangle in turn; shared by all kernels of the same data.

    Parameters
    ----------
    observations : Observations
    memory : int or None
        Bytes that blocks, work arrays, results and the pattern may take together; None: as many as they like.
    """

    def __init__(self, observations: Observations, memory: int | None) -> None:
        self.source, self.memory = observations.source, memory
        self.size, self.dtype = observations.size, observations.dtype
        self._limit, self._side = observations.limits.threshold, observations.limits.side
        self._grain, self._width = _grain(observations.source), 0
        self._cuts: list[slice] = []
        self._facts: dict[int, Facts] = {}
        self._entries, self._room, self._used = (
            0,
            0.0,
            0,
        )  # of a tile; for the pattern, in bytes, and what it takes so far
        self._works: deque[Work] = deque()
        self._recalled: tuple[Any, Recall] | None = None
        self.planned(1)

    def planned(self, width: int) -> None:
        """Choose blocks for passes that return n×width numbers; what was learned of others is learned again."""
        if width <= self._width:
            return
        edge, self._recalled = self._edge(width), None
        cuts = edges(self.size, edge) if self._grain is None else _cut(self.size, edge)
        if cuts != self._cuts:
            self._facts.clear()
        self._cuts, self._width, self._entries = cuts, width, self._tile(edge)
        self._works.clear()
        self._room = float("inf") if self.memory is None else float(self.memory - self._needed(edge, width))
        self._used = 0
        for number, facts in self._facts.items():
            self._facts[number] = self._kept(facts)

    def recall(self, point: Any) -> Recall:
        """What was found at a point; of one point at a time, the last that was asked for."""
        if self._recalled is None or self._recalled[0] is not point:
            self._recalled = None  # before there is room for another
            self._recalled = point, Recall(self._room - self._used)
        return self._recalled[1]

    def _edge(self, width: int) -> int:
        """The largest edge that leaves room for the pattern; else the largest for which there is memory."""
        grain, n = self._grain, self.size
        steps = range(max(1, EDGES[0] // grain), 0, -1) if grain is not None else ()
        choices = [grain * k for k in steps] if grain is not None else list(EDGES)
        if self.memory is None:
            return choices[0]
        pattern = n * n // 8 + n * n // TALL**2 * OVERHEAD
        for also in (pattern, 0):
            for edge in choices:
                if self._needed(edge, width) + also <= self.memory:
                    return edge
        least = self._needed(choices[-1], width)
        raise InputError(
            f"memory of {self.memory:,} bytes is too small for a pass over a {n}×{n} matrix in blocks of "
            f"{min(choices[-1], n)} rows and columns, which needs {least:,} bytes; allow that, or more"
        )

    def _needed(self, edge: int, width: int) -> int:
        """Bytes of a pass without the pattern: blocks in use and being read, work arrays, factors and results."""
        n, number = self.size, self.dtype.itemsize
        edge, one = min(edge, n), edge >= n
        blocks = 0 if self.source.at_hand else (1 if one else 4 if self.source.thread_safe else 2)
        strips = -(-edge // TALL)
        works = min(os.cpu_count() or 1, strips) * Work.size(self._tile(edge), self.dtype)
        parts = strips * (TALL + 2 * edge) * width * number
        return blocks * edge * edge * number + works + parts + n * width * (8 + 6 * number) + SMALL

    def _tile(self, edge: int) -> int:
        """Entries of the largest tile of a block."""
        return min(edge, self.size, TALL) * min(edge, self.size, WIDE)

    @contextmanager
    def work(self) -> Iterator[Work]:
        """Arrays to write to, lent to one thread at a time."""
        try:
            lent = self._works.pop()
        except IndexError:
            lent = Work(self._entries, self.dtype)
        try:
            yield lent
        finally:
            self._works.append(lent)

    def blocks(self, *, values: bool = True) -> Generator[Block, None, None]:
        """All blocks, in a fixed order; without ``values`` those of which the pattern is kept are not read."""
        places = [(rows, cols) for first, rows in enumerate(self._cuts) for cols in self._cuts[first:]]
        tasks = [self._task(number, *place, values=values) for number, place in enumerate(places)]
        reads = any(
            values or number not in self._facts or self._facts[number].bits is None for number in range(len(tasks))
        )
        ahead = reads and len(tasks) > 1 and self.source.thread_safe and not self.source.at_hand
        index = 0
        for number, block in enumerate(_in_turn(tasks, ahead=ahead)):
            block.strips = _strips(block, index)
            index += sum(map(len, block.strips))
            if number not in self._facts:
                self._facts[number] = self._learned(block)
            block.facts = self._facts[number]
            if block.facts.alike:
                block.there = None
            yield block

    def _task(self, number: int, rows: slice, cols: slice, *, values: bool) -> Callable[[], Block]:
        """What reads a block, and the one opposite unless it is known to say the same."""
        known, source = self._facts.get(number), self.source

        def read() -> Block:
            if not values and known is not None and known.bits is not None:
                return Block(rows, cols, None, None)
            alone = rows == cols or (known is not None and known.alike)
            here = _at_hand(source, rows, cols)
            return Block(rows, cols, here, None if alone else _at_hand(source, cols, rows))

        return read

    def _learned(self, block: Block) -> Facts:
        """Look at a block for the first time."""

        def look(strip: list[Piece]) -> list[tuple[Any, ...]]:
            with self.work() as work:
                return [self._look(block, piece, work) for piece in strip]

        found = [tile for strip in map_chunks(look, block.strips) for tile in strip]
        alike, tidy = all(tile[0] for tile in found), all(tile[1] for tile in found)
        bits = [(tile[3], None if alike else tile[4]) for tile in found]
        return self._kept(Facts(alike, tidy, sum(tile[2] for tile in found), bits))

    def _kept(self, facts: Facts) -> Facts:
        """The same; without the pattern if there is no room for it."""
        if self._used + facts.size > self._room:
            return replace(facts, bits=None)
        self._used += facts.size
        return facts

    def _look(self, block: Block, piece: Piece, work: Work) -> tuple[Any, ...]:
        """Whether a tile is alike both ways round, and tidy, how much of it was seen, and the pattern both ways."""
        assert block.here is not None
        here, there = block.here[piece.within], work.lend("value", piece.shape)
        np.copyto(there, block.opposite(piece), casting="same_kind")
        seen, also, same = (work.lend(name, piece.shape, bool) for name in ("mask", "fewer", "same"))
        np.equal(here, here, out=seen)
        np.equal(there, there, out=also)
        count, pattern = int(np.count_nonzero(seen)), np.array_equal(seen, also)
        alike = pattern and int(np.count_nonzero(np.equal(here, there, out=same))) == count
        first, other = np.packbits(seen), None if pattern or piece.diagonal else np.packbits(also)
        count += 0 if piece.diagonal else int(np.count_nonzero(also))
        return alike, self._tidy(here) and self._tidy(there), count, first, other

    def _tidy(self, values: Array) -> bool:
        if self._limit is None:
            return True
        wrong = np.less if self._side == "below" else np.greater
        return not np.count_nonzero(wrong(values, self._limit))


def _in_turn(tasks: list[Callable[[], Block]], *, ahead: bool) -> Generator[Block, None, None]:
    """What each task reads, in order; with ``ahead`` each is begun while the one before is in use, and no earlier."""
    if not ahead:
        for task in tasks:
            block = task()
            yield block
            block.release()
        return
    with ThreadPoolExecutor(1, thread_name_prefix="unrelu-reader") as reader:
        coming = reader.submit(tasks[0])
        for number in range(len(tasks)):
            block = coming.result()
            if number + 1 < len(tasks):
                coming = reader.submit(tasks[number + 1])
            yield block
            block.release()


def _at_hand(source: Source, rows: slice, cols: slice) -> Array:
    """A block whose values are in memory: pages of a mapped file are asked for here, and not while they are in use."""
    block = np.asarray(source.block(rows, cols))
    if not source.at_hand and block.base is not None:
        np.isnan(block[:, :: max(1, PAGE // block.itemsize)]).any()
    return block


def _strips(block: Block, index: int) -> list[list[Piece]]:
    """Tiles of a block row by row, those on and above the diagonal; numbered on from ``index``."""
    height, width = (side.stop - side.start for side in (block.rows, block.cols))
    found, number = [], 0
    for i in edges(height, TALL):
        strip, first = [], i.stop if block.diagonal else 0
        rest = [_moved(j, first) for j in edges(width - first, WIDE)] if first < width else []
        for j in [i, *rest] if block.diagonal else rest:
            rows, cols = _moved(i, block.rows.start), _moved(j, block.cols.start)
            strip.append(Piece(rows, cols, (i, j), number, index + number))
            number += 1
        found.append(strip)
    return found


def _moved(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


def _grain(source: Source) -> int | None:
    """What edges of blocks are multiples of, so that rows and columns both meet the grid of the source, or nearly."""
    shape = getattr(source, "block_shape", None)
    if shape is None:
        return None
    both, longer = lcm(*shape), max(shape)
    if both <= LARGEST_EDGE:
        return both
    return longer if longer <= LONGEST * min(shape) else None


def _cut(n: int, edge: int) -> list[slice]:
    """Cut 0…n every ``edge`` rows."""
    return [slice(start, min(start + edge, n)) for start in range(0, n, edge)]
