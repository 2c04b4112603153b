"""NumPy memory maps as sources: files that are read where they are asked for, block by block."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.data.far import Far
from unrelu._old.data.source import Place

__all__ = ["MappedSource", "is_mapped"]

AGAIN = "write it again or fetch a fresh copy"


def is_mapped(X: Any) -> bool:
    """Whether an array is a memory map of a file, or a view of one; what NumPy computes from one is not."""
    return isinstance(X, np.memmap) and _map_of(X) is not None


class MappedSource(Far):
    """A memory map, not copied: NaN where nothing was seen.

    Parameters
    ----------
    values : numpy.memmap, str or path
        A map of two dimensions, as of ``numpy.memmap`` or ``numpy.load(path, mmap_mode="r")``; or the path of a .npy
        file. Integers count as seen, and come as float64.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     np.save(file.name, np.array([[1.0, np.nan], [np.nan, 2.0]]))
    ...     source = MappedSource(file.name)
    ...     source.shape, source.block(slice(0, 1), slice(0, 2)).tolist()
    ((2, 2), [[1.0, nan]])
    """

    thread_safe = checks_blocks = stored_whole = True

    def __init__(self, values: Any) -> None:
        mapped = _opened(values) if isinstance(values, str | os.PathLike) else values
        self.name = "the file of the memory map" if mapped.filename is None else os.fspath(mapped.filename)
        self._map, self._end = _map_of(mapped), _end_of(mapped)
        if mapped.ndim != 2:
            raise InputError(f"X must be a matrix (2-D), got {mapped.ndim}-D data of shape {mapped.shape}")
        kind = mapped.dtype
        if kind.kind not in "fiu":
            raise InputError(f"X must hold numbers, got a memory map of dtype {kind}; write it as float32 or float64")
        self.values = np.asarray(mapped)
        self.shape = (int(mapped.shape[0]), int(mapped.shape[1]))
        self.dtype = np.dtype(np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64)
        self._expect_whole()

    def block(self, rows: Place, cols: Place) -> Array:
        """A view for slices, if the file holds floats; else a copy."""
        self._expect_whole()
        if isinstance(rows, slice) or isinstance(cols, slice):
            block = self.values[rows, cols]
        else:
            block = self.values[np.ix_(rows, cols)]
        return block.astype(self.dtype, copy=False)

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        self._expect_whole()
        return self.values[rows, cols].astype(self.dtype, copy=False)

    def _expect_whole(self) -> None:
        """Refuse a file that is shorter than its map: to read beyond its end would end the process, with no word."""
        length = self._end if self._map is None else self._map.size()
        if length < self._end:
            raise InputError(
                f"{self.name} is {length} bytes long where its memory map needs {self._end}; it was cut short, so "
                f"{AGAIN}"
            )


def _map_of(values: Any) -> mmap.mmap | None:
    """What an array is a view of."""
    owner = values
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) else None


def _end_of(values: Any) -> int:
    """How long a file must be for all that is mapped of it."""
    owner = _map_of(values)
    if owner is None:
        return 0
    # Maps begin where the system lets them, at or before the offset.
    return int(values.offset - values.offset % mmap.ALLOCATIONGRANULARITY + len(owner))


def _opened(path: Any) -> Any:
    name = os.fspath(path)
    try:
        found = np.load(name, mmap_mode="r")
    except FileNotFoundError as error:
        raise InputError(f"{name} does not exist; check the name and the folder it is in") from error
    except (ValueError, EOFError, OSError) as error:
        raise InputError(
            f"{name} is no .npy file of numbers, or is shorter than its header says ({error}); {AGAIN}"
        ) from error
    if not isinstance(found, np.memmap):
        raise InputError(f"{name} is no .npy file, which alone can be mapped; save it with numpy.save")
    return found
