"""What a caller has set for PyTorch as a whole, such as automatic precision, set aside for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

__all__ = ["alone", "undisturbed"]

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def undisturbed() -> Iterator[None]:
    """Products of single-precision numbers are made in single precision, and no gradients are followed.

    Examples
    --------
    >>> with torch.autocast("cpu", dtype=torch.bfloat16), undisturbed():
    ...     (torch.ones((2, 2)) @ torch.ones((2, 2))).dtype
    torch.float32
    """
    with (
        torch.no_grad(),
        torch.autocast("cuda", enabled=False),
        torch.autocast("cpu", enabled=False),
        _products_in_full(),
    ):
        yield


@contextmanager
def _products_in_full() -> Iterator[None]:
    """Products are made in single precision, by the setting that PyTorch has always had and by those that it has now.

    PyTorch refuses to multiply where the two disagree. The old one sets all of them.
    """
    try:
        usual = torch.get_float32_matmul_precision()
    except RuntimeError:  # it was left as it begins, and a new one says something else
        usual = "highest"
    newer = [one for one in (torch.backends.cuda.matmul, _on_cpu()) if hasattr(one, "fp32_precision")]
    before = [one.fp32_precision for one in newer]
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(usual)
        for one, precision in zip(newer, before, strict=True):
            one.fp32_precision = precision


def _on_cpu() -> Any:
    return getattr(torch.backends.mkldnn, "matmul", None)


def alone(function: Callable[P, R]) -> Callable[P, R]:
    """A function that runs so."""

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        with undisturbed():
            found: Any = function(*args, **options)
        return found

    return called
