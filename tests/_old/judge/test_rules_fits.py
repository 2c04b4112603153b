"""What a fit may be called where the data contradict themselves, have two answers, or are not of its rank."""

import warnings

import numpy as np
import pytest

import unrelu
from soak.catalogue import drawn
from unrelu import Censored, Observed, Stop
from unrelu._old.base.tolerances import NEXT_RANK_FAR_BETTER
from unrelu._old.data.observations import Observations
from unrelu._old.judge.likelihood import _better_without_absence
from unrelu._old.judge.next_rank import gain_of_next_rank
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.proofs.agreement import misfitting
from unrelu._old.proofs.gluing import ruled_out
from unrelu._old.uncertainty.rivals import rows_with_rivals

NAN = np.nan


def three_directions():
    """120° apart, four rows along each: no two groups see each other, and no line holds all three."""
    angles = np.repeat([0, 2, 4], 4) * np.pi / 3
    U = np.c_[np.cos(angles), np.sin(angles)]
    M = U @ U.T
    return np.where(M >= 0, M, NAN)


def test_pieces_that_absence_contradicts_are_not_fitted():
    X = three_directions()
    completion = unrelu.complete(X, 1, rng=0)
    assert completion.verdict.code is Stop.STATIONARY
    assert completion.residual > 0.5
    assert not completion.determined.any()
    assert not unrelu.certify(X, 1).unique


@pytest.mark.parametrize("seed", [59, 86])
def test_pieces_are_turned_until_absence_holds(seed):
    U = np.random.default_rng(seed).standard_normal((5, 2)).repeat(5, axis=0)
    M = U @ U.T
    completion = unrelu.complete(np.where(M >= 0, M, NAN), 2, rng=0)
    assert completion.verdict.code is Stop.FITTED
    assert (completion.matrix()[M < 0] < 1e-6).all()


def test_auto_is_not_above_its_parts_where_pieces_share_what_absence_says():
    angles = np.repeat([0.0, 1.9, 3.8], 5) + np.random.default_rng(0).uniform(-0.4, 0.4, 15)
    U = np.c_[np.cos(angles), np.sin(angles), 0.5 * np.sin(3 * angles)]
    M = U @ U.T
    X = np.where(M >= 0.3, M, NAN)
    auto = unrelu.complete(X, 1, threshold=0.3, rng=0)
    for seed in range(4):
        part = unrelu.complete(X, 1, threshold=0.3, method="gauss-newton", start="gaussian", rng=seed)
        assert auto.objective <= part.objective * (1 + 1e-6)


def test_bodies_joined_by_one_entry_are_told_apart():
    U = np.random.default_rng(0).standard_normal((20, 3))
    M = U @ U.T
    X = M.copy()
    X[:10, 10:] = X[10:, :10] = NAN
    X[0, 10] = X[10, 0] = M[0, 10]
    with pytest.warns(unrelu.CompletionWarning):
        completion = unrelu.complete(X, 3, threshold=None, rng=0)
    assert completion.verdict.code is Stop.FITTED
    assert len(completion.undetermined_rows) == 10
    assert "10 of 20 rows are not determined" in completion.verdict.reason


@pytest.mark.parametrize("method", ["admm", "sdp"])
def test_a_convex_program_is_judged_by_the_factor_that_comes_back(method):
    U = np.random.default_rng(0).standard_normal((12, 5))
    M = U @ U.T
    completion = unrelu.complete(M, 2, threshold=None, method=method, rng=0)
    assert completion.verdict.code is Stop.STATIONARY
    right = unrelu.complete(M, 5, threshold=None, method=method, rng=0)
    assert right.verdict.code is Stop.FITTED


def test_a_named_method_that_explains_nothing_has_fitted_nothing():
    E = np.random.default_rng(0).standard_normal((60, 60))
    completion = unrelu.complete(E + E.T, 1, threshold=None, method="gauss-newton", rng=0)
    assert completion.verdict.code is Stop.STATIONARY


def test_one_more_rank_tells_rank_from_noise_where_little_was_seen():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((9, 3)) * [1, 1, 0.35]
    E = np.triu(rng.standard_normal((9, 9)))
    hidden = np.triu(rng.random((9, 9)) < 0.35, 1)
    for M, more in ((U @ U.T, True), (U[:, :2] @ U[:, :2].T + 0.05 * (E + np.triu(E, 1).T), False)):
        X = np.where(hidden | hidden.T, NAN, M)
        problem = PSDProblem(Observations.of(X, threshold=None), 2, Observed())
        fit = unrelu.complete(X, 2, threshold=None, rng=0)
        factor = fit.factor / np.sqrt(problem.unit)
        assert (gain_of_next_rank(problem, factor, rng) > NEXT_RANK_FAR_BETTER) is more
        assert fit.verdict.code is (Stop.BEST_OF_RANK if more else Stop.FITTED_TO_NOISE)
    few = PSDProblem(Observations.of(np.eye(3) + 1, threshold=None), 2, Observed())
    assert gain_of_next_rank(few, np.eye(3, 2), rng) is None


def test_what_absence_contradicts_is_no_noise():
    """Entry (2, 5) is 0.737 and was hidden at random; the threshold says that it is below zero."""
    U = np.array([[0.5, 0.0], [-0.1, 0.5], [0.9, 0.4], [0.5, 0.2], [0.8, -0.6], [0.3, 1.1], [-0.6, 0.9]])
    M = U @ U.T
    X = np.where(M >= 0, M, NAN)
    X[2, 5] = X[5, 2] = NAN
    assert M[2, 5] > 0.5
    completion = unrelu.complete(X, 2, rng=0)
    assert completion.verdict.code is Stop.STATIONARY
    assert not completion.determined.any()


def test_what_absence_contradicts_is_no_noise_where_a_block_shows_that_there_is_none():
    """Two pieces that never see each other, each fitted to rounding; drawn by the soak, which found it."""
    instance = drawn("contradictory:14000:45")
    completion = unrelu.complete(instance.data, rng=0, **instance.options)
    assert completion.verdict.code is Stop.STATIONARY
    assert unrelu.complete(instance.data, rank=2, threshold=None, rng=0).residual < 1e-14


@pytest.mark.parametrize(("n", "rank"), [(31, 4), (34, 2)])
def test_exact_data_with_false_absence_are_no_noise_to_a_likelihood(n, rank):
    """A fifth of the pairs are hidden at random, though the threshold says they lie below zero."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 57])
        U = rng.standard_normal((n, rank))
        M = U @ U.T
        hidden = np.triu(rng.random(M.shape) < 0.2, 1)
        X = np.where((M >= 0) & ~(hidden | hidden.T), M, NAN)
        completion = unrelu.complete(X, rank, loss="censored", rng=0)
        assert completion.verdict.code is Stop.STATIONARY
        assert not completion.determined.any()


@pytest.mark.parametrize("name", ["contradictory:10000:2", "contradictory:10000:32"])
def test_seen_entries_are_fitted_alone_from_a_block_too_and_need_not_be_met_exactly(name):
    """From the fit itself Gauss–Newton ends in another minimum here. Drawn by the soak, which found them."""
    instance = drawn(name)
    completion = unrelu.complete(instance.data, rng=0, **instance.options)
    assert completion.verdict.code is Stop.STATIONARY
    assert "only what absence leaves" in completion.verdict.reason


def test_with_hardly_more_pairs_than_unknowns_noise_is_not_told_from_a_contradiction():
    """A quarter of what would have been seen is missing: 36 rows of rank 6. Drawn by the soak, which found it."""
    instance = drawn("contradictory:15000:49")
    completion = unrelu.complete(instance.data, rng=0, **instance.options)
    assert completion.verdict.code is Stop.STATIONARY
    assert "hardly more than the 201 unknowns" in completion.verdict.reason
    assert not completion.determined.any()


def test_few_rows_that_are_nearly_met_are_not_said_to_be_of_another_rank():
    """Exact data in a false minimum that leaves 6e-6 of them. Drawn by the soak, which found it."""
    instance = drawn("indefinite:16000:30")
    with pytest.warns(unrelu.CompletionWarning, match="nothing was seen"):
        completion = unrelu.complete(instance.data, rng=0, **instance.options)
    assert completion.verdict.code is Stop.STATIONARY
    assert "another fit may well meet them" in completion.verdict.reason


def test_what_meets_the_seen_entries_without_absence_is_said():
    rng = np.random.default_rng(5)
    U = rng.standard_normal((31, 4))
    M = U @ U.T
    hidden = np.triu(rng.random(M.shape) < 0.1, 1)
    X = np.where((M >= 0) & ~(hidden | hidden.T), M, NAN)
    problem = PSDProblem(Observations.of(X, threshold=0.0), 4, Censored(level=0.5))
    point = problem.evaluate((U + 0.05 * rng.standard_normal(U.shape)) / np.sqrt(problem.unit))
    seen = int(np.count_nonzero(~np.isnan(np.triu(X, 0))[np.triu_indices(31)]))
    assert f"meets the {seen} seen pairs" in _better_without_absence(problem, point, 0.5)
    noisy = PSDProblem(
        Observations.of(X * np.exp(0.01 * rng.standard_normal(X.shape)), threshold=0.0), 4, Censored(level=0.5)
    )
    assert _better_without_absence(noisy, noisy.evaluate(point.factor), 0.5) is not None
    assert _better_without_absence(noisy, noisy.evaluate(point.factor), 0.02) is None


def test_rows_with_a_rival_are_not_determined():
    """Rows 6 and 7 see each other and rows 0 and 1, of a plane in which the two may be mirrored together."""
    U = np.array([
        [1.0, 0, 0], [0, 1, 0], [0.5, 0.5, 1.0], [0.3, -0.7, 0.6], [0.8, 0.1, -0.9], [0.2, 0.9, 0.4],
        [0.6, 0.5, 0.7], [0.4, 0.7, 0.5],
    ])  # fmt: skip
    M = U @ U.T
    E = 1e-3 * np.random.default_rng(1).standard_normal(M.shape)
    X = M.copy()
    X[6:, 2:6] = X[2:6, 6:] = NAN
    observations = Observations.of(X + np.triu(E) + np.triu(E, 1).T, threshold=None)
    every = np.ones(8, dtype=bool)
    scaled = U / np.sqrt(observations.unit)
    lost = rows_with_rivals(observations, scaled, (every, "one"), None, np.random.default_rng(0))
    assert np.flatnonzero(lost).tolist() == [6, 7]
    order = np.random.default_rng(2).permutation(8)
    turned = Observations.of((X + np.triu(E) + np.triu(E, 1).T)[np.ix_(order, order)], threshold=None)
    again = rows_with_rivals(turned, scaled[order], (every, "one"), None, np.random.default_rng(0))
    assert again.tolist() == lost[order].tolist()
    # An entry that tells the two sides apart leaves one.
    held = X.copy()
    held[6, 2] = held[2, 6] = M[2, 6]
    told = Observations.of(held + np.triu(E) + np.triu(E, 1).T, threshold=None)
    assert not rows_with_rivals(told, scaled, (every, "one"), None, np.random.default_rng(0)).any()


@pytest.mark.parametrize("number", [5, 7])
def test_rivals_are_found_of_pairs_seen_one_way_and_by_likelihood(number):
    """Repeated rows with a little noise: another fit is nearly as good, in squares (5, seen one way) and likely (7)."""
    from soak.catalogue import drawn

    instance = drawn(f"noise-special-rows:6000:{number}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unrelu.CompletionWarning)
        found = unrelu.complete(instance.data, rng=0, **instance.options)
    assert found.verdict.code is Stop.FITTED_TO_NOISE
    rows = np.flatnonzero(found.determined)
    assert 20 <= len(rows) < len(instance.truth)
    errors = found.standard_errors(rows[:, None], rows)
    off = np.abs(found.matrix() - instance.truth)[np.ix_(rows, rows)]
    assert (off <= 6 * errors).all()


def test_one_wrong_row_is_seen_though_all_together_fit():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 2))
    E = 0.05 * rng.standard_normal((60, 60))
    X = U @ U.T + E + E.T
    X[7] += rng.choice([-1, 1], 60)
    X[:, 7] = X[7]
    observations = Observations.of(X, threshold=None)
    wrong = misfitting(observations, U / np.sqrt(observations.unit))
    assert np.flatnonzero(wrong).tolist() == [7]
    completion = unrelu.complete(X, 2, threshold=None, rng=0)
    assert not completion.determined[7]
    assert completion.determined.sum() == 59


def test_a_small_entry_that_is_missed_is_seen_beside_large_ones():
    sizes = np.array([1e3, 1e3, 1e3, 1e-3, 1e-3])
    U = np.random.default_rng(0).standard_normal((5, 2)) * sizes[:, None]
    X = U @ U.T
    X[3, 4] = X[4, 3] = X[3, 4] + 1e-6
    observations = Observations.of(X, threshold=None)
    assert np.flatnonzero(misfitting(observations, U / np.sqrt(observations.unit))).tolist() == [3, 4]


def test_single_precision_does_not_see_a_second_direction_in_rounding():
    X = np.ones((3, 3), np.float32)
    X[0, 0] = NAN
    completion = unrelu.complete(X, 2, threshold=None, rng=0)
    assert not completion.determined.any()


def test_a_row_that_is_nearly_zero_is_no_direction():
    X = np.array([[NAN, 0, -1, 1], [0, 0, NAN, 0], [-1, NAN, NAN, -1], [1, 0, -1, NAN]])
    with pytest.warns(unrelu.CompletionWarning):
        completion = unrelu.complete(X, 2, threshold=None)
    assert not completion.determined.any()


def test_a_row_of_next_to_nothing_has_no_bound_and_no_warning():
    """Its misfit over its size is beyond all numbers. Drawn by the soak, which found it."""
    instance = drawn("contradictory:16000:58")
    assert not unrelu.complete(instance.data, rng=0, **instance.options).determined.any()


def test_data_that_contradict_themselves_rule_nothing_out():
    observations = Observations.of(three_directions())
    rows, cols = np.arange(4), np.arange(4, 8)
    here = np.ones((4, 4))
    assert ruled_out(observations, rows, cols, here, here, np.full((4, 4), 1e-9))
    assert not ruled_out(observations, rows, cols, -here, -here, np.full((4, 4), 1e-9))


def test_intervals_of_the_best_fit_of_a_rank_say_what_they_leave_out():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((40, 8)) * 0.7 ** np.arange(8)
    M = U @ U.T
    completion = unrelu.complete(np.where(M >= 0, M, NAN), 2, rng=0)
    assert completion.verdict.code is Stop.BEST_OF_RANK
    with pytest.warns(unrelu.CompletionWarning, match="the data are not of rank 2"):
        completion.interval(0, 1)


@pytest.mark.parametrize("method", ["admm", "sdp"])
def test_the_rank_that_a_convex_program_loses_is_not_called_noise(method):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((14, 5))
    E = 0.02 * rng.standard_normal((14, 14))
    completion = unrelu.complete(U @ U.T + E + E.T, 2, threshold=None, method=method, rng=0)
    assert completion.verdict.code is Stop.STATIONARY
