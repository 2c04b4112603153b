"""Starts drawn at random: normal factors, and normal entries in the gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.bands import Band, BandKernel
from unrelu._old.kernels.truncated import truncated_svd
from unrelu._old.model.factors import nearest_psd
from unrelu._old.model.losses import squared_loss
from unrelu._old.starts.base import Start, scale_of

__all__ = ["Gaussian", "RandomFill"]


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
        Y *= np.sqrt(scale_of(observations, Y[0]) * observations.unit)
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
        """Both factors; of a table one above the other, twice."""
        bands = BandKernel(observations, squared_loss(observations.limits))
        filled = rng.standard_normal(bands.shape).astype(observations.dtype)
        filled *= bands.norm / np.sqrt(bands.count * rank)

        def visit(chunk: list[Band]) -> None:
            for band in chunk:
                band.clip(filled[band.rows])

        bands.over(visit)
        found = truncated_svd(filled, rank)
        root = np.sqrt(found.values * observations.unit)
        left, right = (found.left * root).astype(observations.dtype), (found.right * root).astype(observations.dtype)
        return bands.joined(left, right)
