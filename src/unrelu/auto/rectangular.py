"""How a table is solved: by the plan of ``auto``, or one method from one start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from unrelu.auto.solving import cut_short
from unrelu.auto.strategy import Auto, Once, Strategy, strategy_of
from unrelu.auto.table import complete_table
from unrelu.auto.task import Attempts, Plan, Task
from unrelu.base.budget import OutOfTime
from unrelu.base.errors import InputError

__all__ = ["AutoTable", "table_strategy"]

# Methods that have one unknown with both factors in it.
ONE_UNKNOWN = ("gauss-newton", "gradient-descent")


@dataclass(frozen=True)
class AutoTable(Auto):
    """What ``method="auto"`` does with a table."""

    psd_only = False

    def find(self, task: Task) -> Attempts:
        """Follow the plan."""
        task = replace(task, plan=Plan(self.starts, self.passes))
        try:
            return complete_table(task)
        except (KeyboardInterrupt, OutOfTime) as end:
            return cut_short(task, end)


def table_strategy(method: Any, start: Any = "auto") -> Strategy:
    """The strategy for a table and the method and start that a caller names."""
    chosen = strategy_of(method, start)
    if (
        isinstance(chosen, Once)
        and chosen.solver.name not in ONE_UNKNOWN
        and type(chosen.solver).__module__.startswith("unrelu.")
    ):
        raise InputError(
            f"method {chosen.solver.name!r} is not there for tables yet; use auto, {' or '.join(ONE_UNKNOWN)}"
        )
    if isinstance(chosen, Auto):
        return AutoTable(chosen.starts, chosen.passes, chosen.seconds, chosen.solver)
    return chosen
