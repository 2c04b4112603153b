"""A completion of a table that was read in blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.data.bipartite import Bipartite, BipartiteLimits
from unrelu._old.data.checks import Counts
from unrelu._old.data.inputs import read_table
from unrelu._old.data.limits import Limits
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import source_of
from unrelu._old.proofs.table import TableDeterminacy
from unrelu._old.results.misfit import Misfit
from unrelu._old.results.rectangular import RectangularCompletion
from unrelu._old.results.row_errors import RowErrors

__all__ = ["StreamedTable"]


@dataclass(frozen=True, eq=False)
class StreamedTable(RectangularCompletion):
    """A completion of a large table; rows, columns, entries and errors are answered from what it holds.

    Attributes
    ----------
    per_row : int ndarray of shape (m + n,)
        How many entries were seen of each row, then of each column, as far as it was read.
    level : int ndarray of shape (m + n,)
        Places in :data:`unrelu._old.proofs.determinacy.LEVELS`, rows, then columns.
    """

    per_row: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    level: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8), repr=False)

    def observed(self, X: Any = None) -> Observations:
        """What was seen and what absence says; nothing is read until an entry is asked for."""
        table = self.source if X is None else X
        if table is None:
            raise InputError("this completion does not hold the seen entries; give them back by with_data(X)")
        source = source_of(read_table(table)[0])
        if source.shape != self.shape:
            raise InputError(f"X must have the shape {self.shape} of the completed table, got {source.shape}")
        limits = BipartiteLimits.of_table(Limits.beyond(self.threshold, self.side, None), self.shape)
        count, norm = self.seen
        counts = Counts(2 * self.per_row, 2 * count, sqrt(2) * norm)
        return Observations(Bipartite(source), limits, None, False, counts)

    @property
    def table_determinacy(self) -> TableDeterminacy:
        """As rows and columns were attached: to one body, or not at all."""
        level = self.level.astype(np.int64)
        return TableDeterminacy(level, np.where(level > 0, 0, -1), ("landmarks",), self.sigma is None)

    def error_bars(self, X: Any = None) -> Any:
        """By the row formula, from the rows and columns that are asked about."""
        if X is not None or "error bars" not in self._asked:
            self._asked["error bars"] = RowErrors(self, self.observed(X), self.table_determinacy.determined, None)
        return self._asked["error bars"]

    @property
    def largest_misfit(self) -> Misfit | None:
        """None: it is not looked for, for that would read everything again."""
        return None
