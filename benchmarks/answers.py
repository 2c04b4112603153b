"""The same answers as before: a hundred stored instances, solved again and compared number by number.

    python benchmarks/answers.py            compare with benchmarks/answers.npz; exit code 1 if anything differs
    python benchmarks/answers.py --write    store what this version says

An answer is its verdict, its objective (of distances the residual), and 500 entries between determined rows (or
distances between determined points), drawn once and stored as numbers. It is the same if the verdicts are equal and
every entry agrees to 1e-8 of the rms entry, or if the objective is lower. The instances are drawn here with NumPy
alone, and only public names are used, so that the script runs on any version of the library.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import unrelu

STORED = Path(__file__).parent / "answers.npz"
ENTRIES = 500
SAME = 1e-8
# By so much, relatively, an objective must be lower to count as lower.
LOWER = 1e-9

FAMILIES = {
    "gaussian": lambda g, n, r: g.standard_normal((n, r)),
    "condition-10": lambda g, n, r: g.standard_normal((n, r)) * np.geomspace(1, 0.1, r),
    "condition-100": lambda g, n, r: g.standard_normal((n, r)) * np.geomspace(1, 0.01, r),
    "clusters": lambda g, n, r: g.standard_normal((10, r))[g.integers(0, 10, n)] + 0.1 * g.standard_normal((n, r)),
    "sparse": lambda g, n, r: g.standard_normal((n, r)) * (g.random((n, r)) < 0.3),
    "uniform": lambda g, n, r: g.uniform(-0.3, 0.7, (n, r)),
    "student-t": lambda g, n, r: g.standard_t(3, (n, r)),
    "cauchy": lambda g, n, r: g.standard_cauchy((n, r)),
    "log-normal": lambda g, n, r: g.standard_normal((n, r)) * g.lognormal(size=(n, 1)),
    "shifted": lambda g, n, r: g.standard_normal((n, r)) + 0.5,
    "repeated": lambda g, n, r: g.standard_normal((n // 4, r))[g.integers(0, n // 4, n)],
}
METHODS = ("gauss-newton", "direct", "gradient-descent", "scaled-gd", "pam", "momentum-pam", "gnmr", "admm", "sdp")


def generator(name):
    return np.random.default_rng(list(name.encode()))


def planted(name, n, r, *, family="gaussian", noise=0.0, symmetric=True):
    g = generator(name)
    U = FAMILIES[family](g, n, r)
    M = U @ U.T
    E = g.standard_normal((n, n)) * noise * np.sqrt(np.mean(M * M))
    return M + ((E + E.T) / np.sqrt(2) if symmetric else E), g


def above(M, tau):
    return np.where(tau <= M, M, np.nan)


def matrices():
    """Names and arguments of every matrix that is completed."""
    for family in FAMILIES:
        M, _ = planted(family, 60, 3, family=family)
        yield f"{family}, above 0", above(M, 0.0), 3, {}
        tau = float(np.quantile(M, 0.7))
        yield f"{family}, above the 70 % quantile", above(M, tau), 3, {"threshold": tau}
        M, _ = planted(f"noisy {family}", 80, 3, family=family, noise=0.01)
        yield f"{family}, noise 1 %", above(M, 0.0), 3, {}
    for n in (10, 20, 40, 200, 400):
        for r in (1, 2, 5):
            M, _ = planted(f"size {n} {r}", n, r)
            yield f"n={n} r={r}", above(M, 0.0), r, {}
    for n in (20, 60, 150):
        for noise in (0.01, 0.05, 0.2):
            M, _ = planted(f"noise {n} {noise}", n, 3, noise=noise, symmetric=n != 60)
            yield f"n={n} noise {noise:g}", above(M, 0.0), 3, {}
    for n in (12, 30, 80, 160):
        M, g = planted(f"below {n}", n, 2)
        tau = float(np.quantile(M, 0.6))
        yield f"n={n} seen below", np.where(tau >= M, M, np.nan), 2, {"threshold": tau, "seen": "below"}
        M, g = planted(f"gaps {n}", n, 2)
        hidden = np.triu(g.random((n, n)) < 0.4)
        yield f"n={n} random gaps", np.where(hidden | hidden.T, np.nan, M), 2, {"threshold": None}
    for n in (30, 90):
        M, g = planted(f"unknown {n}", n, 3)
        lost = g.random((n, n)) < 0.1
        X = np.where(lost, np.nan, above(M, 0.0))
        yield f"n={n} some unknown", X, 3, {"unknown": lost}
    for n in (25, 70, 300):
        M, _ = planted(f"single {n}", n, 3, noise=0.0 if n != 70 else 0.01)
        yield f"n={n} float32", above(M, 0.0).astype(np.float32), 3, {}
    for method in METHODS:
        M, _ = planted(f"method {method}", 50, 2)
        yield f"method {method}", above(M, 0.0), 2, {"method": method}


def pieces(name, points, cutoff, noise=0.0):
    g = generator(f"noise of {name}")
    D = np.linalg.norm(points[:, None] - points, axis=2)
    E = noise * g.standard_normal(D.shape)
    D = np.abs(D + (E + E.T) / np.sqrt(2))
    np.fill_diagonal(D, 0.0)
    return np.where(cutoff >= D, D, np.nan)


def distances():
    """Names and arguments of every set of distances."""
    for n, dim, cutoff in ((30, 2, 0.45), (80, 2, 0.3), (60, 3, 0.6), (200, 3, 0.35)):
        name = f"cube n={n} dim={dim}"
        yield name, pieces(name, generator(name).random((n, dim)), cutoff), dim, {"cutoff": cutoff}
    for noise in (0.002, 0.01, 0.03):
        name = f"noisy cube {noise:g}"
        yield name, pieces(name, generator(name).random((50, 2)), 0.45, noise), 2, {"cutoff": 0.45}
    name = "anchors"
    points = generator(name).random((40, 2))
    anchors = {i: points[i] for i in range(5)}
    yield name, pieces(name, points, 0.4), 2, {"cutoff": 0.4, "anchors": anchors}
    name = "no cut-off"
    yield name, pieces(name, generator(name).random((40, 2)), 0.5), 2, {}
    name = "squared"
    yield name, pieces(name, generator(name).random((40, 2)), 0.5), 2, {"cutoff": 0.5, "loss": "squared"}
    name = "censored"
    X = pieces(name, generator(name).random((50, 2)), 0.45, 0.01)
    yield name, X, 2, {"cutoff": 0.45, "loss": "censored", "sigma": 0.01}
    name = "two pieces"
    points = generator(name).random((40, 2)) + 5 * (np.arange(40) % 2)[:, None]
    yield name, pieces(name, points, 0.6), 2, {"cutoff": 0.6}


def certified():
    """Names and arguments of every matrix that is certified."""
    for n, r in ((12, 2), (30, 2), (60, 3), (120, 5), (200, 8)):
        M, _ = planted(f"certify {n} {r}", n, r)
        yield f"certify n={n} r={r}", above(M, 0.0), r
    for family in ("repeated", "sparse", "clusters"):
        M, _ = planted(f"certify {family}", 40, 3, family=family)
        yield f"certify {family}", above(M, 0.0), 3
    M, _ = planted("certify noise", 50, 2, noise=0.02)
    yield "certify noise", above(M, 0.0), 2


def chosen(name, determined):
    """The same pairs of determined rows whenever the same rows are determined."""
    rows = np.flatnonzero(determined)
    rows = rows if rows.size else np.arange(len(determined))
    g = generator(f"entries of {name}")
    return g.choice(rows, ENTRIES), g.choice(rows, ENTRIES)


def answers(stored):
    """Name, verdict, objective, places and entries of every instance; at the stored places where there are any."""

    def places(name, determined):
        return stored[name][:2] if name in stored else chosen(name, determined)

    for name, X, rank, options in matrices():
        # They were stored when squares were all there was; a loss that is chosen by the noise has answers of its own.
        squares = {} if "method" in options or options.get("threshold", 0.0) is None else {"loss": "one-sided"}
        found = unrelu.complete(X, rank, rng=0, **squares, **options)
        i, j = places(name, found.determined)
        levels = " ".join(f"{word} {(found.determinacy == word).sum()}" for word in ("proved", "generic", "local"))
        yield name, f"{found.verdict.code}; {levels}", found.objective, i, j, found.entries(i, j)
    for name, D, dim, options in distances():
        found = unrelu.complete_distances(D, dim, rng=0, **options)
        i, j = places(name, found.determined)
        apart = np.linalg.norm(found.points[i] - found.points[j], axis=1)
        yield name, f"{found.verdict.code}; determined {found.determined.sum()}", found.residual, i, j, apart
    for name, X, rank in certified():
        found = unrelu.certify(X, rank, rng=0)
        completion = unrelu.complete(X, rank, loss="one-sided", rng=0)
        i, j = places(name, completion.determined)
        words = f"{found.kind}; unique {found.unique}; any rank {found.any_rank}"
        yield name, words, completion.objective, i, j, completion.entries(i, j)


def read():
    if not STORED.exists():
        return {}
    with np.load(STORED) as file:
        return {
            str(name): (file["rows"][k].astype(int), file["cols"][k].astype(int), file["entries"][k], *more)
            for k, (name, *more) in enumerate(
                zip(file["names"], file["verdicts"].astype(str), file["objectives"], strict=True)
            )
        }


def write(found):
    names, verdicts, objectives, rows, cols, entries = zip(*found, strict=True)
    np.savez_compressed(
        STORED,
        names=np.array(names),
        verdicts=np.array(verdicts),
        objectives=np.array(objectives),
        rows=np.array(rows, np.uint16),
        cols=np.array(cols, np.uint16),
        entries=np.array(entries, np.float64),
    )
    print(f"wrote {len(names)} answers to {STORED.name}")


def compared(name, verdict, objective, entries, stored):
    """What differs, in words; empty if the answer is the same or better."""
    _, _, before, said, value = stored
    size = float(np.sqrt(np.mean(before**2)))
    apart = float(np.abs(entries - before).max()) / (size or 1.0)
    lower = objective < value * (1 - LOWER)
    words = []
    if said != verdict:
        words.append(f"{name}: was “{said}”, is “{verdict}”")
    if apart > SAME and not lower:
        words.append(f"{name}: entries differ by {apart:.1e} of their rms; objective {value:.6g}, now {objective:.6g}")
    return words, apart


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="store what this version says")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    stored, began = {} if options.write else read(), time.perf_counter()
    found, differing, worst = [], [], 0.0
    for name, verdict, objective, i, j, entries in answers(stored):
        found.append((name, verdict, objective, i, j, entries))
        if not options.write:
            if name not in stored:
                differing.append(f"{name}: not stored")
                continue
            words, apart = compared(name, verdict, objective, entries, stored[name])
            differing += words
            worst = max(worst, apart) if not words else worst
    if options.write:
        return write(found)
    print("\n".join(differing))
    print(f"{len(found)} answers in {time.perf_counter() - began:.0f} s: {len(differing)} differences;")
    print(f"the entries of all others agree to {worst:.1e} of their rms")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
