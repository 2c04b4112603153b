"""The trials of ``figure-sensitivity`` by what was said, and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unrelu.experiments.base import Cell, Row, Sizes, Table, numbers

__all__ = ["Group", "Groups", "signed", "tables"]

TOLD = {
    "threshold": "a threshold off by",
    "side": "the other side",
    "censored": "random gaps as censored",
    "unknown": "all gaps as unknown",
    "marked": "random gaps marked",
}


@dataclass(frozen=True)
class Group:
    """The trials of one statement, loss and start."""

    told: str
    at: float
    sigma: float
    loss: str
    start: str
    rows: tuple[Row, ...]

    @property
    def errors(self) -> list[float]:
        """The error of each trial that has one."""
        return numbers(self.rows, "error")

    @property
    def median(self) -> float:
        """Of the errors; NaN if there is none."""
        return float(np.median(self.errors)) if self.errors else float("nan")

    @property
    def refused(self) -> int:
        """In how many trials the call as stated was refused."""
        return sum(row["refused"] for row in self.rows)

    @property
    def answered(self) -> int:
        """How many trials were called an answer."""
        return sum(row["answered"] for row in self.rows)


@dataclass(frozen=True)
class Groups:
    """All of them, by what was said, the noise, the loss and the start."""

    sizes: Sizes
    every: tuple[Group, ...]

    @classmethod
    def of(cls, sizes: Sizes, rows: Sequence[Row]) -> Groups:
        """Rows put together; what has no trial is not there."""
        names = ("told", "at", "sigma", "loss", "start")
        found: dict[tuple[str, float, float, str, str], list[Row]] = {}
        for row in rows:
            told, at, sigma, loss, start = (row[name] for name in names)
            found.setdefault((told, at, sigma, loss, start), []).append(row)
        return cls(sizes, tuple(Group(*key, tuple(some)) for key, some in found.items()))

    def some(
        self,
        told: str | None = None,
        at: float | None = None,
        sigma: float | None = None,
        loss: str | None = None,
        start: str | None = None,
    ) -> list[Group]:
        """Those of what is named; gaps none of which is random are told right, which stands under ``threshold``."""
        if told in ("censored", "marked") and at == 0:
            told = "threshold"
        wanted = {"told": told, "at": at, "sigma": sigma, "loss": loss, "start": start}
        named = {name: value for name, value in wanted.items() if value is not None}
        return [group for group in self.every if all(getattr(group, name) == named[name] for name in named)]

    def one(self, told: str, at: float, sigma: float, loss: str, start: str) -> Group | None:
        """The one of everything named, if there are trials of it."""
        found = self.some(told, at, sigma, loss, start)
        return found[0] if found else None

    def truth(self, group: Group) -> Group | None:
        """The same loss and start when the truth is told of gaps that are all censored."""
        return self.one("threshold", 0.0, group.sigma, group.loss, group.start)

    def places(self, told: str) -> list[float]:
        """By how much a statement is wrong, from the least to the most."""
        zero = {0.0} if told in ("censored", "marked") else set()
        return sorted({group.at for group in self.every if group.told == told} | zero)

    def lines(self, told: str) -> Iterator[tuple[float, str, str]]:
        """Noise level, loss and start of whatever was run with a statement."""
        seen = [(group.sigma, group.loss, group.start) for group in self.every if group.told == told]
        yield from dict.fromkeys(seen)


def tables(name: str, groups: Groups) -> tuple[Table, ...]:
    """Medians side by side, first of threshold and side, then of gaps; and quartiles, a line for each group."""
    found = [
        Table.of(
            f"{name}-threshold",
            "Median error when the threshold is off by so many rms entries (0: the truth), and when the side is wrong.",
            [
                {
                    **_named(*line),
                    **{signed(at): _median(groups, "threshold", at, line) for at in groups.places("threshold")},
                    "wrong side": _median(groups, "side", 0.0, line),
                }
                for line in groups.lines("threshold")
            ],
        ),
        Table.of(
            f"{name}-gaps",
            "Median error by the share of the gaps that is random. Told as unknown, all losses are the same.",
            [
                {
                    "told": TOLD[told],
                    **_named(line[0], "any" if told == "unknown" else line[1], line[2]),
                    **{f"{at:.0%}": _median(groups, told, at, line) for at in groups.places("censored")},
                }
                for told in ("censored", "unknown", "marked")
                for line in groups.lines(told)
            ],
        ),
        Table.of(name, "Every statement, loss and start: quartiles of the error over trials.", _lines(groups)),
    ]
    return tuple(table for table in found if table.rows)


def _named(sigma: float, loss: str, start: str) -> dict[str, Cell]:
    return {"σ": sigma, "loss": loss, "start": start}


def signed(at: float) -> str:
    """By how much a threshold is off, as it is printed."""
    return f"{at:+g}".replace("-", "−") if at else "0"


def _median(groups: Groups, told: str, at: float, line: tuple[float, str, str]) -> Cell:
    group = groups.one(told, at, *line)
    return None if group is None or not group.errors else group.median


def _lines(groups: Groups) -> list[dict[str, Cell]]:
    lines: list[dict[str, Cell]] = []
    for group in groups.every:
        low, middle, high = np.quantile(group.errors, [0.25, 0.5, 0.75]) if group.errors else (None, None, None)
        lines.append(
            {
                "told": TOLD[group.told],
                "by": group.at,
                **_named(group.sigma, group.loss, group.start),
                "lower quartile": None if low is None else float(low),
                "median": None if middle is None else float(middle),
                "upper quartile": None if high is None else float(high),
                "trials": len(group.rows),
                "refused": group.refused,
                "called an answer": group.answered,
            }
        )
    return lines
