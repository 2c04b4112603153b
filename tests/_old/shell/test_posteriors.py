"""``unrelu complete --method gibbs``: what it writes, what it says, and when it ends with 1."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu._old.cli import app
from unrelu._old.io.files import write_matrix
from unrelu.datasets import planted

N = 14
M = planted(N, 1, sigma=0.3, symmetric_noise=True, rng=1).matrix
X = np.where(M >= 0, M, np.nan)


def run(*args):
    return CliRunner().invoke(app, ["complete", "x.csv", "-o", "y.csv", "--method", "gibbs", *map(str, args)])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_matrix(tmp_path / "x.csv", X)


def test_every_entry_is_written_with_its_interval():
    done = run("--rank", 1, "--max-iter", 400, "--long-out", "long.csv", "--errors-out", "errors.csv")
    assert done.exit_code in (0, 1), done.output
    assert "the posterior at rank 1 was sampled" in done.output
    assert "R̂ of entries at most" in done.output
    filled, errors = (np.loadtxt(name, delimiter=",") for name in ("y.csv", "errors.csv"))
    seen = ~np.isnan(X)
    np.testing.assert_allclose(filled[seen], X[seen])
    assert np.isfinite(filled).all()
    assert (errors[seen] == 0).all()
    assert (errors[~seen] > 0).all()
    with open("long.csv") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == N * N
    hidden = [row for row in rows if row["flag"] == "censored"]
    assert len(hidden) == np.count_nonzero(~seen & ~np.eye(N, dtype=bool))  # no diagonal lies below 0
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) <= 0 for row in hidden)


def test_programs_are_told_how_far_the_chains_agree():
    done = run("--rank", 1, "--max-iter", 20, "--json")
    about = json.loads(done.stdout)
    assert about["posterior"]["chains"] == 4
    assert about["posterior"]["sweeps"] == 20
    assert about["posterior"]["draws"] == 40
    assert about["posterior"]["r_hat"] > 1
    assert about["posterior"]["effective_sample_size"] < 100  # of 40 draws
    assert about["converged"] is False
    assert done.exit_code == 1


def test_chains_that_do_not_agree_end_with_1_and_options_in_the_sentence():
    done = run("--rank", 2, "--max-iter", 9)
    assert done.exit_code == 1
    assert "the chains do not agree yet" in done.output
    assert "raise --max-iter, lower --rank" in done.output
    assert "take the intervals with care" in done.output


def test_without_a_rank_there_is_a_sentence():
    done = run()
    assert done.exit_code == 2
    assert "--rank must be named" in done.output


def test_what_was_seen_across_the_diagonal_is_copied_with_its_interval(tmp_path):
    Y = X + 0.0
    rows, cols = np.nonzero(~np.isnan(Y) & ~np.eye(N, dtype=bool))
    i, j = rows[0], cols[0]
    Y[i, j] += 0.1  # the two halves differ, so that each has its noise
    i, j = rows[-1], cols[-1]
    Y[i, j] = np.nan
    write_matrix(tmp_path / "x.csv", Y)
    done = run("--rank", 1, "--max-iter", 40, "--long-out", "long.csv", "--errors-out", "errors.csv")
    assert done.exit_code in (0, 1), done.output
    with open("long.csv") as lines:
        row = list(csv.DictReader(lines))[i * N + j]
    assert row["flag"] == "measured"
    assert float(row["low"]) == float(row["value"]) == float(row["high"]) == pytest.approx(X[j, i])
    assert np.loadtxt("errors.csv", delimiter=",")[i, j] == 0
