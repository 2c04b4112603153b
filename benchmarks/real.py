"""Complete real similarity matrices, cut at quantiles, beside simple fills; and planted ones; no rank is named.

    python benchmarks/real.py --only similarities
    python benchmarks/real.py --only similarities --cuts 0.3 0.5 0.75 0.9 0.97 --default
    python benchmarks/real.py --only similarities --cases wine cancer --save before
    python benchmarks/real.py --only similarities --cases wine cancer --beside benchmarks/results/before.json
    python benchmarks/real.py --only grams
    python benchmarks/real.py --only planted --sizes 60 150 --noises 0 0.1 --seeds 3

Errors are root mean squares over the hidden entries off the diagonal, over their standard deviation. "covers" is the
share of hidden entries in their 95 % intervals, "near" that of the 5 % nearest the threshold. The interval score is
over that of one censored normal distribution for all entries. `--default` also completes without naming the threshold
(– where that is refused). `--save` and `--beside` compare with an earlier run, such as one with the Python
of an environment that has an older wheel.
"""

import argparse
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import unrelu
from common import (
    FAMILIES,
    add_ratios,
    censored,
    censored_normal,
    mean_below,
    normalised,
    planted,
    relative_error,
    save,
    show,
    status,
    timed,
)

LEVEL = 0.95


def similarities():
    """Return six matrices: three of correlations, three kernels of the first 400 digits."""
    digits = load_digits().data
    rows = digits[:400]
    squares = np.sum((rows[:, None] - rows) ** 2, axis=-1)
    centred, plain = normalised(rows - rows.mean(axis=0)), normalised(rows)
    return {
        "wine": np.corrcoef(load_wine().data, rowvar=False),
        "cancer": np.corrcoef(load_breast_cancer().data, rowvar=False),
        "pixels": np.corrcoef(digits[:, np.argsort(digits.std(axis=0))[::-1][:54]], rowvar=False),
        "centred-cosine": centred @ centred.T,
        "cosine": plain @ plain.T,
        "rbf": np.exp(-squares / np.median(squares[np.triu_indices(400, 1)])),
    }


class Hidden:
    """A matrix of which a share of the pairs is hidden below a threshold; the truth of what is hidden."""

    def __init__(self, matrix, share):
        i, j = np.triu_indices(len(matrix), 1)
        values = matrix[i, j]
        self.threshold = float(np.quantile(values, share))
        self.X = censored(matrix, self.threshold)
        np.fill_diagonal(self.X, np.diag(matrix))
        hidden = values < self.threshold
        self.i, self.j, self.truth, self.observed = i[hidden], j[hidden], values[hidden], values[~hidden]

    def error(self, estimate):
        return float(np.sqrt(np.mean((estimate - self.truth) ** 2)) / self.truth.std())

    def one_normal(self):
        """Return mean, and interval, of a censored normal distribution fitted to all pairs."""
        mean, sd = censored_normal(self.observed, len(self.truth), self.threshold)
        below = norm.cdf(self.threshold, mean, sd)
        low, high = norm.ppf([(1 - LEVEL) / 2 * below, (1 + LEVEL) / 2 * below], mean, sd)
        return mean_below(self.threshold, mean, sd), (low, high)

    def soft_impute(self):
        """Return SoftImpute's fill for positive semidefinite matrices; a tenth of the observed pairs choose its price.

        Held-out pairs lie above the threshold, so that only the hidden ones are capped at it.
        """
        rng = np.random.default_rng(0)
        i, j = np.nonzero(np.triu(~np.isnan(self.X), 1))
        out = rng.permutation(len(i))[: max(len(i) // 10, 5)]
        fewer = self.X.copy()
        fewer[i[out], j[out]] = fewer[j[out], i[out]] = np.nan
        part, whole, found = np.zeros_like(self.X), np.zeros_like(self.X), []
        for price in np.linalg.eigvalsh(np.nan_to_num(self.X))[-1] * np.geomspace(0.3, 3e-4, 8):
            part = shrunk(fewer, np.inf, price, part)
            whole = shrunk(self.X, self.threshold, price, whole)
            held_out = np.mean((part - self.X)[i[out], j[out]] ** 2)
            found.append((held_out, whole[self.i, self.j]))
        return np.minimum(min(found, key=lambda pair: pair[0])[1], self.threshold)


def shrunk(X, cap, price, fit, steps=300):
    """Return the fit whose eigenvalues are shrunk by the price, hidden entries being the fit's, at most the cap."""
    for _ in range(steps):
        values, vectors = np.linalg.eigh(np.where(np.isnan(X), np.minimum(fit, cap), X))
        new = (vectors * np.maximum(values - price, 0)) @ vectors.T
        change, fit = np.linalg.norm(new - fit), new
        if change <= 1e-4 * np.linalg.norm(fit):
            break
    return fit


def interval_score(truth, low, high):
    """Return the mean interval score of Gneiting and Raftery (2007), eq. (43)."""
    outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    return float(np.mean(high - low + 2 / (1 - LEVEL) * outside))


def one_similarity(name, matrix, share, default):
    case = Hidden(matrix, share)
    found, cpu, wall = timed(lambda: unrelu.complete(case.X, threshold=case.threshold, rng=0))
    mean, ends = case.one_normal()
    low, high = found.predict(case.i, case.j, LEVEL)
    inside = (low <= case.truth) & (case.truth <= high)
    near = case.truth >= np.quantile(case.truth, 0.95)
    row = {
        "case": f"{name} {share:g}",
        "status": status(found),
        "rank": found.rank,
        "error": case.error(found.filled()[case.i, case.j]),
        "zeros": case.error(0.0),
        "one normal": case.error(mean),
        "half threshold": case.error(case.threshold / 2),
        "SoftImpute": case.error(case.soft_impute()),
        "covers": float(np.mean(inside)),
        "near": float(np.mean(inside[near])),
        "score / one normal": interval_score(case.truth, low, high) / interval_score(case.truth, *ends),
        "CPU s": cpu,
        "s": wall,
    }
    if default:
        row |= default_similarity(case, row["error"])
    return row


def default_similarity(case, named_error):
    try:
        found, cpu, _ = timed(lambda: unrelu.complete(case.X, rng=0))
    except unrelu.InputError:
        return {"default error": None}
    error = case.error(found.filled()[case.i, case.j])
    return {"default error": error, "default / named": error / named_error, "default CPU s": cpu}


def run_similarities(options):
    rows = []
    for name, matrix in similarities().items():
        if options.cases and name not in options.cases:
            continue
        for share in options.cuts:
            rows.append(one_similarity(name, matrix, share, options.default))
            show(f"{rows[-1]['case']}:", rows[-1:])
    if options.beside:
        add_ratios(rows, options.beside, "case", ["error", "CPU s"])
    show("Similarities below a quantile hidden", rows)
    simple = [min(row[name] for name in ("zeros", "one normal", "half threshold")) for row in rows]
    ratios = np.array([row["error"] / least for row, least in zip(rows, simple, strict=True)])
    print(f"error over that of the best of zeros, one normal and half the threshold: geometric mean "
          f"{np.exp(np.mean(np.log(ratios))):.3f}, above 1.05 in {np.sum(ratios > 1.05)} of {len(rows)}")  # fmt: skip
    print(f"coverage 90 to 99 %: {sum(0.9 <= row['covers'] <= 0.99 for row in rows)} of {len(rows)}")
    if options.save:
        save(options.save, rows)


def run_grams(options):
    """Gram matrices of tables, threshold 0 and the rank given, beside the best matrix of this rank."""
    wine, cancer, digits = load_wine().data, load_breast_cancer().data[:300], load_digits().data[:300]
    rows = []
    for name, table, rank, standardised in (
        ("wine", wine, 3, True),
        ("cancer", cancer, 5, True),
        ("digits", digits, 3, False),
        ("cancer, only centred", cancer, 5, False),
    ):
        table = table - table.mean(axis=0)
        table = table / table.std(axis=0) if standardised else table
        gram = table @ table.T
        X = censored(gram)
        found, cpu, _ = timed(lambda X=X, rank=rank: unrelu.complete(X, rank, rng=0))
        values, vectors = np.linalg.eigh(gram)
        best = (vectors[:, -rank:] * values[-rank:]) @ vectors[:, -rank:].T
        errors = [float(np.linalg.norm((one - gram)[np.isnan(X)])) for one in (found.filled(), best)]
        row = {"case": name, "rank": rank, "error / best of this rank": errors[0] / errors[1]}
        rows.append(row | {"status": status(found), "CPU s": cpu})
    show("Gram matrices above 0, the rank given", rows)


def run_planted(options):
    """Planted rank 5, entries from 0 on observed: the rank found, and errors on determined rows, or all if none is."""
    rows = []
    for family in FAMILIES:
        for n in options.sizes:
            for noise in options.noises:
                found = [one_planted(family, n, noise, seed, options.default) for seed in range(options.seeds)]
                middle = {name: float(np.median([one[name] for one in found])) for name in found[0]}
                rows.append({"family": family, "n": n, "noise": noise, "seeds": options.seeds} | middle)
                show(family, rows[-1:])
    show("Planted rank 5, medians over the seeds", rows)


def one_planted(family, n, noise, seed, default):
    truth, noisy = planted(n, 5, family, noise, seed)
    X = censored(noisy)
    found, cpu, _ = timed(lambda: unrelu.complete(X, threshold=0, rng=0))
    rows = found.determined if found.determined.any() else np.ones(n, bool)
    known = np.ix_(rows, rows)
    row = {"rank is 5": float(found.rank == 5), "determined": float(np.mean(found.determined))}
    row |= {"error": relative_error(found.filled()[known], truth[known]), "CPU s": cpu}
    if noise:
        i, j = np.nonzero(np.triu(np.isnan(X)))
        low, high = found.predict(i, j, LEVEL)
        row["covers"] = float(np.mean((low <= noisy[i, j]) & (noisy[i, j] <= high)))
    if default:
        unnamed = unrelu.complete(X, rng=0)
        row["default error"] = relative_error(unnamed.filled()[known], truth[known])
    return row


PARTS = {"similarities": run_similarities, "grams": run_grams, "planted": run_planted}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="default: all")
    parser.add_argument("--cases", nargs="+", help="some of the similarities")
    parser.add_argument("--cuts", nargs="+", type=float, default=[0.5, 0.75], help="shares of pairs that are hidden")
    parser.add_argument("--default", action="store_true", help="also without naming the threshold")
    parser.add_argument("--sizes", nargs="+", type=int, default=[60, 150, 400])
    parser.add_argument("--noises", nargs="+", type=float, default=[0.0, 0.1], help="noise over rms entry")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--save", help="name of a file in benchmarks/results")
    parser.add_argument("--beside", help="a file of an earlier run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, part in PARTS.items():
        if options.only in (None, name):
            part(options)


if __name__ == "__main__":
    main()
