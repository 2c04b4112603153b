"""The faults of the first release, drawn as they were reported: from ``default_rng(number)``.

The numbers in ``KNOWN`` are those of the reports, and come first in every run.
"""

import numpy as np

from soak.instance import Instance, kind, mirrored, rms
from soak.kinds import finished, noisy, observed
from soak.patterns import censoring

KNOWN = ("reported-a2:0:1329", "reported-a3:0:363", *(f"reported-a6:0:{number}" for number in (1, 15, 17, 26)))


@kind
def reported_a2(rng: np.random.Generator, number: int) -> Instance:
    """A local minimum called converged: rank 3, 35 % of the pairs hidden at random, no threshold."""
    U = rng.standard_normal((8 + number % 8, 3))
    truth = U @ U.T
    seen = mirrored(rng.random(truth.shape)) >= 0.35
    return finished(rng, truth, truth, seen, censoring(None), U)


@kind
def reported_a3(rng: np.random.Generator, number: int) -> Instance:
    """Repeated rows called determined, with bounds that miss the truth: a threshold at the 30 % quantile."""
    U = rng.standard_normal((6, 2))[rng.integers(0, 6, 13)]
    truth = U @ U.T
    threshold = float(np.quantile(truth, 0.3))
    return finished(rng, truth, truth, truth >= threshold, censoring(threshold), U)


@kind
def reported_a4(rng: np.random.Generator, number: int) -> Instance:
    """Misfitted entries called converged, answers that depend on the order of the rows: n = 12, rank 2."""
    return observed(rng, rng.standard_normal((12, 2)), ("at-quantile",))


@kind
def reported_a6(rng: np.random.Generator, number: int) -> Instance:
    """Standard errors of few rows that divided by zero: rank 2, noise of 0.05, threshold 0."""
    U = rng.standard_normal((5 + number % 5, 2))
    truth = U @ U.T
    measured = truth + mirrored(0.05 * rng.standard_normal(truth.shape))
    return finished(rng, measured, truth, measured >= 0, censoring(0.0), U, noise=0.05 / rms(truth))


@kind
def reported_a7(rng: np.random.Generator, number: int) -> Instance:
    """An entry observed one way round, whose mirror was called proved and taken from the fit: n = 8."""
    return observed(rng, rng.standard_normal((8, 2)), ("unknown-one-way",))


@kind
def reported_a14(rng: np.random.Generator, number: int) -> Instance:
    """Intervals at a quantile with noise of 30 %."""
    return noisy(rng, rng.standard_normal((40, 2)), 0.3, ("at-quantile",))


@kind
def reported_h1(rng: np.random.Generator, number: int) -> Instance:
    """Valid pieces observed one way round that were refused: the largest 5 % of 60 rows, independent noise of 5 %."""
    U = rng.standard_normal((60, 5))
    truth = U @ U.T
    measured = truth + 0.05 * rms(truth) * rng.standard_normal(truth.shape)
    threshold = float(np.quantile(measured, 0.95))
    return finished(rng, measured, truth, measured >= threshold, censoring(threshold), U, noise=0.05)
