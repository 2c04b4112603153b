"""What the page says of the assumptions, of Bishop and Yu and of the open problems, held to smaller truths."""

from itertools import chain, combinations

import numpy as np
import pytest

from unrelu._old.experiments.assumptions import TableAssumptions
from unrelu._old.experiments.open_problems import TableOpenProblems
from unrelu._old.experiments.open_rank import core as core_of_table
from unrelu._old.experiments.open_rank import counting_limit
from unrelu._old.experiments.open_sampling import SAMPLINGS, core, sampled
from unrelu._old.experiments.ordering import TableOrdering
from unrelu._old.experiments.orthants import FigureObserved, FigureOrthants
from unrelu._old.theory.assumptions import check_assumption_1, check_assumption_2, check_assumption_3
from unrelu._old.theory.blockwise import Sampled, failed_of_assumption_3, noise_limit, orthants_hold
from unrelu._old.theory.ordering import (
    find_order,
    groups_exist,
    maximal_cliques,
    order_exists,
    order_fails,
    order_of_groups,
)
from unrelu._old.theory.ordering_witnesses import WITNESSES, conditions
from unrelu._old.theory.partition import cone_partition, orthant_partition

OPEN = dict(
    samplings=["ReLU", "random"],
    n=30,
    r=2,
    unknown={"ns": [30], "ranks": [2], "sigmas": [0.0]},
    tables=[[30, 20, [2, 4]]],
    weaker=[["ReLU", 20, 3], ["two caps", 42, 3]],
)
SMALL = [
    (TableAssumptions(), dict(ns=[50], first=[5000], second=[[6561, 2]], ranks=[1, 2])),
    (FigureOrthants(), dict(n=60)),
    (FigureObserved(), dict(n=60)),
    (TableOrdering(), dict(cases=[[40, 2], [40, 10]], small=[[10, 2]])),
    (TableOpenProblems(), OPEN),
]
NAMES = [experiment.name for experiment, _ in SMALL]


@pytest.fixture(scope="module", params=range(len(SMALL)), ids=NAMES)
def run(request):
    experiment, few = SMALL[request.param]
    return experiment, experiment(trials=2, rng=0, **few)


def lines(judgements):
    return {(judgement.key, judgement.case) for judgement in judgements}


def test_any_sample_may_come_and_the_lines_stay_the_same(run):
    experiment, result = run
    named = {name for task in experiment.tasks(result.sizes) for name in task}
    for bad in (None, float("nan"), float("inf")):
        spoilt = [{k: v if k in named else bad for k, v in row.items()} for row in result.rows]
        assert lines(experiment.judge(result.sizes, spoilt)) == lines(result.judgements)
        assert all(j.verdict != "better" for j in experiment.judge(result.sizes, spoilt))
    for sample in (result.rows[:1], result.rows[::2], result.rows[1::2]):
        assert lines(experiment.judge(result.sizes, list(sample))) == lines(result.judgements)
    assert {j.verdict for j in experiment.judge(result.sizes, [])} == {"not tested"}


def test_what_a_verdict_rests_on_stands_in_the_ledger(run):
    experiment, result = run
    settings = {setting.name: setting.origin for setting in experiment.ledger(result.sizes)}
    for judgement in result.judgements:
        assert all(settings[name] in ("inferred", "ours") for name in judgement.rests)
    assert all(setting.how for setting in experiment.ledger(result.sizes) if setting.origin != "printed")


def test_figures_fit_a_page_and_a_phone(run):
    for picture in run[1].pictures:
        assert picture.draw(False).get_size_inches()[0] <= 7.4
        assert picture.draw(True).get_size_inches()[0] == pytest.approx(3.6)


def test_headings_say_the_sizes_of_this_run(run):
    experiment, result = run
    assert experiment.setting(result.sizes) != experiment.setting(experiment.sizes())


# Blocks looked at one by one, beside the whole pattern


@pytest.mark.parametrize("seed", range(25))
def test_blocks_say_the_same_as_the_whole_pattern(seed):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(4, 90)), int(rng.integers(1, 4))
    U = rng.standard_normal((n, r))
    orthants = orthant_partition(U)
    whole = check_assumption_1(orthants).holds, check_assumption_2(orthants, U @ U.T >= 0).holds
    assert orthants_hold(U) == whole
    groups = cone_partition(U) if r < 3 else cone_partition(U, "rows")
    everyone = np.arange(n)
    for noise, drawn in ((0.0, None), (0.05, None), (0.3, None), (0.3, seed)):
        for angles in (False, True):
            seen = Sampled(U, noise, drawn, angles)
            mask = seen(everyone, everyone)
            assert failed_of_assumption_3(groups, seen) == check_assumption_3(groups, mask).failed
            assert (mask == mask.T).all()


def test_noise_is_one_number_for_each_pair_and_the_worst_hides_most():
    U = np.random.default_rng(0).standard_normal((200, 2))
    everyone = np.arange(200)
    drawn = Sampled(U, 1.0, 3).drawn(everyone, everyone)
    np.testing.assert_array_equal(drawn, drawn.T)
    np.testing.assert_array_equal(drawn[5:9, 2:7], Sampled(U, 1.0, 3).drawn(everyone[5:9], everyone[2:7]))
    pairs = drawn[np.triu_indices(200)]
    assert abs(pairs).max() <= 1
    assert (abs(pairs.mean()), pairs.std()) == (pytest.approx(0, abs=0.02), pytest.approx(3**-0.5, abs=0.02))
    assert not np.array_equal(drawn, Sampled(U, 1.0, 4).drawn(everyone, everyone))
    hidden = ~Sampled(U, 0.5)(everyone, everyone)
    assert hidden[~Sampled(U, 0.5, 3)(everyone, everyone)].all()


def test_the_noise_limit_is_that_of_the_proposition_and_more_noise_breaks_it():
    U = np.random.default_rng(1).standard_normal((2000, 2))
    limit = noise_limit(U)
    assert limit == pytest.approx((U**2).sum(axis=1).min() / 2)
    assert failed_of_assumption_3(cone_partition(U), Sampled(U, 0.99 * limit)) == ()
    assert "3(b)" in failed_of_assumption_3(cone_partition(U), Sampled(U, 2.1 * limit))


def proposition_rows(good, total):
    return [{"kind": "second", "n": 6561, "r": 2, "seed": k, "three": k < good, "drawn": None} for k in range(total)]


@pytest.mark.parametrize(("good", "verdict"), [(80, "reproduced"), (70, "not reproduced")])
def test_a_proposition_is_held_to_its_probability(good, verdict):
    experiment = TableAssumptions()
    found = experiment.judge(experiment.sizes(), proposition_rows(good, 80))
    (line,) = [j for j in found if (j.key, j.case) == ("assumptions/noisy", "n = 6561, r = 2")]
    assert line.verdict == verdict


def test_noise_that_was_drawn_and_breaks_the_assumption_counts():
    experiment = TableAssumptions()
    rows = [{**row, "drawn": False} for row in proposition_rows(80, 80)]
    (line,) = [j for j in experiment.judge(experiment.sizes(), rows) if j.case == "n = 6561, r = 2"]
    assert line.verdict == "not reproduced"


# Bishop and Yu


def subsets(n):
    return [np.array(rows) for rows in chain.from_iterable(combinations(range(n), k) for k in range(2, n + 1))]


def by_all_subsets(U, seen, *, tree):
    """Both conditions from their definitions, with no thought of maximal cliques."""
    n, r = U.shape

    def full(rows):
        return len(rows) >= r and np.linalg.matrix_rank(U[np.array(sorted(rows), int)]) == r

    cliques = [set(rows) for rows in subsets(n) if seen[np.ix_(rows, rows)].all() and full(set(rows))]
    for start in cliques:
        sets, union = [start], set(start)
        grown = True
        while grown:
            grown = False
            for clique in cliques:
                overlaps = any(full(clique & other) for other in sets) if tree else full(clique & union)
                if clique not in sets and overlaps:
                    sets.append(clique)
                    union |= clique
                    grown = True
        if len(union) == n:
            return True
    return False


@pytest.mark.parametrize("seed", range(12))
def test_maximal_cliques_decide_what_all_subsets_decide(seed):
    rng = np.random.default_rng([seed, 3])
    U = rng.standard_normal((8, 2))
    seen = rng.random((8, 8)) < 0.75
    seen = (seen & seen.T) | np.eye(8, dtype=bool)
    assert order_exists(U, seen) == by_all_subsets(U, seen, tree=False)
    assert groups_exist(U, seen) == by_all_subsets(U, seen, tree=True)


def test_maximal_cliques_are_all_there_and_maximal():
    rng = np.random.default_rng(5)
    seen = rng.random((9, 9)) < 0.6
    seen = (seen & seen.T) | np.eye(9, dtype=bool)
    whole = [set(rows.tolist()) for rows in subsets(9) if seen[np.ix_(rows, rows)].all()] + [{i} for i in range(9)]
    wanted = [rows for rows in whole if not any(rows < other for other in whole)]
    found = [set(rows.tolist()) for rows in maximal_cliques(seen)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, wanted))


@pytest.mark.parametrize("name", WITNESSES)
@pytest.mark.parametrize("seed", range(3))
def test_witnesses_are_what_they_are_made_for(name, seed):
    make, wanted = WITNESSES[name]
    found = conditions(make(np.random.default_rng([seed, 31])))
    assert {what: found[what] for what in wanted} == wanted


@pytest.mark.parametrize(("n", "r"), [(50, 2), (60, 3), (100, 5)])
def test_an_order_that_is_found_is_one_and_breaks_when_a_set_is_lost(n, r):
    U = np.random.default_rng([n, r]).standard_normal((n, r))
    seen = U @ U.T >= 0
    sets = find_order(U, seen, rng=0)
    assert order_fails(U, seen, sets) == ""
    assert order_fails(U, seen, sets[1:]) != "" or order_fails(U, seen, sets[:-1]) != ""
    assert order_fails(U, seen, sets[:-1]).endswith("rows are in no set")
    assert order_fails(U, seen & ~np.eye(n, dtype=bool), sets) == "set 1 was not seen in full"


@pytest.mark.parametrize("seed", range(6))
def test_groups_with_assumption_3_lead_to_an_order(seed):
    U = np.random.default_rng([seed, 8]).standard_normal((200, 2))
    report = check_assumption_3(cone_partition(U), U @ U.T >= 0)
    assert report.holds
    assert order_fails(U, U @ U.T >= 0, order_of_groups(report), "tree") == ""


def test_one_instance_with_groups_and_no_order_would_save_the_claim():
    experiment = TableOrdering()
    row = {"kind": "witness", "made": "strip", "n": 10, "r": 2, "three": True, "order": True, "one and two": False}
    sizes = experiment.sizes()

    def verdict(rows):
        return next(j.verdict for j in experiment.judge(sizes, rows) if j.key == "ordering/groups")

    assert verdict([{**row, "seed": k} for k in range(4)]) == "not reproduced"
    assert verdict([{**row, "seed": k, "order": k > 0} for k in range(4)]) == "not tested"


# Open problems


def test_each_sampling_sees_what_it_says():
    M = np.random.default_rng(2).standard_normal((300, 4))
    M = M @ M.T
    shares = {name: sampled(M, name, 0)[0].mean() for name in SAMPLINGS}
    assert shares.pop("above") == pytest.approx(0.35, abs=0.01)
    assert all(share == pytest.approx(0.5, abs=0.03) for share in shares.values())
    seen, said = sampled(M, "mixed", 0)
    assert (M[~seen & ~said["unknown"]] < said["threshold"]).all()
    assert all((sampled(M, name, 0)[0] == sampled(M, name, 0)[0].T).all() for name in SAMPLINGS)


def test_a_row_that_sees_too_little_is_left_out_and_so_is_one_that_hangs_on_it():
    seen = np.ones((6, 6), bool)
    seen[0] = seen[:, 0] = False
    seen[0, 1] = seen[1, 0] = True
    seen[1, 2:5] = seen[2:5, 1] = False  # sees rows 0, 1 and 5
    assert core(seen, 3).tolist() == [False, False, True, True, True, True]
    rows, cols = core_of_table(seen[:2], 2)
    assert (rows.sum(), cols.sum()) == (0, 0)


def test_the_counting_limit_has_as_many_unknowns_as_seen_entries():
    r = counting_limit(90, 60)
    assert (90 + 60 - r) * r == pytest.approx(90 * 60 / 2)


def test_a_completion_that_assumption_3_does_not_certify_is_counted_for_the_weaker_condition():
    experiment = TableOpenProblems()
    row = {"part": "weaker", "sampling": "two caps", "n": 42, "r": 3, "three": False, "kind": "gluing"}
    sizes = {**experiment.sizes(), **OPEN, "weaker": [["two caps", 42, 3]]}

    def found(rows):
        return {j.key: j.verdict for j in experiment.judge(sizes, rows)}

    assert found([{**row, "seed": k} for k in range(3)])["open/weakened"] == "reproduced"
    assert found([{**row, "seed": k, "kind": "none"} for k in range(3)])["open/weakened"] == "not tested"
    holds = [{**row, "seed": k, "three": True, "kind": "direct" if k else "none"} for k in range(30)]
    assert found(holds)["open/implied"] == "not reproduced"
    assert found(holds[1:])["open/implied"] in ("reproduced", "better")
