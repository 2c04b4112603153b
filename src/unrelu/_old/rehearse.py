"""The front door of the rehearsal: how well could entries beyond the threshold be forecast."""

from __future__ import annotations

from typing import Any

from unrelu._old.auto.choices import diagonal_named, rank_checked
from unrelu._old.auto.path import rehearsed
from unrelu._old.auto.rehearsed import Rehearsal
from unrelu._old.base.generators import generator_of
from unrelu._old.data.observations import Observations
from unrelu._old.data.terms import Terms
from unrelu._old.kernels.threads import owning_the_cores

__all__ = ["rehearse"]


@owning_the_cores()
def rehearse(
    X: Any,
    rank: int | None = None,
    *,
    threshold: Any = 0.0,
    seen: str = "above",
    unknown: Any = None,
    entry_range: tuple[float, float] | None = None,
    diagonal: str = "auto",
    rng: Any = None,
) -> Rehearsal:
    """Raise the threshold on the data one has, and see how well what that hides is forecast.

    What lies between the threshold and a higher one is hidden as the sensor would have, models are fitted to the rest,
    and their forecasts are scored by the likelihood of what was hidden. Two thresholds are tried, with a quarter and a
    half of the seen pairs hidden. Where absence says nothing, a tenth of the pairs is held out whatever they are.
    :func:`unrelu.complete` does the same where no rank is named, and fits the model that forecasts best.

    Parameters
    ----------
    X, threshold, seen, unknown, entry_range
        As in :func:`unrelu.complete`.
    rank : int, optional
        The rank that is rehearsed, with smaller ones on the way to it. Default: all models of the menu, low rank and
        any rank with a trace penalty.
    diagonal : {"auto", "data", "limit", "unknown"}, default "auto"
        What the diagonal is to the models; ``auto``: data, and an upper limit of ‖u_i‖².
    rng : int, Generator or None
        Chooses pairs to be scored, where there are very many, and those that are held out.

    Returns
    -------
    Rehearsal
        The models that were tried, their scores, the error of a forecast, and whether the best of them extrapolates.

    Raises
    ------
    InputError
        If the input cannot be what was meant, or there is too little of it to hide some.

    Examples
    --------
    >>> import numpy as np, unrelu
    >>> rng = np.random.default_rng(0)
    >>> U = rng.standard_normal((60, 3))
    >>> M = U @ U.T + 0.3 * rng.standard_normal((60, 60))
    >>> M = np.tril(M) + np.tril(M, -1).T  # one measurement per pair
    >>> shown = unrelu.rehearse(np.where(M >= 0, M, np.nan), rank=3, rng=0)
    >>> shown.extrapolates, bool(0.25 < shown.sigma < 0.4)
    (True, True)
    """
    diagonal = diagonal_named(diagonal)
    observations = Observations.of(X, Terms(threshold, seen, unknown, entry_range))
    rank = None if rank is None else rank_checked(rank, observations.size)
    return rehearsed(observations, rank, diagonal, generator_of(rng))
