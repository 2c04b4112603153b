"""Limits, ranges and pairs at the terminal."""

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu._old.cli import app

NAMES = [f"r{k}" for k in range(20)]


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def write(path, values, rows=None, columns=None):
    lines = [] if columns is None else [("," if rows else "") + ",".join(columns)]
    for k, row in enumerate(values):
        lines.append(",".join([*([rows[k]] if rows else []), *("" if np.isnan(x) else repr(float(x)) for x in row)]))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def instance(threshold_of):
    U = np.random.default_rng(5).standard_normal((20, 2))
    M = U @ U.T
    threshold = threshold_of(M)
    return M, np.where(threshold <= M, M, np.nan), threshold


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("kind", ["row", "column", "entry"])
def test_a_file_of_thresholds(folder, kind, labelled):
    quantile = {
        "row": lambda M: np.quantile(M, 0.4, axis=1, keepdims=True),
        "column": lambda M: np.quantile(M, 0.4, axis=0, keepdims=True),
        "entry": lambda M: np.quantile(M, np.random.default_rng(0).uniform(0.2, 0.6, M.shape)),
    }[kind]
    M, X, threshold = instance(quantile)
    names = NAMES if labelled else None
    write(folder / "x.csv", X, names, names)
    rows, columns = (names if size == 20 else None for size in threshold.shape)
    columns = ["limit"] if kind == "row" and labelled else columns
    write(folder / "limits.csv", threshold, rows, columns)
    done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--threshold", "limits.csv", "--fit")
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(np.load(folder / "out.npy"), M, atol=1e-8)


def test_two_numbers_and_a_range(folder):
    U = np.random.default_rng(5).standard_normal((20, 2))
    M = U @ U.T
    write(folder / "x.csv", np.where(np.abs(M) >= 0.3, M, np.nan))
    said = ["--threshold=-0.3,0.3", "--seen", "outside", "--entry-range=-50,50"]
    done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", *said)
    assert done.exit_code == 0, done.output
    found = np.load(folder / "out.npy")
    known = ~np.isnan(found)
    np.testing.assert_allclose(found[known], M[known], atol=1e-8)
    assert run("certify", "x.csv", "-r", 2, *said).exit_code in (0, 1)
    assert run("compare", "x.csv", "-r", 2, "--methods", "gauss-newton", *said[:3]).exit_code in (0, 1)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (["--threshold", "no.csv"], "error: --threshold: expected a number, got 'no.csv', which is no file either\n"),
        (["--threshold", "short.csv"], "error: short.csv must hold one threshold per row, per column or per entry, of "
         "shape 20x1, 1x20 or 20x20; got 1x3\n"),
        (["--threshold", "other.csv"], "error: other.csv must carry the same labels in the same order, but differs "
         "from label 2 on\n"),
        (["--entry-range", "1"], "error: --entry-range must be two numbers with a comma, such as 0,1; got '1'\n"),
        (["--entry-range", "0,0.5"], "error: every seen entry must lie in --entry-range"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_them_is_said_in_one_sentence(folder, said, sentence):
    _, X, threshold = instance(lambda M: np.quantile(M, 0.4, axis=0, keepdims=True))
    write(folder / "x.csv", X, NAMES, NAMES)
    write(folder / "short.csv", threshold[:, :3])
    write(folder / "other.csv", threshold, None, [NAMES[0], NAMES[2], NAMES[1], *NAMES[3:]])
    done = run(
        "complete", "x.csv", "-r", 2, "-o", "out.npy", *(said if "--threshold" in said else ["--no-threshold", *said])
    )
    assert done.exit_code == 2
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


# --- tables, weights and noise ----------------------------------------------------------------------------------------

ROWS, COLUMNS = [f"s{k}" for k in range(30)], [f"c{k}" for k in range(12)]


def table(threshold_of, noise=0.0):
    rng = np.random.default_rng(5)
    M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 12))
    Y = M + noise * rng.standard_normal(M.shape)
    threshold = threshold_of(M)
    return M, np.where(threshold <= Y, Y, np.nan), threshold


@pytest.mark.parametrize("axis", [0, 1, None])
def test_a_table_with_a_file_of_thresholds_and_one_of_weights(folder, axis):
    def threshold_of(M):
        return np.quantile(M, 0.3, axis=axis, keepdims=True) if axis is not None else 0.1 * np.abs(M) - 0.2

    M, X, threshold = table(threshold_of)
    write(folder / "x.csv", X, ROWS, COLUMNS)
    rows, columns = (ROWS if axis != 0 else None), (COLUMNS if axis != 1 else ["limit"])
    write(folder / "limits.csv", threshold, rows, columns)
    write(folder / "weights.csv", np.linspace(1, 2, 12)[None, :], None, COLUMNS)
    said = ["--threshold", "limits.csv", "--weights", "weights.csv", "--entry-range=-50,50"]
    done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--fit", *said)
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(np.load(folder / "out.npy"), M, atol=1e-8)


def test_noise_of_each_column_in_a_file_and_of_all_as_a_number(folder):
    sigma = np.where(np.arange(12) < 4, 1.0, 0.05)
    M, X, _ = table(lambda M: np.zeros((1, 1)), sigma)
    write(folder / "x.csv", X, ROWS, COLUMNS)
    write(folder / "sigma.csv", sigma[None, :], None, COLUMNS)
    off = {}
    for given in ("sigma.csv", "0.5"):
        done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--fit", "--keep-undetermined", "--sigma", given)
        assert "(censored loss)" in done.stdout, done.output
        off[given] = np.linalg.norm(np.load(folder / "out.npy") - M)
    assert off["sigma.csv"] < 0.8 * off["0.5"]


def test_a_symmetric_matrix_takes_weights_and_noise(folder):
    M, X, _ = instance(lambda M: 0.0)
    write(folder / "x.csv", X, NAMES, NAMES)
    write(folder / "each.csv", np.linspace(1, 2, 20)[:, None], NAMES, ["of each"])
    done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--fit", "--weights", "each.csv")
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(np.load(folder / "out.npy"), M, atol=1e-8)
    write(folder / "noisy.csv", X + 0.1 * np.random.default_rng(0).standard_normal(X.shape), NAMES, NAMES)
    done = run("complete", "noisy.csv", "-r", 2, "-o", "out.npy", "--sigma", "each.csv", "--no-threshold")
    assert "(censored loss)" in done.stdout, done.output


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (["--threshold", "5"], "error: every seen entry must be ≥ --threshold 5 (--seen above), but 195 are not, at "
         "(s0, c1), (s0, c3), (s0, c4) and 192 more"),
        (["--threshold", "other.csv"], "error: other.csv must carry the same labels in the same order, but differs "
         "from label 1 of the columns on\n"),
        (["--weights", "rows.csv"], "error: rows.csv must carry the same labels in the same order, but differs from "
         "label 2 of the rows on\n"),
        (["--weights", "short.csv"], "error: short.csv must hold one weight per row, per column or per entry, of shape "
         "30x1, 1x12 or 30x12; got 1x3\n"),
        (["--weights", "none.csv"], "error: none.csv does not exist; check the name and the folder it is in\n"),
        (["--sigma", "few"], "error: --sigma: expected a number, got 'few', which is no file either\n"),
        (["--sigma", "1,2"], "error: --sigma must be one number, or a file with one per row, column or entry; got "
         "'1,2'\n"),
        (["--sigma", "0"], "error: --sigma must be finite numbers above 0, or left out to estimate the noise; got 0.0"),
        (["--weights", "zero.csv"], "error: --weights must be finite numbers above 0, got 0 for column c0 and "
         "11 more;"),
        (["--unknown", "mask.csv"], "error: mask.csv must carry the same labels in the same order, but differs from "
         "label 1 of the columns on\n"),
        (["--entry-range", "0,0.5"], "error: every seen entry must lie in --entry-range"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_those_of_a_table_is_said_in_one_sentence(folder, said, sentence):
    _, X, _ = table(lambda M: np.zeros((1, 1)))
    write(folder / "x.csv", X, ROWS, COLUMNS)
    write(folder / "other.csv", np.zeros((1, 12)), None, COLUMNS[::-1])
    write(folder / "rows.csv", np.ones((30, 1)), ["s0", "s2", "s1", *ROWS[3:]], ["weight"])
    write(folder / "short.csv", np.ones((1, 3)))
    write(folder / "zero.csv", np.zeros((1, 12)))
    write(folder / "mask.csv", np.zeros((30, 12)), ROWS, COLUMNS[::-1])
    done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", *said)
    assert done.exit_code == 2
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


# --- which numbers are labels -----------------------------------------------------------------------------------------


def four_columns(labelled):
    rng = np.random.default_rng(3)
    M = 3 + rng.standard_normal((15, 1)) @ rng.standard_normal((1, 4))
    return np.where(np.array([2.5, 3.0, 2.8, 2.0]) <= M, M, np.nan), (COLUMNS[:4] if labelled else None)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("9,2,2,2,2\n", "1x5"),
        (",2,2,2,2\n", "1x5"),
        ("x,a,b,c,d\n9,2,2,2,2\n", "1x5"),
        ("9\n" + "2\n" * 15, "16x1"),
        ("z,9\n" + "".join(f"q{k},2\n" for k in range(15)), "16x1"),
    ],
)
def test_a_number_is_no_label(folder, text, shape, labelled):
    X, columns = four_columns(labelled)
    write(folder / "x.csv", X, ROWS[:15] if labelled else None, columns)
    (folder / "limits.csv").write_text(text)
    for option in ("--threshold", "--weights", "--sigma"):
        done = run("complete", "x.csv", "-r", 1, "-o", "out.npy", option, "limits.csv")
        assert done.exit_code == 2
        assert done.stderr.endswith(f"of shape 15x1, 1x4 or 15x4; got {shape}\n")


def test_numbers_are_labels_where_they_are_those_of_the_matrix(folder):
    X, _ = four_columns(labelled=False)
    years = ["2001", "2002", "2003", "2004"]
    write(folder / "x.csv", X, [f"s{k}" for k in range(15)], years)
    for text in ("2001,2002,2003,2004\n2,2,2,2\n", ",2001,2002,2003,2004\n0,2,2,2,2\n"):
        (folder / "limits.csv").write_text(text)
        done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--header", "--threshold", "limits.csv")
        assert done.exit_code in (0, 1), done.output
    (folder / "limits.csv").write_text("2001,2002,2004,2003\n2,2,2,2\n")
    done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--header", "--threshold", "limits.csv")
    assert done.stderr.endswith("of shape 15x1, 1x4 or 15x4; got 2x4\n")


@pytest.mark.parametrize("corner", ["", ",0\n", ",limit\n", "column,limit\n"])
@pytest.mark.parametrize("of", ["rows", "columns", "columns of as many"])
def test_one_labelled_number_per_line(folder, of, corner):
    M, X, _ = table(lambda M: np.zeros((1, 1)))
    rows, columns, size = ROWS, COLUMNS, 12 if of.endswith("many") else 30
    M, X, rows = M[:size], X[:size], rows[:size]
    axis = 1 if of == "rows" else 0
    threshold = np.quantile(M, 0.3, axis=axis, keepdims=True)
    write(folder / "x.csv", np.where(threshold <= M, M, np.nan), rows, columns)
    names = rows if of == "rows" else columns
    lines = [f"{name},{limit!r}" for name, limit in zip(names, threshold.ravel().tolist(), strict=True)]
    (folder / "limits.csv").write_text(corner + "\n".join(lines) + "\n")
    write(folder / "whole.csv", np.broadcast_to(threshold, M.shape), rows, columns)
    found = {}
    for limits in ("limits.csv", "whole.csv"):
        done = run(
            "complete",
            "x.csv",
            "-r",
            2,
            "-o",
            "out.npy",
            "--table",
            "--fit",
            "--keep-undetermined",
            "--threshold",
            limits,
        )
        assert done.exit_code == 0, done.output
        found[limits] = np.load(folder / "out.npy")
    np.testing.assert_allclose(found["limits.csv"], found["whole.csv"], atol=1e-8)


def test_one_number_per_line_that_could_be_anything_is_refused(folder):
    X, columns = four_columns(labelled=True)
    write(folder / "x.csv", X, ROWS[:15], columns)
    (folder / "limits.csv").write_text("c0,1\nc1,1\nc3,1\nc2,1\n")
    done = run("complete", "x.csv", "-r", 1, "-o", "out.npy", "--threshold", "limits.csv")
    assert done.stderr == (
        "error: limits.csv must hold one threshold per row, per column or per entry, of shape 15x1, 1x4 or 15x4; got "
        "4x1; write one per column as one line of 4 numbers, or with the labels of the columns in their order\n"
    )
