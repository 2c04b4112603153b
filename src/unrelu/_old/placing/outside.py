"""Rows outside a body whose places are known: where they lie, from what they see of it and of each other.

The body stays where it is, so that only the few rows outside are unknown: Levenberg–Marquardt steps with their whole
normal matrix, and for rows that end badly a few places at random. What such rows see may fit in many ways; then this
finds one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import (
    OUTSIDE_ACROSS,
    OUTSIDE_FITS,
    OUTSIDE_GAINED,
    OUTSIDE_SIZE,
    OUTSIDE_SOLVED,
    OUTSIDE_SPANNED,
    OUTSIDE_VANISHED,
)
from unrelu._old.data.observations import Observations
from unrelu._old.placing.attach import Frame, normal_matrices

__all__ = ["fitted_outside"]

# Steps of one descent, and rounds in which rows that do not fit are drawn anew; more while there are few rows.
STEPS, ROUNDS, FEW_ROUNDS, FEW = 150, 6, 30, 40
# Up to so many unknowns the normal matrix is factored; beyond, conjugate gradients take so many steps.
DENSE, INNER = 1500, 80
DAMPING, MOST_DAMPING = 1e-3, 1e8


def fitted_outside(
    observations: Observations,
    factor: Floats,
    placed: Bools,
    rng: np.random.Generator,
    *,
    absence: bool,
    rounds: int | None = None,
) -> Floats:
    """The factor with the rows that are not ``placed`` fitted to what was seen of them.

    Parameters
    ----------
    observations : Observations
    factor : ndarray of shape (n, r)
        In units of √``observations.unit``; of the rows outside, where to start.
    placed : boolean ndarray of shape (n,)
    rng : Generator
    absence : bool
        Whether unseen entries are held to their side of the threshold.
    rounds : int, optional
        How often rows that do not fit are drawn anew; default: the more the fewer rows there are.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((30, 3))
    >>> M = U @ U.T
    >>> M[0, 2:] = M[2:, 0] = np.nan                  # row 0 sees itself and row 1 alone
    >>> seen = Observations.of(M, threshold=None)
    >>> start = U / np.sqrt(seen.unit)
    >>> start[0] = 0
    >>> found = fitted_outside(seen, start, np.arange(30) > 0, np.random.default_rng(1), absence=False)
    >>> bool(np.abs((found @ found.T)[0, :2] * seen.unit - M[0, :2]).max() < 1e-8)
    True
    """
    rows = np.flatnonzero(~placed & (observations.seen_per_row > 0))
    if rows.size == 0 or not placed.any():
        return factor
    springs = _Springs.of(observations, factor[placed], np.flatnonzero(placed), rows, absence)
    X = _descended(springs, springs.start(factor[rows], rng))
    usual = FEW_ROUNDS if len(rows) <= FEW else ROUNDS
    for _ in range(usual if rounds is None else rounds):
        wrong = springs.misfit(X) > OUTSIDE_FITS * springs.scale
        if not wrong.any():
            break
        trial = X.copy()
        trial[wrong] = springs.drawn(rng)[wrong]
        trial = _descended(springs, trial)
        X = trial if springs.value(trial) < springs.value(X) else X
    found = factor.copy()
    found[rows] = X
    return found


@dataclass(frozen=True, eq=False)
class _Springs:
    """½Σ w (gap)² of rows X against the body B and against each other; w is 1, and ½ on the diagonal."""

    body: Floats
    known: Floats  # of pairs (outside, body): the seen mean
    seen: Bools
    bounds: tuple[Floats, Floats]  # between which an entry must lie; its mean twice, if it was seen
    own: Floats  # the same of pairs (outside, outside)
    own_seen: Bools
    own_bounds: tuple[Floats, Floats]
    scale: float

    @classmethod
    def of(cls, observations: Observations, body: Floats, inside: Indices, rows: Indices, absence: bool) -> _Springs:
        known, seen = observations.pairs(rows, inside)
        own, own_seen = observations.pairs(rows, rows)
        heard = observations if absence else observations.seen_only
        low, high = (np.where(seen, known, end) for end in heard.bounds(rows, inside, seen))
        own_low, own_high = (np.where(own_seen, own, end) for end in heard.bounds(rows, rows, own_seen))
        size = [np.abs(values[mask]).max(initial=0.0) for values, mask in ((known, seen), (own, own_seen))]
        scale = float(max(*size, OUTSIDE_SIZE))
        return cls(body, known, seen, (low, high), own, own_seen, (own_low, own_high), scale)

    @cached_property
    def frame(self) -> Frame:
        return Frame.of(self.body, OUTSIDE_SPANNED)

    def start(self, X: Floats, rng: np.random.Generator) -> Floats:
        """Rows as given, with the size that their diagonal entry says, where that was seen."""
        return self._sized(X, rng)

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Rows that fit what they see of the body, and lie at random otherwise."""
        X = np.zeros((len(self.known), self.body.shape[1]))
        for i, mask in enumerate(self.seen):
            if mask.any():
                X[i], _ = self.frame.solve_one(mask, self.known[i])
        typical = float(np.median(np.linalg.norm(self.body, axis=1)))
        return self._sized(X, rng, typical)

    def _sized(self, X: Floats, rng: np.random.Generator, typical: float = 0.0) -> Floats:
        X = X.copy()
        for i in range(len(X)):
            left = typical**2
            if self.own_seen[i, i]:
                left = float(self.own[i, i]) - float(X[i] @ X[i])
            if left <= 0:
                continue
            free = rng.standard_normal(X.shape[1])
            if self.seen[i].any():  # across what the row sees
                _, sizes, axes = np.linalg.svd(self.body[self.seen[i]], full_matrices=False)
                axes = axes[sizes > OUTSIDE_SPANNED * sizes[0]]
                free -= free @ axes.T @ axes
            length = float(np.linalg.norm(free))
            if length > OUTSIDE_ACROSS:
                X[i] += np.sqrt(left) / length * free
        return X

    def gaps(self, X: Floats) -> tuple[Floats, Floats, Bools, Bools]:
        """Residuals against the body and against each other, and which of them act."""
        fit, own = X @ self.body.T, X @ X.T
        G, H = fit - np.clip(fit, *self.bounds), own - np.clip(own, *self.own_bounds)
        return G, H, self.seen | (G != 0), self.own_seen | (H != 0)

    def value(self, X: Floats) -> float:
        G, H, _, _ = self.gaps(X)
        return float(np.vdot(G, G)) / 2 + float(np.vdot(H, H)) / 4

    def misfit(self, X: Floats) -> Floats:
        """The largest gap of each row."""
        G, H, _, _ = self.gaps(X)
        largest: Floats = np.maximum(np.abs(G).max(axis=1, initial=0.0), np.abs(H).max(axis=1))
        return largest


def _descended(springs: _Springs, X: Floats) -> Floats:
    """Levenberg–Marquardt."""
    m, r = X.shape
    damping = DAMPING
    value = springs.value(X)
    for _ in range(STEPS):
        checkpoint()
        G, H, on, own_on = springs.gaps(X)
        gradient = G @ springs.body + H @ X  # the diagonal counts half, and its derivative twice
        if not np.abs(gradient).max() > OUTSIDE_VANISHED * springs.scale**1.5:
            break
        blocks = normal_matrices(on.astype(np.float64), springs.body) + normal_matrices(own_on.astype(np.float64), X)
        own = np.diagonal(own_on)[:, None, None] * np.einsum("ia,ib->iab", X, X)
        blocks += own
        scale = float(np.trace(blocks.sum(axis=0))) / (m * r) or 1.0
        while True:
            step = _solved(blocks, own_on, X, gradient, damping * scale)
            trial = X - step
            there = springs.value(trial)
            if there <= value:
                break
            damping *= 8
            if damping > MOST_DAMPING:
                return X
        gained = value - there
        X, value = trial, there
        damping = max(damping / 8, 1e-12)
        if gained <= OUTSIDE_GAINED * value or np.sqrt(value) <= OUTSIDE_VANISHED * springs.scale:
            break
    return X


def _solved(blocks: Floats, own_on: Bools, X: Floats, gradient: Floats, damping: float) -> Floats:
    """(N + damping) step = gradient, N with the given diagonal blocks and x_j x_iᵀ for pairs outside that act."""
    m, r = X.shape
    off = own_on & ~np.eye(m, dtype=bool)
    damped = blocks + damping * np.eye(r)
    inverse = np.linalg.inv(damped)
    if not off.any():
        return np.einsum("iab,ib->ia", inverse, gradient)
    if m * r <= DENSE:
        N = np.einsum("ij,ja,ib->iajb", off, X, X).reshape(m * r, m * r)
        for i in range(m):
            N[i * r : (i + 1) * r, i * r : (i + 1) * r] = damped[i]
        solution: Floats = scipy.linalg.solve(N, gradient.ravel(), assume_a="sym").reshape(m, r)
        return solution
    D, R = np.zeros_like(X), gradient.copy()
    Y = np.einsum("iab,ib->ia", inverse, R)
    P, rho = Y, float(np.vdot(R, Y))
    first = rho
    for _ in range(INNER):
        checkpoint()
        NP = np.einsum("iab,ib->ia", damped, P) + (off * (P @ X.T).T) @ X
        bend = float(np.vdot(P, NP))
        if not bend > 0:
            break
        D = D + rho / bend * P
        R = R - rho / bend * NP
        Y = np.einsum("iab,ib->ia", inverse, R)
        rho, before = float(np.vdot(R, Y)), rho
        if not rho > OUTSIDE_SOLVED * first:
            break
        P = Y + rho / before * P
    return D
