"""Tables: how often they are recovered, up to which rank, by which method, and what a pass costs beside symmetric ones.

python benchmarks/tables.py                  20 seeds
python benchmarks/tables.py --seeds 4 --only families
"""

import argparse
import time
import warnings

import numpy as np

import unrelu
from common import quickest
from unrelu.auto.rectangular import TABLE_METHODS
from unrelu.data.observations import Observations
from unrelu.data.table_observations import table_observations
from unrelu.kernels.bands import BandKernel
from unrelu.model.losses import LOSSES, OneSided
from unrelu.problems.psd import PSDProblem
from unrelu.problems.rectangular import RectangularProblem

M, N = 300, 200


def sphere(g, n, r):
    rows = g.standard_normal((n, r))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


FAMILIES = {
    "gauss": lambda g, n, r: g.standard_normal((n, r)),
    "cond10": lambda g, n, r: g.standard_normal((n, r)) * np.geomspace(1, 0.1, r),
    "cond100": lambda g, n, r: g.standard_normal((n, r)) * np.geomspace(1, 0.01, r),
    "t3": lambda g, n, r: g.standard_t(3, (n, r)),
    "cauchy rows": lambda g, n, r: g.standard_normal((n, r)) * np.abs(g.standard_cauchy((n, 1))),
    "sphere": sphere,
    "clusters": lambda g, n, r: g.standard_normal((10, r))[g.integers(0, 10, n)] + 0.05 * g.standard_normal((n, r)),
    "shifted": lambda g, n, r: g.standard_normal((n, r)) + 1,
    "uniform": lambda g, n, r: g.uniform(-1, 1, (n, r)),
    "sparse": lambda g, n, r: g.standard_normal((n, r)) * (g.random((n, r)) < 0.3),
    "log-normal rows": lambda g, n, r: g.standard_normal((n, r)) * np.exp(g.standard_normal((n, 1))),
}


def ranks(seeds):
    print(f"{M}×{N}, half seen by sign, no noise: recovered to 1e-8")
    for rank in (5, 30, 60, 65):
        right, began = 0, time.perf_counter()
        for seed in range(seeds):
            g = np.random.default_rng(seed)
            truth = g.standard_normal((M, rank)) @ g.standard_normal((rank, N))
            found = unrelu.complete_rectangular(np.where(truth >= 0, truth, np.nan), rank, rng=0)
            right += np.linalg.norm(found.matrix() - truth) <= 1e-8 * np.linalg.norm(truth)
        print(f"  rank {rank:2d}: {right} of {seeds}  ({(time.perf_counter() - began) / seeds:.2f} s each)")


def families(seeds):
    print(
        f"{M}×{N}, rank 5, families of rows against Gaussian columns: right on what is determined; converged and wrong"
    )
    for name, make in FAMILIES.items():
        for quantile in (None, 0.7):
            right = wrong = 0
            share = []
            for seed in range(seeds):
                g = np.random.default_rng(seed)
                truth = make(g, M, 5) @ g.standard_normal((N, 5)).T
                tau = 0.0 if quantile is None else float(np.quantile(truth, quantile))
                found = unrelu.complete_rectangular(
                    np.where(truth >= tau, truth, np.nan), 5, threshold=tau, method=unrelu.Auto(seconds=60), rng=0
                )
                both = found.determined[:, None] & found.columns_determined
                off = np.abs(found.matrix() - truth)[both].max(initial=0.0) / np.abs(truth).max()
                right += off <= 1e-6
                wrong += found.verdict.converged and off > 1e-6
                share.append(both.mean())
            where = "0" if quantile is None else "70 %"
            print(f"  {name:15s} {where:>4}: {right} of {seeds}, {wrong} wrong, {np.mean(share):4.0%} determined")


def limits(seeds):
    print("limits of their own, 120×80, rank 3, no noise: right on what is determined; converged and wrong")
    for name in ("per column", "per row", "per entry"):
        right = wrong = 0
        share = []
        for seed in range(seeds):
            g = np.random.default_rng(seed)
            truth = g.standard_normal((120, 3)) @ g.standard_normal((3, 80))
            levels = g.uniform(0.2, 0.8, {"per column": (1, 80), "per row": (120, 1), "per entry": (120, 80)}[name])
            if name == "per column":
                tau = np.array([[np.quantile(truth[:, j], levels[0, j]) for j in range(80)]])
            elif name == "per row":
                tau = np.array([[np.quantile(truth[i], levels[i, 0])] for i in range(120)])
            else:
                tau = np.quantile(truth, levels)
            found = unrelu.complete_rectangular(np.where(truth >= tau, truth, np.nan), 3, threshold=tau, rng=0)
            both = found.determined[:, None] & found.columns_determined
            off = np.abs(found.matrix() - truth)[both].max(initial=0.0) / np.abs(truth).max()
            right += off <= 1e-8
            wrong += found.verdict.converged and off > 1e-6
            share.append(both.mean())
        print(f"  {name:10s}: {right} of {seeds}, {wrong} wrong, {np.mean(share):4.0%} determined")


def methods(seeds):
    print("60×40, rank 3, half seen by sign, no noise: recovered to 1e-6 by the method's own start, and by tailored")
    for name, make in TABLE_METHODS.items():
        for loss in ("observed", "one-sided"):
            if not make().accepts(LOSSES[loss]()):
                continue
            right = []
            for start in ("auto", "tailored") if make.takes_start else ("auto",):
                count = 0
                for seed in range(seeds):
                    g = np.random.default_rng(seed)
                    truth = g.standard_normal((60, 3)) @ g.standard_normal((3, 40))
                    X = np.where(truth >= 0, truth, np.nan)
                    options = dict(method=name, loss=loss, start=start, max_iter=10_000, rng=0)
                    found = unrelu.complete_rectangular(X, 3, **options)
                    count += np.linalg.norm(found.matrix() - truth) <= 1e-6 * np.linalg.norm(truth)
                right.append(count)
            print(f"  {name:16s} {loss:9s}: {' and '.join(map(str, right))} of {seeds}")


def passes():
    g = np.random.default_rng(0)
    rows, cols, rank, n = 1200, 840, 20, 1419  # as many entries as a symmetric matrix of 1,419 rows has pairs
    truth = g.standard_normal((rows, rank)) @ g.standard_normal((rank, cols))
    table = RectangularProblem(table_observations(np.where(truth >= 0, truth, np.nan)), rank)
    U = g.standard_normal((n, rank))
    square = PSDProblem(Observations.of(np.where(U @ U.T >= 0, U @ U.T, np.nan)), rank)
    W = g.standard_normal((rows + cols, rank))
    ratio = quickest(lambda: table.evaluate(W)) / quickest(lambda: square.evaluate(U))
    print(f"a pass over {rows}×{cols} beside one over a symmetric matrix with as many pairs: {ratio:.2f}")


def bands():
    """Bands of rows, for methods with two factors: 600×400 against a symmetric 490×490, in turn."""
    g = np.random.default_rng(0)
    for rank in (5, 20):
        L, R, U = (g.standard_normal((side, rank)) for side in (600, 400, 490))
        truth, square = L @ R.T, U @ U.T
        table = BandKernel(table_observations(np.where(truth >= 0, truth, np.nan)), OneSided())
        whole = BandKernel(Observations.of(np.where(square >= 0, square, np.nan)), OneSided())
        one, two = np.inf, np.inf
        for _ in range(5):
            one = min(one, quickest(lambda: table.evaluate(L, R), 40))  # noqa: B023
            two = min(two, quickest(lambda: whole.evaluate(U, U), 40))  # noqa: B023
        print(f"a pass of bands over 600×400 beside one over 490×490, rank {rank}: {1e3 * one:.2f} ms, {one / two:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=["ranks", "families", "limits", "methods", "passes", "bands"])
    asked = parser.parse_args()
    warnings.simplefilter("ignore", unrelu.CompletionWarning)
    for part in (ranks, families, limits, methods):
        if asked.only in (None, part.__name__):
            part(asked.seeds)
    for timed in (passes, bands):
        if asked.only in (None, timed.__name__):
            timed()
