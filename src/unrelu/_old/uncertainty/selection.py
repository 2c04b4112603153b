"""How far a threshold on noisy entries bends a fit: a shift that standard errors know nothing of.

Near the threshold the noise decides what is seen. What is seen is therefore too high on average (too low where the
entries below the threshold are seen), and the fit follows it: :func:`unrelu._old.uncertainty.passes.selection_products` has
the pull on each entry, and the normal equations, with the weights that entries are expected to have, turn it into a
shift. A shift of one standard error leaves a 95 % interval 83 %, one of two 48 %. The pull does not fall with n while
standard errors do, so that noise which a small matrix can bear may be too much for a large one.
"""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.data.observations import Observations
from unrelu._old.model.factors import Factors
from unrelu._old.model.losses import squared_loss
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.uncertainty.passes import Selection, selection_products
from unrelu._old.uncertainty.sensitivity import System

__all__ = ["SHIFTED", "in_words", "shifts"]

# Intervals are called in question where entries are shifted by more than so many of their standard errors, as the
# median over random unseen ones.
SHIFTED = 0.5


def shifts(system: System, observations: Observations, fit: Factors, sigma: float, i: Indices, j: Indices) -> Floats:
    """Expected shift of some entries, to first order, in units of ``observations.unit``.

    Parameters
    ----------
    system : System
        The normal equations at the fit.
    observations : Observations
        With a threshold.
    fit : Factors
        UUᵀ, or U D Uᵀ with signs D, in units of √``observations.unit``.
    sigma : float
        Of the noise, in units of ``observations.unit``.
    i, j : int ndarray
    """
    kernel = PSDProblem(observations, fit.rank, squared_loss(observations.limits)).kernel
    selection = Selection(
        observations.scaled_threshold or 0.0, observations.absence_says == "below", sigma, getattr(fit, "signs", 1.0)
    )
    pull, weights = selection_products(kernel, fit.left, system.basis, selection)
    d, _ = system.solve(pull, weights=weights)
    V = system.rows.basis
    moved: Floats = np.einsum("ek,ek->e", V[i], d[j]) + np.einsum("ek,ek->e", V[j], d[i])
    return moved


def in_words(shift: float) -> str | None:
    """What to say of a median shift of so many standard errors; None if it is nothing to speak of.

    Examples
    --------
    >>> in_words(0.3)
    >>> in_words(1.2)[:63]
    'the noise is so strong that it decided which entries were seen:'
    """
    if shift <= SHIFTED:
        return None
    return (
        f"the noise is so strong that it decided which entries were seen: this shifts entries by about {shift:.2g} "
        "standard errors, and intervals cover less than they say; read them as a lower bound of the error"
    )
