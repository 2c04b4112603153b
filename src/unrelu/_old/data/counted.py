"""Reading from a source that may fail: each block is checked, tried again if that may help, and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from time import sleep
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.data.far import Far
from unrelu._old.data.gather import length_of
from unrelu._old.data.source import Place, Source

__all__ = ["RETRIES", "Counted", "block_named", "expect_same", "expect_shape", "read_block", "said"]

RETRIES = 3
"""How often a block is asked for again after a failure that may pass."""

# Seconds before the first time, and how much longer each further wait is.
WAIT, LONGER = 0.1, 4.0
# Rows or columns that a sentence names one by one.
NAMED = 3
LONGEST_SHOWN = 200
ADVICE = "see that it can be read there, and call again"


def block_named(rows: Place, cols: Place) -> str:
    """Which block was asked for, in words.

    Examples
    --------
    >>> block_named(slice(0, 100), np.array([7]))
    'rows 0–99, column 7'
    >>> block_named(np.array([2, 5, 9, 40, 41]), slice(3, 3))
    'rows 2, 5, 9 and 2 more, no columns'
    """
    return f"{_side_named(rows, 'row')}, {_side_named(cols, 'column')}"


def _side_named(place: Place, what: str) -> str:
    if isinstance(place, slice):
        if place.stop is None:
            return f"the {what}s from {place.start or 0} on"
        first, count = place.start or 0, place.stop - (place.start or 0)
    else:
        first, count = place[0] if len(place) else 0, len(place)
        if count > 1 and not np.array_equal(place, np.arange(first, first + count)):
            more = f" and {count - NAMED} more" if count > NAMED else ""
            return f"{what}s {', '.join(map(str, place[:NAMED]))}{more}"
    if count <= 0:
        return f"no {what}s"
    return f"{what} {first}" if count == 1 else f"{what}s {first}–{first + count - 1}"


def may_pass(error: Exception) -> bool:
    """Whether the same may work when tried again: a disk or a network failed, or the error says so itself."""
    return bool(getattr(error, "transient", isinstance(error, OSError)))


def said(error: Exception) -> str:
    """What an error says, on one line."""
    first = (str(error).strip().splitlines() or [""])[0].rstrip(".")
    shown = first if len(first) <= LONGEST_SHOWN else first[:LONGEST_SHOWN] + "…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def read_block(ask: Callable[[Any, Any], Any], who: str, rows: Place, cols: Place, advice: str = ADVICE) -> Any:
    """What a source gives for a block; what goes wrong comes out as one sentence that names the block.

    Parameters
    ----------
    ask : callable
        Takes rows and columns, and gives the block. Called again up to `RETRIES` times after a failure that may pass:
        an OSError, or an exception with an attribute ``transient`` that is true.
    who : str
        What errors call the source.
    rows, cols : slice or int ndarray
    advice : str
        What to do if it fails for good.

    Raises
    ------
    InputError
        If it fails for another reason, or too often.
    """
    wait = WAIT
    for left in range(RETRIES, -1, -1):
        try:
            return ask(rows, cols)
        except (InputError, MemoryError):
            raise
        except Exception as error:  # whatever a database, a service or a damaged file may raise
            passing = may_pass(error)
            if left and passing:
                sleep(wait)
                wait *= LONGER
                continue
            times = f", {RETRIES + 1} times" if passing else ""
            raise InputError(
                f"{who} failed to give the block of {block_named(rows, cols)}{times} ({said(error)}); {advice}"
            ) from error
    raise AssertionError("the last failure is raised")


def expect_shape(block: Any, who: str, rows: Place, cols: Place, shape: tuple[int, int]) -> None:
    """Refuse a block that is not as large as was asked for."""
    wanted = tuple(length_of(place, length) for place, length in zip((rows, cols), shape, strict=True))
    if np.shape(block) != wanted:
        raise InputError(
            f"{who} gave a block of shape {np.shape(block)} for {block_named(rows, cols)}, expected {wanted}; give a "
            "number for every row and column asked for, and NaN where nothing was seen"
        )


def expect_same(who: str, now: Any, before: tuple[int, int]) -> None:
    """Refuse a source that is no longer as large as it was."""
    if tuple(now) != before:
        raise InputError(
            f"{who} had the shape {before} when it was handed over and has {tuple(now)} now; wait until it no longer "
            "changes, or hand over a copy"
        )


class Counted(Far):
    """Another source, whose blocks are checked, tried again after failures that may pass, and counted.

    Attributes
    ----------
    entries_read, bytes_read : int
        Entries of all blocks that were given so far, seen or not, and their bytes; exact with several threads too.

    Examples
    --------
    >>> from unrelu._old.data.source import ArraySource
    >>> counted = Counted(ArraySource(np.eye(4)))
    >>> _ = counted.block(slice(0, 2), np.array([0, 2, 3])), counted.at(np.array([1]), np.array([1]))
    >>> counted.entries_read, counted.bytes_read
    (7, 56)
    """

    checks_blocks = True

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shape, self.dtype, self.cut = source.shape, source.dtype, source.cut
        self.labels, self.column_labels = source.labels, source.column_labels
        self.thread_safe, self.at_hand = source.thread_safe, source.at_hand  # type: ignore[misc]
        self.block_shape, self.tensor = source.block_shape, source.tensor
        self.lazy, self.device = source.lazy, source.device
        self.entries_read = self.bytes_read = 0
        self._who = type(source).__name__
        self._lock = Lock()

    def exists(self, rows: Place, cols: Place) -> Bools | None:
        """As in the other."""
        return self.source.exists(rows, cols)

    def block(self, rows: Place, cols: Place) -> Array:
        """The block of the other."""
        expect_same(self._who, self.source.shape, self.shape)
        block = read_block(self.source.block, self._who, rows, cols)
        expect_shape(block, self._who, rows, cols, self.shape)
        return self._count(block, rows, cols)

    def at(self, rows: Indices, cols: Indices) -> Array:
        """Values of single entries."""
        if self._own("at"):
            return self._count(read_block(self.source.at, self._who, rows, cols), rows, cols)
        return super().at(rows, cols)

    def seen_at(self, rows: Indices, cols: Indices) -> Bools:
        """Whether single entries were seen."""
        if self._own("seen_at"):
            self.count(len(rows))
            return self.source.seen_at(rows, cols)
        return super().seen_at(rows, cols)

    def bands(self) -> Iterator[tuple[int, Array]]:
        """Everything, a few rows at a time."""
        if not self._own("bands"):
            yield from super().bands()
            return
        for start, values in self.source.bands():
            self.count(values.size)
            yield start, values

    def coordinates(self) -> tuple[Indices, Indices, Array] | None:
        """Those of the other, if they are kept so."""
        found = self.source.coordinates()
        if found is not None:
            self.count(len(found[2]))
        return found

    def part(self, rows: Indices, cols: Indices) -> Source:
        """Some rows and columns, read once."""
        if self._own("part"):
            self.count(len(rows) * len(cols))
            return self.source.part(rows, cols)
        return super().part(rows, cols)

    def symmetric(self) -> bool:
        """As the other."""
        return self.source.symmetric() if self._own("symmetric") else super().symmetric()

    def pieces(self) -> Indices:
        """As the other."""
        return self.source.pieces() if self._own("pieces") else super().pieces()

    def _own(self, name: str) -> bool:
        """Whether the other source knows a way of its own; else it is made of blocks, which are counted."""
        return getattr(type(self.source), name) is not getattr(Source, name)

    def _count(self, block: Any, rows: Place, cols: Place) -> Array:
        if not isinstance(block, np.ndarray) or block.dtype != self.dtype:
            came = f"dtype {block.dtype}" if isinstance(block, np.ndarray) else type(block).__name__
            raise InputError(
                f"{self._who} gave {came} for {block_named(rows, cols)}, expected an array of dtype {self.dtype}; "
                "give what its dtype says"
            )
        self.count(block.size)
        return block

    def count(self, entries: int) -> None:
        """So many entries more were read, where they are, by somebody who does not ask for blocks."""
        with self._lock:
            self.entries_read += entries
            self.bytes_read += entries * self.dtype.itemsize

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()
