"""What a stranger installs: the bare wheel in an empty environment."""

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

COMPLETE = """
import sys
import numpy as np
import unrelu
U = np.random.default_rng(0).standard_normal((60, 2))
M = U @ U.T
completion = unrelu.complete(np.where(M >= 0, M, np.nan), 2, rng=1)
assert completion.verdict.converged, completion.verdict
assert np.abs(completion.matrix() - M).max() < 1e-8
assert "matplotlib" not in sys.modules
assert "sklearn" not in sys.modules
print(unrelu.__file__)
"""


def _reachable(folder):
    """Whether pip finds what the wheel needs, by whatever way it is configured to; it is kept for the installation."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--retries", "0", "--timeout", "5", "-q"]
    return subprocess.run([*command, "-d", folder, "hatchling", *needed], capture_output=True).returncode == 0


def test_bare_wheel_in_an_empty_environment(tmp_path):
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("the source tree is not here; there is nothing to build a wheel from")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # it must be the wheel's
    run = {"check": True, "capture_output": True, "text": True, "cwd": tmp_path, "env": env}
    if not _reachable(tmp_path / "needed"):
        pytest.skip("the package index cannot be reached, and an empty environment needs NumPy and the others from it")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path), str(ROOT)], **run)
    (wheel,) = tmp_path.glob("unrelu-*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", str(wheel)], **run)
    where = subprocess.run([python, "-c", COMPLETE], **run).stdout
    assert str(tmp_path) in where
    assert (Path(where.strip()).parent / "py.typed").exists()
    assert (Path(where.strip()).parent / "_old" / "experiments" / "printed.json").exists()
    assert (Path(where.strip()).parent / "_old" / "experiments" / "assets" / "page.js").exists()
    extras = subprocess.run([python, "-m", "pip", "list"], **run).stdout
    for name in ("pytest", "hypothesis", "torch", "numba"):
        assert f"\n{name} " not in extras
