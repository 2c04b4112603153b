"""Methods side by side: what the rows say, how they are sorted, and that no failure is more than a row."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

import unrelu
from helpers import RECOVERED, listening, relu_instance
from unrelu import compare
from unrelu._old.cli import app
from unrelu._old.data.sampling import relu
from unrelu._old.io.files import write_matrix
from unrelu._old.results.comparison import Comparison, Row
from unrelu._old.show.plots import draw_comparison, save_figure
from unrelu._old.solvers import METHODS
from unrelu.datasets import planted

FAST = ["gauss-newton", "gradient-descent"]
PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


@dataclass(frozen=True)
class Broken(unrelu.GradientDescent):
    """Gradient descent that ends in its own way."""

    how: str = "raise"
    name = "broken"
    max_iter: ClassVar = 5

    def step(self, problem, state):
        if self.how == "raise":
            raise ArithmeticError("the sky fell")
        if self.how == "missing":
            raise ImportError("broken needs a package that is not there; pip install 'unrelu[sky]'")
        if self.how == "refuse":
            raise unrelu.InputError("broken takes at most 3 rows")
        if self.how == "interrupt":
            raise KeyboardInterrupt
        time.sleep(0.05)
        return super().step(problem, state)


def row(method, trial=0, code="fitted", error=1e-8, cpu=1.0, **more):
    return Row(method, trial, trial, code, "because", error=error, cpu_seconds=cpu, seconds=cpu, **more)


def comparison(*rows, **about):
    return Comparison(rows, {"size": 9, "rank": 2, "sigma": 0.0, "trials": 1, "stopping": "relative", **about})


def test_every_method_has_a_row_with_every_number():
    found = compare(planted=(30, 2, 0.0), budget=3)
    assert [r.method for r in found.rows] == ["auto", *METHODS]
    for r in found.rows:
        if r.code in ("refused", "not-installed"):
            assert r.reason
            continue
        assert r.code != "failed", r.reason
        numbers = (r.objective, r.residual, r.cpu_seconds, r.seconds, r.iterations, r.error, r.clean_error)
        assert all(np.isfinite(value) for value in numbers), r
        assert (r.peak_bytes is None) == (r.seconds >= 1.5)
        assert r.peak_bytes is None or r.peak_bytes > 30 * 2 * 8
    best = found.summary()[0]
    assert best["converged"] == 1
    assert best["error"] < RECOVERED


def test_a_trial_is_what_complete_does_with_its_seed():
    found = compare(planted=(40, 2, 0.05), methods="gauss-newton", trials=2, rng=5)
    for r, seed in zip(found.rows, (5, 6), strict=True):
        instance = planted(40, 2, sigma=0.05, rng=seed)
        completion = unrelu.complete(relu(instance.matrix), 2, method="gauss-newton", rng=seed)
        assert r.seed == seed
        assert r.objective == completion.objective
        fit = completion.matrix()
        for reported, truth in ((r.error, instance.matrix), (r.clean_error, instance.truth)):
            assert reported == pytest.approx(np.linalg.norm(fit - truth) / np.linalg.norm(truth), rel=1e-9)
    assert found.rows[0].error != found.rows[1].error
    assert found.rows[0].clean_error < found.rows[0].error


def test_the_error_is_that_of_the_methods_own_estimate():
    two = [name for name, solver in METHODS.items() if name in ("scaled-gd", "pam", "momentum-pam")]
    if not two:
        pytest.skip("no two-factor method is registered")
    found = compare(planted=(40, 2, 0.05), methods=two[:1], rng=1)
    instance = planted(40, 2, sigma=0.05, rng=1)
    completion = unrelu.complete(relu(instance.matrix), 2, method=two[0], rng=1)
    own = completion.left @ completion.right.T
    expected = np.linalg.norm(own - instance.matrix) / np.linalg.norm(instance.matrix)
    other = np.linalg.norm(completion.matrix() - instance.matrix) / np.linalg.norm(instance.matrix)
    assert found.rows[0].error == pytest.approx(expected, rel=1e-9)
    assert abs(expected / other - 1) > 1e-4


def test_given_matrix_with_and_without_truth():
    M, X = relu_instance(40, 2)
    found = compare(X, 2, methods=FAST, truth=M)
    assert all(r.error < RECOVERED and r.clean_error is None for r in found.rows)
    assert "UUᵀ to M*" not in str(found)
    blind = compare(X, 2, methods=FAST)
    assert all(r.error is None and r.residual < RECOVERED for r in blind.rows)
    assert "error" not in str(blind).splitlines()[2].split()


def test_options_reach_the_methods():
    _, X = relu_instance(30, 2)
    flipped = compare(-X, 2, methods="gauss-newton", seen="below").rows[0]
    assert flipped.residual > 0.1  # −M is not positive semidefinite
    assert compare(X, 2, methods="gauss-newton", threshold=None).rows[0].loss == "observed"
    unknown = np.isnan(X)
    listened = compare(X, 2, methods="gauss-newton").rows[0]
    ignored = compare(X, 2, methods="gauss-newton", unknown=unknown).rows[0]
    assert listened.loss == ignored.loss == "one-sided"
    assert listened.objective != ignored.objective


def test_configured_solvers_go_under_their_parameters():
    found = compare(
        planted=(30, 2, 0.0), methods=["auto", unrelu.GaussNewton(), unrelu.GradientDescent(step_size=1e-3)]
    )
    assert [r.method for r in found.rows] == ["auto", "gauss-newton", "gradient-descent (step_size=0.001)"]


def test_strategies_and_functions_are_compared_too():
    def zeros(problem):
        return np.zeros((problem.size, problem.rank))

    few = unrelu.Auto(starts=("tailored",))
    found = compare(planted=(30, 2, 0.0), methods=["auto", "gauss-newton", few, zeros])
    assert [r.method for r in found.rows] == ["auto", "gauss-newton", "auto (starts=('tailored',))", "zeros"]
    assert [r.code for r in found.rows] == ["fitted", "fitted", "fitted", "stationary"]
    assert found.rows[3].residual == pytest.approx(1.0)


def test_paper_stopping_is_the_methods_own():
    found = compare(planted=(40, 2, 0.0), methods="gradient-descent", stopping="paper").rows[0]
    X = relu(planted(40, 2, rng=0).matrix)
    paper = unrelu.complete(X, 2, method=unrelu.GradientDescent(stopping="paper"), rng=0)
    assert found.iterations == paper.history[-1].iteration
    assert found.reason == paper.verdict.reason


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ("raise", "failed", "ArithmeticError: the sky fell"),
        ("missing", "not-installed", "pip install 'unrelu[sky]'"),
        ("refuse", "refused", "at most 3 rows"),
    ],
)
def test_a_failing_method_is_a_row(how, code, words):
    found = compare(planted=(20, 2, 0.0), methods=[Broken(how=how), "gauss-newton"])
    bad, good = found.rows
    assert (bad.code, bad.error, bad.cpu_seconds) == (code, None, None)
    assert words in bad.reason
    assert good.converged
    assert [line["method"] for line in found.summary()] == ["gauss-newton", bad.method]
    assert words in str(found)


def test_the_budget_is_a_row_too():
    found = compare(planted=(20, 2, 0.0), methods=[Broken(how="sleep")], budget=0.12)
    (slow,) = found.rows
    assert slow.code == "max-seconds"
    assert "the time was over after iteration" in slow.reason
    assert slow.cpu_seconds < slow.seconds  # it slept
    assert slow.peak_bytes is None  # no second run of what is slow


def test_interrupted_keeps_what_had_ended():
    found = compare(planted=(20, 2, 0.0), methods=["gauss-newton", Broken(how="interrupt"), "gradient-descent"])
    assert found.interrupted
    assert [r.method for r in found.rows] == ["gauss-newton"]


def test_interrupted_while_measuring_memory_keeps_the_row(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["unrelu._old.compare"]._Run, "peak", interrupted)
    found = compare(planted=(20, 2, 0.0), methods=FAST)
    assert found.interrupted
    assert [(r.method, r.peak_bytes) for r in found.rows] == [("gauss-newton", None)]


def test_memory_is_measured_on_the_first_trial_and_leaves_no_tracing():
    found = compare(planted=(60, 2, 0.0), methods="gauss-newton", trials=2)
    assert [r.peak_bytes is None for r in found.rows] == [False, True]
    assert 60 * 60 < found.rows[0].peak_bytes < 100 * 60 * 60 * 8
    assert not tracemalloc.is_tracing()


def test_times_are_taken_without_tracing(monkeypatch):
    tracing = []
    module = sys.modules["unrelu._old.compare"]  # unrelu.compare is the function
    real = module.complete

    def spy(*args, **kwargs):
        tracing.append(tracemalloc.is_tracing())
        return real(*args, **kwargs)

    monkeypatch.setattr(module, "complete", spy)
    compare(planted=(20, 2, 0.0), methods="gauss-newton")
    assert tracing == [False, False, True]  # warming up, timing, memory


def test_warnings_come_once():
    _, X = relu_instance(20, 2)
    X[3] = X[:, 3] = np.nan
    with pytest.warns(unrelu.CompletionWarning, match="nothing was seen of row 3") as caught:
        compare(X, 2, methods=FAST, trials=2)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_warm_up_warns_of_nothing():
    X = np.outer(np.arange(1.0, 31), np.arange(1.0, 31))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(X, 1, methods="auto")


def test_the_time_is_that_of_the_whole_call(monkeypatch):
    module = sys.modules["unrelu._old.compare"]
    real, made = module.complete, []

    def spy(*args, **kwargs):
        made.append(real(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(module, "complete", spy)
    X = relu_instance(20, 3)[1]
    found = compare(X, 1, methods=["auto", "gauss-newton"])
    for r, completion in zip(found.rows, (made[1], made[4]), strict=True):  # after warming up, before memory
        assert (r.cpu_seconds, r.seconds) == (completion.cpu_seconds, completion.seconds)
    assert found.rows[0].cpu_seconds > made[1].history[-1].cpu_seconds


def test_what_did_not_fit_goes_by_its_objective():
    found = comparison(
        row("far", code="stationary", error=None, cpu=0.1, objective=9.0),
        row("near", code="stationary", error=None, cpu=5.0, objective=2.0),
        row("as-near", code="max-iterations", error=None, cpu=4.0, objective=2.0 + 1e-9),
        row("slow", error=None, cpu=3.0, objective=1e-12),
        row("fast", error=None, cpu=2.0, objective=1e-9),
    )
    assert [line["method"] for line in found.summary()] == ["fast", "slow", "as-near", "near", "far"]


def test_a_reason_gives_the_objective_of_the_table():
    X = relu_instance(60, 4)[1]
    (r,) = compare(X, 4, methods=[unrelu.ADMM()], budget=0.02).rows
    assert not r.converged
    assert r.reason.endswith(f"; its UUᵀ has the objective {r.objective:.2e}")


def test_a_comparison_is_shown_in_one_line():
    found = comparison(row("a"), row("b", code="stationary"), row("a", 1), row("b", 1), trials=2)
    assert repr(found) == "Comparison(9×9, rank 2, 2 methods, 3 of 4 runs converged)"


def test_callback_gets_each_row():
    got = []
    found = compare(planted=(20, 2, 0.0), methods=FAST, trials=2, callback=got.append)
    assert tuple(got) == found.rows
    assert str(got[0]).startswith(f"gauss-newton: {got[0].code}, error ")


def test_summary_is_sorted_by_verdict_then_decade_then_cpu():
    found = comparison(
        row("absent", code="not-installed", error=None, cpu=None),
        row("late", code="max-seconds", error=1e-12, cpu=0.1),
        row("inexact", error=1e-3, cpu=0.1),
        row("slow", error=1.2e-8, cpu=5.0),
        row("fast", error=2.9e-8, cpu=2.0),
        row("wild", code="diverged", error=np.inf, cpu=0.01),
    )
    assert [line["method"] for line in found.summary()] == ["fast", "slow", "inexact", "late", "wild", "absent"]


def test_every_kind_of_answer_comes_before_what_is_none():
    found = comparison(
        row("stuck", code="stationary", error=1e-9),
        row("noisy", code="fitted-to-noise", error=1e-2),
        row("short", code="best-of-rank", error=1e-1),
        row("exact", code="fitted"),
    )
    assert [line["method"] for line in found.summary()] == ["exact", "noisy", "short", "stuck"]
    assert [line["converged"] for line in found.summary()] == [1, 1, 0, 0]
    text = str(found)
    assert "short: because" in text  # a rank that the data exceed is said
    assert "noisy: because" not in text


def test_summary_of_trials():
    errors = [1e-8, 2e-8, 3e-8, 4e-8, np.inf]
    rows = [row("a", k, error=e, cpu=k + 1.0, iterations=k) for k, e in enumerate(errors)]
    rows[2] = replace(rows[2], code="stalled", reason="it stood still")
    rows[4] = replace(rows[4], code="diverged", reason="it flew off")
    (line,) = comparison(*rows, trials=5).summary()
    assert (line["trials"], line["converged"], line["code"], line["reason"]) == (5, 3, "diverged", "it flew off")
    assert (line["error"], line["error_low"], line["error_high"]) == (3e-8, 2e-8, 4e-8)
    assert (line["cpu_seconds"], line["cpu_seconds_low"], line["cpu_seconds_high"]) == (3.0, 2.0, 4.0)
    assert line["iterations"] == 2
    assert "diverged (2 of 5 trials)" in str(comparison(*rows, trials=5))


def test_table_says_what_a_person_needs():
    text = str(comparison(row("fast", peak_bytes=3 * 2**20), row("gone", code="refused", error=None, cpu=None)))
    lines = text.splitlines()
    assert lines[0] == "9×9 matrix, rank 2, noise 0, relative stopping"
    assert lines[2].split() == ["method", "error", "CPU", "s", "memory", "verdict"]
    assert lines[3].split() == ["fast", "1.00e-08", "1", "3", "MiB", "fitted"]
    assert lines[-1] == "gone: because"


def test_files_hold_every_row(tmp_path):
    found = comparison(row("a", error=0.1 + 0.2), row("b", code="diverged", error=np.inf), row("c", error=None))
    found.to_csv(tmp_path / "c.csv")
    found.to_json(tmp_path / "c.json")
    with open(tmp_path / "c.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [r["method"] for r in rows] == ["a", "b", "c"]
    assert (float(rows[0]["error"]), rows[1]["error"], rows[2]["error"]) == (0.1 + 0.2, "inf", "")
    content = json.loads((tmp_path / "c.json").read_text(), parse_constant=pytest.fail)
    assert [r["error"] for r in content["rows"]] == [0.1 + 0.2, None, None]
    assert content["about"]["size"] == 9
    assert [line["method"] for line in content["summary"]] == ["a", "c", "b"]
    before = (tmp_path / "c.json").read_bytes()
    with pytest.raises(TypeError):
        comparison(row("a", error=object())).to_json(tmp_path / "c.json")
    assert (tmp_path / "c.json").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.csv", "c.json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(), "either X or planted, got neither"),
        (dict(X=np.eye(3), rank=1, planted=(9, 1, 0)), "got both"),
        (dict(planted=(9, 1, 0), trials=0), "trials must be an integer ≥ 1, got 0"),
        (dict(planted=(9, 1, 0), trials=True), "trials must be an integer ≥ 1"),
        (dict(planted=(9, 1, 0), budget=0), "budget must be a number of seconds above 0"),
        (dict(planted=(9, 1, 0), budget=np.nan), "budget must be"),
        (dict(planted=(9, 1)), "planted must be n,r,sigma"),
        (dict(planted=(9, 10, 0)), "planted must be n,r,sigma"),
        (dict(planted=(9, 1.5, 0)), "planted must be n,r,sigma"),
        (dict(planted=(9, 1, -1)), "planted must be n,r,sigma"),
        (dict(planted=7), "planted must be n,r,sigma"),
        (dict(planted=(9, 1, 0), rank=10), "rank must be between 1 and 9"),
        (dict(planted=(9, 1, 0), truth=np.eye(9)), "truth and unknown belong to X"),
        (dict(planted=(9, 1, 0), threshold=1.0), "seen through the ReLU"),
        (dict(planted=(9, 1, 0), seen="below"), "seen through the ReLU"),
        (dict(planted=(9, 1, 0), methods="gaus-newton"), "did you mean 'gauss-newton'"),
        (dict(planted=(9, 1, 0), methods=[]), "at least one of auto, gauss-newton"),
        (dict(planted=(9, 1, 0), methods=[unrelu.GaussNewton]), r"write GaussNewton\(\) instead of the class"),
        (dict(planted=(9, 1, 0), methods=3), "method must be one of"),
        (dict(planted=(9, 1, 0), stopping="papr"), "did you mean 'paper'"),
        (dict(planted=(9, 1, 0), rng=-1), "rng must be an integer ≥ 0"),
        (dict(planted=(10**7, 1, 0)), "GiB of memory"),
        (dict(X=np.eye(3), rank=4), "rank must be between 1 and 3"),
        (dict(X=np.eye(3)[:2], rank=1), "square"),
        (dict(X=np.eye(3), rank=1, truth=np.eye(4)), "truth must have the shape of X"),
    ],
)
def test_bad_input_is_no_methods_fault(arguments, words):
    with pytest.raises(unrelu.InputError, match=words):
        compare(**arguments)


def test_generators_are_seeds_too():
    one = compare(planted=(20, 2, 0.1), methods="gauss-newton", rng=np.random.default_rng(3), trials=2)
    two = compare(planted=(20, 2, 0.1), methods="gauss-newton", rng=np.random.default_rng(3), trials=2)
    assert [r.error for r in one.rows] == [r.error for r in two.rows]
    assert one.rows[0].error != one.rows[1].error


# ---- the picture


def eight(trials):
    names = ["gauss-newton", "gradient-descent", "momentum-pam", "scaled-gd", "pam", "admm", "gnmr", "sdp"]
    rng = np.random.default_rng(0)
    rows = [
        row(name, k, error=10.0 ** (place - 12) * (1 + rng.random()), cpu=0.1 * (place + 1))
        for place, name in enumerate(names[:-1])
        for k in range(trials)
    ]
    return comparison(*rows, row("sdp", code="refused", error=None, cpu=None), trials=trials), names


@pytest.mark.parametrize("trials", [1, 6])
def test_picture_shows_every_trial_in_the_order_of_the_summary(trials):
    found, names = eight(trials)
    figure = draw_comparison(found)
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == [*names[:-1], "sdp\n(refused)"]
    assert left.yaxis_inverted()  # the best on top
    for ax, field in ((left, "error"), (right, "cpu_seconds")):
        assert ax.get_xscale() == "log"
        dots = [x for line in ax.lines if line.get_marker() == "o" for x in line.get_xdata()]
        expected = [getattr(r, field) for r in found.rows if r.error is not None]
        np.testing.assert_allclose(sorted(dots), sorted(expected))
        assert len(ax.patches) == (7 if trials > 1 else 0)  # boxes
        low, high = ax.get_xlim()
        assert low < min(expected) <= max(expected) < high
    quartiles = np.quantile([r.error for r in found.rows if r.method == "pam"], [0.25, 0.75])
    if trials > 1:
        box = left.patches[names.index("pam")]
        np.testing.assert_allclose([box.get_x(), box.get_x() + box.get_width()], quartiles)


def test_names_do_not_overlap():
    figure = draw_comparison(eight(3)[0])
    figure.draw_without_rendering()
    labels = figure.axes[0].get_yticklabels()
    boxes = [label.get_window_extent() for label in labels]
    assert all(label.get_rotation() == 0 for label in labels)
    assert all(upper.y0 > lower.y1 for upper, lower in pairwise(boxes))
    for ax in figure.axes:
        ticks = [t.get_window_extent() for t in ax.get_xticklabels() if t.get_text()]
        assert all(a.x1 < b.x0 for a, b in pairwise(ticks))


@pytest.mark.parametrize("spread", [1.001, 1.3, 3, 30])
def test_ticks_can_be_read_when_all_are_alike(spread):
    figure = draw_comparison(comparison(row("a", error=2.24e-3), row("b", error=2.24e-3 * spread, cpu=spread)))
    figure.draw_without_rendering()
    for ax in figure.axes:
        low, high = ax.get_xlim()
        assert high / low > 9.9
        labels = [t for t in ax.get_xticklabels(which="both") if t.get_text() and low <= t.get_position()[0] <= high]
        shown = [t.get_window_extent() for t in sorted(labels, key=lambda t: t.get_position()[0])]
        assert len(shown) >= 2
        assert all(a.x1 < b.x0 for a, b in pairwise(shown))


def test_picture_without_truth_and_without_rows(tmp_path):
    found = comparison(row("a", error=None, residual=1e-9), row("b", error=None, residual=0.0))
    figure = draw_comparison(found)
    assert "residual" in figure.axes[0].get_xlabel()
    save_figure(figure, tmp_path / "c.png")
    save_figure(draw_comparison(comparison(row("a", code="failed", error=None, cpu=None))), tmp_path / "d.svg")
    with pytest.raises(unrelu.InputError, match="no rows to draw"):
        draw_comparison(comparison())


# ---- the shell


def shell(*arguments, cwd):
    command = [sys.executable, "-m", "unrelu", "compare", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", env=PLAIN, timeout=120)


def test_shell_prints_the_table_and_writes_the_files(tmp_path):
    outputs = ("--csv", "c.csv", "--json", "c.json", "--plot", "c.png")
    done = shell("--planted", "30,2,0.01", "--methods", ",".join(FAST), "--trials", 2, *outputs, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "30×30 matrix, rank 2, noise 0.01" in done.stdout
    assert done.stdout.index("gauss-newton") > 0
    assert done.stderr.count("trial 1, ") == done.stderr.count("trial 2, ") == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.csv", "c.json", "c.png"]
    assert len(json.loads((tmp_path / "c.json").read_text())["rows"]) == 4
    assert (tmp_path / "c.png").read_bytes()[:4] == b"\x89PNG"


def test_shell_takes_a_file(tmp_path):
    M, X = relu_instance(30, 2)
    write_matrix(tmp_path / "x.csv", X + 1.0)
    write_matrix(tmp_path / "m.npy", M + 1.0)
    chosen = ("--threshold", 1, "--truth", "m.npy", "--quiet")
    done = shell("x.csv", "-r", 3, "--methods", "gauss-newton", *chosen, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "gauss-newton" in done.stdout
    both = shell("x.csv", "-r", 3, "--methods", "auto,gauss-newton", *chosen, cwd=tmp_path)
    assert both.returncode == 0, both.stderr
    rows = [line.split()[0] for line in both.stdout.splitlines() if line.startswith(("auto", "gauss"))]
    assert sorted(rows) == ["auto", "gauss-newton"]
    assert shell("x.csv", "-r", 3, "--threshold", 2, cwd=tmp_path).returncode == 2  # seen entries below it


def test_shell_names_rows_by_their_labels(tmp_path):
    _, X = relu_instance(20, 2)
    X[3] = X[:, 3] = np.nan
    names = [f"sample{k}" for k in range(20)]
    write_matrix(tmp_path / "x.csv", X, rows=names, columns=names)
    done = shell("x.csv", "-r", 2, "--methods", "gauss-newton", "--quiet", cwd=tmp_path)
    assert "warning: nothing was seen of row sample3;" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "either a FILE or --planted"),
        (("x.csv", "--planted", "9,1,0"), "not both"),
        (("--planted", "9;1;0"), "--planted must be n,r,sigma"),
        (("x.csv",), "needs the --rank of x.csv"),
        (("--planted", "9,1,0", "--methods", "gaus-newton"), "did you mean 'gauss-newton'"),
        (("x.csv", "-r", 1, "--csv", "x.csv"), "x.csv is the input and would be overwritten"),
        (("--planted", "9,1,0", "--json", "no/c.json"), "cannot be written, for there is no folder"),
        (("--planted", "9,1,0", "--plot", "c.jpg"), "must end in .png or .svg or .pdf"),
    ],
)
def test_shell_refuses_bad_input_in_one_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    write_matrix(tmp_path / "x.csv", relu_instance(9, 1)[1])
    before = (tmp_path / "x.csv").read_bytes()
    done = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]
    assert (tmp_path / "x.csv").read_bytes() == before


def test_shell_interrupted_shows_what_had_ended(tmp_path):
    arguments = ["--planted", "150,3,0.0", "--methods", "gauss-newton", "--trials", "100000", "--csv", "c.csv"]
    command = [sys.executable, "-m", "unrelu", "compare", *arguments]
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child = subprocess.Popen(command, cwd=tmp_path, encoding="utf-8", env=PLAIN, preexec_fn=listening, **pipes)
    assert child.stderr.readline().startswith("trial 1, gauss-newton: ")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "gauss-newton" in out
    assert "interrupted; nothing was written" in err
    assert list(tmp_path.iterdir()) == []


def test_methods_of_one_name_are_both_asked():
    M, X = relu_instance(20, 2)
    zeros, ones = (lambda problem: np.zeros((20, 2))), (lambda problem: np.ones((20, 2)))
    rows = unrelu.compare(X, 2, methods=[zeros, ones, unrelu.GaussNewton(), unrelu.GaussNewton()]).rows
    assert [row.method for row in rows][-2:] != ["<lambda>", "<lambda>"]
    assert {row.method for row in rows} == {"<lambda>", "<lambda> #2", "gauss-newton", "gauss-newton #2"}
    assert M.shape == (20, 20)


def test_a_strategy_that_is_no_dataclass_has_a_row():
    class Plain(unrelu.Strategy):
        name = "plain"

        def find(self, task):
            return task.answer(task.attempt("random", task.rng.standard_normal((task.problem.size, 2))))

    (row,) = unrelu.compare(relu_instance(20, 2)[1], 2, methods=[Plain()]).rows
    assert row.method == "plain"


def test_a_threshold_is_found_once_for_all_methods():
    U = np.random.default_rng(0).standard_normal((60, 3))
    M = U @ U.T
    found = compare(
        np.where(M >= 0.25, M, np.nan), 3, threshold="auto", methods=["gauss-newton", "gradient-descent"], truth=M
    )
    assert [row.error < RECOVERED for row in found.rows] == [True, True]
