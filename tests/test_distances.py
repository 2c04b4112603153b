"""Points from short distances: exact where the data fix them, and never wrong where they say so."""

import numpy as np
import pytest

import unrelu
from unrelu.datasets import chain, points_in_cube, shortest, within
from unrelu.distances.alignment import deviation

# Noiseless places come back to this share of the size of the set.
EXACT = 1e-8


def worst(result, truth, chosen):
    """Largest error on some points of the largest component, after aligning those."""
    chosen = chosen & (result.components == 0)
    return deviation(result.points[chosen], truth[chosen]).max()


@pytest.mark.parametrize(("dim", "fraction"), [(2, 0.1), (3, 0.2), (5, 0.2)])
@pytest.mark.parametrize("seed", range(3))
def test_cube_is_exact(dim, fraction, seed):
    truth = points_in_cube(200, dim, rng=[seed, dim])
    D, cutoff = shortest(truth, fraction)
    result = unrelu.complete_distances(D, dim, cutoff=cutoff, rng=seed)
    assert result.determined.mean() >= 0.98
    assert worst(result, truth, result.determined) < EXACT
    assert worst(result, truth, np.isfinite(D).sum(axis=1) > dim + 1) < EXACT


@pytest.mark.parametrize("cutoff", [8.0, 10.0])
def test_chain_is_exact(cutoff):
    truth = chain(300, rng=1)
    result = unrelu.complete_distances(within(truth, cutoff), 3, cutoff=cutoff, rng=0)
    assert np.sqrt(np.mean(deviation(result.points, truth) ** 2)) < 1e-6
