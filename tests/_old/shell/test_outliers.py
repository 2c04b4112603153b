"""``--loss huber`` and ``--outliers-out``."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu._old.cli import app


def told(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def lines_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def matrix(tmp_path):
    U = np.random.default_rng(0).standard_normal((30, 2))
    M = U @ U.T
    X = np.where(M >= 0, M, np.nan)
    X[2, 5] = X[5, 2] = 40.0
    names = [f"g{k}" for k in range(30)]
    lines = [",".join(["", *names])]
    lines += [
        ",".join([name, *("" if np.isnan(x) else repr(float(x)) for x in row)])
        for name, row in zip(names, X, strict=True)
    ]
    (tmp_path / "seen.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_what_is_distrusted_is_written_told_and_in_json(matrix):
    options = ("complete", matrix / "seen.csv", "-r", 2, "--loss", "huber", "-o", matrix / "full.csv")
    ran = told(*options, "--outliers-out", matrix / "wrong.csv")
    assert ran.exit_code == 0, ran.output
    assert "distrusted: (g2, g5) is 40, where the others say" in ran.output
    assert f"wrote {matrix / 'wrong.csv'}" in ran.output.replace("\n", " ")
    (line,) = lines_of(matrix / "wrong.csv")
    assert (line["row"], line["column"], float(line["value"])) == ("g2", "g5", 40.0)
    assert list(line) == ["row", "column", "value", "expected", "deviations"]
    ran = told(*options, "--json")
    (one,) = json.loads(ran.stdout)["distrusted"]
    assert (one["row"], one["column"], one["value"]) == ("g2", "g5", 40.0)


def test_without_labels_rows_are_counted_from_one(matrix, tmp_path):
    X = np.genfromtxt(matrix / "seen.csv", delimiter=",", skip_header=1)[:, 1:]
    np.save(tmp_path / "seen.npy", X)
    ran = told("complete", tmp_path / "seen.npy", "-r", 2, "--loss", "huber", "-o", tmp_path / "f.npy",
               "--outliers-out", tmp_path / "w.csv")  # fmt: skip
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "w.csv").read_text().splitlines()[1].startswith("3,6,40.0,")


def test_a_list_needs_the_loss_that_makes_it(matrix):
    ran = told("complete", matrix / "seen.csv", "-r", 2, "-o", matrix / "full.csv", "--outliers-out", matrix / "w.csv")
    assert ran.exit_code == 2
    assert "--outliers-out is for entries that are distrusted" in ran.output
    assert not (matrix / "w.csv").exists()


def test_tables_too(tmp_path):
    rng = np.random.default_rng(0)
    M = 5 + rng.standard_normal((80, 1)) + 0.3 * rng.standard_normal((80, 5))
    M[7, 2] = 60.0
    lines = ["site,a,b,c,d,e", *(f"s{k}," + ",".join(map(repr, row.tolist())) for k, row in enumerate(M))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    for command in (("table",), ("complete", "--no-threshold")):
        ran = told(command[0], tmp_path / "t.csv", *command[1:], "--loss", "huber", "-o", tmp_path / "f.csv",
                   "--outliers-out", tmp_path / "w.csv")  # fmt: skip
        assert ran.exit_code in (0, 1), ran.output
        first = lines_of(tmp_path / "w.csv")[0]
        assert (first["column"], float(first["value"])) == ("c", 60.0)
