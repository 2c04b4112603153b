"""Raise the limit of each column and see: hide what lies just beyond as the sensor would have, fit, score.

What :mod:`unrelu._old.auto.rehearsal` is for a symmetric matrix with one threshold. Here every column has its own limit and
its own error: forecasts are scored by their likelihood given all that the fit was told, at the width that scores best
in each column, and those widths make the prediction intervals. Of a column without a limit some cells are hidden at
random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unrelu._old.auto.table_candidates import Model, World
from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.model.margins import Margins
from unrelu._old.model.table_forecast import Forecast

__all__ = ["SHARES", "Shape", "TableLevel", "best_widths", "raised_cells", "table_levels"]

# Shares of the seen cells of a column that are hidden on purpose.
SHARES = (0.25, 0.5)
# A log score below this, in units of its column, counts as this: one value must not decide what a column is like.
FAR_OFF = 6.0
# Different values that must stay seen in a column, or it is left as it is.
LEAST_SEEN = 5
# Widths that are tried, relative to what the fit says, and what it costs a column to have another one than the others:
# so much times the square of their logarithm. None is narrower than the fit says, which does not know its own errors.
WIDTHS = np.exp(np.linspace(0.0, 1.2, 9))
KEPT = 20.0


@dataclass(frozen=True, eq=False)
class TableLevel:
    """A table under raised limits.

    Attributes
    ----------
    share : float
        Of the seen cells of each column that are hidden on purpose, about.
    world : World
        As it would have been seen.
    truth : Measured
        As it is.
    """

    share: float
    world: World
    truth: Measured

    @cached_property
    def hidden(self) -> Bools:
        """Cells by which forecasts are scored: unseen then, and not unknown anyway."""
        return ~self.world.cells.seen & (self.truth.seen | self.truth.limited)

    def scores(self, model: Model) -> Floats:
        """Sums of log scores, by width and column."""
        forecast = self.world.fit(model).forecast
        found = np.empty((len(WIDTHS), self.truth.shape[1]))
        for k, width in enumerate(WIDTHS):
            cells = forecast.widened(np.array(width)).log_scores(self.truth, self.world.cells)
            found[k] = np.sum(cells, axis=0, where=self.hidden)
        return found


def best_widths(scores: Floats) -> tuple[Floats, Floats]:
    """Of each column the width that scores best, and with which score; from sums by width and column.

    Columns keep near the width that is best for all of them.
    """
    common = np.log(WIDTHS[np.argmax(scores.sum(axis=1))])
    costly = scores - KEPT * (np.log(WIDTHS)[:, None] - common) ** 2
    top = np.argmax(costly, axis=0)
    return WIDTHS[top], np.take_along_axis(costly, top[None], axis=0)[0]


@dataclass(frozen=True)
class Shape:
    """What columns may be like.

    Attributes
    ----------
    skewed, log : bool
        Whether they may be skew, and whether it is their logarithms that are normal.
    one_unit : bool
        Whether all are in one unit, so that low rank is looked for in the values as they are.
    """

    skewed: bool = True
    log: bool = False
    one_unit: bool = False

    def units(self, normal: Margins) -> Margins:
        """Those in which low rank is looked for: the root mean square of each column, its unseen part estimated."""
        if self.log:
            return normal
        size = np.ones(len(normal.scale)) if self.one_unit else np.hypot(normal.centre, normal.scale)
        return Margins.plain(size)


def table_levels(cells: Measured, shape: Shape, rng: np.random.Generator) -> tuple[World, list[TableLevel]]:
    """The table as it is, and under raised limits, the nearest first; no level where no cell can be hidden.

    A column is taken to be skew if that foretells what raised limits hide at least as well as a normal one.
    """
    views = [cells, *(raised_cells(cells, share, rng) for share in SHARES)]
    normal = [Margins.of(view, skewed=False, log=shape.log) for view in views]
    margins = normal
    if shape.skewed and not shape.log:
        skew = [Margins.of(view) for view in views]
        gains = [
            _alone(one, view, cells, normal[0].scale) - _alone(other, view, cells, normal[0].scale)
            for one, other, view in zip(skew[1:], normal[1:], views[1:], strict=True)
        ]
        better = np.sum(gains, axis=0) >= 0
        margins = [one.where(better, other) for one, other in zip(skew, normal, strict=True)]
    worlds = [World(view, own, shape.units(plain)) for view, own, plain in zip(views, margins, normal, strict=True)]
    levels = [TableLevel(share, world, cells) for share, world in zip(SHARES, worlds[1:], strict=True)]
    return worlds[0], [level for level in levels if (level.hidden & cells.seen).any()]


def _alone(margins: Margins, view: Measured, truth: Measured, unit: Floats) -> Floats:
    """Sums of log scores of each column by itself; a value that is far off counts no more than a limit."""
    nobody = np.zeros(truth.shape)
    scores = Forecast(margins, nobody, nobody + 1).log_scores(truth, view) + np.where(truth.seen, np.log(unit), 0.0)
    hidden = ~view.seen & (truth.seen | truth.limited)
    found: Floats = np.sum(np.maximum(scores, -FAR_OFF), axis=0, where=hidden)
    return found


def raised_cells(cells: Measured, share: float, rng: np.random.Generator) -> Measured:
    """The table with a share of the seen cells of each column hidden: those next to its limit, or random ones.

    Examples
    --------
    >>> from unrelu._old.data.table_observations import table_observations
    >>> from unrelu._old.data.measured import measured
    >>> X = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, np.nan]]).T
    >>> cells = raised_cells(measured(table_observations(X, threshold=0.5)), 0.25, np.random.default_rng(0))
    >>> cells.values[:4, 0].tolist(), float(cells.ends[1][0, 0])
    ([nan, nan, 3.0, 4.0], 2.75)
    """
    values = cells.values.copy()
    low, high, *gap = (np.array(end) for end in (*cells.ends, *(cells.ends.gap or ())))
    chosen = np.zeros(cells.shape, dtype=bool)
    for j in range(cells.shape[1]):
        column, limited = cells.values[:, j], cells.limited[:, j]
        seen = column[cells.seen[:, j]]
        heard = cells.seen[:, j] | limited
        draws = rng.random(len(column))  # for every column, so that one does not change the next
        between = bool(gap) and bool(np.any((gap[0] <= gap[1])[limited, j]))
        least, most = -np.inf, np.inf
        if between:
            least, most = np.quantile(seen, [share / 2, 1 - share / 2])
        elif np.isfinite(high[limited, j]).any():
            least = np.quantile(seen, share)
        elif limited.any():
            most = np.quantile(seen, 1 - share)
        elif not cells.seen[:, j].all():
            chosen[:, j] = cells.seen[:, j] & (draws < share)
        gone = (column < least) | (column > most) | chosen[:, j]
        if len(np.unique(column[cells.seen[:, j] & ~gone])) < LEAST_SEEN:
            chosen[:, j] = False
            continue
        values[gone, j] = np.nan
        if between:
            gap[0][heard, j] = np.maximum(gap[0][heard, j], least)
            gap[1][heard, j] = np.minimum(gap[1][heard, j], most)
        elif np.isfinite(least):
            high[heard, j] = np.maximum(np.where(np.isfinite(high[heard, j]), high[heard, j], least), least)
        elif np.isfinite(most):
            low[heard, j] = np.minimum(np.where(np.isfinite(low[heard, j]), low[heard, j], most), most)
    silent = cells.silent & ~(np.isnan(values) & cells.seen)
    raised = Measured(values, Ends((low, high), (gap[0], gap[1]) if gap else None), silent)
    return raised.without(chosen) if chosen.any() else raised
