"""How exact the numbers in a text file are, from the digits it prints."""

from __future__ import annotations

import re
from pathlib import Path

from unrelu._old.io.disk import extension_of
from unrelu._old.io.text import PACKED, TEXTS, delimiter_of, opening_text

__all__ = ["printed_error", "prints_digits"]

# A number that stands alone in its cell: digits, fraction, exponent.
NUMBER = re.compile(r"(?<![\w.])[+-]?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?(?![\w.])")
# A limit, which says nothing of how exactly others were measured.
LIMIT = re.compile(r"[<>≤≥]=?\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?")
# So many digits are all that a double has.
FULL_PRECISION = 15
# Beyond this a number is infinite, or zero.
LARGEST_EXPONENT = 400


def prints_digits(path: str | Path) -> bool:
    """Whether a file is one of text, packed or not; or standard input.

    Examples
    --------
    >>> prints_digits("m.csv.gz"), prints_digits("-"), prints_digits("m.xlsx")
    (True, True, False)
    """
    return str(path) == "-" or extension_of(path) in TEXTS + PACKED


def printed_error(path: str | Path) -> float | None:
    r"""Half a unit of the last digit that a text file prints, or None if it prints doubles in full.

    Of plain numbers the finest digit of the file counts for all: programs leave trailing zeros out. Numbers with
    exponents have as many digits as the longest of them, so that the largest is printed most coarsely, and that counts;
    a zero says nothing of digits.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "m.csv"
    >>> _ = file.write_text("1.25,0.5\n0.5,3\n")
    >>> printed_error(file)
    0.005
    >>> _ = file.write_text("1.04e+10,5.00e+09\n5.00e+09,0.00e+00\n")
    >>> printed_error(file)
    50000000.0
    """
    longest = decimals = digits = 0
    largest: int | None = None
    plain = False
    with opening_text(str(path), TEXTS + PACKED) as handle:
        decimal = "," if delimiter_of(handle, extension_of(path)) == ";" else "."
        for raw in handle:
            line = raw.decode("utf-8", errors="replace").replace(decimal, ".")
            for whole, fraction, power in NUMBER.findall(LIMIT.sub("", line)):
                told = (whole + fraction).lstrip("0")
                longest = max(longest, len(told))
                if not power:
                    decimals, plain = max(decimals, len(fraction)), plain or bool(told)
                elif told:
                    shift = _exponent(power) + len(whole) - 1
                    digits = max(digits, len(whole + fraction) - 1)
                    largest = shift if largest is None else max(largest, shift)
    if longest >= FULL_PRECISION:
        return None
    last = [-decimals] if plain or largest is None else []
    last += [] if largest is None else [largest - digits]
    return float(f"5e{max(last) - 1}")


def _exponent(text: str) -> int:
    """An exponent, cut off where doubles have long ended: Python does not read numbers of thousands of digits."""
    sign = -1 if text.startswith("-") else 1
    size = text.lstrip("+-").lstrip("0")
    return sign * (int(size or 0) if len(size) < 4 else LARGEST_EXPONENT)
