"""The last open problem: Assumption 3(d) weakened, and how many matrices only a weaker condition certifies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unrelu._old.base.arrays import Floats
from unrelu._old.certify import certify
from unrelu._old.experiments.base import Cell, Judgement, Row, Setting, Sizes, Table, Task
from unrelu._old.experiments.rules import always, witness
from unrelu._old.experiments.solve import instance
from unrelu._old.theory.ordering import groups_exist
from unrelu._old.theory.ordering_witnesses import WITNESSES

__all__ = ["judge", "ledger", "says", "tables", "tasks", "trial"]

PART = "weaker"
CAPS = "two caps"
# What certifies a matrix beyond Assumption 3, by the kind of certificate.
KINDS = ("direct", "gluing", "stress")


def tasks(sizes: Sizes) -> list[Task]:
    """One per sampling, size and matrix; of the made ones the size says nothing."""
    return [
        {"part": PART, "sampling": sampling, "n": n, "r": r, "seed": sizes["rng"] + k}
        for sampling, n, r in sizes["weaker"]
        for k in range(sizes["trials"])
    ]


def trial(task: Task) -> Row:
    """Whether Assumption 3 holds for some groups, decided by all maximal cliques; and what certifies the matrix."""
    U, cut = _factor(task)
    M = U @ U.T
    seen = cut <= M
    found = certify(np.where(seen, M, np.nan), task["r"], threshold=None, rng=task["seed"])
    return {"three": groups_exist(U, seen), "kind": found.kind if found.unique else "none"}


def _factor(task: Task) -> tuple[Floats, float]:
    """The factor, and from where on its entries are seen."""
    if task["sampling"] == CAPS:
        return WITNESSES[CAPS][0](np.random.default_rng([task["seed"], 31])), 0.0
    made = instance(task)
    if task["sampling"] == "ReLU":
        return made.factor, 0.0
    return made.factor, float(np.quantile(made.matrix, task["sampling"]))


def ledger(sizes: Sizes) -> tuple[Setting, ...]:
    """How the conditions are decided."""
    return (
        Setting("Assumption 3", "search", "all maximal cliques", "ours", "which decides it, for so small matrices"),
        Setting("certificate", "absence", "says nothing", "printed", "as in F"),
        Setting("certificate", "conditions", "direct, gluing, stress", "ours", "see unrelu.certify"),
    )


def _own(rows: Sequence[Row], case: Sequence[object]) -> list[Row]:
    return [row for row in rows if row.get("part") == PART and [row.get("sampling"), row["n"], row["r"]] == list(case)]


def _only(rows: Sequence[Row], kind: str) -> int:
    """Certified so, and not by Assumption 3."""
    return sum(row.get("three") is False and row.get("kind") == kind for row in rows)


def judge(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    """That a weaker condition will do; and that ours are weaker."""
    own = [row for row in rows if row.get("part") == PART]
    glued = [row for row in own if row.get("sampling") == CAPS and row.get("three") is False]
    good = sum(row.get("kind") in KINDS for row in glued)
    holds = [row for row in own if row.get("three") is True]
    also = sum(row.get("kind") in KINDS for row in holds)
    words = "not certified although Assumption 3 holds"
    return [
        witness(
            "open/weakened",
            good > 0,
            f"{good} of {len(glued)} matrices made of two groups that satisfy 3(a)–(c), with a dozen entries seen "
            "between them, have one completion, and no groups satisfy Assumption 3",
            why="one rotation only fits between the groups (polar gluing)" if good else "",
        ),
        always("open/implied", also, len(holds), f"{also} of {len(holds)} matrices with Assumption 3", otherwise=words),
    ]


def tables(name: str, sizes: Sizes, rows: Sequence[Row]) -> list[Table]:
    """Counts by what certifies."""
    lines: list[dict[str, Cell]] = []
    for case in sizes["weaker"]:
        own = _own(rows, case)
        sampling, n, r = case
        named = sampling if isinstance(sampling, str) else f"above {sampling:.0%}"
        lines.append(
            {
                "matrices": f"{named}, n = {n}, r = {r}",
                "trials": len(own),
                "Assumption 3": sum(row["three"] for row in own),
                **{f"only {kind}": _only(own, kind) for kind in KINDS},
                "neither": sum(not row["three"] and row["kind"] not in KINDS for row in own),
            }
        )
    caption = (
        "Which condition certifies that the seen entries have one completion of rank r: Assumption 3 as printed, for "
        "any groups (decided by all maximal cliques); only a weaker one; or neither. Direct: row by row, each seeing "
        "rows of rank r that have their place. Gluing: groups between which one rotation only fits. Stress: a positive "
        "semidefinite stress of rank n − r. “above 60%”: entries above that quantile are seen."
    )
    return [Table.of(f"{name}-weaker", caption, lines)] if lines else []


def says(sizes: Sizes, rows: Sequence[Row]) -> list[str]:
    """The counts in a sentence."""
    own = [row for row in rows if row.get("part") == PART]
    if not own:
        return []
    holds = sum(row["three"] for row in own)
    counts = {kind: _only(own, kind) for kind in KINDS}
    return [
        f"Of {len(own)} matrices {holds} are certified by Assumption 3 as printed; {sum(counts.values())} by a weaker "
        f"condition only ({', '.join(f'{kind} {count}' for kind, count in counts.items())}); "
        f"{len(own) - holds - sum(counts.values())} by neither, of which some have several completions."
    ]
