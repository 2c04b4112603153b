"""How far forecasts go beyond the limit: as far as rehearsals show, and as one distribution for all entries allows.

Fits tend to go too far. What was hidden on purpose shows by how much, just beyond a raised limit; how far down the
other entries go, on the whole, one distribution for all of them says better than a fit does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unrelu._old.auto.candidates import Fitted
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsal import Level
from unrelu._old.base.arrays import Floats
from unrelu._old.base.tolerances import DAMPING_FURTHER, DAMPING_GROWS, DAMPING_WIDEST
from unrelu._old.data.limits import Ends
from unrelu._old.model.links import Linked
from unrelu._old.model.predictive import Predictive, damped

__all__ = ["Damped", "Far"]

# Of intervals that are compared.
LEVEL = 0.95
# How often the logarithm of a spread is halved, and how far down it is looked for.
HALVINGS, REACH = 12, 7.0


def _width(forecast: Predictive | Linked) -> float:
    """Of intervals, on the whole."""
    low, high = forecast.interval(LEVEL)
    return float(np.mean(high - low))


@dataclass(frozen=True)
class Damped:
    """Forecasts that go a share of their way: gains and errors, level by level."""

    share: float
    gains: tuple[float, ...]
    sigmas: tuple[float, ...]

    def spread(self, moved: float, none: NoStructure) -> float:
        """The error of a forecast, for intervals; ``moved`` is by how much the mean of all was moved."""
        near, far = self.sigmas[0], self.sigmas[-1]
        if self.share == 1:
            return float(np.sqrt(near * far))
        grown = float(far * np.clip(np.sqrt(far / near), 1, DAMPING_GROWS))
        # Whoever moved them may be wrong, too; but hardly more so than one who knows nothing of rows and columns.
        return max(grown, min(float(np.hypot(grown, moved)), DAMPING_WIDEST * none.spread))


@dataclass(frozen=True, eq=False)
class Far:
    """Entries that are hidden in any case: their fits, between which ends they lie, and what anyone expects of them."""

    fits: Floats
    noise: float
    ends: tuple[Floats, Floats]
    side: str | None
    plain: Predictive | Linked

    @classmethod
    def of(cls, level: Level, found: Fitted, near: float, none: NoStructure) -> Far | None:
        """Those that a level knows of, whose model has an error of ``near`` there; None where there are none."""
        hidden = level.hidden
        if not hidden.any():
            return None
        low, high = (np.broadcast_to(end, hidden.shape)[hidden] for end in level.true)
        fits = found.entries(level.rows[hidden], level.cols[hidden])
        # The noise of forecasts is that of Rehearsal.expectation.
        return cls(fits, float(np.sqrt(found.sigma * near)), (low, high), level.side, none.given((low, high)))

    def mean(self, by: Damped) -> float:
        """Of all forecasts."""
        fits = damped(self.fits, self.ends, self.side, by.share)
        return float(np.mean(Predictive(fits, self.noise, Ends(self.ends)).expectation()))

    def no_wider(self, by: Damped, spread: float) -> float:
        """A spread for intervals with which they are no wider, on the whole, than those of one distribution."""
        means = damped(self.fits, self.ends, self.side, by.share)
        most = _width(self.plain)

        def width(size: float) -> float:
            return _width(Predictive(means, size, Ends(self.ends)))

        if width(spread) <= most:
            return spread
        low, high = np.log(spread) - REACH, np.log(spread)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if width(float(np.exp(middle))) > most else (middle, high)
        return float(np.exp(low))

    def further(self, by: Damped) -> bool:
        """Whether they lie further beyond their limits, on the whole, than one distribution allows."""
        beyond = float(np.mean(self.plain.expectation())) - self.mean(by)
        allowed = DAMPING_FURTHER * float(np.sqrt(np.mean(self.plain.spread() ** 2)))
        return (beyond if self.side == "below" else -beyond) > allowed
