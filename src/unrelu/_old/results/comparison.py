"""What a comparison of methods found: one row per run, one line per method."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log10
from pathlib import Path
from typing import Any

import numpy as np

from unrelu._old.io.disk import replacing
from unrelu._old.loop.history import Stop, Verdict, finite

__all__ = ["CONVERGED", "FAILED", "NOT_INSTALLED", "REFUSED", "Comparison", "Row"]

REFUSED, NOT_INSTALLED, FAILED = "refused", "not-installed", "failed"
# From good to bad; a summary shows the worst verdict of its trials.
SEVERITY = [*(code.value for code in Stop), REFUSED, NOT_INSTALLED, FAILED]
# Codes of runs that fitted the data, and of those that are an answer at all.
CONVERGED = {code.value for code in Stop if Verdict(code, "").converged}
ANSWERED = {code.value for code in Stop if Verdict(code, "").answered}


@dataclass(frozen=True)
class Row:
    """One method on one trial. What could not be measured is None.

    Attributes
    ----------
    method : str
        Its name, with the parameters that differ from its defaults.
    trial, seed : int
        Counted from 0; ``complete(..., rng=seed)`` starts as this run did.
    code, reason : str
        That of the verdict; or ``refused`` (the method cannot take these data), ``not-installed``, ``failed``.
    error : float or None
        ‖M̂ − M‖_F / ‖M‖_F of the method's own estimate (LRᵀ, if it has two factors) against the truth.
    clean_error : float or None
        The same of the positive semidefinite result UUᵀ against the noiseless M*, for planted matrices.
    objective, residual : float or None
        F at the returned factor, UUᵀ, and √(4F) / ‖M_Ω‖_F.
    loss : str or None
        Objectives of different losses do not compare.
    cpu_seconds, seconds : float or None
        Processor and wall-clock time of the whole call: the start, every attempt of ``auto``, the look at the fit that
        gives the verdict. Reading the data is not counted, nor importing, for which there is a tiny run before.
    iterations : int or None
        Of all attempts together.
    peak_bytes : int or None
        The most that Python and NumPy had allocated during a run, beyond the data; not what compiled solvers allocate
        on their own. Measured in a second run, on the first trial and if that was quick.
    """

    method: str
    trial: int
    seed: int
    code: str
    reason: str
    error: float | None = None
    clean_error: float | None = None
    objective: float | None = None
    residual: float | None = None
    loss: str | None = None
    cpu_seconds: float | None = None
    seconds: float | None = None
    iterations: int | None = None
    peak_bytes: int | None = None

    @property
    def converged(self) -> bool:
        """Whether the data are fitted, to rounding or to their noise."""
        return self.code in CONVERGED

    def __str__(self) -> str:
        parts = [self.code]
        parts += [] if self.error is None else [f"error {self.error:.1e}"]
        parts += [] if self.cpu_seconds is None else [f"{self.cpu_seconds:.2f} s CPU"]
        return f"{self.method}: {', '.join(parts)}" + ("" if self.converged else f" ({self.reason})")


HEADER = ["method", "error", "quartiles", "UUᵀ to M*", "objective", "CPU s", "iterations", "memory", "verdict"]
MEDIANS = ("error", "clean_error", "objective", "residual", "cpu_seconds", "seconds", "iterations", "peak_bytes")


def _summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The rows of one method in one line."""
    worst = max(rows, key=lambda row: SEVERITY.index(row.code))
    line: dict[str, Any] = {"method": worst.method, "trials": len(rows), "converged": sum(r.converged for r in rows)}
    line |= dict(code=worst.code, reason=worst.reason)
    for name in MEDIANS:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        line[name] = float(np.median(values)) if values else None
        if name in ("error", "cpu_seconds"):
            # "nearest", for nothing can be interpolated between a number and infinity.
            ends = np.quantile(values, [0.25, 0.75], method="nearest").tolist() if values else (None, None)
            line[f"{name}_low"], line[f"{name}_high"] = ends
    return line


def _order(line: Mapping[str, Any]) -> tuple[bool, bool, float, float, float]:
    """Answers first, then by the decade of the error, then by CPU time; last what did not run.

    Quick and far off is no merit: what did not fit the data goes by its objective, to three digits, before its time.
    """
    error = line["error"]
    decade = 0.0 if error is None else round(log10(max(error, 1e-300))) if isfinite(error) else inf
    cpu, objective = line["cpu_seconds"], line["objective"]
    left = 0.0 if line["code"] in CONVERGED or objective is None else float(f"{objective:.2e}")
    return line["code"] not in ANSWERED, cpu is None, decade, left, cpu or 0.0


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found. ``print`` shows it as a table.

    Attributes
    ----------
    rows : tuple of Row
        One per method and trial, in the order they were run.
    about : dict
        What was compared: size, rank, noise, trials, stopping rule, time budget.
    interrupted : bool
        Whether it was cut short; the rows are those of the runs that had ended.
    """

    rows: tuple[Row, ...]
    about: Mapping[str, Any]
    interrupted: bool = False

    def summary(self) -> list[dict[str, Any]]:
        """One line per method: medians, the quartiles (``_low``, ``_high``) of error and CPU time, the worst verdict.

        Methods that fitted the data, or found the best fit of a rank that they exceed, come first; then it goes by the
        decade of the error, then by CPU time. What did not fit the data goes by its objective before its time.
        """
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.method, []).append(row)
        return sorted(map(_summary, found.values()), key=_order)

    def to_csv(self, path: str | Path) -> None:
        """Write the rows, one line each; the file is written whole or not at all."""
        names = [field.name for field in dataclasses.fields(Row)]
        with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(names)
            writer.writerows([getattr(row, name) for name in names] for row in self.rows)

    def to_json(self, path: str | Path) -> None:
        """Write what was compared, the summary and the rows; the file is written whole or not at all."""
        content = {
            "about": {**self.about, "interrupted": self.interrupted},
            "summary": [finite(line) for line in self.summary()],
            "rows": [finite(dataclasses.asdict(row)) for row in self.rows],
        }
        with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=2, ensure_ascii=False, allow_nan=False)
            stream.write("\n")

    def __repr__(self) -> str:
        n, methods = self.about["size"], {row.method: None for row in self.rows}
        fitted = sum(row.converged for row in self.rows)
        names = f"{len(methods)} method{'s' * (len(methods) != 1)}"
        return f"Comparison({n}×{n}, rank {self.about['rank']}, {names}, {fitted} of {len(self.rows)} runs converged)"

    def __str__(self) -> str:
        lines, about = self.summary(), self.about
        noise = "" if about["sigma"] is None else f", noise {about['sigma']:g}"
        medians = f", medians of {about['trials']} trials" if about["trials"] > 1 else ""
        title = f"{about['size']}×{about['size']} matrix, rank {about['rank']}{noise}, {about['stopping']} stopping"
        cells = [HEADER, *map(_cells, lines)]
        kept = [c for c in zip(*cells, strict=True) if set(c[1:]) != {"–"} and (medians or c[0] != "quartiles")]
        table = ["  ".join(row).rstrip() for row in zip(*map(_aligned, kept), strict=True)]
        reasons = [f"{line['method']}: {line['reason']}" for line in lines if line["code"] not in CONVERGED]
        return "\n".join([title + medians, "", *table, *([""] if reasons else []), *reasons])


def _cells(line: Mapping[str, Any]) -> list[str]:
    shown = {"error": ".2e", "clean_error": ".2e", "objective": ".2e", "cpu_seconds": ".3g", "iterations": "g"}
    error, clean, *rest = ("–" if line[name] is None else format(line[name], form) for name, form in shown.items())
    quartiles = "–" if line["error"] is None else f"{line['error_low']:.1e}…{line['error_high']:.1e}"
    memory = "–" if line["peak_bytes"] is None else f"{line['peak_bytes'] / 2**20:.3g} MiB"
    failed = line["trials"] - line["converged"]
    some = f" ({failed} of {line['trials']} trials)" if 0 < failed < line["trials"] else ""
    return [line["method"], error, quartiles, clean, *rest, memory, line["code"] + some]


def _aligned(column: Sequence[str]) -> list[str]:
    width = max(map(len, column))
    words = column[0] in ("method", "verdict")
    return [text.ljust(width) if words else text.rjust(width) for text in column]
