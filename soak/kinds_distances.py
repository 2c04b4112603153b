"""Kinds of distances between known points."""

from dataclasses import replace

import numpy as np
from scipy.spatial.distance import pdist, squareform

from soak.instance import DISTANCES, Floats, Instance, kind, rms
from soak.kinds import size, unit_for


def dimension(rng: np.random.Generator, high: int = 3) -> int:
    """Draw a dimension, most often 2."""
    return int(rng.choice([1, 2, 2, 3][: 4 if high == 3 else 3]))


def ranged(rng: np.random.Generator, points: Floats, dim: int, noise: float = 0.0) -> Instance:
    """Observe the short distances, with or without passing the cut-off, or distances at random."""
    lengths = pdist(points)
    measured = np.abs(lengths + noise * rms(lengths) * rng.standard_normal(len(lengths)))
    share = rng.uniform(0.25, 0.95)
    cutoff: float | None = None
    way = str(rng.choice(["cutoff", "cutoff", "untold", "hidden"]))
    if way == "hidden":
        kept = rng.random(len(lengths)) < share
    else:
        limit = float(np.quantile(measured, share))
        kept = measured <= limit
        cutoff = limit if way == "cutoff" and limit > 0 else None
    if not measured[kept].any():
        return ranged(rng, points + rng.standard_normal(points.shape), dim, noise)
    seen, truth = squareform(kept) | np.eye(len(points), dtype=bool), squareform(lengths)
    data = np.where(seen, squareform(measured), np.nan)
    companion = str(rng.choice(["", "permuted", "scaled"]))
    options, unit = {"dim": dim, "cutoff": cutoff}, unit_for(rng, truth)
    return Instance(DISTANCES, data, truth, seen, options, points, noise, companion=companion, unit=unit)


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
    return ranged(rng, rng.integers(0, side + 1, (n, dim)).astype(float), dim)


@kind
def distances_repeated(rng: np.random.Generator) -> Instance:
    """A few different points, each several times, exactly or nearly."""
    dim = dimension(rng)
    few = rng.random((int(rng.integers(3, 9)), dim))
    points = few[rng.integers(0, len(few), size(rng, 5, 25))]
    apart = float(rng.choice([0.0, 0.0, 1e-6, 1e-3]))
    return ranged(rng, points + apart * rng.standard_normal(points.shape), dim)


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
    """Points in a cube, distances with noise of 0.01 to 3 %, its standard deviation passed or not."""
    dim = dimension(rng)
    instance = ranged(rng, rng.random((size(rng, 8, 50), dim)), dim, 10.0 ** -rng.uniform(1.5, 4))
    if rng.random() < 0.6:
        return instance
    sigma = {"sigma": instance.noise * instance.rms}
    return replace(instance, options=instance.options | sigma)
