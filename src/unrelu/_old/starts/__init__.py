"""Where a solver begins: one kind of start a file."""

from __future__ import annotations

from unrelu._old.starts.base import Start
from unrelu._old.starts.clique import Clique
from unrelu._old.starts.continuation import RankIncreasing, Shrinking
from unrelu._old.starts.given import Given
from unrelu._old.starts.random import Gaussian, RandomFill
from unrelu._old.starts.spectral import RandomImputation, RandomSpectral, Spectral, Tailored

__all__ = [
    "STARTS",
    "Clique",
    "Gaussian",
    "Given",
    "RandomFill",
    "RandomImputation",
    "RandomSpectral",
    "RankIncreasing",
    "Shrinking",
    "Spectral",
    "Start",
    "Tailored",
]

STARTS: dict[str, type[Start]] = {
    start.name: start
    for start in (
        Clique,
        Tailored,
        RandomImputation,
        RandomSpectral,
        Spectral,
        Gaussian,
        RandomFill,
        RankIncreasing,
        Shrinking,
    )
}
