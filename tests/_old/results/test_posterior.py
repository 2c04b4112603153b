"""What a posterior says of entries, against the draws it was made from; and that it is saved with its completion."""

import numpy as np
import pytest
from scipy.stats import norm

import unrelu
from unrelu import Stop
from unrelu._old.loop.chains import Draws
from unrelu._old.results.posterior import Posterior
from unrelu.datasets import planted

N, CUT = 24, 0.2


@pytest.fixture(scope="module")
def X():
    M = planted(N, 2, sigma=0.3, symmetric_noise=True, rng=0).matrix
    X = np.where(M >= CUT, M, np.nan)
    X[3, 5] = X[5, 3] = np.nan
    return X


@pytest.fixture(scope="module")
def unknown():
    mask = np.zeros((N, N), bool)
    mask[3, 5] = mask[5, 3] = True
    return mask


@pytest.fixture(scope="module")
def found(X, unknown):
    return unrelu.complete(X, 2, threshold=CUT, unknown=unknown, method="gibbs", max_iter=400, rng=0)


@pytest.fixture(scope="module")
def drawn(found):
    """Every draw of every entry, and its noise, the naive way."""
    U = found.posterior.draws.reshape(-1, N, 2)
    return U @ U.transpose(0, 2, 1), found.posterior.sigma.ravel()


def hidden(X):
    i, j = np.nonzero(np.triu(np.isnan(X), 1))
    keep = ~((i == 3) & (j == 5))
    return i[keep], j[keep]


def test_means_and_deviations_are_those_of_the_draws(found, drawn):
    M, _ = drawn
    everyone = np.arange(N)
    np.testing.assert_allclose(found.posterior.mean(everyone[:, None], everyone), M.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.standard_errors(everyone[:, None], everyone), M.std(axis=0), rtol=1e-7)
    low, high = found.interval(everyone[:, None], everyone, 0.8)
    np.testing.assert_allclose(low, np.quantile(M, 0.1, axis=0), rtol=1e-9)
    np.testing.assert_allclose(high, np.quantile(M, 0.9, axis=0), rtol=1e-9)


def test_the_matrix_is_the_best_of_its_rank_to_the_mean(found, drawn):
    mean = drawn[0].mean(axis=0)
    values, vectors = np.linalg.eigh(mean)
    np.testing.assert_allclose(found.matrix(), (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T, atol=1e-9)


def test_hidden_entries_lie_within_their_limits(found, X, drawn):
    M, sigma = drawn
    i, j = hidden(X)
    low, high = found.predict(i, j)
    assert (high <= CUT).all()
    for end, share in ((low, 0.025), (high, 0.975)):
        # One number is drawn for each draw: so many standard errors of a share of them.
        room = 4 * np.sqrt(0.025 * 0.975 / len(sigma))
        below = [norm.cdf(end, m, s) / norm.cdf(CUT, m, s) for m, s in zip(M[:, i, j], sigma, strict=True)]
        np.testing.assert_allclose(np.mean(below, axis=0), share, atol=room)


def test_unknown_entries_have_no_limits_and_seen_ones_their_value(found, X, drawn):
    M, sigma = drawn
    low, high = found.predict(3, 5)
    share = np.mean(norm.cdf(high, M[:, 3, 5], sigma) - norm.cdf(low, M[:, 3, 5], sigma))
    assert abs(share - 0.95) < 0.02
    i, j = np.nonzero(~np.isnan(X))
    np.testing.assert_array_equal(found.predict(i, j), [X[i, j], X[i, j]])
    np.testing.assert_array_equal(found.posterior.spread(i, j), 0)


def test_probabilities_are_those_of_the_mixture(found, X, drawn):
    M, sigma = drawn
    (i, j), value = hidden(X), -0.3
    each = [
        1 - norm.cdf(value, m, s) / norm.cdf(CUT, m, s) for m, s in zip(M[:, i, j], sigma, strict=True)
    ]  # P(value < x | x < CUT)
    np.testing.assert_allclose(found.posterior.probability_above(value, i, j), np.mean(each, axis=0), atol=1e-9)
    whole = found.posterior.probability_above(value)
    assert whole.shape == (N, N)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(whole[seen], X[seen] > value)
    assert (found.posterior.probability_above(CUT, i, j) == 0).all()


def test_what_is_filled_in_is_expected_and_keeps_what_was_seen(found, X, drawn):
    M, sigma = drawn
    filled = found.filled()
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(filled[seen], X[seen])
    i, j = hidden(X)
    z = (CUT - M[:, i, j]) / sigma[:, None]
    expected = M[:, i, j] - sigma[:, None] * norm.pdf(z) / norm.cdf(z)
    np.testing.assert_allclose(filled[i, j], expected.mean(axis=0), rtol=1e-9)
    assert abs(filled[3, 5] - M[:, 3, 5].mean()) < 1e-9


def test_an_answer_does_not_depend_on_what_else_is_asked(found, X):
    i, j = hidden(X)
    together = found.posterior.interval(i, j)
    alone = found.posterior.interval(i[7], j[7])
    assert (together[0][7], together[1][7]) == alone
    assert np.shape(alone[0]) == ()


def test_convergence_of_entries_has_their_shape(found):
    rows, cols = np.arange(4)[:, None], np.arange(5)
    assert found.posterior.r_hat(rows, cols).shape == (4, 5)
    sizes = found.posterior.effective_sample_size(rows, cols)
    assert (sizes > 0).all()
    assert found.posterior.worst[0] >= found.posterior.r_hat(0, 1)
    assert "R̂ of entries at most" in str(found.posterior)


def test_it_is_saved_and_read_again(found, X, unknown, tmp_path):
    found.save(tmp_path / "found.npz")
    again = unrelu.Completion.load(tmp_path / "found.npz")
    np.testing.assert_array_equal(again.posterior.draws, found.posterior.draws)
    np.testing.assert_array_equal(again.posterior.mean(0, 1), found.posterior.mean(0, 1))
    assert again.verdict == found.verdict
    with pytest.raises(unrelu.InputError, match="made with 2 entries marked as unknown"):
        again.predict(0, 1)
    i, j = hidden(X)
    np.testing.assert_array_equal(again.with_data(X, unknown).predict(i, j), found.predict(i, j))
    np.testing.assert_array_equal(again.with_data(X, unknown).filled(), found.filled())


def test_half_of_the_draws_is_no_posterior(found, tmp_path):
    found.save(tmp_path / "found.npz")
    with np.load(tmp_path / "found.npz") as stored:
        fields = {name: stored[name] for name in stored.files}
    fields["drawn_sigmas"] = fields["drawn_sigmas"][:, :-1]
    np.savez(tmp_path / "half.npz", **fields)
    with pytest.raises(unrelu.InputError, match="the draws in this file are not whole; save the completion anew"):
        unrelu.Completion.load(tmp_path / "half.npz")


def test_other_methods_have_none(X):
    assert unrelu.complete(X, 2, threshold=CUT, rng=0).posterior is None


def test_no_row_is_called_determined_and_error_bars_are_elsewhere(found):
    assert not found.determined.any()
    assert found.verdict.code in (Stop.SAMPLED, Stop.MAX_ITERATIONS)
    with pytest.raises(unrelu.InputError, match="its errors are those of its draws; ask standard_errors, interval"):
        found.error_bars()
    assert "by its posterior between" in str(found.noise)


@pytest.mark.parametrize("wrong", [np.nan, "1", None])
def test_a_value_must_be_one(found, wrong):
    with pytest.raises(unrelu.InputError, match="value must be a finite number, got"):
        found.posterior.probability_above(wrong)


def test_an_entry_that_weighs_more_has_less_noise(X, unknown):
    weights = np.ones((N, N))
    weights[3, 5] = weights[5, 3] = 25.0
    found = unrelu.complete(X, 2, threshold=CUT, unknown=unknown, weights=weights, method="gibbs", max_iter=60, rng=0)
    each = found.posterior.draws.reshape(-1, N, 2)
    entry = np.einsum("sr,sr->s", each[:, 3], each[:, 5])
    noise = found.posterior.sigma.ravel() / np.sqrt(found.observed().weights[3, 5])
    low, high = found.predict(3, 5)
    share = np.mean(norm.cdf((high - entry) / noise) - norm.cdf((low - entry) / noise))
    assert abs(share - 0.95) < 0.03


@pytest.fixture(scope="module")
def half_seen():
    """Of a noise for each entry, some are on two sides of the threshold."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((N, 2))
    Y = U @ U.T + 0.5 * rng.standard_normal((N, N))
    X = np.where(Y >= 0, Y, np.nan)
    i, j = np.nonzero(np.isnan(X) & ~np.isnan(X.T))
    assert len(i) > 30
    return Y, X, i, j


@pytest.mark.parametrize("options", [dict(method="gibbs", max_iter=300), dict()])
def test_an_entry_with_a_noise_of_its_own_is_not_the_one_across_the_diagonal(half_seen, options):
    Y, X, i, j = half_seen
    found = unrelu.complete(X, 2, pairs="independent", rng=0, **options)
    low, high = found.predict(i, j)
    assert (high <= 0).all()
    assert np.mean((low <= Y[i, j]) & (Y[i, j] <= high)) > 0.85
    np.testing.assert_array_equal(found.predict(j, i), [X[j, i], X[j, i]])
    np.testing.assert_array_equal(found.filled()[i, j], X[j, i])  # what is filled in is symmetric all the same
    if found.posterior is not None:
        assert (found.posterior.probability_above(0, i, j) == 0).all()


@pytest.mark.parametrize("options", [dict(method="gibbs", max_iter=60), dict()])
def test_with_one_noise_a_pair_seen_one_way_round_is_seen(X, unknown, options):
    i, j = (index[:10] for index in np.nonzero(np.triu(~np.isnan(X), 1)))
    half, mask = X.copy(), unknown.copy()
    half[j, i], mask[j, i] = np.nan, True
    found = unrelu.complete(half, 2, threshold=CUT, unknown=mask, pairs="one", rng=0, **options)
    np.testing.assert_array_equal(found.predict(j, i), [X[i, j], X[i, j]])


def test_degrees_of_freedom_are_those_of_the_spread():
    # σ² = 50 / χ² with 50 degrees of freedom is what 50 values leave open of a noise of 1.
    sigmas = np.sqrt(50 / np.random.default_rng(0).chisquare(50, (4, 2000)))
    kept = Draws(tuple(np.zeros((4, 1, 1)) for _ in range(2000)), tuple(sigmas.T), tuple(range(2000)))
    noise = Posterior(kept, lambda i, j: (i, j), lambda X: X).noise
    assert 45 < noise.degrees_of_freedom < 55
    assert abs(noise.sigma - np.sqrt(50 / 48)) < 0.01
