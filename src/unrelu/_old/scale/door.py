"""Which matrices are completed by landmarks, and how a caller's words become such a task."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from inspect import signature
from time import perf_counter, process_time
from typing import Any, ParamSpec, TypeVar

import numpy as np

import unrelu
from unrelu._old.auto.choices import rank_checked
from unrelu._old.base.arrays import Indices
from unrelu._old.base.engines import noting
from unrelu._old.base.errors import CompletionWarning, InputError, is_number, warn
from unrelu._old.base.generators import generator_of
from unrelu._old.data.checks import checked
from unrelu._old.data.counted import Counted
from unrelu._old.data.far import Far
from unrelu._old.data.inputs import read_table, read_values, square_size
from unrelu._old.data.labels import Axes, listed_rows
from unrelu._old.data.limits import Limits
from unrelu._old.data.source import Source, source_of
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.loop.history import Stop
from unrelu._old.loop.rows_bar import rows_watched
from unrelu._old.loop.stopping import StoppingRule
from unrelu._old.results.completion import Completion
from unrelu._old.scale.blocks import Totals
from unrelu._old.scale.checkpoints import Checkpoint
from unrelu._old.scale.judged import completed, verdict_on
from unrelu._old.scale.landmarks import Answer, Large, by_landmarks
from unrelu._old.scale.options import Landmarks, bytes_of
from unrelu._old.scale.seed import size_for

__all__ = ["BIG", "by_blocks_if_large"]

P = ParamSpec("P")
R = TypeVar("R")

# From so many rows on ``auto`` begins with landmarks.
BIG = 4000
# Rows without a place that are asked how much was seen of them.
MOST_ASKED = 64
# What landmarks know nothing of, and what a caller says who does not ask for it.
PLAIN: dict[str, tuple[Any, ...]] = {
    "unknown": (None,),
    "gaps": ("censored",),
    "entry_range": (None,),
    "weights": (None,),
    "sigma": (None,),
    "loss": ("auto",),
    "start": ("auto",),
    "tol": (None,),
    "max_iter": (None,),
    "truth": (None,),
    "callback": (None,),
    "kernel": ("auto",),
    "problem": ("psd",),
    "structure": ("psd",),
    "diagonal": ("auto", "data"),
    "rehearse": (False,),
}


@dataclass(frozen=True, eq=False)
class Said:
    """What a caller has said of a matrix: values, rank, where entries go unseen, and everything else by its name."""

    X: Any
    rank: Any
    threshold: Any
    seen: str
    method: Any
    rng: Any
    progress: bool
    peak_memory: Any
    checkpoint: Any
    others: dict[str, Any]
    table: bool = False

    @classmethod
    def of(cls, said: dict[str, Any], *, table: bool = False) -> Said:
        """From all options of a front door by their names."""
        own = [one.name for one in fields(cls) if one.name in said]
        others = {name: said[name] for name in PLAIN if name in said}
        return cls(**{name: said[name] for name in own}, others=others, table=table)

    @property
    def named(self) -> bool:
        """Whether landmarks are asked for by name."""
        return isinstance(self.method, Landmarks) or (isinstance(self.method, str) and self.method == Landmarks.name)

    @property
    def in_the_way(self) -> str | None:
        """The first option that landmarks know nothing of."""
        for name, value in self.others.items():
            usual = (value,) if name == "callback" and hasattr(value, "phase") else PLAIN[name]
            if not any(value is one or (isinstance(value, str) and value == one) for one in usual):
                return name
        one = self.threshold is None or is_number(self.threshold)
        if not one:
            return "threshold"
        return None if isinstance(self.seen, str) and self.seen in ("above", "below") else "seen"


def by_blocks_if_large(*, table: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A front door that completes large matrices by landmarks, and leaves the others to the one it stands before."""

    def opened(complete: Callable[P, R]) -> Callable[P, R]:
        asked = signature(complete)

        @wraps(complete)
        def door(*args: P.args, **options: P.kwargs) -> R:
            given = asked.bind(*args, **options)
            given.apply_defaults()
            found: Any = completed_by_blocks(Said.of(given.arguments, table=table), complete)
            return complete(*args, **options) if found is None else found

        return door

    return opened


def completed_by_blocks(said: Said, complete: Callable[..., Any]) -> Completion | None:
    """The completion by landmarks, if they are asked for or the matrix is large; None if others are to do it.

    ``complete`` solves the block that everything is attached to.
    """
    peak, asked = bytes_of(said.peak_memory), said.named or said.peak_memory is not None or said.checkpoint is not None
    auto = isinstance(said.method, str) and said.method == "auto"
    if not (said.named or auto):
        if asked:
            raise InputError(
                f"peak_memory and checkpoint are for method='landmarks' and method='auto', got method={said.method!r}; "
                "drop them, or the method"
            )
        return None
    wrong = said.in_the_way
    if wrong is not None:
        if asked:
            value = said.others.get(wrong, said.threshold if wrong == "threshold" else said.seen)
            shown = repr(value) if isinstance(value, str | float | int | tuple) else type(value).__name__
            if isinstance(value, StoppingRule) and value.time_limit is not None:
                raise InputError(
                    f"landmarks do not end after {value.time_limit:g} seconds; drop that limit, or give checkpoint= "
                    "and end the run whenever you like: called again, it goes on"
                )
            raise InputError(f"landmarks know nothing of {wrong}={shown}; drop it, or choose another method")
        return None
    source, axes = _read(said)
    # On a cluster a hundred passes take minutes, however small they are.
    if not asked and axes.shape[0] * axes.shape[1] < BIG**2 and source.lazy is None:
        return None
    rank = None if said.rank is None else rank_checked(said.rank, min(axes.shape))
    if not asked and 2 * size_for(rank, None, max(axes.shape)) > min(axes.shape):  # the block would be most of it
        return None
    return _Call(said, complete, Counted(source), rank, axes, peak).completion()


def _read(said: Said) -> tuple[Source, Axes]:
    """The values and their labels; nothing is looked at yet."""
    if said.table:
        values, axes = read_table(said.X)
        return source_of(values), axes
    values, labels = read_values(said.X)
    size = square_size(values, "X")
    return source_of(values), Axes.square(size, labels)


@dataclass(eq=False)
class _Call:
    said: Said
    complete: Callable[..., Completion]
    source: Any
    rank: int | None
    axes: Axes
    peak: int | None

    def completion(self) -> Completion | None:
        """From the seed to the verdict; None where another way is left and this one has not led to an answer."""
        said, began, cpu = self.said, perf_counter(), process_time()
        method = said.method if isinstance(said.method, Landmarks) else Landmarks()
        inner: Source = self.source.source
        large = Large(
            self.source,
            self.rank,
            None if said.threshold is None else float(said.threshold),
            said.seen,
            symmetric=not said.table,
            whole=inner.stored_whole,
            method=method,
            solve=self._solved,
            peak=self.peak,
            sure=self._another_way,
        )
        kept = Checkpoint(said.checkpoint, self._about(method))
        kept.require_place()
        with rows_watched(said.progress, said.others.get("callback")) as bar, owning_the_cores():
            answer, block = by_landmarks(large, generator_of(said.rng), kept, bar)
        if answer is None:
            self._refuse_no_seed(block)
            return None
        self._refuse_faults(answer)
        verdict = verdict_on(large, answer)
        fine = verdict.code in (Stop.FITTED, Stop.FITTED_TO_NOISE) and not self._may_be_placed(answer)
        if not fine and self._another_way:
            return None
        about = dict(source=said.X, labels=self.axes.rows, threshold=large.threshold, side=said.seen)
        about |= dict(column_labels=self.axes.columns) if said.table else {}
        found = completed(large, answer, verdict, about)
        found = replace(found, seconds=perf_counter() - began, cpu_seconds=process_time() - cpu)
        self._warn(found.undetermined_rows)
        return found

    def _warn(self, missing: Indices) -> None:
        """Of rows, and columns, that have no place."""
        height = self.axes.shape[0]
        rows, columns = missing[missing < height], missing[missing >= height] - height
        for some, labels, what in ((rows, self.axes.rows, "row"), (columns, self.axes.columns, "column")):
            if some.size:
                fact = f"too little was seen to place {listed_rows(some, labels, what=what)}"
                warn(fact, "completed as well as may be; see undetermined_rows")

    @property
    def _another_way(self) -> bool:
        """Whether a matrix that landmarks did not complete goes on to where it is read as a whole."""
        said, large = self.said, self.axes.shape[0] * self.axes.shape[1] >= BIG**2
        far = isinstance(self.source.source, Far) and large
        return not (said.named or far) and said.peak_memory is None and said.checkpoint is None

    def _may_be_placed(self, answer: Answer) -> bool:
        """Whether there are rows without a place of which enough was seen that others may find one."""
        for number, side in enumerate(answer.sides):
            missing = side.placed.missing[:MOST_ASKED]
            if not missing.size or not self._another_way:
                continue
            everyone = slice(0, self.source.shape[1 - number])
            block = self.source.block(missing, everyone) if number == 0 else self.source.block(everyone, missing).T
            if int((~np.isnan(block)).sum(axis=1).max()) >= answer.seed.rank:
                return True
        return False

    def _solved(self, block: Any, rank: int | None) -> Completion:
        said = self.said
        with warnings.catch_warnings(), noting():  # a block is no pass over the matrix
            warnings.simplefilter("ignore", CompletionWarning)
            return self.complete(block, rank, threshold=said.threshold, seen=said.seen, rng=0)

    def _refuse_no_seed(self, block: Any) -> None:
        """There is nothing to attach rows to: refused, unless others may know what to do."""
        if self._another_way:
            return
        ended = "nothing was seen in it" if block is None else f"it ended as {block.verdict.code.value}"
        if block is not None and block.verdict.code in (Stop.FITTED, Stop.FITTED_TO_NOISE):
            ended = "it is fitted, but at this rank what was seen does not determine its rows"
        raise InputError(
            f"no block of rows could be solved that others could be attached to ({ended}); pass method='auto' for a "
            "matrix that fits into memory, a larger count= of landmarks, or another rank"
        )

    def _refuse_faults(self, answer: Answer) -> None:
        """Say what is wrong with values that a pass has come across."""
        totals = answer.totals or Totals()
        if not np.isfinite(totals.norm) or self._wrong_side(answer, totals):
            limits = Limits.beyond(self.said.threshold, self.said.seen, None)
            checked(self.source, limits, self.axes)

    def _wrong_side(self, answer: Answer, totals: Totals) -> bool:
        if self.said.threshold is None or totals.count == 0:
            return False
        low, high = totals.low * answer.seed.unit, totals.high * answer.seed.unit
        return low < self.said.threshold if self.said.seen == "above" else high > self.said.threshold

    def _about(self, method: Landmarks) -> dict[str, Any]:
        """What a checkpoint must agree with."""
        source = self.source
        return {
            "version": unrelu.__version__,
            "shape": list(source.shape),
            "dtype": source.dtype.name,
            "rank": self.rank,
            "threshold": self.said.threshold,
            "seen": self.said.seen,
            "method": [method.count, method.columns, method.passes],
        }
