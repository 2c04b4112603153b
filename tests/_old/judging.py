"""What several tests of the four words share."""

import warnings

import numpy as np

import unrelu
from unrelu import CompletionWarning
from unrelu._old.data.observations import Observations
from unrelu._old.proofs.determine import determine
from unrelu._old.proofs.direct import DataError


def completed(X, rank, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        return unrelu.complete(X, rank, **options)


def judged(X, factor, *, misfit=0.0, at_floor=True, **absence):
    """What :func:`determine` says with this factor as the fit."""
    observations = Observations.of(X, **absence)
    error = DataError.of(observations, factor.shape[1], None)
    scaled = factor / np.sqrt(observations.unit)
    rng = np.random.default_rng(0)
    return determine(observations, scaled, error, misfit / observations.unit, rng, at_floor=at_floor)


def both_determined(found, i, j):
    """Whether entry (i, j), not seen, is said to have one value."""
    return found.of_entries(np.array([i]), np.array([j]), np.array([False]))[0] >= 2


def hidden(M, pairs):
    X = M.astype(float).copy()
    for i, j in pairs:
        X[i, j] = X[j, i] = np.nan
    return X
