"""What a diagnosis is told comes back in what it recommends; what it cannot use is refused or objected to."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import unrelu
from unrelu import InputError
from unrelu._old.cli import app
from unrelu._old.detection.chosen import detected
from unrelu._old.detection.evidence import Evidence
from unrelu._old.results.diagnosis import Structure
from unrelu._old.results.inspected import at_the_edge, counted_in, fewer
from unrelu._old.results.moved import moved_by_threshold
from unrelu._old.results.recommended import Recommending


def matrix(n=60, rank=2, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    E = noise * rng.standard_normal((n, n))
    return U @ U.T + np.tril(E) + np.tril(E, -1).T


def table(m=90, n=40, noise=0.05):
    rng = np.random.default_rng(0)
    return rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)) + noise * rng.standard_normal((m, n))


def hidden(n=60, share=0.2):
    """A mask of pairs."""
    mask = np.triu(np.random.default_rng(1).random((n, n)) < share, 1)
    return mask | mask.T


def test_a_mask_comes_back_in_the_call():
    M, mask = matrix(), hidden()
    X = np.where((M >= 0.2) & ~mask, M, np.nan)
    found = unrelu.diagnose(X, 2, unknown=mask, rng=0)
    assert found.counted.unknown == mask.sum()
    assert found.recommended == "unrelu.complete(X, rank=2, threshold=0.2, unknown=unknown)"
    completion = unrelu.complete(X, rng=0, **found.options)
    assert np.sqrt(np.mean((completion.matrix() - M) ** 2)) < 0.1


def test_what_was_typed_comes_back_in_the_command_which_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    M, mask = matrix(), hidden()
    X = np.where((M >= 0.2) & ~mask, M, -999.0)
    for name, values in (("my data.csv", X), ("m.csv", mask.astype(int))):
        with open(name, "w") as file:
            file.write(",".join(f"s{k}" for k in range(60)) + "\n")
            np.savetxt(file, values, delimiter=",", fmt="%.17g")
    typed = ["--missing", "-999", "--header", "--no-labels", "--format", "matrix"]
    asked = ["inspect", "my data.csv", "--rank", "2", *typed, "--unknown", "m.csv", "--json"]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.output
    command = shlex.split(json.loads(told.stdout)["command"])
    assert command[:3] == ["unrelu", "complete", "my data.csv"]
    for one, other in ((["--missing", "-999"], 2), (["--unknown", "m.csv"], 2), (["--format", "matrix"], 2)):
        assert command[command.index(one[0]) :][:other] == one
    assert {"--header", "--no-labels"} <= set(command)
    done = CliRunner().invoke(app, command[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "completed.csv").exists()


def test_a_square_table_stays_one_in_the_command():
    found = unrelu.diagnose(np.where(table(40, 30) >= 0, table(40, 30), np.nan), 2, rng=0)
    said = {"table": ["--table"], "unknown": ["--unknown", "m.csv"]}
    assert found.command("t.csv", said=said).split()[-5:] == ["--table", "--unknown", "m.csv", "-o", "completed.csv"]


@pytest.mark.parametrize("n", [16, 24])
@pytest.mark.parametrize("whole", [True, False])
def test_a_low_rank_of_few_rows_is_not_denied(n, whole):
    M = matrix(n)
    found = unrelu.diagnose(M if whole else np.where(M >= -0.3, M, np.nan), rng=0)
    assert found.rank == 2
    assert "of low rank was found that fits" not in str(found)
    assert "So few rows cannot tell noise from structure" in str(found)


@pytest.mark.parametrize("missing", [False, True])
def test_zeros_are_a_sentence(missing):
    X = np.zeros((5, 5))
    X[0, 1] = X[1, 0] = np.nan if missing else 0.0
    said = str(unrelu.diagnose(X, rng=0))
    assert "All seen values are 0" in said
    assert ("Recommended: unrelu.complete(X" in said) == missing


@pytest.mark.parametrize("rank", [0, 9, 2.5, True, "2"])
def test_ranks_that_are_none_are_refused(rank):
    with pytest.raises(InputError, match="rank must be an integer between 1 and 8"):
        unrelu.diagnose(table(30, 8), rank)


@pytest.mark.parametrize("threshold", [np.nan, np.inf, "foo", True, [0.0, 1.0]])
def test_thresholds_that_are_none_are_refused(threshold):
    with pytest.raises(InputError, match="threshold must be one finite number, 'auto' or None"):
        unrelu.diagnose(table(30, 8), threshold=threshold)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_sizes_without_squares_are_refused(size):
    with pytest.raises(InputError, match="multiply X by"):
        unrelu.diagnose(matrix(20) * size)


def test_a_threshold_that_seen_entries_contradict_is_objected_to():
    T = np.where(table() >= 0, table(), np.nan)
    found = unrelu.diagnose(T, 2, threshold=1.0, rng=0)
    count = int(np.sum(T < 1.0))
    assert found.wrong_side == count
    assert f"{count} seen entries lie on the unseen side of threshold 1," in str(found)
    assert unrelu.complete_rectangular(T, rng=0, **found.options).verdict.answered


def test_a_threshold_that_nothing_speaks_for_is_objected_to():
    T = np.where(table() >= 0, table(), np.nan)
    found = unrelu.diagnose(T, 2, threshold=-1e9, rng=0)
    assert "The data speak for a level of" in found.objection
    assert found.objection.endswith("not for the named -1e+09.")
    low, high = found.detection.curve.level_interval
    assert abs(found.detection.curve.level) < 0.01
    assert low <= found.options["threshold"] <= high
    assert not unrelu.diagnose(T, 2, threshold=0.0, rng=0).objection


def test_a_rank_that_was_named_and_fits_stays_named():
    X = np.where(matrix() >= 0.2, matrix(), np.nan)
    found = unrelu.diagnose(X, 2, rng=0)
    assert found.options == {"rank": 2, "threshold": 0.2}


def test_random_gaps_are_strict_json():
    X = np.where(hidden(share=0.4), np.nan, matrix())
    found = unrelu.diagnose(X, 2, rng=0)
    assert found.detection.kind == "random"
    about = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert about["curve"]["level_interval"] == [None, None]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.random.default_rng(0).standard_normal((16, 5)), "Nothing is missing: there is nothing to complete."),
        (np.array([[1.0, np.nan, 2.0]]), "Nothing is recommended: one row or column says nothing of its gaps."),
    ],
)
def test_where_nothing_can_be_completed_nothing_is_recommended(X, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = unrelu.diagnose(X, rng=0)
    assert (found.function, found.recommended, found.command("t.csv")) == (None, "", "")
    np.savetxt("t.csv", X, delimiter=",")
    told = CliRunner().invoke(app, ["inspect", "t.csv", "--table"])
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[-1] == words


def test_the_shell_refuses_what_is_no_number_and_offers_two_sides(tmp_path):
    np.savetxt(tmp_path / "t.csv", table(30, 8), delimiter=",")
    for wrong in (["--threshold", "nan"], ["--rank", "0"], ["--rank", "99"], ["--seen", "between"]):
        told = CliRunner().invoke(app, ["inspect", str(tmp_path / "t.csv"), *wrong])
        assert told.exit_code == 2, told.output
        assert told.output.count("error:") == 1
    text = CliRunner().invoke(app, ["inspect", "--help"], env={"COLUMNS": "200"}).output
    assert "entries were seen: above or below." in text


def test_a_closed_standard_output_is_an_error(tmp_path):
    np.savetxt(tmp_path / "t.csv", table(30, 8), delimiter=",")
    command = f"{shlex.quote(sys.executable)} -m unrelu inspect t.csv >&-"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr


def recommending(detection, counted=None, square=True, threshold="auto"):
    from unrelu._old.data.sheet import Sheet

    sheet = Sheet.of(np.where(matrix() >= 0.2, matrix(), np.nan))
    counted = counted or counted_in(sheet, None)
    asked = Recommending(sheet, square, counted, None, threshold, "above", None)
    return asked.call(None, detection, (Structure("psd", True, ""),), 2)


def gaps(kind, count=4000):
    """What is found of entries that go unseen in a way."""
    rng = np.random.default_rng(1)
    fit = rng.standard_normal(count)
    value = fit + 0.05 * rng.standard_normal(count)
    seen = value >= 0.2
    if kind == "mixed":
        seen &= rng.random(count) < 0.7
    if kind == "curve":
        seen = value + 0.5 * rng.standard_normal(count) >= 0.2
    if kind == "stray":
        seen |= rng.random(count) < 0.03
    if kind == "random":
        seen = rng.random(count) < 0.5
    evidence = Evidence(fit, np.full(count, 0.01), np.where(seen, value, np.nan), 0.05, np.zeros(count, int))
    return detected(evidence)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("mixed", {"threshold": "auto", "gaps": "mixed"}),
        ("curve", {"threshold": "auto", "gaps": "curve"}),
        ("stray", {"threshold": "auto"}),
        ("random", {"threshold": None}),
    ],
)
def test_each_way_to_go_unseen_has_its_call(kind, options):
    assert recommending(gaps(kind)) == {"function": "complete", "options": {"rank": 2, **options}}


def test_a_wall_is_where_all_seen_values_begin():
    from unrelu._old.detection.edge import edge_of

    value = np.random.default_rng(0).standard_normal(100_000)
    edge = edge_of(value[value >= 0.2])
    found = at_the_edge(gaps("censored"), edge)
    assert found.curve.level == edge.level == value[value >= 0.2].min()
    assert found.curve.level_interval == edge.interval
    assert at_the_edge(gaps("stray"), edge).curve.level != edge.level
    turned = at_the_edge(gaps("censored").mirrored, edge)
    assert (turned.curve.level, turned.curve.level_interval[0]) == (-edge.level, -edge.interval[1])


def test_of_many_entries_some_are_compared():
    many = np.arange(50_000.0)
    evidence = Evidence(many, many, many, 0.1, many.astype(int))
    some = fewer(evidence)
    assert some.fit.size == 20_000
    assert np.array_equal(some.fit, some.value)
    assert some.fit.mean() == pytest.approx(25_000, rel=0.02)
    assert fewer(some) is some


class Answer:
    """A completion that says of unseen entries what it is told to."""

    symmetric, labels, side = True, None, "above"

    def __init__(self, filled=None, curve=None, threshold=None):
        self.made, self.detection, self.threshold = filled, curve, threshold

    def filled(self):
        return self.made


@pytest.mark.parametrize(("share", "kind"), [(0.0, "censored"), (0.2, "mixed")])
def test_moves_are_those_of_the_completed_entries(share, kind):
    from unrelu import DetectionCurve

    X = np.array([[1.0, 2.0, np.nan], [2.0, 3.0, np.nan], [np.nan, np.nan, 4.0]])
    asked = []

    def door(X, threshold, gaps, **options):
        asked.append((threshold, gaps))
        filled = np.where(np.isnan(X), [[0, 0, 10.0], [0, 0, 20.0], [10.0, 20.0, 0]], X)
        filled[0, 2] += 4.0 * (threshold == 0.3)  # 10 or 14; what else is unseen stays
        return Answer(filled)

    curve = DetectionCurve(0.25, share=share, level_interval=(0.2, 0.3))
    found = moved_by_threshold(door, X, Answer(curve=curve), {"rank": 1})
    assert asked == [(0.2, kind), (0.3, kind)]
    assert found.interval == (0.2, 0.3)
    assert found.most == 4.0
    assert found.where == (0, 2)
    assert found.typical == pytest.approx(2.0)  # √(4² / 4): three of the four unseen entries stay
    assert found.spread == pytest.approx(5.0)


def test_a_named_threshold_moves_between_itself_and_the_edge():
    value = np.abs(np.random.default_rng(0).standard_normal((40, 40))) + 0.5
    X = np.triu(value) + np.triu(value, 1).T
    X[0, 1] = X[1, 0] = np.nan
    least = np.nanmin(np.where(np.eye(40, dtype=bool), np.nan, X))
    levels = []

    def door(X, threshold, gaps, **options):
        levels.append(threshold)
        return Answer(np.where(np.isnan(X), threshold, X))

    found = moved_by_threshold(door, X, Answer(threshold=0.1), {"rank": 1})
    assert levels == [0.1, least]
    assert found.most == pytest.approx(least - 0.1)
    levels.clear()
    moved_by_threshold(door, X, Answer(threshold=least + 0.1), {"rank": 1})  # no door takes that
    assert levels[0] < levels[1] == least


def test_an_end_beyond_seen_entries_moves_entries_all_the_same():
    from unrelu import DetectionCurve
    from unrelu._old.results.moved import moved_by_threshold

    U = np.random.default_rng(0).standard_normal((40, 2))
    M = U @ U.T
    X = np.where(M >= 0.2, M, np.nan)
    found = unrelu.complete(X, 2, threshold=0.2, rng=0)
    found = replace(found, detection=DetectionCurve(0.2, level_interval=(0.15, 0.3)))
    assert np.nanmin(X) < 0.3
    moved = moved_by_threshold(unrelu.complete, X, found, {"rank": 2, "rng": 0})
    assert moved.interval == (0.15, 0.3)
