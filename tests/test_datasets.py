"""Planted matrices and points."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import unrelu.datasets as datasets
from tests.golden.planted import FAMILIES


@pytest.mark.parametrize("name", datasets.FAMILIES)
def test_families_are_drawn_as_they_always_were(name):
    planted = datasets.family(name, 40, 3, noise=0.1, rng=5)
    if name in FAMILIES:  # written apart from the package
        assert np.array_equal(planted.factor, FAMILIES[name](np.random.default_rng(5), 40, 3))
    assert np.array_equal(planted.truth, planted.factor @ planted.factor.T)
    noise = planted.matrix - planted.truth
    assert np.allclose(noise, noise.T, rtol=0, atol=1e-15 * np.abs(planted.matrix).max())
    assert np.std(noise) / np.sqrt(np.mean(planted.truth**2)) == pytest.approx(0.1, rel=0.1)


def test_noise_of_a_planted_matrix_is_of_both_kinds():
    planted = datasets.planted(200, 2, sigma=0.5, scales=[1, 0.1], rng=0)
    noise = planted.matrix - planted.truth
    assert np.std(noise) == pytest.approx(0.5, rel=0.02)
    assert abs(np.corrcoef(noise.ravel(), noise.T.ravel())[0, 1]) < 0.05
    symmetric = datasets.planted(50, 2, sigma=0.5, symmetric_noise=True, rng=0).matrix
    assert np.array_equal(symmetric, symmetric.T)


def test_distances_up_to_a_cutoff():
    points = datasets.points_in_cube(100, 3, rng=0)
    D, cutoff = datasets.shortest(points, 0.2)
    observed = D[np.triu_indices(100, 1)]
    assert np.isfinite(observed).mean() == pytest.approx(0.2, abs=1e-3)
    assert np.array_equal(np.isfinite(observed), pdist(points) <= cutoff)
    noisy = datasets.within(points, cutoff, noise=0.01, rng=1)
    assert np.nanmax(noisy) <= cutoff
    assert np.nanstd((noisy - D)[np.triu_indices(100, 1)]) == pytest.approx(0.01, rel=0.2)


def test_a_chain_has_equal_steps_and_keeps_apart():
    points = datasets.chain(120, rng=0)
    assert np.allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), 3.8)
    assert pdist(points).min() >= 3.0 - 1e-9
    assert np.linalg.norm(points, axis=1).max() <= 0.72 * 3.8 * 120 ** (1 / 3) + 3.8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.planted(3, 4), "rank must be between 1 and n=3, got 4"),
        (lambda: datasets.planted(3, 1, sigma=-1.0), "sigma must be at least 0, got -1.0"),
        (lambda: datasets.family("gausian", 3, 1), "name must be one of gaussian, .*; got 'gausian'"),
        (lambda: datasets.points_in_cube(0, 2), "n and dim must be at least 1, got 0 and 2"),
        (lambda: datasets.shortest(np.zeros((3, 2)), 0.0), "fraction must be above 0 and at most 1, got 0.0"),
        (lambda: datasets.chain(10, apart=5.0), "steps must be at least 1 and 0 < apart < step; got 10, 5.0 and 3.8"),
    ],
)
def test_errors_name_parameter_rule_and_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
