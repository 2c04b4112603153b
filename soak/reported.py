"""The faults of the first release, drawn as they were reported: from ``default_rng(number)``.

Each was found by someone; the seeds in ``KNOWN`` are theirs, and come first in every run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soak.instance import EXACT, Instance
from soak.kinds import finished, noisy, observed

__all__ = ["KINDS", "KNOWN"]

KINDS: dict[str, Callable[[np.random.Generator, int], Instance]] = {}
KNOWN = ("reported-a2:0:1329", "reported-a3:0:363", *(f"reported-a6:0:{s}" for s in (1, 15, 17, 26)))


def reported(draw: Callable[[np.random.Generator, int], Instance]) -> Callable[[np.random.Generator, int], Instance]:
    """List a kind under its name."""
    KINDS[draw.__name__.replace("_", "-")] = draw
    return draw


@reported
def reported_a2(rng: np.random.Generator, number: int) -> Instance:
    """A local minimum called converged: rank 3, 35 % of the pairs hidden at random, absence saying nothing."""
    U = rng.standard_normal((8 + number % 8, 3))
    draw = rng.random((len(U), len(U)))
    seen = np.triu(draw) + np.triu(draw, 1).T >= 0.35
    absence = {"threshold": None, "seen": "above", "unknown": None}
    truth = U @ U.T
    return finished(rng, EXACT, np.where(seen, truth, np.nan), truth, seen, absence, U, pattern="hidden")


@reported
def reported_a3(rng: np.random.Generator, number: int) -> Instance:
    """Repeated rows called determined, with bounds that miss: a threshold at the 30 % quantile."""
    U = rng.standard_normal((6, 2))[rng.integers(0, 6, 13)]
    truth = U @ U.T
    threshold = float(np.quantile(truth, 0.3))
    seen = truth >= threshold
    absence = {"threshold": threshold, "seen": "above", "unknown": None}
    return finished(rng, EXACT, np.where(seen, truth, np.nan), truth, seen, absence, U, pattern="at-quantile")


@reported
def reported_a4(rng: np.random.Generator, number: int) -> Instance:
    """Seen entries misfitted and called converged, answers that change with the order of the rows: n = 12, r = 2."""
    return observed(rng, rng.standard_normal((12, 2)), ("at-quantile",))


@reported
def reported_a6(rng: np.random.Generator, number: int) -> Instance:
    """Errors of few rows that divided by zero: rank 2, noise of 0.05, threshold 0."""
    U = rng.standard_normal((5 + number % 5, 2))
    truth = U @ U.T
    draw = 0.05 * rng.standard_normal(truth.shape)
    measured = truth + np.triu(draw) + np.triu(draw, 1).T
    seen = measured >= 0
    absence = {"threshold": 0.0, "seen": "above", "unknown": None}
    noise = 0.05 / float(np.sqrt(np.mean(truth**2)))
    return finished(rng, "noisy", np.where(seen, measured, np.nan), truth, seen, absence, U, noise=noise)


@reported
def reported_a7(rng: np.random.Generator, number: int) -> Instance:
    """An entry seen one way round, its mirror called proved and written from the fit: n = 8."""
    return observed(rng, rng.standard_normal((8, 2)), ("unknown-one-way",))


@reported
def reported_a14(rng: np.random.Generator, number: int) -> Instance:
    """Intervals at a quantile with noise of 30 %."""
    return noisy(rng, rng.standard_normal((40, 2)), 0.3, ("at-quantile",))


@reported
def reported_h1(rng: np.random.Generator, number: int) -> Instance:
    """Pieces seen one way round, refused although valid: the largest 5 % of 60 rows, independent noise of 5 %."""
    U = rng.standard_normal((60, 5))
    truth = U @ U.T
    measured = truth + 0.05 * float(np.sqrt(np.mean(truth**2))) * rng.standard_normal(truth.shape)
    threshold = float(np.quantile(measured, 0.95))
    seen = measured >= threshold
    absence = {"threshold": threshold, "seen": "above", "unknown": None}
    return finished(rng, "noisy", np.where(seen, measured, np.nan), truth, seen, absence, U, noise=0.05)
