"""The objective of a fitted matrix, in NumPy and SciPy, independent of the package."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from tests.golden.case import Intervals

__all__ = ["objective"]


def objective(fit: np.ndarray, known: Intervals, sigma: float, loss: str) -> float:
    """Return the cost of a fitted matrix.

    ``observed`` is ¼‖(M − X)_Ω‖², ``one-sided`` adds ¼ of the squared distances of missing entries from their
    intervals, and ``censored`` is the negative log-likelihood for normal noise of standard deviation sigma, without
    constants.
    """
    seen = ~np.isnan(known.values)
    squares = np.sum((fit - known.values)[seen] ** 2)
    low, high, missing = (np.broadcast_to(a, fit.shape)[~seen] for a in (known.low, known.high, fit))
    if loss == "observed":
        return float(squares / 4)
    if loss == "one-sided":
        beyond = np.maximum(missing - high, 0) + np.maximum(low - missing, 0)
        return float((squares + np.sum(beyond**2)) / 4)
    # log(Φ(b) − Φ(a)), on the side where the tails are small.
    a, b = (low - missing) / sigma, (high - missing) / sigma
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    with np.errstate(divide="ignore"):
        inside = log_ndtr(b) + np.log(-np.expm1(np.minimum(log_ndtr(a) - log_ndtr(b), -1e-300)))
    return float(squares / (2 * sigma**2) - np.sum(inside))
