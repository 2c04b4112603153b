"""How often dim="auto" finds the planted dimension: python benchmarks/dimension.py [planted] [slabs] [few]

Planted: points uniform in a line, a square, a cube and in five dimensions, the shortest distances, without noise and
with noise of a share of the cut-off; asked: at least 19 of 20. Slabs: points in space whose third coordinate has only
a share of the length of the others; a slab that the noise hides may be called a plane. Few: as few neighbours as
hardly hold the points; printed to show where it ends. Beside the count stand the mean of what one more dimension gains,
in units of the noise, and of the limit beyond which that is not noise; and what dim="auto" costs, over the same call
with the dimension named.
"""

import sys
import time

import numpy as np
from scipy.spatial.distance import pdist, squareform

import unrelu
from common import save, show

SEEDS = 20
# Of so many the time is taken as well, in seconds of the processor.
TIMED = 3
# Points, dimension, neighbours of each.
PLANTED = [(120, 1, 20), (120, 2, 20), (120, 3, 30), (120, 5, 60)]
NOISES = [0.0, 0.05]


def instance(n, dim, neighbours, noise, seed, thickness=1.0):
    """Distances up to a cut-off, measured with noise before they were cut off."""
    rng = np.random.default_rng([seed, n, dim, neighbours])
    points = rng.random((n, dim))
    points[:, -1] *= thickness
    apart = pdist(points)
    cutoff = float(np.sort(apart)[n * neighbours // 2 - 1])
    measured = apart + noise * cutoff * rng.standard_normal(len(apart))
    D = squareform(np.where((measured <= cutoff) & (measured > 0), measured, np.nan))
    return D, cutoff


def row(n, dim, neighbours, noise, thickness=1.0, seeds=SEEDS):
    found, rivals, gains, limits, seconds, named = [], 0, [], [], 0.0, 0.0
    for seed in range(seeds):
        D, cutoff = instance(n, dim, neighbours, noise, seed, thickness)
        began = time.process_time()
        result = unrelu.complete_distances(D, "auto", cutoff=cutoff, rng=0)
        seconds += (time.process_time() - began) * (seed < TIMED)
        if seed < TIMED:
            began = time.process_time()
            unrelu.complete_distances(D, result.dim, cutoff=cutoff, rng=0)
            named += time.process_time() - began
        found.append(result.dim)
        rivals += result.dimension.rival is not None
        own = [one for one in result.dimension.tried if one.dim == result.dim and one.gain is not None]
        gains += [one.gain for one in own]
        limits += [one.limit for one in own]
    print(f"n {n}, dim {dim}, noise {noise}, thickness {thickness}: found {found}", flush=True)
    return {
        "n": n, "dim": dim, "neighbours": neighbours, "noise / cut-off": noise, "thickness": thickness,
        "right": f"{found.count(dim)} of {seeds}",
        "found": " ".join(f"{one}:{found.count(one)}" for one in sorted(set(found))),
        "close calls": rivals, "gain": float(np.mean(gains)) if gains else None,
        "limit": float(np.mean(limits)) if limits else None, "time / named": seconds / named,
    }  # fmt: skip


def told(title, rows):
    show(title, rows, list(rows[0]))
    return rows


def planted():
    return told("Planted", [row(*case, noise) for case in PLANTED for noise in NOISES])


def slabs():
    cases = [(0.3, 0.05), (0.1, 0.0), (0.1, 0.02), (0.1, 0.05), (0.03, 0.0), (0.03, 0.05)]
    return told("Slabs in space", [row(120, 3, 40, noise, thickness) for thickness, noise in cases])


def few():
    return told(
        "Few neighbours", [row(120, 2, 8, noise) for noise in NOISES] + [row(120, 3, 12, noise) for noise in NOISES]
    )


if __name__ == "__main__":
    parts = {"planted": planted, "slabs": slabs, "few": few}
    save("dimension", {name: parts[name]() for name in sys.argv[1:] or parts})
