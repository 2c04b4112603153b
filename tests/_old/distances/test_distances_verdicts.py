"""How a run ends: a verdict means one thing, and rests on evidence in the data."""

import pickle
from importlib import import_module

import numpy as np
import pytest

import unrelu
from unrelu import RelativeGradientNormBelow, Stop, complete_distances
from unrelu._old.base.budget import OutOfTime, budget
from unrelu._old.distances import search as searching
from unrelu._old.distances import solve as solving
from unrelu._old.distances.evidence import (
    Evidence,
    freedom_left,
    gather,
    is_noise,
    lopsided,
    outdone,
    raised,
    towering,
)
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network
from unrelu._old.results.distances import widening
from unrelu._old.solvers.levenberg_marquardt import LevenbergMarquardt
from unrelu.datasets import points_in_cube, within

front = import_module("unrelu._old.complete_distances")  # the name itself is the function


def distances(points):
    return np.linalg.norm(points[:, None] - points, axis=2)


def hidden(points, share, rng):
    """Distances of which a share is hidden at random."""
    gone = np.triu(rng.random((len(points), len(points))) < share, 1)
    return np.where(gone | gone.T, np.nan, distances(points))


def sparse(seed):
    """Few points in general position, with little more than half of their distances hidden."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(10, 24)), int(rng.integers(2, 4))
    points = rng.standard_normal((n, dim))
    return points, hidden(points, 0.55, rng), dim


def noisy(n, dim, sigma, seed, share=0.3):
    rng = np.random.default_rng(seed)
    points = rng.random((n, dim))
    error = np.triu(sigma * rng.standard_normal((n, n)), 1)
    return points, np.abs(hidden(points, share, rng) + error + error.T) * (1 - np.eye(n))


def bipartite(n, dim, seed, *, flat=1.0, noise=0.0, block=None):
    """Distances between two halves alone, so that no three points all see each other, with relative noise.

    ``flat`` shrinks the last coordinate; two points of either half all see each other, with the noise of ``block``.
    """
    rng = np.random.default_rng(seed)
    points = rng.random((n, dim))
    points[:, -1] *= flat
    error = np.triu(rng.standard_normal((n, n)), 1)
    half = np.arange(n) < n // 2
    seen, level = half[:, None] != half, np.full((n, n), noise)
    if block is not None:
        four = np.ix_([0, 1, n - 2, n - 1], [0, 1, n - 2, n - 1])
        seen[four], level[four] = True, block
    D = np.where(seen, np.abs(distances(points) * (1 + level * (error + error.T))), np.nan)
    np.fill_diagonal(D, 0.0)
    return D


def network_from(D, dim):
    first, second = np.nonzero(np.triu(np.isfinite(D), 1))
    return Network(len(D), dim, first, second, D[first, second], np.ones(len(first)))


def apart(result, truth):
    """The largest error of a distance between determined points of one component."""
    fixed = np.flatnonzero(result.determined & (result.components == 0))
    return np.abs(distances(result.points[fixed]) - distances(truth[fixed])).max(initial=0.0)


# --- exact data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [77, 79, 105, 210, 366, 390])
def test_a_local_minimum_of_exact_data_is_not_the_end(seed):
    # Seeds at which the starts of the first release all end in local minima; its points were called determined.
    truth, D, dim = sparse(seed)
    result = complete_distances(D, dim, rng=seed)
    assert result.verdict.code is Stop.FITTED
    assert result.residual < 1e-9
    assert apart(result, truth) < 1e-7


def test_an_unfinished_fit_of_exact_data_is_stationary_and_fixes_nothing(monkeypatch):
    truth, D, dim = sparse(390)
    monkeypatch.setattr(searching, "starts_for", lambda network: 0)
    monkeypatch.setattr(searching.Search, "_repaired", lambda self, best: best)
    result = complete_distances(D, dim, rng=390)
    assert result.verdict.code is Stop.STATIONARY
    assert not result.verdict.answered
    assert "a fold that was not found, or wrong distances" in result.verdict.reason
    assert apart(result, truth) < 1e-7


@pytest.mark.parametrize("seed", range(12))
def test_exact_data_in_their_dimension_are_never_the_best_of_too_few(seed):
    truth, D, dim = sparse(seed)
    assert complete_distances(D, dim, rng=seed).verdict.code is Stop.FITTED
    assert not gather(network_from(distances(truth), dim), np.random.default_rng(0), 1e-9).higher


def test_points_that_carry_a_wrong_distance_are_not_called_determined():
    truth = points_in_cube(60, 2, rng=9)
    D = within(truth, 0.4)
    i, j = np.argwhere(np.triu(np.isfinite(D) & (D > 0.1) & (D < 0.2), 1))[0]
    D[i, j] = D[j, i] = D[i, j] + 0.03
    result = complete_distances(D, 2, cutoff=0.4, rng=0)
    assert result.verdict.code is Stop.STATIONARY
    assert not result.determined[[i, j]].all()
    assert result.determined.sum() >= 55
    assert apart(result, truth) < 1e-8


# --- noise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False])
def test_misfit_of_the_noise_is_fitted(given):
    truth, D = noisy(25, 2, 0.01, seed=0)
    result = complete_distances(D, 2, sigma=0.01 if given else None, rng=0)
    assert result.verdict.code is Stop.FITTED_TO_NOISE
    assert ("the deviation given" if given else "what small groups of points show") in result.verdict.reason
    assert result.determined.all()
    assert apart(result, truth) < 0.1


def test_misfit_beyond_the_given_noise_is_not_fitted():
    _, D = noisy(25, 2, 0.01, seed=0)
    result = complete_distances(D, 2, sigma=0.008, rng=0)
    assert result.verdict.code is Stop.STATIONARY
    assert "larger than the noise that was given" in result.verdict.reason
    assert not result.determined.any()


def test_one_gross_error_among_noise_is_not_noise():
    # Fifteen deviations once in five hundred distances: the sum of squares does not show it.
    _, D = noisy(40, 2, 0.003, seed=1)
    assert complete_distances(D, 2, rng=0).verdict.code is Stop.FITTED_TO_NOISE
    i, j = np.argwhere(np.triu(np.isfinite(D), 1))[40]
    D[i, j] = D[j, i] = D[i, j] + 0.05
    told = complete_distances(D, 2, rng=0)
    assert told.verdict.code is Stop.STATIONARY
    assert not told.determined.any()
    assert complete_distances(D, 2, sigma=0.02, rng=0).verdict.code is Stop.FITTED_TO_NOISE


def test_the_given_noise_also_bounds_each_distance():
    # One gap of eight deviations in three hundred passes the sum of squares, not its own bound.
    _, D = noisy(30, 2, 0.003, seed=1, share=0.2)
    i, j = np.argwhere(np.triu(np.isfinite(D), 1))[40]
    D[i, j] = D[j, i] = D[i, j] + 0.026
    assert complete_distances(D, 2, sigma=0.003, rng=0).verdict.code is Stop.STATIONARY


def test_small_groups_tell_noise_from_a_wrong_place():
    told = Evidence(level=0.01, freedom=30)
    assert is_noise(20 * 0.01**2, 20, told)
    assert not is_noise(20 * (4 * 0.01) ** 2, 20, told)
    assert not is_noise(20 * 0.01**2, 20, Evidence(0.01, 0))
    assert not is_noise(0.0, 0, told)
    # From three spare distances little is known, and more is allowed; but not anything, as their law would have it.
    few = Evidence(0.01, 3)
    assert is_noise(20 * (3.9 * 0.01) ** 2, 20, few)
    assert not is_noise(20 * (4.1 * 0.01) ** 2, 20, few)
    # One or two tell nothing, unless there are no others.
    assert not is_noise(20 * 0.01**2, 20, Evidence(0.01, 2))
    assert is_noise(2 * 0.01**2, 2, Evidence(0.01, 2))


@pytest.mark.parametrize("sigma", [0.0, 0.003, 0.03])
@pytest.mark.parametrize("kind", ["cliques", "cores"])
def test_groups_tell_the_noise(kind, sigma):
    _, D = noisy(24, 2, sigma, seed=3)
    if kind == "cores":  # no two points of the same half see each other, so that there is no triangle
        half = np.arange(24) % 2
        D[half[:, None] == half] = np.nan
    told = gather(network_from(D, 2), np.random.default_rng(0), 1e-9)
    assert told.freedom >= 6
    assert not told.higher
    if sigma:
        assert 0.5 * sigma < told.level < 1.6 * sigma
    else:
        assert told.level < 1e-9


def test_spare_distances_are_counted():
    truth = np.random.default_rng(0).random((6, 2))
    D = distances(truth)
    assert freedom_left(network_from(D, 2), truth) == 15 - 9
    D[0, 2:] = D[2:, 0] = np.nan  # hangs on one distance: it takes one away, not two
    assert freedom_left(network_from(D, 2), truth) == 11 - 8


def test_few_spare_distances_widen_the_error_bars():
    assert widening(None) == 1.0
    assert widening(0) == np.inf
    # Student's law: 95 % of 30 and 5 degrees of freedom, six standard errors of one, from tables.
    assert widening(30) == pytest.approx((2.042 / 1.960) ** 2, rel=1e-3)
    assert widening(1) == pytest.approx((6366.2 / 6) ** 2, rel=1e-2)


def test_without_a_spare_distance_there_is_no_error_bar():
    triangle = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    result = complete_distances(triangle, 2, rng=0)
    assert result.verdict.code is Stop.FITTED
    assert result.freedom == 0
    assert np.isinf(result.standard_errors).all()
    assert "No distance is to spare" in result.explain()
    known = complete_distances(triangle, 2, sigma=0.1, rng=0)
    assert np.isfinite(known.standard_errors).all()


# --- too few dimensions ----------------------------------------------------------------------------------------


def test_data_of_more_dimensions_get_the_best_of_those_asked():
    truth = points_in_cube(24, 3, rng=0)
    D = hidden(truth, 0.2, np.random.default_rng(1))
    result = complete_distances(D, 2, rng=0)
    assert result.verdict.code is Stop.BEST_OF_RANK
    assert result.verdict.answered
    assert not result.verdict.converged
    assert "need more than 2 dimensions" in result.verdict.reason
    assert not result.determined.any()
    again = [complete_distances(D, 2, start=np.random.default_rng(k).random((24, 2)), rng=k) for k in range(5)]
    assert min(one.residual for one in again) > (1 - 1e-6) * result.residual


@pytest.mark.parametrize(
    ("n", "flat", "block"), [(16, 1.0, None), (16, 0.3, None), (16, 1.0, 0.0), (16, 0.3, 0.0), (24, 1.0, None)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_missing_dimension_is_not_noise_where_no_points_all_see_each_other(n, flat, block, seed):
    # Small cores were never asked whether one more dimension would fit them: fitted-to-noise, up to all determined.
    result = complete_distances(bipartite(n, 3, seed, flat=flat, block=block), 2, rng=0)
    assert result.verdict.code in (Stop.BEST_OF_RANK, Stop.STATIONARY)
    assert not result.determined.any()


def test_a_missing_dimension_shows_beneath_noise_and_in_single_precision():
    for D in (bipartite(16, 3, 1, noise=0.01), bipartite(16, 3, 1).astype(np.float32)):
        result = complete_distances(D, 2, rng=0)
        assert not result.verdict.converged
        assert not result.determined.any()
        assert result.points.dtype == D.dtype


def test_noise_or_dimension_do_not_depend_on_the_unit():
    for D in (bipartite(16, 3, 0, flat=0.3), bipartite(16, 2, 0, noise=0.01)):
        one, other = (complete_distances(unit * D, 2, rng=0) for unit in (1, 1024))
        assert one.verdict == other.verdict
        assert (other.points == 1024 * one.points).all()
        assert (other.determined == one.determined).all()


def test_four_points_of_space_are_not_four_of_the_plane_with_noise():
    result = complete_distances(distances(np.random.default_rng(0).random((4, 3))), 2, rng=0)
    assert result.verdict.code is Stop.STATIONARY
    assert "one more dimension would explain it as well" in result.verdict.reason
    assert not result.determined.any()


@pytest.mark.parametrize("block", [None, 0.01])
@pytest.mark.parametrize(("n", "noise"), [(16, 0.003), (24, 0.03)])
def test_noise_stays_noise_where_no_points_all_see_each_other(n, noise, block):
    for seed in range(2):
        result = complete_distances(bipartite(n, 2, seed, noise=noise, block=block and noise), 2, rng=0)
        assert result.verdict.code is Stop.FITTED_TO_NOISE
        assert result.determined.sum() >= n - 1


@pytest.mark.parametrize("seed", range(4))
def test_four_points_with_little_noise_do_not_speak_for_all(seed):
    # They have one distance to spare, whose law lets thousands of times its level pass.
    told = gather(network_from(bipartite(16, 2, seed, noise=0.3, block=0.02), 2), np.random.default_rng(0), 1e-9)
    assert told.freedom >= 10
    assert 0.05 < told.level < 0.4
    assert not told.higher


def test_one_more_dimension_must_gain_more_than_its_unknowns_explain():
    assert not outdone(30.0, 30, 15.0, 15, 1e-9)  # as noise would have it
    assert not outdone(30.0, 30, 8.0, 15, 1e-9)  # twice as much
    assert outdone(30.0, 30, 0.1, 15, 1e-9)
    assert outdone(1.0, 14, 0.0, 1, 1e-9)
    assert not outdone(1.0, 13, 0.0, 0, 1e-9)  # no distance to spare, no word
    assert not outdone(1e-17, 30, 0.0, 15, 1e-9)  # rounding
    assert not outdone(1.0, 5, 0.0, 5, 1e-9)


def test_one_more_dimension_is_tried_for_the_whole():
    rng = np.random.default_rng(0)
    space = points_in_cube(20, 3, rng=0)
    assert raised(network_from(hidden(space, 0.5, rng), 2), space[:, :2], 1e-9, rng)
    plane, D = noisy(20, 2, 0.02, seed=1, share=0.5)
    assert not raised(network_from(D, 2), plane, 1e-9, rng)
    assert not raised(network_from(D[:3, :3], 2), plane[:3], 1e-9, rng)


@pytest.mark.parametrize("seed", [1, 3])
def test_a_missing_dimension_is_looked_for_with_many_starts(seed):
    # Few distances to spare in space: of the places there that meet all distances one start in fifty finds the way.
    rng = np.random.default_rng(seed)
    result = complete_distances(hidden(rng.random((16, 3)), 0.65, rng), 2, rng=0)
    assert not result.verdict.converged
    assert not result.determined.any()


def test_one_more_dimension_is_tried_where_only_limits_join_two_parts():
    D = np.full((20, 20), np.nan)
    D[:10, :10], D[10:, 10:] = bipartite(10, 2, 0, noise=0.01), bipartite(10, 2, 1, noise=0.01)
    upper = np.full((20, 20), np.nan)
    upper[0, 10] = upper[10, 0] = 2.0
    result = complete_distances(D, 2, upper=upper, rng=0)
    assert result.verdict.code is Stop.FITTED_TO_NOISE
    assert (result.components == 0).all()


def test_a_given_deviation_far_above_the_misfit_hides_no_dimension():
    D = distances(np.random.default_rng(1).random((20, 3)))
    wide = complete_distances(D, 2, sigma=0.5, rng=0)
    assert wide.verdict.code is Stop.BEST_OF_RANK
    assert not wide.determined.any()
    # What the misfit agrees with is the caller's word; and without a further dimension so is what is too large.
    assert complete_distances(D, 2, sigma=0.11, rng=0).verdict.code is Stop.FITTED_TO_NOISE
    assert complete_distances(noisy(25, 2, 0.01, seed=0)[1], 2, sigma=0.05, rng=0).verdict.code is Stop.FITTED_TO_NOISE


def test_spectra_tell_a_dimension_from_noise():
    noise = [np.array([-0.02, -0.01, 0.005, 0.012, 0.03]), np.array([-0.015, -0.004, 0.006, 0.02])]
    assert not towering(noise, 1e-9)
    assert not lopsided(noise)
    for more in (1, 3):  # as many dimensions more
        tall = [np.r_[np.sort(values[: len(values) - more]), np.linspace(20, 30, more)] for values in noise * 3]
        assert towering(tall, 1e-9)
    # A few times the others is still noise, and so is what is as small as rounding.
    assert not towering([np.r_[values[:-1], 0.05] for values in noise], 1e-9)
    assert not towering([1e-9 * values for values in tall], 1e-7)
    single = [np.array([value]) for value in np.linspace(0.5, 1, 20)]
    assert lopsided(single)
    assert not lopsided(single[:19])
    assert not lopsided([*single, np.array([-0.9])])


def test_the_best_is_said_only_after_many_more_starts(monkeypatch):
    made = []
    tried = searching.Search.tried
    monkeypatch.setattr(
        searching.Search, "tried", lambda self, best, count: made.append(count) or tried(self, best, count)
    )
    complete_distances(distances(points_in_cube(14, 3, rng=0)), 2, rng=0)
    assert sum(made) >= 40  # ten times the four descents of a first fit

    def lower(self, best):
        return searching.Candidate(best.points, best.value / 2, "lower")

    monkeypatch.setattr(searching, "starts_for", lambda network: 0)
    monkeypatch.setattr(searching.Search, "once_more", lower)
    result = complete_distances(distances(points_in_cube(14, 3, rng=0)), 2, rng=0)
    assert result.verdict.code is Stop.STATIONARY


# --- stopped from outside --------------------------------------------------------------------------------------


def test_time_over_at_once():
    result = complete_distances(within(points_in_cube(60, 2, rng=0), 0.3), 2, max_seconds=1e-9, rng=0)
    assert result.verdict.code is Stop.MAX_SECONDS
    assert result.points.shape == (60, 2)
    assert not result.determined.any()
    with pytest.raises(unrelu.InputError, match="max_seconds must be a positive number, or None for no limit, got 0"):
        complete_distances(np.zeros((2, 2)), 2, max_seconds=0)


def cut_after(count, error):
    """A checkpoint that is the last after so many."""
    left = [count]

    def checkpoint():
        left[0] -= 1
        if left[0] < 0:
            raise error

    return checkpoint


@pytest.mark.parametrize(("error", "code"), [(OutOfTime, Stop.MAX_SECONDS), (KeyboardInterrupt, Stop.INTERRUPTED)])
def test_cut_short_it_returns_the_best_so_far(monkeypatch, error, code):
    _, D = noisy(40, 2, 0.01, seed=4, share=0.5)
    monkeypatch.setattr("unrelu._old.loop.run.checkpoint", cut_after(12, error))
    result = complete_distances(D, 2, start="paths", rng=0)
    assert result.verdict.code is code
    assert not result.determined.any()
    assert 0 < result.residual < 0.5  # all at the origin would be 1


ROOMS = [
    (front, "check_triangles"),
    (front, "own_order"),
    (searching, "best_body"),
    (searching, "from_paths"),
    (searching, "explored"),
    (searching, "gather"),
    (solving, "freedom_left"),
    (solving, "graded_with_noise"),
    (front, "verdict_of"),
]


@pytest.mark.parametrize(("room", "name"), ROOMS, ids=[name for _, name in ROOMS])
def test_an_interrupt_in_any_room_returns_what_there_is(monkeypatch, room, name):
    _, D = noisy(20, 2, 0.01, seed=4, share=0.6)
    real, called = getattr(room, name), []

    def interrupted(*arguments, **options):
        called.append(name)
        if len(called) == 1:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(room, name, interrupted)
    if name == "explored":
        monkeypatch.setattr(searching.Search, "fitted_to_noise", lambda self, X: False)
    result = complete_distances(D, 2, rng=0)
    assert called
    assert result.verdict.code is Stop.INTERRUPTED
    assert np.isfinite(result.points).all()
    if name in ("graded_with_noise", "freedom_left"):
        assert result.residual < 0.1


def test_components_that_were_not_reached_stay_at_the_origin(monkeypatch):
    left, right = points_in_cube(40, 2, rng=1), points_in_cube(25, 2, rng=2)
    real, calls = front.solve_component, []

    def once(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(front, "solve_component", once)
    result = complete_distances(within(np.vstack([left, right + 100]), 0.6), 2, cutoff=0.6, rng=0)
    assert result.verdict.code is Stop.INTERRUPTED
    assert result.determined[:40].all()
    assert not result.points[40:].any()


@pytest.mark.parametrize("answer", [True, np.True_])
def test_any_true_of_a_callback_stops(answer):
    _, D = noisy(30, 2, 0.02, seed=0)
    seen = []
    result = complete_distances(
        D, 2, rng=0, callback=lambda record: seen.append(record) or (answer if len(seen) == 3 else 0)
    )
    assert result.verdict.code is Stop.CALLBACK
    assert len(seen) == len(result.history) == 3


def test_phases_have_names():
    said = []
    with budget(told=said.append):
        complete_distances(distances(points_in_cube(14, 3, rng=0)), 2, rng=0)
        complete_distances(noisy(20, 2, 0.02, seed=0)[1], 2, rng=0)
        complete_distances(bipartite(16, 2, 0, noise=0.01), 2, rng=0)
    assert {
        "placing points one after the other",
        "starting from shortest paths",
        "trying other starts",
        "looking at small groups for the noise",
        "trying one more dimension",
        "finding out what is determined",
        "looking for a second answer",
    } <= set(said)


# --- what is told ----------------------------------------------------------------------------------------------


def test_summary_and_sentences_tell_misfit_share_and_time():
    _, D = noisy(20, 2, 0.02, seed=0)
    D = 100 * D
    names = [f"p{k}" for k in range(20)]
    result = complete_distances(D, 2, names=names, rng=0)
    about = result.summary()
    gaps = np.abs(distances(result.points) - D)
    i, j = np.unravel_index(np.nanargmax(np.triu(gaps)), gaps.shape)
    assert about["largest_misfit"] == pytest.approx(gaps[i, j])
    assert about["largest_misfit_between"] == [f"p{i}", f"p{j}"]
    assert about["determined_share"] == result.determined.sum() / 20
    assert f"between p{i} and p{j}" in result.explain()
    assert f"largest misfit {gaps[i, j]:.2g}" in str(result)
    assert about["seconds"] == result.seconds > result.history[-1].seconds > 0


# --- on the one loop ------------------------------------------------------------------------------------------------


def test_stopping_rules_hold_for_distances_too():
    _, D = noisy(40, 2, 0.01, seed=4, share=0.5)
    exact = complete_distances(D, 2, start="paths", rng=0)
    loose = complete_distances(D, 2, start="paths", rng=0, tol=RelativeGradientNormBelow(1e-2))
    assert len(loose.history) < len(exact.history)
    assert loose.history[-1].relative_gradient_norm <= 1e-2


def test_a_callback_that_says_yes_in_numpys_words_stops():
    _, D = noisy(40, 2, 0.01, seed=4, share=0.5)
    seen = []
    result = complete_distances(D, 2, rng=0, callback=lambda record: np.bool_(seen.append(record) or len(seen) == 3))
    assert result.verdict.code is Stop.CALLBACK
    assert len(seen) == 3
    assert [record.iteration for record in result.history] == [0, 1, 2]


def test_history_counts_all_refinements_in_the_units_of_the_distances():
    _, D = noisy(30, 2, 0.01, seed=4, share=0.5)
    one, other = (complete_distances(unit * D, 2, rng=0).history for unit in (1.0, 16.0))
    assert [record.iteration for record in one] == list(range(len(one)))
    assert np.all(np.diff(one.column("seconds")) >= 0)
    assert other[-1].objective == 256 * one[-1].objective
    assert other[-1].gradient_norm == 16 * one[-1].gradient_norm
    assert other[-1].relative_gradient_norm == one[-1].relative_gradient_norm


def test_a_stored_state_of_points_goes_on_bit_for_bit():
    points, D = noisy(40, 2, 0.01, seed=4, share=0.5)
    first, second = np.nonzero(np.triu(~np.isnan(D), 1))
    network = Network(40, 2, first, second, D[first, second], np.ones(len(first)), cutoff=1.5)
    solver, problem = LevenbergMarquardt(worth=0.05), DistanceProblem(network, Misfit())
    states = [solver.start(problem, points + 0.1, points)]
    for _ in range(8):
        states.append(solver.step(problem, states[-1]))
    again = pickle.loads(pickle.dumps(states[2]))
    for later in states[3:]:
        again = solver.step(DistanceProblem(network, Misfit()), again)
        assert again.point.factor.tobytes() == later.point.factor.tobytes()
        assert (again.damping, again.trials, again.stuck) == (later.damping, later.trials, later.stuck)
