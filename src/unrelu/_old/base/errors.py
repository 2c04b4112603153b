"""What goes wrong, in words a person can act on.

An error is one sentence: what was expected, what came, where, what to do. The shell turns
:class:`InputError` into exit code 2; anything else that escapes is a defect of this library.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from math import isfinite
from numbers import Integral, Real
from typing import Any, TypeGuard

__all__ = ["CompletionWarning", "InputError", "is_integer", "is_number", "outside", "positions", "unknown_name", "warn"]


# Names that are listed when another one came; of more, such as the labels of a large matrix, so many.
MOST_ACCEPTED = 40


class InputError(ValueError):
    """The input cannot be what the caller meant; the message says why and what to do."""


class CompletionWarning(UserWarning):
    """The answer is given, and there is something about it that the caller should know.

    The first argument is the fact. A second one is what a Python caller can look at or do: the shell has its own.

    Examples
    --------
    >>> print(CompletionWarning("too little was seen to place row 5", "see undetermined_rows"))
    too little was seen to place row 5; see undetermined_rows
    """

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


def warn(*said: str) -> None:
    """Warn whoever called this library: of a fact, and perhaps with what to do."""
    warnings.warn(CompletionWarning(*said), stacklevel=outside())


def outside() -> int:
    """The ``stacklevel``, for who calls this, of the nearest caller that is neither this library nor scikit-learn."""
    level, frame = 0, sys._getframe(1)
    inside = ("unrelu", "sklearn", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    return level + 1


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a parameter is a finite real number (and not a truth value)."""
    return not isinstance(value, bool) and isinstance(value, Real) and isfinite(value)


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether a parameter is an integer (and not a truth value)."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def positions(pairs: Iterable[Sequence[int]], total: int, most: int = 3) -> str:
    """Write the first few positions of many: ``(0, 1), (0, 4), (2, 3) and 8 more``.

    Examples
    --------
    >>> positions([(0, 1), (2, 3)], total=7)
    '(0, 1), (2, 3) and 5 more'
    """
    shown = [f"({', '.join(str(int(index)) for index in pair)})" for _, pair in zip(range(most), pairs, strict=False)]
    rest = total - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def unknown_name(what: str, name: object, accepted: Iterable[str]) -> InputError:
    """Say which names are accepted, and which of them was probably meant.

    Examples
    --------
    >>> print(unknown_name("method", "gaus-newton", ["gauss-newton", "gradient-descent"]))
    unknown method 'gaus-newton'; did you mean 'gauss-newton'? accepted: gauss-newton, gradient-descent
    """
    names = sorted(accepted)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    more = f" and {len(names) - MOST_ACCEPTED} more" if len(names) > MOST_ACCEPTED else ""
    return InputError(f"unknown {what} {name!r}; {hint}accepted: {', '.join(names[:MOST_ACCEPTED])}{more}")
