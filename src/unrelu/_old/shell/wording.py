"""Sentences of the library for people at a terminal: options instead of Python's parameters."""

from __future__ import annotations

import re

__all__ = ["for_shells"]

# Parameters that are options of a command, with hyphens instead of underscores.
OPTIONS = (
    "budget|checkpoint|cutoff|data_error|device|dim|entry_range|loss|max_iter|max_seconds|method|pairs|peak_memory|rank|seen|sigma|start|stopping|"
    "structure|threshold|tol|trials|truth|unknown|weights"
)
# With a value or without, and as what a sentence is about.
PARAMETER = re.compile(rf"(?<![\w'\"-])({OPTIONS})=(?:'([^']*)'|([-+.\w]*\w))?")
SUBJECT = re.compile(rf"^({OPTIONS})(?= must| is )")
# Two numbers, which a shell takes with a comma; with a sign in front they need the equals sign.
RANGE = re.compile(r"\bentry_range=\(([^(),]+), ([^(),]+)\)")
# The caller's matrix, which has no name in a shell; a label or a file of that name is something else.
MATRIX = re.compile(r"(^|\b(?:of|in|mirror) )X(?= |,|;|$)")
PHRASES = {
    ", or mark entries without a limit with inf": ", or write inf for entries without a limit",
    "pass threshold=None": "say --no-threshold",
    "threshold=None": "--no-threshold",
    "threshold must be a finite number, or None if": "--threshold must be a finite number, or say --no-threshold if",
    "raise max_iter, lower the rank": "raise --max-iter, lower --rank",
    "raise max_iter, or tol": "raise --max-iter, or --tol",
    ", or a stopping rule such as GradientNormBelow(1e-6)": "",
    "what can be completed, or None;": "what can be completed, or auto;",
    ", or None if": ", or left out if",
    ", or None for": ", or left out for",
    ", or None to": ", or left out to",
    "'cpu', 'cuda' or a torch.device,": "cpu or cuda,",
    "'cpu' or 'cuda',": "cpu or cuda,",
    "; pass 'cuda' for a GPU": "; say cuda for a GPU",
    "; move the tensor there yourself": "",
    "pass sigma=": "give --sigma",
    "got rank=None; pass rank=": "got --rank auto; give the rank as a number",
    "widen entry_range,": "widen --entry-range,",
    ", or write loss=Censored(sigma)": "",
}


def for_shells(text: str) -> str:
    """What a sentence says of Python's parameters, as the options that a person at a terminal has.

    Examples
    --------
    >>> for_shells("tol must be a number; drop start='gaussian', or pass sigma= and mirror X if it is symmetric")
    '--tol must be a number; drop --start gaussian, or give --sigma and mirror the matrix if it is symmetric'
    """
    for python, shell in PHRASES.items():
        text = text.replace(python, shell)
    text = RANGE.sub(r"--entry-range=\1,\2", text)
    text = PARAMETER.sub(lambda found: _option(found[1], found[2] or found[3]), text)
    return MATRIX.sub(r"\1the matrix", SUBJECT.sub(lambda found: _option(found[1]), text))


def _option(name: str, value: str | None = None) -> str:
    return f"--{name.replace('_', '-')}" + (f" {value}" if value else "")
