"""``unrelu complete`` without a rank: the rank is found, or a rehearsed model forecasts, and the report says which."""

import csv
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import unrelu
from helpers import relu_instance
from unrelu import Stop, Verdict
from unrelu._old.cli import app
from unrelu._old.io.files import write_matrix
from unrelu._old.io.reader import read_data
from unrelu._old.shell import complete as command

NAMES = [f"w{k}" for k in range(24)]
CUT = 0.3


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def kernel():
    """Similarities that are of no low rank."""
    points = np.random.default_rng(3).standard_normal((24, 3))
    distances = np.square(points[:, None] - points).sum(axis=2)
    return np.exp(-distances / 6)


# A pair that is above the cut, and missing all the same.
LOST = tuple(int(k) for k in np.argwhere(np.triu(kernel() >= CUT, 1))[0])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    M = kernel()
    X = np.where(M >= CUT, M, np.nan)
    X[LOST] = X[LOST[::-1]] = np.nan  # missing for another reason, which a file says
    write_matrix("x.csv", X, rows=NAMES, columns=NAMES)
    write_matrix("unknown.csv", (np.isnan(X) & (M >= CUT)).astype(int), rows=NAMES, columns=NAMES)
    return tmp_path


@pytest.fixture(scope="module")
def forecast(tmp_path_factory):
    """What the library makes of it, found once."""
    path = tmp_path_factory.mktemp("kernel") / "x.csv"
    M = kernel()
    X = np.where(M >= CUT, M, np.nan)
    X[LOST] = X[LOST[::-1]] = np.nan
    write_matrix(path, X, rows=NAMES, columns=NAMES)
    found = unrelu.complete(read_data(path), threshold=CUT, unknown=np.isnan(X) & (M >= CUT), rng=0)
    assert found.forecasts  # else nothing below is about forecasts
    return found


def answered(monkeypatch, completion):
    """The command, with the library's answer known."""
    asked = {}

    def known(shown, rank, **options):
        asked.update(options, rank=rank)
        return completion

    monkeypatch.setattr(command, "complete", known)
    return asked


def predicting(found):
    return replace(
        found, verdict=Verdict(Stop.PREDICTS, "to its error"), rehearsal=replace(found.rehearsal, extrapolates=True)
    )


def not_extrapolating(found):
    return replace(
        found,
        verdict=Verdict(Stop.DOES_NOT_EXTRAPOLATE, "no model"),
        rehearsal=replace(found.rehearsal, extrapolates=False),
    )


COMMAND = ("complete", "x.csv", "--threshold", CUT, "--unknown", "unknown.csv", "-o", "o.csv")


def cells(name):
    with open(name, newline="") as handle:
        return [row[1:] for row in csv.reader(handle)][1:]


def test_a_rank_that_the_data_ask_for_is_found_and_said_to_be():
    M, X = relu_instance(40, 2)
    np.save("planted.npy", X)
    done = run("complete", "planted.npy", "-o", "o.npy")
    assert done.exit_code == 0, done.stderr
    assert "40×40 matrix, rank 2 (found from the data), by" in done.stdout
    np.testing.assert_allclose(np.load("o.npy"), M, atol=1e-8)
    named = run("complete", "planted.npy", "-r", 2, "-o", "o.npy")
    assert "40×40 matrix, rank 2, by" in named.stdout


def test_no_rank_is_asked_of_the_library_and_auto_is_the_default(monkeypatch, forecast):
    asked = answered(monkeypatch, predicting(forecast))
    run(*COMMAND)
    assert asked["rank"] is None
    run(*COMMAND, "--rank", "3")
    assert asked["rank"] == 3
    run(*COMMAND, "--rank", "auto")
    assert asked["rank"] is None


@pytest.mark.parametrize("rank", ["2.5", "many", "", "AUTO"])
def test_any_other_rank_gets_one_sentence(rank):
    done = run(*COMMAND, "--rank", rank)
    assert done.exit_code == 2
    assert done.stderr == f"error: --rank: expected a whole number, such as 5, or auto; got {rank!r}\n"


def test_a_named_method_needs_a_rank():
    done = run(*COMMAND, "--method", "pam")
    assert done.exit_code == 2
    assert "got --rank auto; give the rank as a number" in done.stderr


def test_a_forecast_is_told_in_plain_words(monkeypatch, forecast):
    found = predicting(forecast)
    answered(monkeypatch, found)
    done = run(*COMMAND)
    assert done.exit_code == 0
    shown = found.rehearsal
    assert f"{len(shown.trials)} models were rehearsed" in done.stdout
    assert f"predicts, to its rehearsed error of {shown.sigma:.3g}" in done.stdout
    assert "2 missing for another reason): the forecast of each entry, within its limits" in done.stdout
    for never in ("determined", "best point found", "Candidate", "np.float64"):
        assert never not in done.stdout
    filled = np.array(cells("o.csv"), float)
    M = kernel()
    assert (filled[M < CUT] <= CUT).all()
    np.testing.assert_allclose(filled, np.asarray(found.filled()))


def test_simple_filling_is_said_and_exits_with_1_and_is_written_all_the_same(monkeypatch, forecast):
    found = not_extrapolating(forecast)
    answered(monkeypatch, found)
    done = run(*COMMAND, "--keep-undetermined")
    assert done.exit_code == 1
    assert "does not extrapolate; simple filling does as well" in done.stdout
    assert "what one distribution for all entries, of mean" in done.stdout
    assert "determined" not in done.stdout
    np.testing.assert_allclose(np.array(cells("o.csv"), float), np.asarray(found.filled()))


def test_json_holds_the_curve_and_not_the_drawn_pairs(monkeypatch, forecast):
    found = predicting(forecast)
    answered(monkeypatch, found)
    about = json.loads(run(*COMMAND, "--json").stdout)
    shown = about["rehearsal"]
    assert [trial["gains"] for trial in shown["trials"]] == [list(trial.gains) for trial in found.rehearsal.trials]
    assert set(shown["trials"][0]) == {"rank", "shrinkage", "diagonal", "gains", "sigmas"}
    for name in ("chosen", "sigma", "damping", "extrapolates"):
        assert shown[name] == getattr(found.rehearsal, name)
    assert not any({"forecast", "hidden"} & set(level) for level in shown["levels"])
    assert about["forecasts"] is True
    assert about["not_determined"] == []


def test_errors_are_the_spread_of_the_forecasts_and_no_entry_is_left_open(monkeypatch, forecast):
    found = predicting(forecast)
    answered(monkeypatch, found)
    files = ("--errors-out", "e.csv", "--flags-out", "f.csv", "--long-out", "l.csv", "--mask-out", "m.csv")
    done = run(*COMMAND, *files)
    assert "errors are the spread of each forecast within its limits" in done.stdout
    errors, flags, M = np.array(cells("e.csv"), float), np.array(cells("f.csv")), kernel()
    assert flags[LOST] == flags[LOST[::-1]] == "missing"
    hidden = M < CUT
    assert (flags[hidden] == "censored").all()
    assert (flags != "undetermined").all()
    measured = flags == "measured"
    assert (errors[measured] == 0).all()
    fit = np.asarray(found.matrix())
    expected = found.rehearsal.forecast(fit[hidden], (-np.inf, CUT)).spread()
    np.testing.assert_allclose(errors[hidden], expected)
    # Without a limit the spread is that of the rehearsal, within the range of a kernel.
    expected = found.rehearsal.forecast(fit[LOST], (-np.inf, np.inf)).spread()
    assert errors[LOST] == pytest.approx(expected)
    assert 0.5 * found.rehearsal.spread < expected < found.rehearsal.spread
    np.testing.assert_array_equal(np.array(cells("m.csv"), int), measured)
    with open("l.csv", newline="") as handle:
        lines = list(csv.DictReader(handle))
    assert {line["flag"] for line in lines} == {"measured", "censored", "missing"}
    censored = [line for line in lines if line["flag"] == "censored"]
    assert all(float(line["low"]) < float(line["high"]) <= CUT for line in censored)


def test_the_error_against_the_truth_is_that_of_what_is_filled_in(monkeypatch, forecast):
    found = predicting(forecast)
    answered(monkeypatch, found)
    write_matrix("truth.csv", kernel(), rows=NAMES, columns=NAMES)
    about = json.loads(run(*COMMAND, "--json", "--truth", "truth.csv").stdout)
    off = np.linalg.norm(np.array(cells("o.csv"), float) - kernel()) / np.linalg.norm(kernel())
    assert about["error"] == pytest.approx(off)


def test_time_that_is_over_leaves_the_best_so_far_and_says_so(monkeypatch, forecast):
    # So little that no machine has settled a rank by then.
    done = run(*COMMAND, "--max-seconds", 1e-6)
    assert done.exit_code == 1
    assert "as far as the search for one had come" in done.stdout
    assert "the time was over, and this is the best so far" in done.stdout
    assert len(cells("o.csv")) == 24
    words = "the time was over (9 s); the best so far of 3 models"
    answered(monkeypatch, replace(forecast, verdict=Verdict(Stop.MAX_SECONDS, words)))
    done = run(*COMMAND, "--max-seconds", 9)
    assert done.exit_code == 1
    assert "the time was over (9 s), and this is the best so far" in done.stdout


def test_compare_finds_the_rank_once(monkeypatch):
    _, X = relu_instance(40, 2)
    np.save("planted.npy", X)
    library, asked = sys.modules["unrelu._old.compare"], []

    def counted(*args, **options):
        asked.append(args[1] if len(args) > 1 else None)
        return unrelu.complete(*args, **options)

    monkeypatch.setattr(library, "complete", counted)
    done = run(
        "compare", "planted.npy", "--rank", "auto", "--methods", "gauss-newton", "--trials", 2, "--json", "c.json"
    )
    assert done.exit_code == 0, done.stderr
    with open("c.json") as handle:
        about = json.load(handle)["about"]
    assert about["rank"] == 2
    assert asked.count(None) == 1
    assert unrelu.compare(planted=(12, 1, 0.0), methods=["gauss-newton"]).about["rank"] == 1
    assert run("compare", "--planted", "12,1,0", "--rank", "auto", "--methods", "gauss-newton").exit_code == 0
    assert "needs the --rank of planted.npy; give a number, or auto" in run("compare", "planted.npy").stderr


def test_compare_says_which_rank_to_name_where_there_is_none(monkeypatch, forecast):
    monkeypatch.setattr(sys.modules["unrelu._old.compare"], "complete", lambda *args, **options: forecast)
    done = run("compare", "x.csv", "--threshold", CUT, "--rank", "auto")
    ranks = {trial.rank: trial.gain for trial in forecast.rehearsal.trials if not trial.shrinkage}
    best = max(ranks, key=ranks.__getitem__)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "no rank of the matrix leaves only noise" in done.stderr
    assert f"so pass --rank {best}, the one that forecasts best" in done.stderr


def test_certify_refuses_a_completion_that_forecasts(forecast):
    for found in (forecast, predicting(forecast), not_extrapolating(forecast)):
        with pytest.raises(unrelu.InputError, match="certify needs a fit of a rank, and this completion forecasts"):
            unrelu.certify(found)
    done = run("certify", "x.csv")
    assert done.exit_code == 2
    assert "--rank" in done.stderr
