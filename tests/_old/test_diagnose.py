"""What a matrix is, why entries are missing, and a call that works."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unrelu
from unrelu import InputError
from unrelu._old.cli import app
from unrelu._old.results.inspected import roundest


def matrix(n=80, rank=2, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    E = noise * rng.standard_normal((n, n))
    return U @ U.T + np.tril(E) + np.tril(E, -1).T


@pytest.fixture(scope="module")
def cut():
    M = matrix()
    X = np.where(M >= 0.1, M, np.nan)
    return M, X, unrelu.diagnose(X, rng=0)


def test_a_cut_matrix_is_told_with_its_level_rank_noise_and_structure(cut):
    _, X, found = cut
    assert found.detection.kind == "censored"
    low, high = found.detection.curve.level_interval
    assert low <= 0.1 <= high
    assert found.rank == 2
    assert 0.045 < found.sigma < 0.055
    assert found.structure == "psd"
    assert found.counted.seen == np.isfinite(X).sum()
    assert found.counted.per_row.tolist() == np.isfinite(X).sum(axis=1).tolist()
    assert found.wrong_side == 0
    assert len(found.spectrum) == 2


def test_the_recommended_call_works(cut):
    M, X, found = cut
    assert found.function == "complete"
    completion = unrelu.complete(X, rng=0, **found.options)
    assert np.linalg.norm(completion.matrix() - M) < 0.05 * np.linalg.norm(M)


def test_numbers_are_ready_for_json_and_sentences_come_first(cut):
    found = cut[2]
    about = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert about["gaps"] == "censored"
    assert about["sentences"] == found.sentences()
    assert str(found).splitlines()[-1].startswith("Recommended: unrelu.complete(X")
    assert "because of their values" in str(found)


def test_contradicted_entries_go_by_their_labels():
    M = matrix()
    names = [f"s{k}" for k in range(len(M))]
    X = np.where(M >= 0.1, M, np.nan)
    X[3, 7] = X[7, 3] = 3.5
    found = unrelu.diagnose(pd.DataFrame(X, names, names), rank=2, rng=0)
    worst = found.contradicted[0]
    assert (worst.row, worst.column, worst.value) == ("s3", "s7", 3.5)
    assert abs(worst.expected - M[3, 7]) < 1
    assert "(s3, s7)" in str(found)


def test_distances_are_noticed():
    points = np.random.default_rng(0).random((40, 2))
    D = np.linalg.norm(points[:, None] - points[None], axis=2)
    found = unrelu.diagnose(np.where(D <= 0.5, D, np.nan), rank=3, rng=0)
    assert found.structure == "distances"
    assert found.function == "complete_distances"
    assert found.command("d.csv").startswith("unrelu locate d.csv --dim")


def test_a_table_is_one():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((90, 2)) @ rng.standard_normal((2, 40)) + 0.05 * rng.standard_normal((90, 40))
    found = unrelu.diagnose(np.where(M >= 0.0, M, np.nan), rng=0)
    assert found.structure == "rectangular"
    assert found.rank == 2
    assert found.function == "complete_rectangular"
    completion = unrelu.complete_rectangular(np.where(M >= 0.0, M, np.nan), rng=0, **found.options)
    assert completion.verdict.answered


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (matrix(20), "Everything was seen"),
        (np.array([[1.0, np.nan, 2.0, 3.0]]), "There is one row or column only"),
        (np.array([[1.0], [np.nan], [2.0], [3.0]]), "There is one row or column only"),
        (np.where(np.eye(12, dtype=bool), np.nan, 2.0), "All seen values are 2"),
        (np.where(np.random.default_rng(0).random((5, 5)) < 0.5, np.nan, 1.0), "All seen values are 1"),
        (np.where(np.eye(12, dtype=bool), matrix(12), np.nan), "Too few entries"),
        (np.where(matrix(20) > 3, matrix(20), np.nan), "Too little was seen to hide some of it on purpose"),
    ],
)
def test_what_cannot_be_told_is_a_sentence(X, words):
    said = str(unrelu.diagnose(X, rng=0))
    assert words in said
    assert ("Recommended: unrelu." in said) == (np.isnan(X).any() and min(X.shape) > 1)


def test_a_matrix_with_eigenvalues_of_both_signs_is_one():
    rng = np.random.default_rng(0)
    U, E = rng.standard_normal((60, 3)), 0.05 * rng.standard_normal((60, 60))
    M = (U * [1, 1, -1]) @ U.T + np.tril(E) + np.tril(E, -1).T
    found = unrelu.diagnose(np.where(M >= 0.25, M, np.nan), rng=0)
    assert (found.structure, found.rank) == ("indefinite", 3)
    assert "is not positive semidefinite" in str(found)
    assert found.recommended == "unrelu.complete(X, rank=3, threshold=0.25, structure='indefinite')"
    assert found.command("m.csv").startswith("unrelu complete m.csv --rank 3 --threshold 0.25 --structure indefinite")


def test_nothing_to_look_at_is_refused():
    with pytest.raises(InputError, match="nothing to look at"):
        unrelu.diagnose(np.full((4, 4), np.nan))
    with pytest.raises(InputError, match="side seen"):
        unrelu.diagnose(np.eye(4), seen="over")


def test_thresholds_to_paste_are_round():
    assert roundest(0.2993, 0.3002) == 0.3
    assert roundest(-0.2502, -0.2498) == -0.25
    assert 1.23451 <= roundest(1.23451, 1.23459) <= 1.23459


def test_the_command_says_the_same_and_what_it_recommends_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    M = matrix()
    np.savetxt("seen.csv", np.where(M >= 0.1, M, np.nan), delimiter=",")
    run = CliRunner()
    told = run.invoke(app, ["inspect", "seen.csv", "--plot", "told.png"])
    assert told.exit_code == 0, told.output
    lines = told.stdout.strip().splitlines()
    assert lines[-2] == "Recommended:"
    assert (tmp_path / "told.png").stat().st_size > 10_000
    done = run.invoke(app, lines[-1].split()[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "completed.csv").exists()
    about = json.loads(run.invoke(app, ["inspect", "seen.csv", "--json"]).stdout)
    assert about["command"] == lines[-1].strip()


def test_sensitivity_says_how_far_entries_move(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    M = matrix()
    np.savetxt("seen.csv", np.where(M >= 0.1, M, np.nan), delimiter=",")
    asked = ["complete", "seen.csv", "--rank", "2", "--threshold", "auto", "--sensitivity", "-o", "out.csv"]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.output
    assert "moving the threshold from" in told.output
