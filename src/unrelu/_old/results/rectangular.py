"""A completed table: its factors, and what is known of its rows, its columns and its entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import FLOOR_NOISELESS
from unrelu._old.data.inputs import same_label
from unrelu._old.data.labels import as_positions
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.data.terms import Terms
from unrelu._old.kernels.memory import require_memory
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.model.factors import positions_checked, together
from unrelu._old.proofs.determinacy import LEVELS
from unrelu._old.proofs.table import TableDeterminacy, determine_table
from unrelu._old.results.completion import Completion
from unrelu._old.results.data_again import framed
from unrelu._old.results.forecasts import fill
from unrelu._old.results.hidden import fill_hidden
from unrelu._old.results.new_rows import rows_beside
from unrelu._old.results.witnesses import doubt_of, loss_of, proved_bounds
from unrelu._old.uncertainty.error_bars import ErrorBars
from unrelu._old.uncertainty.likelihood import bars_of

__all__ = ["RectangularCompletion"]


@dataclass(frozen=True, eq=False)
class RectangularCompletion(Completion):
    """M ≈ LRᵀ: ``left`` of shape (m, r) and ``right`` of shape (n, r), balanced; ``factor`` is L above R.

    Rows are named by ``labels``, columns by ``column_labels``, if the input had any. What a symmetric completion says
    of rows is said of rows and of columns here.
    """

    kind: ClassVar[str] = "table"
    labels_kept: ClassVar[tuple[str, ...]] = ("labels", "column_labels")

    column_labels: tuple[Any, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        assert self.left is not None
        assert self.right is not None
        return len(self.left), len(self.right)

    def _places(self, rows: ArrayLike, cols: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        m, n = self.shape
        i = positions_checked(as_positions(rows, self.labels), m) % m
        j = positions_checked(as_positions(cols, self.column_labels, "column"), n) % n
        return together(i, j)

    def _dense(self) -> Array:
        m, n = self.shape
        require_memory(m * n * self.factor.itemsize, f"a {m}×{n} matrix")
        return self.factors.dense()

    def _framed(self, values: Array, X: Any = None) -> Any:
        return framed(values, self.source if X is None else X, self.labels, self.column_labels)

    def filled(self, X: Any = None, undetermined: str = "keep") -> Any:
        """Seen entries as they were given, the rest from the fit; with ``nan`` what is not determined is blank.

        An entry that went unseen because of its value is filled with its expectation given that, within its limit.
        """
        result, seen = np.asarray(self.matrix(undetermined)).copy(), self.observed(X)
        fill(result, seen, self._expectation, both_ways=False)
        return self._framed(fill_hidden(result, self, seen), X)

    def seen_entries(self, X: Any = None) -> Observations:
        """What was seen, read again from the caller's table; refused if that has changed meanwhile."""
        return self.observed(X)

    def observed(self, X: Any = None) -> Observations:
        """What was seen and what absence says, read again from the caller's table."""
        table = self.source if X is None else X
        if table is None:
            raise InputError("this completion does not hold the seen entries; give them back by with_data(X)")
        more = self.entry_range, self.weights, self.spread
        found = table_observations(table, Terms(self.threshold, self.side, self.unknown, *more), self.left_out)
        if self.labels is not None and found.labels is not None:
            both = (*self.labels, *(self.column_labels or ()))
            if not all(same_label(one, label) for one, label in zip(found.labels, both, strict=False)):
                raise InputError("X must carry the labels of the completed table in the same order; pass it as it was")
        if found.size != len(self.factor) or (found.count, found.norm) != self.seen:
            raise InputError("X has changed since it was completed, or is another table; pass it as it was")
        return found

    @property
    def table_determinacy(self) -> TableDeterminacy:
        """What the data determine, rows first; found when first asked for."""
        if "table" not in self._asked:
            observations = self.observed()
            with owning_the_cores():
                factor = self.factor.astype(np.float64) / np.sqrt(observations.unit)
                rng = np.random.default_rng(list(self.factor.shape))  # the same question, the same answer
                exact = self.residual <= FLOOR_NOISELESS[self.factor.dtype.name]
                self._asked["table"] = determine_table(observations, factor, rng, at_floor=self.at_floor, exact=exact)
        found: TableDeterminacy = self._asked["table"]
        return found

    @property
    def determinacy(self) -> NDArray[np.str_]:
        """Per row ``proved``, ``generic`` or ``no``; those of the columns are :attr:`column_determinacy`."""
        return self.table_determinacy.level[: self.shape[0]]

    @property
    def column_determinacy(self) -> NDArray[np.str_]:
        """The same per column."""
        return self.table_determinacy.level[self.shape[0] :]

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Rows of the largest set of rows and columns among which every entry has one value."""
        return self.table_determinacy.determined[: self.shape[0]]

    @property
    def columns_determined(self) -> NDArray[np.bool_]:
        """Columns of that set."""
        return self.table_determinacy.determined[self.shape[0] :]

    @property
    def components(self) -> NDArray[np.int64]:
        """Which body each row belongs to, 0 the largest, −1 for none."""
        return self.table_determinacy.components[: self.shape[0]]

    def entry_determinacy(self, rows: ArrayLike, cols: ArrayLike) -> NDArray[np.str_]:
        """One of the words for entries at positions or labels that broadcast; a seen entry is ``proved``."""
        i, j = self._places(rows, cols)
        found, m = self.table_determinacy, self.shape[0]
        together = (found.components[i] == found.components[m + j]) & (found.components[i] >= 0)
        level = np.where(together, np.minimum(found.rank_of[i], found.rank_of[m + j]), 0)
        seen = self.observed().times_seen(i.ravel(), (m + j).ravel()).reshape(i.shape) > 0
        words: NDArray[np.str_] = np.array(LEVELS)[np.where(seen, len(LEVELS) - 1, level)]
        return words

    def bounds(self, rows: ArrayLike, cols: ArrayLike) -> tuple[Floats, Floats]:
        """Guaranteed (low, high): the value if it was seen, with room for rounding if it is proved, else its limits."""
        i, j = self._places(rows, cols)
        observations, m = self.observed(), self.shape[0]
        ends = observations.limits.at(i.ravel(), (m + j).ravel(), observations.source.shape).hull
        low, high = (np.reshape(end, i.shape) for end in ends)
        absent = observations.times_told(i.ravel(), (m + j).ravel()).reshape(i.shape) > 0
        low, high = np.where(absent, low, -np.inf), np.where(absent, high, np.inf)
        values = observations.source.at(i.ravel(), (m + j).ravel()).reshape(i.shape).astype(np.float64)
        sure, seen = self.entry_determinacy(i, j) == "proved", ~np.isnan(values)
        low, high = proved_bounds(self.factors, (i, j), (low, high), sure)
        return np.where(seen, values, low), np.where(seen, values, high)

    def _blanked(self, matrix: Array) -> Array:
        m, n = self.shape
        levels = self.entry_determinacy(np.arange(m)[:, None], np.arange(n))
        matrix[~np.isin(levels, ("proved", "generic"))] = np.nan
        return matrix

    def _places_of_errors(self, rows: ArrayLike, cols: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        i, j = self._places(rows, cols)
        return i, j + self.shape[0]

    def error_bars(self, X: Any = None) -> ErrorBars:
        """The error bars of this fit, in the symmetric matrix [[·, M], [Mᵀ, ·]]: entry (i, j) is (i, m + j) there."""
        if X is not None or "error bars" not in self._asked:
            known = self.table_determinacy.determined if X is None else None
            options = dict(pairs="one", determined=known, doubt=doubt_of(self))
            self._asked["error bars"] = bars_of(self.factor, self.observed(X), loss_of(self), **options)
        bars: ErrorBars = self._asked["error bars"]
        return bars

    def _with_limits(self, X: Any) -> Observations:
        return self.observed(X)

    def new_rows(self, X: Any) -> Any:
        """Rows that were not there when the table was completed, completed against its columns by least squares.

        Parameters
        ----------
        X : array, masked array, data frame or sparse matrix of shape (k, n)
            NaN where nothing was seen; the columns of a data frame must be those of the completed table.

        Warns
        -----
        CompletionWarning
            If a row sees nothing, or less than places it: the data do not determine it.
        """
        assert self.right is not None
        found = rows_beside(self.right, self.column_labels, X) @ self.right.T
        if hasattr(X, "index") and hasattr(X, "columns"):
            return type(X)(found, index=X.index, columns=X.columns)
        return found

    def with_data(self, X: Any, unknown: Any = None) -> RectangularCompletion:
        """The same completion with the table it was made from: what a file does not bring back."""
        self._require_mask(unknown)
        found = replace(self, source=X, unknown=unknown)
        found.observed()
        return found

    @property
    def determined_share(self) -> float | None:
        """Share of rows and columns that the data determine."""
        if not self.at_floor:
            return 0.0
        return None if self.source is None else float(np.mean(self.table_determinacy.determined))

    def __repr__(self) -> str:
        m, n = self.shape
        code = self.verdict.code.value
        return f"RectangularCompletion({m}×{n}, rank {self.rank}, {code}, residual {self.residual:.2g})"

    def __str__(self) -> str:
        m, n = self.shape
        return (
            f"{m}×{n} table completed at rank {self.rank} by {self.method} from {self.start} "
            f"({self.loss} loss), relative residual {self.residual:.2g}; {self.verdict}"
        )
