"""Rows placed from seen blocks, and averaged where there is noise."""

from dataclasses import replace

import numpy as np

from unrelu._old.data.observations import Observations
from unrelu._old.model.factors import align
from unrelu._old.placing.placement import find_blocks, place, steadied


def test_a_row_that_fits_badly_counts_little_in_the_average():
    """A few rows of the first placement are far off: the other blocks know better, and outweigh it."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((80, 3))
    E = 1e-3 * rng.standard_normal((80, 80))
    M = U @ U.T + E + E.T
    observations = Observations.of(np.where(M >= 0, M, np.nan))
    truth = U / np.sqrt(observations.unit)
    first = place(observations, 3, find_blocks(observations, 3, rng)[0], rng)
    spoiled = [row for row in range(80) if row not in first.seed][:8]
    factor = first.factor.copy()
    factor[spoiled] += 3.0
    averaged = steadied(observations, 3, replace(first, factor=factor), rng)
    apart = np.linalg.norm(align(averaged.factor, truth) - truth, axis=1)
    # Five placements with equal weights would leave a fifth of 3√3, and turn the others by a hundredth.
    assert apart[spoiled].max() < 0.2
    assert np.delete(apart, spoiled).max() < 0.005
