"""A completion in plain sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.distances.edges import named
from unrelu._old.distances.trilateration import Body, grow, look
from unrelu._old.problems.network import Network

__all__ = ["explanation"]

Located = Any  # a DistanceCompletion, whose file imports this one

MOST_NAMED = 5
# Extra distances that are tried, at most, to say which would fix most.
MOST_TRIED = 40
# Fewer of large sets: a try costs as much as there are distances.
MOST_WORK = 2_000_000


def explanation(result: Located) -> str:
    """What the data fix, which points may flip, hinge or float, and which extra distance would fix most."""
    sentences = [
        f"{result.size} points in {result.dim} dimensions were sought from {len(result.pairs)} distances.",
        *_dimension(result),
        f"The run {_ending(result)}.",
        *_misfit(result),
        *_wrong(result),
        *(f"Note: {note}." for note in result.notes),
        *_frame(result),
        *_components(result),
        *_grades(result),
        *_advice(result),
    ]
    return "\n".join(sentences)


def _dimension(result: Located) -> list[str]:
    return [] if result.dimension is None else [f"The dimension was found: {result.dimension.why}."]


def _ending(result: Located) -> str:
    return f"ended as {result.verdict.code.value}: {result.verdict.reason}"


def _misfit(result: Located) -> list[str]:
    """How well the distances are met, and what cannot be known of their noise."""
    worst = result.largest_misfit
    if worst is None:
        return []
    gap, one, other = worst
    sentences = [
        f"The relative residual is {result.residual:.2g}; the largest misfit of a seen distance is {gap:.2g}, between "
        f"{named(one, result.names)} and {named(other, result.names)}."
    ]
    if result.freedom == 0 and result.determined.any():
        sentences.append(
            "No distance is to spare: noise would not show, so there are no standard errors; pass sigma= to have them."
        )
    return sentences


def _wrong(result: Located) -> list[str]:
    """The distances that were left out, and those that could not be judged."""
    sentences = []
    found = result.distrusted
    if found:
        shown = ", ".join(
            f"{one.row} to {one.column} ({one.value:.5g}, by the others {one.expected:.5g})"
            for one in found[:MOST_NAMED]
        )
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        sentences.append(
            f"{len(found)} distance{' contradicts' if len(found) == 1 else 's contradict'} the others and "
            f"{'was' if len(found) == 1 else 'were'} left out: {shown}{more}."
        )
    elif result.loss == "huber":
        sentences.append("No distance contradicts the others.")
    if result.unchecked:
        shown = ", ".join(f"{one} to {other}" for one, other in result.unchecked[:MOST_NAMED])
        more = f" and {len(result.unchecked) - MOST_NAMED} more" if len(result.unchecked) > MOST_NAMED else ""
        sentences.append(
            f"{len(result.unchecked)} cannot be judged, for too few others check "
            f"{'it' if len(result.unchecked) == 1 else 'them'}: {shown}{more}."
        )
    return sentences


def _listed(result: Located, points: NDArray[np.intp]) -> str:
    shown = ", ".join(named(int(point), result.names) for point in points[:MOST_NAMED])
    more = len(points) - MOST_NAMED
    return f"{shown}{f' and {more} more' if more > 0 else ''}"


def _frame(result: Located) -> list[str]:
    if result.framed:
        return [f"{len(result.anchors)} anchors fix the frame and which of the two mirror images is meant."]
    if len(result.anchors):
        return [
            f"{len(result.anchors)} anchors are too few, or lie in one plane or line: the answer touches them, and may "
            "still be turned about them or mirrored."
        ]
    return ["Distances do not tell a set of points from its mirror image, nor where it lies: one of them is given."]


def _components(result: Located) -> list[str]:
    sizes = np.bincount(result.components)
    if len(sizes) == 1:
        return []
    return [
        f"The points fall into {len(sizes)} components between which no distance was seen (sizes "
        f"{', '.join(map(str, sizes[:MOST_NAMED]))}{' …' if len(sizes) > MOST_NAMED else ''}): each is given in its "
        "own frame, and distances between them mean nothing."
    ]


def _grades(result: Located) -> list[str]:
    grade = result.determinacy
    sentences = []
    fixed = np.flatnonzero(result.determined)
    proved = int((grade == "proved").sum())
    if len(fixed):
        sentences.append(
            f"{len(fixed)} point{' is' if len(fixed) == 1 else 's are'} determined ({proved} proved by placing them "
            f"one after the other, {len(fixed) - proved} for all but exceptional positions)."
        )
    local = np.flatnonzero(grade == "local")
    if len(local):
        sentences.append(f"{len(local)} cannot move a little but may flip to another place: {_listed(result, local)}.")
    loose = np.flatnonzero(grade == "no")
    if len(loose) and not len(result.pairs):
        sentences.append(f"{_points(len(loose), 'float')}: no distance was seen, and bounds fix no place.")
    elif len(loose):
        degrees = np.bincount(result.pairs.ravel(), minlength=result.size)
        for verb, why, points in (
            ("float", ": nothing, or a single distance, was seen of", loose[degrees[loose] <= 1]),
            (
                "hinge",
                f": fewer than {result.dim} distances were seen of",
                loose[(degrees[loose] > 1) & (degrees[loose] < result.dim)],
            ),
            (
                "may flip or hinge with others",
                f", seeing at least {result.dim} points that are not all fixed:",
                loose[(degrees[loose] > 1) & (degrees[loose] >= result.dim)],
            ),
        ):
            if len(points):
                sentences.append(f"{_points(len(points), verb)}{why} {_listed(result, points)}.")
    return sentences


def _points(count: int, verb: str) -> str:
    if count > 1:
        return f"{count} points {verb}"
    return f"1 point {verb if verb.startswith('may') else verb + 's'}"


def _advice(result: Located) -> list[str]:
    """The extra distance that would let trilateration reach most, tried one by one."""
    sizes = np.bincount(result.components)
    sentences = []
    if len(sizes) > 1:
        one, other = (np.flatnonzero(result.components == k) for k in (0, 1))
        sentences.append(
            f"To join the two largest components, measure distances between them, such as from "
            f"{named(int(one[0]), result.names)} to {named(int(other[0]), result.names)}; "
            f"{result.dim * (result.dim + 1) // 2 + 1} between different points settle how they lie."
        )
    best, count = _best_extra(result)
    if best is not None:
        sentences.append(
            f"The distance from {named(best[0], result.names)} to {named(best[1], result.names)} would fix most: "
            f"{count} more point{'s' if count > 1 else ''}."
        )
    return sentences


def _best_extra(result: Located) -> tuple[tuple[int, int] | None, int]:
    dim, n = result.dim, result.size
    settled = result.determined & (result.components == 0)
    if settled.all() or settled.sum() <= dim:
        return None, 0
    first, second = result.pairs[result.fitted].T
    points = result.points.astype(np.float64) / result.unit
    measured = result.measured[result.fitted].astype(np.float64) / result.unit
    network = Network(n, dim, first, second, measured, np.ones(len(first)))
    open_points = np.flatnonzero(~settled & (result.components == 0))
    seen = look(network, open_points, settled).count
    best, most = None, 0
    tries = max(2, min(MOST_TRIED, MOST_WORK // (len(first) + 1)))
    for point in open_points[np.argsort(-seen, kind="stable")][:tries]:
        near = settled.copy()
        near[network.graph.indices[network.graph.indptr[point] : network.graph.indptr[point + 1]]] = False
        if not near.any():
            continue
        pool = np.flatnonzero(near)
        partner = int(pool[np.argmin(np.linalg.norm(points[pool] - points[point], axis=1))])
        low, high = min(int(point), partner), max(int(point), partner)
        keys = np.r_[first * n + second, low * n + high]
        distance = np.r_[network.distance, np.linalg.norm(points[low] - points[high])]
        order = np.argsort(keys)
        more = Network(n, dim, keys[order] // n, keys[order] % n, distance[order], np.ones(len(keys)))
        body = grow(more, Body(points, settled, np.zeros(n)), known=points)
        gained = body.count - int(settled.sum())
        if gained > most:
            best, most = (int(point), partner), gained
    return best, most
