"""``table-ordering``: the condition of Bishop and Yu (2014) beside the paper's, and a search for their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from time import process_time
from typing import ClassVar

import numpy as np

from unrelu._old.base.errors import InputError
from unrelu._old.experiments.base import Cell, Experiment, Judgement, Result, Row, Setting, Sizes, Table, Task, numbers
from unrelu._old.experiments.rules import across, always, generally, no_evidence, rate_interval, refuted, witness
from unrelu._old.experiments.solve import instance
from unrelu._old.theory.assumption_search import search_assumption_3
from unrelu._old.theory.ordering import TREE, TRIES, find_order, order_fails, order_of_groups
from unrelu._old.theory.ordering_witnesses import WITNESSES, conditions

__all__ = ["TableOrdering"]

SEARCH = "search"
FOUND, MADE, SMALL = "search", "witness", "all cliques"
# Why Assumption 3 implies the other condition, in a sentence.
IMPLIED = (
    "Assumption 3 implies the condition of Bishop and Yu: for every step k → l of a path I_k ∪ I_l is seen in full, "
    "and two steps that meet in l share I_l, of rank r. The other way it does not go: their overlap is one with all "
    "earlier sets together. Read as an overlap with one earlier set the two conditions are the same"
)


class TableOrdering(Experiment):
    """Whether the paper's assumptions and the condition of Bishop and Yu imply each other, and if there is an order.

    Their condition, as it is used here, stands in :mod:`unrelu._old.theory.ordering`: index sets ρ_1, …, ρ_K that cover all
    rows, each a fully seen principal submatrix, in an order such that ρ_k shares rows of rank r with the union of those
    before it. Three kinds of trials:

    ``search``
        Gaussian factors of several n and r. A greedy search looks for an order in the pattern, and what it finds is
        checked. And from groups with Assumption 3, where some are found, an order is made and checked.
    ``all cliques``
        Gaussian factors so small that all maximal cliques can be listed, which decides every condition.
    ``witness``
        Factors made so that one condition holds and another does not; decided in the same way.

    Examples
    --------
    >>> from unrelu._old.experiments import table_ordering
    >>> result = table_ordering(trials=2, rng=0, cases=[[40, 2]], small=[])
    >>> [(row[0], row[2:]) for row in result.tables[1].rows[:3]]
    [('two caps', (2, 2, 0, 0)), ('half a plane', (2, 0, 2, 2)), ('strip', (2, 0, 0, 2))]
    """

    name = "table-ordering"
    title = "The condition of Bishop and Yu beside the paper's"
    where = "Sections 1.2 and 3.2"
    full: ClassVar[Sizes] = {
        "trials": 40,
        "cases": [
            *([n, r] for n in (50, 100, 200, 400) for r in (2, 3, 4, 5, 8, 12)),
            *([200, r] for r in (10, 14, 16, 20)),
        ],
        "small": [[n, r] for r in (2, 3) for n in (8, 12, 16, 20, 30)],
    }
    quick: ClassVar[Sizes] = {"trials": 4, "cases": [[50, 2], [100, 3], [100, 12]], "small": [[12, 2], [20, 3]]}

    def setting(self, sizes: Sizes) -> str:
        """The sizes and how many factors of each."""
        ns = sorted({n for n, _ in sizes["cases"]})
        ranks = sorted({r for _, r in sizes["cases"]})
        words = ["Gaussian factors, ReLU sampling, no noise"]
        if ns:
            words.append(f"n = {', '.join(map(str, ns))}, r from {ranks[0]} to {ranks[-1]}")
        return "; ".join([*words, f"{sizes['trials']} factors of each size, {sizes['trials']} of each made kind"])

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """The search and the sizes, of which the paper says nothing."""
        cases = sizes["cases"]
        spoken = f"{min(r for _, r in cases)} to {max(r for _, r in cases)}" if cases else "none"
        return (
            Setting("order", SEARCH, f"greedy, {TRIES} tries", "ours", "the paper gives no search; cliques are grown"),
            Setting(
                "order",
                "overlap",
                "rank r with the union",
                "ours",
                "as generally cited; printed: adjacent parts",
            ),
            Setting("instances", "rank", spoken, "ours", "the paper names none"),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per kind, size and factor."""
        seeds = [sizes["rng"] + k for k in range(sizes["trials"])]
        found: list[Task] = [{"kind": FOUND, "n": n, "r": r, "seed": s} for n, r in sizes["cases"] for s in seeds]
        found += [{"kind": SMALL, "n": n, "r": r, "seed": s} for n, r in sizes["small"] for s in seeds]
        return found + [{"kind": MADE, "made": made, "seed": s} for made in WITNESSES for s in seeds]

    def cost(self, task: Task) -> float:
        """A search that fails takes longest."""
        if task["kind"] != FOUND:
            return 0.02
        return 0.05 + (task["n"] / 700) ** 2 * (5.0 if task["r"] > 12 else 1.0)

    def trial(self, task: Task) -> Row:
        """Whether an order was found, and is one; or every condition of one small factor."""
        if task["kind"] == MADE:
            U = WITNESSES[task["made"]][0](np.random.default_rng([task["seed"], 31]))
            return {"n": len(U), "r": U.shape[1], **conditions(U)}
        U = instance(task).factor
        seen = U @ U.T >= 0
        began = process_time()
        sets = find_order(U, seen, task["seed"])
        spent = process_time() - began
        row: Row = {
            "found": sets is not None and order_fails(U, seen, sets) == "",
            "tree": sets is not None and order_fails(U, seen, sets, TREE) == "",
            "sets": None if sets is None else len(sets),
            "searched": spent,
        }
        if task["kind"] == SMALL:
            return {**row, **conditions(U)}
        try:
            report, _ = search_assumption_3(U, seen, rng=task["seed"])
        except InputError:  # no block of rank r is seen in full
            return {**row, "groups": False, "made of groups": False}
        made = report.holds and order_fails(U, seen, order_of_groups(report), TREE) == ""
        return {**row, "groups": report.holds, "made of groups": made}

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Both relations, whether there is an order, and whether it is hard to find."""
        searched = [row for row in rows if row.get("kind") == FOUND]
        within = [row for row in searched if row["r"] <= log2(row["n"]) / 2]
        good = sum(row.get("found") is True for row in within)
        return [
            _orthants(rows),
            _groups(rows),
            always(
                "ordering/exists",
                good,
                len(within),
                f"found and checked for {good} of {len(within)} factors with r ≤ ½ log₂ n",
                otherwise="the search ended before every row was in a set",
                case="r ≤ ½ log₂ n",
                rests=(SEARCH,),
            ),
            _hard("r ≤ ½ log₂ n", within),
            across({name: _hard("r > ½ log₂ n", some) for name, some in _beyond(sizes, searched).items()}, ["rank"]),
        ]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The rates of a search, the witnesses, and the small factors of which everything is known."""
        tables = (
            Table.of(
                self.name,
                "A greedy search for the order of Bishop and Yu: factors for which it was found (and the 95 % interval "
                "of the rate), for which each set overlaps with one earlier set already, and for which groups with "
                "Assumption 3 were found. Medians of the number of sets and of the CPU seconds of a search.",
                [_searched(n, r, rows) for n, r in sorted(sizes["cases"], key=lambda case: (case[1], case[0]))],
            ),
            Table.of(
                f"{self.name}-witnesses",
                "Factors made to tell the conditions apart: how many satisfy which, decided by all maximal cliques.",
                [_counted(made, [r for r in rows if r.get("made") == made]) for made in WITNESSES],
            ),
            Table.of(
                f"{self.name}-small",
                "Small Gaussian factors, decided by all maximal cliques, and how many orders the search found.",
                [_small(n, r, rows) for n, r in sizes["small"]],
            ),
        )
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=tuple(table for table in tables if table.rows),
            judgements=self.judged(sizes, rows),
            says=_says(rows),
            notes=(
                "Bishop and Yu: index sets ρ_1, …, ρ_K that cover all rows, each a fully seen principal submatrix, so "
                "that every ρ_k shares rows of rank r with ρ_1 ∪ … ∪ ρ_{k−1}. Ω is symmetric here, as M is.",
                "Two caps: around an axis and its opposite, with a dozen entries seen between them. Half a plane: all "
                "rows within 150°. Strip: rows around the circle, and one that sees both ends only. Two bundles: "
                "opposite to each other.",
            ),
        )


def _orthants(rows: Sequence[Row]) -> Judgement:
    """Assumptions 1 and 2 without an order, and an order without Assumptions 1 and 2."""
    made = [row for row in rows if row.get("kind") == MADE]
    ours = [row for row in made if row.get("one and two") is True and row.get("order") is False]
    theirs = [row for row in made if row.get("order") is True and row.get("one and two") is False]
    ranks = ", ".join(f"r = {r}" for r in sorted({row["r"] for row in ours})) or "none"
    return witness(
        "ordering/orthants",
        bool(ours and theirs),
        f"{len(ours)} factors with Assumptions 1 and 2 and no order ({ranks}), {len(theirs)} with an order and without "
        "Assumption 1 or 2",
        why="all maximal cliques were listed; the same if an overlap with one earlier set is asked for",
        rests=("overlap",),
    )


def _groups(rows: Sequence[Row]) -> Judgement:
    """Every collection of groups leads to an order, so that one of the two implies the other."""
    groups = [row for row in rows if row.get("kind") == FOUND and row.get("groups") is True]
    good = sum(row.get("made of groups") is True for row in groups)
    decided = [row for row in rows if row.get("kind") in (MADE, SMALL)]
    both = sum(row.get("three") is True for row in decided)
    against = sum(row.get("three") is True and row.get("order") is not True for row in decided)
    only = sum(row.get("order") is True and row.get("three") is False for row in decided)
    total = len(groups) + both
    return refuted(
        "ordering/groups",
        total > 0 and good == len(groups) and not against,
        f"groups with Assumption 3 gave an order for {good + both - against} of {total} factors; {only} factors have "
        "an order and no such groups",
        why=IMPLIED,
        rests=("overlap",),
    )


def _hard(case: str, rows: Sequence[Row]) -> Judgement:
    missed = sum(row.get("found") is not True for row in rows)
    if rows and missed == len(rows):
        why = "a search that finds nothing does not show that there is an order and that it is hard to find"
        measured = f"found for none of {len(rows)} factors"
        return no_evidence("ordering/hard", why, measured=measured, case=case, rests=(SEARCH,))
    seconds = numbers(rows, "searched")
    slow = f", {float(np.median(seconds)):.2g} s a search" if seconds else ""
    return generally(
        "ordering/hard",
        missed,
        len(rows),
        f"not found for {missed} of {len(rows)} factors{slow}",
        otherwise="cliques grown one after the other find it",
        case=case,
        rests=(SEARCH,),
    )


def _beyond(sizes: Sizes, searched: Sequence[Row]) -> dict[str, list[Row]]:
    """Of the size with most ranks beyond the Propositions the trials of the first, the middle and the last rank."""
    beyond = [(n, r) for n, r in sizes["cases"] if r > log2(n) / 2]
    sized = [n for n, _ in beyond]
    most = max(sized, key=lambda n: (sized.count(n), n), default=0)
    ranks = sorted(r for n, r in beyond if n == most) or [0]
    chosen = dict.fromkeys([ranks[0], ranks[len(ranks) // 2], ranks[-1]])
    return {f"n = {most}, r = {r}": [row for row in searched if (row["n"], row["r"]) == (most, r)] for r in chosen}


def _searched(n: int, r: int, rows: Sequence[Row]) -> dict[str, Cell]:
    own = [row for row in rows if (row.get("kind"), row["n"], row["r"]) == (FOUND, n, r)]
    good = sum(row["found"] for row in own)
    low, high = rate_interval(good, len(own))
    sets, seconds = numbers(own, "sets"), numbers(own, "searched")
    return {
        "r": r,
        "n": n,
        "found": f"{good} of {len(own)}",
        "rate": f"{low:.0%} to {high:.0%}",
        "one earlier set": sum(row["tree"] for row in own),
        "Assumption 3": sum(row["groups"] for row in own),
        "sets": float(np.median(sets)) if sets else None,
        "seconds": float(np.median(seconds)) if seconds else None,
    }


def _counted(made: str, own: Sequence[Row]) -> dict[str, Cell]:
    sized = f"{own[0]['n']}×{own[0]['r']}" if own else ""
    return {
        "made": made,
        "factor": sized,
        "factors": len(own),
        "Assumptions 1, 2": sum(row["one and two"] for row in own),
        "Assumption 3": sum(row["three"] for row in own),
        "order": sum(row["order"] for row in own),
    }


def _small(n: int, r: int, rows: Sequence[Row]) -> dict[str, Cell]:
    own = [row for row in rows if (row.get("kind"), row["n"], row["r"]) == (SMALL, n, r)]
    line = _counted("", own)
    kept: dict[str, Cell] = {"r": r, "n": n, **{k: v for k, v in line.items() if k not in ("made", "factor")}}
    return {**kept, "order found": sum(row["found"] for row in own)}


def _says(rows: Sequence[Row]) -> tuple[str, ...]:
    """What follows for the question that the paper leaves open."""
    searched = [row for row in rows if row.get("kind") == FOUND]
    if not searched:
        return ()
    sizes = sorted({row["n"] for row in searched})
    parts = []
    for n in sizes:
        own = [row for row in searched if row["n"] == n]
        every = [r for r in sorted({row["r"] for row in own}) if all(row["found"] for row in own if row["r"] == r)]
        none = [r for r in sorted({row["r"] for row in own}) if not any(row["found"] for row in own if row["r"] == r)]
        parts.append(
            f"n = {n}: for every factor up to r = {max(every)}" if every else f"n = {n}: at no rank for every factor"
        )
        parts[-1] += f", for none from r = {min(none)}" if none else ""
    return (
        f"Whether an ordered collection exists is no longer open for Gaussian factors: a greedy search finds one. "
        f"{'; '.join(parts)}.",
        "Where Assumption 3 holds an order exists too, so that the second Proposition proves more than it says: with "
        "probability at least 1 − 1/n the condition of Bishop and Yu holds.",
    )
