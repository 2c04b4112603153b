"""Each inequality of the paper, in its corrected form, on instances; where the printed form is false, that it is."""

from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest
from cramer_rao import cramer_rao
from hypothesis import given, settings
from hypothesis import strategies as st

import unrelu
from unrelu import InputError
from unrelu._old.data.observations import Observations
from unrelu._old.theory.assumption_search import search_assumption_3
from unrelu._old.theory.bounds import (
    convexity_radius,
    error_constant,
    factor_constant,
    hoffman_constant,
    lemma_1,
    lemma_2,
    noisy_bounds,
    theorem_2,
    tu_lemma,
)
from unrelu._old.theory.geometry import Landscape, curvature, horizontal_part, quotient_distance, vertical_part
from unrelu._old.theory.partition import orthant_partition
from unrelu._old.theory.propositions import (
    Chance,
    all_orthants_probability,
    cone_probability,
    orthant_second_moment,
    proposition_noiseless,
    proposition_noisy,
)

# Both sides of an inequality are rounded; where it is an equality they may come out the other way round.
SLACK = 1 + 1e-9


def gaussian(n, r, seed=0):
    return np.random.default_rng([seed, n, r, 8]).standard_normal((n, r))


@st.composite
def factors(draw, deficient=False):
    """Two factors of one shape, near or far, of very different sizes, perhaps of lower rank."""
    r = draw(st.integers(1, 4))
    n = draw(st.integers(r, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    U = rng.standard_normal((n, r)) * 10.0 ** rng.uniform(-2, 2, r)
    if draw(st.booleans()):
        V = rng.standard_normal((n, r)) * 10.0 ** rng.uniform(-3, 3)
    else:
        V = U @ np.linalg.qr(rng.standard_normal((r, r)))[0] + 10.0 ** rng.uniform(-6, 1) * rng.standard_normal((n, r))
    if deficient:
        for factor in (U, V):
            lost = draw(st.integers(0, r))
            factor[:] = (
                factor @ np.diag([1.0] * (r - lost) + [0.0] * lost) @ np.linalg.qr(rng.standard_normal((r, r)))[0]
            )
    return U, V


@settings(max_examples=300, deadline=None)
@given(factors())
def test_lemma_1_and_the_sharper_one(pair):
    U, V = pair
    apart = quotient_distance(U, V)
    assert apart <= lemma_1(U, V) * SLACK
    assert apart <= tu_lemma(U, V) * SLACK


@settings(max_examples=300, deadline=None)
@given(factors(deficient=True))
def test_lemma_2_for_any_rank(pair):
    U, V = pair
    assert quotient_distance(U, V) <= lemma_2(U, V) * SLACK + 1e-12 * np.linalg.norm(V)


def test_lemma_2_as_printed_is_false_where_a_factor_is_zero():
    U, V = np.array([[0.5], [0.0]]), np.zeros((2, 1))
    gap = np.linalg.norm(U @ U.T - V @ V.T)
    printed = (0.5**2 + 0.0) / 0.5**2 * gap
    assert lemma_2(U, V, printed=True) == printed
    assert quotient_distance(U, V) > printed
    assert quotient_distance(U, V) == lemma_2(U, V) == 0.5
    assert lemma_2(V, V) == 0


def test_the_lemmas_written_out():
    U, V = gaussian(6, 2), gaussian(6, 2, 1)
    gap = np.linalg.norm(U @ U.T - V @ V.T)
    least, norm = np.linalg.svd(U)[1][-1], np.linalg.svd(V)[1][0]
    assert lemma_1(U, V) == pytest.approx((least + norm) / least**2 * gap)
    assert tu_lemma(U, V) == pytest.approx(1.0986841134678098 * gap / least)
    assert lemma_2(U, V) == pytest.approx(max((least + norm) / least**2, 1 / np.linalg.svd(V)[1][-1]) * gap)


# --- constants --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [1, 2, 4])
def test_hoffmans_constant_is_right_and_attained(r):
    U = gaussian(12, r) * np.linspace(1, 3, r)
    kappa = hoffman_constant(U)
    rng = np.random.default_rng(0)
    for _ in range(300):
        E = rng.standard_normal(U.shape)
        assert np.linalg.norm(vertical_part(U, E)) <= kappa * np.linalg.norm(U.T @ E - E.T @ U) * SLACK + 1e-12
    if r == 1:
        assert kappa == 0
        return
    # Turning the plane of the two weakest directions attains it.
    right = np.linalg.svd(U)[2]
    E = U @ (np.outer(right[-1], right[-2]) - np.outer(right[-2], right[-1]))
    assert np.linalg.norm(vertical_part(U, E)) == pytest.approx(kappa * np.linalg.norm(U.T @ E - E.T @ U))


def test_constants_written_out():
    norm, K, lam, noise = 3.0, 5, 2.0, 0.04
    c0 = np.sqrt(8 * K) * (np.sqrt(lam) + 2 * np.sqrt(noise) + norm + K * norm * (3 + 2 * noise / lam))
    assert factor_constant(norm, K, lam, noise) == pytest.approx(c0)
    assert error_constant(norm, K, lam, noise) == pytest.approx(c0 * (2 * norm + c0 / lam * noise))
    assert factor_constant(norm, K, lam, noise, steps=2) < c0
    U = np.diag([3.0, 2.0, 1.0])[:, :2]
    gamma = 0.5
    bounds = noisy_bounds(U, K, lam, gamma, noise)
    tilde = np.sqrt(8 * K) * (np.sqrt(lam) + np.sqrt(gamma) + norm + K * norm * (3 + gamma / (4 * lam)))
    kappa = 1 / np.sqrt(2 * (9 + 4))
    turn = 1 + kappa * (np.sqrt(gamma) + 2 * norm)
    assert bounds.c0_tilde == pytest.approx(tilde)
    assert bounds.kappa == pytest.approx(kappa)
    expected = (
        gamma / 8,
        lam**1.5 / (4 * (np.sqrt(lam) + np.sqrt(gamma) + norm)),
        lam * np.sqrt(gamma) / (4 * tilde * turn),
    )
    assert bounds.limits == pytest.approx(expected)
    assert bounds.noise_limit == min(bounds.limits)
    assert bounds.error == pytest.approx(bounds.c / lam * noise)
    assert bounds.factor_error == pytest.approx(c0 / lam * noise)
    assert not bounds.applies
    assert theorem_2(gamma) == 0.25


def test_within_the_limit_the_constants_are_in_order():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        U = rng.standard_normal((9, 3)) * 10 ** rng.uniform(-1, 1)
        K, lam, gamma = int(rng.integers(1, 30)), 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-2, 2)
        limit = noisy_bounds(U, K, lam, gamma, 0.0).noise_limit
        bounds = noisy_bounds(U, K, lam, gamma, limit)
        assert bounds.applies
        assert bounds.c0 <= bounds.c0_tilde
        assert bounds.gamma_hat >= gamma / 4 / SLACK
        assert bounds.hessian >= 0


def test_without_lambda_nothing_is_bounded():
    bounds = noisy_bounds(np.eye(4, 2), 2, 0.0, 1.0, 0.1)
    assert bounds.error == bounds.factor_error == bounds.c == np.inf
    assert not bounds.applies


# --- Theorems 1 to 4 on fits ------------------------------------------------------------------------------------------


def noisy_fit(U, sigma, seed):
    """The paper's model, independent noise on (i, j) and (j, i), and the solution found from the planted factor."""
    M = U @ U.T
    noise = sigma * np.random.default_rng([seed, 3]).standard_normal(M.shape)
    X = np.where(M + noise >= 0, M + noise, np.nan)
    fit = unrelu.complete(X, U.shape[1], loss="observed", method="gauss-newton", start=U.copy())
    return X, noise, np.asarray(fit.factor)


@pytest.mark.parametrize(("n", "r"), [(60, 2), (100, 3)])
def test_theorem_3_holds_on_perturbed_fits(n, r):
    U = gaussian(n, r)
    M = U @ U.T
    for sigma in (1e-6, 1e-4, 1e-2):
        X, noise, fitted = noisy_fit(U, sigma, 1)
        mask = ~np.isnan(X)
        report, _ = search_assumption_3(U, mask)
        assert report.holds
        gamma = curvature(mask, U).gamma
        size = np.linalg.norm(noise[mask])
        apart = np.linalg.norm(fitted @ fitted.T - M)
        for steps in (None, report.steps):
            bounds = noisy_bounds(U, len(report.groups), report.lambda_, gamma, size, steps=steps)
            assert 0 < apart <= bounds.error
            assert quotient_distance(fitted, U) <= bounds.factor_error
        # The proof's first step: on the seen entries the fit is within twice the noise.
        assert np.linalg.norm((fitted @ fitted.T - M)[mask]) <= 2 * size


@pytest.mark.parametrize(("n", "r"), [(60, 2), (100, 3)])
def test_theorem_4_holds_on_perturbed_fits(n, r):
    U = gaussian(n, r)
    report, _ = search_assumption_3(U, U @ U.T >= 0)
    gamma = curvature(U @ U.T >= 0, U).gamma
    limit = noisy_bounds(U, len(report.groups), report.lambda_, gamma, 0.0).noise_limit
    for share in (0.01, 0.9):
        X, noise, fitted = noisy_fit(U, share * limit / n, 2)
        observations = Observations.of(X)
        size = np.linalg.norm(noise)
        assert size < limit
        bounds = noisy_bounds(U, len(report.groups), report.lambda_, gamma, size)
        assert bounds.applies
        # The noise is far below every seen entry, so that the pattern is that without noise.
        np.testing.assert_array_equal(~np.isnan(X), U @ U.T >= 0)
        found = curvature(observations, fitted).gamma
        assert found >= bounds.gamma_hat >= gamma / 4
        assert Landscape.of(observations, r).smallest_eigenvalue(fitted) >= bounds.hessian > 0


def test_theorem_4_does_not_speak_of_larger_noise():
    U = gaussian(60, 2)
    assert not noisy_bounds(U, 12, 1.0, 20.0, noise=5.0).applies


def test_theorem_1_all_solutions_are_the_planted_one():
    U = gaussian(80, 2)
    M = U @ U.T
    assert search_assumption_3(U, M >= 0)[0].holds
    X = np.where(M >= 0, M, np.nan)
    fits = [unrelu.complete(X, 2, loss="observed", method="gauss-newton", rng=seed) for seed in range(6)]
    perfect = [np.asarray(fit.factor) for fit in fits if fit.history[-1].objective < 1e-16 * np.nansum(X**2)]
    assert perfect
    for factor in perfect:
        assert np.linalg.norm(factor @ factor.T - M) < 1e-6 * np.linalg.norm(M)


@pytest.mark.parametrize(("n", "r"), [(40, 2), (80, 3)])
def test_within_the_convexity_radius_the_hessian_is_positive(n, r):
    U = gaussian(n, r)
    M = U @ U.T
    observations = Observations.of(np.where(M >= 0, M, np.nan))
    landscape = Landscape.of(observations, r)
    gamma = curvature(observations, U).gamma
    radius = convexity_radius(U, gamma)
    assert radius > 0
    norm, t = np.linalg.norm(U, 2), 1 + hoffman_constant(U) * (np.sqrt(gamma) + 2 * np.linalg.norm(U, 2))
    assert 0.5 * (np.sqrt(gamma) - 2 * radius * t) ** 2 == pytest.approx(radius * (2 * norm + radius))
    rng = np.random.default_rng(1)
    for _ in range(8):
        D = horizontal_part(U, rng.standard_normal(U.shape))
        assert landscape.smallest_eigenvalue(U + radius * D / np.linalg.norm(D)) > 0
    assert convexity_radius(U, 0.0) == 0


# --- propositions -----------------------------------------------------------------------------------------------------


def test_where_the_propositions_are_vacuous():
    for n, r in [(200, 2), (4537, 2), (4537, 6), (10**6, 11), (10**6, 1)]:
        assert str(proposition_noiseless(n, r)) == "vacuous", (n, r)
        assert proposition_noiseless(n, r).reason
    assert 0 < proposition_noiseless(4538, 2).probability < 1e-3
    assert proposition_noiseless(10**6, 9).probability == pytest.approx(1 - 1000 * np.exp(-62.5))
    for n, r in [(6560, 2), (531_440, 3), (10**9, 1)]:
        assert proposition_noisy(n, r).vacuous, (n, r)
    assert proposition_noisy(6561, 2).probability == 1 - 1 / 6561
    assert not proposition_noisy(531_441, 3).vacuous
    assert "needs n >= 531441" in proposition_noisy(6561, 3).reason
    assert Chance(0.25, "").vacuous is False


@pytest.mark.parametrize(("n", "r"), [(4, 1), (9, 1), (8, 2), (9, 2)])
def test_probability_that_all_orthants_are_full_by_enumeration(n, r):
    orthants = 2**r
    favourable = 0
    for counts in product(range(r, n + 1), repeat=orthants - 1):
        last = n - sum(counts)
        if last >= r:
            favourable += factorial(n) // prod(factorial(c) for c in (*counts, last))
    assert all_orthants_probability(n, r) == pytest.approx(favourable / orthants**n)


def test_probability_that_all_orthants_are_full_by_sampling():
    n, r, trials = 60, 3, 400
    hits = sum(bool((orthant_partition(gaussian(n, r, seed)).counts >= r).all()) for seed in range(trials))
    expected = all_orthants_probability(n, r)
    assert 0.2 < expected < 0.95
    assert abs(hits / trials - expected) < 4 * np.sqrt(expected * (1 - expected) / trials)
    # No underflow where the paper would have it; rank 1 by the binomial formula.
    assert all_orthants_probability(100_000, 4) == pytest.approx(1)
    assert all_orthants_probability(30, 1) == pytest.approx(1 - 2 * comb(30, 0) / 2**30)


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_cone_probability(r):
    points = gaussian(200_000, r)
    share = np.mean(points[:, 0] >= np.cos(np.pi / 12) * np.linalg.norm(points, axis=1))
    exact = cone_probability(r)
    assert abs(share - exact) < 5 * np.sqrt(exact / 200_000)
    if r > 1:
        assert cone_probability(r, printed=True) <= exact


def test_second_moment_in_an_orthant():
    points = np.abs(gaussian(200_000, 3)) * [1, -1, 1]
    np.testing.assert_allclose(points.T @ points / 200_000, orthant_second_moment([1, -1, 1]), atol=0.02)
    assert np.linalg.eigvalsh(orthant_second_moment([1, -1, 1]))[0] == pytest.approx(1 - 2 / np.pi)


# --- Cramér–Rao -------------------------------------------------------------------------------------------------------


def test_cramer_rao_written_out():
    # One number seen once: m = u² + noise has du = σz/(2u), so the error of u² is σ.
    assert cramer_rao(np.ones((1, 1), bool), [[2.0]], 0.3).error == pytest.approx(0.3)
    U, mask = gaussian(8, 2), relu_mask(gaussian(8, 2), 1)
    for pairs in ("one", "independent"):
        rows = []
        for i in range(8):
            for j in range(8):
                counted = (mask[i, j] or mask[j, i]) and j <= i if pairs == "one" else mask[i, j]
                if counted:
                    row = np.zeros((8, 2))
                    row[i] += U[j]
                    row[j] += U[i]
                    rows.append(row.ravel())
        J = np.array(rows)
        everything = []
        for i in range(8):
            for j in range(8):
                row = np.zeros((8, 2))
                row[i] += U[j]
                row[j] += U[i]
                everything.append(row.ravel())
        Phi = np.array(everything)
        variance = np.trace(Phi @ np.linalg.pinv(J.T @ J, rcond=1e-10) @ Phi.T)
        assert cramer_rao(mask, U, 0.2, pairs).error == pytest.approx(0.2 * np.sqrt(variance), rel=1e-8)


def relu_mask(U, seed):
    """Not symmetric: some entries of the upper triangle were lost, never both of a pair."""
    lost = np.triu(np.random.default_rng(seed).random((len(U), len(U))) < 0.3, 1)
    return ((U @ U.T >= 0) | (U @ U.T < -1)) & ~lost


def test_cramer_rao_is_what_was_measured_before():
    # findings: 0.0010 with independent noise, 0.0015 with one per pair, at n=200, r=5, σ=0.01 (means over seeds).
    U = gaussian(200, 5)
    mask = U @ U.T >= 0
    assert cramer_rao(mask, U, 0.01, "independent").relative == pytest.approx(0.0010, abs=1e-4)
    assert cramer_rao(mask, U, 0.01, "one").relative == pytest.approx(0.0015, abs=1e-4)


@pytest.mark.parametrize("pairs", ["one", "independent"])
def test_sampling_agrees_with_the_decomposition(pairs):
    U = gaussian(60, 3)
    mask = relu_mask(U, 4)
    exact = cramer_rao(mask, U, 0.5, pairs)
    sampled = cramer_rao(mask, U, 0.5, pairs, most_unknowns=0, samples=200, rng=5)
    assert (exact.samples, exact.standard_error, sampled.samples) == (0, 0.0, 200)
    assert 0 < sampled.standard_error < 0.02 * exact.error
    assert abs(sampled.error - exact.error) < 4 * sampled.standard_error
    assert cramer_rao(mask, U, 0.5, pairs, most_unknowns=0, samples=8, rng=5) == cramer_rao(
        mask, U, 0.5, pairs, most_unknowns=0, samples=8, rng=5
    )


def test_a_factor_planted_with_the_same_seed_is_not_what_is_sampled():
    # The first draw of the stream would otherwise be the factor itself, and with two samples the bound 11 % too large.
    U = np.random.default_rng(0).standard_normal((60, 3))
    mask = U @ U.T >= 0
    exact = cramer_rao(mask, U, 0.5).error
    few = [cramer_rao(mask, U, 0.5, most_unknowns=0, samples=2, rng=seed).error for seed in (0, None)]
    np.testing.assert_allclose(few, exact, rtol=0.1)


@pytest.mark.parametrize("pairs", ["one", "independent"])
def test_fits_attain_the_bound(pairs):
    U = gaussian(40, 2)
    M = U @ U.T
    mask = M >= 0
    sigma, rng = 1e-3, np.random.default_rng(6)
    errors = []
    for _ in range(60):
        z = rng.standard_normal(M.shape)
        z = np.tril(z) + np.tril(z, -1).T if pairs == "one" else z
        X = np.where(mask, M + sigma * z, np.nan)
        fit = unrelu.complete(X, 2, threshold=None, loss="observed", method="gauss-newton", start=U.copy())
        factor = np.asarray(fit.factor)
        errors.append(np.linalg.norm(factor @ factor.T - M) ** 2)
    bound = cramer_rao(mask, U, sigma, pairs).error
    # With one noise per pair the fit weighs the diagonal half of what is best, which costs a little.
    assert np.sqrt(np.mean(errors)) == pytest.approx(bound, rel=0.08)


def test_what_is_not_fixed_has_infinite_error():
    U = gaussian(30, 2)
    pieces = np.zeros((30, 30), bool)
    pieces[:15, :15] = pieces[15:, 15:] = True
    for most in (10**4, 0):
        assert cramer_rao(pieces, U, 0.1, most_unknowns=most).error == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lemma_1(np.zeros((3, 2)), np.ones((3, 2))), "full rank 2 for this lemma, got rank 0; use lemma_2"),
        (lambda: tu_lemma(np.ones((3, 2)), np.ones((3, 2))), "full rank 2 for this lemma, got rank 1; use lemma_2"),
        (lambda: lemma_2(np.ones((3, 2)), np.ones((3, 1))), "U and V must have the same shape"),
        (
            lambda: noisy_bounds(np.eye(3, 2), 2, 1.0, -1.0, 0.1),
            "gamma must be a finite number of at least 0, got -1.0",
        ),
        (lambda: noisy_bounds(np.eye(3, 2), 2, 1.0, 1.0, np.nan), "noise must be a finite number of at least 0"),
        (lambda: proposition_noiseless(3, 4), "rank must be between 1 and n=3, got 4"),
        (lambda: cone_probability(2, 3.0), "angle between 0 and π/2"),
        (lambda: orthant_second_moment([1, 0]), r"signs must be a list of \+1 and -1"),
        (lambda: cramer_rao(np.eye(3, dtype=bool), np.eye(3, 1), 0.1, "two"), "unknown pairs 'two'"),
        (lambda: cramer_rao(np.eye(3, dtype=bool), np.eye(3, 1), -0.1), "sigma must be a finite number of at least 0"),
        (lambda: cramer_rao(np.eye(3, dtype=bool), np.eye(3, 1), 0.1, samples=1), "samples must be at least 2"),
    ],
)
def test_bad_input_is_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
