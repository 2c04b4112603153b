"""Which rows and columns of a table the data determine: placed by linear steps, with bounds on what rounding does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint, phase
from unrelu._old.base.tolerances import TABLE_AGREES, TABLE_DUST, TABLE_PLACED, TABLE_UNFINISHED
from unrelu._old.data.canonical import canonical_order
from unrelu._old.data.observations import Observations
from unrelu._old.placing.table import TablePlacement, placed_from, table_blocks, table_values
from unrelu._old.proofs.determinacy import GENERIC, LEVELS, NO, PROVED
from unrelu._old.proofs.table_gluing import joined

__all__ = ["TableDeterminacy", "determine_table"]

# Up to this many rows and columns are sorted first; beyond, a copy would cost more than it is worth.
MOST_SORTED = 300
# Bodies that are looked for, and blocks that each is looked for from.
BODIES, BLOCKS = 6, 24


@dataclass(frozen=True, eq=False)
class TableDeterminacy:
    """What the data say of rows and columns, rows first.

    Attributes
    ----------
    rank_of : int ndarray of shape (m + n,)
        Positions in :data:`unrelu._old.proofs.determinacy.LEVELS`.
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
    eps = float(np.finfo(observations.dtype).eps)
    known = _without_dust(known, eps)
    placed = _bodies(known, rank, rng, eps)
    if exact and not agrees:  # the fit is not finished: where rows are nearly dependent it may be far off
        placed = [body for body in placed if _meets(body, fit, scale, cut)]
    bodies, glued = joined(known, placed, eps)
    if exact and not agrees:
        bodies = [body for body in bodies if _meets(body, fit, scale, cut)]
    rank_of, components = nothing.rank_of.copy(), nothing.components.copy()
    for number, body in enumerate(bodies):
        fresh = body.placed & (components < 0)
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


def _without_dust(values: Floats, eps: float) -> Floats:
    """With zeros for rows and columns of which only the rounding of larger entries was seen: it has no direction."""
    sizes = np.abs(np.where(np.isnan(values), 0.0, values))
    least = TABLE_DUST * eps * float(np.sqrt(np.mean(sizes[~np.isnan(values)] ** 2))) if sizes.any() else 0.0
    dust = (sizes.max(axis=1, initial=0.0) <= least)[:, None] | (sizes.max(axis=0, initial=0.0) <= least)
    return np.where(dust & ~np.isnan(values), 0.0, values)
