"""Matrices that no memory holds, written block by block: a zarr folder that is whole when it appears."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError
from unrelu._old.io.disk import FilePath, _Move, _named, _together
from unrelu._old.io.opened import ARRAYS, zarr_module

__all__ = [
    "CHUNK",
    "EXTENSION",
    "Block",
    "Grid",
    "check_zarr",
    "grid_of",
    "replacing_folder",
    "write_blocks",
    "write_zarr",
]

EXTENSION = ".zarr"
# Rows and columns of a chunk: a few megabytes, which compress well and are read at once.
CHUNK = 1024
# A chunk of the input this many times smaller than that is no grid to write by.
LEAST_CHUNK = CHUNK // 4

# Where a part of the matrix stands, and its values.
Block = tuple[slice, slice, Array]


@dataclass(frozen=True)
class Grid:
    """How one side of a matrix is cut: into ``chunk`` in the file, and when it is written into ``tile``, a multiple."""

    length: int
    chunk: int
    tile: int

    @property
    def pieces(self) -> list[slice]:
        """The pieces, in order."""
        return [slice(start, min(start + self.tile, self.length)) for start in range(0, self.length, self.tile)]


def grid_of(length: int, given: int | None = None) -> Grid:
    """A grid of chunks of about `CHUNK` that fits one along which the input is cheap to read, if it has one.

    Chunks of the input that are smaller are put together. Larger ones are read once and written in parts.

    Examples
    --------
    >>> grid_of(5000), grid_of(5000, 300), grid_of(9000, 3000)
    (Grid(length=5000, chunk=1024, tile=1024), Grid(length=5000, chunk=900, tile=900),
     Grid(length=9000, chunk=1000, tile=3000))
    """
    if given is None or given >= length:
        chunk = tile = CHUNK
    elif given <= CHUNK:
        chunk = tile = given * max(1, round(CHUNK / given))
    else:
        parts = next((k for k in range(2, given) if given % k == 0 and given // k <= CHUNK), given)
        chunk, tile = (given // parts if given // parts >= LEAST_CHUNK else given), given
    return Grid(length, min(chunk, length), max(tile, chunk))


def write_zarr(path: FilePath, values: Array) -> None:
    """Write a matrix that is in memory.

    Examples
    --------
    >>> import tempfile
    >>> from unrelu._old.io.opened import open_zarr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_zarr(Path(folder, "completed.zarr"), np.eye(2, dtype=np.float32))
    ...     open_zarr(Path(folder, "completed.zarr"))[...]
    array([[1., 0.], [0., 1.]], dtype=float32)
    """
    rows, columns = (grid_of(length) for length in values.shape)
    blocks = ((i, j, values[i, j]) for i in rows.pieces for j in columns.pieces)
    write_blocks(path, (rows, columns), values.dtype, blocks)


def write_blocks(path: FilePath, grids: tuple[Grid, Grid], dtype: Any, blocks: Iterable[Block]) -> None:
    """Write a matrix by blocks, of which each covers whole chunks; together they are all of it.

    A matrix that is there stays until the new one is complete, and nothing is left if it never is.

    Parameters
    ----------
    path : str or path
        A folder ending in ``.zarr``.
    grids : (Grid, Grid)
        How rows and columns are cut.
    dtype : float32 or float64
    blocks : iterable of (slice, slice, array)
        Rows, columns and values; NaN where there is no value.
    """
    check_zarr(path)
    shape, chunks = tuple(grid.length for grid in grids), tuple(grid.chunk for grid in grids)
    zarr, left = zarr_module(path), shape[0] * shape[1]
    with replacing_folder(path) as temporary:
        # A chunk of nothing but NaN is written too: where one is missing, a reader could not tell it from a torn file.
        array = zarr.create_array(
            temporary,
            shape=shape,
            chunks=chunks,
            dtype=np.dtype(dtype),
            fill_value=np.nan,
            overwrite=True,
            config={"write_empty_chunks": True},
        )
        for rows, columns, values in blocks:
            array[rows, columns] = values
            left -= values.size
        if left:
            raise ValueError(f"blocks must cover all {shape[0]}×{shape[1]} entries once, and miss them by {left}")


def check_zarr(path: FilePath, *, inputs: Iterable[FilePath] = ()) -> None:
    """Refuse a folder that could not be written in the end, before the work starts.

    Only a zarr array, or an empty folder, is ever replaced.
    """
    zarr_module(path)
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"{path} cannot be written, for there is no folder {target.parent}; make it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(
            f"{path} cannot be written, for the folder {target.parent} is closed to you; choose another folder"
        )
    if os.path.lexists(target) and not target.is_dir():
        raise InputError(f"{path} is a file where a zarr folder is to be written; choose another name")
    for source in inputs:
        if os.path.realpath(source) == str(target):
            raise InputError(f"{path} is the input and would be overwritten; choose another name for the output")
    if target.is_dir() and any(target.iterdir()) and not _one_array(target):
        raise InputError(
            f"{path} is a folder that holds something else than one zarr array, and would be lost; choose another name"
        )


def _one_array(folder: Path) -> bool:
    """Whether a folder holds a zarr array and nothing else that its name does not tell to be part of it."""
    if not any((folder / name).exists() for name in ARRAYS):
        return False
    return not any((below / name).exists() for below in folder.iterdir() if below.is_dir() for name in ARRAYS)


@contextmanager
def replacing_folder(path: FilePath) -> Iterator[Path]:
    """Lend a temporary folder that takes the place of `path` when the block ends well.

    The folder is hidden and stands beside its target. Whatever ends the block early leaves what was there as it was,
    and no temporary folder behind. Inside :func:`unrelu._old.io.disk.together` the move waits for the other files.
    """
    target = Path(os.path.realpath(path))
    temporary, before = (target.with_name(f".{uuid.uuid4().hex}{EXTENSION}") for _ in range(2))
    move, others = _MoveFolder(path, temporary, target, before), _together.get()
    try:
        with _named(path):
            temporary.mkdir()
            yield temporary
        if others is not None:
            others.append(move)
            return
        move.make()
    except BaseException:
        move.discard()
        raise
    finally:
        if others is None:
            move.discard()


@dataclass(frozen=True)
class _MoveFolder(_Move):
    """A folder that is written and waits to be moved into place; what stands there steps aside to ``before``."""

    before: Path

    def make(self) -> None:
        with _named(self.path):
            if self.target.exists():
                os.replace(self.target, self.before)
            try:
                os.replace(self.temporary, self.target)
            except BaseException:
                if self.before.exists():
                    os.replace(self.before, self.target)
                raise

    def discard(self) -> None:
        for folder in (self.temporary, self.before):
            shutil.rmtree(folder, ignore_errors=True)
