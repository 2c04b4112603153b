"""Kinds of distances at the edge of fixing their points: few neighbours, chains, clusters, thin slabs, wrong ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from soak.instance import DISTANCES, Draw, Instance

__all__ = ["KINDS"]

Floats = NDArray[np.float64]

KINDS: dict[str, Draw] = {}

# Share of the ranges that are wrong, at most, and by how much, in cut-offs.
WRONG, LEAST_WRONG, MOST_WRONG = 0.1, 0.03, 0.4


def kind(draw: Draw) -> Draw:
    """List a kind under its name."""
    KINDS[draw.__name__.replace("_", "-")] = draw
    return draw


def some_noise(rng: np.random.Generator) -> float:
    """None in every second instance, else 0.001 to 3 % of the cut-off."""
    return float(rng.choice([0.0, 10.0 ** -rng.uniform(1.5, 5)]))


def heard(rng: np.random.Generator, points: Floats, cutoff: float, wrong: float = 0.0, **about: Any) -> Instance:
    """Distances up to a cut-off, which is told more often than not; noise comes before it or after.

    ``wrong``: the share of the ranges that are grossly wrong; then a robust fit is asked for.
    """
    gaps, sigma = pdist(points), cutoff * some_noise(rng)
    measured = np.abs(gaps + sigma * rng.standard_normal(len(gaps)))
    told, cut_after = bool(rng.random() < 0.7), bool(rng.random() < 0.7)
    known = sigma > 0 and (not cut_after or rng.random() < 0.4)
    seen = squareform((measured if cut_after else gaps) <= cutoff)
    np.fill_diagonal(seen, True)
    values = squareform(measured)
    options: dict[str, Any] = {"dim": points.shape[1], "cutoff": cutoff if told else None}
    if known:
        options["sigma"] = sigma
    given = seen
    if wrong:
        i, j = np.nonzero(np.triu(seen, 1))
        bad = rng.random(len(i)) < wrong
        either = rng.random() < 0.5
        by = cutoff * rng.uniform(LEAST_WRONG, MOST_WRONG, len(i))
        by *= rng.choice([1.0, -1.0], len(i)) if either else 1.0
        values[i[bad], j[bad]] = values[j[bad], i[bad]] = np.abs(values[i, j] + by)[bad]
        options["loss"] = "huber"
        given, seen = seen, seen.copy()
        seen[i[bad], j[bad]] = seen[j[bad], i[bad]] = False  # they are no part of what must be met
        about |= {"wrong": int(bad.sum()), "either": either}
    size = float(np.sqrt(np.mean(gaps**2)))
    degree = float(seen.sum() / len(points) - 1)
    about |= {"n": len(points), "cutoff": cutoff, "told": told, "sigma": sigma, "known": known}
    about["neighbours"] = round(degree, 2)
    return Instance(
        DISTANCES,
        np.where(given, values, np.nan),
        squareform(gaps),
        seen,
        options,
        points,
        sigma / size,
        about=about,
        wrong=wrong > 0,
    )


def cutoff_for(points: Floats, neighbours: float) -> float:
    """With so many neighbours each, on the average."""
    gaps = pdist(points)
    share = min(neighbours / (len(points) - 1), 1.0)
    return float(np.quantile(gaps, share))


def sparse_plane(rng: np.random.Generator) -> tuple[Floats, float]:
    """Points uniform in the square with six to nine neighbours each."""
    points = rng.random((int(rng.integers(30, 161)), 2))
    return points, cutoff_for(points, rng.uniform(6, 9))


def folded_chain(rng: np.random.Generator) -> tuple[Floats, float]:
    """A chain with steps of 3.8 in a ball, no two points closer than 3, and contacts up to 6 to 8."""
    from unrelu.datasets import chain

    return chain(int(rng.choice([40, 60, 80, 120, 300], p=[0.3, 0.25, 0.2, 0.2, 0.05])), rng=rng), rng.uniform(6, 8)


def clusters(rng: np.random.Generator) -> tuple[Floats, float]:
    """Clusters of points that few distances join."""
    dim, count = int(rng.choice([2, 2, 3])), int(rng.integers(3, 9))
    centres, spread = rng.random((count, dim)), rng.uniform(0.02, 0.12)
    owner = rng.integers(0, count, int(rng.integers(20, 90)))
    points = centres[owner] + spread * rng.standard_normal((len(owner), dim))
    return points, cutoff_for(points, rng.uniform(0.15, 0.45) * len(points))


def slab(rng: np.random.Generator) -> tuple[Floats, float]:
    """A thin slab of space, or a thin strip of the plane."""
    dim = int(rng.choice([2, 3, 3]))
    points = rng.random((int(rng.integers(30, 121)), dim))
    points[:, -1] *= 10.0 ** -rng.uniform(0.7, 3)
    return points, cutoff_for(points, rng.uniform(8, 16) if dim == 3 else rng.uniform(6, 10))


@kind
def edge_plane(rng: np.random.Generator) -> Instance:
    """Few neighbours in the plane."""
    return heard(rng, *sparse_plane(rng))


@kind
def edge_chain(rng: np.random.Generator) -> Instance:
    """Contacts of a chain."""
    return heard(rng, *folded_chain(rng))


@kind
def edge_clusters(rng: np.random.Generator) -> Instance:
    """Clusters that few distances join."""
    return heard(rng, *clusters(rng))


@kind
def edge_slab(rng: np.random.Generator) -> Instance:
    """Points nearly in a plane of space, or on a line of the plane."""
    return heard(rng, *slab(rng))


@kind
def edge_wrong(rng: np.random.Generator) -> Instance:
    """Any of these with up to a tenth of the ranges wrong, fitted robustly."""
    draw = (sparse_plane, folded_chain, clusters, slab)[int(rng.integers(4))]
    points, cutoff = draw(rng)
    return heard(rng, points, cutoff, wrong=rng.uniform(0.01, WRONG), family=draw.__name__)
