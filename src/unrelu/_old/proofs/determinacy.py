"""Which rows the data determine, in four words.

- ``proved``: linear steps from a fully seen block, groups glued by the polar condition, or a positive semidefinite
  stress: no other positive semidefinite matrix of this rank agrees with the seen entries and with what absence says.
- ``generic``: a random stress says so for factors in general position, and a search found no second place; in special
  position the rows must also be held without help from rows that can move. With noise, what would be proved without it.
- ``local``: the row cannot move a little, but may have a place elsewhere. Never read it as unique.
- ``no``: the row can move.

Each is relative to a component: rows of different components have no common frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Bools, Indices
from unrelu._old.proofs.direct import Group
from unrelu._old.proofs.stress import PSDStress

__all__ = ["GENERIC", "LEVELS", "LOCAL", "NO", "PROVED", "Determinacy"]

LEVELS = ("no", "local", "generic", "proved")
NO, LOCAL, GENERIC, PROVED = range(4)


@dataclass(frozen=True, eq=False)
class Determinacy:
    """What is determined.

    Attributes
    ----------
    rank_of : int ndarray of shape (n,)
        Position of each row's word in :data:`LEVELS`.
    components : int ndarray of shape (n,)
        Which component each row belongs to, 0 the largest; −1 for rows that belong to none.
    groups : list of Group
        The bodies that were proved, one per component that has one.
    proofs : tuple of str
        What was used: ``direct``, ``polar``, ``reflection``, ``zero`` (rows with a zero on the diagonal), ``stress``.
    agrees : bool
        Whether the fit agrees with every seen entry to the error of the data. If not, nothing is ``proved``, and what
        is called ``generic`` would be determined if the data were as the fit has them.
    stress : PSDStress or None
    skipped : str or None
        Which test was left out, and why.
    """

    rank_of: NDArray[np.int64]
    components: NDArray[np.int64]
    groups: list[Group]
    proofs: tuple[str, ...]
    agrees: bool
    stress: PSDStress | None = None
    skipped: str | None = None

    @property
    def level(self) -> NDArray[np.str_]:
        """One of :data:`LEVELS` per row."""
        return np.array(LEVELS)[self.rank_of]

    @property
    def determined(self) -> Bools:
        """The largest set of rows among which every entry has exactly one value."""
        return (self.components == 0) & (self.rank_of >= GENERIC)

    def at_most_local(self, rows: Bools) -> Determinacy:
        """The same with some rows called ``local`` at most."""
        return replace(self, rank_of=np.where(rows, np.minimum(self.rank_of, LOCAL), self.rank_of))

    def in_places(self, order: Indices) -> Determinacy:
        """The same for rows in another order: row k is put at ``order[k]``."""

        def put(values: NDArray[Any]) -> NDArray[Any]:
            placed = np.empty_like(values)
            placed[order] = values
            return placed

        groups = [Group(put(group.bound), put(group.wave), order[group.seed]) for group in self.groups]
        return replace(self, rank_of=put(self.rank_of), components=put(self.components), groups=groups)

    def of_entries(self, rows: Indices, cols: Indices, seen: Bools) -> NDArray[np.int64]:
        """Positions in :data:`LEVELS` for entries: the weaker of the two rows; a seen entry is what it is."""
        together = (self.components[rows] == self.components[cols]) & (self.components[rows] >= 0)
        weaker = np.where(together, np.minimum(self.rank_of[rows], self.rank_of[cols]), NO)
        return np.where(seen, PROVED, weaker)
