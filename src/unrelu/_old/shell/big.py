"""``unrelu complete`` of a matrix that does not fit into memory: read by blocks, kept as factors, written by blocks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Indices
from unrelu._old.base.errors import InputError
from unrelu._old.base.printable import printable
from unrelu._old.data.labels import label_or_position, listed_rows
from unrelu._old.data.mapped import MappedSource
from unrelu._old.data.source import Source
from unrelu._old.data.table import Labels
from unrelu._old.data.zarr_source import ZarrSource
from unrelu._old.io.disk import check_target
from unrelu._old.io.edges import edges
from unrelu._old.io.files import without_marks, write_matrix
from unrelu._old.io.opened import is_zarr, open_npy, open_zarr
from unrelu._old.io.reading import Reading
from unrelu._old.io.zarr_out import EXTENSION
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.rows_bar import NoRows, RowLines, Rows, RowsBar
from unrelu._old.results.completion import Completion
from unrelu._old.results.written import Filled, write_filled
from unrelu._old.shell.answer import Answer
from unrelu._old.shell.common import Watched, distinct
from unrelu._old.shell.options import checked_size
from unrelu._old.shell.outputs import Outputs
from unrelu._old.shell.reading import STANDARD, Brought, HowToRead, named
from unrelu._old.shell.streams import say
from unrelu._old.shell.wording import for_shells
from unrelu._old.solvers import SAMPLERS

__all__ = ["LANDMARKS", "LARGE", "MOST_UNASKED", "BigAnswer", "Scale", "Streamed", "in_words", "watching_rows"]

LANDMARKS = "landmarks"
# Methods that read a matrix block by block.
BY_BLOCKS = ("auto", LANDMARKS)
# A file of numbers with more bytes than this is read block by block, and never as a whole.
LARGE = 2**30
# More bytes than this are written only if that is asked for.
MOST_UNASKED = 2 * 2**30
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True)
class Scale:
    """What was said of a matrix that may be larger than the memory.

    Attributes
    ----------
    method : str
    peak_memory : int or None
        Most bytes that may be used.
    checkpoint : Path or None
        Where what is done is kept.
    write_all : bool
        Whether every entry is to be written however many there are.
    device : str or None
        Where to compute, of a matrix that is in memory or fits there.
    """

    method: str = "auto"
    peak_memory: int | None = None
    checkpoint: Path | None = None
    write_all: bool = False
    device: str | None = None

    @classmethod
    def said(
        cls,
        method: str,
        peak_memory: str | None,
        checkpoint: Path | None,
        write_all: bool,
        device: str | None = None,
    ) -> Scale:
        """What the options say together."""
        for option, value in (("--peak-memory", peak_memory), ("--checkpoint", checkpoint)):
            if value is not None and method not in BY_BLOCKS:
                raise InputError(
                    f"{option} is for --method {' and --method '.join(BY_BLOCKS)}, got --method {printable(method)}; "
                    "drop one of them"
                )
        return cls(method, checked_size("--peak-memory", peak_memory), checkpoint, write_all, device)

    @property
    def told(self) -> dict[str, Any]:
        """What the library is told, of what was said."""
        return self.asked | ({} if self.device is None else {"device": self.device})

    @property
    def asked(self) -> dict[str, Any]:
        """What of it is for a matrix that is read block by block."""
        said = {"peak_memory": self.peak_memory, "checkpoint": self.checkpoint}
        return {name: value for name, value in said.items() if value is not None}

    def check(self, files: Outputs, inputs: list[Path], as_json: bool, loss: str) -> None:
        """Refuse files that could not be written in the end, before the work starts."""
        files.check(inputs, as_json, loss)
        if self.checkpoint is None:
            return
        check_target(self.checkpoint, inputs=inputs, accepted=(self.checkpoint.suffix.lower(),))
        distinct({**files.of_every_entry, "--factor-out": files.factors, "--checkpoint": self.checkpoint})

    def read(self, how: HowToRead, file: Path, files: Outputs) -> Brought:
        """The file as it is: read, or opened to be read block by block."""
        opened = self._opened(how, file)
        if opened is None:
            brought = how.read(file)
            self._allow(brought.read.values, files)
            return brought
        self._allow(opened, files)
        beside = files.of_every_entry.keys() - {"--output"}  # what only all of it at once can give
        if not beside and self._wanted(_bytes(opened)):
            return Streamed.of(opened, file, how, self.method)
        if not is_zarr(file):
            return how.read(file)
        m, n = opened.shape
        require_memory(_bytes(opened), f"a {m}×{n} matrix")
        values = np.array(opened.block(slice(0, m), slice(0, n)))
        return Brought(Reading(without_marks(values, how.missing or ())), file, how)

    def streams(self, brought: Brought, files: Outputs) -> bool:
        """Whether nothing is made that has as many numbers as the matrix has entries."""
        whole = {option for option, path in files.of_every_entry.items() if path.suffix.lower() != EXTENSION}
        return isinstance(brought, Streamed) or (_bytes(brought.read.values) > MOST_UNASKED and not whole)

    def _wanted(self, size: int) -> bool:
        """Whether a file of so many bytes is to be read block by block."""
        return size > LARGE or self.method == LANDMARKS or bool(self.asked)

    def _opened(self, how: HowToRead, file: Path) -> Source | None:
        """The file as a source, if it can be read block by block and there may be a reason to; None if not."""
        if is_zarr(file):
            if how.layout == "edges":
                raise InputError(f"{file} cannot be an edge list; expected text, .xlsx or .parquet, so convert it")
            return ZarrSource(open_zarr(file))
        if file == STANDARD or not file.is_file() or not self._wanted(file.stat().st_size):
            return None
        if file.suffix.lower() == ".npy":
            return MappedSource(open_npy(file))
        return edges(file, table=how.table) if how.layout == "edges" else None

    def _allow(self, values: Any, files: Outputs) -> None:
        """Refuse what would write very many numbers, unless that was asked for; and more than the memory allows."""
        (m, n), size = values.shape, _bytes(values)
        for option, path in {} if self.write_all or size <= MOST_UNASKED else files.of_every_entry.items():
            raise InputError(
                f"{option} {printable(path)} would be made of {m}×{n} numbers, which are {in_words(size)}; say "
                "--write-all if that is meant, or keep the factors alone with --factor-out factors.npz"
            )
        output = files.target
        if output is None or output.suffix.lower() == EXTENSION or size <= (self.peak_memory or size):
            return
        raise InputError(
            f"{printable(output)} is written as a whole, from {in_words(size)} of numbers, and --peak-memory allows "
            f"{in_words(self.peak_memory or 0)}; write {printable(output.with_suffix(EXTENSION))}, which is written by "
            "blocks"
        )


class Streamed(Brought):
    """A matrix that was opened and not read."""

    @classmethod
    def of(cls, source: Source, file: Path, how: HowToRead, method: str) -> Streamed:
        """Refuse what is said of a matrix that only a look at all of it could obey."""
        why = f"{named(file).name} is read block by block"
        if how.missing:
            raise InputError(f"--missing is for files that are read as a whole, and {why}; write NaN into it instead")
        if method in SAMPLERS:
            raise InputError(f"--method {method} needs all of a matrix in memory, and {why}; choose another method")
        rows, columns = source.labels, source.column_labels
        values: Any = source
        return cls(Reading(values, rows, columns), file, how)

    def limited_by(self, limits: Path | None, said: tuple[str | None, str]) -> Brought:
        """Refuse a file of limits: whether it fits the columns is seen only when all of them are read."""
        if limits is not None:
            raise InputError(
                f"--limits is for files that are read as a whole, and {named(self.file).name} is read block by block; "
                "give a file of one number per column with --threshold"
            )
        return self


@dataclass(frozen=True, eq=False)
class BigAnswer(Answer):
    """A completion of which nothing is made that has as many numbers as the matrix has entries.

    Which rows are determined is what the fit has found on its way; nothing is looked at once more for it.
    """

    files: Outputs | None = None
    silent: bool = False

    @classmethod
    def of(
        cls,
        completion: Completion,
        keep: bool,
        seconds: float | None = None,
        told: Callable[[str], object] | None = None,
    ) -> BigAnswer:
        """Take the rows that the fit could not place for those that are not determined."""
        determined = np.ones(len(completion.factor), bool)
        determined[completion.undetermined_rows] = False
        return cls(completion, None, determined, keep)

    @property
    def _left_open(self) -> Indices:
        return np.flatnonzero(~self.determined)

    def values(self, fit: bool) -> Any:
        """The matrix to be written, by blocks."""
        blank = None if self.full or self.determined.all() else self._left_open
        return Blocks(Filled(self.completion, self.completion.source, fit, blank), self.silent)

    def summary(self) -> dict[str, Any]:
        """What a program wants to know."""
        # Without the data nothing of the summary reads them again.
        about = replace(self.completion, source=None).summary()
        return {**about, "entries_read": self.completion.entries_read}

    def not_determined(self) -> dict[str, list[str | int]]:
        """Rows by label or position; of a table the columns, too."""
        m, completion, rows = self.completion.shape[0], self.completion, self._left_open
        found = {"not_determined": [label_or_position(row, completion.labels) for row in rows[rows < m]]}
        if completion.kind == "table":
            labels = getattr(completion, "column_labels", None)
            found["columns_not_determined"] = [label_or_position(row - m, labels) for row in rows[rows >= m]]
        return found

    def report(self, names: tuple[str, ...] | None) -> list[str]:
        """What a person wants to know."""
        about, completion = self.summary(), self.completion
        m, n = completion.shape
        what = "table" if completion.kind == "table" else "matrix"
        read = about["entries_read"]
        times = (read or 0) / (m * n)  # passes read an entry again
        share = f"{times:.2%} of all" if times <= 1 else f"{times:.1f} times as many as there are"
        share = "" if read is None else f"{read:,} entries read, {share}; "
        lines = [
            f"{m}×{n} {what}, rank {about['rank']}{self._whence()}, by {about['method']} from the {about['start']} "
            f"start ({about['loss']} loss)",
            f"{share}{about['seconds']:.2f} s, relative residual {about['residual']:.2e}",
        ]
        if about["error"] is not None:
            lines.append(f"completion error against the truth {about['error']:.2e}")
        return [*lines, for_shells(str(completion.verdict)), *self._undetermined(names)]

    def _undetermined(self, names: tuple[str, ...] | None) -> list[str]:
        m, rows = self.completion.shape[0], self._left_open
        parts = [listed_rows(rows[rows < m], names)] if (rows < m).any() else []
        if (rows >= m).any():
            labels = getattr(self.completion, "column_labels", None)
            parts.append(listed_rows(rows[rows >= m] - m, labels, what="column"))
        left = "kept" if self.full else "left empty (--keep-undetermined writes them)"
        where = f"; their unseen entries are {left}" if self.files is None or self.files.target is not None else ""
        found = [f"not determined by the data: {' and '.join(parts)}{where}"] if parts else []
        if not self.completion.verdict.determines:
            found.append("no row is called determined; this is the best point that was found")
        return found


@dataclass(frozen=True, eq=False)
class Blocks:
    """A matrix that is nowhere as a whole, for a file."""

    filled: Filled
    silent: bool = False

    def whole(self) -> Any:
        """All of it."""
        return self.filled.whole()

    def write_to(self, path: Path, rows: Labels, columns: Labels) -> None:
        """Write it, block by block if the format allows that."""
        if path.suffix.lower() != EXTENSION:
            write_matrix(path, self.whole(), rows=rows, columns=columns)
            return
        filled = self.filled
        with _rows(self.silent) as watcher:
            write_filled(filled.completion, filled.matrix, path, fit=filled.fit, blank=filled.blank, rows=watcher)


@contextmanager
def watching_rows(silent: bool) -> Iterator[Watched]:
    """Let a run over rows be watched: by the library's own bar on a terminal, by lines elsewhere."""
    if not silent and sys.stderr.isatty():
        yield Watched({"progress": True, "callback": None}, lambda name: None)
        return
    with _rows(silent) as lines:
        callback = lines if isinstance(lines, RowLines) else None
        options: Mapping[str, Any] = {"progress": False, "callback": callback}
        yield Watched(options, lines.phase)


def _rows(silent: bool) -> Rows:
    """Whom a run over rows tells how far it has come."""
    if silent:
        return NoRows()
    return RowsBar() if sys.stderr.isatty() else RowLines(say)


def in_words(size: int) -> str:
    """A number of bytes as people say it.

    Examples
    --------
    >>> in_words(800), in_words(3 * 2**30), in_words(8 * 10**12)
    ('800 bytes', '3.0 GiB', '7.3 TiB')
    """
    number, unit = float(size), 0
    while number >= 1024 and unit + 1 < len(UNITS):
        number, unit = number / 1024, unit + 1
    return f"{number:.{min(unit, 1)}f} {UNITS[unit]}"


def _bytes(values: Any) -> int:
    """How many bytes the numbers of all entries take, seen or not."""
    m, n = values.shape
    return int(m) * int(n) * int(np.dtype(values.dtype).itemsize)
