"""Looking for groups of rows that satisfy the assumptions, given the planted factor and the pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.data.observations import Observations
from unrelu._old.theory.assumptions import (
    AssumptionReport,
    check_assumption_1,
    check_assumption_2,
    check_assumption_3,
    check_noise,
)
from unrelu._old.theory.discover import find_partition
from unrelu._old.theory.partition import Partition, cone_partition, orthant_partition, sector_partition
from unrelu._old.theory.pattern import Mask, Pattern, as_factor

__all__ = ["check_assumptions", "search_assumption_3"]


def check_assumptions(
    U: ArrayLike, mask: Mask | None = None, noise: ArrayLike | float | None = None, rng: Any = None
) -> dict[str, AssumptionReport]:
    """All three: 1 and 2 on the orthants of the factor, 3 on whatever groups satisfy it; ReLU sampling if no mask.

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((400, 2))
    >>> {name: report.holds for name, report in check_assumptions(U).items()}
    {'1': True, '2': True, '3': True}
    """
    factor = as_factor(U)
    pattern = Pattern.of(factor @ factor.T >= 0 if mask is None else mask)
    orthants = orthant_partition(factor)
    return {
        "1": check_assumption_1(orthants),
        "2": check_assumption_2(orthants, pattern),
        "3": search_assumption_3(factor, pattern, noise, rng)[0],
    }


def search_assumption_3(
    U: ArrayLike, mask: Mask, noise: ArrayLike | float | None = None, rng: Any = None
) -> tuple[AssumptionReport, Partition]:
    """The first collection of groups for which Assumption 3 holds, of several that are tried; else the last one.

    In turn: the paper's cones or sectors; the same without those of rank below r; cones around rows; and cliques
    found from the pattern and the values (:func:`~unrelu._old.theory.discover.find_partition`).

    Examples
    --------
    >>> U = np.random.default_rng(0).standard_normal((150, 3))
    >>> report, groups = search_assumption_3(U, U @ U.T >= 0)
    >>> report.holds, groups.kind
    (True, 'found')
    """
    factor = as_factor(U)
    pattern = Pattern.of(mask)
    report: AssumptionReport | None = None
    for partition in _candidates(factor, pattern, rng):
        report = check_assumption_3(partition, pattern)
        if report.holds:
            break
    if report is None:
        raise InputError("no group of rows was seen in full with rank r, so there is nothing to check")
    failure = None if noise is None else check_noise(factor, noise)
    if failure is not None:
        name, reason = failure
        report = replace(report, holds=False, failed=(*report.failed, name), reasons=(*report.reasons, reason))
    return report, partition


def _candidates(U: NDArray[np.float64], pattern: Pattern, rng: Any) -> Iterator[Partition]:
    r = U.shape[1]
    if r <= 4:
        groups = sector_partition(U) if r == 2 else cone_partition(U)
        yield groups
        full = groups.full_rank
        if full.any() and not full.all():
            yield groups.keep(full)
    around = cone_partition(U, "rows")
    full = around.full_rank
    if full.any():
        yield around.keep(full)
    values = np.where(pattern.mask, U @ U.T, np.nan)
    found = find_partition(Observations.of(values, threshold=None), r, rng)
    if found is not None:
        yield found
