"""Patterns that were slow in the first release: few entries seen, and several rigid bodies. Seconds on this machine.

python benchmarks/sparse_patterns.py            # all; a minute on two quiet cores
python benchmarks/sparse_patterns.py --small    # n = 1000 and the clusters alone
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter

import numpy as np

import unrelu
from unrelu.data.planted import family

warnings.simplefilter("ignore", unrelu.CompletionWarning)


def line(what: str, X: np.ndarray, truth: np.ndarray, rank: int, tau: float) -> tuple[float, int]:
    began = perf_counter()
    completion = unrelu.complete(X, rank, threshold=tau, rng=0)
    seconds = perf_counter() - began
    rows = np.flatnonzero(completion.determined)
    off = np.abs(completion.matrix()[np.ix_(rows, rows)] - truth[np.ix_(rows, rows)]).max(initial=0.0)
    print(
        f"| {what} | {seconds:.2f} | {completion.verdict.code.value} | {completion.residual:.0e} | "
        f"{len(rows)} of {len(X)} | {off / np.abs(truth).max():.0e} |",
        flush=True,
    )
    return seconds, len(rows)


def largest(n: int, share: float, seed: int, rank: int = 5) -> tuple[float, int]:
    U = np.random.default_rng(seed).standard_normal((n, rank))
    M = U @ U.T
    tau = float(np.quantile(M[np.triu_indices(n)], 1 - share))
    return line(f"largest {share:.0%}, n={n}, seed {seed}", np.where(tau <= M, M, np.nan), M, rank, tau)


def clusters(seed: int) -> tuple[float, int]:
    planted = family("clusters", 200, 5, rng=[seed, 1])
    tau = float(np.quantile(planted.truth, 0.7))
    X = np.where(tau <= planted.truth, planted.truth, np.nan)
    return line(f"clusters, 70 % quantile, n=200, seed {seed}", X, planted.truth, 5, tau)


def main() -> None:
    print(
        "| pattern, rank 5 | seconds | verdict | residual | rows determined | their error |\n|---|---|---|---|---|---|"
    )
    slow = [largest(1000, 0.05, seed) for seed in range(10)]
    print(f"\nworst of ten at n=1000: {max(slow)[0]:.2f} s\n")
    tight = [clusters(seed) for seed in range(20)]
    print(f"\nworst of twenty clusters: {max(tight)[0]:.2f} s\n")
    if "--small" not in sys.argv[1:]:
        for n, share in ((2000, 0.10), (2000, 0.05), (5000, 0.05)):
            largest(n, share, 0)


if __name__ == "__main__":
    main()
