"""Kinds of distances that barely determine their points: few neighbours, chains, clusters, slabs, gross errors."""

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from soak.instance import DISTANCES, KINDS, Floats, Instance, kind, rms

# The largest share of distances with a gross error, and the size of these errors as a share of the cut-off.
WRONG, LEAST_WRONG, MOST_WRONG = 0.1, 0.03, 0.4


def censored(rng: np.random.Generator, points: Floats, cutoff: float, errors: float = 0.0) -> Instance:
    """Observe distances up to a cut-off, which is passed more often than not; noise comes before it or after.

    Every second instance is exact, others have noise of 0.001 to 3 % of the cut-off. ``errors`` is the share of gross
    errors; if there are any, the loss is robust.
    """
    lengths, sigma = pdist(points), cutoff * float(rng.choice([0.0, 10.0 ** -rng.uniform(1.5, 5)]))
    measured = np.abs(lengths + sigma * rng.standard_normal(len(lengths)))
    passed, cut_after = bool(rng.random() < 0.7), bool(rng.random() < 0.7)
    known = sigma > 0 and (not cut_after or rng.random() < 0.4)
    given = squareform((measured if cut_after else lengths) <= cutoff) | np.eye(len(points), dtype=bool)
    seen, values = given.copy(), squareform(measured)
    options: dict[str, Any] = {"dim": points.shape[1], "cutoff": cutoff if passed else None}
    if known:
        options["sigma"] = sigma
    if errors:
        i, j = np.nonzero(np.triu(given, 1))
        bad = rng.random(len(i)) < errors
        both_signs = rng.random() < 0.5
        by = cutoff * rng.uniform(LEAST_WRONG, MOST_WRONG, len(i))
        by *= rng.choice([1.0, -1.0], len(i)) if both_signs else 1.0
        i, j, by = i[bad], j[bad], by[bad]
        values[i, j] = values[j, i] = np.abs(values[i, j] + by)
        options["loss"] = "huber"
        seen[i, j] = seen[j, i] = False  # an answer need not meet them
    data, noise = np.where(given, values, np.nan), sigma / rms(lengths)
    return Instance(DISTANCES, data, squareform(lengths), seen, options, points, noise, wrong=errors > 0)


def cutoff_for(points: Floats, neighbours: float) -> float:
    """Return the cut-off that leaves so many neighbours on average."""
    return float(np.quantile(pdist(points), min(neighbours / (len(points) - 1), 1.0)))


def edge(draw: Any) -> Any:
    """Register the kind ``edge-NAME`` of these points and this cut-off."""
    KINDS[f"edge-{draw.__name__}"] = lambda rng: censored(rng, *draw(rng))
    return draw


@edge
def plane(rng: np.random.Generator) -> tuple[Floats, float]:
    """Points uniform in the square with six to nine neighbours each."""
    points = rng.random((int(rng.integers(30, 161)), 2))
    return points, cutoff_for(points, rng.uniform(6, 9))


@edge
def chain(rng: np.random.Generator) -> tuple[Floats, float]:
    """A chain like a protein's: steps of 3.8 in a ball, no two points closer than 3, contacts up to 6 to 8."""
    count = int(rng.choice([40, 60, 80, 120, 300], p=[0.3, 0.25, 0.2, 0.2, 0.05]))
    radius = 0.72 * 3.8 * count ** (1 / 3)
    points, placed, failures = np.zeros((count, 3)), 1, 0
    while placed < count:
        steps = rng.standard_normal((30, 3))
        tries = points[placed - 1] + 3.8 * (steps / np.linalg.norm(steps, axis=1, keepdims=True))
        lengths = np.linalg.norm(tries[:, None] - points[: placed - 1], axis=2)
        free = np.flatnonzero((np.linalg.norm(tries, axis=1) <= radius) & (lengths >= 3.0).all(axis=1))
        if free.size:
            points[placed] = tries[free[0]]
            placed, failures = placed + 1, max(failures - 1, 0)
        else:  # take back the last steps
            failures += 5
            placed = max(1, placed - failures)
    return points, rng.uniform(6, 8)


@edge
def clusters(rng: np.random.Generator) -> tuple[Floats, float]:
    """Clusters of points that few distances join."""
    dim, count = int(rng.choice([2, 2, 3])), int(rng.integers(3, 9))
    centres, spread = rng.random((count, dim)), rng.uniform(0.02, 0.12)
    owner = rng.integers(0, count, int(rng.integers(20, 90)))
    points = centres[owner] + spread * rng.standard_normal((len(owner), dim))
    return points, cutoff_for(points, rng.uniform(0.15, 0.45) * len(points))


@edge
def slab(rng: np.random.Generator) -> tuple[Floats, float]:
    """A thin slab of space, or a thin strip of the plane."""
    dim = int(rng.choice([2, 3, 3]))
    points = rng.random((int(rng.integers(30, 121)), dim))
    points[:, -1] *= 10.0 ** -rng.uniform(0.7, 3)
    return points, cutoff_for(points, rng.uniform(8, 16) if dim == 3 else rng.uniform(6, 10))


@kind
def edge_wrong(rng: np.random.Generator) -> Instance:
    """Any of these with gross errors in up to a tenth of the distances, and a robust loss."""
    points, cutoff = (plane, chain, clusters, slab)[int(rng.integers(4))](rng)
    return censored(rng, points, cutoff, errors=rng.uniform(0.01, WRONG))
