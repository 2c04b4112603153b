"""What the data say of the rows of a completion, and of its entries: which have one value, and between what bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.data.observations import Observations
from unrelu._old.proofs.determinacy import LEVELS
from unrelu._old.results.witnesses import RowsKnown, Witnesses

__all__ = ["Determined"]


class Determined:
    """What every completion says of its rows; ``witnesses`` are asked when it is first needed."""

    witnesses: Witnesses

    @property
    def _asked(self) -> dict[str, Any]:
        """What was asked already."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """n, the number of rows."""
        raise NotImplementedError

    def observed(self, X: Any = None) -> Observations:
        """What was seen and what absence says."""
        raise NotImplementedError

    def _places(self, rows: ArrayLike, cols: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns as positions."""
        raise NotImplementedError

    @property
    def _rows(self) -> RowsKnown:
        if "rows" not in self._asked:
            self._asked["rows"] = self.witnesses.rows(self, self.observed())
        return self._asked["rows"]

    @property
    def determinacy(self) -> NDArray[np.str_]:
        """Per row ``proved``, ``generic``, ``local`` or ``no``, relative to its component; found when first asked for.

        ``proved``: one place only, by linear steps with error bounds. ``generic``: one place for factors in general
        position (with noise: if the data were as the fit has them). ``local``: it cannot move a little, but may have
        another place. ``no``: it can move. :func:`unrelu.certify` looks for further proofs, and explains.
        """
        return self._rows.determinacy.level

    @property
    def determined(self) -> NDArray[np.bool_]:
        """The largest set of rows among which every entry has one value: ``proved`` or ``generic``, one component."""
        return self._rows.determinacy.determined

    @property
    def components(self) -> NDArray[np.int64]:
        """Which component each row belongs to, 0 the largest, −1 for none: between components there is no frame."""
        return self._rows.determinacy.components

    def entry_determinacy(self, rows: ArrayLike, cols: ArrayLike) -> NDArray[np.str_]:
        """One of the four words for entries at positions or labels that broadcast; a seen entry is ``proved``."""
        i, j = self._places(rows, cols)
        seen = self._rows.observations.times_seen(i.ravel(), j.ravel()) > 0
        return np.array(LEVELS)[self._rows.determinacy.of_entries(i.ravel(), j.ravel(), seen)].reshape(i.shape)

    def bounds(self, rows: ArrayLike, cols: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Guaranteed (low, high) for entries at positions or labels that broadcast.

        The truth is inside if it is a positive semidefinite matrix of this rank and the seen entries are exact. Only
        what follows from that is used: seen entries, what absence says, norms from seen diagonal entries, rows that are
        ``proved`` with their error bounds, and linear programs against the largest group of those (where a row's own
        norm was not seen, it is taken to be at most 10⁴ times the largest of them). Where the fit does not agree with
        the data, as with noise, nothing is proved, and the first three are all there is.
        """
        i, j = self._places(rows, cols)
        low, high = self.witnesses.bounds(self, self._rows, i.ravel(), j.ravel())
        return low.reshape(i.shape), high.reshape(i.shape)

    def _open(self, i: Indices, j: Indices) -> Bools:
        """Which entries (i[k], j[k]) the data do not determine."""
        seen = self._rows.observations.times_seen(i, j) > 0
        return self._rows.determinacy.of_entries(i, j, seen) < LEVELS.index("generic")

    def _blanked(self, matrix: Array) -> Array:
        everyone = np.arange(self.size)
        for row in () if self.determined.all() else everyone:
            matrix[row, self._open(np.full(self.size, row), everyone)] = np.nan
        return matrix
