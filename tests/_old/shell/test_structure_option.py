"""Indefinite matrices and certificates of tables at the terminal."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu._old.cli import app


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    U = rng.standard_normal((40, 3))
    M = (U * [1, 1, -1]) @ U.T
    np.save("signed.npy", np.where(M >= 0, M, np.nan))
    T = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 18))
    np.save("table.npy", np.where(T >= 0, T, np.nan))
    short = np.where(T >= 0, T, np.nan)
    short[4, np.flatnonzero(~np.isnan(short[4]))[1:]] = np.nan
    np.save("short.npy", short)
    return M


def test_an_indefinite_matrix_is_completed_and_its_signs_are_told(files):
    done = run("complete", "signed.npy", "-r", 3, "-o", "out.npy", "--structure", "indefinite", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["signs"] == [1, 1, -1]
    np.testing.assert_allclose(np.load("out.npy"), files, atol=1e-8)


def test_without_the_structure_the_answer_says_what_is_wrong(files):
    done = run("complete", "signed.npy", "-r", 3, "-o", "out.npy")
    assert done.exit_code == 1
    assert "--structure indefinite allows for that" in done.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("table.npy", "-r", 2, "--structure", "indefinite"), "for symmetric matrices"),
        (("signed.npy", "-r", 2, "--structure", "indef"), "did you mean 'indefinite'"),
    ],
)
def test_a_structure_that_cannot_be_meant(files, args, words):
    done = run("complete", *args, "-o", "out.npy")
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_table_is_certified(files):
    done = run("certify", "table.npy", "-r", 2)
    assert done.exit_code == 0
    assert done.stdout.startswith("Proved: exactly one 30×18 matrix of rank at most 2")
    told = json.loads(run("certify", "table.npy", "-r", 2, "--json").stdout)
    assert told["unique"]
    assert told["determined_columns"] == 18


def test_a_row_that_sees_too_little_is_named(files):
    done = run("certify", "short.npy", "-r", 2, "--no-threshold")
    assert done.exit_code == 1
    assert "Row 4 sees 1 entry of determined columns; rank 2 needs 2." in done.stdout


def test_errors_of_the_data_are_not_for_tables(files):
    done = run("certify", "table.npy", "-r", 2, "--data-error", 0.1)
    assert done.exit_code == 2
    assert "--data-error is for symmetric matrices" in done.stderr
