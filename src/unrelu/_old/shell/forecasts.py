"""What ``unrelu complete`` writes and says of a matrix that is of no low rank, whose entries are forecast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.auto.rehearsed import Rehearsal
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.history import Stop
from unrelu._old.results.completion import Completion
from unrelu._old.results.flags import MEASURED, flags_of, known_limits
from unrelu._old.shell.answer import Answer
from unrelu._old.shell.outliers import reported
from unrelu._old.shell.rehearsals import listed, model_in_words, rehearsal_in_words

__all__ = ["ForecastAnswer"]

# Entries whose forecasts are made together.
TOGETHER = 100_000


@dataclass(frozen=True, eq=False)
class ForecastAnswer(Answer):
    """A completion by a model that was rehearsed: every unseen entry is a forecast, and no row is determined."""

    truth: Any = None

    @classmethod
    def of(
        cls,
        completion: Completion,
        keep: bool,
        seconds: float | None = None,
        told: Callable[[str], object] | None = None,
        *,
        truth: Any = None,
    ) -> ForecastAnswer:
        """Nothing is to be found out about rows."""
        n = completion.size
        return cls(completion, np.full(n, "no"), np.zeros(n, bool), keep, True, truth)

    @property
    def _shown(self) -> Rehearsal:
        assert self.completion.rehearsal is not None
        return self.completion.rehearsal

    def summary(self) -> dict[str, Any]:
        """What a program wants to know."""
        return super().summary() | {"forecasts": True, "error": self._error}

    @cached_property
    def _error(self) -> float | None:
        """How far what is filled in is from the truth, relative to it."""
        if self.truth is None:
            return None
        norm = float(np.linalg.norm(self.truth))
        return float(np.linalg.norm(np.asarray(self.completion.filled()) - self.truth)) / norm if norm else None

    def not_determined(self) -> dict[str, list[str | int]]:
        """No row is left empty."""
        return {"not_determined": []}

    def mask(self) -> Any:
        """1 where an entry was seen: forecasts determine nothing."""
        return (self.flags == MEASURED).astype(int)

    @cached_property
    def flags(self) -> NDArray[np.uint8]:
        """Of every entry, which of the words of ``FLAGS`` says where it comes from: none is left open."""
        return flags_of(self.completion, np.ones(self.completion.shape, bool))

    @cached_property
    def _errors(self) -> Any:
        """The spread of the forecasts, 0 where an entry was seen."""
        m, n = self.completion.shape
        require_memory(m * n * 40, f"the errors of a {m}×{n} matrix")
        low, high = known_limits(self.completion)
        rows, cols = np.nonzero(self.flags != MEASURED)
        found = np.zeros((m, n))
        for start in range(0, len(rows), TOGETHER):
            i, j = rows[start : start + TOGETHER], cols[start : start + TOGETHER]
            fit = self.completion.entries(i, j).astype(np.float64)
            found[i, j] = self._shown.forecast(fit, (low[i, j], high[i, j])).spread()
        return found

    def noise(self) -> dict[str, Any] | None:
        """What the errors rest on, for JSON."""
        shown = self._shown
        return {"sigma": shown.spread if shown.extrapolates else shown.none.spread, "method": "rehearsal"}

    def noise_words(self) -> str:
        """What the errors rest on."""
        shown = self._shown
        by = f"a rehearsed error of {shown.spread:.3g}" if shown.extrapolates else "one distribution for all entries"
        return f"errors are the spread of each forecast within its limits, by {by}, and 0 where an entry was seen"

    def report(self, names: tuple[str, ...] | None) -> list[str]:
        """What a person wants to know."""
        completion, shown, n = self.completion, self._shown, self.completion.size
        count = len(shown.trials)
        lines = [
            f"{n}×{n} matrix, {np.mean(self.flags == MEASURED):.0%} of its entries seen; no rank leaves only noise, so "
            f"that {count} model{'s were' if count != 1 else ' was'} rehearsed ({completion.seconds:.1f} s)",
            f"the model that forecasts best: {model_in_words(shown.best, completion.rank)}",
            rehearsal_in_words(shown),
            *reported(self.distrusted),
            self._verdict_in_words(),
            self._filled_in(),
        ]
        if self._error is not None:
            lines.append(f"relative error of what is filled in against the truth {self._error:.2e}")
        return lines

    def _verdict_in_words(self) -> str:
        shown, verdict = self._shown, self.completion.verdict
        if verdict.code is Stop.PREDICTS:
            return f"predicts, to its rehearsed error of {shown.sigma:.3g}"
        if verdict.code is Stop.DOES_NOT_EXTRAPOLATE:
            return f"does not extrapolate; simple filling does as well: {shown.doubt}"
        known = f"its rehearsed error is {shown.sigma:.3g}" if shown.extrapolates else "it does not extrapolate"
        return (
            f"{verdict.reason.partition(';')[0]}, and this is the best so far: {known}; more time may find a better one"
        )

    def _filled_in(self) -> str:
        """What stands where nothing was seen."""
        shown, counts = self._shown, self.counts()
        what = {"censored": "beyond the limit", "missing": "missing for another reason"}
        kinds = listed([f"{counts[flag]} {words}" for flag, words in what.items() if counts[flag]])
        if not kinds:
            return "nothing is filled in: every entry was seen"
        if not shown.extrapolates:
            mean, sigma = shown.none.centre, shown.none.spread
            alike = f"one distribution for all entries, of mean {mean:.3g} and spread {sigma:.3g},"
            return f"filled in ({kinds}): what {alike} expects within the limits of each"
        damped = ""
        if shown.damping != 1:
            damped = f"; fits go too far beyond the limit, so that forecasts go {shown.damping:.0%} of the way"
        return f"filled in ({kinds}): the forecast of each entry, within its limits{damped}"
