"""Columns that go together: one normal distribution for all rows, each with its own cells unseen.

In z every column is standard normal by itself, and only the correlations are looked for, by expectation and
maximisation. What a row says of an unseen cell with limits is no normal distribution, but is replaced by the one with
the same mean and variance (expectation propagation; Minka, 2001): with Σ the correlations and a number tᵢ ± √sᵢ for
each limit, K = (Σ + diag s)⁻¹ tells of every cell what the others say of it, its own left out: around t − K(t)/K_ii
with the variance 1/K_ii − s. A seen value is t with s = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.tolerances import JOINT_FIRM, JOINT_FITTED, JOINT_LOOSE, JOINT_VARIANCE
from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.model.losses.tails import beside, inside

__all__ = ["Joint", "joint", "said_of"]

# Passes at most, and how much of a new number for a limit is taken at once.
PASSES, TAKEN = 100, 0.7
# Numbers in the matrices of the rows that are inverted together.
TOGETHER = 2_000_000


@dataclass(frozen=True, eq=False)
class Joint:
    """Correlations, and what stands for the limits of the rows they were found from: places and variances."""

    correlations: Floats
    places: Floats
    variances: Floats


@dataclass(frozen=True, eq=False)
class _Pass:
    """Of one pass: what the others say of each cell, the numbers for the limits, and the sum of ααᵀ − K."""

    mean: Floats
    variance: Floats
    state: Joint
    gained: Floats


def joint(cells: Measured, weight: float, *, alike: bool = False, before: Joint | None = None) -> Joint:
    """Correlations of cells in z.

    Parameters
    ----------
    cells : Measured
    weight : float
        How many rows no correlation at all weighs as much as; with ``alike`` one correlation for all pairs, which is
        what offsets of the rows give.
    alike : bool, default False
    before : Joint, optional
        Of the same rows with another weight.
    """
    m, n = cells.shape
    state = _started(np.eye(n), cells) if before is None else before
    kept = m / (m + weight)
    own = np.eye(n)
    for _ in range(PASSES):
        found = _passed(state, cells)
        old = state.correlations
        step = old + old @ (found.gained / m) @ old
        size = np.sqrt(np.diag(step))
        new = (step + step.T) / (2 * np.outer(size, size))
        if alike and n > 1:
            mean = (new.sum() - n) / (n * (n - 1))
            new = np.full((n, n), max(mean, 0.0))
        new = kept * new + (1 - kept) * own
        np.fill_diagonal(new, 1.0)
        state = replace(found.state, correlations=new)
        if np.abs(new - old).max() < JOINT_FITTED:
            break
    return state


def said_of(state: Joint, cells: Measured) -> tuple[Floats, Floats]:
    """Mean and standard deviation of every cell, from the others of its row; rows may be new ones."""
    if state.places.shape != cells.shape or not np.array_equal(state.places[cells.seen], cells.values[cells.seen]):
        state = _started(state.correlations, cells)
        for _ in range(PASSES):
            new = _passed(state, cells).state
            apart = np.abs(np.where(cells.limited, new.places - state.places, 0.0))
            state = new
            if apart.max(initial=0.0) < JOINT_FITTED:
                break
    found = _passed(state, cells)
    return found.mean, np.sqrt(found.variance)


def _started(correlations: Floats, cells: Measured) -> Joint:
    """Limits as each cell by itself would take them."""
    nobody = np.zeros(cells.shape)
    places, variances = _sites(nobody, nobody + 1, cells)
    return Joint(correlations, np.where(cells.seen, cells.values, places), np.where(cells.seen, 0.0, variances))


def _passed(state: Joint, cells: Measured) -> _Pass:
    """Every row once."""
    m, n = cells.shape
    places, variances, mean, variance = (np.empty((m, n)) for _ in range(4))
    gained = np.zeros((n, n))
    band = max(1, TOGETHER // (n * n))
    for start in range(0, m, band):
        rows = slice(start, min(start + band, m))
        t, s, part = state.places[rows], state.variances[rows], cells.part(rows)
        K = np.linalg.inv(state.correlations + s[:, :, None] * np.eye(n))
        pulls, own = np.einsum("ijk,ik->ij", K, t), np.einsum("ijj->ij", K)
        variance[rows], mean[rows] = np.maximum(1 / own - s, JOINT_VARIANCE), t - pulls / own
        gained += pulls.T @ pulls - K.sum(axis=0)
        new_t, new_s = _sites(mean[rows], variance[rows], part)
        # What is averaged are the precision and what it is multiplied by.
        old = 1 / np.maximum(s, JOINT_LOOSE**-1)
        firm = (1 - TAKEN) * old + TAKEN / new_s
        where = ((1 - TAKEN) * old * t + TAKEN * new_t / new_s) / firm
        places[rows], variances[rows] = np.where(part.seen, t, where), np.where(part.seen, 0.0, 1 / firm)
    return _Pass(mean, variance, Joint(state.correlations, places, variances), gained)


def _sites(mean: Floats, variance: Floats, cells: Measured) -> tuple[Floats, Floats]:
    """Numbers with variances that stand for the limits: with them a cell has the moments that it has between these."""
    sigma = np.sqrt(variance)
    expected, bend = _moments(mean, sigma, cells.ends)
    left = np.maximum(variance * (1 - bend), JOINT_VARIANCE)
    gained = (variance - left) / (left * variance)
    firm = np.clip(gained, JOINT_LOOSE, JOINT_FIRM)
    # A limit that is far off says nothing, nor does a gap with a cell on either side of it: no number stands for that.
    places = np.where(gained < JOINT_LOOSE, mean, mean + (expected - mean) * (1 / variance + firm) / firm)
    return places, 1 / firm


def _moments(mean: Floats, sigma: Floats, ends: Ends) -> tuple[Floats, Floats]:
    """Expectation between the ends, and by which share the variance is smaller there."""
    low, high, *gap = ((end - mean) / sigma for end in (*ends, *(ends.gap or ())))
    lying = beside(low, high, *gap) if gap else inside(low, high)
    return mean - sigma * lying[1], lying[2].astype(np.float64)
