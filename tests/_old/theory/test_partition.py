"""Groups of rows, and the paper's assumptions on them: they hold where they should, and each failure has its name."""

import itertools

import numpy as np
import pytest

from unrelu import InputError
from unrelu._old.data.observations import Observations
from unrelu._old.theory.assumption_search import check_assumptions, search_assumption_3
from unrelu._old.theory.assumptions import (
    check_assumption_1,
    check_assumption_2,
    check_assumption_3,
    check_noise,
)
from unrelu._old.theory.discover import find_partition
from unrelu._old.theory.nets import covering_bound, sphere_net
from unrelu._old.theory.partition import (
    CONE,
    Partition,
    cone_partition,
    in_cones,
    orthant_partition,
    sector_partition,
)
from unrelu._old.theory.thresholds import check_threshold, threshold_limits


def gaussian(n, r, seed=0):
    return np.random.default_rng([seed, n, r, 7]).standard_normal((n, r))


def relu(U):
    return U @ U.T >= 0


def seen(M, mask):
    return Observations.of(np.where(mask, M, np.nan), threshold=None)


# --- orthants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [1, 2, 3, 6])
def test_consecutive_orthants_differ_in_one_sign(r):
    partition = orthant_partition(gaussian(50, r))
    assert len(set(partition.labels)) == len(partition.groups) == 2**r
    for one, two in zip(partition.labels, partition.labels[1:], strict=False):
        assert sum(a != b for a, b in zip(one, two, strict=True)) == 1


def test_every_row_is_in_the_orthant_of_its_signs():
    U = gaussian(90, 3)
    U[4] = [0.0, -1.0, 0.0]
    partition = orthant_partition(U)
    assert sorted(np.concatenate(partition.groups).tolist()) == list(range(90))
    for label, group, block in zip(partition.labels, partition.groups, partition.blocks, strict=True):
        np.testing.assert_array_equal(block, U[group])
        for row in group:
            assert "".join("-" if x < 0 else "+" for x in U[row]) == label
    assert sorted(partition.order.tolist()) == list(range(90))
    assert partition.counts.sum() == 90


def test_sorted_by_orthant_the_diagonal_blocks_are_seen():
    U = gaussian(80, 2)
    partition = orthant_partition(U)
    mask = relu(U)[np.ix_(partition.order, partition.order)]
    edges = np.concatenate([[0], np.cumsum(partition.counts)])
    for a, b in itertools.pairwise(edges):
        assert mask[a:b, a:b].all()


# --- Assumptions 1 and 2 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "r"), [(60, 2), (200, 3)])
def test_assumptions_1_and_2_hold_for_gaussian_factors(n, r):
    U = gaussian(n, r)
    partition = orthant_partition(U)
    one, two = check_assumption_1(partition), check_assumption_2(partition, relu(U))
    assert (one.holds, one.failed, two.holds, two.failed) == (True, (), True, ())
    expected = min(np.linalg.eigvalsh(U[g].T @ U[g])[0] for g in partition.groups)
    assert one.lambda_ == pytest.approx(expected)
    assert two.path(0, 2**r - 1) == list(range(2**r))
    assert two.steps == 2**r - 1


def test_assumption_1_names_a_group_of_lower_rank():
    U = gaussian(60, 2)
    first = (U > 0).all(axis=1)
    U[first] = np.outer(np.linspace(1, 2, first.sum()), [1.0, 2.0])
    report = check_assumption_1(orthant_partition(U))
    assert (report.holds, report.failed, report.lambda_) == (False, ("1",), 0.0)
    assert f"1 of 4 groups have rank below 2, the first is ++ with {first.sum()} rows" in report.explain()


def test_assumption_2_names_too_few_entries():
    U = gaussian(60, 2)
    partition, mask = orthant_partition(U), relu(U)
    a, b = partition.groups[1], partition.groups[2]
    mask[np.ix_(a, b)] = mask[np.ix_(b, a)] = False
    mask[a[0], b[0]] = True
    report = check_assumption_2(partition, mask)
    assert report.failed == ("2 (entries)", "2 (span)")
    assert "groups +- and -- see 1 of each other, not 4" in report.explain()
    assert report.path(0, 3) is None


def test_assumption_2_names_entries_that_do_not_span():
    U = gaussian(80, 2)
    partition, mask = orthant_partition(U), relu(U)
    a, b = partition.groups[1], partition.groups[2]
    # Many entries, all of one row: its products have rank at most r.
    mask[np.ix_(a, b)] = mask[np.ix_(b, a)] = False
    mask[a[0], b] = mask[b, a[0]] = True
    assert len(b) >= 4
    assert check_assumption_2(partition, mask).failed == ("2 (span)",)


def test_assumption_2_asks_for_whole_diagonal_blocks():
    U = gaussian(60, 2)
    partition, mask = orthant_partition(U), relu(U)
    i, j = partition.groups[0][:2]
    mask[i, j] = False
    report = check_assumption_2(partition, mask)
    assert report.failed == ("2 (blocks)",)
    assert f"within group ++ nothing was seen at ({i}, {j})." in report.explain()


def test_spanning_is_decided_as_by_a_matrix_of_all_products():
    U = gaussian(60, 3, 5)
    partition, mask = orthant_partition(U), relu(U)
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(20):
        thin = mask & (rng.random(mask.shape) < 0.25)
        thin |= thin.T
        for group in partition.groups:
            thin[np.ix_(group, group)] = True
        report = check_assumption_2(partition, thin)
        for k in range(7):
            a, b = partition.groups[k + 1], partition.groups[k]
            pairs = [np.outer(U[i], U[j]).ravel() for i in a for j in b if thin[i, j]]
            spans = len(pairs) >= 9 and np.linalg.matrix_rank(np.array(pairs)) == 9
            assert ((k, k + 1) in report.links) == spans
            outcomes.add(spans)
    assert outcomes == {True, False}


def test_nothing_holds_at_rank_one_with_mixed_signs():
    # The propositions do not except it: M and |u||u|ᵀ agree on every seen entry.
    u = gaussian(50, 1)
    reports = check_assumptions(u)
    assert reports["1"].holds
    assert reports["2"].failed == ("2 (entries)", "2 (span)")
    assert reports["3"].failed == ("3(d)",)
    found = find_partition(seen(u @ u.T, relu(u)), 1)
    assert check_assumption_3(found, relu(u)).failed == ("3(d)",)
    assert check_assumption_2(found, relu(u)).failed == ("2 (span)",)


# --- sectors and the positive-threshold example -----------------------------------------------------------------------


def test_sectors_divide_the_plane():
    U = gaussian(500, 2)
    partition = sector_partition(U)
    assert sorted(np.concatenate(partition.groups).tolist()) == list(range(500))
    for k, block in enumerate(partition.blocks):
        angles = np.arctan2(block[:, 1], block[:, 0]) % (2 * np.pi)
        assert (angles >= k * np.pi / 6).all()
        assert (angles < (k + 1) * np.pi / 6).all()


def test_the_example_holds_up_to_its_threshold_and_no_further():
    rng = np.random.default_rng(2)
    turn = rng.uniform(0, 2 * np.pi, 300)
    U = rng.uniform(0.5, 2, 300)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    limits = threshold_limits(sector_partition(U))
    assert 0 < limits.printed_inside <= limits.inside
    assert 0 < limits.printed_linked <= limits.linked
    for eta in (0.0, limits.printed_linked, limits.limit):
        report = check_threshold(U, eta)
        assert (report.holds, report.failed) == (True, ()), eta
        assert report.path(0, 6)[0] == 0
    assert "3(b)" in check_threshold(U, np.nextafter(limits.inside, 9)).failed
    assert "3(b)" not in check_threshold(U, limits.inside).failed
    assert "3(d)" in check_threshold(U, np.nextafter(limits.linked, 9)).failed
    assert "3(d)" not in check_threshold(U, limits.linked).failed


# --- Assumption 3 -----------------------------------------------------------------------------------------------------


@pytest.fixture
def instance():
    U = gaussian(300, 2)
    return U, sector_partition(U), relu(U)


def test_assumption_3_holds_for_the_sectors(instance):
    U, partition, mask = instance
    report = check_assumption_3(partition, mask, noise=0.0)
    assert (report.holds, report.failed) == (True, ())
    assert report.lambda_ == pytest.approx(min(np.linalg.eigvalsh(U[g].T @ U[g])[0] for g in partition.groups))
    for k in range(12):
        way = report.path(0, k)
        for one, two in itertools.pairwise(way):
            assert mask[np.ix_(partition.groups[one], partition.groups[two])].all()
    assert report.steps == max(len(report.path(0, k)) - 1 for k in range(12))


def test_each_broken_condition_is_named(instance):
    U, partition, mask = instance
    without = partition.keep(np.arange(11))
    report = check_assumption_3(without, mask)
    assert report.failed == ("3(a)",)
    assert f"{len(partition.groups[11])} of 300 rows are in no group" in report.explain()

    broken = mask.copy()
    i, j = partition.groups[3][:2]
    broken[i, j] = False
    assert "3(b)" in check_assumption_3(partition, broken).failed
    assert f"within group 4 nothing was seen at ({i}, {j})." in check_assumption_3(partition, broken).explain()

    flat = U.copy()
    flat[partition.groups[5]] = np.outer(np.linspace(1, 2, len(partition.groups[5])), U[partition.groups[5][0]])
    report = check_assumption_3(sector_partition(flat), relu(flat))
    assert (report.failed, report.lambda_) == (("3(c)",), 0.0)

    cut = mask.copy()
    own = partition.groups[7]
    others = np.setdiff1d(np.arange(300), own)
    cut[np.ix_(own, others)] = cut[np.ix_(others, own)] = False
    report = check_assumption_3(partition, cut)
    assert report.failed == ("3(d)",)
    assert "join the 12 groups into 2 parts" in report.explain()
    assert report.path(0, 7) is None

    smallest = np.square(U).sum(axis=1).min() / 2
    assert check_assumption_3(partition, mask, noise=np.full((300, 300), -smallest)).failed == ("noise",)
    assert check_assumption_3(partition, mask, noise=smallest * (1 - 1e-12)).holds
    assert check_noise(U, smallest)[0] == "noise"


def test_a_group_without_rows_fails_c_and_joins_nothing():
    U = gaussian(40, 2)
    half = np.abs(U)
    U = np.vstack([half, -half])
    report = check_assumption_3(sector_partition(U), relu(U))
    assert report.failed == ("3(c)", "3(d)")


def test_a_block_seen_one_way_round_is_a_step(instance):
    _, partition, mask = instance
    one_way = mask.copy()
    order = np.empty(300, int)
    for k, group in enumerate(partition.groups):
        order[group] = k
    one_way[order[:, None] > order] = False
    assert check_assumption_3(partition, one_way).holds


def test_the_noise_condition_keeps_the_pattern():
    # What the condition is for: with less noise than min ‖u_k‖²/2 everything within π/3 is still seen.
    U = gaussian(400, 2, 4)
    limit = np.square(U).sum(axis=1).min() / 2
    rng = np.random.default_rng(0)
    noise = rng.uniform(-limit, limit, (400, 400)) * (1 - 1e-9)
    partition = sector_partition(U)
    assert check_assumption_3(partition, U @ U.T + noise >= 0, noise).holds


# --- nets and cones ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [1, 2, 3, 4, 5])
def test_the_net_is_within_the_covering_bound_and_covers(r):
    net = sphere_net(r)
    assert len(net) <= covering_bound(r) == 9**r
    np.testing.assert_allclose(np.linalg.norm(net, axis=1), 1, atol=1e-12)
    rng = np.random.default_rng(r)
    points = rng.standard_normal((2000 if r < 5 else 200, r))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # Climb away from the nearest centre: the worst covered points are where this ends.
    for step in np.geomspace(0.1, 1e-3, 12) if r > 1 else ():
        nearest = net[np.argmax(points @ net.T, axis=1)]
        away = points - step * nearest
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        better = (away @ net.T).max(axis=1) < (points @ net.T).max(axis=1)
        points[better] = away[better]
    closest = (points @ net.T).max(axis=1)
    assert np.sqrt(np.maximum(2 - 2 * closest, 0)).max() <= 0.25
    # Lemma (union-C): every point is in a cone, with room to spare: 31/32 > cos π/12.
    assert in_cones(points, net).any(axis=1).all()
    assert closest.min() >= 31 / 32 - 1e-12 > np.cos(CONE)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
def test_nets_of_other_width(epsilon):
    net = sphere_net(3, epsilon)
    points = gaussian(3000, 3)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    distance = np.linalg.norm(points[:, None] - net, axis=2).min(axis=1)
    assert distance.max() <= epsilon
    assert len(net) <= covering_bound(3, epsilon)


@pytest.mark.parametrize("centres", ["net", "rows"])
def test_rows_of_a_cone_see_each_other_and_neighbouring_cones(centres):
    U = gaussian(300, 3)
    partition = cone_partition(U, centres)
    mask = relu(U)
    assert partition.uncovered.size == 0
    assert len(partition.groups) <= covering_bound(3)
    for group in partition.groups:
        assert mask[np.ix_(group, group)].all()
        cosines = (U[group] @ U[group].T) / np.outer(*2 * [np.linalg.norm(U[group], axis=1)])
        assert (cosines >= np.cos(np.pi / 6) - 1e-12).all()
    if centres == "rows":
        assert (partition.counts > 0).all()
    assert "3(b)" not in check_assumption_3(partition, mask).failed


def test_with_many_rows_the_papers_cones_satisfy_assumption_3():
    U = gaussian(1500, 3, 1)
    report = check_assumption_3(cone_partition(U), relu(U))
    assert (report.holds, report.failed) == (True, ())


def test_too_few_rows_leave_cones_empty():
    assert check_assumption_3(cone_partition(gaussian(60, 3)), relu(gaussian(60, 3))).failed == ("3(c)",)


# --- found without the factor -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "r"), [(40, 2), (100, 3), (200, 5), (200, 8)])
def test_a_partition_is_found_from_pattern_and_values(n, r):
    U = gaussian(n, r)
    M, mask = U @ U.T, relu(U)
    partition = find_partition(seen(M, mask), r, rng=3)
    report = check_assumption_3(partition, mask)
    assert (report.holds, report.failed) == (True, ())
    assert check_assumption_2(partition, mask).holds
    assert check_assumption_1(partition).holds
    # Its blocks are those of the planted factor, up to a rotation of each.
    for group, block in zip(partition.groups, partition.blocks, strict=True):
        np.testing.assert_allclose(block @ block.T, M[np.ix_(group, group)], atol=1e-9)
    planted = min(np.linalg.eigvalsh(U[g].T @ U[g])[0] for g in partition.groups)
    assert report.lambda_ == pytest.approx(planted, rel=1e-6)


def test_finding_does_not_depend_on_scale_and_is_repeatable():
    U = gaussian(60, 3)
    one = find_partition(seen(U @ U.T, relu(U)), 3, rng=1)
    two = find_partition(seen(1e6 * U @ U.T, relu(U)), 3, rng=1)
    assert [g.tolist() for g in one.groups] == [g.tolist() for g in two.groups]
    np.testing.assert_allclose(two.eigenvalues, 1e6 * one.eigenvalues, rtol=1e-9)


def test_a_reflectable_instance_is_not_certified():
    # A and B see only S and themselves, and S has rank r − 1: B may be reflected.
    U = gaussian(30, 3)
    A, S, B = np.arange(12), np.arange(12, 18), np.arange(18, 30)
    U[S, 2] = 0
    mask = np.zeros((30, 30), bool)
    for part in (np.union1d(A, S), np.union1d(S, B)):
        mask[np.ix_(part, part)] = True
    partition = find_partition(seen(U @ U.T, mask), 3)
    assert check_assumption_3(partition, mask).failed == ("3(d)",)
    assert check_assumption_2(partition, mask).failed == ("2 (span)",)
    # With one row of S out of the plane the parts are joined.
    U[S[0], 2] = 1.0
    partition = find_partition(seen(U @ U.T, mask), 3)
    assert check_assumption_3(partition, mask).holds


def test_a_row_that_sees_too_little_is_in_no_group():
    U = gaussian(60, 3)
    mask = relu(U)
    mask[0], mask[:, 0] = False, False
    mask[0, [0, 1, 2]] = mask[[0, 1, 2], 0] = True
    partition = find_partition(seen(U @ U.T, mask), 3)
    assert not check_assumption_3(partition, mask).holds
    mask[0, 0] = False
    partition = find_partition(seen(U @ U.T, mask), 3)
    assert check_assumption_3(partition, mask).failed == ("3(a)",)
    assert partition.uncovered.tolist() == [0]


def test_no_block_of_that_rank_is_no_partition():
    assert find_partition(seen(np.eye(4), np.eye(4, dtype=bool)), 2) is None
    with pytest.raises(InputError, match="no group of rows was seen in full"):
        search_assumption_3(np.eye(6, 6), np.eye(6, dtype=bool))


def test_the_search_prefers_the_papers_groups():
    U = gaussian(300, 2)
    report, groups = search_assumption_3(U, relu(U), noise=1e9)
    assert groups.kind == "sectors"
    assert report.failed == ("noise",)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: orthant_partition(np.ones((20, 17))), r"rank 17 has 2\^17 orthants"),
        (lambda: sector_partition(np.ones((5, 3))), "U must have 2 columns, got 3; use cone_partition"),
        (lambda: cone_partition(np.ones((5, 2)), "grid"), "centres must be 'net', 'rows' or an array"),
        (lambda: cone_partition(np.ones((5, 2)), np.ones((3, 2))), "centres must be unit vectors of length 2"),
        (lambda: cone_partition(np.zeros((5, 2)), "rows"), "U must have a row that is not zero"),
        (lambda: sphere_net(9), "ranks from 1 to 5, got 9; use centres='rows'"),
        (lambda: sphere_net(2, 0), "epsilon must be above 0 and at most 2, got 0"),
        (lambda: covering_bound(0), "rank must be at least 1 and epsilon positive"),
        (lambda: sector_partition(np.ones((5, 2))).keep([]), "at least one group must be kept"),
        (lambda: check_assumption_3(sector_partition(np.ones((5, 2))), np.eye(4, dtype=bool)), "groups are of 5 rows"),
        (lambda: find_partition(seen(np.eye(4), np.eye(4, dtype=bool)), 5), "rank must be between 1 and 4"),
    ],
)
def test_bad_input_is_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_limits_of_groups_that_are_no_sectors():
    U = gaussian(200, 3)
    limits = threshold_limits(cone_partition(U, "rows"))
    assert np.isnan(limits.printed_inside)
    assert np.isnan(limits.printed_linked)
    assert "3(b)" in check_threshold(U, np.nextafter(limits.inside, 9)).failed
    assert "3(b)" not in check_threshold(U, limits.inside).failed
    # An empty sector has no neighbours that count.
    half = sector_partition(np.abs(gaussian(50, 2)))
    lengths = [np.linalg.norm(block, axis=1).min() for block in half.blocks[:3]]
    assert threshold_limits(half).printed_linked == pytest.approx(
        min(lengths[0] * lengths[1], lengths[1] * lengths[2]) / 2
    )


def test_limits_need_the_factor():
    U = gaussian(30, 2)
    found = find_partition(seen(U @ U.T, relu(U)), 2)
    assert isinstance(found, Partition)
    with pytest.raises(InputError, match="need the planted factor"):
        threshold_limits(found)
