"""Groups of rows found from the pattern and the values alone, as the paper remarks is possible.

Every group is a clique (all its entries were seen) whose block has rank r. Starting from one, a row that is in no group
yet joins if it sees rows of rank r of some group: it, those rows and all that see them all are the next clique.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import DISCOVER_LEAST_SHARE
from unrelu._old.data.observations import Observations
from unrelu._old.theory.partition import Partition
from unrelu._old.theory.pattern import own_generator

__all__ = ["find_partition"]

# Cliques that are grown before one is taken.
TRIES = 12
# The next clique may start at a row held at least so well as the best: fewer cliques, somewhat weaker links.
WELL_HELD = 0.2
# A row in no group yet counts so many times one that is in one, when cliques grow.
UNCOVERED = 4.0


def find_partition(
    observations: Observations, rank: int, rng: Any = None, *, least_share: float = DISCOVER_LEAST_SHARE
) -> Partition | None:
    """Cliques of rank r that cover the rows, and intersections of rank r through which they hang together.

    Assumption 3 holds for them if every row is covered and the cliques are in one part;
    :func:`~unrelu._old.theory.assumptions.check_assumption_3` says so. Finding none does not prove that there is none.
    With noisy values ranks are numerical ones.

    Parameters
    ----------
    observations : Observations
    rank : int
    rng : int, Generator or None
    least_share : float, default 1e-6
        The smallest r-th eigenvalue of a block, over its largest, that counts as rank r.

    Returns
    -------
    Partition or None
        None if no fully seen block of rank r was found.

    Examples
    --------
    >>> U = np.random.default_rng(1).standard_normal((80, 2))
    >>> found = find_partition(Observations.of(np.where(U @ U.T >= 0, U @ U.T, np.nan)), 2)
    >>> found.uncovered.size
    0
    """
    if not 1 <= rank <= observations.size:
        raise InputError(f"rank must be between 1 and {observations.size}, the size of the matrix; got {rank}")
    search = _Search(observations, rank, least_share, own_generator(rng))
    while search.start():
        while search.extend():
            pass
    return search.partition()


class _Search:
    """What has been found so far."""

    def __init__(self, observations: Observations, rank: int, least: float, rng: np.random.Generator) -> None:
        n = observations.size
        everyone = np.arange(n)
        self.values, either = observations.pairs(everyone, everyone)
        whole = slice(0, n)
        present = ~np.isnan(observations.block(whole, whole))
        self.unit = observations.unit
        self.seen: Bools = present & present.T & either
        self.rank, self.least, self.rng = rank, least, rng
        # A row whose diagonal entry was not seen, or that is zero, is in no clique that tells anything.
        self.left: Bools = np.diag(self.seen) & (np.diag(self.values) > 0)
        self.startable = self.left.copy()
        self.cliques: list[Indices] = []
        self.factors: list[Floats] = []
        self.bridges: list[tuple[int, Indices]] = []
        # For each row still left, how well the best clique it can join would hold it, and which that is.
        self.share = np.zeros(n)
        self.host = np.full(n, -1)

    def start(self) -> bool:
        """A first clique among the rows that are left, the one with the largest r-th eigenvalue of several."""
        rows = np.flatnonzero(self.left & self.startable)
        if rows.size == 0:
            return False
        tried = rows[self.rng.permutation(len(rows))[:TRIES]]
        found = [self.grow(np.array([row])) for row in tried]
        shares = [self._factor(clique)[1] for clique in found]
        best = int(np.argmax(shares))
        if shares[best] < self.least:
            # They may still join a clique that is found later.
            self.startable[tried] = False
            return True
        self._add(found[best])
        return True

    def extend(self) -> bool:
        """The next clique: of those through some well-held rows the one that covers most rows that are in none."""
        shares = np.where(self.left, self.share, 0)
        best = float(shares.max())
        if best < self.least:
            return False
        held = np.flatnonzero(shares >= WELL_HELD * best)
        rows = held[self.rng.permutation(len(held))[:TRIES]]
        hosts = [self.cliques[self.host[row]] for row in rows]
        cliques = [self.grow(np.append(host[self.seen[row, host]], row)) for row, host in zip(rows, hosts, strict=True)]
        most = int(np.argmax([np.count_nonzero(self.left[clique]) for clique in cliques]))
        self.bridges.append((int(self.host[rows[most]]), np.intersect1d(hosts[most], cliques[most])))
        self._add(cliques[most])
        return True

    def grow(self, rows: Indices) -> Indices:
        """A maximal clique that contains these rows, in favour of rows that are in none yet."""
        candidates = np.flatnonzero(self.seen[rows].all(axis=0) & np.diag(self.seen))
        candidates = np.setdiff1d(candidates, rows)
        among = self.seen[np.ix_(candidates, candidates)]
        weight = np.where(self.left[candidates], UNCOVERED, 1.0)
        score = among @ weight + UNCOVERED * self.left[candidates]
        standing: Bools = np.ones(len(candidates), dtype=bool)
        members = list(rows)
        while standing.any():
            chosen = int(np.argmax(np.where(standing, score, -np.inf)))
            members.append(candidates[chosen])
            leaving = standing & ~among[chosen]
            leaving[chosen] = True
            standing &= ~leaving
            score -= among[:, leaving] @ weight[leaving]
        return np.sort(np.array(members, np.intp))

    def _factor(self, clique: Indices) -> tuple[Floats, float]:
        """A factor of the block, and its r-th eigenvalue over the first."""
        if len(clique) < self.rank:
            return np.zeros((len(clique), self.rank)), 0.0
        values, vectors = np.linalg.eigh(self.values[np.ix_(clique, clique)])
        top = np.maximum(values[-self.rank :], 0)
        return vectors[:, -self.rank :] * np.sqrt(top), float(top[0] / top[-1]) if top[-1] > 0 else 0.0

    def _add(self, clique: Indices) -> None:
        factor, _ = self._factor(clique)
        self.cliques.append(clique)
        self.factors.append(factor)
        self.left[clique] = False
        # Rows that are left: the r-th eigenvalue of what they see of this clique, over the first of the clique.
        rows = np.flatnonzero(self.left)
        products = np.einsum("ia,ib->iab", factor, factor).reshape(len(clique), -1)
        grams = (self.seen[np.ix_(rows, clique)].astype(np.float64) @ products).reshape(-1, self.rank, self.rank)
        values = np.linalg.eigvalsh(grams)
        share = np.divide(values[:, 0], values[:, -1], out=np.zeros(len(rows)), where=values[:, -1] > 0)
        better = share > self.share[rows]
        self.share[rows[better]] = share[better]
        self.host[rows[better]] = len(self.cliques) - 1

    def partition(self) -> Partition | None:
        """The cliques, then the intersections that join them."""
        if not self.cliques:
            return None
        root = np.sqrt(self.unit)
        groups, blocks = list(self.cliques), [factor * root for factor in self.factors]
        labels = [f"clique {k + 1}" for k in range(len(groups))]
        for host, shared in self.bridges:
            inside = np.searchsorted(self.cliques[host], shared)
            groups.append(shared)
            blocks.append(self.factors[host][inside] * root)
            labels.append(f"shared with clique {host + 1}")
        return Partition(len(self.values), tuple(groups), tuple(blocks), tuple(labels), "found")
