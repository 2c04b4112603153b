"""Thresholds of every kind, sides, bounds, and entries that are missing for another reason."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data, Intervals

__all__ = ["cases"]


def varying(g: np.random.Generator, kind: str, noise: float = 0.0, n: int = 60, r: int = 3) -> Data:
    """Draw a matrix with a threshold for each row, column or entry."""
    truth, values = _drawn(g, n, r, noise)
    if kind == "entry":
        threshold = np.triu(g.uniform(-0.5, 1.0, (n, n)))
        threshold = threshold + np.triu(threshold, 1).T
    else:
        threshold = g.uniform(-0.5, 1.0, (n, 1) if kind == "row" else (1, n))
    known = planted.observe(values, threshold)
    return Data({"X": known.values, "threshold": threshold}, truth, _sigma(truth, noise), known=known)


def between(
    g: np.random.Generator, low: Any, high: Any, noise: float = 0.0, n: int = 60, r: int = 2, per: str = ""
) -> Data:
    """Draw a matrix observed between two thresholds, numbers or different for each row; the rest lies outside."""
    truth, values = _drawn(g, n, r, noise)
    if per == "row":
        low, high = (end + g.uniform(-0.2, 0.2, (n, 1)) for end in (low, high))
    kept = (values >= low) & (values <= high)
    given = {"X": np.where(kept, values, np.nan), "threshold": (low, high)}
    return Data(given, truth, _sigma(truth, noise))


def outside(g: np.random.Generator, noise: float = 0.0, per: str = "", n: int = 60, r: int = 2) -> Data:
    """Draw a matrix observed outside of two thresholds."""
    truth, values = _drawn(g, n, r, noise)
    ends: Any = (-0.5, 0.5)
    if per == "row":
        ends = tuple(end + g.uniform(-0.2, 0.2, (n, 1)) for end in ends)
    known = planted.observe(values, ends, "outside")
    return Data({"X": known.values, "threshold": ends}, truth, _sigma(truth, noise), known=known)


def shares(g: np.random.Generator, noise: float = 0.0, n: int = 60, low: float = 0.0, high: float = 1.0) -> Data:
    """Draw a matrix of entries between 0 and 1, observed above its median, a tenth of the pairs unknown."""
    u = g.dirichlet(np.ones(3), n)
    truth = u @ u.T
    sigma = _sigma(truth, noise)
    values = np.clip(truth + planted.symmetric_noise(g, n, sigma), 0, 1)
    threshold = float(np.median(values))
    unknown = np.triu(g.random((n, n)) < 0.1)
    unknown |= unknown.T
    known = planted.observe(values, threshold, unknown=unknown)
    narrowed = Intervals(known.values, np.maximum(known.low, low), np.minimum(known.high, high))
    given = {"X": known.values, "threshold": threshold, "unknown": unknown}
    return Data(given, truth, sigma, known=narrowed)


def by_intervals(g: np.random.Generator, kind: str, n: int = 60, r: int = 2) -> Data:
    """Draw a matrix with a mixture of limits, given as arrays of their ends."""
    truth, values = _drawn(g, n, r, 0.0)
    if kind == "gap":
        kept = np.abs(values) <= 2
        chance = np.triu(g.random((n, n)) < 0.1)
        chance |= chance.T
        # Entries lost at random have only the outer limits.
        gap = tuple(np.where(chance, np.nan, end) for end in (-2.0, 2.0))
        given = {"low": -20.0, "high": 20.0, "gap": gap, "chance": chance}
        return Data({"X": np.where(kept & ~chance, values, np.nan), "threshold": given}, truth)
    lower, unknown = g.random((n, n)) < 0.5, g.random((n, n)) < 0.1
    lower, unknown = (np.triu(mask) | np.triu(mask, 1).T for mask in (lower, unknown))
    low = np.where(lower, 0.7, -np.inf)
    high = np.where(lower, np.inf, -0.3)
    missing = (values > low) & (values < high)
    known = np.where(missing | unknown, np.nan, values)
    low, high = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
    limits = {"low": low, "high": high, "unknown": unknown}
    return Data({"X": known, "threshold": limits}, truth, known=Intervals(known, low, high))


def at_random(g: np.random.Generator, share: float, noise: float, n: int = 60, r: int = 3) -> Data:
    """Draw a matrix of which a share of the pairs is missing at random."""
    truth, values = _drawn(g, n, r, noise)
    unknown = np.triu(g.random((n, n)) < share)
    known = planted.observe(values, None, unknown=unknown | unknown.T)
    return Data({"X": known.values}, truth, _sigma(truth, noise), known=known)


def _drawn(g: np.random.Generator, n: int, r: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    u = planted.factor(g, n, r)
    truth = u @ u.T
    return truth, truth + planted.symmetric_noise(g, n, _sigma(truth, noise))


def _sigma(truth: np.ndarray, noise: float) -> float:
    return noise * float(np.sqrt(np.mean(truth**2)))


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    rank3, rank2 = {"rank": 3}, {"rank": 2}
    draw = partial(planted.matrix, n=60, r=3, threshold=0.5)
    yield Case("limits/number", "complete", draw, {"rank": 3, "threshold": 0.5}, quick=True)
    draw = partial(planted.matrix, n=60, r=3, threshold=-0.5)
    yield Case("limits/negative number", "complete", draw, {"rank": 3, "threshold": -0.5})
    for kind in ("row", "column", "entry"):
        yield Case(f"limits/per-{kind}", "complete", partial(varying, kind=kind), rank3, quick=kind == "row")
    draw = partial(varying, kind="entry", noise=0.05)
    yield Case("limits/per-entry noisy", "complete", draw, rank3, ("errors", "intervals"))
    yield Case("limits/per-row without rank", "complete", partial(varying, kind="row", noise=0.05), {})
    for quantile, noise in ((0.6, 0.0), (0.6, 0.05)):
        draw = partial(planted.matrix, n=60, r=3, quantile=quantile, noise=noise, observed="below")
        name = "limits/below noisy" if noise else "limits/below"
        yield Case(name, "complete", draw, {"rank": 3, "observed": "below"}, ("intervals",), quick=noise == 0)
    inside: dict[str, Any] = {"rank": 2, "observed": "between"}
    draw = partial(between, low=-1.0, high=1.5)
    yield Case("limits/between", "complete", draw, inside, ("bounds",))
    yield Case("limits/between noisy", "complete", partial(draw, noise=0.05), inside, ("intervals",))
    yield Case("limits/between per row", "complete", partial(draw, per="row"), inside)
    beyond: dict[str, Any] = {"rank": 2, "observed": "outside"}
    yield Case("limits/outside", "complete", outside, beyond, ("bounds",))
    yield Case("limits/outside noisy", "complete", partial(outside, noise=0.05), beyond, ("intervals",))
    draw = partial(at_random, share=0.4, noise=0.0)
    yield Case("limits/none", "complete", draw, {"rank": 3, "threshold": None}, ("bounds", "levels"))
    yield Case("limits/none noisy", "complete", partial(draw, noise=0.1), {"rank": 3, "threshold": None}, ("errors",))
    yield Case("limits/none without rank", "complete", partial(draw, noise=0.1), {"threshold": None}, ("validation",))
    draw = partial(planted.matrix, n=60, r=3, random_share=0.2)
    yield Case("limits/unknown", "complete", draw, rank3, ("bounds",), quick=True)
    draw = partial(planted.matrix, n=60, r=3, random_share=0.2, noise=0.05)
    yield Case("limits/unknown noisy", "complete", draw, rank3, ("intervals", "saved"))
    within: dict[str, Any] = {"rank": 3, "bounds": (0, 1)}
    yield Case("limits/entry-range", "complete", shares, within, ("bounds",))
    yield Case("limits/entry-range noisy", "complete", partial(shares, noise=0.05), within, ("intervals",))
    draw = partial(shares, noise=0.05, high=np.inf)
    yield Case("limits/entry-range one end", "complete", draw, {"rank": 3, "bounds": (0, np.inf)})
    yield Case("limits/object", "complete", partial(by_intervals, kind="ends"), rank2, ("bounds",))
    yield Case("limits/object gap", "complete", partial(by_intervals, kind="gap"), rank2)
    yield Case("limits/refused", "complete", partial(planted.matrix, n=20, r=1), {"threshold": [1.0, 2.0, 3.0]})
    yield Case("limits/contradicted", "complete", partial(planted.matrix, n=20, r=1), {"rank": 1, "threshold": 2.0})
