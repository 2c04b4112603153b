"""``unrelu complete --device``: what it takes, what it says, and what it refuses."""

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu._old.cli import app

torch = pytest.importorskip("torch")


@pytest.fixture
def matrix(tmp_path):
    U = np.random.default_rng(0).standard_normal((40, 2))
    X = np.where(U @ U.T >= 0, U @ U.T, np.nan)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    return tmp_path / "x.csv", U @ U.T


def completed(matrix, *options):
    return CliRunner().invoke(app, ["complete", str(matrix), "-r", "2", *options])


def test_the_answer_says_where_it_was_made(matrix, tmp_path):
    path, truth = matrix
    done = completed(path, "--device", "cpu", "-o", str(tmp_path / "y.csv"))
    assert done.exit_code == 0
    assert "by NumPy in float64" in done.stdout
    found = np.loadtxt(tmp_path / "y.csv", delimiter=",")
    np.testing.assert_allclose(found, truth, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--device", "tpu"), "--device must be cpu or cuda, got 'tpu'; say cuda for a GPU"),
        (("--device", "mps"), "--device must be cpu or cuda, got 'mps'"),
    ],
)
def test_what_it_cannot_be(matrix, tmp_path, options, words):
    done = completed(matrix[0], *options, "-o", str(tmp_path / "y.csv"))
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (2, f"error: {words}")
    assert not (tmp_path / "y.csv").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_gpu_that_is_not_there(matrix, tmp_path):
    done = completed(matrix[0], "--device", "cuda", "-o", str(tmp_path / "y.csv"))
    assert done.exit_code == 2
    words = done.stderr.splitlines()[-1]
    assert words.startswith("error: --device cuda was asked for, but PyTorch")
    assert words.endswith("sees no CUDA device here; drop --device")
