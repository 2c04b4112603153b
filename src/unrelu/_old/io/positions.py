"""Positions into files: csv and tsv with everything known of the points, xyz and PDB for programs that draw them."""

from __future__ import annotations

import os
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.io.delimited import quoted, shortest
from unrelu._old.io.disk import FilePath, check_target, replacing
from unrelu._old.io.files import DELIMITERS

__all__ = ["POSITION_FILES", "axis_names", "check_positions_target", "write_positions"]

POSITION_FILES = (".csv", ".tsv", ".xyz", ".pdb")
"""Extensions that :func:`write_positions` knows."""

# What eight columns with three decimals hold, PDB format 3.3, "ATOM", columns 31-54.
PDB_LOWEST, PDB_HIGHEST = -999.999, 9999.999
PDB_POINTS, PDB_RESIDUES = 99_999, 9_999
PDB_LARGEST_B = 999.99
_CHAINS = string.ascii_uppercase + string.ascii_lowercase + string.digits
_RESIDUE = re.compile(r"([A-Z]{3})(\d{1,4})")
# As structures are read: chain, number, insertion code, residue and, where a residue may have several, atom.
_LABEL = re.compile(r"([!-9;-~]):(-?\d{1,4})([A-Za-z]?):([!-9;-~]{1,3})(?::([!-9;-~]{1,4}))?")


@dataclass(frozen=True, eq=False)
class _Sheet:
    """What there is to write, checked."""

    points: NDArray[np.float64]
    names: tuple[str, ...]
    determinacy: tuple[str, ...] | None
    components: NDArray[np.int64] | None
    errors: NDArray[np.float64] | None
    comment: str


def axis_names(dim: int) -> tuple[str, ...]:
    """What the coordinates are called: x, y, z, or x1, x2, … beyond three dimensions.

    Examples
    --------
    >>> axis_names(2), axis_names(4)
    (('x', 'y'), ('x1', 'x2', 'x3', 'x4'))
    """
    return tuple("xyz"[:dim]) if dim <= 3 else tuple(f"x{k + 1}" for k in range(dim))


def check_positions_target(path: FilePath, dim: int, *, inputs: Sequence[FilePath] = ()) -> None:
    """Refuse a file that could not take positions of this dimension, before the work starts.

    Parameters
    ----------
    path : str or path
        The file to be written.
    dim : int
        How many coordinates a point has.
    inputs : sequence of str or path
        Files that must not be overwritten.

    Raises
    ------
    InputError
        If the extension is unknown, the format does not take the dimension, or the place cannot be written to.
    """
    check_target(path, inputs=inputs, accepted=POSITION_FILES)
    extension = os.path.splitext(path)[1].lower()
    if (extension == ".pdb" and dim != 3) or (extension == ".xyz" and dim > 3):
        wanted = "three dimensions" if extension == ".pdb" else "at most three dimensions"
        raise InputError(f"{path} would hold points of {wanted}, got {dim}; write them as .csv")


def write_positions(
    path: FilePath,
    points: ArrayLike,
    *,
    names: Sequence[object] | None = None,
    determinacy: Sequence[str] | None = None,
    components: ArrayLike | None = None,
    standard_errors: ArrayLike | None = None,
    comment: str = "positions by unrelu",
) -> None:
    r"""Write points to a file whose extension names the format; the old file stays until the new one is complete.

    - **csv, tsv**: name, coordinates (they read back the same), determinacy, component, standard errors.
    - **xyz**: the number of points, a comment, then name and coordinates; the plane is written with z = 0.
    - **PDB**: an atom for every point, three dimensions only. A name such as 12 becomes the number of a residue, one
      such as ALA12 its kind and number, one of up to four letters the name of an atom; others stand in REMARK lines.
      Coordinates keep three decimals. The B factor is 8π² times the mean variance of a coordinate, the occupancy 0.00
      where the data do not determine the point.

    Parameters
    ----------
    path : str or path
        A file ending in one of `POSITION_FILES`.
    points : (n, dim) array
    names : sequence, optional
        What the points are called; 0, 1, 2, … if not given.
    determinacy : sequence of {"proved", "generic", "local", "no"}, optional
    components : (n,) array of int, optional
    standard_errors : (n, dim) array, optional
    comment : str
        The second line of an xyz file, the title of a PDB file.

    Raises
    ------
    InputError
        If the points or their names do not fit the format, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "positions.csv")
    ...     write_positions(target, [[0.0, 1.5]], names=["a"], determinacy=["proved"], components=[0])
    ...     print(target.read_text())
    name,x,y,determinacy,component
    a,0.0,1.5,proved,0
    """
    coordinates = np.asarray(points, dtype=float)
    if coordinates.ndim != 2:
        raise InputError(f"points must be an array of shape (n, dim), got {coordinates.shape}")
    n, dim = coordinates.shape
    check_positions_target(path, dim)
    labels = tuple(map(str, range(n) if names is None else names))
    for what, given in (("names", labels), ("determinacy", determinacy), ("components", components)):
        if given is not None and len(np.asarray(given)) != n:
            raise InputError(f"{what} must have one entry for each of the {n} points, got {len(np.asarray(given))}")
    sheet = _Sheet(
        coordinates,
        labels,
        None if determinacy is None else tuple(map(str, determinacy)),
        None if components is None else np.asarray(components, dtype=np.int64),
        None if standard_errors is None else np.asarray(standard_errors, dtype=float),
        " ".join(comment.split()),
    )
    if sheet.errors is not None and sheet.errors.shape != (n, dim):
        raise InputError(f"standard_errors must have the shape of points, {(n, dim)}, got {sheet.errors.shape}")
    extension = os.path.splitext(path)[1].lower()
    lines = _WRITERS[extension](sheet, os.fspath(path))
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as text:
        try:
            text.writelines(line + "\n" for line in lines)
        except UnicodeEncodeError as error:
            raise InputError(f"a name of {path} cannot be written as UTF-8; rename it") from error


def _table(sheet: _Sheet, path: str) -> list[str]:
    delimiter = DELIMITERS[os.path.splitext(path)[1].lower()]
    axes = axis_names(sheet.points.shape[1])
    head = ["name", *axes]
    columns: list[Sequence[str]] = [[quoted(name, delimiter) for name in sheet.names]]
    columns += [shortest(column) for column in sheet.points.T]
    if sheet.determinacy is not None:
        head.append("determinacy")
        columns.append(sheet.determinacy)
    if sheet.components is not None:
        head.append("component")
        columns.append([str(k) for k in sheet.components.tolist()])
    if sheet.errors is not None:
        head += [f"standard_error_{axis}" for axis in axes]
        columns += [shortest(column) for column in sheet.errors.T]
    return [delimiter.join(cells) for cells in (head, *zip(*columns, strict=True))]


def _xyz(sheet: _Sheet, path: str) -> list[str]:
    for name in sheet.names:
        if not name or any(letter.isspace() for letter in name):
            raise InputError(
                f"{path} takes names without spaces, got {name!r}; rename it in the input, or write the points as .csv"
            )
    width = max(map(len, sheet.names), default=1)
    padded = np.pad(sheet.points, ((0, 0), (0, 3 - sheet.points.shape[1])))
    rows = (
        f"{name:<{width}} " + " ".join(f"{value:.10g}" for value in point)
        for name, point in zip(sheet.names, padded.tolist(), strict=True)
    )
    return [str(len(padded)), sheet.comment, *rows]


@dataclass(frozen=True)
class _Site:
    """Where a PDB file keeps a name."""

    atom: str
    residue: str
    chain: str
    number: int
    insertion: str = " "


def _pdb(sheet: _Sheet, path: str) -> list[str]:
    n = len(sheet.points)
    if n > PDB_POINTS:
        raise InputError(f"{path} can number {PDB_POINTS} atoms, got {n} points; write them as .csv or .xyz")
    with np.errstate(invalid="ignore"):
        rounded = np.round(sheet.points, 3)
        wide = ~((rounded >= PDB_LOWEST) & (rounded <= PDB_HIGHEST)).all(axis=1)
    if wide.any():
        k = int(np.flatnonzero(wide)[0])
        more = int(wide.sum()) - 1
        at = ", ".join(f"{value:g}" for value in sheet.points[k])
        raise InputError(
            f"{path} holds coordinates from {PDB_LOWEST} to {PDB_HIGHEST}, got {sheet.names[k]!r} at ({at})"
            f"{f' and {more} more beyond' if more else ''}; use larger units, or write them as .csv or .xyz"
        )
    sites, named = _sites(sheet)
    lines = [f"{'TITLE':<10}{_ascii(sheet.comment)[:70]}".rstrip()]
    if not named:
        lines += [
            f"REMARK   6 ATOM {serial:>5} IS {' '.join(name.split())}" for serial, name in enumerate(sheet.names, 1)
        ]
    for serial, (site, point) in enumerate(zip(sites, sheet.points.tolist(), strict=True), 1):
        x, y, z = (value + 0.0 for value in np.round(point, 3).tolist())  # no "-0.000"
        k = serial - 1
        sure = sheet.determinacy is None or sheet.determinacy[k] in ("proved", "generic")
        variance = 0.0 if sheet.errors is None else float(np.mean(sheet.errors[k] ** 2))
        b = min(8 * np.pi**2 * variance, PDB_LARGEST_B) if np.isfinite(variance) else PDB_LARGEST_B
        # A name of up to three letters begins in column 14, so that column 13 is free for two-letter elements.
        atom = site.atom if len(site.atom) == 4 else f" {site.atom}"
        lines.append(
            f"ATOM  {serial:>5} {atom:<4} {site.residue:>3} {site.chain}{site.number:>4}{site.insertion}   "
            f"{x:>8.3f}{y:>8.3f}{z:>8.3f}{float(sure):>6.2f}{b:>6.2f}{'':>10}{'C':>2}"
        )
    lines += [f"TER   {n + 1:>5}      {sites[-1].residue:>3} {sites[-1].chain}{sites[-1].number:>4}"] if n else []
    return [*lines, "END"]


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii")


def _sites(sheet: _Sheet) -> tuple[list[_Site], bool]:
    """Find the columns that keep the names, and whether they do."""
    n = len(sheet.points)
    chains = ["A"] * n
    counted = [k % PDB_RESIDUES + 1 for k in range(n)]
    if n > PDB_RESIDUES:
        chains = [_CHAINS[k // PDB_RESIDUES] for k in range(n)]
    elif sheet.components is not None and int(sheet.components.max(initial=0)) < len(_CHAINS):
        chains = [_CHAINS[k] for k in sheet.components.tolist()]
    labelled = _labelled(sheet.names)
    if labelled is not None:
        return labelled, True
    for way in (_numbered, _residues, _atoms):
        found = way(sheet.names)
        if found is not None:
            return [
                _Site(atom, residue, chain, count if number is None else number)
                for (atom, residue, number), chain, count in zip(found, chains, counted, strict=True)
            ], True
    return [_Site("CA", "UNK", chain, count) for chain, count in zip(chains, counted, strict=True)], False


_Kept = list[tuple[str, str, int | None]] | None


def _labelled(names: Sequence[str]) -> list[_Site] | None:
    """Sites of names such as ``A:17:LEU``; a chain without a name is called ``_``."""
    matches = [_LABEL.fullmatch(name) for name in names]
    sites = [
        _Site(match[5] or "CA", match[4], " " if match[1] == "_" else match[1], int(match[2]), match[3] or " ")
        for match in matches
        if match and int(match[2]) >= -999
    ]
    return sites if len(sites) == len(names) else None


def _numbered(names: Sequence[str]) -> _Kept:
    if not all(re.fullmatch(r"0|-?[1-9]\d{0,3}", name) and int(name) >= -999 for name in names):
        return None
    return [("CA", "UNK", int(name)) for name in names]


def _residues(names: Sequence[str]) -> _Kept:
    matches = [_RESIDUE.fullmatch(name) for name in names]
    if not all(matches):
        return None
    return [("CA", match[1], int(match[2])) for match in matches if match]


def _atoms(names: Sequence[str]) -> _Kept:
    if not all(0 < len(name) <= 4 and name.isascii() and name.isprintable() and " " not in name for name in names):
        return None
    return [(name, "UNK", None) for name in names]


_WRITERS: dict[str, Callable[[_Sheet, str], list[str]]] = {
    ".csv": _table,
    ".tsv": _table,
    ".xyz": _xyz,
    ".pdb": _pdb,
}
