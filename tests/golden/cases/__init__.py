"""The instances, a module for each kind of call."""

from __future__ import annotations

from collections import Counter
from functools import cache

from tests.golden.case import Case
from tests.golden.cases import (
    commands,
    diagnosis,
    distances,
    estimators,
    exact,
    inputs,
    large,
    limits,
    losses,
    methods,
    missing,
    noisy,
    rank,
    structures,
    tables,
    trust,
    wrong,
)

__all__ = ["all_cases", "names"]

MODULES = (
    commands,
    diagnosis,
    distances,
    estimators,
    exact,
    inputs,
    large,
    limits,
    losses,
    methods,
    missing,
    noisy,
    rank,
    structures,
    tables,
    trust,
    wrong,
)


@cache
def all_cases() -> list[Case]:
    """Return every instance."""
    found = [case for module in MODULES for case in module.cases()]
    repeated = [name for name, count in Counter(case.name for case in found).items() if count > 1]
    if repeated:
        raise ValueError(f"names of instances must be unique; repeated: {sorted(repeated)}")
    return found


def names() -> list[str]:
    """Return the names of all instances."""
    return [case.name for case in all_cases()]
