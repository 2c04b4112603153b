"""Where a pass finds its values: on the device already, or in memory, from where blocks are brought one by one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import torch

from unrelu._old.base.arrays import Array
from unrelu._old.data.source import Source
from unrelu._old.kernels.device import plain
from unrelu._old.kernels.device.region import Region

__all__ = ["BLOCK", "Feed", "brought_to", "feed_of", "is_alike", "passes_for"]

# The release of Triton from which on what fused passes are written in is known.
FUSED_FROM = (3, 4)
# Devices from this compute capability on multiply matrices in the way that fused passes do.
CAPABLE = (8, 0)
# Rows of a block that is looked at together where two halves of a matrix are compared.
BAND = 2048
# Rows and columns of a block that is brought to the device: half a gigabyte in double precision.
BLOCK = 8192


class Feed(Protocol):
    """The regions of a matrix, one after the other."""

    device: torch.device
    alike: bool

    @property
    def fused(self) -> bool:
        """Whether each pass is one kernel of Triton's."""

    def passes(self, dtype: torch.dtype) -> ModuleType:
        """Who does passes with factors of this precision."""

    def regions(self) -> Iterator[Region]:
        """All of them."""

    def opposite(self, rows: slice, cols: slice) -> torch.Tensor:
        """Values of some columns and rows, transposed: what stands on the other side of the diagonal."""


class Resident:
    """A tensor on its device.

    Parameters
    ----------
    values : torch.Tensor
    quiet : ndarray of bool, or None
    symmetric : bool
        Whether row i and column i are the same thing.
    alike : bool
        Whether the matrix is the same on both sides of its diagonal.
    """

    def __init__(self, values: torch.Tensor, quiet: Any, symmetric: bool, alike: bool) -> None:
        self.values, self.device, self.symmetric, self.alike = values, values.device, symmetric, alike
        self.quiet = None if quiet is None else torch.as_tensor(quiet).to(self.device)

    @property
    def fused(self) -> bool:
        """Whether each pass is one kernel of Triton's."""
        return has_fused(self.device)

    def passes(self, dtype: torch.dtype) -> ModuleType:
        """Fused ones in single precision, where there are any."""
        return passes_for(self.device, dtype)

    def regions(self) -> Iterator[Region]:
        """One: all of it, or all that lies on and above the diagonal."""
        yield Region(self.values, triangle=self.alike, symmetric=self.symmetric, quiet=self.quiet)

    def opposite(self, rows: slice, cols: slice) -> torch.Tensor:
        """Of the transpose."""
        return self.values[cols, rows].T


class Brought:
    """An array in memory, of which a block at a time goes to the device: each pass brings all of them.

    Parameters
    ----------
    source : Source
        Of the matrix, or of the table.
    device : torch.device
    quiet : ndarray of bool, or None
    symmetric, alike : bool
    """

    def __init__(self, source: Source, device: torch.device, quiet: Any, symmetric: bool, alike: bool) -> None:
        self.source, self.device, self.symmetric, self.alike = source, device, symmetric, alike
        self.quiet = None if quiet is None else torch.as_tensor(quiet).to(device)
        self._dtype = torch.float32 if source.dtype == np.float32 else torch.float64

    @property
    def fused(self) -> bool:
        """Whether each pass is one kernel of Triton's."""
        return has_fused(self.device)

    def passes(self, dtype: torch.dtype) -> ModuleType:
        """Fused ones in single precision, where there are any."""
        return passes_for(self.device, dtype)

    def _bring(self, rows: slice, cols: slice) -> torch.Tensor:
        return brought_to(self.source.block(rows, cols), self.device).to(self._dtype)

    def _places(self) -> Iterator[tuple[slice, slice]]:
        height, width = self.source.shape
        for top in range(0, height, BLOCK):
            rows = slice(top, min(top + BLOCK, height))
            for left in range(0, width, BLOCK):
                yield rows, slice(left, min(left + BLOCK, width))

    def regions(self) -> Iterator[Region]:
        """Block by block: all, or those on and above the diagonal."""
        for rows, cols in self._places():
            if self.alike and cols.stop <= rows.start:
                continue
            values = self._bring(rows, cols)
            yield Region(values, rows.start, cols.start, self.alike, self.symmetric, self.quiet)

    def opposite(self, rows: slice, cols: slice) -> torch.Tensor:
        """Brought as well."""
        return self._bring(cols, rows).T


def feed_of(source: Source, quiet: Any) -> Feed:
    """Of a source whose values are on a device, or are to be brought there by blocks."""
    symmetric = source.cut is None
    if source.tensor is not None:
        if symmetric and source.alike is None:  # looked at once, for all kernels of these values
            source.alike = is_alike(source.tensor)
        return Resident(source.tensor, quiet, symmetric, symmetric and bool(source.alike))
    inner: Source = source if symmetric else source.table  # type: ignore[attr-defined]
    if symmetric and source.alike is None:
        source.alike = _mirrored(source)
    return Brought(inner, source.device, quiet, symmetric, symmetric and bool(source.alike))


def _mirrored(source: Source) -> bool:
    """Whether both halves of what is in memory say the same."""
    edges = [slice(top, min(top + BLOCK, source.shape[0])) for top in range(0, source.shape[0], BLOCK)]
    return all(
        np.array_equal(source.block(rows, cols), source.block(cols, rows).T, equal_nan=True)
        for first, rows in enumerate(edges)
        for cols in edges[first:]
    )


def is_alike(values: torch.Tensor) -> bool:
    """Whether a matrix is the same on both sides of its diagonal, gaps too; nothing as large as it is made.

    Examples
    --------
    >>> nan = float("nan")
    >>> is_alike(torch.tensor([[1.0, nan], [nan, 2.0]])), is_alike(torch.tensor([[1.0, nan], [3.0, 2.0]]))
    (True, False)
    """
    n, apart = len(values), torch.zeros((), dtype=torch.bool, device=values.device)
    for top in range(0, n, BAND):
        rows = slice(top, min(top + BAND, n))
        for left in range(top, n, BAND):
            cols = slice(left, min(left + BAND, n))
            here, there = values[rows, cols], values[cols, rows].T
            apart |= torch.any((here != there) & ~(torch.isnan(here) & torch.isnan(there)))
        if bool(apart):
            return False
    return True


def brought_to(block: Array, device: torch.device) -> torch.Tensor:
    """A block on a device; one that may not be written to is copied first, or PyTorch warns of it."""
    return torch.as_tensor(np.require(block, requirements=["C", "W"])).to(device)


def has_fused(device: torch.device) -> bool:
    """Whether passes on a device are fused: on CUDA's since 2020, where Triton is, and the compiler that it calls."""
    return device.type == "cuda" and _can_fuse() and torch.cuda.get_device_capability(device) >= CAPABLE


@cache
def _can_fuse() -> bool:
    if find_spec("triton") is None:
        return False
    try:
        first, second = (int(part) for part in version("triton").split(".")[:2])
    except (PackageNotFoundError, ValueError):
        return False
    compilers = (os.environ.get("CC", "cc"), "cc", "gcc", "clang")
    return (first, second) >= FUSED_FROM and any(map(shutil.which, compilers))


def passes_for(device: torch.device, dtype: torch.dtype) -> ModuleType:
    """Who does passes with factors of this precision: fused ones in single precision, where there are any."""
    return _fused() if has_fused(device) and dtype == torch.float32 else plain


def _fused() -> ModuleType:
    return import_module("unrelu._old.kernels.device.fused")
