"""Proteins from contacts of their Cα atoms within 8 Å: python benchmarks/proteins.py FOLDER

FOLDER holds PDB files, for instance Tests/PDB of Biopython's source, which
`pip download --no-deps --no-binary biopython biopython` brings. Of the first model the Cα atoms of every chain are
taken, and all of them together where the file has several. Distances are exact, rounded to three decimals, or have
noise of 0.05 Å. Asked: no point that is called determined and is off, by a millionth of the size where distances are
exact, by more than six standard errors else.
"""

import sys
import time
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist, squareform

import unrelu
from common import save, show, versions
from unrelu.distances.alignment import deviation

REACH, DIM = 8.0, 3
FEWEST, MOST = 20, 700
FAR, EXACT = 6.0, 1e-6


def chains(path):
    """Places of the Cα atoms by chain: first model, first of several alternatives."""
    found, seen = {}, set()
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith("ENDMDL"):
            break
        if not line.startswith("ATOM") or line[12:16].strip() != "CA":
            continue
        residue = line[21], line[22:27]
        if residue in seen:
            continue
        seen.add(residue)
        found.setdefault(line[21], []).append([float(line[k : k + 8]) for k in (30, 38, 46)])
    return {name: np.array(atoms) for name, atoms in found.items()}


def structures(folder):
    for path in sorted(Path(folder).rglob("*.pdb")):
        found = chains(path)
        if len(found) > 1:
            found["all"] = np.concatenate(list(found.values()))
        for name, atoms in found.items():
            if FEWEST <= len(atoms) <= MOST:
                yield f"{path.stem}:{name.strip() or '-'}", atoms


def measured(truth, how, rng):
    gaps = pdist(truth)
    if how == "rounded":
        gaps = np.round(gaps, 3)
    elif how == "noisy":
        gaps = gaps + 0.05 * rng.standard_normal(len(gaps))
    D = squareform(np.where(gaps <= REACH, gaps, np.nan))
    np.fill_diagonal(D, 0.0)
    return D


def trial(name, truth, how):
    D = measured(truth, how, np.random.default_rng(0))
    began = time.perf_counter()
    result = unrelu.complete_distances(D, DIM, cutoff=REACH, rng=0)
    off, largest = 0, 0.0
    for label in np.unique(result.components):
        fixed = np.flatnonzero(result.determined & (result.components == label))
        if len(fixed) < 2:
            continue
        error = deviation(result.points[fixed], truth[fixed])
        room = FAR * np.linalg.norm(result.standard_errors[fixed], axis=1)
        if how == "exact":
            room = np.full(len(fixed), EXACT * float(pdist(truth).max()))
        off, largest = off + int((error > room).sum()), max(largest, float(error.max()))
    return {
        "structure": name, "atoms": len(truth), "distances": how, "determined": int(result.determined.sum()),
        "off": off, "largest error": largest, "code": result.verdict.code.value, "s": time.perf_counter() - began,
    }  # fmt: skip


def main():
    about = versions("unrelu", "numpy", "scipy")
    print(about)
    rows = []
    for one in structures(sys.argv[1]):
        for how in ("exact", "rounded", "noisy"):
            rows.append(trial(*one, how))
            print(rows[-1], flush=True)
    show("Cα atoms from distances below 8 Å", rows, list(rows[0]))
    print(f"{sum(row['off'] for row in rows)} of {sum(row['determined'] for row in rows)} determined points are off")
    save("proteins", {"versions": about, "rows": rows})


if __name__ == "__main__":
    main()
