"""What a front door does with a few wrong entries: it finds them, leaves them out, and names them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from unrelu._old.auto.doubts import Doubts, contradicted
from unrelu._old.auto.robust import corner_of, doubted, robust_of
from unrelu._old.base.budget import OutOfTime, budget
from unrelu._old.base.tolerances import DOUBTS_ROUGH
from unrelu._old.data.left_out import Places, impossible_entries, values_at
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.data.terms import Terms
from unrelu._old.model.losses import Censored
from unrelu._old.results.completion import Completion
from unrelu._old.results.distrust import with_doubts

__all__ = ["Doubting"]

Made = TypeVar("Made", bound=Completion)


class Doubting:
    """The entries that are distrusted on the way through a front door: none, unless the loss is one that distrusts.

    A seen entry that lies where it could not have been seen is distrusted from the beginning. If the way of solving is
    left to ``auto``, a robust fit finds the others, all of them are left out, and the rest is completed as data without
    errors are: so its verdict, error bars and proofs are those of data one can trust. A named method minimises the
    robust loss itself, and what that fit contradicts is named.

    Parameters
    ----------
    X : the caller's matrix, or table
    terms : Terms
    loss : str or Loss
        As the caller named it.
    table : bool, default False
    """

    def __init__(self, X: Any, terms: Terms, loss: Any, *, table: bool = False) -> None:
        self.X, self.terms, self.table, self.loss = X, terms, table, robust_of(loss)
        self.impossible = None if self.loss is None else impossible_entries(X, terms, table=table)
        self.seconds = self.cpu_seconds = 0.0
        self.before: Observations | None = None
        self.doubts: Doubts | None = None

    def trusted(
        self, observations: Observations, loss: Any, rank: int | None, rng: np.random.Generator, seconds: float | None
    ) -> tuple[Observations, Any]:
        """What is left of the observations, and the loss that they are fitted by."""
        if self.loss is None or not observations.norm > 0:
            return observations, loss
        with budget(seconds) as clock:
            try:
                self.doubts = doubted(observations, rank, self.loss, rng, self._also(observations))
            except OutOfTime:
                return observations, loss
            finally:
                self.seconds, self.cpu_seconds = clock.spent, clock.cpu_spent
        self.before = observations
        return self._rest(observations), Censored(self.loss.noise) if self.loss.noise_given else "auto"

    def _rest(self, observations: Observations) -> Observations:
        """The observations read anew, without what is distrusted: as a completion will read them again."""
        assert self.doubts is not None
        places = self._in_matrix((self.doubts.rows, self.doubts.cols))
        if not len(places[0]):
            return observations
        read = table_observations if self.table else Observations.of
        return replace(read(self.X, self.terms, places), definite=observations.definite)

    def left(self, seconds: float | None) -> float | None:
        """How much of the time is left."""
        return None if seconds is None else max(seconds - self.seconds, 0.0)

    def told(self, completion: Made, observations: Observations) -> Made:
        """The completion of ``observations``, with what is distrusted."""
        if self.loss is None:
            return completion
        found, all_left_out = completion, self.doubts is not None
        if self.doubts is None:
            self.before, self.doubts = observations, self._of_fit(completion, observations)
            places = self._also(observations)
        else:
            places = self.doubts.rows, self.doubts.cols
            more = dict(seconds=self.seconds, cpu_seconds=self.cpu_seconds)
            found = replace(found, **{name: getattr(found, name) + value for name, value in more.items()})
        assert self.before is not None
        found = replace(found, left_out=self._in_matrix(places))
        values = values_at(self.X, self._in_matrix((self.doubts.rows, self.doubts.cols), all_=True), table=self.table)
        return with_doubts(found, self.doubts, values, self.before, left_out=all_left_out)

    def _of_fit(self, completion: Completion, observations: Observations) -> Doubts:
        """What the fit of a named method contradicts."""
        also = self._also(observations)
        if completion.signs is not None or not (completion.symmetric or self.table) or not observations.norm > 0:
            return Doubts(*also, np.full(len(also[0]), np.inf))
        scales = corner_of(self.loss), DOUBTS_ROUGH
        found, wrong = contradicted(observations, observations, completion.factor, scales, also)
        return found.and_also(wrong)

    def _also(self, observations: Observations) -> Places:
        """Impossible entries, by positions in the symmetric matrix, where a table stands twice."""
        assert self.impossible is not None
        rows, cols = self.impossible
        cut = observations.source.cut
        if cut is None:
            return rows, cols
        return np.concatenate([rows, cols + cut]), np.concatenate([cols + cut, rows])

    def _in_matrix(self, places: Places, *, all_: bool = False) -> Places:
        """Positions in the caller's matrix or table; of a table each entry once, or ``all_`` of them."""
        assert self.before is not None
        rows, cols = places
        cut = self.before.source.cut
        if cut is None:
            return rows, cols
        if all_:
            return np.minimum(rows, cols), np.maximum(rows, cols) - cut
        mine = (rows < cut) & (cols >= cut)
        return rows[mine], cols[mine] - cut
