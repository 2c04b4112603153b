"""Files on the disk: what stands in the way is one sentence, and the old file stays until the new one is complete."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from unrelu._old.base.errors import InputError

__all__ = ["FilePath", "check_target", "extension_of", "opening", "replacing", "require_lasting", "together"]

FilePath = str | os.PathLike[str]


def extension_of(path: FilePath) -> str:
    """How the name of a file ends, in small letters, with what is packed in it.

    Examples
    --------
    >>> extension_of("levels.CSV.gz"), extension_of("levels.xlsx"), extension_of("-")
    ('.csv.gz', '.xlsx', '')
    """
    rest, last = os.path.splitext(os.fspath(path).lower())
    return os.path.splitext(rest)[1] + last if last == ".gz" else last


@contextmanager
def opening(path: FilePath, accepted: Sequence[str], what: str = "a matrix") -> Iterator[BinaryIO]:
    """Lend an open file with one of the accepted extensions; whatever stands in the way comes out as an InputError."""
    path = os.fspath(path)
    try:
        if os.path.isdir(path):
            raise InputError(f"{path} is a folder where a file was expected; name a file in it")
        with open(path, "rb") as handle:
            _check_extension(path, extension_of(path), accepted)
            if not handle.peek(1):
                raise InputError(f"{path} is empty; expected {what}, so write the file again")
            yield handle
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the name and the folder it is in") from error
    except PermissionError as error:
        raise InputError(f"{path} may not be read (permission denied); change its permissions") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; try a copy of it") from error
    except MemoryError as error:
        raise InputError(f"{path} does not fit into memory; read it on a larger machine") from error


def require_lasting(path: FilePath, advice: str = "copy it to a file, and name that") -> None:
    """Refuse a pipe before it is opened for a second time, which would wait for ever: it can be read only once."""
    with suppress(OSError):
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise InputError(f"{path} is a pipe, which can be read only once where this reads twice; {advice}")


@contextmanager
def replacing(path: FilePath) -> Iterator[Path]:
    """Lend a temporary file that takes the place of `path` when the block ends well.

    Whatever ends the block early, a KeyboardInterrupt included, leaves the old file as it was and no
    temporary one behind; an OSError comes out as an InputError. Of a symbolic link the target is replaced. Inside
    :func:`together` the move waits for the other files.

    Parameters
    ----------
    path : str or path
        The file to write.

    Yields
    ------
    Path
        An empty file in the same folder, with the same extension.
    """
    target = Path(os.path.realpath(path))
    _require_regular(path)
    temporary = target.with_name(f".{uuid.uuid4().hex}{target.suffix}")
    move, others = _Move(path, temporary, target), _together.get()
    try:
        with _named(path):
            temporary.touch()
            yield temporary
        if others is not None:
            others.append(move)
            return
        move.make()
    except BaseException:
        move.discard()
        raise
    finally:
        if others is None:
            move.discard()


@contextmanager
def together(first: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Move the files that are written in the block into place at its end: all of them, or none if it ends early.

    Parameters
    ----------
    first : callable
        Called before the first of them is moved.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with together():
    ...     with replacing(folder / "a.txt") as one, replacing(folder / "b.txt") as other:
    ...         _ = one.write_text("a"), other.write_text("b")
    ...     print((folder / "a.txt").exists())
    False
    >>> sorted(path.name for path in folder.iterdir())
    ['a.txt', 'b.txt']
    """
    moves: list[_Move] = []
    token = _together.set(moves)
    try:
        try:
            yield
        finally:
            _together.reset(token)
        first()
        for number, move in enumerate(moves):
            try:
                move.make()
            except InputError as error:
                if number == 0:
                    raise
                there = ", ".join(str(done.path) for done in moves[:number])
                raise InputError(f"{error}; already written: {there}") from error
    finally:
        for move in moves:
            move.discard()


@dataclass(frozen=True)
class _Move:
    """A file that is written and waits to be moved into place."""

    path: FilePath  # as the caller calls it
    temporary: Path
    target: Path

    def make(self) -> None:
        with _named(self.path):
            if self.target.exists():
                shutil.copymode(self.target, self.temporary)
            os.replace(self.temporary, self.target)

    def discard(self) -> None:
        with suppress(OSError):
            self.temporary.unlink()


_together: ContextVar[list[_Move] | None] = ContextVar("together", default=None)


@contextmanager
def _named(path: FilePath) -> Iterator[None]:
    """What goes wrong with the disk, in a sentence with the name of the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        advice = _ADVICE.get(error.errno, "choose another place for it")
        raise InputError(f"{path} cannot be written: {reason}; {advice}") from error


def _require_regular(path: FilePath) -> None:
    """Refuse what is there and is no file: a move would put a file in the place of a pipe that someone listens to."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder where a file was expected; name a file in it")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is a pipe or a device where a file was expected; name a file, and copy it from there")


_ADVICE = {
    None: "see whether the disk is full",  # NumPy's array.tofile does not say
    errno.ENOSPC: "free some space or choose another disk",
    errno.EFBIG: "choose a disk that takes larger files",
    errno.ENOENT: "make its folder first",
}


def check_target(path: FilePath, *, inputs: Iterable[FilePath] = (), accepted: Sequence[str]) -> None:
    """Refuse a file that could not be written in the end, before the work starts.

    Parameters
    ----------
    path : str or path
        The file to be written.
    inputs : iterable of str or path
        Files that must not be overwritten.
    accepted : sequence of str
        Extensions that the writer knows.

    Raises
    ------
    InputError
        If the extension is unknown, the folder is missing or closed, or the file is a folder, a pipe or an input.
    """
    _check_extension(path, os.path.splitext(path)[1].lower(), accepted)
    _require_regular(path)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written, for there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written, for the folder {folder} is closed to you; choose another folder")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise InputError(f"{path} is there and may not be written; change its permissions or choose another name")
    for source in inputs:
        same = os.path.realpath(source) == os.path.realpath(path)
        with suppress(OSError):
            same = same or os.path.samefile(source, path)
        if same:
            raise InputError(f"{path} is the input and would be overwritten; choose another name for the output")


def _check_extension(path: FilePath, extension: str, accepted: Sequence[str]) -> None:
    if extension not in accepted:
        names = f"{', '.join(accepted[:-1])} or {accepted[-1]}"
        got = repr(extension) if extension else "none"
        raise InputError(f"{path} has no known format: expected the extension {names}, got {got}; rename or convert it")
