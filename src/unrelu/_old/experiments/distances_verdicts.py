"""What the trials of ``figure-distances`` say: the readings of the paper's text, and the verdicts at each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unrelu._old.experiments.base import Judgement, Row, Sizes
from unrelu._old.experiments.rules import across, fitted, generally
from unrelu._old.experiments.solve import STEP, STEPS

__all__ = [
    "BASE",
    "ENTRIES",
    "READINGS",
    "RECOVERED",
    "Reading",
    "distance_claims",
    "fractions_of",
    "group",
    "is_recovered",
    "reading_fractions",
]

# Far above what gradient descent reaches at rest (1e-9 at most), far below every failure that is at rest.
RECOVERED = 1e-6
# Whose smallest entries are seen, and how each reading says so in a few words. J is the centring matrix.
ENTRIES = {"D": "of D", "-JDJ/2": "of −½JDJ", "JDJ": "of JDJ"}
# Without an oracle at least this share of what gradient descent completes with one is asked for.
WITHOUT = 0.95


@dataclass(frozen=True)
class Reading:
    """One way to read the text: the scale at which Q is drawn, whose smallest entries are seen, step, cap, start."""

    name: str
    scale: str = "unit"  # or "points": the variance of the points' coordinates
    entries: str = "D"
    step: float = STEP
    start: str = "scaled"  # or "printed": orthonormal columns
    caps: int = 1  # how many times the cap


BASE = Reading("base")
READINGS: dict[str, Reading] = {
    reading.name: reading
    for reading in (
        BASE,
        replace(BASE, name="Q at the points' scale", scale="points"),
        replace(BASE, name="smallest entries of −½JDJ", entries="-JDJ/2"),
        replace(BASE, name="smallest entries of JDJ", entries="JDJ"),
        replace(BASE, name=f"step {STEPS[-1]:g}", step=STEPS[-1]),
        replace(BASE, name="four times the cap", caps=4),
        replace(BASE, name="start as printed", start="printed"),
    )
}
RESTS = ("points", "Q's scale", "smallest entries", "step", "cap", "start")


def fractions_of(sizes: Sizes, cloud: str, dim: int) -> list[float]:
    """The fractions tried on points of one kind in one dimension."""
    least = sizes["least"].get(cloud, {}).get(str(dim), 0.0)
    return [fraction for fraction in sizes["fractions"] if fraction >= least]


def reading_fractions(sizes: Sizes, cloud: str, dim: int) -> list[float]:
    """Those at which every reading is run: the largest, and every so many below it."""
    if dim not in sizes["reading_dims"]:
        return []
    return fractions_of(sizes, cloud, dim)[::-1][:: sizes["reading_every"]][::-1]


def group(rows: Sequence[Row], method: str, reading: str | None = None, **wanted: Any) -> list[Row]:
    """The runs of a method (of a reading, if it is gradient descent) with these values."""
    wanted = {"method": method, **wanted, **({"reading": reading or BASE.name} if method == "gd" else {})}
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def is_recovered(row: Row) -> bool:
    """Whether the centred matrix was completed.

    Examples
    --------
    >>> is_recovered({"error": 1e-10}), is_recovered({"error": float("nan")}), is_recovered({})
    (True, False, False)
    """
    error = row.get("error")
    return isinstance(error, (int, float)) and 0 <= error < RECOVERED


def _measured(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if isinstance(row.get("error"), (int, float))]


def distance_claims(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    """Every verdict of the experiment."""
    return [_exact(sizes, rows), _negative(sizes, rows), _without_oracle(rows)]


def _exact(sizes: Sizes, rows: Sequence[Row]) -> Judgement:
    """At the largest fraction that was tried, in every dimension, at every reading; the figure shows medians."""
    top = max(sizes["fractions"])
    found = {}
    for cloud, reading in [(cloud, reading) for reading in READINGS for cloud in sizes["clouds"]]:
        runs = _measured(group(rows, "gd", reading, cloud=cloud, fraction=top))
        good = sum(map(is_recovered, runs))
        dims = ", ".join(str(dim) for dim in sorted({row["dim"] for row in runs}))
        rest = f"of {len(runs)} matrices with {top:.0%} seen, dimension {dims}" if runs else "of no matrices"
        found[f"{cloud} ({reading})" if reading != BASE.name else cloud] = generally(
            "distances/exact",
            good,
            len(runs),
            f"{good} {rest}",
            otherwise=f"{len(runs) - good} were not recovered although {top:.0%} were seen",
            why=_from(sizes, rows) if reading == BASE.name else "",
        )
    return across(found, RESTS)


def _from(sizes: Sizes, rows: Sequence[Row]) -> str:
    """The fractions from which on at least half of the matrices are recovered, of every kind of points."""
    parts = []
    for cloud in sizes["clouds"]:
        least = {dim: _least(sizes, rows, cloud, dim) for dim in sizes["dims"]}
        known = [f"{fraction:.0%} (dimension {dim})" for dim, fraction in least.items() if fraction is not None]
        parts += [f"{cloud} {', '.join(known)}"] if known else []
    return f"Half or more are recovered from these fractions on: {'; '.join(parts)}" if parts else ""


def _least(sizes: Sizes, rows: Sequence[Row], cloud: str, dim: int) -> float | None:
    least = None
    for fraction in reversed(fractions_of(sizes, cloud, dim)):
        runs = _measured(group(rows, "gd", cloud=cloud, dim=dim, fraction=fraction))
        if not runs or 2 * sum(map(is_recovered, runs)) < len(runs):
            break
        least = fraction
    return least


def _negative(sizes: Sizes, rows: Sequence[Row]) -> Judgement:
    """The share of negative entries, one value for each matrix."""
    found = {}
    for cloud in sizes["clouds"]:
        shares = {
            (row["dim"], row["seed"]): float(share)
            for row in rows
            if row.get("cloud") == cloud and isinstance(share := row.get("negative"), (int, float))
        }
        found[cloud] = fitted("distances/negative", list(shares.values()), what="share")
    return across(found, ["points"])


def _without_oracle(rows: Sequence[Row]) -> Judgement:
    """Of the matrices that gradient descent completes with the oracle, those that need none."""
    bare = {_matrix(row): is_recovered(row) for row in _measured(group(rows, "distances"))}
    both = [bare[_matrix(row)] for row in group(rows, "gd") if is_recovered(row) and _matrix(row) in bare]
    good = sum(both)
    more = sum(bare.values()) - good
    return generally(
        "distances/no-oracle",
        good,
        len(both),
        f"{good} of the {len(both)} matrices that gradient descent completes with the oracle",
        otherwise=f"{len(both) - good} of {len(both)} need the oracle",
        why=f"Without it {more} others were completed that gradient descent with it did not" if more > 0 else "",
        share=WITHOUT,
    )


def _matrix(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("cloud"), row.get("dim"), row.get("fraction"), row.get("seed")
