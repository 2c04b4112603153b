"""Large matrices: python benchmarks/scale.py [PART …]     (parts: million dense thousand polish zarr kills full)

Every part runs in a process of its own, so that its memory is its own, and prints ratios that were taken in one run.
Memory is anonymous memory (RssAnon of /proc/self/status, watched by a thread): what a process has allocated, without
files that the system keeps in memory. Without a name all parts run; ``full`` also runs the fits to all entries that
``dense`` and ``polish`` are compared with, which take many minutes.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import numpy as np

import unrelu
from common import show
from unrelu.kernels.threads import owning_the_cores
from unrelu.placing.attach import Frame, normal_matrices

PARTS = ("million", "dense", "thousand", "polish", "zarr", "kills")


class Watched:
    """The most anonymous memory while a block runs, in bytes, beyond what there was before."""

    def __enter__(self):
        self.before = self.most = anonymous()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()
        self.began = time.perf_counter()
        return self

    def _look(self):
        while not self.ended.wait(0.01):
            self.most = max(self.most, anonymous())

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.began
        self.ended.set()
        self.thread.join()
        self.extra = self.most - self.before


def anonymous():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def factor_error(found, U):
    left, _, right = np.linalg.svd(found.T.astype(float) @ U)
    return float(np.linalg.norm(found @ (left @ right) - U) / np.linalg.norm(U))


class Products(unrelu.Source):
    """A matrix UUᵀ that is nowhere stored, of which entries from 0 on are seen."""

    thread_safe = True

    def __init__(self, n, rank, seed=0):
        self.U = np.random.default_rng(seed).standard_normal((n, rank))
        self.shape, self.dtype = (n, n), np.dtype(np.float64)

    def block(self, rows, cols):
        product = self.U[rows] @ self.U[cols].T
        product[product < 0] = np.nan
        return product


def bare(oracle, landmarks, rank):
    """The entries that landmarks ask for, and the products that place a row: nothing else of a call."""
    n, some = oracle.shape[0], np.arange(landmarks)
    frame = Frame.of(oracle.U[some], 1e-12)
    step = (1 << 20) // landmarks
    began = time.perf_counter()
    with owning_the_cores():
        from unrelu.kernels.threads import in_order

        def work(rows, values):
            seen = ~np.isnan(values)
            weights, known = seen.astype(float), np.where(seen, values, 0)
            return normal_matrices(weights, frame.Q)[0, 0, 0] + (known @ frame.Q)[0, 0]

        blocks = [slice(first, min(first + step, n)) for first in range(0, n, step)]
        for _ in in_order(blocks, lambda rows: oracle.block(some, rows).T, work, threads=True):
            pass
    return time.perf_counter() - began


def million():
    rows = []
    unrelu.complete(Products(5000, 10), 10, method="landmarks", rng=0)  # imports, and what is compiled once
    for n in (10**4, 10**5, 10**6):
        oracle = Products(n, 10)
        with Watched() as watched:
            found = unrelu.complete(oracle, 10, method="landmarks", rng=0)
        plain = bare(oracle, 200, 10)
        rows.append(
            {
                "n": n,
                "seconds": watched.seconds,
                "of the bare cost": watched.seconds / plain,
                "factor error": factor_error(found.factor, oracle.U),
                "% read": 100 * found.entries_read / n**2,
                "memory GB": watched.extra / 1e9,
                "verdict": found.verdict.code.value,
            }
        )
    show("an oracle without noise, r = 10", rows, list(rows[0]))
    exponent = np.log(rows[-1]["seconds"] / rows[0]["seconds"]) / np.log(rows[-1]["n"] / rows[0]["n"])
    print(f"time grows as n to the {exponent:.2f} from 10⁴ to 10⁶")


def planted(n, rank, sigma, dtype=np.float64):
    """UUᵀ with noise that is the same on both sides of the diagonal; entries from 0 on are seen."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n, rank))
    X = np.empty((n, n), dtype)
    for first in range(0, n, 500):
        rows = slice(first, min(first + 500, n))
        X[rows, first:] = U[rows] @ U[first:].T
        if sigma:
            X[rows, first:] += sigma * rng.standard_normal((rows.stop - first, n - first)).astype(dtype)
    for first in range(0, n, 500):
        rows = slice(first, min(first + 500, n))
        X[rows.stop :, rows] = X[rows, rows.stop :].T
        own = X[rows, rows]
        X[rows, rows] = np.triu(own) + np.triu(own, 1).T
    for first in range(0, n, 500):
        part = X[first : first + 500]
        part[part < 0] = np.nan
    return U, X


def median_scan(X):
    times = []
    for _ in range(7):
        began = time.perf_counter()
        np.isnan(X).sum()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def dense(full=False):
    rows = []
    unrelu.complete(planted(600, 5, 0.1)[1], 5, rng=0)
    for n in (10_000, 20_000):
        for sigma in (0.0, 0.1):
            U, X = planted(n, 20, sigma)
            scan = median_scan(X)
            with Watched() as watched:
                found = unrelu.complete(X, 20, rng=0)
            row = {
                "n": n,
                "σ": sigma,
                "isnan s": scan,
                "auto s": watched.seconds,
                "times isnan": watched.seconds / scan,
                "memory beyond X %": 100 * watched.extra / X.nbytes,
                "factor error": factor_error(found.factor, U),
                "verdict": found.verdict.code.value,
            }
            if full and sigma and n == 10_000:
                began = time.perf_counter()
                whole = unrelu.complete(X, 20, start=U, rng=0)
                row |= {"full fit s": time.perf_counter() - began}
                row |= {"over full fit": row["factor error"] / factor_error(whole.factor, U)}
            rows.append(row)
            show("dense in memory, r = 20, auto", rows[-1:], list(row))
    show("dense in memory, r = 20, auto", rows, list(dict.fromkeys(name for row in rows for name in row)))


FIRST_RELEASE = "6ca6d5e"
OF_FIRST_ORDER = ("gradient-descent", "scaled-gd", "pam", "momentum-pam")
# What is timed in every version: the quickest of nine calls, three at each tolerance, whose error is 1e-8 or less.
TIMED = """
    import sys, time, warnings, numpy as np, unrelu
    warnings.simplefilter("ignore")
    U = np.random.default_rng(0).standard_normal((1000, 20))
    M = U @ U.T
    X = np.where(M >= 0, M, np.nan)
    unrelu.complete(X[:200, :200], 5, rng=0)
    for name in sys.argv[1:]:
        best = error = float("inf")
        for tol in (None,) * 3 if name == "auto" else (1e-8, 1e-9, 1e-10):
            for _ in range(3):
                began = time.perf_counter()
                found = unrelu.complete(X, 20, method=name, tol=tol, rng=0)
                took = time.perf_counter() - began
                off = float(np.linalg.norm(found.matrix() - M) / np.linalg.norm(M))
                if off <= 1e-8 and took < best:
                    best, error = took, off
        print(name, best, error)
"""


def thousand():
    root = Path(__file__).parent.parent

    def timed(source, names):
        about = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, "-c", textwrap.dedent(TIMED), *names]
        lines = subprocess.run(command, env=about, check=True, capture_output=True, text=True).stdout.split("\n")
        return {name: (float(took), float(error)) for name, took, error in (line.split() for line in lines if line)}

    with tempfile.TemporaryDirectory() as folder:
        release = f"{folder}/release"
        subprocess.run(["git", "-C", root, "worktree", "add", "-q", "--detach", release, FIRST_RELEASE], check=True)
        try:
            before = timed(f"{release}/src", OF_FIRST_ORDER)
        finally:
            subprocess.run(["git", "-C", root, "worktree", "remove", "--force", release], check=True)
    now = timed(root / "src", ("auto", *OF_FIRST_ORDER))
    own = now["auto"][0]
    rows = [
        {"version": version, "method": name, "seconds": took, "error": error, "times auto": took / own}
        for version, found in (("today", now), (FIRST_RELEASE, before))
        for name, (took, error) in found.items()
    ]
    show("n = 1000, r = 20, whole calls to an error of 1e-8; PyPI peers: benchmarks/peers.py", rows, list(rows[0]))


def polish(full=False, sigmas=(0.01, 0.5)):
    rows = []
    for sigma in sigmas:
        U, X = planted(20_000, 10, sigma)
        with Watched() as watched:
            found = unrelu.complete(X, 10, rng=0)
        row = {"n": 20_000, "r": 10, "σ": sigma, "seconds": watched.seconds}
        row["factor error"] = factor_error(found.factor, U)
        if full:
            began = time.perf_counter()
            # As auto goes about small matrices; at σ = 0.5 from the truth, which takes less time than any other start.
            how = dict(method=unrelu.Auto()) if sigma < 0.1 else dict(start=U)
            whole = unrelu.complete(X, 10, rng=0, **how)
            row["full fit s"] = time.perf_counter() - began
            row["over full fit"] = row["factor error"] / factor_error(whole.factor, U)
            row["share of its time"] = row["seconds"] / row["full fit s"]
        rows.append(row)
        show("landmarks and polish beside a fit to all entries", rows, list(row))


def zarr_store(n=30_000, rank=20, sigma=0.1):
    import zarr

    path = Path(tempfile.gettempdir()) / f"unrelu-scale-{n}.zarr"
    U = np.random.default_rng(0).standard_normal((n, rank))
    if not (path / "done").exists():
        U, X = planted(n, rank, sigma, np.float32)
        array = zarr.create_array(store=str(path), shape=(n, n), dtype="float32", overwrite=True)
        array[:] = X
        (path / "done").touch()
    return zarr.open_array(str(path), mode="r"), U


def read_all(array):
    from concurrent.futures import ThreadPoolExecutor

    height, width = array.chunks
    n = array.shape[0]
    places = [
        (slice(a, min(a + height, n)), slice(b, min(b + width, n)))
        for a in range(0, n, height)
        for b in range(0, n, width)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda place: array[place].size, places):
            pass


def zarr():
    from unrelu.data.zarr_source import ZarrSource
    from unrelu.scale.blocks import Asked, Data
    from unrelu.scale.options import side_for
    from unrelu.scale.passes import look

    array, U = zarr_store()
    read_all(array)  # into the system's memory
    times = []
    for _ in range(3):
        began = time.perf_counter()
        read_all(array)
        times.append(time.perf_counter() - began)
    reading = float(np.median(times))
    with Watched() as watched:
        found = unrelu.complete(array, 20, peak_memory="800MB", rng=0)
    data = Data(ZarrSource(array), 1.0, 0.0)
    V = found.factor.astype(float)
    began = time.perf_counter()
    look(data, (V, V), Asked(found.sigma, gradient=True), side_for(data, 20, 800_000_000))
    one_pass = time.perf_counter() - began
    row = {
        "n": array.shape[0],
        "GB": array.nbytes / 1e9,
        "chunks": str(array.chunks),
        "reading s": reading,
        "a pass s": one_pass,
        "pass at % of reading": 100 * reading / one_pass,
        "whole call s": watched.seconds,
        "memory MB": watched.most / 1e6,
        "factor error": factor_error(found.factor, U),
        "verdict": found.verdict.code.value,
    }
    show("out of core: zarr, float32, r = 20, σ = 0.1, peak_memory = 800MB", [row], list(row))


SCRIPT = """
    import sys, numpy as np, unrelu
    X = np.load(sys.argv[1], mmap_mode="r")
    found = unrelu.complete(X, 10, method="landmarks", rng=1, checkpoint=sys.argv[2], peak_memory="200MB")
    found.save(sys.argv[3])
"""


def kills():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        _, X = planted(8000, 10, 0.2)
        np.save(folder / "X.npy", X)
        (folder / "run.py").write_text(textwrap.dedent(SCRIPT))

        def command(name):
            return [sys.executable, "run.py", "X.npy", f"{name}.ckpt.npz", f"{name}.npz"]

        began = time.perf_counter()
        subprocess.run(command("whole"), cwd=folder, check=True)
        whole, rng = time.perf_counter() - began, random.Random(0)
        one, rows = unrelu.Completion.load(folder / "whole.npz").factor, []
        for number in range(10):
            name, moment = f"run{number}", rng.uniform(0.1, 0.95) * whole
            running = subprocess.Popen(command(name), cwd=folder)
            time.sleep(moment)
            running.send_signal(signal.SIGKILL)
            running.wait()
            kept = (folder / f"{name}.ckpt.npz").exists()
            subprocess.run(command(name), cwd=folder, check=True)
            other = unrelu.Completion.load(folder / f"{name}.npz").factor
            largest = float(np.abs(one - other).max())
            rows.append({"killed after s": moment, "checkpoint": kept, "largest difference": largest})
        show(f"ten kills of a run of {whole:.1f} s, each continued", rows, list(rows[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "full", []], default=[])
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    parts = [part for part in asked.parts if part != "full"] or list(PARTS)
    full = "full" in asked.parts
    if asked.alone:
        for part in parts:
            more = {"full": full} if part in ("dense", "polish") else {}
            globals()[part](**more)
        return
    for part in parts:
        names = [part, *(["full"] if full else [])]
        subprocess.run([sys.executable, __file__, *names, "--alone"], check=True)


if __name__ == "__main__":
    main()
