"""Whether the data themselves say that the matrix is not positive semidefinite.

Beyond its r leading eigenvalues a fully seen block of a positive semidefinite matrix of rank r is noise, which has as
much below zero as above, and no eigenvalue far beyond the others (Wigner's semicircle ends at 2.5 times the median of
their sizes). A negative eigenvalue that stands out from these is not noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unrelu._old.base.arrays import Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import DEFINITE_ONE_ROW, DEFINITE_ROUNDING, DEFINITE_STANDS_OUT
from unrelu._old.data.observations import Observations

__all__ = ["diagonal_hidden", "not_definite"]

# Eigenvalues beyond the leading ones that a block must have: fewer say too little of the noise.
FEWEST = 8
# Rows among which blocks are looked for, from how many of them, and how far beyond the rank blocks grow.
SEARCHED, TRIES, LARGEST = 400, 8, 40
# So many diagonal entries that are hidden below zero are no accident.
FEW_HIDDEN = 3


def not_definite(observations: Observations, rank: int) -> str | None:
    """What to say of a matrix whose seen blocks have negative eigenvalues beyond their noise.

    Examples
    --------
    >>> from unrelu._old.data.observations import Observations
    >>> U = np.random.default_rng(0).standard_normal((40, 3))
    >>> whole = Observations.of((U * [3.0, 1.0, -1.0]) @ U.T, threshold=None)
    >>> not_definite(whole, 3)[:67]
    'a fully seen block of 40 rows has an eigenvalue of -33 among noise '
    """
    if observations.source.cut is not None or not (observations.diagonal_seen and observations.plain):
        return None
    worst, words = DEFINITE_STANDS_OUT, None
    for rows in _blocks(observations, rank):
        checkpoint()
        values, vectors = np.linalg.eigh(observations.pairs(rows, rows)[0])
        rest = np.abs(values[: len(values) - rank])
        if len(rest) < FEWEST:
            continue
        noise = max(float(np.median(rest)), DEFINITE_ROUNDING[observations.dtype.name] * float(np.abs(values).max()))
        times = -float(values[0]) / noise if noise else 0.0
        # One row with wrong entries has a negative eigenvalue too; it holds half of that eigenvector.
        spread_out = float(np.max(vectors[:, 0] ** 2)) <= DEFINITE_ONE_ROW
        if times > worst and spread_out:
            worst, lowest = times, float(values[0]) * observations.unit
            words = (
                f"a fully seen block of {len(rows)} rows has an eigenvalue of {lowest:.2g} among noise of "
                f"{noise * observations.unit:.2g}, so this matrix is not positive semidefinite; "
                "structure='indefinite' allows for that"
            )
    return words


def diagonal_hidden(observations: Observations) -> str | None:
    """What to say of a fit that failed, where only some of the diagonal was seen and the others would lie below zero.

    Noise alone hides small ones too.
    """
    own = np.arange(observations.size)
    limits = replace(observations, definite=False)  # as if nothing were known of a diagonal
    _, high = limits.limits.at(own, own, observations.source.shape)
    unseen = ~observations.source.diagonal_seen() & limits.told_at(own, own)
    hidden = int(np.count_nonzero(unseen & (np.asarray(high) <= 0)))
    if hidden < FEW_HIDDEN:
        return None
    return (
        f"{hidden} of {len(own)} diagonal entries were not seen, and a positive semidefinite matrix has none below 0: "
        "mark them as unknown=, or allow for negative ones by structure='indefinite'"
    )


def _blocks(observations: Observations, rank: int) -> list[Indices]:
    """Rows that see each other and themselves, from several rows by joining the one that leaves most others.

    Rows that see most come first, and among these the one with the largest diagonal entry: an order of their own.
    """
    own = np.arange(observations.size)
    values = observations.source.at(own, own)
    able = own[~np.isnan(values)]
    some = able[np.lexsort((-values[able], -observations.seen_per_row[able]))][:SEARCHED]
    seen = observations.pairs(some, some)[1]
    found = []
    for first in range(min(TRIES, len(some))):
        members, left = [first], seen[first].copy()
        while len(members) < rank + LARGEST:
            left[members[-1]] = False
            if not left.any():
                break
            others = np.flatnonzero(left)
            members.append(int(others[np.argmax(seen[np.ix_(others, others)].sum(axis=1))]))
            left &= seen[members[-1]]
        found.append(some[members])
    return found
