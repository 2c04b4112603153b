"""Tensors of PyTorch as sources: their values stay on the device where they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.base.errors import InputError, warn
from unrelu._old.data.gather import length_of
from unrelu._old.data.source import SCAN_ENTRIES, ArraySource, Place, Source
from unrelu._old.data.summary import Summary

__all__ = ["SMALL", "ByBlocks", "TensorSource", "is_tensor", "tensor_checked"]

# Up to so many entries what is made of a tensor comes into memory: a pass there takes less than a launch here.
SMALL = 1 << 18
# Rows of a tensor that are looked at together, in entries: temporaries of a few hundred megabytes there; and those
# that come into memory.
AT_ONCE, AT_ONCE_HERE = 1 << 26, 1 << 23
# Between these the square of a double is one.
SQUARED = 1e-140, 1e140


def is_tensor(X: Any) -> bool:
    """Whether an object is a tensor of PyTorch, told without loading it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def tensor_checked(X: Any, name: str = "X") -> Any:
    """A tensor of numbers in single or double precision; others are converted, and half precision says so."""
    import torch

    if X.is_nested:
        raise InputError(f'{name} must be a plain tensor, got a nested one; use {name}.to_padded_tensor(float("nan"))')
    if X.layout is not torch.strided:
        raise InputError(
            f"{name} must be a dense tensor, NaN where nothing was seen, got layout {X.layout}; pass a scipy sparse "
            f"matrix of its values, or {name}.to_dense() with NaN in the gaps"
        )
    if X.dtype.is_complex:
        raise InputError(f"{name} must be real, got complex dtype {X.dtype}; pass the real part if that is meant")
    if X.device.type == "meta":
        raise InputError(f"{name} is on the device meta, where tensors have no values; make it on cpu or cuda")
    if X.is_quantized:
        raise InputError(f"{name} must be a plain tensor, got a quantized one; give its values, {name}.dequantize()")
    if X.dtype is torch.bool:
        raise InputError(f"{name} must hold numbers, got a boolean tensor; is this the mask rather than the values?")
    X = X.detach().resolve_neg()
    if X.dtype in (torch.float32, torch.float64):
        return X
    if X.dtype.is_floating_point:
        warn(
            f"{name} came in half precision, {X.dtype}, which has three digits",
            "it is computed in float32; give float32 or float64 values if there are more",
        )
        return X.to(torch.float32)
    return X.to(torch.float64)


class TensorSource(Source):
    """A dense tensor on any device, not copied: NaN where nothing was seen.

    Blocks that are asked for come into memory; passes over all of it run where it is. ``dtype`` is the precision that
    is computed in, which need not be that of the values.

    Parameters
    ----------
    tensor : torch.Tensor of two dimensions
    dtype : dtype of NumPy's, optional
        Default: that of the tensor.

    Examples
    --------
    >>> import torch
    >>> source = TensorSource(torch.tensor([[1.0, float("nan")], [float("nan"), 2.0]]))
    >>> source.dtype.name, source.block(slice(0, 1), slice(0, 2)).tolist(), source.in_dtype(float).dtype.name
    ('float32', [[1.0, nan]], 'float64')
    """

    thread_safe = checks_blocks = stored_whole = True

    def __init__(self, tensor: Any, dtype: Any = None) -> None:
        if not is_tensor(tensor):
            raise InputError(
                f"TensorSource takes a tensor of PyTorch, got {type(tensor).__name__}; pass it as X itself"
            )
        if tensor.ndim != 2:
            raise InputError(f"X must be a matrix (2-D), got a {tensor.ndim}-D tensor of shape {tuple(tensor.shape)}")
        self.tensor, self._known = tensor_checked(tensor), dict[str, bool | None]()
        self.shape = (int(tensor.shape[0]), int(tensor.shape[1]))
        self.dtype = np.dtype(str(self.tensor.dtype).partition(".")[2] if dtype is None else dtype)
        self.device = tensor.device
        self.at_hand = tensor.device.type == "cpu"  # type: ignore[misc]

    def _here(self, values: Any) -> Array:
        found: Array = values.cpu().numpy().astype(self.dtype, copy=False)
        return found

    def _place(self, place: Place) -> Any:
        import torch

        return place if isinstance(place, slice) else torch.as_tensor(np.asarray(place)).to(self.tensor.device)

    def block(self, rows: Place, cols: Place) -> Array:
        """A block, brought into memory."""
        i, j = self._place(rows), self._place(cols)
        fewer_rows = length_of(rows, self.shape[0]) * self.shape[1] <= self.shape[0] * length_of(cols, self.shape[1])
        return self._here(self.tensor[i][:, j] if fewer_rows else self.tensor[:, j][i])

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        return self._here(self.tensor[self._place(rows), self._place(cols)])

    def bands(self) -> Iterator[tuple[int, Array]]:
        """Everything, a few rows at a time: in larger parts where each must travel."""
        step = max(1, (SCAN_ENTRIES if self.at_hand else AT_ONCE_HERE) // max(self.shape[1], 1))
        for start in range(0, self.shape[0], step):
            yield start, self._here(self.tensor[start : start + step])

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns: in memory if they are few, else where they are."""
        if len(rows) * len(cols) <= SMALL:
            return ArraySource(self.block(rows, cols))
        return TensorSource(self.tensor[self._place(rows)][:, self._place(cols)], self.dtype)

    def in_dtype(self, dtype: Any) -> Source:
        """The same values, computed with in another precision; they are not copied."""
        other = TensorSource(self.tensor, np.dtype(dtype))
        other._known = self._known
        return other

    @property
    def alike(self) -> bool | None:
        """Whether the matrix is the same on both sides of its diagonal, for everyone with this tensor."""
        return self._known.get("alike")

    @alike.setter
    def alike(self, value: bool | None) -> None:
        self._known["alike"] = value

    def without(self, rows: Indices, cols: Indices) -> Source:
        """The same without some entries, a copy."""
        values = self.tensor.clone()
        values[self._place(rows), self._place(cols)] = float("nan")
        return TensorSource(values, self.dtype)

    def seen_at(self, rows: Indices, cols: Indices) -> Bools:
        """Whether single entries were seen, whatever precision has room for them."""
        import torch

        seen: Bools = ~torch.isnan(self.tensor[self._place(rows), self._place(cols)]).cpu().numpy()
        return seen

    def symmetric(self) -> bool:
        """Whether (i, j) was seen exactly if (j, i) was."""
        import torch

        n, step = self.shape[0], max(1, AT_ONCE // max(self.shape[0], 1))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            if not torch.equal(torch.isnan(self.tensor[rows]), torch.isnan(self.tensor[:, rows]).T):
                return False
        return True

    def summary(self) -> Summary:
        """Counts, norm and ends of all values, found where they are."""
        import torch

        height, width = self.shape
        there = dict(device=self.tensor.device)
        across, down = [], torch.zeros(width, dtype=torch.int64, **there)
        least, most = (torch.full((), end, dtype=self.tensor.dtype, **there) for end in (torch.inf, -torch.inf))
        squares, step = torch.zeros((), dtype=torch.float64, **there), max(1, AT_ONCE // max(width, 1))
        bands = [self.tensor[start : start + step] for start in range(0, height, step)]
        for values in bands:  # nothing is asked back before the end
            seen = ~torch.isnan(values)
            across.append(seen.sum(dim=1))
            down += seen.sum(dim=0)
            squares += torch.linalg.vector_norm(torch.where(seen, values, 0), dtype=torch.float64).square()
            least = torch.minimum(least, torch.where(seen, values, torch.inf).amin())
            most = torch.maximum(most, torch.where(seen, values, -torch.inf).amax())
        low, high, norm = float(least), float(most), float(squares) ** 0.5
        size = max(abs(low), abs(high))
        if np.isfinite(size) and size > 0 and not SQUARED[0] < size < SQUARED[1]:
            parts = (torch.linalg.vector_norm(torch.nan_to_num(band.to(torch.float64) / size)) for band in bands)
            norm = size * float(np.hypot.reduce([float(part) for part in parts]))
        return Summary(torch.cat(across).cpu().numpy(), down.cpu().numpy(), norm, low, high)


class ByBlocks(Source):
    """Another source, whose blocks go to a device one after the other in each pass: what does not fit there at once.

    Parameters
    ----------
    source : Source
    device : torch.device
    """

    def __init__(self, source: Source, device: Any) -> None:
        self.source, self.device = source, device
        self.shape, self.dtype = source.shape, source.dtype
        self.labels, self.column_labels = source.labels, source.column_labels
        self.thread_safe, self.at_hand = source.thread_safe, source.at_hand  # type: ignore[misc]
        self.checks_blocks, self.stored_whole = source.checks_blocks, source.stored_whole  # type: ignore[misc]
        self.block_shape = source.block_shape

    def block(self, rows: Place, cols: Place) -> Array:
        """That of the other."""
        return self.source.block(rows, cols)

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        return self.source.at(rows, cols)

    def bands(self) -> Iterator[tuple[int, Array]]:
        """Everything, a few rows at a time."""
        return self.source.bands()

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns: in memory if they are few."""
        part = self.source.part(rows, cols)
        return part if len(rows) * len(cols) <= SMALL else ByBlocks(part, self.device)

    def in_dtype(self, dtype: Any) -> Source:
        """The same in another precision."""
        return ByBlocks(self.source.in_dtype(dtype), self.device)

    def without(self, rows: Indices, cols: Indices) -> Source:
        """The same without some entries."""
        return ByBlocks(self.source.without(rows, cols), self.device)

    def symmetric(self) -> bool:
        """As the other."""
        return self.source.symmetric()
