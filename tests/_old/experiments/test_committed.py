"""The full run that is kept in docs/reproduction: its verdicts are those that the code computes from its trials."""

import json
import re
from html import escape
from pathlib import Path

import pytest

from unrelu._old.experiments import EXPERIMENTS
from unrelu._old.experiments.outputs import VERDICTS, verdicts_csv
from unrelu._old.experiments.rules import NOT_TESTED
from unrelu._old.experiments.summary import anchor
from unrelu._old.experiments.trials import read_trials

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "reproduction"
ABOUT = json.loads((FOLDER / "reproduction.json").read_text())
SIZES = {entry["name"]: entry["sizes"] for entry in ABOUT["experiments"]}
JUDGED = [name for name in SIZES if (FOLDER / name / VERDICTS).exists()]


def computed(name):
    return EXPERIMENTS[name].judged(SIZES[name], [row for row, _ in read_trials(FOLDER / name)])


def test_all_of_the_paper_is_there_and_in_full():
    assert set(SIZES) >= set(EXPERIMENTS)
    assert not any("--quick" in entry["command"] for entry in ABOUT["experiments"])
    assert all(entry["edition"] == EXPERIMENTS[entry["name"]].edition for entry in ABOUT["experiments"])
    assert all(SIZES[name] == EXPERIMENTS[name].sizes() for name in SIZES)
    assert ABOUT["failed trials"] == []


@pytest.mark.parametrize("name", SIZES)
def test_every_trial_of_the_full_run_is_kept(name):
    experiment = EXPERIMENTS[name]
    tasks = experiment.tasks(SIZES[name])
    rows = [row for row, _ in read_trials(FOLDER / name)]
    assert len(rows) == len(tasks)
    assert [{part: row[part] for part in task} for row, task in zip(rows, tasks, strict=True)] == tasks


@pytest.mark.parametrize("name", JUDGED)
def test_verdicts_are_those_that_the_trials_give(name):
    assert verdicts_csv(computed(name)) == (FOLDER / name / VERDICTS).read_text(encoding="utf-8")


def test_the_page_carries_these_verdicts():
    page = (FOLDER / "report.html").read_text(encoding="utf-8")
    for name in JUDGED:
        for judgement in computed(name):
            line = page[page.index(f'id="{escape(anchor(name, vars(judgement)))}"') :]
            badge = re.search(r'class="badge [^"]*"><span class="mark"[^>]*>[^<]*</span> ([a-z ]+)', line)
            assert badge[1].strip() == judgement.verdict, (name, judgement.key)


def test_odd_and_even_trials_agree_on_nine_lines_of_ten():
    lines = [judgement for name in JUDGED for judgement in computed(name)]
    agree = sum(not judgement.near for judgement in lines)
    assert ABOUT["odd and even trials"] == {"lines": len(lines), "agree": agree}
    assert agree >= 0.9 * len(lines)


def test_most_of_it_was_tested():
    lines = [judgement for name in JUDGED for judgement in computed(name)]
    assert sum(judgement.verdict == NOT_TESTED for judgement in lines) < 0.2 * len(lines)


def test_what_is_kept_is_small_and_says_where_it_comes_from():
    kept = [p for p in FOLDER.rglob("*") if p.suffix in (".csv", ".html", ".md")] + [FOLDER / "reproduction.json"]
    assert sum(path.stat().st_size for path in kept) < 5_000_000
    assert {"unrelu", "numpy", "scipy"} <= set(ABOUT["versions"])
    assert ABOUT["machine"]["processor"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", ABOUT["written"])
    assert all(seeds is None or len(seeds) == 2 for seeds in ABOUT["seeds"].values())
    # Eight hours of CPU are all that it may take.
    assert sum(entry["seconds"] for entry in ABOUT["experiments"]) < 8 * 3600


def test_the_readme_leads_there():
    assert "docs/reproduction/" in (ROOT / "README.md").read_text(encoding="utf-8")
