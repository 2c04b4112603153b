"""Which pairs are held out, when, and what the three numbers mean."""

import numpy as np
import pytest
import scipy.sparse as sp

import unrelu
import unrelu._old.loop.stopping
from unrelu import Observed
from unrelu._old.data.observations import Observations
from unrelu._old.judge import held_out
from unrelu._old.judge.held_out import HeldOut
from unrelu._old.problems.psd import PSDProblem


def gram(n, rank, seed=0, sigma=0.0):
    rng = np.random.default_rng([seed, 3])
    U = rng.standard_normal((n, rank))
    noise = sigma * rng.standard_normal((n, n))
    return U, U @ U.T + (noise + noise.T) / np.sqrt(2)


def told(n, rank, seed=0, sigma=0.0):
    """What pairs held out of a matrix seen in full say, from the true factor; and the unit."""
    U, X = gram(n, rank, seed, sigma)
    problem = PSDProblem(Observations.of(X, threshold=None), rank, Observed())
    start = U / np.sqrt(problem.unit)
    return HeldOut.of(problem, start, unrelu.GaussNewton(), np.random.default_rng(seed)), problem.unit


@pytest.mark.parametrize(
    ("n", "rank", "asked"),
    [
        (9, 1, True),  # 45 pairs less 8; at the next rank 17 numbers: 20 to spare
        (8, 1, False),  # 36 less 8; 15 numbers: 13 to spare, though 20 at the rank itself
        (30, 15, True),  # 465 less 46; 360 numbers: 59 to spare
        (30, 16, False),  # 374 numbers: 45 to spare, which is less than a tenth of the pairs
    ],
)
def test_twenty_pairs_and_a_tenth_are_to_spare_at_the_next_rank(monkeypatch, n, rank, asked):
    monkeypatch.setattr(HeldOut, "_once", staticmethod(lambda *_: (1.0, 1.0, 1.0)))
    assert (told(n, rank)[0] is not None) is asked


def test_large_matrices_are_not_copied_for_it(monkeypatch):
    monkeypatch.setattr(HeldOut, "_once", staticmethod(lambda *_: (1.0, 1.0, 1.0)))
    assert held_out.MOST_ROWS == 2000
    monkeypatch.setattr(held_out, "MOST_ROWS", 30)
    assert told(30, 2)[0] is not None
    assert told(31, 2)[0] is None


def test_one_unlucky_draw_of_three_decides_nothing(monkeypatch):
    draws = iter([(1.0, 5.0, 2.0), (90.0, 0.1, 70.0), (2.0, 4.0, 1.0)])
    monkeypatch.setattr(HeldOut, "_once", staticmethod(lambda *_: next(draws)))
    assert told(30, 2)[0] == HeldOut(2.0, 4.0, 2.0)
    assert next(draws, None) is None


@pytest.mark.parametrize(("n", "count"), [(9, 8), (30, 46)])
def test_a_tenth_of_the_pairs_is_held_out_and_at_least_eight(monkeypatch, n, count):
    counts = []

    def counted(observations, i, j):
        counts.append(len(i))
        return without(observations, i, j)

    without = Observations.without
    monkeypatch.setattr(Observations, "without", counted)
    told(n, 1)
    assert counts == [count] * 3


@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_held_out_is_missing_both_ways_round_and_not_because_of_its_value(sparse):
    X = gram(6, 1)[1] ** 2 + 1
    X[0, 1] = X[1, 0] = X[4, 5] = X[5, 4] = np.nan
    unknown = np.zeros((6, 6), dtype=bool)
    unknown[4, 5] = unknown[5, 4] = True
    data = sp.csr_array(np.nan_to_num(X)) if sparse else X
    observations = Observations.of(data, threshold=1.0, unknown=unknown)
    fewer = observations.without(np.array([2]), np.array([3]))
    everyone = np.arange(6)
    values, seen = fewer.pairs(everyone, everyone)
    assert np.argwhere(~np.triu(seen) & np.triu(np.ones((6, 6), bool))).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert np.argwhere(np.triu(fewer.absent_pairs(everyone, everyone, seen))).tolist() == [[0, 1]]
    assert np.allclose((values * fewer.unit)[seen], X[seen], rtol=1e-14)
    assert observations.pairs(everyone, everyone)[1][2, 3]  # what was given is left as it was


def test_the_noise_is_that_of_the_data_though_many_numbers_were_fitted_to_them():
    """At rank 4 about fifty numbers follow 95 pairs: the misfit alone would be a third too low."""
    found = [told(14, 4, seed, 0.05) for seed in range(5)]
    assert np.mean([one.noise * unit for one, unit in found]) == pytest.approx(0.05, rel=0.15)


def test_the_numbers_do_not_depend_on_the_unit_of_what_is_left(monkeypatch):
    """A large entry that is held out takes the unit with it: the fit starts from the truth all the same."""
    U = np.ones((12, 1))
    U[:2] = 1e3
    noise = np.triu(np.where(np.random.default_rng(0).random((12, 12)) < 0.5, -0.01, 0.01))
    X = U @ U.T + noise + np.triu(noise, 1).T
    problem = PSDProblem(Observations.of(X, threshold=None), 1, Observed())

    class Chosen:
        def choice(self, *_, **__):
            places = list(zip(*np.nonzero(np.triu(np.ones((12, 12)))), strict=True))
            return np.array([places.index(pair) for pair in [(0, 0), (0, 1), (1, 1), (5, 6)]])

    start = U / np.sqrt(problem.unit)
    monkeypatch.setattr(held_out, "FITS", unrelu._old.loop.stopping.MaxIterations(0))
    error, _, noise_level = HeldOut._once(problem, start, unrelu.GaussNewton(), Chosen())
    assert error * problem.unit == pytest.approx(0.01, rel=1e-6)  # every entry is off by a hundredth
    assert noise_level * problem.unit == pytest.approx(0.01 * np.sqrt(74 / 62), rel=1e-6)


def test_the_fit_without_them_is_followed_to_its_end():
    """Exact data, and a start that is off by a tenth: what is held out is predicted to the last digits."""
    U, X = gram(15, 2)
    problem = PSDProblem(Observations.of(X, threshold=None), 2, Observed())
    start = (U + 0.1 * np.random.default_rng(0).standard_normal(U.shape)) / np.sqrt(problem.unit)
    found = HeldOut.of(problem, start, unrelu.GaussNewton(), np.random.default_rng(0))
    assert found.error < 1e-9
