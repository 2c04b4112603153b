"""Passes and placed rows as graphs of dask: a task for each chunk, run where the chunk is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.engines import noted
from unrelu._old.base.tolerances import PLACEMENT_SPANNED
from unrelu._old.data.dask_graph import Key, Sides, named, needed, places_of, run, summed, task, unhurried, where
from unrelu._old.data.source import ArraySource, Place, Source
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.placing.attach import Frame
from unrelu._old.scale.arithmetic import Work
from unrelu._old.scale.blocks import Asked, Data, Found
from unrelu._old.scale.engines.protocol import Attached, Looked
from unrelu._old.scale.engines.threads import Threads
from unrelu._old.scale.rows import AT_ONCE, Placed, Reader, solved

__all__ = ["Dask"]


class Dask:
    """Values that workers of dask hold or read; with no cluster, threads of this machine.

    A pass sends to each chunk the rows of the factors that it needs, and adds up on the workers what rows ask for.
    So n·(r + r(r + 1)/2 + 2) numbers come back and no more. Sums are added in a fixed order.
    """

    def look(
        self,
        data: Data,
        factors: tuple[Array, Array],
        asked: Asked,
        side: int,
        found: Found | None,
        told: Looked,
    ) -> Found:
        """One pass; one that was cut short begins anew, for its sums are on the workers."""
        noted(_engine(data.source))
        dtype, lazy = data.source.dtype, data.source.lazy
        left = np.ascontiguousarray(factors[0], dtype)
        right = left if factors[1] is factors[0] else np.ascontiguousarray(factors[1], dtype)
        work = _Pass(data, (left, right), asked, lazy)
        whole = sum(rows.stop - rows.start for rows, _ in data.blocks(side))
        nothing, done, rows = Found.nothing(0, left.shape[1], asked), 0, 0

        def one_done(key: Key) -> None:
            nonlocal done, rows
            if key not in work.entries:
                return
            done += 1
            data.source.count(work.entries[key])
            before, rows = rows, whole * done // len(work.entries)
            told(nothing, rows - before)

        return work.found(one_done)

    def attach(
        self,
        read: Reader,
        anchors: tuple[Indices, Floats],
        into: Placed,
        least: float,
        rows: Indices | None,
        told: Attached,
    ) -> None:
        """Place all rows, a task for each band of chunks; a few left over are read and placed here."""
        if rows is not None:
            Threads().attach(read, anchors, into, least, rows, told)
            return
        noted(_engine(read.source))
        order = np.argsort(anchors[0], kind="stable")
        positions, factor = anchors[0][order], anchors[1][order]
        lazy, name = read.source.lazy, named("attach")
        along = 0 if read.side == "rows" else 1
        bands = [(k, band) for k, band in enumerate(places_of(lazy.chunks[along])) if band.stop > into.done]
        graph: dict[Key, Any] = dict(lazy.__dask_graph__())
        graph[name, "terms"] = _Terms(_plain(read), positions, Frame.of(factor, PLACEMENT_SPANNED), least)
        keys: list[Key] = []
        for k, band in bands:
            pieces = [_pieces(graph, (name, number, k), lazy, side, (k, band), positions) for number, side in
                      enumerate(_ways(read.side))]  # fmt: skip
            flat = [key for some in pieces for key in some]
            graph[name, k] = task(_attached, (name, "terms"), _Band(band, lazy.shape, len(pieces)), *flat)
            keys.append((name, k))
        sizes = {(name, k): band.stop - band.start for k, band in bands}

        def one_done(key: Key) -> None:
            read.source.count(sizes[key] * len(positions) * len(_ways(read.side)))
            told(into, sizes[key])

        with owning_the_cores():
            results, _ = run(needed(graph, keys), keys, one_done)
        for (_, band), (found, share, misfit) in zip(bands, results, strict=True):
            into.factor[band], into.share[band], into.misfit[band] = found, share, misfit
            into.done = band.stop


def _engine(source: Source) -> str:
    """Who does it, and in which precision."""
    return f"dask {where()} in {source.dtype.name}"


# --- a pass -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Chunk:
    """What is to be done with a chunk: as a block of its own, whose rows and columns are counted from its corner."""

    unit: float
    threshold: float | None
    sign: float
    asked: Asked
    diagonal: bool
    alike: bool
    times: int


def _looked_at(terms: _Chunk, values: Array, left: Array, right: Array) -> tuple[Any, ...]:
    """Of one chunk: what its rows and what its columns add up, and the sums."""
    source = ArraySource(np.asarray(values))
    data = Data(source, terms.unit, terms.threshold, terms.sign, terms.diagonal, terms.alike)
    right = left if terms.diagonal else right
    unhurried()
    with owning_the_cores():
        work = Work(data, left, right, terms.asked)
        part = work.block((slice(0, len(left)), slice(0, len(right))), source.values)
    if not terms.diagonal:
        return part.rows, part.cols, part.totals.times(terms.times)
    both = tuple(one + other for one, other in zip(part.rows, part.cols, strict=True))
    return both, None, part.totals


def _added(sides: Sides, *parts: Any) -> tuple[Any, ...]:
    """Sums of what several chunks have found of the same rows, in doubles, in their order."""
    first, *others = (part[side] for part, side in zip(parts, sides.numbers, strict=True))
    total = [first[0].copy(), *(part.astype(np.float64) for part in first[1:])]
    for other in others:
        for into, more in zip(total, other, strict=True):
            into += more
    return (tuple(total),)


class _Pass:
    """The graph of one pass."""

    def __init__(self, data: Data, factors: tuple[Array, Array], asked: Asked, lazy: Any) -> None:
        self.data, self.factors, self.asked, self.lazy = data, factors, asked, lazy
        self.name = named("look")
        self.places = tuple(places_of(sizes) for sizes in lazy.chunks)
        self.graph: dict[Key, Any] = dict(lazy.__dask_graph__())
        # How many entries each chunk has, by the key of its sums.
        self.entries: dict[Key, int] = {}
        self._ask()

    def _ask(self) -> None:
        """A task for each chunk, and one for its sums: those come here, and say how far the pass is."""
        data, name, graph = self.data, self.name, self.graph
        alone = self.factors[0] is self.factors[1]
        for side, (factor, places) in enumerate(zip(self.factors, self.places, strict=True)):
            for k, place in enumerate(places if side == 0 or not alone else []):
                graph[name, "factor", side, k] = factor[place]
        alike = data.halved
        plain = _Chunk(data.unit, data.threshold, data.sign, self.asked, False, alike, 2 if alike else 1)
        graph[name, "plain"], graph[name, "diagonal"] = plain, replace(plain, diagonal=True)
        for i, j in self.chunks:
            terms = "diagonal" if data.symmetric and i == j else "plain"
            sides = (name, "factor", 0, i), (name, "factor", 0 if alone else 1, j)
            graph[name, "part", i, j] = task(_looked_at, (name, terms), (self.lazy.name, i, j), *sides)
            graph[name, "sums", i, j] = task(itemgetter(2), (name, "part", i, j))
            rows, cols = self.places[0][i], self.places[1][j]
            self.entries[name, "sums", i, j] = (rows.stop - rows.start) * (cols.stop - cols.start)

    @property
    def chunks(self) -> list[tuple[int, int]]:
        """The chunks that hold everything.

        Of two that are each other's mirror image one serves. Which one alternates, so that workers that hold some rows
        of chunks each have the same to do.
        """
        down, right = (len(places) for places in self.places)
        every = [(i, j) for i in range(down) for j in range(right)]
        if not self.data.halved:
            return every
        return [(i, j) for i, j in every if i == j or ((i + j) % 2 == 0) == (i < j)]

    def bands(self) -> list[tuple[slice, list[tuple[Key, int]]]]:
        """Rows of the factors, and the parts that add up to what is found of them."""
        height, symmetric = len(self.factors[0]), self.data.symmetric
        found: list[tuple[slice, list[tuple[Key, int]]]] = []
        for side, places in enumerate(self.places[:1] if symmetric else self.places):
            for k, place in enumerate(places):
                parts = []
                for i, j in self.chunks:
                    key = (self.name, "part", i, j)
                    if symmetric and i == j == k:
                        parts.append((key, 0))
                    elif symmetric:
                        parts += [(key, number) for number in (0, 1) if (i, j)[number] == k and i != j]
                    elif (i, j)[side] == k:
                        parts.append((key, side))
                at = slice(place.start + side * height, place.stop + side * height)
                found.append((at, parts))
        return found

    def added_up(self, bands: list[tuple[slice, list[tuple[Key, int]]]]) -> list[Key]:
        """A tree of sums for each of :meth:`bands`; the keys of the last."""
        return [summed(self.graph, (self.name, "band", k), parts, _added) for k, (_, parts) in enumerate(bands)]

    def found(self, told: Callable[[Key], object]) -> Found:
        """Run it."""
        bands = self.bands()
        keys, sums = self.added_up(bands), list(self.entries)
        with owning_the_cores():
            results, _ = run(needed(self.graph, [*sums, *keys]), [*sums, *keys], told)
        size = sum(len(factor) for factor in self.factors[: 1 if self.data.symmetric else 2])
        found = Found.nothing(size, self.factors[0].shape[1], self.asked)
        for totals in results[: len(sums)]:
            found.totals += totals
        for (place, _), (part,) in zip(bands, results[len(sums) :], strict=True):
            found.add(place, part)
        found.done = len(sums)
        return found


# --- rows against landmarks -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Terms:
    """What all bands of rows are told."""

    read: Reader
    positions: Indices
    frame: Frame
    least: float


@dataclass(frozen=True, eq=False)
class _Band:
    """Some rows, and how often they were read: each way has half of the pieces, or all of them."""

    rows: slice
    shape: tuple[int, int]
    ways: int


@dataclass(frozen=True, eq=False)
class _Piece:
    """Which rows of a chunk are taken (axis 0), or which columns (axis 1)."""

    some: Indices
    axis: int


def _taken(piece: _Piece, values: Array) -> Array:
    return np.ascontiguousarray(np.take(np.asarray(values), piece.some, axis=piece.axis))


class _Held(Source):
    """A few rectangles of a matrix, by their places in it."""

    def __init__(self, shape: tuple[int, int], rows: slice, anchors: Indices, ways: dict[int, Array]) -> None:
        (first,) = (ways[k] for k in list(ways)[:1])
        self.shape, self.dtype = shape, first.dtype
        self.rows, self.anchors, self.ways = rows, anchors, ways

    def block(self, rows: Place, cols: Place) -> Array:
        """One of the rows that are held against all anchors, or the other way round."""
        if isinstance(rows, slice):
            return self.ways[0][rows.start - self.rows.start : rows.stop - self.rows.start]
        assert isinstance(cols, slice)
        return self.ways[1][:, cols.start - self.rows.start : cols.stop - self.rows.start]


def _attached(terms: _Terms, band: _Band, *pieces: Array) -> tuple[Floats, Floats, Floats]:
    """Rows of a band, how well they are held, and what is left of their values."""
    ways, each = _ways(terms.read.side), len(pieces) // band.ways
    held = {
        along: np.concatenate(pieces[number * each : (number + 1) * each], axis=1 - along)
        for number, along in enumerate(ways)
    }
    read = replace(terms.read, source=_Held(band.shape, band.rows, terms.positions, held))
    step, found = max(1, AT_ONCE // max(len(terms.positions), 1)), []
    with owning_the_cores():
        for start in range(band.rows.start, band.rows.stop, step):
            some = slice(start, min(start + step, band.rows.stop))
            found.append(solved(terms.frame, read(some, terms.positions), terms.least))
    factor, share, misfit = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return factor, share, misfit


def _ways(side: str) -> tuple[int, ...]:
    """Whether rows are read against anchors (0), or anchors against rows (1)."""
    return {"rows": (0,), "both": (1, 0)}.get(side, (1,))


def _plain(read: Reader) -> Reader:
    """A reader without its values, which are not sent along."""
    return replace(read, source=ArraySource(np.zeros((0, 0), read.source.dtype)))


def _pieces(
    graph: dict[Key, Any], name: Key, lazy: Any, along: int, band: tuple[int, slice], positions: Indices
) -> list[Key]:
    """Tasks that take what a band of rows has in common with the anchors out of its chunks; their keys, in order."""
    number, _ = band
    keys: list[Key] = []
    for k, place in enumerate(places_of(lazy.chunks[1 - along])):
        some = positions[(positions >= place.start) & (positions < place.stop)] - place.start
        if some.size:
            chunk = (lazy.name, number, k) if along == 0 else (lazy.name, k, number)
            graph[(*name, k)] = task(_taken, _Piece(some, 1 - along), chunk)
            keys.append((*name, k))
    return keys
