"""Other people's text in our sentences: names, cells and paths must not move the cursor or turn the line around."""

from __future__ import annotations

from unicodedata import category

__all__ = ["printable"]


def printable(text: object, keep: str = "") -> str:
    r"""The text, with every character escaped that is not simply shown.

    Escaped are control characters, line ends, marks that change the direction of writing, other invisible marks, and
    what is no character at all; spaces stay.

    Parameters
    ----------
    text : object
        Anything with a ``str``: a label, a path, a message.
    keep : str
        Characters that stay whatever they do, such as the line ends of a message of several lines.

    Examples
    --------
    >>> print(printable("item\x1b[31m 7\n"))
    item\x1b[31m 7\n
    >>> print(printable("two\nlines\r", keep="\n"))
    two
    lines\r
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(
        letter
        if letter.isprintable() or letter in keep or category(letter) == "Zs"
        else letter.encode("unicode_escape").decode("ascii")
        for letter in plain
    )
