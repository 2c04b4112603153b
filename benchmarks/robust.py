"""How a fit fares with a few gross errors: on clean data, led astray by them, and robustly; and which of them it names.

    python benchmarks/robust.py                 # 20 seeds of each case, about ten minutes
    python benchmarks/robust.py --seeds 3 --cases matrix
    python benchmarks/robust.py --forms         # Huber's function itself beside leaving out what it distrusts

Of each case 2 % of the seen entries are replaced by errors of ±10 rms (in a table ±10 standard deviations of the
column). Printed are relative errors of the fit, the ratio of the robust one to the clean one, the share of wrong
entries that were named, and the share of the others that were.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import unrelu

SHARE, SIZE = 0.02, 10.0
METHOD = "gauss-newton"
Spoilt = tuple[Any, Any, Any, set[tuple[int, int]], dict[str, Any]]


def matrix(seed: int, signs: tuple[int, ...] = (1,), sigma: float = 0.1, size: float = SIZE) -> Spoilt:
    """Truth, what was seen above the median, the same with errors in both halves of pairs, where, and what is said."""
    rng = np.random.default_rng(seed)
    n = 200
    U = rng.standard_normal((n, 5))
    M, noise = U @ U.T, np.triu(rng.standard_normal((n, n)))
    Y = M + sigma * (noise + np.triu(noise, 1).T)
    threshold = float(np.median(Y))
    X = np.where(threshold <= Y, Y, np.nan)
    rows, cols = np.nonzero(np.triu(~np.isnan(X)))
    some = rng.choice(len(rows), int(SHARE * len(rows)), replace=False)
    dirty = X.copy()
    wrong = size * np.sqrt(np.mean(M**2)) * rng.choice(signs, len(some))
    dirty[rows[some], cols[some]] = dirty[cols[some], rows[some]] = wrong
    return M, X, dirty, set(zip(rows[some].tolist(), cols[some].tolist(), strict=True)), dict(threshold=threshold)


def rectangle(seed: int, m: int = 200, n: int = 100, r: int = 4, sigma: float = 0.1) -> Spoilt:
    """The same of a rectangular matrix, errors on either side."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, r)) @ rng.standard_normal((r, n))
    Y = M + sigma * rng.standard_normal((m, n))
    threshold = float(np.median(Y))
    X = np.where(threshold <= Y, Y, np.nan)
    rows, cols = np.nonzero(~np.isnan(X))
    some = rng.choice(len(rows), int(SHARE * len(rows)), replace=False)
    dirty = X.copy()
    dirty[rows[some], cols[some]] = SIZE * np.sqrt(np.mean(M**2)) * rng.choice([-1, 1], len(some))
    return M, X, dirty, set(zip(rows[some].tolist(), cols[some].tolist(), strict=True)), dict(threshold=threshold)


def table(seed: int, m: int = 200, n: int = 8) -> Spoilt:
    """Columns in units of their own, of which three tenths lie below their limits; errors in tenfold spreads."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-1, 1, n)
    M = (6 + rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)) + 0.3 * rng.standard_normal((m, n))) * scale
    limits = np.quantile(M, 0.3, axis=0)
    X = np.where(limits <= M, M, np.nan)
    rows, cols = np.nonzero(~np.isnan(X))
    some = rng.choice(len(rows), int(SHARE * len(rows)), replace=False)
    i, j = rows[some], cols[some]
    dirty = X.copy()
    dirty[i, j] = M.mean(axis=0)[j] + SIZE * M.std(axis=0)[j] * rng.choice([-1, 1], len(some))
    return M, X, dirty, set(zip(i.tolist(), j.tolist(), strict=True)), dict(threshold=limits)


def error(found: Any, M: Any, X: Any) -> float:
    """Of the whole matrix, relative; of a table of its hidden cells, in standard deviations of their columns."""
    if hasattr(found, "matrix"):
        return float(np.linalg.norm(found.matrix() - M) / np.linalg.norm(M))
    hidden = np.isnan(X)
    return float(np.sqrt(np.mean((((np.asarray(found.filled()) - M) / M.std(axis=0))[hidden]) ** 2)))


def one(draw: Callable[[int], Spoilt], complete: Callable[..., Any], seed: int) -> tuple[float, ...]:
    """Clean error, that of an ordinary fit of the dirty data, the robust one; shares named; seconds."""
    M, X, dirty, wrong, said = draw(seed)
    clean = error(complete(X, rng=0, **said), M, X)
    try:
        astray = error(complete(dirty, rng=0, **said), M, X)
    except unrelu.InputError:  # an error on the wrong side of the threshold
        astray = np.nan
    began = perf_counter()
    found = complete(dirty, rng=0, loss="huber", **said)
    seconds = perf_counter() - began
    named = {(one.row, one.column) for one in found.distrusted}
    seen = int((~np.isnan(X)).sum())
    twice = 2 if M.shape[0] == M.shape[1] else 1  # pairs are named once
    others = twice * len(named - wrong) / (seen - twice * len(wrong))
    return clean, astray, error(found, M, X), len(named & wrong) / len(wrong), others, seconds


CASES: dict[str, tuple[Callable[[int], Spoilt], Callable[..., Any]]] = {
    "matrix": (matrix, lambda X, **said: unrelu.complete(X, 5, **said)),
    "either side": (lambda seed: matrix(seed, (1, -1)), lambda X, **said: unrelu.complete(X, 5, **said)),
    "no rank": (lambda seed: matrix(seed, (1, -1)), lambda X, **said: unrelu.complete(X, **said)),
    "rectangle": (rectangle, lambda X, **said: unrelu.complete_rectangular(X, 4, **said)),
    "table": (table, lambda X, **said: unrelu.complete_table(X, **said)),
}


def forms(seeds: int) -> None:
    """Print how Huber's function fares beside leaving out what it distrusts: large noise, small errors."""
    for sigma, size in ((1.0, 10.0), (1.0, 3.0), (0.1, 1.0)):
        ratios = []
        for seed in range(seeds):
            M, X, dirty, _, said = matrix(seed, sigma=sigma, size=size)
            clean, left_out, alone = (
                error(unrelu.complete(data, 5, rng=0, **said, **how), M, X)
                for data, how in ((X, {}), (dirty, {"loss": "huber"}), (dirty, {"loss": "huber", "method": METHOD}))
            )
            ratios.append((left_out / clean, alone / clean))
        first, second = np.mean(ratios, axis=0)
        print(
            f"noise {sigma}, errors of {size} rms: left out {first:.2f}, Huber alone {second:.2f} times the clean error"
        )


def main() -> None:
    """Print a line per seed, and what the cases come to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--forms", action="store_true", help="compare leaving out with Huber's function, 3 seeds")
    asked = parser.parse_args()
    if asked.forms:
        forms(3)
        return
    warnings.simplefilter("ignore")
    head = f"{'case':12s}{'seed':>5s}{'clean':>9s}{'astray':>9s}{'huber':>9s}{'ratio':>7s}{'named':>8s}{'others':>9s}"
    for case in asked.cases:
        print(f"{head}{'seconds':>9s}")
        lines, errors = [], []
        for seed in range(asked.seeds):
            clean, astray, robust, named, others, seconds = one(*CASES[case], seed)
            lines.append((robust / clean, named, others))
            errors.append((clean, astray, robust))
            told = f"{clean:9.4f}{astray:9.4f}{robust:9.4f}{robust / clean:7.2f}"
            print(f"{case:12s}{seed:5d}{told}{named:8.1%}{others:9.3%}{seconds:9.1f}", flush=True)
        ratio, named, others = np.array(lines).T
        middle = np.median(np.array(errors), axis=0)
        print(f"{case}: median clean {middle[0]:.4f}, astray {middle[1]:.4f}, huber {middle[2]:.4f}; ", end="")
        good = int(np.sum((ratio <= 1.5) & (named >= 0.9) & (others <= 0.01)))
        print(
            f"within 1.5 times the clean error in {int(np.sum(ratio <= 1.5))} of {len(ratio)}, all three in "
            f"{good}; named {named.min():.1%} at least, of the others {others.max():.3%} at most\n"
        )


if __name__ == "__main__":
    main()
