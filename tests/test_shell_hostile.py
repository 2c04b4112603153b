"""The shell and hostile input: numbers, pipes and headers that are not what they seem."""

import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu.cli import app
from unrelu.delimited import printed_error

PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


def shell(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def refused(*arguments):
    """The one line that says why nothing was done."""
    done = shell(*arguments)
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    return line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What a text file says of its own errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.25,0.5\n0.5,3\n", 0.005),
        ("4", 0.5),
        ("1.04e+10,5.00e+09,6.20e+09\n5.00e+09,1.09e+10,\n", 5e7),
        ("1.234e+03,0.000e+00\n0.000e+00,5.678e-04\n", 0.5),
        ("1.234e-03,0\n0,5.678e-04\n", 5e-7),
        ("0.000e+00", 0.5),
        ("3e-05,0.00012\n0.01,9e-06\n", 5e-6),  # rounded to five digits after the point
        ("10.4e9,5e9", 5e7),
        ("1e" + "0" * 5000 + "1,2\n2,5", 5.0),
        ("1e-" + "9" * 5000 + ",2\n2,5", 0.5),
        ("0.1234567890123456,1", None),
    ],
)
def test_the_error_of_a_printed_number_is_that_of_the_coarsest(folder, text, expected):
    (folder / "x.csv").write_text(text)
    assert printed_error("x.csv") == expected


def test_certify_says_how_right_numbers_with_exponents_are(folder):
    (folder / "x.csv").write_text("1.04e+10,5.00e+09,6.20e+09\n5.00e+09,1.09e+10,7.50e+09\n6.20e+09,7.50e+09,\n")
    assert "right to 5e+07, half the last printed digit" in shell("certify", "x.csv", "-r", 2).stderr
    (folder / "x.csv").write_text("1e" + "0" * 5000 + "1,2\n2,5\n")
    assert shell("certify", "x.csv", "-r", 2).exit_code in (0, 1)


# Pipes, which can be read only once


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
@pytest.mark.parametrize(
    ("name", "text", "arguments", "words"),
    [
        ("f.csv", "0,1,1,2,2\n1,0,1,2,2\n1,1,0,2,2\n2,2,2,0,1\n2,2,2,1,0\n", ["locate", "f.csv", "-d", "2", "-o", "p.csv"],
         "copy it to a file"),
        ("f.csv", "1,1\n1,1\n", ["certify", "f.csv", "-r", "1"], "give --data-error"),
        ("f.csv", "1,1\n1,1\n", ["certify", "f.csv", "-r", "1", "--data-error", "0"], None),
        ("f.csv", "1,1\n1,1\n", ["complete", "f.csv", "-r", "1", "-o", "out.csv"], None),
        ("f.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", ["complete", "f.mtx", "-r", "1", "-o", "o.csv"],
         "copy it to a file"),
    ],
)  # fmt: skip
def test_a_pipe_never_hangs(folder, name, text, arguments, words):
    os.mkfifo(name)
    writer = subprocess.Popen([sys.executable, "-c", f"open({name!r}, 'w').write({text!r})"], stderr=subprocess.DEVNULL)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "unrelu", *arguments], capture_output=True, encoding="utf-8", env=PLAIN, timeout=60
        )
    finally:
        writer.kill()
        writer.wait()
    assert done.returncode == (0 if words is None else 2), done.stderr
    if words is not None:
        assert done.stderr.startswith(f"error: {name} is a pipe, which can be read only once")
        assert words in done.stderr


# Headers that announce what no memory holds


@pytest.mark.parametrize(
    "text",
    [
        "coordinate real general\n1000000000 1000000000 1\n1 1 1\n",
        "coordinate real general\n2 2 1000000000\n1 1 1\n",
        "array real general\n1000000 1000000\n1\n",
    ],
)
def test_a_header_out_of_proportion_is_refused_before_anything_is_read(folder, text):
    (folder / "x.mtx").write_text("%%MatrixMarket matrix " + text)
    assert "bytes are next to nothing; check its size" in refused("complete", "x.mtx", "-r", 1, "-o", "out.csv")


def test_a_sparse_archive_out_of_proportion_is_refused_before_a_place_is_made_for_every_row(folder):
    about = {"format": b"coo", "shape": np.array([10**9, 10**9]), "data": np.ones(1)}
    np.savez("x.npz", row=np.zeros(1, int), col=np.zeros(1, int), **about)
    assert "1000000000 rows" in refused("complete", "x.npz", "-r", 1, "-o", "out.csv")
