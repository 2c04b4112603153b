"""Every check of the soak can fail, and does not where all is well."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

import unrelu
from soak import baseline, runner, trial
from soak.__main__ import main
from soak.answer import Answer, solve
from soak.catalogue import ALL, OFTEN, drawn, schedule
from soak.checks import (
    CHECKS,
    coverage,
    difference,
    failed_checks,
    interchangeable,
    limit,
    planted_errors,
    right_rows,
)
from soak.instance import DISTANCES, EXACT, NOISY, Instance
from soak.reported import KNOWN
from soak.second import differing, second_completion
from soak.table import MUST_BE_ZERO, failed, printed

U = np.array([[2.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [-2.0, 0.5]])
TRUTH = U @ U.T
SEEN = TRUTH >= 0
NOTHING = {"threshold": None, "seen": "above", "unknown": None}


def instance(**changes):
    """Five rows, of which the non-negative entries were seen."""
    options = {"rank": 2, "threshold": 0.0, "seen": "above", "unknown": None}
    data = np.where(SEEN, TRUTH, np.nan)
    return replace(Instance(EXACT, data, TRUTH, SEEN, options, U, name="by-hand:0:0"), **changes)


def answer(**changes):
    """All of it right; the last row is called open."""
    determined = np.array([True, True, True, True, False])
    levels = np.where(determined, "proved", "no")
    right = Answer(
        code="fitted",
        converged=True,
        values=TRUTH.copy(),
        filled=TRUTH.copy(),
        determined=determined,
        levels=levels,
        certified=levels.copy(),
        certified_components=np.where(determined, 0, -1),
        components=np.where(determined, 0, -1),
        entry_levels=np.where(np.outer(determined, determined) | SEEN, "proved", "no"),
        errors=np.full(TRUTH.shape, 0.1),
        low=TRUTH - 0.2,
        high=TRUTH + 0.2,
        freedom=200,
        bounds=(np.array([0]), np.array([2]), np.array([-2.1]), np.array([-1.9])),
    )
    return replace(right, **changes)


def moved(i, j, by):
    values = TRUTH.copy()
    values[i, j] += by
    values[j, i] = values[i, j]
    return values


def test_nothing_is_found_where_all_is_well():
    assert failed_checks(instance(), answer()) == {}
    assert failed_checks(instance(group=NOISY, noise=0.1), answer()) == {}


CORRUPTED = {
    "wrong": answer(values=moved(0, 2, 1e-4)),
    "wrong-not-converged": answer(
        values=moved(0, 2, 1e-4), converged=False, levels=np.full(5, "generic"), certified=None
    ),
    "entry": answer(filled=moved(0, 1, 1e-4)),
    "proved": answer(values=moved(0, 2, 1e-4), determined=np.zeros(5, bool), certified=None),
    "unique": answer(values=moved(0, 4, 1e-4), unique=True),
    "bounds": answer(bounds=(np.array([0]), np.array([2]), np.array([-1.99]), np.array([-1.9]))),
    "misfit": answer(values=moved(2, 4, 1e-4)),
    "best-of-rank": answer(code="best-of-rank", converged=False, reason="more rank than asked"),
    "nan": answer(errors=np.full(TRUTH.shape, np.nan)),
}


@pytest.mark.parametrize("name", CORRUPTED)
def test_each_check_finds_its_fault(name):
    said = failed_checks(instance(), CORRUPTED[name])
    assert name in said
    assert set(said) <= {name, "proved"}  # a wrong determined row here is also a proved one


def test_what_is_right_to_six_digits_is_right():
    assert failed_checks(instance(), answer(values=moved(0, 2, 1e-6))) == {}


def test_certify_is_checked_by_itself():
    levels = np.full(5, "generic")
    said = failed_checks(instance(), answer(values=moved(0, 2, 1e-4), levels=levels))
    assert "certify" in said["proved"]
    # a proof speaks of rows within a group of its own, whatever groups the completion has
    apart = np.array([0, 0, 1, 1, 2])
    assert failed_checks(
        instance(), answer(values=moved(0, 2, 1e-4), levels=levels, certified_components=apart)
    ).keys() == {"wrong"}


def test_an_entry_outside_the_determined_rows_is_checked():
    levels = answer().entry_levels.astype("<U7")
    assert failed_checks(instance(), answer(filled=moved(0, 4, 1.0))) == {}
    levels[0, 4] = "generic"
    assert set(failed_checks(instance(), answer(filled=moved(0, 4, 1.0), entry_levels=levels))) == {"entry"}


def test_the_mirror_of_a_seen_entry_is_that_entry():
    one_way = SEEN.copy()
    one_way[1, 0] = False
    filled = TRUTH.copy()
    filled[1, 0] += 1.0
    nothing = answer(determined=np.zeros(5, bool), entry_levels=np.full((5, 5), "no"))
    case = instance(seen=one_way, data=np.where(one_way, TRUTH, np.nan))
    assert failed_checks(case, nothing) == {}
    assert set(failed_checks(case, replace(nothing, filled=filled))) == {"entry"}


def test_a_contradiction_is_no_excuse_for_a_wrong_answer():
    seen = SEEN.copy()
    seen[0, 1] = seen[1, 0] = False
    case = instance(consistent=False, seen=seen, data=np.where(seen, TRUTH, np.nan))
    assert "wrong" in failed_checks(case, answer(values=moved(0, 2, 0.5)))  # (0, 1) is still above the threshold
    obedient = moved(0, 2, 0.5)
    obedient[0, 1] = obedient[1, 0] = -1.0
    assert "wrong" not in failed_checks(case, answer(values=obedient))
    obedient[1, 3] = obedient[3, 1] = 0.5
    assert "wrong" in failed_checks(case, answer(values=obedient))  # (1, 3) was seen
    assert "best-of-rank" not in failed_checks(case, answer(code="best-of-rank", converged=False))


def test_with_noise_six_standard_errors_are_too_far():
    case = instance(group=NOISY, noise=0.1)
    assert set(failed_checks(case, answer(values=moved(0, 2, 0.65)))) == {"wrong"}
    assert failed_checks(case, answer(values=moved(0, 2, 0.55))) == {}
    assert failed_checks(case, answer(values=moved(0, 2, 0.65), freedom=3)) == {}  # Student's t is wider
    assert failed_checks(case, answer(values=moved(0, 2, 0.65), errors=np.full(TRUTH.shape, np.inf))) == {}


def test_with_noise_a_diagonal_entry_may_be_off_by_the_square_of_a_move():
    """Errors are 0.1: a row moves by 0.1 over the size of the larger rows."""
    case = instance(group=NOISY, noise=0.1)
    sizes = np.linalg.norm(case.planted, axis=1)
    far = limit(200)
    room = 0.1 * far + (far * 0.1 / np.sort(sizes)[2]) ** 2
    assert failed_checks(case, answer(values=moved(1, 1, 0.98 * room))) == {}
    assert set(failed_checks(case, answer(values=moved(1, 1, 1.02 * room)))) == {"wrong"}


def test_rows_without_standard_errors_are_right_only_if_they_look_it():
    case = instance(group=NOISY, noise=0.1)
    far, near = moved(0, 2, 5.0), moved(0, 2, 0.5)  # ten standard deviations of the noise are 2.1
    for silent in ({"errors": None}, {"freedom": 0}, {"errors": np.full(TRUTH.shape, np.inf)}):
        assert right_rows(case, answer(values=near, **silent)) == [0, 1, 2, 3]
        assert right_rows(case, answer(values=far, **silent)) == []
    assert right_rows(case, answer(values=moved(0, 2, 0.65))) == []


def test_six_standard_errors_by_the_table():
    assert limit(10**7) == pytest.approx(6.0, abs=1e-3)
    assert limit(1) > 1e7
    assert limit(0) == np.inf


def test_noisy_places_are_aligned_before_they_are_compared():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.2]])
    truth = np.linalg.norm(points[:, None] - points, axis=2)
    seen = np.ones((5, 5), bool)
    case = Instance(DISTANCES, truth, truth, seen, {"dim": 2, "cutoff": None}, points, noise=0.01, name="by-hand:0:0")
    turned = points @ np.array([[0.0, 1.0], [1.0, 0.0]]) + 3.0
    right = Answer(
        code="fitted-to-noise", converged=True, points=turned, values=truth, determined=np.ones(5, bool), freedom=500,
        components=np.zeros(5, int), levels=np.full(5, "generic"), errors=np.full((5, 2), 0.01),
    )  # fmt: skip
    assert failed_checks(case, right) == {}
    assert set(failed_checks(case, replace(right, points=turned + np.outer(np.arange(5) == 1, [0.3, 0.0])))) == {
        "wrong"
    }


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"code": "stationary"}, "code"),
        ({"determined": np.zeros(5, bool)}, "rows"),
        ({"values": moved(0, 2, 1e-3)}, "values"),
    ],
)
def test_what_changes_between_two_answers_is_named(changes, word):
    assert difference(instance(), answer(), answer()) is None
    assert difference(instance(), answer(), answer(**changes)).startswith(word)


def test_points_that_the_data_do_not_tell_apart_may_stand_for_each_other():
    """Each of the points 3 and 5 is determined with 1, 2 and 4, of which both have the same distances; not both are."""
    case = drawn("distances-grid:14000:67")
    assert interchangeable(case).tolist() == [0, 1, 1, 3, 4, 3]

    def said(*rows):
        determined = np.isin(np.arange(6), rows)
        return Answer(values=case.truth, determined=determined, components=np.zeros(6, int))

    one, other = said(1, 2, 3, 4), said(1, 2, 4, 5)
    assert difference(case, one, other) is None
    assert difference(case, one, said(1, 2, 3, 5)).startswith("rows")  # 4 is nearer to all of them
    assert difference(case, one, said(1, 2, 3, 4, 5)).startswith("rows")
    told = case.values()
    told[3, 4] = told[4, 3] = 1.5
    assert difference(replace(case, data=told), one, other).startswith("rows")
    unlike = {**case.options, "unknown": np.arange(36).reshape(6, 6)}
    assert difference(replace(case, options=unlike), one, other).startswith("rows")
    assert trial.trial(case.name)["findings"] == {}


def of(case):
    """A right answer to any matrix: everything but row ``size − 1``, wherever the truth has put it, is determined."""
    determined = case.planted[:, 0] != case.planted[:, 0].min()
    values = case.truth.copy()
    return Answer(
        code="fitted", converged=True, values=values, filled=values, determined=determined,
        components=np.where(determined, 0, -1), levels=np.where(determined, "generic", "no"),
    )  # fmt: skip


@pytest.mark.parametrize(("how", "name"), [("permuted", "permutation"), ("scaled", "scaling")])
def test_the_same_question_put_otherwise(how, name, monkeypatch):
    case = instance(companion=how, unit=4.0)
    monkeypatch.setattr(trial, "drawn", lambda name: case)
    monkeypatch.setattr(trial, "second_completion", lambda instance, answer: None)
    monkeypatch.setattr(trial, "solve", lambda case, everything=True: of(case))
    assert trial.trial("by-hand:0:0")["findings"] == {}

    def otherwise(case, everything=True):
        if how == "permuted":  # always the first row, whichever that is
            return replace(of(case), determined=np.arange(5) > 0, components=np.where(np.arange(5), 0, -1))
        return replace(of(case), code="fitted" if case.scale < 6 else "stationary")

    monkeypatch.setattr(trial, "solve", otherwise)
    assert set(trial.trial("by-hand:0:0")["findings"]) == {name}
    odd = replace(case, unit=3.7)  # rounds: another question, if only in its last digit
    monkeypatch.setattr(trial, "drawn", lambda name: odd)
    record = trial.trial("by-hand:0:0")
    assert set(record["findings"]) == ({name} if how == "permuted" else set())


def test_a_slow_answer_is_a_finding(monkeypatch):
    monkeypatch.setattr(trial, "solve", lambda case, everything=True: Answer(seconds=trial.HANG + 1.0))
    assert set(trial.trial("small:0:0")["findings"]) == {"hang"}


def test_exceptions_and_warnings_are_findings(monkeypatch):
    real = unrelu.complete

    def warns(*args, **options):
        warnings.warn("too hot", RuntimeWarning, stacklevel=1)
        warnings.warn("row 3", unrelu.CompletionWarning, stacklevel=1)
        return real(*args, **options)

    def fails(*args, **options):
        raise ZeroDivisionError("by zero")

    case = instance()
    monkeypatch.setattr(unrelu, "complete", warns)
    said = failed_checks(case, solve(case))
    assert set(said) == {"warning"}
    assert "too hot" in said["warning"]
    monkeypatch.setattr(unrelu, "complete", fails)
    assert "ZeroDivisionError" in failed_checks(case, solve(case))["exception"]


def test_a_stage_that_fails_does_not_hide_the_others(monkeypatch):
    def fails(*args, **options):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(unrelu.Completion, "standard_errors", fails)
    got = solve(instance())
    assert set(got.failures) == {"exception"}
    assert got.failures["exception"].startswith("standard_errors: ZeroDivisionError")
    assert got.bounds is not None
    assert got.certified is not None


def sign_case(**absence):
    """Rank 1, only the diagonal seen: the sign of the other entry is open unless absence says it."""
    V = np.array([[1.0], [-2.0]])
    seen = np.eye(2, dtype=bool)
    options = {"rank": 1} | NOTHING | absence
    return Instance(EXACT, np.where(seen, V @ V.T, np.nan), V @ V.T, seen, options, V, name="by-hand:0:0")


def test_a_second_completion_is_found_where_there_is_one_and_only_there():
    sure = Answer(determined=np.ones(2, bool), components=np.zeros(2, int), values=np.zeros((2, 2)))
    assert "entry (0, 1) is -2, but 2" in second_completion(sign_case(), sure)
    assert second_completion(sign_case(threshold=0.0), sure) is None
    open_rows = replace(sure, determined=np.zeros(2, bool))
    assert second_completion(sign_case(), open_rows) is None


@pytest.mark.parametrize(("cutoff", "exists"), [(None, True), (0.1, True), (1.9, False)])
def test_a_second_place_of_a_point_is_found_unless_the_cutoff_forbids_it(cutoff, exists):
    # The last two are seen from the first two only; folded over, they are 0.2 apart instead of 2.01.
    points = np.array([[-0.5, 0.0], [0.5, 0.0], [0.1, 1.0], [-0.1, -1.0]])
    truth = np.linalg.norm(points[:, None] - points, axis=2)
    seen = np.ones((4, 4), bool)
    seen[2, 3] = seen[3, 2] = False
    options = {"dim": 2, "cutoff": cutoff}
    case = Instance(DISTANCES, np.where(seen, truth, np.nan), truth, seen, options, points, name="by-hand:0:0")
    assert (differing(case, ~seen) is not None) == exists


def test_coverage_counts_unseen_pairs_of_determined_rows_once():
    case = instance(group=NOISY, noise=0.1)
    assert coverage(case, answer()) == (1, 1)  # (0, 2), the only unseen pair of the first four rows
    assert coverage(case, answer(high=TRUTH - 0.1)) == (0, 1)
    assert coverage(case, answer(converged=False)) == (0, 0)


@pytest.mark.parametrize("kind", ALL)
def test_every_kind_draws_data_that_its_truth_agrees_with(kind):
    for number in range(4):
        case = drawn(f"{kind}:0:{number}")
        again = drawn(f"{kind}:0:{number}")
        values = case.values()
        np.testing.assert_array_equal(values, again.values())
        assert max(case.data.shape) <= (300 if kind.startswith("edge-") else 60)
        assert np.isnan(values).sum() == (~case.seen).sum()
        if not case.exact:
            continue
        close = 1e-6 if case.single else 1e-13
        assert np.nanmax(np.abs(values - case.truth)) <= close * case.scale
        unseen = case.truth[~case.seen]
        if case.group == DISTANCES:
            assert np.allclose(np.linalg.norm(case.planted[:, None] - case.planted, axis=2), case.truth)
            if case.options["cutoff"] is not None:
                assert (unseen >= case.options["cutoff"]).all()
        elif case.options["threshold"] is not None:
            dark = case.options["unknown"]
            absent = ~case.seen & ~(np.zeros_like(case.seen) if dark is None else dark)
            told = case.truth[absent]
            above = case.options["seen"] == "above"
            tau, slack = np.broadcast_to(case.options["threshold"], case.truth.shape)[absent], close * case.scale
            assert (told <= tau + slack).all() if above else (told >= tau - slack).all()


@pytest.mark.parametrize(
    ("name", "entry", "seen"),
    [
        ("families:0:0", 1.4552145248034218, 241),
        ("distances-grid:3:5", 1.0, 30),
        ("reported-a3:0:363", 0.47322626595427497, 127),
    ],
)
def test_instances_are_the_same_everywhere(name, entry, seen):
    case = drawn(name)
    assert case.truth[0, 1] == pytest.approx(entry, rel=1e-12)
    assert case.seen.sum() == seen


def test_known_faults_come_first_and_then_every_kind():
    names = schedule(7)
    assert tuple(next(names) for _ in KNOWN) == KNOWN
    both = [next(names) for _ in range(2 * sum(OFTEN.get(kind, 1) for kind in ALL))]
    assert sorted(both) == sorted(f"{kind}:7:{k}" for kind in ALL for k in range(2 * OFTEN.get(kind, 1)))


def test_a_wrong_name_is_refused_in_a_sentence():
    with pytest.raises(SystemExit, match="kind:seed:number"):
        drawn("families:0")
    with pytest.raises(SystemExit, match="one of the kinds"):
        drawn("nothing:0:1")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package that replaces the real one in workers."""

    def write(body):
        (tmp_path / "unrelu").mkdir()
        (tmp_path / "unrelu" / "__init__.py").write_text(body)
        monkeypatch.syspath_prepend(tmp_path)

    return write


def test_a_worker_that_dies_is_a_finding_and_the_next_goes_on(package):
    package("import os\ndef complete(*args, **options):\n    os._exit(3)\n")
    records = []
    runner.run(["small:0:0", "small:0:1"], records.append, workers=1)
    assert [record["name"] for record in records] == ["small:0:0", "small:0:1"]
    assert all("exit code 3" in record["findings"]["died"] for record in records)


def test_a_worker_that_hangs_is_killed_and_is_a_finding(package, monkeypatch):
    package("def complete(*args, **options):\n    while True:\n        pass\n")
    monkeypatch.setattr(runner, "STUCK", 3)
    records = []
    runner.run(["small:0:0"], records.append, workers=1)
    assert set(records[0]["findings"]) == {"hang"}


def test_text_on_standard_output_is_a_finding(package):
    package("import os\ndef complete(*args, **options):\n    os.write(1, b'Presolving')\n    raise ValueError('no')\n")
    records = []
    runner.run(["small:0:0"], records.append, workers=1)
    assert set(records[0]["findings"]) == {"printed", "exception"}
    assert "Presolving" in records[0]["findings"]["printed"]


def record(name="small:0:0", group=EXACT, rows=(0, 1), right=True, findings=(), **more):
    n = drawn(name).size
    return {
        "name": name, "kind": name.split(":")[0], "group": group, "about": {"n": n}, "code": "fitted",
        "converged": True, "right": right, "rows": list(rows), "right_rows": list(rows) if right else [],
        "noise": 0.0, "exact": True, "covered": [0, 0], "errors": {"determined": 1e-15, "missing": 1e-15},
        "observed": int(drawn(name).seen.sum()), "seconds": 0.1,
        "findings": dict.fromkeys(findings, "fault"),
    } | more  # fmt: skip


def test_a_finding_is_counted_printed_and_makes_the_exit_code(tmp_path, capsys):
    journal = tmp_path / "journal.jsonl"
    for findings, code in (((), 0), (("wrong",), 1)):
        journal.write_text(json.dumps(record(findings=findings)) + "\n")
        assert main(["report", str(journal)]) == code
    shown = capsys.readouterr().out
    assert "wrong  small:0:0  fault" in shown


@pytest.mark.parametrize("name", MUST_BE_ZERO)
def test_every_finding_fails_and_is_shown(name):
    records = [record(), record(findings=(name,))]
    assert failed(records)
    assert f"{name} 1" in printed(records)
    assert not failed(records[:1])


def test_low_coverage_is_shown():
    records = [record(group=NOISY, noise=0.05, covered=[c, 100]) for c in (96, 94, 70)]
    assert "95 % intervals of noisy: 3 instances, mean coverage 86.7%, 1 below 80%" in printed(records)


def worse(now, *before, path):
    """What is reported after ``before`` was stored."""
    baseline.write(list(before), path)
    return baseline.compare([now], baseline.load(path))[1]


def test_an_answer_as_stored_is_not_worse(tmp_path):
    before = record("reported-a2:0:3", rows=(0, 1, 2, 3))
    assert worse(before, before, path=tmp_path / "stored") == []
    assert baseline.load(tmp_path / "stored")["reported-a2:0:3"]["rows"] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"converged": False}, "right of exact instances: 1 of 1 lost"),
        ({"rows": [0, 1]}, "right rows of exact instances: 2 of 4 lost"),
        ({"observed": 1}, "not those of the baseline"),
    ],
)
def test_what_was_right_and_is_lost_is_worse(changes, words, tmp_path):
    before = record("reported-a2:0:3", rows=(0, 1, 2, 3))
    [reason] = worse(before | changes, before, path=tmp_path / "stored")
    assert words in reason
    assert "reported-a2:0:3" in reason


def test_what_was_wrong_may_be_lost(tmp_path):
    before = record("reported-a2:0:3", right=False, rows=(0, 1, 2, 3))
    assert worse(before | {"rows": [], "converged": False}, before, path=tmp_path / "stored") == []


def test_larger_errors_are_worse_where_there_is_noise(tmp_path):
    before = record("noise-medium:0:0", NOISY, noise=0.1, exact=False, errors={"determined": 1.0, "missing": None})
    reasons = worse(before | {"errors": {"determined": 1.1, "missing": 3.0}}, before, path=tmp_path / "stored")
    assert len(reasons) == 2
    assert all("1.100 times" in reason for reason in reasons)
    larger = before | {"errors": {"determined": 1.1, "missing": None}}
    assert worse(larger, before, larger, path=tmp_path / "stored") == []  # as far as rounding goes


def test_what_depends_on_rounding_is_not_compared(tmp_path):
    before = record("reported-a2:0:3", rows=(0, 1, 2, 3))
    other = before | {"code": "stationary"}
    lost = before | {"rows": []}
    assert worse(lost, before, before, path=tmp_path / "stored")
    assert worse(lost, before, other, path=tmp_path / "stored") == []


def test_rows_that_were_determined_by_luck_are_not_lost(monkeypatch, tmp_path):
    before = record("reported-a2:0:3", rows=(0, 1))
    lost = before | {"rows": []}
    assert worse(lost, before, path=tmp_path / "stored")
    monkeypatch.setattr(baseline, "drawn", lambda name: sign_case())
    assert worse(lost, before, path=tmp_path / "stored") == []


def test_a_lost_answer_makes_the_exit_code(tmp_path, monkeypatch):
    before = record("reported-a2:0:3")
    journal = tmp_path / "journal.jsonl"
    monkeypatch.setattr(baseline, "load", lambda: {before["name"]: before | {"n": 11, "rounding": False}})
    for rows, code in (([0, 1], 0), ([0], 1)):
        journal.write_text(json.dumps(before | {"rows": rows}) + "\n")
        assert main(["report", str(journal)]) == code


def test_the_stored_facts_are_of_instances_as_they_are_drawn():
    stored = baseline.load()
    assert {name.split(":")[0] for name in stored} == set(ALL)
    for seed in range(4):
        whole_round = sum(OFTEN.get(kind, 1) for kind in ALL)
        assert all(name in stored for _, name in zip(range(len(KNOWN) + whole_round), schedule(seed), strict=False))
    for name in list(stored)[::50]:
        assert (stored[name]["n"], stored[name]["observed"]) == (drawn(name).size, drawn(name).seen.sum())


def test_errors_are_in_units_of_the_truth_or_of_the_noise():
    # The first four rows are determined and miss (0, 2) alone; (0, 4) and (1, 4) are missing besides.
    missing = [(i, j) for i in range(5) for j in range(i, 5) if not SEEN[i, j]]
    assert missing == [(0, 2), (0, 4), (1, 4)]
    unit = np.sqrt(np.mean(TRUTH**2))
    errors = planted_errors(instance(), answer(values=moved(0, 2, 0.3)))
    assert errors["determined"] == pytest.approx(0.3 / unit, rel=1e-3)
    assert errors["missing"] == pytest.approx(0.3 / unit / np.sqrt(3), rel=1e-3)
    noisy = planted_errors(instance(group=NOISY, noise=0.1), answer(values=moved(0, 2, 0.3)))
    assert noisy["determined"] == pytest.approx(3 / unit, rel=1e-3)
    assert planted_errors(instance(), Answer()) == {"determined": None, "missing": None}


def test_every_check_has_a_line_in_the_table_and_a_case_here():
    assert set(CHECKS) <= set(MUST_BE_ZERO)
    assert set(CHECKS) == set(CORRUPTED)
