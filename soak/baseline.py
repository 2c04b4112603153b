"""Stored facts of an earlier version: written from journals, and compared with new records of the same instances.

A version that calls fewer rows determined makes fewer mistakes, which is no progress. So what the earlier version had
converged or determined, and rightly, is counted, and how much of it is kept.
"""

import json
from collections import Counter, defaultdict
from operator import itemgetter
from pathlib import Path

import numpy as np

from soak.catalogue import drawn
from soak.checks import exchanged
from soak.instance import Record
from soak.second import UNKNOWNS, differing
from soak.table import aligned, by, share, statistics

STORED = Path(__file__).resolve().parent / "baseline.json"
# The share of right answers that may be lost: of exact instances, and of others.
LOST = {True: 0.0, False: 0.01}
# The factor by which quantiles of the errors may grow where there is noise. The errors of entries that are missing and
# not determined have no upper bound.
GROWTH, DECIDING = 1.05, (("determined", "median"), ("determined", "90 % quantile"), ("missing", "median"))
# Two errors agree if they agree to this share, or are both below this share of the rms of the truth.
SAME_ERROR, NEGLIGIBLE = 0.01, 1e-7
COMPARED, ERRORS = ("code", "converged", "right", "right_rows", "rows"), ("determined", "missing")
FIELDS = (*COMPARED, "n", "observed", *ERRORS, "rounding")


def write(records: list[Record], path: Path = STORED) -> None:
    """Store the facts of records.

    The first record of an instance is stored. What differs in a later one, such as that of a run with another
    ``OPENBLAS_CORETYPE``, depends on rounding: such an error is dropped, and an instance is marked and not compared if
    its verdict or its determined rows differ.
    """
    first: dict[str, Record] = {}
    unstable: dict[str, set[str]] = defaultdict(set)
    for record in records:
        name, stored = record["name"], first.setdefault(record["name"], record)
        unstable[name] |= {key for key in COMPARED if stored[key] != record[key]}
        unstable[name] |= {key for key in ERRORS if not _close(stored["errors"][key], record["errors"][key])}
    parts = {"all": list(first.values())} | by(first.values(), lambda record: f"group {record['group']}")
    parts |= by(first.values(), lambda record: f"seed {record['name'].split(':')[1]}, group {record['group']}")
    parts |= by(first.values(), lambda record: f"kind {record['kind']}")
    lines = [json.dumps({"fields": FIELDS})[1:-1]]
    lines += _lines("statistics", {part: statistics(records) for part, records in parts.items()})
    lines += _lines("instances", {name: _packed(record, unstable[name]) for name, record in first.items()})
    path.write_text("{\n" + "\n".join(lines) + "\n}\n")


def _lines(name: str, facts: Record) -> list[str]:
    lines = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in facts.items()]
    return [f',"{name}":{{', ",\n".join(lines), "}"]


def _close(error: float | None, other: float | None) -> bool:
    if error is None or other is None:
        return error == other
    return abs(error - other) <= max(SAME_ERROR * min(error, other), NEGLIGIBLE)


def _packed(record: Record, unstable: set[str]) -> list[object]:
    """Return the values of FIELDS, with rows as a bit mask in hexadecimal."""
    n = record["about"]["n"]
    values = record | {key: None if key in unstable else record["errors"][key] for key in ERRORS}
    values |= {"n": n, "rounding": not unstable.isdisjoint(COMPARED)}
    values["rows"] = np.packbits(np.isin(np.arange(n), record["rows"])).tobytes().hex()
    values["right_rows"] = bool(record["right_rows"])  # all of them or none
    return [int(value) if isinstance(value, bool) else value for value in map(values.get, FIELDS)]


def load(path: Path = STORED) -> dict[str, Record]:
    """Return the stored facts by name."""
    stored = {}
    for name, values in json.loads(path.read_text())["instances"].items():
        facts = dict(zip(FIELDS, values, strict=True))
        mask = np.unpackbits(np.frombuffer(bytes.fromhex(facts["rows"]), np.uint8), count=facts["n"])
        rows = np.flatnonzero(mask).tolist()
        errors = {which: facts[which] for which in ERRORS}
        stored[name] = facts | {"rows": rows, "right_rows": rows if facts["right_rows"] else [], "errors": errors}
    return stored


def compare(records: list[Record], stored: dict[str, Record]) -> tuple[str, list[str]]:
    """Compare with stored facts of the same instances; return a table, and what is worse by more than is allowed."""
    known = {record["name"]: record for record in records if record["name"] in stored}
    redrawn = [name for name, now in known.items() if now["observed"] != stored[name]["observed"]]
    compared = [now for name, now in known.items() if name not in redrawn and not stored[name]["rounding"]]
    counts = {now["name"]: _counts(now, stored[now["name"]]) for now in compared}
    rows = []
    for group, own in by(compared, itemgetter("group")).items():
        count = sum((counts[now["name"]] for now in own), Counter())
        rows.append([
            group,
            str(len(own)),
            f"{share(count['converged before'], len(own))} → {share(count['converged'], len(own))}",
            f"{count['right kept']} of {count['right']}",
            f"{share(count['rows before'], count['size'])} → {share(count['rows'], count['size'])}",
            f"{count['right rows kept']} of {count['right rows']}",
            str(count["not unique"]),
            *(" ".join(f"{ratio:.3g}" for ratio in _growth(own, stored, which)) for which in ERRORS),
        ])  # fmt: skip
    head = ["against the baseline", "instances", "converged", "right, kept", "rows determined", "right, kept"]
    head += ["lost, but not unique", "error, determined: 50, 90, 99 %", "error, missing: 50, 90, 99 %"]
    worse = [f"{len(redrawn)} instances are not those of the baseline: {', '.join(redrawn[:6])}"] if redrawn else []
    for exact, allowed in LOST.items():
        own = [now["name"] for now in compared if now["exact"] == exact]
        for what in ("right", "right rows"):
            lost = {name: counts[name][what] - counts[name][f"{what} kept"] for name in own}
            total, names = sum(counts[name][what] for name in own), [name for name in lost if lost[name]]
            if sum(lost.values()) > allowed * total:
                instances = "exact instances" if exact else "noisy instances"
                worse.append(f"{what} of {instances}: {sum(lost.values())} of {total} lost: {', '.join(names[:6])}")
    noisy = [now for now in compared if now["noise"]]
    for which, quantile in DECIDING:
        ratios = dict(zip(("median", "90 % quantile"), _growth(noisy, stored, which), strict=False))
        if ratios.get(quantile, 0.0) > GROWTH:
            worse.append(f"{quantile} of the error of noisy instances, {which} entries: {ratios[quantile]:.3f} times")
    return aligned(head, rows), worse


def _counts(now: Record, old: Record) -> Counter[str]:
    lost = set(old["right_rows"]) - set(now["rows"])
    if lost and exchanged(drawn(now["name"]), old["rows"], now["rows"]):
        lost = set()
    not_unique = len(lost) if lost and _not_unique(now["name"], old["rows"]) else 0
    return Counter({
        "converged before": old["converged"],
        "converged": now["converged"],
        "right": old["right"],
        "right kept": old["right"] and now["converged"],
        "size": old["n"],
        "rows before": len(old["rows"]),
        "rows": len(now["rows"]),
        "right rows": len(old["right_rows"]) - not_unique,
        "right rows kept": len(old["right_rows"]) - len(lost),
        "not unique": not_unique,
    })  # fmt: skip


def _not_unique(name: str, rows: list[int]) -> bool:
    """Return whether another completion differs among rows that were called determined: they were right by luck."""
    instance = drawn(name)
    if not instance.exact or instance.single or instance.planted.size > UNKNOWNS:
        return False
    claimed = np.isin(np.arange(instance.size), rows)
    return differing(instance, np.outer(claimed, claimed) & ~instance.observed_either_way) is not None


def _growth(records: list[Record], stored: dict[str, Record], which: str) -> list[float]:
    """Return the ratios of the quantiles of errors, over the instances that have one now and before."""
    pairs = [(now["errors"][which], stored[now["name"]]["errors"][which]) for now in records]
    pairs = [pair for pair in pairs if None not in pair]
    if not pairs:
        return []
    now, before = np.quantile(np.maximum(np.array(pairs), NEGLIGIBLE), (0.5, 0.9, 0.99), axis=0).T
    return (now / before).tolist()
