"""What is said of entries that are distrusted: in the verdict, in a sentence, for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from unrelu._old.base.errors import is_integer
from unrelu._old.loop.history import Verdict, finite
from unrelu._old.results.distrusted import Distrusted

__all__ = ["distrust_in_json", "distrust_in_words", "with_warning"]

# Entries that a sentence names one by one.
NAMED = 5
# A larger share of the seen entries than this is not a few: then something else is wrong.
A_FEW = 0.1


def with_warning(verdict: Verdict, listed: Sequence[Distrusted], count: int, *, left_out: bool) -> Verdict:
    """The same verdict, which says how many entries are distrusted."""
    if not listed:
        return verdict
    many = f"{len(listed)} entries are" if len(listed) > 1 else "one entry is"
    said = f"{many} distrusted{' and left out' if left_out else ''}"
    if len(listed) > A_FEW * count:
        said += ", more than a few wrong ones would be: look whether rank and threshold are right"
    return Verdict(verdict.code, f"{verdict.reason}; {said}")


def distrust_in_words(listed: Sequence[Distrusted], most: int = NAMED) -> str:
    """The first of them, and how many more there are.

    Examples
    --------
    >>> distrust_in_words([Distrusted("a", "b", 40.0, 2.5, 31.0), Distrusted(3, 4, float("nan"), 2.5, 8.0)], most=1)
    '(a, b) is 40, where the others say 2.5 (31 standard deviations) … and 1 more'
    """
    shown = [_in_words(one) for one in listed[:most]]
    more = len(listed) - len(shown)
    return "; ".join(shown) + (f" … and {more} more" if more else "")


def _in_words(one: Distrusted) -> str:
    came = "was not seen" if np.isnan(one.value) else f"is {one.value:.4g}"
    off = f"{one.deviations:.2g} standard deviations"
    return f"({one.row}, {one.column}) {came}, where the others say {one.expected:.3g} ({off})"


def distrust_in_json(listed: Sequence[Distrusted]) -> list[dict[str, Any]]:
    """All of them, ready for JSON; a value that was not seen is null.

    Examples
    --------
    >>> distrust_in_json([Distrusted(3, 4, float("nan"), 2.5, 8.0)])
    [{'row': 3, 'column': 4, 'value': None, 'expected': 2.5, 'deviations': 8.0}]
    """
    return [finite(asdict(one) | {"row": _label(one.row), "column": _label(one.column)}) for one in listed]


def _label(label: Any) -> str | int:
    return int(label) if is_integer(label) else str(label)
