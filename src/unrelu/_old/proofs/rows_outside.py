"""Local and generic tests of the rows outside the largest proved body, with the body taken as known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import solve_sylvester
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    AGREEMENT_TINY,
    ROWS_OUTSIDE_DEFICIENT,
    ROWS_OUTSIDE_DEPENDENT,
    ROWS_OUTSIDE_FAINT,
    ROWS_OUTSIDE_NOTHING,
    ROWS_OUTSIDE_ROOTS,
    ROWS_OUTSIDE_ROUNDING,
    ROWS_OUTSIDE_SLOWEST,
    ROWS_OUTSIDE_STILL,
    ROWS_OUTSIDE_UNFINISHED,
    ROWS_OUTSIDE_UNMOVED,
)
from unrelu._old.data.observations import Observations
from unrelu._old.placing.attach import Frame
from unrelu._old.proofs.agreement import gaps, noise_level
from unrelu._old.proofs.determinacy import GENERIC, LOCAL, NO, Determinacy
from unrelu._old.proofs.elsewhere import RowsOutside, found_elsewhere
from unrelu._old.proofs.gluing import ruled_out
from unrelu._old.proofs.stress import MOST_ROWS, Stresses

__all__ = ["ROWS_OUTSIDE_DEFICIENT", "with_rows_outside"]

# Rows of a body that stand for it where other rows are tested against it, as a multiple of the rank.
STAND_IN = 2
# Draws in the search for the largest set on which a kernel has only r dimensions.
DRAWS = 60
# Rounds of the search for the frame in which most rows are still, rows it starts from (a few that one sees, and those
# along it), and the weight of the others at first.
REWEIGHTED, FRAMES, ALONG = 60, 24, 0.999


def with_rows_outside(
    observations: Observations,
    factor: Floats,
    found: Determinacy,
    rest: Indices,
    rng: np.random.Generator,
    rounding: float = 0.0,
) -> Determinacy:
    """What is found, with the rows outside the largest body, ``rest``, sorted by the local and generic tests.

    ``rounding`` of the data, relative: in a fit that rounds, rows that are the same differ by its root.
    """
    body = found.groups[0].rows if found.groups else np.zeros(0, np.intp)
    sizes = np.linalg.norm(factor, axis=1)
    stand_in = _stand_in(observations, factor, body[sizes[body] > 0], rest)
    rows = np.concatenate([stand_in, rest])
    if len(rows) > MOST_ROWS:
        words = f"{len(rest)} rows outside the proved ones are too many for the local and generic tests"
        return replace(found, skipped=words)
    _, mask = observations.pairs(rows, rows)
    known = np.arange(len(rows)) < len(stand_in)
    mask[np.ix_(known, known)] = True
    weak = max(ROWS_OUTSIDE_DEFICIENT, ROWS_OUTSIDE_ROOTS * float(np.sqrt(rounding)))
    if not found.agrees:
        off = float(gaps(observations, factor, rows, rows).max()) / float(np.mean(sizes[rows] ** 2))
        weak = max(weak, float(np.sqrt(off)) if off < ROWS_OUTSIDE_UNFINISHED else 0.0)
    if not known.any() and _deficient(factor[rows], weak):
        return found
    stresses = Stresses(mask, factor[rows])
    still = _still(stresses, known, rng)
    generic = _generic(stresses, known, still, rng)
    if known.any():
        generic[len(stand_in) :] &= ~_hinged(observations, factor, body, rest)
    regular = not generic[~known].any() or stresses.regular(rng)
    if not regular:
        generic = _held_alone(mask, factor[rows], known, generic, rng)
    outside = generic[len(stand_in) :]
    noise = 0.0 if found.agrees else noise_level(observations, factor)
    if outside.any():
        in_question = RowsOutside(observations, factor, body, rest, noise)
        outside &= ~found_elsewhere(in_question, outside, rng, regular=regular)
    if not known.any() and generic.any() and not stresses.conic_strength(rng, generic) > 0:
        generic[:] = False
    rank_of, components = found.rank_of.copy(), found.components.copy()
    if not known.any() and max(generic.sum(), still.sum()) < 2:
        return found
    word = np.where(generic, GENERIC, np.where(still, LOCAL, NO))[len(stand_in) :]
    won = word > NO
    # Rows of a smaller proved component join the largest only if they are determined with it.
    won &= (components[rest] < 0) | (word == GENERIC)
    rank_of[rest[won]], components[rest[won]] = word[won], 0
    found = replace(found, rank_of=rank_of, components=components)
    return _closed(observations, factor, found, rest, ROWS_OUTSIDE_DEFICIENT if known.any() else weak)


def _held_alone(mask: Bools, factor: Floats, known: Bools, generic: Bools, rng: np.random.Generator) -> Bools:
    """Those of the generic rows that the known ones and each other hold, without help from rows that can move.

    In special position such help may end where the other rows stand elsewhere; in general position none is needed.
    """
    kept = generic.copy()
    while kept[~known].any() and not (kept | known).all():
        inside = np.flatnonzero(kept | known)
        alone = factor[inside]
        _, values, axes = np.linalg.svd(alone / np.linalg.norm(alone, axis=1, keepdims=True), full_matrices=False)
        alone = alone @ axes[values > ROWS_OUTSIDE_DEFICIENT * values[0]].T  # they may not span the space
        stresses = Stresses(mask[np.ix_(inside, inside)], alone)
        held = _generic(stresses, known[inside], _still(stresses, known[inside], rng), rng)
        lost = inside[~held & ~known[inside]]
        if lost.size == 0:
            break
        kept[lost] = False
    return kept


def _closed(observations: Observations, factor: Floats, found: Determinacy, rest: Indices, weak: float) -> Determinacy:
    """A row that sees r independent determined rows is determined by linear equations, whatever a test found."""
    rank_of, components = found.rank_of.copy(), found.components.copy()
    while True:
        checkpoint()
        body = np.flatnonzero((components == 0) & (rank_of >= GENERIC))
        left = np.setdiff1d(rest, body)
        if left.size == 0 or body.size < factor.shape[1]:
            break
        frame = Frame.of(factor[body], max(weak, _apart(observations, factor, body)))
        _, seen = observations.pairs(left, body)
        enough = [frame.solve_one(mask, np.zeros(len(body)))[1] == factor.shape[1] for mask in seen]
        if not any(enough):
            break
        rank_of[left[enough]], components[left[enough]] = GENERIC, 0
    return replace(found, rank_of=rank_of, components=components)


def _apart(observations: Observations, factor: Floats, rows: Indices) -> float:
    """How far rows that repeat each other may lie apart in a fit: the root of what it leaves; 0 for noise."""
    sizes = np.linalg.norm(factor[rows], axis=1)
    products = np.outer(sizes, sizes)
    off = np.divide(gaps(observations, factor, rows, rows), products, out=np.zeros_like(products), where=products > 0)
    most = float(off.max())
    return float(np.sqrt(most)) if most < ROWS_OUTSIDE_UNFINISHED else 0.0


def _deficient(factor: Floats, weak: float) -> bool:
    """Whether the rows span fewer directions than there are columns."""
    sizes = np.linalg.norm(factor, axis=1)
    factor = factor[sizes > weak * sizes.max(initial=0.0)]
    if len(factor) < factor.shape[1]:
        return True
    values = np.linalg.svd(factor / np.linalg.norm(factor, axis=1, keepdims=True), compute_uv=False)
    return bool(values[-1] <= weak * values[0])


def _hinged(observations: Observations, factor: Floats, body: Indices, rest: Indices) -> Bools:
    """Rows of ``rest`` that can be reflected together: what they see of the body spans fewer than r directions.

    For factors in general position a random stress knows that; where more than r − 1 rows span r − 1 directions only it
    does not, and there is a second solution, unless what absence says rules it out.
    """
    hinged = np.zeros(len(rest), dtype=bool)
    _, among = observations.pairs(rest, rest)
    _, seen = observations.pairs(rest, body)
    count, label = connected_components(csr_array(among), directed=False)
    sizes = np.linalg.norm(factor, axis=1)
    for number in range(count):
        checkpoint()
        part = label == number
        touched = body[seen[part].any(axis=0)]
        touched = touched[sizes[touched] > 0]
        units = factor[touched] / sizes[touched, None]
        _, values, axes = np.linalg.svd(units, full_matrices=True)
        normals = axes[int(np.sum(values > ROWS_OUTSIDE_DEFICIENT * max(float(values.max(initial=0.0)), 1e-300))) :]
        if len(normals) == 0:
            continue
        rows = rest[part]
        heights = factor[rows] @ normals.T
        mirrored = factor[rows] - 2 * heights @ normals
        room = ROWS_OUTSIDE_DEFICIENT * np.outer(sizes[rows], sizes[body])
        here, there = factor[rows] @ factor[body].T, mirrored @ factor[body].T
        if len(normals) > 1 or not ruled_out(observations, rows, body, here, there, room):
            hinged[part] = np.linalg.norm(heights, axis=1) > AGREEMENT_TINY * sizes[rows]
    return hinged


def _stand_in(observations: Observations, factor: Floats, body: Indices, rest: Indices) -> Indices:
    """A few rows of the body that say of the other rows what the whole body says, and span the space."""
    if body.size == 0:
        return body
    rank = factor.shape[1]
    _, seen = observations.pairs(rest, body)
    chosen = np.zeros(len(body), dtype=bool)
    units = factor[body] / np.linalg.norm(factor[body], axis=1, keepdims=True)
    for i in range(len(rest)):
        checkpoint()
        places = np.flatnonzero(seen[i])
        if len(places) > STAND_IN * rank:
            places = places[_spread(units[places], STAND_IN * rank)]
        chosen[places] = True
    chosen[_spread(units, min(len(body), STAND_IN * rank + 2))] = True
    return body[chosen]


def _spread(units: Floats, count: int) -> Indices:
    """Rows that point in as many directions as possible: pivots of a QR decomposition, then the rest in order."""
    left = units.copy()
    chosen: list[int] = []
    for _ in range(min(count, units.shape[1], len(units))):
        k = int(np.argmax(np.einsum("ia,ia->i", left, left)))
        size = float(np.linalg.norm(left[k]))
        if size < ROWS_OUTSIDE_DEPENDENT:
            break
        chosen.append(k)
        left -= np.outer(left @ (left[k] / size), left[k] / size)
    others = np.setdiff1d(np.arange(len(units)), chosen)
    return np.concatenate([np.array(chosen, np.intp), others[: count - len(chosen)]]).astype(np.intp)


def _still(stresses: Stresses, known: Bools, rng: np.random.Generator) -> Bools:
    """Rows that no infinitesimal motion moves relative to the known ones, or to most others where none is known."""
    D = stresses.motion(rng)
    if known.any():
        return _left_by(stresses, D, known.astype(np.float64), 1)
    best = _left_by(stresses, D, np.ones(len(known)), REWEIGHTED)
    units = stresses.U / np.linalg.norm(stresses.U, axis=1, keepdims=True)
    for first in np.arange(0, len(known), len(known) // FRAMES + 1):
        checkpoint()
        few = rng.permutation(np.flatnonzero(stresses.mask[first]))[: stresses.rank]
        for frame in (np.isin(np.arange(len(known)), few), np.abs(units @ units[first]) > ALONG):
            if best.all():
                return best
            still = _left_by(stresses, D, np.where(frame, 1.0, ROWS_OUTSIDE_FAINT), REWEIGHTED)
            best = still if still.sum() > best.sum() else best
    return best


def _left_by(stresses: Stresses, D: Floats, weights: Floats, rounds: int) -> Bools:
    """Rows that a motion leaves in the frame that fits the weighted rows best; those it leaves then weigh more."""
    U = stresses.U
    for _ in range(rounds):
        G = (U * weights[:, None]).T @ U
        cross = (U * weights[:, None]).T @ D
        moved = np.linalg.norm(D - U @ solve_sylvester(G, G, cross - cross.T), axis=1)
        weights = 1 / np.maximum(moved, max(ROWS_OUTSIDE_SLOWEST * float(moved.max()), ROWS_OUTSIDE_NOTHING))
        weights /= weights.max()
    scale = float(np.linalg.norm(U, axis=1).max())
    still: Bools = moved <= ROWS_OUTSIDE_STILL * scale / np.sqrt(len(U)) + ROWS_OUTSIDE_ROUNDING
    return still


def _generic(stresses: Stresses, known: Bools, still: Bools, rng: np.random.Generator) -> Bools:
    """Still rows on which, together with the known ones, the kernel of a random stress has only r dimensions."""
    kernel = stresses.kernel(rng)
    rank = stresses.rank
    if kernel.shape[1] == rank:
        return still.copy()
    if known.any():
        return _fixed_with(kernel, np.flatnonzero(known), rank) & still
    best = np.zeros(len(known), dtype=bool)
    for first in rng.permutation(np.resize(np.arange(len(known)), max(DRAWS, len(known))))[:DRAWS]:
        checkpoint()
        neighbours = np.flatnonzero(stresses.mask[first])
        some = rng.permutation(neighbours)[: 3 * rank]
        if len(some) < rank:
            continue
        fixed = _fixed_with(kernel, some, rank) & still
        best = fixed if fixed.sum() > best.sum() else best
    return best


def _fixed_with(kernel: Floats, some: Indices, rank: int) -> Bools:
    """Rows where every kernel vector vanishes that does on ``some``; none if it has more than r dimensions there."""
    _, values, right = np.linalg.svd(kernel[some], full_matrices=True)
    size = int(np.sum(values > ROWS_OUTSIDE_UNMOVED * max(float(values[0]), 1e-300)))
    if size != rank:
        return np.zeros(len(kernel), dtype=bool)
    free = kernel @ right[size:].T
    return np.linalg.norm(free, axis=1) <= ROWS_OUTSIDE_UNMOVED
