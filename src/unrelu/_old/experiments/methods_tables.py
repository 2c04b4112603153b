"""The tables of ``figure-methods``: errors, times, their ratios, and the readings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from unrelu._old.experiments.base import Cell, Table
from unrelu._old.experiments.methods_readings import ERRORS, MAIN, VARIANTS
from unrelu._old.experiments.methods_sample import Trials

__all__ = ["methods_tables"]


def methods_tables(name: str, paper: Sequence[Trials], readings: Sequence[Trials]) -> tuple[Table, ...]:
    """All of them; a trial that is not there leaves its cell empty."""
    errors = [_errors(at, variant) for at in paper for variant in at.names]
    times = [_times(at, variant) for at in paper for variant in at.names]
    ratios = [_ratios(at, variant) for at in paper for variant in at.names if VARIANTS[variant].method != "GD"]
    read = [_reading(at, variant) for at in readings for variant in at.names]
    size = f"n = {readings[0].place[0]}, r = {readings[0].place[1]}" if readings else "nothing"
    found = [
        Table.of(
            name,
            "Relative errors, medians over the matrices. Own: the method's last LRᵀ or UUᵀ. PSD: the positive "
            "semidefinite matrix of rank r nearest to it. M: the matrix with its noise. M*: the planted one.",
            errors,
        ),
        Table.of(f"{name}-times", "CPU seconds of start and iterations, one thread: medians and quartiles.", times),
        Table.of(
            f"{name}-ratios",
            "CPU time over that of gradient descent on the same matrix: geometric mean and range. "
            "Columns are the steps of gradient descent, and its start as printed.",
            ratios,
        ),
        Table.of(f"{name}-readings", f"Every setting at {size}: medians.", read),
    ]
    return tuple(table for table in found if table.rows)


def _ended(at: Trials, name: str) -> str:
    counts = Counter(str(row.get("code")) for row in at.group(name))
    return ", ".join(f"{count} {code}" for code, count in counts.most_common())


def _errors(at: Trials, name: str) -> dict[str, Cell]:
    line: dict[str, Cell] = {"σ": at.sigma, "method": VARIANTS[name].label}
    line |= {label.replace(" against ", ", "): at.median(name, error) for error, label in ERRORS.items()}
    return {**line, "ended": _ended(at, name)}


def _times(at: Trials, name: str) -> dict[str, Cell]:
    cpu, count = list(at.values(name, "cpu").values()), at.median(name, "iterations")
    low, middle, high = np.quantile(cpu, [0.25, 0.5, 0.75]) if cpu else (np.nan,) * 3
    return {
        "σ": at.sigma,
        "method": VARIANTS[name].label,
        "CPU s": float(middle) if cpu else None,
        "quartiles": f"{low:.3g}…{high:.3g}" if cpu else "",
        "iterations": count,
        "ms each": 1000 * float(middle) / count if cpu and count else None,
        "over default": _geometric(at.over(name, "default")),
    }


def _geometric(values: Sequence[float]) -> float | None:
    return float(np.exp(np.mean(np.log(values)))) if values else None


def _ratios(at: Trials, name: str) -> dict[str, Cell]:
    columns: Mapping[str, Sequence[float]] = {
        variant.setting.replace("step ", ""): at.over(name, descent) for descent, variant in at.variants("GD").items()
    }
    cells: dict[str, Cell] = {
        column: f"{_geometric(values):.3g} ({min(values):.2g}…{max(values):.2g})" if values else ""
        for column, values in columns.items()
    }
    return {"σ": at.sigma, "method": VARIANTS[name].label, **cells}


def _reading(at: Trials, name: str) -> dict[str, Cell]:
    return {
        "σ": at.sigma,
        "method": VARIANTS[name].label,
        "own, M": at.median(name, "own_m"),
        "PSD, M*": at.median(name, "psd_clean"),
        "CPU s": at.median(name, "cpu"),
        "over GD": _geometric(at.over(name, MAIN["GD"])),
        "iterations": at.median(name, "iterations"),
        "ended": _ended(at, name),
    }
