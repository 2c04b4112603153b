"""Standard output and standard error as they come: closed, full, or with another alphabet."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from typing import TextIO

from unrelu._old.base.errors import InputError
from unrelu._old.base.printable import printable

__all__ = ["deliver", "out", "pour", "prepare", "say"]

# What our own sentences use, for terminals that do not know it.
PLAIN = {"×": "x", "≥": ">=", "≤": "<=", "–": "-", "—": "-", "−": "-", "…": "...", "·": ".", "‖": "||", "ᵀ": "'"}
PLAIN |= {"±": "+-", "σ": "sigma", "²": "^2", "Å": "A", "’": "'", "“": '"', "”": '"', "→": "->", "‑": "-"}


def prepare() -> None:
    """Prepare the three standard streams: printing must not fail for an unknown letter or a closed stream."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Else the next file that is opened would be standard error, and messages would go into it.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    codecs.register_error("unrelu", _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="unrelu")


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Letters that a terminal cannot show, as it can."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    known = "".join(PLAIN.get(letter) or letter.encode("unicode_escape").decode("ascii") for letter in letters)
    return known, error.end


def say(text: str) -> None:
    """Print one line for the person, on standard error. If that fails, nothing else changes."""
    _print(printable(text), sys.stderr)


def out(text: str) -> None:
    """Print the report in words. If that fails, a warning says so, and nothing else changes."""
    error = _print(printable(text, keep="\n"), sys.stdout)
    if error is not None and error.errno != errno.EPIPE:  # a reader who has had enough is no trouble
        say(f"warning: the report cannot be printed: {error.strerror or error}")


def deliver(text: str, kept: str = "") -> None:
    """Print what was asked for on standard output. If that fails it is an error, unless the reader has left.

    Parameters
    ----------
    text : str
        Of one line or several.
    kept : str
        What is written all the same, for the error.
    """
    error = _print(printable(text, keep="\n"), sys.stdout)
    if error is not None and error.errno != errno.EPIPE:
        reason = error.strerror or str(error)
        advice = "; send it to another file" + (f" ({kept})" if kept else "")
        raise InputError(f"standard output cannot be written: {reason}{advice}")


def pour(text: str) -> None:
    """Write the result itself on standard output, in UTF-8 and as it is, for the program behind it.

    If that fails it is an error, unless the reader has left.
    """
    if getattr(sys.stdout, "name", None) == os.devnull:  # it was closed before we came
        raise InputError("standard output is closed; name a file with --output")
    try:
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:
            sys.stdout.write(text)
        else:
            stream.write(text.encode("utf-8"))
            stream.flush()
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.EPIPE:
            reason = error.strerror or str(error)
            raise InputError(f"standard output cannot be written: {reason}; name a file with --output") from error
    except ValueError as error:  # closed
        raise InputError("standard output is closed; name a file with --output") from error


def _print(text: str, stream: TextIO) -> OSError | None:
    try:
        stream.write(text + "\n")
        stream.flush()
    except OSError as error:
        return error
    except ValueError as error:  # closed
        return OSError(errno.EBADF, str(error))
    return None
