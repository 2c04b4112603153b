"""What ``unrelu complete --method gibbs`` writes and says: a posterior, of which every entry has its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.history import Stop, finite
from unrelu._old.results.completion import Completion
from unrelu._old.results.flags import MEASURED, flags_of
from unrelu._old.results.posterior import Posterior
from unrelu._old.shell.answer import Answer
from unrelu._old.shell.wording import for_shells

__all__ = ["PosteriorAnswer"]


@dataclass(frozen=True, eq=False)
class PosteriorAnswer(Answer):
    """A completion that was sampled: every unseen entry has a distribution, and no row is called determined."""

    @classmethod
    def of(
        cls,
        completion: Completion,
        keep: bool,
        seconds: float | None = None,
        told: Callable[[str], object] | None = None,
    ) -> PosteriorAnswer:
        """Nothing is to be found out about rows."""
        n = completion.size
        return cls(completion, np.full(n, "no"), np.zeros(n, bool), keep=True)

    @property
    def _drawn(self) -> Posterior:
        assert self.completion.posterior is not None
        return self.completion.posterior

    def summary(self) -> dict[str, Any]:
        """What a program wants to know."""
        worst, least = self._drawn.worst
        chains, count = self._drawn.sigma.shape
        about = {"chains": chains, "draws": chains * count, "sweeps": self._drawn.kept.sweeps}
        return super().summary() | {"posterior": finite(about | {"r_hat": worst, "effective_sample_size": least})}

    def not_determined(self) -> dict[str, list[str | int]]:
        """No row is left empty."""
        return {"not_determined": []}

    def mask(self) -> Any:
        """1 where an entry was seen: a distribution determines nothing."""
        return (self.flags == MEASURED).astype(int)

    @cached_property
    def flags(self) -> NDArray[np.uint8]:
        """Of every entry, which of the words of ``FLAGS`` says where it comes from: none is left open."""
        return flags_of(self.completion, np.ones(self.completion.shape, bool))

    @cached_property
    def _errors(self) -> Any:
        """The spread of each entry within its limits, 0 where it was seen."""
        n = self.completion.size
        require_memory(n * n * 40, f"the errors of a {n}×{n} matrix")
        found = np.zeros((n, n))
        i, j = np.triu_indices(n)
        found[i, j] = found[j, i] = self._drawn.spread(i, j)
        found[self.flags == MEASURED] = 0.0  # one seen across the diagonal is copied
        return found

    def _intervals(self) -> tuple[Floats, Floats]:
        """(low, high) of the 95 % prediction interval of every entry."""
        n = self.completion.size
        low, high = np.empty((n, n)), np.empty((n, n))
        i, j = np.triu_indices(n)
        low[i, j], high[i, j] = self._drawn.interval(i, j)
        low[j, i], high[j, i] = self._drawn.interval(j, i)
        return low, high

    def noise(self) -> dict[str, Any] | None:
        """What the errors rest on, for JSON."""
        return finite({**asdict(self._drawn.noise), "method": "posterior"})

    def noise_words(self) -> str:
        """What the errors rest on."""
        what = "errors are the spread of each entry within its limits, by its posterior, and 0 where it was seen"
        return f"{self._drawn.noise}; {what}"

    def report(self, names: tuple[str, ...] | None) -> list[str]:
        """What a person wants to know."""
        completion, verdict = self.completion, self.completion.verdict
        lines = [
            f"{completion.size}×{completion.size} matrix, {np.mean(self.flags == MEASURED):.0%} of its entries seen; "
            f"the posterior at rank {completion.rank} was sampled ({completion.seconds:.1f} s)",
            str(self._drawn),
            for_shells(str(verdict)),
            str(self._drawn.noise),
        ]
        error = completion.summary()["error"]
        lines += [] if error is None else [f"error of the last draw against the truth {error:.2e}"]
        if verdict.code is not Stop.SAMPLED:
            lines.append("take the intervals with care: the chains were cut short, or have not seen the same")
        return [*lines, "filled in: what is expected of each unseen entry, within its limits"]
