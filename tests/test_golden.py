"""The quick golden answers, and that the comparison reports what differs."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.golden import store
from tests.golden.__main__ import ALONE, main, solve
from tests.golden.case import Case, Data
from tests.golden.cases import all_cases
from tests.golden.judge import compare

EXACT = "exact/gaussian"


def made(**changes: Any) -> dict[str, Any]:
    """Return an answer of three entries, made by hand."""
    answer = {
        "status": "fitted",
        "rank": 2,
        "values": [1.0, -2.0, 3.0],
        "determined": [True, True, False],
        "error": 1e-12,
        "objective": 1e-20,
        "numbers": {"sigma": [0.5]},
        "facts": {"determined rows": 10},
        "seconds": 1.0,
    }
    return answer | changes


def word(now: dict[str, Any], stored: dict[str, Any] | None = None, noise: float = 0.0, **fields: Any) -> str:
    """Return the word of the comparison of two answers made by hand."""
    case = Case("hand/made", "complete", lambda g: Data({}), **fields)
    return compare(case, made() if stored is None else stored, now, False, noise)[0]


def disturbed(change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Compare an instance with its stored answer after a change of the latter; return what is printed."""
    stored = {EXACT: copy.deepcopy(store.read()[EXACT])}
    change(stored[EXACT])
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    store.write(stored)
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    chosen = [case for case in all_cases() if case.name == EXACT]
    monkeypatch.setattr("tests.golden.__main__.all_cases", lambda: chosen)
    assert main(["--workers", "1"]) == 1
    return capsys.readouterr().out


def test_quick_subset_answers_as_stored():
    # In a process of its own, because the libraries read the number of their threads when they are loaded.
    command = [sys.executable, "-m", "tests.golden", "--quick", "--workers", "2"]
    root = Path(__file__).resolve().parents[1]
    path = os.pathsep.join(path for path in (str(root), *sys.path) if path)
    env = os.environ | ALONE | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_instance_has_a_stored_answer_and_every_answer_an_instance():
    assert {case.name for case in all_cases()} == set(store.read())


def test_data_of_an_instance_are_always_the_same():
    case = next(case for case in all_cases() if case.name == EXACT)
    np.testing.assert_array_equal(case.data().given["X"], case.data().given["X"])


def test_disturbed_entry_is_worse(tmp_path, monkeypatch, capsys):
    # The stored answer is now as good as exact, and this version's is compared with it: it looks worse.
    def change(answer: dict[str, Any]) -> None:
        answer["values"][0] += 1e-6
        answer["error"] /= 2
        answer["objective"] = 0.0

    assert f"worse    {EXACT}" in disturbed(change, tmp_path, monkeypatch, capsys)


def test_changed_status_is_reported(tmp_path, monkeypatch, capsys):
    def change(answer: dict[str, Any]) -> None:
        answer["status"] = "stationary"

    assert f"changed  {EXACT}: status stationary" in disturbed(change, tmp_path, monkeypatch, capsys)


def test_changed_count_of_determined_rows_is_reported(tmp_path, monkeypatch, capsys):
    def change(answer: dict[str, Any]) -> None:
        answer["facts"]["determined rows"] -= 1

    assert f"changed  {EXACT}: determined rows" in disturbed(change, tmp_path, monkeypatch, capsys)


def test_an_answer_is_the_same_within_its_tolerance():
    assert word(made()) == "same"
    assert word(made(values=[1.0 + 1e-9, -2.0, 3.0])) == "same"
    far = made(values=[1.0, -2.0, 99.0], error=0.5)
    assert word(far, made(error=0.5)) == "same"  # the last entry is not determined
    assert word(made(values=[1.0004, -2.0, 3.0]), noise=0.5) == "same"
    assert word(made(numbers={"sigma": [0.5004]})) == "same"
    assert word(made(seconds=1.7)) == "same"


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "stationary"},
        {"rank": 3},
        {"numbers": {"sigma": [0.502]}},
        {"numbers": {}},
        {"numbers": {"sigma": [np.nan]}},
        {"facts": {"determined rows": 9}},
        {"facts": {"determined rows": 10, "components": 1}},
        {"values": [1.0, -2.0]},
        {"values": [1.0, np.nan, 3.0]},
        {"values": [1.1, -2.0, 3.0], "error": None},
    ],
)
def test_other_answers_are_changed(changes):
    assert word(made(**changes)) == "changed"


def test_other_entries_are_judged_by_error_and_objective():
    values = [1.1, -2.0, 3.0]
    assert word(made(values=values, error=0.1, objective=1.0)) == "worse"
    assert word(made(values=values, error=1e-13)) == "better"
    # Exact data have one answer, whatever error and objective say of the other entries.
    assert word(made(values=values)) == "worse"
    assert word(made(values=values, error=0.1, objective=0.0)) == "worse"
    # With noise a lower objective is no worse fit, although it lies farther from the truth.
    noisy = made(error=0.1, objective=2.0)
    assert word(made(values=values, error=0.2, objective=1.9), noisy, noise=0.01) == "same"
    assert word(made(values=values, error=0.2, objective=2.1), noisy, noise=0.01) == "worse"


def test_time_and_order_of_words():
    assert word(made(seconds=2.0)) == "slower"
    assert word(made(seconds=2.0, status="stationary")) == "changed"
    assert word(made(status="stationary", values=[1.1, -2.0, 3.0], error=0.1, objective=1.0)) == "worse"


def test_sampled_entries_are_compared_within_their_errors():
    stored = made(numbers={"monte carlo error": [0.01, 0.01, 0.01]}, determined=[])
    near = made(values=[1.05, -2.0, 3.0], numbers=stored["numbers"], determined=[], error=None)
    far = made(values=[1.5, -2.0, 3.0], numbers=stored["numbers"], determined=[], error=None)
    assert word(near, stored, sampled=True) == "same"
    assert word(far, stored, sampled=True) == "changed"


def test_solving_again_gives_the_same_answer():
    case = next(case for case in all_cases() if case.name == EXACT)
    one, two = (solve([case], 1)[EXACT] for _ in range(2))
    assert one["values"] == two["values"]
