"""The estimators, alone and inside scikit-learn's pipelines and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]

Generator = np.random.Generator
Draw = Callable[[Generator], Data]


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    yield from _matrices()
    yield from _tables()
    yield from _points()


def held_back(g: Generator, draw: Draw, rows: int, columns: int | None = None) -> Data:
    """Draw data and keep the last rows (of a matrix also their columns) back as ``given["new"]``."""
    data = draw(g)
    X = data.given["X"]
    stays = slice(None) if columns is None else slice(columns)
    given = {**data.given, "X": X[:-rows, stays], "new": X[-rows:, stays]}
    return Data(given, data.truth[:-rows, stays], data.noise, data.scale)


def two_halves(g: Generator, draw: Draw) -> Data:
    """Draw data, and further rows of the same as ``given["held out"]``."""
    data = draw(g)
    half = len(data.truth) // 2
    X = data.given["X"]
    return Data({**data.given, "X": X[:half], "held out": X[half:]}, data.truth[:half], data.noise)


def named(g: Generator, draw: Draw) -> Data:
    """Draw a table as a data frame."""
    data = draw(g)
    X = data.given["X"]
    names = [f"c{k}" for k in range(X.shape[1])]
    return Data({**data.given, "X": pd.DataFrame(X, columns=names)}, data.truth, data.noise)


def weighted(g: Generator) -> Data:
    """Draw a noisy matrix with weights, one for each row."""
    data = planted.matrix(g, 40, 2, noise=0.02, threshold=0.2, observed="below")
    return Data({**data.given, "weights": g.uniform(0.5, 2, (40, 1))}, data.truth, data.noise)


def _matrices() -> Iterator[Case]:
    call = "PSDCompleter"
    draw = partial(planted.matrix, n=40, r=2)
    yield Case("estimators/psd", call, draw, quick=True)
    yield Case("estimators/psd-rank", call, draw, {"rank": 2, "threshold": 0.0}, quick=True)
    options: dict[str, Any] = {"rank": 2, "threshold": 0.2, "observed": "below", "missing": "censored"}
    options |= {"bounds": (-50.0, 50.0), "sigma": 0.03, "loss": "censored", "method": "gauss-newton"}
    options |= {"start": "spectral", "tol": 1e-8, "max_iter": 300}
    yield Case("estimators/psd-options", call, weighted, options)
    noisy = partial(planted.matrix, n=46, r=2, noise=0.02)
    draw = partial(held_back, draw=noisy, rows=6, columns=40)
    options = {"rank": 2, "threshold": 0.0}
    yield Case("estimators/psd-new-rows", call, draw, options, wants=("new rows", "embed"), quick=True)
    exact = partial(held_back, draw=partial(planted.matrix, n=46, r=2), rows=6, columns=40)
    yield Case("estimators/psd-new-rows exact", call, exact, options, wants=("new rows", "embed"))
    draw = partial(planted.matrix, n=36, r=2, noise=0.02)
    yield Case("estimators/psd-score", call, draw, options, wants=("score",))
    yield Case("estimators/psd-grid", call, draw, options, wants=("grid",))
    yield Case("estimators/psd-frame", call, draw, options, wants=("frame", "pipeline"))


def _tables() -> Iterator[Case]:
    call = "CensoredImputer"
    draw = partial(planted.table, m=60, n=6, log=False)
    yield Case("estimators/table", call, draw, quick=True)
    logs = partial(planted.table, m=60, n=6)
    options = {"rank": 2, "observed": "above", "bounds": (0.0, np.inf), "scale": "log"}
    yield Case("estimators/table-options", call, logs, options, wants=("frame",))
    yield Case("estimators/table-plain", call, draw, {"skew": False, "loss": "huber"})
    yield Case("estimators/table-new-rows", call, partial(held_back, draw=draw, rows=15), wants=("new rows",))
    yield Case("estimators/table-score", call, partial(two_halves, draw=draw), wants=("score",))
    yield Case("estimators/table-pipeline", call, draw, {"rank": 2}, wants=("pipeline",))
    yield Case("estimators/table-grid", call, draw, {"rank": 1}, wants=("grid",))
    yield Case("estimators/table-frame", call, partial(named, draw=draw), {"rank": 2}, wants=("frame",))


def within(g: Generator, noise: float = 0.0, squared: bool = False, anchored: bool = False) -> Data:
    """Draw the distances up to 0.45 of points in the unit square."""
    data = planted.distances_within(g, g.random((30, 2)), 0.45, noise)
    given = dict(data.given)
    if squared:
        given["D"] = given["D"] ** 2
    if anchored:
        given["anchors"] = np.where(np.arange(30)[:, None] < 4, data.truth, np.nan)
    return Data(given, data.truth, noise, data.scale)


def _points() -> Iterator[Case]:
    call = "DistanceEmbedding"
    yield Case("estimators/distances", call, within, {"dim": 2, "cutoff": 0.45}, quick=True)
    options: dict[str, Any] = {"dim": 2, "metric": "precomputed", "squared": True, "loss": "distances", "sigma": 0.005}
    options |= {"start": "paths", "tol": 1e-9, "max_iter": 500}
    draw = partial(within, noise=0.005, squared=True, anchored=True)
    yield Case("estimators/distances-options", call, draw, options)
    yield Case("estimators/distances-noisy", call, partial(within, noise=0.005), {"dim": "auto", "cutoff": 0.45})
