"""A completed table: every unseen cell with what it is likely to be, and what the rehearsal has shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.auto.table_candidates import Fit
from unrelu._old.auto.table_choice import TableRehearsal
from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.data.inputs import same_label
from unrelu._old.data.labels import as_positions
from unrelu._old.data.limits import Ends, has_limit
from unrelu._old.data.measured import Measured
from unrelu._old.data.sheet import Sheet
from unrelu._old.data.terms import Terms
from unrelu._old.loop.history import Verdict
from unrelu._old.model.counts import Counts
from unrelu._old.model.factors import positions_checked, together
from unrelu._old.model.table_forecast import Forecast
from unrelu._old.results.distrusted import Distrusted
from unrelu._old.results.rectangular import RectangularCompletion
from unrelu._old.uncertainty.noise import level_checked

__all__ = ["TableCompletion"]


@dataclass(frozen=True, eq=False)
class TableCompletion:
    """A table whose unseen cells have forecasts; made by :func:`unrelu.complete_table`.

    Attributes
    ----------
    verdict : Verdict
        ``predicts``, ``does-not-extrapolate``, ``fitted`` where the table is of low rank exactly, or ``max-seconds``
        and ``interrupted`` where the best so far was taken.
    model : str
        What it was completed by, in words.
    rank : int or None
        Columns of the factors; None for a model without any.
    rehearsal : TableRehearsal
        What raising the limits has shown: levels, what was tried, scores, widths.
    columns : int ndarray
        Columns that were completed; the others were left untouched, ``untouched`` says why.
    untouched : dict
        By position of the column, a sentence.
    exact : RectangularCompletion or None
        Where the data are of low rank to rounding, the completion by that rank, which answers then.
    counts : bool ndarray
        Which of ``columns`` hold counts: nothing below 0 is filled in, and intervals end at whole numbers.
    seconds : float
        What the call took.
    distrusted : tuple of Distrusted
        With ``loss="huber"`` the cells that the others contradict, the worst first; they are filled in like missing
        ones.
    """

    verdict: Verdict
    model: str
    rank: int | None
    rehearsal: TableRehearsal
    columns: Indices
    untouched: dict[int, str]
    sheet: Sheet = field(repr=False)
    terms: Terms = field(repr=False)
    cells: Measured = field(repr=False)
    fit: Fit | None = field(default=None, repr=False)
    exact: RectangularCompletion | None = field(default=None, repr=False)
    counts: Bools = field(default_factory=lambda: np.zeros(0, bool), repr=False)
    seconds: float = 0.0
    distrusted: tuple[Distrusted, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n), of all columns."""
        return self.sheet.axes.shape

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """Of the rows, if the input had them."""
        return self.sheet.axes.rows

    @property
    def column_labels(self) -> tuple[Any, ...] | None:
        """Of all columns, if the input had them."""
        return self.sheet.axes.columns

    @property
    def sigma(self) -> Floats:
        """The rehearsed error of a forecast, one per completed column: the median over its unseen cells."""
        if self.fit is None or not self.cells.shape[0]:
            return np.zeros(len(self.columns))
        forecast = self._wide
        middle = forecast.margins.backward(forecast.mean + forecast.sigma) - forecast.margins.backward(forecast.mean)
        unseen = np.where(self.cells.seen, np.nan, middle)
        blank = np.isnan(unseen).all(axis=0)
        found: Floats = np.median(middle, axis=0)
        found[~blank] = np.nanmedian(unseen[:, ~blank], axis=0)
        return found

    @property
    def _wide(self) -> Forecast:
        assert self.fit is not None
        return self.fit.forecast.widened(self.rehearsal.width)

    def filled(self) -> Any:
        """What was seen as it was given, and the rest with its expectation given its limits, never beyond these.

        A data frame if the table was one, with its labels and dtypes; columns that could not be completed are as they
        were.
        """
        return self.sheet.filled(self.columns, self._expected(), self.cells.ends)

    def _expected(self) -> Floats:
        if self.exact is not None:
            return np.asarray(self.exact.filled(), np.float64)
        if self.fit is None:
            return self.cells.values
        return self._expected_of(self.fit.forecast, self.cells.ends)

    def _expected_of(self, forecast: Forecast, ends: Ends) -> Floats:
        found = forecast.expectation(ends)
        if self.counts.any():
            found = np.clip(Counts(self.counts, forecast.margins).expectation(found, ends), *ends)
        return np.asarray(found, np.float64)

    def predict(self, rows: ArrayLike, cols: ArrayLike, level: float = 0.95) -> Any:
        """(low, high): between them a cell lies with probability ``level``, inside its limits.

        By the rehearsed error of its column. A seen cell has the value that was seen; a cell of a column that could not
        be completed, all that its limits allow.

        Parameters
        ----------
        rows, cols : positions or labels that broadcast against each other
        level : float, default 0.95
        """
        level = level_checked(level)
        i, j = self._places(rows, cols)
        words = np.setdiff1d(j, self.sheet.numeric)
        if len(words):
            name = self.sheet.name(int(words[0]))
            raise InputError(f"cols must name columns of numbers, got {name}, which holds none; name others")
        place = np.full(self.shape[1], -1)
        place[self.columns] = np.arange(len(self.columns))
        low, high = np.full(i.shape, -np.inf), np.full(i.shape, np.inf)
        known = place[j] >= 0
        if known.any():
            low[known], high[known] = self._interval(i[known], place[j[known]], level)
        if not known.all():
            ends, others = self._numbers.ends, np.searchsorted(self.sheet.numeric, j[~known])
            low[~known], high[~known] = (np.broadcast_to(end, ends[0].shape)[i[~known], others] for end in ends)
        values = self.sheet.values[i, j].astype(np.float64)
        seen = ~np.isnan(values)
        return np.where(seen, values, low)[()], np.where(seen, values, high)[()]

    def _interval(self, i: Indices, k: Indices, level: float) -> tuple[Any, Any]:
        if self.exact is not None:
            found: tuple[Any, Any] = self.exact.predict(i, k, level)
            return found
        wide = self._wide
        gap = None if self.cells.ends.gap is None else (self.cells.ends.gap[0][i, k], self.cells.ends.gap[1][i, k])
        ends = Ends((self.cells.ends[0][i, k], self.cells.ends[1][i, k]), gap)
        low, high = Forecast(wide.margins.part(k), wide.mean[i, k], wide.sigma[i, k]).interval(ends, level)
        if self.counts.any():
            low, high = Counts(self.counts, wide.margins).interval(low, high, (ends[0], ends[1]), k, level)
        return low, high

    def middle(self) -> Floats:
        """Of every cell of the completed columns, what the others say of it: the middle of its forecast."""
        if self.exact is not None:
            return np.asarray(self.exact.matrix(), np.float64)
        if self.fit is None:
            return np.full(self.cells.shape, np.nan)
        return np.asarray(self.fit.forecast.margins.backward(self.fit.forecast.mean), np.float64)

    def status(self) -> NDArray[np.str_]:
        """Of every cell ``measured``, ``censored`` (unseen because of its value) or ``missing``."""
        words = np.where(self.sheet.told, "measured", "missing")
        part = words[:, self.sheet.numeric]
        part[self._numbers.limited] = "censored"
        words[:, self.sheet.numeric] = part
        return words

    @property
    def _numbers(self) -> Measured:
        """What is known of all columns of numbers, also of those that could not be completed."""
        return self.sheet.cells(self.terms)

    def new_rows(self, X: Any) -> Any:
        """Rows that were not there when the table was completed, filled in the same way.

        Parameters
        ----------
        X : as in :func:`unrelu.complete_table`
            With the same columns. Their limits must not differ from row to row.
        """
        sheet, cells = self._read(X)
        expected: Any = cells.values
        if self.exact is not None:
            expected = np.clip(self.exact.new_rows(cells.values), *cells.ends)
        elif self.fit is not None:
            expected = self._expected_of(self.fit.of_rows(cells), cells.ends)
        return sheet.filled(self.columns, np.asarray(expected, np.float64), cells.ends)

    def log_likelihood(self, X: Any) -> float:
        """Mean log-likelihood of the cells of new rows, each held out in turn and foretold from the others of its row.

        A seen cell by its density, in the units of the data; one beyond its limit by the probability of that.
        """
        _, cells = self._read(X)
        if self.fit is None:
            raise InputError("a table that is of low rank to rounding leaves no noise to score by; score its errors")
        total, count = 0.0, 0
        for k in range(cells.shape[1]):
            hidden = np.zeros(cells.shape, bool)
            hidden[:, k] = True
            told = cells.without(hidden)
            scores = self.fit.of_rows(told).widened(self.rehearsal.width).log_scores(cells, told)
            heard = cells.seen[:, k] | cells.limited[:, k]
            total, count = total + float(scores[heard, k].sum()), count + int(heard.sum())
        return total / count if count else 0.0

    def _read(self, X: Any) -> tuple[Sheet, Measured]:
        """Other rows of the same columns, by the same terms."""
        sheet = Sheet.of(X)
        n = self.shape[1]
        if sheet.axes.shape[1] != n:
            raise InputError(f"X must have the {n} columns of the completed table, got {sheet.axes.shape[1]}")
        for k, (one, label) in enumerate(zip(sheet.axes.columns or (), self.column_labels or (), strict=False)):
            if not same_label(one, label):
                raise InputError(
                    f"X must have the columns of the completed table in the same order, but column {k} is {one!r} "
                    f"instead of {label!r}; pass X[list(completion.column_labels)]"
                )
        terms = self._terms_of_columns()
        cells = self._unseen(len(sheet.values)) if np.isnan(sheet.values).all() else sheet.cells(terms)
        where = np.searchsorted(sheet.numeric, self.columns)
        lost = ~np.isin(self.columns, sheet.numeric)
        if lost.any():
            name = self.sheet.name(int(self.columns[lost][0]))
            raise InputError(f"column {name} of X must hold numbers, as in the completed table; convert it")
        part = cells.part(slice(None), where)
        return sheet, part.from_zero(self.counts) if self.counts.any() else part

    def _unseen(self, count: int) -> Measured:
        """Rows of which nothing was seen, between the ends that all rows have."""
        numbers = self._numbers
        shape = count, numbers.shape[1]
        ends = [np.broadcast_to(end[:1], shape) for end in (*numbers.ends, *(numbers.ends.gap or ()))]
        both = Ends((ends[0], ends[1]), (ends[2], ends[3]) if len(ends) > 2 else None)
        return Measured(np.full(shape, np.nan), both, ~np.broadcast_to(has_limit(both), shape))

    def _terms_of_columns(self) -> Terms:
        """What was said, if it can be said of other rows."""
        threshold = self.terms.threshold
        ends: list[Any] = list(threshold) if isinstance(threshold, tuple) else [threshold]
        if hasattr(threshold, "gap"):
            ends = [threshold.low, threshold.high, *(threshold.gap or ())]
        if self.terms.unknown is not None or any(np.ndim(end) == 2 and np.shape(end)[0] > 1 for end in ends):
            raise InputError(
                "limits and unknown cells of other rows are not known where they differ from row to row; complete all "
                "rows together, or give one limit per column"
            )
        return self.terms

    def _places(self, rows: ArrayLike, cols: ArrayLike) -> tuple[Any, Any]:
        m, n = self.shape
        i = positions_checked(as_positions(rows, self.labels), m) % m
        j = positions_checked(as_positions(cols, self.column_labels, "column"), n) % n
        return together(i, j)

    def __repr__(self) -> str:
        m, n = self.shape
        return f"TableCompletion({m}×{n}, {self.model}, {self.verdict.code.value})"

    def __str__(self) -> str:
        m, n = self.shape
        left = f"; {len(self.untouched)} columns left untouched" if self.untouched else ""
        return f"{m}×{n} table completed by {self.model}{left}; {self.verdict}"
