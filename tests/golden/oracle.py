"""Answers of 6936f05 itself, from its wheel in an environment of its own (``make oracle``).

``python -m tests.golden.oracle NAME ...`` prints them as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["ask"]

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "6936f05"


def environment() -> Path:
    """Return the folder of the environment that has the wheel of 6936f05."""
    return Path(os.environ.get("UNRELU_ORACLE", ROOT / "build" / "oracle"))


def ask(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the answers of 6936f05 to the instances whose names begin so."""
    python = environment() / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"{python} does not exist; `make oracle` builds it")
    command = [str(python), "-m", "tests.golden", "--json", "--workers", "1", *names]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(ask(sys.argv[1:]), indent=1))
