"""How a table is solved: by the plan of ``auto``, or one method from one start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from unrelu._old.auto.named import strategy_of
from unrelu._old.auto.solving import in_an_order_of_its_own
from unrelu._old.auto.strategy import Auto, Strategy
from unrelu._old.auto.table import complete_table
from unrelu._old.auto.task import Attempts, Plan, Task
from unrelu._old.base.errors import InputError, unknown_name
from unrelu._old.solvers import METHODS, SAMPLERS

__all__ = ["TABLE_METHODS", "AutoTable", "table_strategy"]

# Those that make sense with a factor for the rows and one for the columns.
TABLE_METHODS = {name: method for name, method in METHODS.items() if method().not_for_tables is None}


@dataclass(frozen=True)
class AutoTable(Auto):
    """What ``method="auto"`` does with a table."""

    psd_only = False

    def find(self, task: Task) -> Attempts:
        """Follow the plan."""
        task = replace(task, plan=Plan(self.starts, self.passes))
        return in_an_order_of_its_own(task, complete_table)


def table_strategy(method: Any, start: Any = "auto") -> Strategy:
    """The strategy for a table and the method and start that a caller names."""
    accepted = ["auto", *TABLE_METHODS]
    if isinstance(method, str) and method not in (*accepted, *METHODS, *SAMPLERS):
        raise unknown_name("method", method, accepted)
    chosen = strategy_of(method, start)
    refused = chosen.solver.not_for_tables
    if refused is not None:
        others = f"{', '.join(accepted[:-1])} or {accepted[-1]}"
        raise InputError(f"method {chosen.solver.name!r} is not for tables: {refused}; use {others}")
    if isinstance(chosen, Auto):
        return AutoTable(chosen.starts, chosen.passes, chosen.seconds, chosen.solver)
    return chosen
