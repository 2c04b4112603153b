"""Known wrong answers (``review`` names the line): they are expected to change, to the status that is ``right``.

The truth is planted, so that the stored error says how wrong the stored answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris

from tests.golden import planted
from tests.golden.case import Case, Data, Intervals
from tests.golden.cases.commands import command, concentrations, labelled, of, text, with_limits_in_cells

__all__ = ["cases"]

Generator = np.random.Generator


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    yield from _predictions()
    yield from _tables()
    yield from _statuses()
    yield from _files()


def wrong(name: str, review: str, right: str, draw: Callable[[Generator], Data], **rest: Any) -> Case:
    """Return an instance of `complete` (or of another call) whose stored answer is wrong."""
    call = rest.pop("call", "complete")
    wants = rest.pop("wants", ())
    seed = rest.pop("seed", "")
    return Case(f"wrong/{name}", call, draw, rest, wants=wants, seed=seed, review=review, right=right)


def from_truth(truth: np.ndarray, threshold: float, named: bool = True) -> Data:
    """Observe a matrix at or above a threshold, which is passed on if it is ``named``."""
    known = planted.observe(truth, threshold)
    given = {"X": known.values} | ({"threshold": threshold} if named else {})
    return Data(given, truth, known=known)


def two_groups(g: Generator, n: int = 20) -> Data:
    """Draw rank 1: rows of different sign never observe each other, and no threshold is known."""
    return planted.matrix(g, n, 1, noise=0.02)


def with_zeros(g: Generator, n: int = 20, r: int = 2, noise: float = 0.01, share: float = 0.6) -> Data:
    """Draw factors with many zeros, so that many entries are 0, just above the threshold of -0.02 times the rms."""
    u = g.standard_normal((n, r)) * (g.random((n, r)) >= share)
    truth = u @ u.T
    scale = float(np.sqrt(np.mean(truth**2)))
    values = truth + planted.symmetric_noise(g, n, noise * scale)
    threshold = -0.02 * scale
    known = planted.observe(values, threshold)
    return Data({"X": known.values, "threshold": threshold}, truth, noise * scale, known=known)


def repeated_rows(g: Generator, n: int = 20, distinct: int = 4) -> Data:
    """Draw a matrix of a few distinct rows with 1 % noise."""
    u = g.standard_normal((distinct, distinct))[g.integers(0, distinct, n)]
    truth = u @ u.T
    sigma = 0.01 * float(np.sqrt(np.mean(truth**2)))
    known = planted.observe(truth + planted.symmetric_noise(g, n, sigma), 0.0)
    return Data({"X": known.values}, truth, sigma, known=known)


def squared_noise(g: Generator, n: int = 12) -> Data:
    """Draw squares of normal numbers without any structure; half the threshold is ten times nearer the truth."""
    squares = g.standard_normal((n, n)) ** 2
    values = np.triu(squares) + np.triu(squares, 1).T
    return from_truth(values, float(np.quantile(values, 0.4)))


def beside_threshold(g: Generator, n: int = 60, share: float = 0.1) -> Data:
    """Draw rank 3 with noise of 0.1 and pairs that are missing at random beside those below the threshold."""
    u = g.standard_normal((n, 3))
    truth = u @ u.T
    lost = np.triu(g.random((n, n)) < share)
    known = planted.observe(truth + planted.symmetric_noise(g, n, 0.1), 0.0, unknown=lost | lost.T)
    return Data({"X": known.values}, truth, 0.1, known=known)


def few_edges(g: Generator, n: int = 50) -> Data:
    """Draw cosines of unit vectors, of which 3 % and the diagonal are kept."""
    v = g.standard_normal((n, 20)) * np.geomspace(1, 0.2, 20)
    v /= np.linalg.norm(v, axis=1)[:, None]
    truth = v @ v.T
    threshold = float(np.quantile(truth[np.triu_indices(n, 1)], 0.97))
    return from_truth(truth, threshold)


def few_pairs(g: Generator, n: int = 8) -> Data:
    """Draw a small noisy matrix of which fewer than 20 pairs are observed."""
    truth = planted.factor(g, n, 3)
    truth = truth @ truth.T
    values = truth + planted.symmetric_noise(g, n, 0.3)
    threshold = float(np.quantile(values, 0.55))
    known = planted.observe(values, threshold)
    return Data({"X": known.values, "threshold": threshold}, truth, 0.3, known=known)


def crash(g: Generator) -> Data:
    """Return the matrix of four rows of the review."""
    nan = np.nan
    X = [[1, 0.5, nan, nan], [0.5, 1, 0.4, nan], [nan, 0.4, 1, nan], [nan, nan, nan, 1]]
    return Data({"X": np.array(X), "threshold": 0.2})


def on_a_grid(g: Generator) -> Data:
    """Draw a noisy matrix whose values are rounded to multiples of 0.25, kept from 0.5 on."""
    data = planted.matrix(g, 40, 2, noise=0.05, threshold=None)
    values = np.round(data.given["X"] * 4) / 4
    known = planted.observe(values, 0.5)
    return Data({"X": known.values}, data.truth, data.noise, known=known)


def rounded(g: Generator, days: int = 40, stations: int = 6, digits: int = 7) -> Data:
    """Draw correlations of days over a few stations from 0 on, rounded as in a file; unrounded it is recovered."""
    truth = np.corrcoef(g.standard_normal((days, stations)))
    known = planted.observe(np.round(truth, digits), 0.0)
    return Data({"X": known.values, "threshold": 0.0}, truth, 10.0**-digits / np.sqrt(12), known=known)


def digits_cosines(g: Generator, n: int = 40) -> Data:
    """Return cosines of digits, those from 0.6 on."""
    pixels = load_digits().data[:n]
    pixels = pixels / np.linalg.norm(pixels, axis=1)[:, None]
    return from_truth(pixels @ pixels.T, 0.6, named=False)


def digits_pixels(g: Generator, n: int = 100) -> Data:
    """Return pixels of digits; zeros are missing, with the threshold 0."""
    pixels = load_digits().data[:n]
    pixels = pixels[:, (pixels > 0).any(axis=0)]
    X = np.where(pixels > 0, pixels, np.nan)
    return Data({"X": X, "threshold": 0.0}, known=Intervals(X, -np.inf, 0.0))


def _predictions() -> Iterator[Case]:
    yield wrong("groups-never-observed", "P1", "underdetermined", two_groups, threshold=None, wants=("intervals",))
    options: dict[str, Any] = {"threshold": "auto", "missing": "auto"}
    yield wrong("groups-missing-auto", "P1", "underdetermined", partial(two_groups, n=12), **options)
    yield wrong("shrunk-right-fit", "P2", "noise-level", with_zeros)
    yield wrong("repeated-rows", "P3", "noise-level", repeated_rows, wants=("intervals",))
    yield wrong("noise-with-tails", "P4", "baseline", squared_noise, seed="wrong/noise 0")
    yield wrong("random-beside-threshold", "P5", "noise-level", beside_threshold, rank=3)
    yield wrong("random-beside-threshold no rank", "P5", "noise-level", partial(beside_threshold, n=30))
    yield wrong("few-edges", "P6", "baseline", few_edges)
    yield wrong("few-pairs", "P12", "baseline", few_pairs)
    yield wrong("too-few-pairs-crash", "P13", "underdetermined", crash)
    yield wrong("grid", "P16", "noise-level", on_a_grid, rank=2, threshold="auto", wants=("detection",))
    options = {"rank": 3, "loss": "huber", "wants": ("outliers",)}
    draw = partial(planted.matrix, n=30, r=3)
    yield wrong("huber-exact", "P17", "exact", draw, seed="wrong/huber 49", **options)
    draw = partial(planted.matrix, n=30, r=3, family="sparse")
    yield wrong("huber-zeros", "P17", "exact", draw, seed="wrong/huber 7", **options)
    yield wrong("rounded", "P18", "noise-level", rounded)
    yield wrong("threshold-zero-default", "interface", "predictive", digits_cosines)


def both_signs(g: Generator) -> Data:
    """Draw integers of both signs, observed from 1 on."""
    data = planted.table(g, 60, 6, log=False)
    values = np.round(4 * (data.truth - 10))
    return Data({"X": np.where(values >= 1, values, np.nan), "limits": np.full(6, 1.0)}, values, float(values.std()))


def offsets(g: Generator) -> Data:
    """Draw an exact table of rank 3 with offsets of its columns, each with a limit at its 30 % quantile."""
    truth = g.standard_normal((100, 3)) @ g.standard_normal((3, 10)) + 3 * g.standard_normal(10)
    ends = np.quantile(truth, 0.3, axis=0)
    X = np.where(truth >= ends, truth, np.nan)
    return Data({"X": X, "limits": ends}, truth)


def positive(g: Generator) -> Data:
    """Draw concentrations with limits."""
    return planted.table(g, 60, 6, censored=0.4)


def with_limits(data: Data, g: Generator) -> dict[str, Any]:
    lines = ["column,lower,upper", *(f"c{k},{float(limit)!r}," for k, limit in enumerate(data.given["limits"]))]
    return {"f.csv": labelled(data.given["X"]), "lod.csv": "\n".join(lines) + "\n"}


def iris(g: Generator) -> Data:
    """Return 100 irises, each column observed above its median: columns by themselves (Tobit) do as well."""
    table = load_iris().data
    ends = np.median(table, axis=0)
    truth = table[:100]
    return Data({"X": np.where(truth >= ends, truth, np.nan), "limits": ends}, truth, float(truth.std()))


def _tables() -> Iterator[Case]:
    argv = "impute f.csv --limits lod.csv -o g.csv --long-out long.csv --json"
    options = {"review": "P9", "right": "predictive"}
    yield command("wrong/negative-concentrations", of(positive, with_limits), argv, **options)
    yield wrong("counts-of-both-signs", "P10", "predictive", both_signs, call="CensoredImputer")
    yield wrong("iris", "P7", "baseline", iris, call="impute", wants=("table intervals",))
    draw = partial(planted.table, m=100, n=120)
    yield wrong("table-out-of-time", "P14", "stopped", draw, call="impute", max_seconds=0.5, wants=("in time",))
    yield wrong("table-offsets", "P11", "exact", offsets, call="CensoredImputer")


def three(g: Generator) -> Data:
    """Draw rank 1 of three rows of which three numbers are observed: none to spare."""
    truth = np.outer([1.0, 2.0, -1.5], [1.0, 2.0, -1.5]) + np.diag([0.0, 0.0, 3.0])
    X = np.array([[truth[0, 0], truth[0, 1], np.nan], [truth[1, 0], np.nan, np.nan], [np.nan, np.nan, truth[2, 2]]])
    return Data({"X": X}, truth, known=Intervals(X, -np.inf, 0.0))


def fully_observed_groups(g: Generator) -> Data:
    """Draw two groups, each observed as a whole with noise, that share no entry."""
    u = g.uniform(1, 2, (24, 1))
    truth = u @ u.T
    X = truth + planted.symmetric_noise(g, 24, 0.02)
    X[:12, 12:] = X[12:, :12] = np.nan
    return Data({"X": X}, truth, 0.02, known=Intervals(X))


def _statuses() -> Iterator[Case]:
    draw = partial(planted.matrix, n=40, r=2, noise=0.05)
    yield wrong("admm-called-noise", "S1", "approximate", draw, rank=2, method="admm")
    draw = partial(planted.matrix, n=40, r=2, threshold=1.0)
    yield wrong("admm-called-fitted", "S1", "approximate", draw, rank=2, method="admm", threshold=1.0)
    draw = partial(planted.matrix, n=40, r=3, noise=0.05)
    yield wrong("words-for-success", "S3", "approximate", draw, rank=2, wants=("words",))
    yield wrong("long-message", "S7", "noise-level", draw, rank=3, loss="observed", wants=("words",))
    yield wrong("no-spare-equation", "S2", "underdetermined", three, wants=("certificate",))
    options: dict[str, Any] = {"rank": 1, "threshold": None, "wants": ("errors", "levels")}
    yield wrong("errors-of-groups", "S6", "noise-level", fully_observed_groups, **options)
    options = {"rank": 4, "structure": "rectangular", "loss": "one-sided"}
    yield wrong("digits", "S8", "approximate", digits_pixels, **options)
    # A named rank hides the other sign; without a rank it takes ten seconds and is found.
    draw = partial(planted.matrix, n=40, r=3, noise=0.03, threshold=0.25, signs=(1, 1, -1))
    yield wrong("diagnosis-indefinite", "new", "", draw, call="diagnose", rank=3)


def mistyped_corner(data: Data, g: Generator) -> dict[str, Any]:
    lines = [line.split(",") for line in text(data.truth).splitlines()]
    lines[0][2] = "5.1O"
    return {"f.csv": "\n".join(map(",".join, lines)) + "\n"}


def _files() -> Iterator[Case]:
    draw = of(partial(planted.table, m=40, n=5), mistyped_corner)
    argv = "impute f.csv --threshold none -o g.csv"
    yield command("wrong/mistyped-corner", draw, argv, review="A1", right="exit 2")
    # An InputError about limits that nobody gave: limits in cells on both sides, without a rank.
    argv = "impute f.csv -o g.csv"
    options = {"review": "new", "right": "predictive"}
    yield command("wrong/two-sided-cells", of(concentrations, with_limits_in_cells), argv, **options)
