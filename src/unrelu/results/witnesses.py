"""Who is asked about a completion later: which rows the data determine, and how far noise moves its entries.

A completion holds neither the answers nor the machinery. It is handed its witnesses by whoever made it, and asks them
when it is asked itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unrelu.base.errors import InputError
from unrelu.data.observations import Observations
from unrelu.judge.remarks import beyond_rank
from unrelu.kernels.threads import owning_the_cores
from unrelu.loop.history import Stop, Verdict
from unrelu.model.losses import Censored, Loss
from unrelu.proofs.determinacy import NO, Determinacy
from unrelu.proofs.determine import determine
from unrelu.proofs.direct import DataError
from unrelu.uncertainty.error_bars import ErrorBars
from unrelu.uncertainty.likelihood import bars_of
from unrelu.uncertainty.rivals import rows_with_rivals

__all__ = ["PSDWitnesses", "RowsKnown", "Silent", "Witnesses", "likelihood_of", "witnesses_for"]


class _Answer(Protocol):
    """What witnesses need to know of a completion."""

    factor: NDArray[np.floating[Any]]
    left: NDArray[np.floating[Any]] | None
    residual: float
    verdict: Verdict
    pairs: str
    sigma: float | None
    sigma_given: bool

    @property
    def at_floor(self) -> bool:
        """Whether the fit is as good as the data allow."""


@dataclass(frozen=True, eq=False)
class RowsKnown:
    """What the data say of the rows: what was seen, how far a seen entry may be off, and the words."""

    observations: Observations
    error: DataError
    determinacy: Determinacy


class Witnesses(Protocol):
    """Two questions about a completion, each with what was seen."""

    def rows(self, completion: Any, observations: Observations) -> RowsKnown:
        """Which rows the data determine."""

    def error_bars(self, completion: Any, seen: Observations, determined: NDArray[np.bool_]) -> ErrorBars:
        """How far noise moves the entries, of determined rows."""


@dataclass(frozen=True)
class PSDWitnesses:
    """Of a positive semidefinite completion: proofs, general position, and the curvature of the fit."""

    def rows(self, completion: _Answer, observations: Observations) -> RowsKnown:
        """By :func:`unrelu.proofs.determine.determine`, and with noise by fits that are nearly as good."""
        size, rank = completion.factor.shape
        with owning_the_cores():
            factor = completion.factor.astype(np.float64) / np.sqrt(observations.unit)
            error = DataError.of(observations, rank, None)
            # The objective of a method with two factors is not that of UUᵀ.
            # Its square may be too small for a number, what is relative is not.
            misfit = completion.residual * observations.scaled_norm if completion.left is None else np.inf
            misfit = misfit if observations.plain else np.inf  # that is known of weighted entries alone
            rng = np.random.default_rng([size, rank])  # the same question, the same answer
            found = determine(observations, factor, error, misfit, rng, at_floor=completion.at_floor)
            if completion.verdict.code is Stop.FITTED_TO_NOISE:
                known = found.determined, completion.pairs
                rivals = rows_with_rivals(observations, factor, known, likelihood_of(completion), rng)
                found = found.at_most_local(rivals)
            return RowsKnown(observations, error, found)

    def error_bars(self, completion: _Answer, seen: Observations, determined: NDArray[np.bool_]) -> ErrorBars:
        """By the Gauss–Newton matrix of the fit, or by Fisher's information."""
        rank = completion.factor.shape[1]
        doubt = beyond_rank(rank) if completion.verdict.code is Stop.BEST_OF_RANK else None
        options = dict(pairs=completion.pairs, determined=determined, doubt=doubt)
        return bars_of(completion.factor, seen, likelihood_of(completion), **options)


@dataclass(frozen=True)
class Silent:
    """Of any other completion: nothing is known of its rows yet."""

    def rows(self, completion: _Answer, observations: Observations) -> RowsKnown:
        """No row is called determined."""
        n = len(completion.factor)
        nothing = Determinacy(np.full(n, NO), np.full(n, -1), [], (), False)
        return RowsKnown(observations, DataError.of(observations, completion.factor.shape[1], None), nothing)

    def error_bars(self, completion: _Answer, seen: Observations, determined: NDArray[np.bool_]) -> ErrorBars:
        """There are none."""
        raise InputError("error bars are known for positive semidefinite completions only; this one has two factors")


def likelihood_of(completion: Any) -> Loss | None:
    """The likelihood that was fitted, at its noise level; None for squares."""
    if completion.sigma is None:
        return None
    return Censored(completion.sigma) if completion.sigma_given else Censored(level=completion.sigma)


def witnesses_for(*, symmetric: bool) -> Witnesses:
    """Who knows of a completion UUᵀ, or of one with two factors."""
    return PSDWitnesses() if symmetric else Silent()
