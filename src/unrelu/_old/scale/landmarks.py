"""A block of few rows is solved, all others are attached to it, and with noise passes over all entries follow.

The time is O(n·m·r²) for m landmarks, the memory O(n·r), and of an n×n matrix without noise n·m entries are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.budget import phase
from unrelu._old.scale.blocks import Asked, Data, Found, Totals
from unrelu._old.scale.checkpoints import Checkpoint
from unrelu._old.scale.options import Landmarks, side_for
from unrelu._old.scale.passes import look
from unrelu._old.scale.polish import (
    MOST,
    MOST_OF_A_TABLE,
    Fit,
    balanced_pair,
    chosen,
    principal,
    swept,
    swept_columns,
    swept_further,
)
from unrelu._old.scale.rows import Placed, Reader
from unrelu._old.scale.seed import Seed, Wanted, fingerprint, solved
from unrelu._old.scale.sides import Side
from unrelu._old.scale.stored import found_from, found_in, kept_seed, seed_from

__all__ = ["Answer", "Large", "Watcher", "by_landmarks"]

# Without all entries: so many further columns for each landmark, and passes over them.
FURTHER, FURTHER_PASSES = 10, 2
# With fewer seen entries for each unknown the noise of what has a place is taken to be that of the block at least.
FEW_SPARE = 2


class Watcher(Protocol):
    """Who is told how a long run goes."""

    def begin(self, phase: str, rows: int) -> None:
        """A phase of so many rows begins."""

    def advance(self, rows: int, bytes_read: int) -> None:
        """So many more rows are done, for which so many bytes were read."""


@dataclass(frozen=True, eq=False)
class Large:
    """A large matrix, and how it is to be completed.

    Attributes
    ----------
    source : Source
        It counts what is read: ``entries_read`` and ``bytes_read``.
    rank : int or None
    threshold : float or None
    seen : {"above", "below"}
    symmetric : bool
    whole : bool
        Whether all entries may be looked at: not those of an oracle.
    method : Landmarks
    solve : callable
        From a block and a rank to a completion.
    peak : int or None
        Bytes.
    sure : bool
        Whether only data of this rank are wanted, for others know more of the rest.
    """

    source: Any
    rank: int | None
    threshold: float | None
    seen: str
    symmetric: bool
    whole: bool
    method: Landmarks
    solve: Callable[[Array, int | None], Any]
    peak: int | None = None
    sure: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """Between which values entries are seen."""
        if self.threshold is None:
            return -np.inf, np.inf
        return (self.threshold, np.inf) if self.seen == "above" else (-np.inf, self.threshold)

    def data(self, seed: Seed) -> Data:
        """The same in units of the block."""
        threshold = None if self.threshold is None else self.threshold / seed.unit
        sign = 1.0 if self.seen == "above" else -1.0
        return Data(self.source, seed.unit, threshold, sign, self.symmetric, seed.alike)


@dataclass(frozen=True, eq=False)
class Answer:
    """What came out, in units of the block: how rows were placed, the fit, and what passes over all entries found.

    ``checked`` says whether all entries were looked at; ``passes`` how many times with a step.
    """

    seed: Seed
    sides: tuple[Side, ...]
    fit: Fit
    totals: Totals | None
    checked: bool


def by_landmarks(
    large: Large, rng: np.random.Generator, kept: Checkpoint, watch: Watcher | None = None
) -> tuple[Answer | None, Any]:
    """The answer, if the block has one; and the completion of the block."""
    run = _Run(large, rng, kept, watch)
    return run.answer(), run.completion


@dataclass(eq=False)
class _Run:
    large: Large
    rng: np.random.Generator
    kept: Checkpoint
    watch: Watcher | None
    completion: Any = None
    seed: Seed | None = None
    sides: tuple[Side, ...] = ()
    fit: Fit | None = None
    part: Found | None = field(default=None)
    told: int = 0  # bytes
    _fingerprint: str = ""

    def answer(self) -> Answer | None:
        """Through all stages, or on from where an earlier run was."""
        self._begin()
        if self.seed is None:
            return None
        for number, side in enumerate(self.sides):
            if side.stage < 1:
                self._phase("attaching rows" if number == 0 else "attaching columns", len(side.placed.factor))
                side.against_landmarks(self._attached)
        for number, side in enumerate(self.sides):
            if side.stage < 2:
                other = side if len(self.sides) == 1 else self.sides[1 - number]
                side.against_others(other.placed, np.random.default_rng(self._drawn), self._attached)
                self._save()
        totals, checked = self._finished()
        assert self.fit is not None
        return Answer(self.seed, self.sides, self.fit, totals, checked)

    # --- the block ---------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._drawn = int(self.rng.integers(1 << 62))
        earlier = self.kept.load()
        if earlier is not None:
            state, arrays = earlier
            self.seed = seed_from(state, arrays)
            block = self.large.source.block(self.seed.rows, self.seed.cols)
            if fingerprint(block) != state["fingerprint"]:
                self.kept.refuse_other_data()
            self._fingerprint, self._drawn = state["fingerprint"], state["drawn"]
            self.sides = self._sides(self.seed)
            for number, side in enumerate(self.sides):
                name = f"side{number}"
                factor, share, misfit = (arrays[f"{name}_{what}"] for what in ("factor", "share", "misfit"))
                side.stage, done = state[name]
                side.placed = Placed(factor, share, misfit, done)
            self.fit, self.part = found_from(state, arrays)
            return
        drawn = np.random.default_rng(self._drawn)
        large = self.large
        wanted = Wanted(large.rank, large.method.count, large.symmetric, told=large.threshold is not None)
        wanted = replace(wanted, codes=wanted.codes[:2]) if large.sure else wanted
        self.seed, self.completion = solved(large.source, wanted, large.solve, drawn)
        if self.seed is not None:
            self._fingerprint = (
                fingerprint(large.source.block(self.seed.rows, self.seed.cols)) if self.kept.path else ""
            )
            self.sides = self._sides(self.seed)
            self._save()

    def _sides(self, seed: Seed) -> tuple[Side, ...]:
        source, (height, width) = self.large.source, self.large.source.shape
        rows, cols = (seed.rows, seed.left), (seed.cols, seed.right)
        if self.large.symmetric:
            reader = Reader(source, seed.unit, "one" if seed.alike else "both", self.large.range)
            return (Side.of(reader, rows, rows, height, exact=seed.exact),)
        return (
            Side.of(Reader(source, seed.unit, "rows", self.large.range), cols, rows, height, exact=seed.exact),
            Side.of(Reader(source, seed.unit, "columns", self.large.range), rows, cols, width, exact=seed.exact),
        )

    # --- passes ------------------------------------------------------------------------------------------------------

    def _finished(self) -> tuple[Totals | None, bool]:
        """Polish what is noisy, look at what is not; the sums, and whether they are of all entries."""
        assert self.seed is not None
        large, seed, data = self.large, self.seed, self.large.data(self.seed)
        rank, most = seed.rank, large.method.passes
        left, right = self.sides[0].placed.factor, self.sides[-1].placed.factor
        left, right = (principal(left),) * 2 if large.symmetric else balanced_pair(left, right)
        attached = Fit(left, right, seed.sigma if seed.sigma else None)
        if seed.exact:
            self.fit = self.fit or attached
            if not large.whole or most == 0:
                return None, False
            side = side_for(data, rank, large.peak)
            self._phase("looking at every entry", self._rows_of(data, side))
            return self._looked_at(data, side), True
        whole = large.whole and large.method.columns is None
        usual = MOST if large.symmetric else MOST_OF_A_TABLE
        most = (usual if whole else FURTHER_PASSES) if most is None else most
        # Rows without a place would pull at the others, and what is left of their entries is no noise.
        rows, cols = self._placed
        apart = (len(rows), len(cols)) != (len(left), len(right))
        if apart:
            data = replace(data, source=chosen(data.source, rows, cols))
            self.fit = self.fit or (attached.of(rows) if large.symmetric else attached.of(rows, cols))
        self.fit = self.fit or attached
        while not self.fit.finished(most, table=not large.symmetric):
            self._pass(data, whole, apart=apart)
        if apart:
            unknowns = self.fit.left.size + (0 if large.symmetric else self.fit.right.size)
            if self.fit.totals.count < FEW_SPARE * unknowns:  # they leave little to tell the noise by
                self.fit = replace(self.fit, sigma=max(self.fit.sigma or 0.0, seed.sigma or 0.0))
            self.fit = self.fit.among(attached, rows) if large.symmetric else self.fit.among(attached, rows, cols)
        if not self.fit.gains:
            return None, False
        return self.fit.totals, whole

    @property
    def _placed(self) -> tuple[Indices, Indices]:
        """Rows that have a place, and columns; of a symmetric matrix they are the same."""
        rows, cols = (np.flatnonzero(one.placed.share > 0) for one in (self.sides[0], self.sides[-1]))
        return rows, cols

    def _looked_at(self, data: Data, side: int) -> Totals:
        """Every entry of the rows that have a place, once."""
        assert self.fit is not None
        rows, cols = self._placed
        left, right = (self.fit.left, self.fit.left) if data.symmetric else (self.fit.left, self.fit.right)
        if (len(rows), len(cols)) == (len(left), len(right)):
            found = look(data, (left, right), Asked(first=True), side, told=self._looked)
            self.fit = replace(self.fit, seen=found.seen)
            return found.totals
        inside = replace(data, source=chosen(data.source, rows, cols))
        factors = (left[rows],) * 2 if data.symmetric else (left[rows], right[cols])
        found = look(inside, factors, Asked(first=True), side, told=self._looked)
        seen = np.zeros(sum(len(one.placed.share) for one in self.sides), np.int64)
        seen[np.concatenate([rows, len(left) + cols]) if not data.symmetric else rows] = found.seen
        self.fit = replace(self.fit, seen=seen)
        return found.totals

    def _pass(self, data: Data, whole: bool, *, apart: bool) -> None:
        """One more; ``apart`` says whether only what has a place is left of the data."""
        assert self.fit is not None
        if whole:
            side = side_for(data, self.fit.left.shape[1], self.large.peak)
            self._phase(f"pass {len(self.fit.gains) + 1} over all entries", self._rows_of(data, side))
            self.fit = swept(data, self.fit, side, self.part, self._looked)
        else:
            columns = self._further(0, apart)
            self._phase(f"pass {len(self.fit.gains) + 1} over {len(columns)} columns", len(self.fit.left))
            if data.symmetric:
                self.fit = swept_columns(data, self.fit, columns, self.part, self._looked)
            else:
                self.fit = swept_further(data, self.fit, self._further(1, apart), columns)
        self.part = None
        self._save()

    def _further(self, number: int, apart: bool) -> Indices:
        """Columns that every row of a side is asked about: the landmarks, and others that are well placed.

        Their positions, or with ``apart`` those among the ones that have a place.
        """
        side, other = self.sides[number], self.sides[-1 - number]
        wanted = self.large.method.columns or FURTHER * len(side.landmarks)
        there = np.setdiff1d(np.flatnonzero(other.placed.share > 0), side.landmarks)
        more = np.random.default_rng(self._drawn).permutation(there)[:wanted]
        every = np.sort(np.concatenate([side.landmarks, more]))
        return np.searchsorted(self._placed[-1 - number], every) if apart else every

    @staticmethod
    def _rows_of(data: Data, side: int) -> int:
        return sum(rows.stop - rows.start for rows, _ in data.blocks(side))

    # --- what is kept, and who is told -------------------------------------------------------------------------------

    def _phase(self, name: str, rows: int) -> None:
        phase(name)
        if self.watch is not None:
            self.watch.begin(name, rows)

    def _attached(self, placed: Placed, rows: int) -> None:
        self._advanced(rows)
        if self.kept.due():
            self._save()

    def _looked(self, found: Found, rows: int) -> None:
        self._advanced(rows)
        if self.kept.due():
            self.part = found if found.done else None
            self._save()

    def _advanced(self, rows: int) -> None:
        if self.watch is not None:
            before, self.told = self.told, int(self.large.source.bytes_read)
            self.watch.advance(rows, self.told - before)

    def _save(self) -> None:
        if self.kept.path is None or self.seed is None:
            return
        state, arrays = kept_seed(self.seed)
        state |= {"fingerprint": self._fingerprint, "drawn": self._drawn}
        for number, side in enumerate(self.sides):
            name = f"side{number}"
            state[name] = [side.stage, side.placed.done]
            arrays |= {f"{name}_{what}": getattr(side.placed, what) for what in ("factor", "share", "misfit")}
        also, more = found_in(self.fit, self.part)
        self.kept.save(state | also, arrays | more)
