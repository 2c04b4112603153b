"""The globe rebuilt from short hops alone.

Take airports all over the world, and of every two closer than 2000 km how far they lie apart, straight through the
ground. Forget where they are. Nobody says that the earth is round, and no distance reaches across an ocean: the globe
comes out all the same.

    pip install '.[examples]' && python examples/globe_from_short_hops.py

writes globe.png. `--quick` takes fewer airports and longer hops.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import airportsdata
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import unrelu

EARTH, FOOT = 6371.0, 0.0003048  # kilometres
# Colours that stay apart for every kind of colour vision (Okabe and Ito), on black.
COLOURS = {
    "Africa": "#e69f00",
    "America": "#56b4e9",
    "Asia": "#009e73",
    "Europe": "#f0e442",
    "Oceania": "#cc79a7",
    "islands and ice": "#dddddd",
}
OCEANIA = {"Australia", "Pacific"}
BACKGROUND, UNDETERMINED = "#0b0e14", "#ff5a36"
DRAWN = 420.0  # hops drawn as lines; the longer ones would hide the map
VIEWS = {"the Americas": (12.0, -80.0), "Europe and Africa": (18.0, 18.0), "Asia and Australia": (8.0, 118.0)}


@dataclass(frozen=True, eq=False)
class Airports:
    """Names, continents, and positions in kilometres from the centre of the earth, for the check at the end."""

    names: tuple[str, ...]
    cities: tuple[str, ...]
    continents: np.ndarray
    points: np.ndarray

    def __getitem__(self, kept: np.ndarray) -> Airports:
        names, cities = (tuple(np.array(words)[kept].tolist()) for words in (self.names, self.cities))
        return Airports(names, cities, self.continents[kept], self.points[kept])


def airports(apart: float, longest: float) -> Airports:
    """Airports at least `apart` from each other, the largest set that hops up to `longest` connect."""
    table = sorted(airportsdata.load("IATA").values(), key=lambda airport: airport["iata"])
    latitude, longitude = (np.radians([airport[key] for airport in table]) for key in ("lat", "lon"))
    radius = EARTH + FOOT * np.array([airport["elevation"] for airport in table])
    around = np.cos(latitude)
    points = np.stack([around * np.cos(longitude), around * np.sin(longitude), np.sin(latitude)], axis=1)
    zones = [airport["tz"].split("/")[0] for airport in table]
    continents = ["Oceania" if zone in OCEANIA else zone if zone in COLOURS else "islands and ice" for zone in zones]
    everyone = Airports(
        tuple(airport["iata"] for airport in table),
        tuple(airport["city"] or airport["name"] for airport in table),
        np.array(continents),
        points * radius[:, None],
    )
    spread = everyone[thinned(everyone.points, apart)]
    first, second = short_hops(spread.points, longest).T
    size = len(spread.names)
    _, part = connected_components(
        coo_array((np.ones(len(first)), (first, second)), shape=(size, size)), directed=False
    )
    return spread[np.flatnonzero(part == np.bincount(part).argmax())]


def thinned(points: np.ndarray, apart: float) -> np.ndarray:
    """Indices of points of which no two are closer than `apart`, the first ones kept."""
    tree, kept = cKDTree(points), np.ones(len(points), dtype=bool)
    for k, point in enumerate(points):
        if kept[k]:
            near = np.array(tree.query_ball_point(point, apart))
            kept[near[near > k]] = False
    return np.flatnonzero(kept)


def short_hops(points: np.ndarray, longest: float) -> np.ndarray:
    """Pairs that are closer than `longest`."""
    return cKDTree(points).query_pairs(longest, output_type="ndarray")


def laid_over(found: np.ndarray, truth: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Turn and, if need be, mirror the rebuilt globe so that north is up; distances cannot know that."""
    centre, aim = found[sure].mean(axis=0), truth[sure].mean(axis=0)
    left, _, right = np.linalg.svd((found[sure] - centre).T @ (truth[sure] - aim))
    return (found - centre) @ left @ right + aim


def seen_from(points: np.ndarray, latitude: float, longitude: float) -> np.ndarray:
    """Coordinates to the right, upwards, and towards the eye."""
    phi, lam = np.radians([latitude, longitude])
    right = [-np.sin(lam), np.cos(lam), 0.0]
    up = [-np.sin(phi) * np.cos(lam), -np.sin(phi) * np.sin(lam), np.cos(phi)]
    eye = [np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)]
    return points @ np.array([right, up, eye]).T


def draw(
    places: Airports, pairs: np.ndarray, longest: float, globe: np.ndarray, sure: np.ndarray, error: float
) -> Figure:
    n = len(places.names)
    figure = Figure(figsize=(15, 5.2), facecolor=BACKGROUND, layout="constrained")
    panels = figure.subplots(1, 4, width_ratios=[0.72, 1, 1, 1])
    known = np.full((n, n), np.nan)
    known[pairs[:, 0], pairs[:, 1]] = np.linalg.norm(places.points[pairs[:, 0]] - places.points[pairs[:, 1]], axis=1)
    known = np.fmin(known, known.T)
    panels[0].imshow(known, cmap="viridis_r", interpolation="nearest")
    share = 2 * len(pairs) / (n * (n - 1))
    panels[0].set_title(
        f"known: {share:.1%} of all distances,\nnone above {longest:.0f} km", color="white", fontsize=11
    )
    panels[0].set_xlabel(f"{n} airports by code", color="white", fontsize=10)
    lengths = np.linalg.norm(globe[pairs[:, 0]] - globe[pairs[:, 1]], axis=1)
    drawn = pairs[(lengths < DRAWN) & sure[pairs].all(axis=1)]
    colour = np.array([COLOURS[name] for name in places.continents])
    for ax, (title, view) in zip(panels[1:], VIEWS.items(), strict=True):
        flat = seen_from(globe, *view)
        front = flat[:, 2] > 0
        lines = drawn[front[drawn].all(axis=1)]
        ax.add_collection(
            LineCollection(flat[lines][:, :, :2], colors=colour[lines[:, 0]], linewidths=0.5, alpha=0.45, zorder=2)
        )
        back = ~front & sure
        ax.scatter(*flat[back, :2].T, s=1.5, c="#3a4356", linewidths=0, zorder=1)
        near = front & sure
        ax.scatter(*flat[near, :2].T, s=7, c=colour[near], linewidths=0, zorder=3)
        loose = front & ~sure
        ax.scatter(*flat[loose, :2].T, s=34, c=UNDETERMINED, marker="^", linewidths=0, zorder=4)
        ax.set_xlim(-1.05 * EARTH, 1.05 * EARTH)
        ax.set_ylim(-1.05 * EARTH, 1.05 * EARTH)
        ax.set_aspect("equal")
        ax.set_title(f"rebuilt: {title}", color="white", fontsize=11)
    for ax in panels:
        ax.set_facecolor(BACKGROUND)
        ax.set_xticks([])
        ax.set_yticks([])
        for side in ax.spines.values():
            side.set_visible(False)
    for name, shade in COLOURS.items():
        panels[2].scatter([], [], s=22, c=shade, label=name)
    if not sure.all():
        panels[2].scatter(
            [], [], s=34, c=UNDETERMINED, marker="^", label=f"not determined by the hops ({int((~sure).sum())})"
        )
    figure.legend(loc="outside lower center", ncols=7, frameon=False, labelcolor="white", fontsize=10)
    figure.suptitle(
        f"The globe from {len(pairs):,} short hops. "
        f"Largest error of the {int(sure.sum()):,} determined airports: {readable(error)}.",
        color="white",
        fontsize=14,
    )
    return figure


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description="The globe rebuilt from airports' short hops alone.")
    parser.add_argument("-o", "--output", type=Path, default=Path("globe.png"))
    parser.add_argument("--quick", action="store_true", help="fewer airports, longer hops")
    parser.add_argument("--apart", type=float, help="no two airports closer than this, in km (default 150)")
    parser.add_argument("--longest", type=float, help="only hops up to this, in km (default 2000)")
    options = parser.parse_args(arguments)
    apart, longest = (250.0, 2500.0) if options.quick else (150.0, 2000.0)
    apart, longest = options.apart or apart, options.longest or longest

    places = airports(apart, longest)
    pairs = short_hops(places.points, longest)
    hops = np.linalg.norm(places.points[pairs[:, 0]] - places.points[pairs[:, 1]], axis=1)
    print(f"{len(places.names)} airports, {len(pairs)} hops under {longest:.0f} km")

    edges = unrelu.EdgeList(pairs, hops, size=len(places.names))
    completion = unrelu.complete_distances(edges, dim=3, cutoff=longest, rng=0)
    print(completion.verdict)

    sure = completion.determined
    globe = laid_over(completion.points, places.points, sure)
    off = np.linalg.norm(globe - places.points, axis=1)[sure]
    radius = np.linalg.norm(globe[sure] - sphere_centre(globe[sure]), axis=1)
    print(f"{int(sure.sum())} airports are determined by the hops; not: {', '.join(names_of(places, ~sure)) or 'none'}")
    print(f"largest error {readable(off.max())}, median {readable(np.median(off))}")
    print(f"the earth is round: radius {radius.mean():.1f} km, give or take {radius.std():.1f} km of hills")
    figure = draw(places, pairs, longest, globe, sure, float(off.max()))
    figure.savefig(options.output, dpi=60 if options.quick else 130)
    print(f"wrote {options.output}")
    return {"determined": float(sure.mean()), "error": float(off.max()), "radius": float(radius.mean())}


def readable(kilometres: float) -> str:
    """A length in the unit in which it has no needless zeros."""
    for unit, size in (("km", 1.0), ("m", 1e-3), ("mm", 1e-6)):
        if kilometres >= size:
            return f"{kilometres / size:.3g} {unit}"
    return f"{kilometres / 1e-9:.3g} µm"


def sphere_centre(points: np.ndarray) -> np.ndarray:
    """The centre of the sphere nearest to the points: |x|² = 2 c·x + const, by linear least squares."""
    system = np.column_stack([2 * points, np.ones(len(points))])
    return np.linalg.lstsq(system, (points**2).sum(axis=1), rcond=None)[0][:3]


def names_of(places: Airports, kept: np.ndarray) -> list[str]:
    return [f"{places.names[k]} ({places.cities[k]})" for k in np.flatnonzero(kept)]


if __name__ == "__main__":
    main()
