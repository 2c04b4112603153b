"""How well the way in which entries go unseen is told from the data: levels, kinds, shares, curves.

    python benchmarks/gaps.py                 # 20 seeds of everything, about half an hour on two cores
    python benchmarks/gaps.py --seeds 3 --only curve,both
    python benchmarks/gaps.py --seeds 100 --only coins    # limits of columns, and none: about ten minutes on one core

n = 200, rank 5, unit Gaussian factors, one noise of 0.1 for each pair, level at the median unless said otherwise.
``off`` is the level found less the true one, and ``width`` the width, in units of the rms entry; ``covers`` counts 95 %
intervals that hold the level; errors are relative, against the matrix without noise.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.special import expit
from scipy.stats import beta, gamma, norm, poisson

import unrelu
from unrelu.base.errors import InputError
from unrelu.model.detection import DetectionCurve
from unrelu.model.losses import Detected

SIZE, RANK, SIGMA = 200, 5, 0.1
KINDS = ("cut", "before", "strays", "chance", "both", "curve", "columns", "coins")


def once(a):
    """One number for each pair."""
    return np.triu(a) + np.triu(a, 1).T


def planted(kind, seed):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((SIZE, RANK))
    M = U @ U.T
    Y = M + SIGMA * once(rng.standard_normal((SIZE, SIZE)))
    rms, level, chance = float(np.sqrt(np.mean(M**2))), float(np.median(M)), once(rng.random((SIZE, SIZE)))
    if kind == "both":  # a quarter of all entries below the level, and a third of the others missing by chance
        level = float(np.quantile(M, 0.25))
    seen = {
        "cut": level <= Y,
        "before": level <= M,
        "strays": (level <= Y) ^ (chance < 0.01),
        "chance": chance < 0.5,
        "both": (level <= Y) & (chance < 2 / 3),
        "curve": Y + 0.5 * rms * once(rng.standard_normal((SIZE, SIZE))) >= level,
    }[kind]
    return M, Y, seen, level, rms


def error(found, M):
    return float(np.linalg.norm(found.matrix() - M) / np.linalg.norm(M))


def at_the_curve(X, found, curve):
    """The fit that knows the curve: the same loss, with nothing about it estimated but the noise."""
    from unrelu.auto.detected import with_unseen
    from unrelu.data.observations import Observations
    from unrelu.loop.run import run
    from unrelu.loop.stopping import MaxIterations, RelativeGradientNormBelow
    from unrelu.problems.psd import PSDProblem
    from unrelu.solvers import GaussNewton

    seen = with_unseen(Observations.of(X, threshold=None), curve.level, "above")
    problem = PSDProblem(seen, RANK, Detected(level=SIGMA, smallest=1e-3 * SIGMA, curve=curve))
    start = found.factor / np.sqrt(seen.unit)
    rule = RelativeGradientNormBelow(1e-12) | MaxIterations(200)
    U = run(problem, GaussNewton(), (start, start), rule).point.factor * np.sqrt(seen.unit)
    return U @ U.T


def one(kind, seed):
    """A line about one instance."""
    M, Y, seen, level, rms = planted(kind, seed)
    X = np.where(seen, Y, np.nan)
    found = unrelu.complete(X, RANK, threshold="auto", gaps="auto", rng=0)
    curve = found.detection
    line = {"kind": curve.kind, "code": found.verdict.code.value, "error": error(found, M)}
    if np.isfinite(curve.level):
        low, high = curve.level_interval
        line |= {"off": (curve.level - level) / rms, "covers": bool(low <= level <= high)}
    if kind == "both":
        knowing = unrelu.complete(X, RANK, threshold=level, unknown=~seen & (level <= Y), rng=0)
        chance = np.mean((level <= Y)[~seen])
        estimated = by_chance(found, X)
        line |= {"times": line["error"] / error(knowing, M), "share": estimated, "share_off": estimated - chance}
    if kind == "curve":
        knowing = at_the_curve(X, found, DetectionCurve(level, width=0.5 * rms))
        try:
            hard = error(unrelu.complete(X, RANK, threshold=float(np.nanmin(X)), rng=0), M)
        except InputError:
            hard = float("nan")
        line |= {
            "times": line["error"] / float(np.linalg.norm(knowing - M) / np.linalg.norm(M)),
            "width": curve.width / rms,
            "hard": hard,
        }
    return line


def by_chance(found, X):
    """Of the unseen entries, the share that is missing by chance."""
    from unrelu.data.observations import Observations
    from unrelu.detection.chosen import detected
    from unrelu.results.gaps import evidence_of

    evidence = evidence_of(found, Observations.of(X, threshold=None))
    return detected(evidence, kinds=(found.detection.kind,)).random_share


def columns(seed):
    """A level for each column: how far off, in units of the rms entry, and how many intervals hold it."""
    from unrelu.detection.edge import edge_of

    rng = np.random.default_rng(seed)
    M = rng.standard_normal((SIZE, RANK)) @ rng.standard_normal((RANK, SIZE))
    Y = M + SIGMA * rng.standard_normal(M.shape)
    levels, rms = np.median(M, axis=0), np.sqrt(np.mean(M**2))
    edges = [edge_of(column[column >= level]) for column, level in zip(Y.T, levels, strict=True)]
    known = [(edge, level) for edge, level in zip(edges, levels, strict=True) if edge is not None]
    off = [abs(edge.level - level) / rms for edge, level in known]
    held = [edge.interval[0] <= level <= edge.interval[1] for edge, level in known]
    return {"off": float(np.median(off)), "covers": float(np.mean(held)), "columns": len(known)}


SHAPES = {
    "normal": lambda g: g,
    "normal, far from 0": lambda g: 10 + g,
    "lognormal, 0.5": lambda g: np.exp(0.5 * g),
    "lognormal, 1": lambda g: np.exp(g),
    "exponential": lambda g: -norm.logsf(g),
    "exponential, less 1": lambda g: -norm.logsf(g) - 1,
    "beta, 2 and 5, less 0.2": lambda g: beta.ppf(norm.cdf(g), 2, 5) - 0.2,
    "gamma, 2": lambda g: gamma.ppf(norm.cdf(g), 2),
    "uniform": lambda g: norm.cdf(g),
    "counts, 3 on average": lambda g: poisson.ppf(norm.cdf(g), 3),
    "counts, 20 on average": lambda g: poisson.ppf(norm.cdf(g), 20),
}


def coins(seeds):
    """How often limits of columns are claimed: of columns by themselves, and of six that go together (0.8)."""
    from unrelu.detection.columns import column_levels

    def claimed(shape, rows, how, together, seed):
        rng = np.random.default_rng([seed, rows])
        gaussian = rng.standard_normal((rows, 6))
        if together:
            gaussian = np.sqrt(0.8) * rng.standard_normal((rows, 1)) + np.sqrt(0.2) * gaussian
        table, share = SHAPES[shape](gaussian), np.tile([0.1, 0.3, 0.6], 2)
        chance = rng.random(table.shape)
        if how == "wall":
            gone = table < [np.quantile(column, part) for column, part in zip(table.T, share, strict=True)]
        elif how == "coin":
            gone = chance < share
        else:  # lost the more often the lower the next column is, which has no gaps
            gone = chance < expit(-2 * (np.roll(gaussian, -1, axis=1) - norm.ppf(share)))
            gone[:, 1::2] = False
        lost = gone.any(axis=0)
        found = column_levels(np.where(gone, np.nan, table), np.arange(6), "above")
        return np.where(lost, [j in found for j in range(6)], np.nan)

    for together in (False, True):
        for how in ("coin", "wall", "others")[: 3 if together else 2]:
            print(f"\n{how}, {'six that go together' if together else 'by themselves'}: 10, 30, 60 % missing")
            for shape in SHAPES:
                line = []
                for rows in (80, 160, 400, 1000):
                    hits = [claimed(shape, rows, how, together, seed) for seed in range(-(-seeds // 2))]
                    hits = np.array(hits).reshape(-1, 3)
                    with np.errstate(invalid="ignore"):
                        line.append(" ".join(f"{100 * share:3.0f}" for share in np.nanmean(hits, axis=0)))
                print(f"{shape:23} | " + " | ".join(line), flush=True)
    real()


def real():
    """Columns of real tables with a limit at a quantile, or with as many cells lost by a coin: claimed limits."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    from unrelu.detection.columns import column_levels

    print()
    for name, load in {"wine": load_wine, "cancer": load_breast_cancer, "diabetes": load_diabetes}.items():
        table = load().data
        table = table[:, [len(np.unique(column)) > 2 for column in table.T]]
        every, chance = np.arange(table.shape[1]), np.random.default_rng(0).random(table.shape)
        for share in (0.2, 0.5):
            walls = column_levels(np.where(table >= np.quantile(table, share, axis=0), table, np.nan), every, "above")
            lost = column_levels(np.where(chance < share, np.nan, table), every, "above")
            print(f"{name} {share}: {len(walls)} of {len(every)} with a limit, {len(lost)} of as many with a coin")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default=",".join(KINDS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for kind in asked.only.split(","):
        if kind == "coins":
            coins(asked.seeds)
            continue
        lines = []
        for seed in range(asked.seeds):
            line = columns(seed) if kind == "columns" else one(kind, seed)
            lines.append(line)
            said = " ".join(f"{k} {v:.5f}" if isinstance(v, float) else f"{k} {v}" for k, v in line.items())
            print(f"{kind:8} {seed:2}  {said}", flush=True)
        for name in lines[0]:
            values = [line.get(name, float("nan")) for line in lines]
            if isinstance(values[0], str):
                told = {value: values.count(value) for value in sorted(set(map(str, values)))}
            elif isinstance(values[0], bool):
                told = f"{sum(map(bool, values))} of {len(values)}"
            else:
                told = f"median {np.nanmedian(values):.5f}, largest size {np.nanmax(np.abs(values)):.5f}"
            print(f"{kind:8} --  {name}: {told}")


if __name__ == "__main__":
    main()
