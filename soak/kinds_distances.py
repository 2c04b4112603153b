"""Kinds of distances between known points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from soak.instance import DISTANCES, Draw, Instance
from soak.kinds import size, unit_for

__all__ = ["KINDS"]

Floats = NDArray[np.float64]

KINDS: dict[str, Draw] = {}


def kind(draw: Draw) -> Draw:
    """List a kind under its name."""
    KINDS[draw.__name__.replace("_", "-")] = draw
    return draw


def dimension(rng: np.random.Generator, high: int = 3) -> int:
    """Most often the plane."""
    return int(rng.choice([1, 2, 2, 3][: 4 if high == 3 else 3]))


def ranged(rng: np.random.Generator, points: Floats, dim: int, noise: float = 0.0, **about: Any) -> Instance:
    """Short distances, with or without the cut-off told; or any, at random."""
    gaps = pdist(points)
    measured = np.abs(gaps + noise * float(np.sqrt(np.mean(gaps**2))) * rng.standard_normal(len(gaps)))
    share = rng.uniform(0.25, 0.95)
    cutoff: float | None = None
    way = str(rng.choice(["cutoff", "cutoff", "untold", "hidden"]))
    if way == "hidden":
        kept = rng.random(len(gaps)) < share
    else:
        limit = float(np.quantile(measured, share))
        kept = measured <= limit
        cutoff = limit if way == "cutoff" and limit > 0 else None
    if not kept.any() or not measured[kept].any():
        return ranged(rng, points + rng.standard_normal(points.shape), dim, noise, **about)
    values, seen = squareform(measured), squareform(kept)
    np.fill_diagonal(seen, True)
    truth = squareform(gaps)
    companion = str(rng.choice(["", "permuted", "scaled"]))
    about = {
        "n": len(points),
        "dim": dim,
        "pattern": way,
        "cutoff": cutoff,
        "seen": round(float(kept.mean()), 3),
        **about,
    }
    options = {"dim": dim, "cutoff": cutoff}
    return Instance(
        DISTANCES, np.where(seen, values, np.nan), truth, seen, options, points, noise,
        about=about, companion=companion, unit=unit_for(rng, truth),
    )  # fmt: skip


@kind
def distances_cube(rng: np.random.Generator) -> Instance:
    """Points uniform in a cube."""
    dim = dimension(rng)
    return ranged(rng, rng.random((size(rng, dim + 2, 60), dim)), dim)


@kind
def distances_few(rng: np.random.Generator) -> Instance:
    """Two to ten points."""
    dim = dimension(rng)
    return ranged(rng, rng.standard_normal((int(rng.integers(max(2, dim), 11)), dim)), dim)


@kind
def distances_grid(rng: np.random.Generator) -> Instance:
    """Points of a grid, some of them twice."""
    dim, n = dimension(rng), size(rng, 5, 40)
    side = max(2, round(n ** (1 / dim)))
    return ranged(rng, rng.integers(0, side + 1, (n, dim)).astype(float), dim, side=side)


@kind
def distances_repeated(rng: np.random.Generator) -> Instance:
    """A few places, each several times, exactly or nearly."""
    dim = dimension(rng)
    few = rng.random((int(rng.integers(3, 9)), dim))
    points = few[rng.integers(0, len(few), size(rng, 5, 25))]
    apart = float(rng.choice([0.0, 0.0, 1e-6, 1e-3]))
    return ranged(rng, points + apart * rng.standard_normal(points.shape), dim, apart=apart)


@kind
def distances_collinear(rng: np.random.Generator) -> Instance:
    """Most points on a line, or all in a plane of space."""
    dim, n = int(rng.choice([2, 3])), size(rng, 6, 30)
    points = rng.random((n, dim))
    flat = rng.random(n) < rng.choice([0.6, 0.9, 1.0])
    points[flat, -1] = 0.0
    return ranged(rng, points, dim)


@kind
def distances_noisy(rng: np.random.Generator) -> Instance:
    """Points in a cube, distances with noise of 0.01 to 3 %, its size told or not."""
    dim = dimension(rng)
    found = ranged(rng, rng.random((size(rng, 8, 50), dim)), dim, 10.0 ** -rng.uniform(1.5, 4))
    if rng.random() < 0.6:
        return found
    gaps = found.truth[np.triu_indices(found.size, 1)]
    sigma = found.noise * float(np.sqrt(np.mean(gaps**2)))
    return replace(found, options=found.options | {"sigma": sigma}, about=found.about | {"sigma": sigma})
