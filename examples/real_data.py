"""Three real matrices: correlations above a threshold, a table with limits of detection, and a radio map.

No rank is named: each is completed by the model that predicts held-out entries best, and drawn beside the truth. See
docs/matrices.md and docs/tables.md.

    python examples/real_data.py -o FOLDER

writes similarity.png, wine.png and radio.png there. `--quick` takes few of the columns.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_wine

import unrelu

SEEN, FORECAST, TRUTH = "#999999", "#0072b2", "#d55e00"
CUT_OFF, QUANTILE, HEARD = 0.3, 0.2, -85.0
# Intervals that are drawn, one in so many.
EVERY = 10


def similarity(quick: bool = False) -> tuple[Figure, float]:
    """Correlations of the measurements of tumours; the picture, and how many of the intervals hold the truth."""
    table = load_breast_cancer(as_frame=True).data
    truth = table.iloc[:, :12].corr() if quick else table.corr()
    seen = truth.where(truth >= CUT_OFF).round(3)
    found = unrelu.complete(seen, threshold=CUT_OFF, rng=0)
    print(f"similarity: {found.verdict}")
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    axes = figure.subplots(1, 4)
    filled = found.filled().to_numpy()
    for ax, values, title in ((axes[0], seen.to_numpy(), "seen"), (axes[1], filled, "filled in")):
        image = ax.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
        ax.set_facecolor("#dddddd")
        ax.set_title(f"{title}: correlations of {len(truth)} measurements", fontsize="medium")
        ax.set_xticks([])
        ax.set_yticks([])
    figure.colorbar(image, ax=axes[1], shrink=0.8)
    draw_models(axes[2], found.rehearsal)
    i, j = np.nonzero(np.triu(seen.isna().to_numpy(), 1))
    draw_forecasts(axes[3], truth.to_numpy()[i, j], filled[i, j], found.predict(i, j), every=1)
    axes[3].axhline(CUT_OFF, color=SEEN, linestyle=":")
    axes[3].set_title("hidden correlations, and their 95 % intervals", fontsize="medium")
    return figure, covered(found.predict(i, j), truth.to_numpy()[i, j])


def draw_models(ax: object, rehearsal: object) -> None:
    """The gain of every model at the two raised cut-offs."""
    trials = rehearsal.trials
    kinds = {
        "ranks": [k for k, one in enumerate(trials) if not one.shrinkage and one.diagonal == "data"],
        "ranks, diagonal a limit": [k for k, one in enumerate(trials) if not one.shrinkage and one.diagonal != "data"],
        "price on the trace": [k for k, one in enumerate(trials) if one.shrinkage],
    }
    for (name, places), colour in zip(kinds.items(), (TRUTH, "#e69f00", FORECAST), strict=True):
        for level, marker in enumerate("ov"):
            ax.plot(places, [trials[k].gains[level] for k in places], f"{marker}-", color=colour, markersize=4, lw=0.8)
        ax.plot([], [], "-", color=colour, label=name)
    for marker, share in zip("ov", rehearsal.levels, strict=True):
        ax.plot([], [], marker, color="black", markersize=4, label=f"{share.share:.0%} of the seen pairs hidden")
    ax.axvline(rehearsal.chosen, color=SEEN, linestyle=":", label="taken")
    ax.axhline(0, color="black", lw=0.8)
    # Models that forecast far worse than no structure would leave no room for the others.
    ax.set_ylim(max(-2.0, min(min(one.gains) for one in trials)) - 0.1, None)
    ax.legend(fontsize="x-small", loc="lower right")
    ax.set_xlabel("models, in each kind from simple to rich")
    ax.set_title("log-likelihood per hidden pair\nabove no structure, undamped", fontsize="medium")


def wine(quick: bool = False) -> tuple[Figure, float]:
    """Measurements of wines, of which those below a limit of each column were not seen."""
    truth = load_wine(as_frame=True).data
    truth = truth.iloc[:, 4:9] if quick else truth
    limits = truth.quantile(QUANTILE)
    seen = truth.where(truth >= limits)
    found = unrelu.complete_table(seen, threshold=limits, log=True, rng=0)
    print(f"wine: {found.verdict}")
    figure = Figure(figsize=(15, 4.4), layout="constrained")
    axes = figure.subplots(1, 4)
    filled = found.filled()
    order = np.argsort(truth["flavanoids"].to_numpy())
    standard = ((table - truth.mean()) / truth.std() for table in (seen, filled))
    for ax, values, title in zip(axes, standard, ("seen", "filled in"), strict=False):
        shown = values.to_numpy()[order]
        image = ax.imshow(shown, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto", interpolation="nearest")
        ax.set_facecolor("#dddddd")
        ax.set_title(f"{title}: {len(truth)} wines, sorted by flavanoids", fontsize="medium")
        ax.set_yticks([])
        ax.set_xticks(range(truth.shape[1]), [name[:14] for name in truth.columns], rotation=90, fontsize="x-small")
    figure.colorbar(image, ax=axes[1], label="standard deviations of the column")
    for ax, name in zip(axes[2:], ("flavanoids", "magnesium"), strict=True):
        i = np.flatnonzero(seen[name].isna())
        column = truth.columns.get_loc(name)
        draw_forecasts(ax, truth[name].to_numpy()[i], filled[name].to_numpy()[i], found.predict(i, column), every=1)
        ax.axhline(limits[name], color=SEEN, linestyle=":")
        ax.set_title(f"{name} below the limit", fontsize="medium")
    i, j = np.nonzero(seen.isna().to_numpy())
    return figure, covered(found.predict(i, j), truth.to_numpy()[i, j])


def building(seed: int, stations: int = 12) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Places and stations in a building, and how strongly each is heard at each place: the one of the page."""
    rng = np.random.default_rng(seed)
    places, masts = rng.uniform(0, 60, (150, 2)), rng.uniform(0, 60, (stations, 2))
    far = np.linalg.norm(places[:, None] - masts, axis=2)
    near = np.exp(-np.linalg.norm(places[:, None] - places, axis=2) / 20)
    shadows = 6 * np.linalg.cholesky(near) @ rng.standard_normal(far.shape)
    levels = -40 - 20 * np.log10(far) - 0.5 * far + shadows + rng.standard_normal(far.shape)
    return places, masts, pd.DataFrame(levels)


def radio(quick: bool = False) -> tuple[Figure, float]:
    """How strongly stations are heard in a building, of which the weak ones are not."""
    places, masts, truth = building(0, 6 if quick else 12)
    seen = truth.where(truth >= HEARD).round(1)
    found = unrelu.complete_table(seen, threshold=HEARD, rng=0)
    print(f"radio: {found.verdict}")
    filled = found.filled().to_numpy()
    station = int(np.argmin(np.abs(seen.isna().mean() - 0.5)))  # the one that about half of the places hear
    unheard = seen[station].isna().to_numpy()
    figure = Figure(figsize=(16, 4.4), layout="constrained")
    axes = figure.subplots(1, 4)
    titles = f"station {station}: where it was heard", "where it was not: filled in", "where it was not: the truth"
    shown = (~unheard, filled), (unheard, filled), (unheard, truth.to_numpy())
    for ax, title, (which, values) in zip(axes, titles, shown, strict=False):
        ax.plot(*places[~which].T, ".", color="#dddddd", markersize=3)
        dots = ax.scatter(*places[which].T, c=values[which, station], vmin=-115, vmax=-55, cmap="viridis", s=26)
        ax.plot(*masts[station], "x", color=TRUTH, markersize=11, markeredgewidth=3)
        ax.set_title(title, fontsize="medium")
        ax.set_aspect("equal")
        ax.set_xlabel("metres")
    figure.colorbar(dots, ax=axes[2], shrink=0.8, label="dBm", extend="both")
    i, j = np.nonzero(seen.isna().to_numpy())
    draw_forecasts(axes[3], truth.to_numpy()[i, j], filled[i, j], found.predict(i, j), every=EVERY)
    axes[3].axhline(HEARD, color=SEEN, linestyle=":")
    axes[3].set_title("all stations that were not heard, dBm", fontsize="medium")
    return figure, covered(found.predict(i, j), truth.to_numpy()[i, j])


def draw_forecasts(ax: object, truth: np.ndarray, filled: np.ndarray, ends: tuple, every: int) -> None:
    """What was filled in beside the truth, with intervals for some."""
    some = np.argsort(truth)[::every]
    low, high = (end[some] for end in ends)
    ax.vlines(truth[some], low, high, color=FORECAST, alpha=0.25, lw=1.2)
    ax.plot(truth, filled, ".", color=FORECAST, markersize=4, label="filled in")
    line = [truth.min(), truth.max()]
    ax.plot(line, line, color=TRUTH, lw=1.2, label="as in truth")
    ax.set_xlabel("truth")
    ax.set_ylabel("filled in, 95 % interval")
    ax.legend(fontsize="x-small", loc="lower right")


def covered(ends: tuple, truth: np.ndarray) -> float:
    """Which share of the truth lies in its interval."""
    share = float(np.mean((ends[0] <= truth) & (truth <= ends[1])))
    print(f"  {len(truth)} hidden, 95 % intervals cover {share:.1%}")
    return share


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description="Similarities, limits of detection and a radio map.")
    parser.add_argument("-o", "--output", type=Path, default=Path("."), help="the folder for the pictures")
    parser.add_argument("--quick", action="store_true", help="few of the columns")
    options = parser.parse_args(arguments)
    shares = {}
    for draw in (similarity, wine, radio):
        figure, shares[draw.__name__] = draw(options.quick)
        path = options.output / f"{draw.__name__}.png"
        figure.savefig(path, dpi=60 if options.quick else 100)
        print(f"  wrote {path}")
    return shares


if __name__ == "__main__":
    main()
