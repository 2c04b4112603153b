"""The rules behind a verdict at places made by hand, where every share of the misfit is known from the sums."""

from dataclasses import replace

import numpy as np
import pytest

import unrelu
from unrelu import MaxIterations, Observed, OneSided, Stop, Verdict
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import Floor, rms
from unrelu._old.judge.held_out import HeldOut
from unrelu._old.judge.verdicts import Evidence, judged, verdict_on_best
from unrelu._old.loop.run import run
from unrelu._old.problems.psd import PSDProblem

NO_NOISE = Floor(1e-12, 1e-12, 10_000, 1e-9)
SILENT = Floor(None)
PREDICTED = HeldOut(error=1.0, next_error=1.0, noise=1.0)  # held-out pairs are as far off as the others
MET = Verdict(Stop.CONVERGED, "met")


def at(X, factor, threshold=None, verdict=MET):
    """A problem, and a run that ended at this very factor."""
    X, factor = np.array(X, float), np.array(factor, float)
    observations = Observations.of(X, threshold=threshold)
    problem = PSDProblem(observations, factor.shape[1], Observed() if threshold is None else OneSided())
    first = factor / np.sqrt(problem.unit)
    ended = run(problem, unrelu.GaussNewton(), (first, first), MaxIterations(1))
    point = problem.evaluate(first)
    return problem, replace(ended, point=point, objective=point.value, verdict=verdict)


def code(case, **evidence):
    return verdict_on_best(*case, Evidence(("clique",), **evidence)).code


def signs(n):
    """A symmetric matrix of ±1 with zeros on its diagonal, and so with eigenvalues of both signs."""
    some = np.where(np.random.default_rng(0).random((n, n)) < 0.5, -1.0, 1.0)
    return np.triu(some, 1) + np.triu(some, 1).T


def off_by(share):
    """All ones; every seen entry off the diagonal is off by this share of it."""
    return at(np.ones((6, 6)) + share * signs(6), np.ones((6, 1)))


def absent_share(share):
    """28 seen entries are off by 0.05; the absent pair, where the fit is 0.75, has so much of all the squares."""
    U = np.array([[1.0, 0.5], [1, -0.5], *[[1, 0]] * 4])
    X = U @ U.T + 0.05 * signs(6)
    X[0, 1] = X[1, 0] = np.nan
    beyond = np.sqrt(28 * 0.05**2 * share / (1 - share) / 2)
    return at(X, U, threshold=0.75 - beyond)


# --- noise or not ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "noise"), [(0.03, True), (0.08, False), (0.45, False)])
def test_starts_alone_call_noise_only_a_twentieth_of_the_data(share, noise):
    expected = Stop.FITTED_TO_NOISE if noise else Stop.STATIONARY
    assert code(off_by(share), floor=SILENT, starts=200, agreed=True) is expected


@pytest.mark.parametrize(("share", "noise"), [(0.2, True), (0.4, False)])
def test_starts_alone_call_no_noise_what_absent_entries_have_a_third_of(share, noise):
    expected = Stop.FITTED_TO_NOISE if noise else Stop.STATIONARY
    assert code(absent_share(share), floor=SILENT, starts=200, agreed=True) is expected


@pytest.mark.parametrize(("share", "noise"), [(0.2, True), (0.4, False)])
def test_pairs_held_out_call_no_noise_what_absent_entries_have_a_third_of(share, noise):
    expected = Stop.FITTED_TO_NOISE if noise else Stop.STATIONARY
    assert code(absent_share(share), floor=SILENT, held_out=PREDICTED, enough=True) is expected


def test_pairs_that_were_asked_are_not_outvoted_by_starts():
    """Held-out pairs that are predicted badly say that it is no noise, from however many starts."""
    badly = HeldOut(error=4.0, next_error=4.0, noise=1.0)
    case = off_by(0.05)
    assert code(case, floor=SILENT, starts=200, agreed=True) is Stop.FITTED_TO_NOISE
    assert code(case, floor=SILENT, held_out=badly, starts=200, agreed=True) is Stop.STATIONARY


def test_pairs_held_out_do_not_make_noise_of_most_of_the_data():
    assert code(off_by(0.4), floor=SILENT, held_out=PREDICTED, enough=True) is Stop.FITTED_TO_NOISE
    assert code(off_by(0.9), floor=SILENT, held_out=PREDICTED, enough=True) is Stop.STATIONARY


def test_starts_say_nothing_where_no_pair_is_to_spare():
    """Three rows of rank 2 have five numbers: five pairs can be fitted by some matrix, and six need not."""
    U = np.array([[1.0, 0], [1, 1], [0, 1]])
    X = U @ U.T + 0.02 * signs(3)
    assert code(at(X, U), floor=SILENT, starts=200, agreed=True) is Stop.FITTED_TO_NOISE
    X[0, 2] = X[2, 0] = np.nan
    assert code(at(X, U), floor=SILENT, starts=200, agreed=True) is Stop.STATIONARY


# --- proved by the residual matrix ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "best"), [(1e-8, True), (1e-5, False), (1e-2, False)])
def test_one_direction_below_zero_means_that_more_rank_fits_better(share, best):
    """The residual matrix of uuᵀ − vvᵀ + share·wwᵀ at u, with u, v, w orthogonal, is vvᵀ − share·wwᵀ."""
    u, v, w = np.diag([1.0, 0.5, 0.5])
    X = np.outer(u, u) - np.outer(v, v) + share * np.outer(w, w)
    expected = Stop.FITTED_TO_NOISE if best else Stop.STATIONARY
    assert code(at(X, u[:, None]), floor=NO_NOISE) is expected


def test_the_best_fit_of_data_that_it_hardly_explains_is_no_answer():
    u, v = np.array([1.0, 1, 0]), np.array([0.0, 0, np.sqrt(3)])
    assert code(at(np.outer(u, u) - np.outer(v, v) / 9, u[:, None]), floor=NO_NOISE) is Stop.FITTED_TO_NOISE
    assert code(at(np.outer(u, u) - np.outer(v, v), u[:, None]), floor=NO_NOISE) is Stop.STATIONARY


@pytest.mark.parametrize(("seen_off", "noise"), [(0.6, True), (0.21, False)])
def test_the_best_fit_is_no_noise_if_absent_entries_are_what_is_off(seen_off, noise):
    """Of rows 0 and 1 the diagonal is off by ``seen_off`` and their absent pair by 0.2: a semidefinite residual."""
    U = np.array([[1.0, 0.5], [1, -0.5], [1, 0], [1, 0]])
    X = U @ U.T
    X[0, 0] = X[1, 1] = 1.25 - seen_off
    X[0, 1] = X[1, 0] = np.nan
    expected = Stop.FITTED_TO_NOISE if noise else Stop.STATIONARY
    assert code(at(X, U, threshold=0.75 - 0.2), floor=NO_NOISE) is expected


# --- counting -------------------------------------------------------------------------------------------------------

CHAIN = np.where(np.abs(np.subtract.outer(np.arange(6), np.arange(6))) <= 1, 1.0, np.nan)  # 11 pairs
THREE = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0]  # rank 3: 15 numbers


@pytest.mark.parametrize("end", [Stop.MAX_ITERATIONS, Stop.STALLED])
def test_a_fit_that_still_creeps_is_no_better_determined(end):
    case = at(CHAIN, THREE, verdict=Verdict(end, "creeping"))
    assert code(case) is Stop.UNDERDETERMINED


def test_counting_says_nothing_of_a_run_that_failed():
    assert code(at(CHAIN, THREE, verdict=Verdict(Stop.DIVERGED, "to infinity"))) is Stop.DIVERGED


def test_rows_with_a_place_do_not_help_a_misfit_past_the_counting_limit():
    assert code(at(CHAIN, THREE), body=True) is Stop.UNDERDETERMINED


@pytest.mark.parametrize(("hidden", "many"), [([(0, 2)], False), ([(0, 2), (1, 1)], True)])
def test_one_number_more_than_pairs_leaves_many_matrices(hidden, many):
    """Three rows of rank 2 have five numbers."""
    U = np.array([[1.0, 0], [1, 1], [0, 1]])
    X = U @ U.T
    for i, j in hidden:
        X[i, j] = X[j, i] = np.nan
    assert code(at(X, U)) is (Stop.UNDERDETERMINED if many else Stop.FITTED)


# --- one run with a named method -----------------------------------------------------------------------------------


def named(misfit, solver):
    """The verdict on a run that met its rule with this relative misfit, one Gauss–Newton step from the exact fit."""
    U = np.random.default_rng(0).standard_normal((12, 2))
    problem, ended = at(U @ U.T, U)
    off = np.random.default_rng(1).standard_normal(U.shape)
    size = misfit * problem.norm / np.sqrt(4 * problem.evaluate((U + 1e-5 * off) / np.sqrt(problem.unit)).value)
    point = problem.evaluate((U + 1e-5 * size * off) / np.sqrt(problem.unit))
    assert np.sqrt(4 * point.value) / problem.norm == pytest.approx(misfit, rel=0.1)
    ended = replace(ended, point=point, objective=point.value)
    return judged(problem, ended, solver, np.random.default_rng(0)).verdict.code


@pytest.mark.parametrize(("misfit", "expected"), [(5e-4, Stop.FITTED), (1e-2, Stop.STATIONARY)])
def test_a_method_that_stopped_early_is_not_at_the_answer_because_another_would_get_there(misfit, expected):
    assert named(misfit, unrelu.GradientDescent()) is expected


@pytest.mark.parametrize(("misfit", "expected"), [(5e-4, Stop.FITTED), (1e-2, Stop.FITTED_TO_NOISE)])
def test_a_convex_program_is_solved_to_a_thousandth(misfit, expected):
    """What first-order methods leave of exact data is not called noise."""
    assert named(misfit, unrelu.SDP()) is expected


# --- what is said ---------------------------------------------------------------------------------------------------


def test_what_showed_the_rank_is_named():
    case = off_by(0.05)
    by_blocks = verdict_on_best(*case, Evidence(("a",), Floor(1e-12, 0.5, 10_000, 1e-9), enough=True))
    by_pairs = verdict_on_best(*case, Evidence(("a",), SILENT, HeldOut(1.0, 0.1, 1.0), enough=True))
    assert "fully seen blocks show" in by_blocks.reason
    assert "pairs held out show" in by_pairs.reason


def test_the_misfit_is_that_of_the_mean_of_an_entry_and_its_mirror():
    """Where (i, j) and (j, i) differ no symmetric matrix meets both: that is no misfit of the fit."""
    X = np.ones((3, 3))
    X[0, 1], X[1, 0] = 1.4, 0.6
    problem, ended = at(X, np.ones((3, 1)))
    assert ended.point.value > 0.01 / problem.unit**2
    assert rms(problem, ended.point.value) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({"gain": 2.0}, Stop.FITTED_TO_NOISE),
        ({"gain": 30.0}, Stop.STATIONARY),
        ({"gain": 30.0, "enough": True}, Stop.BEST_OF_RANK),
        ({"contradicted": True}, Stop.STATIONARY),
    ],
    ids=str,
)
def test_starts_call_nothing_noise_that_more_rank_or_no_absence_fits_far_better(evidence, expected):
    assert code(off_by(0.03), floor=SILENT, starts=200, agreed=True, **evidence) is expected
