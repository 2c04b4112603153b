"""Sorting the rows by what the data say of them: bodies grown from seen blocks, tests of the rest, one stress."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unrelu._old.base.alike import evened
from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.budget import checkpoint, phase
from unrelu._old.base.tolerances import AGREEMENT_AGREES, AGREEMENT_ROW_AGREES, DETERMINE_BEYOND, DETERMINE_NEARLY
from unrelu._old.data.observations import Observations
from unrelu._old.placing.placement import find_blocks
from unrelu._old.proofs.agreement import cleared, contradicted, fits, fitting, gaps, misfitting
from unrelu._old.proofs.bodies import bodies
from unrelu._old.proofs.determinacy import GENERIC, NO, PROVED, Determinacy
from unrelu._old.proofs.direct import DataError, Group
from unrelu._old.proofs.order import canonical_frame, canonical_order
from unrelu._old.proofs.rows_outside import with_rows_outside
from unrelu._old.proofs.stress import MOST_ROWS, Stresses

__all__ = ["determine", "prove_by_stress"]

# Blocks tried for eigenvalues beyond the rank, and how many times the rounding of a block such an eigenvalue may be.
QUICK = 8
# Rows are put in order where that costs little beside the rest.
MOST_SORTED = 1000
# Bodies that the other rows are tested against, one after the other, where there are few rows.
MOST_BODIES, FEW = 4, 100


def determine(
    observations: Observations,
    factor: Floats,
    error: DataError,
    misfit: float,
    rng: np.random.Generator,
    *,
    at_floor: bool = True,
) -> Determinacy:
    """Sort the rows; ``factor`` in units of √``observations.unit``, ‖(UUᵀ − M)_Ω‖_F ≤ ``misfit`` in units of it.

    Bodies grown from fully seen blocks come first. Rows outside the largest are then tested against it, with the body
    taken as known, so that the dense tests see few rows. The rows are sorted by what was seen of them first, so that
    their order in the matrix does not matter.

    Parameters
    ----------
    observations : Observations
    factor : ndarray of shape (n, r)
    error : DataError
    misfit : float
    rng : Generator
    at_floor : bool, default True
        Whether the fit is as good as the data allow. If not, it is not what the data say, and no row is called more
        than ``local``.
    """
    phase("which rows are determined")
    if observations.size > MOST_SORTED:
        return _sorted_out(observations, factor, error, misfit, rng, at_floor=at_floor)
    order, alike = canonical_order(observations)
    factor = canonical_frame(factor[order])
    found = _sorted_out(observations.reordered(order), factor, error, misfit, rng, at_floor=at_floor)
    found = found.in_places(order)
    return replace(found, rank_of=evened(found.rank_of, alike, PROVED))


def _sorted_out(
    observations: Observations,
    factor: Floats,
    error: DataError,
    misfit: float,
    rng: np.random.Generator,
    *,
    at_floor: bool,
) -> Determinacy:
    n = observations.size
    factor, nothing = cleared(observations, factor)
    sizes = np.linalg.norm(factor, axis=1)
    groups: list[Group] = []
    proofs: list[str] = []
    agrees = False
    if not _beyond_the_rank(observations, factor.shape[1], error, rng):
        # Rows that the fit leaves at zero, and the data do not, are seen only by looking.
        off = misfit if sizes[~nothing].all() else np.inf
        groups, proofs, agrees = _agreeing(observations, factor, error, off, rng)
    unfinished = False
    if not agrees:
        known = _of_the_fit(observations, factor, error)
        unfinished = not known.as_fitted
        groups, proofs = bodies(observations, factor, known, rng)
    found = _of_bodies(n, groups, proofs, agrees=agrees)
    found = (_tested if unfinished else _best_tested)(observations, factor, error, found, rng)
    nothing &= observations.times_seen(np.arange(n), np.arange(n)) > 0
    found = _with_zeros(found, nothing) if nothing.any() else found
    wrong = contradicted(observations, factor, error, agrees=agrees) | (not at_floor)
    if unfinished:  # only what has a bound is known, and two bodies have none on how they lie to each other
        bounded = [group.inside & (found.components == number) for number, group in enumerate(found.groups)]
        wrong |= ~np.any(bounded, axis=0) if bounded else True
    return found.at_most_local(wrong if agrees else wrong | misfitting(observations, factor))


def _of_the_fit(observations: Observations, factor: Floats, error: DataError) -> DataError:
    """With noise the fit stands for the data. A few rows that are nearly fitted are known no better than that."""
    everyone = np.arange(observations.size)
    if observations.size <= FEW:
        off = gaps(observations, factor, everyone, everyone)
        values, seen = observations.pairs(everyone, everyone)
        if np.linalg.norm(off) <= DETERMINE_NEARLY * np.linalg.norm(values[seen]):
            return replace(error, absolute=max(error.absolute, float(off.max())), share=DETERMINE_NEARLY)
    return replace(error, relative=DataError.of_a_fit(factor.shape[1]).relative, as_fitted=True)


def _beyond_the_rank(observations: Observations, rank: int, error: DataError, rng: np.random.Generator) -> bool:
    """Whether a fully seen block has eigenvalues beyond the rank: then no matrix of that rank agrees with the data."""
    for rows in find_blocks(observations, rank, rng, QUICK):
        checkpoint()
        block, _ = observations.pairs(rows, rows)
        rest = np.sort(np.abs(np.linalg.eigvalsh(block)))[: len(rows) - rank]
        allowed = DETERMINE_BEYOND * error.relative * float(np.trace(block)) + error.absolute * len(rows)
        if rest.size and float(rest[-1]) > allowed:
            return True
    return False


def _agreeing(
    observations: Observations, factor: Floats, error: DataError, misfit: float, rng: np.random.Generator
) -> tuple[list[Group], list[str], bool]:
    """Bodies that are proved, the kinds of proof, and whether the fit agrees with what was seen within them."""
    sizes = np.linalg.norm(factor, axis=1)
    groups, proofs = bodies(observations, factor, error, rng)
    least, total = float(sizes[sizes > 0].min(initial=sizes.max())), float(np.linalg.norm(sizes))
    agrees = misfit <= error.relative * total * min(AGREEMENT_AGREES * total, AGREEMENT_ROW_AGREES * least)
    if not agrees:  # rows without a place may be what does not fit
        parts = [group.rows for group in groups] or [np.arange(observations.size)]
        agrees = all(fits(observations, factor, error, rows) for rows in parts)
    return groups, proofs, agrees


def _of_bodies(n: int, groups: list[Group], proofs: list[str], *, agrees: bool) -> Determinacy:
    """Each row belongs to the first body that has it; each body with rows of its own is a component."""
    rank_of, components = np.full(n, NO), np.full(n, -1)
    kept: list[Group] = []
    for group in groups:
        fresh = group.inside & (components < 0)
        if kept and fresh.sum() < 2:  # one row alone has a place relative to nothing
            continue
        rank_of[fresh], components[fresh] = PROVED if agrees else GENERIC, len(kept)
        kept.append(group)
    return Determinacy(rank_of, components, kept, tuple(proofs), agrees)


def _best_tested(
    observations: Observations, factor: Floats, error: DataError, found: Determinacy, rng: np.random.Generator
) -> Determinacy:
    """The rows outside a body tested against it: against the largest or, of few rows, the body that most follow."""
    best = _tested(observations, factor, error, found, rng)
    for first in found.groups[1:MOST_BODIES] if observations.size <= FEW else []:
        if (best.determined | (np.linalg.norm(factor, axis=1) == 0)).all():
            break
        others = [first, *(group for group in found.groups if group is not first)]
        turned = _of_bodies(observations.size, others, [*found.proofs], agrees=found.agrees)
        other = _tested(observations, factor, error, turned, rng)
        best = other if other.determined.sum() > best.determined.sum() else best
    return best


def _tested(
    observations: Observations, factor: Floats, error: DataError, found: Determinacy, rng: np.random.Generator
) -> Determinacy:
    seen = (observations.seen_per_row > 0) & (np.linalg.norm(factor, axis=1) > 0)
    rest = np.flatnonzero((found.components != 0) & seen)
    if found.agrees and found.groups:
        rest = fitting(observations, factor, error, found.groups[0].rows, rest)
    return with_rows_outside(observations, factor, found, rest, rng, error.relative) if rest.size else found


def _with_zeros(found: Determinacy, zero: Bools) -> Determinacy:
    """A row whose diagonal entry is zero is zero in every frame."""
    used = ("zero",) if (found.rank_of[zero] < PROVED).any() else ()
    rank_of, components = found.rank_of.copy(), found.components.copy()
    rank_of[zero], components[zero] = PROVED if found.agrees else GENERIC, 0
    return replace(found, rank_of=rank_of, components=components, proofs=(*found.proofs, *used))


def prove_by_stress(
    observations: Observations, factor: Floats, error: DataError, found: Determinacy, rng: np.random.Generator
) -> Determinacy:
    """Look for a positive semidefinite stress on the rows of the first component that are not proved yet.

    It works where no fully seen block starts (rank 20 at n = 200), and proves the rank itself.
    """
    phase("a stress matrix")
    factor, _ = cleared(observations, factor)
    sizes = np.linalg.norm(factor, axis=1)
    rows = np.flatnonzero(found.determined & (sizes > 0))
    if not found.agrees or (found.rank_of[rows] == PROVED).all():
        return found
    if not factor.shape[1] < len(rows) <= MOST_ROWS:
        return found
    if not fits(observations, factor, error, rows):
        return found
    _, mask = observations.pairs(rows, rows)
    off = gaps(observations, factor, rows, rows) + error.of_pairs(sizes[rows], sizes[rows])
    stress = Stresses(mask, factor[rows]).positive(off, rng)
    if stress is None:
        return found
    rank_of = found.rank_of.copy()
    rank_of[rows] = PROVED
    return replace(found, rank_of=rank_of, proofs=(*found.proofs, "stress"), stress=stress)
