"""What a diagnosis costs beside one completion without a rank: python benchmarks/inspecting.py [n]

The same matrix, of rank 5 without and with noise, and of no low rank (an RBF kernel of points in six dimensions), seen
above its median. Asked at n = 2000: at most twice the time. Seconds are those of the clock.
"""

import sys
import time
import warnings

import numpy as np
from scipy.spatial.distance import pdist, squareform

import unrelu
from common import show, versions


def matrices(n):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n, 5))
    noise = np.triu(rng.standard_normal((n, n)))
    noise += np.triu(noise, 1).T
    yield "rank 5, exact", U @ U.T
    yield "rank 5, noise 0.1", U @ U.T + 0.1 * noise
    yield "rank 5, noise 1.0", U @ U.T + noise
    apart = squareform(pdist(rng.standard_normal((n, 6)), "sqeuclidean"))
    yield "kernel, no low rank", np.exp(-apart / np.median(apart))


def timed(call):
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = call()
    return found, time.perf_counter() - began


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(versions("unrelu", "numpy", "scipy"))
    rows = []
    for name, M in matrices(n):
        level = float(np.median(M))
        X = np.where(level <= M, M, np.nan)
        completion, one = timed(lambda X=X, level=level: unrelu.complete(X, threshold=level, rng=0))
        found, other = timed(lambda X=X: unrelu.diagnose(X, rng=0))
        rows.append(
            {"matrix": name, "complete s": one, "diagnose s": other, "ratio": other / one,
             "verdict": completion.verdict.code.value, "rank": found.rank, "recommended": found.recommended}
        )  # fmt: skip
        print(rows[-1], flush=True)
    show(f"n = {n}", rows, list(rows[0]))


if __name__ == "__main__":
    main()
