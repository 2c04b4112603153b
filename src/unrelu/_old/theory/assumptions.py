"""Assumptions 1, 2 and 3(a)–(d) of the paper, checked on given groups of rows, each failure by name."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unrelu._old.base.arrays import Bools, Indices
from unrelu._old.base.errors import InputError, positions
from unrelu._old.theory.links import Link, links_by_paths, links_by_span, seen_between
from unrelu._old.theory.partition import Partition
from unrelu._old.theory.pattern import Mask, Pattern

__all__ = [
    "AssumptionReport",
    "check_assumption_1",
    "check_assumption_2",
    "check_assumption_3",
    "check_noise",
]

# The name of a violated condition, and a sentence.
Failure = tuple[str, str]


@dataclass(frozen=True, eq=False)
class AssumptionReport:
    """Whether an assumption holds for some groups, and if not which of its conditions fail.

    Attributes
    ----------
    assumption : {"1", "2", "3"}
    holds : bool
    failed : tuple of str
        Names of the violated conditions: ``1``, ``2 (blocks)``, ``2 (entries)``, ``2 (span)``, ``3(a)`` … ``3(d)``,
        ``noise``.
    reasons : tuple of str
        A sentence for each.
    groups : tuple of int arrays
        The index sets.
    lambda_ : float
        The largest λ with U_kᵀU_k ⪰ λI for every group; 0 where one has rank below r.
    links : tuple of pairs
        Steps k → l that were verified; for Assumption 3 a tree of shortest paths from the first group.
    """

    assumption: str
    holds: bool
    failed: tuple[str, ...]
    reasons: tuple[str, ...]
    groups: tuple[Indices, ...]
    lambda_: float
    links: tuple[Link, ...] = ()

    def path(self, first: int, last: int) -> list[int] | None:
        """The groups passed on the way from one to another along ``links``; None if there is no way."""
        before = {first: first}
        queue = deque([first])
        neighbours: dict[int, list[int]] = {}
        for k, j in self.links:
            neighbours.setdefault(k, []).append(j)
            neighbours.setdefault(j, []).append(k)
        while queue and last not in before:
            at = queue.popleft()
            for following in neighbours.get(at, ()):
                if following not in before:
                    before[following] = at
                    queue.append(following)
        if last not in before:
            return None
        way = [last]
        while way[-1] != first:
            way.append(before[way[-1]])
        return way[::-1]

    @property
    def steps(self) -> int:
        """The longest path from the first group along ``links``, which may stand for K in the noisy bound."""
        depth = {0: 0}
        for k, j in self.links:
            depth.setdefault(j, depth.get(k, 0) + 1)
        return max(depth.values())

    def explain(self) -> str:
        """In plain sentences."""
        if self.holds:
            return f"Assumption {self.assumption} holds for {len(self.groups)} groups, with λ = {self.lambda_:.3g}."
        return f"Assumption {self.assumption} fails for these groups. " + " ".join(self.reasons)


def _report(
    assumption: str, partition: Partition, failures: Iterable[Failure | None], links: Iterable[Link] = ()
) -> AssumptionReport:
    found = [failure for failure in failures if failure is not None]
    return AssumptionReport(
        assumption,
        not found,
        tuple(dict.fromkeys(name for name, _ in found)),
        tuple(reason for _, reason in found),
        partition.groups,
        float(partition.eigenvalues.min()) if partition.full_rank.all() else 0.0,
        tuple(links),
    )


def check_assumption_1(partition: Partition) -> AssumptionReport:
    """Assumption 1: the rows of every group have rank r.

    Parameters
    ----------
    partition : Partition
        :func:`~unrelu._old.theory.partition.orthant_partition` of the planted factor, or one found without it.

    Examples
    --------
    >>> from unrelu._old.theory.partition import orthant_partition
    >>> U = np.random.default_rng(0).standard_normal((60, 2))
    >>> check_assumption_1(orthant_partition(U)).holds
    True
    >>> print(check_assumption_1(orthant_partition(abs(U))).explain())
    Assumption 1 fails for these groups. Condition 1: 3 of 4 groups have rank below 2, the first is +- with 0 rows.
    """
    return _report("1", partition, [_rank_failure("1", partition)])


def _rank_failure(name: str, partition: Partition) -> Failure | None:
    deficient = np.flatnonzero(~partition.full_rank)
    if deficient.size == 0:
        return None
    k = int(deficient[0])
    return name, (
        f"Condition {name}: {deficient.size} of {len(partition.groups)} groups have rank below {partition.rank}, "
        f"the first is {partition.labels[k]} with {len(partition.groups[k])} rows."
    )


def check_assumption_2(partition: Partition, mask: Mask) -> AssumptionReport:
    """Assumption 2: between consecutive groups at least r² entries were seen, and their u_k u_lᵀ span all r×r matrices.

    Orthants and sectors are taken in their order. For other groups any steps that connect them will do: Theorem 1's
    proof only needs every Q_k to equal every other. That each diagonal block was seen in full, which ReLU sampling
    implies for orthants, is checked here (``2 (blocks)``), because a mask may be anything.

    The paper's proposition says that this holds with high probability for Gaussian factors, without excepting r = 1,
    where it never does: nothing was seen between the positive and the negative rows.

    Examples
    --------
    >>> from unrelu._old.theory.partition import orthant_partition
    >>> U = np.random.default_rng(0).standard_normal((60, 2))
    >>> check_assumption_2(orthant_partition(U), U @ U.T >= 0).holds
    True
    >>> check_assumption_2(orthant_partition(U[:, :1]), U[:, :1] @ U[:, :1].T >= 0).failed
    ('2 (entries)', '2 (span)')
    """
    seen = _matching(partition, mask)
    steps = _consecutive if partition.kind in ("orthants", "sectors") else _connected
    links, failures = steps(partition, seen)
    return _report("2", partition, [_block_failure("2 (blocks)", partition, seen), *failures], links)


def _consecutive(partition: Partition, seen: Bools) -> tuple[list[Link], list[Failure]]:
    """Steps from each group to the next, and what is wrong with the others."""
    needed = partition.rank**2
    links: list[Link] = []
    failures: list[Failure] = []
    for k in range(len(partition.groups) - 1):
        count, spans = seen_between(partition, seen, k + 1, k)
        name = f"groups {partition.labels[k]} and {partition.labels[k + 1]}"
        if count < needed:
            failures.append(("2 (entries)", f"Condition 2 (entries): {name} see {count} of each other, not {needed}."))
        if not spans:
            failures.append(("2 (span)", f"Condition 2 (span): what {name} see of each other leaves a rotation free."))
        if spans and count >= needed:
            links.append((k, k + 1))
    return links, failures


def _connected(partition: Partition, seen: Bools) -> tuple[list[Link], list[Failure]]:
    """Any steps that connect the groups, and the failure if they fall apart."""
    links = links_by_span(partition, seen)
    parts = len(partition.groups) - len(links)
    if parts == 1:
        return links, []
    return links, [("2 (span)", f"Condition 2 (span): the groups fall into {parts} parts that may be rotated.")]


def check_assumption_3(partition: Partition, mask: Mask, noise: ArrayLike | float | None = None) -> AssumptionReport:
    """Assumption 3 for given groups.

    (a) They cover all rows, (b) were seen in full within, (c) U_kᵀU_k ⪰ λI with λ > 0, (d) any two are joined by a path
    of fully seen blocks.

    In (d) a block counts as seen if it is so either way round, I_k × I_l or I_l × I_k: the proof of Theorem 3 bounds
    ‖Q_k − Q_l‖_F by either. Groups without rows fail (c) and are no steps of a path.

    The assumption asks for *some* groups; that it fails for these does not say that there are none
    (:func:`~unrelu._old.theory.assumption_search.search_assumption_3` tries several). For a symmetric Ω it holds for
    some collection exactly if cliques of rank r cover all rows and hang together through intersections of rank r: with
    I_k × I_l seen, I_k ∪ I_l is a clique, and two such cliques that follow each other on a path share I_l; conversely
    A, A ∩ B, B is a path.

    Parameters
    ----------
    partition : Partition
    mask : boolean array of shape (n, n), Observations or Pattern
    noise : array of shape (n, n) or float, optional
        Δ, or ‖Δ‖_∞ = max |δ_ij|: then the noise condition ‖Δ‖_∞ < min ‖u_k‖²/2 of the proposition is checked too.

    Examples
    --------
    >>> from unrelu._old.theory.partition import sector_partition
    >>> U = np.random.default_rng(0).standard_normal((400, 2))
    >>> report = check_assumption_3(sector_partition(U), U @ U.T >= 0)
    >>> report.holds, report.path(0, 2)
    (True, [0, 2])
    >>> check_assumption_3(sector_partition(U), U @ U.T >= 1.0).failed
    ('3(b)', '3(d)')
    """
    seen = _matching(partition, mask)
    uncovered = partition.uncovered
    links, parts = links_by_paths(partition, seen)
    K = len(partition.groups)
    failures = [
        (
            "3(a)",
            f"Condition 3(a): {uncovered.size} of {partition.size} rows are in no group, the first is {uncovered[0]}.",
        )
        if uncovered.size
        else None,
        _block_failure("3(b)", partition, seen),
        _rank_failure("3(c)", partition),
        ("3(d)", f"Condition 3(d): fully seen blocks join the {K} groups into {parts} parts, not one.")
        if parts != 1
        else None,
        None if noise is None else check_noise(np.vstack(partition.blocks), noise),
    ]
    return _report("3", partition, failures, links)


def check_noise(U: ArrayLike, noise: ArrayLike | float) -> Failure | None:
    """The proposition's noise condition ‖Δ‖_∞ < min ‖u_k‖²/2: None if it holds, else its name and a sentence.

    Examples
    --------
    >>> check_noise([[1.0, 0.0], [0.0, 2.0]], 0.4) is None
    True
    >>> print(check_noise([[1.0, 0.0], [0.0, 2.0]], 0.5)[1])
    Condition noise: the largest noise 0.5 is not below 0.5, half the smallest ‖u_k‖².
    """
    limit = float(np.square(np.asarray(U, np.float64)).sum(axis=1).min()) / 2
    largest = float(np.abs(np.asarray(noise, np.float64)).max())
    if largest < limit:
        return None
    return (
        "noise",
        f"Condition noise: the largest noise {largest:.3g} is not below {limit:.3g}, half the smallest ‖u_k‖².",
    )


def _matching(partition: Partition, mask: Mask) -> Bools:
    pattern = Pattern.of(mask)
    if pattern.size != partition.size:
        raise InputError(f"the groups are of {partition.size} rows, but the pattern has {pattern.size}")
    return pattern.mask


def _block_failure(name: str, partition: Partition, seen: Bools) -> Failure | None:
    """Whether some entry within a group was not seen."""
    for k, group in enumerate(partition.groups):
        unseen = np.argwhere(~seen[np.ix_(group, group)])
        if len(unseen):
            places = positions([(group[i], group[j]) for i, j in unseen[:3]], len(unseen))
            return name, f"Condition {name}: within group {partition.labels[k]} nothing was seen at {places}."
    return None
