"""Who is asked about a completion later: which rows the data determine, and how far noise moves its entries.

A completion holds neither the answers nor the machinery. It is handed its witnesses by whoever made it, and asks them
when it is asked itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.base.tolerances import FLOOR_NOISELESS, TABLE_AGREES
from unrelu._old.data.mirrored import as_table
from unrelu._old.data.observations import Observations
from unrelu._old.judge.remarks import beyond_rank
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.model.factors import Factors
from unrelu._old.model.losses import LOSSES, Censored, Loss
from unrelu._old.proofs.agreement import cleared
from unrelu._old.proofs.determinacy import NO, PROVED, Determinacy
from unrelu._old.proofs.determine import determine
from unrelu._old.proofs.direct import DataError
from unrelu._old.proofs.intervals import Known, entry_bounds
from unrelu._old.proofs.table import determine_table
from unrelu._old.uncertainty.error_bars import ErrorBars
from unrelu._old.uncertainty.likelihood import bars_of
from unrelu._old.uncertainty.rivals import rows_with_rivals

__all__ = [
    "Forecasting",
    "IndefiniteWitnesses",
    "PSDWitnesses",
    "RowsKnown",
    "Sampling",
    "Silent",
    "Witnesses",
    "doubt_of",
    "likelihood_of",
    "loss_of",
    "proved_bounds",
    "witnesses_for",
]


class _Answer(Protocol):
    """What witnesses need to know of a completion."""

    factor: NDArray[np.floating[Any]]
    factors: Any
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
    """Three questions about a completion, each with what was seen."""

    def rows(self, completion: Any, observations: Observations) -> RowsKnown:
        """Which rows the data determine."""

    def error_bars(self, completion: Any, seen: Observations, determined: NDArray[np.bool_]) -> ErrorBars:
        """How far noise moves the entries, of determined rows."""

    def bounds(self, completion: Any, known: RowsKnown, rows: Indices, cols: Indices) -> tuple[Floats, Floats]:
        """Between which numbers single entries are sure to lie."""


@dataclass(frozen=True)
class PSDWitnesses:
    """Of a positive semidefinite completion: proofs, general position, and the curvature of the fit."""

    def rows(self, completion: _Answer, observations: Observations) -> RowsKnown:
        """By :func:`unrelu._old.proofs.determine.determine`, and with noise by fits that are nearly as good."""
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
        options = dict(pairs=completion.pairs, determined=determined, doubt=doubt_of(completion))
        return bars_of(completion.factors, seen, loss_of(completion), **options)

    def bounds(self, completion: _Answer, known: RowsKnown, rows: Indices, cols: Indices) -> tuple[Floats, Floats]:
        """By :func:`unrelu._old.proofs.intervals.entry_bounds`."""
        observations = known.observations
        factor, _ = cleared(observations, completion.factor.astype(np.float64) / np.sqrt(observations.unit))
        told = Known.of(observations, factor, known.error, known.determinacy)
        low, high = entry_bounds(told, rows, cols)
        return low * observations.unit, high * observations.unit


@dataclass(frozen=True)
class IndefiniteWitnesses(PSDWitnesses):
    """Of a symmetric completion with signs: what is proved of it as a table, and the curvature of the fit."""

    def rows(self, completion: _Answer, observations: Observations) -> RowsKnown:
        """A row is determined if it is, as a row and as a column, in one body of the table."""
        size, rank = completion.factor.shape
        table = as_table(observations)
        left, right = completion.factors.left, completion.factors.right
        factor = np.vstack([left, right]).astype(np.float64) / np.sqrt(table.unit)
        rng = np.random.default_rng([size, rank])  # the same question, the same answer
        exact = completion.residual <= FLOOR_NOISELESS[completion.factor.dtype.name]
        with owning_the_cores():
            found = determine_table(table, factor, rng, at_floor=completion.at_floor, exact=exact)
        together = found.components[:size] == found.components[size:]
        rank_of = np.where(together, np.minimum(found.rank_of[:size], found.rank_of[size:]), NO)
        components = np.where(together, found.components[:size], -1)
        known = Determinacy(rank_of, components, [], found.proofs, found.agrees)
        return RowsKnown(observations, DataError.of(observations, rank, None), known)

    def bounds(self, completion: _Answer, known: RowsKnown, rows: Indices, cols: Indices) -> tuple[Floats, Floats]:
        """What is proved, with room for rounding; else what was seen, and what absence says."""
        low, high = _told(known, rows, cols)
        levels = known.determinacy.of_entries(rows, cols, np.zeros(len(rows), bool))
        return proved_bounds(completion.factors, (rows, cols), (low, high), (levels == PROVED) & (low < high))


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
        raise InputError(
            "error bars are known for completions by one factor and for tables; this one is square and has two factors"
        )

    def bounds(self, completion: _Answer, known: RowsKnown, rows: Indices, cols: Indices) -> tuple[Floats, Floats]:
        """What was seen, and what absence says of the rest; here (i, j) and (j, i) may differ."""
        observations = known.observations
        values = observations.source.at(rows, cols).astype(np.float64)
        unseen, told = np.isnan(values), observations.told_at(rows, cols)
        low, high = observations.limits.at(rows, cols, observations.source.shape)
        low, high = np.where(told, low, -np.inf), np.where(told, high, np.inf)
        return np.where(unseen, low, values), np.where(unseen, high, values)


@dataclass(frozen=True)
class Forecasting(Silent):
    """Of a model that was rehearsed: it forecasts, and determines no row."""

    def error_bars(self, completion: _Answer, seen: Observations, determined: NDArray[np.bool_]) -> ErrorBars:
        """There are none: of data that are of no low rank nobody knows what the noiseless entry is."""
        raise InputError(
            f"this completion {completion.verdict.code.value}: it has forecasts of entries, and no errors of a "
            "noiseless matrix; ask predict(rows, cols) for intervals"
        )


@dataclass(frozen=True)
class Sampling(Silent):
    """Of a posterior: it says how likely entries are, and determines no row."""

    def error_bars(self, completion: _Answer, seen: Observations, determined: NDArray[np.bool_]) -> ErrorBars:
        """There are none: the draws say more than a normal distribution around one point."""
        raise InputError(
            "this completion was sampled, and its errors are those of its draws; ask standard_errors, interval or "
            "predict, or completion.posterior"
        )


def likelihood_of(completion: Any) -> Loss | None:
    """The likelihood that was fitted, at its noise level; None for squares."""
    if completion.sigma is None:
        return None
    return Censored(completion.sigma) if completion.sigma_given else Censored(level=completion.sigma)


def loss_of(completion: Any) -> Loss | None:
    """The loss that was fitted, at its noise level; None for one of the caller's own, or with a curve of its own."""
    if completion.loss == "detected":
        return None
    named = LOSSES.get(completion.loss)
    return likelihood_of(completion) or (None if named is None else named())


def doubt_of(completion: Any) -> str | None:
    """Why the intervals of a fit say less than they seem to, in a sentence."""
    return beyond_rank(completion.rank) if completion.verdict.code is Stop.BEST_OF_RANK else None


def witnesses_for(
    *, symmetric: bool, signed: bool = False, forecasts: bool = False, sampled: bool = False
) -> Witnesses:
    """Who knows of a completion UUᵀ, of one with signs, of one with two factors, of forecasts, or of a posterior."""
    if sampled:
        return Sampling()
    if forecasts:
        return Forecasting()
    if signed:
        return IndefiniteWitnesses()
    return PSDWitnesses() if symmetric else Silent()


def proved_bounds(
    factors: Factors, places: tuple[Indices, Indices], ends: tuple[Floats, Floats], sure: Bools
) -> tuple[Floats, Floats]:
    """Bounds of entries by linear steps: where one is ``sure`` its fit, as near as that must agree with what was seen.

    Within the ``ends`` that are known otherwise.
    """
    (rows, cols), (low, high) = places, ends
    left, right = (side.astype(np.float64) for side in (factors.left, factors.right))
    fit = np.einsum("...k,...k->...", left[rows], right[cols])
    sizes = np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1)
    largest = np.maximum(sizes[0][rows] * sizes[1][cols], np.mean(sizes[0]) * np.mean(sizes[1]))
    room = TABLE_AGREES[factors.left.dtype.name] * largest
    near, far = np.maximum(low, fit - room), np.minimum(high, fit + room)
    return np.where(sure, np.minimum(near, far), low), np.where(sure, np.maximum(near, far), high)


def _told(known: RowsKnown, rows: Indices, cols: Indices) -> tuple[Floats, Floats]:
    """The value of a seen pair, and the limits of an absent one, in the caller's units."""
    low, high = np.empty((2, len(rows)))
    observations = known.observations
    for k, (i, j) in enumerate(zip(rows, cols, strict=True)):
        value, seen = observations.pairs(np.array([i]), np.array([j]))
        ends = (value, value) if seen[0, 0] else observations.bounds(np.array([i]), np.array([j]), seen)
        low[k], high[k] = (float(end[0, 0]) * observations.unit for end in ends)
    return low, high
