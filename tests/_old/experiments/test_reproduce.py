"""A run of the paper's tables and figures: a log that survives a kill, files read back, words for bad input."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unrelu
from helpers import listening
from unrelu import InputError
from unrelu._old.experiments import EXPERIMENTS
from unrelu._old.experiments.base import Table
from unrelu._old.experiments.initialisation import TableInitialisation
from unrelu._old.experiments.journal import Journal, key_of
from unrelu._old.experiments.registry import chosen
from unrelu._old.experiments.reproduce import Reproduction, Watcher, _Run, reproduce
from unrelu._old.experiments.runner import _run, run_all
from unrelu._old.experiments.solve import STEPS, curves
from unrelu._old.experiments.trials import CURVES, TRIALS, csv_text, curves_csv, read_trials, trials_csv

UNRELU = [sys.executable, "-m", "unrelu"]
PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


def unrelu_reproduce(*arguments, cwd, **options):
    return subprocess.run(
        [*UNRELU, "reproduce", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        env=PLAIN,
        timeout=120,
        **options,
    )


def log_lines(folder):
    path = Path(folder) / "trials.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


# Small parts


def test_curves_keep_both_ends():
    found = curves(gamma=np.arange(5000.0))
    places, values = found["iteration"], found["gamma"]
    assert places[0] == 0
    assert places[-1] == 4999
    assert values == [float(p) for p in places]
    assert len(places) < 320
    assert curves(gamma=np.arange(3.0))["iteration"] == [0, 1, 2]


cells = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
# A column is named by a word, and what it holds may look like anything.
NAMES = st.text("abcdefghijklm_*γ²", min_size=1, max_size=6).filter(
    lambda name: name not in ("seconds", "series", "trial")
)


@given(st.lists(st.dictionaries(NAMES, cells, min_size=1, max_size=4), min_size=1, max_size=4))
def test_trials_are_read_back_as_they_were_written(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("trials")
    (folder / TRIALS).write_text(trials_csv(rows, [0.5] * len(rows)), encoding="utf-8")
    assert read_trials(folder) == [(row, 0.5) for row in rows]


def test_curves_have_a_line_per_point_and_come_back(tmp_path):
    rows = [{"seed": 1, "series": {"t": [0, 1], "x": [5.0, None]}}, {"seed": 2, "list": [1, 2]}]
    (tmp_path / TRIALS).write_text(trials_csv(rows))
    (tmp_path / CURVES).write_text(curves_csv(rows))
    assert trials_csv(rows).splitlines() == ["seed,list,seconds", "1,,0", '2,"[1, 2]",0']
    assert curves_csv(rows).splitlines() == ["trial,t,x", "0,0,5.0", "0,1,null"]
    assert [row for row, _ in read_trials(tmp_path)] == rows
    assert csv_text(["a"], [["x,y"]]) == 'a\n"x,y"\n'
    assert curves_csv(rows[1:]) == trials_csv([]) == ""
    assert Table.of("name", "caption", []).columns == ()


def test_files_that_are_not_whole_are_no_trials(tmp_path):
    assert read_trials(tmp_path) == []
    (tmp_path / TRIALS).write_text("seed,error\n0,0.5\n")  # no seconds: another file
    assert read_trials(tmp_path) == []
    (tmp_path / TRIALS).write_text("seed,seconds\n0,0.5\n")
    (tmp_path / CURVES).write_text("trial,t\n7,1\n")  # of a trial that is not there
    assert read_trials(tmp_path) == []
    (tmp_path / CURVES).unlink()
    (tmp_path / TRIALS).write_text('seed,seconds\n0,0.5\n1,"0.')  # torn in the middle of a cell
    assert read_trials(tmp_path) == []


def test_a_run_goes_on_from_the_csv_files_alone(tmp_path):
    options = dict(quick=True, jobs=1)
    folder = reproduce(["figure-orthants", "figure-landscape"], tmp_path / "out", trials=2, **options).folder
    (folder / "trials.jsonl").unlink()
    (folder / "figure-landscape" / "section.json").unlink()
    before = (folder / "figure-landscape" / TRIALS).read_text()
    again = reproduce(["figure-landscape", "figure-orthants"], folder, trials=2, **options)
    assert again.run == 0
    assert (folder / "figure-landscape" / TRIALS).read_text() == before
    more = reproduce(["figure-orthants"], folder, trials=3, **options)
    assert (more.run, more.kept) == (1, 2)


def test_trials_of_another_edition_are_run_again_whoever_else_has_run_since(tmp_path, monkeypatch):
    options = dict(quick=True, jobs=1, trials=2)
    names = ["figure-orthants", "figure-observed"]
    folder = reproduce(names, tmp_path / "out", **options).folder
    for name in names:
        monkeypatch.setattr(type(EXPERIMENTS[name]), "edition", EXPERIMENTS[name].edition + 1)
    for log in (True, False):  # the log tells editions apart, and so does what stands beside CSV files
        if not log:
            (folder / "trials.jsonl").unlink()
        assert reproduce(names[1:], folder, **options).run == (2 if log else 0)
    assert reproduce(names[:1], folder, **options).run == 2
    assert reproduce(names, folder, **options).run == 0


def test_curves_and_verdicts_of_an_earlier_run_do_not_stay(tmp_path):
    folder = reproduce(["figure-orthants"], tmp_path / "out", quick=True, jobs=1, trials=2).folder
    stale = folder / "figure-orthants" / CURVES
    stale.write_text("trial,t\n0,1\n")
    reproduce(["figure-orthants"], folder, quick=True, jobs=1, trials=2)
    assert not stale.exists()


def test_names_come_in_the_order_of_the_paper_with_what_they_need():
    assert chosen(["table-noise", "figure-landscape"]) == ["figure-landscape", "table-noise"]
    assert chosen(["table-claims"]) == chosen(["all"]) == list(EXPERIMENTS)


def test_sizes_are_checked():
    experiment = TableInitialisation()
    with pytest.raises(InputError, match="trials must be an integer ≥ 1, got 0"):
        experiment.sizes(trials=0)
    with pytest.raises(InputError, match="table-initialisation has no size 'm'; it has"):
        experiment(m=3)
    with pytest.raises(InputError, match="rng must be an integer ≥ 0, a numpy Generator or None, got -1"):
        experiment.sizes(rng=-1)


# The log


def test_a_line_cut_short_is_dropped_and_the_rest_kept(tmp_path):
    path = tmp_path / "trials.jsonl"
    journal = Journal(path)
    journal.append("figure-rank", {"seed": 1}, {"error": 0.5}, 1.0)
    journal.append("figure-rank", {"seed": 2}, {"error": float("nan")}, 1.0)
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"experiment": "figure-ra')
    journal = Journal(path)
    assert set(journal.done) == {key_of("figure-rank", {"seed": 1}), key_of("figure-rank", {"seed": 2})}
    assert journal.done[key_of("figure-rank", {"seed": 1})] == ({"error": 0.5}, 1.0)
    assert path.read_bytes() == whole
    journal.append("figure-rank", {"seed": 3}, {}, 0.0)
    journal.close()
    assert len(log_lines(tmp_path)) == 3


def test_lines_of_another_edition_are_no_trials(tmp_path):
    line = {"experiment": "figure-rank", "edition": 0, "task": {"seed": 1}, "seconds": 1, "found": {}}
    (tmp_path / "trials.jsonl").write_text(json.dumps(line) + "\nnot json\n")
    journal = Journal(tmp_path / "trials.jsonl")
    assert journal.done == {}
    journal.close()


def test_only_one_run_writes_to_a_folder(tmp_path):
    journal = Journal(tmp_path / "trials.jsonl")
    with pytest.raises(InputError, match=r"another run is writing to .*; wait until it ends, or choose another folder"):
        Journal(tmp_path / "trials.jsonl")
    journal.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full on this system")
def test_a_full_disk_is_a_sentence(tmp_path):
    (tmp_path / "trials.jsonl").symlink_to("/dev/full")
    journal = Journal(tmp_path / "trials.jsonl")
    with pytest.raises(InputError, match=r"cannot be written: No space left on device; 0 finished trials kept"):
        journal.append("figure-rank", {}, {}, 0.0)
    journal.close()


def test_a_disk_that_is_full_when_figures_are_drawn_keeps_the_trials(tmp_path, monkeypatch):
    def full(path, text):
        raise InputError(f"{path.name} cannot be written: No space left on device; free some space")

    monkeypatch.setattr("unrelu._old.experiments.outputs.write_text", full)
    words = (
        r"cannot be written: No space left on device; free some space; 2 finished trials kept in .*trials.jsonl: give"
    )
    with pytest.raises(InputError, match=words):
        reproduce(["figure-orthants"], tmp_path / "out", quick=True, trials=2, jobs=1)
    monkeypatch.undo()
    again = reproduce(["figure-orthants"], tmp_path / "out", quick=True, trials=2, jobs=1)
    assert (again.run, again.kept) == (0, 2)


# Runs in processes


def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    one = reproduce(["figure-landscape"], tmp_path / "one", quick=True, trials=2, jobs=1)
    two = reproduce(["figure-landscape"], tmp_path / "two", quick=True, trials=2, jobs=2)
    assert one.results["figure-landscape"].rows == two.results["figure-landscape"].rows
    here = EXPERIMENTS["figure-landscape"](trials=2, quick=True)
    assert here.rows == one.results["figure-landscape"].rows
    assert (one.run, one.kept) == (2 * 2 * len(STEPS), 0)


def test_one_bad_trial_does_not_cost_the_others():
    finished = _run(EXPERIMENTS["figure-rank"], {"n": 10})
    assert finished.found is None
    assert finished.trouble.startswith("KeyError")
    assert list(run_all([], 2)) == []


def test_a_setting_whose_every_trial_failed_does_not_cost_the_other_experiments(tmp_path):
    sizes = {name: EXPERIMENTS[name].sizes(quick=True, trials=1) for name in ("figure-orthants", "figure-rank")}
    plan = {name: EXPERIMENTS[name].tasks(sizes[name]) for name in sizes}
    journal = Journal(tmp_path / "trials.jsonl")
    (task,) = plan["figure-orthants"]
    journal.append("figure-orthants", task, EXPERIMENTS["figure-orthants"].trial(task), 0.1)
    only = next(t for t in plan["figure-rank"] if t["method"] == "gd")
    journal.append("figure-rank", only, {"error": 1e-9, "iterations": 5}, 0.1)  # and no pairs: as good as failed
    found = Reproduction(tmp_path)
    run = _Run(tmp_path, plan, sizes, journal, Watcher(), " --quick", True)
    run._conclude(["figure-rank", "figure-orthants"], {name: set() for name in plan}, found)
    journal.close()
    assert list(found.results) == ["figure-orthants"]
    assert [t.name for t in found.troubles] == ["figure-rank"]
    assert "no conclusion without the trials that failed" in found.troubles[0].trouble
    assert 'id="figure-orthants"' in found.report.read_text()


def test_files_of_a_run_and_a_second_call_that_has_nothing_to_do(tmp_path):
    folder = tmp_path / "out"
    done = unrelu_reproduce("figure-orthants", "figure-observed", "--quick", "--trials", 2, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "figure-orthants: 1 not tested" in done.stdout
    assert "4 trials run, 0 kept" in done.stdout
    for name in ("figure-orthants", "figure-observed"):
        for kind in ("svg", "png", "csv"):
            assert (folder / name / f"{name}.{kind}").stat().st_size > 100
        assert (folder / name / "trials.csv").read_text().count("\n") == 3
    about = json.loads((folder / "reproduction.json").read_text())
    assert about["versions"]["unrelu"] == unrelu.__version__
    assert about["machine"]["threads per trial"] == 1
    assert about["seeds"] == {"figure-orthants": [0, 1], "figure-observed": [0, 1]}
    assert about["experiments"][0]["command"] == "unrelu reproduce figure-orthants --trials 2 --quick"

    before = log_lines(folder)
    again = unrelu_reproduce("figure-orthants", "--quick", "--trials", 2, "-o", "out", cwd=tmp_path)
    assert "0 trials run, 2 kept from before" in again.stdout
    assert log_lines(folder) == before
    page = (folder / "report.html").read_text()
    assert 'id="figure-observed"' in page  # of the first call, still on the page
    assert "Quick run." in page


def started(folder, trials, jobs=2):
    """A run in a process group of its own, once two of its trials are on the disk."""
    command = [*UNRELU, "reproduce", "figure-landscape", "--quick", "--trials", trials, "--jobs", jobs, "-o", folder]
    process = subprocess.Popen(
        list(map(str, command)),
        env=PLAIN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=listening,
    )
    until = time.monotonic() + 100
    while len(log_lines(folder)) < 2:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)
    return process


def living(group):
    """Processes of a group that are not only waiting to be buried."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = path.read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(of_group) == group and state != "Z":
            found.append(path)
    return found


def wait_for_the_last(group):
    """Return when nothing of a process group runs any more."""
    until = time.monotonic() + 30
    while living(group):
        assert time.monotonic() < until, living(group)
        time.sleep(0.05)


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    process = started(tmp_path / "out", trials=4)
    process.kill()
    process.communicate()
    wait_for_the_last(process.pid)  # without a parent its processes leave by themselves
    kept = [line for line in log_lines(tmp_path / "out") if line.endswith(b"\n")]
    assert 2 <= len(kept) < 24
    done = unrelu_reproduce(
        "figure-landscape", "--quick", "--trials", 4, "--jobs", 2, "-o", tmp_path / "out", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert f"{24 - len(kept)} trials run, {len(kept)} kept from before" in done.stdout
    after = log_lines(tmp_path / "out")
    assert after[: len(kept)] == kept
    assert len(after) == 24
    tasks = [json.dumps(json.loads(line)["task"], sort_keys=True) for line in after]
    assert len(set(tasks)) == 24


def test_ctrl_c_keeps_finished_trials_and_leaves_no_process(tmp_path):
    process = started(tmp_path / "out", trials=100)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it, to all of them
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; finished trials are kept in" in words
    assert "Traceback" not in words
    assert len(log_lines(tmp_path / "out")) >= 2
    wait_for_the_last(process.pid)


def test_a_section_that_was_damaged_is_left_out_and_made_again(tmp_path):
    options = dict(quick=True, trials=1, jobs=1)
    folder = reproduce(["figure-orthants", "figure-observed"], tmp_path / "out", **options).folder
    (folder / "figure-orthants" / "section.json").write_text('{"name": "figure-or')
    (folder / "figure-observed" / "figure-observed.svg").unlink()
    page = reproduce(["figure-sectors"], folder, **options).report.read_text()
    assert 'id="figure-sectors"' in page
    assert 'id="figure-orthants"' not in page
    assert 'id="figure-observed"' not in page
    again = reproduce(["figure-orthants", "figure-observed"], folder, **options)
    assert (again.run, again.kept) == (0, 2)
    assert all(f'id="{name}"' in again.report.read_text() for name in ("figure-orthants", "figure-observed"))


# Bad input


def test_without_a_name_the_names_are_listed(tmp_path):
    done = unrelu_reproduce(cwd=tmp_path)
    assert done.returncode == 0
    assert all(name in done.stdout for name in EXPERIMENTS)
    assert not list(tmp_path.iterdir())


def test_an_unknown_name_lists_the_known_ones(tmp_path):
    done = unrelu_reproduce("figure-ranks", cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown experiment 'figure-ranks'; did you mean 'figure-rank'? accepted: all, figure-basin" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_seed_below_zero_is_a_sentence(tmp_path):
    done = unrelu_reproduce("figure-orthants", "--quick", "--seed", -3, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "error: --seed must be an integer ≥ 0, got -3\n")
    assert not list(tmp_path.iterdir())


def test_a_folder_with_something_else_is_not_touched_without_force(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("precious")
    with pytest.raises(InputError, match=r"thesis holds something else and is not touched; choose another folder"):
        reproduce(["figure-orthants"], tmp_path / "thesis", quick=True, trials=1)
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.tex"]
    found = reproduce(["figure-orthants"], tmp_path / "thesis", quick=True, trials=1, jobs=1, force=True)
    assert found.report.exists()
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "precious"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(names=[]), r"name at least one experiment, or all; known: figure-landscape"),
        (dict(jobs=0), r"jobs must be an integer ≥ 1, got 0"),
        (dict(trials=-1), r"trials must be an integer ≥ 1, got -1"),
        (dict(folder="file.txt"), r"file.txt is a file where a folder was expected"),
        (dict(folder="file.txt/inside"), r"cannot be made: Not a directory; choose another folder with -o"),
    ],
)
def test_bad_input_is_a_sentence(tmp_path, options, words):
    (tmp_path / "file.txt").write_text("x")
    options = {"names": ["figure-orthants"], "folder": "out", **options}
    with pytest.raises(InputError, match=words):
        reproduce(options.pop("names"), tmp_path / options.pop("folder"), quick=True, **options)
