"""What may be said of a large matrix: how much memory there is, and how it is to be completed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unrelu._old.base.errors import InputError, is_integer, is_number
from unrelu._old.scale.arithmetic import AT_ONCE
from unrelu._old.scale.blocks import SIDE, Data

__all__ = ["Landmarks", "bytes_of", "side_for"]

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
# Blocks in memory at once: one for each of two cores, and one that waits.
IN_FLIGHT = 3
# The smallest block where the source has no grid of its own.
SMALLEST = 128


@dataclass(frozen=True)
class Landmarks:
    """``method="landmarks"``: a block of few rows is solved, all others are attached to it, and with noise polished.

    Parameters
    ----------
    count : int, optional
        Rows of the block that is solved first. Default: 40 times the rank, and at least 150.
    columns : int, optional
        With noise: read so many further columns of every row, instead of all entries. Default for an oracle: 10 times
        ``count``; for everything else all entries.
    passes : int, optional
        Most passes over all entries, or over those columns; 0 for none. Default: until there is nothing left to gain,
        and at most 12.

    Examples
    --------
    >>> Landmarks(count=5, passes=0)
    Landmarks(count=5, columns=None, passes=0)
    """

    count: int | None = None
    columns: int | None = None
    passes: int | None = None

    name = "landmarks"

    def __post_init__(self) -> None:
        for name, least in (("count", 1), ("columns", 1), ("passes", 0)):
            value = getattr(self, name)
            if value is not None and not (is_integer(value) and value >= least):
                raise InputError(f"{name} of landmarks must be an integer ≥ {least}, or None; got {value!r}")


def bytes_of(size: Any, name: str = "peak_memory") -> int | None:
    """A number of bytes, or a text such as ``"800MB"``, as a number of bytes.

    Examples
    --------
    >>> bytes_of("800MB"), bytes_of("1.5 GiB"), bytes_of(4096), bytes_of(None)
    (800000000, 1610612736, 4096, None)
    """
    if size is None:
        return None
    if is_number(size) and size > 0:
        return int(size)
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", size) if isinstance(size, str) else None
    if found is None or found[2].upper() not in UNITS or float(found[1]) <= 0:
        raise InputError(f"{name} must be a number of bytes above 0, or a text such as '800MB' or '2GiB'; got {size!r}")
    return int(float(found[1]) * UNITS[found[2].upper()])


def side_for(data: Data, rank: int, peak: int | None) -> int:
    """Rows of a block such that passes need no more than ``peak`` bytes; refused if not even one block fits."""
    grid = max(data.source.block_shape or (1, 1))
    if peak is None:
        return max(SIDE, grid)
    side = max(2 * SIDE, grid)
    while side > max(grid, SMALLEST) and _needed(data, rank, side) > peak:
        side //= 2
    side = max(side, grid)
    needed = _needed(data, rank, side)
    if needed > peak:
        raise InputError(
            f"peak_memory must be at least {_words(needed)} for one block of {side} rows and columns and the factors "
            f"of a {data.source.shape[0]}×{data.source.shape[1]} matrix of rank {rank}, got {_words(peak)}; give more, "
            "or write the data in smaller chunks"
        )
    return side


def _needed(data: Data, rank: int, side: int) -> int:
    """Bytes of a pass: factors, what rows ask for, earlier points, and the blocks that are in memory at once."""
    rows = data.source.shape[0] + (0 if data.symmetric else data.source.shape[1])
    some, item = rank * (rank + 1) // 2, data.source.dtype.itemsize
    factors = rows * (8 * rank * 14 + some * 12)
    block = side * side * item + AT_ONCE * side * (6 * item + 8) + 2 * side * (some * 8 + rank * 16)
    return factors + IN_FLIGHT * block


def _words(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{max(size / 1e6, 0.1):.1f} MB"
