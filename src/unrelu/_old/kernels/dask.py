"""F, its gradient, its curvature and F along a line as graphs of dask: a kernel in memory for each pair of chunks.

F is a sum over entries, so it is the sum of what the chunks say. A chunk and its mirror image lie off the diagonal of
the symmetric matrix of their own rows and columns, as a table does, and so any kernel in memory serves them. Those
kernels are made once, where the chunks are, and stay there if there is room; a pass sends rows of the factors and adds
up rows of a product. What a pass keeps for the next one (weights, say) stays there too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.engines import noted
from unrelu._old.data.dask_graph import Key, memory, named, needed, places_of, run, summed, task, where, workers
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import Source
from unrelu._old.kernels import dask_parts as parts
from unrelu._old.kernels.line import Quartic, Sampled
from unrelu._old.kernels.protocol import Line, PairsSeen
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.model.losses import Loss

__all__ = ["DaskKernel", "known_on_clusters"]

# Of the memory of the workers, kernels may take this share; beyond it they are made anew in each pass.
SHARE = 0.4
# So many rows of chunks are joined, if so many pairs are left for each worker.
LONGEST, PAIRS = 4096, 4

Pair = tuple[int, int]


def known_on_clusters(observations: Observations, loss: Loss) -> bool:
    """Whether chunks can be told all that is known of their entries: one threshold, and no weights of their own."""
    limits = loss.heard(observations.limits)
    common = limits.nothing or (limits.uniform and limits.unknown is None)
    return observations.plain and observations.caps is None and common


class DaskKernel:
    """Passes over the chunks of a dask array, by whoever holds them.

    Parameters
    ----------
    observations : Observations
        Its source has the array as ``lazy``.
    loss : Loss

    Examples
    --------
    >>> import pytest; da = pytest.importorskip("dask.array")
    >>> from unrelu._old.data.dask_source import DaskSource
    >>> from unrelu._old.model.losses import Observed
    >>> seen = Observations(DaskSource(da.from_array(np.array([[1.0, 2.0], [2.0, 4.0]]), chunks=1)))
    >>> value, gradient, _ = DaskKernel(seen, Observed()).evaluate(np.array([[0.5], [1.0]]))
    >>> value, gradient.tolist()
    (0.0, [[0.0], [0.0]])
    """

    _signs: Array | None = None

    def __init__(self, observations: Observations, loss: Loss) -> None:
        self._observations, self._loss = observations, loss
        self.size, self.dtype = observations.size, observations.dtype
        self.bounded = not loss.heard(observations.limits).nothing
        noted(f"dask {where()} in {self.dtype.name}")
        room = memory()
        # Of a symmetric matrix a kernel holds one side of the diagonal; three bytes an entry are marks and weights.
        entries = observations.source.lazy.size / (2 if observations.source.cut is None else 1)
        held = room is None or entries * (self.dtype.itemsize + 3) <= SHARE * room
        self._grid = _Grid.of(observations.source, LONGEST if held else 1, PAIRS * (workers() or 1))
        # What stands for the kernel of each pair in a graph, and the tasks that it needs there.
        self._kernels: dict[Pair, Any] = {}
        self._making: dict[Key, Any] = {}
        self._make(loss, held)

    def __getstate__(self) -> dict[str, Any]:
        """What workers need of it, who may be sent a function that has it: not the values, nor what stands for them."""
        there = {"_observations", "_kernels", "_making"}
        return {name: value for name, value in vars(self).items() if name not in there}

    def _make(self, loss: Loss, held: bool) -> None:
        """A kernel for each pair of bands: where the chunks are, or with the tasks that make them in every pass."""
        lazy, name = self._observations.source.lazy, named("kernel")
        graph: dict[Key, Any] = dict(lazy.__dask_graph__())
        told = replace(self._observations, source=parts.Nowhere(self.size, self.dtype), labels=None, said=None)
        told = replace(told, scanned=replace(self._observations._counts, per_row=np.zeros(0, np.int64)))
        graph[name, "told"] = parts.Told(told, loss, self._observations.source.cut is not None)
        for pair, (chunks, places) in self._grid.pairs.items():
            keys = [(lazy.name, *place) for place in places]
            graph[name, *pair] = task(parts.made, (name, "told"), chunks, *keys)
        made = [(name, *pair) for pair in self._grid.pairs]
        graph = needed(graph, made)
        if held:
            _, there = run(graph, [], stay=made)
            self._kernels = dict(zip(self._grid.pairs, there.values(), strict=True))
        else:
            self._making, self._kernels = graph, dict(zip(self._grid.pairs, made, strict=True))

    def _begun(self, what: Callable[..., Any], more: Any) -> tuple[str, dict[Key, Any]]:
        """The name and the graph of a pass, so far."""
        name = named(what.__name__)
        return name, {**self._making, (name, "how"): parts.How(what, self._loss, self._signs, more)}

    def _pass(self, what: Callable[..., Any], factors: Sequence[Array], kept: Any = None, more: Any = None) -> _Sums:
        """Run something on every kernel, and add up what it says of rows of the factors, and the numbers beside."""
        (name, graph), grid = self._begun(what, more), self._grid
        # Nearly every worker needs all rows, so they are one task.
        graph[name, "factors"] = parts.Factors(tuple(factors), grid.bands)
        stay: list[Key] = []
        for a, b in grid.pairs:
            known = [] if kept is None else [kept[a, b]]
            given = self._kernels[a, b], (name, "factors"), parts.Bands(a, b)
            graph[name, "part", a, b] = task(parts.done, (name, "how"), *given, *known)
            if what is parts.evaluated:  # what is kept is large, and is not to travel with the sums
                graph[name, "whole", a, b] = graph.pop((name, "part", a, b))
                for number, part in enumerate(("part", "kept")):
                    graph[name, part, a, b] = task(itemgetter(number), (name, "whole", a, b))
                stay.append((name, "kept", a, b))
        sums = [
            summed(graph, (name, "sum", band), some, parts.rows_added)
            for band, some in enumerate(self._added_up(what, name))
        ]
        with owning_the_cores():
            found, there = run(graph, sums, stay=stay)
        return _Sums(found, dict(zip(grid.pairs, there.values(), strict=True)) if stay else {})

    def _added_up(self, what: Any, name: str) -> list[list[tuple[Key, int]]]:
        """For each band of rows the parts that tell of it; all, where only numbers are asked."""
        every = [((name, "part", *pair), pair) for pair in self._grid.pairs]
        if what in (parts.constant, parts.quartic, parts.looked):
            return [[(key, 0) for key, _ in every]]
        return [
            [(key, pair.index(band)) for key, pair in every if band in pair]  # a pair on the diagonal once
            for band in range(len(self._grid.bands))
        ]

    def with_loss(self, loss: Loss) -> DaskKernel:
        """The same chunks under other estimates."""
        other = copy(self)
        other._loss = loss
        return other

    def signed(self, signs: Any) -> DaskKernel:
        """The same data, which USUᵀ with S = diag(signs) is fitted to instead of UUᵀ; None: UUᵀ."""
        other = copy(self)
        other._signs = None if signs is None else np.asarray(signs, self.dtype)
        return other

    def __copy__(self) -> DaskKernel:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    @cached_property
    def constant(self) -> float:
        """The part of a squared F that no fit lowers: of pairs seen twice, with two values."""
        return float(self._pass(parts.constant, []).numbers[0])

    def evaluate(self, U: Array) -> tuple[Any, ...]:
        """F(U), ∇F(U), where the curvatures there are, and what the loss asks for."""
        found = self._pass(parts.evaluated, [U])
        value, *sums = found.numbers
        gradient = found.rows(U.dtype)
        return (value, gradient, found.kept, np.array(sums)) if self._loss.gathers else (value, gradient, found.kept)

    def residual_times(self, U: Array, V: Array) -> Array:
        """The matrix of slopes, symmetrised, times V."""
        return self._pass(parts.residual, [U, V]).rows(V.dtype)

    def curvature(self, U: Array, D: Array, kept: Any) -> Array:
        """(S ∘ (UDᵀ + DUᵀ)) U with the curvatures S found at U."""
        return self._pass(parts.bent, [U, D], kept).rows(U.dtype)

    def line(self, U: Array, D: Array, value: float, slope: float, kept: Any) -> Line:
        """F(U + tD): a quartic under squares, with the weights held at those of U; else values by a pass."""
        if self._loss.squared:
            falling = self._pass(parts.quartic, [U, D], kept).numbers
            return Quartic(np.array([value, slope, *falling]), exact=not self.bounded)

        def look(steps: Sequence[float]) -> tuple[Floats, Floats]:
            found = np.array(self._pass(parts.looked, [U, D], more=list(steps)).numbers)
            return found[: len(steps)], found[len(steps) :]

        return Sampled(value, slope, float(np.vdot(D, self.curvature(U, D, kept))), look)

    # What error bars and judges ask: functions of theirs go to the workers.

    def _visit(self, what: Callable[..., Any], more: Any) -> tuple[dict[Key, Any], dict[Pair, Key]]:
        """The graph of a visit to every pair, and the keys of what is found there."""
        name, graph = self._begun(what, more)
        keys: dict[Pair, Key] = {}
        for number, (a, b) in enumerate(self._grid.pairs):
            here = parts.Here(self._grid.bands[a], self._grid.bands[b], number)
            keys[a, b] = (name, "part", a, b)
            graph[keys[a, b]] = task(what, (name, "how"), self._kernels[a, b], here)
        return graph, keys

    def _visited(self, visit: Callable[..., Any], zeros: Any) -> Any:
        graph, keys = self._visit(parts.visited, (visit, zeros))
        last = summed(graph, (named("visited"), "sum"), [(key, 0) for key in keys.values()], parts.moved)
        with owning_the_cores():
            ((found,),), _ = run(graph, [last])
        return found

    def weighted(self, weigh: Callable[[PairsSeen], Any]) -> Any:
        """Other weights, which stay where the pairs are."""
        graph, keys = self._visit(parts.weighed, weigh)
        with owning_the_cores():
            _, there = run(graph, [], stay=list(keys.values()))
        return dict(zip(keys, there.values(), strict=True))

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: Any) -> Any:
        """The sum over blocks of pairs of what ``visit`` adds to an array, in a fixed order."""
        return self._visited(visit, zeros)

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """The sum of what ``visit`` returns for each block of pairs, in a fixed order."""
        return self._visited(visit, None)

    def curvature_matrix(self, U: Array, kept: Any) -> Floats:
        """The matrix of :meth:`curvature`, of shape (nr, nr): for small problems only."""
        name, graph = self._begun(parts.matrix, None)
        keys: list[Key] = []
        graph[name, "factors"] = parts.Factors((U,), self._grid.bands)
        for a, b in self._grid.pairs:
            known = [] if kept is None else [kept[a, b]]
            given, key = (self._kernels[a, b], (name, "factors"), parts.Bands(a, b)), (name, "part", a, b)
            graph[key] = task(parts.matrix, (name, "how"), *given, *known)
            keys.append(key)
        with owning_the_cores():
            found, _ = run(graph, keys)
        n, r = U.shape
        whole, columns = np.zeros((n, r, n, r)), np.arange(r)
        for (a, b), matrix in zip(self._grid.pairs, found, strict=True):
            (mine,) = parts.Factors((np.arange(n),), self._grid.bands).of(parts.Bands(a, b))
            whole[np.ix_(mine, columns, mine, columns)] += matrix.reshape(len(mine), r, len(mine), r)
        return whole.reshape(n * r, n * r)


@dataclass(frozen=True, eq=False)
class _Grid:
    """Bands of rows of the factor, and pairs of bands with the chunks that tell of them, row by row.

    A band has the rows of a few chunks, if they are small: a task takes a scheduler a millisecond.
    """

    bands: list[slice]
    pairs: dict[Pair, tuple[parts.Chunks, list[Pair]]]

    @classmethod
    def of(cls, source: Source, longest: int, pairs: int) -> _Grid:
        """Of a square matrix chunks go with their mirror images; of a table they are alone.

        Parameters
        ----------
        source : Source
        longest : int
            Chunks are joined into bands of up to so many rows.
        pairs : int
            They are not joined where fewer pairs of bands than this would be left.
        """
        sides = [places_of(sizes) for sizes in source.lazy.chunks]
        joined = [_joined(places, longest) for places in sides]
        one = source.cut is None
        if (len(joined[0]) * (len(joined[0]) + 1) // 2 if one else len(joined[0]) * len(joined[1])) < pairs:
            joined = [[[k] for k in range(len(places))] for places in sides]
        down, right = (
            [slice(places[some[0]].start, places[some[-1]].stop) for some in groups]
            for places, groups in zip(sides, joined, strict=True)
        )
        found: dict[Pair, tuple[parts.Chunks, list[Pair]]] = {}
        for a, above in enumerate(joined[0]):
            for b, beside in enumerate(joined[1]):
                if one and b < a:
                    continue
                chunks = [(i, j) for i in above for j in beside]
                chunks += [(j, i) for j in beside for i in above] if one and a != b else []
                pair = (a, b) if one else (a, len(down) + b)
                found[pair] = parts.Chunks(len(above), len(beside), one and a != b), chunks
        below = (
            []
            if one
            else [slice(int(source.cut or 0) + place.start, int(source.cut or 0) + place.stop) for place in right]
        )
        return cls(down + below, found)


def _joined(places: list[slice], longest: int) -> list[list[int]]:
    """Pieces that lie beside each other, as many together as have no more rows than that."""
    found: list[list[int]] = []
    for k, place in enumerate(places):
        if found and place.stop - places[found[-1][0]].start <= longest:
            found[-1].append(k)
        else:
            found.append([k])
    return found


@dataclass(frozen=True, eq=False)
class _Sums:
    """What came back of a pass: for each band its rows and numbers; and where the parts are that were kept."""

    bands: list[tuple[Array, Any, Floats]]
    kept: dict[Pair, Any]

    @property
    def numbers(self) -> list[float]:
        """Numbers of all bands, added in their order."""
        return parts.numbers_added([numbers for _, _, numbers in self.bands]).tolist()

    def rows(self, dtype: Any) -> Array:
        """Those of all bands, one below the other."""
        return np.concatenate([rows for rows, _, _ in self.bands]).astype(dtype, copy=False)
