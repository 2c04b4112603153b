"""Locate points from short distances beside other methods, with noise, and atoms of proteins.

    python benchmarks/distances.py large peers noise
    python benchmarks/distances.py large --sizes 3000
    python benchmarks/distances.py noise --seeds 2
    python benchmarks/distances.py proteins --folder biopython-*/Tests/PDB

large: seconds over those of SciPy's Dijkstra from 150 sources on the same graph, and the largest error of determined
points in cut-offs. peers: scikit-learn's MDS on shortest paths, and the semidefinite relaxation by cvxpy and SCS.
noise: error over that of the same refinement from the truth, and the share of points in their 95 % ellipse. proteins:
Cα atoms of PDB files (`pip download --no-deps --no-binary biopython biopython` brings some) from distances below 8 Å
that are exact, rounded to three decimals or have noise of 0.05 Å; "off" counts determined points whose error is above a
millionth of the size where distances are exact, and above six standard errors otherwise.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist, squareform
from scipy.stats import chi2

import unrelu
from common import aligned, save, show, status, timed, versions

SOURCES = 150
REACH = 8.0  # Å
ATOMS = range(20, 701)


def deviations(points, truth):
    """Return the distance of each point from the truth after the best rigid motion or reflection."""
    return np.linalg.norm(aligned(points, truth)[0] - truth, axis=1)


def within(gaps, cutoff):
    """Return the square matrix of pairwise distances with NaN above the cut-off."""
    D = squareform(np.where(gaps <= cutoff, gaps, np.nan))
    np.fill_diagonal(D, 0.0)
    return D


def neighbours(n, degree, seed=0):
    """Return points in the square, a cut-off for so many neighbours, and the sparse distances below it."""
    truth = np.random.default_rng(seed).random((n, 2))
    cutoff = float(np.sqrt(degree / (n * np.pi)))
    pairs = cKDTree(truth).query_pairs(cutoff, output_type="ndarray")
    gaps = np.linalg.norm(truth[pairs[:, 0]] - truth[pairs[:, 1]], axis=1)
    return truth, cutoff, sp.csr_array((gaps, (pairs[:, 0], pairs[:, 1])), shape=(n, n))


def large(options):
    rows = []
    for n in options.sizes:
        for degree in (20, 12):
            truth, cutoff, D = neighbours(n, degree)
            sources = np.random.default_rng(1).choice(n, SOURCES, replace=False)
            _, _, base = timed(lambda D=D, sources=sources: dijkstra(D, directed=False, indices=sources))
            found, _, wall = timed(lambda D=D, cutoff=cutoff: unrelu.complete_distances(D, 2, cutoff=cutoff, rng=0))
            known = found.determined & (found.components == 0)
            error = float(deviations(found.points[known], truth[known]).max()) / cutoff
            rows.append({"n": n, "neighbours": degree, "Dijkstra s": base, "s": wall, "ratio": wall / base,
                         "determined": float(known.mean()), "error / cut-off": error})  # fmt: skip
    show("Large and sparse, exact distances", rows)
    return rows


def relaxation(D, cutoff):
    """Return points from a Gram matrix of largest trace with the known distances, others at least the cut-off."""
    import cvxpy as cp

    gram = cp.Variable(D.shape, PSD=True)
    upper = np.triu(np.ones(D.shape, bool), 1)
    diagonal = cp.diag(gram)

    def squares(i, j):
        return diagonal[i] + diagonal[j] - 2 * gram[i, j]

    i, j = np.nonzero(upper & np.isfinite(D))
    far = squares(*np.nonzero(upper & np.isnan(D)))
    constraints = [squares(i, j) == D[i, j] ** 2, far >= cutoff**2, cp.sum(gram, axis=0) == 0]
    cp.Problem(cp.Maximize(cp.trace(gram)), constraints).solve(solver=cp.SCS, eps=1e-6, max_iters=5000)
    values, vectors = np.linalg.eigh(gram.value)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))


def scaled(D):
    """Return points by scikit-learn's metric scaling of shortest paths."""
    from sklearn.manifold import MDS

    paths = dijkstra(sp.csr_array(np.nan_to_num(D)), directed=False)
    options = dict(dissimilarity="precomputed", n_init=4, random_state=0, max_iter=1000, eps=1e-9)
    return MDS(2, **options).fit_transform(paths)


def peers(options, n=100, share=0.2):
    truth = np.random.default_rng(0).random((n, 2))
    gaps = pdist(truth)
    cutoff = float(np.quantile(gaps, share))
    D = within(gaps, cutoff)
    methods = {
        "unrelu": lambda: unrelu.complete_distances(D, 2, cutoff=cutoff, rng=0).points,
        "scikit-learn MDS on shortest paths": lambda: scaled(D),
        "semidefinite relaxation (cvxpy, SCS)": lambda: relaxation(D, cutoff),
    }
    methods["unrelu"]()  # imports
    rows = []
    for name, method in methods.items():
        points, cpu, _ = timed(method)
        error = float(np.sqrt(np.mean(deviations(points, truth) ** 2)))
        rows.append({"method": name, "CPU s": cpu, "rms error": error})
        rows[-1]["CPU s / unrelu"] = cpu / rows[0]["CPU s"]
    show(f"n={n} in the square, the shortest {share:.0%} of the distances", rows)
    return rows


def noisy(dim, share, noise, seed, n=200):
    """Return the ratio of errors to those from the truth, and the share of points in their 95 % ellipse."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, dim))
    gaps = pdist(truth)
    cutoff = float(np.quantile(gaps, share))
    D = within(np.abs(gaps + noise * cutoff * rng.standard_normal(len(gaps))), cutoff)
    found = unrelu.complete_distances(D, dim, cutoff=cutoff, rng=seed)
    best = unrelu.complete_distances(D, dim, cutoff=cutoff, start=truth, rng=seed)
    error, least = (np.sqrt(np.mean(deviations(one.points, truth) ** 2)) for one in (found, best))
    known = found.determined
    moved, turn = aligned(found.points[known], truth[known])
    covariances = turn.T @ found.covariances[known] @ turn
    off = moved - truth[known]
    squares = np.einsum("na,na->n", off, np.linalg.solve(covariances, off[:, :, None])[:, :, 0])
    return error / least, float(np.mean(squares < chi2.ppf(0.95, dim)))


def noise(options):
    rows = []
    for dim, share in ((2, 0.1), (3, 0.2)):
        for level in (0.01, 0.05, 0.1):
            found = [noisy(dim, share, level, seed) for seed in range(options.seeds)]
            ratios, covered = np.array(found).T
            rows.append({"dim": dim, "noise / cut-off": level, "seeds": options.seeds,
                         "ratio below 1.5": int(np.sum(ratios < 1.5)), "worst ratio": float(ratios.max()),
                         "covered": float(covered.mean())})  # fmt: skip
    show("Noise, n=200", rows)
    return rows


def chains(path):
    """Return the Cα atoms of the first model by chain, the first of several alternatives."""
    found, residues = {}, set()
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith("ENDMDL"):
            break
        residue = line[21:27]
        if line.startswith("ATOM") and line[12:16].strip() == "CA" and residue not in residues:
            residues.add(residue)
            found.setdefault(line[21].strip() or "-", []).append([float(line[k : k + 8]) for k in (30, 38, 46)])
    return {name: np.array(atoms) for name, atoms in found.items()}


def structures(folder):
    for path in sorted(Path(folder).rglob("*.pdb")):
        found = chains(path)
        if len(found) > 1:
            found["all"] = np.concatenate(list(found.values()))
        for name, atoms in found.items():
            if len(atoms) in ATOMS:
                yield f"{path.stem}:{name}", atoms


def protein(name, truth, kind):
    gaps = pdist(truth)
    measured = {
        "exact": gaps,
        "rounded": np.round(gaps, 3),
        "noisy": gaps + 0.05 * np.random.default_rng(0).standard_normal(len(gaps)),
    }[kind]
    D = within(measured, REACH)
    found, cpu, _ = timed(lambda: unrelu.complete_distances(D, 3, cutoff=REACH, rng=0))
    off, largest = 0, 0.0
    for label in np.unique(found.components):
        known = np.flatnonzero(found.determined & (found.components == label))
        if len(known) < 2:
            continue
        errors = deviations(found.points[known], truth[known])
        allowed = 6 * np.linalg.norm(found.standard_errors[known], axis=1)
        if kind == "exact":
            allowed = 1e-6 * float(gaps.max())
        off, largest = off + int((errors > allowed).sum()), max(largest, float(errors.max()))
    return {"structure": name, "atoms": len(truth), "distances": kind, "determined": int(found.determined.sum()),
            "off": off, "largest error": largest, "status": status(found), "CPU s": cpu}  # fmt: skip


def proteins(options):
    rows = []
    for name, atoms in structures(options.folder):
        for kind in ("exact", "rounded", "noisy"):
            rows.append(protein(name, atoms, kind))
            print(rows[-1], flush=True)
    if not rows:
        raise SystemExit(f"no PDB file with 20 to 700 atoms in {options.folder}")
    show(f"Cα atoms from distances below {REACH:g} Å", rows)
    print(f"{sum(row['off'] for row in rows)} of {sum(row['determined'] for row in rows)} determined points are off")
    return rows


PARTS = {"large": large, "peers": peers, "noise": noise, "proteins": proteins}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[5_000, 50_000, 200_000])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--folder", help="of PDB files")
    options = parser.parse_args()
    if "proteins" in options.parts and not options.folder:
        parser.error("proteins needs --folder")
    warnings.simplefilter("ignore")
    about = versions("unrelu", "numpy", "scipy", "scikit-learn", "cvxpy", "scs")
    print(about)
    save("distances", {"versions": about} | {name: PARTS[name](options) for name in options.parts})


if __name__ == "__main__":
    main()
