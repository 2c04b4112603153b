"""Which model is chosen where data are of no low rank, and what its rehearsal shows."""

import json
from dataclasses import replace

import numpy as np
import pytest

import unrelu
from unrelu import Rehearsal
from unrelu._old.auto.candidates import Candidate
from unrelu._old.auto.menu import chosen_from, menu_for
from unrelu._old.auto.rehearsal import alone, held_out, hidden_side, levels
from unrelu._old.base.budget import OutOfTime, budget
from unrelu._old.data.observations import Observations
from unrelu._old.model.predictive import damped


def factor_model(p=40, r=3, samples=400, seed=0):
    """Correlations of variables that follow a few factors, each with much of its own."""
    rng = np.random.default_rng(seed)
    loads = rng.standard_normal((p, r))
    scores = rng.standard_normal((samples, r)) @ loads.T
    return np.corrcoef(scores + rng.standard_normal((samples, p)) * np.sqrt(rng.uniform(1, 3, p)), rowvar=False)


def kept_above(matrix, share=0.5):
    cut = float(np.quantile(matrix[np.triu_indices(len(matrix), 1)], share))
    X = np.where(matrix >= cut, matrix, np.nan)
    np.fill_diagonal(X, np.diag(matrix))
    return X, cut


def laplacian_kernel(n=40, seed=1):
    """No matrix of low rank plus noise: fits go too far below what was seen."""
    points = np.random.default_rng(seed).standard_normal((n, 5))
    squares = np.sum((points[:, None] - points) ** 2, axis=-1)
    return np.exp(-np.sqrt(squares / np.median(squares)))


def off(filled, matrix, X):
    hidden = np.isnan(X)
    return float(np.sqrt(np.mean((filled - matrix)[hidden] ** 2)) / matrix[hidden].std())


def test_the_diagonal_of_a_factor_model_is_a_limit():
    matrix = factor_model()
    X, cut = kept_above(matrix)
    seen = Observations.of(X, threshold=cut)
    found = chosen_from(menu_for(seen), seen, np.random.default_rng(0)).rehearsal
    assert found.best.diagonal == "limit"
    assert found.extrapolates
    as_data = max(trial.gain for trial in found.trials if trial.diagonal == "data")
    assert found.best.gain > as_data + 0.1


def test_forecasts_of_a_kernel_are_damped_and_so_better_than_no_structure():
    matrix = laplacian_kernel()
    X, cut = kept_above(matrix)
    found = unrelu.complete(X, threshold=cut, rng=0)
    shown = found.rehearsal
    assert found.verdict.code.value == "predicts"
    assert shown.damping < 0.8
    hidden = np.isnan(X)
    plain = np.minimum(found.matrix(), cut)
    alone_error = off(np.where(hidden, shown.without_structure(X, (-np.inf, cut)).expectation(), X), matrix, X)
    assert off(found.filled(), matrix, X) < 0.6 * alone_error < off(np.where(hidden, plain, X), matrix, X)


def test_a_matrix_without_structure_is_said_not_to_extrapolate():
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((36, 36))
    matrix = (matrix + matrix.T) / 2 + 9 * np.eye(36)
    X, cut = kept_above(matrix)
    found = unrelu.complete(X, threshold=cut, rng=0)
    assert found.verdict.code.value == "does-not-extrapolate"
    assert not found.verdict.answered
    i, j = np.nonzero(np.isnan(X))
    low, high = found.predict(i, j)
    assert 0.9 < np.mean((low <= matrix[i, j]) & (matrix[i, j] <= high)) < 0.99
    assert high.max() <= cut
    # One distribution for all: the same is filled in everywhere.
    assert np.ptp(found.filled()[i, j]) == 0


def test_a_rehearsal_survives_json():
    X, cut = kept_above(factor_model(p=20))
    seen = Observations.of(X, threshold=cut)
    shown = chosen_from([[Candidate(1), Candidate(2)]], seen, np.random.default_rng(0)).rehearsal
    again = Rehearsal.read(json.loads(json.dumps(shown.as_dict())))
    assert again.as_dict() == shown.as_dict()
    assert str(again) == str(shown)
    assert again.trials == shown.trials


def test_the_best_so_far_is_the_answer_when_the_time_is_over(monkeypatch):
    X, cut = kept_above(factor_model(p=20))
    seen = Observations.of(X, threshold=cut)
    asked = []

    def late(name):
        asked.append(name)
        if len(asked) == 3:
            raise OutOfTime

    monkeypatch.setattr("unrelu._old.auto.menu.phase", late)
    found = chosen_from(menu_for(seen), seen, np.random.default_rng(0))
    assert isinstance(found.cut, OutOfTime)
    assert len(found.rehearsal.trials) == 2
    assert found.fitted.factor.shape[0] == 20
    with budget(seconds=1e-9), pytest.raises(OutOfTime):
        chosen_from(menu_for(seen), seen, np.random.default_rng(0))


def test_damping_goes_by_the_side_that_is_hidden():
    np.testing.assert_allclose(damped(np.array([3.0, -1.0]), (0.0, np.inf), "above", 0.5), [1.5, -1.0])
    means = np.array([-2.0, 1.0])
    assert damped(means, (-np.inf, np.array([0.0, np.inf])), "below", 0.5).tolist() == [-1.0, 1.0]
    assert damped(means, (-np.inf, 0.0), None, 0.5) is means


@pytest.mark.parametrize(("seen", "sign"), [("above", 1), ("below", -1)])
def test_limits_of_their_own_are_all_raised_by_the_same_way(seen, sign):
    matrix = factor_model(p=20)
    limits = np.quantile(matrix, 0.4, axis=0)[None, :] * np.ones((20, 1))
    limits = np.maximum(limits, limits.T)
    X = np.where(matrix >= limits, matrix, np.nan)
    observed = Observations.of(sign * X, threshold=sign * limits, seen=seen)
    for level, share in zip(levels(observed, np.random.default_rng(0)), (0.25, 0.5), strict=True):
        assert level.limit is None
        shown = ~level.hidden
        assert abs(shown.sum() - share * np.count_nonzero(np.triu(~np.isnan(X), 1))) <= 1
        end = level.told[1] if seen == "above" else -level.told[0]
        true = level.true[1] if seen == "above" else -level.true[0]
        ways = end - true
        np.testing.assert_allclose(ways, ways[0])
        assert (sign * level.values[shown] < end[shown]).all()
        assert (sign * level.values[shown] >= true[shown]).all()


def test_without_a_limit_pairs_are_held_out_whatever_they_are():
    matrix = factor_model(p=30)
    X = matrix.copy()
    i, j = np.triu_indices(30, 1)
    gone = np.random.default_rng(0).permutation(len(i))[:100]
    X[i[gone], j[gone]] = X[j[gone], i[gone]] = np.nan
    observed = Observations.of(X, threshold=None)
    assert levels(observed, np.random.default_rng(0)) == []
    assert hidden_side(observed) is None
    level = held_out(observed, np.random.default_rng(0))
    assert len(level.rows) == pytest.approx(0.1 * (len(i) - 100), abs=1)
    assert not level.hidden.any()
    found = unrelu.complete(X, threshold=None, rng=0)
    assert found.rehearsal.damping == 1
    assert off(found.filled(), matrix, X) < 0.7


def test_a_range_of_all_entries_is_not_raised():
    matrix = np.abs(factor_model(p=20))
    X, cut = kept_above(matrix)
    observed = Observations.of(X, threshold=cut, entry_range=(0.0, 1.0))
    assert hidden_side(observed) == "below"
    for level in levels(observed, np.random.default_rng(0)):
        assert (level.told[0] == 0).all()
        assert (level.true[0] == 0).all()


def test_two_measurements_of_a_pair_are_scored_each_by_itself():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((30, 2))
    noisy = U @ U.T + 0.3 * rng.standard_normal((30, 30))
    observed = Observations.of(np.where(noisy >= 0, noisy, np.nan))
    level = levels(observed, np.random.default_rng(0))[0]
    places = set(zip(level.rows.tolist(), level.cols.tolist(), strict=True))
    assert len(places) == len(level.rows)
    assert any((j, i) in places for i, j in places)
    np.testing.assert_array_equal(level.values[~level.hidden], noisy[level.rows, level.cols][~level.hidden])


def test_one_distribution_knows_of_what_is_hidden():
    X, cut = kept_above(factor_model())
    found = alone(Observations.of(X, threshold=cut), np.random.default_rng(0))
    assert found.mean == pytest.approx(cut, abs=0.1)  # half of it is hidden
    assert replace(found, mean=0.0).sigma == found.sigma
