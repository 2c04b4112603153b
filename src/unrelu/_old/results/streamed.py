"""A completion of a matrix that was read in blocks: what is known of its rows came with it, nothing is read again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.data.checks import Counts
from unrelu._old.data.inputs import read_values
from unrelu._old.data.limits import Limits
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import source_of
from unrelu._old.proofs.determinacy import PROVED, Determinacy
from unrelu._old.proofs.direct import DataError
from unrelu._old.results.completion import Completion
from unrelu._old.results.misfit import Misfit
from unrelu._old.results.row_errors import RowErrors
from unrelu._old.results.witnesses import RowsKnown, proved_bounds

__all__ = ["LandmarkWitnesses", "StreamedCompletion"]


@dataclass(frozen=True, eq=False)
class LandmarkWitnesses:
    """Of a completion by landmarks: what is known of each row was found when it was attached.

    Attributes
    ----------
    level : int ndarray of shape (n,)
        Places in :data:`unrelu._old.proofs.determinacy.LEVELS`.
    columns : int ndarray or None
        Which columns every row was fitted to; None: all.
    """

    level: NDArray[np.int8]
    columns: Indices | None = None

    def rows(self, completion: Any, observations: Observations) -> RowsKnown:
        """As they were attached: to one body, or not at all."""
        level = self.level.astype(np.int64)
        component = np.where(level > 0, 0, -1)
        known = Determinacy(level, component, [], ("landmarks",), completion.sigma is None)
        return RowsKnown(observations, DataError.of(observations, completion.rank, None), known)

    def error_bars(self, completion: Any, seen: Observations, determined: NDArray[np.bool_]) -> Any:
        """By the row formula, from the rows that are asked about."""
        return RowErrors(completion, seen, determined, self.columns)

    def bounds(self, completion: Any, known: RowsKnown, rows: Indices, cols: Indices) -> tuple[Floats, Floats]:
        """What was seen, what is proved with room for rounding, and what absence says of the rest."""
        observations = known.observations
        values = observations.source.at(rows, cols).astype(np.float64)
        seen, told = ~np.isnan(values), observations.told_at(rows, cols)
        low, high = observations.limits.at(rows, cols, observations.source.shape)
        low, high = np.where(told, low, -np.inf), np.where(told, high, np.inf)
        low, high = np.where(seen, values, low), np.where(seen, values, high)
        levels = known.determinacy.of_entries(rows, cols, np.zeros(len(rows), bool))
        return proved_bounds(completion.factors, (rows, cols), (low, high), (levels == PROVED) & (low < high))


@dataclass(frozen=True, eq=False)
class StreamedCompletion(Completion):
    """A completion of a large matrix; rows, entries and errors are answered from what it holds and from single rows.

    Attributes
    ----------
    per_row : int ndarray of shape (n,)
        How many entries were seen of each row, as far as it was read.
    """

    per_row: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)

    def observed(self, X: Any = None) -> Observations:
        """What was seen and what absence says; nothing is read until an entry is asked for."""
        return self._around(X, Limits.beyond(self.threshold, self.side, None))

    def seen_entries(self, X: Any = None) -> Observations:
        """What was seen."""
        return self._around(X, Limits())

    def _around(self, X: Any, limits: Limits) -> Observations:
        matrix = self.source if X is None else X
        if matrix is None:
            raise InputError(
                "this completion does not hold the seen entries; pass the matrix that was completed as X, or give it "
                "back once and for all: completion = completion.with_data(X)"
            )
        source = source_of(read_values(matrix)[0])
        if source.shape != self.shape:
            raise InputError(f"X must have the shape {self.shape} of the completed matrix, got {source.shape}")
        return Observations(source, limits, self.labels, True, Counts(self.per_row, *self.seen))

    @property
    def largest_misfit(self) -> Misfit | None:
        """None: it is not looked for, for that would read everything again."""
        return None
