"""What was tried and found, counted and printed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from soak.instance import DISTANCES, EXACT, NOISY, TABLES

__all__ = ["MUST_BE_ZERO", "aligned", "failed", "printed"]

Record = dict[str, Any]

# Every finding is a failure; in this order, with what it means.
MUST_BE_ZERO = {
    "wrong": "converged, determined and wrong",
    "wrong-not-converged": "determined and wrong, not converged",
    "entry": "an entry called generic or proved, or seen, and written wrong",
    "proved": "rows called proved that are wrong",
    "unique": "certify says unique, and it is wrong",
    "bounds": "guaranteed bounds that miss the truth",
    "second": "another completion differs where one was called determined",
    "misfit": "converged without noise, and a seen entry is not met",
    "best-of-rank": "best-of-rank on exact data of this rank",
    "permutation": "the answer changes with the order of the rows",
    "scaling": "the answer changes with the units",
    "nan": "NaN where numbers belong",
    "exception": "exceptions",
    "warning": "warnings",
    "printed": "something written to standard output",
    "hang": "no answer in time",
    "died": "the process died",
}
# Coverage of 95 % intervals is read off instances with at least so many unseen entries.
ENOUGH, LOW = 20, 0.8
GROUPS = (EXACT, NOISY, DISTANCES, TABLES)


def failed(records: Iterable[Record]) -> bool:
    """Whether anything that must be zero is not."""
    return any(record["findings"] for record in records)


def printed(records: list[Record], examples: int = 4) -> str:
    """The whole report."""
    parts = [_kinds(records), _findings(records, examples), _remarks(records, examples), _shares(records)]
    parts += [_coverage(records), _slowest(records)]
    return "\n\n".join(part for part in parts if part)


def aligned(head: list[str], rows: list[list[str]]) -> str:
    """A table: words from the left, numbers from the right."""
    columns = list(zip(head, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numbers = [all(cell[:1].isdigit() or cell == "–" for cell in column[1:]) for column in columns]
    lines = [head, ["─" * width for width in widths], *rows]
    cells = [
        [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, numbers, strict=True)
        ]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in cells)


def _kinds(records: list[Record]) -> str:
    """One line per kind: how many, and what was found."""
    by_kind = _by(records, "kind")
    rows = []
    for kind in sorted(by_kind, key=lambda kind: (GROUPS.index(by_kind[kind][0]["group"]), kind)):
        own = by_kind[kind]
        found = Counter(name for record in own for name in record["findings"])
        words = ", ".join(f"{name} {found[name]}" for name in MUST_BE_ZERO if found[name])
        rows.append([
            kind, own[0]["group"], str(len(own)), _share(sum(r["converged"] for r in own), len(own)), _rows_share(own),
            words or "–",
        ])  # fmt: skip
    return aligned(["kind", "group", "tried", "converged", "rows determined", "found"], rows)


def _findings(records: list[Record], examples: int) -> str:
    rows, lines = [], []
    for name, meaning in MUST_BE_ZERO.items():
        own = [record for record in records if name in record["findings"]]
        counts = [sum(record["group"] == group for record in own) for group in GROUPS]
        first = next((str(k + 1) for k, record in enumerate(records) if name in record["findings"]), "–")
        rows.append([meaning, *map(str, counts), first])
        lines += [f"  {name}  {record['name']}  {record['findings'][name]}" for record in _varied(own, examples)]
    head = ["must be zero", *GROUPS, "first after"]
    shown = "\nExamples (python -m soak replay NAME):\n" + "\n".join(lines) if lines else ""
    return aligned(head, rows) + shown


def _remarks(records: list[Record], examples: int) -> str:
    """Answers that hang on the last digit of the data: not wrong, but worth a look."""
    asked = [r for r in records if r.get("companion") == "scaled"]
    own = [r for r in records if r.get("remarks")]
    if not asked:
        return ""
    head = f"the answer changes with the last digit of the data: {len(own)} of {len(asked)} that were asked again"
    lines = [f"  {r['name']}  {next(iter(r['remarks'].values()))}" for r in _varied(own, examples)]
    return "\n".join([head, *lines])


def _varied(records: list[Record], count: int) -> list[Record]:
    """The first few, of as many kinds as there are."""
    turn: Counter[str] = Counter()
    order = []
    for place, record in enumerate(records):
        order.append((turn[record["kind"]], place))
        turn[record["kind"]] += 1
    return [records[place] for _, place in sorted(order)[:count]]


def _shares(records: list[Record]) -> str:
    rows = []
    for group in GROUPS:
        own = [record for record in records if record["group"] == group]
        if own:
            codes = Counter(record["code"] for record in own).most_common()
            rows.append([
                group, str(len(own)), _share(sum(r["converged"] for r in own), len(own)), _rows_share(own),
                ", ".join(f"{code} {count}" for code, count in codes),
            ])  # fmt: skip
    return aligned(["group", "tried", "converged", "rows determined", "verdicts"], rows)


def _coverage(records: list[Record]) -> str:
    rows = []
    for words, low, high in (("noise up to 10 %", 0.0, 0.1), ("noise above 10 %", 0.1, np.inf)):
        own = [r["covered"] for r in records if low < r["noise"] <= high and r["covered"][1] >= ENOUGH]
        if r := own:
            means = np.array([inside / of for inside, of in r])
            pooled = sum(inside for inside, _ in r) / sum(of for _, of in r)
            rows.append([
                words, str(len(r)), f"{means.mean():.1%}", f"{pooled:.1%}",
                f"{np.mean(means < LOW):.1%} ({int((means < LOW).sum())})",
            ])  # fmt: skip
    if not rows:
        return ""
    return aligned(
        [f"95 % intervals, ≥ {ENOUGH} unseen", "instances", "mean", "of all entries", f"below {LOW:.0%}"], rows
    )


def _slowest(records: list[Record], count: int = 8) -> str:
    times = np.array([record["seconds"] for record in records])
    if not times.size:
        return ""
    slow = sorted(records, key=lambda record: -record["seconds"])[:count]
    usual, most = np.median(times), np.quantile(times, 0.99)
    head = f"processor seconds per answer: median {usual:.2f}, 99 % {most:.2f}; the slowest:"
    return "\n".join([head, *(f"  {record['seconds']:.1f}  {record['name']}" for record in slow)])


def _by(records: list[Record], key: str) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[record[key]].append(record)
    return found


def _share(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "–"


def _rows_share(records: list[Record]) -> str:
    return _share(sum(len(record["rows"]) for record in records), sum(record["about"]["n"] for record in records))
