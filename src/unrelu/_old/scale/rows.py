"""Rows attached to landmarks: each is a small least-squares problem of its own, a block of rows at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import ATTACH_TRUSTED_SIZE, PLACEMENT_COMPLETED
from unrelu._old.data.source import Place, Source
from unrelu._old.placing.attach import Frame, normal_matrices

__all__ = ["AT_ONCE", "Placed", "Reader", "solved", "spread"]

# Entries of a block that is read: each of a few temporary arrays has 8 MB.
AT_ONCE = 1 << 20
# Rows of a block without a place that are completed one by one; further ones are left at zero.
FEW_LEFT = 1000


@dataclass(frozen=True, eq=False)
class Reader:
    """What was seen of some rows against others, in units.

    Attributes
    ----------
    source : Source
    unit : float
    side : {"both", "one", "rows", "columns"}
        Of a symmetric matrix both ways round, or one where they are alike; of a table rows against columns, or columns
        against rows.
    range : (float, float)
        Between which values, in the caller's units, entries are seen; others are refused.
    """

    source: Source
    unit: float
    side: str
    range: tuple[float, float] = (-np.inf, np.inf)

    def __call__(self, rows: Place, anchors: Indices) -> Floats:
        """Values of shape (rows, anchors), NaN where nothing was seen."""
        if self.side == "rows":
            return self._read(rows, anchors)
        values = self._read(anchors, rows).T
        if self.side != "both":
            return values
        other = self._read(rows, anchors)
        return np.where(np.isnan(values), other, np.where(np.isnan(other), values, (values + other) / 2))

    def _read(self, rows: Place, cols: Place) -> Floats:
        """A block in units; refused if it holds what cannot have been seen."""
        block = self.source.block(rows, cols)
        low, high = (float(end.reduce(block, axis=None, initial=np.nan)) for end in (np.fmin, np.fmax))
        least, most = self.range
        if low < least or high > most or np.isinf([low, high]).any():
            self._refuse(block, rows, cols)
        return np.divide(block, self.unit, dtype=np.float64)

    def _refuse(self, block: Array, rows: Place, cols: Place) -> None:
        least, most = self.range
        wrong = np.isinf(block) | (block < least) | (block > most)
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        row, col = (
            int(np.arange(length)[place][k])
            for length, place, k in zip(self.source.shape, (rows, cols), (i, j), strict=True)
        )
        value = float(block[i, j])
        if np.isinf(value):
            raise InputError(
                f"X must be finite where it was seen, got {value} at ({row}, {col}); write NaN where nothing was seen"
            )
        relation, end = ("≥", least) if value < least else ("≤", most)
        raise InputError(
            f"every seen entry must be {relation} threshold={end:g}, but that at ({row}, {col}) is {value:g}; check "
            "threshold= and seen=, or pass threshold=None if absence says nothing"
        )


@dataclass(eq=False)
class Placed:
    """Rows as they are placed: their factor, how well what they see holds them (0: not placed), and what it leaves.

    ``done`` rows of a first round are there already, if it was cut short.
    """

    factor: Floats
    share: Floats
    misfit: Floats
    done: int = 0

    @classmethod
    def nobody(cls, size: int, rank: int) -> Placed:
        """Before the first."""
        return cls(np.zeros((size, rank)), np.zeros(size), np.zeros(size))

    @property
    def missing(self) -> Indices:
        """Rows without a place."""
        return np.flatnonzero(self.share == 0)


def solved(frame: Frame, values: Floats, least: float) -> tuple[Floats, Floats, Floats]:
    """Rows, how well they are held, and the root mean square of what is left of their values.

    Normal equations in a frame in which all anchors together are orthonormal, refined once: rows that are held to
    ``least`` lose nothing by that, and the others do not count.
    """
    count, rank = len(values), frame.factor.shape[1]
    if frame.rank < rank:
        return np.zeros((count, rank)), np.zeros(count), np.zeros(count)
    unseen = np.isnan(values)
    seen = np.subtract(1.0, unseen)
    known = np.where(unseen, 0.0, values)
    inverse = np.linalg.inv(normal_matrices(seen, frame.Q) + ATTACH_TRUSTED_SIZE * np.eye(rank))
    share = 1 / np.linalg.norm(inverse, axis=(1, 2))
    share[~(share >= least)] = 0
    v = np.einsum("ikl,il->ik", inverse, known @ frame.Q)
    left = v @ frame.Q.T
    np.multiply(left, seen, out=left)
    np.subtract(known, left, out=left)
    v += np.einsum("ikl,il->ik", inverse, left @ frame.Q)
    misfit = np.sqrt(np.einsum("ij,ij->i", left, left) / np.maximum(seen.sum(axis=1), 1))
    weak = np.flatnonzero(share == 0)
    for i in weak[:FEW_LEFT]:  # as well as may be: the least row that fits what it sees
        v[i] = _least(frame.Q[~unseen[i]], known[i, ~unseen[i]])
    v[weak[FEW_LEFT:]] = 0
    return v @ frame.T, share, misfit


def _least(Q: Floats, known: Floats) -> Floats:
    """The least-squares row of least norm; directions that are hardly seen count as not seen."""
    if not len(known):
        return np.zeros(Q.shape[1])
    row: Floats = np.linalg.lstsq(Q, known, rcond=PLACEMENT_COMPLETED)[0].astype(np.float64)
    return row


def spread(factor: Floats, count: int) -> NDArray[np.intp]:
    """Rows that together point everywhere: the pivots of a QR decomposition, then those of the rest, and so on."""
    left = np.arange(len(factor))
    chosen: list[NDArray[np.intp]] = []
    rank = factor.shape[1]
    while left.size and len(chosen) * rank < count:
        pivots = scipy.linalg.qr(factor[left].T, mode="r", pivoting=True)[1][:rank]
        chosen.append(left[pivots])
        left = np.delete(left, pivots)
    return np.sort(np.concatenate(chosen)[:count]) if chosen else left
