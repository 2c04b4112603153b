"""What kernels that work tile by tile share."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array, Floats

__all__ = ["Tile", "added", "times_signs", "weighted_matrix"]


@dataclass(frozen=True, eq=False)
class Tile:
    """The pairs of one block, packed."""

    rows: slice
    cols: slice
    target: Array  # what (UUᵀ)_ij is compared with: the seen value, or the threshold where absent
    seen: NDArray[np.uint8]  # twice the weight of the seen part: 0, 1 or 2
    absent: NDArray[np.uint8] | None  # twice the weight of the hinge, where nothing was seen
    mixed: NDArray[np.intp] | None  # flat positions of pairs seen one way round and absent the other
    index: int

    @property
    def diagonal(self) -> bool:
        """Whether it lies on the diagonal, and holds each of its pairs twice."""
        return self.rows == self.cols


def added(parts: list[Any]) -> Any:
    """Their sum, or the sums of their parts where they are tuples."""
    total = parts[0]
    for more in parts[1:]:
        total = tuple(map(add, total, more)) if isinstance(total, tuple) else total + more
    return total


def times_signs(U: Array, signs: Array | None) -> Array:
    """US with S = diag(signs); U itself where there are none."""
    return U if signs is None else U * signs


def weighted_matrix(S: Floats, U: Array) -> Floats:
    """The matrix of D ↦ (S ∘ (UDᵀ + DUᵀ)) U, for a symmetric S.

    Its block (i, j) is S_ij u_j u_iᵀ, and the diagonal ones have Σ_k S_ik u_k u_kᵀ besides.
    """
    n, r = U.shape
    V = U.astype(np.float64)
    matrix = S[:, None, :, None] * V.T[None, :, :, None] * V[:, None, None, :]
    own = np.arange(n)
    matrix[own, :, own] += (S @ (V[:, :, None] * V[:, None, :]).reshape(n, r * r)).reshape(n, r, r)
    return matrix.reshape(n * r, n * r)
