"""Input that is probably not what was meant gets one sentence, and what is meant none."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from typer.testing import CliRunner

from unrelu._old.cli import app
from unrelu._old.io.reading import Reading
from unrelu._old.shell.doubts import doubts_of
from unrelu._old.shell.reading import Brought, HowToRead
from unrelu.datasets import FAMILIES, family


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planted(n=60, rank=3, seed=0):
    U = np.random.default_rng(seed).standard_normal((n, rank))
    return U @ U.T


def doubts(X, threshold=0.0, seen="above", rows=None, columns=None, table=False):
    return doubts_of(Brought(Reading(X, rows, columns), Path("x.csv"), HowToRead(table=table)), threshold, seen)


# Zeros that stand for "not seen"


ZEROS = (
    "{} of {} entries of x.csv are exactly 0, the threshold, and are taken as measured; if 0 stands for 'not seen', "
    "say --missing 0"
)


def test_the_relu_with_its_zeros_is_told_and_what_is_advised_is_right(folder):
    M = planted()
    np.savetxt("x.csv", np.maximum(M, 0), delimiter=",")
    hidden = int((M < 0).sum())
    done = run("complete", "x.csv", "-r", 3, "-o", "out.npy", "--method", "direct", "-q")
    assert done.stderr.splitlines()[0] == "warning: " + ZEROS.format(hidden, 60 * 59)
    done = run("complete", "x.csv", "-r", 3, "-o", "out.npy", "--missing", 0, "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    np.testing.assert_allclose(np.load("out.npy"), M, atol=1e-7)


@pytest.mark.parametrize("command", ["certify", "compare"])
def test_the_other_commands_say_it_too(folder, command):
    np.savetxt("x.csv", np.maximum(planted(), 0), delimiter=",")
    more = ["--methods", "direct"] if command == "compare" else ["--max-seconds", 1]
    assert "if 0 stands for 'not seen', say --missing 0" in run(command, "x.csv", "-r", 3, *more).stderr


def test_other_thresholds_sides_and_scales():
    M = planted()
    for scale in (1.0, 1e-6, 1e6):
        for sign, seen in ((1, "above"), (-1, "below")):
            found = doubts(sign * scale * np.maximum(M, 0.5), sign * scale * 0.5, seen)
            assert len(found) == 1
            assert found[0].endswith(f"say --missing {sign * scale * 0.5:g}")
    assert doubts(np.maximum(M, 0.5), 0.5)[0].startswith(
        f"{(M < 0.5).sum() - (np.diag(M) < 0.5).sum()} of 3540 entries"
    )


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((20, 20)),
        np.eye(20),
        np.kron(np.eye(4), np.ones((5, 5))),  # groups of the same: 1 is as frequent as 0 is, or there is nothing else
        np.random.default_rng(0).integers(0, 5, (30, 30)).astype(float),  # counts
        np.random.default_rng(0).geometric(0.3, (30, 30)) - 1.0,  # counts with a long tail
        np.round(np.abs(planted(40)), 1),  # printed with one digit
        np.where(np.arange(400).reshape(20, 20) == 25, 0, planted(20) ** 2),  # one zero
    ],
    ids=["zeros", "identity", "groups", "counts", "tail", "rounded", "one"],
)
def test_zeros_that_may_well_be_zeros(X):
    assert doubts(X) == []


def test_zeros_beside_empty_cells_are_zeros():
    M = planted()
    X = np.where(M >= 0, M, np.nan)
    X[:20, 20:40] = X[20:40, :20] = 0  # 800 of them, and many empty cells
    assert doubts(X) == []
    few = np.maximum(M, 0)
    few[3, 7] = few[7, 3] = np.nan
    assert len(doubts(few)) == 1


def test_zeros_below_a_threshold_are_an_error_with_the_option_that_is_right(folder):
    M = planted()
    np.savetxt("x.csv", np.where(M >= 0.5, M, 0), delimiter=",")
    done = run("complete", "x.csv", "-r", 3, "-o", "out.npy", "--threshold", 0.5)
    hidden = (M < 0.5).sum() - (np.diag(M) < 0.5).sum()
    assert (done.exit_code, done.stderr) == (2, (
        f"error: x.csv has {hidden} entries below the threshold 0.5, and all of them are 0; if that stands for 'not "
        "seen', say --missing 0, else give another --threshold\n"
    ))  # fmt: skip
    done = run("complete", "x.csv", "-r", 3, "-o", "out.npy", "--threshold", 0.5, "--missing", 0, "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    np.testing.assert_allclose(np.load("out.npy"), M, atol=1e-6)
    # Several values beyond it are another mistake, which is told as before.
    np.savetxt("x.csv", M, delimiter=",")
    assert "every seen entry must be ≥ --threshold 0.5" in run("complete", "x.csv", "-r", 3, "-o", "o.npy",
                                                               "--threshold", 0.5).stderr  # fmt: skip


# Nothing seen near the threshold


def gap(least, threshold, meant):
    return (
        f"the smallest seen entry of x.csv is {least:.12g}, and nothing was seen near the threshold {threshold:g}; did "
        f"you mean --threshold {meant:g}? If entries are missing for another reason, say --no-threshold"
    )


def test_a_forgotten_threshold_is_asked_for_and_the_answer_is_right(folder):
    M = planted()
    X = np.where(M >= 0.5, M, np.nan)
    np.savetxt("x.csv", X, delimiter=",")
    done = run("complete", "x.csv", "-r", 3, "-o", "out.npy", "--max-iter", 5, "--method", "gauss-newton", "--json")
    assert json.loads(done.stdout)["warnings"][0] == gap(np.nanmin(X), 0, 0.5)
    assert done.stderr == ""
    done = run("complete", "x.csv", "-r", 3, "-o", "out.npy", "--threshold", 0.5, "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    np.testing.assert_allclose(np.load("out.npy"), M, atol=1e-6)


@pytest.mark.parametrize("kept", [0.5, 0.37, -0.25, 2.0])
def test_the_number_that_is_offered_is_round_and_would_be_accepted(kept):
    M = planted(200)
    X = np.where(kept <= M, M, np.nan)
    (found,) = doubts(X, kept - 5.0)
    offered = float(found.split("--threshold ")[1].split("?")[0])
    assert offered == pytest.approx(kept, abs=0.01)
    assert offered <= np.nanmin(X)
    assert doubts(X, offered) == []
    # The same in other units, and turned round.
    for scale in (1e-9, 3e7):
        assert len(doubts(scale * X, scale * (kept - 5.0))) == 1
    (below,) = doubts(-X, 5.0 - kept, "below")
    assert "the largest seen entry" in below
    assert -float(below.split("--threshold ")[1].split("?")[0]) == offered


def test_where_nothing_is_missing_or_said_to_be_beyond_a_threshold_there_is_no_doubt(folder):
    M = planted()
    assert doubts(M + 100.0) == []
    X = np.where(M >= 0.5, M, np.nan)
    assert doubts(X, None) == []
    np.savetxt("x.csv", X, delimiter=",")
    np.savetxt("unknown.csv", np.isnan(X), delimiter=",")
    done = run("complete", "x.csv", "-r", 3, "-o", "out.npy", "--unknown", "unknown.csv", "-q")
    assert "did you mean" not in done.stderr
    assert doubts(np.where(M < 0.5, np.nan, np.round(M))) == []  # too few values that differ


def test_a_pair_that_differs_in_its_last_digit_does_not_make_a_gap():
    nan, other = np.nan, np.nextafter(2.0, 3.0)
    assert doubts(np.array([[5.0, 2.0, nan], [other, 5.0, nan], [nan, nan, 5.0]])) == []


def test_stored_entries_are_looked_at_like_cells(folder):
    M = planted()
    stored = scipy.sparse.coo_array(np.where(M >= 0.5, M, 0))
    scipy.io.mmwrite("x.mtx", stored)
    (found,) = doubts(scipy.sparse.csr_array(stored))
    assert found == gap(M[M >= 0.5].min(), 0, 0.5)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("threshold", [0.0, "half"])
def test_planted_matrices_raise_no_doubt(name, threshold):
    for n, rank, seed in ((30, 1, 0), (60, 3, 1), (150, 5, 2)):
        M = family(name, n, rank, rng=seed).matrix
        limit = float(np.quantile(M, 0.5)) if threshold == "half" else 0.0
        assert doubts(np.where(limit <= M, M, np.nan), limit) == []
        assert doubts(np.where(limit >= M, M, np.nan), limit, "below") == []


# Tables


def levels(seed=0):
    rng = np.random.default_rng(seed)
    return np.exp(rng.standard_normal((60, 1)) * 0.3 + rng.standard_normal((1, 8))) * 10.0 ** np.arange(8)


def test_a_table_of_positive_numbers_with_blanks_asks_for_limits():
    X = levels()
    X[np.quantile(X, 0.2, axis=0) > X] = np.nan
    names = tuple("abcdefgh")
    (found,) = doubts(X, columns=names, table=True)
    assert found == (
        f"the smallest seen entry of the column a of x.csv is {np.nanmin(X[:, 0]):g} (and so in 7 more columns), and "
        "its missing ones are taken to lie below the threshold 0; give the limits of the columns with --limits FILE, "
        "or say --no-threshold if entries are missing for another reason"
    )
    assert doubts(X, None, columns=names, table=True) == []


def test_a_table_with_one_threshold_for_all_is_asked_for_that():
    rng = np.random.default_rng(1)
    M = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 8))
    (found,) = doubts(np.where(M >= 0.5, M, np.nan), table=True)
    assert "did you mean --threshold 0.5? If entries are missing" in found


def test_one_column_of_many_may_be_far_from_the_threshold():
    rng = np.random.default_rng(1)
    M = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 8))
    X = np.where(M >= 0, M, np.nan)
    X[:, 3] += 50
    assert doubts(X, table=True) == []


def test_two_columns_of_one_name(folder):
    with open("x.csv", "w") as handle:
        handle.write("site,a,b,b,c\nw,1,2,3,4\nx,2,4,6,8\n" + "".join(f"{k},1,2,3,4\n" for k in "stuv"))
    done = run("complete", "x.csv", "-r", 1, "-o", "out.csv", "-q")
    assert (done.exit_code, done.stderr) == (0, (
        "warning: x.csv gives 2 columns the name 'b'; they are kept apart, but a message cannot say which of them it "
        "means, so rename one of them\n"
    ))  # fmt: skip
    assert "and 1 more names stand for several" in doubts(np.ones((4, 6)), None, columns=tuple("aabbcd"))[0]
    assert doubts(np.ones((4, 6)), None, columns=tuple("abcdef")) == []


def test_the_same_names_on_both_sides_of_a_table(folder):
    with open("x.csv", "w") as handle:
        handle.write(",a,b,c\n" + "".join(f"{name},1,2,3\n" for name in "abcde"))
    done = run("complete", "x.csv", "-r", 1, "-o", "out.csv", "-q")
    assert (done.exit_code, done.stderr) == (0, (
        "warning: x.csv has 5 rows and 3 columns, and the 3 names of one side all stand on the other too; it is "
        "completed as a table of rows by columns, which --table confirms; for a symmetric matrix give every row and "
        "every column\n"
    ))  # fmt: skip
    assert run("complete", "x.csv", "-r", 1, "-o", "out.csv", "-q", "--table").stderr == ""
    assert doubts(np.ones((5, 3)), None, rows=tuple("abcde"), columns=tuple("abx")) == []
    assert doubts(np.ones((5, 3)), None, rows=tuple("12345"), columns=tuple("123")) == []  # they are numbered


def test_a_column_of_which_nothing_was_seen_and_a_cell_that_is_nothing(folder):
    with open("x.csv", "w") as handle:
        handle.write("site,a,b,c\n" + "".join(f"{name},1,,3\n" for name in "vwxyz"))
    done = run("complete", "x.csv", "-r", 1, "-o", "out.csv", "-q", "--no-threshold")
    assert "nothing was seen of column b" in done.stderr
    with open("x.csv", "w") as handle:
        handle.write("site,a,b\nv,1,2\nw,1,two\n")
    assert run("complete", "x.csv", "-r", 1, "-o", "out.csv", "--table").stderr == (
        "error: x.csv, line 3, column 3: 'two' is neither a number nor a missing mark; give it with --missing two or "
        "correct the cell\n"
    )


def test_the_look_at_a_large_file_is_short():
    """A pass over evenly spaced values finds the same."""
    M = planted(1500)
    assert doubts(np.maximum(M, 0))[0].startswith(f"{(M < 0).sum()} of {1500 * 1499} entries")
