"""An array on a device that NumPy's functions take: what methods do with factors happens where the passes run.

Methods are written for NumPy. By NumPy's own protocols (NEP 13 and NEP 18) the few things that they do in every step,
sums, products and norms of n×r numbers, are done on the device; everything else is done with a copy in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["DeviceArray", "tensor_of"]

DTYPES: dict[torch.dtype, np.dtype[Any]] = {torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64)}
BACK = {numbers: there for there, numbers in DTYPES.items()}
# Element by element, and products: the same there as here.
SAME: dict[Any, Callable[..., Any]] = {
    np.add: torch.add,
    np.subtract: torch.subtract,
    np.multiply: torch.multiply,
    np.true_divide: torch.true_divide,
    np.negative: torch.negative,
    np.absolute: torch.abs,
    np.square: torch.square,
    np.sqrt: torch.sqrt,
    np.matmul: torch.matmul,
}


class DeviceArray(NDArrayOperatorsMixin):
    """A tensor that stands where methods expect an array of NumPy's.

    Parameters
    ----------
    tensor : torch.Tensor
        float32 or float64.

    Examples
    --------
    >>> there = DeviceArray(torch.ones((2, 3)))
    >>> (np.float32(2) * there).tensor.sum().item(), float(np.vdot(there, there)), np.asarray(there).shape
    (12.0, 6.0, (2, 3))
    """

    # Before NumPy's own, so that a number of NumPy's times this is asked here.
    __array_priority__ = 1000

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={self.tensor.device})"

    @property
    def shape(self) -> tuple[int, ...]:
        """As of any array."""
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        """As of any array."""
        return self.tensor.ndim

    @property
    def size(self) -> int:
        """As of any array."""
        return self.tensor.numel()

    @property
    def dtype(self) -> np.dtype[Any]:
        """As NumPy calls it."""
        return DTYPES[self.tensor.dtype]

    @property
    def T(self) -> DeviceArray:
        """Transposed."""
        return DeviceArray(self.tensor.T)

    def __len__(self) -> int:
        return len(self.tensor)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A copy in memory."""
        values = self.tensor.detach().cpu().numpy()
        values = values.copy() if self.tensor.device.type == "cpu" and copy is not False else values
        return values if dtype is None else values.astype(dtype, copy=False)

    def __getitem__(self, place: Any) -> Any:
        """In memory; whole slices of rows stay there."""
        if isinstance(place, slice):
            return DeviceArray(self.tensor[place])
        return np.asarray(self)[place]

    def astype(self, dtype: Any, copy: bool = True) -> DeviceArray:
        """In another precision."""
        wanted = BACK[np.dtype(dtype)]
        return self if wanted == self.tensor.dtype and not copy else DeviceArray(self.tensor.to(wanted, copy=copy))

    def copy(self) -> DeviceArray:
        """The same in another place."""
        return DeviceArray(self.tensor.clone())

    def any(self) -> bool:
        """Whether anything is not zero."""
        return bool(torch.any(self.tensor != 0))

    def __getattr__(self, name: str) -> Any:
        """Everything else that an array has, of a copy in memory; but what would change that, and nothing here."""
        if name.startswith("__") or name in ("tensor", "fill", "partition", "put", "resize", "setflags", "sort"):
            raise AttributeError(f"DeviceArray has no {name}; take numpy.asarray of it")
        return getattr(np.asarray(self), name)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """There, if that is known and asked for plainly; else in memory."""
        into = options.get("out", (None,))[0]
        if isinstance(into, DeviceArray):  # an operation in place
            found = getattr(function, method)(*inputs, **{name: one for name, one in options.items() if name != "out"})
            into.tensor.copy_(tensor_of(found, into.tensor))
            return into
        if method == "__call__" and function in SAME and not options and all(_fits(one) for one in inputs):
            first = next(one for one in inputs if isinstance(one, DeviceArray)).tensor
            return DeviceArray(SAME[function](*(_there(one, first) for one in inputs)))
        return getattr(function, method)(*(_here(one) for one in inputs), **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """There, if that is known; else in memory."""
        own = OWN.get(function)
        if own is not None and not options:
            found = own(*args)
            if found is not NotImplemented:
                return found
        return function(*_all_here(args), **{name: _all_here(value) for name, value in options.items()})


def tensor_of(array: Any, like: torch.Tensor) -> torch.Tensor:
    """An array, of either kind, where another is and in its precision."""
    if isinstance(array, DeviceArray):
        return array.tensor.to(like.device, like.dtype)
    return torch.as_tensor(np.ascontiguousarray(array)).to(like.device, like.dtype)


def _fits(one: Any) -> bool:
    return isinstance(one, DeviceArray | np.ndarray | np.number | float | int)


def _there(one: Any, like: torch.Tensor) -> Any:
    """A number stays one, so that the precision is that of the arrays."""
    if isinstance(one, DeviceArray):
        return one.tensor
    if np.ndim(one) == 0:
        return float(one)
    return tensor_of(one, like)


def _here(one: Any) -> Any:
    return np.asarray(one) if isinstance(one, DeviceArray) else one


def _all_here(value: Any) -> Any:
    """The same in memory, inside tuples and lists too."""
    if isinstance(value, tuple | list):
        return type(value)(_all_here(one) for one in value)
    return _here(value)


def _inner(one: Any, other: Any) -> Any:
    """Σ x y."""
    first = (one if isinstance(one, DeviceArray) else other).tensor
    one, other = (tensor_of(side, first).reshape(-1) for side in (one, other))
    return np.float64(torch.dot(one, other).item())


def _zeros_like(one: Any) -> Any:
    return DeviceArray(torch.zeros_like(one.tensor))


def _norm(one: Any, *how: Any, **more: Any) -> Any:
    if how or more:
        return NotImplemented
    return np.float64(torch.linalg.vector_norm(one.tensor).item())


def _beside(arrays: Any) -> Any:
    """Columns beside columns."""
    arrays = list(arrays)
    first = next((one.tensor for one in arrays if isinstance(one, DeviceArray)), None)
    if first is None or any(np.ndim(one) != 2 for one in arrays):
        return NotImplemented
    return DeviceArray(torch.cat([tensor_of(one, first) for one in arrays], dim=1))


OWN: dict[Any, Callable[..., Any]] = {
    np.vdot: _inner,
    np.zeros_like: _zeros_like,
    np.linalg.norm: _norm,
    np.hstack: _beside,
    np.shape: lambda one: one.shape,
    np.ndim: lambda one: one.ndim,
}
