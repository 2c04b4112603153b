"""The assumptions of the paper checked block by block, for sizes at which the whole pattern would not fit in memory.

:mod:`unrelu._old.theory.assumptions` wants the n×n pattern. Its conditions speak of few blocks only: of the groups, and of
pairs of groups. Here each block is looked at when it is needed, some rows at a time, and no further than needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.tolerances import PARTITION_RANK
from unrelu._old.theory.partition import Partition, orthant_partition
from unrelu._old.theory.pattern import as_factor

__all__ = ["Sampled", "failed_of_assumption_3", "noise_limit", "orthants_hold"]

# Rows of a block that are looked at together.
ROWS = 1024
# Rows and columns of a first look, which most often tells.
FIRST = 64


def noise_limit(U: ArrayLike) -> float:
    """Half the smallest ‖u_k‖²: the second Proposition speaks of noise with ‖Δ‖_∞ below it.

    Examples
    --------
    >>> noise_limit([[1.0, 0.0], [0.0, 2.0]])
    0.5
    """
    return float(np.square(as_factor(U)).sum(axis=1).min()) / 2


@dataclass(frozen=True, eq=False)
class Sampled:
    """What ReLU sampling shows of M = UUᵀ + Δ, block by block.

    Parameters
    ----------
    factor : array of shape (n, r)
        U.
    noise : float, default 0
        The largest |δ_ij|.
    seed : int, optional
        Δ is drawn with it, uniform between −``noise`` and ``noise``, one number for each pair {i, j}. Without a seed
        every δ_ij is −``noise``: fewer entries are seen with no noise of that size, so that what holds then holds for
        all of it.
    angles : bool, default False
        Whether a block counts as seen where the angles between its rows prove it (the product of two rows is at least
        the product of their lengths times the cosine of the largest angle), rather than by looking at every entry.

    Examples
    --------
    >>> U = np.array([[1.0, 0.0], [0.6, 0.8], [-0.5, 0.5]])
    >>> Sampled(U)(np.array([0]), np.arange(3)).tolist()
    [[True, True, False]]
    >>> Sampled(U, noise=0.7)(np.array([0]), np.arange(3)).tolist()
    [[True, False, False]]
    """

    factor: Floats
    noise: float = 0.0
    seed: int | None = None
    angles: bool = False

    def __call__(self, rows: Indices, cols: Indices) -> Bools:
        """Which entries of a block are seen."""
        product = self.factor[rows] @ self.factor[cols].T
        if not self.noise:
            return product >= 0
        if self.seed is None:
            return product >= self.noise
        return product + self.noise * self.drawn(rows, cols) >= 0

    def drawn(self, rows: Indices, cols: Indices) -> Floats:
        """Numbers between −1 and 1, the same for (i, j) and (j, i), from a hash of the pair: nothing has to be kept."""
        i, j = rows.astype(np.uint64)[:, None], cols.astype(np.uint64)[None, :]
        first, second = np.minimum(i, j), np.maximum(i, j)
        with np.errstate(over="ignore"):
            mixed = _mixed(first + _mixed(second + _mixed(np.uint64(self.seed or 0) + np.zeros((1, 1), np.uint64))))
        return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1

    def whole(self, rows: Indices, cols: Indices) -> bool:
        """Whether a block is seen in full; a corner of it is looked at first."""
        if not self(rows[:FIRST], cols[:FIRST]).all():
            return False
        if self.angles and len(rows) and len(cols) and self._near(rows, cols):
            return True
        return all(self(rows[k : k + ROWS], cols).all() for k in range(0, len(rows), ROWS))

    def _near(self, rows: Indices, cols: Indices) -> bool:
        """Whether the rows of a block lie so close together that no noise hides an entry of it."""
        (first, here, least), (second, there, other) = self._cone(rows), self._cone(cols)
        widest = here + there + float(np.arccos(np.clip(first @ second, -1, 1)))
        return widest < np.pi / 2 and least * other * float(np.cos(widest)) > self.noise

    def _cone(self, rows: Indices) -> tuple[Floats, float, float]:
        """The middle of some rows, the largest angle to it, and the smallest length."""
        own = self.factor[rows]
        lengths = np.linalg.norm(own, axis=1)
        middle = own.mean(axis=0) / max(float(np.linalg.norm(own.mean(axis=0))), np.finfo(float).tiny)
        cosine = float((own @ middle / np.maximum(lengths, np.finfo(float).tiny)).min())
        return middle, float(np.arccos(np.clip(cosine, -1, 1))), float(lengths.min())


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64: one step of a generator for each number."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def orthants_hold(U: ArrayLike) -> tuple[bool, bool]:
    """Whether Assumption 1 holds, and Assumption 2, on the orthants of a factor under ReLU sampling without noise.

    The same as :func:`~unrelu._old.theory.assumptions.check_assumption_1` and
    :func:`~unrelu._old.theory.assumptions.check_assumption_2` say of the whole pattern.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((60, 2))
    >>> orthants_hold(U), orthants_hold(U[:, :1]), orthants_hold(abs(U))
    ((True, True), (True, False), (False, False))
    """
    partition = orthant_partition(U)
    seen = Sampled(as_factor(U))
    groups = partition.groups
    linked = all(_spanned(partition, seen, k) for k in range(len(groups) - 1))
    return bool(partition.full_rank.all()), linked and all(seen.whole(group, group) for group in groups)


def _spanned(partition: Partition, seen: Sampled, k: int) -> bool:
    """Whether group k + 1 and group k see r² entries of each other whose products span the r×r matrices."""
    rows, cols = partition.groups[k + 1], partition.groups[k]
    r = partition.rank
    if min(len(rows), len(cols)) == 0:
        return False
    A, B = (_unit_rows(partition.blocks[place]) for place in (k + 1, k))
    pairs = np.triu_indices(r)
    both = (B[:, :, None] * B[:, None, :])[:, pairs[0], pairs[1]]
    gram, count, some = np.zeros((r, r, r, r)), 0, FIRST
    begin = 0
    while begin < len(rows):
        part = slice(begin, begin + some)
        block = seen(rows[part], cols)
        count += int(np.count_nonzero(block))
        sums = np.zeros((block.shape[0], r, r))
        sums[:, pairs[0], pairs[1]] = sums[:, pairs[1], pairs[0]] = block.astype(np.float64) @ both
        gram += np.einsum("ia,ib,icd->acbd", A[part], A[part], sums, optimize=True)
        values = np.linalg.eigvalsh(gram.reshape(r * r, r * r))
        if count >= r * r and values[0] > PARTITION_RANK * values[-1]:
            return True
        begin, some = begin + some, ROWS
    return False


def _unit_rows(block: Floats) -> Floats:
    lengths = np.linalg.norm(block, axis=1, keepdims=True)
    return block / np.where(lengths > 0, lengths, 1)


def failed_of_assumption_3(partition: Partition, seen: Sampled) -> tuple[str, ...]:
    """The conditions of Assumption 3 that fail for these groups, by the names of
    :func:`~unrelu._old.theory.assumptions.check_assumption_3`; none if it holds.

    Examples
    --------
    >>> from unrelu._old.theory.partition import cone_partition
    >>> U = np.random.default_rng(0).standard_normal((400, 2))
    >>> failed_of_assumption_3(cone_partition(U), Sampled(U))
    ()
    >>> failed_of_assumption_3(cone_partition(U), Sampled(U, noise=1.0))
    ('3(b)', '3(d)')
    """
    groups = partition.groups
    failed = {
        "3(a)": partition.uncovered.size > 0,
        "3(b)": not all(seen.whole(group, group) for group in groups),
        "3(c)": not partition.full_rank.all(),
        "3(d)": _parts(partition, seen) != 1,
    }
    return tuple(name for name, fails in failed.items() if fails)


def _parts(partition: Partition, seen: Sampled) -> int:
    """Into how many parts fully seen blocks join the groups that have rows."""
    part = {k: k for k, group in enumerate(partition.groups) if len(group)}
    centres = [block.mean(axis=0) for block in partition.blocks if len(block)]
    towards = np.array([centre / max(float(np.linalg.norm(centre)), np.finfo(float).tiny) for centre in centres])
    cosines = np.triu(towards @ towards.T, 1)
    names = list(part)
    # The nearest groups first: they see each other, and the rest need not be looked at.
    for a, b in zip(*np.unravel_index(np.argsort(-cosines, axis=None), cosines.shape), strict=True):
        k, j = names[int(a)], names[int(b)]
        if a < b and part[k] != part[j] and seen.whole(partition.groups[k], partition.groups[j]):
            old = part[j]
            part = {name: part[k] if p == old else p for name, p in part.items()}
            if len(set(part.values())) == 1:
                break
    return len(set(part.values()))
