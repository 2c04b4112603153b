"""``table-assumptions``: how often the paper's assumptions hold for Gaussian factors, beside what is proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log2
from typing import ClassVar

import numpy as np

from unrelu._old.experiments.base import Cell, Experiment, Judgement, Result, Row, Setting, Sizes, Table, Task, numbers
from unrelu._old.experiments.rules import no_evidence, rate_interval, refuted, with_probability
from unrelu._old.experiments.solve import instance
from unrelu._old.theory.assumption_search import search_assumption_3
from unrelu._old.theory.assumptions import check_assumption_1, check_assumption_2, check_assumption_3
from unrelu._old.theory.blockwise import Sampled, failed_of_assumption_3, noise_limit, orthants_hold
from unrelu._old.theory.nets import sphere_net
from unrelu._old.theory.partition import cone_partition, orthant_partition
from unrelu._old.theory.propositions import Chance, all_orthants_probability, proposition_noiseless, proposition_noisy

__all__ = ["TableAssumptions"]

SMALL, FIRST, SECOND = "small", "first", "second"
# The noise in units of the largest of which the second Proposition speaks; it has to stay below.
SHARE = 0.99
# Of a net for a higher rank there are more cones than rows here.
MOST_CONES_RANK = 3
# From so many rows on blocks of cones are not looked at entry by entry where the angles prove that they are seen.
BY_ANGLES = 100_000
# Where a Proposition speaks there are so many times the trials: halves of them still have the power to tell.
MORE = 2


class TableAssumptions(Experiment):
    """The two Propositions for Gaussian factors.

    Three kinds of trials:

    ``small``
        All assumptions at sizes at which neither Proposition says anything. Assumption 3 asks for some collection of
        groups: the table has the paper's own (cones around a ¼-net) and whether any was found.
    ``first``
        Assumptions 1 and 2 where the first Proposition speaks, n ≥ 4538 and r ≤ ½ log₂ n.
    ``second``
        Assumption 3 for the paper's groups where the second speaks, n ≥ 81^r, with noise: Ω is that of M* + Δ with
        ‖Δ‖_∞ = 0.99 · min ‖u_k‖²/2. First the worst Δ of that size, which lowers every entry: what is seen then is seen
        with any other. Then, for r = 2, one that is drawn uniformly, one number for each pair.

    Examples
    --------
    >>> from unrelu._old.experiments import table_assumptions
    >>> few = dict(ns=[100], first=[5000], second=[[6561, 2]], ranks=[1, 2])
    >>> result = table_assumptions(trials=2, rng=0, **few)
    >>> [(row[0], row[5]) for row in result.tables[0].rows]  # rank, share with Assumptions 1 and 2
    [(1, 0.0), (2, 1.0)]
    >>> [(row[0], row[3]) for row in result.tables[1].rows]
    [(1, 0), (2, 4)]
    """

    name = "table-assumptions"
    title = "How often the assumptions hold"
    where = "Section 3.3, both Propositions"
    full: ClassVar[Sizes] = {
        "trials": 40,
        "ns": [50, 100, 200, 500, 1000],
        "first": [5000, 7000, 10_000, 20_000],
        "second": [[6561, 2], [10_000, 2], [531_441, 3]],
        "ranks": [1, 2, 3, 4, 5, 6, 7],
    }
    quick: ClassVar[Sizes] = {"trials": 4, "ns": [50, 200], "first": [5000], "second": [[6561, 2]], "ranks": [1, 2, 3]}

    def setting(self, sizes: Sizes) -> str:
        """The sizes, and how many factors of each."""
        ns = [*sizes["ns"], *sizes["first"], *(n for n, _ in sizes["second"])] or [0]
        return (
            f"Gaussian factors, ReLU sampling, n = {min(ns)} to {max(ns)}, r = {min(sizes['ranks'])} to "
            f"{max(sizes['ranks'])}; {sizes['trials']} factors of each size, {MORE * sizes['trials']} where a "
            "Proposition speaks; the second with noise"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """Groups and noise."""
        net = ", ".join(f"{len(sphere_net(r))} cones at r = {r}" for r in sorted({r for _, r in sizes["second"]}))
        return (
            Setting("Assumption 3", "groups", "cones of half-opening π/12", "printed"),
            Setting("Assumption 3", "net", net or "none", "ours", "the smallest ¼-net is not known; this one covers"),
            Setting("Assumption 3", "noise", f"{SHARE:g} of the limit", "ours", "any below the limit is allowed"),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per kind, size, rank and factor."""
        few = [sizes["rng"] + k for k in range(sizes["trials"])]
        many = [sizes["rng"] + k for k in range(MORE * sizes["trials"])]
        ranks = sizes["ranks"]
        cases = [(SMALL, n, r, few) for n in sizes["ns"] for r in ranks if r <= 5]
        cases += [(FIRST, n, r, many) for n in sizes["first"] for r in ranks if r <= floor(log2(n) / 2)]
        cases += [(SECOND, n, r, many) for n, r in sizes["second"]]
        return [{"kind": kind, "n": n, "r": r, "seed": seed} for kind, n, r, seeds in cases for seed in seeds]

    def cost(self, task: Task) -> float:
        """Grows with the size of the matrix, not of its pattern."""
        return 0.02 + task["n"] / {SMALL: 4e3, FIRST: 1e5, SECOND: 3e5}[task["kind"]]

    def trial(self, task: Task) -> Row:
        """The assumptions for one factor."""
        return {SMALL: _small, FIRST: _first, SECOND: _second}[task["kind"]](task)

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """A line for each size at which a Proposition speaks, one for those at which it does not, and rank one."""
        found = [_judged_first(n, sizes, rows) for n in sizes["first"]]
        found += [_judged_second(n, r, rows) for n, r in sizes["second"]]
        return [*found, *_vacuous(sizes, rows), _rank_one(rows)]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Shares at small sizes; counts beside the proved probability at large ones."""
        tables = (
            Table.of(
                self.name,
                "Share of factors at sizes at which neither Proposition says anything; the probability of Assumption 1 "
                "is exact.",
                [_small_line(*case, rows) for case in _cases(SMALL, rows)],
            ),
            Table.of(
                f"{self.name}-first",
                "Where the first Proposition speaks: factors with Assumptions 1 and 2, and what it states.",
                [_first_line(*case, rows) for case in _cases(FIRST, rows)],
            ),
            Table.of(
                f"{self.name}-second",
                f"Where the second Proposition speaks: factors with Assumption 3 for the paper's cones, with noise of "
                f"{SHARE:g} of what it allows. “Any noise”: every entry is lowered by as much; “drawn”: uniform noise.",
                [_second_line(*case, rows) for case in _cases(SECOND, rows)],
            ),
        )
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=tuple(table for table in tables if table.rows),
            judgements=self.judged(sizes, rows),
            notes=(
                "The first Proposition states a negative probability below n = 4538. The second needs n ≥ 81^r: 6561 "
                "at r = 2, 531,441 at r = 3.",
                "At r = 1 no entry between positive and negative rows is seen, so that both Propositions fail there, "
                "which the paper does not except.",
                "At large sizes only the blocks of which the assumptions speak are looked at. "
                f"From n = {BY_ANGLES} on a block of cones counts as seen where the angles between its rows prove it.",
            ),
        )


def _small(task: Task) -> Row:
    U, r = instance(task).factor, task["r"]
    seen = U @ U.T >= 0
    orthants = orthant_partition(U)
    report = check_assumption_3(cone_partition(U), seen) if 1 < r <= MOST_CONES_RANK else None
    some, partition = search_assumption_3(U, seen, rng=task["seed"])
    return {
        "one": check_assumption_1(orthants).holds,
        "two": check_assumption_2(orthants, seen).holds,
        "three": None if report is None else report.holds,
        "some": some.holds,
        "groups": len(partition.groups),
        "groups of": partition.kind,
    }


def _first(task: Task) -> Row:
    # No n×n matrix is made: a planted instance would hold three.
    U = np.random.default_rng([task["seed"], task["n"], task["r"]]).standard_normal((task["n"], task["r"]))
    one, two = orthants_hold(U)
    return {"one": one, "two": two}


def _second(task: Task) -> Row:
    U = np.random.default_rng([task["seed"], task["n"], task["r"]]).standard_normal((task["n"], task["r"]))
    cones, noise = cone_partition(U), SHARE * noise_limit(U)
    large = task["n"] >= BY_ANGLES
    failed = failed_of_assumption_3(cones, Sampled(U, noise, angles=large))
    drawn = None if large else not failed_of_assumption_3(cones, Sampled(U, noise, task["seed"] + 1))
    return {"three": not failed, "failed": ", ".join(failed), "drawn": drawn, "noise": noise}


def _cases(kind: str, rows: Sequence[Row]) -> list[tuple[int, int]]:
    return sorted({(row["n"], row["r"]) for row in rows if row["kind"] == kind}, key=lambda case: (case[1], case[0]))


def _own(kind: str, n: int, r: int, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if (row.get("kind"), row["n"], row["r"]) == (kind, n, r)]


def _with_both(rows: Sequence[Row]) -> int:
    return sum(row.get("one") is True and row.get("two") is True for row in rows)


def _with_three(rows: Sequence[Row]) -> int:
    """Factors with Assumption 3 whatever the noise, and with the noise that was drawn."""
    return sum(row.get("three") is True and row.get("drawn") is not False for row in rows)


def _judged_first(n: int, sizes: Sizes, rows: Sequence[Row]) -> Judgement:
    """The rank with the fewest factors counts."""
    key, case = "assumptions/noiseless", f"n = {n}"
    by_rank = {r: _own(FIRST, n, r, rows) for r in sizes["ranks"] if not proposition_noiseless(n, r).vacuous}
    stated = [proposition_noiseless(n, r).probability for r in by_rank]
    if not by_rank or stated[0] is None:
        return no_evidence(key, "it says nothing at the ranks that were run", case=case)
    worst = min(by_rank, key=lambda r: rate_interval(_with_both(by_rank[r]), len(by_rank[r]))[0])
    good, total = _with_both(by_rank[worst]), len(by_rank[worst])
    measured = f"r = {min(by_rank)} to {max(by_rank)}; fewest at r = {worst}: {good} of {total} factors"
    otherwise = "fewer factors satisfy both than the Proposition states"
    return with_probability(key, good, total, stated[0], measured, otherwise=otherwise, case=case)


def _judged_second(n: int, r: int, rows: Sequence[Row]) -> Judgement:
    own, chance = _own(SECOND, n, r, rows), proposition_noisy(n, r)
    key, case = "assumptions/noisy", f"n = {n}, r = {r}"
    if chance.probability is None:
        return no_evidence(key, chance.reason, case=case)
    good = _with_three(own)
    measured = f"{good} of {len(own)} factors, with any noise of {SHARE:g} of the limit"
    failed = sorted({str(row.get("failed") or "") for row in own} - {""})
    otherwise = f"conditions that fail: {'; '.join(failed)}"
    return with_probability(
        key, good, len(own), chance.probability, measured, otherwise=otherwise, case=case, rests=("net",)
    )


def _vacuous(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    """Both at small sizes, where nothing is stated that could hold or fail."""
    own = [row for row in rows if row.get("kind") == SMALL and row["r"] > 1]
    within = [row for row in own if row["r"] <= log2(row["n"]) / 2]
    cones = [row for row in own if row.get("three") is not None]
    largest = max(sizes["ns"], default=0)
    why = "the probability that it states is not positive below n = 4538"
    return [
        no_evidence(
            "assumptions/noiseless",
            why,
            measured=f"{_with_both(within)} of {len(within)} factors with r ≤ ½ log₂ n",
            case=f"n ≤ {largest}",
        ),
        no_evidence(
            "assumptions/noisy",
            "it speaks of n ≥ 81^r only",
            measured=f"{_with_three(cones)} of {len(cones)} factors with r = 2 and 3, without noise",
            case=f"n ≤ {largest}",
        ),
    ]


def _rank_one(rows: Sequence[Row]) -> Judgement:
    """Neither Proposition excepts r = 1."""
    own = [row for row in rows if row["r"] == 1 and row.get("kind") in (SMALL, FIRST)]
    refuting = [row for row in own if row.get("two") is False]
    largest = max((row["n"] for row in own), default=0)
    return refuted(
        "assumptions/rank-one",
        bool(refuting) and len(refuting) == len(own),
        f"Assumption 2 fails for {len(refuting)} of {len(own)} factors with r = 1, n up to {largest}"
        + _stated_at_rank_one(largest),
        why="entries between positive and negative rows are negative, hence never seen: Assumption 2 cannot hold, and "
        "uuᵀ and |u||u|ᵀ agree on all that is seen",
    )


def _stated_at_rank_one(n: int) -> str:
    chance = proposition_noiseless(n, 2) if n > 1 else Chance(None, "nothing was run")
    return f", where the first states a probability of {chance}" if chance.probability is not None else ""


def _share(rows: Sequence[Row], name: str) -> Cell:
    known = [row[name] for row in rows if row[name] is not None]
    return float(np.mean(known)) if known else None


def _small_line(n: int, r: int, rows: Sequence[Row]) -> dict[str, Cell]:
    own = _own(SMALL, n, r, rows)
    return {
        "r": r,
        "n": n,
        "factors": len(own),
        "Assumption 1": _share(own, "one"),
        "exact": all_orthants_probability(n, r),
        "1 and 2": _with_both(own) / len(own),
        "3, cones": _share(own, "three"),
        "3, some groups": _share(own, "some"),
    }


def _first_line(n: int, r: int, rows: Sequence[Row]) -> dict[str, Cell]:
    own = _own(FIRST, n, r, rows)
    stated = proposition_noiseless(n, max(r, 2))  # printed for every rank, also for that at which it is false
    return {"r": r, "n": n, **_counts("hold", _with_both(own), len(own), stated)}


def _second_line(n: int, r: int, rows: Sequence[Row]) -> dict[str, Cell]:
    own = _own(SECOND, n, r, rows)
    drawn = [row["drawn"] for row in own if row["drawn"] is not None]
    return {
        "r": r,
        "n": n,
        **_counts("any noise", sum(row["three"] for row in own), len(own), proposition_noisy(n, r)),
        "drawn": sum(drawn) if drawn else None,
        "noise": float(np.median(numbers(own, "noise"))),
    }


def _counts(name: str, good: int, total: int, stated: Chance) -> dict[str, Cell]:
    low, high = rate_interval(good, total)
    return {"factors": total, name: good, "rate": f"{low:.0%} to {high:.0%}", "stated": str(stated)}
