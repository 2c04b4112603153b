"""Every experiment by name, in the order of the paper."""

from __future__ import annotations

from collections.abc import Iterable

from unrelu._old.base.errors import unknown_name
from unrelu._old.experiments.base import Experiment
from unrelu._old.experiments.claims import TableClaims

__all__ = ["EXPERIMENTS", "chosen"]

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (*TableClaims.needs, TableClaims())}
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
            wanted |= EXPERIMENTS.keys()
        elif name in EXPERIMENTS:
            wanted |= {name, *(other.name for other in EXPERIMENTS[name].needs)}
        else:
            raise unknown_name("experiment", name, [ALL, *EXPERIMENTS])
    return [name for name in EXPERIMENTS if name in wanted]
