"""Limits, ranges and pairs at the terminal."""

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu.cli import app

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
