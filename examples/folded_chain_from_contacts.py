"""A folded chain from its contacts.

A chain of 300 beads with steps of 3.8, folded into a ball like the trace of a protein. Known: the distances between
beads closer than 8, and that all others are further apart. Found: the fold, exactly, or its mirror image; distances
cannot tell a left hand from a right one. With contacts only up to 5.4 the data leave something open, and the answer
says where.

    python examples/folded_chain_from_contacts.py

writes chain.png, and chain.pdb for programs that draw molecules. `--quick` takes 120 beads.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection

import unrelu
from unrelu.datasets import chain, within

LOOSE = "#d55e00"


def laid_over(found: np.ndarray, truth: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Turn, shift and, if need be, mirror the answer onto the truth."""
    centre, aim = found[sure].mean(axis=0), truth[sure].mean(axis=0)
    left, _, right = np.linalg.svd((found[sure] - centre).T @ (truth[sure] - aim))
    return (found - centre) @ left @ right + aim


def fold(truth: np.ndarray, cutoff: float) -> tuple[unrelu.DistanceCompletion, np.ndarray, float]:
    """Complete the contacts, and compare: the answer, laid over the truth, and its rms error where it is sure."""
    contacts = within(truth, cutoff)
    completion = unrelu.complete_distances(contacts, dim=3, cutoff=cutoff, rng=0)
    sure = completion.determined
    if not sure.any():
        return completion, completion.points, float("nan")
    found = laid_over(completion.points, truth, sure)
    error = float(np.sqrt(np.mean(np.sum((found - truth)[sure] ** 2, axis=1))))
    share = np.mean(~np.isnan(contacts[np.triu_indices(len(truth), 1)]))
    print(
        f"cut-off {cutoff:g}: {share:.1%} of the distances known, {int(sure.sum())} of {len(truth)} beads determined,"
    )
    print(f"  root-mean-square error of those {error:.1e}; {completion.verdict}")
    return completion, found, error


def draw(truth: np.ndarray, folds: dict[float, tuple[unrelu.DistanceCompletion, np.ndarray, float]]) -> Figure:
    n = len(truth)
    figure = Figure(figsize=(15, 5.6), layout="constrained")
    sharp, loose = max(folds), min(folds)
    ax = figure.add_subplot(1, 3, 1)
    known = within(truth, sharp)
    image = ax.imshow(known, cmap="viridis_r", interpolation="nearest", origin="lower")
    figure.colorbar(image, ax=ax, shrink=0.75, label="distance")
    ax.set_title(f"known: contacts closer than {sharp:g}")
    ax.set_xlabel("bead")
    ax.set_ylabel("bead")
    for place, cutoff in ((2, sharp), (3, loose)):
        completion, found, error = folds[cutoff]
        sure = completion.determined
        ax = figure.add_subplot(1, 3, place, projection="3d", computed_zorder=False)
        bonds = np.stack([found[:-1], found[1:]], axis=1)
        both = sure[:-1] & sure[1:]
        along = np.arange(n - 1)
        lines = Line3DCollection(
            bonds[both], array=along[both], cmap="viridis", linewidths=3.2, capstyle="round", zorder=2
        )
        lines.set_clim(0, n - 1)
        ax.add_collection3d(lines, autolim=False)
        ax.add_collection3d(Line3DCollection(bonds[~both], colors=LOOSE, linewidths=1.1, zorder=3), autolim=False)
        ax.scatter(*found[~sure].T, s=22, c=LOOSE, marker="^", depthshade=False, zorder=4)
        ax.scatter(*truth.T, s=6, c="#222222", depthshade=False, zorder=5, label="truth")
        ax.plot([], [], color="#21918c", linewidth=3.2, label=f"determined ({int(sure.sum())})")
        if not sure.all():
            ax.plot([], [], "^-", color=LOOSE, linewidth=1.1, label=f"not determined ({int((~sure).sum())})")
        half = 1.02 * np.abs(truth - truth.mean(axis=0)).max()
        for setter, middle in zip((ax.set_xlim, ax.set_ylim, ax.set_zlim), truth.mean(axis=0), strict=True):
            setter(middle - half, middle + half)
        ax.set_box_aspect((1, 1, 1), zoom=1.25)
        ax.set_axis_off()
        ax.view_init(18, 35)
        ax.set_title(f"found from contacts closer than {cutoff:g}:\nerror {error:.0e} where determined")
        ax.legend(loc="lower center", ncols=3, frameon=False, bbox_to_anchor=(0.5, -0.06))
    return figure


def main(arguments: list[str] | None = None) -> dict[float, tuple[int, float]]:
    parser = argparse.ArgumentParser(description="A folded chain from its contacts.")
    parser.add_argument("-o", "--output", type=Path, default=Path("chain.png"))
    parser.add_argument("--quick", action="store_true", help="a chain of 120 beads")
    options = parser.parse_args(arguments)
    truth = chain(120 if options.quick else 300, rng=0)
    folds = {cutoff: fold(truth, cutoff) for cutoff in (8.0, 5.4)}
    draw(truth, folds).savefig(options.output, dpi=60 if options.quick else 110)
    trace = options.output.with_suffix(".xyz")
    found = folds[8.0][1]
    np.savetxt(trace, found, fmt="C %.3f %.3f %.3f", header=f"{len(found)}\nfolded chain", comments="")
    print(f"wrote {options.output} and {trace}")
    return {cutoff: (int(done.determined.sum()), error) for cutoff, (done, _, error) in folds.items()}


if __name__ == "__main__":
    main()
