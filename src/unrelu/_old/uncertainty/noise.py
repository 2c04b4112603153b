"""The noise level of some data, from what a fit leaves of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.base.errors import InputError, is_number, unknown_name
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import Kernel
from unrelu._old.model.factors import Factors
from unrelu._old.uncertainty.passes import pair_residuals
from unrelu._old.uncertainty.sensitivity import RowFormula

__all__ = ["PAIRS", "Noise", "level_checked", "noise_of_likelihood", "noise_of_residuals", "pairs_checked"]

PAIRS = ("auto", "one", "independent")


@dataclass(frozen=True)
class Noise:
    """The noise level of some data, from what a fit leaves of them.

    Attributes
    ----------
    sigma : float
        σ̂ = √(Σ residual² / degrees of freedom), in the units of the data; infinite without degrees of freedom.
    degrees_of_freedom : int
        Seen values with a noise of their own, less the nr − r(r−1)/2 numbers that the fit chose.
    pairs : {"one", "independent"}
        Whether (i, j) and (j, i) carry one noise or two.
    description : str
        The same in a sentence.
    """

    sigma: float
    degrees_of_freedom: int
    pairs: str
    description: str

    def __str__(self) -> str:
        return self.description


def pairs_checked(pairs: Any) -> str:
    """One of the three names, or an error."""
    if not isinstance(pairs, str) or pairs not in PAIRS:
        raise unknown_name("pairs", pairs, PAIRS)
    return pairs


def level_checked(level: Any) -> float:
    """The probability of an interval, or an error."""
    if not (is_number(level) and 0 < level < 1):
        raise InputError(f"level must be a probability between 0 and 1, such as 0.95; got {level!r}")
    return float(level)


def noise_of_residuals(
    kernel: Kernel, observations: Observations, fit: Factors, rows: RowFormula, frames: int, one: bool
) -> Noise:
    """σ̂² = Σ residual² over the degrees of freedom; ``frames`` pieces have a rotation of their own each.

    ``one``: whether a pair carries one noise. With weights σ̂ is that of an entry of weight 1.
    """
    count, once, weighted = pair_residuals(kernel, fit.left, fit.right)
    m, r = rows.basis.shape
    unknowns = m * r - frames * observations.frame_numbers(r)  # every piece has a frame of its own: it does not count
    once = once if observations.plain else weighted
    values, squares = (count, once) if one else (observations.count, weighted + 4 * kernel.constant)
    freedom, pairs = values - unknowns, "one" if one else "independent"
    what = f"{values} seen {'pairs with one noise each' if one else 'entries with a noise each'}"
    if freedom <= 0:
        words = f"{what} leave nothing over for {unknowns} unknowns to tell noise by: every error is infinite"
        return Noise(float("inf"), freedom, pairs, words)
    sigma = float(np.sqrt(squares / freedom)) * observations.unit
    rounding = float(np.finfo(observations.dtype).eps) * observations.norm / float(np.sqrt(observations.count))
    words = f"noise of standard deviation {max(sigma, rounding):.3g}, from {what} less {unknowns} unknowns"
    if sigma < rounding:
        words += "; the fit is as exact as the data can be, and this is their rounding"
    return Noise(max(sigma, rounding), freedom, pairs, words)


def noise_of_likelihood(sigma: float, given: bool, values: int, unknowns: int, pairs: str) -> Noise:
    """The σ of a likelihood: as it was given, or as it was estimated, per degree of freedom of the seen values.

    The likeliest σ is too small by what the fit takes of the noise, the share unknowns/values of its variance; unseen
    entries tell little of σ, and are not counted.
    """
    freedom = values - unknowns
    what = f"{values} seen {'pairs with one noise each' if pairs == 'one' else 'entries with a noise each'}"
    if given:
        return Noise(sigma, max(freedom, 1_000_000), pairs, f"noise of standard deviation {sigma:.3g}, as it was given")
    if freedom <= 0:
        words = f"{what} leave nothing over for {unknowns} unknowns to tell noise by: every error is infinite"
        return Noise(float("inf"), freedom, pairs, words)
    sigma = sigma * float(np.sqrt(values / freedom))
    words = f"noise of standard deviation {sigma:.3g}, by likelihood from {what} and {unknowns} unknowns"
    return Noise(sigma, freedom, pairs, words)
