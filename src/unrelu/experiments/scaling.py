"""``table-scaling``: the discussion of γ and λ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unrelu.experiments.base import Cell, Experiment, Judgement, Picture, Result, Row, Sizes, Table, Task, numbers
from unrelu.experiments.drawing import LOOKS, figure, quartile_line, readable
from unrelu.experiments.groups import best_bounds
from unrelu.experiments.judging import compare_number, judge_claim
from unrelu.experiments.solve import instance
from unrelu.theory.geometry import curvature
from unrelu.theory.partition import orthant_partition
from unrelu.theory.propositions import orthant_second_moment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TableScaling"]

GROWTH = "the discussion takes λ and γ as low as √n; at fixed r they grow like n"
# γ, λ and ‖U*‖² all grow like n at fixed r, and the theorem's limit then like n; a larger power is that of small sizes.
LASTING = 1.5


class TableScaling(Experiment):
    """How λ and γ grow with n, the second moments in an orthant, and the noise of which Theorem 4 speaks.

    Examples
    --------
    >>> from unrelu.experiments import table_scaling
    >>> result = table_scaling(trials=2, rng=0, ns=[100, 400], ranks=[2])
    >>> [row[1] for row in result.tables[1].rows]
    ['γ', '√γ', 'λ', 'λ, of the smallest block', 'largest ‖Δ‖_F']
    """

    name = "table-scaling"
    title = "Growth of λ and γ"
    where = "Discussion of γ and λ (appendix A.2)"
    setting = "Gaussian factors, r = 2 and 3, ReLU sampling"
    full: ClassVar[Sizes] = {"trials": 20, "ns": [200, 400, 800, 1600, 3200], "ranks": [2, 3]}
    quick: ClassVar[Sizes] = {"trials": 3, "ns": [200, 400, 800]}

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per rank, size and factor."""
        return [
            {"n": n, "r": r, "seed": sizes["rng"] + trial}
            for r in sizes["ranks"]
            for n in sizes["ns"]
            for trial in range(sizes["trials"])
        ]

    def cost(self, task: Task) -> float:
        """Grows with the size of the matrix."""
        return 0.02 + 0.1 * (float(task["n"]) / 1000) ** 2

    def trial(self, task: Task) -> Row:
        """λ of the orthants, γ, the second moments, and the limit of Theorem 4."""
        U = instance(task).factor
        seen = U @ U.T >= 0
        orthants = orthant_partition(U)
        gamma = curvature(seen, U).gamma
        found = best_bounds(U, seen, gamma, 0.0, search=False)
        # With its signs taken off every orthant is the first one.
        folded = np.abs(U)
        return {
            "lambda": float(orthants.eigenvalues.min()),
            "smallest": int(orthants.counts.min()),
            "gamma": gamma,
            "groups_lambda": found[1].lambda_ if found else None,
            "groups": len(found[1].groups) if found else None,
            "limit": found[0].noise_limit if found else None,
            "moments": (folded.T @ folded / len(U)).ravel().tolist(),
        }

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Medians by n, and the powers of n that fit them."""
        lines: list[dict[str, Cell]] = []
        powers: list[dict[str, Cell]] = []
        judgements: list[Judgement] = []
        for r in sizes["ranks"]:
            own = [row for row in rows if row["r"] == r]
            for n in sizes["ns"]:
                group = [row for row in own if row["n"] == n]
                limits = numbers(group, "limit")
                gamma = float(np.median(numbers(group, "gamma")))
                lines.append(
                    {
                        "r": r,
                        "n": n,
                        "λ of the orthants": float(np.median(numbers(group, "lambda"))),
                        "0.363 n/2^r": (1 - 2 / np.pi) * n / 2**r,
                        "γ": gamma,
                        "γ/n": gamma / n,
                        "√γ/√n": float(np.sqrt(gamma / n)),
                        "largest ‖Δ‖_F of Theorem 4": float(np.median(limits)) if limits else None,
                        "as a noise level": float(np.median(limits)) / n if limits else None,
                        "Assumption 3 found": f"{len(limits)} of {len(group)}",
                    }
                )
            worst = _apart(own, r)
            fits = {
                "γ": _power(own, "gamma"),
                "√γ": _power(own, "gamma", root=True),
                "λ": _power(own, "lambda"),
                "λ, of the smallest block": _by_block(own),
                "largest ‖Δ‖_F": _power(own, "limit"),
            }
            powers += [{"r": r, "quantity": name, "power": value} for name, value in fits.items()]
            judgements += _judged(r, own, fits, worst)
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(self.name, "Medians over factors.", lines),
                Table.of(
                    f"{self.name}-powers",
                    "Powers of n (or of the size of the smallest block) fitted to the medians.",
                    powers,
                ),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Growth of λ (orthants) and of the theorem's γ with n, median and quartiles, on logarithmic axes.",
                    lambda: _draw(sizes, rows),
                ),
            ),
            judgements=tuple(judgements),
            notes=(
                "Printed with the all-one vector for every orthant; that is right for the first, and for the others "
                "with their signs, which are taken off here before averaging.",
            ),
        )


def _apart(rows: Sequence[Row], r: int) -> float:
    """The largest difference between the mean of uuᵀ and the stated matrix, in standard errors of that mean."""
    weights = np.array([row["n"] for row in rows], dtype=float)
    moments = np.average([row["moments"] for row in rows], axis=0, weights=weights).reshape(r, r)
    # Var(u²) = 2 and Var(|u||v|) = 1 − 4/π² for independent standard normal u and v.
    variance = np.where(np.eye(r, dtype=bool), 2.0, 1 - 4 / np.pi**2)
    gaps = np.abs(moments - orthant_second_moment([1] * r)) / np.sqrt(variance / weights.sum())
    return float(gaps.max())


def _power(rows: Sequence[Row], name: str, *, root: bool = False) -> float | None:
    """The slope of log median against log n."""
    ns = sorted({row["n"] for row in rows})
    medians = [(n, values) for n in ns if (values := numbers([row for row in rows if row["n"] == n], name))]
    points = [(np.log(n), np.log(np.median(values))) for n, values in medians if np.median(values) > 0]
    if len(points) < 2:
        return None
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0]) / (2 if root else 1)


def _by_block(rows: Sequence[Row]) -> float | None:
    """The slope of log λ against the log of the smallest block's size, medians, over the larger half of the sizes."""
    ns = sorted({row["n"] for row in rows})
    groups = [[row for row in rows if row["n"] == n] for n in ns[len(ns) // 2 - (len(ns) < 4) :]]
    x = [np.log(np.median(numbers(group, "smallest"))) for group in groups]
    y = [np.log(np.median(numbers(group, "lambda"))) for group in groups]
    return float(np.polyfit(x, y, 1)[0]) if len(x) > 1 else None


def _judged(r: int, rows: Sequence[Row], fits: Mapping[str, float | None], worst: float) -> list[Judgement]:
    found = [compare_number("scaling/moments", [worst], what="difference", case=f"r = {r}")]
    if fits["γ"] is not None and fits["√γ"] is not None:
        for key, name in {"scaling/gamma-root": "√γ", "scaling/gamma-power": "γ"}.items():
            found.append(compare_number(key, [fits[name] or 0.0], what="power of n", case=f"r = {r}"))
    block = fits["λ, of the smallest block"]
    if block is not None:
        found.append(compare_number("scaling/lambda-power", [block], what="power", case=f"r = {r}"))
    limit = fits["largest ‖Δ‖_F"]
    if limit is not None:
        n = max(row["n"] for row in rows)
        largest = float(np.median(numbers([row for row in rows if row["n"] == n], "limit")))
        found.append(
            judge_claim(
                "scaling/noise-level",
                limit >= 0.2,
                f"r = {r}: the largest ‖Δ‖_F of Theorem 4 grows like n to the power {limit:.2f}; at n = {n} it is "
                f"{largest:.2g}, while n^(1/4) = {n**0.25:.2g}",
                otherwise="its other constants, which the discussion leaves out, take the growth away",
                why=_growth(limit),
                better=limit > 0.4,
            )
        )
    covered = [row for row in rows if r <= np.log2(row["n"]) / 2]
    if covered:
        worst_row = min(covered, key=lambda row: row["smallest"] / np.sqrt(row["n"]))
        share = worst_row["smallest"] / np.sqrt(worst_row["n"])
        found.append(
            judge_claim(
                "scaling/blocks",
                share >= 0.5,
                f"r = {r}: {share:.3g} √n rows in the poorest orthant of {len(covered)} factors (n = {worst_row['n']})",
                otherwise=f"{worst_row['smallest']} rows at n = {worst_row['n']}",
            )
        )
    return found


def _growth(power: float) -> str:
    if power <= 0.4:
        return ""
    return GROWTH + ("; more than n cannot last: at the smaller n the groups are still poor" if power > LASTING else "")


def _draw(sizes: Sizes, rows: Sequence[Row]) -> Figure:
    drawn = figure(7.0, 3.3)
    axes = drawn.subplots(1, 2)
    for ax, (name, label) in zip(axes, {"lambda": "λ of the orthants", "gamma": "γ"}.items(), strict=True):
        for look, r in zip(LOOKS, sizes["ranks"], strict=False):
            own = [row for row in rows if row["r"] == r]
            groups = [numbers([row for row in own if row["n"] == n], name) for n in sizes["ns"]]
            power = _power(own, name)
            words = f"r = {r}" if power is None else f"r = {r}: n to the {power:.2f}"
            quartile_line(ax, sizes["ns"], groups, look, words)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(sizes["ns"], [str(n) for n in sizes["ns"]], minor=False)
        ax.minorticks_off()
        readable(ax.yaxis)
        ax.set(xlabel="n", ylabel=label)
        ax.grid(alpha=0.3)
        ax.legend(fontsize="small")
    return drawn
