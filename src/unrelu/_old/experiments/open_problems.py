"""``table-open-problems``: what the paper's conclusion leaves open, each question as an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from unrelu._old.experiments import open_rank, open_sampling, open_weaker
from unrelu._old.experiments.base import Experiment, Judgement, Result, Row, Setting, Sizes, Task

__all__ = ["TableOpenProblems"]

# The parts of which a trial may be one, by the name in its task.
PARTS = {
    open_sampling.PART: open_sampling,
    open_rank.UNKNOWN: open_rank,
    open_rank.TABLE: open_rank,
    open_weaker.PART: open_weaker,
}
# Seconds of a trial, roughly.
COSTS = {open_sampling.PART: 0.4, open_rank.UNKNOWN: 1.0, open_rank.TABLE: 0.3, open_weaker.PART: 0.3}


class TableOpenProblems(Experiment):
    """The open problems of Section 5: answers of this library, where it has some.

    Start and sampling: recovery rates of seven starts under seven ways of sampling, with the paper's loss. Unknown
    rank: how often it is found. Rectangular matrices: up to which rank they are recovered. Assumption 3(d): how many
    matrices are certified by a weaker condition only.

    Examples
    --------
    >>> from unrelu._old.experiments import table_open_problems
    >>> few = dict(samplings=[], unknown={"ns": [40], "ranks": [2], "sigmas": [0.0]}, tables=[[30, 20, [2]]], weaker=[])
    >>> result = table_open_problems(trials=2, rng=0, **few)
    >>> [table.rows[0][3] for table in result.tables[:1]], result.tables[1].rows[0][4]
    (['2 of 2'], '2 of 2')
    """

    name = "table-open-problems"
    title = "What the paper leaves open"
    where = "Section 5; Section 3.2"
    full: ClassVar[Sizes] = {
        "trials": 20,
        "n": 100,
        "r": 4,
        "samplings": list(open_sampling.SAMPLINGS),
        "unknown": {"ns": [60, 120], "ranks": [2, 6], "sigmas": [0.0, 0.01, 0.1, 0.5]},
        "tables": [[90, 60, [2, 6, 10, 14, 17, 19, 20]], [150, 100, [2, 10, 20, 28, 31]]],
        "weaker": [
            *(["ReLU", n, r] for n, r in ((20, 3), (30, 4), (40, 6), (40, 8), (60, 8), (60, 10), (100, 12), (100, 15))),
            *([0.6, n, r] for n, r in ((30, 2), (30, 3), (40, 3), (40, 4), (60, 6), (60, 8))),
            [open_weaker.CAPS, 42, 3],
        ],
    }
    quick: ClassVar[Sizes] = {
        "trials": 2,
        "n": 60,
        "r": 3,
        "samplings": ["ReLU", "above", "random"],
        "unknown": {"ns": [60], "ranks": [2], "sigmas": [0.0, 0.5]},
        "tables": [[60, 40, [2, 8, 12]]],
        "weaker": [["ReLU", 20, 3], ["ReLU", 40, 6], [0.6, 30, 3], [open_weaker.CAPS, 42, 3]],
    }

    def setting(self, sizes: Sizes) -> str:
        """The sizes of every part."""
        asked, words = sizes["unknown"], []
        if sizes["samplings"]:
            words.append(f"start × sampling: n = {sizes['n']}, r = {sizes['r']}")
        if asked["ns"]:
            sizes_in_words = ", ".join(map(str, asked["ns"]))
            words.append(f"unknown rank: n = {sizes_in_words}, σ up to {max(asked['sigmas'], default=0):g}")
        if sizes["tables"]:
            words.append(f"rectangular: {', '.join(f'{m}×{n}' for m, n, _ in sizes['tables'])}")
        if sizes["weaker"]:
            words.append(f"weaker conditions: n up to {max(n for _, n, _ in sizes['weaker'])}")
        return "; ".join([*words, f"{sizes['trials']} matrices of each"])

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """Those of every part."""
        return (*open_sampling.ledger(sizes), *open_rank.ledger(sizes), *open_weaker.ledger(sizes))

    def tasks(self, sizes: Sizes) -> list[Task]:
        """Those of every part."""
        return [*open_sampling.tasks(sizes), *open_rank.tasks(sizes), *open_weaker.tasks(sizes)]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return COSTS[task["part"]] * (2.0 if task.get("sigma") else 1.0)

    def trial(self, task: Task) -> Row:
        """One of a part."""
        return PARTS[task["part"]].trial(task)

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Those of every part."""
        return [*open_sampling.judge(sizes, rows), *open_rank.judge(sizes, rows), *open_weaker.judge(sizes, rows)]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Tables, pictures and sentences of every part."""
        parts = (open_sampling, open_rank, open_weaker)
        drawn = (open_sampling, open_rank)
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=tuple(table for part in parts for table in part.tables(self.name, sizes, rows)),
            pictures=tuple(picture for part in drawn for picture in part.pictures(self.name, sizes, rows)),
            judgements=self.judged(sizes, rows),
            says=tuple(sentence for part in parts for sentence in part.says(sizes, rows)),
            notes=(
                f"Recovered means an error below {open_sampling.RECOVERED:g} (rectangular: {open_rank.RECOVERED:g}) on "
                "the rows that see at least r of each other; of others the seen entries say too little for any method.",
                "A certificate is one of the seen entries alone: what absence says is not used.",
            ),
        )
