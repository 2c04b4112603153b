"""The shell and hostile input: numbers, pipes and headers that are not what they seem."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from helpers import relu_instance
from unrelu import InputError
from unrelu._old.cli import app
from unrelu._old.io.digits import printed_error

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
        ("f.csv", "0,1,1,2,2\n1,0,1,2,2\n1,1,0,2,2\n2,2,2,0,1\n2,2,2,1,0\n",
         ["locate", "f.csv", "-d", "2", "-o", "p.csv"], "copy it to a file"),
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


# A reader who leaves early


@pytest.mark.parametrize(
    ("rest", "code"),
    [("--help", 0), ("complete --help", 0), ("-h", 0), ("--version", 0), ("reproduce", 0), ("", 0), ("--nonsense", 2)],
)
def test_help_whose_reader_leaves_is_no_failure(rest, code):
    line = f"{sys.executable} -m unrelu {rest} 2>&1 | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, encoding="utf-8", env=PLAIN, timeout=60)
    assert (done.returncode, done.stderr) == (code, "")


# Labels of a second file


@pytest.mark.parametrize("named", [True, False])
def test_what_is_said_of_the_labels_holds_for_the_truth_as_well(folder, named):
    M, X = relu_instance(12, 2)
    pd.DataFrame(X).to_csv("x.csv")
    pd.DataFrame(M).to_csv("truth.csv", index=named, header=named)
    pd.DataFrame(np.zeros((12, 12), int)).to_csv("unknown.csv", index=named, header=named)
    said = ["-r", 2, "--header", "--labels", "--unknown", "unknown.csv"]
    done = shell("complete", "x.csv", *said, "--truth", "truth.csv", "-o", "out.csv")
    assert done.exit_code == 0, done.stderr
    assert "completion error against the truth" in done.stdout
    assert shell("compare", "x.csv", *said, "--truth", "truth.csv", "--methods", "gauss-newton").exit_code == 0
    assert shell("certify", "x.csv", *said).exit_code in (0, 1)
    pd.DataFrame(np.outer(range(1, 4), range(1, 4))).to_csv("counts.csv")
    assert "say --header --labels" in refused("complete", "counts.csv", "-r", 1, "-o", "out.csv")


# Sentences a person at a terminal can act on


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("1,0.05\n0.05,1\n", ["complete", "x.csv", "-r", 1, "-o", "o.csv", "--threshold", 0.1],
         "every seen entry must be ≥ --threshold 0.1 (--seen above), but 2 are not, at (0, 1), (1, 0), the first being "
         "0.05; check --threshold and --seen (--seen below turns the side round), or say --no-threshold if absence"),
        ("1,\n,1\n", ["complete", "x.csv", "-r", 1, "-o", "o.csv", "--threshold=-1e200"],
         "--threshold -1e+200 is too far from the seen entries, of size 1, to say anything about the others in "
         "float64; give the value at which entries go unseen, or say --no-threshold"),
        ("1,2\n,1\n", ["complete", "x.csv", "-r", 1, "-o", "o.csv"], "or mark the other triangle as --unknown"),
        ("1,.5,.2\n.5,1,.3\n.2,.3,1\n", ["locate", "x.csv", "-d", 2, "-o", "o.csv", "--format", "matrix"],
         "x.csv has positive numbers on its diagonal, 1 the first, where distances have zeros; these look like "
         "similarities, which unrelu complete is for"),
        ("1,2,3,4\n1,2,3,4\n", ["compare", "x.csv", "-r", 1],
         "x.csv must be square, got 2 rows and 4 columns; this command takes symmetric matrices only\n"),
        (",a,b\nx,1,0\ny,0,1\n", ["complete", "x.csv", "-r", 1, "-o", "o.csv"],
         "label 1 is 'x' for the row and 'a' for the column; sort one like the other; say --table if it is one of rows "
         "by columns\n"),
        (",a,b\nx,1,0\ny,0,1\n", ["compare", "x.csv", "-r", 1],
         "label 1 is 'x' for the row and 'a' for the column; sort one like the other; this command takes symmetric "
         "matrices only\n"),
        ("1,4\n4,1\n", ["complete", "x.csv", "-r", 1, "-o", "o.csv", "--entry-range=-1,3"],
         "every seen entry must lie in --entry-range=-1,3, but 2 do not, at (0, 1), (1, 0), the first being 4; widen "
         "--entry-range, or leave it out\n"),
        ("1,0\n0,1\n", ["complete", "x.csv", "-r", 1, "-o", "o.csv", "--loss", "one-sided", "--sigma", 1],
         "--sigma is the noise of --loss censored, got --loss one-sided besides; drop one of them\n"),
    ],
)  # fmt: skip
def test_advice_is_for_the_shell(folder, text, arguments, words):
    (folder / "x.csv").write_text(text)
    assert words in refused(*arguments) + "\n"
    assert [path.name for path in folder.iterdir()] == ["x.csv"]


@pytest.mark.parametrize("command", [["complete", "-r", 1], ["certify", "-r", 1], ["locate", "-d", 2]])
def test_a_file_of_zero_bytes_is_refused_at_the_first(folder, command):
    with open("x.csv", "wb") as handle:
        handle.truncate(1 << 30)
    name, *rest = command
    rest += [] if name == "certify" else ["-o", "o.csv"]
    assert "x.csv holds zero bytes where text was expected" in refused(name, "x.csv", *rest)


# The demonstration


def test_the_demo_refuses_a_file_for_its_folder_before_it_begins(folder):
    (folder / "file").write_text("mine")
    for name in ("file", "file/below"):
        done = shell("demo", "-o", name)
        assert done.exit_code == 2
        assert done.stdout == ""
        assert f"error: cannot make the folder {name}: " in done.stderr
        assert "is a file; choose another with -o" in done.stderr


def test_the_demo_leaves_no_empty_folder(folder, monkeypatch):
    def full(*_):
        raise InputError("the disk is full")

    monkeypatch.setattr("unrelu._old.show.demo.write_matrix", full)
    done = shell("demo", "-o", "new/deep", "--size", 20, "--rank", 2)
    assert done.exit_code == 2
    assert "the disk is full" in done.stderr
    assert list(folder.iterdir()) == []
    (folder / "mine").mkdir()
    assert shell("demo", "-o", "mine/deep", "--size", 20, "--rank", 2).exit_code == 2
    assert [path.name for path in folder.rglob("*")] == ["mine"]
