"""The trials of ``figure-methods`` at one size and one noise level, as tables, pictures and verdicts ask for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from unrelu._old.experiments.base import Row
from unrelu._old.experiments.methods_readings import RESTS, VARIANTS, Variant, variants_of

__all__ = ["Trials"]


@dataclass(frozen=True)
class Trials:
    """The trials at one size and one noise level, by method and matrix.

    Examples
    --------
    >>> rows = [{"n": 9, "r": 1, "sigma": 0.0, "method": "pam 0", "seed": 4, "cpu": 2.0, "own_m": None}]
    >>> at = Trials.at(rows, (9, 1), 0.0, paper=True)
    >>> at.values("pam 0", "cpu"), at.values("pam 0", "own_m"), at.median("gnmr", "cpu")
    ({4: 2.0}, {}, None)
    """

    place: tuple[int, int]
    sigma: float
    paper: bool  # the paper's size, not that of the readings
    rows: Mapping[tuple[str, int], Row] = field(repr=False)

    @classmethod
    def at(cls, rows: Sequence[Row], place: Sequence[int], sigma: float, *, paper: bool) -> Trials:
        """Those of all trials that belong there."""
        n, r = place
        kept = {
            (str(row.get("method")), int(row.get("seed") or 0)): row
            for row in rows
            if row.get("n") == n and row.get("r") == r and row.get("sigma") == sigma
        }
        return cls((n, r), sigma, paper, kept)

    @property
    def case(self) -> str:
        """What tells the verdicts of this size and noise level apart."""
        size = "" if self.paper else f", n = {self.place[0]}, r = {self.place[1]}"
        return f"σ = {self.sigma:g}{size}"

    def variants(self, method: str) -> dict[str, Variant]:
        """The variants of a method that run here."""
        return variants_of(method, self.sigma, paper=self.paper)

    def rests(self, *methods: str) -> list[str]:
        """The lines of the ledger that tell these variants apart."""
        return [name for method in methods for name in RESTS[method][0] + (() if self.paper else RESTS[method][1])]

    def group(self, name: str) -> list[Row]:
        """The trials of one variant."""
        return [row for (method, _), row in self.rows.items() if method == name]

    def values(self, name: str, what: str) -> dict[int, float]:
        """A quantity by matrix, where it was measured; what is below zero, and a CPU time that is none, was not."""
        found = {seed: row.get(what) for (method, seed), row in self.rows.items() if method == name}
        known = {seed: float(v) for seed, v in found.items() if isinstance(v, (int, float)) and not math.isnan(v)}
        return {seed: v for seed, v in known.items() if (0 < v < math.inf if what == "cpu" else v >= 0)}

    def median(self, name: str, what: str) -> float | None:
        """Over the matrices."""
        found = list(self.values(name, what).values())
        return float(np.median(found)) if found else None

    def over(self, name: str, other: str, what: str = "cpu") -> list[float]:
        """On each matrix one variant's quantity over that of another."""
        above, below = self.values(name, what), self.values(other, what)
        return [above[seed] / below[seed] for seed in sorted(above.keys() & below.keys()) if below[seed]]

    def effort(self, name: str, short: str) -> str:
        """Why a method takes the time it takes: its iterations, and the time of one."""
        count, cpu = self.median(name, "iterations"), self.median(name, "cpu")
        if not count or cpu is None:
            return f"{short}: not measured"
        return f"{short} {count:.0f} iterations of {1000 * cpu / count:.2g} ms"

    @property
    def names(self) -> list[str]:
        """Every variant that runs here, of all methods."""
        return [name for name, variant in VARIANTS.items() if variant.runs(self.sigma, paper=self.paper)]
