"""Bodies of a table joined: linear equations between them leave one way in which the frame of one lies to the other.

The equations are those of the data, in the frames in which the data placed each body. A row counts if its direction is
known: one that is zero says nothing of a frame, and in a fit it is what rounding left of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.tolerances import TABLE_GLUED, TABLE_KNOWN, TABLE_PLACED
from unrelu._old.placing.table import TablePlacement

__all__ = ["joined"]

# Equations between two bodies that are looked at, as a multiple of the unknowns: if these do not span, few others do.
ENOUGH = 40


def joined(known: Floats, bodies: list[TablePlacement], eps: float) -> tuple[list[TablePlacement], bool]:
    """The bodies, the largest first, two of them as one where they have one frame; and whether any two were joined.

    Parameters
    ----------
    known : ndarray of shape (m, n)
        What the bodies were placed by, NaN where nothing was seen.
    bodies : list of TablePlacement
    eps : float
        Relative rounding of the data.
    """
    found, glued, k = list(bodies), False, 1
    while k < len(found):
        checkpoint()
        whole = _as_one(known, (found[0], found[k]), eps)
        if whole is None:
            k += 1
            continue
        found[0] = whole
        del found[k]
        glued, k = True, 1
    return sorted(found, key=lambda body: -int(body.placed.sum())), glued


def _as_one(known: Floats, bodies: tuple[TablePlacement, TablePlacement], eps: float) -> TablePlacement | None:
    """One body in one frame; None where the data leave more than one.

    Entries in rows of one body and columns of the other say how the frames lie to each other, or those in rows of the
    other and columns of the one. A row that both have is among these: it sees columns of either.
    """
    for one, other in (bodies, bodies[::-1]):
        frame = _frame_between(known, one, other, eps)
        if frame is not None:
            return _united(one, other, frame, len(known))
    return None


@dataclass(frozen=True, eq=False)
class _Frame:
    """H with r₁ = H r₂ for a column in the frames of two bodies, and how far rounding may move it."""

    H: Floats
    off: float


def _frame_between(table: Floats, one: TablePlacement, other: TablePlacement, eps: float) -> _Frame | None:
    """The r×r matrix H, if r² independent equations say what it is.

    An entry in a row of the first and a column of the second is l · H r, and a column of both is r equations, each
    divided by the lengths of the rows in it. As these are off by their bounds, the weakest direction of the equations
    must be beyond that.
    """
    m, rank = len(table), one.factor.shape[1]
    first, second = _doubt(one), _doubt(other)
    sure, theirs = first <= TABLE_PLACED, second <= TABLE_PLACED
    both = np.flatnonzero(sure[m:] & theirs[m:])[: ENOUGH * rank]
    fresh = theirs[m:] & ~(sure[m:] & theirs[m:])
    i, j = (part[: ENOUGH * rank * rank] for part in np.nonzero(~np.isnan(table) & sure[:m, None] & fresh))
    if len(i) + rank * len(both) < rank * rank:
        return None
    left, right, shared = one.factor[:m][i], other.factor[m:][j], other.factor[m:][both]
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    sizes = np.linalg.norm(shared, axis=1)
    products = (left[:, :, None] * right[:, None, :]).reshape(-1, rank * rank) / lengths[:, None]
    equations = np.vstack([products, np.kron(np.eye(rank), shared / sizes[:, None])])
    entries, places = table[i, j] / lengths, one.factor[m:][both] / sizes[:, None]
    target = np.concatenate([entries, places.T.ravel()])
    drift = float(np.linalg.norm(np.concatenate([first[i] + second[m + j], np.tile(second[m + both], rank)])))
    moved = np.concatenate([4 * eps * entries, first[m + both] * np.linalg.norm(places, axis=1)])
    singular = np.linalg.svd(equations, compute_uv=False)
    weakest = float(singular[-1])
    if weakest <= max(TABLE_GLUED * float(singular[0]), drift):
        return None
    H = np.linalg.lstsq(equations, target, rcond=None)[0].reshape(rank, rank)
    off = (float(np.linalg.norm(moved)) + float(np.linalg.norm(H)) * drift) / (weakest - drift)
    return _Frame(H, off) if np.linalg.svd(H, compute_uv=False)[-1] > TABLE_KNOWN * off else None


def _doubt(body: TablePlacement) -> Floats:
    """How far each row may be off as a share of its length; infinite for one that is not placed, or zero."""
    sizes = np.linalg.norm(body.factor, axis=1)
    return np.divide(body.bound, sizes, out=np.full(len(sizes), np.inf), where=body.placed & (sizes > 0))


def _united(one: TablePlacement, other: TablePlacement, frame: _Frame, cut: int) -> TablePlacement:
    """Both in the frame of the first; what both have is taken from where it is known better."""
    singular = np.linalg.svd(frame.H, compute_uv=False)
    inverse, most = np.linalg.inv(frame.H), 1 / (float(singular[-1]) - frame.off)
    sizes = np.linalg.norm(other.factor, axis=1)
    moved = np.vstack([other.factor[:cut] @ inverse, other.factor[cut:] @ frame.H.T])
    bound = np.concatenate([
        most * other.bound[:cut] + most**2 * frame.off * sizes[:cut],
        (float(singular[0]) + frame.off) * other.bound[cut:] + frame.off * sizes[cut:],
    ])  # fmt: skip
    better = other.placed & (~one.placed | (bound < one.bound))
    factor, bound = np.where(better[:, None], moved, one.factor), np.where(better, bound, one.bound)
    return TablePlacement(factor, one.placed | other.placed, bound, one.seed)
