"""How far the entries of a completion may be off, and between what an entry lies that was not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsed import Rehearsal
from unrelu._old.base.errors import warn
from unrelu._old.data.observations import Observations
from unrelu._old.model.detection import DetectionCurve
from unrelu._old.results.forecasts import predicted, predicted_by_rehearsal
from unrelu._old.results.hidden import predicted_hidden
from unrelu._old.results.posterior import Posterior
from unrelu._old.uncertainty.error_bars import ErrorBars
from unrelu._old.uncertainty.noise import Noise

__all__ = ["Uncertain"]


class Uncertain:
    """What every completion says of its errors; ``error_bars`` finds them."""

    symmetric: bool
    rehearsal: Rehearsal | None
    sigma: float | None
    detection: DetectionCurve | None

    @property
    def posterior(self) -> Posterior | None:
        """What was sampled, if anything was."""
        return None

    @property
    def forecasts(self) -> bool:
        """Whether entries are forecast by a model that was rehearsed."""
        raise NotImplementedError

    def entries(self, rows: ArrayLike, cols: ArrayLike) -> Any:
        """Entries of the fit."""
        raise NotImplementedError

    def error_bars(self, X: Any = None) -> ErrorBars:
        """The error bars of this fit."""
        raise NotImplementedError

    def _with_limits(self, X: Any) -> Observations:
        """What was seen, and what absence says."""
        raise NotImplementedError

    def _of_any(self, seen: Observations) -> NoStructure | None:
        """What is known of an entry that nothing determines, if anything is."""
        raise NotImplementedError

    def _places_of_errors(self, rows: ArrayLike, cols: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where entries stand for the error bars."""
        raise NotImplementedError

    @property
    def noise(self) -> Noise:
        """Noise level of the seen entries, with degrees of freedom; after :meth:`load` call ``error_bars(X)`` first."""
        if self.posterior is not None:
            return self.posterior.noise
        return self.error_bars().noise

    def standard_errors(self, rows: ArrayLike, cols: ArrayLike, X: Any = None) -> Any:
        """Standard errors of the fit; infinite in rows that are not determined. Of a posterior its deviations.

        Parameters
        ----------
        rows, cols : positions or labels that broadcast against each other
        X : optional
            The matrix that was completed; needed only after :meth:`load`.
        """
        if self.posterior is not None:
            return self.posterior.standard_deviation(rows, cols)
        return self.error_bars(X).standard_errors(*self._places_of_errors(rows, cols))

    def interval(self, rows: ArrayLike, cols: ArrayLike, level: float = 0.95, X: Any = None) -> Any:
        """(low, high): between them the noiseless entry lies with probability ``level``.

        Where the noise is so large that it decided what was seen, or the data are not of this rank, they do not cover
        as often, and a :class:`~unrelu.CompletionWarning` says so.

        Parameters
        ----------
        rows, cols : positions or labels that broadcast against each other
        level : float, default 0.95
        X : optional
            The matrix that was completed; needed only after :meth:`load`.
        """
        if self.posterior is not None:
            return self.posterior.mean_interval(rows, cols, level)
        return self._with_caution(X).interval(*self._places_of_errors(rows, cols), level)

    def _with_caution(self, X: Any) -> ErrorBars:
        """The error bars, with a warning to whoever asked if they should not be trusted."""
        bars = self.error_bars(X)
        if bars.caution is not None:
            warn(bars.caution)
        return bars

    def predict(self, rows: ArrayLike, cols: ArrayLike, level: float = 0.95, X: Any = None) -> Any:
        """(low, high): between them the entry itself lies with probability ``level``, its noise included.

        :meth:`interval` is for what an entry would be without noise; this is for what would have been measured. An
        entry that went unseen because of its value lies beyond its limit, and so does its interval. A seen entry has
        the value that was seen. It warns where :meth:`interval` does.

        Parameters
        ----------
        rows, cols : positions or labels that broadcast against each other
        level : float, default 0.95
        X : optional
            The matrix that was completed; needed only after :meth:`load`.

        Examples
        --------
        >>> import unrelu
        >>> from unrelu._old.data.planted import planted
        >>> instance = planted(80, 2, sigma=0.5, symmetric_noise=True, rng=0)
        >>> found = unrelu.complete(np.where(instance.matrix >= 0, instance.matrix, np.nan), rank=2, rng=0)
        >>> i, j = np.nonzero(np.triu(instance.matrix < 0, 1))
        >>> low, high = found.predict(i, j)
        >>> bool(high.max() <= 0), bool(0.92 < np.mean((low <= instance.matrix[i, j])) < 0.99)
        (True, True)
        """
        if self.posterior is not None:
            return self.posterior.interval(rows, cols, level, X)
        if self.forecasts:
            assert self.rehearsal is not None
            assert self.sigma is not None
            places, observations = self._places_of_errors(rows, cols), self._with_limits(X)
            fits = self.entries(rows, cols), self.sigma
            return predicted_by_rehearsal(self.rehearsal, fits, observations, places, level)
        bars, observations = self._with_caution(X), self._with_limits(X)
        places = self._places_of_errors(rows, cols)
        # With a noise of its own an entry is not the one across the diagonal, and that one does not tell its value.
        mirrored = self.symmetric and bars.noise.pairs == "one"
        if self.detection is not None:
            return predicted_hidden(self.detection, bars, observations, places, level, both_ways=mirrored)
        known = self._of_any(observations)
        return predicted(bars, observations, places, level, both_ways=mirrored, alone=known)
