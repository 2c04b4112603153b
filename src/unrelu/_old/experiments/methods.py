"""``figure-methods``: error and CPU time of every method the paper compares, and of this library's default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from unrelu._old.experiments.base import Experiment, Judgement, Result, Row, Setting, Sizes, Task
from unrelu._old.experiments.methods_figures import methods_pictures
from unrelu._old.experiments.methods_ledger import methods_ledger
from unrelu._old.experiments.methods_readings import VARIANTS
from unrelu._old.experiments.methods_sample import Trials
from unrelu._old.experiments.methods_tables import methods_tables
from unrelu._old.experiments.methods_trials import solve
from unrelu._old.experiments.methods_verdicts import judge_methods

__all__ = ["FigureMethods"]


class FigureMethods(Experiment):
    """Figures 6 and 9: error and time of each method with its own rule from the appendix, and with every open setting.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_methods
    >>> result = figure_methods(trials=1, rng=0, n=30, r=1, sigmas=[0.0], readings=[20, 1])
    >>> [row[1] for row in result.tables[0].rows][:4]
    ['unrelu default', 'GD, step 0.25/‖M‖', 'GD, step 0.5/‖M‖', 'GD, step 1/‖M‖']
    """

    name = "figure-methods"
    title = "Error and CPU time of every method"
    where = "Figures 6 and 9"
    full: ClassVar[Sizes] = {"trials": 10, "n": 1000, "r": 20, "sigmas": [0.0, 1e-2], "readings": [200, 5]}
    quick: ClassVar[Sizes] = {"trials": 2, "n": 120, "r": 4, "readings": [50, 2]}

    def setting(self, sizes: Sizes) -> str:
        """Both sizes, and how many matrices."""
        n, r = sizes["readings"]
        levels = ", ".join(f"{sigma:g}" for sigma in sizes["sigmas"])
        count = f"{sizes['trials']} matri{'x' if sizes['trials'] == 1 else 'ces'}"
        return (
            f"n = {sizes['n']}, r = {sizes['r']}, σ ∈ {{{levels}}}; {count} each; settings that take long, and "
            f"all others again, at n = {n}, r = {r}; each method's own stopping rule"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """The same whatever the sizes are."""
        return methods_ledger()

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per size, noise level, matrix and variant; the long ones first, so that no core waits in the end."""
        found: dict[tuple[object, ...], Task] = {}
        for (n, r), paper in (((sizes["n"], sizes["r"]), True), (sizes["readings"], False)):
            for method, variant in VARIANTS.items():
                for sigma in sizes["sigmas"]:
                    for trial in range(sizes["trials"] if variant.runs(sigma, paper=paper) else 0):
                        task = {"n": n, "r": r, "sigma": sigma, "method": method, "seed": sizes["rng"] + trial}
                        found[tuple(task.values())] = task
        return sorted(found.values(), key=lambda task: -self.cost(task))

    def cost(self, task: Task) -> float:
        """Two methods take most of the time."""
        return 0.01 + VARIANTS[task["method"]].seconds * float(task["n"] / 1000) ** 2

    def trial(self, task: Task) -> Row:
        """One method on one matrix; a few steps on something tiny first, so that first calls are not counted."""
        solve({**task, "n": 12, "r": 1}, most=3)
        return solve(task)

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Every claim at every setting on which it may depend."""
        return judge_methods(sizes, rows)

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Errors and times, the order of the methods, and what the open settings do to it."""
        paper = [Trials.at(rows, (sizes["n"], sizes["r"]), sigma, paper=True) for sigma in sizes["sigmas"]]
        readings = [Trials.at(rows, sizes["readings"], sigma, paper=False) for sigma in sizes["sigmas"]]
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=methods_tables(self.name, paper, readings),
            pictures=methods_pictures(self.name, paper),
            judgements=self.judged(sizes, rows),
            notes=(
                "CPU seconds are those of the start and the iterations (of the default: of all that it tries), without "
                "making the data, in a process with one thread. A run that is cut off stands for its last iterate.",
                "ADMM is given δ = ‖Δ‖_F², as in the paper. Its X-update as printed has the square of the distance to "
                "the ball's centre where the projection has the distance, and lands inside the ball.",
            ),
        )
