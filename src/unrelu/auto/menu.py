"""Which model, where the data are of no low rank and nobody names one: all are rehearsed, and the best is fitted.

On the menu are ranks, and any rank with a price on its trace; the diagonal is taken as data or, as in factor analysis,
as an upper limit of ‖u_i‖²; and at the end there is no structure at all. What forecasts best what was hidden on purpose
is fitted to all data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unrelu.auto.candidates import Candidate, Fitted, fitted
from unrelu.auto.rehearsal import Level, alone, held_out, hidden_side, levels
from unrelu.auto.rehearsed import Rehearsal, RehearsedLevel, Trial
from unrelu.base.arrays import Floats
from unrelu.base.budget import OutOfTime, phase
from unrelu.base.tolerances import (
    MENU_DAMPED,
    MENU_DAMPED_OF_ALL,
    MENU_GAIN,
    MENU_GROWS,
    MENU_PRICES,
    MENU_SAME,
    MENU_UNSTEADY,
    PATH_ALIKE,
)
from unrelu.data.observations import Observations
from unrelu.problems.psd import PSDProblem

__all__ = ["Chosen", "chosen_from", "menu_for"]

# Ranks that are tried, as far as there are rows for them; a rank needs a few rows for each of its columns.
RANKS, ROWS_PER_RANK = (1, 2, 3, 4, 6, 8, 11, 16, 22, 30, 42, 60), 1.4
# Prices, over the largest eigenvalue of what was seen, and how many columns a fit with a price has at most.
PRICES, COLUMNS = tuple(np.geomspace(*MENU_PRICES, 11)), 60
# Models in a row that forecast as the one before does, after which their path ends.
ALIKE = 2
# Shares of its way beyond the limit that a forecast may go.
DAMPINGS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
# Pairs that are kept to be drawn.
DRAWN = 1000


@dataclass(frozen=True, eq=False)
class Chosen:
    """The model that forecasts best, its fit, and what the rehearsal showed; ``cut`` says who did not wait."""

    fitted: Fitted
    rehearsal: Rehearsal
    cut: BaseException | None = None


def menu_for(observations: Observations, uses: tuple[str, ...] = ("data", "limit")) -> list[list[Candidate]]:
    """Paths of models, each path from the simplest on; ``uses`` are those of the diagonal, where that was seen."""
    n = observations.size
    uses = uses if observations.diagonal_seen else ("data",)
    ranks = [rank for rank in RANKS if rank * ROWS_PER_RANK < n] or [1]
    found = [[Candidate(rank, 0.0, use) for rank in ranks] for use in uses]
    top = PSDProblem(observations, 1).spectral_norm * observations.unit
    found.append([Candidate(min(n, COLUMNS), price * top, uses[-1]) for price in PRICES])
    return found


def chosen_from(
    menu: Iterable[list[Candidate]],
    observations: Observations,
    rng: np.random.Generator,
    *,
    unless_alike: int | None = None,
    only: int | None = None,
    fit: bool = True,
) -> Chosen:
    """Rehearse all models, and fit the one that forecasts best, unless only the rehearsal is asked for.

    ``unless_alike`` is the position of a model that is preferred to others which forecast hardly better, ``only`` of
    one that is preferred to all.
    """
    trying = _Trying(observations, rng, unless_alike, only)
    cut: BaseException | None = None
    try:
        for path in menu:
            trying.along(path)
        found = trying.fitted() if fit else trying.best.fits[0]
    except (OutOfTime, KeyboardInterrupt) as end:
        if not trying.tried or not fit:
            raise  # half a rehearsal says nothing
        # Who does not wait gets the fit that the nearest rehearsal has: it knows most of the data.
        found, cut = trying.best.fits[0], end
    return Chosen(found, trying.shown(), cut)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A model at the end of a path, with its fit to every level."""

    path: list[Candidate]
    fits: list[Fitted]
    trial: Trial

    @property
    def candidate(self) -> Candidate:
        return self.path[-1]


class _Trying:
    """The levels of a rehearsal, and the models that were tried on them."""

    def __init__(
        self, observations: Observations, rng: np.random.Generator, unless_alike: int | None, only: int | None
    ) -> None:
        self.observations = observations
        self.unless_alike, self.only = unless_alike, only
        self.levels = levels(observations, rng) or [held_out(observations, rng)]
        self.none = [level.without_structure for level in self.levels]
        self.tried: list[_Tried] = []
        self.rng = rng

    @property
    def best(self) -> _Tried:
        if self.only is not None and self.only < len(self.tried):
            return self.tried[self.only]
        best = max(self.tried, key=lambda one: one.trial.gain)
        if self.unless_alike is None or self.unless_alike >= len(self.tried):
            return best
        preferred = self.tried[self.unless_alike]
        return preferred if preferred.trial.gain >= best.trial.gain - PATH_ALIKE else best

    def fitted(self) -> Fitted:
        """The best model on all data: from its fit to the nearest level, or along its path, whichever ends lower."""
        best = self.best
        phase("fitting the model that forecasts best")
        ends = [fitted(self.observations, best.candidate, best.fits[0])]
        before: Fitted | None = None
        for candidate in best.path:
            before = fitted(self.observations, candidate, before)
        ends += [] if before is None else [before]
        return min(ends, key=lambda one: one.value)

    def along(self, path: list[Candidate]) -> None:
        """Try models from the simplest on, each from the fit of the last, until nothing changes any more.

        That they get worse is no reason to stop: forecasts may get better again further on.
        """
        before: list[Fitted | None] = [None] * len(self.levels)
        last, same = -np.inf, 0
        for k in range(len(path)):
            one = self._tried(path[: k + 1], before)
            self.tried.append(one)
            before = list(one.fits)
            same = same + 1 if abs(one.trial.gain - last) <= MENU_SAME else 0
            last = one.trial.gain
            if same == ALIKE and self.only is None and self.unless_alike is None:
                return

    def _tried(self, path: list[Candidate], before: list[Fitted | None]) -> _Tried:
        candidate = path[-1]
        phase(f"rehearsing {candidate}")
        fits = [fitted(level.observations, candidate, start) for level, start in zip(self.levels, before, strict=True)]
        found = [level.best(means) for level, means in zip(self.levels, self._means(fits), strict=True)]
        gains = tuple(score - none for (_, score), none in zip(found, self.none, strict=True))
        about = candidate.rank if not candidate.shrinkage else fits[0].factor.shape[1]
        sigmas = tuple(sigma for sigma, _ in found)
        return _Tried(path, fits, Trial(about, candidate.shrinkage, candidate.diagonal, gains, sigmas))

    def _means(self, fits: list[Fitted]) -> list[Floats]:
        return [fit.entries(level.rows, level.cols) for level, fit in zip(self.levels, fits, strict=True)]

    def shown(self) -> Rehearsal:
        """What all of it says."""
        best = self.best
        means = self._means(best.fits)
        damping, gains, sigmas = self._damping(means, best.trial)
        steps = sigmas[-1] / sigmas[0]
        sigma = float(np.sqrt(sigmas[0] * sigmas[-1]))
        spread = sigma if damping == 1 else float(sigmas[-1] * np.clip(steps, 1, MENU_GROWS))
        steady = damping == 1 or steps <= MENU_UNSTEADY
        extrapolates = bool(min(gains) > 0 and sum(gains) >= MENU_GAIN and steady)
        side = hidden_side(self.observations)
        none = alone(self.observations, self.rng)
        shown = tuple(
            self._level(level, level.damped(mean, damping), sigma)
            for level, mean, sigma in zip(self.levels, means, sigmas, strict=True)
        )
        trials = tuple(one.trial for one in self.tried)
        return Rehearsal(trials, self.tried.index(best), shown, sigma, spread, damping, gains, none, side, extrapolates)

    def _damping(self, means: list[Floats], trial: Trial) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
        """The share of its way that a forecast should go, with gains and errors then: all, unless less is better."""
        if self.levels[0].side is None:
            return 1.0, trial.gains, trial.sigmas
        phase("looking whether forecasts go too far")
        found = []
        for share in DAMPINGS:
            scored = [level.best(level.damped(mean, share)) for level, mean in zip(self.levels, means, strict=True)]
            gains = tuple(score - none for (_, score), none in zip(scored, self.none, strict=True))
            found.append((sum(gains), share, gains, tuple(sigma for sigma, _ in scored)))
        top = max(found)
        better = top[0] - trial.gain
        if better < MENU_DAMPED or better * self.observations.size < MENU_DAMPED_OF_ALL:
            return 1.0, trial.gains, trial.sigmas
        return top[1:]

    def _level(self, level: Level, means: Floats, sigma: float) -> RehearsedLevel:
        """What is kept of a level."""
        seen = np.flatnonzero(~level.hidden)
        some = np.sort(np.random.default_rng(0).permutation(seen)[:DRAWN])
        forecast = level.forecast(means, sigma).expectation()
        return RehearsedLevel(
            level.share, level.limit, tuple(forecast[some].tolist()), tuple(level.values[some].tolist())
        )
