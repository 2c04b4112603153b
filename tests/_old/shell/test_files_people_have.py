"""Files as people have them, at the terminal."""

import csv
import gzip
import io
import json
import shlex
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu._old.cli import app

ROWS, COLUMNS = [f"s{k}" for k in range(30)], [f"c{k}" for k in range(12)]


def run(*args, sent=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=sent)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def levels():
    """A table of rank 2 with positive entries, and the lowest and the highest number that can be measured."""
    rng = np.random.default_rng(5)
    M = rng.uniform(0.2, 2, (30, 2)) @ rng.uniform(0.2, 2, (2, 12))
    return M, np.quantile(M, 0.15), np.quantile(M, 0.9)


def text_of(M, low, high, delimiter=",", decimal="."):
    def cell(x, i, j):
        written = f"<{low}" if x < low else f"> {high}" if x > high else "ND" if (i + j) % 11 == 0 else repr(float(x))
        return written.replace(".", decimal)

    lines = [delimiter.join(["site", *COLUMNS])]
    lines += [delimiter.join([ROWS[i], *(cell(x, i, j) for j, x in enumerate(row))]) for i, row in enumerate(M)]
    return "\n".join(lines) + "\n"


def counted(M, low, high):
    inside = (low <= M) & (high >= M)
    lost = inside & (np.add.outer(np.arange(30), np.arange(12)) % 11 == 0)
    return {"below": (low > M).sum(), "above": (high < M).sum(), "measured": (inside & ~lost).sum(),
            "missing": lost.sum()}  # fmt: skip


def parsed(text):
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["", *COLUMNS]
    assert [row[0] for row in rows[1:]] == ROWS
    return np.array([[float(cell or "nan") for cell in row[1:]] for row in rows[1:]])


def test_limits_in_cells_are_heard_and_said(folder):
    M, low, high = levels()
    (folder / "x.csv").write_text(text_of(M, low, high, ";", ","))
    done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--fit")
    assert done.exit_code == 0, done.output
    found = np.load("out.npy")
    np.testing.assert_allclose(found, M, rtol=1e-8)
    count = counted(M, low, high)
    assert done.stderr.splitlines()[:2] == [
        "x.csv: read as semicolons with decimal commas",
        f"x.csv: read limits from its cells: {count['below']} below, {count['above']} above, {count['measured']} "
        f"measured, {count['missing']} missing, of which nothing is known",
    ]
    # What is told to programs, and the method that hears limits.
    done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--json")
    about = json.loads(done.stdout)
    assert about["cells"] == count
    assert about["read"][0] == "read as semicolons with decimal commas"
    assert about["loss"] == "one-sided"
    assert done.stderr == ""


def test_an_entry_lies_inside_the_limit_of_its_cell(folder):
    """One number per row is no more than a scale: the limit of the cell is all that is known of the last one."""
    (folder / "x.csv").write_text("1,1,1\n2,2,2\n3,3,3\n4,4,>10\n1,1,ND\n")
    done = run("complete", "x.csv", "-r", 2, "-o", "out.csv", "--keep-undetermined", "-q")
    assert done.exit_code in (0, 1), done.output
    found = np.loadtxt("out.csv", delimiter=",")
    assert found[3, 2] >= 10 - 1e-6
    np.testing.assert_allclose(found[:3], [[1, 1, 1], [2, 2, 2], [3, 3, 3]])


def test_a_threshold_beside_limits_in_cells_is_refused(folder):
    M, low, high = levels()
    (folder / "x.csv").write_text(text_of(M, low, high))
    count = counted(M, low, high)
    for said in ("--threshold 0", "--seen below"):
        done = run("complete", "x.csv", "-r", 2, "-o", "out.npy", *said.split())
        assert done.exit_code == 2
        assert done.stderr == (
            f"error: x.csv has limits in {count['below'] + count['above']} of its cells, and {said} speaks of others; "
            "drop it, or write a limit into every cell that has one\n"
        )
    assert run("complete", "x.csv", "-r", 2, "-o", "out.npy", "--no-threshold").exit_code == 0


@pytest.mark.parametrize("output", ["-", "out.csv"])
def test_standard_output_holds_the_matrix_and_nothing_else(folder, output):
    M, low, high = levels()
    done = run("complete", "-", "-r", 2, "-o", output, sent=text_of(M, low, high))
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("standard input: read as commas\nstandard input: read limits")
    report = done.stderr if output == "-" else done.stdout
    assert "30×12 table, rank 2" in report
    assert ("wrote" in done.output) == (output != "-")
    np.testing.assert_allclose(parsed(done.stdout if output == "-" else (folder / output).read_text()), M, rtol=1e-8)
    assert [path.name for path in folder.iterdir()] == ([] if output == "-" else ["out.csv"])


def test_other_files_beside_standard_output(folder):
    M, low, high = levels()
    done = run("complete", "-", "-r", 2, "-o", "-", "-q", "--mask-out", "mask.csv", sent=text_of(M, low, high))
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    found, mask = parsed(done.stdout), parsed((folder / "mask.csv").read_text())
    np.testing.assert_array_equal(np.isnan(found), mask == 0)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (["-o", "-", "--json"], "error: --json and --output - both write to standard output; name a file with "
         "--output\n"),
        (["-o", "o.csv", "--mask-out", "-"], "error: - has no known format"),
        (["-o", "-", "--mask-out", "-"], "error: - has no known format"),
        (["-o", "o.csv", "--format", "list"], "error: unknown format 'list'"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(folder, said, sentence):
    (folder / "x.csv").write_text("1,0\n0,1\n")
    done = run("complete", "x.csv", "-r", 1, *said)
    assert done.exit_code == 2
    assert done.stderr.startswith(sentence)
    assert [path.name for path in folder.iterdir()] == ["x.csv"]


def test_what_is_wrong_with_standard_input_names_it():
    done = run("complete", "-", "-r", 1, "-o", "-", sent="1,2,3\n4,5,6\n")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: standard input must be square, got 2 rows and 3 columns")
    assert done.stdout == ""


def test_packed_text_and_its_labels(folder):
    M, low, high = levels()
    (folder / "x.tsv.gz").write_bytes(gzip.compress(text_of(M, low, high, "\t").encode()))
    done = run("complete", "x.tsv.gz", "-r", 2, "-o", "out.csv")
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(parsed((folder / "out.csv").read_text()), M, rtol=1e-8)


@pytest.mark.parametrize("both", [True, False])
def test_an_edge_list_of_a_symmetric_matrix(folder, both):
    U = np.random.default_rng(5).standard_normal((20, 2))
    M = U @ U.T
    pairs = [(i, j) for i in range(20) for j in range(20) if M[i, j] >= 0 and (both or i <= j)]
    (folder / "x.csv").write_text("i,j,value\n" + "".join(f"{i},{j},{float(M[i, j])!r}\n" for i, j in pairs))
    done = run("complete", "x.csv", "-r", 2, "-o", "out.csv", "--fit")
    assert done.exit_code == 0, done.output
    rows = list(csv.reader(io.StringIO((folder / "out.csv").read_text())))
    assert rows[0] == ["", *map(str, range(20))]
    np.testing.assert_allclose(np.array([row[1:] for row in rows[1:]], float), M, atol=1e-8)
    assert "x.csv: read as an edge list of " in done.stderr


def test_three_columns_of_numbers_are_an_edge_list_only_if_said(folder):
    u = np.arange(1.0, 7)
    (folder / "x.csv").write_text("".join(f"{i},{j},{u[i] * u[j]}\n" for i in range(6) for j in range(i, 6)))
    said = ["complete", "x.csv", "-r", 1, "-o", "out.npy"]
    run(*said)
    assert np.load("out.npy").shape == (21, 3)
    done = run(*said, "--format", "edges")
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(np.load("out.npy"), np.outer(u, u))


def test_a_spreadsheet(folder):
    openpyxl = pytest.importorskip("openpyxl")
    M, low, high = levels()
    book = openpyxl.Workbook()
    for row in csv.reader(io.StringIO(text_of(M, low, high))):
        book.active.append(row)
    book.save("x.xlsx")
    done = run("complete", "x.xlsx", "-r", 2, "-o", "out.csv")
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(parsed((folder / "out.csv").read_text()), M, rtol=1e-8)


def test_an_ordinary_file_is_read_without_a_word(folder):
    (folder / "x.csv").write_text(",a,b\na,1,\nb,,1\n")
    done = run("complete", "x.csv", "-r", 2, "-o", "out.csv", "--json")
    assert not {"read", "cells"} & set(json.loads(done.stdout))
    assert "read" not in run("complete", "x.csv", "-r", 2, "-o", "out.csv").stderr


def test_a_result_for_closed_standard_output_is_an_error(folder):
    np.savetxt(folder / "x.csv", np.outer([1.0, 2, 3], [1.0, 2, 3]), delimiter=",")
    command = f"{shlex.quote(sys.executable)} -m unrelu complete x.csv -r 1 -o - >&-"
    done = subprocess.run(command, shell=True, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "standard output is closed; name a file with --output" in done.stderr
