"""Which pairs are rehearsed, and what one distribution knows of them: the rules themselves."""

import numpy as np
import pytest

import unrelu
from unrelu import Limits, Stop
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsal import held_out, hidden_side, levels
from unrelu._old.data.observations import Observations
from unrelu._old.model.links import Scale


def symmetric(n=12, seed=0):
    values = np.random.default_rng(seed).standard_normal((n, n))
    return values + values.T


def test_of_a_pair_the_narrower_limit_counts():
    M = symmetric()
    limit = np.where(np.triu(np.ones(M.shape), 1) > 0, 1.5, 0.5)  # below the diagonal narrower
    X = np.where(np.maximum(limit, limit.T) <= M, M, np.nan)
    seen = Observations.of(X, threshold=limit)
    for level in levels(seen, np.random.default_rng(0)):
        assert (level.true[1] == 0.5).all()


@pytest.mark.parametrize(("apart", "ways"), [(1e-7, 1), (5e-3, 2)])
def test_two_ways_round_that_differ_are_two_measurements(apart, ways):
    M = symmetric()
    both = M * (1 + np.triu(np.full(M.shape, apart), 1))
    level = levels(Observations.of(np.where(both >= 0, both, np.nan), threshold=0.0), np.random.default_rng(0))[0]
    below = np.count_nonzero(M[np.triu_indices(12, 1)] < 0)
    assert np.count_nonzero(level.hidden) == ways * below


def test_absence_by_chance_hides_on_no_side():
    M = symmetric()
    X = np.where(M >= 0, M, np.nan)
    assert hidden_side(Observations.of(X, threshold=0.0)) == "below"
    maybe = Observations.of(X, threshold=Limits(low=-np.inf, high=0.0, chance=True))
    assert hidden_side(maybe) is None


def test_pairs_that_are_held_out_tell_nothing():
    M = symmetric(20)
    level = held_out(Observations.of(M, threshold=None), np.random.default_rng(0))
    M[level.rows[0], level.cols[0]] = M[level.cols[0], level.rows[0]] = 1e6
    again = held_out(Observations.of(M, threshold=None), np.random.default_rng(0))
    assert again.values.max() == 1e6
    assert again.none.sigma == pytest.approx(level.none.sigma)


def test_a_range_that_contradicts_a_limit_is_no_scale():
    """Entries below a limit of 0 are not positive, whoever says so."""
    values = np.random.default_rng(0).uniform(0.1, 0.9, 300)
    ends = np.full(100, -np.inf), np.full(100, -0.1)
    assert NoStructure.likeliest(values, ends, 1.0, 40, positive=True).scale.range[0] < 0
    low, high = Scale("fisher", 2.0).narrowed((np.array([3.0]), np.array([5.0])))
    assert (low[0], high[0]) == (3.0, 5.0)


def test_rows_count_and_not_pairs():
    values = np.tanh(np.random.default_rng(1).normal(0.0, 1.0, 900))
    seen = values[values >= 0.05]
    ends = np.full(900 - len(seen), -np.inf), np.full(900 - len(seen), 0.05)
    assert NoStructure.likeliest(seen, ends, 1.0, 900).scale.link == "fisher"
    assert NoStructure.likeliest(seen, ends, 1.0, 3).scale.link == "plain"


@pytest.mark.parametrize(("pairs", "few"), [(15, True), (24, False)])
def test_with_fewer_than_twenty_pairs_nothing_is_rehearsed(pairs, few):
    n = 10
    M = np.random.default_rng(4).standard_normal((n, n))
    M = M + M.T + 6 * np.eye(n)
    values = np.sort(M[np.triu_indices(n, 1)])
    cut = float((values[-pairs] + values[-pairs - 1]) / 2)
    X = np.where(cut <= M, M, np.nan)
    found = unrelu.complete(X, threshold=cut, rng=0)
    assert found.verdict.code in (Stop.DOES_NOT_EXTRAPOLATE, Stop.PREDICTS)
    assert found.rehearsal.few is few


def test_a_file_does_not_bring_back_a_mask_and_asks_for_it(tmp_path):
    U = np.random.default_rng(0).standard_normal((30, 2))
    M = U @ U.T
    unknown = np.zeros(M.shape, bool)
    unknown[0, 1] = unknown[1, 0] = True
    X = np.where((M >= 0) & ~unknown, M, np.nan)
    found = unrelu.complete(X, unknown=unknown, rng=0)
    found.save(tmp_path / "found.npz")
    again = unrelu.Completion.load(tmp_path / "found.npz")
    with pytest.raises(unrelu.InputError, match="unknown"):
        again.filled(X)
    np.testing.assert_array_equal(again.with_data(X, unknown).filled(), found.filled())
