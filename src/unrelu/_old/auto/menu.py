"""Which model, where the data are of no low rank and nobody names one: all are rehearsed, and the best is fitted.

On the menu are ranks, and any rank with a price on its trace; the diagonal is taken as data or, as in factor analysis,
as an upper limit of ‖u_i‖²; and at the end there is no structure at all. What forecasts best what was hidden on purpose
is fitted to all data.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from unrelu._old.auto.candidates import Candidate, Fitted, fitted
from unrelu._old.auto.damping import Damped, Far
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsal import Level, alone, held_out, hidden_side, levels
from unrelu._old.auto.rehearsed import Rehearsal, RehearsedLevel, Trial
from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import OutOfTime, phase, unlimited
from unrelu._old.base.tolerances import (
    MENU_DAMPED,
    MENU_DAMPED_OF_ALL,
    MENU_GAIN,
    MENU_GAIN_OF_ALL,
    MENU_PRICES,
    MENU_SAME,
    MENU_UNSTEADY,
    PATH_ALIKE,
)
from unrelu._old.data.observations import Observations
from unrelu._old.problems.psd import PSDProblem

__all__ = ["Chosen", "chosen_from", "menu_for"]

# Ranks that are tried, as far as there are rows for them; a rank needs a few rows for each of its columns.
RANKS, ROWS_PER_RANK = (1, 2, 3, 4, 6, 8, 11, 16, 22, 30, 42, 60), 1.4
# Prices, over the largest eigenvalue of what was seen, and how many columns a fit with a price has at most.
PRICES, COLUMNS = tuple(np.geomspace(*MENU_PRICES, 11)), 60
# Models in a row that forecast as the one before does, after which their path ends.
ALIKE = 2
# Shares of its way beyond the limit that a forecast may go, and the least that still says something.
DAMPINGS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05)
LEAST = 0.2
# Models after which it can be said how long others take.
SOME = 5
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
    menu: list[list[Candidate]],
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
    trying = _Trying(observations, rng, unless_alike, only, sum(map(len, menu)))
    cut: BaseException | None = None
    found: Fitted | None = None
    try:
        for path in menu:
            trying.along(path)
        found = trying.fitted() if fit else None
    except (OutOfTime, KeyboardInterrupt) as end:
        if not trying.tried or not fit:
            raise  # half a rehearsal says nothing
        # Who does not wait gets the fit that the nearest rehearsal has: it knows most of the data.
        found, cut = trying.best.fits[0], end
    with unlimited() if cut is not None else nullcontext():
        return Chosen(found or trying.best.fits[0], trying.shown(found), cut)


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
        self,
        observations: Observations,
        rng: np.random.Generator,
        unless_alike: int | None = None,
        only: int | None = None,
        count: int = 0,
    ) -> None:
        self.observations = observations
        self.count, self.passed, self.began = count, 0, perf_counter()
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
        end = self.passed + len(path)
        for k in range(len(path)):
            one = self._tried(path[: k + 1], before)
            self.tried.append(one)
            self.passed += 1
            before = list(one.fits)
            same = same + 1 if abs(one.trial.gain - last) <= MENU_SAME else 0
            last = one.trial.gain
            if same == ALIKE and self.only is None and self.unless_alike is None:
                break
        self.passed = end

    def _tried(self, path: list[Candidate], before: list[Fitted | None]) -> _Tried:
        candidate = path[-1]
        phase(f"rehearsing {candidate} ({self._how_far()})")
        fits = [fitted(level.observations, candidate, start) for level, start in zip(self.levels, before, strict=True)]
        found = [level.best(means) for level, means in zip(self.levels, self._means(fits), strict=True)]
        gains = tuple(score - none for (_, score), none in zip(found, self.none, strict=True))
        about = candidate.rank if not candidate.shrinkage else fits[0].factor.shape[1]
        sigmas = tuple(sigma for sigma, _ in found)
        return _Tried(path, fits, Trial(about, candidate.shrinkage, candidate.diagonal, gains, sigmas))

    def _how_far(self) -> str:
        """Which model it is, and how long the others will take if they take as long as those before."""
        said = f"model {self.passed + 1} of {self.count}"
        if len(self.tried) < SOME:
            return said
        left = (perf_counter() - self.began) / len(self.tried) * (self.count - self.passed)
        return f"{said}, about {left:.0f} s left"

    def _means(self, fits: list[Fitted]) -> list[Floats]:
        return [fit.entries(level.rows, level.cols) for level, fit in zip(self.levels, fits, strict=True)]

    def shown(self, found: Fitted | None) -> Rehearsal:
        """What all of it says, and of the fit to all data, if there is one, how far it may go."""
        best = self.best
        means = self._means(best.fits)
        none = alone(self.observations, self.rng)
        far = None
        if found is not None and self.levels[0].side is not None:
            far = Far.of(self.levels[0], found, best.trial.sigmas[0], none)
        top, moved = self._damped(means, best.trial, far)
        near, last = top.sigmas[0], top.sigmas[-1]
        sigma = float(np.sqrt(near * last))
        steady = top.share == 1 or (last / near <= MENU_UNSTEADY and top.share >= LEAST)
        shown = tuple(
            self._level(level, level.damped(mean, top.share), sigma)
            for level, mean, sigma in zip(self.levels, means, top.sigmas, strict=True)
        )
        spread = top.spread(moved, none)
        spread = spread if far is None else far.no_wider(top, spread)
        return Rehearsal(
            tuple(one.trial for one in self.tried),
            self.tried.index(best),
            shown,
            sigma,
            spread,
            top.share,
            top.gains,
            none,
            hidden_side(self.observations),
            steady and self._believed(top, none),
        )

    def _damped(self, means: list[Floats], trial: Trial, far: Far | None) -> tuple[Damped, float]:
        """How far forecasts should go, and by how much one distribution for all entries has moved their mean.

        All of their way, unless less forecasts better what was hidden on purpose, and not worse at the nearest level,
        which knows most; and no further than that distribution says of the hidden ones on the whole, for pairs hidden
        on purpose do not tell how far down it goes, unless that would forecast them clearly worse.
        """
        whole = Damped(1.0, trial.gains, trial.sigmas)
        if self.levels[0].side is None:
            return whole, 0.0
        phase("looking whether forecasts go too far")
        scored = [self._damped_by(share, means) for share in DAMPINGS]
        agreed = [one for one in scored if one.gains[0] >= whole.gains[0] - MENU_DAMPED]
        rehearsed = self._better(agreed, whole)
        if far is None or not far.further(rehearsed):
            return rehearsed, 0.0
        allowed = [one for one in scored if not far.further(one)] or scored[-1:]
        top = max(allowed, key=lambda one: sum(one.gains))
        if top.gains[0] < rehearsed.gains[0] - MENU_GAIN:
            return rehearsed, 0.0
        return top, abs(far.mean(top) - far.mean(rehearsed))

    def _believed(self, damped: Damped, none: NoStructure) -> bool:
        """Whether enough is gained: at every level, on a pair, and on all pairs together.

        Also on one distribution that knows all data: that of a level may be far off where few values are left. And no
        forecast is believed whose error is larger than the spread of all entries.
        """
        gains = damped.gains
        if np.sqrt(damped.sigmas[0] * damped.sigmas[-1]) > none.spread:
            return False
        knowing = [level.score_of(none) for level in self.levels]
        if sum(gain + own - known for gain, own, known in zip(gains, self.none, knowing, strict=True)) <= 0:
            return False
        in_all = sum(gain * len(level.values) for gain, level in zip(gains, self.levels, strict=True))
        return min(gains) > 0 and sum(gains) >= MENU_GAIN and in_all >= MENU_GAIN_OF_ALL

    def _better(self, scored: list[Damped], whole: Damped) -> Damped:
        """The share that forecasts best, if it does so clearly."""
        top = max(scored, key=lambda one: sum(one.gains))
        better = sum(top.gains) - sum(whole.gains)
        return top if better >= MENU_DAMPED and better * self.observations.size >= MENU_DAMPED_OF_ALL else whole

    def _damped_by(self, share: float, means: list[Floats]) -> Damped:
        scored = [level.best(level.damped(mean, share)) for level, mean in zip(self.levels, means, strict=True)]
        gains = tuple(score - none for (_, score), none in zip(scored, self.none, strict=True))
        return Damped(share, gains, tuple(sigma for sigma, _ in scored))

    def _level(self, level: Level, means: Floats, sigma: float) -> RehearsedLevel:
        """What is kept of a level."""
        seen = np.flatnonzero(~level.hidden)
        some = np.sort(np.random.default_rng(0).permutation(seen)[:DRAWN])
        forecast = level.forecast(means, sigma).expectation()
        return RehearsedLevel(
            level.share, level.limit, tuple(forecast[some].tolist()), tuple(level.values[some].tolist())
        )
