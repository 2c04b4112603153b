"""A start that the caller brings: a factor, or what an earlier completion ended with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError
from unrelu._old.data.observations import Observations
from unrelu._old.starts.base import Start

__all__ = ["Given"]


@dataclass(frozen=True, eq=False)
class Given(Start):
    """A factor in the caller's units; ``left`` and ``right`` besides, where a method with two factors ended there."""

    factor: Any
    left: Array | None = None
    right: Array | None = None
    what: str = "start"  # what messages call it
    name: str = field(default="a given factor", kw_only=True)  # type: ignore[misc]
    signs: tuple[int, ...] | None = field(default=None, kw_only=True)  # of its columns, where the matrix is U D Uᵀ

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """The factor, if it can be a start of this problem."""
        return _checked(self.factor, self.what, observations, rank)

    def pair(self, observations: Observations, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Both factors of a method that has two, if they have the right shape."""
        dtype = observations.dtype
        if self.left is not None and self.right is not None and self.left.shape == (observations.size, rank):
            return self.left.astype(dtype), self.right.astype(dtype)
        return super().pair(observations, rank, rng)


def _checked(start: Any, what: str, observations: Observations, rank: int) -> Array:
    n = observations.size
    try:
        factor = np.asarray(start)
    except ValueError:
        raise InputError(f"{what} must have shape (n, rank) = ({n}, {rank}), got rows of different lengths") from None
    if factor.shape != (n, rank):
        raise InputError(f"{what} must have shape (n, rank) = ({n}, {rank}), got {factor.shape}")
    if np.ma.is_masked(start) or factor.dtype.kind not in "fiu" or not np.isfinite(factor).all():
        raise InputError(f"{what} must be finite and real, got NaN, infinite or non-numeric entries")
    empty = np.flatnonzero(~factor.any(axis=0))
    if empty.size:
        raise InputError(
            f"{what} must have no zero column, which no gradient method ever leaves, got zeros in column {empty[0]}; "
            "add a little noise there, or lower the rank"
        )
    return factor.astype(observations.dtype)
