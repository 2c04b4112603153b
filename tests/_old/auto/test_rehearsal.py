"""A rehearsal's levels, and the scores of forecasts."""

import numpy as np
import pytest
from scipy.stats import norm

from unrelu._old.auto.candidates import Candidate, fitted
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsal import levels
from unrelu._old.data.observations import Observations
from unrelu.datasets import planted


def instance(sigma=0.3, seed=0):
    drawn = planted(80, 3, sigma=sigma, symmetric_noise=True, rng=seed)
    return drawn.truth, np.where(drawn.matrix >= 0, drawn.matrix, np.nan)


@pytest.mark.parametrize("side", ["above", "below"])
def test_a_share_of_the_seen_pairs_is_hidden_on_purpose(side):
    _, X = instance()
    sign = 1 if side == "above" else -1
    seen = Observations.of(sign * X, threshold=0.0, seen=side)
    count = np.count_nonzero(~np.isnan(X[np.triu_indices(80, 1)]))
    for level, share in zip(levels(seen, np.random.default_rng(0)), (0.25, 0.5), strict=True):
        assert abs(np.count_nonzero(~level.hidden) - share * count) <= 1
        np.testing.assert_array_equal(level.values, sign * X[level.rows, level.cols])
        inside = level.values[~level.hidden] * sign
        assert (inside >= 0).all()
        assert (inside < sign * level.limit).all()
        assert level.observations.count < seen.count
        np.testing.assert_array_equal(np.diag(level.observations.block(slice(0, 80), slice(0, 80))), sign * np.diag(X))


def test_the_score_is_the_likelihood_given_what_the_fit_was_told():
    truth, X = instance()
    level = levels(Observations.of(X, threshold=0.0), np.random.default_rng(0))[1]
    means = truth[level.rows, level.cols]
    told = norm.logcdf((level.limit - means) / 0.7)
    by_hand = (
        np.where(level.hidden, norm.logcdf(-means / 0.7), norm.logpdf(np.nan_to_num(level.values), means, 0.7)) - told
    )
    np.testing.assert_allclose(level.score(means, 0.7), by_hand.mean(), rtol=1e-9)


def test_the_best_sigma_is_the_error_of_the_forecast():
    truth, X = instance(sigma=0.3)
    for level in levels(Observations.of(X, threshold=0.0), np.random.default_rng(0)):
        sigma, score = level.best(truth[level.rows, level.cols])
        np.testing.assert_allclose(sigma, 0.3, rtol=0.08)
        assert score >= max(level.score(truth[level.rows, level.cols], s) for s in (0.2, 0.3, 0.45))
        wrong, lower = level.best(
            truth[level.rows, level.cols] + np.random.default_rng(1).normal(0, 0.4, len(level.rows))
        )
        np.testing.assert_allclose(wrong, 0.5, rtol=0.12)
        assert lower < score


def test_one_distribution_is_found_by_likelihood():
    drawn = np.random.default_rng(2).normal(1.0, 2.0, 40_000)
    found = NoStructure.of(drawn[drawn >= 2.0], (-np.inf, 2.0), int(np.count_nonzero(drawn < 2.0)))
    np.testing.assert_allclose([found.mean, found.sigma], [1.0, 2.0], atol=0.08)


def test_the_right_rank_is_told_from_none_and_from_too_little():
    _, X = instance()
    seen = Observations.of(X, threshold=0.0)
    for level in levels(seen, np.random.default_rng(0)):
        scores = [level.without_structure]
        before = None
        for rank in (1, 2, 3):
            before = fitted(level.observations, Candidate(rank), before)
            scores.append(level.best(before.entries(level.rows, level.cols))[1])
        assert scores == sorted(scores)
