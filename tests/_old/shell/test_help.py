"""The help that people read, and what the Tab key knows."""

import os
import re
import subprocess
import sys
from functools import cache

import pytest

from unrelu._old.cli import COMMANDS

PLAIN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
UNRELU = [sys.executable, "-m", "unrelu"]


@cache  # help does not change, and Python takes a second to start
def told(*arguments, columns=80, **env):
    env = {**PLAIN, "COLUMNS": str(columns), **env}
    done = subprocess.run([*UNRELU, *arguments], capture_output=True, encoding="utf-8", env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def words(text):
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


@pytest.mark.parametrize("columns", [50, 80, 130])
@pytest.mark.parametrize("command", [name for name, *_ in COMMANDS])
def test_help_names_options_and_their_values_for_people(command, columns):
    text = told(command, "--help", columns=columns)
    assert not re.search(r"<\w+(\[\w+\])?>", text), "a type of Python's"
    assert max(map(len, text.splitlines())) <= columns
    wide = set(re.findall(r"(?<![\w-])--[a-z-]+", told(command, "--help", columns=200)))
    assert set(re.findall(r"(?<![\w-])--[a-z-]+", text)) == wide, "a name is cut"
    assert "--output" not in text or re.search(r"--output +(-o +)?(FILE|FOLDER) ", text)
    assert "--json" not in text or command == "compare" or re.search(r"--json +Print", words(text))
    assert re.search(r"--help +(-h +)?Show", words(text))


@pytest.mark.parametrize(
    ("command", "values"),
    [
        ("complete", "--method NAME What to solve by: auto, gauss-newton, direct, gradient-descent, scaled-gd, pam,"),
        ("complete", "--start NAME Where to begin: auto, clique, tailored, random-imputation, random-spectral,"),
        ("complete", "--loss NAME What a misfit costs: auto, observed, one-sided, censored, huber;"),
        ("complete", "--seen SIDE On which side of the threshold entries were seen: above or below;"),
        ("complete", "--pairs NAME Whether (i, j) and (j, i) carry one noise or two: auto, one or independent."),
        ("locate", "--start NAME Where to begin: auto, paths, trilateration."),
        ("locate", "--loss NAME What a misfit costs: auto, distances, squared, one-sided, censored, huber."),
        ("locate", "--format NAME What the file holds: edges, matrix or contacts."),
        ("compare", "--methods NAMES Which, with commas between: auto, gauss-newton, direct,"),
    ],
)
def test_help_lists_what_an_option_takes(command, values):
    assert values in words(told(command, "--help", columns=200))


def test_a_command_speaks_of_its_own_methods_and_files():
    assert "sdp" not in told("locate", "--help")
    assert "--json FILE Where to write every run and the summary: a .json file" in words(
        told("compare", "--help", columns=200)
    )


def test_completion_is_said_in_a_line_and_no_option_of_the_list():
    text = words(told("--help"))
    assert text.count("-completion") == 1
    assert "unrelu --install-completion lets the Tab key complete commands and options" in text


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("unrelu co", ["complete", "compare"]),
        ("unrelu complete --max", ["--max-iter", "--max-seconds"]),
        ("unrelu complete --method g", ["gauss-newton", "gradient-descent", "gnmr", "gibbs"]),
        ("unrelu complete --seen b", ["below", "between"]),
        ("unrelu locate --loss c", ["censored"]),
        ("unrelu compare --stopping ", ["relative", "paper"]),
    ],
)
def test_the_tab_key_completes(typed, offered):
    asked = {"_UNRELU_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    assert told(**asked).split() == offered


def test_completion_is_installed(tmp_path):
    line = f"{sys.executable} -m unrelu --install-completion; exit $?"
    env = {**PLAIN, "HOME": str(tmp_path)}
    done = subprocess.run(["bash", "-c", line], capture_output=True, encoding="utf-8", env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("bash completion installed in")
    script = tmp_path / ".bash_completions" / "unrelu.sh"
    assert "_UNRELU_COMPLETE=complete_bash" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()
