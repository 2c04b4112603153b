"""New rows for a finished factor: where they lie, from what was seen of them against the fitted rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Array, Bools, Floats
from unrelu._old.base.errors import InputError, warn
from unrelu._old.base.tolerances import ATTACH_DEFAULT_RCOND, ATTACH_TRUSTED_RATIO, ATTACH_TRUSTED_SIZE

__all__ = ["Attached", "Frame", "attach_rows", "attached", "bands"]

# Entries of one temporary array: 8 MB each, whatever the number of rows.
BAND_ENTRIES = 1 << 20
MOST_NAMED = 5


def attach_rows(factor: Any, K: Any, *, rcond: float | None = None, names: Sequence[object] | None = None) -> Array:
    """Find the factor rows of new items from what was seen of them against the fitted ones.

    For each row k of K, the u that minimises Σ_{j seen} (u·u_j − k_j)², u_j being row j of ``factor``; of
    several minimisers the one of least norm. This is the row's own part of Problem (MC) with all other rows
    held fixed, so a row that was fitted (symmetric data, observed loss, converged) comes back as it was.

    Parameters
    ----------
    factor : array of shape (n, r)
        U, such as :attr:`Completion.factor <unrelu.Completion>`.
    K : array or masked array of shape (m, n)
        One row per new item, one column per fitted row; NaN (or masked) where nothing was seen. Never
        modified.
    rcond : float, optional
        Directions in which the seen rows of ``factor`` are weaker than this share of its largest singular
        value count as not seen. Default 1e-10, for a float32 factor 1e-4.
    names : sequence of length m, optional
        What warnings and errors call the rows of K. Default: the index of a data frame, else their positions.

    Returns
    -------
    ndarray of shape (m, r)
        The new rows, float32 if K is; K is completed by ``attach_rows(U, K) @ U.T``. The arithmetic is in
        double precision throughout, a band of rows at a time.

    Raises
    ------
    InputError
        If shapes or values cannot be what was meant.

    Warns
    -----
    CompletionWarning
        If a row sees nothing (it becomes zero), or fewer independent rows than the factor has (least norm):
        the data do not determine it.

    Examples
    --------
    >>> import numpy as np
    >>> from unrelu._old.placing.attach import attach_rows
    >>> rng = np.random.default_rng(5)
    >>> U, new = rng.standard_normal((30, 3)), rng.standard_normal((4, 3))
    >>> K = new @ U.T
    >>> K[K < 0] = np.nan                        # only the non-negative entries were seen
    >>> bool(np.abs(attach_rows(U, K) - new).max() < 1e-12)
    True
    """
    U = _checked_factor(factor)
    values = _checked_rows(K, U.shape[0])
    if names is None:
        names = list(K.index) if hasattr(K, "index") and hasattr(K, "columns") else range(len(values))
    _require_finite(values, names)
    found = attached(U, values, _checked_rcond(rcond, U.dtype))
    _warn([names[row] for row in found.empty], [names[row] for row in found.short], found.rank)
    return found.rows


@dataclass(frozen=True, eq=False)
class Attached:
    """Rows that were placed, and those of them that the data do not determine.

    Attributes
    ----------
    rows : ndarray of shape (m, r)
    empty, short : list of int
        Rows of which nothing was seen, and those that saw fewer independent fitted rows than there are.
    rank : int
        How many independent fitted rows there are.
    """

    rows: Array
    empty: list[int]
    short: list[int]
    rank: int


def attached(U: Array, values: Array, rcond: float | None = None) -> Attached:
    """The same of finite numbers, NaN where nothing was seen, whose fitness was checked; nothing is warned of."""
    frame = Frame.of(U.astype(np.float64), ATTACH_DEFAULT_RCOND[U.dtype] if rcond is None else rcond)
    result = np.zeros((len(values), U.shape[1]), dtype=values.dtype)
    empty: list[int] = []
    short: list[int] = []
    for rows in bands(len(values), max(U.shape[0], U.shape[1] ** 2)):
        band = values[rows]
        seen = ~np.isnan(band)
        known = np.where(seen, band, 0).astype(np.float64, copy=False)
        solution, trusted = frame.solve(seen, known)
        nothing = ~seen.any(axis=1)  # their solution is zero already
        for i in np.flatnonzero(~trusted & ~nothing):
            solution[i], independent = frame.solve_one(seen[i], known[i])
            if independent < frame.rank:
                short.append(rows.start + int(i))
        empty += (rows.start + np.flatnonzero(nothing)).tolist()
        result[rows] = solution
    return Attached(result, empty, short, frame.rank)


def bands(count: int, width: int) -> Iterator[slice]:
    """Slices of ``count`` rows such that a temporary array with ``width`` entries per row stays small.

    Examples
    --------
    >>> list(bands(5, BAND_ENTRIES // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, BAND_ENTRIES // max(1, width))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates in which the conditioning of U itself is gone: Q = U Tᵀ is orthonormal, and u = v T.

    What is left in a row's normal matrix Σ_{j seen} q_j q_jᵀ is only what its own choice of seen rows does.

    Attributes
    ----------
    factor : ndarray of shape (n, r)
        U.
    Q : ndarray of shape (n, rank of U)
        Orthonormal up to rounding, each row accurate relative to its own size.
    T : ndarray of shape (rank of U, r)
    cutoff : float
        Singular values below it count as zero.
    """

    factor: Floats
    Q: Floats
    T: Floats
    cutoff: float

    @classmethod
    def of(cls, U: Floats, rcond: float) -> Frame:
        """The frame of U, without directions weaker than a share ``rcond`` of the strongest."""
        _, sizes, axes = np.linalg.svd(U, full_matrices=False)
        cutoff = float(rcond * sizes[0])
        kept = sizes > cutoff
        T = axes[kept] / sizes[kept, None]
        return cls(U, U @ T.T, T, cutoff)

    @property
    def rank(self) -> int:
        """How many independent rows U has."""
        return int(self.Q.shape[1])

    def solve(self, seen: Bools, known: Floats) -> tuple[Floats, Bools]:
        """Least-squares rows from refined normal equations, and which of them are to be trusted."""
        if self.rank == 0:
            return np.zeros((len(known), self.factor.shape[1])), np.ones(len(known), dtype=bool)
        weights = seen.astype(np.float64)
        sizes, axes = np.linalg.eigh(normal_matrices(weights, self.Q))
        trusted = (sizes[:, 0] > ATTACH_TRUSTED_RATIO * sizes[:, -1]) & (sizes[:, -1] > ATTACH_TRUSTED_SIZE)
        safe = np.where(trusted[:, None], sizes, 1.0)

        def apply_inverse(rhs: Floats) -> Floats:
            along = np.einsum("ikl,ik->il", axes, rhs) / safe
            solved: Floats = np.einsum("ikl,il->ik", axes, along)
            return solved

        v = apply_inverse(known @ self.Q)
        misfit = known - weights * (v @ self.Q.T)
        v += apply_inverse(misfit @ self.Q)
        return v @ self.T, trusted

    def place(self, seen: Bools, known: Floats) -> tuple[Floats, Floats]:
        """Least-squares rows, and how well the rows each one saw span the space: up to 1 if all of them were seen.

        The share is 1/‖N⁻¹‖_F of the row's normal matrix N, at most its least eigenvalue and at least that over √r: an
        inverse costs a fraction of a decomposition. Rows of which it says nothing good are left at zero.
        """
        solution, share = np.zeros((len(known), self.factor.shape[1])), np.zeros(len(known))
        enough = np.flatnonzero(seen.sum(axis=1) >= self.rank)
        for part in bands(len(enough), max(len(self.Q), self.rank**2)):
            rows = enough[part]
            weights = seen[rows].astype(np.float64)
            # A little of the identity makes every matrix invertible, and what it spoils is not trusted below.
            inverse = np.linalg.inv(normal_matrices(weights, self.Q) + ATTACH_TRUSTED_SIZE * np.eye(self.rank))
            share[rows] = 1 / np.linalg.norm(inverse, axis=(1, 2))
            v = np.einsum("ikl,il->ik", inverse, known[rows] @ self.Q)
            for _ in range(2):
                misfit = known[rows] - weights * (v @ self.Q.T)
                v += np.einsum("ikl,il->ik", inverse, misfit @ self.Q)
            solution[rows] = v @ self.T
        share[share < 10 * ATTACH_TRUSTED_SIZE] = 0
        for i in np.flatnonzero((share > 0) & (share < ATTACH_TRUSTED_RATIO)):
            solution[i], _ = self.solve_one(seen[i], known[i])
        return solution, share

    def solve_one(self, seen: Bools, known: Floats) -> tuple[Floats, int]:
        """The least-squares row of least norm, by singular values, and how many independent rows it saw."""
        left, sizes, right = np.linalg.svd(self.factor[seen], full_matrices=False)
        kept = sizes > self.cutoff
        row: Floats = (left.T[kept] @ known[seen] / sizes[kept]) @ right[kept]
        return row, int(kept.sum())


def normal_matrices(weights: Floats, Q: Floats) -> Floats:
    """Σ_j w_ij q_j q_jᵀ for every row i at once: the weights times the outer products q_j q_jᵀ."""
    rank = Q.shape[1]
    upper = np.triu_indices(rank)
    packed = np.zeros((len(weights), len(upper[0])))
    for columns in bands(len(Q), len(upper[0])):
        q = Q[columns]
        packed += weights[:, columns] @ (q[:, upper[0]] * q[:, upper[1]])
    normal = np.empty((len(weights), rank, rank))
    normal[:, upper[0], upper[1]] = packed
    normal[:, upper[1], upper[0]] = packed
    return normal


def _checked_factor(factor: Any) -> Array:
    U = _numbers(factor, "factor")
    if U.ndim != 2 or 0 in U.shape:
        raise InputError(f"factor must have shape (n, r) with n and r at least 1, got shape {U.shape}")
    if not np.isfinite(U).all():
        raise InputError(
            "factor must be finite, got NaN or infinite entries; is this the matrix rather than its factor?"
        )
    return U


def _checked_rows(K: Any, n: int) -> Array:
    if sp.issparse(K):
        raise InputError(
            "K must be a dense array with NaN where nothing was seen, got a sparse one; "
            "fill an array of NaN with what it stores"
        )
    if isinstance(K, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(K)
        values = _numbers(K.data, "K").copy()
        values[hidden] = np.nan
    else:
        values = _numbers(K, "K")
    if values.ndim != 2:
        raise InputError(f"K must be 2-D, one row per new item, got shape {values.shape}; write K[None, :] for one row")
    if values.shape[1] != n:
        raise InputError(f"K must have {n} columns, one for each row of the factor, got shape {values.shape}")
    return values


def _numbers(X: Any, name: str) -> Array:
    try:
        array = np.asarray(X)
    except ValueError:
        raise InputError(f"{name} must be a matrix of numbers, got rows of different lengths") from None
    if array.dtype.kind not in "fiu":
        raise InputError(
            f"{name} must hold real numbers, got dtype {array.dtype}; convert it with .astype(float) first"
        )
    values: Array = array.astype(np.float32 if array.dtype in (np.float32, np.float16) else np.float64, copy=False)
    return values


def _checked_rcond(rcond: Any, dtype: np.dtype[Any]) -> float:
    if rcond is None:
        return ATTACH_DEFAULT_RCOND[dtype]
    if isinstance(rcond, (bool, str)) or not np.isscalar(rcond) or not 0 <= rcond < 1:  # type: ignore[operator]
        raise InputError(f"rcond must be a number in [0, 1), or None for the default; got {rcond!r}")
    return float(rcond)  # type: ignore[arg-type]


def _require_finite(values: Array, names: Sequence[object]) -> None:
    for rows in bands(len(values), values.shape[1]):
        infinite = np.argwhere(np.isinf(values[rows]))
        if len(infinite):
            row, column = infinite[0] + (rows.start, 0)
            raise InputError(
                f"K must be finite where it was seen, got {values[row, column]} at ({names[row]}, {column}); "
                "write NaN where nothing was seen"
            )


def _warn(empty: list[object], short: list[object], rank: int) -> None:
    if empty:
        warn(f"nothing was seen of {_named(empty)} of K; completed with zeros, which the data do not determine")
    if short:
        warn(
            f"{_named(short)} of K see{'' if len(short) > 1 else 's'} fewer than {rank} independent fitted "
            "rows; completed with the least norm, which the data do not determine"
        )


def _named(rows: list[object]) -> str:
    more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:MOST_NAMED]))}{more}"
