"""Matrices in files that are opened and not read: a zarr array, a NumPy file as a memory map."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from unrelu._old.base.errors import InputError
from unrelu._old.io.disk import FilePath, opening
from unrelu._old.io.sheets import not_installed

__all__ = ["is_zarr", "open_npy", "open_zarr", "zarr_module"]

# The files in which the two formats of zarr describe an array or a group.
ARRAYS, GROUPS = ("zarr.json", ".zarray"), (".zgroup",)
AGAIN = "write it again or fetch a fresh copy"


def zarr_module(path: FilePath) -> Any:
    """The package zarr, which is loaded only here; one sentence if it is not there."""
    try:
        import zarr
    except ImportError as error:
        raise not_installed("zarr", "zarr", os.fspath(path)) from error
    if int(zarr.__version__.split(".")[0]) < 3:
        raise InputError(
            f"{path} needs zarr 3 or later, and {zarr.__version__} is installed; pip install --upgrade zarr"
        )
    return zarr


def is_zarr(path: FilePath) -> bool:
    """Whether a path is taken for a zarr array: its name says so, or it is a folder that describes one."""
    path = Path(path)
    return path.suffix.lower() == ".zarr" or (path.is_dir() and any((path / name).exists() for name in ARRAYS))


def open_zarr(path: FilePath) -> Any:
    """A zarr array of two dimensions whose chunks are all there; nothing of it is read.

    Raises
    ------
    InputError
        If there is no such folder, it holds no array or several, or the array is half written.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name and the folder it is in")
    if not path.is_dir():
        raise InputError(f"{path} is a file where a zarr folder was expected; unpack it, or name the folder")
    zarr = zarr_module(path)
    _require_array(path)
    try:
        array = zarr.open_array(path, mode="r")
        missing = array.nchunks - array.nchunks_initialized
    except Exception as error:  # a torn description may make zarr raise almost anything
        raise InputError(
            f"{path} is a zarr array whose description cannot be read ({_first_line(error)}); it may be half written, "
            f"so {AGAIN}"
        ) from error
    shape = "×".join(map(str, array.shape)) or "a single number"
    if array.ndim != 2:
        raise InputError(f"{path} holds an array of shape {shape}; expected a matrix, with two dimensions")
    if 0 in array.shape:
        raise InputError(f"{path} holds an empty matrix ({shape}); expected at least one row and one column")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path} holds values of type {array.dtype}; expected real numbers, so save it as float64")
    if missing > 0:
        raise InputError(
            f"{path} lacks {missing} of its {array.nchunks} chunks, as an array does that is half written; {AGAIN}, or "
            "if nothing was seen there, with config={'write_empty_chunks': True}"
        )
    return array


def open_npy(path: FilePath) -> np.memmap[Any, Any]:
    """A NumPy file as a memory map, which must be as long as its header says; nothing of it is read.

    Raises
    ------
    InputError
        If it is no matrix of numbers, or cut short.
    """
    shape, dtype, fortran, offset = npy_header(path)
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")


def npy_header(path: FilePath) -> tuple[tuple[int, int], np.dtype[Any], bool, int]:
    """Shape, dtype, whether columns come first, and where the numbers begin; the file must be as long as that says."""
    with opening(path, (".npy",)) as handle:
        try:
            version = np.lib.format.read_magic(handle)
            reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = reader(handle)
        except ValueError as error:
            raise InputError(
                f"{path} is not a NumPy file, whatever its name says, or is cut short; write it with numpy.save"
            ) from error
        offset, there = handle.tell(), os.fstat(handle.fileno()).st_size
    if dtype.kind not in "fiu":
        raise InputError(f"{path} holds values of type {dtype}; expected real numbers, so save it as float64")
    if len(shape) != 2 or 0 in shape:
        raise InputError(
            f"{path} holds an array of shape {shape}; expected a matrix of at least one row and one column"
        )
    promised = offset + shape[0] * shape[1] * dtype.itemsize
    if there < promised:
        raise InputError(
            f"{path} is cut short: its header promises {shape[0]}×{shape[1]} numbers in {promised} bytes, and it has "
            f"{there}; {AGAIN}"
        )
    return (shape[0], shape[1]), dtype, fortran, offset


def _require_array(path: Path) -> None:
    """Refuse a folder that describes no array, and one that describes several."""
    if not any((path / name).exists() for name in (*ARRAYS, *GROUPS)):
        raise InputError(
            f"{path} is a folder without a zarr array in it (neither zarr.json nor .zarray); it may be half written, "
            f"so {AGAIN}"
        )
    try:
        kind = json.loads((path / "zarr.json").read_text(encoding="utf-8")).get("node_type")
    except (OSError, ValueError, AttributeError):  # of the older format, or torn, which opening it finds
        kind = "group" if (path / ".zgroup").exists() else None
    if kind == "group":
        inside = sorted(one.parent.name for name in ARRAYS for one in path.glob(f"*/{name}"))
        example = f", as {path / inside[0]}" if inside else ""
        raise InputError(f"{path} is a zarr group and no array; name an array in it{example}")


def _first_line(error: Exception) -> str:
    """What an error of somebody else says, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
