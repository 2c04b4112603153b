"""Dask arrays, and zarr arrays whose chunks are read by workers, as sources: values stay where they are."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.errors import InputError, warn
from unrelu._old.data.counted import block_named
from unrelu._old.data.dask_graph import Key, failing, named, needed, places_of, run, task
from unrelu._old.data.far import Far
from unrelu._old.data.gather import indices_of
from unrelu._old.data.source import ArraySource, Place, Source
from unrelu._old.data.summary import Summary
from unrelu._old.data.zarr_source import ZarrSource, is_zarr

__all__ = ["DaskSource", "fetched", "is_dask"]

# A part of a matrix with no more entries than this comes here; a larger one stays on the workers.
FEW = 1 << 22
# About so many rows and columns have the blocks in which workers read a zarr array: a task takes a tenth of a second.
SIDE = 2048
# Chunks that are rechunked anyway are made so large where there would be more than so many bands of them.
MOST_BANDS = 100
# Blocks of a zarr array have sides of one length; if that of two chunks together is no longer than this.
LONGEST = 4096
ALIGNED = "rechunk it and persist it once, which spares every pass that"


def is_dask(X: Any) -> bool:
    """Whether an object is a dask array, told without loading dask."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "__dask_graph__")


def fetched(X: Any) -> Any:
    """All of a dask array, here."""
    with failing():
        return X.compute()


class DaskSource(Far):
    """A matrix that workers of dask hold or read: NaN where nothing was seen.

    Any scheduler that the caller has connected does the work; without one, threads of this machine do.

    Parameters
    ----------
    array : dask array, zarr array, str or path
        Of two dimensions; float32 or float64, integers become float64. A zarr array, or where one is stored, is read by
        the workers, each of which must see the same store.
    missing : {"refuse", "unseen"}
        Of a zarr array, as in :class:`unrelu.ZarrSource`.

    Attributes
    ----------
    lazy : dask array
        Square ones have the same chunks on both sides; if they came with others, they are rechunked, with a warning.

    Examples
    --------
    >>> import pytest; da = pytest.importorskip("dask.array")
    >>> source = DaskSource(da.from_array(np.arange(16.0).reshape(4, 4), chunks=2))
    >>> source.block_shape, source.block(np.array([3, 0]), slice(1, 3)).tolist()
    ((2, 2), [[13.0, 14.0], [1.0, 2.0]])
    """

    checks_blocks = stored_whole = True
    thread_safe = False  # graphs run on all cores as it is

    def __init__(self, array: Any, missing: str = "refuse") -> None:
        _require_dask()
        if isinstance(array, str | os.PathLike) or is_zarr(array):
            array = _read_by_workers(array, missing)
        elif missing != "refuse":
            raise InputError(f"missing={missing!r} is for zarr arrays, got a {type(array).__name__}; leave it out")
        _expect_matrix(array)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
        self.dtype = np.dtype(np.float32 if single else np.float64)
        if isinstance(array._meta, np.ma.MaskedArray):
            array = array.map_blocks(_unmasked, self.dtype, dtype=self.dtype, meta=np.empty((0, 0), self.dtype))
        array = array if array.dtype == self.dtype else array.astype(self.dtype)
        self.lazy = _simplest(_aligned(array))
        self.block_shape = (max(self.lazy.chunks[0], default=1), max(self.lazy.chunks[1], default=1))

    def block(self, rows: Place, cols: Place) -> Array:
        """A block: of each chunk that has a part in it, that part is fetched."""
        sides = [indices_of(place, length) for place, length in zip((rows, cols), self.shape, strict=True)]
        found = np.empty((len(sides[0]), len(sides[1])), self.dtype)
        if not found.size:
            return found
        name, graph, places = named("block"), dict(self.lazy.__dask_graph__()), {}
        for i, at, down in _split(sides[0], self.lazy.chunks[0]):
            for j, beside, right in _split(sides[1], self.lazy.chunks[1]):
                graph[name, i, j] = task(_picked, (self.lazy.name, i, j), _Some(down, right))
                places[name, i, j] = at, beside
        parts, _ = run(needed(graph, list(places)), list(places))
        for (at, beside), part in zip(places.values(), parts, strict=True):
            found[np.ix_(at, beside)] = part
        return found

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries: of each chunk that has some of them, those are fetched."""
        found = np.empty(len(rows), self.dtype)
        name, graph, places = named("at"), dict(self.lazy.__dask_graph__()), {}
        for i, mine, down in _split(np.asarray(rows), self.lazy.chunks[0]):
            for j, some, right in _split(np.asarray(cols)[mine], self.lazy.chunks[1]):
                graph[name, i, j] = task(_picked_at, (self.lazy.name, i, j), _Some(down[some], right))
                places[name, i, j] = mine[some]
        values, _ = run(needed(graph, list(places)), list(places))
        for mine, one in zip(places.values(), values, strict=True):
            found[mine] = one
        return found

    def summary(self) -> Summary:
        """Counts, norm and ends of all values, found chunk by chunk where they are."""
        found = self._of_chunks(_summary_of, [(chunk,) for chunk in np.ndindex(*self.lazy.numblocks)])
        across, down = (np.zeros(length, np.int64) for length in self.shape)
        sides = [places_of(sizes) for sizes in self.lazy.chunks]
        for (i, j), one in zip(np.ndindex(*self.lazy.numblocks), found, strict=True):
            came, expected = (len(one.per_row), len(one.per_column)), (self.lazy.chunks[0][i], self.lazy.chunks[1][j])
            if came != expected:
                raise InputError(
                    f"chunk {(i, j)} of X has {came[0]} rows and {came[1]} columns, and its array says {expected[0]} "
                    f"and {expected[1]}; call X.compute_chunk_sizes(), or tell map_blocks the right chunks="
                )
            across[sides[0][i]] += one.per_row
            down[sides[1][j]] += one.per_column
        ends = min((one.low for one in found), default=np.inf), max((one.high for one in found), default=-np.inf)
        return Summary(across, down, math.hypot(*(one.norm for one in found)), *ends)

    def symmetric(self) -> bool:
        """Whether (i, j) was seen exactly if (j, i) was, found where the values are."""
        count = self.lazy.numblocks[0]
        pairs = [((i, j), (j, i)) for i in range(count) for j in range(i, count)]
        return all(self._of_chunks(_mirrored, pairs))

    def _of_chunks(self, function: Any, groups: list[Any]) -> list[Any]:
        """What a function says of each group of chunks."""
        name, graph = named(function.__name__.strip("_")), dict(self.lazy.__dask_graph__())
        for k, chunks in enumerate(groups):
            graph[name, k] = task(function, *((self.lazy.name, *chunk) for chunk in chunks))
        keys: list[Key] = [(name, k) for k in range(len(groups))]
        return run(needed(graph, keys), keys)[0]

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns, in the order given: where they are, if they are many."""
        if len(rows) * len(cols) <= FEW:
            return ArraySource(self.block(rows, cols))
        return DaskSource(self.lazy[np.asarray(rows)][:, np.asarray(cols)])

    def in_dtype(self, dtype: Any) -> Source:
        """The same values in another precision, where they are."""
        return self if np.dtype(dtype) == self.dtype else DaskSource(self.lazy.astype(dtype))


@dataclass(frozen=True, eq=False)
class _Some:
    """Rows and columns of a chunk; no tuple, which dask would take for a task."""

    rows: Indices
    cols: Indices


def _unmasked(values: Any, dtype: Any) -> Array:
    """NaN where an array is masked."""
    return np.ma.filled(np.ma.asarray(values).astype(dtype), np.nan)


def _picked(values: Array, some: _Some) -> Array:
    found: Array = values[np.ix_(some.rows, some.cols)]
    return found


def _picked_at(values: Array, some: _Some) -> Array:
    found: Array = np.asarray(values)[some.rows, some.cols]
    return found


def _summary_of(values: Array) -> Summary:
    values = np.asarray(values)
    if np.iscomplexobj(values):
        raise InputError(
            "a chunk of X holds complex numbers, and its array says real ones; use X.real, or tell map_blocks the "
            "right dtype="
        )
    return Summary.of(values)


def _mirrored(here: Array, there: Array) -> bool:
    return np.array_equal(np.isnan(here), np.isnan(there).T)


def _split(index: Indices, sizes: tuple[int, ...]) -> list[tuple[int, Indices, Indices]]:
    """The pieces that some positions lie in: its number, which of the positions, and where in the piece."""
    starts = np.array([place.start for place in places_of(sizes)])
    piece = np.searchsorted(starts, index, side="right") - 1
    # Empty pieces begin where the next one does, and are passed over by the search.
    return [(int(k), at := np.flatnonzero(piece == k), index[at] - starts[k]) for k in np.unique(piece)]


def _require_dask() -> None:
    try:
        import dask.array  # noqa: F401
    except ImportError as error:
        raise InputError(
            "DaskSource needs the package dask, which is not installed; install it with pip install 'unrelu[dask]'"
        ) from error


def _simplest(array: Any) -> Any:
    """The same with one task for each chunk where dask can see that: once, not in every pass.

    What is on the workers already is left alone: dask would drop the futures that keep it there.
    """
    import dask

    if any(hasattr(value, "client") or hasattr(value, "release") for value in array.__dask_graph__().values()):
        return array
    return dask.optimize(array)[0]


def _expect_matrix(array: Any) -> None:
    if not is_dask(array):
        raise InputError(f"DaskSource takes a dask array, a zarr array or a path, got {type(array).__name__}")
    if array.ndim != 2:
        raise InputError(f"X must be a matrix (2-D), got {array.ndim}-D data of shape {array.shape}")
    if np.isnan([size for sizes in array.chunks for size in sizes]).any():
        raise InputError(
            f"chunks of X must have known sizes, got {array.chunks} for a dask array of shape {array.shape}; call "
            "X.compute_chunk_sizes() first"
        )
    if getattr(array.dtype, "kind", "?") not in "fiu":
        raise InputError(f"X must hold numbers, got a dask array of dtype {array.dtype}; use X.astype(numpy.float64)")


def _aligned(array: Any) -> Any:
    """A square matrix with the same chunks on both sides: a pass takes rows and columns of the factor by them."""
    filled = tuple(tuple(size for size in sizes if size) or (0,) for sizes in array.chunks)
    array = array if filled == array.chunks else array.rechunk(filled)  # nothing can be told by an empty chunk
    rows, cols = array.chunks
    if array.shape[0] != array.shape[1] or rows == cols:
        return array
    kept = rows if max(rows) <= max(cols) else cols
    if len(kept) > MOST_BANDS and max(kept) < SIDE:  # such as one row a chunk
        kept = tuple(place.stop - place.start for place in _edges(array.shape[0], SIDE))
    warn(
        f"X has chunks of up to {max(rows)} rows and {max(cols)} columns, and a square matrix needs the same of both; "
        f"it is rechunked to {max(kept)} and {max(kept)}",
        ALIGNED,
    )
    return array.rechunk((kept, kept))


def _read_by_workers(array: Any, missing: str) -> Any:
    """The dask array of the chunks of a zarr array; every block of it is read by whoever works on it."""
    import dask.array as da

    if isinstance(array, str | os.PathLike) and "://" not in os.fspath(array):
        array = os.path.abspath(os.fspath(array))  # workers may have been started elsewhere
    root = getattr(getattr(array, "store", None), "root", None)
    if isinstance(root, Path) and not root.is_absolute():
        array = str(root.absolute() / array.path)
    source = ZarrSource(array, missing)
    chunks = tuple(
        tuple(place.stop - place.start for place in _edges(length, side))
        for length, side in zip(source.shape, _sides(source), strict=True)
    )
    name = named("zarr")
    rows, cols = (places_of(sizes) for sizes in chunks)
    graph: dict[Key, Any] = {(name, -1, -1): _Store(source, missing == "refuse")}
    graph |= {
        (name, i, j): task(_read, (name, -1, -1), _Block(one, other))
        for i, one in enumerate(rows)
        for j, other in enumerate(cols)
    }
    return da.Array(graph, name, chunks, dtype=source.dtype)


def _sides(source: ZarrSource) -> tuple[int, int]:
    """Rows and columns of the blocks that are read at once: whole chunks of the store, as far as that may be."""
    steps: tuple[int, ...] = source.stored_together
    if source.shape[0] == source.shape[1]:
        both = lcm(*steps)
        if both > LONGEST and steps[0] != steps[1]:
            both = max(steps)
            warn(
                f"{source.name} has chunks of {steps[0]} rows and {steps[1]} columns, and a square matrix needs blocks "
                f"of {both} rows and columns, so that some chunks are read twice",
                "write it with square chunks, which spares every pass that",
            )
        steps = (both, both)
    found = [max(step, SIDE // step * step) for step in steps]
    return found[0], found[1]


def _edges(length: int, side: int) -> list[slice]:
    return [slice(start, min(start + side, length)) for start in range(0, length, side)]


@dataclass(frozen=True, eq=False)
class _Store:
    source: ZarrSource
    whole: bool


@dataclass(frozen=True, eq=False)
class _Block:
    rows: slice
    cols: slice


def _read(store: _Store, block: _Block) -> Array:
    """A block, by whoever needs it; refused if a chunk is not there, for it would be read as the fill value."""
    rows, cols = block.rows, block.cols
    lacking = store.source.lacking(rows, cols) if store.whole else None
    if lacking is not None:
        raise InputError(
            f"{store.source.name} lacks the chunk {lacking} of {block_named(rows, cols)} on {_here()}; see that every "
            "worker sees the same store, or fetch a fresh copy"
        )
    return store.source.block(rows, cols)


def _here() -> str:
    """Which worker this is."""
    try:
        from distributed import get_worker

        return f"the worker {get_worker().address}"
    except (ImportError, ValueError):
        return "this machine"
