"""Polish: few passes over all entries, after which a fit with noise is as good as one that began with all of them.

Each pass asks every row where it would go with the others held: l_i = u_i − N_i⁻¹ g_i. What the errors of the others do
to that is nearly the same for all rows: a linear map of r numbers to r numbers. LUᵀ is right where UUᵀ is not yet, so
the map is known from L and U, and is taken out. What is left shrinks with every pass, in some directions slowly; those
are found from what the last passes did (Anderson, 1965). The passes end when what the last one had to gain is small
beside the noise: Σ g_iᵀN_i⁻¹g_i is that gain, and errors of the size that noise makes have nrσ².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.tolerances import POLISH_FLOOR, POLISH_GAIN, POLISH_TABLE_GAIN, POLISH_WEAK
from unrelu._old.data.source import Place, Source
from unrelu._old.kernels.threads import map_chunks
from unrelu._old.placing.attach import bands
from unrelu._old.scale.blocks import SIDE, Asked, Data, Found, Totals
from unrelu._old.scale.passes import look

__all__ = ["Fit", "balanced_pair", "chosen", "principal", "swept", "swept_columns", "swept_further"]

# Least and most passes, also of a table, and how many earlier ones say in which directions they are slow.
LEAST, MOST, MOST_OF_A_TABLE, DEPTH = 2, 12, 30, 3
# A pass that finds so many times more to gain than the one before shows that it was sent astray.
RISEN = 2.0


class _Chosen(Source):
    """Some columns of another source, or some rows: None for all."""

    def __init__(self, source: Source, rows: Indices | None, columns: Indices | None) -> None:
        self.source, self.rows, self.columns = source, rows, columns
        height, width = (
            length if some is None else len(some) for length, some in zip(source.shape, (rows, columns), strict=True)
        )
        self.shape, self.dtype = (height, width), source.dtype
        self.thread_safe = source.thread_safe  # type: ignore[misc]

    def block(self, rows: Place, cols: Place) -> Array:
        """The same block of those that are chosen."""
        rows = rows if self.rows is None else self.rows[rows]
        return self.source.block(rows, cols if self.columns is None else self.columns[cols])


def chosen(source: Source, rows: Indices | None, columns: Indices | None) -> Source:
    """Some columns of another source, or some rows, None for all: where its values are, if an engine is there."""
    if source.tensor is None and source.lazy is None:
        return _Chosen(source, rows, columns)
    rows, columns = (
        np.arange(length) if some is None else some for length, some in zip(source.shape, (rows, columns), strict=True)
    )
    return source.part(rows, columns)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit on its way, in units.

    Attributes
    ----------
    left, right : ndarray
        U twice, or L and R.
    sigma : float or None
        The noise level as far as it is known.
    totals : Totals
        Of the last pass, before its step.
    share : ndarray
        How well the entries of each row determine it; of a table rows, then columns.
    seen : int ndarray
        How many were seen of each.
    gains : tuple of float
        What each pass had to gain, in units of the noise.
    before : tuple of pairs of ndarray
        The last few points, rows above columns, and the steps that passes asked for there.
    normal : ndarray or None
        N_i of the first pass. What a step is divided by need not be exact, so that later passes are spared it.
    squares : ndarray or None
        What the last pass found left of the seen entries of each row, before its step.
    """

    left: Floats
    right: Floats
    sigma: float | None = None
    totals: Totals = field(default_factory=Totals)
    share: Floats | None = None
    seen: NDArray[np.int64] | None = None
    gains: tuple[float, ...] = ()
    before: tuple[tuple[Floats, Floats], ...] = ()
    normal: Array | None = None
    squares: Floats | None = None

    def of(self, rows: Indices, cols: Indices | None = None) -> Fit:
        """That of some rows, and of a table some columns, before the first pass."""
        left = self.left[rows]
        return replace(self, left=left, right=left if cols is None else self.right[cols])

    def among(self, all_: Fit, rows: Indices, cols: Indices | None = None) -> Fit:
        """Of some rows and columns, put back among ``all_``; of the others nothing more is known."""
        height = len(all_.left)
        places = rows if cols is None else np.concatenate([rows, height + cols])
        size = height if cols is None else height + len(all_.right)

        def spread(known: Any) -> Any:
            if known is None:
                return None
            every = np.zeros(size, known.dtype)
            every[places] = known
            return every

        left = all_.left.copy()
        left[rows] = self.left
        right = left if cols is None else all_.right.copy()
        if cols is not None:
            right[cols] = self.right
        share, seen, squares = (spread(known) for known in (self.share, self.seen, self.squares))
        return replace(self, left=left, right=right, share=share, seen=seen, squares=squares, before=(), normal=None)

    def finished(self, most: int, *, table: bool) -> bool:
        """Whether there is nothing left to gain, or no pass left."""
        least = POLISH_TABLE_GAIN if table else POLISH_GAIN
        return (len(self.gains) >= LEAST and self.gains[-1] <= least) or len(self.gains) >= most


def swept(
    data: Data,
    fit: Fit,
    side: int = SIDE,
    found: Found | None = None,
    told: Callable[[Found, int], object] = lambda found, rows: None,
) -> Fit:
    """One pass, and the step it asks for."""
    factors = (fit.left, fit.left) if data.symmetric else (fit.left, fit.right)
    found = look(data, factors, _next(fit), side, found, told)
    height, normal = len(fit.left), found.normal if fit.normal is None else fit.normal
    step, share, gain = _asked_for(found.gradient[:height], normal[:height], factors[1])
    if data.symmetric:
        here, asked_for = fit.left, fit.left - step
        there = asked_for @ _common(asked_for, here)
    else:
        of_columns, more, also = _asked_for(found.gradient[height:], normal[height:], fit.left)
        share, gain = np.concatenate([share, more]), gain + also
        here = np.vstack([fit.left, fit.right])
        there = _matched(fit.left - step, fit.right - of_columns, fit.left)
    sigma = _noise(found.totals)
    relative = gain / (here.size * sigma**2) if sigma > 0 else 0.0
    astray = bool(fit.gains) and relative > RISEN * fit.gains[-1]  # then only the step itself is trusted
    before = (*(() if astray else fit.before), (here, there - here))[-DEPTH - 1 :]
    new = _extrapolated(before)
    left, right = (new, new) if data.symmetric else (new[:height], new[height:])
    return replace(
        _known(fit, found, normal, relative), left=left, right=right, sigma=sigma, share=share, before=before
    )


def _next(fit: Fit) -> Asked:
    """What the next pass is for."""
    return Asked(fit.sigma, gradient=True, curvature=fit.normal is None, first=fit.normal is None)


def _known(fit: Fit, found: Found, normal: Array, gain: float) -> Fit:
    """A fit with what a pass has found, and the first pass of the data."""
    totals, seen = found.totals, found.seen
    if fit.normal is not None:
        totals = replace(totals, norm=fit.totals.norm, low=fit.totals.low, high=fit.totals.high)
        seen = fit.seen if fit.seen is not None else seen
    normal = normal.astype(np.float32, copy=False)
    return replace(fit, totals=totals, seen=seen, gains=(*fit.gains, gain), normal=normal, squares=found.squares)


def swept_columns(
    data: Data,
    fit: Fit,
    columns: Indices,
    found: Found | None = None,
    told: Callable[[Found, int], object] = lambda found, rows: None,
) -> Fit:
    """The same where only some columns of a symmetric matrix are read: every row is asked, against those."""
    some = replace(data, source=chosen(data.source, None, columns), symmetric=False)
    anchors = fit.left[columns]
    found = look(some, (fit.left, anchors), _next(fit), SIDE, found, told)
    height, normal = len(fit.left), found.normal if fit.normal is None else fit.normal
    step, share, gain = _asked_for(found.gradient[:height], normal[:height], anchors)
    asked = fit.left - step
    new, sigma = asked @ _common(asked[columns], anchors), _noise(found.totals)
    relative = gain / (fit.left.size * sigma**2) if sigma > 0 else 0.0
    known = _known(fit, found, normal, relative)
    seen = (found.seen if known.seen is None else known.seen)[:height]
    known = replace(known, seen=seen, squares=found.squares[:height])
    return replace(known, left=new, right=new, sigma=sigma, share=share)


def swept_further(data: Data, fit: Fit, rows: Indices, columns: Indices) -> Fit:
    """The same of a table: its rows are asked against some columns, then its columns against some rows."""
    part = replace(data, source=chosen(data.source, None, columns))
    asked = Asked(fit.sigma, gradient=True, curvature=True, first=True)
    found = look(part, (fit.left, fit.right[columns]), asked)
    height = len(fit.left)
    step, share, gain = _asked_for(found.gradient[:height], found.normal[:height], fit.right[columns])
    left, sigma = fit.left - step, _noise(found.totals)
    part = replace(data, source=chosen(data.source, rows, None))
    again = look(part, (left[rows], fit.right), replace(asked, sigma=sigma))
    step, more, also = _asked_for(again.gradient[len(rows) :], again.normal[len(rows) :], left[rows])
    relative = (gain + also) / ((fit.left.size + fit.right.size) * sigma**2) if sigma > 0 else 0.0
    known = _known(replace(fit, normal=None), found, np.zeros((0, 0)), relative)
    seen = np.concatenate([found.seen[:height], again.seen[len(rows) :]])
    shares, squares = (
        np.concatenate([share, more]),
        np.concatenate([found.squares[:height], again.squares[len(rows) :]]),
    )
    known = replace(known, share=shares, seen=seen, squares=squares, normal=None)
    return replace(known, left=left, right=fit.right - step, sigma=sigma)


def _noise(totals: Totals) -> float:
    """σ from Σs² = σ²(count + Σ z h), the likelihood's own equation for it."""
    return float(np.sqrt(totals.squares / max(totals.count + totals.pulled, 1.0)))


def _extrapolated(before: tuple[tuple[Floats, Floats], ...]) -> Floats:
    """The point from which, by what the last passes did, the least step would be asked for."""
    here, step = before[-1]
    if len(before) == 1:
        return here + step
    moves = np.array([(b[0] - a[0]).ravel() for a, b in pairwise(before)]).T
    changes = np.array([(b[1] - a[1]).ravel() for a, b in pairwise(before)]).T
    mix = np.linalg.lstsq(changes.T @ changes, changes.T @ step.ravel(), rcond=None)[0]
    new: Floats = here + step - ((moves + changes) @ mix).reshape(step.shape)
    return new


def _asked_for(gradient: Floats, normal: Array, others: Floats) -> tuple[Floats, Floats, float]:
    """N_i⁻¹ g_i of every row, how well N_i is conditioned beside all of the others, and Σ g_iᵀN_i⁻¹g_i.

    Rows that N_i does not hold stay where they are.
    """
    rank = others.shape[1]
    scale = np.sqrt(np.maximum(np.einsum("ja,ja->a", others, others), np.finfo(float).tiny))
    first, second = np.tril_indices(rank)
    step, share = np.zeros((len(gradient), rank)), np.zeros(len(gradient))

    def solved(part: slice) -> float:
        whole = np.empty((part.stop - part.start, rank, rank))
        packed = normal[part] / (scale[first] * scale[second])
        whole[:, first, second] = packed
        whole[:, second, first] = packed
        whole[:, np.arange(rank), np.arange(rank)] += POLISH_FLOOR
        inverse = np.linalg.inv(whole)
        share[part] = 1 / np.maximum(np.trace(inverse, axis1=1, axis2=2), 1.0)
        held = (share[part] > POLISH_WEAK)[:, None]
        right = gradient[part] / scale
        found = np.einsum("iab,ib->ia", inverse, right) * held
        step[part] = found / scale
        return float(np.vdot(right, found))

    gain = sum(map_chunks(solved, list(bands(len(gradient), rank * rank))))
    return step, share, gain


def principal(U: Floats) -> Floats:
    """The same UUᵀ with columns that are orthogonal to each other, the largest first."""
    _, axes = np.linalg.eigh(U.T @ U)
    turned: Floats = U @ axes[:, ::-1]
    return turned


def _common(L: Floats, U: Floats) -> Floats:
    """The symmetric G with which LG(LG)ᵀ is nearest to LUᵀ: it takes out what all rows of U have in common of an error.

    With U = V(1 + S) and VVᵀ right, L is V(1 − S) to first order, and G is 1 + S.
    """
    LL, LU, UU = L.T @ L, L.T @ U, U.T @ U
    one, other = np.linalg.solve(LL, LU), np.linalg.inv(np.linalg.solve(UU, LU.T))
    middle = (one + other) / 2
    sizes, axes = np.linalg.eigh((middle + middle.T) / 2)
    root: Floats = axes * np.sqrt(np.maximum(sizes, 0)) @ axes.T
    return root


def _matched(L: Floats, R: Floats, before: Floats) -> Floats:
    """New rows and columns, asked for at once and brought into one frame: (L, R Bᵀ) with LB = the rows before."""
    B = np.linalg.solve(L.T @ L, L.T @ before)
    return np.vstack([L, R @ B.T])


def balanced_pair(L: Floats, R: Floats) -> tuple[Floats, Floats]:
    """The same LRᵀ with columns of equal size, orthogonal to each other."""
    (Q, A), (P, B) = np.linalg.qr(L), np.linalg.qr(R)
    left, sizes, right = np.linalg.svd(A @ B.T)
    root = np.sqrt(sizes)
    return Q @ left * root, P @ right.T * root
