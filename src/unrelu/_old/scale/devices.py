"""On which device a matrix is completed: where it is, or where the caller says."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from unrelu._old.base.engines import NUMPY, noting
from unrelu._old.base.errors import InputError
from unrelu._old.data.inputs import read_table, read_values
from unrelu._old.data.source import Source, source_of
from unrelu._old.data.tensor_source import SMALL, ByBlocks, TensorSource, is_tensor, tensor_checked
from unrelu._old.loop.history import Verdict
from unrelu._old.results.completion import Completion
from unrelu._old.results.tensors import TensorCompletion, in_memory

__all__ = ["where_the_data_are"]

P = ParamSpec("P")
R = TypeVar("R")

# Share of a device's free memory that a matrix may take: passes need little beside it.
ROOM = 0.8
# Options that hold numbers of the matrix's size, and may be tensors.
BESIDE = ("threshold", "unknown", "weights", "sigma", "start", "truth")


def where_the_data_are(*, table: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A front door that also takes tensors and ``device``."""

    def opened(complete: Callable[P, R]) -> Callable[P, R]:
        asked = signature(complete)

        @wraps(complete)
        def door(*args: P.args, **options: P.kwargs) -> R:
            given: dict[str, Any] = dict(asked.bind(*args, **options).arguments)
            device = given.pop("device", None)
            X = given.pop("X")
            X = tensor_checked(X) if is_tensor(X) else X  # once: an answer that is asked later reads it again
            given["start"] = in_memory(given.get("start", "auto"))
            found: Any = _Call(complete, X, given, table).completion(device)
            return found

        return door

    return opened


@dataclass(frozen=True)
class Choice:
    """A device, None for NumPy; and whether the matrix fits there."""

    device: Any
    fits: bool = True


@dataclass(frozen=True, eq=False)
class _Call:
    complete: Callable[..., Any]
    X: Any
    options: dict[str, Any]
    table: bool

    def completion(self, device: Any) -> Any:
        """On the device."""
        options = {**self.options, **{name: self._beside(name, self.options.get(name)) for name in BESIDE}}
        options = {name: value for name, value in options.items() if name in self.options}
        if device is None and not is_tensor(self.X):
            with noting() as engines:  # a source of the caller's may be elsewhere
                found = self.complete(self.X, **options)
            return found if all(engine.startswith(NUMPY) for engine in engines) else _said(found, engines, "")
        there = self._source(choose(device, self.X))
        with noting() as engines:
            found = self._solved(there, options)
        found = _said(found, engines, there.why)
        found = replace(found, source=self.X)
        return TensorCompletion(found, self.X.device) if is_tensor(self.X) else found

    def _beside(self, name: str, value: Any) -> Any:
        """Numbers beside the matrix, in memory, inside tuples too; they are where the matrix is."""
        if isinstance(value, tuple | list) and any(is_tensor(one) for one in value):
            return tuple(self._beside(name, one) for one in value)
        if not is_tensor(value):
            return value
        if is_tensor(self.X) and value.device != self.X.device and value.ndim:
            raise InputError(
                f"X and {name} must be on one device, got {self.X.device} and {value.device}; move one of them with "
                f"{name}.to(X.device)"
            )
        kept = value if name == "unknown" or str(value.dtype) == "torch.bool" else tensor_checked(value, name)
        values = kept.detach().cpu().numpy()
        return float(values) if values.ndim == 0 else values

    def _source(self, choice: Choice) -> _There:
        """The matrix on the device that was chosen, as far as it has room for it."""
        if is_tensor(self.X):
            X = self.X
            if choice.device.type == "cpu" or (choice.device == X.device and X.numel() <= SMALL):
                return _There(X.cpu().numpy())
            if choice.device == X.device:
                return _There(TensorSource(X))
            return self._moved(source_of(X.cpu().numpy()), choice)
        if choice.device is None or choice.device.type == "cpu":
            return _There(self.X)
        return self._moved(self._read(self.X), choice)

    def _read(self, X: Any) -> Source:
        """The values, with the labels of a data frame."""
        if self.table:
            values, axes = read_table(X)
            rows, columns = axes.rows, axes.columns
        else:
            (values, rows), columns = read_values(X), None
        source = source_of(values)
        if isinstance(values, Source):  # the caller's own, which has them
            return source
        source.labels, source.column_labels = rows, columns
        return source

    def _moved(self, source: Source, choice: Choice) -> _There:
        import torch

        if source.shape[0] * source.shape[1] <= SMALL:
            values = source if is_tensor(self.X) else self.X  # with its labels, if there are any
            return _There(values, f"{source.shape[0]}×{source.shape[1]} entries stayed in memory, which is quicker")
        if source.coordinates() is not None:
            return _There(
                ByBlocks(source, choice.device), f"blocks of the sparse matrix go to {choice.device} in each pass"
            )
        if choice.fits:
            with suppress(torch.OutOfMemoryError):
                whole = np.ascontiguousarray(source.block(*(slice(0, length) for length in source.shape)))
                there = TensorSource(_tensor(whole).to(choice.device))
                there.labels, there.column_labels = source.labels, source.column_labels
                return _There(there)
        why = f"the matrix does not fit on {choice.device}, so that blocks go there in each pass"
        return _There(ByBlocks(source, choice.device), why)

    def _solved(self, there: _There, options: dict[str, Any]) -> Any:
        """The answer; where the device has too little memory, from the matrix in memory and blocks of it there."""
        if not isinstance(there.values, Source) or there.values.device is None:
            return self.complete(there.values, **options)
        import torch

        from unrelu._old.kernels.device.undisturbed import undisturbed

        device, shape = there.values.device, there.values.shape
        with undisturbed():
            try:
                return self.complete(there.values, **options)
            except torch.OutOfMemoryError:
                pass  # what failed holds memory of the device until this is over
            there.why = f"{device} ran out of memory, so that blocks went there in each pass"
            whole = there.values.block(*(slice(0, length) for length in shape))
            there.values = ByBlocks(source_of(whole), device)
            gc.collect()
            torch.cuda.empty_cache()
            return self.complete(there.values, **options)


@dataclass
class _There:
    """The matrix where it is completed, and why there."""

    values: Any
    why: str = ""


def choose(device: Any, X: Any) -> Choice:
    """The device that is meant; None stands for where the matrix is."""
    if device is None:
        return Choice(X.device if is_tensor(X) else None)
    if find_spec("torch") is None:
        if str(device) == "cpu":
            return Choice(None)
        raise InputError(
            f"device={str(device)!r} needs PyTorch, which is not installed; install it with pip install "
            "'unrelu[torch]', or drop device="
        )
    import torch

    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError):
        raise InputError(
            f"device must be 'cpu', 'cuda' or a torch.device, got {device!r}; pass 'cuda' for a GPU"
        ) from None
    if wanted.type == "cpu":
        return Choice(wanted)
    if wanted.type != "cuda":
        raise InputError(f"device must be 'cpu' or 'cuda', got {device!r}; move the tensor there yourself")
    if not torch.cuda.is_available():
        raise InputError(
            f"device={str(device)!r} was asked for, but PyTorch {torch.__version__} sees no CUDA device here; drop "
            "device="
        )
    if wanted.index is not None and wanted.index >= torch.cuda.device_count():
        raise InputError(
            f"device={str(device)!r} was asked for, but PyTorch sees {torch.cuda.device_count()} CUDA devices, counted "
            "from 0; name one of them"
        )
    index = torch.cuda.current_device() if wanted.index is None else wanted.index
    return Choice(torch.device("cuda", index), fits=_fits(X, index))


def _fits(X: Any, index: int) -> bool:
    """Whether a matrix has room on a CUDA device."""
    import torch

    shape = getattr(X, "shape", (0, 0))
    single = "float32" in str(getattr(X, "dtype", ""))  # all others are computed in doubles
    free = torch.cuda.mem_get_info(index)[0] + torch.cuda.memory_reserved(index) - torch.cuda.memory_allocated(index)
    return int(shape[0]) * int(shape[1]) * (4 if single else 8) <= ROOM * free


def _tensor(values: Any) -> Any:
    """An array as a tensor that shares its memory; one that may not be written to is copied, or PyTorch warns."""
    import torch

    return torch.as_tensor(values if values.flags.writeable else values.copy())


def _said(found: Completion, engines: list[str], why: str) -> Completion:
    """With the engine in the verdict."""
    known = sorted(engines, key=lambda engine: engine.startswith(NUMPY))
    engine = " and ".join(known) if known else f"{NUMPY} in {found.factor.dtype.name}"
    words = "; ".join([found.verdict.reason, *([why] if why else []), f"by {engine}"])
    return replace(found, verdict=Verdict(found.verdict.code, words), engine=engine)
