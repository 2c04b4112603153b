"""A search for a second place: it checks every word that rests on general position.

A random stress speaks of factors in general position. Rows that repeat each other, are whole numbers or lie in a common
plane are not in general position. So rows that it calls determined are looked for elsewhere: from many starts, most of
them mirror images of some rows in planes through others, Levenberg and Marquardt's method solves for everything that
was seen and for what absence says. A row found at another place is not determined, whatever a theorem says of most
rows.

Rows of the body are known and stay. What a row sees of them is linear: it fixes some directions of the row, and only
the others are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import ELSEWHERE_FAR, ELSEWHERE_MOVED, ELSEWHERE_PARALLEL
from unrelu._old.data.observations import Observations
from unrelu._old.proofs.movable import STEPS, Movable, settled

__all__ = ["MOST_FREE", "RowsOutside", "found_elsewhere", "parallel_rows", "unchanged"]

# Most numbers searched for at once: beyond that the dense equations take minutes.
MOST_FREE = 400
# Starts: of rows in regular position, of others, at least, and the work (in multiplications) they may take.
REGULAR_STARTS, MOST_STARTS, FEWEST_STARTS, WORK = 100, 400, 12, 6e9
# Starts are this much wider than the rows at most: solutions far away are reached from further away still.
WIDEST = 3.0
# Starts that run side by side, the first ones and at most, and the numbers in their equations at most.
FIRST_BATCH, LARGEST_BATCH, BATCH = 16, 64, 1e6
# By how much entries are pulled away from where the fit has them, at most.
PULLED = 1.0


@dataclass(frozen=True, eq=False)
class RowsOutside:
    """Rows of a fit outside a body that is known, whose places are in question.

    Attributes
    ----------
    observations : Observations
    factor : ndarray of shape (n, r)
        The fit of all rows.
    body, rest : int ndarray
        The rows that stay, which may be none, and those in question.
    noise : float
        Seen entries are taken as the factor has them, to this standard deviation in units of ``observations.unit``.
    """

    observations: Observations
    factor: Floats
    body: Indices
    rest: Indices
    noise: float = 0.0

    def only(self, wanted: Bools) -> RowsOutside:
        """The same with some of the rows in question."""
        return replace(self, rest=self.rest[wanted])

    def movable(self) -> Movable:
        """Where they may go, and what they must agree with."""
        return Movable.of(self.observations, self.factor, self.body, self.rest, self.noise)

    def repeated(self) -> Bools:
        """Which of them repeat the direction of another, or of a row of the body."""
        return parallel_rows(self.factor[np.concatenate([self.rest, self.body])])[: len(self.rest)]


def found_elsewhere(outside: RowsOutside, wanted: Bools, rng: np.random.Generator, *, regular: bool) -> Bools:
    """Which of the ``wanted`` rows in question have another place, with the body where it is.

    Without a body: all but the largest set found among which no entry changes. Rows in a position that is not
    ``regular`` are looked for longer. Where there are too many to search, rows that repeat the direction of another are
    given up instead.
    """
    rows, body, rest = outside.movable(), outside.body, outside.rest
    if rows.count > MOST_FREE and not wanted.all():  # rows that are not determined anyway may go wherever they like
        lost = np.zeros(len(rest), dtype=bool)
        every = np.ones(int(wanted.sum()), dtype=bool)
        lost[wanted] = found_elsewhere(outside.only(wanted), every, rng, regular=regular)
        return lost
    if rows.count > MOST_FREE:
        return wanted & outside.repeated()
    moved = ELSEWHERE_FAR if outside.noise else ELSEWHERE_MOVED
    left, changed = wanted.copy(), np.zeros((len(rest), len(rest)), dtype=bool)
    others: list[Floats] = []
    for start in _batches(rows, np.flatnonzero(wanted), others, REGULAR_STARTS if regular else MOST_STARTS, rng):
        for places in settled(rows, *start):
            if np.abs(places @ places.T - rows.target).max() > moved:
                others.append(places)
            if body.size:
                left &= np.linalg.norm(places - rows.here, axis=1) <= moved
            else:
                changed |= np.abs(places @ places.T - rows.target) > moved
        if not body.size:
            left = unchanged(changed, wanted)
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
        others = np.linalg.norm(units[i + 1 :] - along[:, None] * units[i], axis=1) <= ELSEWHERE_PARALLEL
        twins[i + 1 :] |= others
        twins[i] |= others.any()
    return twins


def unchanged(changed: Bools, wanted: Bools) -> Bools:
    """The wanted rows less, one by one, the row with most changed entries, until none is left."""
    kept = wanted.copy()
    while (changed & np.outer(kept, kept)).any():
        kept[np.argmax((changed & np.outer(kept, kept)).sum(axis=1))] = False
    return kept


def _batches(
    rows: Movable, wanted: Indices, others: list[Floats], most_starts: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Starts, of shape (b, m, k), and where entries are pulled: wanted rows mirrored alone, then sets of rows at once.

    They are mirrored, thrown anywhere or pulled away by one entry, from where the fit has them and from the ``others``
    that were found meanwhile: where rows that are not determined stand elsewhere, new places open for the rest.
    """
    m, _, width = rows.axes.shape
    work = STEPS * (4.0 * (m * width) ** 2 + rows.count**3)
    count = int(np.clip(WORK / work, FEWEST_STARTS, most_starts))
    most = int(np.clip(BATCH // (m * width) ** 2, 1, LARGEST_BATCH))
    together = min(FIRST_BATCH, most)
    here = rows.coordinates(rows.here)
    # A row whose norm was seen keeps it; another may be anywhere.
    reach = np.where(np.diag(rows.seen), np.linalg.norm(here, axis=1), 1.0)[:, None] / np.sqrt(width)
    batch: list[tuple[Floats, Floats]] = []
    for number in range(count):
        checkpoint()
        pulled = np.full((m, m + len(rows.steering)), np.nan)
        if number < min(len(wanted), count // 10):
            start = np.where((np.arange(m) == wanted[number])[:, None], -here, here)
        else:
            base = others[rng.integers(len(others))] if others and rng.random() < 0.5 else rows.here
            if number % 4 == 0:
                base = _mirrored(rows, base, wanted, rng)
            some: Bools = rng.random((m, 1)) < (0.0, rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0), 1.0)[number % 4]
            far = rng.uniform(1, WIDEST) * reach * rng.standard_normal(here.shape)
            start = np.where(some, far, rows.coordinates(base))
            if number % 4 == 2:
                pulled = _pulled_away(rows, wanted, rng)
        batch.append((start, pulled))
        if len(batch) == together or number == count - 1:
            yield np.array([z for z, _ in batch]), np.array([entries for _, entries in batch])
            batch, together = [], most


def _pulled_away(rows: Movable, wanted: Indices, rng: np.random.Generator) -> Floats:
    """One unseen entry of a wanted row, with another wanted one or with the body, at another value; NaN elsewhere."""
    m = len(rows.here)
    pulled = np.full((m, m + len(rows.steering)), np.nan)
    able = np.concatenate([~rows.seen, ~rows.known_seen[:, rows.steering]], axis=1)
    able[:, np.setdiff1d(np.arange(m), wanted)] = False
    if len(rows.known):
        able[:, :m] = False  # entries with the body say where a row is
    i, j = np.nonzero(able[wanted])
    if i.size:
        one = rng.integers(i.size)
        i, j = wanted[i[one]], j[one]
        entries = rows.here[i] @ np.concatenate([rows.here, rows.known[rows.steering]]).T
        pulled[i, j] = entries[j] + rng.choice([-1, 1]) * rng.uniform(0.05, PULLED)
        if j < m:
            pulled[j, i] = pulled[i, j]
    return pulled


def _mirrored(rows: Movable, here: Floats, wanted: Indices, rng: np.random.Generator) -> Floats:
    """Places with some of them mirrored in a plane through others: those that hang together beside the plane.

    If these are all that are beside it, or now and then in any case, only some of them.
    """
    m, rank = here.shape
    everyone = np.concatenate([here, rows.known])
    through = everyone[rng.choice(len(everyone), min(rank - 1, len(everyone)), replace=False)]
    normal = np.linalg.svd(through, full_matrices=True)[2][-1] if rank > 1 else np.ones(1)
    beside = np.abs(here @ normal) > ELSEWHERE_PARALLEL
    reached = np.zeros(m, dtype=bool)
    first = wanted[beside[wanted]]
    if first.size:
        reached[rng.choice(first)] = True
        while (new := beside & ~reached & rows.seen[reached].any(axis=0)).any():
            reached |= new
    if (reached == beside).all() or rng.random() < 0.25:
        reached &= rng.random(m) < rng.uniform(0.1, 0.9)
    return np.where(reached[:, None], here - 2 * np.outer(here @ normal, normal), here)
