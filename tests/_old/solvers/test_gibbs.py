"""The sampler against posteriors that are summed up on a grid, and what a state and a sweep must be."""

import pickle

import numpy as np
import pytest
from scipy.stats import chi2, norm

import unrelu
import unrelu._old.solvers.gibbs as gibbs
from unrelu import Censored, History, Limits, Record
from unrelu._old.data.observations import Observations
from unrelu._old.loop.chains import effective_sample_size
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import Gibbs
from unrelu._old.solvers.sampled_data import told

NAN = np.nan
PAIRS = ((0, 1), (0, 2), (1, 2))
SIGMA = 0.5
# Of a mean of correlated draws, so many standard errors by the effective sample size.
ERRORS = 5


def problem_of(X, rank=1, sigma=SIGMA, use="unknown", **said):
    observations = Observations.of(np.array(X, float), **said).with_diagonal(use)
    return PSDProblem(observations, rank, Censored(sigma))


def sampled(problem, sweeps=800, **options):
    """Draws of all chains but for the way there, in the caller's units: of shape (chains, draws, n, rank)."""
    sampler = Gibbs(**(dict(scale=1.0, chains=16) | options))
    first = np.full((problem.size, problem.rank), 0.5)
    state, found = sampler.start(problem, first, first), []
    for k in range(sweeps):
        state = sampler.step(problem, state)
        if k >= sweeps // 10:
            found.append(state.factor)
    return np.stack(found, axis=1) * np.sqrt(problem.unit)


def log_prior(u, n=3):
    """Of U at rank 1 and scale 1, mean and precision of the column integrated out by hand."""
    spread = np.sum(u**2, axis=0) - np.sum(u, axis=0) ** 2 / (n + 1)
    return -(1 + n) / 2 * np.log(0.01 + spread)


def on_grid(log_likelihood, reach=4.0, points=91):
    """Posterior means of arctan(u_i·u_j) and of its square, for n = 3 and rank 1: no tail is too heavy for these."""
    axis = np.linspace(-reach, reach, points)
    u = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"))
    log = log_prior(u) + log_likelihood(u)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    angles = [np.arctan(u[i] * u[j]) for i, j in PAIRS]
    return [(float(np.sum(weight * angle)), float(np.sum(weight * angle**2))) for angle in angles]


def agrees(factors, expected):
    for (i, j), moments in zip(PAIRS, expected, strict=True):
        angle = np.arctan(np.einsum("csr,csr->cs", factors[:, :, i], factors[:, :, j]))
        for values, right in zip((angle, angle**2), moments, strict=True):
            size = effective_sample_size(values[:, :, None])[0]
            assert size > 500
            assert abs(values.mean() - right) < ERRORS * values.std() / np.sqrt(size), (i, j)


def seen(u, i, j, value, sigma=SIGMA):
    return norm.logpdf(value, u[i] * u[j], sigma)


def test_a_hidden_entry_below_its_limit():
    X = [[NAN, 1.2, NAN], [1.2, NAN, 0.8], [NAN, 0.8, NAN]]
    expected = on_grid(lambda u: seen(u, 0, 1, 1.2) + seen(u, 1, 2, 0.8) + norm.logcdf((0.3 - u[0] * u[2]) / SIGMA))
    agrees(sampled(problem_of(X, threshold=0.3)), expected)


def test_a_gap_and_an_entry_of_which_nothing_is_known():
    X = [[NAN, 0.6, NAN], [0.6, NAN, NAN], [NAN, NAN, NAN]]
    unknown = np.zeros((3, 3), bool)
    unknown[1, 2] = unknown[2, 1] = True

    def outside(u):
        low, high = (-0.3 - u[0] * u[2]) / SIGMA, (0.7 - u[0] * u[2]) / SIGMA
        return np.log(norm.cdf(low) + norm.sf(high) + np.finfo(float).tiny)

    expected = on_grid(lambda u: seen(u, 0, 1, 0.6) + outside(u), reach=9.0, points=121)
    factors = sampled(problem_of(X, threshold=Limits(gap=(-0.3, 0.7), unknown=unknown)), 2500)
    agrees(factors, expected)


def test_noise_that_is_learnt():
    # No matrix of rank one has these signs, so that the noise cannot vanish.
    values = {(0, 1): 1.2, (0, 2): 0.7, (1, 2): -0.9}
    X = [[NAN, 1.2, 0.7], [1.2, NAN, -0.9], [0.7, -0.9, NAN]]

    def integrated(u):
        squares = sum((u[i] * u[j] - value) ** 2 for (i, j), value in values.items())
        return -(1 + 3) / 2 * np.log(1e-6 + squares)

    agrees(sampled(problem_of(X, sigma=None, threshold=None), 1500), on_grid(integrated, reach=6.0, points=121))


@pytest.mark.parametrize("use", ["data", "limit"])
def test_a_diagonal_that_is_data_or_a_limit(use):
    X = [[1.0, 1.2, NAN], [1.2, 2.0, 0.8], [NAN, 0.8, 0.6]]
    own = (1.0, 2.0, 0.6)

    def likelihood(u):
        total = seen(u, 0, 1, 1.2) + seen(u, 1, 2, 0.8) + norm.logcdf((0.3 - u[0] * u[2]) / SIGMA)
        for i, value in enumerate(own):
            total = total + (seen(u, i, i, value) if use == "data" else norm.logcdf((value - u[i] ** 2) / SIGMA))
        return total

    agrees(sampled(problem_of(X, use=use, threshold=0.3)), on_grid(likelihood))


@pytest.mark.parametrize("pairs", ["one", "independent"])
def test_pairs_count_once_or_twice(pairs):
    X = [[NAN, 1.4, NAN], [1.0, NAN, 0.8], [NAN, 0.8, NAN]]

    def likelihood(u):
        hidden = norm.logcdf((0.3 - u[0] * u[2]) / SIGMA)
        if pairs == "one":
            return seen(u, 0, 1, 1.2) + seen(u, 1, 2, 0.8) + hidden
        return seen(u, 0, 1, 1.4) + seen(u, 0, 1, 1.0) + 2 * seen(u, 1, 2, 0.8) + 2 * hidden

    problem = problem_of(X, threshold=0.3)
    agrees(sampled(problem, pairs=pairs), on_grid(likelihood))


def test_weights_make_entries_more_precise():
    X = [[NAN, 1.2, NAN], [1.2, NAN, 0.8], [NAN, 0.8, NAN]]
    weights = np.array([[1.0, 3.0, 1.0], [3.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    problem = problem_of(X, threshold=0.3, weights=weights)
    relative = problem.observations.weights

    def likelihood(u):
        a, b, c = (SIGMA / np.sqrt(relative[place]) for place in PAIRS)
        return seen(u, 0, 1, 1.2, a) + seen(u, 1, 2, 0.8, c) + norm.logcdf((0.3 - u[0] * u[2]) / b)

    agrees(sampled(problem), on_grid(likelihood))


def test_compiled_and_plain_rows_are_the_same(monkeypatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    U = rng.standard_normal((12, 3))
    M = U @ U.T + 0.3 * rng.standard_normal((12, 12))
    M = np.triu(M) + np.triu(M, 1).T
    problem = problem_of(np.where(M >= 0, M, NAN), rank=3)
    state = Gibbs().start(problem, U, U)
    compiled = Gibbs().step(problem, state)
    monkeypatch.setattr(gibbs, "available", lambda: False)
    plain = Gibbs().step(problem, state)
    np.testing.assert_allclose(compiled.factor, plain.factor, rtol=1e-9, atol=1e-12)


def test_a_state_is_a_value_and_goes_on_bit_for_bit():
    problem = problem_of([[1.0, 1.2, NAN], [1.2, 2.0, 0.8], [NAN, 0.8, 0.6]], use="data", sigma=None)
    sampler = Gibbs(seed=3)
    state = sampler.start(problem, np.ones((3, 1)), np.ones((3, 1)))
    for _ in range(5):
        state = sampler.step(problem, state)
    before = pickle.dumps((state.factor, state.random, state.variance, state.gathered.numbers))
    stored = pickle.loads(pickle.dumps(state))
    on, again = sampler.step(problem, state), sampler.step(problem, stored)
    assert pickle.dumps((state.factor, state.random, state.variance, state.gathered.numbers)) == before
    np.testing.assert_array_equal(on.factor, again.factor)
    assert on.random == again.random


def test_symmetric_pairs_count_once_by_themselves():
    same = Observations.of(np.array([[1.0, 2.0], [2.0, 4.0]]))
    other = Observations.of(np.array([[1.0, 2.0], [2.5, 4.0]]))
    assert (told(same, "auto").one, told(other, "auto").one) == (True, False)
    assert len(told(same, "auto").values) == 1
    assert len(told(other, "auto").values) == 2
    assert len(told(same, "independent").values) == 2


def test_chains_begin_apart_and_around_each_of_several_places_in_turn():
    X = [[NAN, 1.2, NAN], [1.2, NAN, 0.8], [NAN, 0.8, NAN]]
    problem, one, other = problem_of(X), np.ones((3, 1)), np.array([[1.0], [1.0], [-1.0]])
    state = Gibbs(chains=2000).start(problem, np.stack([one, other]), one)
    assert state.places == 2
    for first, place in ((0, one), (1, other)):
        away = state.factor[first::2] - place
        assert abs(away.mean()) < 0.03
        assert 0.28 < away.std() < 0.32  # of rows whose size is 1
    assert Gibbs().start(problem, one, one).places == 1


@pytest.mark.parametrize(("use", "count"), [("data", 10), ("unknown", 6)])
def test_every_entry_that_is_told_counts_for_the_noise(use, count):
    # Given the rows, (prior + squares) / σ² has 1 + count degrees of freedom, and that is its mean.
    M = np.array([[2.0, 1.2, 0.5, 0.7], [1.2, 2.0, 0.8, 0.4], [0.5, 0.8, 2.0, 1.1], [0.7, 0.4, 1.1, 2.0]])
    problem, sampler = problem_of(M, sigma=None, threshold=None, use=use), Gibbs(chains=4000)
    state = sampler.start(problem, np.ones((4, 1)), np.ones((4, 1)))
    off = M / problem.unit - state.factor @ state.factor.transpose(0, 2, 1)
    squares = np.sum(np.triu(off, 0 if use == "data" else 1) ** 2, axis=(1, 2))
    freedom = np.mean(squares / sampler.step(problem, state).variance)
    assert abs(freedom - (1 + count)) < 0.5


@pytest.mark.parametrize(
    ("details", "stops"),
    [
        (dict(r_hat=1.02, effective=400.0), True),
        (dict(r_hat=1.021, effective=400.0), False),
        (dict(r_hat=1.02, effective=399.0), False),
        (dict(r_hat=1.7, effective=6.0, r_hat_by_place=1.02, effective_by_place=400.0), True),
        (dict(r_hat=1.04, effective=90.0, r_hat_by_place=1.02, effective_by_place=400.0), False),
        (dict(r_hat=1.7, effective=6.0, r_hat_by_place=1.03, effective_by_place=400.0), False),
        (dict(r_hat=1.7, effective=6.0, r_hat_by_place=1.02, effective_by_place=399.0), False),
        (dict(), False),
    ],
)
def test_chains_stop_when_they_agree_or_stay_where_they_began(details, stops):
    history = History([Record(300, 1.0, None, 0.0, details=details)])
    assert (gibbs.ChainsAgree(0.02).check(history, problem_of([[1.0, 1.0], [1.0, 1.0]])) is not None) is stops


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (dict(chains=1), "chains of gibbs must be an integer ≥ 2, got 1"),
        (dict(seed=-1), "seed of gibbs must be an integer ≥ 0"),
        (dict(pairs="two"), "pairs of gibbs must be auto, one or independent"),
        (dict(scale=0.0), "scale of gibbs must be a number above 0"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(wrong, words):
    with pytest.raises(unrelu.InputError, match=words):
        Gibbs(**wrong)


@pytest.mark.slow
def test_ranks_of_the_truth_among_draws_are_uniform():
    """Simulation-based calibration: with truths from the prior, every rank is as likely as any other."""
    rng, n, bins, trials, places = np.random.default_rng(0), 4, 8, 400, []
    for trial in range(trials):
        # With scale 100 a column is Gamma(½, ½), and the noise is given: nothing is vague.
        alpha = rng.gamma(0.5) / 0.5
        mean = rng.standard_normal() / np.sqrt(alpha)
        u = mean + rng.standard_normal(n) / np.sqrt(alpha)
        M = np.outer(u, u) + np.triu(rng.standard_normal((n, n)), 1)
        M = np.triu(M, 1) + np.triu(M, 1).T + np.diag(np.diag(M))
        X = np.where(M >= 0.2, M, NAN)
        np.fill_diagonal(X, NAN)
        if np.isnan(X).all():
            places.append(None)
            continue
        problem = problem_of(X, sigma=1.0, threshold=0.2)
        factors = sampled(problem, 600, scale=100.0, seed=trial, chains=4)
        entry = np.einsum("csr,csr->cs", factors[:, ::20, 0], factors[:, ::20, 1]).ravel()
        places.append(int(bins * (np.mean(entry < u[0] * u[1]) * 0.999999)))
    counts = np.bincount([place for place in places if place is not None], minlength=bins)
    expected = counts.sum() / bins
    assert chi2.sf(np.sum((counts - expected) ** 2) / expected, bins - 1) > 1e-3
