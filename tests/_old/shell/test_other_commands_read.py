"""What `complete` reads is read by `certify` and `compare` too."""

import csv
import gzip
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from unrelu._old.cli import app
from unrelu._old.io.digits import printed_error

N = 24
NAMES = [f"s{k}" for k in range(N)]


def run(*args, sent=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=sent)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planted():
    U = np.random.default_rng(3).standard_normal((N, 2))
    return U @ U.T


def cell(x, mark="<0"):
    hidden = x < float(mark[1:]) if mark.startswith("<") else x < 0
    return mark if hidden else f"{x:.15g}"


def as_matrix(delimiter=",", decimal=".", mark="<0"):
    lines = [delimiter.join(["", *NAMES])]
    for name, row in zip(NAMES, planted(), strict=True):
        lines.append(delimiter.join([name, *(cell(x, mark).replace(".", decimal) for x in row)]))
    return "\n".join(lines) + "\n"


def as_edges():
    M = planted()
    pairs = ((i, j) for i in range(N) for j in range(i, N) if M[i, j] >= 0)
    return "from,to,value\n" + "".join(f"{i},{j},{cell(M[i, j])}\n" for i, j in pairs)


def packed(text):
    return gzip.compress(text.encode())


def sheet(text):
    openpyxl = pytest.importorskip("openpyxl")
    book, kept = openpyxl.Workbook(), io.BytesIO()
    for row in csv.reader(io.StringIO(text)):
        book.active.append(row)
    book.save(kept)
    return kept.getvalue()


def parquet(text):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    kept = io.BytesIO()
    pandas.read_csv(io.StringIO(text), index_col=0, dtype=str).to_parquet(kept)
    return kept.getvalue()


FILES = {
    "limits in cells": ("x.csv", lambda: as_matrix(mark="<0.05").encode()),
    "marks": ("x.csv", lambda: as_matrix(mark="#N/A").encode()),
    "decimal commas": ("x.csv", lambda: as_matrix(";", ",").encode()),
    "gzip": ("x.tsv.gz", lambda: packed(as_matrix("\t"))),
    "text": ("x.txt", lambda: as_matrix("\t").encode()),
    "edges": ("x.csv", lambda: as_edges().encode()),
    "spreadsheet": ("x.xlsx", lambda: sheet(as_matrix())),
    "parquet": ("x.parquet", lambda: parquet(as_matrix())),
}


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_of_file_is_certified_and_compared(folder, kind):
    name, content = FILES[kind]
    (folder / name).write_bytes(content())
    done = run("certify", name, "-r", 2, "--data-error", 1e-9, "--json")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert json.loads(done.stdout)["unique"]
    np.savetxt("truth.csv", planted(), delimiter=",")
    done = run(
        "compare", name, "-r", 2, "--methods", "gauss-newton", "--truth", "truth.csv", "--json", "runs.json", "-q"
    )
    assert done.exit_code == 0, done.output
    assert json.loads((folder / "runs.json").read_text())["rows"][0]["error"] < 1e-8


def test_limits_in_cells_are_all_that_is_known_of_the_others(folder):
    """Of 1 and 4 on the diagonal the entry between is 2 or -2; `>1` tells which, and nothing known does not."""
    (folder / "x.csv").write_text("1,ND\nND,4\n")
    assert run("certify", "x.csv", "-r", 1, "--data-error", 0, "--no-threshold").exit_code == 1
    (folder / "x.csv").write_text("1,>1\n>1,4\n")
    limits = run("certify", "x.csv", "-r", 1, "--data-error", 0)
    assert limits.exit_code == 0, limits.output
    (folder / "x.csv").write_text("1,>3\n>3,4\n")
    assert run("certify", "x.csv", "-r", 1, "--data-error", 0).exit_code == 1
    for said in ("--threshold 0", "--seen below"):
        for command in ("certify", "compare"):
            done = run(command, "x.csv", "-r", 1, *said.split())
            assert done.exit_code == 2
            assert done.stderr == (
                f"error: x.csv has limits in 2 of its cells, and {said} speaks of others; drop it, or write a limit "
                "into every cell that has one\n"
            )


def test_how_it_was_read_is_said(folder):
    (folder / "x.csv").write_text(as_edges())
    words = "x.csv: read as an edge list of"
    assert words in run("certify", "x.csv", "-r", 2, "--data-error", 1e-9).stderr
    assert words in run("compare", "x.csv", "-r", 2, "--methods", "direct").stderr
    assert words not in run("compare", "x.csv", "-r", 2, "--methods", "direct", "-q").stderr
    assert "must be square" in run("compare", "x.csv", "-r", 2, "--format", "matrix").stderr
    assert words not in run("certify", "x.csv", "-r", 2, "--format", "matrix", "--max-seconds", 1).stderr


def test_standard_input(folder):
    sent = as_matrix()
    done = run("compare", "-", "-r", 2, "--methods", "direct", sent=sent)
    assert done.exit_code == 0, done.output
    assert run("certify", "-", "-r", 2, "--data-error", 1e-9, sent=sent).exit_code == 0
    done = run("certify", "-", "-r", 2, sent=sent)
    assert done.exit_code == 2
    assert done.stderr == (
        "error: standard input can be read only once where this reads twice; give --data-error, for which it need not "
        "be read again, or copy it to a file\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("x.csv", "a;b\n1,25;0,5\n0,5;3\n", 0.005),
        ("x.csv", "a;b\n1.25;0.5\n0.5;3\n", 0.005),
        ("x.csv", "1.5,<0.125\n<0.125,3\n", 0.05),
        ("x.csv", "1.5,> 1e-3\n>=1e-3,3\n", 0.05),
        ("x.txt", "1.250 0.5\n0.5 3\n", 0.0005),
        ("x.csv.gz", "1.25,0.5\n0.5,3\n", 0.005),
    ],
)
def test_digits_are_counted_as_the_file_was_read(folder, name, text, error):
    (folder / name).write_bytes(packed(text) if name.endswith("gz") else text.encode())
    assert printed_error(name) == error


def test_digits_of_a_packed_file_are_said(folder):
    (folder / "x.csv.gz").write_bytes(packed("1.25,2.5\n2.5,5\n"))
    assert "right to 0.005, half the last printed digit" in run("certify", "x.csv.gz", "-r", 1).stderr
