"""What ``unrelu locate`` is told about points: a file of distances, of contacts, or of a structure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError
from unrelu._old.distances.alignment import deviation
from unrelu._old.distances.edges import EdgeList
from unrelu._old.io.contacts import Contacts, are_contacts, read_contacts
from unrelu._old.io.disk import extension_of
from unrelu._old.io.measurements import LAYOUTS, read_distances
from unrelu._old.io.restraints import read_bounds
from unrelu._old.io.structures import STRUCTURES, Structure, read_structure
from unrelu._old.results.distances import DistanceCompletion

__all__ = ["AUTO", "LOCATED", "Known", "PointFile", "wanted_dim"]

LOCATED = (*LAYOUTS, "contacts")
"""What ``--format`` takes."""
AUTO = "auto"
SPACE = 3
LIKELY = 0.5
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Known:
    """What a file says of points.

    Attributes
    ----------
    data : EdgeList, array or sparse array
        The distances.
    names : tuple of str
    cutoff : float or None
        Every distance that is not there is at least this.
    lower, upper : EdgeList or None
        Bounds on further distances.
    truth : ndarray of shape (n, 3) or None
        Where the points are, if the file says it.
    words : tuple of str
        What was read, in sentences.
    """

    data: Any
    names: tuple[str, ...]
    cutoff: float | None
    lower: EdgeList | None = None
    upper: EdgeList | None = None
    truth: Floats | None = None
    words: tuple[str, ...] = ()

    @property
    def limits(self) -> dict[str, Any]:
        """What is known of distances that were not measured."""
        return {"cutoff": self.cutoff, "lower": self.lower, "upper": self.upper}

    def renamed(self, names: tuple[str, ...]) -> Known:
        """The same points under other names, in every list that names them."""
        data, lower, upper = (
            replace(one, names=names) if isinstance(one, EdgeList) and one.names is not None else one
            for one in (self.data, self.lower, self.upper)
        )
        return replace(self, data=data, lower=lower, upper=upper, names=names)

    def off(self, completion: DistanceCompletion) -> dict[str, Any] | None:
        """How far the points lie from the truth, each component laid upon it, mirror images allowed; None without."""
        if self.truth is None or completion.dim != self.truth.shape[1]:
            return None
        fixed = completion.determined
        off: dict[str, Any] = {"determined": int(fixed.sum()), "rmsd_determined": None, "farthest_determined": None}
        if fixed.any():
            gaps = _gaps(completion, self.truth, fixed)
            off |= {"rmsd_determined": _rms(gaps), "farthest_determined": float(gaps.max())}
        return off | {"rmsd": _rms(_gaps(completion, self.truth, np.ones_like(fixed)))}


@dataclass(frozen=True)
class PointFile:
    """A file as the command was told to read it."""

    path: Path
    cutoff: float | None = None
    layout: str | None = None
    header: bool | None = None
    labels: bool | None = None
    missing: tuple[str, ...] = ()
    repeats: bool = False
    atoms: str | None = None
    chains: str | None = None
    model: int | None = None
    probability: float | None = None

    @property
    def is_structure(self) -> bool:
        """Whether it holds the atoms of a molecule."""
        return extension_of(self.path) in STRUCTURES

    def read(self, bounds: Path | None = None) -> Known:
        """What it says, and what a file of bounds adds."""
        given = {"--atoms": self.atoms, "--chains": self.chains, "--model": self.model}
        odd = [option for option, value in given.items() if value is not None]
        if odd and not self.is_structure:
            raise InputError(f"{odd[0]} is for structures (.pdb, .cif), got {self.path}; leave it out")
        listed = not self.is_structure and are_contacts(self.path, self.layout)
        if self.probability is not None and not listed:
            raise InputError(f"--probability is for contact lists, got {self.path}; leave it out")
        known = self._structure() if self.is_structure else self._contacts() if listed else self._distances()
        if bounds is None:
            return known
        if known.lower is not None or known.upper is not None:
            raise InputError(f"--bounds cannot stand beside contacts, which are bounds; add them to {self.path}")
        lower, upper = read_bounds(bounds, known.names)
        return Known(known.data, known.names, known.cutoff, lower, upper, known.truth, known.words)

    def _distances(self) -> Known:
        found = read_distances(
            self.path,
            layout=self.layout,
            header=self.header,
            labels=self.labels,
            missing=self.missing,
            repeats=self.repeats,
        )
        return Known(found.data, found.names, self.cutoff)

    def _contacts(self) -> Known:
        likely = LIKELY if self.probability is None else self.probability
        found = read_contacts(self.path, cutoff=self.cutoff, probability=likely, layout=self.layout, header=self.header)
        if not isinstance(found, Contacts):
            return Known(found.data, found.names, self.cutoff)
        words = tuple(f"Read {one}." for one in found.words)
        return Known(found.data, found.names, found.cutoff, found.lower, found.upper, words=words)

    def _structure(self) -> Known:
        if self.layout is not None:
            raise InputError(f"--format is for distances and contacts, got a structure, {self.path}; leave it out")
        if self.cutoff is None:
            raise InputError(
                f"{self.path} is a structure, of which all distances are known; say up to which they are taken as "
                "--cutoff, for instance 8"
            )
        found = read_structure(self.path, self.atoms or "CA", self.chains, 1 if self.model is None else self.model)
        edges = found.within(self.cutoff)
        if not len(edges.pairs):
            raise InputError(f"no two atoms of {self.path} are closer than --cutoff {self.cutoff:g}; raise it")
        return Known(edges, found.names, self.cutoff, truth=found.positions, words=_about(found, self.model))


def wanted_dim(dim: str | None, file: PointFile) -> int | str:
    """How many coordinates, or ``auto``; a structure has three unless it is said otherwise."""
    if dim is None:
        if file.is_structure:
            return SPACE
        raise InputError("--dim is missing: say how many coordinates a point has, or --dim auto to have it found")
    text = dim.strip().casefold()
    if text == AUTO:
        return AUTO
    try:
        count = int(text)
    except ValueError:
        raise InputError(f"--dim must be a whole number, or auto to have it found, got {dim!r}") from None
    if count < 1:
        raise InputError(f"--dim must be at least 1, the number of coordinates of a point, got {count}")
    return count


def _about(found: Structure, model: int | None) -> tuple[str, ...]:
    chains = len({name.split(":")[0] for name in found.names})
    which = f", model {model or 1} of {found.models}" if found.models > 1 else ""
    words = [f"Read {_many(len(found.names), 'atom')} of {_many(chains, 'chain')}{which}."]
    left = found.left_out
    if left:
        more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
        shown = ", ".join(left[:MOST_NAMED]) + more
        words.append(f"Left out for want of such an atom: {_many(len(left), 'residue')}, {shown}.")
    return tuple(words)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _gaps(completion: DistanceCompletion, truth: Floats, kept: Any) -> Floats:
    """Of each kept point, with every component laid upon the truth by itself."""
    gaps = np.zeros(len(truth))
    for label in np.unique(completion.components[kept]):
        members = np.flatnonzero(kept & (completion.components == label))
        gaps[members] = deviation(completion.points[members], truth[members])
    result: Floats = gaps[kept]
    return result


def _rms(gaps: Floats) -> float:
    return float(np.sqrt(np.mean(gaps**2)))
