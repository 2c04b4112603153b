"""What the trials of ``figure-rank`` say: recovery at each reading of step, cap and start, and the verdicts from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.experiments.base import Judgement, Row, Sizes
from unrelu._old.experiments.judging import printed
from unrelu._old.experiments.rules import across, always, fitted, generally, no_evidence
from unrelu._old.experiments.rules.common import is_finite

__all__ = [
    "LOOSE",
    "RECOVERED",
    "SOLVERS",
    "Reading",
    "counting_limit",
    "is_recovered",
    "limit_of",
    "rank_claims",
    "readings",
]

# Far above what gradient descent reaches when its gradient is at the bound (1e-9 to 1e-8), far below every failure.
RECOVERED = 1e-6
# In a figure over many decades a larger error may still look like none: where completion begins to break down is
# judged with this bound as well.
LOOSE = 1e-4
# "Well beyond" ½ log₂ n: from twice to five and a half times that rank (8 to 21 at n = 200).
BEYOND = (2.0, 5.5)
# How close to its counting limit the rank of a matrix is that counts as "up to the limit".
NEAR_DEFAULT, NEAR_F = (0.9, 0.98), (0.9, 0.95)
# The printed breakdown is for this size. Between ranks further apart than this a breakdown around 45 cannot be told.
SIZE, GAP = 200, 5
SOLVERS = {"gauss-newton": "Gauss–Newton on F", "default": "unrelu default"}


@dataclass(frozen=True)
class Reading:
    """One way to run the paper's gradient descent: how its start is scaled, step, cap, which error is none."""

    start: str  # "scaled" or "printed"
    step: float
    cap: int
    bound: float = RECOVERED

    @property
    def name(self) -> str:
        """As verdicts and tables call it."""
        start = " from the start as printed" if self.start == "printed" else ""
        bound = f" to an error of {self.bound:g}" if self.bound != RECOVERED else ""
        return f"{self.cap} iterations of step {self.step:g}{bound}{start}"

    def of(self, rows: Sequence[Row], n: int | None = None) -> list[Row]:
        """The runs that tell of it; a run to a higher cap tells of the lower one too."""
        return [
            row
            for row in rows
            if (row.get("method"), row.get("start"), row.get("step")) == ("gd", self.start, self.step)
            and n in (None, row.get("n"))
            and self.cap in (row.get("caps") or ())
            and self.error(row) is not None
        ]

    def error(self, row: Row) -> float | None:
        """The error of a run when it had come to the cap, or to rest before it."""
        return _error(row, f"error_{self.cap}")

    def recovers(self, row: Row) -> bool:
        """Whether a run had recovered its matrix by then."""
        error = self.error(row)
        return error is not None and error < self.bound


def readings(sizes: Sizes) -> list[Reading]:
    """Those of a run: every step with every cap, and the start as printed with the lowest cap.

    Examples
    --------
    >>> found = readings({"steps": [0.5], "caps": [5000, 20000], "printed_part": 0.5})
    >>> [reading.name for reading in found[1:]]
    ['20000 iterations of step 0.5', '5000 iterations of step 0.5 from the start as printed']
    """
    found = [Reading("scaled", step, cap) for step in sizes["steps"] for cap in sizes["caps"]]
    if sizes["printed_part"]:
        found += [Reading("printed", step, min(sizes["caps"])) for step in sizes["steps"]]
    return found


def counting_limit(n: int, pairs: float) -> float:
    """The rank r at which the nr − r(r−1)/2 unknowns meet the distinct seen entries.

    Examples
    --------
    >>> round(counting_limit(200, 10150), 2)
    59.43
    """
    half = n + 0.5
    return float(half - np.sqrt(half**2 - 2 * pairs))


def limit_of(row: Row) -> float | None:
    """The counting limit of a trial's own matrix; None if the trial does not tell."""
    pairs, n = _number(row, "pairs"), row["n"]
    return counting_limit(n, pairs) if pairs is not None and 0 <= pairs <= n * (n + 1) / 2 else None


def is_recovered(row: Row) -> bool:
    """Whether a run recovered its matrix in the end.

    Examples
    --------
    >>> is_recovered({"error": 1e-9}), is_recovered({"error": float("nan")}), is_recovered({})
    (True, False, False)
    """
    error = _error(row)
    return error is not None and error < RECOVERED


def rank_claims(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    """Every verdict of the experiment."""
    return [
        _far_past(sizes, rows),
        _breakdown(sizes, rows),
        _fundamental(sizes, rows),
        _to_the_limit("rank/gauss-newton", rows, "gauss-newton", NEAR_F),
        _to_the_limit("rank/default", rows, "default", NEAR_DEFAULT),
    ]


def _far_past(sizes: Sizes, rows: Sequence[Row]) -> Judgement:
    """Ranks well beyond the one that the theory asks for, at every size, with the lowest cap."""
    found = {}
    for reading in readings(sizes):
        if reading.cap > min(sizes["caps"]):
            continue
        runs = [r for r in reading.of(rows) if _is_beyond(r["n"], r["r"])]
        good = sum(map(reading.recovers, runs))
        times = [r["r"] / _bound(r["n"]) for r in runs]
        words = f", of rank {min(times):.1f} to {max(times):.1f} times ½ log₂ n" if times else ""
        found[reading.name] = always(
            "rank/far-past",
            good,
            len(runs),
            f"{good} of {len(runs)} matrices recovered{words}",
            otherwise=f"{len(runs) - good} runs within {BEYOND[1]:g} times ½ log₂ n did not recover the matrix",
        )
    return across(found, ["step", "cap", "start"])


def _bound(n: int) -> float:
    return 0.5 * math.log2(n)


def _is_beyond(n: int, rank: int) -> bool:
    return BEYOND[0] * _bound(n) <= rank <= BEYOND[1] * _bound(n)


def _breakdown(sizes: Sizes, rows: Sequence[Row]) -> Judgement:
    """The rank from which on gradient descent recovers nothing, of every seed, at every reading."""
    if SIZE not in sizes["ns"]:
        return no_evidence("rank/breakdown", f"it is printed for n = {SIZE}, which was not run")
    every = readings(sizes)
    every += [replace(r, bound=LOOSE) for r in every if r.start == "scaled" and r.cap == min(sizes["caps"])]
    found = {}
    for reading in every:
        ends = list(_breakdowns(rows, reading).values())
        found[reading.name] = fitted("rank/breakdown", ends, _ending(rows, reading, ends), what="rank")
    return across(found, ["step", "cap", "start", "recovered"])


def _breakdowns(rows: Sequence[Row], reading: Reading) -> dict[int, float]:
    """The first rank from which on a seed's matrices are not recovered, by seed; infinite if all are.

    A seed is left out if the ranks that were tried are too far apart to say on which side of 45 the breakdown lies.
    """
    entry = printed()["numbers"]["rank/breakdown"]
    low, high = entry["value"] - entry["tolerance"], entry["value"] + entry["tolerance"]
    found: dict[int, float] = {}
    runs = reading.of(rows, SIZE)
    for seed in sorted({row["seed"] for row in runs}):
        tried = {r["r"]: reading.recovers(r) for r in runs if r["seed"] == seed}
        last = max((rank for rank, good in tried.items() if good), default=0)
        first = min((rank for rank in tried if rank > last), default=math.inf)
        if tried and (first - last <= GAP or last > high or first < low):
            found[seed] = first
    return found


def _ending(rows: Sequence[Row], reading: Reading, ends: Sequence[float]) -> str:
    """Whether the runs that had not recovered had come to rest, or were cut off."""
    endless = sum(map(math.isinf, ends))
    if endless:
        return f"In {endless} seeds the highest rank tried was still recovered"
    failed = [r for r in reading.of(rows, SIZE) if not reading.recovers(r)]
    rest = sum((_number(r, "iterations") or 0) < reading.cap and is_finite(_error(r) or 0.0) for r in failed)
    return f"Of {len(failed)} runs that had not recovered by then, {rest or 'none'} had come to rest" if failed else ""


def _fundamental(sizes: Sizes, rows: Sequence[Row]) -> Judgement:
    """Whether another method on the same F from the same start fails as well where gradient descent is cut off."""
    chosen = [r for r in rows if r.get("method") == "gauss-newton"]
    solved = {_matrix(r): is_recovered(r) for r in chosen if _error(r) is not None and is_finite(_error(r) or 0.0)}
    found = {}
    for reading in readings(sizes):
        if reading.start != "scaled":  # the start of Gauss–Newton too
            continue
        left = [
            _matrix(r)
            for r in reading.of(rows)
            if is_finite(reading.error(r) or 0.0)
            and not reading.recovers(r)
            and r["r"] < (limit_of(r) or 0)
            and _matrix(r) in solved
        ]
        good = sum(solved[matrix] for matrix in left)
        found[reading.name] = generally(
            "rank/fundamental",
            len(left) - good,
            len(left),
            f"{len(left) - good} of {len(left)} matrices below their counting limit that GD had not recovered were "
            "beyond Gauss–Newton on the same F from the same start too",
            otherwise=f"Gauss–Newton minimises F to the planted matrix in {good} of the {len(left)}: the breakdown is "
            "one of gradient descent and its cap, not of F",
        )
    return across(found, ["step", "cap"])


def _to_the_limit(key: str, rows: Sequence[Row], method: str, near: tuple[float, float]) -> Judgement:
    """Every matrix whose rank is just below its own counting limit."""
    chosen = [r for r in rows if r.get("method") == method and _error(r) is not None]
    runs = [r for r in chosen if (limit := limit_of(r)) and near[0] <= r["r"] / limit <= near[1]]
    good = sum(map(is_recovered, runs))
    return always(
        key,
        good,
        len(runs),
        f"{good} of {len(runs)} matrices of rank {near[0]:.0%} to {near[1]:.0%} of the counting limit",
        otherwise=f"{len(runs) - good} of {len(runs)} were not recovered",
        better=True,
    )


def _matrix(row: Row) -> tuple[int, int, int]:
    return row["n"], row["r"], row["seed"]


def _number(row: Mapping[str, Any], name: str) -> float | None:
    """A finding, if it is a number."""
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) and not math.isnan(value) else None


def _error(row: Mapping[str, Any], name: str = "error") -> float | None:
    """The error of a run; a run that ended in nothing finite has an infinite one."""
    value = row.get(name)
    if not isinstance(value, (int, float)) or value < 0:
        return None
    return math.inf if math.isnan(value) else float(value)
