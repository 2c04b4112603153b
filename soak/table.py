"""The report: what was tried and found, counted and printed."""

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from soak.checks import CHECKS
from soak.instance import GROUPS, Record

# Every finding is a failure; in this order, with its meaning.
MUST_BE_ZERO = {name: function.__doc__.rstrip(".") for name, function in CHECKS.items()} | {
    "second": "Another completion differs where one was called determined",
    "permutation": "The answer changes with the order of the rows",
    "scaling": "The answer changes with the units",
    "exception": "Exceptions",
    "warning": "Warnings",
    "printed": "Something written to standard output",
    "hang": "No answer in time",
    "died": "The process died",
}
# Coverage of 95 % intervals is counted for instances with at least so many; a low one is below this share.
ENOUGH, LOW = 20, 0.8
QUANTILES = (0.1, 0.5, 0.9, 0.99)


def failed(records: Iterable[Record]) -> bool:
    """Return whether anything that must be zero is not."""
    return any(record["findings"] for record in records)


def statistics(records: list[Record]) -> Record:
    """Return the counts, shares and quantiles of some records, ready for JSON."""
    seconds = [record["seconds"] for record in records]
    result = {
        "count": len(records),
        "findings": {name: sum(name in record["findings"] for record in records) for name in MUST_BE_ZERO},
        "converged": sum(record["converged"] for record in records),
        "converged and right": sum(record["right"] for record in records),
        "rows": sum(record["about"]["n"] for record in records),
        "rows determined": sum(len(record["rows"]) for record in records),
        "rows right": sum(len(record["right_rows"]) for record in records),
        "verdicts": dict(Counter(record["code"] for record in records).most_common()),
        "seconds": dict(zip(("50 %", "99 %"), np.quantile(seconds, (0.5, 0.99)).round(3).tolist(), strict=True)),
    }
    covered = [inside / of for inside, of in (record["covered"] for record in records) if of >= ENOUGH]
    if covered:
        low = sum(coverage < LOW for coverage in covered)
        result["coverage"] = {"instances": len(covered), "mean": round(float(np.mean(covered)), 4), "low": low}
    for which in ("determined", "missing"):
        errors = [error for record in records if (error := record["errors"][which]) is not None]
        if errors:
            quantiles = [float(f"{error:.3g}") for error in np.quantile(errors, QUANTILES)]
            result[f"error, {which}"] = {f"{q:.0%}": error for q, error in zip(QUANTILES, quantiles, strict=True)}
    return result


def by(records: Iterable[Record], key: Callable[[Record], str]) -> dict[str, list[Record]]:
    """Return the records by a key, in the order of groups and kinds."""
    order = sorted(records, key=lambda record: (GROUPS.index(record["group"]), record["kind"]))
    return {value: [record for record in order if key(record) == value] for value in dict.fromkeys(map(key, order))}


def printed(records: list[Record], examples: int = 4) -> str:
    """Return the whole report."""
    groups, kinds = by(records, lambda record: record["group"]), by(records, lambda record: record["kind"])
    parts = [_shares("findings", kinds), _findings(records, examples), _shares("verdicts", groups)]
    return "\n\n".join([*parts, _errors(groups), _slowest(records)])


def aligned(head: list[str], rows: list[list[str]]) -> str:
    """Return a table with the first and the last column aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for first, *others, last in [head, ["─" * width for width in widths], *rows]:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells, last]))
    return "\n".join(lines)


def share(count: int, of: int) -> str:
    """Return a percentage."""
    return f"{count / of:.1%}" if of else "–"


def _shares(last: str, parts: dict[str, list[Record]]) -> str:
    rows = []
    for what, records in parts.items():
        counts = statistics(records)
        shares = share(counts["converged"], counts["count"]), share(counts["rows determined"], counts["rows"])
        words = [f"{word} {count}" for word, count in counts[last].items() if count]
        rows.append([what, str(len(records)), *shares, ", ".join(words) or "–"])
    return aligned(["", "tried", "converged", "rows determined", last], rows)


def _findings(records: list[Record], examples: int) -> str:
    rows, lines = [], []
    for name, meaning in MUST_BE_ZERO.items():
        own = [record for record in records if name in record["findings"]]
        rows.append([meaning, *(str(sum(record["group"] == group for record in own)) for group in GROUPS)])
        lines += [f"  {name}  {record['name']}  {record['findings'][name]}" for record in own[:examples]]
    shown = "\nExamples (python -m soak replay NAME):\n" + "\n".join(lines) if lines else ""
    return aligned(["must be zero", *GROUPS], rows) + shown


def _errors(groups: dict[str, list[Record]]) -> str:
    rows, lines = [], []
    for group, records in groups.items():
        counts = statistics(records)
        for which in ("determined", "missing"):
            if errors := counts.get(f"error, {which}"):
                rows.append([group, which, *(f"{error:.2g}" for error in errors.values())])
        if "coverage" in counts:
            lines.append("95 % intervals of {}: {instances} instances, mean coverage {mean:.1%}, {low} below {:.0%}")
            lines[-1] = lines[-1].format(group, LOW, **counts["coverage"])
    return "\n".join([aligned(["rms error", "entries", *(f"{q:.0%}" for q in QUANTILES)], rows), *lines])


def _slowest(records: list[Record], count: int = 8) -> str:
    slow = sorted(records, key=lambda record: -record["seconds"])[:count]
    median, most = np.quantile([record["seconds"] for record in records], (0.5, 0.99)) if records else (0, 0)
    head = f"processor seconds per answer: median {median:.2f}, 99 % {most:.2f}; the slowest:"
    return "\n".join([head, *(f"  {record['seconds']:.1f}  {record['name']}" for record in slow)])
