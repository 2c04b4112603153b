"""Which rows and columns of a table the data determine: placed by linear steps, with bounds on what rounding does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Bools, Floats, Indices
from unrelu.base.budget import checkpoint, phase
from unrelu.base.tolerances import TABLE_AGREES, TABLE_GLUED, TABLE_PLACED, TABLE_UNFINISHED
from unrelu.data.canonical import canonical_order
from unrelu.data.observations import Observations
from unrelu.placing.table import TablePlacement, placed_from, table_blocks, table_values
from unrelu.proofs.determinacy import GENERIC, LEVELS, NO, PROVED

__all__ = ["TableDeterminacy", "determine_table"]

# Up to this many rows and columns are sorted first; beyond, a copy would cost more than it is worth.
MOST_SORTED = 300
# Bodies that are looked for, and blocks that each is looked for from.
BODIES, BLOCKS = 6, 24
# Equations between two bodies that are looked at, as a multiple of the unknowns: if these do not span, few others do.
ENOUGH = 40


@dataclass(frozen=True, eq=False)
class TableDeterminacy:
    """What the data say of rows and columns, rows first.

    Attributes
    ----------
    rank_of : int ndarray of shape (m + n,)
        Positions in :data:`unrelu.proofs.determinacy.LEVELS`.
    components : int ndarray of shape (m + n,)
        Bodies by number, 0 the largest; −1 for none.
    proofs : tuple of str
        The kinds of steps that were needed: ``direct``, ``gluing``.
    agrees : bool
        Whether the fit agrees with what was seen, so that a step proves something.
    """

    rank_of: Indices
    components: Indices
    proofs: tuple[str, ...]
    agrees: bool

    @property
    def level(self) -> NDArray[np.str_]:
        """The words."""
        return np.array(LEVELS)[self.rank_of]

    @property
    def determined(self) -> Bools:
        """Rows and columns of the largest body."""
        found: Bools = (self.components == 0) & (self.rank_of >= GENERIC)
        return found


def determine_table(
    observations: Observations, factor: Floats, rng: np.random.Generator, *, at_floor: bool, exact: bool
) -> TableDeterminacy:
    """Grow bodies from fully seen blocks of the data, or with noise of the fit where it was seen, and join them.

    Parameters
    ----------
    observations : Observations
        Of the symmetric matrix that the table is part of.
    factor : ndarray of shape (m + n, r)
        [L; R], in units.
    rng : Generator
    at_floor : bool
        Whether the fit is as good as the data allow; if not, nothing is called determined.
    exact : bool
        Whether the data are fitted to rounding: then steps prove; else they hold if the data were as the fit has them.
    """
    phase("which rows and columns are determined")
    if len(factor) > MOST_SORTED:
        return _determined(observations, factor, rng, at_floor=at_floor, exact=exact)
    order = canonical_order(observations)  # so that the order of rows and columns does not matter
    found = _determined(observations.reordered(order), factor[order], rng, at_floor=at_floor, exact=exact)
    rank_of, components = np.empty_like(found.rank_of), np.empty_like(found.components)
    rank_of[order], components[order] = found.rank_of, found.components
    return TableDeterminacy(rank_of, components, found.proofs, found.agrees)


def _determined(
    observations: Observations, factor: Floats, rng: np.random.Generator, *, at_floor: bool, exact: bool
) -> TableDeterminacy:
    """The same for rows in any order."""
    size, rank = factor.shape
    cut = observations.source.cut
    assert cut is not None
    nothing = TableDeterminacy(np.full(size, NO), np.full(size, -1), (), False)
    values = table_values(observations)
    fit = factor[:cut] @ factor[cut:].T
    if not at_floor:
        return nothing
    off = np.abs(np.where(np.isnan(values), 0.0, values - fit))
    scale = np.linalg.norm(factor[:cut], axis=1)[:, None] * np.linalg.norm(factor[cut:], axis=1)
    agrees = exact and bool((off <= TABLE_AGREES[observations.dtype.name] * np.maximum(scale, scale.mean())).all())
    known = values if exact else np.where(np.isnan(values), np.nan, fit)
    placed = _bodies(known, rank, rng, float(np.finfo(observations.dtype).eps))
    if exact and not agrees:  # the fit is not finished: where rows are nearly dependent it may be far off
        placed = [body for body in placed if _meets(body, fit, scale, cut)]
    bodies, glued = _joined(values, placed, factor, cut)
    rank_of, components = nothing.rank_of.copy(), nothing.components.copy()
    for number, body in enumerate(bodies):
        fresh = body & (components < 0)
        rank_of[fresh], components[fresh] = PROVED if agrees else GENERIC, number
    proofs = () if not bodies else ("direct", "gluing") if glued else ("direct",)
    return TableDeterminacy(rank_of, components, proofs, agrees)


def _bodies(known: Floats, rank: int, rng: np.random.Generator, eps: float) -> list[TablePlacement]:
    """The largest body, then the largest among what it leaves, and so on."""
    seen = ~np.isnan(known)
    m = len(known)
    left = np.ones(sum(known.shape), dtype=bool)
    found: list[TablePlacement] = []
    for _ in range(BODIES):
        rows, cols = np.flatnonzero(left[:m]), np.flatnonzero(left[m:])
        if len(rows) < rank or len(cols) < rank:
            break
        best: TablePlacement | None = None
        for block in table_blocks(seen[np.ix_(rows, cols)], rank, rng, BLOCKS)[:3]:
            checkpoint()
            seed = rows[block[0]], cols[block[1]]
            singular = np.linalg.svd(known[np.ix_(*seed)], compute_uv=False)
            if singular[rank - 1] <= TABLE_PLACED * singular[0]:
                continue
            placement = _sound(placed_from(known, rank, seed, eps))
            if best is None or placement.placed.sum() > best.placed.sum():
                best = placement
        if best is None:
            break
        found.append(best)
        left &= ~best.placed
    return found


def _meets(body: TablePlacement, fit: Floats, scale: Floats, cut: int) -> bool:
    """Whether the fit has the entries of a body where the data place them."""
    inside = body.placed[:cut, None] & body.placed[None, cut:]
    off = np.abs(body.factor[:cut] @ body.factor[cut:].T - fit)
    return bool((off <= TABLE_UNFINISHED * np.maximum(scale, scale.mean()))[inside].all())


def _sound(placement: TablePlacement) -> TablePlacement:
    """Only what is known to several digits."""
    size = np.linalg.norm(placement.factor, axis=1)
    sound = placement.placed & (placement.bound <= TABLE_PLACED * np.maximum(size, 1e-300))
    return TablePlacement(placement.factor, sound, placement.bound, placement.seed)


def _joined(values: Floats, bodies: list[TablePlacement], factor: Floats, cut: int) -> tuple[list[Bools], bool]:
    """Bodies as sets of rows and columns; two become one where linear equations leave one frame between them."""
    sets = [body.placed.copy() for body in bodies]
    seen, glued, k = ~np.isnan(values), False, 1
    while sets and k < len(sets):
        if _one_frame(seen, (sets[0], sets[k]), factor, cut):
            sets[0] |= sets.pop(k)
            glued, k = True, 1
        else:
            k += 1
    return sorted(sets, key=lambda body: -int(body.sum())), glued


def _one_frame(seen: Bools, bodies: tuple[Bools, Bools], factor: Floats, cut: int) -> bool:
    """Whether r² independent equations say how one body lies to the other.

    With H the r×r matrix between their frames, an entry in a row of the first and a column of the second is linear in
    H, and a column of both is r equations. The same holds for H⁻¹ with the bodies exchanged, and with rows for columns.
    """
    tables = ((seen, slice(0, cut), slice(cut, None)), (seen.T, slice(cut, None), slice(0, cut)))
    for table, rows, cols in tables:
        for one, other in (bodies, bodies[::-1]):
            both = one[cols] & other[cols]
            i, j = np.nonzero(table & one[rows, None] & (other[cols] & ~both)[None, :])
            if _spanning(factor[rows][i], factor[cols][j], factor[cols][both]):
                return True
    return False


def _spanning(left: Floats, right: Floats, shared: Floats) -> bool:
    """Whether the products l rᵀ, and every shared row against each of r unit vectors, span all r×r matrices."""
    rank = left.shape[1]
    some = slice(0, ENOUGH * rank * rank)
    products = (left[some, :, None] * right[some, None, :]).reshape(-1, rank * rank)
    whole = np.kron(np.eye(rank), shared[: ENOUGH * rank])
    parts = [part / np.linalg.norm(part) for part in (products, whole) if part.size and part.any()]
    if sum(map(len, parts)) < rank * rank:
        return False
    singular = np.linalg.svd(np.vstack(parts), compute_uv=False)
    return bool(singular[rank * rank - 1] > TABLE_GLUED * singular[0])
