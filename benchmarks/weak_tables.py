"""How honest errors by landmarks are where pieces of a table hang together weakly: coverage beside that of a full fit.

``python benchmarks/weak_tables.py`` prints, for tables of low rank with noise of which only one side of a threshold was
seen, how far landmarks and a fit to all entries that begins at the truth are off, and how many of the hidden entries
their intervals cover where 95 % are meant.
"""

import re

import numpy as np

import unrelu

TABLES = [(726, 811, 1, 0.1, 0.0), (620, 759, 3, 0.1, 0.5), (569, 430, 3, 0.01, 0.5), (600, 500, 2, 0.1, 0.0)]


def main():
    print("rows  cols rank noise threshold | landmarks: passes error  covers | full fit: error  covers")
    for m, n, rank, sigma, threshold in TABLES:
        for seed in range(2):
            rng = np.random.default_rng(seed)
            L, R = rng.standard_normal((m, rank)), rng.standard_normal((n, rank))
            M = L @ R.T
            Y = M + sigma * rng.standard_normal((m, n))
            X = np.where(threshold <= Y, Y, np.nan)
            hidden = np.argwhere(np.isnan(X))
            i, j = hidden[rng.choice(len(hidden), min(20000, len(hidden)), replace=False)].T
            words = []
            for options in (
                dict(method="landmarks"),
                dict(method="gauss-newton", loss=unrelu.Censored(sigma), start=(L, R)),
            ):
                found = unrelu.complete_rectangular(X, rank, threshold=threshold, rng=3, **options)
                low, high = found.interval(i, j)
                covered = np.mean((low <= M[i, j]) & (M[i, j] <= high))
                off = np.linalg.norm(found.matrix() - M) / np.linalg.norm(M)
                passes = re.search(r"(\d+) passes", found.verdict.reason)
                words.append(f"{passes[1] if passes else '':>2s} {off:.2e}  {covered:6.1%}")
            print(f"{m:4d}  {n:4d} {rank:4d} {sigma:5.2f} {threshold:9.1f} | {words[0]} | {words[1]}", flush=True)


if __name__ == "__main__":
    main()
