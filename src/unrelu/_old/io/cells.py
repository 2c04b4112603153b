"""What the text of one cell means: a number, a limit such as ``<0.25``, a missing mark, or none of these."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError

__all__ = ["MISSING", "Cells", "Limit"]

_FIRST_MARKS = ("", "na", "nan", "n/a", "null", "none")
_LATER_MARKS = ("nd", "#n/a", ".")
MISSING = _FIRST_MARKS + _LATER_MARKS
"""What a cell may hold, in any case, where nothing was seen."""

_LOCAL_NUMBER = re.compile(r"[+-]?\d[\d.,'_\s]*([eE][+-]?\d+)?")
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.' ]\d{3})+,\d*")
_OTHER_DELIMITER = re.compile(r"[;|,\s]")
_LONGEST_SHOWN = 40
# What says that a value lies below the number behind it, and above.
BELOW, ABOVE = ("<=", "≤", "<"), (">=", "≥", ">")


@dataclass(frozen=True)
class Limit:
    """A cell such as ``<0.25``: on which line and in which column it stands (from 1), and the interval it names."""

    line: int
    column: int
    low: float
    high: float


@dataclass
class Cells:
    """How the cells of one file are read.

    Parameters
    ----------
    name : str
        What errors call the file.
    missing : sequence of str
        Further missing marks.
    limited : bool
        Whether a cell may hold a limit; it is NaN then, and kept in ``limits``.
    local : bool
        Whether the decimal sign may be a comma, in all cells or in none.
    unit : str
        What a line is called.

    Examples
    --------
    >>> cells = Cells("levels.csv", limited=True)
    >>> cells.numbers(["1.5", "ND", "< 0.25"], line=3, column=2, width=4)
    array([1.5, nan, nan])
    >>> cells.limits
    [Limit(line=3, column=4, low=-inf, high=0.25)]
    """

    name: str
    missing: Sequence[str] = ()
    limited: bool = False
    local: bool = False
    unit: str = "line"
    limits: list[Limit] = field(default_factory=list)
    # The first cell with each decimal sign, with its place.
    signs: dict[str, tuple[str, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.marks = {mark.strip().casefold() for mark in (*MISSING, *self.missing)}
        # Spellings met so far, so that a column of " NA" costs one careful look and not one per cell.
        self.spellings = dict.fromkeys(self.marks, np.nan)

    def number(self, cell: str) -> float | None:
        """A number, NaN for a missing mark, None for anything else."""
        text = cell.strip()
        if text.casefold() in self.marks:
            self.spellings[cell] = np.nan
            return np.nan
        if self.local and _COMMA_NUMBER.fullmatch(text):
            return float(text.replace(",", "."))
        try:
            # float() also takes Python's 1_000, which no data file means as a number.
            return None if "_" in text else float(text)
        except ValueError:
            return None

    def limit(self, cell: str) -> tuple[float, float] | None:
        """Between which numbers the value of a cell such as ``<0.25`` lies; None for any other cell."""
        text = cell.strip()
        sign = next((sign for sign in (*BELOW, *ABOVE) if text.startswith(sign)), None)
        if not self.limited or sign is None:
            return None
        end = self.number(text.removeprefix(sign))
        if end is None or not np.isfinite(end):
            return None
        return (-np.inf, end) if sign in BELOW else (end, np.inf)

    def is_text(self, cell: str) -> bool:
        """Whether a cell can only be a name; ``1.234,5`` is none, and no number that can be read either."""
        if self.number(cell) is not None or self.limit(cell) is not None:
            return False
        return not (self.local and _THOUSANDS.fullmatch(cell.strip()))

    def are_names(self, cells: Sequence[str]) -> bool:
        """Whether a first line or a first column holds names.

        ``ND`` is a mark among numbers and ``<18`` a limit, and both are names where there is no number and none of them
        stands twice: among the states of a country, or groups of age.
        """
        if any(map(self.is_text, cells)):
            return True
        texts = [cell.strip().casefold() for cell in cells if cell.strip()]
        if len(set(texts)) < len(texts) or any(text not in self.marks and self.limit(text) is None for text in texts):
            return False
        silent = {mark.strip().casefold() for mark in (*_FIRST_MARKS, *self.missing)}
        return not silent.issuperset(texts)

    def numbers(self, cells: Sequence[str], line: int, column: int, width: int) -> NDArray[np.float64]:
        """Read neighbouring cells of one line, the first of them in the given column (from 1)."""
        spellings = self.spellings
        if not self.local and "_" not in "".join(cells):
            try:
                return np.array([spellings[c] if c in spellings else float(c) for c in cells], dtype=float)
            except ValueError:
                pass
        found = np.empty(len(cells))
        for index, cell in enumerate(cells):
            found[index] = self._value(cell, line, column + index, width)
        return found

    def _value(self, cell: str, line: int, column: int, width: int) -> float:
        value = self.number(cell)
        if value is None:
            ends = self.limit(cell)
            if ends is None:
                raise self.wrong(cell, line, column, width)
            self.limits.append(Limit(line, column, *ends))
            value = np.nan
        if self.local:
            self._one_decimal_sign(cell, line, column)
        return value

    def _one_decimal_sign(self, cell: str, line: int, column: int) -> None:
        """Refuse a file in which some numbers have a comma and others a point: one of them may part thousands."""
        if cell.strip().casefold() in self.marks:
            return
        for sign in ",.":
            if sign in cell:
                self.signs.setdefault(sign, (cell.strip(), line, column))
        if len(self.signs) > 1:
            (comma, *there), (point, *here) = self.signs[","], self.signs["."]
            raise InputError(
                f"{self.name} has {comma!r} on {self.unit} {there[0]}, column {there[1]}, and {point!r} on {self.unit} "
                f"{here[0]}, column {here[1]}; expected one decimal sign in all cells, so write one and leave out "
                "thousand separators"
            )

    def several(self, cell: str) -> bool:
        """Whether these are numbers with semicolons between them."""
        parts = cell.split(";")
        return len(parts) > 1 and not any(map(self.is_text, parts)) and any(part.strip() for part in parts)

    def wrong(self, cell: str, line: int, column: int, width: int) -> InputError:
        """What to say of a cell that cannot be read."""
        text = cell.strip()
        shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
        expected = "neither a number nor a missing mark"
        if (width == 1 and _OTHER_DELIMITER.search(text)) or self.several(text):
            advice = "separate the cells by commas in a .csv file and by tabs in a .tsv file"
        elif self.limited and text.startswith(BELOW + ABOVE):
            expected, advice = "no limit such as <0.25 or >100", "write one number behind the sign"
        elif _LOCAL_NUMBER.fullmatch(text):
            advice = "write the decimal sign as a point and leave out thousand separators"
        elif shown == text:
            advice = f"give it with --missing {shlex.quote(text)} or correct the cell"
        else:
            advice = "correct the cell"
        where = f"{self.name}, {self.unit} {line}, column {column}"
        return InputError(f"{where}: {shown!r} is {expected}; {advice}")
