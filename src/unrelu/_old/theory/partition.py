"""Groups of rows: orthants in Gray-code order, sectors of the plane, and cones around the points of an ε-net.

Within a group every entry was seen; the assumptions of the paper say how groups must hang together.
:mod:`unrelu._old.theory.assumptions` checks them, :mod:`unrelu._old.theory.discover` finds groups without the factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import asin, cos, pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import PARTITION_RANK
from unrelu._old.theory.nets import EPSILON, sphere_net
from unrelu._old.theory.pattern import as_factor

__all__ = [
    "CONE",
    "Partition",
    "cone_partition",
    "in_cones",
    "orthant_partition",
    "sector_partition",
]

# Half the opening of the paper's cones: u lies in C_k if its angle to a_k is at most π/12.
CONE = pi / 12
# 2^r orthants are held in a list.
MOST_ORTHANTS_RANK = 16


@dataclass(frozen=True, eq=False)
class Partition:
    """Groups of rows, which may overlap unless they are orthants or sectors.

    Attributes
    ----------
    size : int
        n.
    groups : tuple of int arrays
        The index sets I_k, each sorted; some may be empty.
    blocks : tuple of arrays of shape (len(group), r)
        U_k, the rows of the factor in each group; of a found partition a factor of its seen block, in its own frame.
    labels : tuple of str
        A name per group: the signs of an orthant, the number of a sector.
    kind : {"orthants", "sectors", "cones", "found"}
    """

    size: int
    groups: tuple[Indices, ...]
    blocks: tuple[Floats, ...]
    labels: tuple[str, ...]
    kind: str

    @property
    def rank(self) -> int:
        """r, the number of columns of the factor."""
        return int(self.blocks[0].shape[1])

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each group has."""
        return np.array([len(group) for group in self.groups])

    @property
    def membership(self) -> NDArray[np.float32]:
        """The n×K indicator of rows and groups."""
        indicator = np.zeros((self.size, len(self.groups)), np.float32)
        for k, group in enumerate(self.groups):
            indicator[group, k] = 1
        return indicator

    @property
    def uncovered(self) -> Indices:
        """Rows that no group contains."""
        covered = np.zeros(self.size, bool)
        for group in self.groups:
            covered[group] = True
        return np.flatnonzero(~covered)

    @property
    def order(self) -> Indices:
        """The rows in the order of the groups, each once: sorted so, the seen blocks lie along the diagonal."""
        listed = np.concatenate([*self.groups, self.uncovered])
        _, first = np.unique(listed, return_index=True)
        return listed[np.sort(first)].astype(np.intp)

    def keep(self, wanted: ArrayLike) -> Partition:
        """Only some of the groups."""
        chosen = np.asarray(wanted)
        indices = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        if len(indices) == 0:
            raise InputError("at least one group must be kept, got none")
        return Partition(
            self.size,
            tuple(self.groups[k] for k in indices),
            tuple(self.blocks[k] for k in indices),
            tuple(self.labels[k] for k in indices),
            self.kind,
        )

    @property
    def eigenvalues(self) -> Floats:
        """The smallest eigenvalue of U_kᵀU_k of each group; 0 for a group of fewer than r rows."""
        return np.array([_least_eigenvalue(block) for block in self.blocks])

    @property
    def conditions(self) -> Floats:
        """σ_r/σ_1 of each block: zero to rounding where its rank is below r."""
        return np.array([_condition(block) for block in self.blocks])

    @property
    def full_rank(self) -> NDArray[np.bool_]:
        """Which groups have rank r."""
        full: NDArray[np.bool_] = self.conditions > PARTITION_RANK
        return full


def _least_eigenvalue(block: Floats) -> float:
    if block.shape[0] < block.shape[1]:
        return 0.0
    return float(np.linalg.svd(block, compute_uv=False)[-1]) ** 2


def _condition(block: Floats) -> float:
    if block.shape[0] < block.shape[1]:
        return 0.0
    values = np.linalg.svd(block, compute_uv=False)
    return float(values[-1] / values[0]) if values[0] else 0.0


def _of_factor(U: Floats, groups: list[Indices], labels: list[str], kind: str) -> Partition:
    return Partition(len(U), tuple(groups), tuple(U[group] for group in groups), tuple(labels), kind)


def orthant_partition(U: ArrayLike) -> Partition:
    """The rows by orthant, eq. (Upartition): the signs of consecutive orthants differ in one place (Gray code).

    Zero counts as positive.

    Parameters
    ----------
    U : array of shape (n, r), r ≤ 16
        The planted factor.

    Examples
    --------
    >>> partition = orthant_partition([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [2.0, 1.0]])
    >>> partition.labels
    ('++', '+-', '--', '-+')
    >>> [group.tolist() for group in partition.groups]
    [[0, 3], [], [2], [1]]
    """
    factor = as_factor(U)
    r = factor.shape[1]
    if r > MOST_ORTHANTS_RANK:
        raise InputError(f"rank {r} has 2^{r} orthants; this partition is for ranks up to {MOST_ORTHANTS_RANK}")
    codes = np.arange(1 << r)
    codes ^= codes >> 1
    bits = 1 << np.arange(r)[::-1]
    of_row = (factor < 0) @ bits
    place = np.argsort(codes)[of_row]
    by_place = np.argsort(place, kind="stable")
    edges = np.searchsorted(place[by_place], np.arange(len(codes) + 1))
    groups = [np.sort(by_place[a:b]).astype(np.intp) for a, b in pairwise(edges)]
    labels = ["".join("-" if code & bit else "+" for bit in bits) for code in codes]
    return _of_factor(factor, groups, labels, "orthants")


def sector_partition(U: ArrayLike, sectors: int = 12) -> Partition:
    """The rows of a rank-2 factor by sector of the plane, as in the Example (Positive-Threshold Mask).

    Sector k holds the angles from 2πk/``sectors`` up to, not including, 2π(k + 1)/``sectors``.

    Examples
    --------
    >>> U = [[np.cos(t), np.sin(t)] for t in (0.1, 0.4, 0.6, 3.0)]
    >>> [group.tolist() for group in sector_partition(U).groups[:6]]
    [[0, 1], [2], [], [], [], [3]]
    """
    factor = as_factor(U)
    if factor.shape[1] != 2:
        raise InputError(
            f"sectors divide the plane, so U must have 2 columns, got {factor.shape[1]}; use cone_partition"
        )
    angles = np.mod(np.arctan2(factor[:, 1], factor[:, 0]), 2 * pi)
    of_row = np.minimum((angles * (sectors / (2 * pi))).astype(np.intp), sectors - 1)
    groups = [np.flatnonzero(of_row == k) for k in range(sectors)]
    return _of_factor(factor, groups, [str(k + 1) for k in range(sectors)], "sectors")


def cone_partition(U: ArrayLike, centres: ArrayLike | str = "net", angle: float = CONE) -> Partition:
    """The rows by cones {u : uᵀa_k ≥ cos(π/12)‖u‖}, as the proof of the noisy proposition groups them; they overlap.

    Parameters
    ----------
    U : array of shape (n, r)
        The planted factor.
    centres : "net", "rows" or array of shape (K, r), default "net"
        Unit vectors a_k: those of :func:`~unrelu._old.theory.nets.sphere_net`, as in the paper; or ("rows") row
        directions chosen so that any two are more than ¼ apart and every row is within ¼ of one. By the paper's packing
        argument these too are at most 9^r; unlike those of the net no cone is empty.
    angle : float, default π/12
        Half the opening.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((300, 3))
    >>> partition = cone_partition(U, "rows")
    >>> partition.uncovered.size, len(partition.groups) <= 9**3
    (0, True)
    """
    factor = as_factor(U)
    if isinstance(centres, str):
        if centres not in ("net", "rows"):
            raise InputError(f"centres must be 'net', 'rows' or an array of unit vectors, got {centres!r}")
        a = sphere_net(factor.shape[1]) if centres == "net" else _separated_rows(factor)
    else:
        a = np.asarray(centres, np.float64)
        if a.ndim != 2 or a.shape[1] != factor.shape[1] or not np.allclose(np.linalg.norm(a, axis=1), 1):
            raise InputError(
                f"centres must be unit vectors of length {factor.shape[1]}, one per row, got shape {a.shape}"
            )
    inside = in_cones(factor, a, angle)
    groups = [np.flatnonzero(column) for column in inside.T]
    return _of_factor(factor, groups, [str(k + 1) for k in range(len(a))], "cones")


def in_cones(points: ArrayLike, centres: ArrayLike, angle: float = CONE) -> NDArray[np.bool_]:
    """Which points lie in which cones, shape (points, centres); zero lies in all.

    With the centres of a ¼-net every point lies in at least one: Lemma (union-C), R^r = ∪ C_k.
    """
    u, a = np.asarray(points, np.float64), np.asarray(centres, np.float64)
    # The last digits of a norm must not put a centre outside its own cone.
    slack = 8 * np.finfo(float).eps
    inside: NDArray[np.bool_] = u @ a.T >= (cos(angle) - slack) * np.linalg.norm(u, axis=1)[:, None]
    return inside


def _separated_rows(U: Floats) -> Floats:
    """Row directions, each more than ¼ from those before it, until every row is within ¼ of one."""
    lengths = np.linalg.norm(U, axis=1)
    directions = U[lengths > 0] / lengths[lengths > 0, None]
    if len(directions) == 0:
        raise InputError("U must have a row that is not zero")
    near = cos(2 * asin(EPSILON / 2))
    centres = [directions[0]]
    closest = directions @ directions[0]
    while closest.min() < near:
        centres.append(directions[int(np.argmin(closest))])
        closest = np.maximum(closest, directions @ centres[-1])
    return np.array(centres)
