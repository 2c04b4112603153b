"""Ctrl-C in the middle of a command: exit code 130, no file, no traceback."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from helpers import listening

# Each runs for much longer than this, wherever it is by then.
SECONDS = 4


def matrix(path):
    """Write a noisy matrix whose rank takes long to find."""
    g = np.random.default_rng(0)
    U, noise = g.standard_normal((600, 8)), 0.5 * g.standard_normal((600, 600))
    values = U @ U.T + (noise + noise.T) / np.sqrt(2)
    np.save(path, np.where(values >= 0, values, np.nan))


def table(path):
    """Write a table with limits, on which many models are validated."""
    g = np.random.default_rng(0)
    values = np.exp(g.standard_normal((600, 4)) @ g.standard_normal((4, 30)) / 2)
    names = ",".join(f"c{k}" for k in range(30))
    limits = np.quantile(values, 0.3, axis=0)
    np.savetxt(path, np.where(values >= limits, values, np.nan), delimiter=",", header=names, comments="")
    np.savetxt(path.with_name("limits.csv"), [limits], delimiter=",", header=names, comments="")


COMMANDS = {
    "rank": (matrix, "x.npy", "complete x.npy -o out.csv"),
    "checkpoint": (matrix, "x.npy", "complete x.npy --checkpoint state.npz -o out.csv"),
    "table": (table, "x.csv", "table x.csv --limits limits.csv -o out.csv --flags-out flags.csv"),
}


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted_command_writes_nothing(name, tmp_path):
    write, file, command = COMMANDS[name]
    write(tmp_path / file)
    before = {path.name for path in tmp_path.iterdir()}
    arguments = [sys.executable, "-m", "unrelu", *command.split(), "--quiet"]
    with subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=listening) as process:
        time.sleep(SECONDS)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert {path.name for path in tmp_path.iterdir()} - before <= {"state.npz"}
