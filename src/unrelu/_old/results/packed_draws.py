"""What chains have drawn, as arrays of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.loop.chains import FEWEST, Draws

__all__ = ["pack_draws", "unpack_draws"]


def pack_draws(drawn: Draws | None) -> dict[str, NDArray[Any]]:
    """Arrays that hold them; none if nothing was drawn.

    Examples
    --------
    >>> draws = Draws()
    >>> for k in range(8):
    ...     draws = draws.then(np.full((2, 1, 1), float(k)), np.ones(2))
    >>> unpack_draws(pack_draws(draws)).numbers == draws.numbers
    True
    """
    if drawn is None:
        return {}
    factors, sigmas = drawn.stacked()
    numbers = np.array([drawn.sweeps, drawn.every, int(drawn.one), *drawn.numbers])
    return {"drawn_factors": factors, "drawn_sigmas": sigmas, "drawn_numbers": numbers}


def unpack_draws(stored: Mapping[str, Any]) -> Draws | None:
    """The same from a file; None if it has none."""
    if "drawn_factors" not in stored:
        return None
    factors, sigmas, numbers = (stored[f"drawn_{name}"] for name in ("factors", "sigmas", "numbers"))
    whole = factors.ndim == 4 and sigmas.shape == factors.shape[:2] and len(numbers) == factors.shape[1] + 3
    if not (whole and factors.shape[1] >= FEWEST and np.isfinite(factors).all() and np.isfinite(sigmas).all()):
        raise InputError("the draws in this file are not whole; save the completion anew")
    places = range(factors.shape[1])
    sweeps, every, one, *kept = (int(number) for number in numbers)
    each = tuple(factors[:, k] for k in places), tuple(sigmas[:, k] for k in places)
    return Draws(*each, tuple(kept), sweeps, every, bool(one))
