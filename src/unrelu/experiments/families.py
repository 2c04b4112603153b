"""``table-families``: how often each family of factors is recovered, by the paper's start and by ``auto``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unrelu.base.errors import CompletionWarning
from unrelu.complete import complete
from unrelu.data.planted import FAMILIES, Planted, family
from unrelu.data.sampling import thresholded
from unrelu.experiments.base import Cell, Experiment, Result, Row, Setting, Sizes, Table, Task
from unrelu.results.completion import Completion

__all__ = ["Line", "TableFamilies", "table_families"]

RECOVERED = 1e-6
# With noise: within this many times the error of the fit started at the truth.
NEAR = 3.0

# Iterations of Gauss–Newton from the paper's start.
MOST = 150

SETTINGS = ("threshold 0", "threshold at the 70 % quantile", "noise of 1 % of the rms entry")


@dataclass(frozen=True)
class Line:
    """One family in one setting: counts of trials."""

    setting: str
    family: str
    trials: int
    paper: int  # recovered from the paper's start
    auto: int  # recovered by auto
    converged: int  # auto says so
    wrong: int  # auto says so and is wrong on rows it does not call undetermined
    undetermined: float  # mean number of rows per trial that auto calls undetermined

    def __str__(self) -> str:
        counts = (self.paper, self.auto, self.converged, self.wrong)
        return f"| {self.family} | {' | '.join(map(str, counts))} | {self.undetermined:.1f} |"


def table_families(
    trials: int = 20, rng: int = 0, *, n: int = 200, rank: int = 5, say: Callable[[str], None] | None = None
) -> list[Line]:
    """Recovery on every family of :data:`unrelu.data.planted.FAMILIES` in three settings.

    Parameters
    ----------
    trials : int
        Seeds per family.
    rng : int
        The first seed.
    n, rank : int
    say : callable, optional
        Called with each line of a Markdown table as it is found.

    Returns
    -------
    list of Line
    """
    lines = []
    for setting in SETTINGS:
        if say is not None:
            say(f"\n{setting}, n={n}, r={rank}, {trials} seeds\n")
            say("| family | paper's start | auto | auto says converged | … and is wrong | undetermined rows |")
            say("|---|---|---|---|---|---|")
        for name in FAMILIES:
            lines.append(_line(setting, name, trials, rng, n, rank))
            if say is not None:
                say(str(lines[-1]))
    return lines


def _line(setting: str, name: str, trials: int, rng: int, n: int, rank: int) -> Line:
    return _counted(setting, name, [_trial(setting, name, seed, n, rank) for seed in range(rng, rng + trials)])


def _counted(setting: str, name: str, rows: Sequence[Row]) -> Line:
    counts = {what: sum(bool(row[what]) for row in rows) for what in ("paper", "auto", "converged", "wrong")}
    undetermined = sum(row["undetermined"] for row in rows) / len(rows)
    return Line(setting, name, len(rows), **counts, undetermined=undetermined)


def _trial(setting: str, name: str, seed: int, n: int, rank: int) -> Row:
    noise = 0.01 if setting == SETTINGS[2] else 0.0
    planted = family(name, n, rank, noise=noise, rng=[seed, 1])
    tau = float(np.quantile(planted.matrix, 0.7)) if setting == SETTINGS[1] else 0.0
    X = thresholded(planted.matrix, tau)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        ours = complete(X, rank, threshold=tau, rng=seed)
        theirs = complete(X, rank, threshold=tau, start="tailored", loss="observed", rng=seed, max_iter=MOST)
        best = complete(X, rank, threshold=tau, start=planted.factor) if noise else None
    rows = np.setdiff1d(np.arange(n), ours.undetermined_rows)
    good = _good(ours, planted, rows, best)
    return {
        "paper": _good(theirs, planted, rows, best),
        "auto": good,
        "converged": ours.verdict.converged,
        "wrong": ours.verdict.converged and not good,
        "undetermined": n - len(rows),
    }


class TableFamilies(Experiment):
    """The table of :func:`table_families`, trial by trial.

    Examples
    --------
    >>> from unrelu.experiments import table_families
    >>> result = table_families(trials=1, rng=0, n=40, r=2, families=["gaussian"])
    >>> [row[:5] for row in result.tables[0].rows][0]
    ('threshold 0', 'gaussian', 1, 1, 1)
    """

    name = "table-families"
    title = "Recovery on eleven families of factors"
    where = "not in the paper"
    full: ClassVar[Sizes] = {"trials": 20, "n": 200, "r": 5, "families": list(FAMILIES)}
    quick: ClassVar[Sizes] = {"trials": 2, "n": 100, "r": 3}
    extra = True

    def setting(self, sizes: Sizes) -> str:
        """The sizes, and the three settings."""
        return (
            f"n = {sizes['n']}, r = {sizes['r']}; {', '.join(SETTINGS)}; {sizes['trials']} matrices of each of "
            f"{len(sizes['families'])} families"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """How the two runs differ, and when a matrix counts as recovered."""
        return (
            Setting("paper's start", "start", "tailored, columns scaled", "ours", "orthonormal columns do worse"),
            Setting("paper's start", "loss", "F, of seen entries", "printed"),
            Setting("paper's start", "method", "Gauss–Newton", "ours", "so that no step decides"),
            Setting("paper's start", "cap", str(MOST), "ours", "it ends long before"),
            Setting("auto", "all", "default", "ours", "complete(X, r)"),
            Setting(
                "both", "recovered", f"error < {RECOVERED:g}", "ours", f"noise: {NEAR:g} times the fit from the truth"
            ),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per setting, family and matrix."""
        return [
            {"n": sizes["n"], "r": sizes["r"], "setting": setting, "family": name, "seed": sizes["rng"] + trial}
            for setting in SETTINGS
            for name in sizes["families"]
            for trial in range(sizes["trials"])
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return 0.5

    def trial(self, task: Task) -> Row:
        """The paper's start and ``auto`` on one matrix."""
        return _trial(task["setting"], task["family"], task["seed"], task["n"], task["r"])

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Counts by setting and family."""
        lines: list[dict[str, Cell]] = []
        for setting in SETTINGS:
            for name in sizes["families"]:
                line = _counted(setting, name, [r for r in rows if (r["setting"], r["family"]) == (setting, name)])
                lines.append(
                    {
                        "setting": setting,
                        "family": name,
                        "trials": line.trials,
                        "paper's start": line.paper,
                        "auto": line.auto,
                        "auto says converged": line.converged,
                        "… and is wrong": line.wrong,
                        "undetermined rows": line.undetermined,
                    }
                )
        return Result(
            self.name, sizes, tuple(rows), tables=(Table.of(self.name, "Counts of recovered matrices.", lines),)
        )


def _good(completion: Completion, planted: Planted, rows: Any, best: Completion | None) -> bool:
    error = _error(completion, planted, rows)
    if best is None:
        return error < RECOVERED
    return error <= NEAR * _error(best, planted, rows) or completion.objective <= best.objective * (1 + 1e-9)


def _error(completion: Completion, planted: Planted, rows: Any) -> float:
    truth = planted.truth[np.ix_(rows, rows)]
    fit = completion.factor[rows] @ completion.factor[rows].T
    return float(np.linalg.norm(fit - truth) / np.linalg.norm(truth))
