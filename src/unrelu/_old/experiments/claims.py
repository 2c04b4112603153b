"""``table-claims``: every claim of the paper's prose in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from unrelu._old.experiments.assumptions import TableAssumptions
from unrelu._old.experiments.base import Cell, Experiment, Result, Row, Sizes, Table, Task
from unrelu._old.experiments.basin import FigureBasin
from unrelu._old.experiments.distances import FigureDistances
from unrelu._old.experiments.errata import TableErrata
from unrelu._old.experiments.initialisation import TableInitialisation
from unrelu._old.experiments.initialisation_figure import FigureInitialisation
from unrelu._old.experiments.judging import printed
from unrelu._old.experiments.landscape import FigureLandscape
from unrelu._old.experiments.methods import FigureMethods
from unrelu._old.experiments.noise import TableNoise
from unrelu._old.experiments.open_problems import TableOpenProblems
from unrelu._old.experiments.ordering import TableOrdering
from unrelu._old.experiments.orthants import FigureObserved, FigureOrthants
from unrelu._old.experiments.rank import FigureRank
from unrelu._old.experiments.scaling import TableScaling
from unrelu._old.experiments.sectors import FigureSectors
from unrelu._old.experiments.theorems import TableTheorems
from unrelu._old.experiments.threshold import FigureThreshold

__all__ = ["TableClaims"]


class TableClaims(Experiment):
    """Reads the verdicts of all other experiments; it has no trials of its own.

    Examples
    --------
    >>> from unrelu._old.experiments import table_claims
    >>> len(table_claims.needs)
    18
    >>> result = table_claims(trials=1, quick=True)  # runs them all: minutes # doctest: +SKIP
    """

    name = "table-claims"
    title = "Every claim in prose"
    where = "throughout"
    full: ClassVar[Sizes] = {"trials": None, "quick": False}
    quick: ClassVar[Sizes] = {"quick": True}
    needs: ClassVar[tuple[Experiment, ...]] = (
        FigureLandscape(),
        FigureOrthants(),
        FigureObserved(),
        FigureSectors(),
        FigureThreshold(),
        TableTheorems(),
        TableErrata(),
        TableAssumptions(),
        TableOrdering(),
        TableInitialisation(),
        FigureInitialisation(),
        FigureMethods(),
        FigureRank(),
        FigureDistances(),
        FigureBasin(),
        TableNoise(),
        TableScaling(),
        TableOpenProblems(),
    )

    def setting(self, sizes: Sizes) -> str:
        """Nothing runs here."""
        return "what the paper says in words, with the verdicts of the other experiments"

    def tasks(self, sizes: Sizes) -> list[Task]:
        """None: the others have them."""
        return []

    def trial(self, task: Task) -> Row:
        """Never called."""
        raise NotImplementedError

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """One line per claim, in the order of the data file; those about this library in a table of their own."""
        found = [(name, judgement) for name, result in others.items() for judgement in result.judgements]
        order = {key: place for place, key in enumerate([*printed()["claims"], *printed()["numbers"]])}
        chosen = [pair for pair in found if pair[1].prose or not pair[1].key.startswith("init/")]
        chosen.sort(key=lambda pair: order[pair[1].key])
        lines: dict[bool, list[dict[str, Cell]]] = {False: [], True: []}
        for name, judgement in chosen:
            lines[judgement.ours].append(
                {
                    "verdict": judgement.verdict,
                    "claim": judgement.claim + (f" ({judgement.case})" if judgement.case else ""),
                    "where": judgement.where,
                    "experiment": name,
                }
            )
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(self.name, "What the paper claims.", lines[False]),
                Table.of(f"{self.name}-library", "What is said of this library, counted apart.", lines[True]),
            ),
        )
