"""How far chains agree: what R̂ must notice, and effective sample sizes that are known."""

import numpy as np
import pytest

from unrelu._old.loop.chains import Draws, effective_sample_size, r_hat, root_mean_square


def independent(chains=4, count=400, quantities=50, seed=0):
    return np.random.default_rng(seed).standard_normal((chains, count, quantities))


def test_independent_draws_agree():
    assert r_hat(independent()).max() < 1.02
    sizes = effective_sample_size(independent())
    assert 0.8 * 1600 < np.median(sizes) < 1.2 * 1600


@pytest.mark.parametrize("what", ["place", "spread", "drift"])
def test_chains_that_differ_are_noticed(what):
    draws = independent()
    if what == "place":
        draws[0] += 1
    elif what == "spread":  # the same middle, so that only distances from it tell
        draws[0] *= 4
    else:  # every chain agrees with the others, and none with itself
        draws += np.linspace(-1, 1, draws.shape[1])[:, None]
    assert r_hat(draws).min() > 1.05


def test_heavy_tails_hide_no_difference():
    draws = np.random.default_rng(0).standard_cauchy((4, 400, 50))
    assert r_hat(draws).max() < 1.02
    draws[0] += 3
    assert r_hat(draws).min() > 1.05


def test_what_does_not_vary_agrees_with_itself():
    assert r_hat(np.ones((4, 20, 1)))[0] == 1
    assert effective_sample_size(np.ones((4, 20, 1)))[0] == 80


@pytest.mark.parametrize("keeps", [0.5, 0.9, -0.4])
def test_the_effective_size_of_autoregressions_is_known(keeps):
    rng = np.random.default_rng(1)
    chains, count, quantities = 4, 4000, 20
    draws = np.empty((chains, count, quantities))
    now = rng.standard_normal((chains, quantities))
    for k in range(count):
        now = keeps * now + np.sqrt(1 - keeps**2) * rng.standard_normal((chains, quantities))
        draws[:, k] = now
    expected = chains * count * (1 - keeps) / (1 + keeps)
    assert abs(np.median(effective_sample_size(draws)) / expected - 1) < 0.15


def test_scaling_and_order_of_chains_change_nothing():
    draws = independent(quantities=3)
    np.testing.assert_allclose(r_hat(3 * draws[::-1] + 2), r_hat(draws), rtol=1e-12)
    np.testing.assert_allclose(effective_sample_size(draws[::-1]), effective_sample_size(draws), rtol=1e-9)


def grown(count):
    draws = Draws()
    for k in range(1, count + 1):
        draws = draws.then(np.full((2, 1, 1), float(k)), np.full(2, float(k)))
    return draws


@pytest.mark.parametrize("count", [1, 7, 500, 1500, 5000])
def test_the_second_half_is_kept_evenly_and_within_bounds(count):
    draws = grown(count)
    assert draws.sweeps == count
    assert all(count // 2 < number <= count and number % draws.every == 0 for number in draws.numbers)
    assert set(np.diff(draws.numbers)) <= {draws.every}
    assert min(count // 2, 255) <= len(draws.numbers) <= 512  # as the documentation says
    assert [float(factor[0, 0, 0]) for factor in draws.factors] == list(draws.numbers)


def test_draws_are_values():
    before = grown(10)
    kept = before.numbers
    before.then(np.zeros((2, 1, 1)), np.zeros(2))
    assert before.numbers == kept


def test_draws_in_another_order_and_unit():
    draws = Draws().then(np.array([[[1.0], [2.0]]]), np.ones(1)).mapped(np.array([1, 0]), 4.0)
    assert draws.factors[0].tolist() == [[[4.0], [2.0]]]
    assert draws.sigmas[0].tolist() == [4.0]


def test_draws_of_chains_that_began_at_the_same_place():
    factor, sigma = np.arange(5.0)[:, None, None], np.arange(5.0)
    first, second = Draws().then(factor, sigma).by_place(2)
    assert first.sigmas[0].tolist() == first.factors[0].ravel().tolist() == [0, 2, 4]
    assert second.sigmas[0].tolist() == [1, 3]


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_a_mean_of_squares_that_are_no_numbers(unit):
    assert root_mean_square(unit * np.array([1.0, 7.0])) == pytest.approx(5 * unit)
    assert root_mean_square(np.zeros(2)) == 0
