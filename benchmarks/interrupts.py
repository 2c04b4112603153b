"""Ctrl-C at random moments, from the start of the process to its end: what is left behind?

Every interrupt must end in one of two ways: exit code 130 and the files as they were before, or the exit code of the
whole run and all of its files. Never a temporary file, never a traceback. Before the first line of this package runs,
the interpreter alone decides what an interrupt does; that share is counted by itself.

    python benchmarks/interrupts.py [--count 1000] [--seed 0] [--commands complete,locate,reproduce]
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

SCRIPT = Path(sys.executable).with_name("unrelu")
UNRELU = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "unrelu"]
OBEYED, TOO_LATE, ENDED, WRONG = "exit 130 and the old state", "exit 0 and the new one", "over before", "WRONG"
# What the interpreter does with Ctrl-C before our first line: it has no handler yet, or raises where nobody catches.
KILLED, STARTING, LOADING = "killed by the system", "in Python's own start", "while Python loads the start script"
INTERPRETER = (KILLED, STARTING, LOADING)


def listening():
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Files:
    """A command whose files are all old or all new."""

    def __init__(self, name, arguments, outputs):
        self.name, self.arguments, self.outputs = name, arguments, outputs

    def prepare(self, folder, source):
        for path in source.iterdir():
            shutil.copy(path, folder)
        for output in self.outputs:
            (folder / output).write_text("old")
        self.before = sorted(path.name for path in folder.iterdir())

    def state(self, folder):
        if sorted(path.name for path in folder.iterdir()) != self.before:
            return "other files: " + ", ".join(sorted(path.name for path in folder.iterdir()))
        old = [(folder / output).read_bytes() == b"old" for output in self.outputs]
        return "old" if all(old) else "new" if not any(old) else "some old, some new"


class Reproduce:
    """Finished trials stay, every file is whole, and the page is there if the exit code says so."""

    name = "reproduce"
    arguments = ("reproduce", "figure-orthants", "--quick", "--trials", "2", "--jobs", "1", "-o", "out")

    def prepare(self, folder, source):
        pass

    def state(self, folder):
        for path in folder.rglob("*"):
            if path.is_file() and not self.whole(path):
                return f"{path.relative_to(folder)} is not whole"
        return "new" if (folder / "out" / "report.html").exists() else "old"

    def whole(self, path):
        if path.name.startswith("."):
            return False
        content = path.read_bytes()
        match path.suffix:
            case ".json":
                return isinstance(json.loads(content), dict)
            case ".jsonl":
                return all("found" in json.loads(line) for line in content.splitlines())
            case ".html":
                return content.endswith(b"</html>\n")
            case ".svg":
                return content.endswith(b"</svg>\n")
            case ".png":
                return content.endswith(b"IEND\xaeB`\x82")
            case _:
                return content.endswith(b"\n")


def inputs(folder):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((80, 3))
    M = U @ U.T
    np.savetxt(folder / "x.csv", np.where(M >= 0, M, np.nan), delimiter=",", fmt="%.17g")
    P = rng.random((40, 2))
    D = np.linalg.norm(P[:, None] - P, axis=2)
    i, j = np.nonzero(np.triu(D < 0.5, 1))
    np.savetxt(folder / "d.csv", np.column_stack([i, j, D[i, j]]), delimiter=",", fmt=["%d", "%d", "%.17g"])


COMMANDS = [
    Files(
        "complete",
        ("complete", "x.csv", "--rank", "3", "-o", "a.csv", "--mask-out", "b.csv", "--errors-out", "c.csv"),
        ["a.csv", "b.csv", "c.csv"],
    ),
    Files(
        "locate",
        ("locate", "d.csv", "--dim", "2", "--cutoff", "0.5", "-o", "p.csv", "--plot", "p.png"),
        ["p.csv", "p.png"],
    ),
    Reproduce(),
]


def by_the_interpreter(words, code):
    """Which of its ways to end this was; frames of files of ours, other than the first two, say that it was none."""
    frames = re.findall(r'File "([^"]+)", line', words)
    ours = [f for f in frames if re.search(r"/unrelu/(?!__init__\.py|__main__\.py)", f)]
    if ours or any("numpy" in f for f in frames):
        return WRONG
    if not frames:
        return KILLED if code == -signal.SIGINT else STARTING if "Fatal Python error" in words else WRONG
    return LOADING if any(f.endswith("bin/unrelu") or "runpy" in f for f in frames) else STARTING


def run(command, source, delay, env):
    """Start, interrupt after a delay, and say how it ended."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        command.prepare(folder, source)
        began = time.perf_counter()
        process = subprocess.Popen(
            [*UNRELU, *command.arguments],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
            preexec_fn=listening,
        )
        time.sleep(max(0.0, delay - (time.perf_counter() - began)))
        alive = process.poll() is None
        if alive:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it, to all of them
        try:
            _, words = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return WRONG, "still running after 60 s", 60.0
        took = time.perf_counter() - began - delay
        state = command.state(folder)
        code = process.returncode
        if "Traceback" in words or "Fatal Python error" in words or code < 0:
            kind = by_the_interpreter(words, code) if state == "old" and alive else WRONG
            return kind, f"code {code}, {state}: {words[-2000:]}", took
        if not alive:
            return (ENDED if (code, state) == (0, "new") else WRONG), f"code {code}, {state}: {words[-600:]}", took
        right = {(130, "old"): OBEYED, (0, "new"): TOO_LATE}
        return right.get((code, state), WRONG), f"code {code}, {state}: {words[-600:]}", took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", default=",".join(command.name for command in COMMANDS))
    options = parser.parse_args()
    draw = random.Random(options.seed)
    chosen = [command for command in COMMANDS if command.name in options.commands.split(",")]
    wrong = early = 0
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "inputs")
        source.mkdir()
        inputs(source)
        # Compiled once, as after an installation.
        env = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(place, "compiled")), "TERM": "dumb"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in chosen:
            measured(command, source, env)  # compiles
            whole = float(np.median([measured(command, source, env) for _ in range(3)]))
            found, slowest = Counter(), 0.0
            count = options.count // len(chosen) + (command is chosen[0]) * (options.count % len(chosen))
            while found.total() - found[ENDED] < count:  # who is over already cannot be interrupted
                delay = draw.uniform(0, whole)
                kind, words, took = run(command, source, delay, env)
                found[kind] += 1
                slowest = max(slowest, took if kind == OBEYED else 0.0)
                if kind == WRONG:
                    wrong += 1
                    print(f"{command.name} interrupted after {delay:.4f} s: {words}", flush=True)
            shares = ", ".join(f"{number} {kind}" for kind, number in found.most_common())
            print(f"{command.name}: {count} interrupts within {whole:.2f} s: {shares}; slowest end {slowest:.2f} s")
            early += sum(found[kind] for kind in INTERPRETER)
    print(f"{wrong} of {options.count} wrong; of {early} the interpreter decided before the first line of this package")
    sys.exit(wrong > 0)


def measured(command, source, env):
    """Seconds of a run that nobody interrupts."""
    with tempfile.TemporaryDirectory() as place:
        command.prepare(Path(place), source)
        began = time.perf_counter()
        subprocess.run([*UNRELU, *command.arguments], cwd=place, env=env, capture_output=True, check=True)
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
