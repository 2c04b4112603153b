"""Which rows the data determine, in four words.

- ``proved``: linear steps from a fully seen block, groups glued by the polar condition, or a positive semidefinite
  stress: no other positive semidefinite matrix of this rank agrees with the seen entries and with what absence says.
- ``generic``: a random stress says so for factors in general position; special ones may have a second solution. With
  noise, what would be proved without it.
- ``local``: the row cannot move a little, but may have a place elsewhere. Never read it as unique.
- ``no``: the row can move.

Each is relative to a component: rows of different components have no common frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_sylvester
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from unrelu.attach import Frame
from unrelu.certificates.agreement import AGREES, ROW_AGREES, TINY, cleared, fits, fitting, gaps
from unrelu.certificates.direct import DataError, Group, attach_all, direct_groups
from unrelu.certificates.gluing import glue, ruled_out
from unrelu.certificates.stress import STILL, PSDStress, Stresses
from unrelu.observations import Observations
from unrelu.placement import find_blocks

__all__ = ["LEVELS", "Determinacy", "determine", "prove_by_stress"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

LEVELS = ("no", "local", "generic", "proved")
NO, LOCAL, GENERIC, PROVED = range(4)

# A factor with a weaker direction than this has a lower rank, to rounding: its square is lost beside one.
DEFICIENT = 1e-6
# Blocks tried for eigenvalues beyond the rank, and how many times the rounding of a block such an eigenvalue may be.
QUICK, BEYOND = 8, 1e3
# Rows of a body that stand for it where other rows are tested against it, as a multiple of the rank.
STAND_IN = 2
# The tests with dense matrices stop here.
MOST_ROWS = 3000
# Draws in the search for the largest set on which a kernel has only r dimensions.
DRAWS = 60
# Kernel vectors below this on a row do not move it.
UNMOVED = 1e-6


@dataclass(frozen=True, eq=False)
class Determinacy:
    """What is determined.

    Attributes
    ----------
    rank_of : int ndarray of shape (n,)
        Position of each row's word in :data:`LEVELS`.
    components : int ndarray of shape (n,)
        Which component each row belongs to, 0 the largest; −1 for rows that belong to none.
    groups : list of Group
        The bodies that were proved, one per component that has one.
    proofs : tuple of str
        What was used: ``direct``, ``polar``, ``reflection``, ``zero`` (rows with a zero on the diagonal), ``stress``.
    agrees : bool
        Whether the fit agrees with every seen entry to the error of the data. If not, nothing is ``proved``, and what
        is called ``generic`` would be determined if the data were as the fit has them.
    stress : PSDStress or None
    skipped : str or None
        Which test was left out, and why.
    """

    rank_of: NDArray[np.int64]
    components: NDArray[np.int64]
    groups: list[Group]
    proofs: tuple[str, ...]
    agrees: bool
    stress: PSDStress | None = None
    skipped: str | None = None

    @property
    def level(self) -> NDArray[np.str_]:
        """One of :data:`LEVELS` per row."""
        return np.array(LEVELS)[self.rank_of]

    @property
    def determined(self) -> Bools:
        """The largest set of rows among which every entry has exactly one value."""
        return (self.components == 0) & (self.rank_of >= GENERIC)

    def of_entries(self, rows: Indices, cols: Indices, seen: Bools) -> NDArray[np.int64]:
        """Positions in :data:`LEVELS` for entries: the weaker of the two rows; a seen entry is what it is."""
        together = (self.components[rows] == self.components[cols]) & (self.components[rows] >= 0)
        weaker = np.where(together, np.minimum(self.rank_of[rows], self.rank_of[cols]), NO)
        return np.where(seen, PROVED, weaker)


def determine(
    observations: Observations, factor: Floats, error: DataError, misfit: float, rng: np.random.Generator
) -> Determinacy:
    """Sort the rows; ``factor`` in units of √``observations.unit``, ‖(UUᵀ − M)_Ω‖_F ≤ ``misfit`` in units of it.

    Bodies grown from fully seen blocks come first. Rows outside the largest are then tested against it, with the body
    taken as known, so that the dense tests see few rows.
    """
    n = observations.size
    factor, nothing = cleared(observations, factor)
    sizes = np.linalg.norm(factor, axis=1)
    groups: list[Group] = []
    proofs: list[str] = []
    agrees = False
    if not _beyond_the_rank(observations, factor.shape[1], error, rng):
        # Rows that the fit leaves at zero, and the data do not, are seen only by looking.
        misfit = misfit if sizes[~nothing].all() else np.inf
        groups, proofs, agrees = _agreeing(observations, factor, error, misfit, rng)
    if not agrees:
        groups, proofs = _bodies(observations, factor, replace(error, as_fitted=True), rng)
    rank_of, components = np.full(n, NO), np.full(n, -1)
    kept: list[Group] = []
    for group in groups:
        fresh = group.inside & (components < 0)
        if kept and fresh.sum() < 2:  # one row alone has a place relative to nothing
            continue
        rank_of[fresh], components[fresh] = PROVED if agrees else GENERIC, len(kept)
        kept.append(group)
    found = Determinacy(rank_of, components, kept, tuple(proofs), agrees)
    rest = np.flatnonzero((components != 0) & (observations.seen_per_row > 0) & (sizes > 0))
    if agrees and kept:
        rest = fitting(observations, factor, error, kept[0].rows, rest)
    found = _tested(observations, factor, found, rest, rng) if rest.size else found
    nothing &= observations.times_seen(np.arange(n), np.arange(n)) > 0
    if nothing.any():  # a row whose diagonal entry is zero is zero in every frame
        used = ("zero",) if (found.rank_of[nothing] < PROVED).any() else ()
        rank_of, components = found.rank_of.copy(), found.components.copy()
        rank_of[nothing], components[nothing] = PROVED if agrees else GENERIC, 0
        found = replace(found, rank_of=rank_of, components=components, proofs=(*found.proofs, *used))
    return found


def _beyond_the_rank(observations: Observations, rank: int, error: DataError, rng: np.random.Generator) -> bool:
    """Whether a fully seen block has eigenvalues beyond the rank: then no matrix of that rank agrees with the data."""
    for rows in find_blocks(observations, rank, rng, QUICK):
        block, _ = observations.pairs(rows, rows)
        rest = np.sort(np.abs(np.linalg.eigvalsh(block)))[: len(rows) - rank]
        allowed = BEYOND * error.relative * float(np.trace(block)) + error.absolute * len(rows)
        if rest.size and float(rest[-1]) > allowed:
            return True
    return False


def _agreeing(
    observations: Observations, factor: Floats, error: DataError, misfit: float, rng: np.random.Generator
) -> tuple[list[Group], list[str], bool]:
    """Bodies that are proved, the kinds of proof, and whether the fit agrees with what was seen within them."""
    sizes = np.linalg.norm(factor, axis=1)
    groups, proofs = _bodies(observations, factor, error, rng)
    least, total = float(sizes[sizes > 0].min(initial=sizes.max())), float(np.linalg.norm(sizes))
    agrees = misfit <= error.relative * total * min(AGREES * total, ROW_AGREES * least)
    if not agrees:  # rows without a place may be what does not fit
        parts = [group.rows for group in groups] or [np.arange(observations.size)]
        agrees = all(fits(observations, factor, error, rows) for rows in parts)
    return groups, proofs, agrees


def _bodies(
    observations: Observations, factor: Floats, error: DataError, rng: np.random.Generator
) -> tuple[list[Group], list[str]]:
    """Groups from blocks, glued where that is proved, the largest first; and the kinds of proof used."""
    groups = direct_groups(observations, factor, error, rng)
    proofs = ["direct"] if groups else []
    done: list[Group] = []
    while groups:
        body, others = groups[0], groups[1:]
        for other in others:
            if not (other.inside & ~body.inside).any():
                others = [group for group in others if group is not other]
                break
            joined = glue(observations, factor, error, body, other, rng)
            if joined is None:
                continue
            proofs += [joined.kind] if joined.kind not in proofs else []
            sizes = np.linalg.norm(factor, axis=1)
            bound = np.minimum(body.bound, other.bound + sizes * joined.error)
            wave = np.where(body.inside, body.wave, np.where(other.inside, body.wave.max() + 1, -1))
            body = attach_all(observations, factor, error, Group(bound, wave, body.seed))
            others = [group for group in others if group is not other]
            break
        else:
            grown = _mirrored_rows(observations, factor, error, body)
            if grown is None:
                done.append(body)
                groups = others
                continue
            body = grown
            proofs += ["reflection"] if "reflection" not in proofs else []
        groups = sorted([body, *others], key=lambda group: (-len(group.rows), group.rows[0]))
    return sorted(done, key=lambda group: (-len(group.rows), group.rows[0])), proofs


def _mirrored_rows(observations: Observations, factor: Floats, error: DataError, body: Group) -> Group | None:
    """Rows that see their own norm and all but one direction of the body have two places; absence may rule one out.

    None if no row is won.
    """
    rank = factor.shape[1]
    sizes = np.linalg.norm(factor, axis=1)
    bound, wave = body.bound.copy(), body.wave.copy()
    inside = body.rows
    for i in np.flatnonzero(~body.inside & (sizes > 0) & (observations.seen_per_row > rank - 1)):
        own, diagonal = observations.pairs(np.array([i]), np.array([i]))
        values, seen = observations.pairs(np.array([i]), inside)
        rows = inside[seen[0]]
        if not diagonal[0, 0] or len(rows) < rank - 1:
            continue
        normal, along = np.ones(1), 0.0
        if rank > 1:
            weights = 1 / bound[rows]
            _, strength, axes = np.linalg.svd(factor[rows] * (weights / weights.max())[:, None])
            slack = np.sqrt(len(rows)) / weights.max()
            if len(strength) < rank - 1 or strength[rank - 2] <= 4 * slack:
                continue
            normal = axes[-1]
            gap = error.gap(factor[rows] @ factor[i] - values[0, seen[0]])
            noise = error.absolute + error.relative * sizes[i] * sizes[rows]
            missed = np.linalg.norm((np.abs(gap) + noise) * weights) / weights.max()
            along = float((missed + sizes[i] * slack) / (strength[rank - 2] - slack))
        height = abs(float(factor[i] @ normal))
        off = float(np.abs(error.gap(sizes[i] ** 2 - own)).max()) + error.absolute + error.relative * sizes[i] ** 2
        across = (off + along * (2 * sizes[i] + along)) / max(height, 1e-300)
        reach = along + across
        if reach > 1e-3 * sizes[i]:
            continue
        mirrored = factor[i] - 2 * float(factor[i] @ normal) * normal
        room = 2 * reach * sizes[inside] + bound[inside] * sizes[i]
        room += error.absolute + error.relative * sizes[inside] * sizes[i]
        here, there = (factor[inside] @ factor[i])[None], (factor[inside] @ mirrored)[None]
        if ruled_out(observations, np.array([i]), inside, here, there, room[None]):
            bound[i], wave[i] = reach, wave.max() + 1
    if (wave >= 0).sum() == len(inside):
        return None
    return attach_all(observations, factor, error, Group(bound, wave, body.seed))


def _tested(
    observations: Observations, factor: Floats, found: Determinacy, rest: Indices, rng: np.random.Generator
) -> Determinacy:
    """Local and generic tests of the rows outside the largest body."""
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
    if not known.any() and _deficient(factor[rows]):
        return found
    stresses = Stresses(mask, factor[rows])
    still = _still(stresses, known, rng)
    generic = _generic(stresses, known, rng) & still
    if known.any():
        generic[len(stand_in) :] &= ~_hinged(observations, factor, body, rest)
    elif generic.any() and not stresses.conic_strength(rng, generic) > 0:
        generic[:] = False
    rank_of, components = found.rank_of.copy(), found.components.copy()
    if not known.any() and max(generic.sum(), still.sum()) < 2:
        return found
    word = np.where(generic, GENERIC, np.where(still, LOCAL, NO))[len(stand_in) :]
    won = word > NO
    # Rows of a smaller proved component join the largest only if they are determined with it.
    won &= (components[rest] < 0) | (word == GENERIC)
    rank_of[rest[won]], components[rest[won]] = word[won], 0
    return _closed(observations, factor, replace(found, rank_of=rank_of, components=components), rest)


def _closed(observations: Observations, factor: Floats, found: Determinacy, rest: Indices) -> Determinacy:
    """A row that sees r independent determined rows is determined by linear equations, whatever a test found."""
    rank_of, components = found.rank_of.copy(), found.components.copy()
    while True:
        body = np.flatnonzero((components == 0) & (rank_of >= GENERIC))
        left = np.setdiff1d(rest, body)
        if left.size == 0 or body.size < factor.shape[1]:
            break
        frame = Frame.of(factor[body], DEFICIENT)
        _, seen = observations.pairs(left, body)
        enough = [frame.solve_one(mask, np.zeros(len(body)))[1] == factor.shape[1] for mask in seen]
        if not any(enough):
            break
        rank_of[left[enough]], components[left[enough]] = GENERIC, 0
    return replace(found, rank_of=rank_of, components=components)


def _deficient(factor: Floats) -> bool:
    """Whether the rows span fewer directions than there are columns."""
    if len(factor) < factor.shape[1]:
        return True
    values = np.linalg.svd(factor / np.linalg.norm(factor, axis=1, keepdims=True), compute_uv=False)
    return bool(values[-1] <= DEFICIENT * values[0])


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
        part = label == number
        touched = body[seen[part].any(axis=0)]
        touched = touched[sizes[touched] > 0]
        units = factor[touched] / sizes[touched, None]
        _, values, axes = np.linalg.svd(units, full_matrices=True)
        normals = axes[int(np.sum(values > DEFICIENT * max(float(values.max(initial=0.0)), 1e-300))) :]
        if len(normals) == 0:
            continue
        rows = rest[part]
        heights = factor[rows] @ normals.T
        mirrored = factor[rows] - 2 * heights @ normals
        room = DEFICIENT * np.outer(sizes[rows], sizes[body])
        here, there = factor[rows] @ factor[body].T, mirrored @ factor[body].T
        if len(normals) > 1 or not ruled_out(observations, rows, body, here, there, room):
            hinged[part] = np.linalg.norm(heights, axis=1) > TINY * sizes[rows]
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
        if size < 1e-12:
            break
        chosen.append(k)
        left -= np.outer(left @ (left[k] / size), left[k] / size)
    others = np.setdiff1d(np.arange(len(units)), chosen)
    return np.concatenate([np.array(chosen, np.intp), others[: count - len(chosen)]]).astype(np.intp)


def _still(stresses: Stresses, known: Bools, rng: np.random.Generator) -> Bools:
    """Rows that no infinitesimal motion moves relative to the known ones, or to most others where none is known."""
    D = stresses.motion(rng)
    U = stresses.U
    weights = known.astype(np.float64) if known.any() else np.ones(len(U))
    for _ in range(1 if known.any() else 60):
        G = (U * weights[:, None]).T @ U
        cross = (U * weights[:, None]).T @ D
        moved = np.linalg.norm(D - U @ solve_sylvester(G, G, cross - cross.T), axis=1)
        if not known.any():
            weights = 1 / np.maximum(moved, 1e-9 * max(float(moved.max()), 1e-300))
            weights /= weights.max()
    scale = float(np.linalg.norm(U, axis=1).max())
    return moved <= STILL * scale / np.sqrt(len(U)) + 1e-9


def _generic(stresses: Stresses, known: Bools, rng: np.random.Generator) -> Bools:
    """Rows on which, together with the known ones, the kernel of a random stress has only r dimensions."""
    kernel = stresses.kernel(rng)
    rank = stresses.rank
    if kernel.shape[1] == rank:
        return np.ones(len(known), dtype=bool)
    if known.any():
        return _fixed_with(kernel, np.flatnonzero(known), rank)
    best = np.zeros(len(known), dtype=bool)
    for _ in range(DRAWS):
        first = int(rng.integers(len(known)))
        neighbours = np.flatnonzero(stresses.mask[first])
        some = rng.permutation(neighbours)[: 3 * rank]
        if len(some) < rank:
            continue
        fixed = _fixed_with(kernel, some, rank)
        best = fixed if fixed.sum() > best.sum() else best
    return best


def _fixed_with(kernel: Floats, some: Indices, rank: int) -> Bools:
    """Rows where every kernel vector vanishes that does on ``some``; none if it has more than r dimensions there."""
    _, values, right = np.linalg.svd(kernel[some], full_matrices=True)
    size = int(np.sum(values > UNMOVED * max(float(values[0]), 1e-300)))
    if size != rank:
        return np.zeros(len(kernel), dtype=bool)
    free = kernel @ right[size:].T
    return np.linalg.norm(free, axis=1) <= UNMOVED


def prove_by_stress(
    observations: Observations, factor: Floats, error: DataError, found: Determinacy, rng: np.random.Generator
) -> Determinacy:
    """Look for a positive semidefinite stress on the rows of the first component that are not proved yet.

    It works where no fully seen block starts (rank 20 at n = 200), and proves the rank itself.
    """
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
