"""How far the entries of a small fit may be off for a misfit that noise explains, by walking away from it.

A standard error s says that an entry is k·s off where −2 log of the likelihood is higher by k². Linearising knows that
at the fit only: a row that few others see may go far along a curved valley, over a low ridge into another one, or up to
a limit at whose edge it happens to lie. So entries of every row, the least certain first, are pinned a few standard
errors away on either side, and all rows give way; where that was easy, further away. Where −2 log of the likelihood has
risen by k² there, an entry that has moved by d has a standard error of d/k at least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import (
    WALKS_AS_FAR,
    WALKS_FAR_MORE,
    WALKS_MANY,
    WALKS_MORE,
    WALKS_NOISE,
    WALKS_RISE,
    WALKS_SOFT,
)
from unrelu._old.data.limits import Ends, has_limit, part_of
from unrelu._old.data.observations import Observations
from unrelu._old.model.losses import Loss
from unrelu._old.solvers.side_by_side import descended
from unrelu._old.uncertainty.covariance import Covariance

__all__ = ["Fit", "Walked", "in_words", "tells", "walked"]

# Steps of a walk, and numbers in the equations of all walks together.
STEPS, NUMBERS = 10, 4e6
# A pin weighs so many times as much as all that is known of its entry.
PIN = 50.0


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit, its loss and its data, in units of ``observations.unit``.

    Attributes
    ----------
    observations : Observations
    loss : Loss
        In the units of the data.
    factor : ndarray of shape (m, r)
    signs : ndarray of shape (r,), or 1.0
        Of its columns.
    sigma : float
        The noise.
    one : bool
        Whether (i, j) and (j, i) carry one noise.
    """

    observations: Observations
    loss: Loss
    factor: Floats
    signs: Any
    sigma: float
    one: bool

    @property
    def per_cost(self) -> float:
        """−2 log of the likelihood for every 1 of F, in which a pair counts both ways; squares count a quarter."""
        return (1 if self.loss.likelihood else 2 / self.sigma**2) * (1 if self.one else 2)


def tells(observations: Observations, sigma: float) -> bool:
    """Whether noise of ``sigma``, in units, is more than rounding."""
    return bool(sigma > WALKS_NOISE * observations.scaled_norm / np.sqrt(observations.count))


@dataclass(frozen=True, eq=False)
class Walked:
    """What walks have shown.

    Attributes
    ----------
    errors : ndarray of shape (m, m)
        Standard errors of all entries at least; 0 where walks show nothing beyond linearising.
    share : float
        Of the entries that were not seen, how many have far larger errors than linearising says.
    times : float
        How much larger the most of them.
    """

    errors: Floats
    share: float = 0.0
    times: float = 1.0


def in_words(found: Walked) -> str | None:
    """What to say where so many errors are larger that the others are in doubt as well."""
    if found.share <= WALKS_MANY:
        return None
    return (
        "noise moves this fit so far that its errors are not proportional to it: walks away from the fit show errors "
        f"{WALKS_FAR_MORE:g} to {found.times:.3g} times as large for {found.share:.0%} of the unseen entries, and "
        "others may be too small"
    )


def walked(fit: Fit, covariance: Covariance, errors: Floats, open_to: Bools) -> Walked:
    """Standard errors that walks show.

    Parameters
    ----------
    fit : Fit
    covariance : Covariance
        Of the fit, for the first guess of a walk.
    errors : ndarray of shape (m, m)
        By linearising.
    open_to : boolean ndarray of shape (m, m)
        Entries that may be pinned: those not seen, of one piece.
    """
    found = np.zeros_like(errors)
    most = max(int(NUMBERS / fit.factor.size**2), 8)
    # Beside a gap any entry has a second valley of its own: one of every row is enough to know that.
    further = most // 2 if fit.observations.limits.gap is None else 0
    i, j = _least_certain(np.where(open_to & np.isfinite(errors), errors, 0), further)
    if i.size == 0:
        return Walked(found)
    phase("walking away from the fit")
    sides = np.repeat([1.0, -1.0], i.size)
    i, j = np.tile(i, 2), np.tile(j, 2)
    terms, entries = _Terms.of(fit), (fit.factor * fit.signs) @ fit.factor.T
    here = float(terms.costs(entries[None])[0])
    weights = PIN * 2 / (fit.per_cost * errors[i, j] ** 2)
    places = _guesses(fit, covariance, (i, j), sides * WALKS_AS_FAR[0] * errors[i, j])
    going = np.argsort(terms.costs(_products(places, fit.signs)), kind="stable")[:most]  # those that rise least
    for far in WALKS_AS_FAR:
        goals = entries[i, j] + sides * far * errors[i, j]
        pinned = _Pinned(terms, i[going], j[going], goals[going], weights[going])
        places[going], _ = descended(places[going], pinned, STEPS)
        reached = _products(places[going], fit.signs)
        rises = (terms.costs(reached) - here) * fit.per_cost
        low = rises <= WALKS_RISE
        moved = np.abs(reached[low] - entries) / np.sqrt(np.maximum(rises[low], 1.0))[:, None, None]
        found = np.maximum(found, moved.max(axis=0, initial=0.0))
        easy = np.argsort(rises, kind="stable")[: max(most // 3, 8)]
        going = going[easy[rises[easy] <= min(WALKS_RISE, (WALKS_SOFT * far) ** 2)]]
        if going.size == 0:
            break
    more = found > WALKS_MORE * errors
    times = np.max(found[more & open_to] / errors[more & open_to], initial=1.0)
    share = float(np.mean((found > WALKS_FAR_MORE * errors)[open_to]))
    found = np.where(more, found, 0)
    if share > WALKS_MANY:
        found = np.maximum(found, _as_in_their_rows(found, errors, open_to))
    return Walked(found, share, float(times))


def _as_in_their_rows(found: Floats, errors: Floats, open_to: Bools) -> Floats:
    """Errors of entries that no walk went by: as much larger as those of their row, or column, are on average.

    Walks are few, and where most of what they go by has larger errors the rest is no better known.
    """
    finite = open_to & np.isfinite(errors) & (errors > 0)
    ratios = np.where(finite, np.maximum(found / np.where(finite, errors, 1.0), 1.0), 0.0)
    rows = np.sqrt(np.sum(ratios**2, axis=1) / np.maximum(np.count_nonzero(finite, axis=1), 1))
    larger = np.maximum(np.maximum(rows[:, None], rows), 1.0)
    return np.where(np.isfinite(errors), larger * errors, 0.0)


def _least_certain(errors: Floats, most: int) -> tuple[Indices, Indices]:
    """Of every row the entry with the largest error, then that with the next, and so on up to ``most``, each once."""
    rows = np.arange(len(errors))
    pairs = np.zeros((0, 2), np.intp)
    for cols in np.argsort(-errors, axis=1, kind="stable").T:
        further = np.sort(np.column_stack([rows, cols])[errors[rows, cols] > 0], axis=1)
        both = np.unique(np.concatenate([pairs, further]), axis=0)
        if len(pairs) and len(both) > most:
            break
        pairs = both
    return pairs[:, 0], pairs[:, 1]


def _guesses(fit: Fit, covariance: Covariance, at: tuple[Indices, Indices], changes: Floats) -> Floats:
    """The fit with entries changed, each by the likeliest move of all rows if everything were linear."""
    (i, j), V = at, covariance.basis
    m, r = V.shape
    each = np.arange(len(i))
    slopes = np.zeros((len(i), m, r))
    slopes[each, i] += V[j]
    slopes[each, j] += V[i]
    moves = (slopes.reshape(len(i), -1) @ covariance.moves.reshape(m * r, m * r)).reshape(slopes.shape)
    along = np.einsum("bik,bik->b", moves, slopes)
    share = changes / np.where(along > 0, along, np.inf)
    # From the coordinates of the basis to those of U; of signed columns a move is meant after the signs.
    turn = np.linalg.lstsq(V * covariance.scales, fit.factor, rcond=None)[0]
    guesses: Floats = fit.factor + share[:, None, None] * (moves / covariance.scales @ turn) * fit.signs
    return guesses


def _products(factors: Floats, signs: Any) -> Floats:
    found: Floats = (factors * signs) @ factors.transpose(0, 2, 1)
    return found


@dataclass(frozen=True, eq=False)
class _Told:
    """Entries that are told of in one way, by their places in the raveled matrix, with what the loss needs of them."""

    places: Indices
    about: Any
    spread: Any
    weights: Any

    @classmethod
    def of(cls, observations: Observations, told: Bools, about: Any) -> _Told:
        spread, weights = (
            1.0 if extra is None else np.broadcast_to(part_of(extra, _whole(told), _whole(told)), told.shape)[told]
            for extra in (observations.spread, observations.weights)
        )
        return cls(np.flatnonzero(told), about, spread, weights)


def _whole(table: Bools) -> slice:
    return slice(0, len(table))


@dataclass(frozen=True, eq=False)
class _Terms:
    """The loss of every entry of a small matrix, one way round and the other, for many fits at once."""

    loss: Loss
    seen: _Told
    absent: _Told
    signs: Any

    @classmethod
    def of(cls, fit: Fit) -> _Terms:
        observations, everyone = fit.observations, slice(0, fit.observations.size)
        values = observations.block(everyone, everyone)
        seen, absent = ~np.isnan(values), observations.absent(everyone, everyone, values)
        limits = fit.loss.heard(observations.limits)
        ends = limits.of(everyone, everyone).over(observations.unit)
        absent &= np.broadcast_to(has_limit(ends), absent.shape)
        known = values[seen].astype(np.float64) / observations.unit
        low, high, *gap = (np.broadcast_to(end, absent.shape)[absent] for end in (*ends, *(ends.gap or ())))
        between = Ends((low, high), (gap[0], gap[1]) if gap else None)
        return cls(
            fit.loss.in_units(observations.unit),
            _Told.of(observations, seen, known),
            _Told.of(observations, absent, between),
            fit.signs,
        )

    def costs(self, entries: Floats) -> Floats:
        """F of each."""
        return self.off(entries)[2]

    def off(self, entries: Floats) -> tuple[Floats, Floats, Floats]:
        """Slopes and curvatures of pairs, both ways together, and F, of every matrix (b, m, m)."""
        count, m, _ = entries.shape
        pull, active = np.zeros((2, count, m * m))
        total = np.zeros(count)
        for told, write in ((self.seen, self.loss.seen), (self.absent, self.loss.unseen)):
            if told.places.size == 0:
                continue
            fit = entries.reshape(count, -1)[:, told.places] / told.spread
            about = told.about.over(told.spread) if isinstance(told.about, Ends) else told.about / told.spread
            cost, slope, curvature = np.empty((3, *fit.shape))
            write(fit, _as_many(about, fit.shape), cost, slope, curvature)
            pull[:, told.places] = slope * (told.weights / told.spread)
            active[:, told.places] = curvature * (told.weights / np.square(told.spread))
            total += (cost * told.weights).sum(axis=1)
        pull, active = (values.reshape(entries.shape) for values in (pull, active))
        return pull + pull.transpose(0, 2, 1), active + active.transpose(0, 2, 1), total


def _as_many(about: Any, shape: tuple[int, ...]) -> Any:
    """Values or ends, once for each fit."""
    if not isinstance(about, Ends):
        return np.broadcast_to(about, shape)
    low, high, *gap = (np.broadcast_to(end, shape) for end in (*about, *(about.gap or ())))
    return Ends((low, high), (gap[0], gap[1]) if gap else None)


@dataclass(frozen=True, eq=False)
class _Pinned:
    """The same, where of each fit one entry is pinned."""

    terms: _Terms
    rows: Indices
    cols: Indices
    goals: Floats
    weights: Floats
    size: float = 0.0

    @property
    def signs(self) -> Any:
        """Of the columns."""
        return self.terms.signs

    def off(self, places: Floats, which: Indices) -> tuple[Floats, Floats, Floats]:
        """Slopes, curvatures and costs of the walks ``which``."""
        entries = _products(places, self.signs)
        pull, active, total = self.terms.off(entries)
        each, i, j, weight = np.arange(len(which)), self.rows[which], self.cols[which], self.weights[which]
        gap = entries[each, i, j] - self.goals[which]
        for a, b in ((i, j), (j, i)):
            pull[each, a, b] += weight * gap
            active[each, a, b] += weight
        return pull, active, total + weight * gap**2 / 2
