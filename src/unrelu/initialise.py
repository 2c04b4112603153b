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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unrelu.errors import InputError
from unrelu.factors import nearest_psd
from unrelu.kernels.bands import BandKernel
from unrelu.kernels.pairs import pair_block
from unrelu.kernels.symmetric import SymmetricTiles, top_eigenpairs
from unrelu.kernels.truncated import truncated_svd
from unrelu.losses import OneSided
from unrelu.observations import Observations
from unrelu.placement import best_placement

__all__ = [
    "STARTS",
    "Clique",
    "Gaussian",
    "RandomFill",
    "RandomImputation",
    "RandomSpectral",
    "Spectral",
    "Start",
    "Tailored",
]

Array = NDArray[np.floating[Any]]

# A column of U that is exactly zero stays zero under every gradient method: keep a little of each.
SMALLEST_EIGENVALUE = 1e-4


@dataclass(frozen=True)
class Start:
    """Top eigenvectors of the seen matrix with its gaps filled.

    Parameters
    ----------
    scaled : bool, default True
        Scale column k by the square root of the k-th eigenvalue; False: orthonormal columns, which the paper prints. Q
        is scaled to the data either way, which it does not.
    """

    scaled: bool = True
    name: ClassVar[str]

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """A factor of shape (n, rank) in the dtype of the data."""
        n = observations.size
        Y = rng.standard_normal((n, rank))
        Y *= np.sqrt(_scale(observations, Y))
        # float32 halves the memory and is more than a start needs; small matrices are not worth the loss.
        dtype = np.float64 if n <= 1000 and observations.dtype == np.float64 else np.float32
        small: Array = Y.astype(dtype)
        matrix = SymmetricTiles(n, dtype, lambda rows, cols: self.fill(observations, small, rows, cols))
        values, vectors = top_eigenpairs(matrix, rank, rng)
        if self.scaled:
            vectors = vectors * np.sqrt(np.maximum(values, SMALLEST_EIGENVALUE * max(values[0], 0.0)))
        if self.scaled:
            vectors = vectors * np.sqrt(observations.unit)
        factor = vectors.astype(observations.dtype)
        # Nothing speaks for any value in a row of which nothing was seen: least norm.
        factor[observations.empty_rows] = 0
        return factor

    def pair(self, observations: Observations, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Two factors for methods that have two: the same one twice, unless the start says otherwise."""
        factor = self(observations, rank, rng)
        return factor, factor

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """One block of the symmetrised matrix, in units of ``observations.unit``, with its gaps filled from YYᵀ."""
        raise NotImplementedError


@dataclass(frozen=True)
class Tailored(Start):
    """The paper's tailor-designed start, eq. (init): absent entries are drawn on the side where they must lie.

    Entries of which absence says nothing are filled with zero.
    """

    name = "tailored"

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """Seen values, and τ − |q − τ| (or its mirror image) where absent."""
        pairs = pair_block(observations, rows, cols)
        tau = observations.scaled_threshold
        if tau is None:
            return _mix(pairs.mean, pairs.seen, np.zeros_like(pairs.mean))
        away = np.abs(Y[rows] @ Y[cols].T - tau)
        draw = tau - away if observations.absence_says == "below" else tau + away
        missing = np.maximum(2 - pairs.seen, 1)
        return _mix(pairs.mean, pairs.seen, draw * (pairs.absent / missing))


@dataclass(frozen=True)
class RandomImputation(Start):
    """The paper's RI: every unseen entry is filled with q, on whichever side it falls."""

    name = "random-imputation"

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """Seen values, and q elsewhere."""
        pairs = pair_block(observations, rows, cols)
        return _mix(pairs.mean, pairs.seen, Y[rows] @ Y[cols].T)


@dataclass(frozen=True)
class RandomSpectral(Start):
    """The paper's RS: q everywhere; of the data only their scale is used."""

    name = "random-spectral"

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """YYᵀ itself."""
        block: Array = Y[rows] @ Y[cols].T
        return block


@dataclass(frozen=True)
class Spectral(Start):
    """Zero where nothing was seen, the rest over the share that was seen: the usual start without a threshold."""

    name = "spectral"

    def fill(self, observations: Observations, Y: Array, rows: slice, cols: slice) -> Array:
        """Seen values over their share, and zero."""
        pairs = pair_block(observations, rows, cols)
        filled = _mix(pairs.mean, pairs.seen, np.zeros_like(pairs.mean))
        return filled * (observations.size**2 / observations.count)


@dataclass(frozen=True)
class Gaussian(Start):
    """Independent normal entries, scaled to the data; methods with two factors get two draws."""

    name = "gaussian"

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """One draw."""
        return self.pair(observations, rank, rng)[0]

    def pair(self, observations: Observations, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Two draws."""
        Y = rng.standard_normal((2, observations.size, rank))
        Y *= np.sqrt(_scale(observations, Y[0]) * observations.unit)
        left, right = Y.astype(observations.dtype)
        return left, right


@dataclass(frozen=True)
class RandomFill(Start):
    """The seen entries, and independent normal ones moved to their side elsewhere: two factors of the leading part.

    It is where the paper's PAM is after its first step. The noise has the size it has there, the rms of the seen
    entries over the square root of the rank.
    """

    name = "random-fill"

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """The factor of the nearest positive semidefinite matrix."""
        return nearest_psd(*self.pair(observations, rank, rng), rank)[0]

    def pair(self, observations: Observations, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Both factors."""
        n, bands = observations.size, BandKernel(observations, OneSided())
        filled = rng.standard_normal((n, n)).astype(observations.dtype)
        filled *= observations.scaled_norm / np.sqrt(observations.count * rank)
        for band in bands.bands:
            bands.clip(band, filled[band.rows])
        found = truncated_svd(filled, rank)
        root = np.sqrt(found.values * observations.unit)
        return (found.left * root).astype(observations.dtype), (found.right * root).astype(observations.dtype)


@dataclass(frozen=True)
class Clique(Start):
    """Rows placed from one fully seen block, :mod:`unrelu.placement`; without noise it is the answer."""

    name = "clique"

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """A factor of shape (n, rank) in the dtype of the data."""
        placement = best_placement(observations, rank, rng)
        if placement is None:
            raise InputError(
                f"no fully seen block of rank {rank} was found, which start 'clique' needs; try 'tailored'"
            )
        factor = placement.completed(observations) * np.sqrt(observations.unit)
        return factor.astype(observations.dtype)


STARTS: dict[str, type[Start]] = {
    start.name: start for start in (Clique, Tailored, RandomImputation, RandomSpectral, Spectral, Gaussian, RandomFill)
}


def _mix(mean: Array, seen: NDArray[np.uint8], draw: Array) -> Array:
    """(Q̄ + Q̄ᵀ)/2: a pair seen one way round only is half seen, half drawn."""
    share = seen * mean.dtype.type(0.5)
    mixed: Array = share * mean + (1 - share) * draw
    return mixed


def _scale(observations: Observations, Y: Array) -> float:
    """The factor s by which s·YYᵀ, looked at through the same threshold, has the rms of the seen entries.

    At τ = 0 the threshold leaves the rms of a symmetric distribution alone and s is a plain ratio; otherwise
    mean{(sq)² : sq on the seen side} grows with s, and bisection finds it.
    """
    target = observations.scaled_norm**2 / observations.count
    other = np.roll(Y, 1, axis=0) if len(Y) > 1 else Y
    q = np.einsum("ik,ik->i", Y, other)
    plain = float(np.sqrt(target / np.mean(q**2))) if target > 0 else 1.0
    tau = observations.scaled_threshold
    if tau is None or tau == 0 or target == 0:
        return plain
    side = q if observations.seen == "above" else -q
    bar = tau if observations.seen == "above" else -tau
    low, high = plain * 1e-3, plain * 1e3
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        visible = middle * side[middle * side >= bar]
        if visible.size == 0 or np.mean(visible**2) < target:
            low = middle
        else:
            high = middle
    return float(np.sqrt(low * high))
