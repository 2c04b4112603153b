"""The direct certificate: from a fully seen block, row by row, each step with an error bound that is carried on.

Let C be rows whose block C×C was seen in full and has rank r. In every matrix of rank ≤ r that agrees with the seen
entries these rows have one factor, up to a rotation. A further row that sees rows S with U_S of rank r solves the
linear equations U_S u_i = m_S, so it has one place as well. In floating point, with Û the rows at hand, δ_j a bound on
‖û_j − u_j‖, any û_i and any positive weights W,

    δ_i ≤ (‖W(Û_S û_i − m_S)‖ + ‖W ε_S‖ + ‖û_i‖ ‖W δ_S‖) / (σ_r(W Û_S) − ‖W δ_S‖),

ε_ij bounding the error of the data; a row counts only where the denominator is positive. The weights are 1/δ_j, so that
rows known well are believed most. Nothing here depends on how Û was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import DIRECT_GRAM_ROUNDING, DIRECT_LARGEST_SHARE, DIRECT_ROUNDING, DIRECT_SVD_ROUNDING
from unrelu._old.data.observations import Observations
from unrelu._old.placing.attach import normal_matrices
from unrelu._old.placing.placement import find_blocks

__all__ = ["DataError", "Group", "attach_all", "bounds_of_zeros", "direct_groups", "from_block"]

# ‖Û − UQ‖_F ≤ 1.099 ‖ÛÛᵀ − UUᵀ‖_F / σ_r(Û): lemma 5.4 of Tu et al. (2016), with 1/√(2(√2 − 1)).
TU = 1.0987
# Rows join while their bound is at most so many times that of those already there: the best first.
STAGES = (10.0, 100.0, 1e4, np.inf)
# Rows that others are measured against, as a multiple of the rank; all of them where these do not suffice.
ANCHORS = 15
# Most rows looked at one by one, by singular values, in a wave where normal matrices cannot tell.
ONE_BY_ONE = 40
# Most seed blocks.
MOST_GROUPS = 16
# Of few rows each is a start for a seed block, and more of the blocks are grown.
FEW, FEW_GROUPS = 200, 12
# With at most so many sets of r rows each that was seen in full is a seed, however weak: its bound decides.
EVERY_BLOCK = 1000


@dataclass(frozen=True)
class DataError:
    """|error of m_ij| ≤ absolute + relative · ‖u_i‖‖u_j‖, in units of ``observations.unit``.

    With ``as_fitted`` the fit itself stands for the data: what would be determined if they were without noise. A row
    counts if its bound is at most ``share`` of its size.
    """

    absolute: float
    relative: float
    as_fitted: bool = False
    share: float = DIRECT_LARGEST_SHARE

    @classmethod
    def of(cls, observations: Observations, rank: int, data_error: float | None) -> DataError:
        """The caller's bound, or the rounding of a product of ``rank`` terms in the precision of the data."""
        rounding = float(np.finfo(observations.dtype).eps) * (rank + 2)
        absolute = 0.0 if data_error is None else data_error / observations.unit
        return cls(absolute, rounding if data_error is None else DIRECT_ROUNDING * (rank + 2))

    @classmethod
    def of_a_fit(cls, rank: int) -> DataError:
        """Of a fit that stands for the data: its entries are products in double precision, whatever theirs is."""
        return cls(0.0, float(np.finfo(np.float64).eps) * (rank + 2), as_fitted=True)

    def gap(self, difference: Floats) -> Floats:
        """What the fit leaves of the data."""
        return np.zeros_like(difference) if self.as_fitted else difference

    def of_pairs(self, left: Floats, right: Floats) -> Floats:
        """The bound for rows of these norms."""
        return self.absolute + self.relative * left[:, None] * right[None, :]


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that have one place relative to each other, and how far off the factor at hand may be.

    Attributes
    ----------
    bound : ndarray of shape (n,)
        δ_i: after one rotation of all rows of the group, ‖û_i − u_i‖ ≤ δ_i. Infinite for rows outside.
    wave : int ndarray of shape (n,)
        When a row joined; 0 for the seed, −1 for rows outside.
    seed : int ndarray
    """

    bound: Floats
    wave: NDArray[np.int64]
    seed: Indices

    @property
    def inside(self) -> NDArray[np.bool_]:
        """The rows of the group."""
        return self.wave >= 0

    @property
    def rows(self) -> Indices:
        """Their positions."""
        return np.flatnonzero(self.wave >= 0)


def direct_groups(
    observations: Observations,
    factor: Floats,
    error: DataError,
    rng: np.random.Generator,
) -> list[Group]:
    """Groups from one seed block after the other, until every row is in one or no block is left; the largest first.

    ``factor`` is in units of √``observations.unit``.
    """
    n, rank = factor.shape
    groups: list[Group] = []
    covered = np.zeros(n, dtype=bool)

    def grow(seeds: list[Indices], most: int) -> None:
        for seed in seeds:
            checkpoint()
            if most == 0 or len(groups) == MOST_GROUPS or covered.all():
                return
            if any(group.inside[seed].all() for group in groups):
                continue
            group = from_block(observations, factor, error, seed)
            if group is not None:
                groups.append(attach_all(observations, factor, error, group))
                covered[groups[-1].rows] = True
                most -= 1

    grow(find_blocks(observations, rank, rng, 8), 1)
    if not covered.all() and n <= FEW:
        grow(find_blocks(observations, rank, rng, n), FEW_GROUPS)
    elif not covered.all():
        grow(find_blocks(observations, rank, rng), 4)
    while not covered.all() and len(groups) < MOST_GROUPS:
        left = np.flatnonzero(~covered)
        before = len(groups)
        if len(left) >= rank:
            grow(find_blocks(observations, rank, rng, among=left), 2)
        if len(groups) == before:
            break
    if comb(n, rank) <= EVERY_BLOCK and not any(group.inside.all() for group in groups):
        groups += _from_every_block(observations, factor, error, groups)
    return sorted(groups, key=lambda group: (-len(group.rows), group.rows[0]))


def _from_every_block(observations: Observations, factor: Floats, error: DataError, known: list[Group]) -> list[Group]:
    """Groups that grow from blocks of r rows and are larger than those known."""
    n, rank = factor.shape
    _, seen = observations.pairs(np.arange(n), np.arange(n))
    largest = max((len(group.rows) for group in known), default=rank)
    found: list[Group] = []
    for rows in combinations(range(n), rank):
        seed = np.array(rows)
        if seen[np.ix_(seed, seed)].all() and not any(group.inside[seed].all() for group in (*known, *found)):
            group = from_block(observations, factor, error, seed)
            group = None if group is None else attach_all(observations, factor, error, group)
            if group is not None and len(group.rows) > largest:
                largest = len(group.rows)
                found.append(group)
    return found


def from_block(observations: Observations, factor: Floats, error: DataError, seed: Indices) -> Group | None:
    """The seed alone, by the lemma of Tu et al. on rows scaled to unit length; None if its bound says nothing."""
    n, rank = factor.shape
    sizes = np.linalg.norm(factor[seed], axis=1)
    seed, sizes = seed[sizes > 0], sizes[sizes > 0]
    if len(seed) < rank:
        return None
    values, seen = observations.pairs(seed, seed)
    if not seen.all():
        return None
    unit = factor[seed] / sizes[:, None]
    weakest = float(np.linalg.svd(unit, compute_uv=False)[rank - 1])
    if weakest <= np.sqrt(DIRECT_GRAM_ROUNDING):
        return None
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # a row of next to nothing has no bound
        gap = error.gap(factor[seed] @ factor[seed].T - values) / np.outer(sizes, sizes)
        noise = error.of_pairs(sizes, sizes) / np.outer(sizes, sizes)
        off = float(np.linalg.norm(gap) + np.linalg.norm(noise))
    # A block whose r-th eigenvalue exceeds the error is semidefinite in every matrix of rank ≤ r, as the lemma needs.
    together = TU * off / weakest
    if not (together <= error.share and weakest**2 > 2 * off):
        return None
    bound, wave = np.full(n, np.inf), np.full(n, -1)
    bound[seed], wave[seed] = together * sizes, 0
    return Group(bound, wave, seed)


def attach_all(observations: Observations, factor: Floats, error: DataError, group: Group) -> Group:
    """Let every row join that can, in waves, the best-determined first."""
    bound, wave = group.bound.copy(), group.wave.copy()
    sizes = np.linalg.norm(factor, axis=1)
    floor = error.relative * float(np.median(sizes[sizes > 0], axis=0)) if sizes.any() else 0.0
    rank = factor.shape[1]
    count = int(wave.max())
    everyone = False
    stage = 0
    while (wave < 0).any():
        checkpoint()
        placed = np.flatnonzero(wave >= 0)
        most = max(200, ANCHORS * rank)
        anchors = placed if everyone or len(placed) <= most else _best(placed, bound, sizes, most)
        left = np.flatnonzero(wave < 0)
        found = _bounds(observations, factor, error, bound, left, anchors)
        share = found / np.maximum(sizes[left], floor)
        usual = max(float(np.median(bound[placed] / np.maximum(sizes[placed], floor))), error.relative)
        good = share <= min(STAGES[stage] * usual, error.share)
        if good.any():
            count += 1
            bound[left[good]] = np.maximum(found[good], floor)  # a row that is zero is zero exactly
            wave[left[good]] = count
            stage, everyone = 0, everyone and len(placed) <= most
        elif not everyone and len(placed) > most:
            everyone = True
        elif stage + 1 < len(STAGES):
            stage += 1
        else:
            break
    return Group(bound, wave, group.seed)


def bounds_of_zeros(
    observations: Observations, factor: Floats, error: DataError, group: Group, rows: Indices
) -> Floats:
    """δ_i of rows that are zero in the factor, infinite where the group does not determine them.

    Such a row has no size that its bound could be a share of, so that :func:`attach_all` leaves it out.
    """
    return _bounds(observations, factor, error, group.bound, rows, group.rows)


def _best(placed: Indices, bound: Floats, sizes: Floats, most: int) -> Indices:
    order = np.argsort(bound[placed] / np.maximum(sizes[placed], np.finfo(float).tiny), kind="stable")
    return np.sort(placed[order[:most]])


def _bounds(
    observations: Observations, factor: Floats, error: DataError, bound: Floats, left: Indices, anchors: Indices
) -> Floats:
    """δ_i of each row of ``left`` against the anchors it sees, whose own are in ``bound``.

    Infinite where they do not determine it.
    """
    rank, sizes = factor.shape[1], np.linalg.norm(factor, axis=1)
    values, seen = observations.pairs(left, anchors)
    weights = 1 / bound[anchors]
    scale = float(weights.max())
    weights = weights / scale
    gap = error.gap(np.where(seen, factor[left] @ factor[anchors].T - values, 0))
    noise = np.where(seen, error.of_pairs(sizes[left], sizes[anchors]), 0)
    misfit = np.sqrt((gap**2) @ weights**2) + np.sqrt((noise**2) @ weights**2)
    counted = np.sqrt(seen.sum(axis=1)) / scale  # ‖W δ_S‖
    weighted = factor[anchors] * weights[:, None]
    enough = np.flatnonzero(seen.sum(axis=1) >= rank)
    result = np.full(len(left), np.inf)
    if enough.size == 0:
        return result
    grams = normal_matrices(seen[enough].astype(np.float64), weighted)
    rounding = max(DIRECT_GRAM_ROUNDING, len(anchors) * np.finfo(float).eps)
    least = np.linalg.eigvalsh(grams)[:, 0] - rounding * np.trace(grams, axis1=1, axis2=2)
    strength = np.zeros(len(left))
    strength[enough] = np.sqrt(np.maximum(least, 0))
    unclear = enough[least <= 0][:ONE_BY_ONE]
    for i in unclear:
        own = weighted[seen[i]]
        singular = np.linalg.svd(own, compute_uv=False)
        strength[i] = max(singular[rank - 1] - DIRECT_SVD_ROUNDING * len(own) * singular[0], 0.0)
    room = strength - counted
    good = room > 0
    result[good] = (misfit[good] + sizes[left][good] * counted[good]) / room[good]
    return result
