"""Groups of rows in frames of their own, turned so that what was seen between them fits, and what absence says holds.

Within a group nothing changes; the turn of one group against another is an orthogonal matrix, found by Gauss–Newton on
Q exp(K), K skew, from a few turns of both kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import TURNING_FITS, TURNING_GAINED
from unrelu._old.data.observations import Observations
from unrelu._old.placing.placement import Placement, find_blocks, grown, place
from unrelu._old.problems.psd import PSDProblem

__all__ = ["joined", "turned_together"]

# Pieces turned one after the other against those before, each from so many random turns, in so many steps.
TURNED, DRAWS, STEPS = 24, 4, 40
# Further bodies looked for among the rows that are not placed; a body joins if what was seen between fits to this
# share of an entry's size.
BODIES = 6


def turned_together(problem: PSDProblem, factor: Floats, parts: list[Indices], rng: np.random.Generator) -> Floats:
    """The factor with pieces that never see each other turned one after the other against those before.

    Parameters
    ----------
    problem : PSDProblem
    factor : ndarray of shape (n, r)
    parts : list of int ndarray
        The rows of each piece, the largest first.
    rng : Generator
    """
    observations = problem.observations
    found = factor.copy()
    for number in range(1, min(len(parts), TURNED)):
        inside, rows = np.concatenate(parts[:number]), parts[number]
        found[rows] = found[rows] @ _best_turn(_Between.of(observations, found[inside], inside, found[rows], rows), rng)
    return found


def joined(observations: Observations, first: Placement, rng: np.random.Generator) -> Placement:
    """The placement with further bodies of rows, each from a fully seen block of its own, that fit to it in one frame.

    A body need not share r independent rows with the first: entries between them, or what absence says, may fix the
    turn. What does not fit is left out.
    """
    rank = first.factor.shape[1]
    tried = np.zeros(observations.size, dtype=bool)
    for _ in range(BODIES):
        checkpoint()
        left = np.flatnonzero(~first.placed & ~tried & (observations.seen_per_row > 0))
        seeds = find_blocks(observations, rank, rng, among=left)[:1] if len(left) >= rank else []
        if not seeds:
            break
        tried[seeds[0]] = True
        other = place(observations, rank, seeds[0], rng)
        if other is None:
            continue
        tried |= other.placed
        first = _absorbed(observations, first, other, rng) or first
    return first


def _absorbed(
    observations: Observations, first: Placement, other: Placement, rng: np.random.Generator
) -> Placement | None:
    """The two as one, grown as far as linear steps lead; None if no turn fits."""
    inside, rows = np.flatnonzero(first.placed), np.flatnonzero(other.placed & ~first.placed)
    shared = np.flatnonzero(first.placed & other.placed)
    if rows.size == 0:
        return None
    between = _Between.of(observations, first.factor[inside], inside, other.factor[rows], rows)
    between = between.with_shared(first.factor[shared], other.factor[shared])
    Q = _best_turn(between, rng)
    if between.worst(Q) > TURNING_FITS:
        return None
    factor, wave, share = first.factor.copy(), first.wave.copy(), first.share.copy()
    factor[rows], wave[rows], share[rows] = other.factor[rows] @ Q, wave.max() + 1, other.share[rows]
    share[rows] = np.minimum(share[rows], 1.0)
    return grown(observations, Placement(factor, first.seed, wave, share), rng)


@dataclass(frozen=True, eq=False)
class _Between:
    """What is known of the entries between two groups A and BQ, and of rows that both have."""

    A: Floats
    B: Floats
    known: Floats  # the seen mean
    seen: Bools
    bounds: tuple[Floats, Floats]  # between which an entry must lie; its mean twice, if it was seen
    own: Floats  # rows of A that are rows of B, turned: pairs of the same rows
    theirs: Floats

    @classmethod
    def of(cls, observations: Observations, A: Floats, inside: Indices, B: Floats, rows: Indices) -> _Between:
        known, seen = observations.pairs(inside, rows)
        low, high = (np.where(seen, known, end) for end in observations.bounds(inside, rows, seen))
        nothing = np.zeros((0, A.shape[1]))
        return cls(A, B, known, seen, (low, high), nothing, nothing)

    def with_shared(self, own: Floats, theirs: Floats) -> _Between:
        return _Between(self.A, self.B, self.known, self.seen, self.bounds, own, theirs)

    def gap(self, Q: Floats) -> Floats:
        """By how much each pair is off; zero where nothing is said."""
        fit = self.A @ (self.B @ Q).T
        gap: Floats = fit - np.clip(fit, *self.bounds)
        return gap

    def value(self, Q: Floats) -> float:
        gap, apart = self.gap(Q), self.theirs @ Q - self.own
        return float(np.vdot(gap, gap) + np.vdot(apart, apart))

    def worst(self, Q: Floats) -> float:
        """The largest misfit, in units of the data."""
        apart = np.abs(self.theirs @ Q - self.own).max(initial=0.0)
        return float(max(np.abs(self.gap(Q)).max(initial=0.0), apart))

    def descended(self, Q: Floats) -> Floats:
        """Gauss–Newton on Q exp(K), with damping."""
        rank = len(Q)
        i, j = np.triu_indices(rank, 1)
        value, damping = self.value(Q), 1e-3
        for _ in range(STEPS if len(i) else 0):
            checkpoint()
            gap = self.gap(Q)
            rows, cols = np.nonzero(gap)
            a, b = self.A[rows], self.B[cols] @ Q
            # d/dK of a·(b exp K) is a_j b_i − a_i b_j for each pair of axes; of b exp K itself, b_i e_j − b_j e_i.
            J, left = [a[:, j] * b[:, i] - a[:, i] * b[:, j]], [gap[rows, cols]]
            turned = self.theirs @ Q
            for axis in range(rank):
                J.append(turned[:, i] * (j == axis) - turned[:, j] * (i == axis))
                left.append(turned[:, axis] - self.own[:, axis])
            whole, right = np.concatenate(J), np.concatenate(left)
            if not right.any():
                break
            N = whole.T @ whole
            shift = damping * (float(np.trace(N)) / len(i) + 1e-300)
            step, *_ = np.linalg.lstsq(N + shift * np.eye(len(i)), -whole.T @ right, rcond=None)
            step /= max(float(np.linalg.norm(step)), 1.0)  # where nothing holds a turn the equations give any
            K = np.zeros((rank, rank))
            K[i, j], K[j, i] = step, -step
            trial = Q @ scipy.linalg.expm(K)
            there = self.value(trial)
            if there < value:
                done = value - there <= TURNING_GAINED * value
                Q, value, damping = trial, there, damping / 8
                if done:
                    break
            else:
                damping *= 8
                if damping > 1e8:
                    break
        return Q


def _best_turn(between: _Between, rng: np.random.Generator) -> Floats:
    rank = between.A.shape[1]
    best, lowest = np.eye(rank), between.value(np.eye(rank))
    for start in _turns(between, rank, rng):
        if between.worst(best) <= TURNING_FITS / 100:
            break
        Q = between.descended(start)
        if between.value(Q) < lowest:
            best, lowest = Q, between.value(Q)
    return best


def _turns(between: _Between, rank: int, rng: np.random.Generator) -> Iterator[Floats]:
    """What shared rows and seen entries say to first order, its mirror image, and turns at random of both kinds."""
    cross = between.theirs.T @ between.own + between.B.T @ np.where(between.seen, between.known, 0).T @ between.A
    left, _, right = np.linalg.svd(cross)
    yield left @ right
    mirror = np.ones(rank)
    mirror[-1] = -1
    yield (left * mirror) @ right
    yield np.eye(rank)
    yield -np.eye(rank)
    for _ in range(DRAWS * rank if rank > 1 else 0):
        Q = np.linalg.qr(rng.standard_normal((rank, rank)))[0]
        yield Q
        yield Q * np.where(np.arange(rank) == 0, -1.0, 1.0)
