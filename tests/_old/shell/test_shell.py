"""The shell where things are not as they should be: streams, alphabets, hostile names, time that is over."""

import json
import os
import subprocess
import sys
import warnings
from dataclasses import fields, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unrelu
import unrelu._old.base.budget
import unrelu._old.shell.certify
import unrelu._old.shell.complete
import unrelu._old.shell.locate
import unrelu._old.shell.streams
from helpers import relu_instance
from unrelu import Completion, InputError, Record, Stop, Verdict
from unrelu._old.base.budget import OutOfTime, checkpoint
from unrelu._old.base.printable import printable
from unrelu._old.cli import app
from unrelu._old.io.files import read_matrix, write_matrix
from unrelu._old.loop.progress import Lines, Spinner
from unrelu._old.shell.answer import Answer
from unrelu._old.show.maps import draw_map
from unrelu._old.show.plots import save_figure
from unrelu.datasets import points_in_cube, within

COMMAND = f"{sys.executable} -m unrelu"
PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


def bash(line, cwd, **env):
    return subprocess.run(
        ["bash", "-c", line], cwd=cwd, capture_output=True, encoding="utf-8", env={**PLAIN, **env}, timeout=120
    )


def shell(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_matrix(tmp_path / "x.csv", relu_instance(30, 3)[1])
    return tmp_path


# Streams


@pytest.mark.parametrize(
    ("redirection", "code"),
    [
        ("2>&1 | true; exit ${PIPESTATUS[0]}", 0),
        ("| true; exit ${PIPESTATUS[0]}", 0),
        ("2>/dev/full", 0),
        (">/dev/full", 0),
        ("2>&-", 0),
        (">&-", 0),
        ("<&- >&- 2>&-", 0),
        ("--json | true; exit ${PIPESTATUS[0]}", 0),
        ("--json >/dev/full", 2),
        ("--json >/dev/full 2>&1", 2),
    ],
)
def test_the_file_is_whole_and_the_exit_code_its_own_whatever_becomes_of_the_words(folder, redirection, code):
    done = bash(f"{COMMAND} complete x.csv -r 3 -o out.csv --mask-out mask.csv {redirection}", folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    M, _ = relu_instance(30, 3)
    np.testing.assert_allclose(read_matrix(folder / "out.csv").values, M, atol=1e-7)
    assert (read_matrix(folder / "mask.csv").values == 1).all()
    assert sorted(path.name for path in folder.iterdir()) == ["mask.csv", "out.csv", "x.csv"]
    if redirection == "--json >/dev/full":
        assert "error: standard output cannot be written: No space left on device; " in done.stderr
        assert "(out.csv is written)" in done.stderr
    if redirection == ">/dev/full":
        assert "warning: the report cannot be printed: No space left on device" in done.stderr


def test_closed_streams_are_taken_before_a_file_of_ours_is_one_of_them(tmp_path):
    code = (
        "import os, unrelu._old.shell.streams as s; s.prepare(); null = os.stat(os.devnull).st_rdev; "
        "found = [os.fstat(k).st_rdev == null for k in range(3)]; open('found', 'w').write(str(found))"
    )
    assert bash(f'{sys.executable} -c "{code}" <&- >&- 2>&-', tmp_path).returncode == 0
    assert (tmp_path / "found").read_text() == "[True, True, True]"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("certify x.csv -r 3 > /dev/full", 2),  # the report is all there is
        ("certify x.csv -r 3 | true; exit ${PIPESTATUS[0]}", 0),
        ("certify x.csv -r 3 2>/dev/full", 0),
        ("--help > /dev/full", 2),
        ("--version > /dev/full", 2),
        ("complete none.csv -r 3 -o out.csv 2>&-", 2),
    ],
)
def test_what_is_asked_for_on_standard_output_must_get_there(folder, line, code):
    done = bash(f"{COMMAND} {line}", folder)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command", ["complete x.csv -r 3 -o out.csv", "certify x.csv -r 3", "--help", "complete --help"]
)
def test_a_terminal_without_our_letters(folder, command):
    done = bash(f"{COMMAND} {command}", folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).isascii()
    assert "Traceback" not in done.stderr
    if command.startswith("complete x"):
        assert done.stdout.startswith("30x30 matrix")


def test_a_refusal_on_such_a_terminal(folder):
    done = bash(f"{COMMAND} complete x.csv -r 3 -o out.csv --threshold 9", folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert "every seen entry must be >= --threshold 9" in done.stderr


# Names that are no text

EVIL = "a\x1b[2J\r\n\u202eb"
ESCAPED = r"a\x1b[2J\r\n\u202eb"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (EVIL, ESCAPED),
        ("plain, ünïcode, 日本 and spaces\u00a0\u3000", "plain, ünïcode, 日本 and spaces\u00a0\u3000"),
        ("\x7f\x9b\u2028\u2066\u200f\ufeff\x00", r"\x7f\x9b\u2028\u2066\u200f\ufeff\x00"),
        ("\udcff", r"\udcff"),
    ],
)
def test_printable(raw, shown):
    assert printable(raw) == shown
    assert printable(raw + "\n", keep="\n") == (shown + "\n" if raw != EVIL else ESCAPED.replace(r"\n", "\n") + "\n")


def clean(text):
    return all(letter.isprintable() or letter in "\n\u00a0" for letter in text)


def test_labels_reach_the_terminal_escaped_and_the_file_as_they_are(folder):
    M, _ = relu_instance(20, 3)
    X = np.where(M >= 0, M, np.nan)
    others = np.setdiff1d(np.flatnonzero(~np.isnan(X[7])), [7])
    X[7, others[1:]] = X[others[1:], 7] = np.nan
    names = [f"s{k}" for k in range(20)]
    names[7] = EVIL
    write_matrix(folder / "evil.csv", X, rows=names, columns=names)
    done = shell("complete", "evil.csv", "-r", 3, "--no-threshold", "-o", "out.csv")
    assert f"row {ESCAPED};" in done.stdout
    assert clean(done.stdout)
    assert clean(done.stderr)
    assert read_matrix(folder / "out.csv").rows == tuple(names)
    certified = shell("certify", "evil.csv", "-r", 3, "--no-threshold")
    assert ESCAPED in certified.stdout
    assert clean(certified.stdout + certified.stderr)


def test_cells_and_paths_reach_the_terminal_escaped(folder):
    (folder / "cell.csv").write_text("1,\x1b[31mred\u202e\n2,3\n", encoding="utf-8")
    done = shell("complete", "cell.csv", "-r", 1, "-o", "out.csv", "--no-header", "--no-labels")
    assert done.exit_code == 2
    assert clean(done.stderr)
    assert r"\x1b[31mred" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    (folder / "x\x1b]0;title\x07\n.csv").write_bytes((folder / "x.csv").read_bytes())
    done = shell("complete", "x\x1b]0;title\x07\n.csv", "-r", 3, "-o", "y\x1b\n.csv")
    assert done.exit_code == 0
    assert r"wrote y\x1b\n.csv" in done.stdout
    assert clean(done.stdout + done.stderr)
    assert (folder / "y\x1b\n.csv").exists()
    missing = shell("complete", "no\x1b\n.csv", "-r", 3, "-o", "out.csv")
    assert missing.stderr == "error: no\\x1b\\n.csv does not exist; check the name and the folder it is in\n"


def test_numbers_as_labels_are_labels_in_the_mask_too(folder):
    _, X = relu_instance(12, 2)
    ids = [4711 + k for k in range(12)]
    unknown = np.zeros(X.shape, int)
    unknown[0, 1] = unknown[1, 0] = 1
    X[0, 1] = X[1, 0] = np.nan
    write_matrix(folder / "ids.csv", X, rows=ids, columns=ids)
    write_matrix(folder / "mask.csv", unknown, rows=ids, columns=ids)
    done = shell("complete", "ids.csv", "-r", 2, "--unknown", "mask.csv", "-o", "out.csv")
    assert done.stdout.startswith("12×12 matrix")
    assert read_matrix(folder / "out.csv").rows == tuple(map(str, ids))


def test_a_matrix_with_one_column_too_many_is_told_of_labels(folder):
    (folder / "ids.csv").write_text("id,7,9\n9,1,2\n7,2,3\n")
    done = shell("complete", "ids.csv", "-r", 1, "-o", "out.csv")
    assert done.stderr == (
        "error: ids.csv must be square, got 2 rows and 3 columns; if its first column holds labels, say --labels; "
        "if its first row holds entries, say --no-header; say --table if it is one of rows by columns\n"
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("complete x.csv -r 2 -o o.csv --tol -1", "--tol must be a number ≥ 0; got -1.0"),
        ("complete x.csv -r 2 -o o.csv --max-iter -1", "--max-iter must be an integer ≥ 0, got -1"),
        ("complete x.csv -r 99 -o o.csv", "--rank must be between 1 and 30, the size of the matrix; got 99"),
        ("complete x.csv -r 2 -o o.csv --threshold inf", "or say --no-threshold if absence says nothing; got inf"),
        ("complete x.csv -r 2 -o o.csv --method gnmr --loss one-sided", "drop --loss, or choose another method"),
        (
            "complete x.csv -r 2 -o o.csv --truth one.csv",
            "--truth must have the shape of the matrix, (30, 30), got (1, 1)",
        ),
        ("certify x.csv -r 2 --data-error -1", "--data-error must be a number ≥ 0, or left out for the rounding"),
        ("locate ranges.csv -d 2 -o p.csv --cutoff -1", "--cutoff must be a positive number, or left out if absence"),
        ("compare x.csv -r 2 --budget -1", "--budget must be a number of seconds above 0, got -1.0"),
    ],
)
def test_errors_speak_of_options(folder, line, words):
    (folder / "one.csv").write_text("1\n")
    (folder / "ranges.csv").write_text("a,b,1\nb,c,2\na,c,1.5\n")
    done = shell(*line.split())
    assert done.exit_code == 2
    assert words in done.stderr


def test_reports_speak_of_options(folder):
    (folder / "ranges.csv").write_text("a,b,1\nb,c,2\na,c,1.5\n")
    assert "give --sigma to have them." in shell("locate", "ranges.csv", "-d", 2, "-o", "p.csv").stdout
    done = shell("complete", "x.csv", "-r", 3, "-o", "o.csv", "--method", "gradient-descent", "--max-iter", 2)
    assert "raise --max-iter, or --tol" in done.stdout


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [("--threshold", "zero", "expected a number, got 'zero'"), ("--rank", "2.5", "or auto; got '2.5'")],
)
def test_what_is_no_number_is_quoted(folder, option, value, words):
    done = shell("complete", "x.csv", "-r", 3, "-o", "o.csv", option, value)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())


def test_a_label_of_several_rows_is_said_once(folder):
    (folder / "twice.csv").write_text(",a,b,a\na,1,2,3\nb,2,4,6\na,3,6,9\n")
    done = shell("complete", "twice.csv", "-r", 1, "-o", "o.csv", "--quiet")
    assert done.exit_code == 0
    assert done.stderr == (
        "warning: twice.csv gives 2 rows the label 'a'; they are kept apart, but a message cannot say which of them it "
        "means\n"
    )


def test_a_path_that_is_not_utf_8(folder):
    os.rename(b"x.csv", b"\xff.csv")
    done = bash(f"{COMMAND} complete $'\\xff.csv' -r 3 -o $'\\xfe.csv'", folder)
    assert done.returncode == 0, done.stderr
    assert r"wrote \udcfe.csv" in done.stdout
    assert os.path.exists(b"\xfe.csv")


@pytest.mark.parametrize("dim", [2, 3])
def test_a_map_of_hostile_names_is_valid_xml_and_no_formula(tmp_path, dim):
    points = points_in_cube(12, dim, rng=0)
    names = [EVIL, "a$b$c", r"$\frac{$", "x & <y>", *map(str, range(8))]
    completion = unrelu.complete_distances(within(points, 0.9), dim, names=names, rng=0)
    save_figure(draw_map(completion), tmp_path / "m.svg")
    ElementTree.parse(tmp_path / "m.svg")
    figure = draw_map(completion)
    written = [text.get_text().strip() for text in figure.axes[0].texts]
    assert written[:4] == [ESCAPED, "a$b$c", r"$\frac{$", "x & <y>"]


# Odd requests


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--seed", "-1"], "error: --seed must be an integer ≥ 0, got -1"),
        (["demo", "--size", "0"], "error: --rank must be between 1 and n=0, got 5"),
        (
            ["complete", "x.csv", "-r", "3", "-o", "o.csv", "--seed", "-1"],
            "error: --seed must be an integer ≥ 0, got -1",
        ),
        (["certify", "x.csv", "-r", "3", "--seed", "-1"], "error: --seed must be an integer ≥ 0, got -1"),
        (["compare", "--planted", "9,1,0", "--seed", "-1"], "error: --seed must be an integer ≥ 0, got -1"),
        (
            ["complete", "x.csv", "-r", "3", "-o", "o.csv", "--max-seconds", "0"],
            "error: --max-seconds must be a positive number of seconds, got 0",
        ),
        (
            ["complete", "x.csv", "-r", "3", "-o", "o.csv", "--max-seconds", "nan"],
            "error: --max-seconds must be a positive number of seconds, got nan",
        ),
        (
            ["complete", "x.csv", "-r", "3", "-o", "o.csv", "--max-seconds", "5", "--tol", "-1"],
            "error: --tol must be a number ≥ 0, got -1.0",
        ),
        (["complete", "x.csv", "-r", "3", "-o", "pipe.csv"], "error: pipe.csv is a pipe or a device"),
        (["compare", "x.csv", "-r", "3", "--csv", "pipe.csv"], "error: pipe.csv is a pipe or a device"),
    ],
)
def test_odd_requests_are_refused_in_one_line(folder, arguments, words):
    os.mkfifo("pipe.csv")
    done = shell(*arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(words)
    assert len(done.stderr.splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["pipe.csv", "x.csv"]


# Verdicts and what is written


def judged(code, levels, monkeypatch):
    """A completion that ended as told, with rows determined as told."""
    M, X = relu_instance(6, 2)
    completion = unrelu.complete(X, 2, rng=0)
    made = Completion(**{**vars_of(completion), "verdict": Verdict(code, "as told")})
    monkeypatch.setattr(Completion, "determinacy", property(lambda self: np.array(levels)))
    monkeypatch.setattr(Completion, "determined", property(lambda self: np.array(levels) == "generic"))

    def entries(self, row, cols):
        levels_ = np.array(levels)
        worst = np.where((levels_[row] == "no") | (levels_[cols] == "no"), "no", "local")
        return np.where(np.isnan(X[row, cols]), worst, "proved")

    monkeypatch.setattr(Completion, "entry_determinacy", entries)
    return M, X, made


def vars_of(completion):
    return {each.name: getattr(completion, each.name) for each in fields(completion)}


@pytest.mark.parametrize("fit", [False, True])
def test_of_what_is_no_answer_the_best_point_is_written_but_for_rows_that_can_move(monkeypatch, fit):
    levels = ["local"] * 5 + ["no"]
    _, X, completion = judged(Stop.MAX_SECONDS, levels, monkeypatch)
    answer = Answer.of(completion, keep=False, seconds=None)
    values = answer.values(fit)
    unseen = np.isnan(X)
    free = unseen.copy()
    free[:5, :5] = False
    assert np.array_equal(np.isnan(values), free)
    assert free.any()
    assert answer.report(None)[-1] == (
        "no row is called determined; the entries written are those of the best point found, but for those that can "
        "take any value, of row 5"
    )
    kept = Answer.of(completion, keep=True, seconds=None)
    assert not np.isnan(kept.values(fit)).any()


def test_of_many_rows_five_are_named(monkeypatch):
    *_, completion = judged(Stop.FITTED, ["local"] * 6, monkeypatch)
    answer = Answer.of(completion, keep=False, seconds=None)
    names = tuple("abcdef")
    assert answer.report(names)[-1].startswith("not determined by the data: rows a, b, c, d, e and 1 more; their")
    answer = replace(answer, determined=np.zeros(5000, bool))
    assert "rows 0, 1, 2, 3, 4 and 4995 more;" in answer.report(None)[-1]


def test_the_best_fit_of_a_rank_is_an_answer_with_a_sentence(folder, monkeypatch):
    _, _, completion = judged(Stop.BEST_OF_RANK, ["generic"] * 6, monkeypatch)
    words = "the data are not of rank 2, as real data never are exactly of a rank: this is the best fit of that rank"
    assert any(line.startswith(words) for line in Answer.of(completion, False, None).report(None))
    monkeypatch.setattr(unrelu._old.shell.complete, "complete", lambda *args, **options: completion)
    done = shell("complete", "x.csv", "-r", 2, "-o", "out.csv")
    assert done.exit_code == 0
    assert words in done.stdout
    quiet = shell("complete", "x.csv", "-r", 2, "-o", "out.csv", "--quiet")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")


@pytest.mark.parametrize("code", [Stop.STATIONARY, Stop.UNDERDETERMINED, Stop.MAX_SECONDS, Stop.STALLED])
def test_what_is_no_answer_exits_with_1_and_says_so_even_quietly(folder, monkeypatch, code):
    _, _, completion = judged(code, ["local"] * 6, monkeypatch)
    monkeypatch.setattr(unrelu._old.shell.complete, "complete", lambda *args, **options: completion)
    done = shell("complete", "x.csv", "-r", 2, "-o", "out.csv", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "not converged: as told\n")
    assert not np.isnan(read_matrix(folder / "out.csv").values).any()


def test_an_interrupted_completion_is_not_written(folder, monkeypatch):
    _, _, completion = judged(Stop.INTERRUPTED, ["local"] * 6, monkeypatch)
    monkeypatch.setattr(unrelu._old.shell.complete, "complete", lambda *args, **options: completion)
    done = shell("complete", "x.csv", "-r", 2, "-o", "out.csv")
    assert (done.exit_code, done.stderr) == (130, "interrupted; nothing was written\n")
    assert not (folder / "out.csv").exists()


# Time


def test_max_seconds_goes_to_complete_beside_the_rule_of_the_method(folder, monkeypatch):
    given = {}
    original = unrelu._old.shell.complete.complete

    def spy(*args, **options):
        given.update(options)
        return original(*args, **options)

    monkeypatch.setattr(unrelu._old.shell.complete, "complete", spy)
    assert shell("complete", "x.csv", "-r", 3, "-o", "out.csv", "--max-seconds", 7).exit_code == 0
    assert repr(given["tol"]) == "RelativeGradientNormBelow(1e-15) | MaxSeconds(7)"
    assert shell("complete", "x.csv", "-r", 3, "-o", "out.csv", "--max-seconds", 7, "--tol", 1e-9).exit_code == 0
    assert repr(given["tol"]) == "RelativeGradientNormBelow(1e-09) | MaxSeconds(7)"
    assert shell("complete", "x.csv", "-r", 3, "-o", "out.csv", "--tol", 1e-9).exit_code == 0
    assert given["tol"] == 1e-9


def test_max_seconds_writes_the_best_so_far(folder):
    _, X = relu_instance(200, 10, sigma=0.5)
    write_matrix(folder / "slow.npy", X)
    options = ("--method", "gradient-descent", "--tol", 0, "--max-iter", 10**7, "--max-seconds", 0.5)
    done = shell("complete", "slow.npy", "-r", 10, "-o", "out.npy", "--json", *options)
    assert done.exit_code == 1, done.stderr
    assert json.loads(done.stdout)["code"] == "max-seconds"
    assert np.load(folder / "out.npy").shape == (200, 200)


def test_where_no_time_is_left_for_what_is_determined_everything_is_written_and_said(monkeypatch):
    _, X, completion = judged(Stop.MAX_SECONDS, ["no"] * 6, monkeypatch)
    seconds = []

    def late(self):
        seconds.append(unrelu._old.base.budget.current().seconds)
        raise OutOfTime

    monkeypatch.setattr(Completion, "determinacy", property(late))
    answer = Answer.of(completion, keep=False, seconds=-3.0)
    assert seconds == [1.0]  # a moment is always given
    assert not np.isnan(answer.values(fit=False)).any()
    assert np.array_equal(answer.mask() == 1, ~np.isnan(X))
    assert np.isinf(answer.errors()).all()
    assert answer.noise() is None
    assert "there was no time to find out which rows the data determine" in answer.report(None)[-1]


def test_max_seconds_of_locate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_matrix(tmp_path / "d.csv", within(points_in_cube(12, 2, rng=0), 0.9))
    given = {}

    def spy(*args, **options):
        given.update(options)
        raise InputError("enough")

    monkeypatch.setattr(unrelu._old.shell.locate, "complete_distances", spy)
    shell("locate", "d.csv", "-d", 2, "-o", "p.csv", "--max-seconds", 7)
    assert given["max_seconds"] == 7
    given.clear()
    shell("locate", "d.csv", "-d", 2, "-o", "p.csv")
    assert given["max_seconds"] is None


def test_max_seconds_of_certify(folder, monkeypatch):
    def endless(*args, **options):
        while True:
            checkpoint()

    monkeypatch.setattr(unrelu._old.shell.certify, "certify", endless)
    done = shell("certify", "x.csv", "-r", 3, "--max-seconds", 0.01)
    assert done.exit_code == 1
    assert "not proved within 0.01 s, and not refuted; " in done.stderr
    assert done.stdout == ""


def test_help_says_what_max_seconds_does_not_cover():
    text = " ".join(shell("complete", "--help").stdout.replace("│", " ").split())
    assert "Reading and writing files, the method sdp, and single steps of linear algebra" in text


# How a run shows that it lives


def test_a_phase_is_named_once_it_takes_a_while():
    told = []
    lines = Lines(told.append)
    began = lines._began
    lines.phase("placing rows")
    started = lines._began
    lines.look(started + 0.5)
    assert told == []
    lines.look(started + 1.5)
    lines.look(started + 2.0)
    assert told == ["placing rows, 2 s so far"]
    lines.look(started + 12.0)
    assert told[1:] == ["placing rows, 12 s so far"]
    lines.phase("fitting")
    assert lines._began >= began
    lines.look(lines._began + 20.0)
    assert told[2:] == ["fitting, 20 s so far"]


def test_iterations_are_said_every_tenth_and_keep_phases_quiet():
    told = []
    lines = Lines(told.append)
    lines.phase("fitting")
    for k in range(21):
        lines(Record(k, 1.0, 0.1, 0.0))
    assert [line.split(":")[0] for line in told] == ["iteration 0", "iteration 10", "iteration 20"]
    lines.look(lines._last + 0.9)
    assert len(told) == 3


def test_lines_tick_by_themselves(monkeypatch):
    monkeypatch.setattr("unrelu._old.loop.progress.SOON", 0.01)
    from threading import Event

    heard = Event()
    with Lines(lambda line: heard.set()) as lines:
        lines.phase("finding fully seen blocks")
        assert heard.wait(30)


def test_the_bar_names_the_phase():
    from unrelu import MaxIterations, OneSided
    from unrelu._old.data.observations import Observations
    from unrelu._old.loop.progress import Bar
    from unrelu._old.problems.psd import PSDProblem

    problem = PSDProblem(Observations.of(relu_instance(6, 2)[1], threshold=0.0, seen="above"), 2, OneSided())
    bar = Bar(problem, MaxIterations(5))
    bar.phase("placing rows")
    assert bar._bar.tasks[0].description == "placing rows"


def test_what_is_determined_is_a_phase_of_its_own(monkeypatch):
    told = []
    _, _, completion = judged(Stop.FITTED, ["generic"] * 6, monkeypatch)
    Answer.of(completion, keep=False, told=told.append)
    assert told == ["finding out which rows are determined"]


def test_a_spinner_names_the_phase_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Spinner() as spinner:
        assert capsys.readouterr().err == ""
        spinner.phase("looking for a proof")
        spinner.phase("looking for a stress")
        assert str(spinner._status.status) == "looking for a stress"
    assert "looking for a" in capsys.readouterr().err


# reproduce


@pytest.mark.parametrize(
    "line",
    ['{"found": 7}', '{"found": {"nonsense": 1}}', '{"found": {"shares": "text"}}', '{"found": []}'],
)
def test_a_log_of_the_wrong_shape_is_a_sentence_or_a_trial_to_run_again(tmp_path, line):
    from unrelu._old.experiments import EXPERIMENTS
    from unrelu._old.experiments.reproduce import reproduce

    experiment = EXPERIMENTS["figure-orthants"]
    (task,) = experiment.tasks(experiment.sizes(quick=True, trials=1, rng=0))
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "reproduction.json").write_text("{}")
    entry = {
        "experiment": "figure-orthants",
        "edition": experiment.edition,
        "task": task,
        "seconds": 1,
        **json.loads(line),
    }
    (folder / "trials.jsonl").write_text(json.dumps(entry) + "\n")
    options = dict(quick=True, trials=1, jobs=1)
    if isinstance(entry["found"], dict):
        words = (
            r"trials.jsonl holds trials of figure-orthants that are not as this version writes them .*; move it away"
        )
        with pytest.raises(InputError, match=words):
            reproduce(["figure-orthants"], folder, **options)
    else:
        assert reproduce(["figure-orthants"], folder, **options).run == 1


def test_a_section_of_the_wrong_shape_is_left_out(tmp_path):
    from unrelu._old.experiments.outputs import PARTS, read_section

    Path(tmp_path, "section.json").write_text(json.dumps({**dict.fromkeys(PARTS), "tables": [7], "pictures": []}))
    assert read_section(tmp_path) is None


@pytest.fixture
def table_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 12))
    rows, columns = [f"s{k}" for k in range(30)], [f"c{k}" for k in range(12)]
    pd.DataFrame(np.where(M >= 0, M, np.nan), rows, columns).to_csv(tmp_path / "table.csv")
    pd.DataFrame(M, rows, columns).to_csv(tmp_path / "truth.csv")
    return M, tmp_path


def test_a_rectangular_file_is_completed_as_a_table(table_file):
    M, folder = table_file
    more = ("--truth", "truth.csv", "--errors-out", "errors.csv", "--mask-out", "mask.csv")
    done = shell("complete", "table.csv", "-r", 3, "-o", "out.csv", *more)
    assert done.exit_code == 0, done.stderr
    assert "30×12 table, rank 3, by gauss-newton" in done.stdout
    assert "100% of the rows and 100% of the columns are determined" in done.stdout
    assert "completion error against the truth" in done.stdout
    found = pd.read_csv(folder / "out.csv", index_col=0)
    assert list(found.index[:2]) == ["s0", "s1"]
    assert list(found.columns[:2]) == ["c0", "c1"]
    np.testing.assert_allclose(found.to_numpy(), M, atol=1e-8)
    assert pd.read_csv(folder / "mask.csv", index_col=0).to_numpy().all()
    assert (pd.read_csv(folder / "errors.csv", index_col=0).to_numpy() < 1e-6).all()
    said = json.loads(shell("complete", "table.csv", "-r", 3, "-o", "again.csv", "--json").stdout)
    assert said["shape"] == [30, 12]
    assert said["largest_misfit"]["column"].startswith("c")


@pytest.mark.parametrize(("method", "start"), [("momentum-pam", "gaussian"), ("direct", "zero"), ("gnmr", "spectral")])
def test_a_table_by_a_named_method(table_file, method, start):
    M, folder = table_file
    done = shell("complete", "table.csv", "-r", 3, "-o", "out.csv", "--table", "--method", method)
    assert done.exit_code == 0, done.stderr
    assert f"30×12 table, rank 3, by {method} from the {start} start" in done.stdout
    np.testing.assert_allclose(pd.read_csv(folder / "out.csv", index_col=0).to_numpy(), M, atol=1e-5)


@pytest.mark.parametrize("seconds", [(), ("--max-seconds", "1e-9")])
def test_programs_are_told_which_columns_are_not_determined(table_file, seconds, monkeypatch):
    monkeypatch.setattr("unrelu._old.shell.answer.GRACE", 1e-9)
    _, folder = table_file
    frame = pd.read_csv(folder / "table.csv", index_col=0)
    frame.loc["s4"], frame["c7"] = np.nan, np.nan
    frame.to_csv(folder / "holes.csv")
    told = json.loads(shell("complete", "holes.csv", "-r", 3, "-o", "out.csv", "--json", *seconds).stdout)
    everything = list(frame.index), list(frame.columns)
    expected = everything if seconds else (["s4"], ["c7"])
    assert (told["not_determined"], told["columns_not_determined"]) == expected


def test_certify_says_warnings_as_complete_does(table_file):
    _, folder = table_file
    frame = pd.read_csv(folder / "table.csv", index_col=0)
    frame.loc["s4"] = np.nan
    frame.to_csv(folder / "holes.csv")
    fact = "nothing was seen of row s4; completed as well as may be, which the data do not determine"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = shell("certify", "holes.csv", "-r", 3)
        told = json.loads(shell("certify", "holes.csv", "-r", 3, "--json").stdout)
    assert f"warning: {fact}\n" in done.stderr
    assert told["warnings"] == [fact]


def test_a_method_that_is_not_for_tables_says_why(table_file):
    done = shell("complete", "table.csv", "-r", 3, "-o", "out.csv", "--method", "sdp")
    assert done.exit_code == 2
    assert "it looks for a positive semidefinite matrix, which a table is not; use auto, gauss-newton, " in done.stderr


def test_a_table_that_is_nearly_square_is_asked_about(table_file):
    _, folder = table_file
    frame = pd.read_csv(folder / "table.csv", index_col=0).iloc[:13]
    frame.to_csv(folder / "near.csv")
    done = shell("complete", "near.csv", "-r", 2, "-o", "out.csv")
    assert done.exit_code == 2
    assert "say --table if it is one of rows by columns" in done.stderr
    done = shell("complete", "near.csv", "-r", 2, "-o", "out.csv", "--table")
    assert "13×12 table" in done.stdout
