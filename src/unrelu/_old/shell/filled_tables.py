"""What ``unrelu table`` writes and says of a table of samples and variables."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.errors import CompletionWarning
from unrelu._old.data.sheet import whole
from unrelu._old.data.table import Labels
from unrelu._old.io.reading import Reading
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.results.distrust_words import distrust_in_json
from unrelu._old.results.distrusted import Distrusted
from unrelu._old.results.flags import CENSORED, FLAGS, MEASURED, MISSING, UNDETERMINED
from unrelu._old.results.table import TableCompletion
from unrelu._old.shell.outliers import reported
from unrelu._old.shell.rehearsals import in_json, listed, times_in_words

__all__ = ["FilledTable"]

# Between the ends of which interval an error is half the way: one standard deviation of a normal distribution.
ONE_SIGMA = 0.6827
# Columns that a sentence names one by one.
NAMED = 5


@dataclass(frozen=True, eq=False)
class FilledTable:
    """A completed table with the words that stood beside its numbers.

    Attributes
    ----------
    completion : TableCompletion
        Of the columns of numbers.
    read : Reading
        The file.
    text : bool
        Whether what is written is text, in which integers look like such.
    """

    completion: TableCompletion
    read: Reading
    text: bool = True

    @property
    def verdict(self) -> Verdict:
        """How it ended."""
        return self.completion.verdict

    @property
    def distrusted(self) -> tuple[Distrusted, ...]:
        """Cells that the others contradict."""
        return self.completion.distrusted

    @property
    def axes(self) -> tuple[Labels, Labels]:
        """Labels of the rows, and of all columns."""
        return self.read.rows, self.read.all_columns

    @property
    def called(self) -> str:
        """What its entries are called where they are counted."""
        others = len(self.completion.untouched) + len(self.read.texts)
        return "cells of all columns" if others else "cells"

    def name(self, column: int) -> str:
        """What a column of numbers is called."""
        names = self.read.columns
        return str(self.read.numbers[column] + 1) if names is None else names[column]

    @cached_property
    def integers(self) -> list[int]:
        """Columns of numbers in which every value that was seen is an integer, and some were not."""
        values = self.completion.sheet.values
        found = []
        for j in self.completion.columns.tolist():
            seen = values[~np.isnan(values[:, j]), j]
            if len(seen) < len(values) and np.isfinite(seen).all() and not np.any(seen % 1):
                found.append(j)
        return found

    @cached_property
    def _numbers(self) -> Floats:
        """The columns of numbers, filled in; integers stay such."""
        filled = np.array(self.completion.filled())
        ends = self.completion.cells.ends
        place = {j: k for k, j in enumerate(self.completion.columns.tolist())}
        for j in self.integers:
            rows = np.flatnonzero(np.isnan(self.completion.sheet.values[:, j]))
            low, high = (end[rows, place[j]] for end in ends)
            filled[rows, j] = whole(filled[rows, j].astype(np.float64), low, high)
        return filled

    def values(self, fit: bool) -> Any:
        """The table to be written; of objects where there are words, or integers, among its numbers."""
        numbers = self._numbers
        integral = [j for j in range(numbers.shape[1]) if self.text and _integral(numbers[:, j])]
        if not self.read.texts and not integral:
            return numbers
        found = self._beside_words(numbers.astype(object), None)
        for j in integral:
            found[:, self.read.numbers[j]] = [int(one) if one == one else np.nan for one in numbers[:, j]]
        for text in self.read.texts:
            found[:, text.place] = text.cells
        return found

    def _beside_words(self, numbers: NDArray[Any], words: Any) -> NDArray[Any]:
        """The same with a place for every column of the file."""
        if not self.read.texts:
            return numbers
        found = np.full((len(numbers), numbers.shape[1] + len(self.read.texts)), words, numbers.dtype)
        found[:, self.read.numbers] = numbers
        return found

    @property
    def _words_told(self) -> Bools:
        """Which cells of columns of words hold something."""
        cells = [[bool(cell.strip()) for cell in text.cells] for text in self.read.texts]
        return np.array(cells, bool).T.reshape(self.completion.shape[0], len(cells))

    @cached_property
    def flags(self) -> NDArray[np.uint8]:
        """Of every cell, which of the words of ``FLAGS`` says where it comes from."""
        completion = self.completion
        codes = {"measured": MEASURED, "censored": CENSORED, "missing": MISSING}
        words = completion.status()
        found = np.select([words == word for word in codes], list(codes.values()), UNDETERMINED).astype(np.uint8)
        left = np.ones(found.shape[1], bool)
        left[completion.columns] = False
        found[(found != MEASURED) & left] = UNDETERMINED
        found = self._beside_words(found, UNDETERMINED)
        places = [text.place for text in self.read.texts]
        found[:, places] = np.where(self._words_told, MEASURED, UNDETERMINED)
        return found

    def counts(self) -> dict[str, int]:
        """How many cells each flag stands for."""
        return dict(zip(FLAGS, np.bincount(self.flags.ravel(), minlength=len(FLAGS)).tolist(), strict=True))

    def mask(self) -> Any:
        """1 where a cell was measured: forecasts determine nothing."""
        return (self.flags == MEASURED).astype(int)

    def _intervals(self, level: float) -> tuple[Floats, Floats]:
        """Of every cell; NaN in columns of words."""
        m, n = self.completion.shape
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompletionWarning)  # the report has it
            ends = self.completion.predict(np.arange(m)[:, None], np.arange(n), level)
        low, high = (self._beside_words(np.asarray(end, np.float64), np.nan) for end in ends)
        return low, high

    @cached_property
    def _errors(self) -> Floats:
        low, high = self._intervals(ONE_SIGMA)
        found: Floats = np.where(self.flags == MEASURED, 0.0, (high - low) / 2)
        found[self.flags == UNDETERMINED] = np.inf
        return found

    def errors(self) -> Any:
        """How far off each cell may be, as the file will be: 0 where measured, infinite where nothing is filled in."""
        return self._errors

    def entries(self, values: Any) -> dict[str, NDArray[Any]]:
        """Everything that is known of the cells, by the names that a long table has for it."""
        low, high = self._intervals(0.95)
        words = np.array(FLAGS, object)[self.flags]
        return {"value": np.asarray(values), "flag": words, "low": low, "high": high, "error": self._errors}

    def picture(self, values: Any) -> Any:
        """What was seen, what was filled in and why, as a figure."""
        from unrelu._old.show.filled import draw_filled

        flags = self.flags[:, self.read.numbers]
        return draw_filled(self.completion, flags, self._numbers)

    def noise(self) -> dict[str, Any] | None:
        """What the errors rest on, for JSON."""
        columns = self.completion.columns.tolist()
        by_column = {self.name(j): float(one) for j, one in zip(columns, self.completion.sigma, strict=True)}
        return {"method": "rehearsal", "sigma": in_json(by_column)}

    def noise_words(self) -> str:
        """What the errors rest on."""
        return (
            "errors are half the interval that holds a cell with a probability of 68 %, by the rehearsed error of its "
            "column; 0 where it was measured"
        )

    def notes(self) -> list[str]:
        """What there is to know of columns of words and of integers."""
        said = []
        if self.read.texts:
            names = [repr(text.name or str(text.place + 1)) for text in self.read.texts]
            many = len(names) > 1
            said.append(
                f"column{'s' * many} {_some(names)} hold{'' if many else 's'} no numbers and stay{'' if many else 's'} "
                f"as {'they are' if many else 'it is'}"
            )
        if self.integers:
            names = [repr(self.name(j)) for j in self.integers]
            hold = "hold integers and stay" if len(names) > 1 else "holds integers and stays"
            said.append(f"column{'s' * (len(names) > 1)} {_some(names)} {hold} such, what is filled in is rounded")
        return said

    def summary(self) -> dict[str, Any]:
        """What a program wants to know."""
        found, shown = self.completion, self.completion.rehearsal
        about = {
            "shape": [self.flags.shape[0], self.flags.shape[1]],
            "used": "table",
            "model": found.model,
            "rank": found.rank,
            "converged": found.verdict.converged,
            "code": found.verdict.code.value,
            "reason": found.verdict.reason,
            "seconds": found.seconds,
            "counts": self._read_counts(),
            "distrusted": distrust_in_json(found.distrusted),
            "untouched": {self.name(j): words for j, words in found.untouched.items()}
            | {text.name or str(text.place + 1): "holds no numbers" for text in self.read.texts},
            "rehearsal": {
                "shares": list(shown.shares),
                "cells": shown.cells,
                "chosen": shown.chosen,
                "gain": shown.gain,
                "trials": [{"model": one.name, "rank": one.rank, "gain": one.score} for one in shown.tried],
                "width": {
                    self.name(j): float(one) for j, one in zip(found.columns.tolist(), shown.width, strict=False)
                },
            },
        }
        plain: dict[str, Any] = in_json(about)
        return plain

    def not_determined(self) -> dict[str, list[str | int]]:
        """Nothing that was completed is left open."""
        return {}

    def _read_counts(self) -> dict[str, int]:
        """Cells that were measured, censored and missing in columns that were completed, and cells of the others."""
        mine = self.flags[:, self.read.numbers[self.completion.columns]]
        found = dict(zip(FLAGS, np.bincount(mine.ravel(), minlength=len(FLAGS)).tolist(), strict=True))
        del found["undetermined"]
        return found | {"left_as_it_was": self.flags.size - mine.size}

    def report(self, names: tuple[str, ...] | None) -> list[str]:
        """What a person wants to know."""
        (m, n), found = self.flags.shape, self.completion
        counts = self._read_counts()
        left = counts.pop("left_as_it_was")
        cells = listed([f"{count} {kind}" for kind, count in counts.items()])
        others = n - len(found.columns)
        kept = f"; {left} cells of {others} other column{'s' * (others != 1)} left as they were" if others else ""
        lines = [
            f"{m}×{n} table, completed as one of samples and variables (unrelu table): {cells} cells{kept}",
            f"the model that was used: {found.model} ({self._tried()}{found.seconds:.1f} s)",
            self._verdict_in_words(),
        ]
        lines += reported(self.distrusted)
        hidden = counts["censored"] + counts["missing"]
        if hidden:
            lines.append(f"filled in ({hidden} cells): what the model expects of each, within its limits")
        counted = [self.name(j) for j, whole in zip(found.columns.tolist(), found.counts, strict=False) if whole]
        if counted:
            lines.append(f"counts, integers from 0 on, in which nothing below 0 is filled in: {_some(counted)}")
        return lines

    def _tried(self) -> str:
        count = len(self.completion.rehearsal.tried)
        return f"the best of {count} that were rehearsed, " if count > 1 else ""

    def _verdict_in_words(self) -> str:
        verdict = self.verdict
        if verdict.code is Stop.PREDICTS:
            shown = self.completion.rehearsal
            times = times_in_words(shown.gain / shown.cells)
            return (
                f"predicts, to its rehearsed error: {shown.cells} cells were hidden on purpose by raised limits, or "
                f"lie beyond them; to this model each was {times} times as likely as to each column by itself"
            )
        if verdict.code is Stop.DOES_NOT_EXTRAPOLATE:
            return f"does not extrapolate; simple filling does as well: {verdict.reason.partition(';')[0]}"
        if verdict.code in (Stop.MAX_SECONDS, Stop.INTERRUPTED):
            return f"{verdict.reason.partition(';')[0]}: this is the best so far; more time may find a better model"
        return str(verdict)


def _some(names: list[str]) -> str:
    """The first names, and how many there are besides."""
    more = len(names) - NAMED
    return listed(names) if more <= 0 else f"{', '.join(names[:NAMED])} and {more} more"


def _integral(column: Floats) -> bool:
    """Whether a column holds integers, as far as it holds anything."""
    seen = column[~np.isnan(column)]
    exact = 2.0 ** (np.finfo(column.dtype).nmant + 1)  # beyond this not every integer is a number of this precision
    return bool(len(seen) and np.isfinite(seen).all() and not np.any(seen % 1) and np.abs(seen).max() < exact)
