"""On which device a matrix is completed: where it is, where the caller says, or where it is done soonest."""

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

from unrelu.base.engines import NUMPY, noting
from unrelu.base.errors import InputError, warn
from unrelu.data.inputs import read_table, read_values
from unrelu.data.source import Source, source_of
from unrelu.data.tensor_source import SMALL, ByBlocks, TensorSource, is_tensor, tensor_checked
from unrelu.loop.history import Verdict
from unrelu.results.completion import Completion
from unrelu.results.tensors import TensorCompletion, in_memory
from unrelu.solvers import SAMPLERS

__all__ = ["where_the_data_are"]

P = ParamSpec("P")
R = TypeVar("R")

# From so many rows on, or their number squared in entries, a device is worth the way there.
WORTH = 4000
# Share of a device's free memory that a matrix may take: passes need little beside it.
ROOM = 0.8
# Options that hold numbers of the matrix's size, and may be tensors.
BESIDE = ("threshold", "unknown", "weights", "sigma", "start", "truth")
FINISHES = (None, "float64")
# Between this and its inverse values have all digits of single precision.
SINGLE = 1e30


def where_the_data_are(*, table: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A front door that also takes tensors, ``device`` and ``finish``."""

    def opened(complete: Callable[P, R]) -> Callable[P, R]:
        asked = signature(complete)

        @wraps(complete)
        def door(*args: P.args, **options: P.kwargs) -> R:
            given: dict[str, Any] = dict(asked.bind(*args, **options).arguments)
            device, finish = given.pop("device", None), given.pop("finish", None)
            X = given.pop("X")
            X = tensor_checked(X) if is_tensor(X) else X  # once: an answer that is asked later reads it again
            given["start"] = in_memory(given.get("start", "auto"))
            found: Any = _Call(complete, X, given, table).completion(device, finish)
            return found

        return door

    return opened


@dataclass(frozen=True)
class Choice:
    """A device, None for NumPy; and why, in words, where that was not the caller's."""

    device: Any
    why: str = ""
    fits: bool = True


@dataclass(frozen=True, eq=False)
class _Call:
    complete: Callable[..., Any]
    X: Any
    options: dict[str, Any]
    table: bool

    def completion(self, device: Any, finish: Any) -> Any:
        """On the device, and finished in double precision if that is asked for."""
        if finish not in FINISHES:
            raise InputError(f"finish must be 'float64', or None for the precision of the data; got {finish!r}")
        method = self.options.get("method", "auto")
        if finish is not None and isinstance(method, str) and method in SAMPLERS:
            raise InputError(f"finish is for one answer, and method={method!r} gives a posterior; drop one of them")
        options = {**self.options, **{name: self._beside(name, self.options.get(name)) for name in BESIDE}}
        options = {name: value for name, value in options.items() if name in self.options}
        if device is None and finish is None and not is_tensor(self.X):
            with noting() as engines:  # a source of the caller's may be elsewhere
                found = self.complete(self.X, **options)
            return found if all(engine.startswith(NUMPY) for engine in engines) else _said(found, engines, "")
        there = self._source(choose(device, self.X))
        with noting() as engines:
            found = self._solved(there, options, finish)
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
                return _There(X.cpu().numpy(), choice.why)
            if choice.device == X.device:
                return _There(TensorSource(X), choice.why)
            return self._moved(source_of(X.cpu().numpy()), choice)
        if choice.device is None or choice.device.type == "cpu":
            return _There(self.X, choice.why)
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
                return _There(_named(TensorSource(_tensor(whole).to(choice.device)), source), choice.why)
        why = choice.why or f"the matrix does not fit on {choice.device}, so that blocks go there in each pass"
        return _There(ByBlocks(source, choice.device), why)

    def _solved(self, there: _There, options: dict[str, Any], finish: Any) -> Any:
        """The answer; where the device has too little memory, from the matrix in memory and blocks of it there."""
        if not isinstance(there.values, Source) or there.values.device is None:
            return self._finished(there.values, options, finish)
        import torch

        from unrelu.kernels.device.undisturbed import undisturbed

        device, shape = there.values.device, there.values.shape
        with undisturbed():
            try:
                return self._finished(there.values, options, finish)
            except torch.OutOfMemoryError:
                pass  # what failed holds memory of the device until this is over
            there.why = f"{device} ran out of memory, so that blocks went there in each pass"
            whole = there.values.block(*(slice(0, length) for length in shape))
            there.values = ByBlocks(source_of(whole), device)
            gc.collect()
            torch.cuda.empty_cache()
            return self._finished(there.values, options, finish)

    def _finished(self, values: Any, options: dict[str, Any], finish: Any) -> Any:
        if finish is None:
            return self.complete(values, **options)
        source = self._read(values)
        if not _single(source):
            warn(
                "finish='float64' begins in single precision, which has no room for values of this size",
                "it is solved in double precision alone",
            )
            return self.complete(_named(source.in_dtype(np.float64), source), **options)
        first = self.complete(_named(source.in_dtype(np.float32), source), **options)
        if first.forecasts:
            warn("finish='float64' is for a fit of low rank, and this matrix has none", "it stays in float32")
            return first
        how = {"method": "gauss-newton", "rank": first.rank, "start": first, "loss": first.loss}
        return self.complete(_named(source.in_dtype(np.float64), source), **{**options, **how})


@dataclass
class _There:
    """The matrix where it is completed, and why there."""

    values: Any
    why: str = ""


def choose(device: Any, X: Any) -> Choice:
    """The device that is meant; None stands for where the matrix is."""
    if device is None:
        return Choice(X.device if is_tensor(X) else None)
    if isinstance(device, str) and device == "auto":
        return _soonest(X)
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
            f"device must be 'auto', 'cpu', 'cuda' or a torch.device, got {device!r}; pass 'cuda' for a GPU"
        ) from None
    if wanted.type == "cpu":
        return Choice(wanted)
    if wanted.type != "cuda":
        raise InputError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}; move the tensor there yourself")
    if not torch.cuda.is_available():
        raise InputError(
            f"device={str(device)!r} was asked for, but PyTorch {torch.__version__} sees no CUDA device here; drop "
            "device=, or pass device='auto', which takes one only where there is one"
        )
    if wanted.index is not None and wanted.index >= torch.cuda.device_count():
        raise InputError(
            f"device={str(device)!r} was asked for, but PyTorch sees {torch.cuda.device_count()} CUDA devices, counted "
            "from 0; name one of them"
        )
    index = torch.cuda.current_device() if wanted.index is None else wanted.index
    return Choice(torch.device("cuda", index), fits=_fits(X, index))


def _soonest(X: Any) -> Choice:
    """NumPy, unless there is a CUDA device and the matrix is large."""
    here = Choice(X.device if is_tensor(X) else None)
    if find_spec("torch") is None:
        return replace(here, why="device='auto' stayed in memory, for PyTorch is not installed")
    import torch

    if not torch.cuda.is_available():
        return replace(here, why="device='auto' stayed in memory, for PyTorch sees no CUDA device")
    shape = getattr(X, "shape", (0, 0))
    if len(shape) != 2 or shape[0] * shape[1] < WORTH**2:
        return replace(here, why=f"device='auto' stayed in memory, which is quicker below {WORTH} rows")
    index = torch.cuda.current_device()
    device, name = torch.device("cuda", index), torch.cuda.get_device_name(index)
    if _fits(X, index):
        return Choice(device, f"device='auto' took {device}, {name}, on which the matrix fits")
    why = f"device='auto' took {device}, {name}, by blocks, for the matrix does not fit there"
    return Choice(device, why, fits=False)


def _fits(X: Any, index: int) -> bool:
    """Whether a matrix has room on a CUDA device."""
    import torch

    shape = getattr(X, "shape", (0, 0))
    single = "float32" in str(getattr(X, "dtype", ""))  # all others are computed in doubles
    free = torch.cuda.mem_get_info(index)[0] + torch.cuda.memory_reserved(index) - torch.cuda.memory_allocated(index)
    return int(shape[0]) * int(shape[1]) * (4 if single else 8) <= ROOM * free


def _single(source: Source) -> bool:
    """Whether the largest value, and its square root with digits to spare, are numbers of single precision."""
    told = source.summary()
    if told is not None:
        sizes = [abs(told.low), abs(told.high)] if told.count else []
    else:
        sizes = [float(np.max(np.abs(values), where=~np.isnan(values), initial=0.0)) for _, values in source.bands()]
    size = max(sizes, default=0.0)
    return size == 0 or not np.isfinite(size) or 1 / SINGLE < size < SINGLE


def _named(source: Source, like: Source) -> Source:
    """A source with the labels of another."""
    if source is not like:
        source.labels, source.column_labels = like.labels, like.column_labels
    return source


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
