"""Large matrices: landmarks, and data that are read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]


class Product:
    """Entries of U·Uᵀ, NaN where they are below a threshold; computed when they are read.

    With ``threshold`` −∞ it is the truth: ``product[rows, cols]`` returns single entries.
    """

    def __init__(self, u: np.ndarray, threshold: float = -np.inf) -> None:
        self.u, self.threshold = u, threshold
        self.shape, self.dtype = (len(u), len(u)), u.dtype

    def __getitem__(self, places: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        rows, cols = places
        rows, cols = (np.asarray(place) for place in (rows, cols))
        if rows.ndim == 2 and rows.shape[1] == 1 and cols.ndim == 1:
            values = self.u[rows[:, 0]] @ self.u[cols].T
        else:
            values = np.sum(self.u[rows] * self.u[cols], axis=-1)
        return np.where(values >= self.threshold, values, np.nan)


def computed(g: np.random.Generator, n: int, r: int) -> Data:
    """Draw a matrix of which nothing is stored but its factor."""
    u = planted.factor(g, n, r)
    return Data({"X": Product(u, 0.0)}, Product(u))  # type: ignore[arg-type]


def matrix(g: np.random.Generator, n: int, r: int, noise: float = 0.0, dtype: Any = float) -> Data:
    """Draw a large matrix; its objective is not computed."""
    u = planted.factor(g, n, r)
    truth = u @ u.T
    sigma = noise * float(np.sqrt(np.mean(truth**2)))
    values = truth if noise == 0 else truth + planted.symmetric_noise(g, n, sigma)
    return Data({"X": np.where(values >= 0, values, np.nan).astype(dtype)}, truth, sigma)


def table(g: np.random.Generator, m: int, n: int, r: int, noise: float = 0.0) -> Data:
    """Draw a large rectangular matrix."""
    truth = g.standard_normal((m, r)) @ g.standard_normal((r, n))
    sigma = noise * float(np.sqrt(np.mean(truth**2)))
    values = truth + sigma * g.standard_normal((m, n))
    return Data({"X": np.where(values >= 0, values, np.nan)}, truth, sigma)


def pairs(g: np.random.Generator, n: int, r: int, each: int) -> Data:
    """Draw a matrix of which about ``each`` entries of every row are observed, at random."""
    u = planted.factor(g, n, r)
    truth = u @ u.T
    kept = np.triu(g.random((n, n)) < each / n)
    kept[:60, :60] = np.triu(np.ones((60, 60), bool))
    kept |= kept.T
    return Data({"X": np.where(kept, truth, np.nan), "threshold": None}, truth)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    landmarks: dict[str, Any] = {"rank": 3, "method": "landmarks"}
    wants = ("read",)
    yield Case("landmarks/exact", "complete", partial(matrix, n=400, r=3), landmarks, wants, quick=True)
    draw = partial(matrix, n=400, r=3, noise=0.05)
    yield Case("landmarks/noisy", "complete", draw, landmarks, (*wants, "errors"), quick=True)
    options = {"rank": 3, "method": ["landmarks", {"count": 120, "columns": 200, "passes": 4}]}
    yield Case("landmarks/count", "complete", draw, options, wants)
    exact = partial(matrix, n=400, r=3)
    yield Case("landmarks/without rank", "complete", exact, {"method": "landmarks"}, wants)
    draw = partial(matrix, n=1200, r=4, noise=0.1)
    yield Case("landmarks/1200 rows", "complete", draw, landmarks | {"rank": 4}, wants)
    options = landmarks | {"structure": "rectangular"}
    draw = partial(table, m=600, n=400, r=3, noise=0.05)
    yield Case("landmarks/rectangular", "complete", draw, options, wants)
    draw = partial(matrix, n=4100, r=5, noise=0.05, dtype=np.float32)
    yield Case("landmarks/4100 rows", "complete", draw, {"rank": 5}, wants)
    draw = partial(computed, n=6000, r=5)
    yield Case("landmarks/6000 rows", "complete", draw, {"rank": 5, "form": "source"}, wants)

    draw = partial(matrix, n=1000, r=3, noise=0.05)
    memory = {"rank": 3, "method": ["landmarks", {"memory": "40MB"}]}
    for form in ("memory map", "zarr", "source", "dask"):
        name = "memmap" if form == "memory map" else form
        options = memory | {"form": form}
        wants = ("read", "errors") if form == "memory map" else ("read",)
        yield Case(f"streamed/{name}", "complete", draw, options, wants, seed="streamed", quick=form == "memory map")
    draw_table = partial(table, m=800, n=600, r=3, noise=0.05)
    options = memory | {"structure": "rectangular", "form": "memory map"}
    yield Case("streamed/rectangular", "complete", draw_table, options, ("read",))
    options = {"rank": 3, "method": ["auto", {"memory": "40MB"}]}
    yield Case("streamed/peak memory alone", "complete", draw, options, ("read",), seed="streamed")
    options = {"rank": 3, "method": ["landmarks", {"memory": "1kB"}]}
    yield Case("streamed/too little memory", "complete", draw, options, seed="streamed")
    options = {"rank": 3, "method": ["landmarks", {"checkpoint": "checkpoint.npz"}]}
    yield Case("streamed/checkpoint", "complete", draw, options, ("continued",), seed="streamed")
    small = partial(matrix, n=500, r=3)
    yield Case("streamed/write-zarr", "complete", small, {"rank": 3, "form": "zarr"}, ("written",))
    options = {"rank": 3, "form": "edges"}
    yield Case("streamed/edges", "complete", partial(pairs, n=2000, r=3, each=40), options)
