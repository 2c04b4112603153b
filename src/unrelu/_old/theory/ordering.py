"""The condition of Bishop and Yu (2014), beside which the paper puts its own: seen blocks in an order, with overlaps.

W. E. Bishop and B. M. Yu, *Deterministic symmetric positive semidefinite matrix completion*, NIPS 2014, recover a
positive semidefinite matrix A of rank r from principal submatrices A(ρ, ρ). As it is used here, their condition is that
there are index sets ρ_1, …, ρ_K such that

(cover) every row is in one of them,
(seen)  ρ_k × ρ_k ⊆ Ω, every one is a fully seen principal submatrix, and
(order) for k ≥ 2 the rows that ρ_k shares with ρ_1 ∪ … ∪ ρ_{k−1} have rank r (for K = 1: ρ_1 has rank r).

That they sample principal submatrices, deterministically, and that their conditions are sufficient, stands in their
abstract; the order and the rank of the overlap are told here as they are generally cited. The paper says "any two
adjacent parts have enough overlap". Read so, an overlap of rank r with *one* earlier set is asked for (:attr:`TREE`),
which is more than one with their union (:attr:`UNION`). An order in which each set overlaps with the one right before
it is the same as :attr:`TREE`: walk around the tree, and name a set again whenever the way leads back through it.

Two facts, for a symmetric Ω:

- Assumption 3 holds for some groups if and only if an order of the kind ``tree`` exists. From groups to an order:
  I_k ∪ I_l is seen in full for every step k → l of a path, and two steps that meet in l share I_l, of rank r
  (:func:`order_of_groups`). From an order to groups: the sets, and their intersections as steps between them.
- Hence Assumption 3 implies the condition of Bishop and Yu, and is implied by it only in the stricter reading.

Sets may be enlarged as long as they are seen in full: no overlap becomes smaller. So it is enough to look at maximal
cliques of the pattern, which decides both conditions for matrices that are small enough to list them
(:func:`order_exists`, :func:`groups_exist`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import PARTITION_RANK
from unrelu._old.theory.assumptions import AssumptionReport
from unrelu._old.theory.pattern import as_factor, own_generator

__all__ = [
    "TREE",
    "UNION",
    "find_order",
    "groups_exist",
    "maximal_cliques",
    "order_exists",
    "order_fails",
    "order_of_groups",
]

# With what a set must share rows of rank r: all earlier ones together, or one of them.
UNION, TREE = "union", "tree"
# Cliques that are grown before one is taken.
TRIES = 12
# More maximal cliques than these are not listed.
MOST_CLIQUES = 20_000


def _units(U: ArrayLike) -> Floats:
    """Rows of unit length, which have the same ranks."""
    factor = as_factor(U)
    lengths = np.linalg.norm(factor, axis=1, keepdims=True)
    return factor / np.where(lengths > 0, lengths, 1)


def _full(units: Floats, rows: Indices | Bools) -> bool:
    """Whether these rows have rank r."""
    own = units[rows]
    if len(own) < units.shape[1]:
        return False
    values = np.linalg.svd(own, compute_uv=False)
    return bool(values[-1] > PARTITION_RANK * values[0])


def _symmetric(mask: ArrayLike, size: int) -> Bools:
    seen = np.asarray(mask, bool)
    if seen.shape != (size, size):
        raise InputError(f"the pattern must have shape ({size}, {size}), one row per row of U, got {seen.shape}")
    return seen | seen.T


def order_fails(U: ArrayLike, mask: ArrayLike, sets: Sequence[Indices], reading: str = UNION) -> str:
    """What is wrong with an ordered collection of index sets, in a sentence; empty if nothing is.

    Parameters
    ----------
    U : array of shape (n, r)
        The planted factor.
    mask : boolean array of shape (n, n)
        Ω; an entry that was seen one way round is known both ways.
    sets : sequence of int arrays
        ρ_1, …, ρ_K.
    reading : {"union", "tree"}, default "union"

    Examples
    --------
    >>> U = np.array([[1.0, 0.0], [0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.0, 1.0]])
    >>> order_fails(U, U @ U.T >= 0, [np.array([0, 1, 2]), np.array([1, 2, 3, 4])])
    ''
    >>> order_fails(U, U @ U.T >= 0, [np.array([0, 1, 2]), np.array([2, 3, 4])])
    'set 2 shares rows of rank below 2 with those before it'
    """
    units = _units(U)
    n, r = units.shape
    seen = _symmetric(mask, n)
    placed = np.zeros(n, bool)
    for k, rows in enumerate(sets):
        if not seen[np.ix_(rows, rows)].all():
            return f"set {k + 1} was not seen in full"
        inside = np.zeros(n, bool)
        inside[rows] = True
        earlier = [placed] if reading == UNION else [_indicator(n, other) for other in sets[:k]]
        if not _full(units, inside) if k == 0 else not any(_full(units, inside & other) for other in earlier):
            return (
                f"set {k + 1} shares rows of rank below {r} with those before it" if k else f"set 1 has rank below {r}"
            )
        placed |= inside
    left = int(np.count_nonzero(~placed))
    return f"{left} of {n} rows are in no set" if left else ""


def _indicator(n: int, rows: Indices) -> Bools:
    inside = np.zeros(n, bool)
    inside[rows] = True
    return inside


def order_of_groups(report: AssumptionReport) -> list[Indices]:
    """The order that groups with Assumption 3 lead to: I_k ∪ I_l for each step k → l of the tree of paths.

    Every step but the first begins at a group that an earlier one has reached, so that its set shares that group, of
    rank r, with an earlier set.

    Examples
    --------
    >>> from unrelu._old.theory.assumptions import check_assumption_3
    >>> from unrelu._old.theory.partition import sector_partition
    >>> U = np.random.default_rng(0).standard_normal((400, 2))
    >>> report = check_assumption_3(sector_partition(U), U @ U.T >= 0)
    >>> report.holds, order_fails(U, U @ U.T >= 0, order_of_groups(report), "tree")
    (True, '')
    """
    if not report.links:
        return list(report.groups[:1])
    return [np.union1d(report.groups[k], report.groups[j]) for k, j in report.links]


def find_order(U: ArrayLike, mask: ArrayLike, rng: Any = None) -> list[Indices] | None:
    """An ordered collection found greedily from the pattern; None if the search ended before every row was in a set.

    It begins with the best of a few maximal cliques (largest least singular value over largest). A row that is in no
    set yet joins if, among the rows already placed that it sees, a clique of rank r is found; that clique and the row,
    enlarged in favour of rows that are in no set yet, are the next set. The overlap then has rank r with the union of
    the earlier sets. That nothing is found does not prove that there is nothing.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((80, 3))
    >>> sets = find_order(U, U @ U.T >= 0, rng=0)
    >>> order_fails(U, U @ U.T >= 0, sets)
    ''
    """
    units = _units(U)
    seen = _symmetric(mask, len(units)) & np.diag(np.asarray(mask, bool))
    search = _Search(units, seen & seen.T, own_generator(rng))
    return search.sets if search.run() else None


class _Search:
    """The sets so far, and which rows are in one."""

    def __init__(self, units: Floats, seen: Bools, rng: np.random.Generator) -> None:
        self.units, self.seen, self.rng = units, seen, rng
        self.neighbours = seen & ~np.eye(len(units), dtype=bool)
        self.placed: Bools = np.zeros(len(units), bool)
        self.sets: list[Indices] = []

    def run(self) -> bool:
        """Whether every row was placed."""
        start = self._start()
        if start is None:
            return False
        self._add(start)
        while not self.placed.all():
            left = np.flatnonzero(~self.placed)
            # Rows that see most of what is placed are the likeliest to find a clique there.
            ways = left[np.argsort(-np.count_nonzero(self.seen[np.ix_(left, self.placed)], axis=1), kind="stable")]
            found = next((rows for rows in map(self._joining, ways) if rows is not None), None)
            if found is None:
                return False
            self._add(found)
        return True

    def _add(self, rows: Indices) -> None:
        self.sets.append(rows)
        self.placed[rows] = True

    def _start(self) -> Indices | None:
        """The best-conditioned of a few maximal cliques; None if none has rank r."""
        rows = np.flatnonzero(self.seen.diagonal())
        tried = rows[self.rng.permutation(len(rows))[:TRIES]]
        cliques = [self._grown([row]) for row in tried]
        shares = [self._share(clique) for clique in cliques]
        best = int(np.argmax(shares)) if shares else 0
        return cliques[best] if shares and shares[best] > PARTITION_RANK else None

    def _share(self, rows: Indices) -> float:
        if len(rows) < self.units.shape[1]:
            return 0.0
        values = np.linalg.svd(self.units[rows], compute_uv=False)
        return float(values[-1] / values[0])

    def _joining(self, row: int) -> Indices | None:
        """A set through this row that overlaps with what is placed in rows of rank r, or None."""
        if not self.seen[row, row]:
            return None
        around = self.placed & self.neighbours[row]
        if not _full(self.units, around):
            return None
        candidates = np.flatnonzero(around)
        begin = candidates[self.rng.permutation(len(candidates))[:TRIES]]
        for first in (None, *begin):
            clique = self._grown([row] if first is None else [row, first], around)
            shared = clique[clique != row]
            if _full(self.units, shared):
                # The fewer rows the next set has to contain, the more new ones it may.
                return self._grown([row, *shared[_independent(self.units[shared])]])
        return None

    def _grown(self, rows: list[Any], among: Bools | None = None) -> Indices:
        """A maximal clique (among some rows) that contains these, in favour of rows that are in no set yet."""
        standing = self.neighbours[rows].all(axis=0)
        if among is not None:
            standing &= among
        candidates = np.flatnonzero(standing)
        between = self.neighbours[np.ix_(candidates, candidates)]
        weight: Floats = np.where(self.placed[candidates], 1.0, 1.0 + len(self.units))
        score: Floats = between @ weight + weight
        members, alive = list(rows), np.ones(len(candidates), bool)
        while alive.any():
            chosen = int(np.argmax(np.where(alive, score, -np.inf)))
            members.append(candidates[chosen])
            leaving = alive & ~between[chosen]
            alive &= ~leaving
            score -= between[:, leaving] @ weight[leaving]
        return np.sort(np.array(members, np.intp))


def _independent(own: Floats) -> Indices:
    """As many rows as there are columns, chosen one after the other to be as independent as may be."""
    order = qr(own.T, mode="r", pivoting=True)[1]
    return np.asarray(order[: own.shape[1]], np.intp)


def maximal_cliques(mask: ArrayLike, most: int = MOST_CLIQUES) -> list[Indices]:
    """Every maximal set of rows that see each other and themselves (Bron and Kerbosch, with a pivot).

    Raises
    ------
    InputError
        If there are more than ``most``.

    Examples
    --------
    >>> seen = np.eye(4, dtype=bool) | np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    >>> [clique.tolist() for clique in maximal_cliques(seen)]
    [[0, 1], [1, 2], [2, 3]]
    """
    seen = np.asarray(mask, bool)
    seen = seen | seen.T
    n = len(seen)
    own = np.flatnonzero(seen.diagonal())
    neighbours = {int(i): sum(1 << int(j) for j in own if seen[i, j] and i != j) for i in own}
    found: list[Indices] = []
    for clique in _cliques(0, sum(1 << int(i) for i in own), 0, neighbours):
        found.append(np.array([i for i in range(n) if clique >> i & 1], np.intp))
        if len(found) > most:
            raise InputError(f"the pattern has more than {most} maximal cliques; a larger most= lists them")
    return sorted(found, key=lambda rows: rows.tolist())


def _cliques(chosen: int, left: int, done: int, neighbours: dict[int, int]) -> Iterator[int]:
    """Sets of rows as the bits of a number."""
    if not left and not done:
        if chosen:
            yield chosen
        return
    pivot = max(_bits(left | done), key=lambda i: (left & neighbours[i]).bit_count())
    for i in _bits(left & ~neighbours[pivot]):
        yield from _cliques(chosen | 1 << i, left & neighbours[i], done & neighbours[i], neighbours)
        left &= ~(1 << i)
        done |= 1 << i


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def order_exists(U: ArrayLike, mask: ArrayLike) -> bool:
    """Whether an ordered collection of the kind ``union`` exists, decided by all maximal cliques; for small matrices.

    Examples
    --------
    >>> U = np.array([[1.0], [2.0], [-1.0]])
    >>> order_exists(U, U @ U.T >= 0), order_exists(abs(U), abs(U @ U.T) >= 0)
    (False, True)
    """
    units = _units(U)
    n = len(units)
    cliques = [rows for rows in maximal_cliques(_symmetric(mask, n)) if _full(units, rows)]
    reached: list[Bools] = []
    for start in cliques:
        # What a set that lies in a reach reaches lies in that reach too.
        if any(reach[start].all() for reach in reached):
            continue
        reach = _indicator(n, start)
        waiting = list(cliques)
        while joining := [rows for rows in waiting if _full(units, rows[reach[rows]])]:
            for rows in joining:
                reach[rows] = True
            waiting = [rows for rows in waiting if not reach[rows].all()]
        if reach.all():
            return True
        reached.append(reach)
    return False


def groups_exist(U: ArrayLike, mask: ArrayLike) -> bool:
    """Whether Assumption 3 holds for some groups, decided by all maximal cliques; for small matrices.

    It does if and only if cliques of rank r that hang together through intersections of rank r cover all rows: an order
    of the kind ``tree``.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((30, 2))
    >>> groups_exist(U, U @ U.T >= 0), groups_exist(U[:4], U[:4] @ U[:4].T >= 0)
    (True, False)
    """
    units = _units(U)
    n = len(units)
    cliques = [rows for rows in maximal_cliques(_symmetric(mask, n)) if _full(units, rows)]
    member = [_indicator(n, rows) for rows in cliques]
    waiting = set(range(len(cliques)))
    while waiting:
        queue = [waiting.pop()]
        covered = np.zeros(n, bool)
        while queue:
            k = queue.pop()
            covered |= member[k]
            reached = [j for j in waiting if _full(units, member[k] & member[j])]
            waiting.difference_update(reached)
            queue += reached
        if covered.all():
            return True
    return False
