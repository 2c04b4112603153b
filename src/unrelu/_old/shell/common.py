"""What every command shares: exit codes, where words go, tables whose labels must agree."""

from __future__ import annotations

import functools
import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

import numpy as np
import typer

from unrelu._old.base.errors import CompletionWarning, InputError
from unrelu._old.base.printable import printable
from unrelu._old.data.table import Labels, Table
from unrelu._old.io.disk import check_target
from unrelu._old.io.files import read_matrix
from unrelu._old.loop.history import Record, Verdict
from unrelu._old.loop.progress import Lines, Spinner
from unrelu._old.shell.streams import say
from unrelu._old.shell.wording import for_shells

DONE, NOT_CONVERGED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
NOTHING_WRITTEN = "interrupted; nothing was written"

Command = TypeVar("Command", bound=Callable[..., int])


class _Interrupt(BaseException):
    """Ctrl-C in a command. Not a KeyboardInterrupt, after which the library returns the best answer so far."""


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise _Interrupt


@contextmanager
def _ended_by_interrupts(at_once: bool) -> Iterator[None]:
    """Let Ctrl-C end a command, unless whoever started the process handles or ignores it."""
    before = signal.getsignal(signal.SIGINT)
    if not at_once or before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C from here on, because the files are in place."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def guarded(command: Command, at_once: bool = True) -> Command:
    """Turn what a command returns or raises into the exit codes above, and errors into one line.

    Ctrl-C ends the command at once, or else raises a KeyboardInterrupt in it.
    """

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            with _ended_by_interrupts(at_once):
                code = command(*args, **kwargs)
        except (KeyboardInterrupt, _Interrupt):
            say(_interrupted(kwargs.get("checkpoint")))
            code = INTERRUPTED
        except InputError as error:
            say(f"error: {for_shells(str(error))}")
            code = BAD_INPUT
        except OSError as error:
            say(f"error: {error.strerror or error}{f' ({error.filename})' if error.filename else ''}")
            code = BAD_INPUT
        except MemoryError:
            say("error: the machine ran out of memory; pass fewer rows, or float32 values, which need half")
            code = BAD_INPUT
        raise typer.Exit(code)

    return wrapped  # type: ignore[return-value]


def _interrupted(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return NOTHING_WRITTEN
    kept = printable(checkpoint)
    return f"interrupted; no result was written, and the same command goes on from {kept} if that is there"


@contextmanager
def kept_warnings(advice: str | None = None) -> Iterator[list[str]]:
    """What there is to know about the answer, for the report in the end.

    Advice that a warning gives to Python callers is left out, or replaced by what a person at a terminal can do.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
        yield notes
    for warning in caught:
        if isinstance(warning.message, CompletionWarning):
            fact, *for_python = warning.message.args
            notes.append(f"{fact}; {advice}" if for_python and advice else str(fact))


def warn(notes: list[str]) -> None:
    """Say what was kept."""
    for note in notes:
        say(f"warning: {for_shells(note)}")


@dataclass(frozen=True)
class Watched:
    """How a run shows that it lives: arguments for the run, and whom to tell the phases before and after it."""

    options: Mapping[str, Any]
    phase: Callable[[str], object]

    @property
    def of_many(self) -> Mapping[str, Any]:
        """The same for a run of many fits, whose iterations nobody wants to read one by one."""
        lines = self.options["callback"]
        return self.options if lines is None else {**self.options, "callback": _Phases(self.phase)}


@dataclass(frozen=True)
class _Phases:
    """A callback that says what goes on, and nothing of its iterations."""

    phase: Callable[[str], object]

    def __call__(self, record: Record) -> None:
        """Say nothing."""


@contextmanager
def watching(silent: bool) -> Iterator[Watched]:
    """Let a run be watched: by a bar on a terminal, by lines elsewhere."""
    if silent:
        yield Watched({"progress": False, "callback": None}, lambda name: None)
    elif sys.stderr.isatty():
        with Spinner() as spinner:
            yield Watched({"progress": True, "callback": None}, spinner.phase)
    else:
        with Lines(say) as lines:
            yield Watched({"progress": False, "callback": lines}, lines.phase)


def exit_code(verdict: Verdict) -> int:
    """0 for an answer, 1 for anything less."""
    return DONE if verdict.answered else NOT_CONVERGED


def ended(verdict: Verdict, quiet: bool) -> int:
    """The exit code; if nothing else was said, that this is no answer is."""
    if quiet and not verdict.answered:
        say(f"not converged: {for_shells(verdict.reason)}")
    return exit_code(verdict)


# What to do about a matrix that is not square, or whose rows and columns are different things.
OR_TABLE = "; say --table if it is one of rows by columns"


@dataclass(frozen=True, eq=False)
class Square:
    """The matrix of a command, and what was said about the labels in its file.

    Attributes
    ----------
    table : Table
    names : tuple of str or None
        Labels of rows and columns, if they are the same; None for a table of rows by columns.
    header, labels : bool or None
        Whether the first row and the first column were said to hold labels; None: nothing was said.
    """

    table: Table
    names: tuple[str, ...] | None
    header: bool | None
    labels: bool | None

    @property
    def axes(self) -> tuple[Labels, Labels]:
        """Labels of the rows, and of the columns."""
        return (self.table.rows, self.table.columns) if self.names is None else (self.names, self.names)


def as_square(table: Table, file: Path, said: tuple[bool | None, bool | None], advice: str = OR_TABLE) -> Square:
    """A table that must be square, with what was said of its header and its labels, and what to do if it is not."""
    _require_square(table, file, advice)
    names = labels_of(table, file, advice)
    _warn_of_repeated(names, file)
    return Square(table, names, *said)


def _warn_of_repeated(names: tuple[str, ...] | None, file: Path) -> None:
    """Say that a label stands for several rows: they stay apart, but not in what is said of them."""
    label, count = next(((name, count) for name, count in Counter(names or ()).items() if count > 1), ("", 0))
    if count:
        say(
            f"warning: {file.name} gives {count} rows the label {printable(label)!r}; they are kept apart, but a "
            "message cannot say which of them it means"
        )


def _require_square(table: Table, file: Path, advice: str) -> None:
    """Refuse a table that is not square, with a guess at why."""
    rows, columns = table.values.shape
    if rows != columns:
        hint = "; if its first row holds labels, say --header" if rows == columns + 1 else ""
        if table.columns and columns == rows + 1:
            hint = "" if table.rows else "; if its first column holds labels, say --labels"
            hint += "; if its first row holds entries, say --no-header"
        raise InputError(f"{file.name} must be square, got {rows} rows and {columns} columns{hint}{advice}")


def _beside(file: Path, first: Square | None) -> Table:
    """A second file, which must agree with the first, if there is one, where both have labels.

    Whether it has them is as was said or found of the first, unless that gives it another shape: the same matrix may
    have been saved without its names.
    """
    table = (None if first is None else _like(file, first)) or read_matrix(file)
    if first is not None and first.names is not None:
        require_same(labels_of(table, file), first.names, file)
    elif first is not None:
        require_same(table.rows, first.table.rows, file, " of the rows")
        require_same(table.columns, first.table.columns, file, " of the columns")
    return table


def require_same(theirs: Labels, names: Labels, file: Path, of: str = "") -> None:
    """Refuse labels of a second file that are not those of the first, if both have any."""
    if names is None or theirs is None or theirs == names:
        return
    k = next((k for k, (a, b) in enumerate(zip(theirs, names, strict=False)) if a != b), min(len(theirs), len(names)))
    raise InputError(f"{file.name} must carry the same labels in the same order, but differs from label {k + 1}{of} on")


def _like(file: Path, first: Square) -> Table | None:
    """A second file, read as the first was, if that makes a table of the same shape."""
    header = first.table.columns is not None if first.header is None else first.header
    labels = first.table.rows is not None if first.labels is None else first.labels
    try:
        table = read_matrix(file, header=header, labels=labels)
    except InputError:
        return None
    return table if table.values.shape == first.table.values.shape else None


def labels_of(table: Table, file: Path, advice: str = "") -> tuple[str, ...] | None:
    """Labels of rows and columns, which must be the same; None if there are none."""
    if table.rows is not None and table.columns is not None and table.rows != table.columns:
        if len(table.rows) != len(table.columns):
            raise InputError(f"{file.name} must be square, got {len(table.rows)} rows and {len(table.columns)} columns")
        k = next(k for k, (row, col) in enumerate(zip(table.rows, table.columns, strict=True)) if row != col)
        raise InputError(
            f"rows and columns of {file.name} must carry the same labels in the same order, but label {k + 1} is "
            f"{table.rows[k]!r} for the row and {table.columns[k]!r} for the column; sort one like the other{advice}"
        )
    return table.rows or table.columns


def shown_names(names: tuple[str, ...] | None, *, as_json: bool = False) -> tuple[str, ...] | None:
    """Labels as they may stand in a sentence or a picture; files keep them as they are, and so does JSON."""
    return names if names is None or as_json else tuple(map(printable, names))


def shown_table(table: Table, *, as_json: bool) -> Table:
    """The same table with labels that may stand in a sentence, or in JSON."""
    rows, columns = (shown_names(names, as_json=as_json) for names in (table.rows, table.columns))
    return replace(table, rows=rows, columns=columns)


def values_beside(first: Square | None, file: Path | None) -> Any:
    """The values of a second file, which must agree with the first, as a plain array; None without a file."""
    if file is None:
        return None
    values = _beside(file, first).values
    return values if isinstance(values, np.ndarray) else values.toarray()


def mask_beside(first: Square | None, file: Path | None) -> Any:
    """A second file of 0 and 1, which must agree with the first, as a boolean array; None without a file."""
    if file is None:
        return None
    values = values_beside(first, file)
    if not np.isin(values, (0, 1)).all():
        raise InputError(f"{file.name} must hold only 0 and 1 (1: missing for another reason)")
    return values == 1


def check_output(path: Path, kinds: tuple[str, ...], inputs: list[Path]) -> None:
    """Refuse a file that could not be written in the end, before the work starts."""
    if path.suffix.lower() not in kinds:
        raise InputError(f"{path.name} must end in {' or '.join(kinds)}")
    check_target(path, inputs=inputs, accepted=kinds)


def distinct(written: Mapping[str, Path | None]) -> None:
    """Refuse outputs that would overwrite each other; by the option that names them."""
    found: dict[str, str] = {}
    for name, path in written.items():
        if path is None:
            continue
        real = os.path.realpath(path)
        if real in found:
            raise InputError(f"{found[real]} and {name} must be two files, got {path} for both")
        found[real] = name
