"""``table-assumptions``: how often the paper's assumptions hold for Gaussian factors, beside what is proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from scipy.special import bdtr

from unrelu.experiments.base import Cell, Experiment, Judgement, Result, Row, Sizes, Table, Task
from unrelu.experiments.judging import judge_claim
from unrelu.experiments.solve import instance
from unrelu.theory.assumption_search import search_assumption_3
from unrelu.theory.assumptions import check_assumption_1, check_assumption_2, check_assumption_3
from unrelu.theory.partition import cone_partition, orthant_partition, sector_partition
from unrelu.theory.propositions import all_orthants_probability, proposition_noiseless, proposition_noisy

__all__ = ["TableAssumptions"]

# Above this size checking every block of nine to the power r cones takes minutes.
MOST_CONES_RANK = 3
# Below this probability a count speaks against a Proposition.
UNLIKELY = 0.01


class TableAssumptions(Experiment):
    """The two propositions for Gaussian factors.

    Assumption 3 asks for some collection of groups. The table has the paper's own construction (twelve sectors for
    r = 2, cones around a ¼-net above) and, beside it, whether any collection was found.

    Examples
    --------
    >>> from unrelu.experiments import table_assumptions
    >>> result = table_assumptions(trials=2, rng=0, ns=[100], large=[], ranks=[1, 2])
    >>> [(row[0], row[5]) for row in result.tables[0].rows]  # rank, share with Assumptions 1 and 2
    [(1, 0.0), (2, 1.0)]
    """

    name = "table-assumptions"
    title = "How often the assumptions hold"
    where = "Section 3.3, both Propositions"
    setting = "Gaussian factors, ReLU sampling, no noise; n and r vary"
    full: ClassVar[Sizes] = {
        "trials": 30,
        "ns": [50, 100, 200, 500, 1000, 2000],
        "large": [5000, 7000],
        "ranks": [1, 2, 3, 4, 5],
    }
    quick: ClassVar[Sizes] = {"trials": 5, "ns": [50, 200, 500], "large": [], "ranks": [1, 2, 3]}

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per size, rank and factor; at the largest sizes, where the propositions speak, few and r = 2 only."""
        few = max(2, sizes["trials"] // 10)
        cases = [(n, r, sizes["trials"]) for n in sizes["ns"] for r in sizes["ranks"]]
        cases += [(n, 2, few) for n in sizes["large"]]
        return [{"n": n, "r": r, "seed": sizes["rng"] + trial} for n, r, trials in cases for trial in range(trials)]

    def cost(self, task: Task) -> float:
        """Grows with the size of the matrix."""
        return 0.03 + (1.0 if task["r"] < 3 else 3.0) * (float(task["n"]) / 1000) ** 2

    def trial(self, task: Task) -> Row:
        """The three assumptions for one factor."""
        U = instance(task).factor
        r = task["r"]
        seen = U @ U.T >= 0
        orthants = orthant_partition(U)
        row: Row = {
            "first": check_assumption_1(orthants).holds,
            "second": check_assumption_2(orthants, seen).holds,
            "third": None,
            "lambda": None,
        }
        if r == 2 or 2 < r <= MOST_CONES_RANK:
            groups = sector_partition(U) if r == 2 else cone_partition(U)
            report = check_assumption_3(groups, seen)
            row["third"], row["lambda"] = report.holds, report.lambda_
        report, partition = search_assumption_3(U, seen, rng=task["seed"])
        return {**row, "some": report.holds, "groups": len(partition.groups), "kind": partition.kind}

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Shares, with the proved probability or the word vacuous."""
        lines: list[dict[str, Cell]] = []
        cases = sorted({(row["n"], row["r"]) for row in rows}, key=lambda case: (case[1], case[0]))
        for n, r in cases:
            group = [row for row in rows if (row["n"], row["r"]) == (n, r)]
            third = [row["third"] for row in group if row["third"] is not None]
            lines.append(
                {
                    "r": r,
                    "n": n,
                    "factors": len(group),
                    "Assumption 1": float(np.mean([row["first"] for row in group])),
                    "exact probability of 1": all_orthants_probability(n, r),
                    "Assumptions 1 and 2": float(np.mean([row["first"] and row["second"] for row in group])),
                    "proved for 1 and 2": str(proposition_noiseless(n, r)),
                    "Assumption 3, paper's groups": float(np.mean(third)) if third else None,
                    "Assumption 3, some groups": float(np.mean([row["some"] for row in group])),
                    "proved for 3": str(proposition_noisy(n, r)),
                }
            )
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, "Share of factors; “vacuous” where the proposition says nothing.", lines),),
            judgements=(
                _judged("assumptions/noiseless", lines, "Assumptions 1 and 2", "proved for 1 and 2"),
                _judged("assumptions/noisy", lines, "Assumption 3, paper's groups", "proved for 3"),
                *_rank_one(lines),
            ),
            notes=(
                "At r = 1 no entry between positive and negative rows is seen, so both propositions fail there, which "
                "the paper does not except.",
            ),
        )


def _judged(key: str, lines: Sequence[Mapping[str, Cell]], share: str, proved: str) -> Judgement:
    """A proposition holds for r ≥ 2 if nowhere so few factors satisfy it as its probability all but rules out."""
    lines = [line for line in lines if line["r"] != 1]
    speaks = [line for line in lines if line[proved] != "vacuous" and line[share] is not None]
    if not speaks:
        sizes = [float(line["n"] or 0) for line in lines]
        high = [line for line in lines if line["r"] == 2 and line[share] is not None]
        measured = "; ".join(f"n = {line['n']}, r = 2: {float(line[share] or 0):.0%}" for line in high)
        tried = f"n = {min(sizes):g} to {max(sizes):g}" if sizes else "none above r = 1"
        return judge_claim(
            key,
            False,
            measured or "nothing that it speaks of",
            otherwise=f"the proved probability is vacuous at every size tried ({tried})",
        )

    def doubt(line: Mapping[str, Cell]) -> float:
        """How likely so few factors or fewer are, if the proved probability is right."""
        count = int(line["factors"] or 0)
        return float(bdtr(round(float(line[share] or 0) * count), count, float(str(line[proved]))))

    worst = min(speaks, key=doubt)
    return judge_claim(
        key,
        doubt(worst) >= UNLIKELY,
        f"speaks in {len(speaks)} of {len(lines)} lines with r ≥ 2; closest at n = {worst['n']}, r = {worst['r']}: "
        f"{float(worst[share] or 0):.0%} of {worst['factors']} factors, proved {worst[proved]}",
        otherwise=f"so few have a probability of {doubt(worst):.2g} if the Proposition is right",
    )


def _rank_one(lines: Sequence[Mapping[str, Cell]]) -> list[Judgement]:
    """Neither Proposition excepts r = 1."""
    own = [line for line in lines if line["r"] == 1]
    if not own:
        return []
    most = max(float(line["Assumptions 1 and 2"] or 0) for line in own)
    largest = max(int(line["n"] or 0) for line in own)
    return [
        judge_claim(
            "assumptions/rank-one",
            most > 0.5,
            f"Assumptions 1 and 2 hold for {most:.0%} of the factors at most, n up to {largest}",
            otherwise="entries between positive and negative rows are negative, hence never seen: Assumption 2 cannot "
            "hold, and uuᵀ and |u||u|ᵀ agree on all that is seen",
        )
    ]
