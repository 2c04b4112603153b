"""Every experiment by name, in the order of the paper."""

from __future__ import annotations

from collections.abc import Iterable

from unrelu.errors import unknown_name
from unrelu.experiments.assumptions import TableAssumptions
from unrelu.experiments.base import Experiment
from unrelu.experiments.basin import FigureBasin
from unrelu.experiments.claims import TableClaims
from unrelu.experiments.distances import FigureDistances
from unrelu.experiments.families import TableFamilies
from unrelu.experiments.initialisation import TableInitialisation
from unrelu.experiments.initialisation_figure import FigureInitialisation
from unrelu.experiments.landscape import FigureLandscape
from unrelu.experiments.methods import FigureMethods
from unrelu.experiments.noise import TableNoise
from unrelu.experiments.orthants import FigureObserved, FigureOrthants
from unrelu.experiments.rank import FigureRank
from unrelu.experiments.scaling import TableScaling
from unrelu.experiments.sectors import FigureSectors

__all__ = ["EXPERIMENTS", "chosen"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        FigureLandscape(),
        FigureOrthants(),
        FigureObserved(),
        FigureSectors(),
        TableAssumptions(),
        TableInitialisation(),
        FigureInitialisation(),
        FigureMethods(),
        FigureRank(),
        FigureDistances(),
        FigureBasin(),
        TableNoise(),
        TableScaling(),
        TableClaims(),
        TableFamilies(),
    )
}
ALL = "all"


def chosen(names: Iterable[str]) -> list[str]:
    """Names as given, ``all`` spelt out, what they need before them, in the order of the paper.

    Examples
    --------
    >>> chosen(["table-initialisation", "figure-landscape"])
    ['figure-landscape', 'table-initialisation']
    """
    wanted: set[str] = set()
    for name in names:
        if name == ALL:
            wanted |= {known for known, experiment in EXPERIMENTS.items() if not experiment.extra}
        elif name in EXPERIMENTS:
            wanted |= {name, *EXPERIMENTS[name].needs}
        else:
            raise unknown_name("experiment", name, [ALL, *EXPERIMENTS])
    return [name for name in EXPERIMENTS if name in wanted]
