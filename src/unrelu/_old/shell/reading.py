"""The file that a command is about: read in any known format, with a word about how it was read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from unrelu._old.base.errors import InputError
from unrelu._old.base.printable import printable
from unrelu._old.io.column_limits import of_columns, read_column_limits, with_column_limits
from unrelu._old.io.reader import read_data, read_sheet
from unrelu._old.io.reading import Reading
from unrelu._old.shell.common import OR_TABLE, Square, as_square
from unrelu._old.shell.streams import say

__all__ = ["STANDARD", "Brought", "HowToRead", "named"]

# Standard input and standard output, as a file.
STANDARD = Path("-")


def named(file: Path) -> Path:
    """What messages call a file."""
    return Path("standard input") if file == STANDARD else file


@dataclass(frozen=True)
class HowToRead:
    """What was said of a file: options of every command that reads a matrix."""

    header: bool | None = None
    labels: bool | None = None
    missing: list[str] | None = None
    layout: str | None = None
    table: bool = False
    texts: bool = False

    def read(self, file: Path) -> Brought:
        """The file as it is."""
        found = (read_sheet if self.texts else read_data)(
            file,
            header=self.header,
            labels=self.labels,
            missing=self.missing or (),
            layout=self.layout,
            table=self.table,
        )
        return Brought(found, file, self)


@dataclass(frozen=True, eq=False)
class Brought:
    """What was read from a file, and from which."""

    read: Reading
    file: Path
    how: HowToRead

    @property
    def rectangular(self) -> bool:
        """Whether it is a table: it was said so, its sides differ by more than a row of labels, or it holds words."""
        rows, columns = self.read.values.shape
        return self.how.table or bool(self.read.texts) or abs(rows - columns) > 1

    def matrix(self) -> Square:
        """The matrix with what was said of its header and its labels; one that is no table must be square."""
        if self.rectangular:
            return Square(self.read, None, self.how.header, self.how.labels)
        return self.square()

    def square(self, advice: str = OR_TABLE) -> Square:
        """The same of a matrix that must be square, and what to do if it is not."""
        return as_square(self.read, named(self.file), (self.how.header, self.how.labels), advice)

    def limited_by(self, limits: Path | None, said: tuple[str | None, str]) -> Brought:
        """The same with the limits of its columns, if there is a file of them; no threshold is said beside limits."""
        self.refuse_another_threshold(*said)
        if limits is None:
            return self
        places = self.read.numbers
        found = read_column_limits(limits, self.read.all_columns, len(places) + len(self.read.texts))
        return replace(self, read=with_column_limits(self.read, of_columns(found, places)))

    def refuse_another_threshold(self, threshold: str | None, seen: str) -> None:
        """Refuse a threshold, or a side, beside limits in the cells: of an empty cell both would speak."""
        if self.read.limits is None or (threshold is None and seen == "above"):
            return
        count = self.read.counts
        other = f"--seen {printable(seen)}" if threshold is None else f"--threshold {printable(threshold)}"
        raise InputError(
            f"{named(self.file).name} has limits in {count['below'] + count['above']} of its cells, and {other} speaks "
            "of others; drop it, or write a limit into every cell that has one"
        )

    def tell(self, *, silent: bool) -> None:
        """Say how the file was read, unless that goes without saying."""
        for words in () if silent else self.read.words:
            say(f"{named(self.file).name}: {words}")
