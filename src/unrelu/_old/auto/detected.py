"""A matrix and its detection curve together: the fit given the curve, the curve given the fit, until neither moves.

The fit lowers the −log likelihood of what was seen, of its values and of what was not. The curve does the same, and
takes the standard error of the fit for more noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import DETECTED_CONVERGED, DETECTED_SMALLEST, DETECTED_STEADY
from unrelu._old.data.limits import Limits
from unrelu._old.data.observations import Observations
from unrelu._old.detection.chosen import Detection, detected
from unrelu._old.detection.evidence import Evidence
from unrelu._old.judge.likelihood import Fits, on_likelihood
from unrelu._old.loop.run import Outcome, run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.model.losses import Detected
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import GaussNewton

__all__ = ["FittedTogether", "Together", "evidence_at", "with_unseen"]

# Rounds of matrix and curve, and steps of the matrix in each.
ROUNDS, STEPS = 12, 60


@dataclass(frozen=True, eq=False)
class FittedTogether:
    """A fit, the curve that goes with it, and the problem whose answer it is."""

    problem: PSDProblem
    outcome: Outcome
    detection: Detection
    sigma: float

    def factor(self, observations: Observations) -> Array:
        """Of the fit, in the units of the data."""
        found: Array = self.outcome.point.factor * observations.dtype.type(np.sqrt(observations.unit))
        return found


def with_unseen(observations: Observations, level: float, side: str) -> Observations:
    """Observations in which entries go unseen by their value, though nobody is sure that they lie beyond a level."""
    unknown = observations.limits.unknown
    limits = Limits(high=level, unknown=unknown) if side == "above" else Limits(low=level, unknown=unknown)
    return observations.with_limits(limits)


@dataclass(frozen=True, eq=False)
class Together:
    """What matrix and curve are fitted to.

    Attributes
    ----------
    posed : callable
        Makes the problem from observations, rank and loss.
    observations : Observations
        With nothing known of unseen entries.
    known : float or None
        The level of the curve, if it is known.
    plain : bool
        Whether a fit that takes nothing from absence meets the seen entries to their noise.
    """

    posed: Callable[..., PSDProblem]
    observations: Observations
    known: float | None
    plain: bool

    def fitted(self, start: Array, sigma: float, found: Detection) -> FittedTogether:
        """From a fit that took nothing from absence, in the units of the data, its noise and its curve."""
        observations = self.observations
        root = observations.dtype.type(np.sqrt(observations.unit))
        unseen = with_unseen(observations, found.curve.level, found.curve.side)
        rule = RelativeGradientNormBelow(DETECTED_CONVERGED[observations.dtype.name]) | MaxIterations(STEPS)
        smallest, factor = DETECTED_SMALLEST * sigma, start / root
        for _ in range(ROUNDS):
            phase("fitting with a detection curve")
            loss = Detected(level=sigma, smallest=smallest, curve=found.curve)
            problem = self.posed(unseen, start.shape[1], loss)
            outcome = run(problem, GaussNewton(), (factor, factor), rule, keep=False)
            factor, before = outcome.point.factor, found.curve
            sigma = float((outcome.point.loss or loss).noise or sigma)
            told = evidence_at(observations, factor * root, sigma)
            found = detected(told, side=before.side, kinds=(found.kind,), level=self.known)
            if _steady(before, found):
                break
        words = f"fitted together with the curve: {found.curve}"
        verdict = on_likelihood(problem, outcome, Fits(agreed=True, plain=self.plain), words)
        return FittedTogether(problem, replace(outcome, verdict=verdict), found, sigma)


def evidence_at(observations: Observations, factor: Array, sigma: float) -> Evidence:
    """What a fit with factors in the units of the data tells of how entries go unseen."""
    cut = observations.source.cut
    sides = (factor, factor) if cut is None else (factor[:cut], factor[cut:])
    return Evidence.of(observations, *sides, sigma)


def _steady(before: object, found: Detection) -> bool:
    """Whether the curve moved by little of what it is known to."""
    curve = found.curve
    pairs = (("level", curve.level_interval), ("width", curve.width_interval), ("share", curve.share_interval))
    for name, (low, high) in pairs:
        moved = abs(getattr(curve, name) - getattr(before, name))
        if np.isfinite(moved) and moved > DETECTED_STEADY * max(high - low, 0.0):
            return False
    return True
