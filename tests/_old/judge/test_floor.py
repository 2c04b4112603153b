"""What fully seen blocks say of the noise and of the rank; each rule goes red when it is loosened."""

import numpy as np
import pytest

from unrelu import Observed, OneSided
from unrelu._old.base.tolerances import FLOOR_LOOSE, FLOOR_NOISELESS
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import Floor, noiseless, rms, unknowns_and_pairs
from unrelu._old.problems.psd import PSDProblem


def gram(n, rank, seed=0, sigma=0.0):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    noise = sigma * rng.standard_normal((n, n))
    return U @ U.T + (noise + noise.T) / np.sqrt(2)


def floor_of(M, rank, threshold=0.0):
    observations = Observations.of(np.where(threshold <= M, M, np.nan), threshold=threshold)
    return observations, Floor.of(observations, rank, np.random.default_rng(0))


@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("n", [40, 120])
def test_noise_is_what_lies_below_zero(n, sigma):
    observations, floor = floor_of(gram(n, 3, 1, sigma), 3)
    assert floor.noise * observations.unit == pytest.approx(sigma, rel=0.25)
    assert floor.beyond * observations.unit == pytest.approx(sigma, rel=0.35)
    assert not floor.shows_rank


@pytest.mark.parametrize("rank", [2, 4, 6])
def test_further_rank_of_a_semidefinite_matrix_is_not_taken_for_noise(rank):
    observations, floor = floor_of(gram(60, 12), rank)
    assert floor.noise < 1e-12
    assert floor.beyond > 0.1
    assert floor.shows_rank
    assert not floor.reached(PSDProblem(observations, rank, OneSided()), 1e-3)


def test_exact_data_of_the_rank_show_neither():
    for seed in range(5):
        _, floor = floor_of(gram(40, 3, seed), 3)
        assert floor.noise < 1e-12
        assert not floor.shows_rank  # rounding has a sign too


def test_rank_shows_through_noise_only_if_it_is_well_above():
    weak, strong = gram(80, 3, 2, 0.3), gram(80, 6, 2, 0.05)
    assert not floor_of(weak, 3)[1].shows_rank
    assert floor_of(strong, 3)[1].shows_rank


def test_few_entries_must_show_rank_more_clearly():
    few, many = Floor(1.0, 3.0, 10, 1e-9), Floor(1.0, 3.0, 1000, 1e-9)
    assert not few.shows_rank
    assert many.shows_rank
    assert Floor(1.0, 8.0, 10, 1e-9).shows_rank
    assert not Floor(1.0, 2.0, 1000, 1e-9).shows_rank
    assert not Floor(0.0, 1e-10, 1000, 1e-9).shows_rank
    assert not Floor(None).shows_rank


def test_a_fit_may_exceed_the_noise_by_what_its_estimate_may_be_off():
    M = gram(40, 2, 3, 0.1)
    observations, _ = floor_of(M, 2)
    problem = PSDProblem(observations, 2, Observed())

    def value(times_noise):  # ¼ of the squares that a misfit of so many times the noise would have
        return observations.count * (times_noise * 0.1 / observations.unit) ** 2 / 4

    noise = 0.1 / observations.unit
    sure, unsure = Floor(noise, noise, 10_000), Floor(noise, noise, 20)
    assert sure.reached(problem, value(1.4))
    assert not sure.reached(problem, value(1.7))
    assert unsure.reached(problem, value(2.0))
    assert not unsure.reached(problem, value(3.0))
    assert not Floor(None).reached(problem, value(0.01))


def test_a_block_of_r_plus_one_rows_tells_nothing():
    M = gram(4, 3, 0, 0.2)
    _, floor = floor_of(M + 10, 3)
    assert floor.noise is None


def test_a_few_entries_tell_exact_data_but_not_noise():
    """A block of r + 2 rows has three entries beyond its rank."""
    for seed in range(20):
        assert floor_of(gram(5, 3, seed, 0.1) + 10, 4, -99.0)[1].noise is None
    assert floor_of(gram(5, 3), 3, -99.0)[1].noise < 1e-9


def test_more_blocks_are_looked_for_while_few_entries_tell():
    """At r = 6 and n = 60 the first blocks hardly exceed the rank: 12 tries leave an estimate of a few entries."""
    entries = [floor_of(gram(60, 6, seed, 0.05), 6)[1].entries for seed in range(6)]
    assert min(entries) >= 30


def test_rounding_is_a_millionth_and_a_named_method_a_thousandth():
    observations, _ = floor_of(gram(20, 2), 2)
    problem = PSDProblem(observations, 2, Observed())
    assert FLOOR_NOISELESS == {"float64": 1e-6, "float32": 1e-3}
    assert FLOOR_LOOSE == {"float64": 1e-3, "float32": 1e-2}
    for share, strictly, loosely in ((0.9e-6, True, True), (2e-6, False, True), (2e-3, False, False)):
        value = (share * problem.norm) ** 2 / 4
        assert noiseless(problem, value) is strictly
        assert noiseless(problem, value, loosely=True) is loosely


def test_counting_and_rms():
    X = np.array([[4.0, 2.0, np.nan], [2.0, 1.0, 3.0], [np.nan, 3.0, 9.0]])
    problem = PSDProblem(Observations.of(X), 1, Observed())
    assert unknowns_and_pairs(problem) == (3, 5)
    assert unknowns_and_pairs(problem.at_rank(2)) == (5, 5)
    assert rms(problem, 7 / 4) == pytest.approx(1.0)  # seven entries, each off by one unit
