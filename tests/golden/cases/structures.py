"""Indefinite symmetric matrices, and rectangular ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data, Intervals

__all__ = ["cases"]


def labelled(g: np.random.Generator, m: int, n: int, r: int, noise: float = 0.0) -> Data:
    """Draw a rectangular matrix with offsets, a threshold for each column, and labels."""
    data = planted.rectangular(g, m, n, r, noise=noise, offsets=True, column_quantile=0.3)
    return replace(data, given=data.given | {"labels": [f"column {j}" for j in range(n)]})


def between_in_columns(g: np.random.Generator, m: int = 60, n: int = 30, r: int = 2) -> Data:
    """Draw a rectangular matrix that is observed between two thresholds of each column."""
    truth = g.standard_normal((m, r)) @ g.standard_normal((r, n))
    ends = tuple(np.quantile(truth, share, axis=0)[None, :] for share in (0.15, 0.85))
    kept = (truth >= ends[0]) & (truth <= ends[1])
    return Data({"X": np.where(kept, truth, np.nan), "threshold": ends}, truth)


def with_terms(g: np.random.Generator, m: int = 60, n: int = 40, r: int = 2) -> Data:
    """Draw a rectangular matrix with unknown entries, weights, and a noise of each column."""
    truth = g.standard_normal((m, r)) @ g.standard_normal((r, n))
    sigma = g.uniform(0.05, 0.2, (1, n))
    values = truth + sigma * g.standard_normal((m, n))
    unknown = g.random((m, n)) < 0.15
    known = planted.observe(values, 0.0, unknown=unknown)
    given = {"X": known.values, "unknown": unknown, "weights": g.uniform(0.5, 2, (m, 1)), "sigma": sigma}
    return Data(given, truth, float(sigma.mean()))


def by_rows(g: np.random.Generator, kind: str, m: int = 50, n: int = 30, r: int = 2) -> Data:
    """Draw a rectangular matrix with a threshold for each row or entry."""
    truth = g.standard_normal((m, r)) @ g.standard_normal((r, n))
    threshold = g.uniform(-0.5, 0.5, (m, 1) if kind == "row" else (m, n))
    known = planted.observe(truth, threshold)
    return Data({"X": known.values, "threshold": threshold}, truth, known=known)


def sparse_counts(g: np.random.Generator, m: int = 60, n: int = 40, r: int = 3) -> Data:
    """Draw non-negative data with many zeros: what a ReLU leaves of a matrix of low rank, its zeros missing."""
    truth = g.standard_normal((m, r)) @ g.standard_normal((r, n))
    known = planted.observe(truth + 0.05 * g.standard_normal((m, n)), 0.0)
    return Data({"X": known.values}, truth, 0.05, known=Intervals(known.values, high=0.0))


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    indefinite: dict[str, Any] = {"rank": 2, "structure": "indefinite"}
    draw = partial(planted.matrix, n=60, r=2, signs=(1, -1))
    yield Case("indefinite/exact", "complete", draw, indefinite, ("signs", "levels"), quick=True)
    yield Case("indefinite/without rank", "complete", draw, {"structure": "indefinite"}, ("signs",))
    draw = partial(planted.matrix, n=60, r=2, signs=(1, -1), noise=0.05)
    yield Case("indefinite/noisy", "complete", draw, indefinite, ("signs", "errors", "intervals"), quick=True)
    draw = partial(planted.matrix, n=80, r=3, signs=(1, -1, -1), noise=0.02, quantile=0.4)
    options = {"rank": 3, "structure": "indefinite"}
    yield Case("indefinite/two negative", "complete", draw, options, ("signs", "saved"))
    draw = partial(planted.matrix, n=60, r=2, signs=(-1, -1), threshold=-1.0)
    yield Case("indefinite/negative", "complete", draw, indefinite | {"threshold": -1.0}, ("signs",))
    draw = partial(planted.matrix, n=60, r=3, signs=(1, 1, -1), observed="below", threshold=0.5)
    options = {"rank": 3, "structure": "indefinite", "observed": "below", "threshold": 0.5}
    yield Case("indefinite/below", "complete", draw, options, ("signs",))

    table: dict[str, Any] = {"rank": 2, "structure": "rectangular"}
    no_rank = {"structure": "rectangular"}
    draw = partial(planted.rectangular, m=60, n=40, r=2)
    yield Case("rectangular/exact", "complete", draw, table, ("levels", "fit", "certificate"), quick=True)
    yield Case("rectangular/no-rank", "complete", draw, no_rank, ("levels", "saved"))
    draw = partial(planted.rectangular, m=60, n=40, r=2, noise=0.05)
    yield Case("rectangular/noisy", "complete", draw, table, ("errors", "intervals", "fit"), quick=True)
    yield Case("rectangular/noisy without rank", "complete", draw, no_rank, ("errors",))
    draw = partial(labelled, m=60, n=30, r=2)
    yield Case("rectangular/limits-per-column", "complete", draw, table | {"rank": 3, "form": "frame"}, ("types",))
    draw = partial(labelled, m=60, n=30, r=2, noise=0.05)
    yield Case("rectangular/limits-per-column noisy", "complete", draw, table | {"rank": 3}, ("intervals",))
    options = table | {"threshold": "auto"}
    draw = partial(planted.rectangular, m=80, n=20, r=2, noise=0.05, threshold=0.4)
    yield Case("rectangular/threshold-auto", "complete", draw, options, ("detection",))
    draw = partial(planted.rectangular, m=80, n=20, r=2, noise=0.05, column_quantile=0.3)
    draw = partial(without_threshold, draw=draw)
    yield Case("rectangular/threshold-auto per column", "complete", draw, options, ("detection",))
    options = table | {"observed": "between", "bounds": (-20, 20)}
    yield Case("rectangular/between", "complete", between_in_columns, options, ("bounds",))
    yield Case("rectangular/terms", "complete", with_terms, table, ("errors",))
    draw = partial(planted.rectangular, m=40, n=30, r=2, random_share=0.1)
    yield Case("rectangular/bounds", "complete", draw, table, ("bounds",))
    draw = partial(planted.rectangular, m=60, n=40, r=2, noise=0.05)
    method = ["gauss-newton", {"start": "tailored", "tol": 1e-10, "max_iter": 200}]
    options = table | {"loss": "observed", "method": method}
    yield Case("rectangular/observed-loss", "complete", draw, options, ("fit",), quick=True)
    options = {"rank": 3, "structure": "rectangular", "threshold": 0.0, "method": "momentum-pam"}
    yield Case("rectangular/digits", "complete", sparse_counts, options, ("fit",))
    for kind in ("row", "entry"):
        yield Case(f"rectangular/limits-per-{kind}", "complete", partial(by_rows, kind=kind), table)
    draw = partial(planted.rectangular, m=60, n=40, r=2, noise=0.05, observed="below", quantile=0.6)
    yield Case("rectangular/below", "complete", draw, table | {"observed": "below"}, ("intervals",))
    draw = partial(planted.rectangular, m=60, n=40, r=3, threshold=None, random_share=0.4, noise=0.05)
    options = {"rank": 3, "structure": "rectangular", "threshold": None}
    yield Case("rectangular/random", "complete", draw, options, ("errors",))
    draw = partial(planted.rectangular, m=15, n=120, r=2, noise=0.05)
    yield Case("rectangular/wide", "complete", draw, table, ("levels",))
    draw = partial(planted.rectangular, m=300, n=10, r=2)
    yield Case("rectangular/tall", "complete", draw, table, ("levels",))
    draw = partial(planted.rectangular, m=60, n=40, r=2, dtype=np.float32)
    yield Case("rectangular/float32", "complete", draw, table, ("types",))
    draw = partial(planted.rectangular, m=60, n=40, r=4, noise=0.02)
    yield Case("rectangular/rank-below", "complete", draw, table, ("intervals",))
    draw = partial(planted.rectangular, m=60, n=40, r=2, noise=0.05)
    for method in ("scaled-gd", "gnmr"):
        yield Case(f"rectangular/{method}", "complete", draw, table | {"method": method}, seed="rectangular/methods")


def without_threshold(g: np.random.Generator, draw: Any) -> Data:
    """Draw data whose threshold is not given."""
    data = draw(g)
    return replace(data, given={"X": data.given["X"]})
