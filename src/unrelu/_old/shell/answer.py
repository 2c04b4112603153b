"""What ``unrelu complete`` writes and says of a completion, whatever its verdict and however little time is left."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import OutOfTime, budget, phase
from unrelu._old.base.errors import CompletionWarning
from unrelu._old.data.labels import label_or_position, listed_rows
from unrelu._old.data.table import Labels
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.history import Stop, Verdict, finite
from unrelu._old.results.completion import Completion
from unrelu._old.results.distrusted import Distrusted
from unrelu._old.results.flags import BAND, FLAGS, MEASURED, flags_of, known_limits
from unrelu._old.shell.outliers import reported
from unrelu._old.shell.rehearsals import rehearsal_in_json
from unrelu._old.shell.wording import for_shells

__all__ = ["Answer"]

# Seconds to find out what is determined, where the time was over before.
GRACE = 1.0


@dataclass(frozen=True, eq=False)
class Answer:
    """A completion with what is known of its rows.

    Attributes
    ----------
    completion : Completion
    levels : array of str, or None
        How far the data determine each row; None if there was no time to find out.
    determined : array of bool
        Rows whose entries have one value.
    keep : bool
        Write every entry.
    found : bool
        Whether the rank was found, because none was named.
    """

    completion: Completion
    levels: NDArray[np.str_] | None
    determined: NDArray[np.bool_]
    keep: bool
    found: bool = False

    @classmethod
    def of(
        cls,
        completion: Completion,
        keep: bool,
        seconds: float | None = None,
        told: Callable[[str], object] | None = None,
    ) -> Answer:
        """Find out what is determined, in the seconds that are left."""
        try:
            with budget(None if seconds is None else max(seconds, GRACE), told):
                phase("finding out which rows are determined")
                return cls(completion, completion.determinacy, completion.determined, keep)
        except OutOfTime:
            return cls(completion, None, np.zeros(completion.size, bool), keep)

    @property
    def full(self) -> bool:
        """Whether entries that the data do not determine are written too, as they are where the fit is unfinished."""
        return self.keep or not self.completion.verdict.determines

    @property
    def verdict(self) -> Verdict:
        """How it ended."""
        return self.completion.verdict

    @property
    def distrusted(self) -> tuple[Distrusted, ...]:
        """Entries that the others contradict."""
        return self.completion.distrusted

    @property
    def axes(self) -> tuple[Labels, Labels] | None:
        """Labels of the rows and of the columns that are written, where they are not those that were read."""
        return None

    @property
    def called(self) -> str:
        """What its entries are called where they are counted."""
        return "entries"

    def summary(self) -> dict[str, Any]:
        """What a program wants to know."""
        shown = self.completion.rehearsal
        return self.completion.summary() | ({} if shown is None else {"rehearsal": rehearsal_in_json(shown)})

    def picture(self, values: Any) -> Any:
        """What was seen, what was filled in and why, as a figure."""
        from unrelu._old.show.filled import draw_filled

        return draw_filled(self.completion, self.flags, values)

    def not_determined(self) -> dict[str, list[str | int]]:
        """What the data do not determine, for JSON: rows by label or position."""
        rows = np.flatnonzero(~self.determined)
        return {"not_determined": [label_or_position(row, self.completion.labels) for row in rows]}

    def values(self, fit: bool) -> Any:
        """The matrix to be written: the fit everywhere, or only where nothing was seen."""
        completion = self.completion
        if not self.full:
            return completion.matrix("nan") if fit else completion.filled(undetermined="nan")
        values = completion.matrix() if fit else completion.filled()
        if self.keep or self.completion.forecasts or self.levels is None or not (self.levels == "no").any():
            return values
        everyone = np.arange(completion.size)
        for row in everyone:
            values[row, completion.entry_determinacy(row, everyone) == "no"] = np.nan
        return values

    def mask(self) -> Any:
        """1 where an entry was seen or is determined; only where it was seen, if there was no time to find out."""
        completion = self.completion
        if self.levels is not None:
            return (~np.isnan(np.asarray(completion.filled(undetermined="nan")))).astype(int)
        observations, (m, _) = completion.seen_entries(), completion.shape
        block = observations.block(slice(0, m), slice(observations.source.cut or 0, observations.size))
        return (~np.isnan(block)).astype(int)

    def errors(self) -> Any:
        """The standard error of every entry of the fit, infinite where it is not determined, as the file will be."""
        return self._errors

    @cached_property
    def _errors(self) -> Any:
        m, n = self.completion.shape
        require_memory(m * n * 40, f"the standard errors of a {m}×{n} matrix")
        if self.levels is None:
            return np.full((m, n), np.inf)
        return self.completion.standard_errors(np.arange(m)[:, None], np.arange(n))

    @cached_property
    def flags(self) -> NDArray[np.uint8]:
        """Of every entry, which of the words of ``FLAGS`` says where it comes from."""
        return flags_of(self.completion, self.mask() == 1)

    def counts(self) -> dict[str, int]:
        """How many entries each flag stands for."""
        return dict(zip(FLAGS, np.bincount(self.flags.ravel(), minlength=len(FLAGS)).tolist(), strict=True))

    def entries(self, values: Any) -> dict[str, NDArray[Any]]:
        """Everything that is known of the entries with these values, by the names that a long table has for it."""
        measured = self.flags == MEASURED  # one seen across the diagonal is copied, whatever its noise
        low, high = (np.where(measured, values, end) for end in self._intervals())
        words = np.array(FLAGS, object)[self.flags]
        return {"value": np.asarray(values), "flag": words, "low": low, "high": high, "error": self._errors}

    def _intervals(self) -> tuple[Floats, Floats]:
        """(low, high) of the 95 % prediction interval of every entry, in bands of rows; its limits if time was over."""
        if self.levels is None:
            return known_limits(self.completion)
        m, n = self.completion.shape
        low, high = np.empty((m, n)), np.empty((m, n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompletionWarning)  # the report has it, from the error bars
            for start in range(0, m, BAND):
                rows = np.arange(start, min(start + BAND, m))
                low[rows], high[rows] = self.completion.predict(rows[:, None], np.arange(n))
        return low, high

    def noise(self) -> dict[str, Any] | None:
        """What the errors rest on, for JSON."""
        if self.levels is None:
            return None
        bars = self.completion.error_bars()
        return finite({**asdict(self.completion.noise), "method": bars.method, "caution": bars.caution})

    def noise_words(self) -> str:
        """What the errors rest on."""
        if self.levels is None:
            return "there was no time for errors: all of them are written as infinite"
        bars = self.completion.error_bars()
        caution = "" if bars.caution is None else f"; {bars.caution}"
        return f"{self.completion.noise}; errors by {bars.method}{caution}"

    def report(self, names: tuple[str, ...] | None) -> list[str]:
        """What a person wants to know."""
        if self.found and self.completion.verdict.code is Stop.MAX_SECONDS:
            return self._so_far()
        about = self.completion.summary()
        n, verdict = about["size"], self.completion.verdict
        lines = [
            f"{n}×{n} matrix, rank {about['rank']}{self._whence()}, by {about['method']} from the {about['start']} "
            f"start ({about['loss']} loss)",
            f"{about['iterations']} iterations, {about['seconds']:.2f} s, relative residual {about['residual']:.2e}",
        ]
        if about["error"] is not None:
            lines.append(f"completion error against the truth {about['error']:.2e}")
        lines.append(for_shells(str(verdict)))
        lines += reported(self.distrusted) + self._misfit(names)
        if verdict.code is Stop.BEST_OF_RANK:
            lines.append(
                f"the data are not of rank {about['rank']}, as real data never are exactly of a rank: this is the best "
                "fit of that rank that was found"
            )
        return lines + self._undetermined(names)

    def _whence(self) -> str:
        """Where the rank comes from, if it was not named."""
        return " (found from the data)" if self.found else ""

    def _so_far(self) -> list[str]:
        """The same of a search for the rank that was cut short."""
        n, rank, seconds = self.completion.size, self.completion.rank, self.completion.seconds
        return [
            f"{n}×{n} matrix, rank {rank} as far as the search for one had come ({seconds:.1f} s), relative residual "
            f"{self.completion.residual:.2e}",
            "the time was over, and this is the best so far: nothing says yet how good it is; give --max-seconds more, "
            "or name a --rank",
        ]

    def _misfit(self, names: tuple[str, ...] | None) -> list[str]:
        """How far the fit is from what was seen, and how much of it the data fix."""
        by = " by the data and the rank" if self.completion.verdict.code is Stop.BEST_OF_RANK else ""
        share = "" if self.levels is None else f"{np.mean(self.determined):.0%} of the rows are determined{by}; "
        worst = self.completion.largest_misfit
        if worst is None:
            return [share.removesuffix("; ")] if share else []
        row, column = (label_or_position(k, names) for k in (worst.row, worst.column))
        return [f"{share}the largest misfit of a seen entry is {worst.size:.2g}, at ({row}, {column})"]

    def _undetermined(self, names: tuple[str, ...] | None) -> list[str]:
        if self.levels is None:
            return ["there was no time to find out which rows the data determine; every entry of the fit is written"]
        if not self.completion.verdict.determines:
            no = np.flatnonzero(self.levels == "no")
            left = f", but for those that can take any value, of {listed_rows(no, names)}" if no.size else ""
            left = "" if self.keep else left
            some = "no row is called determined"
            if self.determined.any():
                some = f"only {listed_rows(np.flatnonzero(self.determined), names)} may be called determined"
            return [f"{some}; the entries written are those of the best point found{left}"]
        rows = np.flatnonzero(~self.determined)
        if not rows.size:
            return []
        left = "kept" if self.keep else "left empty (--keep-undetermined writes them)"
        return [f"not determined by the data: {listed_rows(rows, names)}; their unseen entries are {left}"]
