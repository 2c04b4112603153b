"""Pieces in frames of their own, turned so that what absence says of the entries between them holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from unrelu.budget import checkpoint
from unrelu.problems.psd import PSDProblem

__all__ = ["turned_together"]

Floats = NDArray[np.float64]

# Pieces turned one after the other against those before, each from so many random turns, in so many steps.
TURNED, DRAWS, STEPS = 24, 4, 40


def turned_together(
    problem: PSDProblem, factor: Floats, parts: list[NDArray[np.intp]], rng: np.random.Generator
) -> Floats:
    """The factor with pieces turned rigidly: nothing within a piece changes.

    For one piece after the other, the turn Q that minimises Σ max(±(u_i·Q u_j − τ), 0)² over absent pairs between it
    and those before, by Gauss–Newton on rotations, from the identity, its opposite and turns at random.
    """
    observations = problem.observations
    found = factor.copy()
    for number in range(1, min(len(parts), TURNED)):
        inside, rows = np.concatenate(parts[:number]), parts[number]
        absent = observations.absent_pairs(inside, rows, np.zeros((len(inside), len(rows)), dtype=bool))
        hinge = _Hinge(found[inside], found[rows], absent, observations.scaled_threshold or 0.0,
                       1.0 if observations.absence_says == "below" else -1.0)  # fmt: skip
        best, lowest = np.eye(problem.rank), hinge.value(np.eye(problem.rank))
        for start in _turns(problem.rank, rng):
            if lowest == 0:
                break
            Q = hinge.descended(start)
            if hinge.value(Q) < lowest:
                best, lowest = Q, hinge.value(Q)
        found[rows] = found[rows] @ best
    return found


class _Hinge:
    def __init__(self, A: Floats, B: Floats, absent: NDArray[np.bool_], tau: float, sign: float) -> None:
        self.A, self.B, self.absent, self.tau, self.sign = A, B, absent, tau, sign

    def gap(self, Q: Floats) -> Floats:
        """By how much each absent pair is on the wrong side; rows of B turn to BQ."""
        wrong: Floats = np.maximum(self.sign * (self.A @ (self.B @ Q).T - self.tau), 0)
        wrong[~self.absent] = 0
        return wrong

    def value(self, Q: Floats) -> float:
        gap = self.gap(Q)
        return float(np.vdot(gap, gap))

    def descended(self, Q: Floats) -> Floats:
        """Gauss–Newton on Q exp(K), K skew, with damping."""
        rank = len(Q)
        i, j = np.triu_indices(rank, 1)
        value, damping = self.value(Q), 1e-3
        for _ in range(STEPS if len(i) else 0):
            checkpoint()
            gap = self.gap(Q)
            rows, cols = np.nonzero(gap)
            if rows.size == 0:
                break
            a, b = self.A[rows], self.B[cols] @ Q
            # d/dK of a·(b exp K): a_j b_i − a_i b_j for each pair of axes.
            J = self.sign * (a[:, j] * b[:, i] - a[:, i] * b[:, j])
            N = J.T @ J
            step = np.linalg.solve(N + damping * (np.trace(N) / len(i) + 1e-300) * np.eye(len(i)), -J.T @ gap[rows, cols])
            K = np.zeros((rank, rank))
            K[i, j], K[j, i] = step, -step
            trial = Q @ scipy.linalg.expm(K)
            there = self.value(trial)
            if there < value:
                Q, value, damping = trial, there, damping / 4
            else:
                damping *= 8
                if damping > 1e8:
                    break
        return Q


def _turns(rank: int, rng: np.random.Generator) -> Iterator[Floats]:
    """The identity, the opposite, and orthogonal matrices at random, of both kinds."""
    yield np.eye(rank)
    yield -np.eye(rank)
    if rank == 1:
        return
    for _ in range(DRAWS * rank):
        Q = np.linalg.qr(rng.standard_normal((rank, rank)))[0]
        yield Q
        Q = Q.copy()
        Q[:, 0] *= -1
        yield Q
