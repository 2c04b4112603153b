"""``unrelu complete`` of what does not fit: opened and not read, kept as factors, written by blocks."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import unrelu
import unrelu._old.io.zarr_out
import unrelu._old.shell.complete
from helpers import listening, relu_instance, table_instance
from unrelu import ZarrSource
from unrelu._old.cli import app
from unrelu._old.data.mapped import MappedSource
from unrelu._old.data.source import SparseSource
from unrelu._old.io.files import read_matrix, write_matrix
from unrelu._old.io.opened import open_zarr
from unrelu._old.io.zarr_out import write_zarr
from unrelu._old.shell import big
from unrelu._old.shell import complete as command

pytest.importorskip("zarr", minversion="3")

PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


def run(*arguments):
    return CliRunner().invoke(app, ["complete", *map(str, arguments)], env={"COLUMNS": "200"}, catch_exceptions=False)


class Library:
    """What stands for the library: what it was asked, and an answer by a method that reads everything."""

    def __init__(self):
        self.X, self.asked, self.undetermined, self.rows = None, {}, [], []

    def complete(self, X, rank=None, **asked):
        return self._answer(unrelu.complete, X, rank, asked)

    def rectangular(self, X, rank=None, **asked):
        return self._answer(unrelu.complete_rectangular, X, rank, asked)

    def _answer(self, door, X, rank, asked):
        self.X, self.asked = X, {**asked, "rank": rank}
        asked = {name: value for name, value in asked.items() if name not in ("peak_memory", "checkpoint")}
        if asked["method"] == "landmarks":
            asked["method"] = "auto"
        self.found = replace(door(X, rank, **asked), undetermined_rows=np.array(self.undetermined, np.intp))
        return self.found


@pytest.fixture
def library(monkeypatch):
    stand_in = Library()
    monkeypatch.setattr(command, "complete", stand_in.complete)
    monkeypatch.setattr(command, "complete_rectangular", stand_in.rectangular)
    return stand_in


@pytest.fixture
def folder(tmp_path, monkeypatch):
    M, _ = relu_instance(60, 3, sigma=0.1)
    X = np.where(M + M.T >= 0, (M + M.T) / 2, np.nan)
    np.save(tmp_path / "x.npy", X)
    write_matrix(tmp_path / "x.csv", X)
    write_zarr(tmp_path / "x.zarr", X)
    seen = np.argwhere(~np.isnan(X)).tolist()
    lines = [f"s{i},s{j},{float(X[i, j])!r}" for i, j in seen]
    (tmp_path / "edges.csv").write_text("\n".join(["i,j,value", *lines]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


# --- how a file is read -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "said", "kind"),
    [
        ("x.npy", ["--method", "landmarks"], MappedSource),
        ("x.npy", ["--peak-memory", "800MB"], MappedSource),
        ("x.npy", ["--checkpoint", "kept"], MappedSource),
        ("x.npy", [], np.ndarray),
        ("x.zarr", ["--method", "landmarks"], ZarrSource),
        ("x.zarr", ["--peak-memory", "1GiB"], ZarrSource),
        ("x.zarr", [], np.ndarray),
        ("x.csv", ["--method", "landmarks"], np.ndarray),
        ("edges.csv", ["--method", "landmarks", "--format", "edges"], SparseSource),
        ("edges.csv", ["--format", "edges"], np.ndarray),
    ],
)
def test_what_may_not_fit_is_opened_and_not_read(folder, library, file, said, kind):
    done = run(file, "-r", 3, "-o", "out.zarr", *said)
    assert done.exit_code == 0, done.stderr
    assert type(library.X.values) is kind
    assert library.asked["rank"] == 3
    stored = open_zarr(folder / "out.zarr")
    X = np.load(folder / "x.npy")
    seen = ~np.isnan(X)
    order = np.argsort([int(name[1:]) for name in library.found.labels]) if "edges" in file else np.arange(60)
    values = stored[...][np.ix_(order, order)]
    np.testing.assert_array_equal(values[seen], X[seen])
    np.testing.assert_allclose(stored[...], np.asarray(library.found.filled()), rtol=1e-9, atol=1e-9)
    assert "wrote out.zarr" in done.stdout


@pytest.mark.parametrize(
    ("file", "said", "kind"),
    [("x.npy", [], MappedSource), ("x.zarr", [], ZarrSource), ("edges.csv", ["--format", "edges"], SparseSource)],
)
def test_a_large_file_is_opened_without_being_told(folder, library, monkeypatch, file, said, kind):
    assert big.LARGE == 2**30
    monkeypatch.setattr(big, "LARGE", 1000)
    assert run(file, "-r", 3, "--factor-out", "f.npz", *said).exit_code == 0
    assert type(library.X.values) is kind


def test_what_is_said_reaches_the_library(folder, library):
    said = "--method landmarks --peak-memory 1.5GiB --checkpoint kept.bin --threshold 0 --seed 7 --max-seconds 50"
    assert run("x.npy", "--factor-out", "f.npz", "-r", 3, *said.split()).exit_code == 0
    asked = library.asked
    assert (asked["peak_memory"], str(asked["checkpoint"])) == (3 * 2**29, "kept.bin")
    assert (asked["method"], asked["rng"], asked["threshold"]) == ("landmarks", 7, 0.0)
    assert asked["tol"].time_limit == 50
    run("x.npy", "--factor-out", "f.npz", "-r", 3)
    assert {"peak_memory", "checkpoint"}.isdisjoint(library.asked)


def test_a_rank_need_not_be_named(folder, library):
    done = run("x.npy", "--method", "landmarks", "--factor-out", "f.npz")
    assert done.exit_code == 0, done.stderr
    assert library.asked["rank"] is None
    assert "(found from the data)" in done.stdout


def test_a_table_is_completed_as_one(tmp_path, library, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, X = table_instance(40, 25)
    np.save("x.npy", X)
    library.undetermined = [40 + 3]
    done = run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.zarr", "--no-threshold")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("40×25 table, rank 3")
    assert "not determined by the data: column 3; their unseen entries are left empty" in done.stdout
    stored = open_zarr("out.zarr")[...]
    assert stored.shape == (40, 25)
    assert np.array_equal(np.isnan(stored).any(axis=0).nonzero()[0], [3])
    about = json.loads(
        run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.zarr", "--no-threshold", "--json").stdout
    )
    assert (about["not_determined"], about["columns_not_determined"]) == ([], [3])


def test_side_outputs_bring_a_small_matrix_into_memory(folder, library):
    done = run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.npy", "--mask-out", "m.npy")
    assert done.exit_code == 0, done.stderr
    assert type(library.X.values) is np.ndarray
    assert listed(folder) == ["edges.csv", "m.npy", "out.npy", "x.csv", "x.npy", "x.zarr"]


def test_a_zarr_array_in_memory_knows_the_marks_for_missing_entries(folder, library):
    X = np.load("x.npy")
    write_zarr("marked.zarr", np.where(np.isnan(X), -999.0, X))
    assert run("marked.zarr", "-r", 3, "-o", "out.npy", "--missing", "-999").exit_code == 0
    np.testing.assert_array_equal(library.X.values, X)


def test_single_precision_stays(folder, library):
    X = np.load("x.npy").astype(np.float32)
    write_zarr("single.zarr", X)
    for said in ([], ["--method", "landmarks"]):
        assert run("single.zarr", "-r", 3, "-o", "out.zarr", *said).exit_code == 0
        stored = open_zarr("out.zarr")
        assert stored.dtype == np.float32
        np.testing.assert_array_equal(stored[...][~np.isnan(X)], X[~np.isnan(X)])


# --- what is written and said -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["x.csv", "x.npy"])
def test_factors_alone_are_enough(folder, library, file):
    said = ["--method", "landmarks"] if file == "x.npy" else []
    done = run(file, "-r", 3, "--factor-out", "f.npz", *said)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "wrote f.npz"
    again = unrelu.Completion.load("f.npz")
    np.testing.assert_array_equal(again.factor, library.found.factor)
    about = json.loads(run(file, "-r", 3, "--factor-out", "f.npz", "--json", *said).stdout)
    assert (about["output"], about["factor_output"], about["rank"]) == (None, "f.npz", 3)


def test_factors_and_matrix_are_written_together(folder, library):
    assert run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.zarr", "--factor-out", "f.npz").exit_code == 0
    assert open_zarr("out.zarr").shape == (60, 60)
    assert unrelu.Completion.load("f.npz").rank == 3


@pytest.mark.parametrize("output", ["out.npy", "out.csv", "out.npz", "out.mtx", "-"])
def test_formats_that_are_written_as_a_whole(folder, library, output):
    done = run("x.npy", "-r", 3, "--method", "landmarks", "-o", output)
    assert done.exit_code == 0, done.stderr
    assert type(library.X.values) is MappedSource
    if output == "-":
        (folder / "out.csv").write_text(done.stdout)
    found = read_matrix(folder / ("out.csv" if output == "-" else output)).values
    np.testing.assert_allclose(np.asarray(found), library.found.filled(), rtol=1e-9, atol=1e-9)


def test_labels_of_an_edge_list_are_written_where_there_is_room_for_them(folder, library):
    assert run("edges.csv", "--format", "edges", "-r", 3, "--method", "landmarks", "-o", "out.csv").exit_code == 0
    assert read_matrix(folder / "out.csv").rows == library.found.labels


def test_the_fit_everywhere(folder, library):
    assert run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.zarr", "--fit").exit_code == 0
    np.testing.assert_allclose(open_zarr("out.zarr")[...], library.found.matrix(), atol=1e-12)


def test_rows_that_are_not_determined_are_left_empty_unless_they_are_kept(folder, library):
    library.undetermined = [4, 9]
    done = run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.zarr")
    assert "not determined by the data: rows 4, 9; their unseen entries are left empty" in done.stdout
    X, stored = np.load("x.npy"), open_zarr("out.zarr")[...]
    assert np.array_equal(np.isnan(stored[4]), np.isnan(X[4]))
    assert np.array_equal(np.isnan(stored).all(axis=1).nonzero()[0], [])
    assert set(np.isnan(stored).any(axis=0).nonzero()[0]) > {4, 9}
    assert not np.isnan(np.delete(np.delete(stored, [4, 9], 0), [4, 9], 1)).any()
    kept = run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.zarr", "--keep-undetermined")
    assert "their unseen entries are kept" in kept.stdout
    assert not np.isnan(open_zarr("out.zarr")[...]).any()
    alone = run("x.npy", "-r", 3, "--method", "landmarks", "--factor-out", "f.npz")
    assert "not determined by the data: rows 4, 9\n" in alone.stdout
    about = json.loads(run("x.npy", "-r", 3, "--method", "landmarks", "--factor-out", "f.npz", "--json").stdout)
    assert about["not_determined"] == [4, 9]


def test_the_report_says_how_much_was_read_and_reads_nothing_for_it(folder, library, monkeypatch):
    @property
    def looked_for(self):
        assert self.source is None, "a pass over everything, for a report"

    monkeypatch.setattr(unrelu.Completion, "largest_misfit", looked_for)
    answer = library._answer
    monkeypatch.setattr(library, "_answer", lambda *asked: replace(answer(*asked), entries_read=1720))
    done = run("x.npy", "-r", 3, "--method", "landmarks", "--factor-out", "f.npz")
    assert done.exit_code == 0, done.stderr
    assert "1,720 entries read, 47.78% of all; " in done.stdout
    monkeypatch.setattr(library, "_answer", lambda *asked: replace(answer(*asked), entries_read=9000))
    done = run("x.npy", "-r", 3, "--method", "landmarks", "--factor-out", "f.npz")
    assert "9,000 entries read, 2.5 times as many as there are; " in done.stdout
    about = json.loads(run("x.npy", "-r", 3, "--method", "landmarks", "--factor-out", "f.npz", "--json").stdout)
    assert about["entries_read"] == 9000
    assert about["largest_misfit"] is None


def test_quiet_says_nothing(folder, library):
    done = run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.zarr", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert (library.asked["progress"], library.asked["callback"]) == (False, None)


def test_a_run_over_rows_is_said_in_lines(folder, library, monkeypatch):
    """A pipe gets lines, from the library and from writing."""
    monkeypatch.setattr("unrelu._old.loop.rows_bar.SOON", 0.0)
    monkeypatch.setattr("unrelu._old.loop.rows_bar.STILL", 0.0)

    def told(X, rank=None, **asked):
        lines = asked["callback"]
        lines.begin("attaching rows", 60)
        lines.advance(30, 1000)
        return library.complete(X, rank, **asked)

    monkeypatch.setattr(command, "complete", told)
    advance = big.RowLines.advance

    def looked(self, rows, bytes_read):
        advance(self, rows, bytes_read)
        self.look(self._began + 3)

    monkeypatch.setattr(big.RowLines, "advance", looked)
    done = run("x.npy", "-r", 3, "--method", "landmarks", "-o", "out.zarr")
    assert "attaching rows: 30 of 60 rows, 1.0 kB read, about 3 s left\n" in done.stderr
    assert "writing: 60 of 60 rows, 28.8 kB read, about 0 s left\n" in done.stderr
    assert "iteration" not in done.stderr


def test_landmarks_from_end_to_end(tmp_path, monkeypatch):
    """Nothing stands for the library here."""
    monkeypatch.chdir(tmp_path)
    M, X = relu_instance(400, 2)
    write_zarr("x.zarr", X)
    said = ["x.zarr", "-r", 2, "--method", "landmarks", "--peak-memory", "200MB", "--checkpoint", "kept.bin", "--quiet"]
    done = run(*said, "-o", "out.zarr", "--factor-out", "f.npz")
    assert done.exit_code == 0, done.stderr
    np.testing.assert_allclose(open_zarr("out.zarr")[...], M, atol=1e-8)
    found = unrelu.Completion.load("f.npz")
    assert (found.method, found.rank) == ("landmarks", 2)


# --- what must be asked for -------------------------------------------------------------------------------------------


@pytest.fixture
def narrow(monkeypatch):
    """What is 2 GiB elsewhere."""
    assert big.MOST_UNASKED == 2 * 2**30
    monkeypatch.setattr(big, "MOST_UNASKED", 60 * 60 * 8 - 1)


@pytest.mark.parametrize("file", ["x.csv", "x.npy", "x.zarr"])
@pytest.mark.parametrize(
    ("option", "path"),
    [
        ("-o", "out.zarr"),
        ("-o", "out.npy"),
        ("--errors-out", "e.npy"),
        ("--mask-out", "m.npy"),
        ("--flags-out", "f.csv"),
        ("--long-out", "l.csv"),
        ("--plot", "p.png"),
    ],
)
def test_very_many_numbers_are_not_written_unasked(folder, library, narrow, file, option, path):
    before = listed(folder)
    done = run(file, "-r", 3, option, path, "--factor-out", "factors.npz")
    assert done.exit_code == 2
    name = "--output" if option == "-o" else option
    assert done.stderr == (
        f"error: {name} {path} would be made of 60×60 numbers, which are 28.1 KiB; say --write-all if that is meant, "
        "or keep the factors alone with --factor-out factors.npz\n"
    )
    assert library.X is None
    assert listed(folder) == before


def test_they_are_written_if_they_are_asked_for(folder, library, narrow):
    assert run("x.csv", "-r", 3, "-o", "out.zarr", "--write-all").exit_code == 0
    np.testing.assert_allclose(open_zarr("out.zarr")[...], library.found.filled(), rtol=1e-9)
    done = run("x.zarr", "-r", 3, "-o", "out.npy", "--mask-out", "m.npy", "--write-all")
    assert done.exit_code == 0, done.stderr
    assert np.load("m.npy").all()


def test_factors_of_a_large_matrix_need_no_asking(folder, library, narrow, monkeypatch):
    """And nothing is made that has as many numbers as it has entries."""
    for name in ("matrix", "filled", "_dense"):
        monkeypatch.setattr(unrelu.Completion, name, None)
    monkeypatch.setattr(unrelu.Completion, "determinacy", None)
    for file in ("x.csv", "x.npy", "x.zarr"):
        done = run(file, "-r", 3, "--factor-out", "f.npz")
        assert done.exit_code == 0, done.stderr
        assert "wrote f.npz" in done.stdout
    done = run("x.csv", "-r", 3, "-o", "out.zarr", "--write-all")
    assert done.exit_code == 0, done.stderr


def test_what_is_just_small_enough_is_written(folder, library, monkeypatch):
    monkeypatch.setattr(big, "MOST_UNASKED", 60 * 60 * 8)
    assert run("x.csv", "-r", 3, "-o", "out.npy").exit_code == 0


# --- bad input --------------------------------------------------------------------------------------------------------


def damaged(folder):
    (folder / "half.npy").write_bytes((folder / "x.npy").read_bytes()[:-8])
    (folder / "bare.zarr").mkdir()
    write_zarr(folder / "torn.zarr", np.ones((4, 4)))
    (folder / "torn.zarr" / "zarr.json").write_text("{")
    write_zarr(folder / "lacking.zarr", np.ones((4, 4)))
    (folder / "lacking.zarr" / "c" / "0" / "0").unlink()
    write_zarr(folder / "wide.zarr", np.ones((4, 40)))


OUT = ["-o", "out.zarr"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["x.npy"],
            "nothing says where to write the result; name a file for the matrix with --output, or one for its fa",
        ),
        (["none.zarr", *OUT], "none.zarr does not exist; check the name and the folder it is in"),
        (["bare.zarr", *OUT], "bare.zarr is a folder without a zarr array in it"),
        (["torn.zarr", *OUT], "torn.zarr is a zarr array whose description cannot be read"),
        (["lacking.zarr", *OUT], "lacking.zarr lacks 1 of its 1 chunks, as an array does that is half written"),
        (["half.npy", *OUT], "half.npy is cut short or damaged; write it again"),
        (
            ["half.npy", *OUT, "--method", "landmarks"],
            "half.npy is cut short: its header promises 60×60 numbers in 28928 bytes, and it has 28920; write it again",
        ),
        (["half.npy", *OUT, "--peak-memory", "1GB"], "half.npy is cut short: its header promises 60×60 numbers"),
        (["x.npy", *OUT, "--checkpoint", "no/such/kept"], "no/such/kept cannot be written, for there is no folder"),
        (["x.npy", *OUT, "--checkpoint", "x.zarr"], "x.zarr is a folder where a file was expected"),
        (["x.npy", *OUT, "--checkpoint", "x.npy"], "x.npy is the input and would be overwritten"),
        (
            ["x.npy", "--factor-out", "f.npz", "--checkpoint", "f.npz"],
            "--factor-out and --checkpoint must be two files, got f.npz for both",
        ),
        (["x.npy", "--factor-out", "f.npy"], "f.npy must end in .npz"),
        (["x.npy", "--factor-out", "no/such/f.npz"], "no/such/f.npz cannot be written, for there is no folder"),
        (["x.npy", "-o", "f.npz", "--factor-out", "f.npz"], "--output and --factor-out must be two files"),
        (
            ["x.npy", *OUT, "--peak-memory", "lots"],
            "--peak-memory must be a number of bytes above 0, or a text such as '800MB' or '2GiB'; got 'lots'",
        ),
        (["x.npy", *OUT, "--peak-memory", "-3GB"], "or a text such as '800MB' or '2GiB'; got '-3GB'"),
        (["x.npy", *OUT, "--peak-memory", "3 parsec"], "or a text such as '800MB' or '2GiB'; got '3 parsec'"),
        (["x.npy", *OUT, "--peak-memory", ""], "or a text such as '800MB' or '2GiB'; got ''"),
        (
            ["x.npy", *OUT, "--peak-memory", "800"],
            "--peak-memory must be 1 MiB or more, got '800', which is 800 bytes; did you mean 800MB?",
        ),
        (
            ["x.npy", *OUT, "--peak-memory", "2GB", "--method", "pam"],
            "--peak-memory is for --method auto and --method landmarks, got --method pam; drop one of them",
        ),
        (["x.npy", *OUT, "--checkpoint", "kept", "--method", "sdp"], "--checkpoint is for --method auto and --method"),
        (
            ["x.zarr", "-o", "x.zarr"],
            "x.zarr is the input and would be overwritten; choose another name for the output",
        ),
        (["x.npy", "-o", "bare.zarr/c/x.zarr"], "cannot be written, for there is no folder"),
        (["x.npy", "-o", "x.csv/x.zarr"], "cannot be written, for there is no folder"),
        (["x.zarr", *OUT, "--format", "edges"], "x.zarr cannot be an edge list; expected text, .xlsx or .parquet"),
        (
            ["x.npy", *OUT, "--method", "landmarks", "--missing", "0"],
            "--missing is for files that are read as a whole, and x.npy is read block by block; write NaN into it",
        ),
        (
            ["x.npy", *OUT, "--method", "landmarks", "--limits", "lod.csv"],
            "--limits is for files that are read as a whole, and x.npy is read block by block",
        ),
        (["x.npy", *OUT, "--method", "landmarks", "--sensitivity"], "--sensitivity completes a matrix several times"),
        (
            ["wide.zarr", *OUT, "-r", "auto", "--factor-out", "f.npz"],
            "--factor-out is for a fit of a rank, and this file",
        ),
        (["wide.zarr", *OUT, "-r", "auto", "--start", "clique"], "--start is for a fit of a rank"),
    ],
)
def test_bad_input_is_one_line_before_the_work_starts(folder, library, arguments, text):
    damaged(folder)
    before = listed(folder)
    done = run(*arguments, *([] if "-r" in arguments else ["-r", 3]))
    assert done.exit_code == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"error: {text}") or text in done.stderr
    assert library.X is None
    assert listed(folder) == before


def test_what_is_written_as_a_whole_must_fit_into_the_memory_that_is_allowed(tmp_path, library, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((400, 400)))
    done = run("x.npy", "-r", 1, "-o", "out.csv", "--peak-memory", "1MiB")
    assert done.exit_code == 2
    assert done.stderr == (
        "error: out.csv is written as a whole, from 1.2 MiB of numbers, and --peak-memory allows 1.0 MiB; write "
        "out.zarr, which is written by blocks\n"
    )
    assert run("x.npy", "-r", 1, "-o", "out.zarr", "--peak-memory", "1MiB").exit_code == 0
    assert run("x.npy", "-r", 1, "-o", "out.csv", "--peak-memory", "2MiB").exit_code == 0


def test_a_sampler_needs_everything_in_memory(folder, library, monkeypatch):
    monkeypatch.setattr(big, "LARGE", 1000)
    done = run("x.npy", "-r", 3, "-o", "out.zarr", "--method", "gibbs")
    assert done.exit_code == 2
    assert "--method gibbs needs all of a matrix in memory, and x.npy is read block by block" in done.stderr


@pytest.mark.parametrize(
    ("text", "size"),
    [("800MB", 800_000_000), ("2GiB", 2**31), ("1.5gb", 1_500_000_000), (" 3 TiB ", 3 * 2**40), ("2097152", 2**21)],
)
def test_sizes(folder, library, text, size):
    assert run("x.npy", "-r", 3, "--factor-out", "f.npz", "--peak-memory", text).exit_code == 0
    assert library.asked["peak_memory"] == size


# --- signals ----------------------------------------------------------------------------------------------------------

# Sends itself a signal before or after a call of a function, so that nothing depends on how fast the machine is.
DRIVER = """
import importlib, os, sys
number, when, place, which = int(sys.argv[1]), *sys.argv[2].split()
del sys.argv[1:3]
module, name = place.split(":")
holder, (*path, name) = importlib.import_module(module), name.split(".")
for part in path:
    holder = getattr(holder, part)
function, calls = getattr(holder, name), [0]

def striking(*args, **kwargs):
    calls[0] += 1
    if calls[0] == int(which) and when == "before":
        os.kill(os.getpid(), number)
    result = function(*args, **kwargs)
    if calls[0] == int(which) and when == "after":
        os.kill(os.getpid(), number)
    return result

setattr(holder, name, striking)
from unrelu._old.io import zarr_out
zarr_out.CHUNK = 16
from unrelu.__main__ import main
main()
"""


def struck(moment, *arguments, cwd, number=signal.SIGINT):
    return subprocess.run(
        [sys.executable, "-c", DRIVER, str(int(number)), moment, "complete", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        env=PLAIN,
        timeout=120,
        preexec_fn=listening,
    )


def test_who_is_killed_leaves_nothing_that_could_be_taken_for_a_result(folder):
    done = struck(
        "before unrelu._old.io.zarr_out:_MoveFolder.make 1",
        "x.npy",
        "-r",
        3,
        "-o",
        "out.zarr",
        cwd=folder,
        number=signal.SIGKILL,
    )
    assert done.returncode == -signal.SIGKILL
    assert [name for name in listed(folder) if not name.startswith(".")] == ["edges.csv", "x.csv", "x.npy", "x.zarr"]


def test_who_leaves_is_told_where_it_goes_on(folder):
    said = ("x.npy", "-r", 3, "-o", "out.zarr", "--checkpoint", "kept.bin")
    done = struck("before unrelu._old.shell.complete:complete 1", *said, cwd=folder)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == (
        "interrupted; no result was written, and the same command goes on from kept.bin if that is there"
    )


def test_the_help_names_what_is_for_large_matrices():
    done = CliRunner().invoke(app, ["complete", "--help"], env={"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"})
    text = " ".join(done.stdout.split())
    for word in ("--method", "landmarks, which reads a small part", "--checkpoint", "--peak-memory", "SIZE"):
        assert word in text
    for word in ("--factor-out", "--write-all", "more than 2 GiB", "such as 800MB or 2GiB", ".mtx or .zarr"):
        assert word in text
    assert big.MOST_UNASKED == 2 * 2**30, "the help says so"
    assert big.LARGE == 2**30, "the help says so"
