"""Arithmetic on M = UUᵀ that never forms M unless asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError

__all__ = [
    "Factors",
    "Signed",
    "Symmetric",
    "TwoSided",
    "align",
    "dense",
    "distance",
    "entries",
    "nearest_psd",
    "nearest_signed",
    "positions_checked",
    "products_apart",
    "relative_error",
    "together",
]


class Factors:
    """A matrix kept as thin factors, LRᵀ; never formed unless asked for.

    Examples
    --------
    >>> both = TwoSided(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0], [5.0]]))
    >>> both.shape, both.rank, both.entries([1], [2])
    ((2, 3), 1, array([10.]))
    >>> Symmetric(np.array([[1.0], [2.0]])).dense()
    array([[1., 2.],
           [2., 4.]])

    Another kind has ``left`` and ``right``, and says how it is multiplied:

    >>> Signed(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([1, -1])).dense()
    array([[ 0., -2.],
           [-2., -4.]])
    """

    if TYPE_CHECKING:  # a subclass has them as fields or as properties

        @property
        def left(self) -> Array:
            """L, of shape (m, rank)."""

        @property
        def right(self) -> Array:
            """R, of shape (n, rank)."""

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        return len(self.left), len(self.right)

    @property
    def rank(self) -> int:
        """Number of columns of the factors."""
        return int(self.left.shape[1])

    def entries(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """Entries at integer positions that broadcast against each other."""
        m, n = self.shape
        i, j = together(positions_checked(rows, m), positions_checked(cols, n))
        result: Array = np.einsum("...k,...k->...", self.left[i], self.right[j])
        return result

    def dense(self) -> Array:
        """The whole matrix."""
        whole: Array = self.left @ self.right.T
        return whole

    def error(self, truth: Array, unit: float = 1.0) -> float:
        """‖LRᵀ − M/unit‖_F / ‖M/unit‖_F."""
        return relative_error(self.left, truth, self.right, unit=unit)

    def times(self, root: Any) -> Factors:
        """Both factors multiplied by a number, the matrix by its square."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Symmetric(Factors):
    """UUᵀ."""

    factor: Array

    @property
    def left(self) -> Array:
        """U."""
        return self.factor

    @property
    def right(self) -> Array:
        """U."""
        return self.factor

    def dense(self) -> Array:
        """UUᵀ, exactly symmetric."""
        return dense(self.factor)

    def times(self, root: Any) -> Symmetric:
        """U multiplied by a number."""
        return Symmetric(self.factor * root)


@dataclass(frozen=True, eq=False)
class Signed(Factors):
    """U D Uᵀ with D = diag(``signs``), each 1 or −1."""

    factor: Array
    signs: NDArray[Any]

    @property
    def left(self) -> Array:
        """U."""
        return self.factor

    @property
    def right(self) -> Array:
        """UD."""
        return self.factor * self.signs.astype(self.factor.dtype)

    def dense(self) -> Array:
        """U D Uᵀ, exactly symmetric."""
        positive = self.signs > 0
        return dense(self.factor[:, positive]) - dense(self.factor[:, ~positive])

    def times(self, root: Any) -> Signed:
        """U multiplied by a number."""
        return Signed(self.factor * root, self.signs)


@dataclass(frozen=True, eq=False)
class TwoSided(Factors):
    """LRᵀ."""

    left: Array
    right: Array

    def times(self, root: Any) -> TwoSided:
        """Both multiplied by a number."""
        return TwoSided(self.left * root, self.right * root)


def dense(U: Array, band: int = 512) -> Array:
    """UUᵀ, exactly symmetric (BLAS does not promise it)."""
    M = U @ U.T
    for start in range(0, len(U), band):
        stop = start + band
        block = M[start:stop, start:stop]
        block[:] = np.triu(block) + np.triu(block, 1).T
        M[stop:, start:stop] = M[start:stop, stop:].T
    return M


def entries(U: Array, rows: ArrayLike, cols: ArrayLike) -> Array:
    """(UUᵀ)_ij for index arrays that broadcast against each other.

    Examples
    --------
    >>> entries(np.array([[1.0], [2.0], [3.0]]), [0, 1], [2, 2])
    array([3., 6.])
    """
    i, j = together(positions_checked(rows, len(U)), positions_checked(cols, len(U)))
    result: Array = np.einsum("...k,...k->...", U[i], U[j])
    return result


def positions_checked(index: ArrayLike, n: int) -> NDArray[np.intp]:
    """Integer positions between −n and n, or an error."""
    places = np.asarray(index)
    if places.size == 0:
        return places.astype(np.intp)
    if places.dtype.kind not in "iu":
        raise InputError(f"rows and cols must be integer positions, got dtype {places.dtype}")
    if places.min() < -n or places.max() >= n:
        raise InputError(f"rows and cols must be positions below {n}, got {places.min()} to {places.max()}")
    return places.astype(np.intp)


def together(rows: NDArray[np.intp], cols: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of rows and of columns that belong together, if they broadcast against each other."""
    try:
        i, j = np.broadcast_arrays(rows, cols)
    except ValueError:
        raise InputError(
            f"rows and cols must have shapes that broadcast against each other, got {rows.shape} and {cols.shape}; "
            "write rows[:, None] as an array for every row with every column"
        ) from None
    return i, j


def distance(U: Array, V: Array) -> float:
    """‖UUᵀ − VVᵀ‖_F without cancellation and without anything n×n.

    With [U V] = QR the difference is Q (R_u R_uᵀ − R_v R_vᵀ) Qᵀ, small and accurate to rounding of the factors.

    Examples
    --------
    >>> round(distance(np.array([[3.0], [4.0]]), np.array([[0.0], [0.0]])), 12)
    25.0
    """
    _, R = np.linalg.qr(np.hstack([U, V]).astype(np.float64))
    A, B = R[:, : U.shape[1]], R[:, U.shape[1] :]
    return float(np.linalg.norm(A @ A.T - B @ B.T))


def products_apart(L: Array, R: Array, L1: Array, R1: Array) -> float:
    """‖LRᵀ − L₁R₁ᵀ‖_F from decompositions of the thin factors, without anything n×n.

    Examples
    --------
    >>> one, two = np.array([[3.0], [4.0]]), np.array([[1.0], [0.0]])
    >>> round(products_apart(one, two, 2 * one, two), 12)
    5.0
    """
    _, first = np.linalg.qr(np.hstack([L, L1]).astype(np.float64))
    _, second = np.linalg.qr(np.hstack([R, -R1]).astype(np.float64))
    return float(np.linalg.norm(first @ second.T))


def relative_error(U: Array, truth: Array, V: Array | None = None, *, unit: float = 1.0, band: int = 512) -> float:
    """The paper's completion error γ = ‖UVᵀ − M/unit‖_F / ‖M/unit‖_F (V = U unless given), a band of rows at a time.

    All are divided by the size of M first, so that no square overflows or vanishes.

    Examples
    --------
    >>> u = np.array([[3e150], [4e150]])
    >>> relative_error(u, u @ u.T), relative_error(0 * u, u @ u.T)
    (0.0, 1.0)
    """
    peak = max((float(np.abs(truth[start : start + band]).max()) for start in range(0, len(U), band)), default=0.0)
    root = 2.0 ** round(np.log2(peak / unit) / 2) if peak > 0 else 1.0
    left = U / U.dtype.type(root)
    right = left if V is None else V / V.dtype.type(root)
    apart = whole = 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # a fit that is further off than numbers go is infinitely far
        for start in range(0, len(U), band):
            rows = slice(start, start + band)
            M = truth[rows].astype(np.float64) / unit / root / root
            Z = (left[rows] @ right.T - M).ravel()
            apart += float(Z @ Z)
            whole += float(M.ravel() @ M.ravel())
    if whole == 0:
        return 0.0 if apart == 0 else float("inf")
    return float(np.sqrt(apart / whole)) if np.isfinite(apart) else float("inf")


def nearest_psd(L: Array, R: Array, rank: int) -> tuple[Array, float]:
    """The factor U for which UUᵀ is the positive semidefinite matrix of at most this rank nearest to LRᵀ.

    It keeps the top positive eigenvalues of the symmetric part, found from a decomposition of the small matrix in the
    span of [L R]. Also returned: ‖LRᵀ − UUᵀ‖_F / ‖UUᵀ‖_F.

    Examples
    --------
    >>> L, R = np.array([[1.0], [2.0]]), np.array([[2.0], [4.0]])
    >>> U, apart = nearest_psd(L, R, 1)
    >>> bool(np.allclose(U @ U.T, L @ R.T)), apart < 1e-12
    (True, True)
    """
    Q, T = np.linalg.qr(np.hstack([L, R]).astype(np.float64))
    k = L.shape[1]
    core = T[:, :k] @ T[:, k:].T
    values, vectors = np.linalg.eigh((core + core.T) / 2)
    top = values[::-1][:rank]
    U = np.zeros((len(L), rank))
    kept = Q @ vectors[:, ::-1][:, : len(top)] * np.sqrt(np.maximum(top, 0))
    U[:, : kept.shape[1]] = kept
    small = vectors[:, ::-1][:, : len(top)] * np.sqrt(np.maximum(top, 0))
    apart = float(np.linalg.norm(core - small @ small.T))
    size = float(np.linalg.norm(small.T @ small))
    return U.astype(L.dtype), apart / size if size else (0.0 if apart == 0 else float("inf"))


def nearest_signed(
    L: Array, R: Array, rank: int, signs: tuple[int, ...] | None = None
) -> tuple[Array, tuple[int, ...], float]:
    """The factor U and signs D for which U D Uᵀ, of this rank, is nearest to LRᵀ; its relative distance.

    It keeps the eigenvalues of the symmetric part that are largest in size, positive ones first; with given ``signs``
    as many of each as these have, in their order.

    Examples
    --------
    >>> L, R = np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([[1.0, -1.0], [0.0, -2.0]])
    >>> U, signs, apart = nearest_signed(L, R, 2)
    >>> signs, bool(np.allclose(U * signs @ U.T, L @ R.T)), apart < 1e-12
    ((1, -1), True, True)
    """
    Q, T = np.linalg.qr(np.hstack([L, R]).astype(np.float64))
    k = L.shape[1]
    core = T[:, :k] @ T[:, k:].T
    values, vectors = np.linalg.eigh((core + core.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    if signs is None:
        chosen = np.sort(np.argsort(-np.abs(values), kind="stable")[:rank])
        found = np.where(values[chosen] < 0, -1, 1)
        found = np.concatenate([found, np.ones(rank - len(found), int)])
    else:
        found, up, down = np.array(signs), iter(range(len(values))), iter(range(len(values) - 1, -1, -1))
        chosen = np.array([next(up if sign > 0 else down, 0) for sign in signs])
    kept = np.maximum(values[chosen] * found[: len(chosen)], 0)
    small = vectors[:, chosen] * np.sqrt(kept)
    U = np.zeros((len(L), rank))
    U[:, : small.shape[1]] = Q @ small
    fitted = (small * found[: len(chosen)]) @ small.T
    apart, size = float(np.linalg.norm(core - fitted)), float(np.linalg.norm(fitted))
    relative = apart / size if size else (0.0 if apart == 0 else float("inf"))
    return U.astype(L.dtype), tuple(int(sign) for sign in found), relative


def align(U: Array, V: Array) -> Array:
    """U rotated onto V: U Q with the orthogonal Q that minimises ‖UQ − V‖_F (Procrustes)."""
    left, _, right = np.linalg.svd(U.T @ V)
    rotated: Array = U @ (left @ right)
    return rotated
