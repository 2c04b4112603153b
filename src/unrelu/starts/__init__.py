"""Where a solver begins: one kind of start a file."""

from __future__ import annotations

from unrelu.starts.base import Start
from unrelu.starts.clique import Clique
from unrelu.starts.continuation import RankIncreasing, Shrinking
from unrelu.starts.given import Given
from unrelu.starts.random import Gaussian, RandomFill
from unrelu.starts.spectral import RandomImputation, RandomSpectral, Spectral, Tailored

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
