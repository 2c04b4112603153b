"""What a rehearsal has shown: which models were tried, how well each forecast, and how far to trust the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.base.arrays import Floats
from unrelu._old.data.limits import Ends
from unrelu._old.model.links import Linked
from unrelu._old.model.predictive import Predictive, damped

__all__ = ["Rehearsal", "RehearsedLevel", "Trial"]


@dataclass(frozen=True)
class Trial:
    """A model that was rehearsed: one point of the curve.

    Attributes
    ----------
    rank : int
        Columns of the factor, at most.
    shrinkage : float
        λ of the trace penalty, in the units of the data; 0 for a fit that is not shrunk.
    diagonal : {"data", "unknown", "limit"}
    gains : tuple of float
        Mean log-likelihood of what was hidden, level by level, above that of no structure at all.
    sigmas : tuple of float
        The error of its forecasts, level by level.
    """

    rank: int
    shrinkage: float
    diagonal: str
    gains: tuple[float, ...]
    sigmas: tuple[float, ...]

    @property
    def gain(self) -> float:
        """Of all levels together."""
        return float(sum(self.gains))

    def __str__(self) -> str:
        model = f"rank {self.rank}" if not self.shrinkage else f"trace penalty {self.shrinkage:.3g}"
        return model if self.diagonal == "data" else f"{model}, diagonal as {self.diagonal}"


@dataclass(frozen=True, eq=False)
class RehearsedLevel:
    """One raised threshold, and what the chosen model forecast for pairs that it hid on purpose.

    Attributes
    ----------
    share : float
        Of the seen pairs that it hid.
    limit : float or None
        The raised threshold, if it is one for all; None where pairs were hidden whatever their value.
    forecast, hidden : tuple of float
        Some of them: what was expected, and what they are.
    """

    share: float
    limit: float | None
    forecast: tuple[float, ...]
    hidden: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """How well entries beyond the threshold can be forecast, told from those just inside it.

    Attributes
    ----------
    trials : tuple of Trial
        Every model that was tried: the curve.
    chosen : int
        Which of them forecasts best.
    levels : tuple of RehearsedLevel
    sigma : float
        The error of a forecast.
    spread : float
        The same for intervals: where forecasts had to be damped, that of the last level, grown as it grew from the
        first, and by how far one distribution for all entries has moved them; and such that intervals are no wider, on
        the whole, than those of that distribution.
    damping : float
        The share of its way beyond the limit that a forecast goes: 1 unless the rehearsal shows that fits go too far.
    gains : tuple of float
        Log-likelihood per pair, level by level, above that of no structure, with forecasts damped.
    none : NoStructure
        One distribution for all entries.
    side : {"below", "above"} or None
        On which side of its limit an entry went unseen.
    extrapolates : bool
        Whether the model forecasts better than no structure; if not, forecasts are those of no structure.
    few : bool
        Whether too few pairs were seen to say so of any model.
    """

    trials: tuple[Trial, ...]
    chosen: int
    levels: tuple[RehearsedLevel, ...]
    sigma: float
    spread: float
    damping: float
    gains: tuple[float, ...]
    none: NoStructure
    side: str | None
    extrapolates: bool
    few: bool = False

    @property
    def doubt(self) -> str:
        """Why a model is not believed, where none is."""
        if self.few:
            return "too few pairs were seen to tell whether any model forecasts what was not"
        return (
            "no model forecasts what was hidden on purpose better than one distribution for all entries, or none does "
            "so steadily"
        )

    @property
    def best(self) -> Trial:
        """The model that forecasts best."""
        return self.trials[self.chosen]

    def forecast(self, fit: Floats, ends: tuple[Any, Any]) -> Predictive | Linked:
        """What entries with this fit, which lie between these ends, are likely to be."""
        if not self.extrapolates:
            return self.without_structure(fit, ends)
        means = damped(np.asarray(fit, np.float64), ends, self.side, self.damping)
        return Predictive(means, self.spread, Ends(self.range(ends)))

    def range(self, ends: tuple[Any, Any]) -> tuple[Any, Any]:
        """Between which entries lie by these ends and by what fully seen blocks and the diagonal say of any entry."""
        return self.none.scale.narrowed(ends)

    def without_structure(self, fit: Floats, ends: tuple[Any, Any]) -> Predictive | Linked:
        """What entries between these ends are likely to be for anyone who knows nothing of rows and columns."""
        low, high = (np.broadcast_to(end, np.shape(fit)) for end in ends)
        return self.none.given((low, high))

    def expectation(self, fit: Floats, ends: tuple[Any, Any], sigma: float) -> Floats:
        """Of entries with this fit, around which the noise is ``sigma``.

        Not that of :meth:`forecast`: part of its spread is what the model gets wrong, which has no reason to be on one
        side. Half way between the noise and the error of the nearest rehearsal, by their logarithms, forecasts best.
        """
        if not self.extrapolates:
            return self.without_structure(fit, ends).expectation()
        means = damped(np.asarray(fit, np.float64), ends, self.side, self.damping)
        within = Ends(self.range(ends))
        return Predictive(means, float(np.sqrt(sigma * self.best.sigmas[0])), within).expectation()

    def __str__(self) -> str:
        hidden = ", ".join(f"{level.share:.0%}" for level in self.levels)
        gains = ", ".join(f"{gain:+.2f}" for gain in self.gains)
        how = "hidden by a raised threshold" if self.side else "held out"
        return (
            f"{len(self.trials)} models rehearsed with {hidden} of the seen pairs {how}: {self.best} forecasts best, "
            f"log-likelihood per pair {gains} above no structure, error {self.sigma:.3g}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything."""
        about = asdict(self) | {"none": self.none.as_dict()}
        return about | {"trials": [asdict(trial) for trial in self.trials]}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Rehearsal:
        """Made again from :meth:`as_dict`."""
        trials = tuple(Trial(**{**trial, **_tuples(trial, "gains", "sigmas")}) for trial in stored["trials"])
        levels = tuple(
            RehearsedLevel(**{**level, **_tuples(level, "forecast", "hidden")}) for level in stored["levels"]
        )
        made = {
            "trials": trials,
            "levels": levels,
            "none": NoStructure.read(stored["none"]),
            **_tuples(stored, "gains"),
        }
        return cls(**{**stored, **made})


def _tuples(stored: Mapping[str, Any], *names: str) -> dict[str, tuple[float, ...]]:
    return {name: tuple(stored[name]) for name in names}
