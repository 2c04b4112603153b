"""Points from some of their distances."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data, Intervals

__all__ = ["cases"]

Array = np.ndarray
Generator = np.random.Generator
Line = tuple[str, Any, dict[str, Any], tuple[str, ...]]

PLANE, SPACE = {"dim": 2}, {"dim": 3}
HUBER = {"loss": "huber"}
# Its distances do not minimise any of the costs of `objective.py`.
OTHER_COST = "no objective"
ERRORS, CHOICE, OUTLIERS, POSITIONS = "points errors", "points choice", "points outliers", "points positions"
KEPT, LOSS = "points bounds", "points loss"
QUICK = (
    "exact",
    "space",
    "noisy",
    "given-sigma",
    "squared",
    "bounds",
    "anchors",
    "dim-auto",
    "edge-list",
    "components",
)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    lines = (*_shapes(), *_noisy(), *_known(), *_inputs(), *_choices(), *_outliers())
    for name, draw, options, wants in lines:
        if options.get("loss") == "huber":
            wants = (*wants, OTHER_COST)
        yield Case(f"distances/{name}", "locate", draw, options, wants, quick=name in QUICK)


def _shapes() -> Iterator[Line]:
    yield "exact", cloud, PLANE, ("points explain",)
    yield "space", partial(cloud, n=100, dim=3, share=0.25), SPACE, ()
    yield "line", partial(cloud, n=40, dim=1, share=0.3), {"dim": 1}, ()
    yield "four-dimensions", partial(cloud, n=100, dim=4, share=0.4), {"dim": 4}, ()
    yield "20-points", partial(cloud, n=20, share=0.5), PLANE, ()
    yield "200-points", partial(cloud, n=200, share=0.08), PLANE, ()
    yield "200-points-space", partial(cloud, n=200, dim=3, share=0.12), SPACE, ()
    yield "few-distances", partial(cloud, n=50, share=0.1), PLANE, ()
    yield "all-distances", partial(cloud, n=40, share=1.0), PLANE, ()
    yield "any-distances", partial(cloud, n=60, at_random=0.2), PLANE, ()
    yield "any-distances-space", partial(cloud, n=60, dim=3, at_random=0.3), SPACE, ()
    yield "tree", partial(cloud, n=30, at_random=0.05), PLANE, ("points explain",)
    yield "chain", partial(cloud, n=80, shape="chain", dim=3, share=0.25), SPACE, ()
    yield "chain-200", partial(cloud, n=200, shape="chain", dim=3, share=0.12), SPACE, ()
    yield "ring", partial(cloud, shape="ring", share=0.12), PLANE, ()
    yield "helix", partial(cloud, n=100, shape="helix", dim=3, share=0.15), SPACE, ()
    yield "sphere", partial(cloud, n=100, shape="sphere", dim=3, share=0.2), SPACE, ()
    yield "clusters", partial(cloud, shape="clusters", share=0.3), PLANE, ()
    yield "grid", partial(cloud, n=81, shape="grid", share=0.15), PLANE, ()
    yield "coplanar", partial(cloud, n=60, shape="coplanar", dim=3, share=0.4), SPACE, ()
    yield "duplicates", partial(cloud, n=60, shape="duplicates", share=0.3), PLANE, ()
    yield "hinge", partial(cloud, shape="hinge"), PLANE, ("points explain",)
    yield "components", partial(cloud, n=60, shape="two groups", share=0.15), PLANE, ("points explain", OTHER_COST)
    yield "lonely-points", partial(cloud, n=60, lonely=3, share=0.2), PLANE, ("points explain", OTHER_COST)
    yield "small-unit", partial(cloud, unit=1e-9), PLANE, ()
    yield "large-unit", partial(cloud, unit=1e9, dim=3, share=0.3), SPACE, ()


def _noisy() -> Iterator[Line]:
    yield "noisy", partial(cloud, noise=0.01), PLANE, (ERRORS,)
    yield "noisy-space", partial(cloud, n=100, dim=3, share=0.3, noise=0.01), SPACE, (ERRORS,)
    yield "noisy-much", partial(cloud, noise=0.05, share=0.4), PLANE, (ERRORS,)
    yield "noisy-200-points", partial(cloud, n=200, share=0.1, noise=0.005), PLANE, (ERRORS,)
    yield "noisy-no-cutoff", partial(cloud, at_random=0.2, noise=0.01), PLANE, (ERRORS,)
    yield "noisy-all-distances", partial(cloud, n=40, share=1.0, noise=0.02), PLANE, (ERRORS,)
    yield "noisy-chain", partial(cloud, shape="chain", dim=3, share=0.3, noise=0.005), SPACE, (ERRORS,)
    yield "noisy-coplanar", partial(cloud, n=40, shape="coplanar", dim=3, share=0.4, noise=0.01), SPACE, (ERRORS,)
    yield "noisy-one-spare", partial(cloud, n=5, share=0.9, noise=0.01), PLANE, (ERRORS,)
    yield "sigma-number", partial(cloud, noise=0.01), PLANE | {"sigma": 0.01}, (ERRORS,)
    yield "given-sigma", partial(cloud, noise=0.01, sigma="per pair"), PLANE, (ERRORS, OTHER_COST)
    draw = partial(cloud, dim=3, share=0.4, noise=0.01, sigma="per pair")
    yield "given-sigma-space", draw, SPACE, (ERRORS, OTHER_COST)


def _known() -> Iterator[Line]:
    """What is known beside the distances: bounds, and positions of some points."""
    yield "bounds", partial(cloud, n=40, at_random=0.12, bounds=0.5), PLANE, (KEPT,)
    yield "bounds-space", partial(cloud, n=40, dim=3, at_random=0.2, bounds=0.5), SPACE, (KEPT,)
    yield "bounds-upper", partial(cloud, n=40, at_random=0.12, bounds=0.5, sides="upper"), PLANE, (KEPT,)
    yield "bounds-lower", partial(cloud, n=40, at_random=0.15, bounds=0.5, sides="lower"), PLANE, (KEPT,)
    yield "bounds-only", partial(cloud, n=20, at_random=0.0, bounds=1.0, width=0.02), PLANE, (KEPT,)
    yield "noe", partial(noe, n=40), SPACE, (KEPT,)
    yield "contacts", partial(contacts, n=60, dim=2, share=0.15), PLANE, (KEPT,)
    yield "contacts-space", partial(contacts, n=60, dim=3, share=0.2), SPACE, (KEPT,)
    yield "contacts-chain", partial(contacts, n=60, dim=3, share=0.15, shape="chain"), SPACE, (KEPT,)
    yield "contacts-not-all", partial(contacts, n=60, dim=2, share=0.2, listed=0.5), PLANE, (KEPT,)
    yield "anchors", partial(cloud, anchors=4), PLANE, (POSITIONS,)
    yield "anchors-space", partial(cloud, dim=3, share=0.3, anchors=5), SPACE, (POSITIONS,)
    yield "anchors-noisy", partial(cloud, anchors=4, noise=0.01), PLANE, (POSITIONS, ERRORS)
    yield "anchors-array", partial(cloud, anchors=2, anchors_as="array"), PLANE, ()
    yield "anchors-many", partial(cloud, anchors=20, share=0.05), PLANE, (POSITIONS,)
    yield "anchors-two-groups", partial(cloud, shape="two groups", share=0.15, anchors=8), PLANE, (POSITIONS,)
    yield "anchors-bounds", partial(cloud, n=40, at_random=0.12, bounds=0.5, anchors=4), PLANE, (POSITIONS, KEPT)


def _inputs() -> Iterator[Line]:
    yield "squared", partial(cloud, squared=True), PLANE | {"squared": True}, ()
    yield "squared-noisy", partial(cloud, squared=True, noise=0.01), PLANE | {"squared": True}, (ERRORS, OTHER_COST)
    yield (
        "edge-list",
        partial(cloud, form="edges", at_random=0.2, noise=0.01, sigma="per pair"),
        PLANE,
        (NAMES, ERRORS, OTHER_COST),
    )
    yield "edge-list-size", partial(cloud, form="edges", at_random=0.2, lonely=2), PLANE, (OTHER_COST,)
    yield "edge-table", partial(cloud, form="table", at_random=0.2), PLANE, ()
    yield "sparse", partial(cloud, form="sparse"), PLANE, ()
    yield "masked", partial(cloud, form="masked"), PLANE, ()
    yield "frame", partial(cloud, form="frame"), PLANE, (NAMES,)
    yield "float32", partial(cloud, form="float32"), PLANE, ("points dtype",)
    yield "one-triangle", partial(cloud, form="upper"), PLANE, ()
    yield "triangle", triangle, PLANE, ()
    yield "contradiction", partial(cloud, n=20, share=0.5, wrong_triangle=True), PLANE, ()


def _choices() -> Iterator[Line]:
    auto = {"dim": "auto"}
    dimension = ("points dimension",)
    yield "dim-auto", cloud, auto, dimension
    yield "dim-auto-space", partial(cloud, dim=3, share=0.3), auto, dimension
    yield "dim-auto-line", partial(cloud, n=40, dim=1, share=0.3), auto, dimension
    yield "dim-auto-noisy", partial(cloud, dim=3, share=0.4, noise=0.01), auto, dimension
    yield "dim-auto-coplanar", partial(cloud, n=60, shape="coplanar", dim=3, share=0.4), auto, dimension
    yield "dim-auto-outliers", partial(cloud, n=40, share=0.4, gross=0.03), auto | HUBER, (*dimension, OUTLIERS)
    yield "dim-too-low", partial(cloud, n=60, dim=3, share=0.4), PLANE, ()
    yield "dim-too-high", partial(cloud, n=60, share=0.3), SPACE, ()
    for start in ("trilateration", "paths"):
        yield f"start-{start}", cloud, PLANE | {"start": start}, (CHOICE,)
    yield "start-array", partial(cloud, start=0.05), PLANE, (CHOICE,)
    yield "start-trilateration-noisy", partial(cloud, noise=0.01), PLANE | {"start": "trilateration"}, (CHOICE,)
    for loss in ("one-sided", "distances", "squared", "censored"):
        yield (
            f"loss-{loss}",
            partial(cloud, noise=0.01, share=0.3),
            PLANE | {"loss": loss},
            (LOSS, OTHER_COST) if loss == "squared" else (LOSS,),
        )
    yield "loss-squared-exact", cloud, PLANE | {"loss": "squared"}, (LOSS, OTHER_COST)
    yield "stopped", partial(cloud, noise=0.02), PLANE | {"max_iter": 1}, ()
    yield "tolerance", partial(cloud, noise=0.02), PLANE | {"tol": 1e-3}, ()


def _outliers() -> Iterator[Line]:
    yield "outliers", partial(cloud, n=60, share=0.4, gross=0.03), PLANE | HUBER, (OUTLIERS,)
    yield "outliers-space", partial(cloud, n=80, dim=3, share=0.4, gross=0.05), SPACE | HUBER, (OUTLIERS,)
    yield "outliers-noisy", partial(cloud, n=60, share=0.4, gross=0.05, noise=0.01), PLANE | HUBER, (OUTLIERS, ERRORS)
    draw = partial(cloud, n=60, share=0.4, gross=0.05, noise=0.01)
    yield "outliers-sigma", draw, PLANE | HUBER | {"sigma": 0.01}, (OUTLIERS, ERRORS)
    yield "outliers-anchors", partial(draw, anchors=4), PLANE | HUBER, (OUTLIERS, POSITIONS)
    yield "outliers-none", partial(cloud, n=60, share=0.4, noise=0.01), PLANE | HUBER, (OUTLIERS,)
    yield "outliers-unnamed", partial(cloud, n=60, share=0.4, gross=0.03, noise=0.01), PLANE, (ERRORS,)


NAMES = "points names"


def cloud(
    g: Generator,
    n: int = 80,
    dim: int = 2,
    *,
    shape: str = "uniform",
    share: float = 0.2,
    at_random: float | None = None,
    noise: float = 0.0,
    sigma: str = "",
    unit: float = 1.0,
    lonely: int = 0,
    squared: bool = False,
    bounds: float = 0.0,
    width: float = 0.2,
    sides: str = "both",
    anchors: int = 0,
    anchors_as: str = "dict",
    gross: float = 0.0,
    wrong_triangle: bool = False,
    start: float = 0.0,
    form: str = "",
) -> Data:
    """Draw points and observe the ``share`` of the shortest of their distances, or a share of them at random.

    Parameters
    ----------
    noise, sigma
        Standard deviation of the distances; "per pair": it differs by a factor of up to 9, and is passed.
    lonely
        How many points have no distance.
    bounds, width, sides
        A share of the other distances is known to lie in intervals of this relative half width.
    anchors, anchors_as
        How many positions are known, and in which form they are passed.
    gross
        A share of distances that are wrong by a third of the largest one.
    wrong_triangle
        Whether a distance contradicts those to a third point.
    start
        If not 0, the fit starts from the points plus noise of this size.
    """
    points = unit * _points(g, n, dim, shape)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    pairs = np.triu_indices(n, 1)
    cutoff = None if at_random is not None or share == 1 else float(np.quantile(apart[pairs], share))
    spread = noise * unit * np.ones((n, n))
    if sigma:
        spread *= np.triu(np.exp(g.uniform(-1.1, 1.1, (n, n))), 1)
        spread += spread.T
    measured = np.abs(apart + spread * planted.symmetric_noise(g, n, 1.0))
    kept = np.ones((n, n), bool) if cutoff is None else measured <= cutoff
    if at_random is not None:
        kept = np.triu(g.random((n, n)) < at_random, 1)
        kept |= kept.T
    kept[n - lonely :], kept[:, n - lonely :] = False, False
    wrong = np.triu(kept & (g.random((n, n)) < gross), 1)
    wrong |= wrong.T
    measured = np.where(wrong, np.abs(measured - apart.max() / 3) if cutoff else measured + apart.max() / 3, measured)
    if wrong_triangle:
        i, j = np.argwhere(np.triu(kept, 1))[0]
        measured[i, j] = measured[j, i] = 0.01 * apart.max()
    np.fill_diagonal(measured, 0.0)
    np.fill_diagonal(kept, True)
    D = np.where(kept, measured, np.nan)
    given: dict[str, Any] = {"D": D**2 if squared else D}
    low = np.where(kept, 0.0, 0.0 if cutoff is None else cutoff)
    high = np.full((n, n), np.inf)
    if cutoff is not None:
        given["cutoff"] = cutoff
    if bounds:
        low, high, given["bounds"] = _bounds(g, apart, kept, bounds, width, sides)
    if sigma:
        given["sigma"] = np.where(kept, spread, np.nan)
    if anchors:
        given["anchors"] = _anchors(g, points, anchors, anchors_as)
    if wrong.any():
        given["wrong"] = wrong
    if start:
        given["start"] = points + start * g.standard_normal(points.shape)
    if form:
        given["form"] = form
    if form == "frame" or (form == "edges" and not lonely):
        given["names"] = [f"p{k}" for k in range(n)]
    scale = float(np.sqrt(np.mean(apart[pairs] ** 2)))
    return Data(given, points, noise * unit, scale, Intervals(D, low, high))


def _points(g: Generator, n: int, dim: int, shape: str) -> Array:
    """Return points of a shape, of about size 1."""
    uniform = g.random((n, dim))
    along = np.linspace(0, 1, n)
    if shape == "uniform":
        return uniform
    if shape == "ring":
        angle = 2 * np.pi * g.random(n)
        return np.column_stack([np.cos(angle), np.sin(angle)]) / 2 + 0.1 * uniform
    if shape == "helix":
        return np.column_stack([0.3 * np.cos(20 * along), 0.3 * np.sin(20 * along), along]) + 0.02 * uniform
    if shape == "sphere":
        away = g.standard_normal((n, 3))
        return away / np.linalg.norm(away, axis=1, keepdims=True)
    if shape == "clusters":
        return g.random((6, dim))[g.integers(0, 6, n)] + 0.08 * g.standard_normal((n, dim))
    if shape == "grid":
        side = round(n ** (1 / dim))
        return np.indices((side,) * dim).reshape(dim, -1).T / side
    if shape == "coplanar":
        return np.column_stack([uniform[:, :2], uniform[:, :2] @ [0.5, 0.3]])
    if shape == "duplicates":
        return uniform[np.arange(n) % (n - 4)]
    if shape == "hinge":  # two halves that share the first point
        uniform += [0.25, -0.5]
        uniform[: n // 2, 0] *= -1
        uniform[0] = 0.0
        return uniform
    if shape == "two groups":
        uniform[: n // 2] += 5.0
        return uniform
    return _folded_chain(g, n)


def _folded_chain(g: Generator, n: int, step: float = 0.1) -> Array:
    """Return a walk in space of equal steps, drawn towards its centre, that does not come near itself."""
    points = np.zeros((n, 3))
    for k in range(1, n):
        tried = g.standard_normal((200, 3)) - 1.5 * points[k - 1]
        tried = points[k - 1] + step * tried / np.linalg.norm(tried, axis=1, keepdims=True)
        nearest = np.linalg.norm(tried[:, None] - points[:k], axis=2).min(axis=1)
        free = np.flatnonzero(nearest > 0.9 * step)
        points[k] = tried[free[0] if len(free) else np.argmax(nearest)]
    return points


def _bounds(
    g: Generator, apart: Array, kept: Array, share: float, width: float, sides: str
) -> tuple[Array, Array, list[Any]]:
    """Return the ends of the intervals of a share of the missing distances, and how they are passed."""
    known = np.triu(~kept & (g.random(kept.shape) < share), 1)
    known |= known.T
    shift = np.triu(g.uniform(-1, 1, apart.shape), 1)
    middle = apart * (1 + 0.8 * width * (shift + shift.T))
    low = np.where(known & (sides != "upper"), (1 - width) * middle, 0.0)
    high = np.where(known & (sides != "lower"), (1 + width) * middle, np.inf)
    passed = [np.where(known, low, np.nan), np.where(known, high, np.nan)]
    return low, high, [None if sides == "upper" else passed[0], None if sides == "lower" else passed[1]]


def _anchors(g: Generator, points: Array, count: int, form: str) -> Any:
    chosen = g.choice(len(points), count, replace=False)
    if form == "dict":
        return {int(k): points[k].tolist() for k in chosen}
    table = np.full(points.shape, np.nan)
    table[chosen] = points[chosen]
    return table


def triangle(g: Generator) -> Data:
    """Return three distances of which one is larger than the sum of the others."""
    D = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    return Data({"D": D}, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), scale=1.0, known=Intervals(D))


def noe(g: Generator, n: int) -> Data:
    """Draw a folded chain: steps and angles are known exactly, and short distances by intervals of NMR's kind."""
    points = _folded_chain(g, n)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    along = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    D = np.where(along <= 2, apart, np.nan)
    near = (along > 2) & (apart < 0.3)
    low = np.where(near, 0.08, 0.0)
    high = np.where(near, np.ceil(apart / 0.1) * 0.1, np.inf)
    scale = float(np.sqrt(np.mean(apart**2)))
    bounds = [np.where(near, end, np.nan) for end in (low, high)]
    return Data({"D": D, "bounds": bounds}, points, 0.0, scale, Intervals(D, low, high))


def contacts(g: Generator, n: int, dim: int, share: float, *, shape: str = "uniform", listed: float = 1.0) -> Data:
    """Draw points of which only is known which pairs are closer than a cut-off, or of some pairs that they are."""
    points = _points(g, n, dim, shape)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    cutoff = float(np.quantile(apart[np.triu_indices(n, 1)], share))
    near = np.triu((apart <= cutoff) & (g.random((n, n)) < listed), 1)
    near |= near.T
    high = np.where(near, cutoff, np.inf)
    low = np.where(near | (listed < 1) | np.eye(n, dtype=bool), 0.0, cutoff)
    D = np.where(np.eye(n, dtype=bool), 0.0, np.nan)
    scale = float(np.sqrt(np.mean(apart**2)))
    bounds = [np.where(low > 0, low, np.nan), np.where(near, high, np.nan)]
    return Data({"D": D, "bounds": bounds}, points, 0.0, scale, Intervals(D, low, high))
