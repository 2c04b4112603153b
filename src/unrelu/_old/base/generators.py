"""Random numbers of our own, from whatever a caller names as ``rng``."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.errors import InputError

__all__ = ["generator_of"]


def generator_of(rng: Any) -> np.random.Generator:
    """A random stream of our own (SPEC 7): with the seed that drew the data it must not draw the same numbers again."""
    try:
        if isinstance(rng, bool):
            raise TypeError
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(f"rng must be an integer ≥ 0, a numpy Generator or None, got {rng!r}") from None
    try:
        return generator.spawn(1)[0]
    except TypeError:  # a bit generator without a seed sequence cannot spawn
        return generator
