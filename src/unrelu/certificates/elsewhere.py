"""A search for a second place: the net beneath every word that rests on general position.

A random stress speaks of factors in general position, and rows that repeat each other, are whole numbers or lie in a
common plane are not. So rows that it calls determined are looked for elsewhere: from many starts, most of them mirror
images of some rows in planes through others, Levenberg and Marquardt's method solves for everything that was seen and
for what absence says. A row found at another place is not determined, whatever a theorem says of most rows.

Rows of the body are known and stay. What a row sees of them is linear: it fixes some directions of the row, and only
the others are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu.budget import checkpoint
from unrelu.certificates.gluing import absent_pairs
from unrelu.observations import Observations

__all__ = ["MOST_FREE", "found_elsewhere", "parallel_rows"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

# Most numbers searched for at once: beyond that the dense equations take minutes.
MOST_FREE = 400
# Starts: of rows in regular position, of others, at least, and the work (in multiplications) they may take.
REGULAR_STARTS, MOST_STARTS, FEWEST_STARTS, WORK = 100, 400, 12, 6e9
# Starts are this much wider than the rows at most: solutions far away are reached from further away still.
WIDEST = 3.0
# Starts that run side by side, the first ones and at most, and the numbers in their equations at most.
FIRST_BATCH, LARGEST_BATCH, BATCH = 16, 64, 1e6
# Steps of one start, and how many of them in a row may leave nine tenths of the squares.
STEPS, IDLE = 60, 10
# Of rows of unit length: entries fitted to this are fitted, rows and entries changed by more than this have moved.
FITTED, MOVED = 1e-8, 1e-3
# With noise another place counts if all its misfit is below so many standard deviations and it is so far away.
UNTOLD, FAR = 5.0, 0.05
# Directions of a row that the body sees by less than this share count as free, with noise by less than the second: what
# was seen along them may be fitted elsewhere, too.
UNSEEN, WEAKLY_SEEN = 1e-5, 0.1
# Rows of unit length are parallel if the sine of their angle is below this; a row is on a plane likewise.
PARALLEL = 1e-6
# Most rows of the body whose unseen entries steer the search; every one of them judges what it finds.
STEERING = 300


def found_elsewhere(
    observations: Observations,
    factor: Floats,
    body: Indices,
    rest: Indices,
    wanted: Bools,
    rng: np.random.Generator,
    *,
    regular: bool,
    noise: float = 0.0,
) -> Bools:
    """Which of the ``wanted`` rows of ``rest`` have another place, with the ``body`` where it is.

    Without a body: all but the largest set found among which no entry changes. Seen entries are taken as the factor
    has them, to ``noise``, a standard deviation in units of ``observations.unit``. Rows in a position that is not
    ``regular`` are looked for longer. Where there are too many to search, rows that repeat the direction of another are
    given up instead.
    """
    rows = _Movable.of(observations, factor, body, rest, noise)
    if rows.count > MOST_FREE and not wanted.all():  # rows that are not determined anyway may go wherever they like
        rest, lost = rest[wanted], np.zeros(len(rest), dtype=bool)
        every = np.ones(len(rest), dtype=bool)
        lost[wanted] = found_elsewhere(observations, factor, body, rest, every, rng, regular=regular, noise=noise)
        return lost
    if rows.count > MOST_FREE:
        return wanted & parallel_rows(factor[np.concatenate([rest, body])])[: len(rest)]
    moved = FAR if noise else MOVED
    left, changed = wanted.copy(), np.zeros((len(rest), len(rest)), dtype=bool)
    for start in _batches(rows, np.flatnonzero(wanted), REGULAR_STARTS if regular else MOST_STARTS, rng):
        for places in _settled(rows, start):
            if body.size:
                left &= np.linalg.norm(places - rows.here, axis=1) <= moved
            else:
                changed |= np.abs(places @ places.T - rows.target) > moved
        if not body.size:
            left = _unchanged(changed, wanted)
        if left.sum() < (1 if body.size else 2):  # one row alone has no place
            return wanted
    return wanted & ~left


def parallel_rows(factor: Floats) -> Bools:
    """Rows that point along another one or against it.

    Examples
    --------
    >>> parallel_rows(np.array([[1.0, 2.0], [0.0, 1.0], [-2.0, -4.0]]))
    array([ True, False,  True])
    """
    units = factor / np.linalg.norm(factor, axis=1, keepdims=True)
    twins = np.zeros(len(units), dtype=bool)
    for i in range(len(units) - 1):
        checkpoint()
        along = units[i + 1 :] @ units[i]
        others = np.linalg.norm(units[i + 1 :] - along[:, None] * units[i], axis=1) <= PARALLEL
        twins[i + 1 :] |= others
        twins[i] |= others.any()
    return twins


@dataclass(frozen=True, eq=False)
class _Movable:
    """Rows of unit length that may move: y_i = fixed_i + axes_i z_i, and what they must agree with."""

    here: Floats  # (m, r): the rows where the fit has them
    fixed: Floats  # (m, r): their part that the body sees
    axes: Floats  # (m, r, k): orthonormal axes of the rest, padded with zeros
    free: Indices  # which of the m·k numbers z are there
    seen: Bools  # (m, m)
    target: Floats  # (m, m)
    absent: Bools  # (m, m)
    limit: Floats  # (m, m)
    known: Floats  # (b, r): the body
    known_seen: Bools  # (m, b)
    known_target: Floats  # (m, b)
    known_absent: Bools  # (m, b)
    known_limit: Floats  # (m, b)
    side: float  # 1: absence says below the limit; −1: above
    noisy: bool
    weights: tuple[Floats, Floats]  # (m, m) and (m, b): one over the standard deviation of an entry, with noise

    @classmethod
    def of(cls, observations: Observations, factor: Floats, body: Indices, rest: Indices, noise: float) -> _Movable:
        sizes = np.linalg.norm(factor, axis=1)
        body = body[sizes[body] > 0]
        here, known = factor[rest] / sizes[rest, None], factor[body] / sizes[body, None]
        known_seen = observations.pairs(rest, body)[1]
        fixed, axes = _split(here, known, known_seen, WEAKLY_SEEN if noise else UNSEEN)
        side = -1.0 if observations.absence_says == "above" else 1.0
        tau = observations.scaled_threshold or 0.0

        def limits(cols: Indices, fit: Floats) -> Floats:
            """The threshold; where the fit is beyond it, with noise, the fit."""
            return side * np.maximum(side * tau / np.outer(sizes[rest], sizes[cols]), side * fit)

        target = here @ here.T
        return cls(
            here,
            fixed,
            axes,
            np.flatnonzero(np.any(axes != 0, axis=1).ravel()),
            observations.pairs(rest, rest)[1],
            target,
            absent_pairs(observations, rest, rest),
            limits(rest, target),
            known,
            known_seen,
            here @ known.T,
            absent_pairs(observations, rest, body),
            limits(body, here @ known.T),
            side,
            noise > 0,
            (np.outer(sizes[rest], sizes[rest]) / (noise or 1), np.outer(sizes[rest], sizes[body]) / (noise or 1)),
        )

    def fits(self, among: Floats, with_known: Floats) -> Bools:
        """Which starts have come to a place that the data do not tell from that of the fit."""
        fits = np.array([bool((np.abs(off) <= FITTED).all()) for off in among])
        fits &= np.array([bool((np.abs(off) <= FITTED).all()) for off in with_known])
        if self.noisy:
            fits |= 2 * _squares(among * self.weights[0], with_known * self.weights[1]) <= UNTOLD**2
        return fits

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
        wrong = np.where(self.seen, entries - self.target, 0.0)
        beyond = entries - self.limit
        wrong += np.where(self.absent & (self.side * beyond > 0), beyond, 0.0)
        entries = places @ self.known[steering].T
        beyond = entries - self.known_limit[:, steering]
        far = np.where(self.known_absent[:, steering] & (self.side * beyond > 0), beyond, 0.0)
        return wrong, far + np.where(self.known_seen[:, steering], entries - self.known_target[:, steering], 0.0)


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


def _unchanged(changed: Bools, wanted: Bools) -> Bools:
    """The wanted rows less, one by one, the row with most changed entries, until none is left."""
    kept = wanted.copy()
    while (changed & np.outer(kept, kept)).any():
        kept[np.argmax((changed & np.outer(kept, kept)).sum(axis=1))] = False
    return kept


def _batches(rows: _Movable, wanted: Indices, most_starts: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Starts, of shape (b, m, k): every wanted row mirrored alone, then sets of rows mirrored or thrown anywhere."""
    m, _, width = rows.axes.shape
    work = STEPS * (4.0 * (m * width) ** 2 + rows.count**3)
    count = int(np.clip(WORK / work, FEWEST_STARTS, most_starts))
    most = int(np.clip(BATCH // (m * width) ** 2, 1, LARGEST_BATCH))
    together = min(FIRST_BATCH, most)
    here = rows.coordinates(rows.here)
    # A row whose norm was seen keeps it; another may be anywhere.
    reach = np.where(np.diag(rows.seen), np.linalg.norm(here, axis=1), 1.0)[:, None] / np.sqrt(width)
    batch: list[Floats] = []
    for number in range(count):
        checkpoint()
        if number < min(len(wanted), count // 10):
            start = np.where((np.arange(m) == wanted[number])[:, None], -here, here)
        elif number % 4 == 0:
            start = rows.coordinates(_mirrored(rows, wanted, rng))
        else:
            some: Bools = rng.random((m, 1)) < (rng.uniform(0.1, 1.0) if number % 4 == 1 else 1.0)
            start = np.where(some, rng.uniform(1, WIDEST) * reach * rng.standard_normal(here.shape), here)
        batch.append(start)
        if len(batch) == together or number == count - 1:
            yield np.array(batch)
            batch, together = [], most


def _mirrored(rows: _Movable, wanted: Indices, rng: np.random.Generator) -> Floats:
    """The rows with some of them mirrored in a plane through others: those that hang together beside the plane.

    If these are all that are beside it, or now and then in any case, only some of them.
    """
    m, rank = rows.here.shape
    everyone = np.concatenate([rows.here, rows.known])
    through = everyone[rng.choice(len(everyone), min(rank - 1, len(everyone)), replace=False)]
    normal = np.linalg.svd(through, full_matrices=True)[2][-1] if rank > 1 else np.ones(1)
    beside = np.abs(rows.here @ normal) > PARALLEL
    reached = np.zeros(m, dtype=bool)
    first = wanted[beside[wanted]]
    if first.size:
        reached[rng.choice(first)] = True
        while (new := beside & ~reached & rows.seen[reached].any(axis=0)).any():
            reached |= new
    if (reached == beside).all() or rng.random() < 0.25:
        reached &= rng.random(m) < rng.uniform(0.1, 0.9)
    return np.where(reached[:, None], rows.here - 2 * np.outer(rows.here @ normal, normal), rows.here)


def _settled(rows: _Movable, z: Floats) -> Floats:
    """Where the starts come to rest, of shape (b, m, r), those that agree with everything."""
    some = np.arange(len(rows.known))
    steering = some[:: len(some) // STEERING + 1]
    damping, idle = np.full(len(z), 1e-2), np.zeros(len(z), dtype=int)
    off = rows.off(rows.places(z), steering)
    squares = _squares(*off)
    going = np.arange(len(z))
    for _ in range(STEPS):
        checkpoint()
        going = going[(squares[going] > (0.01 * FITTED) ** 2) & (idle[going] < IDLE) & (damping[going] < 1e6)]
        if going.size == 0 or rows.count == 0:
            break
        tried = z[going] + _step(rows, rows.places(z[going]), off[0][going], off[1][going], steering, damping[going])
        there = rows.off(rows.places(tried), steering)
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
    places = rows.places(z)
    agreeing: Floats = places[rows.fits(*rows.off(places, some))]
    return agreeing


def _squares(among: Floats, with_known: Floats) -> Floats:
    """¼‖·‖² of the whole symmetric matrix, the body included: a quarter of the first, half of the second."""
    return np.einsum("bij,bij->b", among, among) / 4 + np.einsum("bij,bij->b", with_known, with_known) / 2


def _step(
    rows: _Movable, places: Floats, among: Floats, with_known: Floats, steering: Indices, damping: Floats
) -> Floats:
    """One damped Gauss–Newton step of each start."""
    count, m, _ = places.shape
    width = rows.axes.shape[2]
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
