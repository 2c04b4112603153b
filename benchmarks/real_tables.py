"""Real tables with limits of detection, no rank named: errors beside what the field fills in.

python benchmarks/real_tables.py
python benchmarks/real_tables.py --cases wine

Limits are the 20 % and the 50 % quantile of each column; columns with fewer than three different values are left out.
Errors are root mean squares over the hidden cells, each over the standard deviation of its column. Constants were fixed
on other tables. QRILC and MinProb draw at random, as their authors do, and one draw is scored; what they expect would
err less. Half the limit is meant for amounts: of columns far above 0 the limit itself is better.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

import unrelu
from common import show
from unrelu.data.limits import Ends
from unrelu.model.predictive import Predictive

TABLES = {"wine": load_wine, "cancer": load_breast_cancer, "diabetes": load_diabetes}


class Hidden:
    """A table kept above a limit for each column, and the truth of what was hidden."""

    def __init__(self, table, share):
        self.table = table[:, [len(np.unique(column)) > 2 for column in table.T]]
        self.limits = np.quantile(self.table, share, axis=0)
        self.seen = np.where(self.table >= self.limits, self.table, np.nan)
        self.hidden = np.isnan(self.seen)
        self.sd = self.table.std(axis=0)

    def error(self, filled):
        return float(np.sqrt(np.mean(((filled - self.table) / self.sd)[self.hidden] ** 2)))

    def tobit(self):
        """Mean and standard deviation of each column by itself, by the censored likelihood."""
        found = []
        for column, limit in zip(self.seen.T, self.limits, strict=True):
            values = column[~np.isnan(column)]
            below, centre, scale = len(column) - len(values), values.mean(), values.std()

            def cost(at, values=values, below=below, centre=centre, scale=scale, limit=limit):
                mean, sigma = centre + scale * at[0], scale * np.exp(at[1])
                return -norm.logpdf(values, mean, sigma).sum() - below * norm.logcdf(limit, mean, sigma)

            at = minimize(cost, np.zeros(2), method="Nelder-Mead").x
            found.append((centre + scale * at[0], scale * np.exp(at[1])))
        return np.array(found).T

    def column_by_column(self):
        mean, sigma = (np.broadcast_to(one, self.table.shape) for one in self.tobit())
        return np.where(self.hidden, Predictive(mean, sigma, Ends((-np.inf, self.limits))).expectation(), self.seen)

    def half(self):
        return np.where(self.hidden, np.where(self.limits > 0, self.limits / 2, self.limits), self.seen)

    def imputer(self):
        return IterativeImputer(max_value=self.limits, random_state=0, max_iter=20).fit_transform(self.seen)

    def qrilc(self):
        """Column by column: a normal distribution through the seen quantiles, and draws from it below the limit."""
        rng, filled = np.random.default_rng(0), self.seen.copy()
        for j, limit in enumerate(self.limits):
            values, gone = np.sort(self.seen[~self.hidden[:, j], j]), self.hidden[:, j]
            shares = (gone.sum() + np.arange(1, len(values) + 1) - 0.5) / len(gone)
            slope, middle = np.polyfit(norm.ppf(shares), values, 1)
            most = norm.cdf(limit, middle, max(slope, 1e-12))
            filled[gone, j] = norm.ppf(rng.uniform(0, most, gone.sum()), middle, max(slope, 1e-12))
        return filled

    def min_prob(self):
        """Column by column: draws around a low quantile of what was seen, with 0.3 times the spread of each."""
        rng = np.random.default_rng(0)
        low, spread = np.nanquantile(self.seen, 0.01, axis=0), np.nanstd(self.seen, axis=0)
        return np.where(self.hidden, rng.normal(low, 0.3 * spread, self.seen.shape), self.seen)

    def conformal(self, filled_without):
        """Half width of intervals from a random tenth of the seen cells: they do not know why cells are missing."""
        rng = np.random.default_rng(0)
        rows, cols = np.nonzero(~self.hidden)
        out = rng.permutation(len(rows))[: len(rows) // 10]
        fewer = self.seen.copy()
        fewer[rows[out], cols[out]] = np.nan
        filled = filled_without(fewer)
        off = np.abs(filled - self.table)[rows[out], cols[out]] / self.sd[cols[out]]
        return float(np.quantile(off, 0.95))


def one(name, table, share):
    case = Hidden(table, share)
    began = time.perf_counter()
    found = unrelu.complete_table(case.seen, threshold=case.limits, rng=0)
    seconds = time.perf_counter() - began
    i, j = np.nonzero(case.hidden)
    low, high = found.predict(i, j)
    truth = case.table[i, j]
    plain = case.imputer()
    half_width = case.conformal(lambda fewer: IterativeImputer(random_state=0, max_iter=20).fit_transform(fewer))
    return {
        "table": f"{name} {share}",
        "model": found.model,
        "error": case.error(found.filled()),
        "each column": case.error(case.column_by_column()),
        "IterativeImputer": case.error(plain),
        "half the limit": case.error(case.half()),
        "QRILC": case.error(case.qrilc()),
        "MinProb": case.error(case.min_prob()),
        "covers": float(np.mean((low <= truth) & (truth <= high))),
        "conformal covers": float(np.mean(np.abs(plain[i, j] - truth) <= half_width * case.sd[j])),
        "verdict": found.verdict.code.value,
        "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=lambda text: text.split(","), default=list(TABLES))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in args.cases:
        for share in (0.2, 0.5):
            rows.append(one(name, TABLES[name]().data, share))
            print(rows[-1], flush=True)
    show("Tables with limits of detection", rows, list(rows[0]))


if __name__ == "__main__":
    main()
