"""``unrelu table``: a table of samples and variables as it comes, words and all."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import unrelu
from unrelu._old.cli import app
from unrelu._old.io.reader import read_sheet

COLUMNS = ["lead", "zinc", "tin", "iron"]


def run(*args, sent=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=sent)


def truth():
    rng = np.random.default_rng(1)
    M = 50 + 10 * rng.standard_normal((70, 1)) + 4 * rng.standard_normal((70, 4))
    M[:, 3] = np.round(M[:, 3])
    return M


LIMITS = np.quantile(truth(), 0.3, axis=0)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    M = truth()
    with open("x.csv", "w") as handle:
        handle.write("sample,soil,lead,zinc,tin,batch,iron\n")
        for i, row in enumerate(M):
            lead, zinc, tin, iron = ("" if x < limit else repr(float(x)) for x, limit in zip(row, LIMITS, strict=True))
            iron = iron.removesuffix(".0")
            soil = '"clay, wet"' if i % 3 else ("" if i == 6 else "sand")
            handle.write(f"s{i},{soil},{lead},{zinc},{tin},7,{iron}\n")
    with open("lod.csv", "w") as handle:
        handle.write("column,lower\nsoil,\n")
        handle.writelines(f"{name},{float(limit)!r}\n" for name, limit in zip(COLUMNS, LIMITS, strict=True))
    return tmp_path


def cells(name):
    with open(name, newline="") as handle:
        return list(csv.DictReader(handle))


def column(rows, name):
    return np.array([float(row[name]) for row in rows])


def test_what_was_filled_in_is_what_the_library_fills_in_and_words_stay():
    done = run("table", "x.csv", "--limits", "lod.csv", "-o", "o.csv")
    assert done.exit_code == 0, done.stderr
    before, after = cells("x.csv"), cells("o.csv")
    assert list(after[0]) == ["", *list(before[0])[1:]]
    assert [row["soil"] for row in after] == [row["soil"] for row in before]
    assert [row["batch"] for row in after] == ["7"] * 70
    M = truth()
    X = np.where(LIMITS <= M, M, np.nan)
    found = unrelu.complete_table(X, threshold=LIMITS, rng=0).filled()
    for j, name in enumerate(COLUMNS[:3]):
        np.testing.assert_allclose(column(after, name), found[:, j])
    assert all("." not in row["iron"] for row in after)  # integers stay such
    iron, hidden = column(after, "iron"), np.isnan(X[:, 3])
    np.testing.assert_array_equal(iron[~hidden], M[~hidden, 3])
    assert (np.abs(iron - found[:, 3])[hidden] <= 1).all()
    assert (iron[hidden] < LIMITS[3]).all()


def test_the_report_counts_what_was_read_and_names_the_model():
    done = run("table", "x.csv", "--limits", "lod.csv", "-o", "o.csv")
    hidden = int((truth() < LIMITS).sum())
    counted = (
        f"{280 - hidden} measured, {hidden} censored and 0 missing cells; 140 cells of 2 other columns left as they"
    )
    assert counted in done.stdout
    assert "completed as one of samples and variables (unrelu table)" in done.stdout
    assert "the model that was used: " in done.stdout
    assert "predicts, to its rehearsed error: " in done.stdout
    assert "warning: column 'soil' holds no numbers and stays as it is" in done.stderr
    assert "warning: left as they were: column 'batch' shows one value only" in done.stderr
    assert "warning: column 'iron' holds integers and stays such, what is filled in is rounded" in done.stderr
    assert run("table", "x.csv", "--limits", "lod.csv", "-o", "o.csv", "-q").stdout == ""


def test_everything_that_is_known_of_the_cells_is_written():
    files = ("--flags-out", "f.csv", "--errors-out", "e.csv", "--long-out", "l.csv", "--plot", "p.png")
    done = run("table", "x.csv", "--limits", "lod.csv", "-o", "o.csv", *files)
    assert done.exit_code == 0, done.stderr
    hidden = truth() < LIMITS
    flags, errors = cells("f.csv"), cells("e.csv")
    for j, name in enumerate(COLUMNS):
        assert [row[name] for row in flags] == ["censored" if one else "measured" for one in hidden[:, j]]
        assert ((column(errors, name) > 0) == hidden[:, j]).all()
    assert flags[6]["soil"] == "undetermined"
    assert flags[0]["soil"] == "measured"
    long = cells("l.csv")
    assert len(long) == 70 * 6
    assert {row["value"] for row in long if row["column"] == "soil"} == {"clay, wet", "sand", ""}
    limits = dict(zip(COLUMNS, LIMITS, strict=True))
    for row in long:
        if row["flag"] == "censored":
            assert float(row["low"]) < float(row["high"]) <= limits[row["column"]]
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_a_program_is_told_the_same():
    done = run("table", "x.csv", "--limits", "lod.csv", "-o", "o.csv", "--json")
    about = json.loads(done.stdout)
    hidden = int((truth() < LIMITS).sum())
    assert about["counts"] == {"measured": 280 - hidden, "censored": hidden, "missing": 0, "left_as_it_was": 140}
    assert about["code"] == "predicts"
    assert about["used"] == "table"
    assert about["model"] in [one["model"] for one in about["rehearsal"]["trials"]]
    assert set(about["untouched"]) == {"batch", "soil"}
    assert any("holds integers" in words for words in about["warnings"])


def test_a_rectangular_file_without_a_rank_goes_the_same_way_and_with_one_it_does_not():
    table = run("table", "x.csv", "--limits", "lod.csv", "-o", "t.csv")
    done = run("complete", "x.csv", "--limits", "lod.csv", "-o", "c.csv")
    assert done.exit_code == table.exit_code == 0
    assert Path("c.csv").read_text() == Path("t.csv").read_text()
    assert "(unrelu table)" in done.stdout
    M = truth()
    np.save("n.npy", np.where(LIMITS <= M, M, np.nan))
    np.save("limits.npy", LIMITS[None])
    for more in ((), ("--structure", "rectangular")):
        done = run("complete", "n.npy", "-r", 1, "--threshold", "limits.npy", "-o", "r.npy", *more)
        assert "70×4 table, rank 1, by " in done.stdout
        assert "unrelu table" not in done.stdout


@pytest.mark.parametrize(
    "option",
    [
        ("--structure", "rectangular"),
        ("--structure", "psd"),
        ("--method", "pam"),
        ("--max-iter", "5"),
        ("--fit",),
        ("--sigma", "1"),
    ],
)
def test_what_only_a_rank_can_obey_is_refused(option):
    done = run("complete", "x.csv", "--limits", "lod.csv", "-o", "c.csv", *option)
    assert done.exit_code == 2
    words = " ".join(option) if option[0] == "--structure" else option[0]
    assert done.stderr.startswith(f"error: {words} is for a fit of a rank, and this file is completed as a table")
    assert done.stderr.endswith(f"give --rank N, or drop {words}\n")


@pytest.mark.parametrize("command", ["table", "complete"])
def test_the_best_so_far_is_written_when_the_time_is_over(command):
    done = run(command, "x.csv", "--limits", "lod.csv", "--max-seconds", "1e-6", "-o", "c.csv")
    assert done.exit_code == 1
    assert "the time was over with 1 model rehearsed: this is the best so far" in done.stdout
    assert "NA" not in Path("c.csv").read_text()
    refused = run(command, "x.csv", "--limits", "lod.csv", "--max-seconds", "0", "-o", "d.csv")
    assert refused.stderr == "error: --max-seconds must be a positive number of seconds, got 0\n"
    assert not Path("d.csv").exists()


def test_without_limits_absence_says_nothing_and_that_is_said():
    done = run("table", "x.csv", "-o", "o.csv")
    hidden = int((truth() < LIMITS).sum())
    assert f"no limit was named, so that the {hidden} missing cells of x.csv are taken to be missing" in done.stderr
    assert f"0 censored and {hidden} missing cells" in done.stdout
    assert "no limit was named" not in run("table", "x.csv", "--limits", "lod.csv", "-o", "o.csv").stderr


def test_words_need_a_file_that_can_hold_them():
    done = run("table", "x.csv", "--limits", "lod.csv", "-o", "o.npy")
    assert done.exit_code == 2
    assert done.stderr.startswith(
        "error: x.csv has words in the column 'soil', and o.npy can hold numbers only; write to"
    )
    M = truth().astype(np.float32)
    np.save("n.npy", np.where(LIMITS.astype(np.float32) <= M, M, np.nan))
    np.save("limits.npy", LIMITS[None])
    assert run("table", "n.npy", "--threshold", "limits.npy", "-o", "o.npy").exit_code == 0
    assert np.load("o.npy").dtype == np.float32


def test_a_word_among_numbers_is_still_a_mistake_with_its_place():
    lines = Path("x.csv").read_text().splitlines()
    parts = lines[3].split(",")
    parts[-1] = "oops"
    lines[3] = ",".join(parts)
    Path("x.csv").write_text("\n".join(lines))
    done = run("table", "x.csv", "--limits", "lod.csv", "-o", "o.csv")
    assert done.exit_code == 2
    assert "x.csv, line 4, column 7: 'oops' is neither a number nor a missing mark" in done.stderr


def test_columns_of_words_are_told_from_names_of_rows():
    with open("plain.csv", "w") as handle:
        handle.write("clay,1.5,2\nsand,2.5,\n")
    found = read_sheet("plain.csv", labels=False)
    assert found.columns is None
    assert found.texts[0].cells == ("clay", "sand")
    np.testing.assert_array_equal(found.values, [[1.5, 2], [2.5, np.nan]])
    found = read_sheet("plain.csv", header=False)
    assert found.rows == ("clay", "sand")
    assert found.texts == ()
    with open("only.csv", "w") as handle:
        handle.write("id,soil\na,clay\nb,sand\n")
    with pytest.raises(unrelu.InputError, match="holds no column of numbers beside its names"):
        read_sheet("only.csv", layout="matrix")


def test_a_square_table_is_one_if_it_is_said_or_holds_words():
    M = truth()[:4]
    with open("square.csv", "w") as handle:
        handle.write("id,soil,a,b,c,d\n")
        handle.writelines(f"s{i},clay,{','.join(map(repr, map(float, row)))}\n" for i, row in enumerate(M))
    done = run("complete", "square.csv", "-o", "o.csv")
    assert "4×5 table, completed as one of samples and variables" in done.stdout


def test_no_threshold_is_what_the_advice_says_it_is():
    said = run("table", "x.csv", "--no-threshold", "-o", "o.csv")
    assert "taken to be missing whatever their value" in said.stderr
    assert run("table", "x.csv", "--no-threshold", "--limits", "lod.csv", "-o", "p.csv").exit_code == 2
