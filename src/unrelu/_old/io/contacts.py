"""Contact lists: pairs of points that are near each other, at distances that nobody measured."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.errors import InputError, is_number
from unrelu._old.distances.edges import EdgeList
from unrelu._old.io.delimited import MISSING, open_records
from unrelu._old.io.disk import FilePath, opening
from unrelu._old.io.files import DELIMITERS
from unrelu._old.io.measurements import Measurements, edges_of_records, in_order, number
from unrelu._old.io.pairs import HEADERS
from unrelu._old.io.text import delimiter_of

__all__ = ["CONTACT_FILES", "Contacts", "are_contacts", "read_contacts"]

CONTACT_FILES = (".rr", ".txt", ".csv", ".tsv")
"""Extensions that :func:`read_contacts` knows."""
WANTED = "a line 'name name', 'name name probability', or 'name name nearest farthest probability' for every contact"
# How lines of CASP's format RR begin that hold no contact.
KEYWORDS = {"PFRMAT", "TARGET", "AUTHOR", "SCORE", "REMARK", "METHOD", "MODEL", "RMODE", "PARENT", "TER", "END"}
PROBABILITIES = {"p", "prob", "probability", "score", "confidence"}
DISTANCES = {"d", "dist", "distance"}
# What a line may hold, by its number of cells.
PLAIN, LIKELY, BETWEEN = 2, 3, 5

Records = list[tuple[int, list[str]]]


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts as bounds on distances, as :func:`unrelu.complete_distances` takes them; no distance is known.

    Attributes
    ----------
    names : tuple of str
        One for each point.
    lower, upper : EdgeList or None
        Bounds on the distances of pairs. A lower bound of 0 stands where nothing is known of a pair.
    cutoff : float or None
        Every pair that is not there is at least so far apart; None if absence says nothing.
    words : tuple of str
        What was read, in sentences.
    """

    names: tuple[str, ...]
    lower: EdgeList | None
    upper: EdgeList | None
    cutoff: float | None
    words: tuple[str, ...] = ()

    @property
    def data(self) -> EdgeList:
        """The measured distances: none."""
        return EdgeList(np.zeros((0, 2), np.intp), np.zeros(0), names=self.names)


def are_contacts(path: FilePath, layout: str | None = None) -> bool:
    """Whether a file is a contact list, by its name and its first lines.

    Files in CASP's format, text in two columns, and text whose third column is called a probability are; ``layout``
    may say it. Text in two columns that is a square of distances is not.
    """
    path = os.fspath(path)
    extension = os.path.splitext(path)[1].lower()
    if layout is not None or extension not in DELIMITERS:
        return layout == "contacts" or (layout is None and extension in CONTACT_FILES)
    if not os.path.isfile(path):  # a pipe can be read only once, and what is not there is for others to say
        return False
    rows = [cells for _, cells in _told(path, 7)]
    if not rows:
        return False
    width = max(map(len, rows))
    named = len(rows[0]) == LIKELY and rows[0][2].strip().casefold() in PROBABILITIES
    return named or rows[0][0].strip().upper() == "PFRMAT" or (width == PLAIN and not _is_square(rows))


def read_contacts(
    path: FilePath,
    *,
    cutoff: float | None = None,
    probability: float = 0.5,
    layout: str | None = None,
    header: bool | None = None,
) -> Contacts | Measurements:
    r"""Read contacts, each of which says that two points are closer than some distance.

    - Two columns, ``i j``: a contact map. Listed pairs are closer than ``cutoff``, all others at least so far apart.
    - Three columns, ``i j probability``: predictions. Pairs that are probable enough are closer than ``cutoff``; of the
      others, and of pairs that are not listed, nothing is said.
    - Five columns, ``i j nearest farthest probability``, CASP's format RR: the same, with the bounds of the line. Lines
      such as ``PFRMAT RR`` and the sequence are passed over.
    - Three columns of which the third is a distance are an edge list, and come back as such.

    Parameters
    ----------
    path : str or path
        .rr, .txt, .csv or .tsv; lines that begin with ``#`` are passed over.
    cutoff : float, optional
        Below which distance two points are in contact. In format RR it means that pairs that are not listed are at
        least so far apart.
    probability : float
        Less probable contacts say nothing.
    layout : {"contacts"}, optional
        Says that numbers in a third column are probabilities where they might be distances.
    header : bool, optional
        Whether the first line holds names of columns; looked for when not given.

    Returns
    -------
    Contacts, or Measurements if these are distances

    Raises
    ------
    InputError
        If the file cannot be read so.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "predicted.rr")
    ...     _ = path.write_text("PFRMAT RR\nMODEL 1\nGLSTW\n1 4 0 8 0.9\n2 5 0 8 0.3\nEND\n")
    ...     found = read_contacts(path)
    >>> found.names, found.upper.pairs.tolist(), found.upper.distances.tolist()
    (('1', '2', '4', '5'), [[0, 2]], [8.0])
    """
    path = os.fspath(path)
    for what, value in (("cutoff", cutoff), ("probability", probability)):
        if value is not None and not (is_number(value) and value > 0):
            raise InputError(f"{what} must be a positive number, got {value!r}")
    if probability > 1:
        raise InputError(f"probability must be above 0 and at most 1, got {probability:g}")
    records, title = _lines(path, header)
    width = len(records[0][1])
    if width == LIKELY and layout is None and title not in PROBABILITIES and _distances(records, title, path):
        return edges_of_records(records, path, False, (), False)
    if width not in (PLAIN, LIKELY, BETWEEN):
        line = records[0][0]
        raise InputError(f"{path}, line {line} has {_cells(width)} where 2, 3 or 5 were expected: {WANTED}")
    if width != BETWEEN and cutoff is None:
        raise InputError(
            f"{path} says which points are in contact, but not how near that is; say it as --cutoff, for instance 8"
        )
    return _contacts(_parsed(records, path, cutoff), path, cutoff if width != LIKELY else None, probability)


@dataclass(frozen=True)
class _Contact:
    """A line: where it is, the two names, and what it says."""

    line: int
    pair: tuple[str, str]
    near: float
    far: float
    likely: float


def _told(path: str, most: int | None = None) -> Records:
    """The lines that hold something, as cells."""
    extension = os.path.splitext(path)[1].lower()
    with opening(path, CONTACT_FILES, "a contact list") as handle:
        delimiter = delimiter_of(handle, ".txt" if extension == ".rr" else extension)
        with open_records(handle, delimiter, path) as lines:
            found = []
            for line, cells in lines:
                if cells and not cells[0].lstrip().startswith("#"):
                    found.append((line, [cell.strip() for cell in cells]))
                if most is not None and len(found) >= most:
                    break
    return found


def _is_square(rows: list[list[str]]) -> bool:
    """Whether two columns are the distances of two points: zeros, or nothing, on the diagonal."""
    marks = {mark.casefold() for mark in MISSING}
    for body in (rows, rows[1:]):
        if len(body) == 2 and all(len(row) == 2 for row in body):
            values = [[number(cell, marks) for cell in row] for row in body]
            if all(value is not None for row in values for value in row):
                return not any((values[k][k] or 0) > 0 for k in (0, 1))
    return False


def _lines(path: str, header: bool | None) -> tuple[Records, str]:
    """The lines of contacts, and what their third column is called, if anything."""
    told = _told(path)
    casp = path.lower().endswith(".rr") or any(cells[0].upper() == "PFRMAT" for _, cells in told[:5])
    if casp:
        # A sequence may begin like a keyword; a contact begins with a number or has more than one cell.
        told = [(line, c) for line, c in told if c[0].upper() not in KEYWORDS and not (len(c) == 1 and c[0].isalpha())]
    title = ""
    if told:
        first = told[0][1]
        known = tuple(cell.casefold() for cell in first[:2]) in HEADERS
        texts = len(first) > 2 and number(first[2], set()) is None
        if header or (header is None and (known or texts)):
            title = first[2].casefold() if len(first) > 2 else ""
            told = told[1:]
    if not told:
        raise InputError(f"{path} holds no contacts; expected {WANTED}")
    return told, title


def _distances(records: Records, title: str, path: str) -> bool:
    """Whether a third column is a distance: by its name, or because no probability is so large."""
    values = [number(cells[2], set()) for _, cells in records if len(cells) == LIKELY]
    if title in DISTANCES or any(value is not None and value > 1 for value in values):
        return True
    if os.path.splitext(path)[1].lower() == ".rr":
        return False
    raise InputError(
        f"{path}: the numbers in the third column, from 0 to 1, may be probabilities or distances; say --format "
        "contacts or --format edges"
    )


def _parsed(records: Records, path: str, cutoff: float | None) -> list[_Contact]:
    width = len(records[0][1])
    found = []
    for line, cells in records:
        where = f"{path}, line {line}"
        if len(cells) != width:
            raise InputError(f"{where} has {_cells(len(cells))} where {width} were expected: {WANTED}")
        one, other = cells[:2]
        if not (one and other):
            raise InputError(f"{where} leaves a point without a name; expected {WANTED}")
        if one == other:
            raise InputError(f"{where} says that {one!r} is in contact with itself; name two different points")
        numbers = [_value(cell, where) for cell in cells[2:]]
        likely = numbers[-1] if numbers else 1.0
        if not 0 <= likely <= 1:
            raise InputError(f"{where}: a probability must be between 0 and 1, got {likely:g}; correct it")
        near, far = (numbers[0], numbers[1]) if width == BETWEEN else (0.0, float(cutoff or 0.0))
        if not (0 <= near <= far and far > 0):
            raise InputError(
                f"{where}: expected a nearest distance of at least 0 and a farthest one above it, got {near:g} and "
                f"{far:g}; correct them"
            )
        found.append(_Contact(line, (one, other), near, far, likely))
    return found


def _value(cell: str, where: str) -> float:
    value = number(cell, set())
    if value is None or not np.isfinite(value):
        raise InputError(f"{where}: expected a number, got {cell!r}; correct it (the decimal sign is a point)")
    return value


def _contacts(found: list[_Contact], path: str, cutoff: float | None, probability: float) -> Contacts:
    places: dict[str, int] = {}
    ends = np.array([[places.setdefault(name, len(places)) for name in one.pair] for one in found])
    pairs, names = in_order(ends, tuple(places))
    told: dict[tuple[int, int], _Contact] = {}
    for (first, second), one in zip(np.sort(pairs, axis=1).tolist(), found, strict=True):
        before = told.setdefault((first, second), one)
        if (before.near, before.far, before.likely) != (one.near, one.far, one.likely):
            raise InputError(
                f"{path} gives the contact of {one.pair[0]!r} and {one.pair[1]!r} twice, differently, on line "
                f"{before.line} and line {one.line}; keep one of them"
            )
    kept = {pair: one for pair, one in told.items() if one.likely >= probability}
    if not kept:
        raise InputError(
            f"{path} holds no contact with a probability of at least {probability:g}; the most probable has "
            f"{max(one.likely for one in found):g}"
        )
    # Of an improbable pair nothing is known: not even that it lies beyond the cut-off.
    low = {pair: one.near if pair in kept else 0.0 for pair, one in told.items() if pair not in kept or one.near > 0}
    high = {pair: one.far for pair, one in kept.items()}
    return Contacts(names, _edges(low, names), _edges(high, names), cutoff, _words(kept, told, cutoff, probability))


def _edges(bounds: dict[tuple[int, int], float], names: tuple[str, ...]) -> EdgeList | None:
    return EdgeList(np.array(list(bounds)), np.array(list(bounds.values())), names=names) if bounds else None


def _words(kept: dict[Any, Any], told: dict[Any, Any], cutoff: float | None, probability: float) -> tuple[str, ...]:
    left = len(told) - len(kept)
    nearer = sorted({one.far for one in kept.values()})
    far = f"{nearer[0]:g}" if len(nearer) == 1 else f"{nearer[0]:g} to {nearer[-1]:g}"
    words = f"{len(kept)} contact{'s' * (len(kept) != 1)}: pairs closer than {far}, at unknown distances"
    if left:
        words += f" ({left} less probable than {probability:g} left out)"
    rest = f"every pair that is not listed is at least {cutoff:g} apart" if cutoff else "of other pairs nothing is said"
    return (f"{words}; {rest}",)


def _cells(count: int) -> str:
    return f"{count} cell{'s' * (count != 1)}"
