"""Where to start: the paper's three starts, for any threshold, side and scale of the data.

The paper draws Y with standard normal entries and takes Q = YYᵀ as a stand-in for what it cannot see. Here Q is first
scaled to the data, so that multiplying the data by c multiplies the start by √c, and an unseen entry known to lie below
the threshold τ is given τ − |q − τ|: the draw itself if it lies there, else its mirror image. At τ = 0 this is the
paper's −|q|.

Two corrections to the printed text. Columns are scaled by the square roots of the eigenvalues (orthonormal columns, as
printed, start at the wrong scale and reach the planted matrix less often). And the top *algebraic* eigenvalues are
taken, not the top singular values, which may belong to negative eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array
from unrelu._old.base.tolerances import SPECTRAL_SMALLEST
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.mirrored import MirroredPasses
from unrelu._old.kernels.pairs import pair_block
from unrelu._old.kernels.symmetric import SymmetricTiles, top_eigenpairs, top_eigenpairs_by_passes
from unrelu._old.starts.base import Start, scale_of

# Columns beyond the rank that subspace iteration carries along.
OVERSAMPLED = 10

__all__ = ["Filled", "RandomImputation", "RandomSpectral", "Spectral", "Tailored"]


@dataclass(frozen=True)
class Filled(Start):
    """Top eigenvectors of the seen matrix with its gaps filled.

    Parameters
    ----------
    scaled : bool, default True
        Scale column k by the square root of the k-th eigenvalue; False: orthonormal columns, which the paper prints. Q
        is scaled to the data either way, which it does not.
    """

    scaled: bool = True

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """A factor of shape (n, rank) in the dtype of the data."""
        n = observations.size
        Y = rng.standard_normal((n, rank))
        Y *= np.sqrt(scale_of(observations, Y))
        # float32 halves the memory and is more than a start needs; small matrices are not worth the loss.
        dtype = np.float64 if n <= 1000 and observations.dtype == np.float64 else np.float32
        small: Array = Y.astype(dtype)
        values, vectors = self._top(observations, small, rank, rng)
        if self.scaled:
            vectors = vectors * np.sqrt(np.maximum(values, SPECTRAL_SMALLEST * max(values[0], 0.0)))
        if self.scaled:
            vectors = vectors * np.sqrt(observations.unit)
        if observations.source.cut is not None:
            vectors = vectors * np.sqrt(2.0)  # [u; v]/√2 of a singular pair: the two halves share its length
        factor = vectors.astype(observations.dtype)
        # Nothing speaks for any value in a row of which nothing was seen: least norm.
        factor[observations.empty_rows] = 0
        return factor

    def _top(self, observations: Observations, Y: Array, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """The top eigenvalues of the filled matrix, descending, and their eigenvectors."""
        block = partial(self.fill, observations, Y)
        return top_eigenpairs(SymmetricTiles(observations.size, Y.dtype, block), rank, rng)

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """One block of the symmetrised matrix, in units of ``observations.unit``, with its gaps filled from YYᵀ."""
        raise NotImplementedError


@dataclass(frozen=True)
class Tailored(Filled):
    """The paper's tailor-designed start, eq. (init): absent entries are drawn on the side where they must lie.

    Entries of which absence says nothing are filled with zero.
    """

    name = "tailored"

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """Seen values, and q where absent: itself, or mirrored to where the entry may lie, τ − |q − τ| below τ."""
        pairs = pair_block(observations, rows, cols)
        tau, missing = observations.scaled_threshold, np.maximum(2 - pairs.seen, 1)
        if observations.limits.nothing:
            return _mix(pairs.mean, pairs.seen, np.zeros_like(pairs.mean))
        if tau is None:
            return _mix(pairs.mean, pairs.seen, _drawn(observations, Y[rows] @ Y[cols].T, rows, cols) / missing)
        away = np.abs(Y[rows] @ Y[cols].T - tau)
        draw = tau - away if observations.absence_says == "below" else tau + away
        return _mix(pairs.mean, pairs.seen, draw * (pairs.absent / missing))

    def _top(self, observations: Observations, Y: Array, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """By passes where the values are elsewhere; see :class:`_TailoredPasses`."""
        plain = observations.plain and (observations.limits.nothing or observations.limits.uniform)
        if not (observations.source.elsewhere and plain and observations.limits.unknown is None):
            return super()._top(observations, Y, rank, rng)
        Y = Y.astype(observations.dtype)
        first = rng.standard_normal((observations.size, min(rank + OVERSAMPLED, observations.size)))
        passes = MirroredPasses(observations, Y)
        return top_eigenpairs_by_passes(passes, passes.brought(first.astype(Y.dtype)), rank)


@dataclass(frozen=True)
class RandomImputation(Filled):
    """The paper's RI: every unseen entry is filled with q, on whichever side it falls."""

    name = "random-imputation"

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """Seen values, and q elsewhere."""
        pairs = pair_block(observations, rows, cols)
        return _mix(pairs.mean, pairs.seen, Y[rows] @ Y[cols].T)


@dataclass(frozen=True)
class RandomSpectral(Filled):
    """The paper's RS: q everywhere; of the data only their scale is used."""

    name = "random-spectral"

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """YYᵀ itself."""
        block: Array = Y[rows] @ Y[cols].T
        return block


@dataclass(frozen=True)
class Spectral(Filled):
    """Zero where nothing was seen, the rest over the share that was seen: the usual start without a threshold."""

    name = "spectral"

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """Seen values over their share, and zero."""
        pairs = pair_block(observations, rows, cols)
        filled = _mix(pairs.mean, pairs.seen, np.zeros_like(pairs.mean))
        return filled * (observations.room / observations.count)


def _drawn(observations: Observations, Q: Array, rows: slice, cols: slice) -> Array:
    """The sum over both ways round of what is put in for absent entries, each between its own limits.

    An entry that is missing by chance, and has a range, is put as near to zero as that allows.
    """
    total: Array = np.zeros_like(Q)
    for turned, (i, j) in enumerate(((rows, cols), (cols, rows))):
        ends = observations.limits.of(i, j).over(observations.unit)
        q = Q.T if turned else Q
        drawn = np.where(observations.limits.by_chance(i, j), ends.nearest(np.zeros_like(q)), ends.mirrored(q))
        drawn = drawn * observations.absent(i, j, observations.block(i, j))
        total += (drawn.T if turned else drawn).astype(Q.dtype)
    return total


def _mix(mean: Array, seen: NDArray[np.uint8], draw: Array) -> Array:
    """(Q̄ + Q̄ᵀ)/2: a pair seen one way round only is half seen, half drawn."""
    share = seen * mean.dtype.type(0.5)
    mixed: Array = share * mean + (1 - share) * draw
    return mixed
