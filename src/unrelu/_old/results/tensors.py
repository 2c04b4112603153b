"""A completion whose arrays are tensors, where the caller's matrix is one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from unrelu._old.data.tensor_source import is_tensor
from unrelu._old.results.completion import Completion

__all__ = ["TensorCompletion", "in_memory"]


class TensorCompletion:
    """A :class:`Completion` as seen from PyTorch: arrays that it gives are tensors on the device of the data.

    It has everything that a completion has, and takes tensors where that takes arrays. ``numpy()`` is the completion
    itself.

    Parameters
    ----------
    completion : Completion
    device : torch.device

    Examples
    --------
    >>> import torch, unrelu
    >>> U = torch.randn((40, 2), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    >>> M = U @ U.T
    >>> found = unrelu.complete(torch.where(M >= 0, M, torch.nan), rank=2, rng=0)
    >>> found.verdict.code.value, bool((found.matrix() - M).abs().max() < 1e-9)
    ('fitted', True)
    """

    def __init__(self, completion: Completion, device: Any) -> None:
        self._completion, self._device = completion, device

    def numpy(self) -> Completion:
        """The same with arrays of NumPy's."""
        return self._completion

    def matrix(self, undetermined: str = "keep") -> Any:
        """The fit everywhere, multiplied on the device: :meth:`Completion.matrix`."""
        if undetermined != "keep":
            return self._there(self._completion.matrix(undetermined))
        from unrelu._old.kernels.device.undisturbed import undisturbed

        left, right = (self._there(side) for side in (self._completion.factors.left, self._completion.factors.right))
        with undisturbed():
            return left @ right.T

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._completion, name)
        if not callable(found):
            return self._there(found)

        @wraps(found)
        def called(*args: Any, **options: Any) -> Any:
            here = {option: _here(value) for option, value in options.items()}
            return self._there(found(*(_here(value) for value in args), **here))

        return called

    def __repr__(self) -> str:
        return f"{self._completion!r} as tensors on {self._device}"

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._completion), "numpy"})

    def __reduce__(self) -> tuple[Callable[..., TensorCompletion], tuple[Any, ...]]:
        return TensorCompletion, (self._completion, self._device)

    def _there(self, value: Any) -> Any:
        """Arrays become tensors, inside tuples too."""
        import torch

        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            return torch.as_tensor(value.copy()).to(self._device)
        if type(value) is tuple:
            return tuple(self._there(one) for one in value)
        return value


def in_memory(completion: Any) -> Any:
    """The completion itself, where its tensors were given; anything else as it is."""
    return completion.numpy() if isinstance(completion, TensorCompletion) else completion


def _here(value: Any) -> Any:
    return value.detach().cpu().numpy() if is_tensor(value) else value
