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
    products = torch.backends.cuda.matmul
    name, exact = ("fp32_precision", "ieee") if hasattr(products, "fp32_precision") else ("allow_tf32", False)
    before = getattr(products, name)
    with torch.no_grad(), torch.autocast("cuda", enabled=False), torch.autocast("cpu", enabled=False):
        setattr(products, name, exact)
        try:
            yield
        finally:
            setattr(products, name, before)


def alone(function: Callable[P, R]) -> Callable[P, R]:
    """A function that runs so."""

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        with undisturbed():
            found: Any = function(*args, **options)
        return found

    return called
