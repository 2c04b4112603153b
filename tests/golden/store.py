"""Reading and writing stored answers: one JSON file for each family."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.golden.adapter import Answer

__all__ = ["FOLDER", "read", "write"]

FOLDER = Path(__file__).parent / "answers"


def read() -> dict[str, dict[str, Any]]:
    """Return all stored answers by name."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(FOLDER.glob("*.json")):
        found |= json.loads(path.read_text())
    return found


def write(answers: dict[str, dict[str, Any]]) -> None:
    """Write answers, a file for each family; answers of other families stay."""
    FOLDER.mkdir(exist_ok=True)
    for family in sorted({name.partition("/")[0] for name in answers}):
        own = {name: _plain(value) for name, value in sorted(answers.items()) if name.partition("/")[0] == family}
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in own.items())
        (FOLDER / f"{family}.json").write_text("{\n" + lines + "\n}\n")


def _plain(value: Answer | dict[str, Any]) -> dict[str, Any]:
    return value if isinstance(value, dict) else asdict(value)
