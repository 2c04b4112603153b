"""Distances of which some are grossly wrong: found, left out and named, or said to be beyond judging."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from unrelu import DistanceCompleter, EdgeList, InputError, Stop, complete_distances
from unrelu._old.distances import reliability
from unrelu._old.distances.alignment import deviation
from unrelu._old.distances.candidate import Effort
from unrelu._old.distances.consensus import Consensus
from unrelu._old.distances.distrust import Trust, too_many
from unrelu._old.distances.doubts import Doubts, without_contradictions
from unrelu._old.distances.refine import Journal
from unrelu._old.distances.regrouping import bent, regrouped, soft_points
from unrelu._old.distances.reliability import checked, threshold
from unrelu._old.distances.rigidity import GENERIC
from unrelu._old.distances.search import Search
from unrelu._old.distances.solve import Solved
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network, PairLimits
from unrelu._old.results.distrusted import Distrusted
from unrelu.datasets import points_in_cube


def planted(seed, n=25, reach=0.5, sigma=0.002, wrong=0.07, either=True):
    """Places, pairs, ranges of which some are wrong, and which are."""
    rng = np.random.default_rng(seed)
    truth = points_in_cube(n, 2, rng=seed)
    pairs = np.column_stack(np.triu_indices(n, 1))
    d = np.linalg.norm(truth[pairs[:, 0]] - truth[pairs[:, 1]], axis=1)
    pairs, d = pairs[d <= reach], d[d <= reach]
    bad = rng.random(len(d)) < wrong
    by = rng.uniform(0.05, 0.2, len(d)) * (rng.choice([-1, 1], len(d)) if either else 1)
    return truth, pairs, np.abs(d + sigma * rng.standard_normal(len(d)) + np.where(bad, by, 0.0)), bad


@cache
def fitted(seed):
    """A small robust fit that several tests look at, and which ranges are wrong."""
    _, pairs, ranges, bad = planted(seed, n=15, reach=0.6)
    return complete_distances(EdgeList(pairs, ranges), 2, loss="huber", rng=7), pairs, ranges, bad


def named(result):
    return {(one.row, one.column) for one in result.distrusted}


def network_of(points, pairs, distance=None):
    first, second = np.array(pairs).T
    d = np.linalg.norm(points[first] - points[second], axis=1) if distance is None else np.asarray(distance)
    return Network(len(points), points.shape[1], first, second, d, np.ones(len(first)))


# --- found and named ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.002, 0.0])
def test_wrong_ranges_are_named_and_bend_nothing(sigma):
    truth, pairs, ranges, bad = planted(0, sigma=sigma)
    result = complete_distances(EdgeList(pairs, ranges), 2, loss="huber", rng=0)
    assert result.verdict.code is (Stop.FITTED_TO_NOISE if sigma else Stop.FITTED)
    assert named(result) == set(map(tuple, pairs[bad].tolist()))
    fixed = result.determined
    assert fixed.sum() > 20
    assert not (result.determinacy == "proved").any()
    error = deviation(result.points[fixed], truth[fixed])
    assert error.max() < (6 * np.linalg.norm(result.standard_errors[fixed], axis=1).max() if sigma else 1e-8)
    assert error.max() < max(4 * sigma, 1e-8)
    for one in result.distrusted:
        assert one.expected == pytest.approx(np.linalg.norm(truth[one.row] - truth[one.column]), abs=6 * sigma + 1e-8)
        assert np.sign(one.deviations) == np.sign(one.value - one.expected)
    assert not result.fitted[bad].any()
    assert result.fitted[~bad].all()
    assert result.loss == "huber"


def test_without_the_loss_they_bend_everything():
    truth, pairs, ranges, _ = planted(0)
    result = complete_distances(EdgeList(pairs, ranges), 2, loss="distances", start=truth, rng=0)
    assert not result.distrusted
    assert np.median(deviation(result.points, truth)) > 0.005


def test_nothing_is_named_where_nothing_is_wrong():
    _, pairs, ranges, _ = planted(1, n=15, reach=0.6, wrong=0.0)
    result = complete_distances(EdgeList(pairs, ranges), 2, loss="huber", rng=0)
    assert result.distrusted == []
    assert "No distance contradicts the others." in result.explain()


def test_names_units_and_the_order_of_the_points_change_nothing():
    plain, pairs, ranges, _ = fitted(3)
    order = np.random.default_rng(5).permutation(15)
    words = tuple(f"p{k}" for k in range(15))
    other = complete_distances(
        EdgeList(order[pairs], 1000 * ranges), 2, loss="huber", rng=7, names=[words[k] for k in np.argsort(order)]
    )
    assert plain.distrusted
    assert {frozenset((words[i], words[j])) for i, j in named(plain)} == {frozenset(pair) for pair in named(other)}
    first, second = plain.distrusted[0], other.distrusted[0]
    assert second.value == pytest.approx(1000 * first.value)
    assert second.expected == pytest.approx(1000 * first.expected, rel=1e-4)


def test_the_same_seed_gives_the_same_answer():
    one, pairs, ranges, _ = fitted(3)
    other = complete_distances(EdgeList(pairs, ranges), 2, loss="huber", rng=7)
    np.testing.assert_array_equal(one.points, other.points)
    assert one.distrusted == other.distrusted


def test_a_range_beyond_the_cutoff_or_a_broken_triangle_is_a_wrong_range_and_no_wrong_input():
    truth, pairs, ranges, _ = planted(4, n=14, reach=0.7, wrong=0.0)
    ranges[7] += 0.8
    for options in ({"cutoff": 0.7}, {"sigma": 0.002}):
        with pytest.raises(InputError, match=r"exceed cutoff|triangle"):
            complete_distances(EdgeList(pairs, ranges), 2, rng=0, **options)
        result = complete_distances(EdgeList(pairs, ranges), 2, loss="huber", rng=0, **options)
        assert named(result) == {tuple(pairs[7].tolist())}
        fixed = result.determined
        assert deviation(result.points[fixed], truth[fixed]).max() < 0.01


def test_absence_says_nothing_of_a_range_that_was_left_out():
    """The pair was heard: its points are nearer than the cut-off, and nothing pushes them apart."""
    truth, pairs, ranges, _ = planted(5, n=14, reach=0.7, wrong=0.0)
    short = int(np.argmin(ranges))
    ranges[short] += 0.3
    result = complete_distances(EdgeList(pairs, ranges), 2, cutoff=0.7, loss="huber", rng=0)
    assert named(result) == {tuple(pairs[short].tolist())}
    i, j = pairs[short]
    assert result.entries(i, j) == pytest.approx(np.linalg.norm(truth[i] - truth[j]), abs=0.01)


@pytest.mark.filterwarnings("error")
def test_a_component_at_a_single_place_is_no_division_by_zero():
    """Two bodies on a line; all points of the second lie in one place, and nothing there has a length."""
    line = np.r_[np.linspace(0, 1, 8) ** 2, np.full(3, 9.0)]
    D = np.abs(line[:, None] - line)
    result = complete_distances(np.where(D <= 2, D, np.nan), 1, loss="huber", rng=0)
    assert result.verdict.code is Stop.FITTED
    assert not result.distrusted
    assert result.components.max() == 1
    np.testing.assert_allclose(result.entries([8, 9], [10, 10]), 0.0, atol=1e-9)


# --- beyond judging -----------------------------------------------------------------------------------------------


def test_of_three_ranges_nobody_knows_which_is_wrong():
    truth, pairs, ranges, _ = planted(10, n=16, reach=0.7, wrong=0.0)
    last = np.linalg.norm(truth[[0, 1, 2]] - 0.5, axis=1) + np.array([0.0, 0.0, 0.1])
    pairs = np.vstack([pairs, [[0, 16], [1, 16], [2, 16]]])
    result = complete_distances(EdgeList(pairs, np.r_[ranges, last]), 2, loss="huber", rng=0)
    assert not any(16 in pair for pair in named(result))
    assert any(16 in pair for pair in result.unchecked)
    assert result.determinacy[16] not in ("generic", "proved")
    assert result.determined[:16].all()
    assert "cannot be judged" in result.explain()


def test_three_ranges_that_agree_do_not_determine_a_point_if_one_may_be_wrong():
    """All but one of them suit another place; the usual loss has no such doubt."""
    truth, pairs, ranges, _ = planted(7, n=16, reach=0.7, wrong=0.0, sigma=1e-4)
    pairs = np.vstack([pairs, [[0, 16], [1, 16], [2, 16]]])
    ranges = np.r_[ranges, np.linalg.norm(truth[[0, 1, 2]] - 0.4, axis=1)]
    usual, robust = (complete_distances(EdgeList(pairs, ranges), 2, loss=loss, rng=0) for loss in ("auto", "huber"))
    assert usual.determined.all()
    assert robust.determined[:16].all()
    assert not robust.determined[16]
    assert not robust.distrusted


def test_too_few_spare_ranges_name_nothing():
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    pairs = np.column_stack(np.triu_indices(4, 1))
    d = np.linalg.norm(square[pairs[:, 0]] - square[pairs[:, 1]], axis=1)
    result = complete_distances(EdgeList(pairs, d + 0.2 * (np.arange(6) == 0)), 2, loss="huber", rng=0)
    assert result.distrusted == []
    assert not result.determined.any()


GRID = "210 120 022 120 121 220 212 210 212 200 020 221 101 110"


def of_a_grid():
    """14 points of a grid, some at one place, with their distances up to √2; two are too long, one was longer."""
    points = np.array([[int(c) for c in word] for word in GRID.split()], float)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    apart[2, 4], apart[3, 13] = 3.92, 2.55
    pairs = np.argwhere(np.triu((apart < 1.5) | (apart == 3.92) | (apart == 2.55), 1))
    return pairs, apart[tuple(pairs.T)]


def test_places_that_contradict_too_many_ranges_are_no_answer():
    """Most of the points fit on a line, after leaving out a quarter: that was called fitted, and right ones wrong."""
    pairs, d = of_a_grid()
    result = complete_distances(EdgeList(pairs, d), 1, loss="huber", rng=0)
    left = ~result.fitted
    assert left.sum() > 0.15 * len(d)
    assert result.verdict.code is Stop.STATIONARY
    assert f"contradict {left.sum()} of {len(d)} distances" in result.verdict.reason
    assert not result.determined.any()
    assert result.distrusted == []
    assert set(map(tuple, pairs[left].tolist())) <= set(result.unchecked)
    found = complete_distances(EdgeList(pairs, d), "auto", loss="huber", rng=0)
    assert found.dim == 3
    assert "more than may be wrong" in found.dimension.why
    assert (~found.fitted).sum() <= 0.1 * len(d)


def test_a_tenth_may_be_wrong_and_a_little_more():
    assert not too_many(np.arange(100) >= 15)
    assert too_many(np.arange(100) >= 16)
    assert not too_many(np.ones(0, bool))


# --- anchors, time, estimator -------------------------------------------------------------------------------------


def test_a_range_that_contradicts_the_anchors_is_named():
    truth, pairs, ranges, _ = planted(8, n=16, reach=0.7, wrong=0.0)
    anchors = {k: truth[k] for k in (0, 5, 9)}
    between = next(k for k, pair in enumerate(pairs.tolist()) if set(pair) <= {0, 5, 9})
    other = next(k for k, pair in enumerate(pairs.tolist()) if not set(pair) & {0, 5, 9})
    ranges[[between, other]] += 0.15
    result = complete_distances(EdgeList(pairs, ranges), 2, loss="huber", anchors=anchors, rng=0)
    assert named(result) == {tuple(pairs[k].tolist()) for k in (between, other)}
    assert result.framed
    fixed = result.determined
    assert fixed.sum() > 10
    assert np.linalg.norm(result.points - truth, axis=1)[fixed].max() < 0.01


@pytest.mark.parametrize("off", [0.003, 0.005])
def test_a_range_between_anchors_is_named_if_and_only_if_it_is_not_fitted(off):
    """The noise of the fit may differ from that of the consensus, 1e-3 here: the second decides, both times."""
    truth = points_in_cube(8, 2, rng=0)
    network = complete_graph(truth)
    network = replace(network, distance=network.distance + off * (np.arange(28) == 0))
    trust = trust_in(truth, network, [truth] * 3, [0.0] * 3)
    anchors, everyone = np.array([0, 1, 2]), np.arange(8)
    fitted = without_contradictions(trust, network, anchors, truth[anchors])
    for noise in (3e-4, 3e-3):
        doubts = Doubts(network)
        doubts.note(trust, everyone, Solved(truth, np.zeros(8, np.int8), "given", Stop.FITTED, noise=noise), anchors)
        assert doubts.named[0] == (off > 0.004)
        assert doubts.named.sum() == len(network.first) - len(fitted.first)
        assert doubts.kept.sum() == len(fitted.first)
        assert doubts.expected[0] == pytest.approx(network.distance[0] - off)
        assert doubts.deviations[0] == pytest.approx(off / 1e-3)


def test_when_the_time_is_over_nothing_is_determined():
    _, pairs, ranges, _ = planted(0, n=40, reach=0.4)
    result = complete_distances(EdgeList(pairs, ranges), 2, loss="huber", rng=0, max_seconds=0.02)
    assert result.verdict.code is Stop.MAX_SECONDS
    assert not result.determined.any()
    assert np.isfinite(result.points).all()


def test_the_estimator_names_them_too():
    _, pairs, ranges, bad = fitted(3)
    X = np.full((15, 15), np.nan)
    X[tuple(pairs.T)] = X[tuple(pairs.T[::-1])] = ranges
    completer = DistanceCompleter(dim=2, loss="huber", random_state=0).fit(X)
    assert named(completer.completion_) == set(map(tuple, pairs[bad].tolist()))


def test_a_summary_lists_them():
    result, *_ = fitted(3)
    first = result.distrusted[0]
    assert isinstance(first, Distrusted)
    assert result.summary()["distrusted"][0] == {
        "row": first.row, "column": first.column, "value": first.value, "expected": first.expected,
        "deviations": first.deviations,
    }  # fmt: skip
    assert abs(first.deviations) == max(abs(one.deviations) for one in result.distrusted)
    worst = result.largest_misfit
    assert worst is not None
    assert worst[0] < 0.02


# --- how well the others check a range ----------------------------------------------------------------------------


def test_what_the_others_say_is_what_a_fit_without_the_range_says():
    truth, pairs, ranges, _ = planted(9, n=10, reach=0.8, wrong=0.0, sigma=1e-5)
    network = network_of(truth, pairs, ranges)
    start = complete_distances(EdgeList(pairs, ranges), 2, start=truth, rng=0).points
    found = checked(network, start, np.ones(len(pairs), bool))
    assert found.redundancy.sum() == pytest.approx(len(pairs) - (2 * 10 - 3))
    left = np.arange(len(pairs)) != 4
    without = complete_distances(EdgeList(pairs[left], ranges[left]), 2, start=truth, rng=0)
    expected = without.entries(*pairs[4])
    assert found.expected[4] == pytest.approx(expected, abs=1e-8)
    outside = checked(network, without.points, left)
    assert outside.redundancy[4] == pytest.approx(found.redundancy[4], rel=1e-3)
    assert outside.gap[4] == pytest.approx(found.gap[4], abs=1e-8)


def test_a_range_that_nothing_checks_has_no_redundancy():
    truth = np.array([[0.0, 0], [1, 0], [0.4, 0.9], [0.5, 2.0]])
    network = network_of(truth, [(0, 1), (0, 2), (1, 2), (2, 3)])
    for trusted in ([True] * 4, [True, True, True, False]):
        found = checked(network, truth, np.array(trusted))
        assert not found.checkable.any()
        assert found.expected[3] == network.distance[3]


def test_sampled_shares_are_those_of_the_whole_matrix(monkeypatch):
    """Of many points the shares come from random right-hand sides; that they are shares can be seen on few."""
    truth, pairs, ranges, _ = planted(9, n=30, reach=0.5, wrong=0.0, sigma=1e-5)
    network = network_of(truth, pairs, ranges)
    trusted = np.arange(len(pairs)) % 7 > 0
    exact = checked(network, truth, trusted).redundancy
    monkeypatch.setattr(reliability, "INVERTED", 0)
    sampled = checked(network, truth, trusted).redundancy
    # A mean of 64 squares is off by a sixth.
    for which in (trusted, ~trusted):
        assert sampled[which].mean() == pytest.approx(exact[which].mean(), rel=0.05)
    assert np.abs(sampled - exact).max() < 0.3


def test_few_spare_ranges_ask_for_more_deviations():
    assert threshold(None) == 4.0
    assert threshold(1e6) == pytest.approx(4.0, abs=1e-3)
    assert threshold(3) > 20
    assert threshold(0.5) == np.inf


# --- loose points and soft motions --------------------------------------------------------------------------------


def hinged():
    """A body, and three points that hang on two of it and, by one long range, on a third: both sides nearly fit."""
    body = np.array([[0.0, 0], [1, 0], [0.1, -1], [0.9, -1.1], [0.5, -0.4]])
    flap = np.array([[0.3, 0.5], [0.7, 0.45], [0.5, 0.9]])
    truth = np.vstack([body, flap])
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)] + [(5, 6), (5, 7), (6, 7)]
    pairs += [(0, 5), (1, 5), (0, 6), (1, 6)]
    mirrored = truth.copy()
    mirrored[5:, 1] *= -1
    return truth, mirrored, network_of(truth, sorted(pairs))


def test_a_few_points_are_found_on_the_other_side():
    truth, mirrored, network = hinged()
    problem = DistanceProblem(network, Misfit(absence=False))
    others = regrouped(problem, mirrored, np.random.default_rng(0), np.array([7, 5]), allowed=1e-9, sigma=1e-4)
    assert min(deviation(places, truth).max() for places in others.places) < 1e-4
    none = regrouped(problem, mirrored, np.random.default_rng(0), np.zeros(0, int), allowed=1e-9, sigma=1e-4)
    assert not none.places


def test_a_soft_motion_leads_to_the_other_side():
    truth = np.array([[0.0, 0], [1, 0], [0.2, -1], [0.9, -1.1], [0.5, 0.08]])
    network = network_of(truth, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3)])
    problem = DistanceProblem(network, Misfit(absence=False))
    others = bent(problem, truth, allowed=1e-9, sigma=1e-4)
    flipped = truth * [1, 1]
    flipped[4, 1] = -0.08
    assert min(deviation(places, flipped).max() for places in others.places) < 1e-4
    # Within what error ellipses speak of, nothing is followed.
    assert not bent(problem, truth, allowed=1e-9, sigma=10.0).places


def test_loose_points_are_those_with_large_errors():
    error = np.array([1.0, 1.1, 0.9, 5.0, 1.0, 2.5])
    np.testing.assert_array_equal(soft_points(error, 1.0, np.arange(6)), [3, 5])
    np.testing.assert_array_equal(soft_points(error, 1.0, np.array([0, 1, 2])), [])


# --- what takes the word back -------------------------------------------------------------------------------------


def trust_in(truth, network, places, costs):
    """What is believed where several starts ended as told, all ranges kept."""
    search = Search(network, Misfit(absence=False), Effort(1e-9, 50), np.random.default_rng(0), Journal(1.0))
    everything = np.ones(len(network.first), bool)
    return Trust(search, Consensus(places, costs, 1e-3), everything, truth)


def complete_graph(truth):
    return network_of(truth, list(combinations(range(len(truth)), 2)))


@pytest.mark.parametrize(("agreeing", "cost", "sure"), [(3, 1e3, True), (2, 1e3, False), (3, 5.0, False)])
def test_several_starts_must_agree_on_a_point_and_none_that_is_as_good_may_differ(agreeing, cost, sure):
    truth = points_in_cube(8, 2, rng=0)
    network = complete_graph(truth)
    elsewhere = truth.copy()
    elsewhere[3] += 0.3
    trust = trust_in(truth, network, [truth] * agreeing + [elsewhere], [0.0] * agreeing + [cost])
    grade = np.full(8, GENERIC, np.int8)
    found = trust.graded(Solved(truth, grade, "given", Stop.FITTED_TO_NOISE, noise=1e-3)).grade >= GENERIC
    assert found[3] == sure
    assert found[np.arange(8) != 3].all()


def test_a_point_that_only_an_unchecked_range_holds_is_not_determined():
    """Five ranges hold the last point, but four of them along one line: across it, one range decides alone."""
    truth = points_in_cube(8, 2, rng=1)
    line = np.column_stack([np.linspace(0, 1, 4), np.zeros(4)])
    truth = np.vstack([truth + np.array([0, 1]), line, [[2.0, 0.0]]])
    pairs = [*combinations(range(12), 2), *((k, 12) for k in range(8, 12)), (0, 12)]
    network = network_of(truth, sorted(pairs))
    trust = trust_in(truth, network, [truth] * 3, [0.0] * 3)
    sure = trust._held(network, truth, 1e-6)
    redundancy = checked(network, truth, np.ones(len(network.first), bool)).redundancy
    last = (network.first == 0) & (network.second == 12)
    assert redundancy[last][0] < 0.15
    assert not sure[12]
    assert sure[:12].all()


def test_absence_says_nothing_of_pairs_with_limits():
    truth = np.array([[0.0, 0], [1, 0], [0.5, 0.8]])
    limits = PairLimits(np.array([1]), np.array([2]), np.array([0.0]), np.array([np.inf]))
    network = replace(network_of(truth, [(0, 1)]), cutoff=2.0, limits=limits)
    np.testing.assert_array_equal(network.heard(1), [0, 2])
    np.testing.assert_array_equal(network.heard(0), [1])
    assert limits.silent
    assert not replace(limits, upper=np.array([3.0])).silent
    assert not replace(limits, lower=np.array([0.1])).silent
