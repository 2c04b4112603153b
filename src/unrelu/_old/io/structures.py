"""Structures of molecules (PDB and mmCIF): one point per residue, or more; read by gemmi, which is loaded only here."""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError, is_integer, is_number
from unrelu._old.distances.edges import EdgeList
from unrelu._old.io.disk import FilePath, extension_of, opening

__all__ = ["HEAVY", "STRUCTURES", "Structure", "read_structure"]

_PLAIN = (".pdb", ".ent", ".cif", ".mmcif")
STRUCTURES = (*_PLAIN, *(f"{extension}.gz" for extension in _PLAIN))
"""Extensions that :func:`read_structure` knows."""
HEAVY = "heavy"
"""All atoms but hydrogen, of everything but water."""

WANTED = "the atoms of a molecule in PDB or mmCIF format"
# PDB format 3.3, "ATOM": columns 31-38, 39-46 and 47-54 hold the coordinates.
_COORDINATES = {"x": (30, 38), "y": (38, 46), "z": (46, 54)}
# What a chain without a name is called here.
NAMELESS = "_"
MOST_NAMED = 8


@dataclass(frozen=True, eq=False)
class Structure:
    """Atoms of a molecule as points.

    Attributes
    ----------
    names : tuple of str
        ``A:17:LEU``, chain, number with its insertion code, and residue; ``A:17:LEU:CB`` where a residue may have more
        than one atom.
    positions : ndarray of shape (n, 3)
        In ångströms.
    left_out : tuple of str
        Residues that have none of the atoms, waters and ions not counted.
    models : int
        How many models the file holds.
    """

    names: tuple[str, ...]
    positions: Floats
    left_out: tuple[str, ...] = ()
    models: int = 1

    def within(self, cutoff: float) -> EdgeList:
        """All distances up to a cut-off, as :func:`unrelu.complete_distances` takes them.

        Examples
        --------
        >>> made = Structure(("A:1:GLY", "A:2:GLY", "A:3:GLY"), np.array([[0.0, 0, 0], [3.8, 0, 0], [9.5, 0, 0]]))
        >>> made.within(8.0).pairs.tolist()
        [[0, 1], [1, 2]]
        """
        from scipy.spatial import cKDTree

        if not (is_number(cutoff) and cutoff > 0):
            raise InputError(f"cutoff must be a positive number, got {cutoff!r}")
        pairs = np.sort(cKDTree(self.positions).query_pairs(cutoff, output_type="ndarray"), axis=1)
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        apart = np.linalg.norm(self.positions[pairs[:, 0]] - self.positions[pairs[:, 1]], axis=1)
        return EdgeList(pairs.astype(np.intp), apart, names=self.names)


def read_structure(
    path: FilePath, atoms: str | Sequence[str] = "CA", chains: str | Sequence[str] | None = None, model: int = 1
) -> Structure:
    r"""Read points from a PDB or mmCIF file, packed or not: by default the Cα of every residue.

    Of alternate locations, and of residues that share a number, the first is taken. Chains and numbers are those of the
    authors, as programs show them. Whether a file is PDB or mmCIF is told by what is in it.

    Parameters
    ----------
    path : str or path
        .pdb, .ent, .cif or .mmcif, or one of them with .gz.
    atoms : str or sequence of str
        Names of the atoms that are taken, with commas between them: ``CA``, ``N,CA,C``, ``P``; or ``heavy`` for all
        but hydrogen, of everything but water.
    chains : str or sequence of str, optional
        Names of the chains, with commas between them; by default all. A chain without a name is called ``_``.
    model : int
        Which model, counted from 1.

    Returns
    -------
    Structure

    Raises
    ------
    InputError
        If gemmi is not installed, the file is damaged, or holds no such model, chain or atom.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> line = "ATOM  {0:5}  CA  GLY A{0:4}    {1:8.3f}   0.000   0.000  1.00  0.00           C"
    >>> lines = [line.format(k, 3.8 * k) for k in (1, 2)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "made.pdb")
    ...     _ = path.write_text("\n".join(lines) + "\nEND\n")
    ...     made = read_structure(path)
    >>> made.names, made.positions[:, 0].tolist()
    (('A:1:GLY', 'A:2:GLY'), [3.8, 7.6])
    """
    path = os.fspath(path)
    wanted = _listed(atoms, "atoms")
    if not is_integer(model) or model < 1:
        raise InputError(f"model must be an integer of at least 1, the first of the file; got {model!r}")
    whole = _parsed(_unpacked(path), path)
    models = [one for one in whole if any(len(chain) for chain in one)]
    if not models:
        raise InputError(f"{path} holds no atoms; expected {WANTED}, so check what the file is")
    if model > len(models):
        raise InputError(f"{path} holds {_many(len(models), 'model')}, got model {model}; count them from 1")
    found = list(_chosen(models[model - 1], None if chains is None else _listed(chains, "chains"), path))
    several = wanted == (HEAVY,) or len(wanted) > 1
    names: list[str] = []
    places: list[tuple[float, float, float]] = []
    left_out: list[str] = []
    for label, residue in found:
        foreign = wanted != (HEAVY,) and "CA" in wanted and _is_foreign(residue)
        taken = {} if foreign else _taken(residue, wanted)
        for name, atom in taken.items():
            names.append(f"{label}:{name}" if several else label)
            places.append((atom.pos.x, atom.pos.y, atom.pos.z))
            if not all(map(math.isfinite, places[-1])):
                raise InputError(
                    f"{path}: atom {name} of {label} (atom {atom.serial}) has no number for one of its coordinates; "
                    "correct it, or take the line out"
                )
        if not taken and len(residue) > 1:
            left_out.append(label)
    if not names:
        raise _no_such_atom(path, wanted, found)
    return Structure(tuple(names), np.array(places), tuple(left_out), len(models))


def _listed(given: str | Sequence[str], what: str) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else [str(one) for one in given]
    found = tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
    if not found:
        raise InputError(f"{what} must be names with commas between them, got {given!r}")
    return found


def _unpacked(path: str) -> bytes:
    with opening(path, STRUCTURES, WANTED) as handle:
        content = handle.read()
    if not extension_of(path).endswith(".gz"):
        return content
    try:
        return gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} is no gzip file or is cut short; expected {WANTED}, packed by gzip, so fetch a fresh copy"
        ) from error


def _parsed(content: bytes, path: str) -> Any:
    """What gemmi makes of it; it takes letters among coordinates for zero, so that those are looked at first."""
    try:
        import gemmi
    except ImportError as error:
        raise InputError(
            f"{path} needs the package gemmi, which is not installed; install it with pip install 'unrelu[structures]'"
        ) from error
    if b"\0" in content:
        raise InputError(f"{path} is no text; expected {WANTED}, so unpack or convert it")
    try:
        if _is_cif(content):
            blocks = gemmi.cif.read_string(content)
            whole = gemmi.make_structure_from_block(blocks[0])
        else:
            _check_coordinates(content, path)
            whole = gemmi.read_pdb_string(content)
        whole.merge_chain_parts()
    except InputError:
        raise
    except (RuntimeError, ValueError, IndexError) as error:
        raise InputError(f"{_said(error, path)}; expected {WANTED}") from error
    return whole


def _said(error: Exception, path: str) -> str:
    """What gemmi says, with the line first."""
    words = " ".join(str(error).split())
    place = re.match(r"\w+:(\d+):\d+(?:\(\d+\))?: *|Problem in line (\d+): *", words)
    if place is None:
        return f"{path} is damaged: {words.rstrip('.')}"
    return f"{path}, line {place[1] or place[2]} is damaged: {words[place.end() :].rstrip('.')}"


def _is_cif(content: bytes) -> bool:
    """Whether the first line that is neither empty nor a comment opens a block of mmCIF."""
    for line in content.splitlines():
        if line.strip() and not line.lstrip().startswith(b"#"):
            return line.lower().startswith(b"data_")
    return False


def _check_coordinates(content: bytes, path: str) -> None:
    for number, line in enumerate(content.splitlines(), 1):
        if not line.startswith((b"ATOM  ", b"HETATM")):
            continue
        for axis, (begin, end) in _COORDINATES.items():
            cell = line[begin:end].decode("ascii", "replace").strip()
            try:
                # A line that ends within a number has lost some of its digits.
                fine = len(line) >= end and "_" not in cell and math.isfinite(float(cell))
            except ValueError:
                fine = False
            if not fine:
                raise InputError(
                    f"{path}, line {number}: expected the coordinate {axis} of an atom, a number in columns "
                    f"{begin + 1} to {end}, got {cell!r}; correct it, or take the line out"
                )


def _chosen(model: Any, chains: tuple[str, ...] | None, path: str) -> Iterator[tuple[str, Any]]:
    """The residues of the chains with their labels, waters left out; of those that share a number the first."""
    there = {chain.name.strip() or NAMELESS: chain for chain in model}
    for name in chains or ():
        if name not in there:
            raise InputError(
                f"{path} holds no chain {name!r}; there {'is' if len(there) == 1 else 'are'} {_some(there)}"
            )
    for name, chain in there.items():
        met: set[str] = set()
        for residue in chain if chains is None or name in chains else ():
            number = str(residue.seqid).strip()
            if number in met or residue.is_water():
                continue
            met.add(number)
            yield f"{name}:{number}:{residue.name}", residue


def _taken(residue: Any, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Atoms by name, the first of each; in the order of the file."""
    found: dict[str, Any] = {}
    for atom in residue:
        if (not atom.is_hydrogen()) if wanted == (HEAVY,) else atom.name in wanted:
            found.setdefault(atom.name, atom)
    return found


def _is_foreign(residue: Any) -> bool:
    """An ion or a ligand, whose atom CA is no Cα: calcium, or a carbon of a fatty acid."""
    import gemmi

    if residue.het_flag != "H" or gemmi.find_tabulated_residue(residue.name).is_amino_acid():
        return False
    return all(atom.name != "N" for atom in residue)


def _no_such_atom(path: str, wanted: tuple[str, ...], found: list[tuple[str, Any]]) -> InputError:
    there = dict.fromkeys(atom.name for _, residue in found for atom in residue)
    names = f"they are called {_some(there)}" if there else "they are all water"
    what = "an atom" if wanted == (HEAVY,) else " or ".join(wanted)
    return InputError(f"{path}: none of {_many(len(found), 'residue')} has {what}; {names}, so choose among them")


def _some(names: dict[str, Any]) -> str:
    shown = ", ".join(list(names)[:MOST_NAMED])
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
