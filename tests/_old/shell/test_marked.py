"""Limits of columns, and what was imputed stays visible: flags, errors, the long table, the picture."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import unrelu
import unrelu._old.shell.answer
from unrelu._old.cli import app
from unrelu._old.io.reader import read_data

ROWS, COLUMNS = [f"s{k}" for k in range(40)], [f"c{k}" for k in range(10)]
LOWER, UPPER, BOTH, NONE = range(4), range(4, 6), range(6, 8), range(8, 10)


def run(*args, sent=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=sent)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planted(sigma=0.0):
    """A table of rank 2, and where it cannot be measured: columns with a lower limit, an upper one, both, and none."""
    rng = np.random.default_rng(2)
    M = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 10)) + sigma * rng.standard_normal((40, 10))
    lower, upper = np.quantile(M, 0.25, axis=0), np.quantile(M, 0.8, axis=0)
    hidden = np.zeros(M.shape, bool)
    for j in (*LOWER, *BOTH):
        hidden[:, j] |= M[:, j] < lower[j]
    for j in (*UPPER, *BOTH):
        hidden[:, j] |= M[:, j] > upper[j]
    lost = np.zeros(M.shape, bool)
    lost[np.arange(0, 40, 7)[:, None], list(NONE)] = True
    return M, lower, upper, hidden, lost


def write(M, lower, upper, hidden, lost, mark="ND"):
    lines = [",".join(["site", *COLUMNS])]
    for i, row in enumerate(M):
        cells = (mark if hidden[i, j] else "" if lost[i, j] else repr(float(x)) for j, x in enumerate(row))
        lines.append(",".join([ROWS[i], *cells]))
    with open("x.csv", "w") as handle:
        handle.write("\n".join(lines) + "\n")
    with open("lod.csv", "w") as handle:
        handle.write("column,lower,upper\n")
        for j, name in enumerate(COLUMNS):
            low = repr(float(lower[j])) if j in (*LOWER, *BOTH) else ""
            high = repr(float(upper[j])) if j in (*UPPER, *BOTH) else ""
            handle.write(f"{name},{low},{high}\n")


def cells_of(name):
    with open(name, newline="") as handle:
        rows = list(csv.reader(handle))
    assert rows[0] == ["", *COLUMNS]
    assert [row[0] for row in rows[1:]] == ROWS
    return np.array([row[1:] for row in rows[1:]])


def test_missing_cells_with_limits_of_their_columns(folder):
    M, lower, upper, hidden, lost = planted()
    write(M, lower, upper, hidden, lost)
    done = run(
        "complete", "x.csv", "-r", 2, "--limits", "lod.csv", "-o", "out.csv", "--flags-out", "flags.csv", "--fit"
    )
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(cells_of("out.csv").astype(float), M, atol=1e-7)
    below, above = (hidden[:, LOWER].sum(), hidden[:, UPPER].sum())
    either, missing = hidden[:, BOTH].sum(), lost.sum()
    assert done.stderr.splitlines()[0] == (
        f"x.csv: read limits of 8 columns from lod.csv: {below} below, {above} above, {either} beyond either of two, "
        f"{400 - hidden.sum() - missing} measured, {missing} missing, of which nothing is known"
    )
    flags = cells_of("flags.csv")
    expected = np.where(hidden, "censored", np.where(lost, "missing", "measured"))
    np.testing.assert_array_equal(flags, expected)
    assert (
        f"entries: {400 - hidden.sum() - missing} measured, {hidden.sum()} censored, {missing} missing" in done.stdout
    )


def test_a_limit_decides_where_the_rank_leaves_room(folder):
    """At rank 3 the data leave the entry open: the limit of its column is all that is known, below or above."""
    with open("x.csv", "w") as handle:
        handle.write("a,b,c\n1,1,1\n2,2,2\n3,1,3\n4,4,ND\n1,ND,1\n")
    found = []
    for limits in ("a,b,c\n0,0,0.5\n", "column,lower,upper\na,,\nb,,\nc,,10\n"):
        with open("lod.csv", "w") as handle:
            handle.write(limits)
        run("complete", "x.csv", "-r", 3, "--limits", "lod.csv", "-o", "out.npy", "--keep-undetermined", "-q")
        found.append(np.load("out.npy")[3, 2])
    assert found[0] <= 0.5
    assert found[1] >= 10


@pytest.mark.parametrize(
    ("said", "other"),
    [
        (["--threshold", "0"], "--threshold 0"),
        (["--no-threshold"], "--no-threshold"),
        (["--seen", "below"], "--seen below"),
    ],
)
def test_a_threshold_beside_limits_of_columns_is_refused(folder, said, other):
    write(*planted())
    done = run("complete", "x.csv", "-r", 2, "--limits", "lod.csv", "-o", "out.csv", *said)
    assert done.exit_code == 2
    assert done.stderr == f"error: --limits and {other} both say where missing entries lie; give one of them\n"


def test_errors_in_limits_are_told_before_the_work(folder):
    write(*planted())
    with open("lod.csv", "a") as handle:
        handle.write("c99,1,\n")
    done = run("complete", "x.csv", "-r", 2, "--limits", "lod.csv", "-o", "out.csv")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: lod.csv, line 12: unknown column 'c99'; did you mean 'c9'?")
    assert run("complete", "x.csv", "-r", 2, "--limits", "lod.csv", "-o", "lod.csv").stderr == (
        "error: lod.csv is the input and would be overwritten; choose another name for the output\n"
    )
    assert run("complete", "x.csv", "-r", 2, "--limits", "nowhere.csv", "-o", "o.csv").stderr.startswith(
        "error: nowhere.csv does not exist"
    )


def test_limits_on_standard_input(folder):
    write(*planted())
    said = ["complete", "x.csv", "-r", 2, "-o", "out.csv", "--limits"]
    run(*said, "lod.csv", "-q")
    written = (folder / "out.csv").read_text()
    done = run(*said, "-", sent=(folder / "lod.csv").read_text())
    assert (done.exit_code, (folder / "out.csv").read_text()) == (0, written)
    assert "limits of 8 columns from standard input" in done.stderr
    assert run(*said, "-", sent="column,lower\nc99,1\n").stderr.startswith("error: standard input, line 2: unknown")


# What was imputed stays visible


def long_of(name):
    with open(name, newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_long_table_says_everything_and_agrees_with_the_others(folder):
    M, lower, upper, hidden, lost = planted(sigma=0.05)
    write(M, lower, upper, hidden, lost)
    said = ["--limits", "lod.csv", "--flags-out", "flags.csv", "--errors-out", "errors.csv", "--long-out", "long.csv"]
    done = run("complete", "x.csv", "-r", 2, "-o", "out.csv", *said)
    assert done.exit_code == 0, done.output
    lines = long_of("long.csv")
    assert list(lines[0]) == ["row", "column", "value", "flag", "low", "high", "error"]
    assert [(line["row"], line["column"]) for line in lines] == [(row, column) for row in ROWS for column in COLUMNS]
    for name, key in (("out.csv", "value"), ("flags.csv", "flag"), ("errors.csv", "error")):
        np.testing.assert_array_equal(cells_of(name).ravel(), [line[key] for line in lines])
    low, high, error = (
        np.array([float(line[key]) for line in lines]).reshape(40, 10) for key in ("low", "high", "error")
    )
    seen = ~hidden & ~lost
    np.testing.assert_array_equal(low[seen], M[seen])
    np.testing.assert_array_equal(high[seen], M[seen])
    # Prediction intervals, with the noise in them: wider than two standard errors of the fit, and they cover.
    assert (high - low)[lost].min() > 4 * 0.03
    unseen = hidden | lost
    assert np.mean((low <= M) & (high >= M), where=unseen) > 0.85
    below = hidden[:, LOWER]
    assert (high[:, LOWER] <= lower[LOWER] + 1e-12)[below].all()
    assert (low[:, UPPER] >= upper[UPPER] - 1e-12)[hidden[:, UPPER]].all()
    # The errors are those of the fit, and the report says what they rest on.
    found = unrelu.complete_rectangular(
        (read := read_data("x.csv")), 2, threshold=unrelu.Limits(
            np.where(np.isin(range(10), UPPER), upper, -np.inf)[None],
            np.where(np.isin(range(10), LOWER), lower, np.inf)[None],
            gap=tuple(np.where(np.isin(range(10), BOTH), end, np.nan)[None] for end in (lower, upper)),
        ), rng=0,
    )  # fmt: skip
    assert read.columns == tuple(COLUMNS)
    np.testing.assert_allclose(error, found.standard_errors(np.arange(40)[:, None], np.arange(10)), rtol=1e-6)
    assert "noise of standard deviation" in done.stdout


def test_what_is_not_determined_is_flagged_and_has_only_its_limit(folder):
    U = np.random.default_rng(3).standard_normal((30, 2))
    M = U @ U.T
    X = np.where(M >= 0, M, np.nan)
    X[4] = X[:, 4] = np.nan
    np.savetxt("x.csv", X, delimiter=",")
    said = ["complete", "x.csv", "-r", 2, "-o", "out.csv", "--flags-out", "flags.csv", "--long-out", "long.csv"]
    assert run(*said, "-q").exit_code == 0
    flags = np.loadtxt("flags.csv", delimiter=",", dtype=str)
    expected = np.where(np.isnan(X), "censored", "measured").astype(object)
    expected[4] = expected[:, 4] = "undetermined"
    np.testing.assert_array_equal(flags, expected)
    lines = {(line["row"], line["column"]): line for line in long_of("long.csv")}
    assert lines["5", "1"] == {"row": "5", "column": "1", "value": "", "flag": "undetermined", "low": "-inf",
                               "high": "0.0", "error": "inf"}  # fmt: skip
    run(*said, "-q", "--keep-undetermined")
    kept = {(line["row"], line["column"]): line for line in long_of("long.csv")}
    assert kept["5", "1"]["value"] != ""
    assert kept["5", "1"]["flag"] == "undetermined"


def test_an_entry_in_a_range_alone_is_missing_and_no_censored_one(folder):
    rng = np.random.default_rng(4)
    M = rng.uniform(0.2, 1, (20, 2)) @ rng.uniform(0.2, 1, (2, 15)) / 2
    X = np.where(rng.random(M.shape) < 0.8, M, np.nan)
    np.savetxt("x.csv", X, delimiter=",")
    said = ["--entry-range", "0,1", "--no-threshold", "--flags-out", "flags.tsv"]
    assert run("complete", "x.csv", "-r", 2, "-o", "out.csv", "-q", *said).exit_code == 0
    flags = np.loadtxt("flags.tsv", delimiter="\t", dtype=str)
    np.testing.assert_array_equal(flags, np.where(np.isnan(X), "missing", "measured"))


def test_seen_one_way_round_is_measured_both_ways(folder):
    U = np.random.default_rng(5).standard_normal((10, 2))
    X = U @ U.T
    X[2, 7] = np.nan
    np.savetxt("x.csv", X, delimiter=",")
    run("complete", "x.csv", "-r", 2, "-o", "out.csv", "-q", "--no-threshold", "--flags-out", "flags.csv")
    assert (np.loadtxt("flags.csv", delimiter=",", dtype=str) == "measured").all()
    np.testing.assert_array_equal(np.loadtxt("out.csv", delimiter=",")[2, 7], X[7, 2])


def test_programs_are_told_too(folder):
    M, lower, upper, hidden, lost = planted()
    write(M, lower, upper, hidden, lost)
    said = ["--limits", "lod.csv", "--flags-out", "f.csv", "--long-out", "l.csv", "--plot", "p.svg", "--json"]
    done = run("complete", "x.csv", "-r", 2, "-o", "out.csv", *said)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    about = json.loads(done.stdout)
    assert (about["flags_output"], about["long_output"], about["plot"]) == ("f.csv", "l.csv", "p.svg")
    seen = 400 - int(hidden.sum() + lost.sum())
    counts = {"measured": seen, "censored": int(hidden.sum()), "missing": int(lost.sum()), "undetermined": 0}
    assert about["flags"] == counts
    assert about["cells"]["either"] == hidden[:, BOTH].sum()
    assert about["noise"]["sigma"] >= 0


def test_all_of_them_or_none(folder):
    write(*planted())
    (folder / "there").mkdir()
    said = ["--limits", "lod.csv", "--flags-out", "f.csv", "--long-out", "l.csv"]
    for plot, sentence in (("p.jpg", "p.jpg must end in .png or .svg or .pdf"), ("f.csv", "f.csv must end in"),
                           ("nowhere/p.png", "there is no folder")):  # fmt: skip
        done = run("complete", "x.csv", "-r", 2, "-o", "out.csv", *said, "--plot", plot)
        assert done.exit_code == 2
        assert sentence in done.stderr
    for wrong in ("f.npy", "-"):
        assert (
            "must end in .csv or .tsv" in run("complete", "x.csv", "-r", 2, "-o", "o.csv", "--flags-out", wrong).stderr
        )
    same = run("complete", "x.csv", "-r", 2, "-o", "out.csv", *said[:-1], "f.csv").stderr
    assert same == "error: --flags-out and --long-out must be two files, got f.csv for both\n"
    assert sorted(path.name for path in folder.iterdir()) == ["lod.csv", "there", "x.csv"]


@pytest.mark.parametrize("broken", ["write_words", "write_long", "draw_filled"])
def test_what_fails_in_the_end_leaves_nothing_behind(folder, monkeypatch, broken):
    write(*planted())
    (folder / "out.csv").write_text("old")

    def fail(*args, **options):
        raise unrelu.InputError("no room")

    where = "unrelu._old.show.filled" if broken == "draw_filled" else "unrelu._old.shell.outputs"
    monkeypatch.setattr(f"{where}.{broken}", fail)
    said = ["--limits", "lod.csv", "--flags-out", "f.csv", "--long-out", "l.csv", "--plot", "p.png"]
    done = run("complete", "x.csv", "-r", 2, "-o", "out.csv", *said)
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (2, "error: no room")
    assert sorted(path.name for path in folder.iterdir()) == ["lod.csv", "out.csv", "x.csv"]
    assert (folder / "out.csv").read_text() == "old"


def test_without_time_nothing_is_said_to_be_determined(folder, monkeypatch):
    M, lower, upper, hidden, lost = planted()
    write(M, lower, upper, hidden, lost)
    clock = unrelu._old.shell.answer.Answer.of.__func__

    def late(kind, completion, keep, seconds=None, told=None):
        made = clock(kind, completion, keep, seconds, told)
        return kind(made.completion, None, np.zeros(completion.size, bool), keep)

    monkeypatch.setattr("unrelu._old.shell.tables.TableAnswer.of", classmethod(late))
    said = ["--limits", "lod.csv", "--flags-out", "f.csv", "--long-out", "l.csv", "--mask-out", "m.csv"]
    assert run("complete", "x.csv", "-r", 2, "-o", "out.csv", "-q", *said).exit_code == 0
    unseen = hidden | lost
    np.testing.assert_array_equal(cells_of("f.csv"), np.where(unseen, "undetermined", "measured"))
    np.testing.assert_array_equal(cells_of("m.csv").astype(float), ~unseen)
    high = np.array([float(line["high"]) for line in long_of("l.csv")]).reshape(40, 10)
    np.testing.assert_array_equal(high[:, LOWER], np.where(hidden, lower, M)[:, LOWER])
    assert {line["error"] for line in long_of("l.csv")} == {"inf"}


def test_labels_with_commas_and_quotes_come_back(folder):
    names = ['a,"b"', "c;d", "e"]
    u = np.array([1.0, 2, 3])
    with open("x.csv", "w", newline="") as handle:
        csv.writer(handle).writerows([["", *names], *([n, *row] for n, row in zip(names, np.outer(u, u), strict=True))])
    run("complete", "x.csv", "-r", 1, "-o", "o.csv", "-q", "--flags-out", "f.csv", "--long-out", "l.csv")
    with open("f.csv", newline="") as handle:
        assert next(csv.reader(handle)) == ["", *names]
    assert [line["column"] for line in long_of("l.csv")][:3] == names


def test_what_is_written_lies_beyond_one_of_two_limits(folder):
    """With noise the fit of an unseen entry may lie between its limits, where it would have been seen."""
    M, lower, upper, hidden, lost = planted(sigma=0.4)
    write(M, lower, upper, hidden, lost)
    assert run("complete", "x.csv", "-r", 2, "-o", "out.csv", "--limits", "lod.csv", "-q").exit_code in (0, 1)
    written = cells_of("out.csv").astype(float)[:, BOTH]
    between = (written > lower[BOTH]) & (written < upper[BOTH])
    np.testing.assert_array_equal(between & hidden[:, BOTH], False)
    run("complete", "x.csv", "-r", 2, "-o", "fit.csv", "--limits", "lod.csv", "-q", "--fit")
    fit = cells_of("fit.csv").astype(float)[:, BOTH]
    assert (((fit > lower[BOTH]) & (fit < upper[BOTH])) & hidden[:, BOTH]).any()  # it was not the fit that did it
