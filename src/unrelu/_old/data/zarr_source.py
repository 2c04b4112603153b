"""Zarr arrays as sources: chunks of a file or of a remote store, read as they are asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil, prod
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.errors import InputError, unknown_name
from unrelu._old.data.counted import expect_same, expect_shape, read_block, said
from unrelu._old.data.far import Far
from unrelu._old.data.gather import indices_of, length_of
from unrelu._old.data.source import SCAN_ENTRIES, Place

__all__ = ["ZarrSource", "is_zarr"]

MISSING = ("refuse", "unseen")
# A whole row of chunks is kept for a pass over all rows if it has no more bytes than this.
MOST_KEPT = 1 << 28
AGAIN = "a chunk there is damaged or was half written, so write the store again or fetch a fresh copy"


def is_zarr(X: Any) -> bool:
    """Whether an object is one of zarr's, told without loading zarr."""
    return type(X).__module__.partition(".")[0] == "zarr"


class ZarrSource(Far):
    """A zarr array of two dimensions: NaN where nothing was seen.

    Zarr does not write a chunk that holds nothing but the fill value, unless it is told to. So a chunk that is not
    there may hold that value, or may never have been written, and such an array is refused unless ``missing`` says
    what to make of it. To write all chunks: ``zarr.create_array(…, config={"write_empty_chunks": True})``.

    Parameters
    ----------
    array : zarr.Array, str or path
        float32 or float64; or where such an array is stored.
    missing : {"refuse", "unseen"}
        What to make of chunks that are not in the store: "unseen" reads them as NaN, whatever the fill value is.

    Examples
    --------
    >>> import zarr
    >>> array = zarr.create_array({}, shape=(4, 4), chunks=(2, 2), dtype="float32", fill_value=np.nan)
    >>> array[:2] = 1.5
    >>> ZarrSource(array)
    Traceback (most recent call last):
    unrelu._old.base.errors.InputError: ... lacks 2 of its 4 chunks, which hold nothing but the fill value nan or were never
    written; ...
    >>> source = ZarrSource(array, missing="unseen")
    >>> source.block_shape, source.block(np.array([3, 0]), slice(1, 3)).tolist()
    ((2, 2), [[nan, nan], [1.5, 1.5]])
    """

    thread_safe = checks_blocks = stored_whole = True

    def __init__(self, array: Any, missing: str = "refuse") -> None:
        if missing not in MISSING:
            raise unknown_name("missing", missing, MISSING)
        found = _opened(array) if isinstance(array, str | os.PathLike) else array
        self.name = _name_of(found)
        _expect_matrix(found, self.name)
        self._array = found
        self.shape = (int(found.shape[0]), int(found.shape[1]))
        self.dtype = _dtype_of(found, self.name)
        chunks = found.chunks
        self.block_shape = (int(chunks[0]), int(chunks[1]))
        absent, of = _absent(found, self.name)
        if absent and missing == "refuse":
            raise InputError(
                f"{self.name} lacks {absent} of its {of} chunks, which hold nothing but the fill value "
                f"{found.fill_value} or were never written; write it again with "
                'config={"write_empty_chunks": True}, or pass missing="unseen" to ZarrSource, or to '
                "DaskSource, if nothing was seen there"
            )
        if missing == "unseen" and not np.isnan(found.fill_value):
            self._array = _filled_with_nan(found, self.name)

    def block(self, rows: Place, cols: Place) -> Array:
        """A block, for which every chunk is read once."""
        expect_same(self.name, self._array.shape, self.shape)
        if 0 in (length_of(rows, self.shape[0]), length_of(cols, self.shape[1])):
            return np.empty((length_of(rows, self.shape[0]), length_of(cols, self.shape[1])), self.dtype)
        block = np.asarray(read_block(self._ask, self.name, rows, cols, AGAIN))
        expect_shape(block, self.name, rows, cols, self.shape)
        return block.astype(self.dtype, copy=False)

    @property
    def stored_together(self) -> tuple[int, int]:
        """Rows and columns of what is one file of the store: a shard, or a chunk."""
        stored = self._array.shards or self._array.chunks
        return int(stored[0]), int(stored[1])

    def lacking(self, rows: slice, cols: slice) -> str | None:
        """The first chunk of a block that the store lacks where this is called; None if all are there."""
        from zarr.core.sync import sync

        sides = zip((rows, cols), self.stored_together, strict=True)
        down, right = (range(place.start // size, -(-place.stop // size)) for place, size in sides)
        for i in down:
            for j in right:
                key = self._array.metadata.encode_chunk_key((i, j))
                if not sync((self._array.store_path / key).exists()):
                    return str(key)
        return None

    def _ask(self, rows: Place, cols: Place) -> Any:
        sides = [_run(place, length) for place, length in zip((rows, cols), self.shape, strict=True)]
        if all(isinstance(side, slice) for side in sides):
            return self._array[sides[0], sides[1]]
        return self._array.oindex[sides[0], sides[1]]

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries, for which every chunk is read once."""
        if not len(rows):
            return np.empty(0, self.dtype)
        expect_same(self.name, self._array.shape, self.shape)
        places = indices_of(rows, self.shape[0]), indices_of(cols, self.shape[1])
        found = np.asarray(read_block(lambda i, j: self._array.vindex[i, j], self.name, *places, AGAIN))
        return found.astype(self.dtype, copy=False)

    def bands(self) -> Iterator[tuple[int, Array]]:
        """Everything, a few rows at a time, for which most chunks are read once."""
        height, width = self.shape
        chunk = self._array.chunks[0]
        most = max(1, MOST_KEPT // max(width * self.dtype.itemsize, 1))
        step, few = min(chunk, most), max(1, SCAN_ENTRIES // max(width, 1))
        for start in range(0, height, step):
            band = self.block(slice(start, min(start + step, height)), slice(0, width))
            for first in range(0, len(band), few):
                yield start + first, band[first : first + few]


def _run(place: Place, length: int) -> Place:
    """The same as a slice if rows follow one another: zarr is quicker with those."""
    if isinstance(place, slice):
        return place
    index = indices_of(place, length)
    if index[-1] - index[0] == len(index) - 1 and (np.diff(index) == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


def _opened(path: Any) -> Any:
    name = os.fspath(path)
    try:
        import zarr
    except ImportError as error:
        raise InputError(
            f"{name} needs the package zarr, which is not installed; install it with pip install 'unrelu[zarr]'"
        ) from error
    if not os.path.exists(name) and "://" not in name:
        raise InputError(f"{name} does not exist; check the name and the folder it is in")
    try:
        return zarr.open(name, mode="r")
    except MemoryError:
        raise
    except Exception as error:  # half of a description may make it raise almost anything
        raise InputError(
            f"{name} cannot be opened as a zarr array ({said(error)}); it is something else, or was half written, "
            "so write it again or fetch a fresh copy"
        ) from error


def _name_of(array: Any) -> str:
    return f"the zarr array {getattr(array, 'store_path', None) or getattr(array, 'name', None) or '/'}"


def _expect_matrix(array: Any, name: str) -> None:
    if not all(hasattr(array, needed) for needed in ("shape", "dtype", "chunks", "oindex")):
        inside = ", ".join(sorted(array.array_keys())) if hasattr(array, "array_keys") else ""
        raise InputError(
            f"X must be a zarr array, got a {type(array).__name__} of zarr"
            + (f" that holds the arrays {inside}; pass one of them" if inside else "; pass an array")
        )
    if not hasattr(array, "metadata") or not hasattr(array, "store_path"):
        raise InputError(f"{name} comes from an old zarr; expected one of zarr 3 or later, so upgrade it")
    if len(array.shape) != 2:
        raise InputError(f"X must be a matrix (2-D), got {len(array.shape)}-D data of shape {tuple(array.shape)}")


def _dtype_of(array: Any, name: str) -> np.dtype[Any]:
    kind = np.dtype(array.dtype)
    if kind.kind != "f":
        raise InputError(
            f"{name} must hold float32 or float64, got {kind}, which has no NaN to say what was not seen; write it "
            "again as float32, with NaN where nothing was seen"
        )
    return np.dtype(np.float32 if kind.itemsize <= 4 else np.float64)


def _absent(array: Any, name: str) -> tuple[int, int]:
    """How many chunks the store lacks, and of how many; what is stored as one, a shard, counts as one."""
    stored = array.shards or array.chunks
    of = prod(ceil(length / size) for length, size in zip(array.shape, stored, strict=True))
    together = prod(size // chunk for size, chunk in zip(stored, array.chunks, strict=True))
    there = read_block(lambda *_: array.nchunks_initialized, name, slice(0, array.shape[0]), slice(0, array.shape[1]))
    # Later versions count the chunks of a shard, whether they are there or not; the first ones count the shard.
    whole = there // together if there > of or hasattr(type(array), "_nshards_initialized") else there
    return of - whole, of


def _filled_with_nan(array: Any, name: str) -> Any:
    """The same array, in which NaN stands for what is not there; the store is left as it is."""
    import zarr

    described = {**array.metadata.to_dict(), "fill_value": "NaN"}
    try:
        metadata = type(array.metadata).from_dict(described)
        inner = array.async_array if hasattr(array, "async_array") else array._async_array
        config = inner.config if hasattr(inner, "config") else inner._config
        return zarr.Array(type(inner)(metadata=metadata, store_path=array.store_path, config=config))
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{name} has the fill value {array.fill_value}, which this version of zarr does not let be read as NaN; "
            "write it again with fill_value=numpy.nan"
        ) from error
