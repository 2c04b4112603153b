"""Small linear programs, for bounds that hold however well they were solved.

Of x it is known that Ax ≤ b and ‖x‖ ≤ ρ. For any multipliers y ≥ 0

    c·x ≥ −y·b − ρ‖c + Aᵀy‖,

so that a solver need not be believed: what it stops at is a bound, and only its quality is in question. Here the
simplex method looks for the best y. It starts from the box |x_k| ≤ ρ, whose multipliers |c_k| are feasible at once, and
exchanges one constraint at a time for the one that its point x violates most. With r unknowns a step costs one r×r
solve and one product with A. (The usual library for linear programs writes to standard output when it is in doubt.)
"""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.tolerances import PROGRAMS_EXPLAINED, PROGRAMS_FALLING, PROGRAMS_FEASIBLE, PROGRAMS_ROUNDING

__all__ = ["least"]

# Steps, per unknown, before the first constraint violated is taken instead of the worst, which cannot go round in
# circles; and steps at most.
CAREFUL, MOST = 20, 200


def least(c: Floats, A: Floats, b: Floats, reach: float, *, known: bool = True) -> float:
    """A lower bound of c·x over Ax ≤ b, ‖x‖ ≤ reach.

    Parameters
    ----------
    c : ndarray of shape (r,)
        Of unit length.
    A, b : ndarray of shape (k, r) and (k,)
        Rows of A of about unit length.
    reach : float
        Bounds ‖x‖.
    known : bool
        Whether ``reach`` is known to bound ‖x‖. If not, it serves against rounding alone, and a bound that would rest
        on it is −∞. So is that of constraints that no x satisfies: of nothing, nothing can be said.

    Examples
    --------
    >>> A = np.array([[-1.0, 0.0], [0.0, -1.0]])
    >>> round(least(np.array([0.6, 0.8]), A, np.array([-1.0, -2.0]), 10.0), 9)
    2.2
    """
    y = _multipliers(c, A, b, reach)
    if y is None:
        return -np.inf
    used = np.flatnonzero(y)
    if used.size:
        exact, *_ = np.linalg.lstsq(A[used].T, -c, rcond=None)
        if (exact >= 0).all() and np.linalg.norm(c + A[used].T @ exact) <= np.linalg.norm(c + A.T @ y):
            y[used] = exact
    unexplained = float(np.linalg.norm(c + A.T @ y))
    if not known and unexplained > PROGRAMS_EXPLAINED:
        return -np.inf
    return float(-y @ b - reach * unexplained - PROGRAMS_ROUNDING * (y @ np.abs(b)))


def _multipliers(c: Floats, A: Floats, b: Floats, reach: float) -> Floats | None:
    """Multipliers of the rows of A at which the simplex method ends; None if these contradict each other."""
    r, count = len(c), len(A)
    box = np.concatenate([np.eye(r), -np.eye(r)])
    rows, right = np.concatenate([A, box]), np.concatenate([b, np.full(2 * r, reach)])
    basis = count + np.arange(r) + np.where(c > 0, r, 0)  # −x_k ≤ reach where c_k > 0
    lengths = np.linalg.norm(rows, axis=1)
    y = np.abs(c)
    for step in range(MOST * (r + 1)):
        try:
            x = np.linalg.solve(rows[basis], right[basis])
        except np.linalg.LinAlgError:
            break
        scale = np.abs(right) + lengths * np.linalg.norm(x)
        violated = (rows @ x - right) / np.where(scale > 0, scale, 1.0)
        violated[basis] = 0
        if not violated.max() > PROGRAMS_FEASIBLE:
            break
        first = step > CAREFUL * (r + 1)
        entering = int(np.argmax(violated > PROGRAMS_FEASIBLE)) if first else int(np.argmax(violated))
        w = np.linalg.solve(rows[basis].T, rows[entering])
        falling = np.flatnonzero(w > PROGRAMS_FALLING * np.abs(w).max())
        if falling.size == 0:
            return None
        ratios = y[falling] / w[falling]
        leaving = falling[ratios <= ratios.min()]
        place = int(leaving[np.argmin(basis[leaving])] if first else leaving[np.argmax(w[leaving])])
        length = float(ratios.min())
        y = np.maximum(y - length * w, 0)
        y[place] = length
        basis[place] = entering
    found = np.zeros(count + 2 * r)
    found[basis] = y
    return found[:count]
