"""Text of any kind: what parts its cells, whether it is packed, and standard input."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, cast

from unrelu._old.base.errors import InputError
from unrelu._old.io.cells import Cells
from unrelu._old.io.disk import extension_of, opening

__all__ = ["PACKED", "STANDARD", "TEXTS", "delimiter_of", "opening_text", "words_of"]

TEXTS = (".csv", ".tsv", ".txt")
PACKED = tuple(f"{extension}.gz" for extension in TEXTS)
STANDARD = "-"
"""The name of standard input and standard output."""

# From how many bytes, and how many of their lines, the delimiter is told.
HEAD, LINES = 1 << 16, 20
NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", " ": "spaces"}


@contextmanager
def opening_text(path: str, accepted: Sequence[str]) -> Iterator[BinaryIO]:
    """Lend the bytes of a text, unpacked; they can be read again from the beginning."""
    if path == STANDARD:
        with _standard_input() as handle:
            yield handle
        return
    with opening(path, accepted) as handle:
        packed = extension_of(path) in PACKED
        lasting = handle if handle.seekable() else _whole(handle, path, zeros=packed)
        if not packed:
            yield lasting
            return
        try:
            with gzip.GzipFile(fileobj=lasting) as unpacked:
                yield cast(BinaryIO, unpacked)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(
                f"{path} is no gzip file or is cut short; expected text packed by gzip, so pack it again or fetch a "
                "fresh copy"
            ) from error


@contextmanager
def _standard_input() -> Iterator[BinaryIO]:
    name = "standard input"
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise InputError(f"{name} is a terminal or closed; expected a matrix, so send one with | or <, or name a file")
    try:
        whole = _whole(stream, name)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}; name a file") from error
    if not whole.getbuffer().nbytes:
        raise InputError(f"{name} is empty; expected a matrix, so look whether the command before it wrote one")
    yield whole


def _whole(stream: BinaryIO, name: str, *, zeros: bool = False) -> io.BytesIO:
    """What can be read only once, kept; text ends at a zero byte, for what comes then may be nothing else, for ever."""
    kept = io.BytesIO()
    while chunk := stream.read(HEAD):
        kept.write(chunk)
        if b"\0" in chunk and not zeros:
            break
    kept.seek(0)
    return kept


def delimiter_of(handle: BinaryIO, extension: str, missing: Sequence[str] = ()) -> str:
    r"""What parts the cells: by the extension, unless these are semicolons, or any of them may be.

    Parameters
    ----------
    handle : binary file
        Open at its beginning, where it is left.
    extension : str
        ``.csv``, ``.tsv`` or ``.txt``, packed or not.
    missing : sequence of str
        Further missing marks.

    Examples
    --------
    >>> delimiter_of(io.BytesIO(b"a;b\n1,5;2\n"), ".csv"), delimiter_of(io.BytesIO(b"1 2\n3 4\n"), ".txt")
    (';', ' ')
    """
    head = handle.read(HEAD)
    handle.seek(0)
    kind = extension.removesuffix(".gz")
    if kind == ".tsv":
        return "\t"
    # Line ends may be any of three, and only they part lines: a label may hold what else Python calls one.
    text = head.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    lines = [line for line in (lines[:-1] if len(head) == HEAD else lines) if line.strip()][:LINES]
    if _by_semicolons(lines, missing):
        return ";"
    if kind == ".csv":
        return ","
    body = lines[1:] or lines
    return next((mark for mark in "\t," if body and all(mark in line for line in body)), " ")


def _by_semicolons(lines: list[str], missing: Sequence[str]) -> bool:
    """Whether semicolons part numbers on every line: a semicolon inside a name does not."""
    try:
        rows = list(csv.reader(lines, delimiter=";", strict=True))
    except csv.Error:
        return False
    body = rows[1:] or rows
    width = len(body[0]) if body else 0
    if width < 2 or any(len(row) != width for row in body) or len(rows[0]) not in (width, width - 1):
        return False
    if len(rows[0]) == 1 and "," in rows[0][0]:  # names with a comma between them, over names with a semicolon
        return False
    cells = Cells("", missing, limited=True, local=True)
    return _are_numbers([row[1:] for row in body], cells) or (width == 3 and _are_numbers([r[2:] for r in body], cells))


def _are_numbers(rows: list[list[str]], cells: Cells) -> bool:
    """Whether there are numbers or marks in all cells, and not only empty ones."""
    found = [cell for row in rows for cell in row]
    return not any(map(cells.is_text, found)) and any(cell.strip() for cell in found)


def words_of(delimiter: str, extension: str, cells: Cells) -> tuple[str, ...]:
    """How a text was read, where its name does not say it; ``cells`` know the decimal sign in the end."""
    if delimiter != ";" and not extension.startswith(".txt"):
        return ()
    decimal = {",": " with decimal commas", ".": " with decimal points"}
    sign = next(iter(cells.signs), "")
    return (f"read as {NAMES[delimiter]}{decimal.get(sign, '')}",)
