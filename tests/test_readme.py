"""The README's promises: its Python runs, its shell lines exist, its links lead somewhere."""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from typer.testing import CliRunner

from pages import run, sections
from unrelu.cli import app
from unrelu.loop.history import Stop

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
REAL_DATA = (ROOT / "docs" / "real-data.md").read_text()
MISSING_DATA = (ROOT / "docs" / "missing-data.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_blocks_run_and_do_what_they_say(capsys):
    namespace = {}
    for block in blocks("python"):
        exec(block, namespace)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("fitted: relative gradient norm")
    assert "the data are fitted to rounding" in printed[0]
    assert printed[1] == "5"
    assert float(printed[2]) < 1e-9
    assert printed[3].startswith("Proved: exactly one matrix of rank at most 5 agrees with")
    assert printed[-2] == "True"
    assert float(printed[-1]) < 1e-9
    assert np.isfinite(namespace["filled"]).all()


def test_the_two_commands_stand_there_word_for_word():
    assert blocks("sh")[:2] == ["pip install . && unrelu demo\n", "pip install '.[test]' && pytest\n"]


@pytest.mark.filterwarnings("ignore:too little was seen")
def test_the_page_on_certificates_prints_what_it_says(capsys):
    page = (ROOT / "docs" / "certificates.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(block, {})
    printed = capsys.readouterr().out.splitlines()
    promised = [line.rsplit("# ", 1)[1] for line in block.splitlines() if line.startswith("print(") and "# " in line]
    for said, promise in zip(printed, promised, strict=False):
        assert promise.startswith(said)
    assert printed[-1] in page


@pytest.mark.parametrize("name", ["files.md", "indefinite.md", "noise.md", "outliers.md", "tables.md"])
def test_pages_print_what_they_say(name, capsys):
    if name == "files.md":
        pytest.importorskip("gemmi")
    page = (ROOT / "docs" / name).read_text()
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(block, {"__name__": name})
        printed = capsys.readouterr().out.splitlines()
        promised = [
            line.rsplit("# ", 1)[1] for line in block.splitlines() if line.startswith("print(") and "# " in line
        ]
        assert len(printed) == len(promised)
        for said, promise in zip(printed, promised, strict=True):
            assert said.startswith(promise.rstrip("… ")), (said, promise)


def test_the_page_on_limits_prints_what_it_shows(capsys):
    page, names = (ROOT / "docs" / "limits.md").read_text(), {}
    shown = 0
    for language, block in re.findall(r"```(python|text)\n(.*?)```", page, flags=re.DOTALL):
        if language == "text":
            assert capsys.readouterr().out == block
            shown += 1
        else:
            exec(compile(block, "limits.md", "exec"), names)
    assert shown == 5


def test_the_page_on_posteriors_prints_what_it_shows():
    shown = list(run((ROOT / "docs" / "posterior.md").read_text()))
    assert len(shown) == 1
    for block, printed in shown:
        assert printed == block


@pytest.mark.parametrize("section", sections(REAL_DATA), ids=lambda section: section.splitlines()[0].strip("# "))
def test_the_page_on_real_data_prints_what_it_shows(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for shown, printed in run(section):
        assert printed == shown
    for command, code in re.findall(r"(?m)^(unrelu .*)  # exit code (\d)$", section):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == int(code), done.stderr


@pytest.mark.parametrize("section", sections(MISSING_DATA), ids=lambda section: section.splitlines()[0].strip("# "))
def test_the_page_on_missing_data_prints_what_it_shows(section):
    shown = list(run(section))
    assert len(shown) == section.count("```python")
    for expected, printed in shown:
        assert printed == expected


def test_the_page_on_real_data_has_three_jobs_and_what_they_rest_on():
    titles = [section.splitlines()[0] for section in sections(REAL_DATA)]
    jobs = ["## A similarity above a cut-off", "## A table with limits of detection", "## A radio map"]
    assert titles == ["# Real data", *jobs, "## How it works", "## What it cannot know"]
    for section in sections(REAL_DATA)[1:4]:
        assert {"predicts", "does-not-extrapolate"} <= set(re.findall(r"[a-z-]+", section))
        assert ".filled()" in section
        assert ".predict(" in section


def test_the_page_on_verdicts_names_every_code():
    page = (ROOT / "docs" / "verdicts.md").read_text()
    inner = {Stop.CONVERGED}  # of one attempt; front doors judge it
    table = [line for line in page.splitlines() if line.startswith("| `")]
    assert [code for code in set(Stop) - inner if not any(f"`{code.value}`" in line for line in table)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_page_on_solvers_runs_and_prints_what_it_shows(capsys, monkeypatch):
    page = (ROOT / "docs" / "add-a-solver.md").read_text()
    module = ModuleType("add_a_solver")  # what is stored must be found again
    monkeypatch.setitem(sys.modules, module.__name__, module)
    shown = []
    for language, block in re.findall(r"```(python|text)\n(.*?)```", page, flags=re.DOTALL):
        if language == "text":
            assert capsys.readouterr().out == block, shown
        else:
            exec(compile(block, "add-a-solver.md", "exec"), module.__dict__)
            shown.append(block)
    assert len(shown) == 6
