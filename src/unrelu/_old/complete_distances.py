"""The front door: places of points from some of their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, cast

import numpy as np

from unrelu._old.auto.dimension import in_found_dimension
from unrelu._old.base.alike import evened
from unrelu._old.base.arrays import Indices
from unrelu._old.base.budget import Budget, OutOfTime, budget
from unrelu._old.base.errors import InputError, is_integer
from unrelu._old.base.generators import generator_of
from unrelu._old.distances.assemble import components, network_of
from unrelu._old.distances.distrust import trusted_ranges
from unrelu._old.distances.doubts import Doubts, without_contradictions
from unrelu._old.distances.held import Held
from unrelu._old.distances.options import (
    ROBUST,
    Plan,
    checked_dim,
    checked_seconds,
    chosen_effort,
    chosen_misfit,
    given_start,
)
from unrelu._old.distances.order import own_order
from unrelu._old.distances.ranges import Ranges
from unrelu._old.distances.refine import Journal
from unrelu._old.distances.rigidity import PROVED, WORDS
from unrelu._old.distances.search import Search
from unrelu._old.distances.solve import Solved, nothing, solve_component
from unrelu._old.distances.triangles import check_triangles
from unrelu._old.distances.verdict import verdict_of
from unrelu._old.loop.history import Record, Stop
from unrelu._old.problems.network import Network
from unrelu._old.results.distances import DistanceCompletion
from unrelu._old.results.distrusted import Distrusted

__all__ = ["complete_distances"]

# Up to this many points are put in an order of their own first; beyond, the caller's may lie better in memory.
ORDERED = 2000
# Two atoms in space are still in space: so many dimensions are allowed however few points there are.
LEAST_DIM = 3


def complete_distances(
    D: Any,
    dim: int | str,
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
    max_seconds: float | None = None,
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
    dim : int or "auto"
        Number of coordinates. ``auto``: the smallest that explains the distances; ``result.dimension`` says why, and
        how close the next candidates came. Not with anchors or a given start, which have a dimension.
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
    loss : {"auto", "one-sided", "distances", "squared", "censored", "huber"}
        ``distances`` ignores absence, ``squared`` too and compares squares; ``censored`` takes the likelihood of not
        having been seen beyond the cut-off with noise. ``auto``: ``one-sided``, or ``censored`` once noise is found.
        ``huber``: up to a tenth of the distances may be grossly wrong; they are looked for, left out and listed in
        :attr:`DistanceCompletion.distrusted`, and the others are judged as by ``auto``. The name is that of the robust
        loss for matrices; here it is not Huber's function but weights of Geman and McClure, then trimming.
    start : {"auto", "paths", "trilateration"} or array of shape (n, dim)
    max_iter : int, optional
        Most iterations of one refinement; default 200.
    tol : float, optional
        Stop when the gradient is below this share of the data; default 1e-14.
    rng : int, Generator or None
    max_seconds : float, optional
        How long the call may take. Then, as after Ctrl-C, the best places so far come back, the verdict says so, and no
        point is called determined.
    progress : bool, default False
        Show phase, iteration and objective on the terminal's error output.
    callback : callable, optional
        Called with each :class:`~unrelu._old.loop.history.Record`; returning True stops.
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
    >>> from unrelu._old.data.planted import points_in_cube, shortest
    >>> points = points_in_cube(80, 2, rng=0)
    >>> D, cutoff = shortest(points, 0.2)        # NaN for all but the shortest 20 %
    >>> result = unrelu.complete_distances(D, dim=2, cutoff=cutoff, rng=0)
    >>> truth = np.linalg.norm(points[:, None] - points, axis=2)
    >>> fixed = result.determined
    >>> bool(np.abs(result.distances() - truth)[np.ix_(fixed, fixed)].max() < 1e-9)
    True
    """
    if isinstance(dim, str) and dim == "auto":
        said = {"cutoff": cutoff, "squared": squared, "sigma": sigma, "lower": lower, "upper": upper, "names": names}
        said |= {"loss": loss, "max_iter": max_iter, "tol": tol, "progress": progress, "callback": callback}
        with budget(checked_seconds(max_seconds, tol)) as clock:
            found = _in_found_dimension(D, said | {"anchors": anchors, "start": start}, rng)
            return replace(found, seconds=clock.spent)
    dim = checked_dim(dim)
    with budget(checked_seconds(max_seconds, tol)) as clock:
        robust = loss == ROBUST if isinstance(loss, str) else False
        ranges = Ranges.of(D, cutoff=cutoff, squared=squared, sigma=sigma, names=names, robust=robust)
        ranges = ranges.restrained(dim, lower=lower, upper=upper, anchors=anchors)
        if dim > max(ranges.size, LEAST_DIM):
            raise InputError(f"dim must be at most {ranges.size}, the number of points, which span no more; got {dim}")
        misfit, loss_name = chosen_misfit(loss, ranges)
        given = given_start(start, ranges.size, dim)
        effort = chosen_effort(tol, max_iter, loss, ranges)
        if callback is not None and not callable(callback):
            raise InputError(f"callback must be callable, got {type(callback).__name__}")
        generator = generator_of(rng)
        plan = Plan(misfit, loss_name, effort, start if isinstance(start, str) else "given", given)
        with _shown(callback, clock) if progress else nullcontext(callback) as told:
            call = Call(ranges, dim, plan, generator, Journal(ranges.unit, told))
            call.solve()
            try:
                return call.completion(clock)
            except KeyboardInterrupt:
                call.solved[0] = replace(call.solved[0], code=Stop.INTERRUPTED)
                return call.completion(clock)


def _in_found_dimension(D: Any, options: dict[str, Any], rng: Any) -> DistanceCompletion:
    """The same with the dimension found; a seed gives the points that it gives when that dimension is named."""
    start = options.pop("start")
    if options.pop("anchors") is not None:
        raise InputError("dim='auto' is for distances alone, and anchors have coordinates; say how many as dim=")
    if not isinstance(start, str):
        raise InputError("dim='auto' cannot begin at given points, which have coordinates; say how many as dim=")
    said, robust = {key: options[key] for key in ("cutoff", "squared", "sigma", "names")}, options["loss"] == ROBUST
    ranges = Ranges.of(D, **said, robust=robust)
    ranges = ranges.restrained(1, lower=options["lower"], upper=options["upper"])
    seed = int(rng) if is_integer(rng) and rng >= 0 else int(generator_of(rng).integers(2**62))

    def fit(dim: int, places: Any) -> DistanceCompletion:
        return complete_distances(D, dim, **options, start=start if places is None else places, rng=seed)

    found, choice = in_found_dimension(fit, ranges, generator_of(seed), robust=robust)
    return cast("DistanceCompletion", replace(found, dimension=choice))


@contextmanager
def _shown(callback: Callable[[Record], object] | None, clock: Budget) -> Iterator[Callable[[Record], object]]:
    """A callback that also shows where the run is."""
    from rich.console import Console

    with Console(stderr=True).status("placing points") as status:
        doing = "placing points"

        def begin(name: str) -> None:
            nonlocal doing
            doing = f"placing points: {name}"
            status.update(doing)

        def show(record: Record) -> object:
            status.update(f"{doing}: iteration {record.iteration}, objective {record.objective:.1e}")
            return None if callback is None else callback(record)

        clock.told = begin
        yield show


class Call:
    """One call under way: it solves one component after the other, and holds what was found so far."""

    def __init__(self, ranges: Ranges, dim: int, plan: Plan, rng: np.random.Generator, journal: Journal) -> None:
        self.ranges, self.dim, self.plan, self.rng, self.journal = ranges, dim, plan, rng, journal
        self.whole = network_of(ranges, dim)
        self.seen = network_of(ranges, dim, join=False) if len(ranges.anchors) > 1 else self.whole
        self.labels = components(self.whole)
        self.points = np.zeros((ranges.size, dim))
        self.grade = np.zeros(ranges.size, np.int8)
        self.solved: list[Solved] = []
        self.framed = False
        self.doubts = Doubts(self.seen)

    def solve(self) -> None:
        """Component by component, in units; Ctrl-C ends it with the best so far."""
        cut = Stop.INTERRUPTED
        try:
            if not self.plan.robust:
                check_triangles(self.ranges, self.rng)
            for label in range(int(self.labels.max()) + 1):
                members, alike = self._ordered(np.flatnonzero(self.labels == label))
                one = self._component(members)
                self.points[members] = one.points
                self.grade[members] = one.grade if alike is None else evened(one.grade, alike, PROVED)
                self.solved.append(one)
                if one.code in (Stop.INTERRUPTED, Stop.MAX_SECONDS):
                    cut = one.code
                    break
        except KeyboardInterrupt:
            pass
        # What was not reached, or not finished, stays at the origin.
        for label in range(len(self.solved), int(self.labels.max()) + 1):
            self.solved.append(nothing(int(np.sum(self.labels == label)), self.dim, cut))

    def _ordered(self, members: Indices) -> tuple[Indices, Indices | None]:
        """The members of a component in an order of their own, and a number that those share that look alike."""
        part = self.whole.part(members)
        if part.size > ORDERED:
            return members, None
        order, alike = own_order(part)
        return members[order], alike

    def _component(self, members: Indices) -> Solved:
        """Where the members lie, in the frame of the anchors if there are any."""
        part, seen = self.whole.part(members), self.seen.part(members)
        given = self.plan.given
        own = None if given is None else given[members] / self.ranges.unit
        fixed = np.flatnonzero(np.isin(members, self.ranges.anchors))
        known = self.ranges.places[np.searchsorted(self.ranges.anchors, members[fixed])] / self.ranges.unit
        if not self.plan.robust or not len(part.first):
            one = solve_component(self._search(part), given=own, start=self.plan.start)
            return self._placed(one, Held(self._search(part), seen, fixed, known))
        trust = trusted_ranges(self._search(part), fixed, own)
        if trust.cut is not None:
            return trust.unfinished()
        part, seen = trust.part(part), without_contradictions(trust, seen, fixed, known)
        one = solve_component(self._search(part), given=trust.points, start="given")
        one = self._placed(one, Held(self._search(part), seen, fixed, known))
        try:
            one = trust.graded(one)
            self.doubts.note(trust, members, one, fixed)
        except OutOfTime:
            return replace(one, grade=np.zeros_like(one.grade), code=Stop.MAX_SECONDS)
        return one

    def _placed(self, one: Solved, held: Held) -> Solved:
        """The component about its centre, or in the frame of its anchors."""
        if not held.fixed.size:
            return replace(one, points=one.points - one.points.mean(axis=0))
        self.framed |= held.framed
        try:
            return held.judged(one)
        except KeyboardInterrupt:
            return held.judged(replace(one, grade=np.zeros_like(one.grade), code=Stop.INTERRUPTED))

    def _search(self, part: Network) -> Search:
        """A search that has seen nothing yet."""
        return Search(part, self.plan.misfit, self.plan.effort, self.rng, self.journal)

    def completion(self, clock: Budget) -> DistanceCompletion:
        """What has come out, in the caller's units."""
        ranges, points, solved = self.ranges, self.points, self.solved
        unit = ranges.unit
        seen, kept = self.seen, self.doubts.kept
        gap = seen.residual(points)[kept]
        spare = self._freedom(len(self.whole.first) - len(seen.first))
        freedom: int | None = spare
        rms = float(np.sqrt(np.mean(seen.distance[kept] ** 2))) if len(gap) else 1.0
        likely = [one for one in solved if one.likely]
        if self.plan.effort.noise is not None:
            noise, freedom = self.plan.effort.noise, None
        elif len(solved) == 1 and likely:
            noise = solved[0].noise
        else:
            noise = float(np.sqrt(np.sum(seen.weight[kept] * gap**2) / max(spare, 1))) if len(gap) else 0.0
        return DistanceCompletion(
            points=(points * unit).astype(ranges.dtype),
            verdict=verdict_of(solved, gap, len(self.journal.history), clock.spent, self.dim),
            history=self.journal.history,
            determinacy=np.array(WORDS)[self.grade],
            components=self.labels,
            pairs=np.column_stack([ranges.first, ranges.second]),
            measured=ranges.distance.astype(ranges.dtype),
            cutoff=ranges.cutoff,
            anchors=ranges.anchors,
            names=ranges.names,
            sigma=noise * unit,
            residual=float(np.sqrt(np.mean(gap**2))) / (rms or 1.0) if len(gap) else 0.0,
            start=solved[0].start,
            loss="censored" if likely and not self.plan.robust else self.plan.loss,
            censored=bool(likely),
            framed=self.framed,
            notes=ranges.notes,
            weights=np.where(kept, seen.weight, 0.0),
            distrusted=[Distrusted(*one) for one in self.doubts.listed(unit, ranges.names)],
            unchecked=self.doubts.unjudged(ranges.names) if self.plan.robust else [],
            freedom=freedom,
            seconds=clock.spent,
        )

    def _freedom(self, joined: int) -> int:
        """How many distances were seen beyond those that the places need; distances between anchors are not counted."""
        freedom = sum(one.freedom for one in self.solved)
        count = len(self.ranges.anchors)
        if count > 1:  # the anchors' own distances fix their body, whose places are given
            freedom += max(count * self.dim - self.dim * (self.dim + 1) // 2, 0) - joined - self.doubts.contradicting
        return max(freedom, 0)
