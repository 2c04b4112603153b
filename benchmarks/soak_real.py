"""Random cuts of real data, matrices and tables: how often is the answer worse than the best simple filling?

python benchmarks/soak_real.py --count 200          as make soak-real does
python benchmarks/soak_real.py --only 17            one of them again

Constants of the rehearsal came from kernels of some of these tables, so that this is no independent check of them.

Each instance is drawn from its number: a table of scikit-learn's, some of its rows and columns, and a cut-off; as it
is, with limits for its columns, or as the similarities of its rows or columns. Simple fillings are zero, half the limit
(the limit itself where that is negative) and the mean below the limit of a normal distribution for each column, or for
all.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_linnerud, load_wine

import unrelu
from common import show
from real import Hidden as HiddenPairs
from real import cosines
from real_tables import Hidden as HiddenCells

LOADERS = (load_wine, load_breast_cancer, load_diabetes, load_digits, load_iris, load_linnerud)
KINDS = ("table", "correlations", "cosines", "centred cosines", "kernel")
# How many times the best simple filling is still as good, and how many times is never allowed.
AS_GOOD, NEVER = 1.1, 1.5


def drawn(number):
    """A table, some of its rows and columns in random order, what is made of it, and the share that is hidden."""
    rng = np.random.default_rng([15, number])
    loader = LOADERS[rng.integers(len(LOADERS))]
    table = loader().data.astype(float)
    rows = rng.permutation(len(table))[: rng.integers(min(20, len(table)), min(120, len(table)) + 1)]
    cols = rng.permutation(table.shape[1])[: rng.integers(min(3, table.shape[1]), min(30, table.shape[1]) + 1)]
    table = table[np.ix_(rows, cols)]
    table = table[:, [len(np.unique(column)) > 2 for column in table.T]]
    kind = KINDS[rng.integers(len(KINDS))]
    share = float(rng.uniform(0.2, 0.6)) if kind == "table" else float(rng.uniform(0.3, 0.8))
    return loader.__name__.removeprefix("load_"), kind, table, share


def similarity(kind, table):
    standard = (table - table.mean(axis=0)) / table.std(axis=0)
    if kind == "correlations":
        return np.corrcoef(table, rowvar=False)
    if kind == "cosines":
        return cosines(table - table.min(axis=0) + 0.1 * table.std(axis=0))
    if kind == "centred cosines":
        return cosines(standard)
    squares = np.sum((standard[:, None] - standard) ** 2, axis=-1)
    return np.exp(-squares / np.median(squares[np.triu_indices(len(squares), 1)]))


def of_table(table, share):
    case = HiddenCells(table, share)
    found = unrelu.complete_table(case.seen, threshold=case.limits, rng=0)
    simple = {
        "zero": case.error(np.where(case.hidden, 0.0, case.seen)),
        "half": case.error(case.half()),
        "Tobit": case.error(case.column_by_column()),
    }
    return case.error(found.filled()), simple, found


def of_similarity(matrix, share):
    case = HiddenPairs(matrix, share)
    found = unrelu.complete(case.seen, threshold=case.cut, rng=0)
    simple = {
        "zero": case.error(np.zeros(len(case.truth))),
        "half": case.error(np.full(len(case.truth), case.cut / 2 if case.cut > 0 else case.cut)),
        "Tobit": case.error(case.one_normal().expectation()),
    }
    return case.error(found.filled()[case.i, case.j]), simple, found


def one(number):
    name, kind, table, share = drawn(number)
    if table.shape[1] < 3:
        return None
    began = time.perf_counter()
    if kind == "table":
        error, simple, found = of_table(table, share)
    else:
        matrix = similarity(kind, table)
        if len(matrix) < 8:
            return None
        error, simple, found = of_similarity(matrix, share)
    return {
        "number": number,
        "data": name,
        "kind": kind,
        "shape": "×".join(map(str, table.shape)),
        "hidden": share,
        "error": error,
        **simple,
        "over the best": error / min(simple.values()),
        "verdict": found.verdict.code.value,
        "seconds": time.perf_counter() - began,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    numbers = [args.only] if args.only is not None else range(args.first, args.first + args.count)
    rows = []
    for number in numbers:
        row = one(number)
        if row is not None:
            rows.append(row)
            print(
                {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}, flush=True
            )
    bad = sorted((row for row in rows if row["over the best"] > AS_GOOD), key=lambda row: -row["over the best"])
    if bad:
        show(f"Worse than {AS_GOOD} times the best simple filling", bad, list(bad[0]))
    never = sum(row["over the best"] > NEVER for row in rows)
    print(f"\n{len(rows)} instances: {len(bad)} worse than {AS_GOOD} times the best, {never} worse than {NEVER} times")


if __name__ == "__main__":
    main()
