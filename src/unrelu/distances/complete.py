"""The front door: places of points from some of their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.distances.anchors import fix_the_frame
from unrelu.distances.assemble import components, network_of
from unrelu.distances.completion import DistanceCompletion
from unrelu.distances.edges import real
from unrelu.distances.network import Misfit, Network
from unrelu.distances.options import checked_dim, chosen_effort, chosen_misfit, generator_of, given_start
from unrelu.distances.ranges import Ranges
from unrelu.distances.refine import Journal, refine
from unrelu.distances.rigidity import WORDS
from unrelu.distances.solve import Effort, Solved, fitted_to, solve_component
from unrelu.distances.triangles import check_triangles
from unrelu.errors import InputError, is_number
from unrelu.history import Record, Stop, Verdict

__all__ = ["complete_distances", "complete_from_shortest"]

Floats = NDArray[np.float64]

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
    dim = checked_dim(dim)
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
    misfit, loss_name = chosen_misfit(loss, ranges)
    given = given_start(start, ranges.size, dim)
    effort = chosen_effort(tol, max_iter, loss, ranges)
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable, got {type(callback).__name__}")
    generator = generator_of(rng)
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
    whole = network_of(ranges, dim)
    labels = components(whole)
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
            if fix_the_frame(known, dim):
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

    seen = network_of(ranges, dim, join=False) if len(ranges.anchors) > 1 else whole
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
