"""Which groups of rows are linked by what was seen between them."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu._old.base.arrays import Bools
from unrelu._old.base.tolerances import PARTITION_RANK
from unrelu._old.theory.partition import Partition

__all__ = ["Link", "links_by_paths", "links_by_span", "seen_between"]

# A step from one group to another.
Link: TypeAlias = tuple[int, int]


def seen_between(partition: Partition, seen: Bools, k: int, j: int) -> tuple[int, bool]:
    """How many entries were seen between two groups, and whether their products span the r×r matrices."""
    block = seen[np.ix_(partition.groups[k], partition.groups[j])]
    block = block | seen[np.ix_(partition.groups[j], partition.groups[k])].T
    count = int(np.count_nonzero(block))
    r = partition.rank
    if count < r * r:
        return count, False
    A, B = _unit_rows(partition.blocks[k]), _unit_rows(partition.blocks[j])
    # Σ over seen (i, l) of (a_i ⊗ b_l)(a_i ⊗ b_l)ᵀ = Σ_i a_i a_iᵀ ⊗ Σ_l b_l b_lᵀ.
    left = np.einsum("ia,ib->iab", A, A)
    right = np.einsum("il,lc,ld->icd", block.astype(np.float64), B, B, optimize=True)
    gram = np.einsum("iab,icd->acbd", left, right, optimize=True).reshape(r * r, r * r)
    values = np.linalg.eigvalsh(gram)
    return count, bool(values[0] > PARTITION_RANK * values[-1])


def _unit_rows(block: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(block, axis=1, keepdims=True)
    return block / np.where(lengths > 0, lengths, 1)


def links_by_span(partition: Partition, seen: Bools) -> list[Link]:
    """A forest of steps between groups whose products span the r×r matrices."""
    part = list(range(len(partition.groups)))
    links = []
    for k in range(len(part)):
        for j in range(k):
            if part[k] != part[j] and seen_between(partition, seen, k, j)[1]:
                part = [part[j] if p == part[k] else p for p in part]
                links.append((j, k))
    return links


def links_by_paths(partition: Partition, seen: Bools) -> tuple[list[Link], int]:
    """A forest of shortest paths over fully seen blocks, and how many trees it has."""
    member = sp.csr_array(partition.membership.T)
    waiting = {k for k, group in enumerate(partition.groups) if len(group)}
    links: list[Link] = []
    parts = 0
    while waiting:
        parts += 1
        first = min(waiting)
        waiting.discard(first)
        queue = deque([first])
        while queue and waiting:
            k = queue.popleft()
            group = partition.groups[k]
            # A group is reached if it has no row that some row of this one did not see, either way round.
            one_way = member @ (~seen[group].all(axis=0)).astype(np.float32) == 0
            other_way = member @ (~seen[:, group].all(axis=1)).astype(np.float32) == 0
            reached = [j for j in np.flatnonzero(one_way | other_way).tolist() if j in waiting]
            links += [(k, j) for j in reached]
            queue.extend(reached)
            waiting.difference_update(reached)
    return links, parts
