"""The same instances with another checkout: what was right there and is not said any more.

Calling fewer rows determined makes fewer mistakes, and is no cure. So what the other checkout had converged or
determined, and rightly, is counted, and how much of that is still so.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soak.catalogue import drawn
from soak.instance import DISTANCES, EXACT, NOISY, TABLES
from soak.runner import run
from soak.second import UNKNOWNS, differing
from soak.table import aligned

__all__ = ["Kept", "facts_of", "kept", "printed"]

Record = dict[str, Any]

HERE = Path(__file__).resolve().parent
# Searched for a second completion at most; more are counted as lost.
SEARCHED = 400


@dataclass
class Kept:
    """Of one group: what the other checkout had rightly, what is still so, and what it had by luck."""

    instances: int = 0
    converged_before: int = 0
    converged_now: int = 0
    converged_right_before: int = 0
    converged_kept: int = 0
    rows: int = 0
    rows_before: int = 0
    rows_now: int = 0
    rows_right_before: int = 0
    rows_kept: int = 0
    rows_by_luck: int = 0
    lost: list[str] = field(default_factory=list)


def facts_of(names: list[str], source: str, folder: Path, workers: int = 2) -> dict[str, Record]:
    """What another checkout says of these instances; written down, so that each is asked once only."""
    store = folder / f"baseline-{_fingerprint(Path(source))}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    known = {r["name"]: r for r in map(json.loads, store.read_text().splitlines())} if store.exists() else {}
    with store.open("a") as lines:

        def told(record: Record) -> None:
            known[record["name"]] = record
            lines.write(json.dumps(record) + "\n")

        missing = [name for name in dict.fromkeys(names) if name not in known]
        run(missing, told, workers=workers, source=source, only_facts=True)
    return {name: known[name] for name in names if name in known}


def _fingerprint(source: Path) -> str:
    """Of the other checkout and of how instances are drawn and judged: a change of either asks again."""
    digest = hashlib.sha256()
    for path in [*sorted(source.rglob("*.py")), *sorted(HERE.glob("*.py"))]:
        if path.parent != HERE or path.stem not in ("__main__", "table", "runner", "second", "baseline"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def kept(records: list[Record], before: dict[str, Record]) -> dict[str, Kept]:
    """By group: what was right before, and is still said."""
    found = {group: Kept() for group in (EXACT, NOISY, DISTANCES, TABLES)}
    searched = 0
    for now in {record["name"]: record for record in records}.values():
        old = before.get(now["name"])
        if old is None:
            continue
        one = found[now["group"]]
        one.instances += 1
        one.converged_before += old["converged"]
        one.converged_now += now["converged"]
        one.rows += now["about"]["n"]
        one.rows_before += len(old["rows"])
        one.rows_now += len(now["rows"])
        one.converged_right_before += old["right"]
        one.converged_kept += old["right"] and now["converged"]
        rows, left = set(old["right_rows"]), set(old["right_rows"]) - set(now["rows"])
        lucky = bool(left) and searched < SEARCHED and _by_luck(now["name"], sorted(rows))
        searched += bool(left)
        one.rows_right_before += len(rows)
        one.rows_kept += len(rows) - len(left)
        one.rows_by_luck += len(left) if lucky else 0
        if (left and not lucky) or (old["right"] and not now["converged"]):
            words = f"{len(left)} of {len(rows)} rows" if left and not lucky else f"{old['code']} became {now['code']}"
            one.lost.append(f"{now['name']} ({words})")
    return found


def _by_luck(name: str, rows: list[int]) -> bool:
    """Whether another completion differs among the rows that were called determined: then they were not."""
    instance = drawn(name)
    if not instance.exact or instance.single or instance.planted.size > UNKNOWNS:
        return False
    claimed = np.zeros((instance.size, instance.size), bool)
    claimed[np.ix_(rows, rows)] = True
    return differing(instance, claimed & ~(instance.seen | instance.seen.T)) is not None


def printed(found: dict[str, Kept], examples: int = 6) -> str:
    """The comparison as a table, and some names of what was lost."""
    lines = []
    for group, one in found.items():
        if one.instances:
            lines.append([group, str(one.instances),
                f"{_share(one.converged_before, one.instances)} → {_share(one.converged_now, one.instances)}",
                f"{one.converged_kept} of {one.converged_right_before}",
                _share(one.converged_kept, one.converged_right_before),
                f"{_share(one.rows_before, one.rows)} → {_share(one.rows_now, one.rows)}",
                f"{one.rows_kept} of {one.rows_right_before}",
                _share(one.rows_kept, one.rows_right_before), str(one.rows_by_luck),
            ])  # fmt: skip
    head = [
        "against the baseline", "instances", "converged", "right and kept", "share", "rows determined",
        "right and kept", "share", "lost, but a second completion exists",
    ]  # fmt: skip
    lost = [f"  {group}  {name}" for group, one in found.items() for name in one.lost[:examples]]
    return aligned(head, lines) + ("\nLost:\n" + "\n".join(lost) if lost else "")


def _share(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "–"
