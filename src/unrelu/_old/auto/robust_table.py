"""Which cells of a table of samples and variables the others contradict: column by column, each with its own spread.

Columns are centred and scaled by their seen halves, a robust fit of low rank is made of them, and a cell is measured by
what that leaves of its own column, above and below the fit apart: a column that is skew has long misfits on one side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.auto.doubts import deviations_allowed, heard, inverted, spread_of, studentised
from unrelu._old.auto.robust import RobustFit, corner_of
from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import DOUBTS_ROUNDING
from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.data.table_observations import table_observations
from unrelu._old.model.losses import Loss

__all__ = ["CellDoubts", "doubted_cells"]

# How often what is distrusted is asked for again.
ROUNDS = 3
# The half of normal numbers lies within so many standard deviations.
HALF = 0.6745
# Misfits of one sign that tell their spread; with fewer those of both signs do.
ENOUGH = 20
# A column's noise is no less than this share of what is typical: others could not be told from it.
LEAST_SPREAD = 0.05


@dataclass(frozen=True, eq=False)
class CellDoubts:
    """How far each cell is from what the others say of it, in standard deviations, and which are distrusted.

    Attributes
    ----------
    marked : bool ndarray of shape (m, n)
    deviations : ndarray of shape (m, n)
    """

    marked: Bools
    deviations: Floats


def doubted_cells(
    cells: Measured,
    rank: int | None,
    loss: Loss,
    rng: np.random.Generator,
    *,
    log: bool = False,
    beside: Measured | None = None,
) -> CellDoubts:
    """The cells that a robust fit of the rank, or of one that is found, contradicts.

    Parameters
    ----------
    cells : Measured
    rank : int or None
        None: what forecasts cells hidden on purpose best; it may be 0.
    loss : Loss
        One that distrusts.
    rng : Generator
    log : bool
        Whether it is logarithms that are looked at.
    beside : Measured, optional
        The same with values that are not believed from the beginning: it is told how far off they are, no more.

    Examples
    --------
    >>> from unrelu._old.data.measured import measured
    >>> from unrelu._old.model.losses import Huber
    >>> rng = np.random.default_rng(0)
    >>> M = 5 + rng.standard_normal((80, 1)) + 0.3 * rng.standard_normal((80, 6))
    >>> M[3, 4] = 50.0
    >>> cells = measured(table_observations(M, threshold=None))
    >>> np.argwhere(doubted_cells(cells, None, Huber(), rng).marked).tolist()
    [[3, 4]]
    """
    phase("looking for cells that the others contradict")
    standard, centre, scale = _standardised(cells, log=log)
    shown = standard if beside is None else _moved(beside, centre, scale, log=log)
    whole, (m, n) = table_observations(standard.values, threshold=standard.limits), cells.shape
    fit = RobustFit(whole, loss, rng)
    rank = fit.rank_found(least=0) if rank is None else rank
    factor = fit.at_rank(rank) if rank else np.zeros((m + n, 1))
    marked, most = np.zeros((m, n), bool), float(deviations_allowed(int(cells.seen.sum())))
    for _ in range(ROUNDS):
        deviations = _deviations(shown, standard.without(marked), factor.astype(np.float64), corner_of(loss))
        before, marked = marked, (deviations > most) & (cells.seen | cells.limited)
        if np.array_equal(marked, before) or not rank:
            break
        i, j = np.nonzero(marked)
        factor = RobustFit(whole.without(i, j + m) if len(i) else whole, loss, rng).going_on(factor)
    return CellDoubts(marked, deviations)


def _standardised(cells: Measured, *, log: bool) -> tuple[Measured, Floats, Floats]:
    """Each column less the middle of what was seen, over the spread of that; and these two."""
    values = np.log(cells.values) if log else cells.values
    centre = np.nanmedian(values, axis=0)
    scale = np.nanmedian(np.abs(values - centre), axis=0) / HALF
    rough = np.nanmean(np.abs(values - centre), axis=0)
    scale = np.where(scale > 0, scale, np.where(rough > 0, rough, 1.0))
    return _moved(cells, centre, scale, log=log), centre, scale


def _moved(cells: Measured, centre: Floats, scale: Floats, *, log: bool) -> Measured:
    """The same cells in units of their columns; the logarithm of what has none is as low as can be."""
    parts = [cells.values, *cells.ends, *(cells.ends.gap or ())]
    if log:
        with np.errstate(all="ignore"):
            parts = [np.where(part > 0, np.log(part), np.where(np.isnan(part), np.nan, -np.inf)) for part in parts]
    values, low, high, *gap = ((part - centre) / scale for part in parts)
    return Measured(values, Ends((low, high), (gap[0], gap[1]) if gap else None), cells.silent)


def _deviations(shown: Measured, trusted: Measured, factor: Floats, corner: float) -> Floats:
    """How many standard deviations each cell is off; where the others say nothing of it, from its column alone."""
    m, _ = shown.shape
    left, right = factor[:m], factor[m:]
    fit = left @ right.T
    gap = np.where(shown.seen, shown.values, fit) - fit
    gap = np.where(shown.limited, shown.ends.nearest(fit.copy()) - fit, gap)
    fitted = trusted.seen | (trusted.limited & (gap != 0))
    weight = fitted * heard(gap, corner * spread_of(gap[trusted.seen]))
    t, blind = studentised(gap, _lever(left, right, weight), weight)
    alone = np.where(shown.seen, shown.values, 0.0)
    return np.where(blind, _over_spread(alone, trusted.seen), _over_spread(t, trusted.seen & ~blind))


def _lever(left: Floats, right: Floats, weight: Floats) -> Floats:
    """What a misfit of all other cells moves a cell by, through its row and through its column."""
    total = np.zeros(weight.shape)
    for mine, other, known in ((left, right, weight), (right, left, weight.T)):
        r = mine.shape[1]
        products = (other[:, :, None] * other[:, None, :]).reshape(len(other), r * r)
        inverse = inverted((known @ products).reshape(len(mine), r, r))
        part = np.einsum("jk,ikl,jl->ij", other, inverse, other, optimize=True)
        total += part if mine is left else part.T
    return total


def _over_spread(t: Floats, told: Bools) -> Floats:
    """Sizes of misfits over the spread of those of their column that lie on the same side."""
    n, count = t.shape[1], int(told.sum())
    both = np.array([spread_of(t[told[:, j], j]) for j in range(n)])
    floor = max(LEAST_SPREAD * float(np.median(both)), DOUBTS_ROUNDING["float64"])
    sides = []
    for mine in (told & (t > 0), told & (t < 0)):
        enough = mine.sum(axis=0) >= ENOUGH
        own = np.array([spread_of(t[mine[:, j], j]) if enough[j] else both[j] for j in range(n)])
        known = np.where(enough, mine.sum(axis=0), told.sum(axis=0))
        # A spread that few cells tell is known less well, and so much larger it may be.
        sides.append(np.maximum(own, floor) * deviations_allowed(count, known) / deviations_allowed(count))
    return np.abs(t) / np.where(t > 0, sides[0], sides[1])
