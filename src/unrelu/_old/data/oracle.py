"""Any object with ``shape`` and ``block(rows, cols)`` as a source: a database, a service, a formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, is_integer
from unrelu._old.data.counted import block_named, expect_same, expect_shape, read_block
from unrelu._old.data.far import Far
from unrelu._old.data.source import Place

__all__ = ["OracleSource", "is_oracle"]


def is_oracle(X: Any) -> bool:
    """Whether an object says how large a matrix is, and what is in a block of it."""
    return hasattr(X, "shape") and callable(getattr(X, "block", None))


class OracleSource(Far):
    """What an object answers when it is asked for blocks; it is asked for nothing until a block is needed.

    Parameters
    ----------
    oracle : object
        ``shape`` is (rows, columns), and ``block(rows, cols)`` gives the values of that block, NaN where nothing was
        seen; rows and cols are slices or arrays of positions. It may have ``dtype`` (float32 or float64; blocks are
        cast to it), ``labels``, ``column_labels``, and ``thread_safe = True`` if several threads may ask at once;
        else only one does. After an OSError, or an exception whose ``transient`` is true, it is asked again up to
        `unrelu._old.data.counted.RETRIES` times.

    Examples
    --------
    >>> class Service:
    ...     shape = (3, 3)
    ...
    ...     def block(self, rows, cols):
    ...         return np.add.outer(np.arange(3)[rows], np.arange(3)[cols])
    >>> OracleSource(Service()).block(slice(0, 2), np.array([2]))
    array([[2.], [3.]])
    """

    checks_blocks = True

    def __init__(self, oracle: Any) -> None:
        self.oracle, self.who = oracle, type(oracle).__name__
        self.shape = _shape(oracle.shape, self.who)
        self.dtype = _dtype(getattr(oracle, "dtype", None), self.who)
        self.labels = _labels(oracle, "labels", self.shape[0], self.who)
        self.column_labels = _labels(oracle, "column_labels", self.shape[1], self.who)
        self.thread_safe = getattr(oracle, "thread_safe", False) is True  # type: ignore[misc]
        grid = getattr(oracle, "block_shape", None)
        self.block_shape = None if grid is None else _shape(grid, self.who, "block_shape")

    def block(self, rows: Place, cols: Place) -> Array:
        """What it answers."""
        expect_same(self.who, self.oracle.shape, self.shape)
        found = read_block(self.oracle.block, self.who, rows, cols)
        try:
            block = np.asarray(found)
        except ValueError:  # rows of different lengths
            block = np.asarray(None)
        if block.dtype.kind not in "fiu":
            raise InputError(
                f"{self.who} gave {type(found).__name__} of dtype {block.dtype} for {block_named(rows, cols)}, "
                "expected a matrix of numbers; give an array of floats, NaN where nothing was seen"
            )
        expect_shape(block, self.who, rows, cols, self.shape)
        return block.astype(self.dtype, copy=False)


def _shape(shape: Any, who: str, what: str = "shape") -> tuple[int, int]:
    try:
        found = tuple(shape)
    except TypeError:
        found = ()
    if len(found) != 2 or not all(is_integer(length) and length >= 0 for length in found):
        raise InputError(f"{what} of {who} must be two integers such as (200, 200), got {shape!r}")
    return int(found[0]), int(found[1])


def _dtype(dtype: Any, who: str) -> np.dtype[Any]:
    try:
        kind = np.dtype(np.float64 if dtype is None else dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind.kind not in "fiu":
        raise InputError(f"dtype of {who} must be np.dtype('float64') or np.dtype('float32'), got {dtype!r}")
    return np.dtype(np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64)


def _labels(oracle: Any, name: str, length: int, who: str) -> tuple[Any, ...] | None:
    labels = getattr(oracle, name, None)
    if labels is None:
        return None
    found = tuple(labels)
    if len(found) != length:
        raise InputError(f"{name} of {who} must be {length}, one for each, got {len(found)}; give all of them or none")
    return found
