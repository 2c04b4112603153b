"""Ctrl-C at chosen moments: exit code 130 and the old files, or the code of the whole run and all of the new ones."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from helpers import listening, relu_instance
from unrelu.data.planted import points_in_cube, within
from unrelu.io.files import write_matrix

PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}

# Sends itself a signal at one moment of a command, so that nothing depends on how fast the machine is. A moment is
# "load NAME", when a module begins to be loaded, or "before" or "after" a call of a function, and which call.
DRIVER = """
import importlib, os, signal, sys
number, moment = int(sys.argv[1]), sys.argv[2].split()
if number != signal.SIGINT:
    signal.signal(number, signal.SIG_DFL)  # nohup ignores some
del sys.argv[1:3]

def strike():
    os.kill(os.getpid(), number)

if moment[0] == "load":
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == moment[1]:
                strike()
    sys.meta_path.insert(0, Finder())
elif moment[0] != "never":
    when, place, which = moment
    module, name = place.split(":")
    module = importlib.import_module(module)
    function, calls = getattr(module, name), [0]

    def striking(*args, **kwargs):
        calls[0] += 1
        now = calls[0] == int(which)
        if now and when == "before":
            strike()
        if now and when == "swallowed":
            try:
                strike()
            except BaseException:
                pass
        if now and when == "twice":
            strike()
            strike()
        if now and when == "computing":
            # A computation in C that takes minutes, lets go of the interpreter and asks nobody.
            import hashlib, threading
            threading.Timer(0.1, strike).start()
            hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
        result = function(*args, **kwargs)
        if now and when == "after":
            strike()
        return result

    setattr(module, name, striking)

from unrelu.__main__ import main
main()
"""


def struck(moment, *arguments, cwd, number=signal.SIGINT):
    return subprocess.run(
        [sys.executable, "-c", DRIVER, str(int(number)), moment, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        env=PLAIN,
        timeout=120,
        preexec_fn=listening,
    )


def state(folder, outputs):
    """The files that are there, with "old" or "new" for the outputs."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {name: "old" if found[name] == b"old" else "new" for name in outputs}, sorted(set(found) - set(outputs))


COMPLETED = ["a.csv", "b.csv", "c.csv"]
COMPLETE = ("complete", "x.csv", "-r", 3, "-o", "a.csv", "--mask-out", "b.csv", "--errors-out", "c.csv")


@pytest.fixture
def folder(tmp_path):
    write_matrix(tmp_path / "x.csv", relu_instance(30, 3)[1])
    for name in COMPLETED:
        (tmp_path / name).write_text("old")
    return tmp_path


@pytest.mark.parametrize(
    "moment",
    [
        "load unrelu.shell.streams",
        "load numpy.linalg",  # NumPy takes an interrupt in here for a broken installation
        "load unrelu.cli",
        "before unrelu.io.reader:read_records 1",
        "before unrelu.shell.complete:complete 1",
        "swallowed unrelu.shell.complete:complete 1",
        "computing unrelu.shell.complete:complete 1",
        "before unrelu.shell.outputs:write_matrix 3",
        "after unrelu.shell.outputs:write_matrix 3",
    ],
)
def test_before_the_files_are_moved_it_is_130_and_the_old_state(folder, moment):
    done = struck(moment, *COMPLETE, cwd=folder)
    assert done.returncode == 130, done.stderr
    assert state(folder, COMPLETED) == (dict.fromkeys(COMPLETED, "old"), ["x.csv"])
    assert done.stderr.splitlines()[-1] == "interrupted; nothing was written"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "moment",
    [
        "never",
        "before os:replace 1",
        "after os:replace 1",
        "after os:replace 3",
        "before unrelu.shell.outputs:out 1",
        "twice unrelu.shell.outputs:out 1",
        "before os:_exit 1",
    ],
)
def test_once_the_moves_begin_all_are_made_and_it_is_0(folder, moment):
    done = struck(moment, *COMPLETE, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert state(folder, COMPLETED) == (dict.fromkeys(COMPLETED, "new"), ["x.csv"])
    assert "interrupted" not in done.stderr
    assert "Traceback" not in done.stderr
    assert ("wrote a.csv" in done.stdout) is not moment.startswith("twice")  # who insists need not wait for words


@pytest.mark.parametrize(
    ("moment", "code"),
    [
        ("after unrelu.shell.outputs:write_words 1", 130),
        ("after unrelu.shell.outputs:write_long 1", 130),
        ("load matplotlib.figure", 130),
        ("after unrelu.show.plots:save_figure 1", 130),
        ("after os:replace 1", 0),
    ],
)
def test_what_shows_the_imputed_is_moved_together_with_the_answer(folder, moment, code):
    written = ["a.csv", "b.csv", "c.csv", "d.png"]
    (folder / "d.png").write_text("old")
    options = ("-o", "a.csv", "--flags-out", "b.csv", "--long-out", "c.csv", "--plot", "d.png")
    done = struck(moment, "complete", "x.csv", "-r", 3, *options, cwd=folder)
    assert done.returncode == code, done.stderr
    assert state(folder, written) == (dict.fromkeys(written, "old" if code else "new"), ["x.csv"])


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_leave_no_temporary_file_either(folder, name):
    number = getattr(signal, name)
    done = struck("after unrelu.shell.outputs:write_matrix 3", *COMPLETE, cwd=folder, number=number)
    assert done.returncode == 128 + number
    assert state(folder, COMPLETED) == (dict.fromkeys(COMPLETED, "old"), ["x.csv"])


def test_a_result_that_is_not_the_answer_keeps_its_exit_code(folder):
    options = ("--method", "gradient-descent", "--max-iter", 1)
    done = struck("after os:replace 3", *COMPLETE, *options, cwd=folder)
    assert done.returncode == 1, done.stderr
    assert state(folder, COMPLETED)[0] == dict.fromkeys(COMPLETED, "new")


@pytest.mark.parametrize(
    ("moment", "code"),
    [
        ("before unrelu.shell.locate:complete_distances 1", 130),
        ("load matplotlib.figure", 130),
        ("before unrelu.show.plots:save_figure 1", 130),
        ("after os:replace 1", 0),
    ],
)
def test_locate_moves_positions_and_map_together(tmp_path, moment, code):
    write_matrix(tmp_path / "d.csv", within(points_in_cube(20, 2, rng=0), 0.6))
    for name in ("p.csv", "p.png"):
        (tmp_path / name).write_text("old")
    done = struck(moment, "locate", "d.csv", "-d", 2, "-o", "p.csv", "--plot", "p.png", cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert state(tmp_path, ["p.csv", "p.png"]) == (
        dict.fromkeys(["p.csv", "p.png"], "old" if code else "new"),
        ["d.csv"],
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("moment", "code", "trials"),
    [
        ("load unrelu.experiments.registry", 130, 0),
        ("after unrelu.experiments.runner:_one_thread 1", 130, 0),  # just before the processes start
        ("before os:fsync 1", 130, 1),
        ("before unrelu.show.plots:save_figure 2", 130, 1),
        ("never", 0, 1),
    ],
)
def test_reproduce_keeps_whole_files_and_finished_trials(tmp_path, moment, code, trials):
    arguments = ("reproduce", "figure-orthants", "--quick", "--trials", 1, "--jobs", 1, "-o", "out")
    done = struck(moment, *arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    log = tmp_path / "out" / "trials.jsonl"
    assert len([json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []) == trials
    assert (tmp_path / "out" / "report.html").exists() == (code == 0)
    assert [path.name for path in tmp_path.rglob(".*")] == []
    if code:
        assert "interrupted; " in done.stderr


def test_after_the_page_is_written_ctrl_c_comes_too_late(tmp_path):
    arguments = ("reproduce", "figure-orthants", "--quick", "--trials", 1, "--jobs", 1, "-o", "out")
    done = struck("before unrelu.shell.reproduce:_summary 1", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wrote out/report.html" in done.stdout


def test_who_ignores_ctrl_c_is_not_made_to_listen(folder):
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + DRIVER
    command = [sys.executable, "-c", code, str(int(signal.SIGINT)), "before unrelu.shell.complete:complete 1"]
    done = subprocess.run(
        [*command, *map(str, COMPLETE)], cwd=folder, capture_output=True, encoding="utf-8", env=PLAIN, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert state(folder, COMPLETED)[0] == dict.fromkeys(COMPLETED, "new")


def test_the_first_line_of_the_command_is_reached_before_anything_heavy_is_loaded():
    code = (
        "import sys; before = set(sys.modules); import unrelu.__main__; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('unrelu')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=PLAIN, check=True)
    assert done.stdout.strip() in ("['__future__']", "[]")


def test_the_values_are_those_of_an_uninterrupted_run(folder):
    """The new state is the whole of it."""
    struck("after os:replace 1", *COMPLETE, cwd=folder)
    M, _ = relu_instance(30, 3)
    np.testing.assert_allclose(np.loadtxt(folder / "a.csv", delimiter=","), M, atol=1e-7)
