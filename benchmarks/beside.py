"""Two versions of the library beside each other: passes, whole calls and peak memory, as ratios in one run.

    git worktree add ../before COMMIT
    python benchmarks/beside.py ../before/src            all cases, seven rounds
    python benchmarks/beside.py ../before/src --rounds 3 --only passes

Each case runs in a process of its own, once with the other version and once with this one, in turn. Seconds are those
of the processor, the best of a few calls in a process; the table has the median over the rounds of each, and their
ratio, new over old.
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

HERE = Path(__file__).parent.parent / "src"


def planted(n, r, noise=0.0, scales=None, seed=0):
    g = np.random.default_rng(seed)
    U = g.standard_normal((n, r)) * (1 if scales is None else np.geomspace(*scales, r))
    M = U @ U.T
    E = g.standard_normal((n, n)) * noise
    M = M + (E + E.T) / np.sqrt(2)
    return np.where(M >= 0, M, np.nan)


def cloud(n, dim, cutoff, noise=0.0, seed=0):
    g = np.random.default_rng(seed)
    points = g.random((n, dim))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    E = noise * g.standard_normal(D.shape)
    D = np.abs(D + (E + E.T) / np.sqrt(2)) * (1 - np.eye(n))
    return np.where(cutoff >= D, D, np.nan)


def parts():
    """Classes of the version at hand, wherever they live."""
    try:
        from unrelu.data.observations import Observations
        from unrelu.model.losses import Observed, OneSided
    except ImportError:
        from unrelu.losses import Observed, OneSided
        from unrelu.observations import Observations
    from unrelu.problems.psd import PSDProblem

    return Observations, PSDProblem, Observed, OneSided


def passes(name, loss):
    """One pass over a matrix of n = 1000 at rank 20, twenty times."""
    Observations, PSDProblem, Observed, OneSided = parts()
    from unrelu.kernels.threads import owning_the_cores

    problem = PSDProblem(Observations.of(planted(1000, 20)), 20, Observed() if loss == "observed" else OneSided())
    U, D = np.random.default_rng(1).standard_normal((2, 1000, 20)) / np.sqrt(problem.unit)
    point = problem.evaluate(U)
    calls = {
        "evaluate": lambda: problem.evaluate(U),
        "curvature": lambda: problem.curvature(point, D),
        "line": lambda: problem.line(point, D),
        "two factors": lambda: problem.bands.evaluate(U, D),
    }

    def many():
        with owning_the_cores():
            for _ in range(20):
                calls[name]()

    many()
    return many


def completing(n, r, repeats=1, **options):
    import unrelu

    noise, scales = options.pop("noise", 0.0), options.pop("scales", None)
    X = planted(n, r, noise, scales)

    def call():
        for _ in range(repeats):
            unrelu.complete(X, r, rng=0, **options)

    return call


def locating(n, dim, cutoff, noise=0.0):
    import unrelu

    D = cloud(n, dim, cutoff, noise)
    return lambda: unrelu.complete_distances(D, dim, cutoff=cutoff, rng=0)


def knowing(n, r, what):
    import unrelu

    X = planted(n, r, 0.05 if what == "error bars" else 0.0)
    if what == "certify":
        return lambda: unrelu.certify(X, r, rng=0)
    found = unrelu.complete(X, r, rng=0)

    def call():
        fresh = unrelu.complete(X, r, start=found, rng=0)
        if what == "determinacy":
            return fresh.determinacy
        i, j = np.random.default_rng(0).integers(0, n, (2, 1000))
        return fresh.standard_errors(i, j)

    return call


CASES = {
    **{
        f"passes: {name}, {loss}": lambda name=name, loss=loss: passes(name, loss)
        for name in ("evaluate", "curvature", "line", "two factors")
        for loss in ("observed", "one-sided")
    },
    "complete n=20 r=2": lambda: completing(20, 2, 20),
    "complete n=200 r=5": lambda: completing(200, 5, 5),
    "complete n=200 r=5, noise": lambda: completing(200, 5, 2, noise=0.05),
    "complete n=1000 r=20": lambda: completing(1000, 20),
    "complete n=1000 r=20, columns 1…0.1": lambda: completing(1000, 20, scales=(1, 0.1)),
    "complete n=2000 r=10": lambda: completing(2000, 10),
    **{
        f"{method} n=200 r=5": lambda method=method: completing(200, 5, method=method, max_iter=200)
        for method in ("gauss-newton", "gradient-descent", "scaled-gd", "pam", "momentum-pam", "gnmr", "admm")
    },
    "momentum-pam n=1000 r=10": lambda: completing(1000, 10, method="momentum-pam", max_iter=60),
    "distances n=60 dim=2": lambda: locating(60, 2, 0.35),
    "distances n=60 dim=2, noise": lambda: locating(60, 2, 0.4, 0.01),
    "distances n=1000 dim=3": lambda: locating(1000, 3, 0.25),
    "distances n=300 dim=3, noise": lambda: locating(300, 3, 0.35, 0.005),
    "certify n=200 r=5": lambda: knowing(200, 5, "certify"),
    "determinacy n=500 r=10": lambda: knowing(500, 10, "determinacy"),
    "error bars n=500 r=5": lambda: knowing(500, 5, "error bars"),
}


def worker(case):
    """Measure one case here, and print what was found."""
    warnings.simplefilter("ignore")
    call = CASES[case]()
    best = np.inf
    for _ in range(3):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
        if best > 2:
            break
    print(json.dumps([best, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def measured(case, source):
    environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(source), "--worker", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{case} with {source}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="the src folder of the other version")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return
    print(f"{'case':42} {'old s':>9} {'new s':>9} {'ratio':>7} {'memory':>7}")
    for case in (name for name in CASES if options.only in name):
        old, new = [], []
        for _ in range(options.rounds):
            old.append(measured(case, options.before.resolve()))
            new.append(measured(case, HERE))
        seconds = [median(row[0] for row in rows) for rows in (old, new)]
        memory = median(row[1] for row in new) / median(row[1] for row in old)
        print(f"{case:42} {seconds[0]:9.4f} {seconds[1]:9.4f} {seconds[1] / seconds[0]:7.3f} {memory:7.3f}", flush=True)


if __name__ == "__main__":
    main()
