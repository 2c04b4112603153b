"""Bodies of rows that are proved to have one place relative to each other: grown from seen blocks, then glued."""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import DIRECT_LARGEST_SHARE
from unrelu._old.data.observations import Observations
from unrelu._old.proofs.direct import DataError, Group, attach_all, direct_groups
from unrelu._old.proofs.gluing import glue, ruled_out

__all__ = ["bodies"]


def bodies(
    observations: Observations, factor: Floats, error: DataError, rng: np.random.Generator
) -> tuple[list[Group], list[str]]:
    """Groups from blocks, glued where that is proved, the largest first; and the kinds of proof used."""
    groups = direct_groups(observations, factor, error, rng)
    proofs = ["direct"] if groups else []
    done: list[Group] = []
    while groups:
        checkpoint()
        body, others = groups[0], groups[1:]
        absorbed = _absorbing_one(observations, factor, error, body, others, rng)
        if absorbed is not None:
            body, other, kind = absorbed
            others = [group for group in others if group is not other]
        else:
            grown = _mirrored_rows(observations, factor, error, body)
            if grown is None:
                done.append(body)
                groups = others
                continue
            body, kind = grown, "reflection"
        if kind is not None and kind not in proofs:
            proofs.append(kind)
        groups = _largest_first([body, *others])
    return _largest_first(done), proofs


def _largest_first(groups: list[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: (-len(group.rows), group.rows[0]))


def _absorbing_one(
    observations: Observations,
    factor: Floats,
    error: DataError,
    body: Group,
    others: list[Group],
    rng: np.random.Generator,
) -> tuple[Group, Group, str | None] | None:
    """The body with the first of the others that it contains or can be glued to, that one, and how it was glued.

    None if there is none.
    """
    for other in others:
        checkpoint()
        if not (other.inside & ~body.inside).any():
            return body, other, None
        joined = glue(observations, factor, error, body, other, rng)
        if joined is None:
            continue
        sizes = np.linalg.norm(factor, axis=1)
        bound = np.minimum(body.bound, other.bound + sizes * joined.error)
        wave = np.where(body.inside, body.wave, np.where(other.inside, body.wave.max() + 1, -1))
        return attach_all(observations, factor, error, Group(bound, wave, body.seed)), other, joined.kind
    return None


def _mirrored_rows(observations: Observations, factor: Floats, error: DataError, body: Group) -> Group | None:
    """Rows that see their own norm and all but one direction of the body have two places; absence may rule one out.

    None if no row is won.
    """
    rank = factor.shape[1]
    sizes = np.linalg.norm(factor, axis=1)
    bound, wave = body.bound.copy(), body.wave.copy()
    inside = body.rows
    for i in np.flatnonzero(~body.inside & (sizes > 0) & (observations.seen_per_row > rank - 1)):
        checkpoint()
        mirror = _mirror(observations, factor, sizes, error, body, i)
        if mirror is None:
            continue
        normal, reach = mirror
        mirrored = factor[i] - 2 * float(factor[i] @ normal) * normal
        room = 2 * reach * sizes[inside] + bound[inside] * sizes[i]
        room += error.absolute + error.relative * sizes[inside] * sizes[i]
        here, there = (factor[inside] @ factor[i])[None], (factor[inside] @ mirrored)[None]
        if ruled_out(observations, np.array([i]), inside, here, there, room[None]):
            bound[i], wave[i] = reach, wave.max() + 1
    if (wave >= 0).sum() == len(inside):
        return None
    return attach_all(observations, factor, error, Group(bound, wave, body.seed))


def _mirror(
    observations: Observations, factor: Floats, sizes: Floats, error: DataError, body: Group, i: np.intp
) -> tuple[Floats, float] | None:
    """The normal of the mirror between the two places of a row, and how far it may be from either.

    None if it has more than two, or they are not known well enough.
    """
    rank = factor.shape[1]
    inside = body.rows
    own, diagonal = observations.pairs(np.array([i]), np.array([i]))
    values, seen = observations.pairs(np.array([i]), inside)
    rows = inside[seen[0]]
    if not diagonal[0, 0] or len(rows) < rank - 1:
        return None
    size = sizes[i]
    normal, along = np.ones(1), 0.0
    if rank > 1:
        weights = 1 / body.bound[rows]
        _, strength, axes = np.linalg.svd(factor[rows] * (weights / weights.max())[:, None])
        slack = np.sqrt(len(rows)) / weights.max()
        if len(strength) < rank - 1 or strength[rank - 2] <= 4 * slack:
            return None
        normal = axes[-1]
        gap = error.gap(factor[rows] @ factor[i] - values[0, seen[0]])
        noise = error.absolute + error.relative * size * sizes[rows]
        missed = np.linalg.norm((np.abs(gap) + noise) * weights) / weights.max()
        along = float((missed + size * slack) / (strength[rank - 2] - slack))
    height = abs(float(factor[i] @ normal))
    off = float(np.abs(error.gap(size**2 - own)).max()) + error.absolute + error.relative * size**2
    across = (off + along * (2 * size + along)) / max(height, 1e-300)
    reach = along + across
    return None if reach > DIRECT_LARGEST_SHARE * size else (normal, reach)
