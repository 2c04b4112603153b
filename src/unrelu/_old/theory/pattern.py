"""Which entries were seen, and the few products with φ(D) = (UDᵀ + DUᵀ)_Ω that all certificates are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.errors import InputError
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import Kernel, kernel_for
from unrelu._old.kernels.protocol import PairsSeen
from unrelu._old.model.losses import squared_loss

__all__ = ["Mask", "Pattern", "as_factor", "own_generator"]

# What callers may pass for Ω: a boolean n×n array (true: seen), the observations themselves, or a Pattern.
Mask: TypeAlias = "ArrayLike | Observations | Pattern"

# Distinguishes draws made here from those of callers with the same seed.
OWN_STREAM = (0x6F6D, 0x6567)


@dataclass(frozen=True, eq=False)
class Pattern:
    """The set Ω of seen entries of an n×n matrix.

    Products use symmetric weights S_ij ∈ {0, ½, 1}: half for each of (i, j) and (j, i) that was seen, so that
    ⟨D, (S ∘ (UDᵀ + DUᵀ))U⟩ = ½‖φ(D)‖_F² also where Ω is not symmetric.

    Attributes
    ----------
    observations : Observations
        Of which only the places of the seen entries are used here.
    packed : Kernel, optional
        Passes in double precision over the same entries, if somebody has them already.

    Examples
    --------
    >>> pattern = Pattern.of([[True, False], [True, True]])
    >>> pattern.size, pattern.symmetric
    (2, False)
    """

    observations: Observations
    packed: Kernel | None = None

    @classmethod
    def of(cls, source: Mask) -> Pattern:
        """Take a boolean mask, :class:`~unrelu._old.data.observations.Observations` or a pattern as it is.

        Raises
        ------
        InputError
            If a mask is not boolean or not square.
        """
        if isinstance(source, Pattern):
            return source
        if isinstance(source, Observations):
            return cls(source)
        mask = np.asarray(source)
        if mask.dtype != bool:
            raise InputError(
                f"the pattern must be a boolean array (true: seen) or Observations, got an array of {mask.dtype}; "
                "pass ~np.isnan(X) for a matrix X with NaN where nothing was seen"
            )
        return cls(Observations.of(np.where(mask, 1.0, np.nan), threshold=None))

    @property
    def size(self) -> int:
        """n, for an n×n matrix."""
        return self.observations.size

    @cached_property
    def mask(self) -> Bools:
        """Ω as an n×n array of bytes: for the checks of assumptions, which look at whole blocks."""
        everything = slice(0, self.size)
        seen: Bools = ~np.isnan(self.observations.block(everything, everything))
        return seen

    @cached_property
    def symmetric(self) -> bool:
        """Whether (i, j) was seen exactly if (j, i) was."""
        return bool(np.array_equal(self.mask, self.mask.T))

    @cached_property
    def either_way(self) -> Pattern:
        """The smallest symmetric pattern that contains this one."""
        return self if self.symmetric else Pattern.of(self.mask | self.mask.T)

    @cached_property
    def diagonal(self) -> Floats:
        """1.0 where the diagonal entry was seen, else 0.0."""
        return self.observations.source.diagonal_seen().astype(np.float64)

    @cached_property
    def kernel(self) -> Kernel:
        """The tiled passes, in double precision whatever the data: a small γ is a difference of large numbers."""
        if self.packed is not None:
            return self.packed
        observations = self.observations
        if observations.dtype != np.float64:
            observations = Observations.of(np.where(self.mask, 1.0, np.nan), threshold=None)
        return kernel_for(observations, squared_loss())

    def gram(self, U: Floats, D: Floats) -> Floats:
        """½φ*φ(D) = (S ∘ (UDᵀ + DUᵀ))U."""
        product: Any = self.kernel.curvature(U, D, None)
        return product

    def image(self, U: Floats, D: Floats) -> float:
        """‖φ(D)‖_F² = ‖(UDᵀ + DUᵀ)_Ω‖_F², entries (i, j) and (j, i) both counted.

        Examples
        --------
        >>> U, D = np.array([[1.0], [2.0]]), np.array([[1.0], [0.0]])
        >>> Pattern.of([[True, False], [False, True]]).image(U, D)
        4.0
        """
        return 2 * float(np.vdot(D, self.gram(U, D)))

    def row_blocks(self, U: Floats) -> NDArray[np.float64]:
        """The diagonal blocks Σ_j S_ij u_j u_jᵀ + S_ii u_i u_iᵀ of ½φ*φ, one r×r matrix per row."""
        n, r = U.shape
        products = np.einsum("ia,ib->iab", U, U).reshape(n, r * r)

        def visit(pairs: PairsSeen, sums: Floats) -> None:
            weights = pairs.seen.astype(np.float64)
            sums[pairs.rows] += weights @ products[pairs.cols]
            if not pairs.diagonal:
                sums[pairs.cols] += weights.T @ products[pairs.rows]

        sums = self.kernel.gather(visit, np.zeros_like(products))
        return (sums / 2 + self.diagonal[:, None] * products).reshape(n, r, r)


def own_generator(rng: Any) -> np.random.Generator:
    """The caller's generator, or one of our own stream: a factor planted with the same seed must not be the start.

    Examples
    --------
    >>> bool(own_generator(0).random() == np.random.default_rng(0).random())
    False
    """
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(OWN_STREAM if rng is None else [rng, *OWN_STREAM])


def as_factor(U: ArrayLike, name: str = "U", size: int | None = None) -> Floats:
    """A finite factor of shape (n, r) in double precision, or a sentence about what came instead.

    Examples
    --------
    >>> as_factor([[1], [2]]).dtype
    dtype('float64')
    """
    factor = np.asarray(U, dtype=np.float64)
    if factor.ndim != 2 or factor.shape[1] == 0 or factor.shape[0] < factor.shape[1]:
        raise InputError(f"{name} must be a factor of shape (n, r) with 1 ≤ r ≤ n, got shape {factor.shape}")
    if not np.isfinite(factor).all():
        bad = np.argwhere(~np.isfinite(factor))[0]
        raise InputError(f"{name} must be finite, got {factor[tuple(bad)]} at ({bad[0]}, {bad[1]})")
    if size is not None and len(factor) != size:
        raise InputError(f"{name} must have {size} rows, one per row of the matrix, got {len(factor)}")
    return factor
