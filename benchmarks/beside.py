"""Compare passes and whole calls of this version with those of an older one, in one run, as ratios.

    python benchmarks/beside.py --beside OTHER/bin/python      an environment with an older wheel, its packages
    python benchmarks/beside.py --beside ../before/src         the src folder of another checkout, same packages
    python benchmarks/beside.py --only "pass n=1000" --rounds 3 --threads 2
    python benchmarks/beside.py                                this version alone

Cases: passes over planted matrices of n = 60, 200, 1000, 3000 and rank 5, 20 for each loss, beside the two NumPy
products inside them (n = 4000 for squares); whole calls; the import; how many modules and functions of the package one
call runs. Each case runs in a process of its own, once with the older version and once with this one, in turn. A
process prints the shortest of a few calls; the table has medians over the rounds and their ratio, new over old. Seconds
are those of the processor with one thread, and of the clock with more.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np

from common import best, censored, normalised, passes, planted, show, timed, versions

HERE = Path(__file__).parent.parent / "src"
LOSSES = ("observed", "one-sided", "censored", "huber")


def measure_passes(n, rank, loss):
    X = censored(planted(n, rank)[1])
    Z, U = np.nan_to_num(X), np.random.default_rng(1).standard_normal((n, rank))

    def seconds(call):
        call()
        repeats = max(1, int(0.02 / timed(call)[2]))  # so many take 20 ms
        return best(lambda: [call() for _ in range(repeats)], 5, clock()) / repeats

    found = {name: seconds(call) for name, call in passes(X, rank, loss).items()}
    return found | {"NumPy: U @ U.T, Z @ U": seconds(lambda: (U @ U.T, Z @ U))}


def completion(n, rank, repeats=1, noise=0.0, family="gaussian", dtype=np.float64, **options):
    import unrelu

    X = censored(planted(n, rank, family, noise)[1]).astype(dtype)
    return lambda: [unrelu.complete(X, rank, rng=0, **options) for _ in range(repeats)]


def similarity(kept):
    """Cosines of 120 digits, of which the given share is kept; no rank is named."""
    from sklearn.datasets import load_digits

    import unrelu

    rows = normalised(load_digits().data[:120])
    cosines = rows @ rows.T
    threshold = float(np.quantile(cosines, 1 - kept))
    return lambda: unrelu.complete(censored(cosines, threshold), threshold=threshold, rng=0)


def rectangular(m, n, rank):
    import unrelu

    rng = np.random.default_rng(0)
    X = censored(rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)))
    return lambda: unrelu.complete_rectangular(X, rank, rng=0)


def table():
    from sklearn.datasets import load_wine

    import unrelu

    values = load_wine().data
    limits = np.quantile(values, 0.3, axis=0)
    return lambda: unrelu.complete_table(censored(values, limits), threshold=limits, rng=0)


def distances(n, dim, cutoff, noise=0.0):
    import unrelu

    rng = np.random.default_rng(0)
    points = rng.random((n, dim))
    error = np.triu(noise * rng.standard_normal((n, n)), 1)
    D = np.abs(np.linalg.norm(points[:, None] - points, axis=2) + error + error.T)
    D = np.where(cutoff >= D, D, np.nan)
    return lambda: unrelu.complete_distances(D, dim, cutoff=cutoff, rng=0)


def after(n, rank, what):
    """What follows a fit: a certificate, determined rows, standard errors."""
    import unrelu

    X = censored(planted(n, rank, noise=0.02 if what == "standard errors" else 0.0)[1])
    if what == "certificate":
        return lambda: unrelu.certify(X, rank, rng=0)
    found = unrelu.complete(X, rank, rng=0)
    i, j = np.random.default_rng(0).integers(0, n, (2, 1000))

    def call():
        fresh = unrelu.complete(X, rank, start=found, rng=0)
        return fresh.determinacy if what == "determined rows" else fresh.standard_errors(i, j)

    return call


def touched(n, rank):
    """Return how many modules and functions of the package one call runs."""
    import unrelu

    X = censored(planted(n, rank)[1])
    folder, seen = str(Path(unrelu.__file__).parent), set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    unrelu.complete(X, rank, rng=0)
    sys.setprofile(note)
    unrelu.complete(X, rank, rng=0)
    sys.setprofile(None)
    return {"modules": len({file for file, _ in seen}), "functions": len(seen)}


def importing():
    command = [sys.executable, "-c", "import unrelu; unrelu.complete"]
    began = time.perf_counter()
    subprocess.run(command, check=True)
    return {"seconds": time.perf_counter() - began}


CALLS = {
    "complete n=20 r=2": lambda: completion(20, 2, 20),
    "complete n=200 r=5": lambda: completion(200, 5, 5),
    "complete n=200 r=5, noise": lambda: completion(200, 5, 2, noise=0.02),
    "complete n=1000 r=20": lambda: completion(1000, 20),
    "complete n=1000 r=20, condition 10": lambda: completion(1000, 20, family="condition-10"),
    "complete n=1000 r=20, float32": lambda: completion(1000, 20, dtype=np.float32),
    "complete n=5000 r=10": lambda: completion(5000, 10),
    "complete, 120 digits, half kept": lambda: similarity(0.5),
    "landmarks n=4000 r=10": lambda: completion(4000, 10, noise=0.03, method="landmarks"),
    "gibbs n=60 r=3": lambda: completion(60, 3, noise=0.2, method="gibbs"),
    **{
        f"{method} n=200 r=5": lambda method=method: completion(200, 5, method=method, max_iter=200)
        for method in ("gauss-newton", "gradient-descent", "scaled-gd", "pam", "momentum-pam", "gnmr", "admm", "direct")
    },
    "rectangular 150×100 r=5": lambda: rectangular(150, 100, 5),
    "rectangular 300×200 r=5": lambda: rectangular(300, 200, 5),
    "table, wine": table,
    "distances n=60 dim=2": lambda: distances(60, 2, 0.35),
    "distances n=60 dim=2, noise": lambda: distances(60, 2, 0.4, 0.01),
    "distances n=1000 dim=3": lambda: distances(1000, 3, 0.25),
    "certificate n=200 r=5": lambda: after(200, 5, "certificate"),
    "determined rows n=500 r=10": lambda: after(500, 10, "determined rows"),
    "standard errors n=500 r=5": lambda: after(500, 5, "standard errors"),
}
MEASURES = {
    "import": importing,
    "touched by complete n=200 r=5": lambda: touched(200, 5),
    **{
        f"pass n={n} r={rank} {loss}": lambda n=n, rank=rank, loss=loss: measure_passes(n, rank, loss)
        for loss in LOSSES
        for n in ((60, 200, 1000, 3000, 4000) if loss == "one-sided" else (60, 200, 1000, 3000))
        for rank in (5, 20)
    },
}
CASES = [*MEASURES, *CALLS]


def clock():
    return time.process_time if os.environ.get("OPENBLAS_NUM_THREADS") == "1" else time.perf_counter


def measure_call(call):
    """Return the shortest of up to three calls."""
    times = []
    while len(times) < 3 and sum(times) < 4:
        began = clock()()
        call()
        times.append(clock()() - began)
    return {"seconds": min(times), "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def worker(case):
    """Measure one case in this process and print it as JSON."""
    warnings.simplefilter("ignore")
    import unrelu

    if case == "about":
        packages = versions("numpy", "scipy", "numba")
        found = {"version": unrelu.__version__, "file": unrelu.__file__} | packages
    else:
        found = MEASURES[case]() if case in MEASURES else measure_call(CALLS[case]())
    print(json.dumps(found))


def run(case, other, threads):
    """Return what one case gives with the package of an environment's Python or of a src folder; None if it fails."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(threads)}
    environment.pop("PYTHONPATH", None)
    python = sys.executable
    if other.is_dir():
        environment["PYTHONPATH"] = str(other)
    else:
        python = str(other)
    command = [python, __file__, "--worker", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{case} with {other}: {done.stderr.strip().splitlines()[-1]}", flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def compare(case, older, rounds, threads):
    """Return the rows of one case: medians over the rounds, and ratios."""
    old, new = [], []
    for _ in range(rounds):
        if older:
            old.append(run(case, older, threads))
        new.append(run(case, HERE, threads))
    if None in new:
        return []
    middle = [{name: median(one[name] for one in many) for name in many[0]} if many and None not in many else {}
              for many in (old, new)]  # fmt: skip
    products = middle[1].get("NumPy: U @ U.T, Z @ U")
    rows = []
    for name, value in middle[1].items():
        before = middle[0].get(name)
        row = {"case": case, "what": name, "old": before, "new": value, "ratio": value / before if before else None}
        rows.append(row | {"new / NumPy products": value / products if products else None})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="Python of another environment, or a src folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return
    older = options.beside and options.beside.absolute()  # not resolved: an environment's Python is a link
    about = {name: run("about", place, options.threads) for name, place in (("old", older), ("new", HERE)) if place}
    for name, one in about.items():
        print(f"{name}: {one}")
    if older and about["old"] == about["new"]:
        raise SystemExit("both are the same package")
    rows = []
    for case in (name for name in CASES if options.only in name):
        found = compare(case, older, options.rounds, options.threads)
        show(case, [{name: value for name, value in row.items() if name != "case"} for row in found])
        rows += found
    show(f"medians of {options.rounds} rounds, {options.threads} threads", rows)


if __name__ == "__main__":
    main()
