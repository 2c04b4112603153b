"""What chains have drawn of a matrix: means, intervals and probabilities of its entries, and how far chains agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.budget import checkpoint
from unrelu._old.base.errors import InputError, is_number
from unrelu._old.data.limits import Ends
from unrelu._old.data.observations import Observations
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.chains import Draws, effective_sample_size, r_hat, root_mean_square
from unrelu._old.model.truncated_normal import above, expected_within, quantile_within
from unrelu._old.solvers.gibbs import agreement
from unrelu._old.solvers.sampled_data import limits_of_pairs
from unrelu._old.uncertainty.noise import Noise, level_checked

__all__ = ["Posterior"]

# Numbers that are made at once, one for each draw of each entry.
TOGETHER = 2_000_000


Places = Callable[[ArrayLike, ArrayLike], tuple[Indices, Indices]]
# From draws of entries, their noise and their limits to what is asked; and the same from seen values.
OfDraws = Callable[[Floats, Floats, Ends], Any]
OfValues = Callable[[Floats], Any]


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of M = UUᵀ, as factors that several chains have drawn; nothing n×n is stored.

    Entries are asked for by positions, or labels if the input had them, that broadcast against each other. What is said
    of an *entry* is said of the value that was, or would have been, measured: its noise included, and within its limits
    where it went unseen because of its value. What is said of the *mean* is said of (UUᵀ)_ij, without noise.

    Attributes
    ----------
    kept : Draws
        What was drawn, in the caller's units.
    places : callable
        From rows and columns, by position or label, to positions.
    observed : callable
        From a matrix, or None for the one that was completed, to what was seen of it.

    Examples
    --------
    >>> import unrelu
    >>> from unrelu._old.data.planted import planted
    >>> instance = planted(30, 1, sigma=0.3, symmetric_noise=True, rng=0)
    >>> X = np.where(instance.matrix >= 0, instance.matrix, np.nan)
    >>> posterior = unrelu.complete(X, 1, method="gibbs", rng=0).posterior
    >>> i, j = np.nonzero(np.triu(np.isnan(X), 1))
    >>> low, high = posterior.interval(i, j)
    >>> bool(high.max() <= 0), bool(np.mean((low <= instance.matrix[i, j])) > 0.9)
    (True, True)
    """

    kept: Draws
    places: Places = field(repr=False)
    observed: Callable[[Any], Observations] = field(repr=False)

    @cached_property
    def _stacked(self) -> tuple[Array, Floats]:
        return self.kept.stacked()

    @property
    def draws(self) -> Array:
        """Factors U, of shape (chains, draws, n, rank); each determined up to a rotation of its columns."""
        return self._stacked[0]

    @property
    def sigma(self) -> Floats:
        """Noise levels, of shape (chains, draws)."""
        return self._stacked[1]

    @property
    def noise(self) -> Noise:
        """The noise level, as the other methods say it; its degrees of freedom are the spread of the draws."""
        mean, spread = root_mean_square(self.sigma), float(np.std(np.log(self.sigma)))
        freedom = int(min(1 / (2 * spread**2), 1e6)) if spread > 0 else 1_000_000
        low, high = np.quantile(self.sigma, [0.025, 0.975])
        words = f"noise of standard deviation {mean:.3g}, by its posterior between {low:.3g} and {high:.3g}"
        return Noise(mean, max(freedom, 1), "one" if self.kept.one else "independent", words)

    @cached_property
    def worst(self) -> tuple[float, float]:
        """The largest R̂ and the least effective sample size, of entries (a thousand of many) and the noise level."""
        return agreement(self.kept)

    def __str__(self) -> str:
        chains, count = self.sigma.shape
        worst, least = self.worst
        return (
            f"{chains * count} draws of {chains} chains ({self.kept.sweeps} sweeps); R̂ of entries at most "
            f"{worst:.3f}, effective sample size at least {least:.0f}"
        )

    def mean(self, rows: ArrayLike, cols: ArrayLike) -> Any:
        """The posterior mean of entries of UUᵀ."""
        return self._each(rows, cols, lambda entries, _: entries.mean(axis=0))

    def standard_deviation(self, rows: ArrayLike, cols: ArrayLike) -> Any:
        """The posterior standard deviation of entries of UUᵀ."""
        return self._each(rows, cols, lambda entries, _: entries.std(axis=0))

    def mean_interval(self, rows: ArrayLike, cols: ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
        """(low, high): between them the noiseless entry lies with probability ``level``."""
        shares = _shares(level)
        low, high = self._each(rows, cols, lambda entries, _: np.quantile(entries, shares, axis=0))
        return low, high

    def interval(self, rows: ArrayLike, cols: ArrayLike, level: float = 0.95, X: Any = None) -> tuple[Any, Any]:
        """(low, high): between them the entry itself lies with probability ``level``; a seen one has its value.

        Parameters
        ----------
        rows, cols : positions or labels that broadcast against each other
        level : float, default 0.95
        X : optional
            The matrix that was completed; needed only after :meth:`Completion.load`.
        """
        shares = _shares(level)

        def ends(entries: Floats, noise: Floats, known: Ends) -> Floats:
            drawn = quantile_within(entries, noise, known, self._strata[:, None])
            found: Floats = np.quantile(drawn, shares, axis=0)
            return found

        low, high = self._of_entries(rows, cols, X, ends, lambda values: np.stack([values, values]))
        return low, high

    def expectation(self, rows: ArrayLike, cols: ArrayLike, X: Any = None) -> Any:
        """What is expected of the entry itself, within its limits; of a seen one its value."""

        def found(entries: Floats, noise: Floats, known: Ends) -> Floats:
            mean: Floats = expected_within(entries, noise, known).mean(axis=0)
            return mean

        return self._of_entries(rows, cols, X, found, lambda values: values)

    def filled(self, X: Any = None) -> Floats:
        """The same of all entries, an n×n array, the same both ways round: one seen one way is copied to the other."""
        n = self.draws.shape[2]
        require_memory(n * n * 8, f"a {n}×{n} matrix")
        result = np.empty((n, n))
        i, j = np.triu_indices(n)
        result[j, i] = result[i, j] = self.expectation(i, j, X)
        values = self.observed(X).block(slice(0, n), slice(0, n))
        values = np.where(np.isnan(values), values.T, values)
        return np.where(np.isnan(values), result, values)

    def spread(self, rows: ArrayLike, cols: ArrayLike, X: Any = None) -> Any:
        """The standard deviation of the entry itself, within its limits; 0 where it was seen."""

        def found(entries: Floats, noise: Floats, known: Ends) -> Floats:
            drawn: Floats = quantile_within(entries, noise, known, self._strata[:, None]).std(axis=0)
            return drawn

        return self._of_entries(rows, cols, X, found, np.zeros_like)

    def probability_above(
        self, value: float, rows: ArrayLike | None = None, cols: ArrayLike | None = None, X: Any = None
    ) -> Any:
        """The probability that the entry itself is above a value; of a seen one 0 or 1.

        Parameters
        ----------
        value : float
        rows, cols : positions or labels that broadcast against each other, default all
        X : optional
            The matrix that was completed; needed only after :meth:`Completion.load`.
        """
        if not is_number(value):
            raise InputError(f"value must be a finite number, got {value!r}")
        everyone = np.arange(self.draws.shape[2])
        rows = everyone[:, None] if rows is None else rows
        cols = everyone if cols is None else cols

        def found(entries: Floats, noise: Floats, known: Ends) -> Floats:
            share: Floats = above(value, entries, noise, known).mean(axis=0)
            return share

        return self._of_entries(rows, cols, X, found, lambda values: (values > value).astype(np.float64))

    def r_hat(self, rows: ArrayLike, cols: ArrayLike) -> Any:
        """R̂ of entries of UUᵀ, rank-normalised and of split chains: near 1 where the chains agree."""
        return self._each(rows, cols, lambda entries, _: r_hat(self._by_chain(entries)))

    def effective_sample_size(self, rows: ArrayLike, cols: ArrayLike) -> Any:
        """How many independent draws of entries of UUᵀ tell as much as these do."""
        return self._each(rows, cols, lambda entries, _: effective_sample_size(self._by_chain(entries)))

    def _by_chain(self, entries: Floats) -> Floats:
        return entries.reshape(*self.sigma.shape, -1)

    @cached_property
    def _strata(self) -> Floats:
        """One probability for each draw, evenly spread and in a fixed random order: the same question, one answer."""
        count = self.sigma.size
        shares: Floats = (np.random.default_rng(count).permutation(count) + 0.5) / count
        return shares

    def _each(self, rows: ArrayLike, cols: ArrayLike, found: Callable[[Floats, slice], Any]) -> Any:
        """What ``found`` makes of all draws of some entries at a time, in the shape of rows and columns."""
        i, j = self.places(rows, cols)
        shape, (i, j) = i.shape, (i.ravel(), j.ravel())
        each = self.draws.reshape(-1, *self.draws.shape[2:])
        parts = []
        for part in _parts(len(i), len(each)):
            checkpoint()
            entries = np.einsum("skr,skr->sk", each[:, i[part]], each[:, j[part]], dtype=np.float64)
            parts.append(np.asarray(found(entries, part)))
        whole = np.concatenate(parts, axis=-1) if parts else np.asarray(found(np.zeros((len(each), 0)), slice(0, 0)))
        return whole.reshape((*whole.shape[:-1], *shape))[()]

    def _of_entries(self, rows: ArrayLike, cols: ArrayLike, X: Any, found: OfDraws, seen: OfValues) -> Any:
        """What ``found`` makes of the draws of unseen entries, their noise and their limits; ``seen``, of values."""
        i, j = self.places(rows, cols)
        shape, (i, j) = i.shape, (i.ravel(), j.ravel())
        observations = self.observed(X)
        values = observations.source.at(i, j).astype(np.float64)
        if self.kept.one:  # with a noise of its own an entry is not the one across the diagonal
            values = np.where(np.isnan(values), observations.source.at(j, i), values)
        result = np.array(seen(values), np.float64)
        unseen = np.flatnonzero(np.isnan(values))
        i, j = i[unseen], j[unseen]
        ends, sigma = limits_of_pairs(observations, i, j, self.kept.one), self.sigma.reshape(-1, 1)
        precision = np.broadcast_to(np.asarray(observations.precision_at(i, j), np.float64), i.shape)

        def of_part(entries: Floats, part: slice) -> Any:
            gap = None if ends.gap is None else (ends.gap[0][part], ends.gap[1][part])
            return found(entries, sigma / np.sqrt(precision[part]), Ends((ends[0][part], ends[1][part]), gap))

        result[..., unseen] = self._each(i, j, of_part)
        return result.reshape((*result.shape[:-1], *shape))[()]


def _shares(level: Any) -> list[float]:
    level = level_checked(level)
    return [(1 - level) / 2, (1 + level) / 2]


def _parts(count: int, draws: int) -> Iterator[slice]:
    step = max(TOGETHER // max(draws, 1), 1)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
