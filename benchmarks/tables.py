"""Fill tables with limits of detection beside other imputers, and planted tables; no rank is named for real ones.

    python benchmarks/tables.py --only real --cases wine --cuts 0.3 --seeds 1
    python benchmarks/tables.py --only real --save before
    python benchmarks/tables.py --only real --beside benchmarks/results/before.json
    python benchmarks/tables.py --only planted --seeds 4

Real tables: limits are the given quantiles of the columns, in random order over the columns with `--mixed`; columns
with fewer than three values are left out; `--random` hides a share of the other cells at random. Errors are root mean
squares over the hidden cells, each over the standard deviation of its column. QRILC and MinProb draw at random, as
their authors do. "conformal" is the share covered by IterativeImputer ± the 95 % quantile of its errors on a tenth of
the observed cells. Planted tables: how many are recovered on determined rows and columns, and how many converged and
are wrong.
"""

import argparse
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

import unrelu
from common import FAMILIES, add_ratios, censored_normal, mean_below, save, show, status, timed

TABLES = {"wine": load_wine, "cancer": load_breast_cancer, "diabetes": load_diabetes}


class Hidden:
    """A table hidden below a limit for each column and at random; the truth of what is hidden."""

    def __init__(self, table, cuts, random, seed):
        rng = np.random.default_rng(seed)
        self.table = table[:, [len(np.unique(column)) > 2 for column in table.T]]
        shares = rng.permutation(np.resize(cuts, self.table.shape[1]))
        self.limits = np.array([np.quantile(column, share) for column, share in zip(self.table.T, shares, strict=True)])
        self.below = self.table < self.limits
        self.unknown = ~self.below & (rng.random(self.table.shape) < random)
        self.hidden = self.below | self.unknown
        self.X = np.where(self.hidden, np.nan, self.table)
        self.sd = self.table.std(axis=0)

    def error(self, filled):
        return float(np.sqrt(np.mean(((filled - self.table) / self.sd)[self.hidden] ** 2)))

    def by_column(self):
        """Return the table filled with means of a censored normal distribution of each column (Tobit)."""
        filled = self.X.copy()
        for j, limit in enumerate(self.limits):
            values = self.X[~self.hidden[:, j], j]
            mean, sd = censored_normal(values, self.below[:, j].sum(), limit)
            filled[self.below[:, j], j] = mean_below(limit, mean, sd)
            filled[self.unknown[:, j], j] = values.mean()
        return filled

    def with_limit(self, fill):
        """Return the table with a value for each column below its limit, and medians where unknown."""
        filled = np.where(self.unknown, np.nanmedian(self.X, axis=0), self.X)
        return np.where(self.below, fill, filled)

    def half(self):
        return self.with_limit(np.where(self.limits > 0, self.limits / 2, self.limits))

    def imputer(self):
        filled = IterativeImputer(max_value=self.limits, random_state=0, max_iter=20).fit_transform(self.X)
        if not self.unknown.any():
            return filled
        # Cells that are unknown lie above the limits, which would cap them.
        uncapped = IterativeImputer(random_state=0, max_iter=20).fit_transform(self.X)
        return np.where(self.unknown, uncapped, filled)

    def qrilc(self):
        """Draw below the limit from the normal distribution through the observed quantiles of each column."""
        rng, filled = np.random.default_rng(0), self.with_limit(0.0)
        for j, limit in enumerate(self.limits):
            values, count = np.sort(self.X[~self.hidden[:, j], j]), self.below[:, j].sum()
            shares = (count + np.arange(1, len(values) + 1) - 0.5) / (count + len(values))
            sd, mean = np.polyfit(norm.ppf(shares), values, 1)
            sd = max(sd, 1e-12)
            draws = rng.uniform(0, norm.cdf(limit, mean, sd), count)
            filled[self.below[:, j], j] = norm.ppf(draws, mean, sd)
        return filled

    def min_prob(self):
        """Draw around a low quantile of the observed values, with 0.3 times the spread of each column."""
        rng = np.random.default_rng(0)
        low, spread = np.nanquantile(self.X, 0.01, axis=0), np.nanstd(self.X, axis=0)
        return self.with_limit(rng.normal(low, 0.3 * spread, self.X.shape))

    def conformal(self):
        """Return the share of hidden cells covered by intervals that ignore why cells are missing."""
        rng = np.random.default_rng(0)
        rows, cols = np.nonzero(~self.hidden)
        out = rng.permutation(len(rows))[: len(rows) // 10]
        rows, cols = rows[out], cols[out]
        fewer = self.X.copy()
        fewer[rows, cols] = np.nan
        filled = IterativeImputer(random_state=0, max_iter=20).fit_transform(fewer)
        off = np.abs(filled - self.table) / self.sd
        return float(np.mean(off[self.hidden] <= np.quantile(off[rows, cols], 0.95)))


def one_table(name, cuts, random, seed):
    case = Hidden(TABLES[name]().data, cuts, random, seed)
    unknown = case.unknown if random else None
    found, cpu, wall = timed(lambda: unrelu.complete_table(case.X, threshold=case.limits, unknown=unknown, rng=0))
    i, j = np.nonzero(case.hidden)
    low, high = found.predict(i, j)
    truth = case.table[i, j]
    return {
        "case": f"{name} {'/'.join(format(cut, 'g') for cut in cuts)} seed {seed}",
        "model": found.model,
        "status": status(found),
        "error": case.error(found.filled()),
        "Tobit by column": case.error(case.by_column()),
        "IterativeImputer": case.error(case.imputer()),
        "half the limit": case.error(case.half()),
        "QRILC": case.error(case.qrilc()),
        "MinProb": case.error(case.min_prob()),
        "covers": float(np.mean((low <= truth) & (truth <= high))),
        "conformal": case.conformal(),
        "CPU s": cpu,
        "s": wall,
    }


def run_real(options):
    rows = []
    for name in options.cases or TABLES:
        for cuts in [options.cuts] if options.mixed else [[cut] for cut in options.cuts]:
            # Without anything random, all seeds are the same.
            for seed in range(options.seeds if options.mixed or options.random else 1):
                rows.append(one_table(name, cuts, options.random, seed))
                show(rows[-1]["case"], rows[-1:])
    if options.beside:
        add_ratios(rows, options.beside, "case", ["error", "CPU s"])
    show("Tables with limits of detection", rows)
    if options.save:
        save(options.save, rows)


def planted_table(m, n, rank, family="gaussian", seed=0):
    rng = np.random.default_rng(seed)
    return FAMILIES[family](rng, m, rank) @ rng.standard_normal((n, rank)).T


def tally(truths, rank, threshold, right=1e-6):
    """Return how many tables are recovered on what is determined, and how many converged to something else.

    ``threshold`` is a function of the truth.
    """
    recovered = wrong = 0
    shares, seconds = [], []
    for truth in truths:
        limits = threshold(truth)
        X = np.where(truth >= limits, truth, np.nan)
        solve = lambda X=X, limits=limits: unrelu.complete_rectangular(X, rank, threshold=limits, rng=0)  # noqa: E731
        found, cpu, _ = timed(solve)
        known = found.determined[:, None] & found.columns_determined
        off = np.abs(found.matrix() - truth)[known].max(initial=0.0) / np.abs(truth).max()
        recovered += off <= right
        wrong += found.verdict.converged and off > right
        shares.append(known.mean())
        seconds.append(cpu)
    return {"recovered": int(recovered), "wrong": int(wrong), "of": len(shares),
            "determined": float(np.mean(shares)), "CPU s each": float(np.mean(seconds))}  # fmt: skip


def run_planted(options):
    m, n = options.shape
    seeds = range(options.seeds)
    rows = []
    for rank in options.ranks:
        truths = [planted_table(m, n, rank, seed=seed) for seed in seeds]
        rows.append({"case": f"{m}×{n} rank {rank}, above 0"} | tally(truths, rank, lambda truth: 0.0))
    limits = {
        "per column": lambda truth: np.quantile(truth, 0.5, axis=0, keepdims=True),
        "per row": lambda truth: np.quantile(truth, 0.5, axis=1, keepdims=True),
        "per entry": lambda truth: np.quantile(truth, np.random.default_rng(0).uniform(0.2, 0.8, truth.shape)),
    }
    for name, threshold in limits.items():
        truths = [planted_table(120, 80, 3, seed=seed) for seed in seeds]
        rows.append({"case": f"120×80 rank 3, limits {name}"} | tally(truths, 3, threshold))
    for family in FAMILIES:
        truths = [planted_table(m, n, 5, family, seed) for seed in seeds]
        for name, threshold in {"0": lambda truth: 0.0, "70 %": lambda truth: float(np.quantile(truth, 0.7))}.items():
            rows.append({"case": f"{m}×{n} rank 5, {family} rows, above {name}"} | tally(truths, 5, threshold))
            show(rows[-1]["case"], rows[-1:])
    show("Planted tables without noise, the rank given", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["real", "planted"], help="default: both")
    parser.add_argument("--cases", nargs="+", choices=TABLES)
    parser.add_argument("--cuts", nargs="+", type=float, default=[0.2, 0.5], help="quantiles of the limits")
    parser.add_argument("--mixed", action="store_true", help="the cuts in random order over the columns")
    parser.add_argument("--random", type=float, default=0.0, help="share of other cells missing at random")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shape", nargs=2, type=int, default=[300, 200])
    parser.add_argument("--ranks", nargs="+", type=int, default=[5, 30, 60, 65])
    parser.add_argument("--save", help="name of a file in benchmarks/results")
    parser.add_argument("--beside", help="a file of an earlier run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.only in (None, "real"):
        run_real(options)
    if options.only in (None, "planted"):
        run_planted(options)


if __name__ == "__main__":
    main()
