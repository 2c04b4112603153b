"""Complete large matrices: seconds beside one scan or read of the data, memory, error.

    python benchmarks/scale.py                         all parts: source dense zarr dask; half an hour
    python benchmarks/scale.py source dense --shrink 20
    python benchmarks/scale.py dense --full            also fits to all entries from the truth, many minutes

source: U Uᵀ that is computed on request, n = 10⁴ to 10⁶, r = 10, over the time of the blocks and products that
landmarks need at least. dense: in memory, n = 10,000 and 20,000, r = 20. zarr: n = 30,000 in float32 on disk, within
800 MB. dask: two worker processes beside threads, n = 20,000, in chunks. Each part runs in a process of its own. Memory
is anonymous memory (RssAnon in /proc/self/status) beyond what there was before the call.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import unrelu
from common import best, show, status, timed

MEMORY = "800MB"


class Watched:
    """Seconds and the most anonymous memory while a block runs, in bytes beyond what there was before."""

    def __enter__(self):
        self.before = self.most = anonymous_memory()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        self.began = time.perf_counter()
        return self

    def _watch(self):
        while not self.ended.wait(0.01):
            self.most = max(self.most, anonymous_memory())

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.began
        self.ended.set()
        self.thread.join()
        self.extra = self.most - self.before


def anonymous_memory():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def factor_error(found, U):
    """Return the error of a factor after the best rotation."""
    left, _, right = np.linalg.svd(found.T.astype(float) @ U)
    return float(np.linalg.norm(found @ (left @ right) - U) / np.linalg.norm(U))


class Products(unrelu.Source):
    """U Uᵀ computed on request, entries from 0 on observed."""

    thread_safe = True

    def __init__(self, n, rank, seed=0):
        self.U = np.random.default_rng(seed).standard_normal((n, rank))
        self.shape, self.dtype = (n, n), np.dtype(np.float64)

    def block(self, rows, cols):
        product = self.U[rows] @ self.U[cols].T
        product[product < 0] = np.nan
        return product


def least_work(source, landmarks, rank):
    """Compute the entries of so many columns and, for each row, its right-hand side: the least any method does."""
    n = source.shape[0]
    columns = np.arange(landmarks)
    for first in range(0, n, 5000):
        block = source.block(np.arange(first, min(first + 5000, n)), columns)
        np.where(np.isnan(block), 0.0, block) @ source.U[:landmarks, :rank]


def source(options):
    rows = []
    unrelu.complete(Products(5000, 10), 10, method="landmarks", rng=0)  # imports
    for n in (10**4, 10**5, 10**6):
        matrix = Products(n // options.shrink, 10)
        with Watched() as watched:
            found = unrelu.complete(matrix, 10, method="landmarks", rng=0)
        _, _, least = timed(lambda matrix=matrix: least_work(matrix, 200, 10))
        rows.append({"n": len(matrix.U), "s": watched.seconds, "over least work": watched.seconds / least,
                     "factor error": factor_error(found.factor, matrix.U),
                     "% read": 100 * found.entries_read / len(matrix.U) ** 2, "memory GB": watched.extra / 1e9,
                     "status": status(found)})  # fmt: skip
    show("U Uᵀ on request, exact, r = 10", rows)
    exponent = np.log(rows[-1]["s"] / rows[0]["s"]) / np.log(rows[-1]["n"] / rows[0]["n"])
    print(f"seconds grow as n to the {exponent:.2f}")


def planted_by_bands(n, rank, sigma, dtype=np.float64):
    """Return a factor and U Uᵀ with symmetric noise, entries from 0 on observed, without temporaries of its size."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n, rank))
    X = np.empty((n, n), dtype)
    bands = [slice(first, min(first + 500, n)) for first in range(0, n, 500)]
    for band in bands:
        rest = slice(band.start, n)
        X[band, rest] = U[band] @ U[rest].T
        X[band, rest] += sigma * rng.standard_normal(X[band, rest].shape).astype(dtype)
        X[band, band] = np.triu(X[band, band]) + np.triu(X[band, band], 1).T
        X[band.stop :, band] = X[band, band.stop :].T
    for band in bands:
        X[band][X[band] < 0] = np.nan
    return U, X


def dense(options):
    rows = []
    unrelu.complete(planted_by_bands(600, 5, 0.1)[1], 5, rng=0)  # imports
    for n in (10_000, 20_000):
        for sigma in (0.0, 0.1, 0.5):
            U, X = planted_by_bands(n // options.shrink, 20, sigma)
            scan = best(lambda X=X: np.isnan(X).sum())
            with Watched() as watched:
                found = unrelu.complete(X, 20, rng=0)
            row = {"n": len(X), "σ": sigma, "isnan s": scan, "s": watched.seconds, "over isnan": watched.seconds / scan,
                   "memory / X": watched.extra / X.nbytes, "factor error": factor_error(found.factor, U),
                   "status": status(found)}  # fmt: skip
            if options.full and sigma:
                whole, _, wall = timed(lambda X=X, U=U: unrelu.complete(X, 20, start=U, rng=0))
                row |= {"full fit s": wall, "error / full": row["factor error"] / factor_error(whole.factor, U)}
            rows.append(row)
            show("latest:", rows[-1:])
    show("in memory, r = 20, auto", rows)


def zarr(options):
    import zarr as library

    n = 30_000 // options.shrink
    with tempfile.TemporaryDirectory() as folder:
        U, X = planted_by_bands(n, 20, 0.1, np.float32)
        array = library.create_array(store=f"{folder}/X.zarr", shape=(n, n), dtype="float32")
        array[:] = X
        del X
        bands = range(0, n, array.chunks[0])
        reading = best(lambda: [array[first : first + array.chunks[0]].size for first in bands], 3)
        with Watched() as watched:
            found = unrelu.complete(array, 20, peak_memory=MEMORY, rng=0)
    row = {"n": n, "GB": array.nbytes / 1e9, "chunks": str(array.chunks), "reading s": reading, "s": watched.seconds,
           "over reading": watched.seconds / reading, "memory MB": watched.most / 1e6,
           "factor error": factor_error(found.factor, U), "status": status(found)}  # fmt: skip
    show(f"zarr, float32, r = 20, σ = 0.1, peak_memory = {MEMORY}", [row])


def dask(options):
    import dask.array as da
    from distributed import Client, LocalCluster

    n = 20_000 // options.shrink
    U, X = planted_by_bands(n, 20, 0.1, np.float32)
    rows = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster) as client,
    ):
        lazy = client.persist(da.from_array(X, chunks=max(1, n // 10)))
        calls = {"landmarks": {}, "gauss-newton": {"start": U, "max_iter": 5}}
        for method, more in calls.items():
            call = dict(method=method, rng=0, **more)
            own, _, here = timed(lambda call=call: unrelu.complete(X, 20, **call))
            other, _, there = timed(lambda call=call: unrelu.complete(lazy, 20, **call))
            apart = float(np.abs(own.entries(*np.indices((50, 50))) - other.entries(*np.indices((50, 50)))).max())
            rows.append({"method": method, "n": n, "threads s": here, "dask s": there, "ratio": there / here,
                         "largest difference": apart, "status": status(other)})  # fmt: skip
    show(f"dask: two workers beside threads of one process, r = 20, σ = 0.1, {os.cpu_count()} cores", rows)


PARTS = {"source": source, "dense": dense, "zarr": zarr, "dask": dask}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--shrink", type=int, default=1, help="divide sizes by this")
    parser.add_argument("--full", action="store_true", help="also fits to all entries")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for part in options.parts or PARTS:
        if part not in PARTS:
            parser.error(f"no part {part!r}; parts are {', '.join(PARTS)}")
        if options.alone:
            PARTS[part](options)
            continue
        full = ["--full"] if options.full else []
        command = [sys.executable, __file__, part, "--alone", "--shrink", str(options.shrink), *full]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
