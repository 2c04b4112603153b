"""Error bars: against the textbook covariance, and against what planted noise really does."""

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unrelu
import unrelu._old.uncertainty.error_bars
from helpers import asymmetric_instance, error_reference, relu_instance
from unrelu import Observed, OneSided
from unrelu._old.data.observations import Observations
from unrelu._old.data.sampling import thresholded
from unrelu._old.io.files import read_matrix, write_matrix
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.uncertainty.covariance import Covariance
from unrelu._old.uncertainty.error_bars import EXACT, ROWS, SAMPLED, ErrorBars
from unrelu._old.uncertainty.passes import (
    Selection,
    noise_products,
    pair_residuals,
    row_blocks,
    seen_alike,
    seen_evenly,
    selection_products,
    squared_weights,
)
from unrelu._old.uncertainty.sensitivity import RowFormula, System, _inverses, spanning
from unrelu.datasets import planted

# A solve ends at 1e-6 of its first residual, and the variance is off by less than that.
SOLVED = 1e-5
# (n, rank, σ, one noise per pair) of which 95 % intervals must cover 93 to 97 % of the never-seen entries.
COVERAGE = [
    (200, 5, 0.1, True),
    (400, 10, 0.1, True),
    (200, 5, 0.01, True),
    (200, 5, 0.01, False),
    (200, 5, 0.1, False),
    (120, 25, 0.05, True),
]


def noisy(n, rank, sigma, one, seed):
    instance = planted(n, rank, sigma=sigma, symmetric_noise=one, rng=[seed, 17])
    return instance, np.where(instance.matrix >= 0, instance.matrix, np.nan)


def symmetric_with_gaps():
    """A symmetric pattern in which some diagonal entries are unseen, too."""
    _, X = noisy(24, 2, 0.1, True, 0)
    X[[3, 8], [3, 8]] = np.nan
    return X


def one_triangle():
    _, X = noisy(24, 2, 0.1, True, 0)
    return np.where(np.triu(np.ones_like(X)) > 0, X, np.nan)


def unevenly_seen():
    """Symmetric values, of which some were seen one way round only."""
    _, X = noisy(24, 2, 0.1, True, 0)
    hide = np.triu(np.random.default_rng(1).random(X.shape) < 0.3, 1)
    return np.where(hide, np.nan, X)


PATTERNS = {
    "symmetric": symmetric_with_gaps,
    "asymmetric": lambda: asymmetric_instance(24, 2)[0],
    "one triangle": one_triangle,
    "uneven": unevenly_seen,
}


@pytest.fixture(params=[(name, one) for name in PATTERNS for one in (True, False)], ids=str)
def case(request):
    name, one = request.param
    X = PATTERNS[name]()
    U = unrelu.complete(X, 2, threshold=None, rng=0).factor
    bars = ErrorBars(U, Observations.of(X, threshold=None), pairs="one" if one else "independent")
    return name, one, X, U, bars, error_reference(X, U, one=one)


def quietly(X, rank, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unrelu.CompletionWarning)
        return unrelu.complete(X, rank, rng=0, **options)


def every(n):
    return np.arange(n)[:, None], np.arange(n)


def test_noise_level_and_degrees_of_freedom(case):
    _, one, _, _, bars, (_, _, sigma, freedom) = case
    assert bars.noise.degrees_of_freedom == freedom
    assert bars.noise.sigma == pytest.approx(sigma, rel=1e-10)
    assert bars.noise.pairs == ("one" if one else "independent")


def row_covariances(X, U, blocks, one):
    """C_i for unit noise, from the definition."""
    seen = ~np.isnan(X)
    found = []
    for a, inverse in enumerate(np.linalg.inv(blocks)):
        middle = blocks[a]
        if one:  # the noise of a pair counts with the square of its weight
            w = seen[a].astype(float) + seen[:, a]
            w[a] = seen[a, a]
            middle = (U * (w**2 * np.where(np.arange(len(U)) == a, 4, 1))[:, None]).T @ U
        found.append(inverse @ middle @ inverse)
    return np.array(found)


def with_products(linear, case):
    """Standard errors from linear variances: the variance of δ_i·δ_j is added."""
    _, one, X, U, _, (_, blocks, sigma, _) = case
    C = row_covariances(X, U, blocks, one)
    products = np.einsum("ikl,jlk->ij", C, C) * (1 + np.eye(len(U)))
    return np.sqrt(sigma**2 * linear + sigma**4 * products)


@pytest.mark.parametrize("most", [0, 500], ids=["one by one", "all at once"])
def test_exact_solves_are_the_textbook_covariance(case, most, monkeypatch):
    monkeypatch.setattr(unrelu._old.uncertainty.error_bars, "MOST_UNKNOWNS", most)
    monkeypatch.setattr(Covariance, "bends", lambda self, i, j: np.zeros(len(i)))  # textbooks end at the first order
    _, _, _, _, bars, (variances, *_) = case
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 24, (2, 40))
    j[:5] = i[:5]
    errors = bars.standard_errors(i, j, method=EXACT)
    np.testing.assert_allclose(errors, with_products(variances, case)[i, j], rtol=SOLVED)
    assert bars.method == EXACT


def test_samples_are_unbiased(case):
    _, _, _, _, bars, (variances, *_) = case
    ratio = bars.standard_errors(*every(24), method=SAMPLED) / with_products(variances, case)
    # 64 samples leave each entry some per cent; all entries together much less.
    assert np.median(ratio) == pytest.approx(1, abs=0.02)
    assert np.median(np.diag(ratio)) == pytest.approx(1, abs=0.05)
    assert np.quantile(np.abs(ratio - 1), 0.95) < 0.15


def test_row_formula_is_the_one_of_the_docs(case):
    """Row blocks from the definition, entry by entry."""
    _, one, X, U, bars, (_, blocks, _, _) = case
    seen = ~np.isnan(X)
    got = bars.standard_errors(*every(24), method=ROWS)
    C = row_covariances(X, U, blocks, one)
    linear = np.zeros((24, 24))
    for i in range(24):
        for j in range(24):
            times = int(seen[i, j]) + int(seen[j, i] and i != j)
            si, sj = U[j] @ C[i] @ U[j], U[i] @ C[j] @ U[i]
            linear[i, j] = 4 * si if i == j else si + sj - (2 * si * sj * (1 if one else times) if times else 0)
    np.testing.assert_allclose(got, with_products(linear, case), rtol=1e-8)


def test_small_fits_are_exact_everywhere():
    """Where everything fits into one small matrix nothing is left to formulas or chance."""
    _, X = noisy(24, 2, 0.1, True, 0)
    bars = unrelu.complete(X, 2, rng=0).error_bars()
    bars.standard_errors(*every(24))
    assert bars.method == EXACT


@pytest.mark.parametrize("seed", [0, 15, 17, 26, 41, 49, 60, 70, 72, 80])
def test_tiny_instances_have_errors_or_infinities(seed):
    """Probes of one or two unseen pairs cancelled each other, and the ratio was 0/0."""
    rng = np.random.default_rng(seed)
    n = 5 + seed % 5
    U, noise = rng.standard_normal((n, 2)), 0.05 * rng.standard_normal((n, n))
    M = U @ U.T + (noise + noise.T) / 2
    completion = quietly(np.where(M >= 0, M, np.nan), 2)
    for method in ("auto", ROWS, EXACT, SAMPLED):
        errors = completion.error_bars().standard_errors(*every(n), method=method)
        assert not np.isnan(errors).any()
        assert (errors > 0).all()
    if np.isinf(errors).all():
        assert "every error is infinite" in str(completion.noise)


@pytest.mark.parametrize("rank", [4, 5])
def test_correlations_of_wine_have_errors_or_infinities(rank):
    table = pytest.importorskip("sklearn.datasets").load_wine().data
    M = np.corrcoef(table.T)
    tau = float(np.median(M[~np.eye(13, dtype=bool)]))
    completion = quietly(thresholded(M, tau), rank, threshold=tau)
    errors = completion.standard_errors(*every(13))
    assert not np.isnan(errors).any()
    assert (errors > 0).all()
    low, high = completion.interval(*every(13))
    assert (low <= high).all()


def mirrored(others):
    """Row 0 sees itself and some others, the rest see everything; the factor has row 0 mirrored at rows 1 and 2."""
    rng = np.random.default_rng(4)
    U = rng.standard_normal((20, 3))
    noise = 0.01 * rng.standard_normal((20, 20))
    X = U @ U.T + np.triu(noise) + np.triu(noise, 1).T
    hidden = np.setdiff1d(np.arange(1, 20), others)
    X[0, hidden] = X[hidden, 0] = np.nan
    normal = np.cross(U[1], U[2])
    image = U.copy()
    image[0] -= 2 * (U[0] @ normal) / (normal @ normal) * normal
    return U, image, X


def test_a_row_with_two_places_is_as_uncertain_as_they_are_apart():
    """Row 0 sees itself and r − 1 others: its mirror image fits as well, and no linearisation knows of it."""
    U, image, X = mirrored([1, 2])
    others = np.arange(3, 20)
    for factor in (U, image):
        errors = ErrorBars(factor, Observations.of(X, threshold=None)).standard_errors(0, others)
        apart = np.abs(U[0] @ U[others].T - image[0] @ image[others].T)
        assert np.all(apart <= errors)
        assert np.median(errors) > 0.2
    # One more entry tells the two apart.
    U, _, X = mirrored([1, 2, 3])
    errors = ErrorBars(U, Observations.of(X, threshold=None)).standard_errors(0, others)
    assert np.max(errors) < 0.1


def test_rows_that_are_noise_do_not_tell_mirror_images_apart():
    """Row 0 sees rows 1 and 2 and rows that are zero but for noise, fitted along the normal of the mirror."""
    rng = np.random.default_rng(4)
    U = rng.standard_normal((20, 3))
    U[12:] = 0
    noise = 0.01 * rng.standard_normal((20, 20))
    X = U @ U.T + np.triu(noise) + np.triu(noise, 1).T
    X[0, 3:12] = X[3:12, 0] = np.nan
    X[12:, 12:] = np.nan
    factor = unrelu.complete(X, 3, threshold=None, method="gauss-newton", start=U, loss="observed").factor
    normal = np.cross(U[1], U[2]) / np.linalg.norm(np.cross(U[1], U[2]))
    apart = 2 * np.abs(U[0] @ normal) * np.abs(U[3:12] @ normal)
    errors = ErrorBars(factor, Observations.of(X, threshold=None)).standard_errors(0, np.arange(3, 12))
    assert np.all(errors > 0.5 * apart)
    assert np.median(errors) > 0.2


def test_products_of_two_small_moves_are_not_forgotten():
    """Both factors are zero, so that to first order nothing moves their product: it has the error σ²/‖u‖²."""
    u = np.random.default_rng(0).standard_normal((40, 1))
    u[:2] = 0
    noise = 0.1 * np.random.default_rng(1).standard_normal((40, 40))
    X = u @ u.T + np.triu(noise) + np.triu(noise, 1).T
    X[0, 1] = X[1, 0] = np.nan
    bars = ErrorBars(u, Observations.of(X, threshold=None))
    expected = bars.noise.sigma**2 / float(np.sum(u**2))
    for method in (ROWS, EXACT, SAMPLED):
        assert bars.standard_errors(0, 1, method=method) == pytest.approx(expected, rel=1e-6)


def test_a_block_that_is_singular_to_rounding_is_weak():
    """Row 0 sees two others that are multiples of each other: its block had no inverse, whatever was added to it."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((20, 2))
    U[0], U[1], U[2] = [0.5, 0.25], [1.0, 2.0], [2.0, 4.0]
    X = U @ U.T + 1e-3 * rng.standard_normal((20, 20))
    X[0] = X[:, 0] = np.nan
    X[0, 1:3] = X[1:3, 0] = 1.0
    assert len(_inverses(np.array([[[1.0, 2.0], [2.0, 4.0]]]))) == 1
    errors = ErrorBars(U, Observations.of(X, threshold=None)).standard_errors(*every(20))
    assert np.isinf(errors[0]).all()
    assert np.isfinite(errors[1:, 1:]).all()


def test_a_probe_of_nothing_says_nothing():
    _, X = noisy(24, 2, 0.1, True, 0)
    observations = Observations.of(X)
    kernel = PSDProblem(observations, 2, Observed()).kernel
    basis = spanning(unrelu.complete(X, 2, rng=0).factor)
    system = System(kernel, RowFormula.of(kernel, basis, one=True))
    i, j, signs = np.array([0, 0]), np.array([1, 1]), np.array([1.0, -1.0])
    assert system.excess(i, j, np.ones(2), signs, share=1e-3) is None
    assert system.excess(i, j, np.ones(2), np.ones(2), share=1e-3) >= 1


@pytest.mark.parametrize(("n", "tiles"), [(24, 1), (300, 3)])
@pytest.mark.parametrize("symmetric", [True, False])
def test_passes_match_the_definitions(n, tiles, symmetric):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, n))
    X = np.triu(X) + np.triu(X, 1).T if symmetric else X
    X[(X < 0) if symmetric else (rng.random((n, n)) < 0.4)] = np.nan
    observations = Observations.of(X, threshold=None)
    kernel = PSDProblem(observations, 3, Observed()).kernel
    assert len(kernel.tiles) == tiles
    assert seen_alike(kernel, observations) is symmetric
    assert seen_evenly(kernel) is symmetric
    U = rng.standard_normal((n, 3))
    scaled = U / np.sqrt(observations.unit)
    seen = (~np.isnan(X)).astype(float)
    weights = seen + seen.T
    np.fill_diagonal(weights, np.diag(seen))
    mean = (np.nan_to_num(X) + np.nan_to_num(X.T)) / np.maximum(seen + seen.T, 1)
    gap = np.triu(weights > 0) * (U @ U.T - mean)
    count, once, weighted = pair_residuals(kernel, scaled)
    assert count == np.count_nonzero(np.triu(weights))
    assert once * observations.unit**2 == pytest.approx(np.sum(gap**2), rel=1e-12)
    assert weighted * observations.unit**2 == pytest.approx(np.sum(gap**2 * weights), rel=1e-12)
    fourfold = weights * np.where(np.eye(n) > 0, 4, 1)
    np.testing.assert_allclose(row_blocks(kernel, U), np.einsum("ij,jk,jl->ikl", fourfold, U, U), rtol=1e-12)
    squares = weights**2 * np.where(np.eye(n) > 0, 4, 1)
    np.testing.assert_allclose(
        row_blocks(kernel, U, squared=True), np.einsum("ij,jk,jl->ikl", squares, U, U), rtol=1e-12
    )
    D = rng.standard_normal((n, 3))
    once = weights**2 * (U @ D.T + D @ U.T) * np.where(np.eye(n) > 0, 2, 1)
    np.testing.assert_allclose(2 * kernel.curvature(U, D, squared_weights(kernel)), once @ U, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("one", [True, False])
def test_noise_products_have_the_covariance_of_the_noise(one):
    X, _ = asymmetric_instance(24, 2)
    observations = Observations.of(X, threshold=None)
    kernel = PSDProblem(observations, 2, Observed()).kernel
    U = np.random.default_rng(0).standard_normal((24, 2))
    samples = noise_products(kernel, U, one, 5, 4000)
    seen = (~np.isnan(X)).astype(float)
    w = seen + seen.T
    np.fill_diagonal(w, np.diag(seen))
    variance = (w**2 if one else w) * np.where(np.eye(24) > 0, 4, 1)
    expected = np.einsum("ij,jk,jl->ikl", variance, U, U)
    found = np.einsum("sik,sil->ikl", samples, samples) / 4000
    size = np.trace(expected, axis1=1, axis2=2)[:, None, None]
    assert np.abs((found - expected) / size).max() < 0.1  # five standard errors of 4000 samples
    np.testing.assert_array_equal(samples, noise_products(kernel, U, one, 5, 4000))
    # J never sees a rotation, so neither does Jᵀz.
    assert np.abs(np.einsum("sik,ik->s", samples[..., ::-1] * [1, -1], U)).max() < 1e-10


@pytest.mark.parametrize("side", ["above", "below"])
def test_selection_pulls_as_much_as_it_does_in_simulation(side):
    """Seen entries are off by their noise, unseen ones on the wrong side are pulled back: that, on average."""
    rng = np.random.default_rng(0)
    U, sigma, tau = rng.standard_normal((12, 2)), 0.5, 0.3
    x = U @ U.T
    m = x + sigma * rng.standard_normal((40_000, 12, 12))
    sign = 1 if side == "above" else -1
    seen = sign * (m - tau) >= 0
    wrong = sign * (x - tau) > 0
    pulls = np.where(seen, m - x, -sign * np.maximum(sign * (x - tau), 0)).mean(axis=0)
    holds = (seen | wrong).mean(axis=0)
    np.fill_diagonal(pulls, 0)
    X = np.where(seen[0], m[0], np.nan)
    np.fill_diagonal(X, np.nan)
    unknown = np.zeros((12, 12), bool)
    unknown[3, 4:9] = unknown[4:9, 3] = True
    np.fill_diagonal(unknown, True)
    X[unknown] = np.nan
    pulls[unknown] = holds[unknown] = 0
    observations = Observations.of(X, threshold=tau, seen=side, unknown=unknown)
    kernel = PSDProblem(observations, 2, OneSided()).kernel
    scaled, unit = U / np.sqrt(observations.unit), observations.unit
    V = rng.standard_normal((12, 3))
    found, held = selection_products(kernel, scaled, V, Selection(tau / unit, side == "above", sigma / unit))
    # A pair seen one way round and absent the other counts once in the kernel.
    mixed = ~np.isnan(X) != ~np.isnan(X.T)
    weights = np.where(mixed, 0.5, 1.0)
    np.testing.assert_allclose(found * unit, (weights * (pulls + pulls.T)) @ V, atol=0.05)
    np.testing.assert_allclose(held[0], weights * (holds + holds.T), atol=0.02)


def test_strong_noise_at_a_threshold_is_said_in_a_sentence():
    """60 % noise at the 70 % quantile: intervals cover too little, and say so; with little noise they do not."""
    found = {}
    for noise in (0.02, 0.6):
        rng = np.random.default_rng(3)
        U = rng.standard_normal((100, 3))
        M = U @ U.T
        E = noise * np.sqrt(np.mean(M**2)) * rng.standard_normal((100, 100))
        Y = M + np.triu(E) + np.triu(E, 1).T
        tau = float(np.quantile(Y, 0.7))
        X = thresholded(Y, tau)
        factor = quietly(X, 3, threshold=tau, method="gauss-newton", start=U).factor
        found[noise] = ErrorBars(factor, Observations.of(X, threshold=tau)).caution
        assert ErrorBars(factor, Observations.of(X, threshold=None)).caution is None
    assert found[0.02] is None
    words = r"the noise is so strong that it decided which entries were seen: this shifts entries by about \d\.\d+ st"
    assert re.match(words, found[0.6])


def shares_covered(noise, seeds, quantile=0.7, n=100, rank=3):
    """Coverage of the unseen entries where the intervals are called in question, and where they are not."""
    shares = {True: [], False: []}
    for seed in seeds:
        rng = np.random.default_rng([seed, 5])
        U = rng.standard_normal((n, rank))
        M = U @ U.T
        E = noise * np.sqrt(np.mean(M**2)) * rng.standard_normal((n, n))
        Y = M + E
        tau = float(np.quantile(Y, quantile))
        X = thresholded(Y, tau)
        completion = quietly(X, rank, threshold=tau, method="gauss-newton", start=U)
        bars = ErrorBars(completion.factor, Observations.of(X, threshold=tau))
        i, j = np.nonzero(np.maximum(Y, Y.T) < tau)
        low, high = bars.interval(i, j)
        finite = np.isfinite(high - low)
        inside = (low <= M[i, j]) & (M[i, j] <= high)
        shares[bars.caution is not None].append(inside[finite].mean())
    return shares


def test_intervals_that_do_not_cover_are_called_in_question():
    little, much = shares_covered(0.05, range(4)), shares_covered(0.6, range(4))
    assert len(little[False]) == 4
    assert np.mean(little[False]) > 0.92
    assert len(much[True]) == 4
    assert np.mean(much[True]) < 0.9


def test_a_caller_hears_of_intervals_that_should_not_be_trusted():
    rng = np.random.default_rng(0)
    U, noise = rng.standard_normal((60, 3)), rng.standard_normal((60, 60))
    M = U @ U.T + 0.6 * (noise + noise.T) / np.sqrt(2)
    tau = float(np.quantile(M, 0.7))
    options = dict(threshold=tau, rng=0)
    completion = unrelu.complete(np.where(tau <= M, M, np.nan), 3, loss="one-sided", **options)
    unrelu.complete(np.where(tau <= M, M, np.nan), 3, **options).interval(0, 1)  # the likelihood knows of it
    with pytest.warns(unrelu.CompletionWarning, match="the noise is so strong that it decided which entries were seen"):
        completion.interval(0, 1)
    quiet = unrelu.complete(np.where(U @ U.T >= 0, U @ U.T, np.nan), 3, rng=0)
    quiet.interval(0, 1)


def coverage(n, rank, sigma, one, seeds):
    """Share of never-seen entries inside their 95 % interval: as chosen, and by the row formula alone."""
    chosen, rows = [], []
    for seed in seeds:
        instance, X = noisy(n, rank, sigma, one, seed)
        completion = unrelu.complete(X, rank, rng=0)
        hidden = np.isnan(X) & np.isnan(X.T) & ~np.eye(n, dtype=bool)
        i, j = np.nonzero(hidden)
        truth = instance.truth[i, j]
        assert completion.noise.pairs == ("one" if one else "independent")
        for shares, method in ((chosen, "auto"), (rows, ROWS)):
            low, high = completion.error_bars().interval(i, j, method=method)
            shares.append(np.mean((low <= truth) & (truth <= high)))
    return np.mean(chosen), np.mean(rows)


@pytest.mark.parametrize(("n", "rank", "sigma", "one"), [COVERAGE[0], COVERAGE[4]])
def test_intervals_cover_a_few(n, rank, sigma, one):
    assert 0.93 <= coverage(n, rank, sigma, one, range(3))[0] <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rank", "sigma", "one"), COVERAGE)
def test_intervals_cover(n, rank, sigma, one):
    assert 0.93 <= coverage(n, rank, sigma, one, range(20))[0] <= 0.97


@pytest.mark.slow
def test_the_row_formula_alone_is_not_enough_at_high_rank():
    chosen, rows = coverage(120, 25, 0.05, True, range(1))
    assert rows < 0.88 < 0.93 < chosen


def test_method_follows_accuracy_and_number():
    _, X = noisy(400, 3, 0.1, True, 0)
    bars = unrelu.complete(X, 3, rng=0).error_bars()
    assert bars.method is None
    bars.standard_errors([0, 1], [2, 3])
    assert bars.method == ROWS
    _, X = noisy(80, 12, 0.05, True, 0)
    bars = unrelu.complete(X, 12, rng=0).error_bars()
    bars.standard_errors([0, 1], [2, 3])
    assert bars.method == EXACT
    bars.standard_errors(*every(80))
    assert bars.method == SAMPLED


def test_points_on_a_circle_are_not_left_to_the_row_formula():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 200)
    U = np.c_[np.cos(angle), np.sin(angle)]
    M = U @ U.T + 1e-3 * np.random.default_rng(1).standard_normal((200, 200))
    bars = ErrorBars(U, Observations.of(np.where(M >= 0.97, M, np.nan), threshold=0.97))
    few = bars.standard_errors(np.arange(30), np.arange(100, 130))
    assert bars.method == EXACT
    rows = bars.standard_errors(np.arange(30), np.arange(100, 130), method=ROWS)
    sampled = bars.standard_errors(np.arange(30), np.arange(100, 130), method=SAMPLED)
    assert np.median(rows / few) < 0.65
    assert np.median(sampled / few) == pytest.approx(1, abs=0.07)


def test_scale_and_order():
    _, X = noisy(60, 3, 0.1, True, 0)
    U = unrelu.complete(X, 3, rng=0).factor
    order = np.random.default_rng(0).permutation(60)
    plain = ErrorBars(U, Observations.of(X))
    scaled = ErrorBars(U * np.sqrt(7e5), Observations.of(X * 7e5))
    mixed = ErrorBars(U[order], Observations.of(X[np.ix_(order, order)]))
    turned = ErrorBars(U @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0], Observations.of(X))
    for method in (ROWS, EXACT):
        i, j = np.arange(20), np.arange(15, 35)
        errors = plain.standard_errors(i, j, method=method)
        np.testing.assert_allclose(scaled.standard_errors(i, j, method=method), 7e5 * errors, rtol=1e-6)
        np.testing.assert_allclose(turned.standard_errors(i, j, method=method), errors, rtol=1e-6)
        places = np.argsort(order)
        np.testing.assert_allclose(mixed.standard_errors(places[i], places[j], method=method), errors, rtol=1e-6)
    again = ErrorBars(U, Observations.of(X))
    np.testing.assert_array_equal(
        plain.standard_errors(*every(60), method=SAMPLED), again.standard_errors(*every(60), method=SAMPLED)
    )


def test_whole_rows_and_single_entries_agree():
    """Whole rows go through one product, single entries do not."""
    _, X = noisy(60, 3, 0.1, False, 0)
    bars = unrelu.complete(X, 3, rng=0).error_bars()
    for method in (ROWS, SAMPLED):
        whole = bars.standard_errors(*every(60), method=method)
        np.testing.assert_allclose(whole, whole.T, rtol=1e-12)
        np.testing.assert_allclose(bars.standard_errors([5, -1, 7], [9, 3, 7], method=method),
                                   whole[[5, 59, 7], [9, 3, 7]], rtol=1e-10)  # fmt: skip
    assert bars.standard_errors(5, 9).shape == ()
    assert bars.standard_errors([], []).shape == (0,)


def test_interval_is_students():
    _, X = noisy(30, 2, 0.1, True, 0)
    completion = unrelu.complete(X, 2, rng=0)
    low, high = completion.interval(0, np.arange(5), level=0.9)
    from scipy.stats import t

    half = t.ppf(0.95, completion.noise.degrees_of_freedom) * completion.standard_errors(0, np.arange(5))
    np.testing.assert_allclose(high, completion.entries(0, np.arange(5)) + half)
    np.testing.assert_allclose(low, completion.entries(0, np.arange(5)) - half)


def test_auto_looks_at_the_pairs_that_were_seen_twice():
    _, X = noisy(30, 2, 0.1, True, 0)
    U = np.random.default_rng(0).standard_normal((30, 2))
    assert ErrorBars(U, Observations.of(X)).noise.pairs == "one"
    other = X.copy()
    i, j = np.argwhere(~np.isnan(X) & ~np.eye(30, dtype=bool))[0]
    other[i, j] = np.nextafter(X[i, j], np.inf)  # as a matrix that was computed differs
    assert ErrorBars(U, Observations.of(other)).noise.pairs == "one"
    other[i, j] = X[i, j] * (1 + 1e-6)
    assert ErrorBars(U, Observations.of(other)).noise.pairs == "independent"
    # One direction only of some pairs: the others say that a pair has one noise, and freedom is counted in pairs.
    other[np.triu(np.ones(X.shape, bool), 20)] = np.nan
    other[i, j] = X[i, j]
    noise = ErrorBars(U, Observations.of(other, threshold=None)).noise
    seen = ~np.isnan(other)
    assert noise.pairs == "one"
    assert noise.degrees_of_freedom == np.triu(seen | seen.T).sum() - (30 * 2 - 1) < seen.sum() - (30 * 2 - 1)


def test_pairs_reach_the_error_bars():
    _, X = noisy(40, 2, 0.1, True, 0)
    options = dict(loss="one-sided", rng=0)
    auto, two = (unrelu.complete(X, 2, pairs=pairs, **options) for pairs in ("auto", "independent"))
    ratio = auto.standard_errors(0, np.arange(1, 40)) / two.standard_errors(0, np.arange(1, 40))
    # Counting a pair twice makes errors √2 too small, and degrees of freedom too many.
    assert np.all((ratio > 1.3) & (ratio < 1.7))
    assert two.noise.degrees_of_freedom > auto.noise.degrees_of_freedom


def test_without_noise_errors_are_tiny_and_honest():
    for dtype, tiny in ((np.float64, 1e-12), (np.float32, 1e-4)):
        M, X = relu_instance(80, 3, dtype=dtype)
        completion = unrelu.complete(X, 3, rng=0)
        errors = completion.standard_errors(*every(80))
        assert errors.dtype == dtype
        assert 0 < errors.min() <= errors.max() < tiny
        assert np.median(np.abs(completion.matrix() - M) / errors) < 1
        assert np.abs((completion.matrix() - M) / errors).max() < 20


def test_no_degrees_of_freedom_no_finite_error():
    X = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 1.0], [0.5, 1.0, np.nan]])
    completion = unrelu.complete(X, 2, threshold=None, rng=0)
    assert completion.noise.degrees_of_freedom == 0
    assert completion.noise.sigma == np.inf
    assert "5 seen pairs with one noise each leave nothing over for 5 unknowns" in str(completion.noise)
    assert np.all(np.isinf(completion.standard_errors(*every(3))))
    low, high = completion.interval(0, 2)
    assert (low, high) == (-np.inf, np.inf)


def test_nothing_but_zeros_is_open():
    completion = unrelu.complete(np.zeros((4, 4)), 1, threshold=None, rng=0)
    assert np.all(np.isinf(completion.standard_errors(*every(4))))
    assert "every error is infinite" in completion.noise.description


def test_undetermined_rows_have_infinite_errors():
    instance, X = noisy(60, 3, 0.05, True, 0)
    X[7, :] = X[:, 7] = np.nan
    X[9, :] = X[:, 9] = np.nan
    X[9, 20] = X[20, 9] = instance.matrix[9, 20]
    with pytest.warns(unrelu.CompletionWarning):
        completion = unrelu.complete(X, 3, threshold=None, rng=0)
    assert set(completion.undetermined_rows) == {7, 9}
    errors = completion.standard_errors(*every(60))
    others = np.setdiff1d(np.arange(60), [7, 9])
    assert np.all(np.isinf(errors[[7, 9]]))
    assert np.all(np.isinf(errors[:, [7, 9]]))
    assert np.all(np.isfinite(errors[np.ix_(others, others)]))
    without = unrelu.complete(X[np.ix_(others, others)], 3, threshold=None, rng=0)
    assert completion.noise.degrees_of_freedom == without.noise.degrees_of_freedom
    # The same rows are found without being told.
    bars = ErrorBars(completion.factor, Observations.of(X, threshold=None))
    np.testing.assert_array_equal(np.isinf(bars.standard_errors(*every(60))), np.isinf(errors))


def two_groups(bridges):
    """Two groups of rows, 30 and 20, that saw each other only at so many pairs."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((50, 2))
    X = U @ U.T + 0.01 * rng.standard_normal((50, 50))
    between = X[:30, 30:].copy()
    X[:30, 30:] = X[30:, :30] = np.nan
    X[np.arange(bridges), 30 + np.arange(bridges)] = between[np.arange(bridges), np.arange(bridges)]
    return X, U


@pytest.mark.parametrize("method", ["auto", ROWS, EXACT, SAMPLED])
def test_entries_between_pieces_are_open(method):
    """How groups that never saw each other lie to one another is anyone's guess."""
    X, U = two_groups(0)
    bars = ErrorBars(U, Observations.of(X, threshold=None))
    errors = bars.standard_errors([0, 0, 31, 40, 3], [1, 31, 32, 5, 3], method=method)
    assert np.isinf(errors).tolist() == [False, True, False, True, False]
    # Two frames, each with a rotation of its own.
    assert bars.noise.degrees_of_freedom == (~np.isnan(X)).sum() - (50 * 2 - 2)


@pytest.mark.parametrize("method", [EXACT, SAMPLED])
def test_what_solves_find_open_is_infinite(method):
    """In three dimensions two groups that saw each other once are connected and still free to turn."""
    X, U = two_groups(1)
    U = np.c_[U, np.random.default_rng(3).standard_normal(50)]
    bars = ErrorBars(U, Observations.of(X, threshold=None))
    errors = bars.standard_errors([0, 0, 31, 40, 3], [1, 31, 32, 5, 3], method=method)
    assert np.isinf(errors).tolist() == [False, True, False, True, False]
    bars.standard_errors(0, 1)
    assert bars.method == EXACT  # the row formula sees nothing of it, and is not used


def test_a_loose_hinge_is_found_though_noise_hardly_shows_it():
    """Two groups joined by a few entries only: errors between them are those of the hinge."""
    X, U = two_groups(4)
    bars = ErrorBars(U, Observations.of(X, threshold=None))
    i, j = np.arange(5, 30), 35 + np.arange(25) % 15
    exact = bars.standard_errors(i, j, method=EXACT)
    assert bars.standard_errors(i, j, method="auto") == pytest.approx(exact)
    assert np.median(bars.standard_errors(i, j, method=ROWS) / exact) < 0.5
    assert np.median(bars.standard_errors(i, j, method=SAMPLED) / exact) == pytest.approx(1, abs=0.15)


def test_sparse_frames_and_files(tmp_path):
    _, X = noisy(40, 2, 0.1, True, 0)
    names = [f"s{k}" for k in range(40)]
    plain = unrelu.complete(X, 2, rng=0)
    i, j = np.nonzero(~np.isnan(X))
    sparse = unrelu.complete(sp.coo_array((X[i, j], (i, j)), shape=X.shape), 2, rng=0)
    frame = unrelu.complete(pd.DataFrame(X, names, names), 2, rng=0, pairs="one")
    errors = plain.standard_errors(*every(40))
    np.testing.assert_allclose(sparse.standard_errors(*every(40)), errors, rtol=1e-6)
    np.testing.assert_allclose(frame.standard_errors(*every(40)), errors, rtol=1e-6)
    frame.save(tmp_path / "saved.npz")
    back = unrelu.Completion.load(tmp_path / "saved.npz")
    assert back.pairs == "one"
    with pytest.raises(unrelu.InputError, match="pass the matrix that was completed as X"):
        _ = back.noise
    with pytest.raises(unrelu.InputError, match="pass the matrix that was completed as X"):
        back.standard_errors(0, 1)
    np.testing.assert_array_equal(back.standard_errors(*every(40), X=X), frame.standard_errors(*every(40)))
    assert back.noise == frame.noise
    low, high = back.interval(0, 1, X=X)
    assert low < high


def test_the_input_is_not_touched_and_nothing_large_is_kept():
    _, X = noisy(200, 3, 0.1, False, 0)  # too many unknowns for their whole covariance
    before = X.copy()
    bars = unrelu.complete(X, 3, rng=0).error_bars()
    bars.standard_errors(*every(200))
    np.testing.assert_array_equal(X, before)

    def arrays(thing, depth=0):
        if isinstance(thing, np.ndarray):
            yield thing
        elif depth < 3 and hasattr(thing, "__dict__"):
            for name, value in vars(thing).items():
                if name != "observations":
                    yield from arrays(value, depth + 1)

    assert all(200 * 200 not in (array.size, 2 * array.size) for array in arrays(bars))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: unrelu.complete(X, 2, pairs="two"), r"unknown pairs 'two'; .*accepted: auto, independent, one"),
        (lambda X: unrelu.complete(X, 2, pairs=2), "unknown pairs 2; accepted: auto, independent, one"),
        (
            lambda X: unrelu.complete(X, 2, rng=0).interval(0, 1, level=95),
            "level must be a probability between 0 and 1, such as 0.95; got 95",
        ),
        (
            lambda X: unrelu.complete(X, 2, rng=0).standard_errors(0, 30),
            "rows and cols must be positions below 30, got 30 to 30",
        ),
        (
            lambda X: unrelu.complete(X, 2, rng=0).standard_errors(0.5, 1),
            "rows and cols must be integer positions, got dtype float64",
        ),
        (
            lambda X: unrelu.complete(X, 2, rng=0).error_bars().standard_errors(0, 1, method="rows"),
            "unknown method of error bars 'rows'; ",
        ),
        (
            lambda X: ErrorBars(np.ones((3, 2)), Observations.of(X)),
            r"factor must have one row for each of the 30 of the data, got shape \(3, 2\)",
        ),
        (
            lambda X: ErrorBars(np.ones((30, 2)), Observations.of(X), determined=np.ones(4, bool)),
            r"determined must have shape \(30,\), got \(4,\)",
        ),
    ],
)
def test_bad_input_is_a_sentence(call, words):
    _, X = noisy(30, 2, 0.1, True, 0)
    with pytest.raises(unrelu.InputError, match=words):
        call(X)


def shell(*arguments, cwd):
    command = [sys.executable, "-m", "unrelu", "complete", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", timeout=120)


@pytest.mark.parametrize("extension", ["csv", "npz", "mtx"])
def test_the_shell_writes_errors(tmp_path, extension):
    _, X = noisy(40, 2, 0.1, True, 0)
    X[7, :] = X[:, 7] = np.nan
    names = [f"station {k}" for k in range(40)]
    write_matrix(tmp_path / "in.csv", X, rows=names, columns=names)
    target = tmp_path / f"errors.{extension}"
    target.write_text("what was there before")
    done = shell("in.csv", "-r", 2, "-o", "out.csv", "--errors-out", target.name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"wrote {target.name}" in done.stdout
    assert "384 seen pairs with one noise each and 77 unknowns; errors by exact solves" in done.stdout
    table = read_matrix(target)
    if extension != "mtx":
        assert table.rows == table.columns == tuple(names)
    with pytest.warns(unrelu.CompletionWarning):
        completion = unrelu.complete(X, 2, rng=0)
    errors = completion.standard_errors(*every(40))
    assert np.all(np.isinf(errors[7]))
    np.testing.assert_allclose(np.asarray(table.values), errors, rtol=1e-9)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in.csv", "out.csv", target.name])


def test_the_shell_says_how(tmp_path):
    _, X = noisy(40, 2, 0.1, True, 0)
    write_matrix(tmp_path / "in.npy", X)
    arguments = ["in.npy", "-r", 2, "-o", "out.npy", "--errors-out", "errors.npy", "--json"]
    noise = json.loads(shell(*arguments, "--pairs", "independent", cwd=tmp_path).stdout)["noise"]
    assert noise["pairs"] == "independent"
    assert noise["degrees_of_freedom"] == int((~np.isnan(X)).sum()) - 79
    assert noise["method"] == EXACT


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--errors-out", "out.npy"], "--output and --errors-out must be two files, got out.npy for both"),
        (["--errors-out", "in.npy"], "in.npy is the input and would be overwritten"),
        (["--errors-out", "errors.txt"], "errors.txt has no known format"),
        (["--pairs", "both"], "unknown pairs 'both'; accepted: auto, independent, one"),
    ],
)
def test_the_shell_refuses(tmp_path, arguments, words):
    _, X = noisy(20, 2, 0.1, True, 0)
    write_matrix(tmp_path / "in.npy", X)
    done = shell("in.npy", "-r", 2, "-o", "out.npy", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]


def test_groups_that_turn_against_each_other_have_honest_errors():
    """Held together by entries of two tiny rows alone: their angle is uncertain, and an entry near its extreme moves
    by the square of it, which no derivative shows."""
    rng = np.random.default_rng(3)
    angles = np.r_[rng.uniform(-0.4, 0.4, 6), np.pi + rng.uniform(-0.4, 0.4, 6)]
    U = np.vstack([np.c_[np.cos(angles), np.sin(angles)], [[0.02, 0.02], [0.02, -0.02]]])
    M, n, sigma = U @ U.T, len(U), 3e-3
    hidden = np.zeros((n, n), bool)
    hidden[:6, 6:12] = hidden[6:12, :6] = True

    def measured():
        E = sigma * rng.standard_normal((n, n))
        return np.where(hidden, np.nan, M + np.triu(E) + np.triu(E, 1).T)

    bars = ErrorBars(U, Observations.of(measured(), threshold=None))
    fits = [
        unrelu.complete(measured(), 2, threshold=None, method="gauss-newton", start=U, rng=0).matrix() - M
        for _ in range(60)
    ]
    spread = np.sqrt(np.mean(np.square(fits), axis=0)) / sigma
    told = bars.standard_errors(*every(n)) / bars.noise.sigma
    between, within = hidden, ~hidden & (np.arange(n) < 12)[:, None] & (np.arange(n) < 12)
    assert (told[between] > 0.5 * spread[between]).all()
    assert (told[within] < 2 * spread[within]).all()
    linear = np.sqrt(bars._covariance.variances(*(k.ravel() for k in np.broadcast_arrays(*every(n))))).reshape(n, n)
    assert (linear[between] < 0.5 * spread[between]).any()
