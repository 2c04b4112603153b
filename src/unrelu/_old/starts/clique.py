"""Rows placed from one block that was seen in full."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError
from unrelu._old.data.observations import Observations
from unrelu._old.placing.placement import best_placement
from unrelu._old.placing.table import table_placement
from unrelu._old.starts.base import Start

__all__ = ["Clique"]


@dataclass(frozen=True)
class Clique(Start):
    """Rows placed from one fully seen block, :mod:`unrelu._old.placing.placement`; without noise it is the answer."""

    name = "clique"

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """A factor of shape (n, rank) in the dtype of the data."""
        find = best_placement if observations.source.cut is None else table_placement
        placement = find(observations, rank, rng)
        if placement is None:
            raise InputError(
                f"no fully seen block of rank {rank} was found, which start 'clique' needs; try 'tailored'"
            )
        factor = placement.completed(observations) * np.sqrt(observations.unit)
        return factor.astype(observations.dtype)
