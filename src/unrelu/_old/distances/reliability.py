"""How well the others check each range: what each would be expected to be without it, and how far off it is.

A range that nothing else checks is met whatever it says. Its redundancy is 0, and nothing can be said of it. A range
whose place is fixed by the others has a redundancy near 1. In between, a misfit shows only a part of an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import RELIABILITY_DAMPED, RELIABILITY_FREE, RELIABILITY_ZERO, UNCERTAINTY_SOLVED
from unrelu._old.distances.uncertainty import INVERTED, SAMPLES
from unrelu._old.problems.laplacian import conjugate_gradients, dense_matrix, rigidity_rows, sparse_matrix
from unrelu._old.problems.network import Forces, Misfit, Network, no_limits

__all__ = ["UNCHECKED", "WRONG", "Checked", "checked", "threshold"]

# A right range is off by more than this many standard deviations, as the others have it, once in 16,000.
WRONG = 4.0
# A range of which less than this share of an error would show is checked by nothing.
UNCHECKED = 0.05


@dataclass(frozen=True, eq=False)
class Checked:
    """What the trusted ranges say of each range, itself left out.

    Attributes
    ----------
    redundancy : ndarray of shape (m,)
        Share of the variance of a range's misfit, itself left out, that is its own noise; 0 where nothing checks it.
    expected : ndarray of shape (m,)
        What it should be by the others; where nothing checks it, what it is.
    gap : ndarray of shape (m,)
        By how much the measured distance is longer than that, over the standard deviation of that difference if ranges
        had a standard deviation of one.
    """

    redundancy: Floats
    expected: Floats
    gap: Floats

    @property
    def checkable(self) -> Bools:
        """Which ranges can be judged at all."""
        result: Bools = self.redundancy > UNCHECKED
        return result


def checked(network: Network, X: Floats, trusted: Bools) -> Checked:
    """Redundancy and left-out misfit of every range, at places that fit the trusted ones in least squares.

    With H = Σ w a aᵀ over trusted ranges, a trusted one has redundancy 1 − w aᵀH⁺a, and the misfit that it would have
    if it were left out is its misfit over that. Another has 1 / (1 + w aᵀH⁺a), and its misfit is left out already.
    """
    plain = replace(network, weight=np.where(trusted, network.weight, 0.0), limits=no_limits())
    forces = plain.forces(X, Misfit(absence=False))
    share = _shares(forces, np.sqrt(network.weight), trusted, network.size)
    redundancy = np.where(trusted, 1 - share, 1 / (1 + share))
    redundancy = np.where(redundancy > UNCHECKED, redundancy, 0.0)
    known = np.where(redundancy > 0, redundancy, 1.0)
    beyond = -network.residual(X)  # measured less fitted
    left_out = np.where(redundancy > 0, np.where(trusted, beyond / known, beyond), 0.0)
    gap = left_out * np.sqrt(network.weight) * np.sqrt(known)
    return Checked(redundancy, network.distance - left_out, gap)


def _shares(forces: Forces, root: Floats, trusted: Bools, size: int) -> Floats:
    """The share w aᵀH⁺a of every range; infinite where the trusted ones leave it free."""
    checkpoint()
    n = size * forces.along.shape[1]
    rows = rigidity_rows(forces, size)
    if n > INVERTED:
        return _sampled_shares(forces, rows, root, trusted, size)
    values, vectors = np.linalg.eigh(dense_matrix(forces, size))
    stiff = values > RELIABILITY_ZERO * max(float(values[-1]), 1e-300)
    along = rows @ vectors
    share: Floats = root**2 * np.sum(along[:, stiff] ** 2 / values[stiff], axis=1)
    free = np.sum(along[:, ~stiff] ** 2, axis=1) > RELIABILITY_FREE
    return np.where(free & ~trusted, np.inf, np.where(trusted, np.minimum(share, 1.0), share))


def _sampled_shares(forces: Forces, rows: object, root: Floats, trusted: Bools, size: int) -> Floats:
    """The same from random right-hand sides: the variance of what they do to each range."""
    matrix = sparse_matrix(forces, size)
    rng = np.random.default_rng(0)  # of a share, not of the answer: the same each time
    total = np.zeros(len(root))
    own = np.where(trusted, root, 0.0)
    everyone = np.arange(size)
    for _ in range(SAMPLES):
        pull = replace(forces, slope=own * rng.standard_normal(len(root)))
        step = conjugate_gradients(matrix, pull.gradient(size), RELIABILITY_DAMPED, everyone, UNCERTAINTY_SOLVED)
        total += (root * (rows @ step.ravel())) ** 2  # type: ignore[operator]
    share = total / SAMPLES
    return np.where(trusted, np.minimum(share, 1.0), share)


def threshold(freedom: float | None) -> float:
    """How many standard deviations off a range is wrong; more where σ is known from few spare ranges only."""
    from scipy.special import ndtr, stdtrit

    if freedom is None:
        return WRONG
    if freedom < 1:
        return float("inf")
    return max(float(stdtrit(freedom, ndtr(WRONG))), WRONG)
