"""Files on the disk: what stands in the way is one sentence, and the old file stays until the new one is complete."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from unrelu.errors import InputError

__all__ = ["FilePath", "check_target", "opening", "replacing"]

FilePath = str | os.PathLike[str]


@contextmanager
def opening(path: FilePath, accepted: Sequence[str], what: str = "a matrix") -> Iterator[BinaryIO]:
    """Lend an open file with one of the accepted extensions; whatever stands in the way comes out as an InputError."""
    path = os.fspath(path)
    try:
        if os.path.isdir(path):
            raise InputError(f"{path} is a folder where a file was expected; name a file in it")
        with open(path, "rb") as handle:
            _check_extension(path, os.path.splitext(path)[1].lower(), accepted)
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


@contextmanager
def replacing(path: FilePath) -> Iterator[Path]:
    """Lend a temporary file that takes the place of `path` when the block ends well.

    Whatever ends the block early, a KeyboardInterrupt included, leaves the old file as it was and no
    temporary one behind; an OSError comes out as an InputError. Of a symbolic link the target is replaced.

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
    temporary = target.with_name(f".{uuid.uuid4().hex}{target.suffix}")
    try:
        temporary.touch()
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        reason = error.strerror or str(error)
        advice = _ADVICE.get(error.errno, "choose another place for it")
        raise InputError(f"{path} cannot be written: {reason}; {advice}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


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
        If the extension is unknown, the folder is missing or closed, or the file is a folder or an input.
    """
    _check_extension(path, os.path.splitext(path)[1].lower(), accepted)
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder where a file was expected; name a file in it")
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
