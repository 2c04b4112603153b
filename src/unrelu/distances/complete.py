"""The front door: places of points from some of their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unrelu.distances.completion import DistanceCompletion
from unrelu.distances.edges import real
from unrelu.distances.network import Misfit, Network
from unrelu.distances.ranges import Limits, Ranges
from unrelu.distances.refine import DEFAULT_ITERATIONS, DEFAULT_TOL, Journal, refine
from unrelu.distances.rigidity import WORDS
from unrelu.distances.solve import Effort, Solved, fitted_to, solve_component
from unrelu.distances.triangles import check_triangles
from unrelu.errors import InputError, is_integer, is_number, unknown_name
from unrelu.history import Record, Stop, Verdict

__all__ = ["LOSSES", "STARTS", "complete_distances", "complete_from_shortest"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LOSSES = ("auto", "distances", "squared", "one-sided", "censored")
STARTS = ("auto", "paths", "trilateration")
# Up to this many anchors all distances between them are used; beyond, those to some of them.
MOST_ANCHORS = 60
# Two atoms in space are still in space: so many dimensions are allowed however few points there are.
LEAST_DIM = 3


def complete_distances(
    D: Any,
    dim: int,
    *,
    cutoff: float | None = None,
    squared: bool = False,
    sigma: Any = None,
    lower: Any = None,
    upper: Any = None,
    anchors: Any = None,
    loss: str = "auto",
    start: Any = "auto",
    max_iter: int | None = None,
    tol: float | None = None,
    rng: Any = None,
    progress: bool = False,
    callback: Callable[[Record], object] | None = None,
    names: Any = None,
) -> DistanceCompletion:
    """Find points from some of their distances, and say which of them the data fix.

    Minimises ½Σ w_ij(‖x_i − x_j‖ − d_ij)² over seen pairs, plus ½Σ max(cutoff − ‖x_i − x_j‖, 0)² over unseen ones, plus
    the same for pairs with limits. No centring, no oracle: a direct placement where there is one, else shortest paths
    and classical scaling, then Gauss–Newton.

    Parameters
    ----------
    D : array, masked array, data frame or sparse array of shape (n, n), EdgeList, or table of i, j, distance[, sigma]
        Distances; NaN, masked or not stored where unknown. An entry seen in one triangle only is seen. Never modified.
        A table has three or four columns and is not square.
    dim : int
        Number of coordinates.
    cutoff : float, optional
        Every unseen distance is at least this. None: absence says nothing.
    squared : bool, default False
        Whether D holds squared distances.
    sigma : float, or array like the distances, optional
        Standard deviation of the distances. Default: equal for all, estimated from the misfit.
    lower, upper : array or sparse array of shape (n, n), or EdgeList, optional
        Limits between which unseen distances lie.
    anchors : dict of position by index or name, or array of shape (n, dim) with NaN rows, optional
        Points whose place is known; the answer is in their frame. Fewer than dim+1, or anchors in one plane, leave part
        of the frame free: the answer touches them, and :meth:`DistanceCompletion.explain` says so.
    loss : {"auto", "one-sided", "distances", "squared", "censored"}
        ``distances`` ignores absence, ``squared`` too and compares squares; ``censored`` takes the likelihood of not
        having been seen beyond the cut-off with noise. ``auto``: ``one-sided``, or ``censored`` once noise is found.
    start : {"auto", "paths", "trilateration"} or array of shape (n, dim)
    max_iter : int, optional
        Most iterations of one refinement; default 200.
    tol : float, optional
        Stop when the gradient is below this share of the data; default 1e-14.
    rng : int, Generator or None
    progress : bool, default False
        Show iteration and objective on the terminal's error output.
    callback : callable, optional
        Called with each :class:`~unrelu.history.Record`; returning True stops.
    names : sequence, optional
        Names of the points.

    Returns
    -------
    DistanceCompletion

    Raises
    ------
    InputError
        If the input cannot be what was meant; the message says what to do.

    Examples
    --------
    >>> import numpy as np, unrelu
    >>> from unrelu.datasets import points_in_cube, shortest
    >>> points = points_in_cube(80, 2, rng=0)
    >>> D, cutoff = shortest(points, 0.2)        # NaN for all but the shortest 20 %
    >>> result = unrelu.complete_distances(D, dim=2, cutoff=cutoff, rng=0)
    >>> truth = np.linalg.norm(points[:, None] - points, axis=2)
    >>> fixed = result.determined
    >>> bool(np.abs(result.distances() - truth)[np.ix_(fixed, fixed)].max() < 1e-9)
    True
    """
    dim = _dim(dim)
    ranges = Ranges.of(
        D,
        dim,
        cutoff=cutoff,
        squared=squared,
        sigma=sigma,
        lower=lower,
        upper=upper,
        anchors=anchors,
        names=names,
    )
    if dim > max(ranges.size, LEAST_DIM):
        raise InputError(f"dim must be at most {ranges.size}, the number of points, which span no more; got {dim}")
    misfit, loss_name = _misfit(loss, ranges)
    given = _given_start(start, ranges.size, dim)
    effort = _effort(tol, max_iter, loss, ranges)
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable, got {type(callback).__name__}")
    generator = _generator(rng)
    check_triangles(ranges, generator)
    with _shown(callback) if progress else nullcontext(callback) as told:
        return _solved(ranges, dim, misfit, loss_name, effort, generator, start, given, Journal(ranges.unit, told))


@contextmanager
def _shown(callback: Callable[[Record], object] | None) -> Iterator[Callable[[Record], object]]:
    """A callback that also shows where the run is."""
    from rich.console import Console

    with Console(stderr=True).status("placing points") as status:

        def show(record: Record) -> object:
            status.update(f"placing points: iteration {record.iteration}, objective {record.objective:.1e}")
            return None if callback is None else callback(record)

        yield show


def _solved(
    ranges: Ranges,
    dim: int,
    misfit: Misfit,
    loss_name: str,
    effort: Effort,
    generator: np.random.Generator,
    start: Any,
    given: Floats | None,
    journal: Journal,
) -> DistanceCompletion:
    """Component by component, in units, then in the frame of the anchors and the caller's units."""
    unit = ranges.unit
    whole, virtual = _network(ranges, dim, unit)
    labels = _components(whole)
    points = np.zeros((ranges.size, dim))
    grade = np.zeros(ranges.size, np.int8)
    solved: list[Solved] = []
    start_name = start if isinstance(start, str) else "given"
    places = ranges.places / unit
    framed = False
    for label in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == label)
        part = whole.part(members)
        own = None if given is None else given[members] / unit
        one = solve_component(part, misfit, effort, generator, journal, given=own, start=str(start_name))
        fixed = np.flatnonzero(np.isin(members, ranges.anchors))
        X = one.points
        if fixed.size:
            known = places[np.isin(ranges.anchors, members)]
            X = fitted_to(X, fixed, known)
            if _spans(known, dim):
                framed = True
                X = X.copy()
                X[fixed] = known
                free = np.setdiff1d(np.arange(len(members)), fixed)
                judged = Misfit(noise=one.noise) if one.likely else misfit
                X = refine(part, X, judged, free=free, tol=effort.tol, max_iter=effort.max_iter, journal=journal).points
        else:
            X = X - X.mean(axis=0)
        points[members], grade[members] = X, one.grade
        solved.append(one)

    seen = whole if virtual is None else _network(ranges, dim, unit, join=False)[0]
    gap = seen.residual(points)
    noise = _noise(seen, gap, effort, solved)
    rms = float(np.sqrt(np.mean(seen.distance**2))) if len(gap) else 1.0
    return DistanceCompletion(
        points=(points * unit).astype(ranges.dtype),
        verdict=_verdict(solved, journal, gap, effort),
        history=journal.history,
        determinacy=np.array(WORDS)[grade],
        components=labels,
        pairs=np.column_stack([ranges.first, ranges.second]),
        measured=ranges.distance.astype(ranges.dtype),
        cutoff=ranges.cutoff,
        anchors=ranges.anchors,
        names=ranges.names,
        sigma=noise * unit,
        residual=float(np.sqrt(np.mean(gap**2))) / (rms or 1.0) if len(gap) else 0.0,
        start=solved[0].start,
        loss="censored" if any(one.likely for one in solved) else loss_name,
        framed=framed,
        notes=ranges.notes,
        weights=seen.weight,
    )


def _dim(dim: Any) -> int:
    if not is_integer(dim) or dim < 1:
        raise InputError(f"dim must be an integer of at least 1, got {dim!r}")
    return int(dim)


def _misfit(loss: Any, ranges: Ranges) -> tuple[Misfit, str]:
    if not isinstance(loss, str) or loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    if loss in ("one-sided", "censored") and ranges.cutoff is None:
        raise InputError(f"loss={loss!r} listens to absence and needs cutoff=; pass it, or loss='distances'")
    if loss == "auto":
        loss = "distances" if ranges.cutoff is None else "one-sided"
    return Misfit(squared=loss == "squared", absence=loss in ("one-sided", "censored")), loss


def _given_start(start: Any, n: int, dim: int) -> Floats | None:
    if isinstance(start, str):
        if start not in STARTS:
            raise unknown_name("start", start, STARTS)
        return None
    try:
        points = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"start must be one of {', '.join(STARTS)} or points of shape ({n}, {dim})") from None
    if points.shape != (n, dim) or not np.isfinite(points).all():
        raise InputError(f"start must be finite points of shape (n, dim) = ({n}, {dim}), got shape {points.shape}")
    return points


def _effort(tol: Any, max_iter: Any, loss: str, ranges: Ranges) -> Effort:
    if tol is not None and not (is_number(tol) and tol >= 0):
        raise InputError(f"tol must be a number ≥ 0, got {tol!r}")
    if max_iter is not None and not (is_integer(max_iter) and max_iter >= 0):
        raise InputError(f"max_iter must be an integer ≥ 0, got {max_iter!r}")
    return Effort(
        DEFAULT_TOL if tol is None else float(tol),
        DEFAULT_ITERATIONS if max_iter is None else int(max_iter),
        ranges.rounding,
        None if ranges.sigma is None else _typical(ranges.sigma) / ranges.unit,
        {"censored": True, "auto": None}.get(loss, False),
    )


def _typical(sigma: Floats) -> float:
    """The standard deviation of a distance of weight one, where weights are 1/σ² over their mean."""
    return float(1 / np.sqrt(_precision(sigma).mean()))


def _precision(sigma: Floats) -> Floats:
    """1/σ², of none more than a million times the least."""
    result: Floats = 1 / np.maximum(sigma, 1e-3 * float(sigma.max())) ** 2
    return result


def _generator(rng: Any) -> np.random.Generator:
    try:
        if isinstance(rng, bool):
            raise TypeError
        return np.random.default_rng(rng).spawn(1)[0]
    except (TypeError, ValueError):
        raise InputError(f"rng must be an integer ≥ 0, a numpy Generator or None, got {rng!r}") from None


def _network(ranges: Ranges, dim: int, unit: float, *, join: bool = True) -> tuple[Network, Indices | None]:
    """All points in units, with the distances between anchors, which are known too; and which pairs were added."""
    n = ranges.size
    keys = ranges.first.astype(np.int64) * n + ranges.second
    distance = ranges.distance / unit
    weight = np.ones(len(keys))
    if ranges.sigma is not None:
        precision = _precision(ranges.sigma)
        weight = precision / precision.mean()
    added = None
    if join and len(ranges.anchors) > 1:
        a, b = _joined(len(ranges.anchors), dim)
        known = np.linalg.norm(ranges.places[a] - ranges.places[b], axis=1) / unit
        between = ranges.anchors[a].astype(np.int64) * n + ranges.anchors[b]
        fresh = ~np.isin(between, keys)
        added = between[fresh]
        keys = np.r_[keys, added]
        distance, weight = np.r_[distance, known[fresh]], np.r_[weight, np.ones(int(fresh.sum()))]
        order = np.argsort(keys)
        keys, distance, weight = keys[order], distance[order], weight[order]
    limits = ranges.limits
    if len(limits):
        own = limits.first.astype(np.int64) * n + limits.second
        unseen = ~np.isin(own, keys)
        limits = Limits(
            limits.first[unseen], limits.second[unseen], limits.lower[unseen] / unit, limits.upper[unseen] / unit
        )
    cutoff = None if ranges.cutoff is None else ranges.cutoff / unit
    first, second = (keys // n).astype(np.intp), (keys % n).astype(np.intp)
    return Network(n, dim, first, second, distance, weight, cutoff, limits), added


def _joined(count: int, dim: int) -> tuple[Indices, Indices]:
    """Pairs of anchors that make all of them one body: all pairs of a few, else all with some of them."""
    if count <= MOST_ANCHORS:
        return np.triu_indices(count, 1)
    hubs = np.unique(np.linspace(0, count - 1, 4 * (dim + 1)).astype(np.intp))
    a, b = (part.ravel() for part in np.meshgrid(hubs, np.arange(count), indexing="ij"))
    low, high = np.minimum(a, b), np.maximum(a, b)
    keys = np.unique(low[low < high] * count + high[low < high])
    return keys // count, keys % count


def _components(network: Network) -> Indices:
    """Which component each point lies in, the largest first; a finite upper limit holds points together too."""
    from scipy.sparse.csgraph import connected_components

    held = np.isfinite(network.limits.upper)
    first, second = (
        np.r_[network.first, network.limits.first[held]],
        np.r_[network.second, network.limits.second[held]],
    )
    shape = (network.size, network.size)
    count, label = connected_components(sp.csr_array((np.ones(len(first)), (first, second)), shape=shape), False)
    rank = np.empty(count, np.intp)
    rank[np.argsort(-np.bincount(label, minlength=count), kind="stable")] = np.arange(count)
    result: Indices = rank[label]
    return result


def _spans(places: Floats, dim: int) -> bool:
    """Whether anchors fix frame and mirror image: dim+1 of them, not in one plane."""
    if len(places) <= dim:
        return False
    widths = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    return bool(len(widths) >= dim and widths[-1] > 1e-6 * max(float(widths[0]), 1e-300))


def _noise(network: Network, gap: Floats, effort: Effort, solved: list[Solved]) -> float:
    """Standard deviation of a distance of weight one, in units: as given, or from the misfit and the freedom left."""
    if effort.noise is not None:
        return effort.noise
    if len(solved) == 1 and solved[0].likely:
        return solved[0].noise
    free = network.size * network.dim - network.dim * (network.dim + 1) // 2
    left = max(len(gap) - free, 1)
    return float(np.sqrt(np.sum(network.weight * gap**2) / left)) if len(gap) else 0.0


def _verdict(solved: list[Solved], journal: Journal, gap: Floats, effort: Effort) -> Verdict:
    worst = float(np.abs(gap).max()) if len(gap) else 0.0
    iterations = len(journal.history)
    if journal.stopped:
        return Verdict(Stop.CALLBACK, f"the callback asked to stop after {_iterations(iterations)}")
    if all(one.exact for one in solved):
        return Verdict(Stop.CONVERGED, f"all seen distances are met to rounding after {_iterations(iterations)}")
    unmet = sum(one.unmet for one in solved)
    if unmet:
        return Verdict(
            Stop.STATIONARY,
            f"{unmet} of {len(gap)} distances are not met although the others are exact: a fold that was not found, or "
            "wrong distances; points that only they hold are not called determined",
        )
    if all(one.converged for one in solved):
        return Verdict(
            Stop.CONVERGED,
            f"the misfit is stationary after {_iterations(iterations)}; the largest is {worst:.2g} typical distances",
        )
    return Verdict(
        Stop.MAX_ITERATIONS, f"the misfit still fell after {_iterations(iterations)}; raise max_iter to go on"
    )


def complete_from_shortest(D: Any, dim: int, fraction: float, *, rng: Any = None, **options: Any) -> DistanceCompletion:
    """Hide all but the shortest ``fraction`` of known distances and complete: the paper's setting without its oracle.

    Parameters
    ----------
    D : array of shape (n, n)
        All distances (or squared ones, with ``squared=True``).
    dim : int
    fraction : float
        Share of the pairs i < j that stays.
    rng : int, Generator or None
    **options
        For :func:`complete_distances`.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).random((60, 2))
    >>> D = np.linalg.norm(points[:, None] - points, axis=2)
    >>> result = complete_from_shortest(D, 2, 0.2, rng=0)
    >>> fixed = result.determined
    >>> bool(np.abs(result.distances() - D)[np.ix_(fixed, fixed)].max() < 1e-9)
    True
    """
    if not (is_number(fraction) and 0 < fraction <= 1):
        raise InputError(f"fraction must be above 0 and at most 1, got {fraction!r}")
    full = real(D, "D")
    if full.ndim != 2 or full.shape[0] != full.shape[1] or len(full) < 2:
        raise InputError(f"D must be a square matrix of all distances, got shape {full.shape}")
    lengths = np.sqrt(full) if options.pop("squared", False) else full
    pairs = np.sort(lengths[np.triu_indices(len(full), 1)])
    count = max(1, round(fraction * len(pairs)))
    cutoff = float(pairs[count - 1])
    return complete_distances(np.where(lengths <= cutoff, lengths, np.nan), dim, cutoff=cutoff, rng=rng, **options)


def _iterations(count: int) -> str:
    return f"{count} iteration{'' if count == 1 else 's'}"
