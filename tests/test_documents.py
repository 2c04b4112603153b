"""The README and the six pages: their examples run, print what is shown, and their links lead somewhere."""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
OTHERS = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# Blocks that import one of these are skipped where it is not installed.
EXTRAS = {"dask", "torch", "zarr"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def missing_extra(code):
    """Return whether a block imports an optional package that is not installed."""
    imported = set(re.findall(r"^(?:import|from) (\w+)", code, flags=re.MULTILINE))
    return any(find_spec(name) is None for name in imported & EXTRAS)


def run_python(code, namespace):
    """Return what a Python block prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), namespace)
    return printed.getvalue()


def run_shell(code):
    """Return what the ``unrelu`` commands of a block print; ``# exit code 1`` behind one says that it fails."""
    printed = ""
    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        if words[0] != "unrelu":
            continue  # installing is not a test
        expected = re.search(r"# exit code (\d+)$", line)
        done = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, text=True, encoding="utf-8", timeout=120, check=False
        )
        assert done.returncode == int(expected[1] if expected else 0), f"{line}\n{done.stdout}{done.stderr}"
        printed += done.stdout
    return printed


def run_page(text):
    """Run the blocks of a page in order; a text block shows what the block above it prints.

    Python that prints must be followed by a text block. What ``...`` stands for in it is not compared, nor is white
    space.
    """
    namespace = {"__name__": "page"}
    blocks = [found.groups() for found in BLOCK.finditer(text)]
    shown = 0
    for k, (language, code) in enumerate(blocks):
        if language == "text" or (language == "python" and missing_extra(code)):
            continue
        printed = run_python(code, namespace) if language == "python" else run_shell(code)
        followed = k + 1 < len(blocks) and blocks[k + 1][0] == "text"
        if followed:
            expected = blocks[k + 1][1]
            assert doctest.OutputChecker().check_output(expected, printed, FLAGS), f"{code}\nprints\n{printed}"
            shown += 1
        else:
            assert language == "sh" or not printed, f"nothing is shown below\n{code}\nwhich prints\n{printed}"
    return shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_print_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert run_page(page.read_text(encoding="utf-8")) > 0


@pytest.mark.parametrize(
    "page",
    [
        "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n",
        "```python\nprint('nothing shown')\n```\n",
        "```sh\nunrelu complete no-such-file.csv -o out.csv\n```\n",
    ],
    ids=["other output", "output not shown", "command fails"],
)
def test_a_page_that_is_wrong_is_found(page):
    with pytest.raises(AssertionError):
        run_page(page)


def test_there_are_the_six_pages():
    assert {page.stem for page in PAGES} == {"README", "matrices", "tables", "distances", "trust", "size", "paper"}


def test_the_two_commands_of_the_readme():
    commands = re.findall(r"^```sh\n(.*?)\n```$", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert commands[:2] == ["pip install . && unrelu demo", "pip install '.[test]' && pytest"]


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.stem)
def test_pages_are_short_and_links_resolve(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) < 1500
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []
