"""Which rows and columns of a block that is fitted to noise hang together.

What is determined is asked of the fit where entries were seen, as if these were exact. Entries that are zero but for
noise tie nothing together, and a fit has them too. So a body is grown here as other rows are attached to a block later:
a row belongs to it if the placed columns that it sees span every direction to a share, and a column likewise.
"""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import LANDMARKS_NOISY
from unrelu._old.placing.attach import Frame, normal_matrices
from unrelu._old.placing.table import table_blocks

__all__ = ["hanging_together"]

# Bodies that are looked for, and fully seen blocks that each is looked for from.
BODIES, BLOCKS = 6, 24
# A block that another body begins with must have so many times the singular value that noise alone makes.
BEYOND_NOISE = 3.0

Block = tuple[Indices, Indices]


def hanging_together(seen: Bools, left: Floats, right: Floats, sigma: float) -> tuple[Bools, Bools]:
    """Rows, and columns, of the largest body; all of them if there is no fully seen block that one can begin with.

    Parameters
    ----------
    seen : bool ndarray of shape (m, n)
    left, right : ndarray of shape (m, r) and (n, r)
        The fit.
    sigma : float
        The noise, in its units.
    """
    best = np.ones(len(left), bool), np.ones(len(right), bool)
    rows, cols, size = best[0].copy(), best[1].copy(), 0
    for number in range(BODIES):
        checkpoint()
        strength, first = _strongest(seen, left, right, (np.flatnonzero(rows), np.flatnonzero(cols)))
        if first is None or (number and strength <= BEYOND_NOISE * sigma):
            break
        body = _grown(seen, left, right, first)
        found = int(body[0].sum() + body[1].sum())
        if found > size:
            best, size = body, found
        rows, cols = rows & ~body[0], cols & ~body[1]
        if 2 * size >= len(left) + len(right):  # none of the others is larger
            break
    return best


def _strongest(seen: Bools, left: Floats, right: Floats, among: Block) -> tuple[float, Block | None]:
    """The fully seen block that stands out of noise most, and how much: its last singular value beside that of noise.

    A block of entries that are only noise is never it where there is another.
    """
    (rows, cols), rank = among, left.shape[1]
    most, strongest = 0.0, None
    if min(len(rows), len(cols)) < rank:
        return most, strongest
    for some, others in table_blocks(seen[np.ix_(rows, cols)], rank, np.random.default_rng(0), BLOCKS):
        block = rows[some], cols[others]
        last = np.linalg.svd(left[block[0]] @ right[block[1]].T, compute_uv=False)[rank - 1]
        strength = float(last) / (np.sqrt(len(some)) + np.sqrt(len(others)))
        if strength > most:
            most, strongest = strength, block
    return most, strongest


def _grown(seen: Bools, left: Floats, right: Floats, first: Block) -> tuple[Bools, Bools]:
    """Rows and columns that the data hang on a block, one after the other."""
    rows, cols = np.zeros(len(left), bool), np.zeros(len(right), bool)
    rows[first[0]], cols[first[1]] = True, True
    before = -1
    while before != (before := int(rows.sum() + cols.sum())):
        checkpoint()
        rows |= _held(seen[:, cols], right[cols])
        cols |= _held(seen.T[:, rows], left[rows])
    return rows, cols


def _held(seen: Bools, factor: Floats) -> Bools:
    """Rows for which what they see of a factor spans every direction as it must for a row that is attached."""
    rank = factor.shape[1]
    frame = Frame.of(factor, len(factor) * np.finfo(float).eps)
    if frame.rank < rank:
        return np.zeros(len(seen), bool)
    held: Bools = np.linalg.eigvalsh(normal_matrices(seen.astype(np.float64), frame.Q))[:, 0] >= LANDMARKS_NOISY
    return held
