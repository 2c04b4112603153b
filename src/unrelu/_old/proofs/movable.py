"""Rows that may move, what they must agree with, and Levenberg and Marquardt's method for many starts at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import MOVABLE_FITTED, MOVABLE_UNSEEN, MOVABLE_WEAKLY_SEEN
from unrelu._old.data.observations import Observations

__all__ = ["STEPS", "Movable", "settled"]

# Steps of one start, and how many of them in a row may leave nine tenths of the squares.
STEPS, IDLE = 60, 10
# With noise another place counts if all its misfit is below so many standard deviations.
UNTOLD = 5.0
# Most rows of the body whose entries steer the search; every one of them judges what it finds.
STEERING = 300


@dataclass(frozen=True, eq=False)
class Movable:
    """Rows of unit length that may move: y_i = fixed_i + axes_i z_i, and what they must agree with."""

    here: Floats  # (m, r): the rows where the fit has them
    fixed: Floats  # (m, r): their part that the body sees
    axes: Floats  # (m, r, k): orthonormal axes of the rest, padded with zeros
    free: Indices  # which of the m·k numbers z are there
    seen: Bools  # (m, m)
    target: Floats  # (m, m)
    bounds: tuple[Floats, Floats]  # (m, m): between which an entry must lie; its target twice, if it was seen
    known: Floats  # (b, r): the body
    known_seen: Bools  # (m, b)
    known_target: Floats  # (m, b)
    known_bounds: tuple[Floats, Floats]  # (m, b)
    noisy: bool
    weights: tuple[Floats, Floats]  # (m, m) and (m, b): one over the standard deviation of an entry, with noise

    @classmethod
    def of(cls, observations: Observations, factor: Floats, body: Indices, rest: Indices, noise: float) -> Movable:
        """The rows ``rest``, with the ``body`` known; ``noise`` in units of ``observations.unit``."""
        sizes = np.linalg.norm(factor, axis=1)
        body = body[sizes[body] > 0]
        here, known = factor[rest] / sizes[rest, None], factor[body] / sizes[body, None]
        known_seen = observations.pairs(rest, body)[1]
        fixed, axes = _split(here, known, known_seen, MOVABLE_WEAKLY_SEEN if noise else MOVABLE_UNSEEN)

        def bounds(cols: Indices, seen: Bools, fit: Floats) -> tuple[Floats, Floats]:
            """The limits; where the fit is beyond one, with noise, the fit; and where an entry was seen."""
            low, high = (end / np.outer(sizes[rest], sizes[cols]) for end in observations.bounds(rest, cols, seen))
            return np.where(seen, fit, np.minimum(low, fit)), np.where(seen, fit, np.maximum(high, fit))

        target, seen = here @ here.T, observations.pairs(rest, rest)[1]
        return cls(
            here,
            fixed,
            axes,
            np.flatnonzero(np.any(axes != 0, axis=1).ravel()),
            seen,
            target,
            bounds(rest, seen, target),
            known,
            known_seen,
            here @ known.T,
            bounds(body, known_seen, here @ known.T),
            noise > 0,
            (np.outer(sizes[rest], sizes[rest]) / (noise or 1), np.outer(sizes[rest], sizes[body]) / (noise or 1)),
        )

    def fits(self, among: Floats, with_known: Floats) -> Bools:
        """Which starts have come to a place that the data do not tell from that of the fit."""
        fits = np.array([bool((np.abs(off) <= MOVABLE_FITTED).all()) for off in among])
        fits &= np.array([bool((np.abs(off) <= MOVABLE_FITTED).all()) for off in with_known])
        if self.noisy:
            fits |= 2 * _squares(among * self.weights[0], with_known * self.weights[1]) <= UNTOLD**2
        return fits

    @property
    def steering(self) -> Indices:
        """The rows of the body that steer the search."""
        return np.arange(len(self.known))[:: len(self.known) // STEERING + 1]

    @property
    def count(self) -> int:
        """How many numbers are free."""
        return len(self.free)

    def places(self, z: Floats) -> Floats:
        """The rows of each start, of shape (b, m, r)."""
        moved: Floats = self.fixed + (self.axes @ z[..., None])[..., 0]
        return moved

    def coordinates(self, places: Floats) -> Floats:
        """Of the nearest places that rows may have."""
        free: Floats = np.einsum("mrk,...mr->...mk", self.axes, places - self.fixed)
        return free

    def off(self, places: Floats, steering: Indices) -> tuple[Floats, Floats]:
        """What is wrong with entries among the rows, and with some of the body: zero where all is well."""
        entries = places @ places.transpose(0, 2, 1)
        wrong = entries - np.clip(entries, *self.bounds)
        entries = places @ self.known[steering].T
        return wrong, entries - np.clip(entries, *(end[:, steering] for end in self.known_bounds))


def _split(here: Floats, known: Floats, seen: Bools, least: float) -> tuple[Floats, Floats]:
    """Each row's part that its seen entries with known rows fix, and axes of the rest."""
    m, rank = here.shape
    axes = np.zeros((m, rank, rank))
    for i in range(m):
        _, values, right = np.linalg.svd(known[seen[i]], full_matrices=True)
        fixed = int(np.sum(values > least * max(float(values.max(initial=0.0)), 1e-300)))
        axes[i, :, : rank - fixed] = right[fixed:].T
    width = max(int(np.any(axes != 0, axis=(0, 1)).sum()), 1)
    axes = axes[:, :, :width]
    return here - np.einsum("mrk,msk,ms->mr", axes, axes, here), axes


def settled(rows: Movable, z: Floats, pulled: Floats | None = None) -> Floats:
    """Where the starts z, of shape (b, m, k), come to rest: of shape (b, m, r), those that agree with everything.

    Entries ``pulled``, of shape (b, m, m + steering), are sought at these values first (NaN: wherever they like), and
    then let go.
    """
    if pulled is not None:
        z = _descended(rows, z, pulled)
    places = rows.places(_descended(rows, z, np.full((1, 1, 1), np.nan)))
    everyone = np.arange(len(rows.known))
    agreeing: Floats = places[rows.fits(*rows.off(places, everyone))]
    return agreeing


def _descended(rows: Movable, z: Floats, pulled: Floats) -> Floats:
    z, m = z.copy(), len(rows.here)
    pulled = np.broadcast_to(pulled, (len(z), m, m + len(rows.steering)))
    damping, idle = np.full(len(z), 1e-2), np.zeros(len(z), dtype=int)
    off = _pulled(rows, rows.places(z), pulled)
    squares = _squares(*off)
    going = np.arange(len(z))
    for _ in range(STEPS):
        checkpoint()
        going = going[(squares[going] > (0.01 * MOVABLE_FITTED) ** 2) & (idle[going] < IDLE) & (damping[going] < 1e6)]
        if going.size == 0 or rows.count == 0:
            break
        tried = z[going] + _step(rows, rows.places(z[going]), off[0][going], off[1][going], damping[going])
        there = _pulled(rows, rows.places(tried), pulled[going])
        reached = _squares(*there)
        better = reached < squares[going]
        idle[going] = np.where(reached < 0.9 * squares[going], 0, idle[going] + 1)
        won = going[better]
        z[won], squares[won], off[0][won], off[1][won] = (
            tried[better],
            reached[better],
            there[0][better],
            there[1][better],
        )
        damping[going] = np.where(better, np.maximum(damping[going] / 5, 1e-13), 6 * damping[going])
    return z


def _pulled(rows: Movable, places: Floats, pulled: Floats) -> tuple[Floats, Floats]:
    """What is wrong, with what is missing of the pulled entries."""
    among, with_known = rows.off(places, rows.steering)
    m = len(rows.here)
    i = np.flatnonzero(~np.isnan(pulled).all(axis=(1, 2)))
    if i.size:
        entries = places[i] @ np.concatenate(
            [places[i], np.broadcast_to(rows.known[rows.steering], (len(i), *rows.known[rows.steering].shape))], axis=1
        ).transpose(0, 2, 1)
        missing = np.where(np.isnan(pulled[i]), 0.0, entries - pulled[i])
        among[i] += missing[:, :, :m]
        with_known[i] += missing[:, :, m:]
    return among, with_known


def _squares(among: Floats, with_known: Floats) -> Floats:
    """¼‖·‖² of the whole symmetric matrix, the body included: a quarter of the first, half of the second."""
    return np.einsum("bij,bij->b", among, among) / 4 + np.einsum("bij,bij->b", with_known, with_known) / 2


def _step(rows: Movable, places: Floats, among: Floats, with_known: Floats, damping: Floats) -> Floats:
    """One damped Gauss–Newton step of each start."""
    count, m, _ = places.shape
    width, steering = rows.axes.shape[2], rows.steering
    counted = np.where(rows.seen, 1.0, among != 0)
    slopes = places[:, None] @ rows.axes  # (b, i, j, k): of entry (i, j) by z_i
    weighted = counted[..., None] * slopes
    H = weighted.transpose(0, 1, 3, 2)[..., None] * slopes.transpose(0, 2, 1, 3)[:, :, None]  # (b, i, k, j, l)
    own = weighted.transpose(0, 1, 3, 2) @ slopes
    gradient = (among[:, :, None] @ slopes)[:, :, 0]
    if steering.size:
        sloped = rows.known[steering] @ rows.axes  # (i, j, k)
        met = np.where(rows.known_seen[:, steering], 1.0, with_known != 0)
        gradient += (with_known[:, :, None] @ sloped)[:, :, 0]
        own += (met[..., None] * sloped).transpose(0, 1, 3, 2) @ sloped
    each = np.arange(m)
    H[:, each, :, each, :] += own.transpose(1, 0, 2, 3)
    free = rows.free
    equations = H.reshape(count, m * width, m * width)
    if len(free) < m * width:
        equations = equations[:, free[:, None], free]
    equations[:, np.arange(len(free)), np.arange(len(free))] += damping[:, None]
    step = np.zeros((count, m * width))
    step[:, free] = -np.linalg.solve(equations, gradient.reshape(count, -1)[:, free, None])[..., 0]
    return step.reshape(count, m, width)
