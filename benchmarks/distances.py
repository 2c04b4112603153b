"""Points from short distances beside their peers: python benchmarks/distances.py [large] [peers] [noise]

Large: wall-clock time over that of SciPy's Dijkstra from 150 sources on the same graph in the same run (asked: at most
6 at n=5,000 and 15 at n=50,000), and the largest error on the determined points in cut-offs. Peers: scikit-learn's MDS
on the completed shortest-path matrix and the semidefinite relaxation, at n=100. Noise: error over that of the same
refinement started at the truth, and how many points lie within their 95 % ellipse.
"""

import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree
from scipy.stats import chi2

import unrelu
from common import save, show, versions
from unrelu.data.planted import points_in_cube, shortest, within
from unrelu.distances.alignment import align, deviation

SOURCES = 150


def timed(function):
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def neighbours(n, degree, seed):
    """Points uniform in the square, a cut-off for that many neighbours, and the distances below it."""
    truth = np.random.default_rng(seed).random((n, 2))
    cutoff = float(np.sqrt(degree / (n * np.pi)))
    pairs = cKDTree(truth).query_pairs(cutoff, output_type="ndarray")
    d = np.linalg.norm(truth[pairs[:, 0]] - truth[pairs[:, 1]], axis=1)
    return truth, cutoff, sp.csr_array((d, (pairs[:, 0], pairs[:, 1])), shape=(n, n))


def large(cases=((5_000, 20), (50_000, 20), (200_000, 20), (5_000, 12))):
    rows = []
    for n, degree in cases:
        truth, cutoff, D = neighbours(n, degree, seed=0)
        sources = np.random.default_rng(1).choice(n, SOURCES, replace=False)
        base, _ = timed(lambda D=D, sources=sources: dijkstra(D, directed=False, indices=sources))
        seconds, result = timed(lambda D=D, cutoff=cutoff: unrelu.complete_distances(D, 2, cutoff=cutoff, rng=0))
        fixed = result.determined & (result.components == 0)
        error = float(deviation(result.points[fixed], truth[fixed]).max()) / cutoff
        asked = {(5_000, 20): 6, (50_000, 20): 15}.get((n, degree))
        rows.append({"n": n, "neighbours": degree, "Dijkstra s": base, "s": seconds, "ratio": seconds / base,
                     "asked": asked, "determined": float(fixed.mean()), "error / cut-off": error})  # fmt: skip
    show("Large and sparse, noiseless", rows, list(rows[0]))
    return rows


def relaxation(D, cutoff):
    """A Gram matrix of any rank with the seen distances, unseen ones at least the cut-off, as spread out as may be."""
    import cvxpy as cp

    n = len(D)
    gram = cp.Variable((n, n), PSD=True)
    i, j = np.nonzero(np.triu(np.isfinite(D), 1))
    far, away = np.nonzero(np.triu(np.isnan(D), 1))
    diagonal = cp.diag(gram)
    squares = diagonal[i] + diagonal[j] - 2 * gram[i, j]
    unseen = diagonal[far] + diagonal[away] - 2 * gram[far, away]
    problem = cp.Problem(
        cp.Maximize(cp.trace(gram)), [squares == D[i, j] ** 2, unseen >= cutoff**2, cp.sum(gram, axis=0) == 0]
    )
    problem.solve(solver=cp.SCS, eps=1e-6, max_iters=5000)
    values, vectors = np.linalg.eigh(gram.value)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))


def scaled(D):
    """scikit-learn's MDS on shortest paths."""
    from sklearn.manifold import MDS

    paths = dijkstra(sp.csr_array(np.nan_to_num(D)), directed=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MDS(2, dissimilarity="precomputed", n_init=4, random_state=0, max_iter=1000, eps=1e-9).fit_transform(
            paths
        )


def peers(n=100, fraction=0.2):
    truth = points_in_cube(n, 2, rng=0)
    D, cutoff = shortest(truth, fraction)
    methods = {
        "unrelu": lambda: unrelu.complete_distances(D, 2, cutoff=cutoff, rng=0).points,
        "sklearn MDS on shortest paths": lambda: scaled(D),
        "semidefinite relaxation (cvxpy, SCS)": lambda: relaxation(D, cutoff),
    }
    methods["unrelu"]()  # imports
    rows = []
    for name, method in methods.items():
        seconds, points = timed(method)
        error = float(np.sqrt(np.mean(deviation(points, truth) ** 2)))
        rows.append({"method": name, "s": seconds, "rms error": error})
    for row in rows:
        row["times unrelu"] = row["s"] / rows[0]["s"]
    show(f"n={n} in the square, the shortest {fraction:.0%} of the distances", rows, list(rows[0]))
    return rows


def noise(trials=20):
    rows = []
    for dim, fraction in ((2, 0.1), (3, 0.2)):
        for share in (0.01, 0.05, 0.1):
            ratios, shares = [], []
            for seed in range(trials):
                truth = points_in_cube(200, dim, rng=seed)
                cutoff = shortest(truth, fraction)[1]
                D = within(truth, cutoff, noise=share * cutoff, rng=seed + 100)
                result = unrelu.complete_distances(D, dim, cutoff=cutoff, rng=seed)
                best = unrelu.complete_distances(D, dim, cutoff=cutoff, start=truth, rng=seed)
                error, least = (np.sqrt(np.mean(deviation(r.points, truth) ** 2)) for r in (result, best))
                ratios.append(error / least)
                fixed = result.determined
                motion = align(result.points[fixed], truth[fixed])
                gap = motion(result.points[fixed]) - truth[fixed]
                cov = np.einsum("ia,nij,jb->nab", motion.turn, result.covariances[fixed], motion.turn)
                size = np.einsum("na,nab,nb->n", gap, np.linalg.inv(cov), gap)
                shares.append(np.mean(size < chi2.ppf(0.95, dim)))
            close = f"{np.sum(np.array(ratios) < 1.5)}/{trials}"
            rows.append({"dim": dim, "noise / cut-off": share, "within 1.5": close,
                         "worst ratio": float(max(ratios)), "covered": float(np.mean(shares))})  # fmt: skip
    show("Noise, n=200", rows, list(rows[0]))
    return rows


PARTS = {"large": large, "peers": peers, "noise": noise}


def main():
    about = versions("unrelu", "numpy", "scipy", "scikit-learn", "cvxpy", "scs")
    print(about)
    chosen = sys.argv[1:] or list(PARTS)
    save("distances", {"versions": about, **{name: PARTS[name]() for name in chosen}})


if __name__ == "__main__":
    main()
