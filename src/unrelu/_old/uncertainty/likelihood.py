"""Error bars of a fit by likelihood: by Fisher's information, to which unseen entries contribute."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import Kernel
from unrelu._old.model.factors import Factors
from unrelu._old.model.losses import Loss, squared_loss
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.uncertainty.error_bars import ErrorBars
from unrelu._old.uncertainty.information import Information, InformationKernel
from unrelu._old.uncertainty.noise import Noise, noise_of_likelihood
from unrelu._old.uncertainty.passes import pair_residuals, seen_alike
from unrelu._old.uncertainty.sensitivity import RowFormula

__all__ = ["LikelihoodBars", "bars_of"]


class LikelihoodBars(ErrorBars):
    """Standard errors of the entries of UUᵀ as the likeliest fit: the Cramér–Rao bound at the fit.

    Parameters
    ----------
    factor, observations
        As in :class:`ErrorBars`; the limits of unseen entries are used.
    sigma : float
        The noise level of the likelihood, in the units of the data.
    given : bool, default False
        Whether that was given rather than estimated.
    options
        ``pairs``, ``determined``, ``doubt`` and ``loss`` of :class:`ErrorBars`.

    Examples
    --------
    >>> from unrelu._old.data.planted import planted
    >>> instance = planted(100, 2, sigma=1.0, symmetric_noise=True, rng=0)
    >>> X = np.where(instance.matrix >= 0, instance.matrix, np.nan)
    >>> import unrelu
    >>> found = unrelu.complete(X, rank=2, loss="censored", rng=0)
    >>> bars = LikelihoodBars(found.factor, Observations.of(X), sigma=1.0)
    >>> everywhere = np.arange(100)
    >>> low, high = bars.interval(everywhere[:, None], everywhere)
    >>> bool(0.92 < np.mean((low < instance.truth) & (instance.truth < high)) < 0.98)
    True
    """

    def __init__(
        self, factor: Array | Factors, observations: Observations, *, sigma: float, given: bool = False, **options: Any
    ) -> None:
        super().__init__(factor, observations, **options)
        self.sigma, self.given = float(sigma), given

    def _shift(self) -> float:
        """None: the likelihood knows how noise decides what is seen."""
        return 0.0

    def _information(self, observations: Observations, U: Array, one: bool) -> Information:
        return Information(observations, U, self.sigma / observations.unit, one, self.signs)

    def _kernel(self, observations: Observations, U: Array) -> tuple[Kernel, bool]:
        plain = PSDProblem(observations, U.shape[1], squared_loss(observations.limits)).kernel
        self._one = seen_alike(plain, observations) if self.pairs == "auto" else self.pairs == "one"
        # A pair of one measurement has one weight, so that no noise is counted twice.
        kernel: Any = InformationKernel(plain, self._information(observations, U, self._one))
        return kernel, False

    def _times(self, i: Indices, j: Indices) -> Floats:
        observations = self.observations
        U = self.factor / self.factor.dtype.type(np.sqrt(observations.unit))
        return self._information(observations, U, self._one).at(i, j)

    def _noise(self, kernel: Any, observations: Observations, fit: Factors, rows: RowFormula, frames: int) -> Noise:
        count, _, _ = pair_residuals(kernel.inner, fit.left, fit.right)
        m, r = rows.basis.shape
        values = count if self._one else observations.count
        pairs = "one" if self._one else "independent"
        unknowns = m * r - frames * observations.frame_numbers(r)
        return noise_of_likelihood(self.sigma, self.given, values, unknowns, pairs)


def bars_of(factor: Array | Factors, observations: Observations, loss: Loss | None, **options: Any) -> ErrorBars:
    """The error bars of a fit under a likelihood, or in squares; None: nothing is known of its loss."""
    if loss is None or loss.noise is None:
        return ErrorBars(factor, observations, loss=loss, **options)
    return LikelihoodBars(factor, observations, sigma=loss.noise, given=loss.noise_given, loss=loss, **options)
