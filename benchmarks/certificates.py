"""What knowing costs, as ratios to a solve in the same run: python benchmarks/certificates.py

The solve is `gauss-newton` from the tailored start, the whole call. Determinacy and error bars are measured on its
completion; `certify` completes the matrix itself, and its whole call counts.
"""

import time

import numpy as np

import unrelu
from common import save, show, versions
from unrelu.data.planted import planted
from unrelu.data.sampling import relu

REPEATS = 3


def seconds(function):
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - began)
    return min(times), result


def solved(X, rank):
    return seconds(lambda: unrelu.complete(X, rank, method="gauss-newton", start="tailored", rng=1))


def determinacy(n=2000, rank=10, sigma=0.1):
    X = relu(planted(n, rank, sigma=sigma, rng=0).matrix)
    base, completion = solved(X, rank)
    rng = np.random.default_rng(0)
    rows, cols = rng.integers(n, size=(2, 10_000))

    def known():
        fresh = completion.with_data(X)  # nothing cached
        return fresh.determined, fresh.standard_errors(rows, cols)

    took, (determined, errors) = seconds(known)
    found = f"{determined.sum()} of {n} rows determined, {np.isfinite(errors).mean():.0%} of the errors finite"
    return {"what": f"determinacy and 10,000 error bars, n={n}, r={rank}, σ={sigma}", "solve s": base, "seconds": took,
            "ratio": took / base, "asked": "≤ 1", "found": found}  # fmt: skip


def direct(n=2000, rank=5):
    X = relu(planted(n, rank, rng=0).matrix)
    base, _ = solved(X, rank)
    took, certificate = seconds(lambda: unrelu.certify(X, rank))
    return {"what": f"direct certificate, n={n}, r={rank}", "solve s": base, "seconds": took, "ratio": took / base,
            "asked": "≤ 2", "found": f"{certificate.kind}, unique: {certificate.unique}"}  # fmt: skip


def stress(n=500, rank=40):
    """A rank at which no fully seen block starts."""
    X = relu(planted(n, rank, rng=0).matrix)
    base, _ = solved(X, rank)
    took, certificate = seconds(lambda: unrelu.certify(X, rank))
    return {"what": f"stress matrix, n={n}, r={rank}", "solve s": base, "seconds": took, "ratio": took / base,
            "asked": "≤ 50", "found": f"{certificate.kind}, unique: {certificate.unique}"}  # fmt: skip


def proved(n, rank, seeds=20):
    kinds = []
    for seed in range(seeds):
        certificate = unrelu.certify(relu(planted(n, rank, rng=[seed, 5]).matrix), rank)
        kinds.append(certificate.kind if certificate.unique else "not proved")
    counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    return {"n": n, "r": rank, "proved": sum(k != "not proved" for k in kinds), "of": seeds, "by": str(counts)}


def main():
    about = versions("unrelu", "numpy", "scipy")
    print(about)
    rows = [determinacy(), direct(), stress()]
    show("Cost", rows, ["what", "solve s", "seconds", "ratio", "asked", "found"])
    counts = [proved(200, rank) for rank in (2, 5, 10, 15, 20, 25)] + [proved(1000, 20)]
    show("Uniqueness proved, Gaussian factors (asked: 19 of 20 up to r=20)", counts, ["n", "r", "proved", "of", "by"])
    save("certificates", {"versions": about, "cost": rows, "proved": counts})


if __name__ == "__main__":
    main()
